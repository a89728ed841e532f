//! The dynamic program from the end: completions pulled back along the lattice of ideals.
//!
//! A completion of an ideal I is what the blocks after I mean for what comes before: accelerators used, the end of what
//! waits for nothing before, and for each live port the time that passes at least from when it is ready to the end. The
//! split ends at the largest of (ready time + time that passes), which is monotone in each; so Pareto sets are enough.
//!
//! What a forward pass has found of an ideal bounds every split through a completion of it. The pass may have set a price
//! λ on each accelerator begun: then (time + λ · accelerators) is bounded, hence the time with those that are left.

use std::ops::ControlFlow;

use super::labels::{Labels, Origin, Used};
use super::lattice::Lattice;
use super::model::Model;
use super::search::Pass;
use super::subgraphs::{Subgraph, Subgraphs};
use super::watch::{VISIT, Watch};
use crate::cost::Terms;
use crate::problem::fits;
use crate::solve::SearchContext;

/// One pass from the full ideal to the empty one, with as many accelerators as there are.
///
/// The states are those of [`Pass`]. A label of an ideal is the end of the split as far as it is known, and the tail of
/// each live port. A label of an open set is that end, the bytes that the set is going to take, and for each piece of the
/// load the time from what it has come to until the end.
pub(super) struct Backward<'a> {
    model: &'a Model<'a>,
    lattice: &'a Lattice,
    heads: &'a Pass<'a>,
    watch: Watch<'a>,
    upper: f64,
    beam: usize,
    states: Vec<Labels>,
    /// Labels inserted.
    pub inserted: usize,
    /// Subgraphs looked at.
    pub subgraphs: usize,
    /// Whether labels were dropped that a proof needs.
    pub incomplete: bool,
    scratch: Vec<f64>,
}

impl<'a> Backward<'a> {
    /// A pass that has nothing but the full ideal. Labels whose split cannot end before `upper` are dropped, and those
    /// of a state beyond the best `beam`; `heads` is a forward pass that came to its end and dropped no label that
    /// leads below `upper`.
    pub fn new(heads: &'a Pass<'a>, upper: f64, beam: usize, cx: &'a SearchContext) -> Self {
        let (model, lattice) = (heads.model, heads.lattice);
        let mut states = super::search::empty_states(model, lattice);
        states[lattice.len() - 1].insert(&[0.0], Used::default(), Origin { state: 0, label: 0 }, true);
        let (inserted, subgraphs, incomplete, scratch) = (0, 0, false, Vec::new());
        let watch = Watch::new(cx);
        Self { model, lattice, heads, watch, upper, beam, states, inserted, subgraphs, incomplete, scratch }
    }

    /// The labels of a state.
    pub fn labels(&self, state: usize) -> &Labels {
        &self.states[state]
    }

    /// The best label of the empty ideal, and its latency.
    pub fn best(&self) -> Option<(usize, f64)> {
        let labels = self.labels(0);
        let best = (0..labels.len()).min_by(|&a, &b| labels.values(a)[0].total_cmp(&labels.values(b)[0]))?;
        Some((best, labels.values(best)[0]))
    }

    /// The ideals from a label of the empty ideal on, ascending, and the accelerators used after each.
    pub fn path(&self, label: usize) -> Vec<(usize, Used)> {
        let (mut state, mut label) = (0, label);
        let mut path = Vec::new();
        loop {
            if state < self.lattice.len() {
                path.push((state, self.labels(state).used(label)));
            }
            if state == self.lattice.len() - 1 {
                return path;
            }
            let origin = self.labels(state).origin(label);
            (state, label) = (origin.state as usize, origin.label as usize);
        }
    }

    /// Expands every ideal; breaks where a limit comes first.
    pub fn run(&mut self) -> ControlFlow<()> {
        let mut walk = Subgraphs::new(self.model, self.lattice);
        let mut cut = self.lattice.cuts.len() - 1;
        for i in (0..self.lattice.len() - 1).rev() {
            if self.lattice.cuts[cut] > i {
                cut -= 1;
            }
            self.expand(i, cut, &mut walk)?;
        }
        // What the last ideal dropped counts too.
        self.watch.spend(0)
    }

    fn expand(&mut self, i: usize, cut: usize, walk: &mut Subgraphs) -> ControlFlow<()> {
        self.watch.spend(self.model.unit_count())?;
        let (model, lattice) = (self.model, self.lattice);
        let last = lattice.cuts[cut + 1];
        let reaches_cut = |subgraph: &Subgraph| subgraph.ideal == last && cut + 2 < lattice.cuts.len();
        if self.heads.labels(i).len() > 0 {
            self.run_on_cpu(i);
            for class in 0..model.classes.len() {
                walk.each_worthwhile(i, last, class, false, |subgraph| {
                    self.subgraphs += 1;
                    self.begin(i, class, subgraph, reaches_cut(subgraph).then_some(cut + 1));
                    self.watch.spend(VISIT)
                })?;
            }
        }
        self.incomplete |= self.states[i].keep_best(self.beam);
        if lattice.cuts[cut] != i {
            return ControlFlow::Continue(());
        }
        for class in 0..model.classes.len() {
            let state = lattice.open_state(model, cut, class);
            if self.heads.labels(state).len() == 0 {
                continue;
            }
            walk.each(i, last, class, |subgraph| {
                self.subgraphs += 1;
                self.go_on(state, class, subgraph, reaches_cut(subgraph).then_some(cut + 1));
                self.watch.spend(VISIT)
            })?;
            self.incomplete |= self.states[state].keep_best(self.beam);
        }
        ControlFlow::Continue(())
    }

