//! A workload at a size of microbatch.

use rustc_hash::FxHashMap;

use crate::instance::{Instance, Node, Parallelism};

/// `instance` with microbatches of `size` samples, in milliseconds: times, transfers and what is kept of a microbatch are as many
/// times as long and as large; parameters are not.
pub fn of_microbatches(instance: &Instance, size: usize) -> Instance {
    let factor = size as f64;
    let parameters = of_classes(instance);
    let mut scaled = instance.clone();
    for node in &mut scaled.nodes {
        node.accelerator_times.iter_mut().flatten().for_each(|time| *time *= factor);
        node.transfer_time *= factor;
        node.memory += (factor - 1.0) * of_samples(node, parameters.as_ref());
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

/// The bytes of a node's memory that more samples need more of: not its parameters, and of what a backward node takes beside
/// gradients of its class's `parameters` no more than it hands on, for the rest is what an optimizer keeps.
fn of_samples(node: &Node, parameters: Option<&FxHashMap<u64, f64>>) -> f64 {
    match parameters.filter(|_| node.backward) {
        Some(parameters) => {
            let gradients = node.color_class.and_then(|class| parameters.get(&class)).copied().unwrap_or(0.0);
            let rest = (node.memory - gradients).max(0.0);
            node.output_bytes.map_or(rest, |bytes| bytes.min(rest))
        }
        None => node.memory - node.parameter_bytes.min(node.memory),
    }
}

/// The bytes of parameters of each colour class; `None` where no node states any.
fn of_classes(instance: &Instance) -> Option<FxHashMap<u64, f64>> {
    let mut parameters = FxHashMap::default();
    for node in &instance.nodes {
        if let Some(class) = node.color_class {
            *parameters.entry(class).or_insert(0.0) += node.parameter_bytes;
        }
    }
    instance.knows_parameters().then_some(parameters)
}

/// Topologies are in milliseconds.
fn in_milliseconds(stated: &mut Parallelism) {
    let factor = stated.time.seconds() * 1e3;
    stated.options.iter_mut().for_each(|option| option.time *= factor);
    stated.bandwidth /= factor;
    stated.time = Default::default();
}
