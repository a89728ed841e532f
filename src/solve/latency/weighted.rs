//! What blocks cost under a flow, and the two scalar programs over ideals that add these costs up.

use std::ops::ControlFlow;

use super::counts::{Counts, is_below, lower};
use super::flow::{Along, Paths};
use super::lattice::Lattice;
use super::model::Model;
use super::moves::{Move, Moves, Part};
use super::watch::Watch;
use crate::graph::NodeId;
use crate::problem::{DeviceKind, fits};

/// Steps of memory in which what a set holds at a cut is counted, rounded down: a relaxation.
const STEPS: usize = 128;

/// The least costs of a program: those of ideals, and those of sets that are open at a cut by the memory that they hold.
/// A row has a place for each number of accelerators used.
#[derive(Debug, Clone)]
pub(super) struct Table {
    places: usize,
    steps: usize,
    classes: usize,
    ideals: Vec<f64>,
    open: Vec<f64>,
}

impl Table {
    fn new(weighted: &Weighted) -> Self {
        let (places, steps, classes) = (weighted.counts.places(), weighted.steps, weighted.model.classes.len());
        let ideals = vec![f64::INFINITY; weighted.lattice.len() * places];
        let open = vec![f64::INFINITY; weighted.lattice.cuts.len() * classes * steps * places];
        Self { places, steps, classes, ideals, open }
    }

    /// The row of an ideal.
    #[inline]
    pub fn ideal(&self, i: usize) -> &[f64] {
        &self.ideals[i * self.places..(i + 1) * self.places]
    }

    fn ideal_mut(&mut self, i: usize) -> &mut [f64] {
        &mut self.ideals[i * self.places..(i + 1) * self.places]
    }

    /// The row of the sets of a class that hold so many steps at a cut.
    #[inline]
    pub fn open(&self, cut: usize, class: usize, step: usize) -> &[f64] {
        let at = self.open_at(cut, class, step);
        &self.open[at..at + self.places]
    }

    fn open_at(&self, cut: usize, class: usize, step: usize) -> usize {
        ((cut * self.classes + class) * self.steps + step) * self.places
    }

    /// The rows of the sets of a class at a cut and at the next one.
    fn open_pair(&mut self, cut: usize, class: usize) -> (&mut [f64], &mut [f64]) {
        let (length, next) = (self.steps * self.places, self.open_at(cut + 1, class, 0));
        let at = self.open_at(cut, class, 0);
        let (before, after) = self.open.split_at_mut(next);
        (&mut before[at..at + length], &mut after[..length])
    }
}

/// The flow across an ideal: what enters each unit outside from inside.
#[derive(Debug, Default)]
pub(super) struct Crossing {
    /// The units with some, as words of bits.
    words: Vec<u64>,
    /// What enters each of them.
    flow: Vec<f64>,
}

impl Crossing {
    fn clear(&mut self, units: usize) {
        self.words.clear();
        self.words.resize(units.div_ceil(64), 0);
        self.flow.resize(units, 0.0);
    }

    fn add(&mut self, unit: usize, flow: f64) {
        let (word, bit) = (&mut self.words[unit / 64], 1 << (unit % 64));
        self.flow[unit] = if *word & bit == 0 { flow } else { self.flow[unit] + flow };
        *word |= bit;
    }

    /// What enters the units of a set that is given as words of bits.
    #[inline]
    fn into(&self, set: &[u64]) -> f64 {
        let mut sum = 0.0;
        for (w, (crossing, set)) in self.words.iter().zip(set).enumerate() {
            let mut rest = crossing & set;
            while rest != 0 {
                sum += self.flow[w * 64 + rest.trailing_zeros() as usize];
                rest &= rest - 1;
            }
        }
        sum
    }
}

