//! The reason `profits`: each unit has a profit, and all devices together cannot hold as much as there is.

use std::collections::{BTreeMap, HashMap};

use crate::Result;
use crate::cases::Decision;
use crate::decimal::{product, sum};
use crate::json::{Object, Read, Value};
use crate::problem::{Kind, Problem};
use crate::question::Scope;
use crate::work::MOST_WEIGHT;

/// What a proof says of one kind of device.
pub struct Earning {
    /// Weights of the pieces of the load: use is what they add up to.
    weights: Vec<i128>,
    /// The price of use, as numerator and denominator.
    price: [i128; 2],
    /// No device of this kind can hold more profit.
    most: i128,
}

impl Read<'_> for Earning {
    fn read(value: Value) -> Result<Self> {
        let kind = Object::of(value, &["weights", "price", "most"])?;
        Ok(Self { weights: kind.get("weights")?, price: kind.get("price")?, most: kind.get("most")? })
    }
}

/// The most transitions between states, and entries of fronts, of one pass.
const MOST_TRANSITIONS: usize = 4_000_000;
const MOST_ENTRIES: usize = 20_000_000;

/// Whether the profits of all units exceed what the devices can hold within the target, where decisions hold; else why not.
/// O(transitions + entries of fronts) for each kind of device, of which there are as many as the order leaves open.
pub fn refutes(problem: &Problem, profits: &[i128], earnings: &[Earning], under: &[Decision]) -> Result<()> {
    ensure!(earnings.len() == problem.kinds.len(), "there have to be {} kinds", problem.kinds.len());
    ensure!(problem.is_without_replicas(), "profits say nothing of replicas");
    let held = problem.present().map(|(k, kind)| product([kind.count.into(), earnings[k].most]));
    let (total, held) = (sum(profits.iter().copied())?, sum(held.collect::<Result<Vec<_>>>()?)?);
    ensure!(total > held, "the profits {total} do not exceed what the devices hold, {held}");
    for (k, kind) in problem.present() {
        let pass = Pass::new(problem, profits, (k, kind), &earnings[k], under);
        pass.and_then(|pass| pass.check()).map_err(|cause| format!("kind {k}: {cause}"))?;
    }
    Ok(())
}

/// The label of an order node that lies in the set: between before and after, which are one where there is no order.
const INSIDE: u8 = 1;

/// Where the ends of a net lie that have been looked at: bits for a sink outside and inside, then for the source.
const ENDS: [[u8; 2]; 2] = [[1, 2], [4, 8]];
/// Both sides of a net whose data come in, of one whose data go out, all of its source, and a net that was paid for.
const COMES_IN: u8 = 2 | 4;
const GOES_OUT: u8 = 1 | 8;
const SOURCE: u8 = 4 | 8;
const PAID: u8 = 16;

/// All that later order nodes need to know of those behind, ascending: facts by their numbers. Of an order node, its label; of
/// a net, where its ends lie.
type State = Vec<(usize, u8)>;

/// What sets use, take of memory and earn.
#[derive(Clone, Copy, Default)]
struct Sums {
    used: i128,
    bytes: i128,
    profit: i128,
}

/// From one state to the next, and what is added.
struct Transition {
    from: usize,
    to: usize,
    more: Sums,
}

/// An order node in its turn, and what it asks of those before it.
#[derive(Default)]
struct Step {
    node: usize,
    unit: usize,
    /// Whether it is the first one of its unit.
    is_first: bool,
    /// Those that it follows, and those that follow it.
    after: Vec<usize>,
    before: Vec<usize>,
    /// Those that are in the same set or, where that is false, in another one.
    partners: Vec<(usize, bool)>,
}

