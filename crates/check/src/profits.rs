//! The reason `profits`: each unit has a profit, and all devices together cannot hold as much as there is.

use std::collections::HashMap;

use crate::cases::Decision;
use crate::problem::{Kind, Problem};
use crate::question::Scope;

/// What a proof says of one kind of device.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Earning {
    /// Weights of the pieces of the load, then of memory: use is what they add up to.
    pub weights: Vec<i128>,
    /// The price of use, as numerator and denominator.
    pub price: (i128, i128),
    /// No device of this kind can hold more profit.
    pub most: i128,
}

/// Products of two of a proof's numbers stay below this.
const LARGEST_PRODUCT: i128 = 1 << 125;

/// The most transitions between states, and entries of fronts, of one pass.
const MOST_TRANSITIONS: usize = 4_000_000;
const MOST_ENTRIES: usize = 20_000_000;

/// Whether the profits of all units exceed what the devices can hold within the target, where `decisions` hold.
///
/// # Errors
/// Why they need not.
pub fn refutes(
    problem: &Problem,
    profits: &[i128],
    earnings: &[Earning],
    decisions: &[Decision],
) -> Result<(), String> {
    if earnings.len() != problem.kinds.len() {
        return Err(format!("there have to be {} kinds", problem.kinds.len()));
    }
    if problem.kinds.iter().any(|kind| kind.most_replicas > 1) {
        return Err("profits say nothing of replicas".into());
    }
    let total = profits.iter().try_fold(0_i128, |sum, &profit| sum.checked_add(profit));
    let counts = problem.kinds.iter().map(|kind| i128::from(kind.count));
    let parts = counts.zip(earnings).map(|(count, earning)| count.checked_mul(earning.most));
    let held = parts.into_iter().try_fold(0_i128, |sum, part| sum.checked_add(part?));
    let (total, held) = total.zip(held).ok_or("the profits are too large")?;
    if total <= held {
        return Err(format!("the profits {total} do not exceed what the devices hold, {held}"));
    }
    let kinds = problem.kinds.iter().zip(earnings).enumerate();
    for (k, (kind, earning)) in kinds.filter(|(_, (kind, _))| kind.count > 0) {
        let pass = Pass::new(problem, profits, (k, kind), earning, decisions);
        pass.and_then(|pass| pass.check()).map_err(|cause| format!("kind {k}: {cause}"))?;
    }
    Ok(())
}

/// Where a net's pins lie that have been looked at.
mod pins {
    pub const SINK_IN: u8 = 1;
    pub const SINK_OUT: u8 = 2;
    pub const SOURCE_IN: u8 = 4;
    pub const SOURCE_OUT: u8 = 8;
    pub const PAID: u8 = 16;
}

/// The label of a variable that lies in the set.
const INSIDE: u8 = 1;

/// From one state to the next: what is used and earned.
struct Transition {
    from: usize,
    to: usize,
    used: i128,
    profit: i128,
}

/// All sets of one kind of device, by a pass through the order nodes: a state is all that later ones need to know.
struct Pass<'a> {
    problem: &'a Problem,
    profits: &'a [i128],
    earning: &'a Earning,
    /// What each unit uses; `None` where the set cannot hold it.
    unit_use: Vec<Option<i128>>,
    /// What a net uses whose data come in, and whose data go out.
    net_use: Vec<[i128; 2]>,
    /// Use within the target.
    capacity: i128,
    sequence: Vec<usize>,
    /// Pairs of units that are in one set, or in none.
    pairs: Vec<(usize, usize, bool)>,
}

/// What is known of the order nodes behind.
#[derive(Clone, Default, PartialEq, Eq, Hash)]
struct State {
    /// Units with order nodes to come, or with a partner to come: whether they are inside.
    units: Vec<(usize, bool)>,
    /// Order nodes with neighbours to come: their labels.
    labels: Vec<(usize, u8)>,
    /// Nets with pins to come: where the others lie.
    nets: Vec<(usize, u8)>,
}