/// The costs of blocks under one flow.
#[derive(Clone)]
pub(super) struct Weighted<'a> {
    /// The problem on units.
    pub model: &'a Model<'a>,
    /// Its ideals.
    pub lattice: &'a Lattice,
    paths: &'a Paths,
    flow: Along,
    /// Numbers of accelerators.
    pub counts: Counts,
    steps: usize,
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
        Self { model, lattice, paths, flow, counts: Counts::new(model), steps, on_cpu, past_cuts }
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

    /// What of a flow across an ideal enters the units of another.
    #[inline]
    pub fn entering(&self, crossing: &Crossing, to: usize) -> f64 {
        crossing.into(self.lattice.words(to))
    }

    /// What of the flow each live port at an ideal carries: its place, and how much.
    pub fn carried(&self, i: usize) -> Vec<(usize, f64)> {
        let ports = &self.model.ports;
        let live = self.lattice.live(i);
        let carries = |place: usize, head: NodeId| {
            let port = &ports[live[place] as usize];
            let is_outside = self.model.units.of_node[head].is_some_and(|u| !self.lattice.contains(i, u));
            // What two transfers of a node bring to one consumer is counted once.
            let mut earlier = live[..place].iter().rev().map(|&q| &ports[q as usize]);
            let is_first = !earlier.by_ref().take_while(|q| q.node == port.node).any(|q| q.consumers.contains(&head));
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

    /// The least costs from each state to the end, by what was used before. `None` where a limit came.
    pub fn completions(&self, moves: &[Moves], watch: &mut Watch) -> Option<Table> {
        let (lattice, counts) = (self.lattice, &self.counts);
        let mut table = Table::new(self);
        table.ideal_mut(lattice.len() - 1).fill(0.0);
        let (mut row, mut crossing) = (vec![0.0; counts.places()], Crossing::default());
        let mut cut = lattice.cuts.len() - 1;
        for i in (0..lattice.len() - 1).rev() {
            cut -= usize::from(lattice.cuts[cut] > i);
            row.fill(f64::INFINITY);
            for step in lattice.steps(i) {
                lower(&mut row, table.ideal(step.next as usize), self.on_cpu(step.unit));
            }
            self.cross(i, &mut crossing);
            for (class, moves) in moves.iter().enumerate() {
                self.spend(watch, moves.of(i).len()).continue_value()?;
                for step in moves.of(i) {
                    let cost = self.entering(&crossing, step.to as usize) * step.duration;
                    counts.lower(class, &mut row, table.ideal(step.to as usize), cost);
                }
                if let Some(part) = moves.up_to(cut + 1, i) {
                    let after = table.open(cut + 1, class, self.step(class, part.memory));
                    counts.lower(class, &mut row, after, self.past_cut(part.inside));
                }
            }
            table.ideal_mut(i).copy_from_slice(&row);
            if lattice.cuts[cut] == i {
                moves.iter().enumerate().for_each(|(class, moves)| self.complete_open(&mut table, cut, class, moves));
            }
        }
        Some(table)
    }

    /// The costs to the end of sets that are open at a cut.
    fn complete_open(&self, table: &mut Table, cut: usize, class: usize, moves: &Moves) {
        let places = self.counts.places();
        for part in moves.from(cut) {
            let Some(most) = self.most_before(class, part) else { continue };
            let at = table.open_at(cut, class, most);
            let Table { ideals, open, .. } = table;
            let after = &ideals[part.ideal as usize * places..][..places];
            lower(&mut open[at..at + places], after, self.past_cut(part.end));
        }
        // Who holds less may do what one may do who holds more.
        for step in (1..self.steps).rev() {
            let at = table.open_at(cut, class, step);
            let (less, more) = table.open.split_at_mut(at);
            lower(&mut less[at - places..], &more[..places], 0.0);
        }
        for (part, most) in self.going_on(cut, class, moves) {
            let (rows, next) = table.open_pair(cut, class);
            for step in 0..=most {
                let after = self.step_with(class, step, part) * places;
                let row = &mut rows[step * places..(step + 1) * places];
                lower(row, &next[after..after + places], self.past_cut(part.inside));
            }
        }
    }

    /// The parts that lead from a cut to the next, with the most that may be held before.
    pub fn going_on<'m>(
        &'m self,
        cut: usize,
        class: usize,
        moves: &'m Moves,
    ) -> impl Iterator<Item = (&'m Part, usize)> + 'm {
        let cuts = &self.lattice.cuts;
        let next = cuts.get(cut + 1).copied().filter(|_| cut + 2 < cuts.len());
        let parts = moves.from(cut).iter().filter(move |part| Some(part.ideal as usize) == next);
        parts.filter_map(move |part| Some((part, self.most_before(class, part)?)))
    }

    /// Drops the moves and parts that no split below `upper` makes: those of which the least cost from the start, their own
    /// and the least cost to the end are no less together. `None` where a limit came.
    pub fn narrow(&self, moves: &mut [Moves], completions: &Table, upper: f64, watch: &mut Watch) -> Option<()> {
        let (lattice, counts) = (self.lattice, &self.counts);
        let mut heads = Table::new(self);
        heads.ideal_mut(0)[0] = 0.0;
        let (mut row, mut crossing) = (vec![0.0; counts.places()], Crossing::default());
        let mut kept = vec![0; moves.len()];
        let mut cut = 0;
        for i in 0..lattice.len() - 1 {
            if lattice.cuts[cut + 1] == i {
                cut += 1;
                moves.iter().enumerate().for_each(|(class, moves)| self.head_open(&mut heads, cut, class, moves));
            }
            row.copy_from_slice(heads.ideal(i));
            for step in lattice.steps(i) {
                lower(heads.ideal_mut(step.next as usize), &row, self.on_cpu(step.unit));
            }
            self.cross(i, &mut crossing);
            for (class, moves) in moves.iter_mut().enumerate() {
                self.spend(watch, moves.of(i).len()).continue_value()?;
                kept[class] = moves.retain_from(i, kept[class], |step| {
                    let cost = self.entering(&crossing, step.to as usize) * step.duration;
                    let to = step.to as usize;
                    let is_of_use = counts.is_below(class, &row, completions.ideal(to), upper - cost);
                    if is_of_use {
                        counts.lower_after(class, &row, heads.ideal_mut(to), cost);
                    }
                    is_of_use
                });
                if let Some(part) = moves.up_to(cut + 1, i) {
                    let at = heads.open_at(cut + 1, class, self.step(class, part.memory));
                    let after = &mut heads.open[at..at + counts.places()];
                    counts.lower_after(class, &row, after, self.past_cut(part.inside));
                }
            }
        }
        for (class, (moves, kept)) in moves.iter_mut().zip(kept).enumerate() {
            moves.end_retain(kept);
            self.narrow_parts(class, moves, &heads, completions, upper);
        }
        Some(())
    }

    /// What comes of sets that are open at a cut.
    fn head_open(&self, table: &mut Table, cut: usize, class: usize, moves: &Moves) {
        let places = self.counts.places();
        for (part, most) in self.going_on(cut, class, moves) {
            let (rows, next) = table.open_pair(cut, class);
            for step in 0..=most {
                let after = self.step_with(class, step, part) * places;
                let row = &rows[step * places..(step + 1) * places];
                lower(&mut next[after..after + places], row, self.past_cut(part.inside));
            }
        }
        // From here on: the least of all that hold no more.
        for step in 1..self.steps {
            let at = table.open_at(cut, class, step);
            let (less, more) = table.open.split_at_mut(at);
            lower(&mut more[..places], &less[at - places..], 0.0);
        }
        for part in moves.from(cut) {
            let Some(most) = self.most_before(class, part) else { continue };
            let at = table.open_at(cut, class, most);
            let Table { ideals, open, .. } = &mut *table;
            let after = &mut ideals[part.ideal as usize * places..][..places];
            lower(after, &open[at..at + places], self.past_cut(part.end));
        }
    }

    /// Drops the parts that no split below `upper` makes.
    fn narrow_parts(&self, class: usize, moves: &mut Moves, heads: &Table, completions: &Table, upper: f64) {
        let admits_up_to = |cut: usize, part: &Part| {
            self.admits_part(class, heads.ideal(part.ideal as usize), cut, part, completions, upper)
        };
        let admits_from = |cut: usize, part: &Part| {
            let Some(most) = self.most_before(class, part) else { return false };
            let to = part.ideal as usize;
            let ends = upper - self.past_cut(part.end);
            let goes_on = upper - self.past_cut(part.inside);
            let is_next = cut + 2 < self.lattice.cuts.len() && self.lattice.cuts[cut + 1] == to;
            is_below(heads.open(cut, class, most), completions.ideal(to), ends)
                || is_next
                    && (0..=most).any(|step| {
                        let after = completions.open(cut + 1, class, self.step_with(class, step, part));
                        is_below(heads.open(cut, class, step), after, goes_on)
                    })
        };
        moves.retain_parts(admits_up_to, admits_from);
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
        let to = step.to as usize;
        let cost = self.entering(crossing, to) * step.duration;
        self.counts.is_below(class, before, completions.ideal(to), upper - cost)
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

    fn spend(&self, watch: &mut Watch, moves: usize) -> ControlFlow<()> {
        watch.spend(1 + moves * (8 + self.counts.places()))
    }
}

#[cfg(test)]
mod tests {
    use rand::rngs::SmallRng;
    use rand::{RngExt, SeedableRng};

    use super::*;
    use crate::solve::SearchContext;
    use crate::solve::latency::generated;
    use crate::solve::latency::search::{Guide, Pass};

    /// A flow along some of the paths more than along others.
    fn any_flow(paths: &Paths, rng: &mut SmallRng) -> Along {
        let mut times = paths.zeros();
        [&mut times.nodes, &mut times.arcs, &mut times.starts].into_iter().flatten().for_each(|time| {
            *time = rng.random_range(0..8) as f64;
        });
        paths.softmax(&times, 1.0)
    }

    #[test]
    fn any_flow_bounds_the_optimum_and_narrows_to_it() {
        let cx = SearchContext::new();
        for (seed, problem) in generated::problems(2000) {
            let best = generated::least_latency(&problem);
            let model = Model::new(&problem);
            let lattice = Lattice::new(&model, None, 1000, &cx).unwrap();
            let paths = Paths::new(&model, &lattice);
            let (rng, mut watch) = (&mut SmallRng::seed_from_u64(seed), Watch::new(&cx));
            for _ in 0..4 {
                let mut moves = Moves::all(&model, &lattice, &cx).unwrap();
                let weighted = Weighted::new(&model, &lattice, &paths, any_flow(&paths, rng));
                let completions = weighted.completions(&moves, &mut watch).unwrap();
                let guide = Guide { weighted, completions };
                let (bound, upper) = (guide.bound(), best.map_or(f64::MAX, |best| best + 1e-6));
                assert!(bound < upper || best.is_none(), "seed {seed}: the bound {bound} is above {best:?}");
                guide.weighted.narrow(&mut moves, &guide.completions, upper, &mut watch).unwrap();
                let mut pass = Pass::new(&guide, &moves, upper, usize::MAX, &cx);
                assert!(pass.run().is_continue() && !pass.incomplete);
                let found = pass.best().map(|label| pass.end(label));
                let is_best = found.zip(best).is_some_and(|(found, best)| (found - best).abs() < 1e-9);
                assert!(is_best || found.is_none() && best.is_none(), "seed {seed}: {found:?} for {best:?}");
            }
        }
    }
}
