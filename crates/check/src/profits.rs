//! The reason `profits`: each unit has a profit, and all devices together cannot hold as much as there is.

use std::collections::HashMap;
use std::iter::repeat;

use crate::Result;
use crate::cases::Decision;
use crate::decimal::{product, sum};
use crate::problem::Problem;
use crate::question::Scope;
use crate::work::MOST_WEIGHT;

/// What a proof says of one kind of device.
#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields, remote = "Self")]
pub struct Earning {
    /// Weights of the pieces of the load: use is what they add up to.
    weights: Vec<i128>,
    /// The price of use, as numerator and denominator.
    price: [i128; 2],
    /// No device of this kind can hold more profit.
    most: i128,
}

read_from_objects!(Earning);

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
    problem.present().try_for_each(|(k, _)| {
        let pass = Pass::new(problem, profits, k, &earnings[k], under);
        pass.and_then(|pass| pass.check()).map_err(|cause| format!("kind {k}: {cause}"))
    })
}

/// The label of an order node that lies in the set: between before and after, which are one where there is no order.
const INSIDE: u8 = 1;

/// Where the ends of a net lie that have been looked at: bits for a sink outside and inside, then for the source.
const ENDS: [[u8; 2]; 2] = [[1, 2], [4, 8]];
/// Both sides of a net whose data come in, and of one whose data go out; all of its source; and a net that was paid for.
const COMES_IN: u8 = 2 | 4;
const GOES_OUT: u8 = 1 | 8;
const SOURCE: u8 = 4 | 8;
const PAID: u8 = 16;

/// All that later order nodes need to know of those behind, the same facts in each state of a step. Of an order node, its label;
/// of a net, where its ends lie, of which nothing is known at first.
type State = Box<[u8]>;

/// What sets use, take of memory and earn.
#[derive(Clone, Copy, Default)]
struct Sums {
    used: i128,
    bytes: i128,
    profit: i128,
}

/// A step's transitions, each from one state to another one and what it adds; and how many states there are before the step.
type Layer = (Vec<(usize, usize, Sums)>, usize);

/// Whether two order nodes may have these labels.
type Ask = fn(u8, u8) -> bool;

/// An order node in its turn, whether it is the first one of its unit, and what is asked of it and those before it.
struct Step {
    node: usize,
    unit: usize,
    is_first: bool,
    asks: Vec<(usize, usize, Ask)>,
}

/// The steps through all order nodes, in the order of the first line, and the last one to need each fact: those of order nodes,
/// then of nets.
fn steps(problem: &Problem, nets_of: &[Vec<usize>], under: &[Decision]) -> Result<(Vec<Step>, Vec<usize>)> {
    const TOGETHER: Ask = |a, b| (a == INSIDE) == (b == INSIDE);
    const APART: Ask = |a, b| a != INSIDE || b != INSIDE;
    let (order, nodes) = (&problem.order, problem.order.unit_of.len());
    let (mut steps, mut at, mut first) = (Vec::new(), vec![usize::MAX; nodes], vec![None; order.units]);
    for &node in problem.question.order.iter().flatten() {
        let unit = problem.unit(node)?;
        if at[node] == usize::MAX && order.of_unit[unit].contains(&node) {
            at[node] = steps.len();
            steps.push(Step { node, unit, is_first: first[unit].is_none(), asks: Vec::new() });
            first[unit].get_or_insert(node);
        }
    }
    let are_all = steps.len() == order.of_unit.iter().map(Vec::len).sum::<usize>();
    ensure!(are_all, "the order of the first line lacks a node");
    let first: Vec<usize> = first.into_iter().flatten().collect();
    let of_units = steps.iter().map(|step| (first[step.unit], step.node, TOGETHER));
    let pairs = under.iter().filter(|decision| decision.is_pair);
    let pairs = pairs.map(|pair| (first[pair.unit], first[pair.other], if pair.holds { TOGETHER } else { APART }));
    let edges = order.edges.iter().map(|&(a, b)| -> (usize, usize, Ask) { (a, b, |a, b| a <= b) });
    let mut last = vec![0; nodes + problem.nets.len()];
    for (a, b, ask) in of_units.collect::<Vec<_>>().into_iter().chain(pairs).chain(edges) {
        let later = at[a].max(at[b]);
        steps[later].asks.push((a, b, ask));
        [a, b].iter().for_each(|&node| last[node] = later.max(last[node]));
    }
    for step in steps.iter().filter(|step| step.is_first) {
        nets_of[step.unit].iter().for_each(|e| last[nodes + e] = at[step.node]);
    }
    Ok((steps, last))
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
    nets_of: Vec<Vec<usize>>,
    steps: Vec<Step>,
    last: Vec<usize>,
}

