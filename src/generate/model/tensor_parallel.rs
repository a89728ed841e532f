//! What training takes of operators that several devices share, with their outputs kept or recomputed.

use std::collections::BTreeMap;

use super::hardware::Hardware;
use super::operator::OperatorGraph;
use super::roofline::CostModel;
use crate::generate::rounding::six_digits;
use crate::instance::{EdgeBytes, NodeOption, Parallelism, TimeUnit};

/// Bytes of weights, gradients and Adam's state for each parameter: 2 + 2 + 12 in mixed precision (Rajbhandari et al., 2020,
/// section 3.1), 4 + 4 + 8 in full.
const BYTES_PER_PARAMETER: f64 = 16.0;

/// The option that keeps an operator's output for the backward pass, and the one that computes it once more.
const KEEPS: &str = "vanilla";
const RECOMPUTES: &str = "recompute";

/// The options of all operators at each of these tensor degrees, for one microbatch.
///
/// All devices of a group share an operator's work, parameters and output, as under tensor and sequence parallelism
/// (Korthikanti et al., 2022, section 4.2.2). What they sum up takes a reduction and a collection over NVLink, 2 (t − 1) / t
/// of its bytes, in each pass. An operator is recomputed in a second forward pass, sums among it, and keeps nothing; the last
/// one of a layer is kept. O(operators · degrees).
pub(super) fn options(graph: &OperatorGraph, hardware: &Hardware, degrees: &[u32]) -> Parallelism {
    let model = CostModel::new(hardware);
    let bytes = hardware.precision.bytes();
    let per_millisecond = hardware.accelerator.nvlink() / 1e3;
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
            let option = |name: &str, time: f64, kept: f64| NodeOption {
                node: v as u64,
                tensor_degree: degree as usize,
                name: name.into(),
                time: six_digits(time),
                parameter_bytes: (op.parameters * bytes / share).round(),
                memory_per_microbatch: kept,
                memory: (op.parameters * BYTES_PER_PARAMETER / share).round(),
                sync_in: BTreeMap::new(),
                sync_out: BTreeMap::new(),
            };
            options.push(option(KEEPS, forward + backward + 2.0 * sum, kept));
            if kept > 0.0 && !is_last_of_layer(graph, v) {
                options.push(option(RECOMPUTES, 2.0 * forward + backward + 3.0 * sum, 0.0));
            }
        }
    }
    let edges = edges(graph, bytes);
    Parallelism { time: TimeUnit::Milliseconds, bandwidth: hardware.link_bandwidth() / 1e3, options, edges }
}

/// What edges move. An output is sent once, however many read it: all of it counts on the edge to the last of them, which every
/// boundary cuts that it has to cross.
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
