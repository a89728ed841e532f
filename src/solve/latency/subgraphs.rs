//! The subgraphs that an accelerator may take after an ideal, without those that go beyond the next cut.

use std::ops::ControlFlow;

use super::lattice::Lattice;
use super::model::Model;
use crate::cost::{Terms, compute_load, max_of_pieces};
use crate::problem::fits;

/// A convex set of units J \ I that fits on an accelerator.
#[derive(Debug, Clone, Default)]
pub(super) struct Subgraph {
    /// The ideal J.
    pub ideal: usize,
    /// Compute and communication of the set.
    pub terms: Terms,
    /// What it takes on its accelerator.
    pub duration: f64,
    /// Bytes of the set.
    pub memory: f64,
    /// Whether the set holds all or nothing of each colour class that stays apart.
    pub is_whole: bool,
    /// Whether each component has a path that takes longer on the CPU than the set on its accelerator. Where one has
    /// none, it may as well be on the CPU: nothing is ready later.
    pub is_worthwhile: bool,
    /// Transfer times of every port live at J.
    pub live_out: f64,
    /// Places among the ports live at I of those that the set consumes.
    pub inputs: Vec<usize>,
    /// For each port live at J its place among those live at I, where it has one.
    pub sources: Vec<Option<usize>>,
}

impl Subgraph {
    /// The terms of what goes on from a cut: its one input is inside, and all that is live at the end goes out.
    pub fn terms_from_cut(&self) -> Terms {
        Terms { comm_in: 0.0, comm_out: self.live_out, ..self.terms }
    }
}

/// Enumerates the subgraphs after each ideal, by a walk over the lattice.
pub(super) struct Subgraphs<'a> {
    model: &'a Model<'a>,
    lattice: &'a Lattice,
    seen: Vec<u32>,
    walk: u32,
    stack: Vec<Partial>,
    /// Units by which the last set may grow.
    fed: Vec<usize>,
    /// Units by which it grows at once.
    joining: Vec<usize>,
    /// For each unit outside the ideal the longest path outside that ends there, on the CPU.
    paths: Vec<f64>,
    found: Subgraph,
}

/// An ideal on the stack of a walk, with the sums of the units added so far.
#[derive(Clone, Copy)]
struct Partial {
    ideal: usize,
    compute: f64,
    memory: f64,
    /// Units missing of classes that stay apart and are in part in the set.
    missing: usize,
    /// The ideal at which the last component was begun.
    base: usize,
    /// The least units of the last component and of the one before.
    least: [usize; 2],
    /// The longest path of the last component on the CPU, and the least of those of the others.
    path: [f64; 2],
}

impl Partial {
    fn nothing(i: usize) -> Self {
        let (least, path) = ([usize::MAX, 0], [0.0, f64::INFINITY]);
        Self { ideal: i, compute: 0.0, memory: 0.0, missing: 0, base: i, least, path }
    }

    /// Whether each component has a path that takes longer on the CPU than `duration`.
    fn is_worthwhile(&self, duration: f64) -> bool {
        self.path[0].min(self.path[1]) > duration
    }

    /// The set so far, with nothing yet of one more component.
    fn with_component(&self) -> Self {
        let path = [0.0, self.path[0].min(self.path[1])];
        Self { base: self.ideal, least: [usize::MAX, self.least[0]], path, ..*self }
    }
}

impl<'a> Subgraphs<'a> {
    /// No walk yet.
    pub fn new(model: &'a Model<'a>, lattice: &'a Lattice) -> Self {
        let (seen, paths) = (vec![0; lattice.len()], vec![0.0; model.unit_count()]);
        let (stack, fed, joining) = (Vec::new(), Vec::new(), Vec::new());
        Self { model, lattice, seen, walk: 0, stack, fed, joining, paths, found: Subgraph::default() }
    }

