//! What training takes of operators that several devices share, with their outputs kept or recomputed.

use super::hardware::{Hardware, Precision};
use super::operator::OperatorGraph;
use super::roofline::CostModel;
use crate::generate::rounding::six_digits;
use crate::instance::{EdgeBytes, NodeOption, Parallelism, TimeUnit};
use crate::problem::{self, Optimizer, Training};

/// The option that keeps an operator's output for the backward pass, and the one that computes it once more.
const KEEPS: &str = "vanilla";
const RECOMPUTES: &str = "recompute";

/// The options of all operators at each of these tensor degrees, for one microbatch.
///
/// All devices of a group share an operator's work, parameters and output, as under tensor and sequence parallelism
/// (Korthikanti et al., 2022, section 4.2.2). What they sum up takes a reduction and a collection over NVLink,
/// 2 (t − 1) / t of its bytes, in each pass. An operator is recomputed in a second forward pass, sums among it, and
/// keeps nothing until then; the last one of a layer is kept. Weights, gradients and optimizer are those of Adam.
/// O(operators · degrees).
pub(super) fn options(graph: &OperatorGraph, hardware: &Hardware, degrees: &[u32]) -> Parallelism {
    let model = CostModel::new(hardware);
    let bytes = hardware.precision.bytes();
    let per_millisecond = hardware.accelerator.nvlink() / 1e3;
    let precision = match hardware.precision {
        Precision::Fp32 => problem::Precision::Fp32,
        Precision::Fp16 => problem::Precision::Fp16,
    };
    let training = Training { optimizer: Optimizer::Adam, precision };
    let mut options = Vec::new();
    for &degree in degrees {
        let share = f64::from(degree);
        for (v, [forward, backward]) in model.passes(graph, share).into_iter().enumerate() {
            let op = &graph.operators[v];
            let sum = match graph.summed.binary_search(&v).is_ok() {
                true => 2.0 * (share - 1.0) / share * op.output * bytes / per_millisecond,
                false => 0.0,
            };
            let kept = if op.kind.computes() { (op.output * bytes / share).round() } else { 0.0 };
            let weights = (op.parameters * bytes / share).round();
            let option = |name: &str, time: f64, kept: f64, working: f64| NodeOption {
                node: v as u64,
                tensor_degree: degree as usize,
                name: name.into(),
                time: six_digits(time),
                parameter_bytes: weights,
                memory_per_microbatch: kept,
                weight_bytes: weights,
                gradient_bytes: training.gradients() * weights,
                optimizer_bytes: training.optimizer_state() * weights,
                working_bytes: working,
                ..NodeOption::default()
            };
            options.push(option(KEEPS, forward + backward + 2.0 * sum, kept, 0.0));
            if kept > 0.0 && !is_last_of_layer(graph, v) {
                options.push(option(RECOMPUTES, 2.0 * forward + backward + 3.0 * sum, 0.0, kept));
            }
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