    /// One unit runs on the CPU.
    fn run_on_cpu(&mut self, i: usize) {
        let (model, lattice) = (self.model, self.lattice);
        let live = lattice.live(i);
        let mut values = std::mem::take(&mut self.scratch);
        for step in lattice.steps(i) {
            let (unit, next) = (step.unit as usize, step.next as usize);
            let Some(run) = &model.cpu[unit] else { continue };
            let after = lattice.live(next);
            let labels = std::mem::take(&mut self.states[next]);
            let place = |p: &u32, ports: &[u32]| ports.binary_search(p).ok();
            let outputs: Vec<Option<usize>> = model.outputs.row(unit).iter().map(|p| place(p, after)).collect();
            let kept: Vec<Option<usize>> = live.iter().map(|p| place(p, after)).collect();
            for l in 0..labels.len() {
                let tails = labels.values(l);
                let tail = |o: usize| outputs.get(o).copied().flatten().map_or(0.0, |q| tails[1 + q]);
                values.clear();
                values.push(tails[0]);
                values.extend(kept.iter().map(|kept| kept.map_or(0.0, |q| tails[1 + q])));
                for (o, (earliest, waits)) in run.earliest.iter().zip(&run.waits).enumerate() {
                    values[0] = values[0].max(earliest + tail(o));
                    for (p, time) in waits {
                        if let Some(q) = place(p, live) {
                            values[1 + q] = values[1 + q].max(time + tail(o));
                        }
                    }
                }
                self.insert(i, &mut values, labels.used(l), (next, l));
            }
            self.states[next] = labels;
        }
        self.scratch = values;
    }

    /// A subgraph of `class` begins at ideal `i`; at a cut it may also stay open.
    fn begin(&mut self, i: usize, class: usize, subgraph: &Subgraph, cut: Option<usize>) {
        if !subgraph.is_whole {
            return;
        }
        let costs = &self.model.classes[class];
        let mut values = std::mem::take(&mut self.scratch);
        if subgraph.is_worthwhile {
            let labels = std::mem::take(&mut self.states[subgraph.ideal]);
            for l in (0..labels.len()).filter(|&l| labels.used(l).of(class) < costs.count) {
                let tails = labels.values(l);
                values.clear();
                values.push(tails[0]);
                values.resize(1 + self.lattice.live(i).len(), 0.0);
                let mut tail = 0.0f64;
                for (source, time) in subgraph.sources.iter().zip(&tails[1..]) {
                    match source {
                        Some(q) => values[1 + q] = *time,
                        None => tail = tail.max(*time),
                    }
                }
                start_with(&mut values, &subgraph.inputs, subgraph.duration + tail);
                self.insert(i, &mut values, labels.used(l).plus_one(class), (subgraph.ideal, l));
            }
            self.states[subgraph.ideal] = labels;
        }
        if let Some(state) = cut.map(|cut| self.lattice.open_state(self.model, cut, class)) {
            let labels = std::mem::take(&mut self.states[state]);
            let inside = Terms { comm_out: 0.0, ..subgraph.terms };
            for l in (0..labels.len()).filter(|&l| labels.used(l).of(class) < costs.count) {
                let tails = labels.values(l);
                if !fits(subgraph.memory + tails[1], costs.memory_limit) {
                    continue;
                }
                let times = costs.pieces.iter().zip(&tails[2..]).map(|(piece, tail)| piece.value(&inside) + tail);
                let tail = times.fold(0.0, f64::max);
                values.clear();
                values.push(tails[0]);
                values.resize(1 + self.lattice.live(i).len(), 0.0);
                start_with(&mut values, &subgraph.inputs, tail);
                self.insert(i, &mut values, labels.used(l).plus_one(class), (state, l));
            }
            self.states[state] = labels;
        }
        self.scratch = values;
    }