/// All sets of one kind of device, by a pass through the order nodes.
struct Pass<'a> {
    problem: &'a Problem<'a>,
    earning: &'a Earning,
    /// What each unit adds to a set; `None` where the set cannot hold it. No bytes, where all units fit together.
    of_unit: Vec<Option<Sums>>,
    /// What use makes of a net's cost where its data come in, and where they go out.
    net_use: [i128; 2],
    /// Use within the target, bytes within the memory, and the most profit.
    limit: Sums,
    steps: Vec<Step>,
    nets_of: Vec<Vec<usize>>,
    /// The step that is the last one to need each fact: those of order nodes, then of nets.
    last: Vec<usize>,
}

impl<'a> Pass<'a> {
    fn new(
        problem: &'a Problem,
        profits: &[i128],
        (k, kind): (usize, &Kind),
        earning: &'a Earning,
        under: &[Decision],
    ) -> Result<Self> {
        let Earning { weights, price: [numerator, denominator], most } = earning;
        ensure!(weights.len() == kind.pieces.len(), "there have to be {} weights", kind.pieces.len());
        let is_small = weights.iter().all(|weight| (0..=MOST_WEIGHT).contains(weight));
        let is_in_range = is_small && *numerator >= 0 && *denominator > 0 && *most >= 0;
        ensure!(is_in_range, "a weight, a price or what is earned is out of range");
        // No use, no profit and none of their differences by price is larger than these, nor overflows.
        let all = sum(weights.iter().copied())?;
        let used = product([2, all, problem.largest])?;
        let earned = sum(profits.iter().map(|profit| profit.abs()).chain([*most]))?;
        sum([product([used, *numerator])?, product([earned, *denominator])?])?;
        let per = [0, 1, 2].map(|i| weights.iter().zip(&kind.pieces).map(|(w, piece)| w * piece[i]).sum::<i128>());
        let is_excluded = |u: usize| {
            let excludes = |decision: &Decision| matches!(*decision, Decision::Kind { unit, kind, holds } if unit == u && holds != (kind == k));
            under.iter().any(excludes)
        };
        let of_unit = |u: usize| {
            let used = per[0] * kind.time(u).filter(|_| !is_excluded(u))?;
            Some(Sums { used, bytes: kind.capacity.map_or(0, |_| problem.memory[u]), profit: profits[u] })
        };
        let has_nets = per[1..] != [0, 0];
        let mut pass = Self {
            problem,
            earning,
            of_unit: (0..problem.order.units).map(of_unit).collect(),
            net_use: [per[1], per[2]],
            limit: Sums { used: all * problem.target, bytes: kind.capacity.unwrap_or_default(), profit: *most },
            steps: Vec::new(),
            nets_of: if has_nets { problem.nets_of() } else { vec![Vec::new(); problem.order.units] },
            last: vec![0; problem.order.unit_of.len() + problem.nets.len()],
        };
        pass.plan(under)?;
        Ok(pass)
    }

    /// Finds what each order node asks of those before it, and until when that has to be known.
    fn plan(&mut self, under: &[Decision]) -> Result<()> {
        let order = &self.problem.order;
        let mut first = vec![None; order.units];
        let mut at = vec![usize::MAX; order.unit_of.len()];
        for &node in &self.problem.question.order {
            let (unit, i) = (self.problem.unit(node)?, self.steps.len());
            if at[node] < usize::MAX || !order.of_unit[unit].contains(&node) {
                continue;
            }
            at[node] = i;
            let mut step = Step { node, unit, is_first: first[unit].is_none(), ..Step::default() };
            step.partners.extend(first[unit].map(|first| (first, true)));
            if step.is_first {
                first[unit] = Some(node);
                self.nets_of[unit].iter().for_each(|e| self.last[at.len() + e] = i);
                let partner = |decision: &Decision| match *decision {
                    Decision::Pair { units: (u, v), holds } if u == unit || v == unit => {
                        Some((first[u + v - unit]?, holds))
                    }
                    _ => None,
                };
                step.partners.extend(under.iter().filter_map(partner));
            }
            self.steps.push(step);
        }
        let is_whole = order.of_unit.iter().flatten().all(|&node| at[node] < usize::MAX);
        ensure!(is_whole, "the order of the first line lacks a node");
        for &(a, b) in &order.edges {
            if at[a] < at[b] { self.steps[at[b]].after.push(a) } else { self.steps[at[a]].before.push(b) }
        }
        for (i, step) in self.steps.iter().enumerate() {
            let asked = step.after.iter().chain(&step.before).chain(step.partners.iter().map(|(other, _)| other));
            asked.for_each(|&other| self.last[other] = i);
        }
        Ok(())
    }

