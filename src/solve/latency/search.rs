//! The dynamic program: labels pushed along the lattice of ideals.

use super::labels::{Labels, Origin, Used};
use super::lattice::Lattice;
use super::lift::Lift;
use super::model::Model;
use super::subgraphs::{Subgraph, Subgraphs};
use super::tails::Tails;
use crate::cost::{Terms, max_of_pieces};
use crate::problem::fits;
use crate::solve::SearchContext;

/// How a pass treats the numbers of accelerators, and what it may drop.
#[derive(Debug, Clone, Copy)]
pub(super) struct Rules {
    /// Whether no more accelerators may be used than there are.
    pub counting: bool,
    /// Whether only connected subgraphs are tried: enough where accelerators are not counted, since cutting a
    /// disconnected one in two delays nothing.
    pub connected: bool,
    /// Labels whose split cannot end before this are dropped.
    pub upper: f64,
    /// The most labels expanded of one state; more are dropped, and the pass proves nothing.
    pub beam: usize,
}

/// One pass over the lattice.
///
/// The states are the ideals, and for each cut and class an *open set*: the accelerator's subgraph holds the cut and goes
/// on beyond it. A label of an ideal is the largest finish so far and the time at which each live port is ready. A label
/// of an open set is the largest finish, the bytes held, and for each piece of the load the time it has come to.
pub(super) struct Pass<'a> {
    pub model: &'a Model<'a>,
    pub lattice: &'a Lattice,
    tails: &'a [Tails],
    rules: Rules,
    states: Vec<Labels>,
    lifts: Vec<Option<Lift>>,
    /// Labels inserted.
    pub inserted: usize,
    /// Subgraphs looked at.
    pub subgraphs: usize,
    /// Whether labels were dropped that a proof needs.
    pub incomplete: bool,
    scratch: Vec<f64>,
}

impl<'a> Pass<'a> {
    /// A pass that has nothing but the empty ideal.
    pub fn new(model: &'a Model<'a>, lattice: &'a Lattice, tails: &'a [Tails], rules: Rules) -> Self {
        let closed = (0..lattice.len()).map(|i| Labels::new(1 + lattice.live(i).len()));
        let open = |class: usize| Labels::new(2 + model.classes[class].pieces.len());
        let opens = lattice.cuts.iter().flat_map(|_| (0..model.classes.len()).map(open));
        let mut states: Vec<Labels> = closed.chain(opens).collect();
        states[0].insert(&[0.0], Used::default(), Origin { state: 0, label: 0 }, true);
        let lifts = vec![None; lattice.len()];
        let scratch = Vec::new();
        Self { model, lattice, tails, rules, states, lifts, inserted: 0, subgraphs: 0, incomplete: false, scratch }
    }

    /// The labels of a state.
    pub fn labels(&self, state: usize) -> &Labels {
        &self.states[state]
    }

    /// The best label of the full ideal, and its latency: of the least latency that with fewest accelerators.
    pub fn best(&self) -> Option<(usize, f64)> {
        let labels = self.labels(self.lattice.len() - 1);
        let key = |i: usize| (labels.values(i)[0], labels.used(i).total());
        let best = (0..labels.len()).min_by(|&a, &b| {
            let ((time, used), (other, others)) = (key(a), key(b));
            time.total_cmp(&other).then(used.cmp(&others))
        })?;
        Some((best, key(best).0))
    }

    /// The state of the set of `class` that is open at the cut with this index.
    pub fn open_state(&self, cut: usize, class: usize) -> usize {
        self.lattice.len() + cut * self.model.classes.len() + class
    }

    /// The cut and the class of an open state.
    fn cut_of(&self, state: usize) -> (usize, usize) {
        let open = state - self.lattice.len();
        (open / self.model.classes.len(), open % self.model.classes.len())
    }

    /// Accelerators left; of no use where they are not counted, and all prices are 0.
    fn left(&self, used: Used) -> f64 {
        (self.model.classes.iter().map(|class| class.count).sum::<usize>() as f64) - used.total() as f64
    }

    /// Expands every ideal; whether it came to the end.
    pub fn run(&mut self, cx: &SearchContext) -> bool {
        let mut walk = Subgraphs::new(self.model, self.lattice);
        let mut cut = 0;
        for i in 0..self.lattice.len() {
            if i % 64 == 0 && cx.should_stop() {
                return false;
            }
            if self.lattice.cuts[cut + 1..].first() == Some(&i) {
                cut += 1;
            }
            let open = (self.lattice.cuts[cut] == i).then_some(cut);
            self.expand(i, cut, open, &mut walk);
        }
        true
    }