    /// What the subgraph that is open at a cut takes in beyond; at the next cut it may stay open.
    fn go_on(&mut self, state: usize, class: usize, subgraph: &Subgraph, cut: Option<usize>) {
        if !subgraph.is_whole {
            return;
        }
        let costs = &self.model.classes[class];
        let has_limit = costs.memory_limit.is_some();
        let terms = Terms { comm_in: 0.0, comm_out: subgraph.live_out, ..subgraph.terms };
        let inside = Terms { comm_out: 0.0, ..terms };
        let mut values = std::mem::take(&mut self.scratch);
        let labels = std::mem::take(&mut self.states[subgraph.ideal]);
        for l in 0..labels.len() {
            let tails = labels.values(l);
            let tail = tails[1..].iter().copied().fold(0.0, f64::max);
            values.clear();
            values.extend([tails[0], if has_limit { subgraph.memory } else { 0.0 }]);
            values.extend(costs.pieces.iter().map(|piece| piece.value(&terms) + tail));
            self.insert_open(state, class, &mut values, labels.used(l), (subgraph.ideal, l));
        }
        self.states[subgraph.ideal] = labels;
        if let Some(next) = cut.map(|cut| self.lattice.open_state(self.model, cut, class)) {
            let labels = std::mem::take(&mut self.states[next]);
            for l in 0..labels.len() {
                let tails = labels.values(l);
                let memory = if has_limit { subgraph.memory + tails[1] } else { 0.0 };
                values.clear();
                values.extend([tails[0], memory]);
                values.extend(costs.pieces.iter().zip(&tails[2..]).map(|(piece, tail)| piece.value(&inside) + tail));
                self.insert_open(state, class, &mut values, labels.used(l), (next, l));
            }
            self.states[next] = labels;
        }
        self.scratch = values;
    }

    fn insert(&mut self, i: usize, values: &mut [f64], used: Used, from: (usize, usize)) {
        let heads = self.heads.labels(i);
        if self.watch.spend(heads.len() + self.states[i].len()).is_break() {
            return;
        }
        let tails = &values[1..];
        let end = |l: usize| {
            let head = heads.values(l);
            head[1..].iter().zip(tails).map(|(time, tail)| time + tail).fold(head[0], f64::max)
        };
        let least = (0..heads.len()).map(end).reduce(f64::min);
        self.insert_bounded(i, values, least, used, from);
    }

    fn insert_open(&mut self, state: usize, class: usize, values: &mut [f64], used: Used, from: (usize, usize)) {
        let heads = self.heads.labels(state);
        if self.watch.spend(heads.len() + self.states[state].len()).is_break() {
            return;
        }
        let limit = self.model.classes[class].memory_limit;
        let (memory, tails) = (values[1], &values[2..]);
        let end = |l: usize| {
            let head = heads.values(l);
            head[2..].iter().zip(tails).map(|(time, tail)| time + tail).fold(head[0], f64::max)
        };
        let has_room = |&l: &usize| fits(heads.values(l)[1] + memory, limit);
        let least = (0..heads.len()).filter(has_room).map(end).reduce(f64::min);
        self.insert_bounded(state, values, least, used, from);
    }

    /// Inserts a label, where the least priced end of a split through it is known, unless it is of no use.
    fn insert_bounded(
        &mut self,
        state: usize,
        values: &mut [f64],
        least: Option<f64>,
        used: Used,
        from: (usize, usize),
    ) {
        let Some(least) = least else { return };
        values[0] = values[0].max(least - self.heads.price() * self.model.accelerators_left(used));
        if values[0] >= self.upper {
            return;
        }
        let origin = Origin { state: from.0 as u32, label: from.1 as u32 };
        self.inserted += usize::from(self.states[state].insert(values, used, origin, true));
    }
}

/// A block starts once the ports at these places are ready, and the split ends no earlier than a time after.
fn start_with(values: &mut [f64], inputs: &[usize], time: f64) {
    values[0] = values[0].max(time);
    for &q in inputs {
        values[1 + q] = values[1 + q].max(time);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::solve::latency::generated;
    use crate::solve::latency::search::Rules;
    use crate::solve::latency::tails::Tails;

    #[test]
    fn any_price_bounds_the_optimum_and_leads_to_it() {
        let cx = SearchContext::new();
        for (seed, problem) in generated::problems(2000) {
            let best = generated::least_latency(&problem);
            let model = Model::new(&problem);
            let lattice = Lattice::new(&model, None, 1000, &cx).unwrap();
            let tails = Tails::of_paths(&model);
            for price in [0.0, 1.0, 3.0, 4.5, 40.0] {
                let mut heads = Pass::new(&model, &lattice, &tails, Rules::priced(price), &cx);
                assert!(heads.run().is_continue());
                let bound = heads.best().map(|(_, value)| value - price * model.accelerators() as f64);
                let is_above = best.is_some_and(|best| bound.is_none_or(|bound| bound > best));
                assert!(!is_above, "seed {seed}, price {price}: the bound {bound:?} is above {best:?}");
                let mut pass = Backward::new(&heads, f64::MAX, usize::MAX, &cx);
                assert!(pass.run().is_continue());
                assert_eq!(pass.best().map(|(_, value)| value), best, "seed {seed}, price {price}");
            }
        }
    }
}
