//! Mappings by annealing and other searches around the best one.

use super::{Proof, WIDE};
use crate::mapping::Mapping;
use crate::mapping::tiling::tile;

/// For every move of the other annealing, there are so many with budgets, which are cheap.
const CHEAP: u64 = 8;

/// What betters the objective by this part makes another start needless.
const MUCH: f64 = 0.1;

/// What betters the objective by less than this part is not worth doing again.
const LITTLE: f64 = 1e-3;

/// How many times the decisions of other searches those in neighbourhoods take, and in grids, whose symmetries bring about
/// the best mappings.
const NEIGHBOURHOODS: u64 = 20;
const NEIGHBOURHOODS_IN_GRIDS: u64 = 5;

/// Moves of annealing for each copy of a mapping that packing leaves unfinished.
const REPAIRS: u64 = 200;

/// The temperature at which a mapping that is nearly within a target is repaired, as a part of it: where no two links are
/// alike, less, as what is within it is so by little.
const WARM: f64 = 0.01;
const MILD: f64 = 0.0005;

impl<const W: usize> Proof<'_, W> {
    /// Betters the best mapping by annealing and its like until they better it little.
    pub(super) fn improve(&mut self, moves: u64, decisions: u64) {
        let mut before = f64::INFINITY;
        while self.objective() < before * (1.0 - LITTLE) && !self.is_done() {
            before = self.objective();
            self.anneal(moves);
            self.renew(moves / self.knowledge.model.copies() as u64);
            self.search_neighbourhoods(decisions);
        }
    }

    /// Repeats a few pipelines all over a grid, or over equal nodes.
    pub(super) fn tile(&mut self) {
        if !self.is_done() {
            tile(&mut self.annealer, self.bound, self.cx);
            self.tell("tiling");
        }
    }

    /// Anneals the best mapping by about so many moves, and where all links differ by more with budgets.
    pub(super) fn anneal(&mut self, moves: u64) {
        if !self.is_done() {
            self.annealer.anneal(self.bound, moves, self.cx);
            self.tell("annealing");
        }
        if self.is_done() {
            return;
        }
        if let Some(budgets) = &mut self.budgets {
            let mut mapping = self.annealer.best().0.clone();
            budgets.anneal(&mut mapping, self.bound, moves.saturating_mul(CHEAP), self.cx);
            self.annealer.offer(&mapping);
            self.tell("annealing");
        }
    }

    /// Searches neighbourhoods of the best mapping, with some times so many decisions.
    pub(super) fn search_neighbourhoods(&mut self, decisions: u64) {
        if self.is_done() {
            return;
        }
        let times = if self.has_levels_alone() { NEIGHBOURHOODS_IN_GRIDS } else { NEIGHBOURHOODS };
        let decisions = decisions.saturating_mul(times);
        let mapping = self.annealer.best().0.clone();
        let found = self.neighbourhoods.better(&mut self.knowledge, &mapping, self.bound, decisions, self.cx);
        self.annealer.offer(&found);
        self.tell("neighbourhoods");
    }

    /// Anneals a mapping that is nearly within a target.
    pub(super) fn repair(&mut self, draft: &Mapping, target: f64) {
        let heat = if self.is_unlike() { MILD } else { WARM };
        self.annealer.repair(draft, target, heat * target, REPAIRS * draft.devices.len() as u64, self.cx);
    }

    /// Where the gap is wide, maps pipelines on parts of a line of the devices by so many moves for each copy; where that does
    /// not better much, maps those of the best mapping anew.
    pub(super) fn start_windows(&mut self, moves: u64) {
        let (objective, gap) = (self.objective(), self.gap());
        // A copy, so that what is renewed later does not depend on whether this was tried.
        let windows = self.windows.clone().filter(|_| gap > WIDE);
        let other = windows.and_then(|mut windows| windows.mapping(self.bound, objective, moves, self.cx));
        let problem = self.knowledge.model.problem;
        let is_much_better = |other: &Mapping| problem.objective(other) <= objective * (1.0 - MUCH);
        if !other.as_ref().is_some_and(is_much_better) {
            self.renew(moves);
        }
        other.iter().for_each(|other| self.annealer.offer(other));
        self.tell("renewing");
    }

    /// Maps pipelines near each other anew by so many moves for each copy.
    pub(super) fn renew(&mut self, moves: u64) {
        let Some(windows) = self.windows.as_mut().filter(|_| self.annealer.best().1 > self.bound) else { return };
        let mapping = windows.better(self.annealer.best().0, moves, self.bound, self.cx);
        self.annealer.offer(&mapping);
        self.tell("renewing");
    }
}
