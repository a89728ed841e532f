//! What blocks cost under a flow.

use std::ops::ControlFlow;

use super::counts::Counts;
use super::crossing::Crossing;
use super::flow::{Along, Paths};
use super::lattice::Lattice;
use super::model::Model;
use super::moves::{Move, Part};
use super::table::Table;
use super::watch::Watch;
use crate::graph::NodeId;
use crate::problem::{DeviceKind, fits};

/// Steps of memory in which what a set holds at a cut is counted, rounded down: a relaxation.
const STEPS: usize = 32;

/// The costs of blocks under one flow.
pub(super) struct Weighted<'a> {
    /// The problem on units.
    pub model: &'a Model<'a>,
    /// Its ideals.
    pub lattice: &'a Lattice,
    paths: &'a Paths,
    flow: Along,
    /// Numbers of accelerators.
    pub counts: Counts,
    /// How many steps of memory are told apart at cuts.
    pub steps: usize,
    /// What each unit costs on the CPU; infinite where it cannot run there.
    on_cpu: Vec<f64>,
    /// The flow past each cut: 1, or 0 where no path passes all of them.
    past_cuts: f64,
}

impl<'a> Weighted<'a> {
    /// The costs under `flow`.
    pub fn new(model: &'a Model<'a>, lattice: &'a Lattice, paths: &'a Paths, flow: Along) -> Self {
        let cost = |unit: usize| {
            let times = model.units.members[unit].iter().map(|&v| (v, model.problem.costs.node(v, DeviceKind::Cpu)));
            times.map(|(v, cost)| cost.map_or(0.0, |cost| flow.nodes[v] * cost.compute)).sum()
        };
        let on_cpu =
            (0..model.unit_count()).map(|u| if model.cpu[u].is_some() { cost(u) } else { f64::INFINITY }).collect();
        let steps = if model.classes.iter().any(|class| class.memory_limit.is_some()) { STEPS } else { 1 };
        let past_cuts = if paths.is_empty() { 0.0 } else { 1.0 };
        Self { model, lattice, paths, flow, counts: Counts::new(model, lattice.len()), steps, on_cpu, past_cuts }
    }

    /// A table of infinite costs.
    pub fn table(&self) -> Table {
        Table::new(self.lattice, self.model.classes.len(), self.steps, self.counts.places())
    }

    /// What a unit costs on the CPU.
    #[inline]
    pub fn on_cpu(&self, unit: u32) -> f64 {
        self.on_cpu[unit as usize]
    }

    /// What a part of a set that holds a cut costs, given its time.
    #[inline]
    pub fn past_cut(&self, time: f64) -> f64 {
        self.past_cuts * time
    }

    /// Finds the flow across ideal `i`.
    pub fn cross(&self, i: usize, crossing: &mut Crossing) {
        crossing.clear(self.model.unit_count());
        let mut add = |v: NodeId, flow: f64| {
            if let Some(unit) = self.model.units.of_node[v].filter(|&u| flow > 0.0 && !self.lattice.contains(i, u)) {
                crossing.add(unit, flow);
            }
        };
        self.paths.starts().for_each(|(start, v)| add(v, self.flow.starts[start]));
        let mut before = None;
        for &p in self.lattice.live(i) {
            let node = self.model.ports[p as usize].node;
            if before.replace(node) != Some(node) {
                self.paths.leaving(node).for_each(|(arc, head)| add(head, self.flow.arcs[arc]));
            }
        }
    }

    /// What a move costs, given the flow across its ideal.
    #[inline]
    pub fn of_move(&self, crossing: &Crossing, step: &Move) -> f64 {
        crossing.entering(self.lattice.words(step.to as usize)) * step.duration
    }

    /// What of the flow each live port at an ideal carries: its place, and how much.
    pub fn carried(&self, i: usize) -> Vec<(usize, f64)> {
        let ports = &self.model.ports;
        let live = self.lattice.live(i);
        let carries = |place: usize, head: NodeId| {
            let port = &ports[live[place] as usize];
            let is_outside = self.model.units.of_node[head].is_some_and(|u| !self.lattice.contains(i, u));
            // What two transfers of a node bring to one consumer is counted once.
            let earlier = live[..place].iter().rev().map(|&q| &ports[q as usize]);
            let is_first = !earlier.take_while(|q| q.node == port.node).any(|q| q.consumers.contains(&head));
            is_outside && port.consumers.contains(&head) && is_first
        };
        let carried = |place: usize| {
            let arcs = self.paths.leaving(ports[live[place] as usize].node);
            arcs.filter(|&(_, head)| carries(place, head)).map(|(arc, _)| self.flow.arcs[arc]).sum()
        };
        (0..live.len()).map(|place| (place, carried(place))).filter(|&(_, flow)| flow > 0.0).collect()
    }

    /// Bytes of a step.
    fn width(&self, class: usize) -> Option<f64> {
        self.model.classes[class].memory_limit.map(|limit| limit / (STEPS - 1) as f64)
    }

    /// The step of so many bytes.
    #[inline]
    pub fn step(&self, class: usize, memory: f64) -> usize {
        let width = self.width(class).filter(|&width| width > 0.0);
        width.map_or(0, |width| ((memory / width) as usize).min(self.steps - 1))
    }

    /// The step of a set of some step that takes in a part as well.
    pub fn step_with(&self, class: usize, step: usize, part: &Part) -> usize {
        self.step(class, self.width(class).unwrap_or(0.0) * step as f64 + part.memory)
    }

    /// The most steps that a set may hold at a cut from which it goes on with a part.
    pub fn most_before(&self, class: usize, part: &Part) -> Option<usize> {
        let limit = self.model.classes[class].memory_limit;
        let width = self.width(class).unwrap_or(0.0);
        (0..self.steps).rev().find(|&step| fits(step as f64 * width + part.memory, limit))
    }

    /// Whether a move may lead below `upper` from what costs so much before, by place.
    #[inline]
    pub fn admits(
        &self,
        class: usize,
        before: &[f64],
        crossing: &Crossing,
        step: &Move,
        completions: &Table,
        upper: f64,
    ) -> bool {
        let most = upper - self.of_move(crossing, step);
        self.counts.is_below(class, before, completions.ideal(step.to as usize), most)
    }

    /// The same of a part that leads up to a cut, where the set stays open.
    pub fn admits_part(
        &self,
        class: usize,
        before: &[f64],
        cut: usize,
        part: &Part,
        completions: &Table,
        upper: f64,
    ) -> bool {
        let after = completions.open(cut, class, self.step(class, part.memory));
        self.counts.is_below(class, before, after, upper - self.past_cut(part.inside))
    }

    /// Counts the work on so many moves; breaks once the run has to stop.
    pub fn spend(&self, watch: &mut Watch, moves: usize) -> ControlFlow<()> {
        watch.spend(1 + moves * (8 + self.counts.places()))
    }
}
