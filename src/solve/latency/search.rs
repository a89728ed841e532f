//! The dynamic program: labels pushed along the lattice of ideals.

use std::ops::ControlFlow;

use super::crossing::Crossing;
use super::labels::{Labels, Origin, Used};
use super::lattice::Lattice;
use super::lift::Lift;
use super::model::Model;
use super::moves::Moves;
use super::subgraphs::{Subgraph, Subgraphs};
use super::table::Table;
use super::views::Views;
use super::watch::{VISIT, Watch};
use super::weighted::Weighted;
use crate::cost::Terms;
use crate::problem::fits;
use crate::solve::SearchContext;

/// What tells a pass which labels and moves are of use: the costs of a flow, and the least ones to the end.
pub(super) struct Guide<'a> {
    /// The costs.
    pub weighted: Weighted<'a>,
    /// The least costs from each state to the end.
    pub completions: Table,
}

impl Guide<'_> {
    /// A lower bound on the latency of every split that the moves allow.
    pub fn bound(&self) -> f64 {
        self.completions.ideal(0)[0]
    }

    /// What a split takes at least that goes on from ideal `i`, when what each of its live ports carries is ready then.
    fn end(&self, i: usize, carried: &[(usize, f64)], times: &[f64], used: Used) -> f64 {
        mean(carried, times) + self.completions.ideal(i)[self.weighted.counts.place(used)]
    }

    /// The same from a set that is open at a cut.
    fn end_of_open(&self, (cut, class): (usize, usize), memory: f64, time: f64, used: Used) -> f64 {
        let row = self.completions.open(cut, class, self.weighted.step(class, memory));
        self.weighted.past_cut(time) + row[self.weighted.counts.place(used)]
    }
}

/// The mean of ready times, by what their ports carry.
fn mean(carried: &[(usize, f64)], times: &[f64]) -> f64 {
    carried.iter().map(|&(place, flow)| flow * times[place]).sum()
}

/// One pass from the empty ideal to the full one.
///
/// The states are the ideals, and for each cut and class an *open set*: the accelerator's subgraph holds the cut and goes
/// on beyond it. A label of an ideal is the least end of the split as far as it is known, and the time at which each live
/// port is ready. A label of an open set is that end, the bytes held, and for each piece of the load the time it has come to.
pub(super) struct Pass<'a> {
    model: &'a Model<'a>,
    lattice: &'a Lattice,
    guide: &'a Guide<'a>,
    moves: &'a [Moves],
    watch: Watch<'a>,
    upper: f64,
    beam: usize,
    states: Vec<Labels>,
    lifts: Vec<Option<Lift>>,
    carried: Vec<Option<Vec<(usize, f64)>>>,
    /// Labels inserted.
    pub inserted: usize,
    /// Subgraphs looked at.
    pub subgraphs: usize,
    /// Whether labels were dropped that a proof needs.
    pub incomplete: bool,
    views: Views,
    scratch: Vec<f64>,
}

impl<'a> Pass<'a> {
    /// A pass that has nothing but the empty ideal. Labels whose split cannot end before `upper` are dropped, and those
    /// of a state beyond the best `beam`.
    pub fn new(guide: &'a Guide<'a>, moves: &'a [Moves], upper: f64, beam: usize, cx: &'a SearchContext) -> Self {
        let (model, lattice) = (guide.weighted.model, guide.weighted.lattice);
        let mut states = empty_states(model, lattice);
        states[0].insert(&[0.0], Used::default(), Origin { state: 0, label: 0 });
        let (lifts, carried) = (vec![None; lattice.len()], vec![None; lattice.len()]);
        let (views, scratch, watch) = (Views::default(), Vec::new(), Watch::new(cx));
        let (inserted, subgraphs, incomplete) = (0, 0, false);
        Self {
            model,
            lattice,
            guide,
            moves,
            watch,
            upper,
            beam,
            states,
            lifts,
            carried,
            inserted,
            subgraphs,
            incomplete,
            views,
            scratch,
        }
    }

    /// The labels of a state.
    fn labels(&self, state: usize) -> &Labels {
        &self.states[state]
    }