    /// What is left of a profit when its use is paid for, times the price's denominator.
    fn worth(&self, sums: Sums) -> i128 {
        self.earning.price[1] * sums.profit - self.earning.price[0] * sums.used
    }

    /// Whether no set within the capacity earns more than is said.
    ///
    /// A first pass lists the states, a second one, backwards, tells how much what is to come can be worth, and a third
    /// one carries fronts of use, bytes and profit, without entries that this shows not to get above what is said.
    fn check(&self) -> Result<()> {
        let layers = self.layers()?;
        let mut future = vec![vec![Some(0)]];
        for (transitions, states) in layers.iter().rev() {
            let mut worth = vec![None; *states];
            for t in transitions {
                let after = future[future.len() - 1][t.to].map(|after| self.worth(t.more) + after);
                worth[t.from] = worth[t.from].max(after);
            }
            future.push(worth);
        }
        let mut fronts: Vec<Vec<Sums>> = vec![vec![Sums::default()]];
        for ((transitions, _), future) in layers.iter().zip(future.iter().rev().skip(1)) {
            let mut next: Vec<Vec<Sums>> = vec![Vec::new(); future.len()];
            for t in transitions {
                let Some(after) = future[t.to] else { continue };
                let longer = fronts[t.from].iter().map(|entry| entry.plus(t.more));
                next[t.to].extend(longer.filter(|entry| {
                    let fits = entry.used <= self.limit.used && entry.bytes <= self.limit.bytes;
                    fits && self.worth(*entry) + after > self.worth(self.limit)
                }));
            }
            next.iter_mut().for_each(keep_best);
            ensure!(next.iter().map(Vec::len).sum::<usize>() <= MOST_ENTRIES, "its fronts are too large");
            fronts = next;
        }
        let (profit, most) = (fronts.iter().flatten().map(|entry| entry.profit).max(), self.limit.profit);
        ensure!(profit <= Some(most), "a set earns {}, more than {most}", profit.unwrap_or_default());
        Ok(())
    }

    /// For each step the transitions from its states, and how many of those there are. States are left out whose use
    /// exceeds the capacity, or of which no set to come can be worth enough, whatever the nets cost.
    fn layers(&self) -> Result<Vec<(Vec<Transition>, usize)>> {
        let labels: &[u8] =
            if self.problem.question.scope == Scope::Arbitrary { &[0, INSIDE] } else { &[0, INSIDE, 2] };
        // The most that the units to come can be worth.
        let worth = |unit: usize| self.of_unit[unit].map_or(0, |sums| self.worth(sums).max(0));
        let mut rest: i128 = (0..self.problem.order.units).map(worth).sum();
        // Each state with the least that is used and the most that it is worth.
        let mut states = vec![(State::default(), 0, 0)];
        let mut layers = Vec::with_capacity(self.steps.len());
        let mut left = MOST_TRANSITIONS;
        for (i, step) in self.steps.iter().enumerate() {
            rest -= if step.is_first { worth(step.unit) } else { 0 };
            let mut number: HashMap<State, usize> = HashMap::new();
            let (mut transitions, mut bounds) = (Vec::new(), Vec::new());
            for (from, (state, used, worth)) in states.iter().enumerate() {
                for (state, more) in labels.iter().filter_map(|&label| self.extend(state, (i, step), label)) {
                    let (used, worth) = (used + more.used, worth + self.worth(more));
                    if used > self.limit.used || worth + rest <= self.worth(self.limit) {
                        continue;
                    }
                    let to = *number.entry(state).or_insert(bounds.len());
                    if to == bounds.len() {
                        bounds.push((used, worth));
                    }
                    bounds[to] = (used.min(bounds[to].0), worth.max(bounds[to].1));
                    transitions.push(Transition { from, to, more });
                }
            }
            left = left.checked_sub(transitions.len()).ok_or("its order is too wide")?;
            layers.push((transitions, states.len()));
            states = bounds.into_iter().map(|(used, worth)| (State::default(), used, worth)).collect();
            number.into_iter().for_each(|(state, to)| states[to].0 = state);
        }
        Ok(layers)
    }

