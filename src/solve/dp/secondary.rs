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
use crate::bound::Shares;
use crate::graph::{Graph, topological};
use crate::preprocess::{Reduced, Unordered};
use crate::problem::{Objective, Problem, Scope, Solution};
use crate::search::{SearchContext, Stopped};

/// More steps than these, each an interval for one use of the devices, would take as long as many a search: some
/// milliseconds, in which nobody has to look at limits.
const MOST_STEPS: usize = 1 << 21;

/// How many orders are looked at beside that of the split, until one has the fewest devices that any split needs.
const MORE_ORDERS: usize = 3;

/// The most positions, each for every use of the devices, that are tabulated.
const MOST_CELLS: usize = 1 << 21;

/// A split at least as good as `split` in its objective, in the number of its devices, in its traffic and in the sum of its
/// loads' squares, in this order: the best one for the order of its stages and for some others. `None` where the stages
/// follow no order, where other things than loads are asked for, or where it would take long.
///
/// `problem` has its costs on a grid, by which `value` is the split's objective; `needed` devices are the fewest that any split as
/// good has ([`fewest_devices`]). O(n² · uses of devices) for an order.
pub fn improved(
    problem: &Problem,
    split: &Solution,
    value: f64,
    needed: usize,
    cx: &SearchContext,
) -> Option<Solution> {
    let spec = &problem.spec;
    if spec.objective != Objective::Throughput
        || spec.interconnect.is_some()
        || matches!(spec.scope, Scope::Linearized(_))
    {
        return None;
    }
    let target = value * (1.0 + SLACK);
    let reduced = Reduced::contracted_only(problem);
    let own = order_of(problem, &reduced, split, cx)?;
    let setting = Setting::new(problem, &reduced);
    let shares = Shares::new(&reduced);
    let mut most_devices = split.devices.iter().map(|device| device.replicas).sum();
    let (mut steps, mut best) = (0, None);
    let others = (0..MORE_ORDERS).map(|number| orders::numbered(&reduced, number, cx.seed, cx));
    for order in std::iter::once(own).chain(others) {
        match fewest(&setting, &shares, &order, (target, most_devices), &mut steps, cx) {
            Ok(Some((devices, chain))) => {
                best = Some((order, chain));
                most_devices = devices.saturating_sub(1);
            }
            Ok(None) => {}
            Err(Stopped) => break,
        }
        if most_devices < needed {
            break;
        }
    }
    let (order, chain) = best?;
    let stages = differences(&reduced, &ideals(&order, &chain));
    Some(setting.lift(&Incumbent { value: [target, 0.0], stages }, target))
}

/// How many devices every split within `target` has at least: the load of none is more than that, and so the least loads of
/// all units together fill so many. O(n · kinds).
pub fn fewest_devices(problem: &Problem, target: f64) -> usize {
    let shares = Shares::new(&Unordered::new(problem).units);
    devices_for((0..shares.unit_count()).filter_map(|u| shares.least(u)).sum(), target).max(1)
}