impl<'a> Pass<'a> {
    fn new(
        problem: &'a Problem,
        profits: &'a [i128],
        (k, kind): (usize, &Kind),
        earning: &'a Earning,
        decisions: &[Decision],
    ) -> Result<Self, String> {
        let (weights, memory_weight) = match earning.weights.split_last() {
            Some((memory, pieces)) if pieces.len() == kind.pieces.len() => (pieces, *memory),
            _ => return Err(format!("there have to be {} weights", kind.pieces.len() + 1)),
        };
        let small = |x: &i128| (0..1 << 40).contains(x);
        if !earning.weights.iter().all(small) || earning.price.0 < 0 || earning.price.1 <= 0 || earning.most < 0 {
            return Err("a weight, a price or what is earned is out of range".into());
        }
        if memory_weight > 0 && kind.capacity.is_none() {
            return Err("its memory is unlimited and has a weight".into());
        }
        let piece: [Option<i128>; 3] = std::array::from_fn(|i| {
            let parts = weights.iter().zip(&kind.pieces).map(|(weight, piece)| weight.checked_mul(piece[i]));
            parts.into_iter().try_fold(0_i128, |sum, part| sum.checked_add(part?))
        });
        let [Some(compute), Some(into), Some(out)] = piece else { return Err("the weights are too large".into()) };
        let sum = weights.iter().sum::<i128>().checked_mul(problem.target * kind.one);
        let bytes = memory_weight.checked_mul(kind.capacity.unwrap_or_default());
        let capacity =
            sum.zip(bytes).and_then(|(sum, bytes)| sum.checked_add(bytes)).ok_or("the weights are too large")?;
        let may_hold = |u: usize| {
            decisions.iter().all(|decision| match *decision {
                Decision::Kind { unit, kind, holds } => unit != u || holds == (kind == k),
                Decision::Pair { .. } => true,
            })
        };
        let used = |u: usize| match kind.time[u].filter(|_| may_hold(u)) {
            None => Some(None),
            Some(time) => {
                let compute = compute.checked_mul(time)?;
                Some(Some(compute.checked_add(memory_weight.checked_mul(problem.memory[u])?)?))
            }
        };
        let unit_use = (0..problem.order.units).map(used).collect::<Option<Vec<_>>>();
        let net = |net: &crate::problem::Net| Some([into.checked_mul(net.cost)?, out.checked_mul(net.cost)?]);
        let net_use = problem.nets.iter().map(net).collect::<Option<Vec<_>>>();
        let (unit_use, net_use) = unit_use.zip(net_use).ok_or("the weights are too large")?;
        let pairs = decisions.iter().filter_map(|decision| match *decision {
            Decision::Pair { units: (u, v), holds } => Some((u, v, holds)),
            Decision::Kind { .. } => None,
        });
        let pairs = pairs.collect();
        let sequence = sequence(problem)?;
        let pass = Self { problem, profits, earning, unit_use, net_use, capacity, sequence, pairs };
        pass.is_small().then_some(pass).ok_or_else(|| "its numbers are too large".into())
    }

    /// Whether no sum of a pass can overflow.
    fn is_small(&self) -> bool {
        let units = self.unit_use.iter().flatten();
        let used = units.chain(self.net_use.iter().flatten()).chain([&self.capacity, &self.earning.most]);
        let used = used.map(|x| x.checked_abs()).try_fold(0_i128, |sum, x| sum.checked_add(x?));
        let earned =
            self.profits.iter().map(|x| x.checked_abs()).try_fold(self.earning.most, |sum, x| sum.checked_add(x?));
        let (numerator, denominator) = self.earning.price;
        let small = |a: Option<i128>, b: i128| a.and_then(|a| a.checked_mul(b)).is_some_and(|ab| ab < LARGEST_PRODUCT);
        small(used, numerator.max(1)) && small(earned, denominator)
    }

    /// What a value of price times use lets a transition count: profit less the price of use.
    fn worth(&self, used: i128, profit: i128) -> i128 {
        let (numerator, denominator) = self.earning.price;
        denominator * profit - numerator * used
    }

    /// Whether no set within the capacity earns more than is said.
    ///
    /// A first pass lists the states, a second one, backwards, tells how much what is to come can be worth, and a third
    /// one carries fronts of use and profit, without entries that this shows not to get above what is said.
    fn check(&self) -> Result<(), String> {
        let steps = self.transitions()?;
        let mut future = vec![vec![0]];
        for (transitions, states) in steps.iter().rev() {
            let mut worth = vec![i128::MIN; *states];
            if let Some(next) = future.last() {
                for t in transitions.iter().filter(|t| next[t.to] > i128::MIN) {
                    worth[t.from] = worth[t.from].max(self.worth(t.used, t.profit) + next[t.to]);
                }
            }
            future.push(worth);
        }
        future.reverse();
        self.fronts(&steps, &future)
    }

