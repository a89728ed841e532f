//! What a split is worth by the cost model itself, whatever the program says.

use crate::cost::max_of_pieces;
use crate::graph::{Graph, NodeId, NodeSet, topological};
use crate::problem::{DeviceKind, Objective, Problem, Solution, fits};

/// What one device holds: one set, or for the latency the subgraphs of an accelerator in their order.
pub(super) struct Held {
    pub kind: DeviceKind,
    pub subgraphs: Vec<NodeSet>,
}

/// The split with its objective by the cost model; `None` where it is none of `problem`.
pub(super) fn checked(problem: &Problem, split: Solution) -> Option<Solution> {
    let index = problem.index_of_ids();
    let set = |ids: &Vec<u64>| -> Option<NodeSet> {
        let nodes: Vec<NodeId> = ids.iter().map(|id| index.get(id).copied()).collect::<Option<_>>()?;
        Some(NodeSet::from_nodes(problem.node_count(), nodes))
    };
    let mut held = Vec::with_capacity(split.devices.len());
    for device in split.devices.iter().filter(|device| !device.nodes.is_empty()) {
        let parts = if device.subgraphs.is_empty() { std::slice::from_ref(&device.nodes) } else { &device.subgraphs };
        held.push(Held { kind: device.kind, subgraphs: parts.iter().map(set).collect::<Option<_>>()? });
    }
    let objective = objective(problem, &held)?;
    Some(Solution { objective: Some(objective), ..split })
}

/// The objective of a split, or `None` where a device cannot hold its nodes or subgraphs wait for each other. The
/// contiguity that a scope asks for is not looked at.
pub(super) fn objective(problem: &Problem, held: &[Held]) -> Option<f64> {
    for device in held {
        let mut memory = 0.0;
        for v in device.subgraphs.iter().flat_map(NodeSet::iter) {
            memory += problem.cost.node(v, device.kind)?.memory;
        }
        if !fits(memory, problem.memory_limit(device.kind)) {
            return None;
        }
    }
    if matches!(problem.spec.objective, Objective::Latency { .. }) {
        return latency(problem, held);
    }
    let mut largest = [0.0f64; 2];
    for device in held {
        for (largest, load) in largest.iter_mut().zip(loads(problem, device.kind, &device.subgraphs[0])?) {
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
        Objective::Throughput | Objective::Latency { .. } | Objective::Sharding(_) => Some([load(&|_| true)?, 0.0]),
    }
}

/// The last finish where subgraphs run as a whole, one after another on each accelerator, and CPU nodes by themselves.
fn latency(problem: &Problem, held: &[Held]) -> Option<f64> {
    let Problem { cost, graph, .. } = problem;
    let mut job_of = vec![0; graph.node_count()];
    let mut durations = Vec::new();
    let mut waits = Vec::new();
    for device in held {
        for (s, subgraph) in device.subgraphs.iter().enumerate() {
            if device.kind == DeviceKind::Cpu {
                for v in subgraph.iter() {
                    job_of[v] = durations.len();
                    durations.push(cost.node(v, device.kind)?.compute);
                }
                continue;
            }
            if s > 0 {
                waits.push((durations.len() - 1, durations.len()));
            }
            subgraph.iter().for_each(|v| job_of[v] = durations.len());
            durations.push(cost.load(graph, subgraph, device.kind)?);
        }
    }
    waits.extend(graph.edges().map(|(u, v)| (job_of[u], job_of[v])).filter(|(a, b)| a != b));
    let waits = Graph::new(durations.len(), &waits).ok()?;
    let mut finish = vec![0.0f64; durations.len()];
    for job in topological::smallest_first(&waits) {
        let start = waits.predecessors(job).iter().map(|&before| finish[before as usize]).fold(0.0, f64::max);
        finish[job] = start + durations[job];
    }
    Some(finish.into_iter().fold(0.0, f64::max))
}
