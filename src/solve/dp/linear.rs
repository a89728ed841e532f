//! The best split of one order of units into intervals: the engine of linearized DP.
//!
//! The load of the interval [i, j) is made of prefix sums and, for each net open at i, of two steps in j. So the
//! intervals from one i cost O(nets open at i) to set up and O(1) each. In a server a net costs its price between
//! servers only where one of the stage's own boundaries cuts it and lies between servers: the value of a chain is then
//! a lower bound of the true one, and mostly equal to it.

use std::cell::Cell;

use super::consumption::Consumption;
use super::line_memory::LineMemory;
use super::loads::{Loads, Value, objective};
use super::relaxation::{Relaxation, Windows};
use super::stage::{Boundary, Potential, StageKind};
use crate::cost::Terms;
use crate::preprocess::{KindCosts, Reduced};
use crate::problem::fits;
use crate::search::{SearchContext, Stopped};

/// A chain of stages: for each the position it ends at and the index of its stage kind.
pub type Chain = Vec<(usize, usize)>;

/// One order of the units, with prefix sums and nets in terms of positions.
pub struct Line<'a> {
    loads: &'a Loads<'a>,
    stages: &'a [StageKind],
    consumption: &'a Consumption,
    order: &'a [usize],
    /// By device kind and position: sums over the units before it, with the nets open there at their plain price
    /// and, where there are servers, at their price between them.
    prefixes: Vec<[Vec<Prefix>; 2]>,
    parameter_bytes: Vec<f64>,
    open: OpenNets,
    /// By kind of device, where memory depends on what an interval cuts.
    memory: Vec<Option<LineMemory>>,
}

#[derive(Debug, Clone, Copy, Default)]
struct OpenNet {
    net: u32,
    /// Its first pin at or after the position.
    next: u32,
    last: u32,
    source: u32,
}

#[derive(Debug, Clone, Copy, Default)]
struct Prefix {
    terms: [Terms; 2],
    /// The part of the communication that its units pay wherever the others are.
    fixed: [Terms; 2],
    memory: f64,
    unsupported: u32,
}

/// From ends greater than `after` on, an interval pays this much more.
#[derive(Debug, Clone, Copy)]
struct Event {
    after: u32,
    pass: usize,
    comm_in: f64,
    comm_out: f64,
}

/// By position i: the nets with a pin before i and one at or after it.
struct OpenNets {
    first: Vec<usize>,
    nets: Vec<OpenNet>,
}

/// Intervals, and the like, between two looks at the limits: well below a second.
const PATIENCE: usize = 1 << 20;

impl<'a> Line<'a> {
    /// Prepares `order`. O(n + Σ nets open at each position).
    ///
    /// # Errors
    /// [`Stopped`] where memory is too little for the nets open at all positions.
    pub fn new(
        loads: &'a Loads<'a>,
        stages: &'a [StageKind],
        consumption: &'a Consumption,
        order: &'a [usize],
        cx: &SearchContext,
    ) -> Result<Self, Stopped> {
        let reduced = loads.reduced;
        let open = OpenNets::new(reduced, order, cx)?;
        let mut parameter_bytes = vec![0.0; order.len() + 1];
        for (i, &u) in order.iter().enumerate() {
            parameter_bytes[i + 1] = parameter_bytes[i] + reduced.parameter_bytes[u];
        }
        let has_servers = stages.iter().any(|stage| stage.upper == Boundary::Inside);
        let inside = |kind| if has_servers { prefixes(reduced, kind, order, &open, Boundary::Inside) } else { vec![] };
        let prefixes = |kind| [prefixes(reduced, kind, order, &open, Boundary::Between), inside(kind)];
        let prefixes = (0..reduced.kinds.len()).map(prefixes).collect();
        let cut = |kind: &KindCosts| {
            let boundary = Some(&kind.boundary).filter(|boundary| !boundary.is_empty());
            boundary.map(|boundary| LineMemory::new(boundary, order, cx)).transpose()
        };
        let memory = reduced.kinds.iter().map(cut).collect::<Result<_, Stopped>>()?;
        Ok(Self { loads, stages, consumption, order, prefixes, parameter_bytes, open, memory })
    }

