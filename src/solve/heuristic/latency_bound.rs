//! A cheap lower bound of the latency: paths, and what they leave to the accelerators.

use crate::cost::{NodeCost, compute_load};
use crate::graph::order_graph::Groups;
use crate::graph::{NodeId, paths, topological};
use crate::problem::{DeviceKind, Problem, Scope, fits};
use crate::solve::{BoundSource, LowerBound, SearchContext};

/// Steps of the bisection; each halves the bracket.
const STEPS: usize = 40;

/// Nodes looked at for one target after which limits count: no more than a tenth of a second.
const PATIENCE: usize = 1 << 16;

/// Room for the rounding of sums, relative.
const ROUNDING: f64 = 1e-11;

/// A latency that no split is below.
///
/// A path takes at least the least times of its nodes, transfers apart. For a target T, a node with which its longest
/// path would take more than T on a CPU has to be on an accelerator, its whole colour class with it, which takes
/// memory and time there: at most all accelerators' memory, and T on each. The bound is the largest T refuted so.
/// O(rounds · (n + m)) for each of some 40 targets, where a round moves at least one class to the accelerators. The bound
/// is lower where a limit comes first.
pub fn latency_bound(problem: &Problem, cx: &SearchContext) -> LowerBound {
    let paths = Paths::new(problem);
    let (mut low, mut high) = (0.0, paths.ceiling());
    for _ in 0..STEPS {
        let middle = 0.5 * (low + high);
        if paths.refute(middle, cx) {
            low = middle;
        } else {
            high = middle;
        }
    }
    LowerBound { value: low * (1.0 - ROUNDING), scope: Scope::Arbitrary, source: BoundSource::LongestPath }
}

/// The least that a node costs on some accelerator.
#[derive(Clone, Copy)]
struct Least {
    time: f64,
    memory: f64,
}

struct Paths<'a> {
    problem: &'a Problem,
    groups: Groups,
    order: Vec<NodeId>,
    /// What each node costs at least on an accelerator; `None` where its colour class cannot be on one.
    on_accelerator: Vec<Option<Least>>,
    /// The time of each node on a CPU; `None` where its colour class cannot be on one.
    on_cpu: Vec<Option<f64>>,
    accelerators: f64,
    /// All accelerators' memory; `None` is unlimited.
    memory: Option<f64>,
}

impl<'a> Paths<'a> {
    fn new(problem: &'a Problem) -> Self {
        let groups = Groups::new(&problem.color_class);
        let (cpus, accelerators): (Vec<DeviceKind>, Vec<DeviceKind>) =
            problem.device_kinds().into_iter().partition(|&kind| kind == DeviceKind::Cpu);
        let least = |v: NodeId| {
            let costs = || accelerators.iter().filter_map(|&kind| cost(problem, v, kind));
            let time = costs().map(|cost| cost.compute).min_by(f64::total_cmp)?;
            Some(Least { time, memory: costs().map(|cost| cost.memory).min_by(f64::total_cmp)? })
        };
        let on_cpu = |v: NodeId| cpus.iter().find_map(|&kind| Some(cost(problem, v, kind)?.compute));
        let devices = |kind: &DeviceKind| problem.device_count(*kind) as f64;
        Self {
            problem,
            order: topological::smallest_first(&problem.graph),
            on_accelerator: together(&groups, least),
            on_cpu: together(&groups, on_cpu),
            accelerators: accelerators.iter().map(devices).sum(),
            memory: accelerators.iter().map(|kind| Some(problem.memory_limit(*kind)? * devices(kind))).sum(),
            groups,
        }
    }

    /// A latency that the bound need not exceed.
    fn ceiling(&self) -> f64 {
        let times = self.on_accelerator.iter().zip(&self.on_cpu);
        times.map(|(least, cpu)| least.map_or(0.0, |least| least.time).max(cpu.unwrap_or(0.0))).sum()
    }

    /// Whether no split has a latency of `target` or less.
    fn refute(&self, target: f64, cx: &SearchContext) -> bool {
        let limit = target * (1.0 + ROUNDING);
        let mut forced: Vec<bool> = self.on_cpu.iter().map(Option::is_none).collect();
        let mut work = 0;
        loop {
            work += forced.len();
            if work >= PATIENCE && cx.should_stop() {
                return false;
            }
            let Some(times) = self.times(&forced) else { return true };
            let through = self.longest_paths(&times);
            if through.iter().any(|&path| path > limit) {
                return true;
            }
            let mut grown = false;
            for v in 0..times.len() {
                if !forced[v] && self.on_cpu[v].is_some_and(|time| through[v] - times[v] + time > limit) {
                    self.groups.members[self.groups.of_node[v]].iter().for_each(|&w| forced[w] = true);
                    grown = true;
                }
            }
            if !grown {
                break;
            }
        }
        let held =
            || self.on_accelerator.iter().zip(&forced).filter(|(_, forced)| **forced).filter_map(|(least, _)| *least);
        let time: f64 = held().map(|least| least.time).sum();
        !fits(held().map(|least| least.memory).sum(), self.memory) || time > self.accelerators * limit
    }

    /// The least time of each node, where those `forced` have to be on accelerators; `None` where one cannot.
    fn times(&self, forced: &[bool]) -> Option<Vec<f64>> {
        let time = |(v, &forced): (usize, &bool)| {
            let accelerator = self.on_accelerator[v].map(|least| least.time);
            match self.on_cpu[v].filter(|_| !forced) {
                Some(cpu) => Some(accelerator.map_or(cpu, |time| time.min(cpu))),
                None => accelerator,
            }
        };
        forced.iter().enumerate().map(time).collect()
    }

    /// The longest path through each node.
    fn longest_paths(&self, times: &[f64]) -> Vec<f64> {
        let graph = &self.problem.graph;
        let (to, from) = (paths::longest_to(graph, &self.order, times), paths::longest_from(graph, &self.order, times));
        to.iter().enumerate().map(|(v, to)| to + paths::furthest(graph.successors(v), &from)).collect()
    }
}

/// What `of_node` says of each node, or `None` where it says nothing of one of the node's colour class.
fn together<T: Copy>(groups: &Groups, of_node: impl Fn(NodeId) -> Option<T>) -> Vec<Option<T>> {
    let mut found: Vec<Option<T>> = (0..groups.of_node.len()).map(of_node).collect();
    for members in &groups.members {
        if members.iter().any(|&v| found[v].is_none()) {
            members.iter().for_each(|&v| found[v] = None);
        }
    }
    found
}

/// What a node costs on a kind of device, its time as a part of any load.
fn cost(problem: &Problem, v: NodeId, kind: DeviceKind) -> Option<NodeCost> {
    let mut cost = problem.costs.node(v, kind)?;
    cost.compute = compute_load(problem.costs.pieces(kind), cost.compute);
    Some(cost)
}
