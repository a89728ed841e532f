//! Layered exact search: is there a chain of ideals whose stages all meet a target?
//!
//! Layer by layer (by devices used) it keeps the ideals that exact stages reach. From each it enumerates, on the
//! frontier automaton, only the ideals that the boundary relaxation admits: those not asking more of the stage
//! below, and giving enough to the stages above. An empty search refutes the target.

use rustc_hash::{FxHashMap, FxHashSet};

use super::frontier::{FORBIDDEN, Frontier};
use super::fronts::{FrontTable, Increment};
use super::loads::{Loads, SetLoads, Value, contains, objective, worse};
use super::relaxation::{Relaxation, Windows};
use crate::solve::SearchContext;

/// A set of units as words of a bit set.
pub type Bits = Box<[u64]>;

/// How a search for a target ended.
pub enum Verdict {
    /// A chain of (ideal after the stage, index of its stage kind) that meets the target, and its worst value.
    Found(Vec<(Bits, usize)>, Value),
    /// There is none.
    Refuted,
    /// A limit came first.
    Unknown,
}

/// A reached ideal.
struct Reached {
    ideal: Bits,
    value: Value,
    /// Use and index of the ideal before, and the stage kind between.
    from: (usize, usize),
    stage: usize,
}

/// What the search works on.
pub struct Search<'a> {
    /// Loads of stages.
    pub loads: &'a Loads<'a>,
    /// The automaton of ideals.
    pub frontier: &'a Frontier,
    /// The relaxation whose windows guide the search.
    pub relaxation: &'a Relaxation<'a>,
    /// Suffix tables by variant below · variants + variant above; `None` where only a ratio is known.
    pub tables: &'a [Option<FrontTable>],
    /// The most ideals to reach before giving up.
    pub max_reached: usize,
}

/// Counts of a search.
#[derive(Debug, Clone, Copy, Default)]
pub struct Effort {
    /// Ideals reached.
    pub reached: usize,
    /// Stages evaluated.
    pub evaluated: usize,
}

impl Search<'_> {
    /// Looks for a chain with an objective of at most `windows.target`.
    pub fn run(&self, windows: &Windows, cx: &SearchContext, effort: &mut Effort) -> Verdict {
        let relaxation = self.relaxation;
        let consumption = relaxation.consumption;
        let words = self.frontier.order.len().div_ceil(64);
        let mut all: Bits = vec![0; words].into();
        (0..self.frontier.order.len()).for_each(|u| all[u / 64] |= 1 << (u % 64));
        let mut layers: Vec<Vec<Reached>> = (0..consumption.len()).map(|_| Vec::new()).collect();
        let mut known: Vec<FxHashMap<Bits, Vec<Value>>> = vec![FxHashMap::default(); consumption.len()];
        let start = vec![0; words].into();
        layers[0].push(Reached { ideal: start, value: [0.0; 2], from: (0, 0), stage: usize::MAX });
        let mut sets = SetLoads::new(self.loads);
        let mut found = Vec::new();
        let mut stage_set: Bits = vec![0; words].into();
        for used in consumption.all() {
            for index in 0..layers[used].len() {
                if cx.should_stop() || effort.reached > self.max_reached {
                    return Verdict::Unknown;
                }
                for (s, &stage) in relaxation.stages.iter().enumerate() {
                    let Some(next) = consumption.add(used, stage) else { continue };
                    found.clear();
                    found.push(all.clone());
                    self.successors(windows, &layers[used][index].ideal, (used, next), s, &mut found);
                    for ideal in found.drain(..) {
                        let from = &layers[used][index];
                        stage_set.iter_mut().zip(&ideal).zip(&from.ideal).for_each(|((s, j), a)| *s = j & !a);
                        effort.evaluated += 1;
                        let Some(value) = sets.value(stage, &stage_set) else { continue };
                        let value = worse(value, from.value);
                        if objective(value) > windows.target {
                            continue;
                        }
                        let reached = Reached { value, from: (used, index), stage: s, ideal };
                        if reached.ideal == all {
                            let value = reached.value;
                            return Verdict::Found(trace(&layers, reached), value);
                        }
                        if admit(known[next].entry(reached.ideal.clone()).or_default(), value) {
                            effort.reached += 1;
                            layers[next].push(reached);
                        }
                    }
                }
            }
        }
        Verdict::Refuted
    }

    /// Adds to `found` the ideals that may follow `from` after a stage of kind `s`.
    fn successors(&self, windows: &Windows, from: &Bits, used: (usize, usize), s: usize, found: &mut Vec<Bits>) {
        let relaxation = self.relaxation;
        let left = relaxation.consumption.full() - used.1;
        let v = relaxation.variants.len();
        let mut seen: FxHashSet<Bits> = FxHashSet::default();
        for below in (0..v).filter(|&t| relaxation.variants[t].stage == s) {
            for above in 0..v {
                let Some(need) = windows.need(left, above) else { continue };
                let increment =
                    Increment::new(self.loads.reduced, &relaxation.variants[below], &relaxation.variants[above]);
                let enumeration = Enumeration {
                    search: self,
                    table: self.tables[below * v + above].as_ref(),
                    increment,
                    from,
                    stage: s,
                    below,
                    above,
                    most: self.lower_value(from, below) + relaxation.allowance(below, windows.target),
                    need,
                    target: windows.target,
                };
                enumeration.run(&mut |ideal| {
                    if seen.insert(ideal.clone()) {
                        found.push(ideal.clone());
                    }
                });
            }
        }
    }

    /// The lower value of an ideal under variant `t`.
    fn lower_value(&self, ideal: &Bits, t: usize) -> f64 {
        let variant = &self.relaxation.variants[t];
        let weight: f64 = super::loads::ones(ideal).map(|u| variant.weight[u]).sum();
        let charges = variant.lower.iter().zip(&self.loads.reduced.nets).filter(|&(&c, net)| {
            let inside = contains(ideal, net.pins[0] as usize);
            c > 0.0 && net.pins.iter().any(|&u| contains(ideal, u as usize) != inside)
        });
        weight - charges.map(|(c, _)| c).sum::<f64>()
    }
}