impl<'a> Pass<'a> {
    fn new(problem: &'a Problem, profits: &[i128], k: usize, earning: &'a Earning, under: &[Decision]) -> Result<Self> {
        let (kind, Earning { weights, price: [numerator, denominator], most }) = (&problem.kinds[k], earning);
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
        let of_unit = |u: usize| {
            let excludes = |d: &Decision| !d.is_pair && d.unit == u && d.holds != (d.other == k);
            let used = per[0] * kind.time(u).filter(|_| !under.iter().any(excludes))?;
            Some(Sums { used, bytes: kind.capacity.map_or(0, |_| problem.memory[u]), profit: profits[u] })
        };
        let nets_of = if per[1..] == [0, 0] { vec![Vec::new(); problem.order.units] } else { problem.nets_of() };
        let (steps, last) = steps(problem, &nets_of, under)?;
        let limit = Sums { used: all * problem.target, bytes: kind.capacity.unwrap_or_default(), profit: *most };
        let of_unit = (0..problem.order.units).map(of_unit).collect();
        Ok(Self { problem, earning, of_unit, net_use: [per[1], per[2]], limit, nets_of, steps, last })
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
            for &(from, to, more) in transitions {
                let after = future[future.len() - 1][to].map(|after| self.worth(more) + after);
                worth[from] = worth[from].max(after);
            }
            future.push(worth);
        }
        let mut fronts = vec![vec![Sums::default()]];
        for ((transitions, _), future) in layers.iter().zip(future.iter().rev().skip(1)) {
            let mut longer = vec![Vec::new(); future.len()];
            for &(from, to, more) in transitions {
                let Some(after) = future[to] else { continue };
                let Sums { used, bytes, profit } = more;
                let plus = |e: &Sums| Sums { used: e.used + used, bytes: e.bytes + bytes, profit: e.profit + profit };
                let entries = fronts[from].iter().map(plus);
                longer[to].extend(entries.filter(|entry| {
                    let fits = entry.used <= self.limit.used && entry.bytes <= self.limit.bytes;
                    fits && self.worth(*entry) + after > self.worth(self.limit)
                }));
            }
            longer.iter_mut().for_each(keep_best);
            ensure!(longer.iter().map(Vec::len).sum::<usize>() <= MOST_ENTRIES, "its fronts are too large");
            fronts = longer;
        }
        let (profit, most) = (fronts.iter().flatten().map(|entry| entry.profit).max(), self.limit.profit);
        ensure!(profit <= Some(most), "a set earns {}, more than {most}", profit.unwrap_or_default());
        Ok(())
    }

    /// The layer of each step.
    fn layers(&self) -> Result<Vec<Layer>> {
        let labels = if self.problem.question.scope == Scope::Arbitrary { 0..=INSIDE } else { 0..=2 };
        // Each state with its number.
        let mut states = HashMap::from([(State::default(), 0)]);
        let (mut layers, mut left) = (Vec::with_capacity(self.steps.len()), MOST_TRANSITIONS);
        // The facts that states tell, and what a state tells of each fact.
        let nodes = self.problem.order.unit_of.len();
        let (mut known, mut facts) = (Vec::new(), vec![0; self.last.len()]);
        for (i, step) in self.steps.iter().enumerate() {
            let of_step = self.nets_of[step.unit].iter().map(|e| nodes + e).chain([step.node]);
            known.extend(of_step.filter(|fact| !known.contains(fact)).collect::<Vec<_>>());
            let kept: Vec<usize> = known.iter().copied().filter(|&fact| self.last[fact] > i).collect();
            let (mut transitions, mut next) = (Vec::new(), HashMap::new());
            for (state, &from) in &states {
                for label in labels.clone() {
                    known.iter().zip(state.iter().chain(repeat(&0))).for_each(|(&fact, &value)| facts[fact] = value);
                    let Some(more) = self.extend(&mut facts, step, label) else { continue };
                    let fresh = next.len();
                    let to: State = kept.iter().map(|&fact| facts[fact]).collect();
                    transitions.push((from, *next.entry(to).or_insert(fresh), more));
                }
            }
            left = left.checked_sub(transitions.len()).ok_or("its order is too wide")?;
            layers.push((transitions, states.len()));
            (states, known) = (next, kept);
        }
        Ok(layers)
    }

    /// Adds to the facts that a step's order node has a label, with what that uses and earns; `None` where it may not have it.
    fn extend(&self, facts: &mut [u8], step: &Step, label: u8) -> Option<Sums> {
        let is_inside = label == INSIDE;
        facts[step.node] = label;
        let may_be = step.asks.iter().all(|&(a, b, ask)| ask(facts[a], facts[b]));
        let of_unit = if step.is_first && is_inside { self.of_unit[step.unit] } else { Some(Sums::default()) };
        let more = of_unit.filter(|_| may_be)?;
        let paid = if step.is_first { self.pay(facts, step.unit, is_inside) } else { 0 };
        Some(Sums { used: more.used + paid, ..more })
    }

    /// What the nets cost that a unit inside or outside cuts.
    fn pay(&self, facts: &mut [u8], unit: usize, is_inside: bool) -> i128 {
        let mut used = 0;
        for &e in &self.nets_of[unit] {
            let (net, at) = (&self.problem.nets[e], &mut facts[self.problem.order.unit_of.len() + e]);
            let ends = *at | ENDS[usize::from(net.source == unit)][usize::from(is_inside)];
            let way = [COMES_IN, GOES_OUT].iter().position(|&both| ends & both == both).filter(|_| ends < PAID);
            used += way.map_or(0, |way| self.net_use[way] * net.cost);
            *at = match ends & SOURCE {
                _ if ends >= PAID || way.is_some() => PAID,
                0 => ends,
                // The sinks looked at are where the source is.
                source => source,
            };
        }
        used
    }
}

/// Keeps the entries that no other one beats in use, bytes and profit, by ascending use.
fn keep_best(front: &mut Vec<Sums>) {
    front.sort_unstable_by_key(|entry| (entry.used, entry.bytes, -entry.profit));
    // Entries of more and more bytes and profit.
    let mut best: Vec<Sums> = Vec::new();
    front.retain(|entry| {
        let at = best.partition_point(|other| other.bytes <= entry.bytes);
        let is_beaten = at > 0 && best[at - 1].profit >= entry.profit;
        if !is_beaten {
            let beaten = best[at..].iter().take_while(|other| other.profit <= entry.profit).count();
            best.splice(at..at + beaten, [*entry]);
        }
        !is_beaten
    });
}
