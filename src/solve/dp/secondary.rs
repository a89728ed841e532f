//! What comes after the objective, among splits that are equally good: the fewest devices, then the least traffic, then the
//! evenest loads.
//!
//! A split that is optimal may still put a node on a device of its own for nothing, or cut the graph where it is thick: the
//! objective is the largest load alone. So the units of the split, stage by stage, are taken as one order, beside some others,
//! and a dynamic program over the intervals whose loads stay within the objective finds the best of each order in this
//! sense. That no split needs fewer devices is proven where these would have too much to compute.

use super::chain::differences;
use super::linear::{Chain, Line};
use super::linearized::ideals;
use super::loads::objective;
use super::orders;
use super::{Incumbent, Setting};
use crate::graph::{Graph, topological};
use crate::preprocess::Reduced;
use crate::problem::{Objective, Problem, Scope, Solution};
use crate::solve::SearchContext;

/// More steps than these, each an interval for one use of the devices, would take as long as many a search: some
/// milliseconds, in which nobody has to look at limits.
const MOST_STEPS: usize = 1 << 21;

/// How many orders are looked at beside that of the split, until one has the fewest devices that any split needs.
const MORE_ORDERS: usize = 8;

/// The most positions, each for every use of the devices, that are tabulated.
const MOST_CELLS: usize = 1 << 21;

/// A split at least as good as `split` in its objective, in the number of its devices, in its traffic and in the sum of its
/// loads' squares, in this order: the best one for the order of its stages and for some others. `None` where the stages
/// follow no order, where other things than loads are asked for, or where it would take long.
///
/// `problem` has its costs on a grid, and `split` its objective by them. O(n² · uses of devices) for an order.
pub fn improved(problem: &Problem, split: &Solution, cx: &SearchContext) -> Option<Solution> {
    let spec = &problem.spec;
    if spec.objective != Objective::Throughput
        || spec.interconnect.is_some()
        || matches!(spec.scope, Scope::Linearized(_))
    {
        return None;
    }
    let target = split.objective? * (1.0 + SLACK);
    let reduced = Reduced::contracted_only(problem);
    let own = order_of(problem, &reduced, split, cx)?;
    let setting = Setting::new(problem, &reduced);
    let needed = fewest_devices(problem, target) as f64;
    let (mut steps, mut best) = (0, None::<([f64; 3], Vec<usize>, Chain)>);
    for number in 0..=MORE_ORDERS {
        let order = if number == 0 { own.clone() } else { orders::numbered(&reduced, number - 1, cx.seed, cx) };
        let Some((rank, chain)) = fewest(&setting, &order, target, &mut steps, cx) else { break };
        if best.as_ref().is_none_or(|(known, ..)| rank < *known) {
            best = Some((rank, order, chain));
        }
        if best.as_ref().is_some_and(|(known, ..)| known[0] <= needed) {
            break;
        }
    }
    let (_, order, chain) = best?;
    let stages = differences(&reduced, &ideals(&order, &chain));
    Some(setting.lift(&Incumbent { value: [target, 0.0], stages }, target))
}

/// How many devices every split within `target` has at least: none of them computes for longer than that. O(n · kinds).
pub fn fewest_devices(problem: &Problem, target: f64) -> usize {
    let kinds = problem.device_kinds();
    let least = |v: usize| {
        let times = kinds.iter().filter_map(|&kind| problem.costs.node(v, kind).map(|cost| cost.compute));
        times.fold(f64::INFINITY, f64::min)
    };
    let work: f64 = (0..problem.node_count()).map(least).sum();
    if target > 0.0 { (work / target * (1.0 - 1e-9)).ceil().max(1.0) as usize } else { 1 }
}

/// What floating-point error may make of a sum of times, as a part of it: loads that are equal but for that are as good.
pub const SLACK: f64 = 1e-12;

