//! What a finished split is worth by the cost model itself, whatever its maker says: plain sums of what is there.

use crate::cost::{Terms, max_of_pieces, replicated_load, ring_all_reduce};
use crate::graph::{Graph, NodeId, NodeSet, topological};
use crate::preprocess::joint;
use crate::problem::{DeviceAssignment, DeviceKind, Objective, Problem, Solution, fits};

/// One device, or one group of replicas, by node indices.
pub(super) struct Held {
    pub kind: DeviceKind,
    pub replicas: usize,
    pub server: Option<usize>,
    /// What it holds: one set, or for the latency the subgraphs of an accelerator in their order.
    pub subgraphs: Vec<Vec<NodeId>>,
}

impl Held {
    /// What one device holds.
    pub fn new(kind: DeviceKind, subgraphs: Vec<Vec<NodeId>>) -> Self {
        Self { kind, replicas: 1, server: None, subgraphs }
    }

    fn nodes(&self) -> impl Iterator<Item = NodeId> {
        self.subgraphs.iter().flatten().copied()
    }
}

/// The devices of a split that hold something; `None` where they do not hold each node of `problem` once.
pub(super) fn held(problem: &Problem, split: &Solution) -> Option<Vec<Held>> {
    let index = problem.index_of_ids();
    let nodes = |ids: &Vec<u64>| ids.iter().map(|id| index.get(id).copied()).collect::<Option<Vec<NodeId>>>();
    let device = |device: &DeviceAssignment| {
        let parts = if device.subgraphs.is_empty() { std::slice::from_ref(&device.nodes) } else { &device.subgraphs };
        let subgraphs = parts.iter().map(nodes).collect::<Option<_>>()?;
        Some(Held { replicas: device.replicas, server: device.server, ..Held::new(device.kind, subgraphs) })
    };
    let held: Vec<Held> =
        split.devices.iter().filter(|device| !device.nodes.is_empty()).map(device).collect::<Option<_>>()?;
    let mut is_missing = vec![true; problem.node_count()];
    let is_new = |v: NodeId| std::mem::take(&mut is_missing[v]);
    let once = held.iter().flat_map(Held::nodes).all(is_new);
    (once && !is_missing.contains(&true)).then_some(held)
}

/// Whether the memory of a device is enough for its nodes; `None` where it cannot run one of them. O(n + m).
pub(super) fn fits_on(problem: &Problem, device: &Held) -> Option<bool> {
    let Problem { costs, graph, .. } = problem;
    let set = NodeSet::from_nodes(graph.node_count(), device.nodes());
    let limit = problem.memory_limit(device.kind);
    let used = costs.memory_of(graph, &set, device.kind)?;
    Some(fits(used, costs.memory.capacity(limit, device.replicas)))
}

/// Whether the memory of every device is enough, and each can run its nodes. O(devices · (n + m)).
pub(super) fn all_fit(problem: &Problem, held: &[Held]) -> bool {
    held.iter().all(|device| fits_on(problem, device) == Some(true))
}

/// The objective of a split of all nodes, or `None` where a device cannot run a node or subgraphs wait for each other.
/// Neither memory nor the contiguity that a scope asks for is looked at. [`Objective::Sharding`] is not made of loads.
/// O(n + m).
pub(super) fn objective(problem: &Problem, held: &[Held]) -> Option<f64> {
    match problem.spec.objective {
        Objective::Latency { .. } => latency(problem, held),
        Objective::Throughput | Objective::GPipe | Objective::Step { .. } => of_loads(problem, held),
        Objective::Sharding(_) => None,
    }
}

