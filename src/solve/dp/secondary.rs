//! What comes after the objective, among splits that are equally good: the fewest devices, then the least traffic, then the
//! evenest loads.
//!
//! A split that is optimal may still put a node on a device of its own for nothing, or cut the graph where it is thick: the
//! objective is the largest load alone. So the units of the split, stage by stage, are taken as one order, and a dynamic
//! program over the intervals whose loads stay within the objective finds the best of that order in this sense. Other orders
//! are not looked at: on none of 83 published and generated problems did one need fewer devices. That no split at all does
//! is proven where these would have too much to compute.

use super::chain::differences;
use super::linear::{Chain, Line};
use super::linearized::ideals;
use super::loads::objective;
use super::orders;
use super::{Incumbent, Setting};
use crate::bound::Shares;
use crate::graph::{Graph, topological};
use crate::preprocess::{Reduced, Unordered};
use crate::problem::{Problem, Scope, Solution};
use crate::search::SearchContext;

/// More steps than these, each an interval for one use of the devices, would take as long as many a search: some
/// milliseconds, in which nobody has to look at limits.
const MOST_STEPS: usize = 1 << 21;

/// The most positions, each for every use of the devices, that are tabulated.
const MOST_CELLS: usize = 1 << 21;

/// A graph of more nodes is not contracted for it: the table has no room for so many positions with a handful of devices each.
const MOST_NODES: usize = 1 << 17;

/// What is found about the splits that are as good as one.
pub struct Refined {
    /// A better one of them: with fewer devices, less traffic, or a smaller sum of its loads' squares, in this order.
    pub better: Option<Solution>,
    /// How many devices every one of them has at least.
    pub fewest_devices: usize,
}

/// The best split for the order of the stages of `split`, and how many devices all as good have at least. None is better where
/// the stages follow no order, where servers or an order of nodes are asked for, or where it would take long, as on very large
/// graphs.
///
/// `problem` asks for throughput. It has its costs on a grid, by which `on_grid` is the split's objective; `value` is that by the costs themselves.
/// O(n² · uses of devices).
pub fn refined(
    problem: &Problem,
    split: &Solution,
    (on_grid, value): (Option<f64>, f64),
    cx: &SearchContext,
) -> Refined {
    let spec = &problem.spec;
    let fewest_of_any = || fewest_devices(&Shares::new(&Unordered::new(problem).units), value);
    if problem.node_count() > MOST_NODES {
        return Refined { better: None, fewest_devices: fewest_of_any() };
    }
    let contracted = Reduced::contracted_only(problem);
    let shares = Shares::new(&contracted);
    let fewest_devices = match spec.scope {
        Scope::Acyclic => fewest_devices(&shares, value),
        // These may part what an acyclic split may not.
        _ => fewest_of_any(),
    };
    let is_of_stages = spec.interconnect.is_none() && !matches!(spec.scope, Scope::Linearized(_));
    let better = on_grid
        .filter(|_| is_of_stages)
        .and_then(|objective| improved(problem, (&contracted, &shares), split, objective * (1.0 + SLACK), cx));
    Refined { better, fewest_devices }
}

/// The best split within `target` for the order of the stages of `split`, with no more devices.
fn improved(
    problem: &Problem,
    (reduced, shares): (&Reduced, &Shares),
    split: &Solution,
    target: f64,
    cx: &SearchContext,
) -> Option<Solution> {
    let order = order_of(problem, reduced, split, cx)?;
    let setting = Setting::new(problem, reduced);
    let most_devices = split.devices.iter().map(|device| device.replicas).sum();
    let chain = fewest(&setting, shares, &order, (target, most_devices), cx)?;
    let stages = differences(reduced, &ideals(&order, &chain));
    Some(setting.lift(&Incumbent { value: [target, 0.0], stages }, target))
}

/// How many devices every split within `target` has at least: the load of none is more than that, and so the least loads of
/// all units together fill so many. O(n · kinds).
fn fewest_devices(shares: &Shares, target: f64) -> usize {
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
/// traffic, then the evenest loads. `None` where there is none, or where it takes too many steps or too much memory.
fn fewest(
    setting: &Setting,
    shares: &Shares,
    order: &[usize],
    (target, most_devices): (f64, usize),
    cx: &SearchContext,
) -> Option<Chain> {
    let (consumption, n) = (&setting.consumption, order.len());
    let cells = consumption.count().checked_mul(n + 1).filter(|&cells| cells <= MOST_CELLS)?;
    if !cx.admits(cells * size_of::<Way>()) {
        return None;
    }
    let line = Line::new(&setting.loads, &setting.stages, consumption, order, cx).ok()?;
    let needed = needed_after(shares, order, target);
    // The uses of one position lie side by side: an interval leads from all uses at its start to some at its end.
    let uses = consumption.count();
    let cell = |used: usize, position: usize| position * uses + used;
    let mut ways = vec![NO_WAY; cells];
    let mut steps = 0;
    ways[0].rank = [0.0; 2];
    for i in 0..n {
        for (s, &stage) in setting.stages.iter().enumerate() {
            let mut moves = Vec::new();
            for used in consumption.all() {
                let rank = ways[cell(used, i)].rank;
                if rank[0] < f64::INFINITY
                    && consumption.device_count(used).saturating_add(needed[i]) <= most_devices
                    && let Some(to) = consumption.add(used, stage)
                {
                    moves.push((consumption.device_count(to), rank, used, to));
                }
            }
            moves.sort_unstable_by_key(|&(devices, ..)| devices);
            let Some(&(least, ..)) = moves.first().filter(|(devices, ..)| *devices <= most_devices) else { continue };
            // An interval that ends before leaves more than the devices that are left can do.
            let first_end = needed.partition_point(|&needed| least.saturating_add(needed) > most_devices);
            let mut extend = |j: usize, value, traffic: f64| {
                let load = objective(value);
                let row = &mut ways[cell(0, j)..];
                for &(_, [before, uneven], used, to) in
                    moves.iter().take_while(|(devices, ..)| devices.saturating_add(needed[j]) <= most_devices)
                {
                    steps += 1;
                    let (rank, way) = ([before + traffic, uneven + load * load], &mut row[to]);
                    if rank < way.rank {
                        *way = Way { rank, from: (i as u32, used as u32), stage: s as u32 };
                    }
                }
                steps += 1;
            };
            line.scan(i, stage, &|j| j.max(first_end), &mut extend, target);
        }
        if steps > MOST_STEPS {
            return None;
        }
    }
    let ends = consumption.all().map(|used| (consumption.device_count(used), ways[cell(used, n)].rank, used));
    let reached = ends.filter(|(_, rank, _)| rank[0] < f64::INFINITY);
    let best = reached.reduce(|best, next| if (next.0, next.1) < (best.0, best.1) { next } else { best });
    best.map(|(.., used)| trace(&ways, uses, (n, used)))
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
        let part = [(10.0, 0.0), (4.0, 0.1), (4.0, 1.0), (4.0, 0.1), (4.0, 0.0)];
        let parts = 5;
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
        let split = Solution { devices, objective: Some(10.0) };
        let refined = refined(&problem, &split, (Some(10.0), 10.0), &SearchContext::new());
        assert_eq!(refined.better.unwrap().devices.len(), 3 * parts);
    }
}