    /// Calls `visit` with every subgraph of `class` between ideal `i` and ideal `last`, which all chains pass, until it
    /// breaks.
    pub fn each(
        &mut self,
        i: usize,
        last: usize,
        class: usize,
        mut visit: impl FnMut(&Subgraph) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        self.start(i, last);
        self.stack.push(Partial::nothing(i));
        let costs = &self.model.classes[class];
        while let Some(partial) = self.stack.pop() {
            if partial.ideal != i {
                self.describe(i, &partial, class);
                visit(&self.found)?;
            }
            if partial.ideal == last {
                continue;
            }
            for step in self.lattice.steps(partial.ideal) {
                let (unit, next) = (step.unit as usize, step.next as usize);
                if self.seen[next] == self.walk {
                    continue;
                }
                let Some(compute) = costs.compute[unit] else { continue };
                let memory = partial.memory + costs.memory[unit];
                let Some(missing) = self.missing(i, &partial, unit).filter(|_| fits(memory, costs.memory_limit)) else {
                    continue;
                };
                self.seen[next] = self.walk;
                let path = [partial.path[0].max(self.paths[unit]), partial.path[1]];
                let compute = partial.compute + compute;
                self.stack.push(Partial { ideal: next, compute, memory, missing, path, ..partial });
            }
        }
        ControlFlow::Continue(())
    }

    /// Calls `visit` with the subgraphs that [`each`](Self::each) calls it with, but for some that are not worthwhile and do
    /// not reach `last`.
    ///
    /// A component grows by a unit that one of its units feeds, together with what that unit still waits for, which
    /// the set does not feed. Components begin one after another, in the order of their least units; none is begun
    /// beside one that is not worth it, since the set as a whole only takes longer.
    pub fn each_worthwhile(
        &mut self,
        i: usize,
        last: usize,
        class: usize,
        mut visit: impl FnMut(&Subgraph) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        if !self.model.units.class_members.is_empty() || self.model.descendants.is_none() {
            return self.each(i, last, class, visit);
        }
        self.start(i, last);
        self.begin_components(i, &Partial::nothing(i), class);
        let pieces = &self.model.classes[class].pieces;
        while let Some(partial) = self.stack.pop() {
            let mut may_have_more = partial.is_worthwhile(compute_load(pieces, partial.compute));
            if may_have_more || partial.ideal == last {
                self.describe(i, &partial, class);
                may_have_more = self.found.is_worthwhile;
                visit(&self.found)?;
            }
            if partial.ideal == last {
                continue;
            }
            self.find_fed(&partial, last);
            for next in 0..self.fed.len() {
                self.grow(i, &partial, self.fed[next], class);
            }
            if may_have_more {
                self.begin_components(i, &partial.with_component(), class);
            }
        }
        ControlFlow::Continue(())
    }

    /// The subgraph between two ideals, which is known to be whole and worthwhile.
    pub fn between(&mut self, i: usize, j: usize, class: usize) -> &Subgraph {
        let costs = &self.model.classes[class];
        let mut partial = Partial { path: [f64::INFINITY; 2], ideal: j, ..Partial::nothing(i) };
        self.lattice.each_of_difference(j, i, |u| {
            partial.compute += costs.compute[u].unwrap_or(0.0);
            partial.memory += costs.memory[u];
        });
        self.describe(i, &partial, class);
        &self.found
    }

    /// Prepares a walk between two ideals.
    fn start(&mut self, i: usize, last: usize) {
        self.walk += 1;
        self.stack.clear();
        let model = self.model;
        for unit in 0..model.unit_count() {
            if self.lattice.contains(i, unit) || !self.lattice.contains(last, unit) {
                continue;
            }
            let before = model.units.order.predecessors(unit).iter().map(|&p| p as usize);
            let before = before.filter(|&p| !self.lattice.contains(i, p)).map(|p| self.paths[p]);
            let time = model.cpu[unit].as_ref().and_then(|run| run.earliest.last().copied());
            self.paths[unit] = before.fold(0.0, f64::max) + time.unwrap_or(f64::INFINITY);
        }
    }

    /// Begins one more component of the set with each unit that may join ideal `i`.
    fn begin_components(&mut self, i: usize, partial: &Partial, class: usize) {
        for step in self.lattice.steps(i) {
            let unit = step.unit as usize;
            if unit >= partial.least[1] && !self.lattice.contains(partial.ideal, unit) {
                self.grow(i, partial, unit, class);
            }
        }
    }

