//! Mappings by annealing and other searches around the best one.

use super::super::{Proof, WIDE};
use crate::mapping::tiling::tile;
use crate::mapping::{Mapping, ring_segments};

/// What betters the objective by this part makes another start needless.
const MUCH: f64 = 0.1;

/// Moves of annealing for each copy of a mapping that filling leaves unfinished.
const REPAIRS: u64 = 200;

/// The temperature at which a mapping that is nearly within a target is repaired, as a part of it.
const WARM: f64 = 0.01;

impl<const W: usize> Proof<'_, W> {
    /// Cuts the line of blocks into a ring for each stage.
    pub(in super::super) fn cut_ring_segments(&mut self) {
        let Some(line) = &self.line else { return };
        let found = ring_segments::mapping(self.knowledge.model.problem, line, self.race.cx);
        found.iter().for_each(|mapping| self.offer(mapping));
        self.tell("cutting a line");
    }

    /// Repeats a few pipelines all over a grid, or over equal nodes.
    pub(in super::super) fn tile(&mut self) {
        tile(self.knowledge.model.problem, &mut self.race);
        self.tell("tiling");
    }

    /// Anneals the best mapping by about so many moves.
    pub(in super::super) fn anneal(&mut self, moves: u64) {
        self.annealer.anneal(&mut self.race, moves);
        self.tell("annealing");
    }

    /// Anneals a mapping that is nearly within a target.
    pub(in super::super) fn repair(&mut self, construction: &Mapping, target: f64) {
        self.annealer.repair(
            construction,
            target,
            WARM * target,
            REPAIRS * construction.devices.len() as u64,
            &mut self.race,
        );
    }

    /// Where the gap is wide, maps pipelines on parts of a line of the devices by so many moves for each copy; where that does
    /// not better much, maps those of the best mapping anew.
    pub(in super::super) fn start_sliding_windows(&mut self, moves: u64) {
        let (objective, gap) = (self.objective(), self.gap());
        // A copy, so that what is renewed later does not depend on whether this was tried.
        let windows = self.windows.clone().filter(|_| gap > WIDE);
        let other = windows.and_then(|mut windows| windows.mapping(self.bound(), objective, moves, self.race.cx));
        let problem = self.knowledge.model.problem;
        let is_much_better = |other: &Mapping| problem.objective(other) <= objective * (1.0 - MUCH);
        if !other.as_ref().is_some_and(is_much_better) {
            self.renew(moves);
        }
        other.iter().for_each(|other| self.offer(other));
        self.tell("renewing");
    }

    /// Maps pipelines near each other anew by so many moves for each copy.
    pub(in super::super) fn renew(&mut self, moves: u64) {
        let (best, bound) = (self.best(), self.bound());
        let Some(windows) = &mut self.windows else { return };
        let mapping = windows.better(&best, moves, bound, self.race.cx);
        self.offer(&mapping);
        self.tell("renewing");
    }
}
