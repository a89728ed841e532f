//! A workload at a size of microbatch.

use crate::instance::{Instance, Node, Parallelism};

/// The share of the forward pass in the time of an option, which states that of both passes: the backward pass computes two
/// products for each of the forward pass.
pub const FORWARD_SHARE: f64 = 1.0 / 3.0;

/// `instance` with microbatches of `size` samples, in milliseconds: times, transfers and what is kept of a microbatch are as many
/// times as long and as large; parameters are not.
pub fn of_microbatches(instance: &Instance, size: usize) -> Instance {
    let factor = size as f64;
    let knows_parameters = instance.knows_parameters();
    let mut scaled = instance.clone();
    for node in &mut scaled.nodes {
        node.accelerator_times.iter_mut().flatten().for_each(|time| *time *= factor);
        node.transfer_time *= factor;
        node.memory += (factor - 1.0) * of_samples(node, knows_parameters);
        node.output_bytes = node.output_bytes.map(|bytes| bytes * factor);
    }
    if let Some(options) = &mut scaled.parallelism {
        in_milliseconds(options);
        options.edges.iter_mut().for_each(|edge| edge.bytes *= factor);
        for option in &mut options.options {
            option.sync_in.values_mut().chain(option.sync_out.values_mut()).for_each(|bytes| *bytes *= factor);
            option.time *= factor;
            option.memory_per_microbatch *= factor;
            option.working_bytes *= factor;
        }
    }
    scaled
}

/// The bytes of a node's memory that more samples need more of: not its parameters, and of what a backward node takes no more than
/// it hands on, for the rest are gradients of parameters and what an optimizer keeps.
fn of_samples(node: &Node, knows_parameters: bool) -> f64 {
    match knows_parameters && node.backward {
        true => node.output_bytes.map_or(node.memory, |bytes| bytes.min(node.memory)),
        false => node.memory - node.parameter_bytes.min(node.memory),
    }
}

/// Topologies are in milliseconds.
fn in_milliseconds(stated: &mut Parallelism) {
    let factor = stated.time.seconds() * 1e3;
    stated.options.iter_mut().for_each(|option| option.time *= factor);
    stated.bandwidth /= factor;
    stated.time = Default::default();
}