    /// Lower and upper value of each prefix under a potential, as at boundaries of the relaxation.
    pub fn boundary_values(&self, potential: &Potential) -> (Vec<f64>, Vec<f64>) {
        let mut weight = 0.0;
        let mut at = |i: usize| {
            let charges = |of: &[f64]| -> f64 {
                if of.is_empty() { 0.0 } else { self.open.at(i).iter().map(|o| of[o.net as usize]).sum() }
            };
            let values = (weight - charges(&potential.lower), weight + charges(&potential.upper));
            weight += self.order.get(i).map_or(0.0, |&u| potential.weight[u]);
            values
        };
        (0..=self.order.len()).map(&mut at).unzip()
    }

    /// The best chain with an objective below `upper`, exact for this order; `None` where there is none.
    ///
    /// `windows` are those of a relaxation at target `upper`, which loses nothing.
    ///
    /// # Errors
    /// [`Stopped`] where a limit came first.
    pub fn solve(
        &self,
        upper: f64,
        relaxation: &Relaxation,
        windows: &Windows,
        cx: &SearchContext,
    ) -> Result<Option<(Value, Chain)>, Stopped> {
        let n = self.order.len();
        let mut table = Table::new(Allowed::new(self, relaxation, windows, cx)?);
        let (mut upper, mut work) = (upper, 0);
        for i in 0..n {
            table.advance(i);
            work += self.consumption.count();
            for s in 0..self.stages.len() {
                work += self.extend(i, s, &mut table, &mut upper);
            }
            if work >= PATIENCE {
                work = 0;
                if cx.should_stop() {
                    return Err(Stopped);
                }
            }
        }
        Ok(table.best_end().map(|end| (table.entries[end].value, table.chain(n, end))))
    }

    /// Extends every prefix that ends at `i` by a stage of kind `s`; how many intervals that took.
    fn extend(&self, i: usize, s: usize, table: &mut Table, upper: &mut f64) -> usize {
        let (ceiling, n) = (*upper, self.order.len());
        let stage = self.stages[s];
        let next_cell = |to: usize| table.allowed.first_from(to, i + 1);
        let to =
            |&(used, from): &(usize, usize)| Some((from, Cell::new(next_cell(self.consumption.add(used, stage)?))));
        let moves: Vec<(usize, Cell<usize>)> = table.reached.iter().filter_map(to).collect();
        if moves.is_empty() {
            return 0;
        }
        let allowed = std::mem::take(&mut table.allowed);
        // Ends ascend, and so do the cells that they lie in.
        let next = |j: usize| {
            let position = |(_, cell): &(usize, Cell<usize>)| {
                while allowed.position(cell.get()) < j {
                    cell.set(cell.get() + 1);
                }
                allowed.position(cell.get())
            };
            moves.iter().map(position).min().unwrap_or(n)
        };
        let mut count = 0;
        self.scan(
            i,
            stage,
            &next,
            &mut |j, value, _| {
                count += moves.len();
                if objective(value) >= *upper {
                    return;
                }
                for (from, cell) in moves.iter().filter(|(_, cell)| allowed.position(cell.get()) == j) {
                    let mut before = table.first[*from];
                    while before != NONE {
                        let value = self.loads.together(table.entries[before as usize].value, value);
                        if objective(value) < *upper {
                            let entry = Entry { value, from: before, position: i as u32, stage: s as u32, next: NONE };
                            table.put(cell.get(), entry);
                            if j == n {
                                *upper = objective(value);
                            }
                        }
                        before = table.entries[before as usize].next;
                    }
                }
            },
            ceiling,
        );
        table.allowed = allowed;
        count + moves.len()
    }

    /// How the nets open at `i` correct the prefix sums for an interval from `i`: at first, and as its end grows.
    ///
    /// The prefix sums at j count each net open there, as outward from its source on. A net open at `i` costs nothing
    /// until the interval holds a pin, then the higher of its prices at the two boundaries, and beyond its last pin
    /// its price at the lower one.
    fn corrections(&self, i: usize, stage: StageKind) -> ([Terms; 2], Vec<Event>) {
        let reduced = self.loads.reduced;
        let mut correction = [Terms::default(); 2];
        let mut events = Vec::with_capacity(2 * self.open.at(i).len());
        for open in self.open.at(i) {
            let e = open.net as usize;
            let transfer = reduced.kinds[stage.kind].transfers[e];
            let [lower, upper] = [stage.lower, stage.upper].map(|boundary| transfer * boundary.price(reduced, e));
            let both = lower.max(upper);
            let pass = usize::from(reduced.nets[e].backward);
            let mut add = |after, comm_in, comm_out| events.push(Event { after, pass, comm_in, comm_out });
            add(open.next, both, 0.0);
            if (open.source as usize) < i {
                correction[pass].comm_out -= upper;
                add(open.last, lower - both, upper);
            } else {
                correction[pass].comm_in -= upper;
                if both > upper {
                    add(open.source, upper - both, both - upper);
                }
                add(open.last, 0.0, lower - both + upper);
            }
        }
        events.sort_unstable_by_key(|e| e.after);
        (correction, events)
    }

