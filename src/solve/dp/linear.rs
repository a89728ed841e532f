//! The best split of one order of units into intervals: the engine of linearized DP.
//!
//! The load of the interval [i, j) is made of prefix sums and, for each net open at i, of two steps in j. So the
//! intervals from one i cost O(nets open at i) to set up and O(1) each. In a server a net costs its price between
//! servers only where one of the stage's own boundaries cuts it and lies between servers: the value of a chain is then
//! a lower bound of the true one, and mostly equal to it.

use super::consumption::Consumption;
use super::line_memory::LineMemory;
use super::loads::{Loads, Value, objective, worse};
use super::relaxation::{Relaxation, Windows};
use super::stage::{Boundary, Potential, StageKind};
use crate::cost::Terms;
use crate::preprocess::Reduced;
use crate::problem::fits;

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
    /// By position i: the nets with a pin before i and one at or after it.
    open: Vec<Vec<OpenNet>>,
    /// Where memory depends on what an interval cuts.
    memory: Option<LineMemory>,
}

#[derive(Debug, Clone, Copy)]
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

/// The best value of a prefix that uses certain devices, and how it came about.
#[derive(Debug, Clone, Copy)]
struct Entry {
    value: Value,
    used: u32,
    position: u32,
    rank: u32,
    stage: u32,
}

impl<'a> Line<'a> {
    /// Prepares `order`. O(n + Σ nets open at each position).
    pub fn new(
        loads: &'a Loads<'a>,
        stages: &'a [StageKind],
        consumption: &'a Consumption,
        order: &'a [usize],
    ) -> Self {
        let reduced = loads.reduced;
        let open = open_nets(reduced, order);
        let mut parameter_bytes = vec![0.0; order.len() + 1];
        for (i, &u) in order.iter().enumerate() {
            parameter_bytes[i + 1] = parameter_bytes[i] + reduced.parameter_bytes[u];
        }
        let has_servers = stages.iter().any(|stage| stage.upper == Boundary::Inside);
        let inside = |kind| if has_servers { prefixes(reduced, kind, order, &open, Boundary::Inside) } else { vec![] };
        let prefixes = |kind| [prefixes(reduced, kind, order, &open, Boundary::Between), inside(kind)];
        let prefixes = (0..reduced.kinds.len()).map(prefixes).collect();
        let memory = (!reduced.boundary.is_empty()).then(|| LineMemory::new(&reduced.boundary, order));
        Self { loads, stages, consumption, order, prefixes, parameter_bytes, open, memory }
    }

    /// Lower and upper value of each prefix under a potential, as at boundaries of the relaxation.
    pub fn boundary_values(&self, potential: &Potential) -> (Vec<f64>, Vec<f64>) {
        let mut weight = 0.0;
        let mut at = |i: usize| {
            let charges = |of: &[f64]| -> f64 {
                if of.is_empty() { 0.0 } else { self.open[i].iter().map(|o| of[o.net as usize]).sum() }
            };
            let values = (weight - charges(&potential.lower), weight + charges(&potential.upper));
            weight += self.order.get(i).map_or(0.0, |&u| potential.weight[u]);
            values
        };
        (0..=self.order.len()).map(&mut at).unzip()
    }

    /// The best chain with an objective below `upper`, exact for this order.
    ///
    /// `windows` are those of a relaxation at target `upper`, which loses nothing.
    pub fn solve(&self, upper: f64, relaxation: &Relaxation, windows: &Windows) -> Option<(Value, Chain)> {
        let n = self.order.len();
        let allowed = Allowed::new(self, relaxation, windows);
        let mut table: Vec<Vec<Vec<Entry>>> = vec![vec![Vec::new(); n + 1]; self.consumption.count()];
        table[0][0].push(Entry { value: [0.0; 2], used: 0, position: 0, rank: 0, stage: u32::MAX });
        let mut upper = upper;
        for i in 0..n {
            for s in 0..self.stages.len() {
                self.extend(i, s, &allowed, &mut table, &mut upper);
            }
        }
        let end = best_end(&table, n)?;
        Some((table[end.0][n][end.1].value, chain(&table, n, end)))
    }

