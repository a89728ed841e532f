//! The published baseline for the latency: accelerators are filled one after another.

use super::placement::{Blocks, Evaluator, Place};
use super::{latency_bound, outcome, supports_latency};
use crate::graph::NodeId;
use crate::graph::order_graph::Groups;
use crate::preprocess::atomic_units;
use crate::problem::Problem;
use crate::solve::{Guarantee, Run, SearchContext, SolveError, Solver, Stats, Unsupported};

/// Fills one accelerator after another with the graph in a depth-first topological order, as much as fits in its
/// memory, and leaves the rest to the CPU (Tarnawski 2020, appendix F).
///
/// Colour classes, and classes that need each other, go as a whole. Each accelerator gets one subgraph. Ties of the
/// order are broken as the published program does: first the source that the file names first, then the consumer
/// that it names last. It finds no split where what is left over cannot run on a CPU. O(n + m).
///
/// ```
/// use dagsplit::instance::{Edge, Instance, Node, Platform};
/// use dagsplit::problem::{Objective, Problem, ProblemSpec};
/// use dagsplit::solve::{SearchContext, Solver, heuristic::Greedy};
///
/// let node = |id| Node { accelerator_times: vec![Some(2.0)], memory: 1.0, transfer_time: 1.0, ..Node::new(id) };
/// let instance = Instance {
///     platform: Platform::uniform(2, Some(2.0), 0),
///     nodes: (0..4).map(node).collect(),
///     edges: (0..3).map(|id| Edge { source: id, target: id + 1 }).collect(),
///     ..Instance::default()
/// };
/// let spec = ProblemSpec { objective: Objective::Latency { subgraphs: 1 }, ..ProblemSpec::of(&instance) };
/// let run = Greedy.solve(&Problem::new(&instance, spec)?, &mut SearchContext::new())?;
/// assert_eq!(run.outcome.solution().and_then(|split| split.objective), Some(10.0));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Greedy;

impl Solver for Greedy {
    fn name(&self) -> &str {
        "greedy"
    }

    fn guarantee(&self) -> Guarantee {
        Guarantee::Heuristic
    }

    fn supports(&self, problem: &Problem) -> Result<(), Unsupported> {
        supports_latency(self.name(), problem)
    }

    fn solve(&self, problem: &Problem, _cx: &mut SearchContext) -> Result<Run, SolveError> {
        self.supports(problem)?;
        let blocks = Blocks::new(problem);
        let places = fill(problem, &blocks, |ready| ready.len() - 1);
        let found = places.and_then(|places| {
            let value = Evaluator::new(&blocks).value(&places).filter(|value| value.overload == 0.0)?;
            Some(blocks.solution(&places, value.latency))
        });
        Ok(Run { outcome: outcome(found, latency_bound(problem)), stats: Stats::default() })
    }
}

/// Fills accelerators in a topological order that takes the unit at position `pick` of those that are ready, the
/// newest last. `None` where neither an accelerator nor the CPU can take some unit.
pub(super) fn fill(problem: &Problem, blocks: &Blocks, mut pick: impl FnMut(&[usize]) -> usize) -> Option<Vec<Place>> {
    let units = atomic_units(problem);
    let mut places = vec![Place::Cpu; problem.node_count()];
    let mut held: Vec<NodeId> = Vec::new();
    let mut block = 0;
    for unit in topological_order(problem, &units, &mut pick) {
        let nodes = &units.members[unit];
        let takes = |held: &[NodeId], block: usize| {
            block < blocks.len()
                && blocks.can_run(nodes, Place::Block(block))
                && blocks.fit(held.iter().chain(nodes).copied(), block)
        };
        if !takes(&held, block) && !held.is_empty() {
            held.clear();
            block += blocks.per_accelerator;
        }
        if takes(&held, block) {
            nodes.iter().for_each(|&v| places[v] = Place::Block(block));
            held.extend(nodes);
        } else if !blocks.can_run(nodes, Place::Cpu) {
            return None;
        }
    }
    Some(places)
}

fn topological_order(problem: &Problem, units: &Groups, pick: &mut impl FnMut(&[usize]) -> usize) -> Vec<usize> {
    let mut consumers = vec![Vec::new(); units.len()];
    let mut missing = vec![0; units.len()];
    for &(u, v) in &problem.edges {
        let (from, to) = (units.of_node[u], units.of_node[v]);
        if from != to {
            consumers[from].push(to);
            missing[to] += 1;
        }
    }
    let mut ready: Vec<usize> = (0..units.len()).rev().filter(|&unit| missing[unit] == 0).collect();
    let mut order = Vec::with_capacity(units.len());
    while !ready.is_empty() {
        let unit = ready.remove(pick(&ready));
        order.push(unit);
        for &consumer in &consumers[unit] {
            missing[consumer] -= 1;
            if missing[consumer] == 0 {
                ready.push(consumer);
            }
        }
    }
    order
}
