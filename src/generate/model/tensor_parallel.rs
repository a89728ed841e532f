//! What operators take that several devices share: in training, with their outputs kept or recomputed, and in serving.

use super::hardware::{Accelerator, Hardware, Precision};
use super::operator::{KeyValueCache, OperatorGraph};
use super::roofline::CostModel;
use crate::generate::rounding::six_digits;
use crate::instance::{EdgeBytes, NodeOption, Parallelism, TimeUnit};
use crate::problem::{self, Optimizer, Training};

/// The option that keeps an operator's output for the backward pass, and the one that computes it once more.
const KEEPS: &str = "vanilla";
const RECOMPUTES: &str = "recompute";

/// The options of all operators at each of these tensor degrees, for one microbatch of a training step.
///
/// All devices of a group share an operator's work, parameters and output, as under tensor and sequence parallelism
/// (Korthikanti et al., 2022, section 4.2.2). What they sum up takes a reduction and a collection over NVLink,
/// 2 (t − 1) / t of its bytes, in each pass. An operator is recomputed in a second forward pass, sums among it, and
/// keeps nothing until then; the last one of a layer is kept. Weights, gradients and optimizer are those of Adam. On top come
/// the [gradients](OperatorGraph::gradients) that a backward pass runs with, shared like what they are of; so the devices that
/// share the vocabulary share what its loss takes. O(operators · degrees).
pub(super) fn training(graph: &OperatorGraph, hardware: &Hardware, degrees: &[u32]) -> Parallelism {
    let bytes = hardware.precision.bytes();
    let precision = match hardware.precision {
        Precision::Fp32 => problem::Precision::Fp32,
        Precision::Fp16 => problem::Precision::Fp16,
    };
    let training = Training { optimizer: Optimizer::Adam, precision };
    let gradients = graph.gradients();
    options(graph, hardware, degrees, |shared, own| {
        let &Shared { operator, degree, passes: [forward, backward], sum, weights, .. } = shared;
        let op = &graph.operators[operator];
        let share = |elements: f64| (elements * bytes / f64::from(degree)).round();
        let kept = if op.kind.computes() { share(op.output) } else { 0.0 };
        let on_top = share(gradients[operator]);
        let option = |name: &str, time: f64, kept: f64, working: f64| NodeOption {
            parameter_bytes: weights,
            memory_per_microbatch: kept,
            gradient_bytes: training.gradients() * weights,
            optimizer_bytes: training.optimizer_state() * weights,
            working_bytes: working,
            ..shared.option(name, time)
        };
        own.push(option(KEEPS, forward + backward + 2.0 * sum, kept, on_top));
        if kept > 0.0 && !is_last_of_layer(graph, operator) {
            own.push(option(RECOMPUTES, 2.0 * forward + backward + 3.0 * sum, 0.0, kept + on_top));
        }
    })
}

/// The options of inference, likewise: the forward pass, which needs room for what an operator reads and writes, and
/// keys and values of each token. Latent attention keeps all of them on each device. Replicas synchronise nothing.
/// O(operators · degrees).
pub(super) fn serving(graph: &OperatorGraph, hardware: &Hardware, degrees: &[u32]) -> Parallelism {
    let bytes = hardware.precision.bytes();
    let mut kept = vec![None; graph.operators.len()];
    graph.caches.iter().for_each(|cache| kept[cache.operator] = Some(cache));
    let mut parallelism = options(graph, hardware, degrees, |shared, own| {
        let (op, share) = (&graph.operators[shared.operator], f64::from(shared.degree));
        let read: f64 = op.inputs.iter().map(|&u| graph.operators[u].output).sum();
        let cached = |cache: &KeyValueCache| cache.elements * bytes / if cache.is_shared { share } else { 1.0 };
        own.push(NodeOption {
            working_bytes: if op.kind.computes() { ((read + op.output) * bytes / share).round() } else { 0.0 },
            cache_bytes_per_token: kept[shared.operator].map_or(0.0, cached),
            ..shared.option(KEEPS, shared.passes[0] + shared.sum)
        });
    });
    // Stages with degrees pay for an edge in both passes, and this is one.
    parallelism.edges.iter_mut().for_each(|edge| edge.bytes /= 2.0);
    parallelism
}

/// An operator that a group of devices shares.
struct Shared {
    operator: usize,
    degree: u32,
    /// Their class, where there are several.
    class: Option<usize>,
    /// What its forward and its backward pass take.
    passes: [f64; 2],
    /// What summing up its output takes, in each pass.
    sum: f64,
    /// Bytes of its parameters on each device.
    weights: f64,
}

impl Shared {
    fn option(&self, name: &str, time: f64) -> NodeOption {
        NodeOption {
            node: self.operator as u64,
            tensor_degree: self.degree as usize,
            class: self.class,
            name: name.into(),
            time: six_digits(time),
            weight_bytes: self.weights,
            ..NodeOption::default()
        }
    }
}

/// What `add` gives of each operator at each degree on each class of accelerators.
fn options(
    graph: &OperatorGraph,
    hardware: &Hardware,
    degrees: &[u32],
    add: impl Fn(&Shared, &mut Vec<NodeOption>),
) -> Parallelism {
    let model = CostModel::new(hardware);
    let bytes = hardware.precision.bytes();
    let kinds: Vec<Accelerator> = hardware.kinds().collect();
    let mut options = Vec::new();
    for ((at, kind), &degree) in kinds.iter().enumerate().flat_map(|kind| degrees.iter().map(move |d| (kind, d))) {
        let (share, per_millisecond) = (f64::from(degree), kind.nvlink() / 1e3);
        let class = (kinds.len() > 1).then_some(at);
        for (operator, passes) in model.passes(graph, at, share).into_iter().enumerate() {
            let op = &graph.operators[operator];
            let sum = match graph.summed.binary_search(&operator).is_ok() {
                true => 2.0 * (share - 1.0) / share * op.output * bytes / per_millisecond,
                false => 0.0,
            };
            let weights = (op.parameters * bytes / share).round();
            add(&Shared { operator, degree, class, passes, sum, weights }, &mut options);
        }
    }
    let edges = edges(graph, bytes);
    Parallelism { time: TimeUnit::Milliseconds, bandwidth: hardware.link_bandwidth() / 1e3, options, edges }
}

/// What edges move. An output is sent once, however many read it: all of it counts on the edge to the last of them,
/// which every boundary cuts that it has to cross.
fn edges(graph: &OperatorGraph, element_bytes: f64) -> Vec<EdgeBytes> {
    let mut last = vec![0; graph.operators.len()];
    let reads = || graph.operators.iter().enumerate().flat_map(|(v, op)| op.inputs.iter().map(move |&u| (u, v)));
    reads().for_each(|(u, v)| last[u] = v);
    let edge = |(u, v): (usize, usize)| {
        let bytes = if last[u] == v { graph.operators[u].output * element_bytes } else { 0.0 };
        EdgeBytes { source: u as u64, target: v as u64, bytes }
    };
    reads().map(edge).collect()
}

fn is_last_of_layer(graph: &OperatorGraph, v: usize) -> bool {
    graph.operators.get(v + 1).is_none_or(|next| next.layer != graph.operators[v].layer)
}