    /// The third pass.
    fn fronts(&self, steps: &[(Vec<Transition>, usize)], future: &[Vec<i128>]) -> Result<(), String> {
        let least = self.earning.price.1 * self.earning.most - self.earning.price.0 * self.capacity;
        let mut fronts: Vec<Vec<(i128, i128)>> = vec![vec![(0, 0)]];
        for (step, (transitions, _)) in steps.iter().enumerate() {
            let mut next: Vec<Vec<(i128, i128)>> = vec![Vec::new(); future[step + 1].len()];
            for t in transitions.iter().filter(|t| future[step + 1][t.to] > i128::MIN) {
                let entries = fronts[t.from].iter().map(|&(used, profit)| (used + t.used, profit + t.profit));
                next[t.to].extend(entries.filter(|&(used, profit)| {
                    used <= self.capacity && self.worth(used, profit) + future[step + 1][t.to] > least
                }));
            }
            next.iter_mut().for_each(keep_best);
            if next.iter().map(Vec::len).sum::<usize>() > MOST_ENTRIES {
                return Err("its fronts are too large".into());
            }
            fronts = next;
        }
        match fronts.iter().flatten().map(|&(_, profit)| profit).max() {
            Some(profit) if profit > self.earning.most => {
                Err(format!("a set earns {profit}, more than {}", self.earning.most))
            }
            _ => Ok(()),
        }
    }

    /// For each step the transitions from its states, and how many of those there are.
    fn transitions(&self) -> Result<Vec<(Vec<Transition>, usize)>, String> {
        let last = Last::new(self);
        let mut states = vec![State::default()];
        let mut steps = Vec::with_capacity(self.sequence.len());
        let mut count = 0;
        for (step, &variable) in self.sequence.iter().enumerate() {
            let mut index: HashMap<State, usize> = HashMap::new();
            let mut next = Vec::new();
            let mut transitions = Vec::new();
            for (from, state) in states.iter().enumerate() {
                for &label in self.labels() {
                    let Some((state, used, profit)) = self.extend(state, (step, variable, label), &last) else {
                        continue;
                    };
                    let to = *index.entry(state).or_insert_with_key(|state| {
                        next.push(state.clone());
                        next.len() - 1
                    });
                    transitions.push(Transition { from, to, used, profit });
                }
            }
            count += transitions.len();
            if count > MOST_TRANSITIONS {
                return Err("its order is too wide".into());
            }
            steps.push((transitions, states.len()));
            states = next;
        }
        Ok(steps)
    }

    fn labels(&self) -> &'static [u8] {
        if self.problem.scope == Scope::Arbitrary { &[0, INSIDE] } else { &[0, INSIDE, 2] }
    }

    /// The state once a variable has a label, with what that uses and earns; `None` where it may not have it.
    fn extend(
        &self,
        state: &State,
        (step, variable, label): (usize, usize, u8),
        last: &Last,
    ) -> Option<(State, i128, i128)> {
        let unit = self.problem.order.unit_of_variable[variable];
        let inside = label == INSIDE;
        let allowed = |&(other, label_of): &(usize, u8)| {
            let edge = |a, b| self.problem.order.edges.binary_search(&(a, b)).is_ok();
            !(edge(other, variable) && label_of > label || edge(variable, other) && label_of < label)
        };
        if !state.labels.iter().all(allowed) {
            return None;
        }
        let mut state = state.clone();
        let (mut used, mut profit) = (0, 0);
        match state.units.iter().find(|&&(u, _)| u == unit && last.first_of_unit[unit] < step) {
            Some(&(_, known)) if known != inside => return None,
            Some(_) => {}
            None => {
                used += if inside { self.unit_use[unit]? } else { 0 };
                profit += if inside { self.profits[unit] } else { 0 };
                used += self.place(&mut state, unit, inside, last)?;
            }
        }
        state.labels.push((variable, label));
        state.labels.retain(|&(v, _)| last.of_label[v] > step);
        state.units.retain(|&(u, _)| last.of_unit[u] > step);
        state.nets.retain(|&(e, _)| last.of_net[e] > step);
        state.labels.sort_unstable();
        state.units.sort_unstable();
        state.nets.sort_unstable();
        Some((state, used, profit))
    }

    /// Puts a unit inside or outside, and pays for the nets that this cuts; `None` where a decision forbids it.
    fn place(&self, state: &mut State, unit: usize, inside: bool, last: &Last) -> Option<i128> {
        for &(u, v, together) in self.pairs.iter().filter(|(u, v, _)| unit == *u || unit == *v) {
            let partner = if unit == u { v } else { u };
            let is_in = state.units.iter().find(|(known, _)| *known == partner).map(|&(_, is_in)| is_in);
            if is_in.is_some_and(|is_in| if together { is_in != inside } else { is_in && inside }) {
                return None;
            }
        }
        state.units.push((unit, inside));
        let mut used = 0;
        for &e in &last.nets_of[unit] {
            let at = state.nets.iter().position(|&(net, _)| net == e).unwrap_or_else(|| {
                state.nets.push((e, 0));
                state.nets.len() - 1
            });
            let known = &mut state.nets[at].1;
            let [into, out] = self.net_use[e];
            *known |= match (self.problem.nets[e].source == unit, inside) {
                (true, true) => pins::SOURCE_IN,
                (true, false) => pins::SOURCE_OUT,
                (false, true) => pins::SINK_IN,
                (false, false) => pins::SINK_OUT,
            };
            let both = |a, b| *known & (a | b) == a | b;
            if *known & pins::PAID != 0 {
                *known = pins::PAID;
            } else if both(pins::SOURCE_IN, pins::SINK_OUT) {
                (used, *known) = (used + out, pins::PAID);
            } else if both(pins::SOURCE_OUT, pins::SINK_IN) {
                (used, *known) = (used + into, pins::PAID);
            } else if *known & (pins::SOURCE_IN | pins::SOURCE_OUT) != 0 {
                *known &= pins::SOURCE_IN | pins::SOURCE_OUT;
            }
        }
        Some(used)
    }
}