    /// The best label of the full ideal: of the least latency that with fewest accelerators.
    pub fn best(&self) -> Option<usize> {
        let labels = self.labels(self.lattice.len() - 1);
        let key = |i: usize| (labels.values(i)[0], labels.used(i).total());
        (0..labels.len()).min_by(|&a, &b| {
            let ((time, used), (other, others)) = (key(a), key(b));
            time.total_cmp(&other).then(used.cmp(&others))
        })
    }

    /// The latency of a label of the full ideal.
    #[cfg(test)]
    pub fn end(&self, label: usize) -> f64 {
        self.labels(self.lattice.len() - 1).values(label)[0]
    }

    /// The ideals that lead to a label of the full ideal, ascending, and the accelerators used before each.
    pub fn path(&self, label: usize) -> Vec<(usize, Used)> {
        let (mut state, mut label) = (self.lattice.len() - 1, label);
        let mut path = Vec::new();
        loop {
            if state < self.lattice.len() {
                path.push((state, self.labels(state).used(label)));
            }
            if state == 0 {
                path.reverse();
                return path;
            }
            let origin = self.labels(state).origin(label);
            (state, label) = (origin.state as usize, origin.label as usize);
        }
    }

    /// The cut and the class of an open state.
    fn cut_of(&self, state: usize) -> (usize, usize) {
        let open = state - self.lattice.len();
        (open / self.model.classes.len(), open % self.model.classes.len())
    }

    /// Expands every ideal; breaks where a limit comes first.
    pub fn run(&mut self) -> ControlFlow<()> {
        let mut walk = Subgraphs::new(self.model, self.lattice);
        let mut cut = 0;
        for i in 0..self.lattice.len() {
            cut += usize::from(self.lattice.cuts[cut + 1..].first() == Some(&i));
            self.watch.spend(1 + self.states[i].len())?;
            self.expand(i, cut, &mut walk)?;
            if self.lattice.cuts[cut] == i && cut > 0 && i + 1 < self.lattice.len() {
                (0..self.model.classes.len()).try_for_each(|class| self.expand_open(cut, class, &mut walk))?;
            }
        }
        // What the last ideal dropped counts too.
        self.watch.spend(0)
    }

    /// What may come after an ideal, which is before the cut after `cut`.
    fn expand(&mut self, i: usize, cut: usize, walk: &mut Subgraphs) -> ControlFlow<()> {
        let labels = self.take(i);
        if labels.len() > 0 {
            self.views.clear();
            self.run_on_cpu(i, &labels);
            self.begin_all(i, cut, &labels, walk)?;
        }
        self.states[i] = labels;
        ControlFlow::Continue(())
    }

    /// Begins the subgraphs after an ideal of which the guide does not know that they are of no use.
    fn begin_all(&mut self, i: usize, cut: usize, labels: &Labels, walk: &mut Subgraphs) -> ControlFlow<()> {
        let (guide, moves, upper) = (self.guide, self.moves, self.upper);
        let Guide { weighted, completions } = guide;
        let before = self.least(i, labels);
        let mut crossing = Crossing::default();
        weighted.cross(i, &mut crossing);
        for (class, moves) in moves.iter().enumerate() {
            for step in moves.of(i) {
                if weighted.admits(class, &before, &crossing, step, completions, upper) {
                    self.begin(i, class, labels, walk.between(i, step.to as usize, class));
                    self.watch.spend(VISIT)?;
                }
            }
            let Some(part) = moves.up_to(cut + 1, i) else { continue };
            if weighted.admits_part(class, &before, cut + 1, part, completions, upper) {
                let last = self.lattice.cuts[cut + 1];
                self.stay_open(i, class, labels, walk.between(i, last, class), cut + 1);
                self.watch.spend(VISIT)?;
            }
        }
        ControlFlow::Continue(())
    }

    /// The least mean of ready times at an ideal, by the place of what is used.
    fn least(&mut self, i: usize, labels: &Labels) -> Vec<f64> {
        let weighted = &self.guide.weighted;
        let mut least = vec![f64::INFINITY; weighted.counts.places()];
        let carried = self.carried[i].get_or_insert_with(|| weighted.carried(i));
        for l in 0..labels.len() {
            let value = &mut least[weighted.counts.place(labels.used(l))];
            *value = value.min(mean(carried, &labels.values(l)[1..]));
        }
        least
    }