    /// Extends every prefix that ends at `i` by a stage of kind `s`.
    fn extend(&self, i: usize, s: usize, allowed: &Allowed, table: &mut [Vec<Vec<Entry>>], upper: &mut f64) {
        let ceiling = *upper;
        let n = self.order.len();
        let stage = self.stages[s];
        let moves: Vec<(usize, usize)> = self
            .consumption
            .all()
            .filter(|&used| !table[used][i].is_empty())
            .filter_map(|used| Some((used, self.consumption.add(used, stage)?)))
            .collect();
        if moves.is_empty() {
            return;
        }
        let ends = |j: usize, to: usize| j == n || allowed.at(to, j);
        let next = |j: usize| moves.iter().map(|&(_, to)| allowed.first_from(to, j)).min().unwrap_or(n);
        self.scan(
            i,
            stage,
            &next,
            &mut |j, value| {
                if objective(value) >= *upper {
                    return;
                }
                for &(used, to) in moves.iter().filter(|&&(_, to)| ends(j, to)) {
                    for rank in 0..table[used][i].len() {
                        let worst = worse(table[used][i][rank].value, value);
                        if objective(worst) < *upper {
                            let entry = Entry {
                                value: worst,
                                used: used as u32,
                                position: i as u32,
                                rank: rank as u32,
                                stage: s as u32,
                            };
                            put(&mut table[to][j], entry);
                            if j == n {
                                *upper = objective(worst);
                            }
                        }
                    }
                }
            },
            ceiling,
        );
    }