    /// Calls `found` with the end, value and communication of each interval from `i` on `stage` whose end is `next` at or after
    /// some position, until compute alone exceeds `upper`, memory is full, or a unit is unsupported.
    pub fn scan(
        &self,
        i: usize,
        stage: StageKind,
        next: &impl Fn(usize) -> usize,
        found: &mut impl FnMut(usize, Value, f64),
        upper: f64,
    ) {
        let prefix = &self.prefixes[stage.kind][usize::from(stage.upper == Boundary::Inside)];
        let from = prefix[i];
        let limit = self.loads.reduced.kinds[stage.kind].capacity(stage.replicas);
        let (mut correction, events) = self.corrections(i, stage);
        for (term, fixed) in correction.iter_mut().zip(&from.fixed) {
            term.comm_in -= fixed.comm_in;
            term.comm_out -= fixed.comm_out;
        }
        let mut pending = events.into_iter().peekable();
        let mut boundaries = self.memory[stage.kind].as_ref().map(|memory| memory.from(i));
        let mut rest = Some(i + 1);
        while let Some(first) = rest {
            // What `next` looks at stays as it is until the interval has been handed on.
            let j = next(first);
            rest = (j < self.order.len()).then_some(j + 1);
            let to = &prefix[j];
            while let Some(event) = pending.next_if(|e| (e.after as usize) < j) {
                let term = &mut correction[event.pass];
                term.comm_in += event.comm_in;
                term.comm_out += event.comm_out;
            }
            let memory = to.memory - from.memory;
            if to.unsupported > from.unsupported || !fits(memory, limit) {
                return;
            }
            // A longer interval may cut less.
            let boundary = boundaries.as_mut().map_or(0.0, |boundaries| boundaries.up_to(j));
            let is_held = fits(memory + boundary, limit);
            let terms = [0, 1].map(|pass| Terms {
                compute: to.terms[pass].compute - from.terms[pass].compute,
                comm_in: (to.terms[pass].comm_in + correction[pass].comm_in).max(0.0),
                comm_out: (to.terms[pass].comm_out + correction[pass].comm_out).max(0.0),
            });
            let parameter_bytes = self.parameter_bytes[j] - self.parameter_bytes[i];
            let value = self.loads.value(stage, &terms, parameter_bytes);
            if objective(value) > upper {
                let compute = terms.map(|t| Terms { compute: t.compute, ..Terms::default() });
                if objective(self.loads.value(stage, &compute, parameter_bytes)) > upper {
                    return;
                }
            } else if is_held {
                found(j, value, terms.iter().map(|pass| pass.comm_in + pass.comm_out).sum());
            }
        }
    }
}

impl OpenNets {
    fn new(reduced: &Reduced, order: &[usize], cx: &SearchContext) -> Result<Self, Stopped> {
        let mut position = vec![0u32; order.len()];
        order.iter().enumerate().for_each(|(i, &u)| position[u] = i as u32);
        // At first how many nets are open at a position, then where the next one of them goes.
        let mut next = vec![0_usize; order.len() + 2];
        for net in &reduced.nets {
            let positions = net.pins.iter().map(|&u| position[u as usize]);
            let (first, last) = (positions.clone().min().unwrap_or(0), positions.max().unwrap_or(0));
            (first + 1..=last).for_each(|i| next[i as usize] += 1);
        }
        let count: usize = next.iter().sum();
        if !cx.admits(count.saturating_mul(size_of::<OpenNet>())) {
            return Err(Stopped);
        }
        let mut first = Vec::with_capacity(order.len() + 2);
        let mut before = 0;
        for next in &mut next {
            first.push(before);
            before += std::mem::replace(next, before);
        }
        let mut nets = vec![OpenNet::default(); count];
        let mut at: Vec<u32> = Vec::new();
        for (e, net) in reduced.nets.iter().enumerate() {
            at.clear();
            at.extend(net.pins.iter().map(|&u| position[u as usize]));
            at.sort_unstable();
            let last = at.last().copied().unwrap_or(0);
            let source = position[net.source as usize];
            for pair in at.windows(2) {
                for i in pair[0] + 1..=pair[1] {
                    nets[next[i as usize]] = OpenNet { net: e as u32, next: pair[1], last, source };
                    next[i as usize] += 1;
                }
            }
        }
        Ok(Self { first, nets })
    }