/// Until which step something has to be known.
struct Last {
    first_of_unit: Vec<usize>,
    of_unit: Vec<usize>,
    of_label: Vec<usize>,
    of_net: Vec<usize>,
    /// The nets of each unit that use something.
    nets_of: Vec<Vec<usize>>,
}

impl Last {
    fn new(pass: &Pass) -> Self {
        let order = &pass.problem.order;
        let mut at = vec![0; order.unit_of_variable.len()];
        pass.sequence.iter().enumerate().for_each(|(step, &variable)| at[variable] = step);
        let mut first_of_unit = vec![usize::MAX; order.units];
        let mut of_unit = vec![0; order.units];
        for (variable, &unit) in order.unit_of_variable.iter().enumerate() {
            first_of_unit[unit] = first_of_unit[unit].min(at[variable]);
            of_unit[unit] = of_unit[unit].max(at[variable]);
        }
        let mut nets_of = vec![Vec::new(); order.units];
        let mut of_net = vec![0; pass.problem.nets.len()];
        for (e, net) in pass.problem.nets.iter().enumerate().filter(|&(e, _)| pass.net_use[e] != [0, 0]) {
            for &u in net.sinks.iter().chain([&net.source]) {
                nets_of[u].push(e);
                of_net[e] = of_net[e].max(first_of_unit[u]);
            }
        }
        for &(u, v, _) in &pass.pairs {
            let both = first_of_unit[u].max(first_of_unit[v]);
            of_unit[u] = of_unit[u].max(both);
            of_unit[v] = of_unit[v].max(both);
        }
        let mut of_label = at.clone();
        for &(a, b) in &order.edges {
            of_label[a] = of_label[a].max(at[b]);
            of_label[b] = of_label[b].max(at[a]);
        }
        Self { first_of_unit, of_unit, of_label, of_net, nets_of }
    }
}

/// The order nodes in the order of the first line; each has to be there.
fn sequence(problem: &Problem) -> Result<Vec<usize>, String> {
    let mut seen = vec![false; problem.order.unit_of_variable.len()];
    let mut sequence = Vec::with_capacity(seen.len());
    for &node in &problem.sequence {
        let variable =
            *problem.order.variable_of.get(node).ok_or_else(|| format!("the order names {node}, no node"))?;
        sequence.extend(variable.filter(|&variable| !std::mem::replace(&mut seen[variable], true)));
    }
    if sequence.len() < seen.len() { Err("the order of the first line lacks a node".into()) } else { Ok(sequence) }
}

/// Keeps the entries that no other one beats in use and profit, by ascending use.
fn keep_best(front: &mut Vec<(i128, i128)>) {
    front.sort_unstable_by_key(|&(used, profit)| (used, -profit));
    let mut best = i128::MIN;
    front.retain(|&(_, profit)| {
        profit > best && {
            best = profit;
            true
        }
    });
}