    /// What the sets of a class that are open at a cut take in beyond.
    fn expand_open(&mut self, cut: usize, class: usize, walk: &mut Subgraphs) -> ControlFlow<()> {
        let state = self.lattice.open_state(self.model, cut, class);
        let labels = self.take(state);
        if labels.len() > 0 {
            let (next_open, moves) = (self.lattice.next_open(cut), self.moves);
            for part in moves[class].from(cut) {
                let ideal = part.ideal as usize;
                let next = (next_open == Some(ideal)).then_some(cut + 1);
                self.go_on(state, class, &labels, walk.between(self.lattice.cuts[cut], ideal, class), next);
                self.watch.spend(VISIT)?;
            }
        }
        self.states[state] = labels;
        ControlFlow::Continue(())
    }

    /// The labels of a state, for good: the best of them where there are too many.
    fn take(&mut self, state: usize) -> Labels {
        let mut labels = std::mem::take(&mut self.states[state]);
        self.incomplete |= labels.keep_best(self.beam);
        labels
    }

    /// One unit runs on the CPU.
    fn run_on_cpu(&mut self, i: usize, labels: &Labels) {
        let (model, lattice) = (self.model, self.lattice);
        let live = lattice.live(i);
        for step in lattice.steps(i) {
            let Some(run) = &model.cpu[step.unit as usize] else { continue };
            let outputs = model.outputs.row(step.unit as usize);
            let place =
                |p: &u32| live.binary_search(p).unwrap_or_else(|_| unreachable!("inputs of a next unit are live"));
            let waits: Vec<Vec<(usize, f64)>> =
                run.waits.iter().map(|waits| waits.iter().map(|(p, time)| (place(p), *time)).collect()).collect();
            let next = lattice.live(step.next as usize);
            let sources: Vec<Source> = next.iter().map(|p| Source::of(p, live, outputs)).collect();
            let mut ready = vec![0.0; waits.len()];
            for l in 0..labels.len() {
                let values = labels.values(l);
                for (o, waits) in waits.iter().enumerate() {
                    let waits = waits.iter().map(|&(q, time)| values[1 + q] + time);
                    ready[o] = waits.fold(run.earliest[o], f64::max);
                }
                let end = values[0].max(ready[outputs.len()]);
                let time = |source: &Source| match *source {
                    Source::Old(q) => values[1 + q],
                    Source::New(o) => ready[o],
                };
                self.push(step.next as usize, end, sources.iter().map(time), labels.used(l), (i, l));
            }
        }
    }

    /// A subgraph of `class` runs after ideal `i`.
    fn begin(&mut self, i: usize, class: usize, labels: &Labels, subgraph: &Subgraph) {
        self.subgraphs += 1;
        let mut views = std::mem::take(&mut self.views);
        let view = views.of(labels, subgraph);
        for l in 0..view.len() {
            let Some(used) = self.with_one(view.used(l), class) else { continue };
            let [end, start, kept @ ..] = view.values(l) else { continue };
            let finish = start + subgraph.duration;
            let mut kept = kept.iter();
            let times =
                subgraph.sources.iter().map(|source| source.and_then(|_| kept.next().copied()).unwrap_or(finish));
            self.push(subgraph.ideal, finish.max(*end), times, used, (i, view.origin(l).label as usize));
        }
        self.views = views;
    }

    /// A subgraph of `class` begins at ideal `i` and is open at a cut.
    fn stay_open(&mut self, i: usize, class: usize, labels: &Labels, subgraph: &Subgraph, cut: usize) {
        self.subgraphs += 1;
        let costs = &self.model.classes[class];
        let inside = Terms { comm_out: 0.0, ..subgraph.terms };
        let state = self.lattice.open_state(self.model, cut, class);
        let memory = if costs.memory_limit.is_some() { subgraph.memory } else { 0.0 };
        let mut views = std::mem::take(&mut self.views);
        let view = views.of(labels, subgraph);
        for l in 0..view.len() {
            let Some(used) = self.with_one(view.used(l), class) else { continue };
            let [end, start, ..] = view.values(l) else { continue };
            let times = costs.pieces.iter().map(|piece| start + piece.value(&inside));
            self.push_open(state, [*end, memory], times, used, (i, view.origin(l).label as usize));
        }
        self.views = views;
    }