    fn expand(&mut self, i: usize, cut: usize, open: Option<usize>, walk: &mut Subgraphs) {
        let closed = self.take(i);
        let model = self.model;
        let connected = self.rules.connected && model.units.class_members.is_empty() && model.descendants.is_some();
        if closed.len() > 0 {
            self.run_on_cpu(i, &closed);
        }
        for class in 0..self.model.classes.len() {
            let open = open.map(|cut| self.open_state(cut, class));
            let opened = open.map(|state| (state, self.take(state)));
            if closed.len() > 0 || opened.as_ref().is_some_and(|(_, labels)| labels.len() > 0) {
                let last = self.lattice.cuts.get(cut + 1).copied().unwrap_or(i);
                let visit = |subgraph: &Subgraph| {
                    self.subgraphs += 1;
                    let cut = (subgraph.ideal == last).then_some(cut + 1);
                    self.begin(i, class, &closed, subgraph, cut);
                    if let Some((state, labels)) = &opened {
                        self.go_on(*state, class, labels, subgraph, cut);
                    }
                };
                // What goes on from an open set is connected by the cut.
                if connected && opened.is_none() {
                    walk.each_connected(i, last, class, visit);
                } else {
                    walk.each(i, last, class, visit);
                }
            }
            if let Some((state, labels)) = opened {
                self.states[state] = labels;
            }
        }
        self.states[i] = closed;
    }

    /// The labels of a state, for good: the best of them where there are too many.
    fn take(&mut self, state: usize) -> Labels {
        let mut labels = std::mem::take(&mut self.states[state]);
        self.incomplete |= labels.keep_best(self.rules.beam);
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
                    ready[o] = waits.iter().map(|&(q, time)| values[1 + q] + time).fold(run.earliest[o], f64::max);
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

    /// A subgraph of `class` begins at ideal `i`; at a cut it may also stay open.
    fn begin(&mut self, i: usize, class: usize, labels: &Labels, subgraph: &Subgraph, cut: Option<usize>) {
        let costs = &self.model.classes[class];
        let duration = max_of_pieces(&costs.pieces, &subgraph.terms);
        let is_whole = subgraph.is_whole;
        for l in 0..labels.len() {
            let used = labels.used(l);
            if used.of(class) >= Used::MAX_COUNT {
                // More than can be counted, whether or not there are more.
                self.incomplete = true;
                continue;
            }
            if self.rules.counting && used.of(class) >= costs.count {
                continue;
            }
            let used = used.plus_one(class);
            let values = labels.values(l);
            let start = subgraph.inputs.iter().map(|&q| values[1 + q]).fold(0.0, f64::max);
            if is_whole {
                let finish = start + duration;
                let time = |old: &Option<usize>| old.map_or(finish, |q| values[1 + q]);
                self.push(subgraph.ideal, values[0].max(finish), subgraph.sources.iter().map(time), used, (i, l));
            }
            if let Some(cut) = cut.filter(|&cut| is_whole && cut + 1 < self.lattice.cuts.len()) {
                let inside = Terms { comm_out: 0.0, ..subgraph.terms };
                let memory = if costs.memory_limit.is_some() { subgraph.memory } else { 0.0 };
                let times = costs.pieces.iter().map(|piece| start + piece.value(&inside));
                self.push_open(self.open_state(cut, class), [values[0], memory], times, used, (i, l));
            }
        }
    }

    /// The subgraph that is open at a cut takes in more; at the next cut it may stay open.
    fn go_on(&mut self, state: usize, class: usize, labels: &Labels, subgraph: &Subgraph, cut: Option<usize>) {
        if !subgraph.is_whole {
            return;
        }
        let costs = &self.model.classes[class];
        let terms = Terms { comm_in: 0.0, comm_out: subgraph.live_out, ..subgraph.terms };
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
            if let Some(cut) = cut.filter(|&cut| cut + 1 < self.lattice.cuts.len()) {
                let memory = if costs.memory_limit.is_some() { memory } else { 0.0 };
                let times = times().map(|(time, piece)| time + piece.value(&inside));
                self.push_open(self.open_state(cut, class), [values[0], memory], times, labels.used(l), (state, l));
            }
        }
    }

    fn push(&mut self, ideal: usize, end: f64, times: impl Iterator<Item = f64>, used: Used, from: (usize, usize)) {
        let mut values = std::mem::take(&mut self.scratch);
        values.clear();
        values.push(end);
        values.extend(times);
        let (model, lattice, tails) = (self.model, self.lattice, self.tails);
        let left = self.left(used);
        let lift = self.lifts[ideal].get_or_insert_with(|| Lift::new(model, lattice, tails, ideal));
        lift.apply(&mut values, left);
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
        let unit = self.lattice.live(self.lattice.cuts[cut]).first().map_or(0, |&p| self.model.ports[p as usize].unit);
        let time = values[2..].iter().copied().fold(0.0, f64::max);
        for tails in self.tails {
            let bound = time + tails.of_open(self.model, class, unit) - tails.price * self.left(used);
            values[0] = values[0].max(bound);
        }
        self.insert(state, &values, used, from);
        self.scratch = values;
    }

    fn insert(&mut self, state: usize, values: &[f64], used: Used, (from, label): (usize, usize)) {
        if values[0] >= self.rules.upper {
            return;
        }
        let origin = Origin { state: from as u32, label: label as u32 };
        self.inserted += usize::from(self.states[state].insert(values, used, origin, self.rules.counting));
    }
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
