//! What a split is worth by the cost model itself, whatever the program says.

use rustc_hash::FxHashMap;

use crate::cost::max_of_pieces;
use crate::graph::{NodeId, NodeSet};
use crate::problem::{DeviceKind, Objective, Problem, Solution, fits};

/// The split with its objective by the cost model; `None` where it is none of `problem`.
pub(super) fn checked(problem: &Problem, split: Solution) -> Option<Solution> {
    let index: FxHashMap<u64, NodeId> = problem.ids.iter().copied().zip(0..).collect();
    let mut sets = Vec::with_capacity(split.devices.len());
    for device in &split.devices {
        let nodes: Vec<NodeId> = device.nodes.iter().map(|id| index.get(id).copied()).collect::<Option<_>>()?;
        sets.push((device.kind, NodeSet::from_nodes(problem.node_count(), nodes)));
    }
    let objective = objective(problem, &sets)?;
    Some(Solution { objective: Some(objective), ..split })
}

/// The objective of a split, or `None` where a device cannot hold its set. Contiguity is not looked at.
pub(super) fn objective(problem: &Problem, sets: &[(DeviceKind, NodeSet)]) -> Option<f64> {
    let mut largest = [0.0f64; 2];
    for (kind, set) in sets {
        let mut memory = 0.0;
        for v in set.iter() {
            memory += problem.cost.node(v, *kind)?.memory;
        }
        if !fits(memory, problem.memory_limit(*kind)) {
            return None;
        }
        for (largest, load) in largest.iter_mut().zip(loads(problem, *kind, set)?) {
            *largest = largest.max(load);
        }
    }
    Some(largest[0] + largest[1])
}

/// The load of each pass under GPipe; all of it in the first place otherwise.
fn loads(problem: &Problem, kind: DeviceKind, set: &NodeSet) -> Option<[f64; 2]> {
    let Problem { cost, graph, backward, .. } = problem;
    let load = |part: &dyn Fn(NodeId) -> bool| {
        let terms = cost.terms(graph, set, kind, part)?;
        Some(max_of_pieces(cost.pieces(kind), &terms))
    };
    match problem.spec.objective {
        Objective::GPipe => Some([load(&|v| !backward[v])?, load(&|v| backward[v])?]),
        Objective::Throughput | Objective::Latency { .. } => Some([load(&|_| true)?, 0.0]),
    }
}