/// The units in the order of the stages that hold them; `None` where the stages cannot follow each other.
fn order_of(problem: &Problem, reduced: &Reduced, split: &Solution, cx: &SearchContext) -> Option<Vec<usize>> {
    let index = problem.index_of_ids();
    let mut stage_of_node = vec![usize::MAX; problem.node_count()];
    for (stage, device) in split.devices.iter().enumerate() {
        for id in &device.nodes {
            stage_of_node[*index.get(id)?] = stage;
        }
    }
    let stage = |nodes: &Vec<usize>| {
        let first = stage_of_node[*nodes.first()?];
        (first != usize::MAX && nodes.iter().all(|&v| stage_of_node[v] == first)).then_some(first)
    };
    let stage_of: Vec<usize> = reduced.members.iter().map(stage).collect::<Option<_>>()?;
    let edges = reduced.order.edges().map(|(u, v)| (stage_of[u], stage_of[v]));
    let mut edges: Vec<(usize, usize)> = edges.filter(|(a, b)| a != b).collect();
    edges.sort_unstable();
    edges.dedup();
    let stages = Graph::new(split.devices.len(), &edges).ok()?;
    let mut rank = vec![0; split.devices.len()];
    topological::smallest_first(&stages).into_iter().enumerate().for_each(|(i, stage)| rank[stage] = i);
    let mut order = orders::greedy_frontier(reduced, cx);
    order.sort_by_key(|&u| rank[stage_of[u]]);
    Some(order)
}

/// The best way to a position with certain devices.
#[derive(Clone, Copy)]
struct Way {
    /// Traffic, and the sum of the loads' squares.
    rank: [f64; 2],
    /// Where its last stage begins, with which devices in use before it.
    from: (u32, u32),
    /// The kind of that stage.
    stage: u32,
}

const NO_WAY: Way = Way { rank: [f64::INFINITY; 2], from: (0, 0), stage: 0 };

/// The chain of intervals of an order within `target` that has the fewest devices, then the least traffic, then the evenest
/// loads, and these three; infinite ones where there is none. `None` where it takes too many steps, or a limit comes first.
fn fewest(
    setting: &Setting,
    order: &[usize],
    target: f64,
    steps: &mut usize,
    cx: &SearchContext,
) -> Option<([f64; 3], Chain)> {
    let (consumption, n) = (&setting.consumption, order.len());
    let cells = consumption.count().checked_mul(n + 1).filter(|&cells| cells <= MOST_CELLS)?;
    if !cx.admits(cells * size_of::<Way>()) {
        return None;
    }
    let line = Line::new(&setting.loads, &setting.stages, consumption, order, cx).ok()?;
    // The uses of one position lie side by side: an interval leads from all uses at its start to some at its end.
    let uses = consumption.count();
    let cell = |used: usize, position: usize| position * uses + used;
    let mut ways = vec![NO_WAY; cells];
    ways[0].rank = [0.0; 2];
    for i in 0..n {
        for (s, &stage) in setting.stages.iter().enumerate() {
            let to = |used: usize| Some((ways[cell(used, i)].rank, used, consumption.add(used, stage)?));
            let is_reached = |(rank, ..): &([f64; 2], usize, usize)| rank[0] < f64::INFINITY;
            let moves: Vec<_> = consumption.all().filter_map(to).filter(is_reached).collect();
            if moves.is_empty() {
                continue;
            }
            let mut extend = |j: usize, value, traffic: f64| {
                *steps += moves.len();
                let load = objective(value);
                let row = &mut ways[cell(0, j)..];
                for &([before, uneven], used, to) in &moves {
                    let (rank, way) = ([before + traffic, uneven + load * load], &mut row[to]);
                    if rank < way.rank {
                        *way = Way { rank, from: (i as u32, used as u32), stage: s as u32 };
                    }
                }
            };
            line.scan(i, stage, &|j| j, &mut extend, target);
        }
        if *steps > MOST_STEPS {
            return None;
        }
    }
    let rank = |used: usize| {
        let [traffic, uneven] = ways[cell(used, n)].rank;
        [if traffic < f64::INFINITY { consumption.device_count(used) as f64 } else { traffic }, traffic, uneven]
    };
    let ranks = consumption.all().map(|used| (rank(used), used));
    let (best, mut used) = ranks.reduce(|best, next| if next.0 < best.0 { next } else { best })?;
    let (mut chain, mut position) = (Vec::new(), if best[0] < f64::INFINITY { n } else { 0 });
    while position > 0 {
        let Way { from, stage, .. } = ways[cell(used, position)];
        chain.push((position, stage as usize));
        (position, used) = (from.0 as usize, from.1 as usize);
    }
    chain.reverse();
    Some((best, chain))
}
