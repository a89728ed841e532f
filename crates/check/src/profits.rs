//! The reason `profits`: each unit has a profit, and all devices together cannot hold as much as there is.

use std::collections::{BTreeMap, HashMap};

use crate::cases::Decision;
use crate::decimal::{product, sum};
use crate::problem::{Kind, Problem};
use crate::question::Scope;
use crate::work::MOST_WEIGHT;

/// What a proof says of one kind of device.
pub struct Earning {
    /// Weights of the pieces of the load: use is what they add up to.
    pub weights: Vec<i128>,
    /// The price of use, as numerator and denominator.
    pub price: [i128; 2],
    /// No device of this kind can hold more profit.
    pub most: i128,
}

/// The most transitions between states, and entries of fronts, of one pass.
const MOST_TRANSITIONS: usize = 4_000_000;
const MOST_ENTRIES: usize = 20_000_000;

/// Whether the profits of all units exceed what the devices can hold within the target, where decisions hold; else why not.
/// O(transitions + entries of fronts) for each kind of device, of which there are as many as the order leaves open.
pub fn refutes(problem: &Problem, profits: &[i128], earnings: &[Earning], under: &[Decision]) -> Result<(), String> {
    if earnings.len() != problem.kinds.len() {
        return Err(format!("there have to be {} kinds", problem.kinds.len()));
    }
    if problem.kinds.iter().any(|kind| kind.most_replicas > 1) {
        return Err("profits say nothing of replicas".into());
    }
    let held = problem.kinds.iter().zip(earnings).map(|(kind, earning)| product([kind.count.into(), earning.most]));
    let (total, held) = (sum(profits.iter().copied())?, sum(held.collect::<Result<Vec<_>, _>>()?)?);
    if total <= held {
        return Err(format!("the profits {total} do not exceed what the devices hold, {held}"));
    }
    for (k, (kind, earning)) in problem.kinds.iter().zip(earnings).enumerate().filter(|(_, (kind, _))| kind.count > 0) {
        let pass = Pass::new(problem, profits, (k, kind), earning, under);
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

/// All that later order nodes need to know of those behind, ascending: facts by their numbers. Of a unit, whether it is
/// inside; of an order node, its label; of a net, where its ends lie.
type State = Vec<(usize, u8)>;

/// What sets use, take of memory and earn.
#[derive(Clone, Copy, Default)]
struct Sums {
    used: i128,
    bytes: i128,
    profit: i128,
}

impl Sums {
    fn plus(self, more: Self) -> Self {
        Self { used: self.used + more.used, bytes: self.bytes + more.bytes, profit: self.profit + more.profit }
    }
}

/// From one state to the next, and what is added.
struct Transition {
    from: usize,
    to: usize,
    more: Sums,
}

/// All sets of one kind of device, by a pass through the order nodes.
struct Pass<'a> {
    problem: &'a Problem,
    earning: &'a Earning,
    /// What each unit adds to a set; `None` where the set cannot hold it. No bytes, where all units fit together.
    of_unit: Vec<Option<Sums>>,
    /// What use makes of a net's cost where its data come in, and where they go out.
    net_use: [i128; 2],
    /// Use within the target, and bytes within the memory.
    capacity: i128,
    room: i128,
    /// The order nodes as the first line has them.
    sequence: Vec<usize>,
    /// Pairs of units that are in one set, or in none.
    pairs: Vec<(usize, usize, bool)>,
    nets_of: Vec<Vec<usize>>,
    /// The step at which each unit's first order node comes.
    first: Vec<usize>,
    /// The step that is the last one to need each fact: those of units, then of order nodes, then of nets.
    last: Vec<usize>,
}

impl<'a> Pass<'a> {
    fn new(
        problem: &'a Problem,
        profits: &'a [i128],
        (k, kind): (usize, &Kind),
        earning: &'a Earning,
        under: &[Decision],
    ) -> Result<Self, String> {
        if earning.weights.len() != kind.pieces.len() {
            return Err(format!("there have to be {} weights", kind.pieces.len()));
        }
        let [numerator, denominator] = earning.price;
        let is_small = earning.weights.iter().all(|weight| (0..=MOST_WEIGHT).contains(weight));
        if !is_small || numerator < 0 || denominator <= 0 || earning.most < 0 {
            return Err("a weight, a price or what is earned is out of range".into());
        }
        // No use, no profit and none of their differences by price is larger than these, nor overflows.
        let used = product([2, sum(earning.weights.iter().copied())?, problem.largest])?;
        let earned = sum(profits.iter().map(|profit| profit.abs()).chain([earning.most]))?;
        sum([product([used, numerator])?, product([earned, denominator])?])?;
        let per =
            [0, 1, 2].map(|i| earning.weights.iter().zip(&kind.pieces).map(|(w, piece)| w * piece[i]).sum::<i128>());
        let may_hold = |u: usize| {
            under.iter().all(|decision| match *decision {
                Decision::Kind { unit, kind, holds } => unit != u || holds == (kind == k),
                Decision::Pair { .. } => true,
            })
        };
        let room = kind.capacity.filter(|&room| problem.memory.iter().sum::<i128>() > room);
        let of_unit = |u: usize| {
            let used = per[0] * kind.time[u].filter(|_| may_hold(u))?;
            Some(Sums { used, bytes: room.map_or(0, |_| problem.memory[u]), profit: profits[u] })
        };
        let pairs = under.iter().filter_map(|decision| match *decision {
            Decision::Pair { units: (u, v), holds } => Some((u, v, holds)),
            Decision::Kind { .. } => None,
        });
        let mut pass = Self {
            problem,
            earning,
            of_unit: (0..problem.order.units).map(of_unit).collect(),
            net_use: [per[1], per[2]],
            capacity: earning.weights.iter().sum::<i128>() * problem.target,
            room: room.unwrap_or_default(),
            sequence: sequence(problem)?,
            pairs: pairs.collect(),
            nets_of: if per[1..] == [0, 0] { vec![Vec::new(); problem.order.units] } else { problem.nets_of() },
            first: vec![usize::MAX; problem.order.units],
            last: vec![0; problem.order.units + problem.order.unit_of_variable.len() + problem.nets.len()],
        };
        pass.remember();
        Ok(pass)
    }

    /// Finds until when each fact is needed.
    fn remember(&mut self) {
        let order = &self.problem.order;
        let (first, last) = (&mut self.first, &mut self.last);
        let mut at = vec![0; order.unit_of_variable.len()];
        for (step, &variable) in self.sequence.iter().enumerate() {
            let unit = order.unit_of_variable[variable];
            (at[variable], last[unit], last[order.units + variable]) = (step, step, step);
            first[unit] = first[unit].min(step);
        }
        for &(a, b) in &order.edges {
            for (end, other) in [(a, b), (b, a)] {
                last[order.units + end] = last[order.units + end].max(at[other]);
            }
        }
        for &(u, v, _) in &self.pairs {
            for unit in [u, v] {
                last[unit] = last[unit].max(first[u]).max(first[v]);
            }
        }
        for (unit, nets) in self.nets_of.iter().enumerate() {
            for e in nets.iter().map(|e| order.units + at.len() + e) {
                last[e] = last[e].max(first[unit]);
            }
        }
    }

    /// What is left of a profit when its use is paid for, times the price's denominator.
    fn worth(&self, sums: Sums) -> i128 {
        self.earning.price[1] * sums.profit - self.earning.price[0] * sums.used
    }

    /// What is to be worth more than this is, to earn more than is said.
    fn least(&self) -> i128 {
        self.worth(Sums { used: self.capacity, bytes: 0, profit: self.earning.most })
    }

    /// Whether no set within the capacity earns more than is said.
    ///
    /// A first pass lists the states, a second one, backwards, tells how much what is to come can be worth, and a third
    /// one carries fronts of use, bytes and profit, without entries that this shows not to get above what is said.
    fn check(&self) -> Result<(), String> {
        let steps = self.transitions()?;
        let mut future = vec![vec![Some(0)]];
        for (transitions, states) in steps.iter().rev() {
            let mut worth = vec![None; *states];
            for t in transitions {
                let after = future[future.len() - 1][t.to].map(|after| self.worth(t.more) + after);
                worth[t.from] = worth[t.from].max(after);
            }
            future.push(worth);
        }
        future.reverse();
        let least = self.least();
        let mut fronts: Vec<Vec<Sums>> = vec![vec![Sums::default()]];
        for ((transitions, _), future) in steps.iter().zip(&future[1..]) {
            let mut next: Vec<Vec<Sums>> = vec![Vec::new(); future.len()];
            for t in transitions {
                let Some(after) = future[t.to] else { continue };
                let may_exceed = |entry: &Sums| {
                    entry.used <= self.capacity && entry.bytes <= self.room && self.worth(*entry) + after > least
                };
                next[t.to].extend(fronts[t.from].iter().map(|entry| entry.plus(t.more)).filter(may_exceed));
            }
            next.iter_mut().for_each(keep_best);
            if next.iter().map(Vec::len).sum::<usize>() > MOST_ENTRIES {
                return Err("its fronts are too large".into());
            }
            fronts = next;
        }
        match fronts.iter().flatten().map(|entry| entry.profit).max().filter(|&profit| profit > self.earning.most) {
            Some(profit) => Err(format!("a set earns {profit}, more than {}", self.earning.most)),
            None => Ok(()),
        }
    }

    /// For each step the transitions from its states, and how many of those there are. States are left out whose use
    /// exceeds the capacity, or of which no set to come can be worth enough, whatever the nets cost.
    fn transitions(&self) -> Result<Vec<(Vec<Transition>, usize)>, String> {
        let labels: &[u8] = if self.problem.scope == Scope::Arbitrary { &[0, INSIDE] } else { &[0, INSIDE, 2] };
        let (rest, least) = (self.rest(), self.least());
        // Each state with the least that is used and the most that it is worth.
        let mut states = vec![(State::default(), 0, 0)];
        let mut steps = Vec::with_capacity(self.sequence.len());
        let mut left = MOST_TRANSITIONS;
        for (step, rest) in rest.into_iter().enumerate() {
            let mut number: HashMap<State, usize> = HashMap::new();
            let (mut transitions, mut bounds) = (Vec::new(), Vec::new());
            for (from, (state, used_before, worth_before)) in states.iter().enumerate() {
                for &label in labels {
                    let Some((state, more)) = self.extend(state, step, label) else { continue };
                    let (least_used, most_worth) = (used_before + more.used, worth_before + self.worth(more));
                    if least_used > self.capacity || most_worth + rest <= least {
                        continue;
                    }
                    let to = *number.entry(state).or_insert(bounds.len());
                    if to == bounds.len() {
                        bounds.push((least_used, most_worth));
                    }
                    bounds[to] = (least_used.min(bounds[to].0), most_worth.max(bounds[to].1));
                    transitions.push(Transition { from, to, more });
                }
            }
            left = left.checked_sub(transitions.len()).ok_or("its order is too wide")?;
            steps.push((transitions, states.len()));
            states = bounds.into_iter().map(|(used, worth)| (State::default(), used, worth)).collect();
            number.into_iter().for_each(|(state, to)| states[to].0 = state);
        }
        Ok(steps)
    }

    /// After each step the most that the units to come can be worth.
    fn rest(&self) -> Vec<i128> {
        let unit_of = |&variable: &usize| self.problem.order.unit_of_variable[variable];
        let worth = |u: usize| self.of_unit[u].map_or(0, |sums| self.worth(sums).max(0));
        let mut rest = vec![0; self.sequence.len()];
        for (step, unit) in self.sequence.iter().map(unit_of).enumerate().skip(1).rev() {
            rest[step - 1] = rest[step] + if self.first[unit] == step { worth(unit) } else { 0 };
        }
        rest
    }

    /// The state once a step's order node has a label, with what that uses and earns; `None` where it may not have it.
    fn extend(&self, state: &State, step: usize, label: u8) -> Option<(State, Sums)> {
        let order = &self.problem.order;
        let variable = self.sequence[step];
        let (unit, inside) = (order.unit_of_variable[variable], label == INSIDE);
        let falls = |&(fact, other): &(usize, u8)| {
            let edge = |a, b| order.edges.binary_search(&(a, b)).is_ok();
            let node = fact.wrapping_sub(order.units);
            other > label && edge(node, variable) || other < label && edge(variable, node)
        };
        let is_label = |fact: usize| fact >= order.units && fact < order.units + order.unit_of_variable.len();
        if state.iter().filter(|&&(fact, _)| is_label(fact)).any(falls) {
            return None;
        }
        let mut next = state.clone();
        let mut more = Sums::default();
        if self.first[unit] < step {
            if known(state, unit) != Some(u8::from(inside)) {
                return None;
            }
        } else {
            if inside {
                more = self.of_unit[unit]?;
            }
            more.used += self.place(&mut next, unit, inside)?;
        }
        next.push((order.units + variable, label));
        next.retain(|&(fact, _)| self.last[fact] > step);
        next.sort_unstable();
        Some((next, more))
    }

    /// Puts a unit inside or outside, and pays for the nets that this cuts; `None` where a decision forbids it.
    fn place(&self, state: &mut State, unit: usize, inside: bool) -> Option<i128> {
        for &(u, v, together) in self.pairs.iter().filter(|&&(u, v, _)| unit == u || unit == v) {
            let partner = known(state, if unit == u { v } else { u }).map(|label| label == INSIDE);
            if partner.is_some_and(|partner| if together { partner != inside } else { partner && inside }) {
                return None;
            }
        }
        state.push((unit, u8::from(inside)));
        let mut used = 0;
        for &e in &self.nets_of[unit] {
            let net = &self.problem.nets[e];
            let fact = self.problem.order.units + self.problem.order.unit_of_variable.len() + e;
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
        Some(used)
    }
}

/// What a state knows of a fact.
fn known(state: &State, fact: usize) -> Option<u8> {
    state.iter().find(|&&(known, _)| known == fact).map(|&(_, value)| value)
}

/// The order nodes in the order of the first line; each has to be there.
fn sequence(problem: &Problem) -> Result<Vec<usize>, String> {
    let mut seen = vec![false; problem.order.unit_of_variable.len()];
    let mut sequence = Vec::with_capacity(seen.len());
    for &node in &problem.sequence {
        let variable = problem.order.variable_of.get(node).ok_or_else(|| format!("the order names {node}, no node"))?;
        sequence.extend(variable.filter(|&variable| !std::mem::replace(&mut seen[variable], true)));
    }
    if sequence.len() < seen.len() { Err("the order of the first line lacks a node".into()) } else { Ok(sequence) }
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