/// The largest load; under GPipe the largest one of each pass, added up; for a step all of them and the largest one for
/// each microbatch but one.
fn of_loads(problem: &Problem, held: &[Held]) -> Option<f64> {
    let Problem { costs, spec, .. } = problem;
    let has_backward = problem.backward.contains(&true);
    let (mut largest, mut once) = ([0.0f64; 2], 0.0);
    for (device, terms) in held.iter().zip(terms(problem, held)?) {
        let bytes = device.nodes().map(|v| problem.parameter_bytes[v]).sum();
        let all_reduce = spec.replication.map_or(0.0, |r| ring_all_reduce(bytes, device.replicas, r.bandwidth));
        let load = |terms: &Terms, all_reduce| {
            let load = max_of_pieces(costs.pieces(device.kind), terms);
            replicated_load(load, device.replicas, all_reduce, costs.synchronisation)
        };
        let loads = match spec.objective {
            // Weights are synchronised once their gradients are there: in the backward pass, if there is one.
            Objective::GPipe => {
                let synchronised = if has_backward { [0.0, all_reduce] } else { [all_reduce, 0.0] };
                [0, 1].map(|pass| load(&terms[pass], synchronised[pass]))
            }
            _ => [load(&joint(&terms), all_reduce), 0.0],
        };
        largest = [0, 1].map(|pass| largest[pass].max(loads[pass]));
        once += loads[0];
    }
    Some(match spec.objective {
        Objective::Step { microbatches } => once + (microbatches - 1) as f64 * largest[0],
        _ => largest[0] + largest[1],
    })
}

/// What each device computes and moves, by pass.
fn terms(problem: &Problem, held: &[Held]) -> Option<Vec<[Terms; 2]>> {
    let Problem { costs, graph, backward, .. } = problem;
    let mut device_of = vec![0; graph.node_count()];
    let mut terms = vec![[Terms::default(); 2]; held.len()];
    for (d, device) in held.iter().enumerate() {
        for v in device.nodes() {
            device_of[v] = d;
            terms[d][usize::from(backward[v])].compute += costs.node(v, device.kind)?.compute;
        }
    }
    let mut pins: Vec<usize> = Vec::new();
    for (t, transfer) in costs.transfers.iter().enumerate() {
        let source = transfer.source;
        if transfer.consumers.iter().all(|&v| device_of[v] == device_of[source]) {
            continue;
        }
        pins.clear();
        pins.extend(transfer.consumers.iter().map(|&v| device_of[v]));
        pins.push(device_of[source]);
        pins.sort_unstable();
        pins.dedup();
        for &d in &pins {
            let price = if is_far(held, &pins, d) { transfer.between } else { 1.0 };
            let time = costs.kind(held[d].kind).transfers[t];
            *terms[d][usize::from(backward[source])].side(d == device_of[source]) += price * time;
        }
    }
    Some(terms)
}

/// Whether what is produced on or for these devices leaves or enters the server of device `d`, if that has one.
fn is_far(held: &[Held], pins: &[usize], d: usize) -> bool {
    held[d].server.is_some_and(|server| pins.iter().any(|&e| held[e].server != Some(server)))
}

/// The last finish where subgraphs run as a whole, one after another on each accelerator, and CPU nodes by themselves.
fn latency(problem: &Problem, held: &[Held]) -> Option<f64> {
    let Problem { costs, graph, .. } = problem;
    let mut job_of = vec![0; graph.node_count()];
    let mut durations = Vec::new();
    let mut waits = Vec::new();
    for device in held {
        for (s, subgraph) in device.subgraphs.iter().enumerate() {
            if device.kind == DeviceKind::Cpu {
                for &v in subgraph {
                    job_of[v] = durations.len();
                    durations.push(costs.node(v, device.kind)?.compute);
                }
                continue;
            }
            if s > 0 {
                waits.push((durations.len() - 1, durations.len()));
            }
            subgraph.iter().for_each(|&v| job_of[v] = durations.len());
            durations.push(subgraph_load(problem, device.kind, subgraph)?);
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

fn subgraph_load(problem: &Problem, kind: DeviceKind, subgraph: &[NodeId]) -> Option<f64> {
    let set = NodeSet::from_nodes(problem.node_count(), subgraph.iter().copied());
    problem.costs.load(&set, kind)
}
