//! Training graphs: the backward pass mirrors the forward one.

use super::rounding::six_digits;
use crate::instance::{Edge, Instance, Node};

/// What the backward counterpart of a forward node costs; its output follows from the node's inputs.
pub(super) struct BackwardCost {
    pub accelerator_times: Vec<Option<f64>>,
    pub cpu_time: Option<f64>,
    /// Bytes of parameter gradients.
    pub gradient_bytes: f64,
}

/// Adds a backward node for every forward node that has a cost in `backward`, in reverse order.
///
/// The edges among them are the forward edges reversed, and each forward node has an edge to its own backward node,
/// with which it forms a colour class: they share parameters and activations. A backward node gives the gradients of
/// its inputs, so its output is as large as those inputs together; it holds them and its parameters' gradients.
///
/// The forward nodes must have the ids `0..n`. O(n + m).
pub(super) fn add_backward_pass(instance: &mut Instance, backward: &[Option<BackwardCost>]) {
    let n = instance.nodes.len();
    let mut twin: Vec<Option<usize>> = vec![None; n];
    for v in (0..n).rev() {
        let Some(cost) = &backward[v] else { continue };
        let id = instance.nodes.len();
        twin[v] = Some(id);
        instance.nodes[v].color_class = Some(v as u64);
        instance.nodes.push(backward_node(&instance.nodes[v], cost, id));
    }
    let forward_edges = instance.edges.len();
    for e in 0..forward_edges {
        let Edge { source, target } = instance.edges[e];
        let (u, v) = (source as usize, target as usize);
        if let (Some(gradient_of_u), Some(gradient_of_v)) = (twin[u], twin[v]) {
            add_gradient(instance, u, gradient_of_v);
            instance.edges.push(Edge { source: gradient_of_v as u64, target: gradient_of_u as u64 });
        }
    }
    let own = (0..n).filter_map(|v| twin[v].map(|b| Edge { source: v as u64, target: b as u64 }));
    instance.edges.extend(own);
}

fn backward_node(forward: &Node, cost: &BackwardCost, id: usize) -> Node {
    Node {
        name: forward.name.as_ref().map(|name| format!("{name}/gradient")),
        accelerator_times: cost.accelerator_times.clone(),
        cpu_time: cost.cpu_time,
        memory: cost.gradient_bytes,
        output_bytes: forward.output_bytes.map(|_| 0.0),
        backward: true,
        color_class: forward.color_class,
        layer: forward.layer,
        ..Node::new(id as u64)
    }
}

/// Backward node `gradient` gives the gradient of the output of `input` as well.
fn add_gradient(instance: &mut Instance, input: usize, gradient: usize) {
    let Node { transfer_time, output_bytes, .. } = instance.nodes[input];
    let node = &mut instance.nodes[gradient];
    node.transfer_time = six_digits(node.transfer_time + transfer_time);
    if let (Some(sum), Some(bytes)) = (&mut node.output_bytes, output_bytes) {
        *sum += bytes;
        node.memory += bytes;
    }
}