    /// The state once a step's order node has a label, with what that uses and earns; `None` where it may not have it.
    fn extend(&self, state: &State, (i, step): (usize, &Step), label: u8) -> Option<(State, Sums)> {
        let label_of = |node: usize| state.iter().find(|fact| fact.0 == node).expect("labels stay while needed").1;
        let inside = label == INSIDE;
        let is_kept_apart = |&(other, together): &(usize, bool)| {
            let other = label_of(other) == INSIDE;
            if together { other != inside } else { other && inside }
        };
        if step.after.iter().any(|&other| label_of(other) > label)
            || step.before.iter().any(|&other| label_of(other) < label)
            || step.partners.iter().any(is_kept_apart)
        {
            return None;
        }
        let mut next = state.clone();
        next.push((step.node, label));
        let mut more = Sums::default();
        if step.is_first {
            if inside {
                more = self.of_unit[step.unit]?;
            }
            more.used += self.pay(&mut next, step.unit, inside);
        }
        next.retain(|&(fact, _)| self.last[fact] > i);
        next.sort_unstable();
        Some((next, more))
    }

    /// What the nets cost that a unit inside or outside cuts.
    fn pay(&self, state: &mut State, unit: usize, inside: bool) -> i128 {
        let mut used = 0;
        for &e in &self.nets_of[unit] {
            let (net, fact) = (&self.problem.nets[e], self.problem.order.unit_of.len() + e);
            let at = state.iter().position(|&(known, _)| known == fact).unwrap_or(state.len());
            if at == state.len() {
                state.push((fact, 0));
            }
            let (ends, per_cost) = match state[at].1 | ENDS[usize::from(net.source == unit)][usize::from(inside)] {
                ends if ends & PAID > 0 => (PAID, 0),
                ends if ends & COMES_IN == COMES_IN => (PAID, self.net_use[0]),
                ends if ends & GOES_OUT == GOES_OUT => (PAID, self.net_use[1]),
                // The sinks looked at are where the source is, if that is known.
                ends if ends & SOURCE > 0 => (ends & SOURCE, 0),
                ends => (ends, 0),
            };
            state[at].1 = ends;
            used += per_cost * net.cost;
        }
        used
    }
}

impl Sums {
    fn plus(self, more: Self) -> Self {
        Self { used: self.used + more.used, bytes: self.bytes + more.bytes, profit: self.profit + more.profit }
    }
}

/// Keeps the entries that no other one beats in use, bytes and profit, by ascending use.
fn keep_best(front: &mut Vec<Sums>) {
    front.sort_unstable_by_key(|entry| (entry.used, entry.bytes, -entry.profit));
    // The most profit that is known for so many bytes: more bytes, more profit.
    let mut best: BTreeMap<i128, i128> = BTreeMap::new();
    front.retain(|entry| {
        if best.range(..=entry.bytes).next_back().is_some_and(|(_, &profit)| profit >= entry.profit) {
            return false;
        }
        let beaten = |(&bytes, &profit): (&i128, &i128)| (profit <= entry.profit).then_some(bytes);
        while let Some(bytes) = best.range(entry.bytes..).next().and_then(beaten) {
            best.remove(&bytes);
        }
        best.insert(entry.bytes, entry.profit);
        true
    });
}