    /// The nets open at position `i`.
    fn at(&self, i: usize) -> &[OpenNet] {
        &self.nets[self.first[i]..self.first[i + 1]]
    }
}

/// Sums over the units before each position, and the transfers of the nets open there: those whose source is at or
/// after it as `comm_in`, the others as `comm_out`, as an interval that ends there and holds all decided pins pays
/// where its end is such a boundary.
fn prefixes(reduced: &Reduced, kind: usize, order: &[usize], open: &OpenNets, boundary: Boundary) -> Vec<Prefix> {
    let costs = &reduced.kinds[kind];
    let mut sum = Prefix::default();
    let mut all = Vec::with_capacity(order.len() + 1);
    for j in 0..=order.len() {
        let mut prefix = sum;
        for o in open.at(j) {
            let term = &mut prefix.terms[usize::from(reduced.nets[o.net as usize].backward)];
            let side = if (o.source as usize) < j { &mut term.comm_out } else { &mut term.comm_in };
            *side += costs.transfers[o.net as usize] * boundary.price(reduced, o.net as usize);
        }
        all.push(prefix);
        let Some(&u) = order.get(j) else { break };
        match costs.times[u] {
            Some(time) => {
                sum.terms[0].compute += time.forward;
                sum.terms[1].compute += time.backward;
            }
            None => sum.unsupported += 1,
        }
        for (pass, fixed) in costs.fixed[u].iter().enumerate() {
            sum.terms[pass].add(fixed);
            sum.fixed[pass].add(fixed);
        }
        sum.memory += costs.memory[u];
    }
    all
}

/// Which boundaries the windows admit: cells, by use and then position. The last position is admitted by every use, the
/// first one by the empty use.
#[derive(Default)]
struct Allowed {
    /// By use: its first cell.
    starts: Vec<usize>,
    /// By cell.
    positions: Vec<u32>,
}

impl Allowed {
    fn new(line: &Line, relaxation: &Relaxation, windows: &Windows, cx: &SearchContext) -> Result<Self, Stopped> {
        let n = line.order.len();
        let variants = &relaxation.bounds.variants;
        let potentials = relaxation.bounds.potentials.iter();
        let values: Vec<(Vec<f64>, Vec<f64>)> = potentials.map(|p| line.boundary_values(p)).collect();
        let values = |t: usize| &values[variants[t].potential];
        let mut allowed = Self { starts: vec![0], positions: Vec::new() };
        let mut work = 0;
        for used in line.consumption.all() {
            let from = |t: usize| {
                let before = line.consumption.before(used, relaxation.stage(t));
                let reach = before.filter_map(|before| windows.reach(before, t)).reduce(f64::max)?;
                Some(reach + relaxation.allowance(t, windows.target))
            };
            let most: Vec<Option<f64>> = (0..variants.len()).map(from).collect();
            let least: Vec<Option<f64>> =
                (0..variants.len()).map(|t| windows.need(line.consumption.full() - used, t)).collect();
            let is_admitted = |i: usize| {
                let below = || (0..variants.len()).any(|t| most[t].is_some_and(|y| values(t).1[i] <= y));
                let above = || (0..variants.len()).any(|t| least[t].is_some_and(|x| values(t).0[i] >= x));
                below() && above() || i == n || i == 0 && used == 0
            };
            // A cell takes as much again in the table, and so does the list of cells when it grows.
            let most = (n + 1).saturating_mul(4 * size_of::<u32>());
            if !cx.admits(most.saturating_add(allowed.positions.len() * size_of::<u32>())) {
                return Err(Stopped);
            }
            allowed.positions.extend((0..=n).filter(|&i| is_admitted(i)).map(|i| i as u32));
            allowed.starts.push(allowed.positions.len());
            work += n * variants.len();
            if work >= PATIENCE {
                work = 0;
                if cx.should_stop() {
                    return Err(Stopped);
                }
            }
        }
        Ok(allowed)
    }