    /// How the nets open at `i` correct the prefix sums for an interval from `i`: at first, and as its end grows.
    ///
    /// The prefix sums at j count each net open there, as outward from its source on. A net open at `i` costs nothing
    /// until the interval holds a pin, then the higher of its prices at the two boundaries, and beyond its last pin
    /// its price at the lower one.
    fn corrections(&self, i: usize, stage: StageKind) -> ([Terms; 2], Vec<Event>) {
        let reduced = self.loads.reduced;
        let mut correction = [Terms::default(); 2];
        let mut events = Vec::with_capacity(2 * self.open[i].len());
        for open in &self.open[i] {
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

    /// Calls `found` with the end and value of each interval from `i` on `stage` whose end is `next` at or after some
    /// position, until compute alone exceeds `upper`, memory is full, or a unit is unsupported.
    fn scan(
        &self,
        i: usize,
        stage: StageKind,
        next: &impl Fn(usize) -> usize,
        found: &mut impl FnMut(usize, Value),
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
        let mut boundaries = self.memory.as_ref().map(|memory| memory.from(i));
        let following = |&j: &usize| (j < self.order.len()).then(|| next(j + 1));
        for j in std::iter::successors(Some(next(i + 1)), following) {
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
                found(j, value);
            }
        }
    }
}

/// For each position the nets open there.
fn open_nets(reduced: &Reduced, order: &[usize]) -> Vec<Vec<OpenNet>> {
    let mut position = vec![0u32; order.len()];
    order.iter().enumerate().for_each(|(i, &u)| position[u] = i as u32);
    let mut open = vec![Vec::new(); order.len() + 1];
    let mut at: Vec<u32> = Vec::new();
    for (e, net) in reduced.nets.iter().enumerate() {
        at.clear();
        at.extend(net.pins.iter().map(|&u| position[u as usize]));
        at.sort_unstable();
        let last = at.last().copied().unwrap_or(0);
        let source = position[net.source as usize];
        for pair in at.windows(2) {
            for i in pair[0] + 1..=pair[1] {
                open[i as usize].push(OpenNet { net: e as u32, next: pair[1], last, source });
            }
        }
    }
    open
}

/// Sums over the units before each position, and the transfers of the nets open there: those whose source is at or
/// after it as `comm_in`, the others as `comm_out`, as an interval that ends there and holds all decided pins pays
/// where its end is such a boundary.
fn prefixes(reduced: &Reduced, kind: usize, order: &[usize], open: &[Vec<OpenNet>], boundary: Boundary) -> Vec<Prefix> {
    let costs = &reduced.kinds[kind];
    let mut sum = Prefix::default();
    let mut all = Vec::with_capacity(order.len() + 1);
    for (j, nets) in open.iter().enumerate() {
        let mut prefix = sum;
        for o in nets {
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

/// Which boundaries the windows admit, by use and position.
struct Allowed {
    positions: usize,
    /// By use and position: the first admitted position from there on.
    next: Vec<u32>,
}

impl Allowed {
    fn new(line: &Line, relaxation: &Relaxation, windows: &Windows) -> Self {
        let positions = line.order.len() + 1;
        let uses = line.consumption.count();
        let variants = &relaxation.bounds.variants;
        let potentials = relaxation.bounds.potentials.iter();
        let values: Vec<(Vec<f64>, Vec<f64>)> = potentials.map(|p| line.boundary_values(p)).collect();
        let values = |t: usize| &values[variants[t].potential];
        let mut next = vec![positions as u32; uses * positions];
        for used in line.consumption.all() {
            let from = |t: usize| {
                let before = line.consumption.before(used, relaxation.stage(t));
                let reach = before.filter_map(|before| windows.reach(before, t)).reduce(f64::max)?;
                Some(reach + relaxation.allowance(t, windows.target))
            };
            let most: Vec<Option<f64>> = (0..variants.len()).map(from).collect();
            let least: Vec<Option<f64>> =
                (0..variants.len()).map(|t| windows.need(line.consumption.full() - used, t)).collect();
            let mut following = positions as u32;
            for i in (0..positions).rev() {
                let below = (0..variants.len()).any(|t| most[t].is_some_and(|y| values(t).1[i] <= y));
                let above = (0..variants.len()).any(|t| least[t].is_some_and(|x| values(t).0[i] >= x));
                if below && above {
                    following = i as u32;
                }
                next[used * positions + i] = following;
            }
        }
        Self { positions, next }
    }

    fn at(&self, used: usize, i: usize) -> bool {
        self.first_from(used, i) == i
    }

    /// The first admitted position from `i` on, or the last one.
    fn first_from(&self, used: usize, i: usize) -> usize {
        self.next.get(used * self.positions + i).map_or(self.positions - 1, |&j| j as usize).min(self.positions - 1)
    }
}

/// Adds an entry unless another is as good in both parts; drops those it is as good as.
fn put(entries: &mut Vec<Entry>, new: Entry) {
    let as_good = |a: &Value, b: &Value| a[0] <= b[0] && a[1] <= b[1];
    if entries.iter().any(|old| as_good(&old.value, &new.value)) {
        return;
    }
    entries.retain(|old| !as_good(&new.value, &old.value));
    entries.push(new);
}

fn best_end(table: &[Vec<Vec<Entry>>], n: usize) -> Option<(usize, usize)> {
    let ends = table.iter().enumerate().flat_map(|(used, row)| (0..row[n].len()).map(move |rank| (used, rank)));
    ends.min_by(|&(u, a), &(v, b)| objective(table[u][n][a].value).total_cmp(&objective(table[v][n][b].value)))
}

fn chain(table: &[Vec<Vec<Entry>>], n: usize, end: (usize, usize)) -> Chain {
    let mut chain = Vec::new();
    let mut position = n;
    let (mut used, mut rank) = end;
    while position > 0 {
        let entry = table[used][position][rank];
        chain.push((position, entry.stage as usize));
        (used, rank, position) = (entry.used as usize, entry.rank as usize, entry.position as usize);
    }
    chain.reverse();
    chain
}
