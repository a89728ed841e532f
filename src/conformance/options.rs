//! Options of nodes for instances that state none.

use std::collections::BTreeSet;

use crate::instance::{Edge, EdgeBytes, Instance, Node, NodeOption, Parallelism, Platform};

/// The forward pass of an instance on its accelerators, where every node may keep or recompute its activations on one device or
/// on two. Costs are made of those that the instance states.
pub(super) fn with_options(instance: &Instance) -> Instance {
    let forward = |node: &&Node| !node.backward;
    let nodes: Vec<Node> =
        instance.nodes.iter().filter(forward).map(|node| Node { color_class: None, ..node.clone() }).collect();
    let kept: BTreeSet<u64> = nodes.iter().map(|node| node.id).collect();
    let is_kept = |edge: &&Edge| kept.contains(&edge.source) && kept.contains(&edge.target);
    let edges: Vec<Edge> = instance.edges.iter().filter(is_kept).copied().collect();
    let distinct: BTreeSet<(u64, u64)> = edges.iter().map(|edge| (edge.source, edge.target)).collect();
    let bytes = |id: u64| nodes.iter().find(|node| node.id == id).map_or(0.0, |node| node.transfer_time);
    let moved = distinct.iter().map(|&(source, target)| EdgeBytes { source, target, bytes: bytes(source) });
    let parallelism = Parallelism {
        bandwidth: 1.0,
        edges: moved.collect(),
        options: nodes.iter().flat_map(|node| options(node, &distinct)).collect(),
        ..Parallelism::default()
    };
    let platform = Platform { cpus: 0, ..instance.platform.clone() };
    let on_classes = |node: Node| Node { accelerator_times: times(&node), ..node };
    let nodes = nodes.into_iter().map(on_classes).collect();
    Instance { nodes, edges, platform, parallelism: Some(parallelism), ..instance.clone() }
}

/// The time on the first class, or on a CPU where that class cannot run it.
pub(super) fn time(node: &Node) -> f64 {
    node.accelerator_times.first().copied().flatten().or(node.cpu_time).unwrap_or(0.0)
}

/// The time on each class; that on a CPU where none can run it.
fn times(node: &Node) -> Vec<Option<f64>> {
    let none = node.accelerator_times.iter().all(Option::is_none);
    if none { vec![Some(time(node)); node.accelerator_times.len()] } else { node.accelerator_times.clone() }
}

fn options(node: &Node, edges: &BTreeSet<(u64, u64)>) -> Vec<NodeOption> {
    let times = times(node);
    let option = |class: usize, time: f64, tensor_degree: usize, recomputes: bool| {
        let share = 1.0 / tensor_degree as f64;
        let exchanged = if tensor_degree > 1 { node.transfer_time } else { 0.0 };
        NodeOption {
            node: node.id,
            tensor_degree,
            class: (times.len() > 1).then_some(class),
            name: if recomputes { "recompute" } else { "vanilla" }.into(),
            time: time * (share + 0.25 * (1.0 - share)) * if recomputes { 1.5 } else { 1.0 },
            parameter_bytes: node.parameter_bytes * share,
            memory_per_microbatch: node.memory * share * if recomputes { 0.125 } else { 0.5 },
            memory: 0.5 * node.memory * share,
            sync_in: edges.iter().filter(|e| e.1 == node.id).map(|e| (e.0, exchanged)).collect(),
            sync_out: edges.iter().filter(|e| e.0 == node.id).map(|e| (e.1, exchanged)).collect(),
            ..NodeOption::default()
        }
    };
    let mut all = Vec::new();
    for (class, time) in times.iter().enumerate().filter_map(|(class, time)| Some((class, (*time)?))) {
        for degree in [1, 2] {
            all.extend([false, true].map(|recomputes| option(class, time, degree, recomputes)));
        }
    }
    all
}
