//! The dynamic program: labels pushed along the lattice of ideals.

use std::ops::ControlFlow;

use super::labels::{Labels, Origin, Used};
use super::lattice::Lattice;
use super::lift::Lift;
use super::model::Model;
use super::subgraphs::{Subgraph, Subgraphs};
use super::tails::Tails;
use super::views::Views;
use super::watch::{VISIT, Watch};
use crate::cost::Terms;
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
    /// The price of an accelerator: each that is begun shifts all times by so much.
    pub price: f64,
    /// The most labels expanded of one state; more are dropped, and the pass proves nothing.
    pub beam: usize,
}

impl Rules {
    /// A pass that keeps the best few labels of each state, and proves nothing.
    pub fn beam(beam: usize) -> Self {
        Self { counting: true, connected: true, upper: f64::MAX, price: 0.0, beam }
    }

    /// A pass that keeps all labels, and lets any number of accelerators be used at a price.
    pub fn priced(price: f64) -> Self {
        Self { counting: false, connected: price == 0.0, upper: f64::MAX, price, beam: usize::MAX }
    }
}

/// One pass from the empty ideal to the full one.
///
/// The states are the ideals, and for each cut and class an *open set*: the accelerator's subgraph holds the cut and goes
/// on beyond it. A label of an ideal is the largest finish so far and the time at which each live port is ready. A label
/// of an open set is the largest finish, the bytes held, and for each piece of the load the time it has come to.
pub(super) struct Pass<'a> {
    pub model: &'a Model<'a>,
    pub lattice: &'a Lattice,
    tails: &'a Tails,
    watch: Watch<'a>,
    rules: Rules,
    states: Vec<Labels>,
    lifts: Vec<Option<Lift>>,
    /// Where accelerators have a price, the states whose ideal leaves out something that starts at time 0, whatever was
    /// paid: there fewer accelerators are better. The ideal of an open set is that of its cut.
    starts_later: Vec<bool>,
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
    /// A pass that has nothing but the empty ideal.
    pub fn new(
        model: &'a Model<'a>,
        lattice: &'a Lattice,
        tails: &'a Tails,
        rules: Rules,
        cx: &'a SearchContext,
    ) -> Self {
        let mut states = empty_states(model, lattice);
        states[0].insert(&[0.0], Used::default(), Origin { state: 0, label: 0 }, true);
        let lifts = vec![None; lattice.len()];
        let scratch = Vec::new();
        let sources = if rules.price > 0.0 { model.sources() } else { Vec::new() };
        let open = lattice.cuts.iter().flat_map(|&cut| model.classes.iter().map(move |_| cut));
        let ideals = (0..lattice.len()).chain(open);
        let starts_later = ideals.map(|i| sources.iter().any(|&u| !lattice.contains(i, u))).collect();
        Self {
            model,
            lattice,
            tails,
            watch: Watch::new(cx),
            rules,
            states,
            lifts,
            starts_later,
            inserted: 0,
            subgraphs: 0,
            incomplete: false,
            views: Views::default(),
            scratch,
        }
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

    /// The price of an accelerator.
    pub fn price(&self) -> f64 {
        self.rules.price
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
            if self.lattice.cuts[cut + 1..].first() == Some(&i) {
                cut += 1;
            }
            let open = (self.lattice.cuts[cut] == i).then_some(cut);
            self.expand(i, cut, open, &mut walk)?;
        }
        // What the last ideal dropped counts too.
        self.watch.spend(0)
    }

    fn expand(&mut self, i: usize, cut: usize, open: Option<usize>, walk: &mut Subgraphs) -> ControlFlow<()> {
        self.watch.spend(self.model.unit_count())?;
        let closed = self.take(i);
        self.views.clear();
        if closed.len() > 0 {
            self.run_on_cpu(i, &closed);
        }
        let last = self.lattice.cuts.get(cut + 1).copied().unwrap_or(i);
        let reaches_cut = |subgraph: &Subgraph| (subgraph.ideal == last).then_some(cut + 1);
        for class in 0..self.model.classes.len() {
            if closed.len() > 0 {
                walk.each_worthwhile(i, last, class, self.rules.connected, |subgraph| {
                    self.subgraphs += 1;
                    self.begin(i, class, &closed, subgraph, reaches_cut(subgraph));
                    self.watch.spend(VISIT)
                })?;
            }
            let Some(state) = open.map(|cut| self.lattice.open_state(self.model, cut, class)) else { continue };
            let labels = self.take(state);
            if labels.len() > 0 {
                walk.each(i, last, class, |subgraph| {
                    self.subgraphs += 1;
                    self.go_on(state, class, &labels, subgraph, reaches_cut(subgraph));
                    self.watch.spend(VISIT)
                })?;
            }
            self.states[state] = labels;
        }
        self.states[i] = closed;
        ControlFlow::Continue(())
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
                let paid = self.rules.price * labels.used(l).total() as f64;
                for (o, waits) in waits.iter().enumerate() {
                    let waits = waits.iter().map(|&(q, time)| values[1 + q] + time);
                    ready[o] = waits.fold(paid + run.earliest[o], f64::max);
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
        let (costs, price) = (&self.model.classes[class], self.rules.price);
        let is_whole = subgraph.is_whole;
        let closes = is_whole && subgraph.is_worthwhile;
        let cut = cut.filter(|&cut| is_whole && cut + 1 < self.lattice.cuts.len());
        if !closes && cut.is_none() {
            return;
        }
        let counting = self.rules.counting || self.starts_later[i];
        let mut views = std::mem::take(&mut self.views);
        let view = views.of(labels, subgraph, price, counting);
        for l in 0..view.len() {
            let used = view.used(l);
            if used.of(class) >= Used::MAX_COUNT {
                // More than can be counted, whether or not there are more.
                self.incomplete = true;
                continue;
            }
            if self.rules.counting && used.of(class) >= costs.count {
                continue;
            }
            let used = used.plus_one(class);
            let [end, start, kept @ ..] = view.values(l) else { continue };
            let from = (i, view.origin(l).label as usize);
            if closes {
                let finish = start + subgraph.duration;
                let mut kept = kept.iter();
                let times =
                    subgraph.sources.iter().map(|source| source.and_then(|_| kept.next().copied()).unwrap_or(finish));
                self.push(subgraph.ideal, finish.max(*end), times, used, from);
            }
            if let Some(cut) = cut {
                let inside = Terms { comm_out: 0.0, ..subgraph.terms };
                let memory = if costs.memory_limit.is_some() { subgraph.memory } else { 0.0 };
                let times = costs.pieces.iter().map(|piece| start + piece.value(&inside));
                let state = self.lattice.open_state(self.model, cut, class);
                self.push_open(state, [*end, memory], times, used, from);
            }
        }
        self.views = views;
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
                let next = self.lattice.open_state(self.model, cut, class);
                self.push_open(next, [values[0], memory], times, labels.used(l), (state, l));
            }
        }
    }

    fn push(&mut self, ideal: usize, end: f64, times: impl Iterator<Item = f64>, used: Used, from: (usize, usize)) {
        if end >= self.rules.upper {
            return;
        }
        let mut values = std::mem::take(&mut self.scratch);
        values.clear();
        values.push(end);
        values.extend(times);
        let (model, lattice, tails) = (self.model, self.lattice, self.tails);
        let lift = self.lifts[ideal].get_or_insert_with(|| Lift::new(model, lattice, tails, ideal));
        lift.apply(&mut values);
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
        values[0] = values[0].max(time + self.tails.of_open(self.model, class, unit));
        self.insert(state, &values, used, from);
        self.scratch = values;
    }

    fn insert(&mut self, state: usize, values: &[f64], used: Used, (from, label): (usize, usize)) {
        if values[0] >= self.rules.upper || self.watch.spend(self.states[state].len()).is_break() {
            return;
        }
        let origin = Origin { state: from as u32, label: label as u32 };
        let counting = self.rules.counting || self.starts_later[state];
        self.inserted += usize::from(self.states[state].insert(values, used, origin, counting));
    }
}

/// The states of a pass, without labels.
pub(super) fn empty_states(model: &Model, lattice: &Lattice) -> Vec<Labels> {
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