    /// Finds the units up to ideal `last` that the last component feeds and that wait for no other such unit, ascending.
    fn find_fed(&mut self, partial: &Partial, last: usize) {
        let Self { model, lattice, fed, .. } = self;
        let ports = lattice.live(partial.ideal).iter().map(|&p| &model.ports[p as usize]);
        let produced = ports.filter(|port| !lattice.contains(partial.base, port.unit));
        let outside = |w: &usize| lattice.contains(last, *w) && !lattice.contains(partial.ideal, *w);
        fed.clear();
        fed.extend(produced.flat_map(|port| port.units.iter().copied()).filter(outside));
        fed.sort_unstable();
        fed.dedup();
        let mut kept = 0;
        for next in 0..fed.len() {
            let w = fed[next];
            if !fed[..kept].iter().any(|&u| model.reaches(u, w)) {
                fed[kept] = w;
                kept += 1;
            }
        }
        fed.truncate(kept);
    }

    /// Pushes the set whose last component has `unit` too and all that it waits for, unless it is too large or was there
    /// before, or the component joins another or is not the last.
    fn grow(&mut self, i: usize, partial: &Partial, unit: usize, class: usize) {
        if !self.find_joining(i, partial, unit) {
            return;
        }
        let costs = &self.model.classes[class];
        let mut grown = *partial;
        grown.least[0] = grown.least[0].min(self.joining[0]);
        if grown.least[0] < grown.least[1] {
            return;
        }
        for &u in &self.joining {
            let steps = self.lattice.steps(grown.ideal);
            let Ok(place) = steps.binary_search_by_key(&(u as u32), |step| step.unit) else { return };
            let Some(compute) = costs.compute[u] else { return };
            grown.ideal = steps[place].next as usize;
            grown.compute += compute;
            grown.memory += costs.memory[u];
            grown.path[0] = grown.path[0].max(self.paths[u]);
        }
        if self.seen[grown.ideal] != self.walk && fits(grown.memory, costs.memory_limit) {
            self.seen[grown.ideal] = self.walk;
            self.stack.push(grown);
        }
    }

    /// Finds `unit` and what it waits for outside the set, ascending; whether the component joins no other one by it.
    fn find_joining(&mut self, i: usize, partial: &Partial, unit: usize) -> bool {
        let Self { model, lattice, joining, .. } = self;
        joining.clear();
        joining.push(unit);
        let mut next = 0;
        while let Some(&u) = joining.get(next) {
            for &p in model.units.order.predecessors(u) {
                let p = p as usize;
                if !lattice.contains(partial.ideal, p) {
                    if !joining.contains(&p) {
                        joining.push(p);
                    }
                } else if lattice.contains(partial.base, p) && !lattice.contains(i, p) {
                    return false;
                }
            }
            next += 1;
        }
        joining.sort_unstable();
        true
    }

    /// Units missing once `unit` has joined; `None` where a unit of its class is in the ideal `i`, hence on the CPU.
    fn missing(&self, i: usize, partial: &Partial, unit: usize) -> Option<usize> {
        let units = &self.model.units;
        let Some(class) = units.class[unit] else { return Some(partial.missing) };
        let members = &units.class_members[class];
        if members.iter().any(|&u| self.lattice.contains(i, u)) {
            return None;
        }
        let is_begun = members.iter().any(|&u| self.lattice.contains(partial.ideal, u));
        Some(if is_begun { partial.missing - 1 } else { partial.missing + members.len() - 1 })
    }

    /// Fills in the subgraph between ideal `i` and that of `partial`.
    fn describe(&mut self, i: usize, partial: &Partial, class: usize) {
        let Self { model, lattice, found, .. } = self;
        let transfer = &model.classes[class].transfer;
        let (before, after) = (lattice.live(i), lattice.live(partial.ideal));
        let takes = |&u: &usize| lattice.contains(partial.ideal, u) && !lattice.contains(i, u);
        found.ideal = partial.ideal;
        found.memory = partial.memory;
        found.is_whole = partial.missing == 0;
        found.terms = Terms { compute: partial.compute, ..Terms::default() };
        found.live_out = 0.0;
        found.inputs.clear();
        for (q, &p) in before.iter().enumerate() {
            if model.ports[p as usize].units.iter().any(takes) {
                found.terms.comm_in += transfer[p as usize];
                found.inputs.push(q);
            }
        }
        found.sources.clear();
        for p in after {
            let place = before.binary_search(p).ok();
            if place.is_none() {
                found.terms.comm_out += transfer[*p as usize];
            }
            found.live_out += transfer[*p as usize];
            found.sources.push(place);
        }
        found.duration = max_of_pieces(&model.classes[class].pieces, &found.terms);
        found.is_worthwhile = partial.is_worthwhile(found.duration);
    }
}