    fn position(&self, cell: usize) -> usize {
        self.positions[cell] as usize
    }

    /// The first cell of a use at position `i` or after it.
    fn first_from(&self, used: usize, i: usize) -> usize {
        let cells = &self.positions[self.starts[used]..self.starts[used + 1]];
        self.starts[used] + cells.partition_point(|&position| (position as usize) < i)
    }
}

/// The best value of a prefix that uses certain devices, and how it came about.
#[derive(Debug, Clone, Copy)]
struct Entry {
    value: Value,
    /// The entry of the prefix before the last stage.
    from: u32,
    /// Where the last stage begins.
    position: u32,
    stage: u32,
    /// The next entry of the same cell.
    next: u32,
}

/// Marks the end of a list.
const NONE: u32 = u32::MAX;

/// The best values of prefixes: of each cell a list, none of whose entries dominates another.
struct Table {
    allowed: Allowed,
    /// By cell: the first entry of its list.
    first: Vec<u32>,
    entries: Vec<Entry>,
    /// By use: its first cell at the present position or after it.
    here: Vec<usize>,
    /// The uses that reach the present position, with their cells.
    reached: Vec<(usize, usize)>,
}

impl Table {
    /// Nothing but the empty prefix.
    fn new(allowed: Allowed) -> Self {
        let mut first = vec![NONE; allowed.positions.len()];
        first[0] = 0;
        let here = allowed.starts[..allowed.starts.len() - 1].to_vec();
        let empty = Entry { value: [0.0; 2], from: NONE, position: 0, stage: u32::MAX, next: NONE };
        Self { allowed, first, entries: vec![empty], here, reached: Vec::new() }
    }

    /// Goes on to position `i`, from the one before it.
    fn advance(&mut self, i: usize) {
        self.reached.clear();
        for (used, cell) in self.here.iter_mut().enumerate() {
            // The last position is in every use.
            *cell += usize::from(self.allowed.position(*cell) < i);
            if self.allowed.position(*cell) == i && self.first[*cell] != NONE {
                self.reached.push((used, *cell));
            }
        }
    }

    /// Adds an entry to a cell unless another is as good in both parts; drops those it is as good as.
    fn put(&mut self, cell: usize, new: Entry) {
        let as_good = |a: &Value, b: &Value| a[0] <= b[0] && a[1] <= b[1];
        let mut at = self.first[cell];
        while at != NONE {
            if as_good(&self.entries[at as usize].value, &new.value) {
                return;
            }
            at = self.entries[at as usize].next;
        }
        let (mut last, mut free) = (NONE, NONE);
        let mut at = self.first[cell];
        while at != NONE {
            let Entry { value, next, .. } = self.entries[at as usize];
            if as_good(&new.value, &value) {
                free = at;
                self.link(cell, last, next);
            } else {
                last = at;
            }
            at = next;
        }
        // No later entry refers to one at a position that has not been left yet.
        match self.entries.get_mut(free as usize) {
            Some(dropped) => *dropped = new,
            None => {
                free = self.entries.len() as u32;
                self.entries.push(new);
            }
        }
        self.link(cell, last, free);
    }

    /// Lets `next` follow `last` in a cell's list; at its start without one.
    fn link(&mut self, cell: usize, last: u32, next: u32) {
        match self.entries.get_mut(last as usize) {
            Some(last) => last.next = next,
            None => self.first[cell] = next,
        }
    }

    /// The first of the best entries at the last position.
    fn best_end(&self) -> Option<usize> {
        let lists = self.allowed.starts[1..].iter().map(|&end| self.first[end - 1]);
        let entry = |at: u32| (at != NONE).then_some(at as usize);
        let of_list = |first: u32| std::iter::successors(entry(first), move |&at| entry(self.entries[at].next));
        let value = |at: &usize| objective(self.entries[*at].value);
        lists.flat_map(of_list).min_by(|a, b| value(a).total_cmp(&value(b)))
    }

    /// The chain of stages up to position `n` that ends with an entry.
    fn chain(&self, n: usize, end: usize) -> Chain {
        let (mut chain, mut position, mut at) = (Vec::new(), n, end);
        while position > 0 {
            let entry = self.entries[at];
            chain.push((position, entry.stage as usize));
            (at, position) = (entry.from as usize, entry.position as usize);
        }
        chain.reverse();
        chain
    }
}