/// How many devices so much work fills within `target`, but for rounding.
fn devices_for(work: f64, target: f64) -> usize {
    if target > 0.0 { (work / target * (1.0 - 1e-9)).ceil() as usize } else { 0 }
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

/// How many devices the units from each position on need at least, as [`fewest_devices`] has it.
fn needed_after(shares: &Shares, order: &[usize], target: f64) -> Vec<usize> {
    let mut work = 0.0;
    let mut needed = vec![0; order.len() + 1];
    for (i, &u) in order.iter().enumerate().rev() {
        work += shares.least(u).unwrap_or(0.0);
        needed[i] = devices_for(work, target);
    }
    needed
}

/// The chain of intervals of an order, each within a target, that has the fewest devices, so many at most, then the least
/// traffic, then the evenest loads; and how many devices these are. `None` where there is none.
///
/// # Errors
/// [`Stopped`] where it takes too many steps, or too much memory.
fn fewest(
    setting: &Setting,
    shares: &Shares,
    order: &[usize],
    (target, most_devices): (f64, usize),
    steps: &mut usize,
    cx: &SearchContext,
) -> Result<Option<(usize, Chain)>, Stopped> {
    let (consumption, n) = (&setting.consumption, order.len());
    let cells = consumption.count().checked_mul(n + 1).filter(|&cells| cells <= MOST_CELLS).ok_or(Stopped)?;
    if !cx.admits(cells * size_of::<Way>()) {
        return Err(Stopped);
    }
    let line = Line::new(&setting.loads, &setting.stages, consumption, order, cx)?;
    let needed = needed_after(shares, order, target);
    // The uses of one position lie side by side: an interval leads from all uses at its start to some at its end.
    let uses = consumption.count();
    let cell = |used: usize, position: usize| position * uses + used;
    let mut ways = vec![NO_WAY; cells];
    ways[0].rank = [0.0; 2];
    for i in 0..n {
        for (s, &stage) in setting.stages.iter().enumerate() {
            let mut moves = Vec::new();
            for used in consumption.all() {
                let rank = ways[cell(used, i)].rank;
                if rank[0] < f64::INFINITY
                    && let Some(to) = consumption.add(used, stage)
                {
                    moves.push((consumption.device_count(to), rank, used, to));
                }
            }
            if moves.is_empty() {
                continue;
            }
            moves.sort_unstable_by_key(|&(devices, ..)| devices);
            let mut extend = |j: usize, value, traffic: f64| {
                let load = objective(value);
                let row = &mut ways[cell(0, j)..];
                for &(_, [before, uneven], used, to) in
                    moves.iter().take_while(|(devices, ..)| devices.saturating_add(needed[j]) <= most_devices)
                {
                    *steps += 1;
                    let (rank, way) = ([before + traffic, uneven + load * load], &mut row[to]);
                    if rank < way.rank {
                        *way = Way { rank, from: (i as u32, used as u32), stage: s as u32 };
                    }
                }
                *steps += 1;
            };
            line.scan(i, stage, &|j| j, &mut extend, target);
        }
        if *steps > MOST_STEPS {
            return Err(Stopped);
        }
    }
    let ends = consumption.all().map(|used| (consumption.device_count(used), ways[cell(used, n)].rank, used));
    let reached = ends.filter(|(_, rank, _)| rank[0] < f64::INFINITY);
    let best = reached.reduce(|best, next| if (next.0, next.1) < (best.0, best.1) { next } else { best });
    Ok(best.map(|(devices, _, used)| (devices, trace(&ways, uses, (n, used)))))
}

/// The chain of intervals that leads to a position and a use of devices.
fn trace(ways: &[Way], uses: usize, (mut position, mut used): (usize, usize)) -> Chain {
    let mut chain = Vec::new();
    while position > 0 {
        let Way { from, stage, .. } = ways[position * uses + used];
        chain.push((position, stage as usize));
        (position, used) = (from.0 as usize, from.1 as usize);
    }
    chain.reverse();
    chain
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::instance::{Edge, Instance, Node, Platform};
    use crate::problem::{DeviceAssignment, DeviceKind, ProblemSpec};

    #[test]
    fn devices_come_before_traffic() {
        // Behind each node that fills a device come four that take two devices that send much, or three that send little.
        // There are more such parts than orders that are looked at.
        let part = [(10.0, 0.0), (4.0, 0.1), (4.0, 1.0), (4.0, 0.1), (4.0, 0.0)];
        let parts = MORE_ORDERS + 2;
        let node = |(id, (time, transfer_time)): (usize, (f64, f64))| Node {
            accelerator_times: vec![Some(time)],
            transfer_time,
            ..Node::new(id as u64)
        };
        let nodes: Vec<Node> = part.repeat(parts).into_iter().enumerate().map(node).collect();
        let instance = Instance {
            platform: Platform::uniform(4 * parts, None, 0),
            edges: (1..nodes.len() as u64).map(|id| Edge { source: id - 1, target: id }).collect(),
            nodes,
            ..Instance::default()
        };
        let problem = Problem::new(&instance, ProblemSpec::of(&instance)).unwrap();
        let device = |nodes: Vec<u64>| DeviceAssignment::new(DeviceKind::Accelerator(0), nodes);
        let sending_little = |part: u64| {
            [vec![0], vec![1], vec![2, 3], vec![4]].map(|nodes| nodes.iter().map(|v| 5 * part + v).collect())
        };
        let devices = (0..parts as u64).flat_map(sending_little).map(device).collect();
        let needed = fewest_devices(&problem, 10.0);
        let split = Solution { devices, objective: Some(10.0) };
        let better = improved(&problem, &split, 10.0, needed, &SearchContext::new()).unwrap();
        assert_eq!(better.devices.len(), 3 * parts);
    }
}