/// Whether a value is new: no known one is as good in both parts.
fn admit(known: &mut Vec<Value>, value: Value) -> bool {
    if known.iter().any(|k| k[0] <= value[0] && k[1] <= value[1]) {
        return false;
    }
    known.push(value);
    true
}

fn trace(layers: &[Vec<Reached>], last: Reached) -> Vec<(Bits, usize)> {
    let mut chain = vec![(last.ideal, last.stage)];
    let (mut used, mut index) = last.from;
    while layers[used][index].stage != usize::MAX {
        let reached = &layers[used][index];
        chain.push((reached.ideal.clone(), reached.stage));
        (used, index) = reached.from;
    }
    chain.reverse();
    chain
}

/// Depth-first enumeration of the ideals above `from` that one pair of variants admits.
struct Enumeration<'a> {
    search: &'a Search<'a>,
    table: Option<&'a FrontTable>,
    increment: Increment<'a>,
    from: &'a Bits,
    stage: usize,
    below: usize,
    above: usize,
    /// The most the upper value may be.
    most: f64,
    /// The least the lower value may be.
    need: f64,
    target: f64,
}

/// A decision of the enumeration: the state before it and sums so far.
#[derive(Clone, Copy)]
struct Node {
    state: u32,
    x: f64,
    y: f64,
    weight: f64,
    memory: f64,
    /// 0: try in; 1: try out; 2: done.
    next: u8,
}

impl Enumeration<'_> {
    fn run(&self, found: &mut impl FnMut(&Bits)) {
        let frontier = self.search.frontier;
        let n = frontier.order.len();
        let mut ideal: Bits = vec![0; n.div_ceil(64)].into();
        let root = Node { state: 0, x: 0.0, y: 0.0, weight: 0.0, memory: 0.0, next: 0 };
        let mut path = Vec::with_capacity(n + 1);
        path.push(root);
        let rest = self.rest_above();
        while !path.is_empty() {
            let depth = path.len() - 1;
            let node = &mut path[depth];
            if depth == n {
                found(&ideal);
                path.pop();
                continue;
            }
            let unit = frontier.order[depth];
            if node.next == 2 {
                ideal[unit / 64] &= !(1 << (unit % 64));
                path.pop();
                continue;
            }
            let into = node.next == 0;
            node.next += 1;
            let node = *node;
            if into {
                ideal[unit / 64] |= 1 << (unit % 64);
            } else {
                ideal[unit / 64] &= !(1 << (unit % 64));
                if contains(self.from, unit) {
                    continue;
                }
            }
            if let Some(child) = self.child(depth, unit, into, &node, &rest) {
                path.push(child);
            }
        }
    }

    fn child(&self, depth: usize, unit: usize, into: bool, node: &Node, rest: &[f64]) -> Option<Node> {
        let search = self.search;
        let transition = search.frontier.layers[depth].transitions[node.state as usize][usize::from(into)];
        if transition.next == FORBIDDEN {
            return None;
        }
        let step = self.increment.of(unit, into, transition);
        let mut child = Node { state: transition.next, x: node.x + step.x, y: node.y + step.y, next: 0, ..*node };
        if into && !contains(self.from, unit) {
            let kind = &search.loads.reduced.kinds[search.relaxation.stages[self.stage].kind];
            kind.times[unit]?;
            child.weight += search.relaxation.variants[self.below].weight[unit];
            child.memory += kind.memory[unit];
            let light = child.weight <= search.relaxation.allowance(self.below, self.target);
            if !light || !crate::problem::fits(child.memory, kind.memory_limit) {
                return None;
            }
        }
        let reachable = match self.table {
            Some(table) => super::fronts::largest_x(table.front(depth + 1, child.state), self.most - child.y)
                .is_some_and(|x| child.x + x >= self.need),
            None => child.y <= self.most && child.x + rest[depth + 1] >= self.need,
        };
        reachable.then_some(child)
    }

    /// Weight of the variant above over the units from each position on.
    fn rest_above(&self) -> Vec<f64> {
        let order = &self.search.frontier.order;
        let weight = &self.search.relaxation.variants[self.above].weight;
        let mut rest = vec![0.0; order.len() + 1];
        for (i, &u) in order.iter().enumerate().rev() {
            rest[i] = rest[i + 1] + weight[u];
        }
        rest
    }
}