    /// The accelerators used with one more of `class`, where there is one.
    fn with_one(&mut self, used: Used, class: usize) -> Option<Used> {
        // More than can be counted, whether or not there are more.
        self.incomplete |= used.of(class) >= Used::MAX_COUNT;
        (used.of(class) < self.model.classes[class].count.min(Used::MAX_COUNT)).then(|| used.plus_one(class))
    }

    /// The subgraph that is open at a cut takes in more; at the next cut it may stay open.
    fn go_on(&mut self, state: usize, class: usize, labels: &Labels, subgraph: &Subgraph, cut: Option<usize>) {
        self.subgraphs += 1;
        let costs = &self.model.classes[class];
        let terms = subgraph.terms_from_cut();
        let inside = Terms { comm_out: 0.0, ..terms };
        for l in 0..labels.len() {
            let values = labels.values(l);
            let memory = values[1] + subgraph.memory;
            if !fits(memory, costs.memory_limit) {
                continue;
            }
            let times = || values[2..].iter().zip(&costs.pieces);
            let finish = times().map(|(time, piece)| time + piece.value(&terms)).fold(0.0, f64::max);
            let ready = self.lattice.live(subgraph.ideal).iter().map(|_| finish);
            self.push(subgraph.ideal, values[0].max(finish), ready, labels.used(l), (state, l));
            if let Some(cut) = cut {
                let memory = if costs.memory_limit.is_some() { memory } else { 0.0 };
                let times = times().map(|(time, piece)| time + piece.value(&inside));
                let next = self.lattice.open_state(self.model, cut, class);
                self.push_open(next, [values[0], memory], times, labels.used(l), (state, l));
            }
        }
    }

    fn push(&mut self, ideal: usize, end: f64, times: impl Iterator<Item = f64>, used: Used, from: (usize, usize)) {
        if end >= self.upper {
            return;
        }
        let mut values = std::mem::take(&mut self.scratch);
        values.clear();
        values.push(end);
        values.extend(times);
        let (model, lattice, guide) = (self.model, self.lattice, self.guide);
        self.lifts[ideal].get_or_insert_with(|| Lift::new(model, lattice, ideal)).apply(&mut values[1..]);
        let carried = self.carried[ideal].get_or_insert_with(|| guide.weighted.carried(ideal));
        values[0] = end.max(guide.end(ideal, carried, &values[1..], used));
        self.insert(ideal, &values, used, from);
        self.scratch = values;
    }

    fn push_open(
        &mut self,
        state: usize,
        head: [f64; 2],
        times: impl Iterator<Item = f64>,
        used: Used,
        from: (usize, usize),
    ) {
        let mut values = std::mem::take(&mut self.scratch);
        values.clear();
        values.extend(head);
        values.extend(times);
        let (cut, class) = self.cut_of(state);
        let time = values[2 + self.model.classes[class].place_of_compute()];
        values[0] = values[0].max(self.guide.end_of_open((cut, class), values[1], time, used));
        self.insert(state, &values, used, from);
        self.scratch = values;
    }

    fn insert(&mut self, state: usize, values: &[f64], used: Used, (from, label): (usize, usize)) {
        if values[0] >= self.upper || self.watch.spend(self.states[state].len()).is_break() {
            return;
        }
        let origin = Origin { state: from as u32, label: label as u32 };
        self.inserted += usize::from(self.states[state].insert(values, used, origin));
    }
}

/// The states of a pass, without labels.
fn empty_states(model: &Model, lattice: &Lattice) -> Vec<Labels> {
    let closed = (0..lattice.len()).map(|i| Labels::new(1 + lattice.live(i).len()));
    let open = |class: usize| Labels::new(2 + model.classes[class].pieces.len());
    closed.chain(lattice.cuts.iter().flat_map(|_| (0..model.classes.len()).map(open))).collect()
}

/// Where the ready time of a live port comes from after a step.
enum Source {
    /// The port was live before, at this place.
    Old(usize),
    /// The unit that ran has made it as this output.
    New(usize),
}

impl Source {
    fn of(port: &u32, live: &[u32], outputs: &[u32]) -> Self {
        match (live.binary_search(port), outputs.binary_search(port)) {
            (Ok(place), _) => Self::Old(place),
            (_, Ok(output)) => Self::New(output),
            _ => unreachable!("a live port was live before or is an output of the step"),
        }
    }
}
