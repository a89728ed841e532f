//! Stages with tensor and data degrees, and the options of their nodes: the definition of
//! [`Degrees`](dagsplit_model::problem::Degrees), step by step.

use std::collections::{BTreeMap, BTreeSet};

use super::split::Split;
use super::{StageFault, Violation, contiguity, devices};
use dagsplit_model::cost::{OptionCost, StageCosts};
use dagsplit_model::problem::{DeviceAssignment, DeviceKind, InFlight, MemoryParts, Objective, fits};

/// What one stage takes.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Stage {
    /// Time for each sample.
    pub load: f64,
    /// Bytes on each of its devices.
    pub memory: MemoryParts,
    /// Microbatches in flight, where it is one stage.
    pub in_flight: Option<usize>,
    /// Those of each of its chunks, where it has several.
    pub chunks_in_flight: Vec<usize>,
}

/// What each device of the split, in its order, takes as `of_devices` says, which adds what breaks a rule to what it is given; devices
/// without nodes take nothing.
///
/// # Errors
/// Everything that is wrong with the stages.
pub(super) fn check(
    split: &Split,
    costs: &StageCosts,
    of_devices: impl FnOnce(&mut Vec<Violation>) -> Option<Vec<Stage>>,
) -> Result<Vec<Stage>, Vec<Violation>> {
    let mut found = Vec::new();
    for (device, stage) in split.used() {
        found.extend(faults(split, costs, stage).into_iter().map(|fault| Violation::Stage { device, fault }));
    }
    if split.spec.objective == Objective::Throughput {
        found.extend(parts_of_a_batch(split, costs));
    }
    let stages = of_devices(&mut found);
    let Some(stages) = stages.filter(|_| found.is_empty()) else { return Err(found) };
    for (device, stage) in stages.iter().enumerate() {
        let limit = class(&split.devices[device]).and_then(|class| split.spec.platform.accelerators[class].memory);
        let used = stage.memory.total();
        if let Some(limit) = limit.filter(|_| !fits(used, limit)) {
            found.push(Violation::MemoryExceeded { device, used, limit });
        }
    }
    if found.is_empty() { Ok(stages) } else { Err(found) }
}

/// The stages of devices that hold one each, where these break no rule.
pub(super) fn successive(split: &Split, costs: &StageCosts, found: &mut Vec<Violation>) -> Option<Vec<Stage>> {
    devices::color_classes(split, found);
    devices::together(split, found);
    found.extend(out_of_order(split));
    found.is_empty().then(|| (0..split.devices.len()).map(|device| stage(split, costs, device)).collect())
}

/// Degrees and options that are not allowed.
fn faults(split: &Split, costs: &StageCosts, stage: &DeviceAssignment) -> Vec<StageFault> {
    let mut found = Vec::new();
    if !costs.tensor_degrees.contains(&stage.tensor_degree) {
        found.push(StageFault::TensorDegree { degree: stage.tensor_degree, allowed: costs.tensor_degrees.clone() });
    }
    if !costs.data_degrees.contains(&stage.replicas) {
        let (degree, microbatches) = (stage.replicas, costs.microbatches);
        found.push(StageFault::DataDegree { degree, microbatches });
    }
    if stage.options.len() != stage.nodes.len() {
        found.push(StageFault::OptionCount { options: stage.options.len(), nodes: stage.nodes.len() });
        return found;
    }
    for (&node, option) in stage.nodes.iter().zip(&stage.options) {
        if find(&costs.options[split.index[&node]], stage, option).is_none() {
            let (option, degree) = (option.clone(), stage.tensor_degree);
            found.push(StageFault::UnknownOption { node, option, degree });
        }
    }
    found
}

/// The option of this name that a node of a stage may run in there.
fn find<'a>(options: &'a [OptionCost], stage: &DeviceAssignment, name: &str) -> Option<&'a OptionCost> {
    let class = class(stage)?;
    let is_for = |option: &OptionCost| option.class.is_none() || option.class == Some(class);
    options.iter().find(|option| option.tensor_degree == stage.tensor_degree && option.name == name && is_for(option))
}

/// The class of accelerators that a stage is on.
fn class(stage: &DeviceAssignment) -> Option<usize> {
    match stage.kind {
        DeviceKind::Accelerator(class) => Some(class),
        DeviceKind::Cpu => None,
    }
}

/// Whether the stages take more microbatches at once than a batch has.
fn parts_of_a_batch(split: &Split, costs: &StageCosts) -> Option<Violation> {
    let used = split.used().fold(0_usize, |sum, (_, stage)| sum.saturating_add(stage.replicas));
    let microbatches = costs.microbatches;
    (used > microbatches).then_some(Violation::TooManyParts { used, microbatches })
}

/// The first edge of the order graph from each stage that leads to one before it.
pub(super) fn out_of_order(split: &Split) -> Vec<Violation> {
    let mut seen = BTreeSet::new();
    let order = contiguity::order_graph(split).successors;
    let edges = order.iter().enumerate().flat_map(|(u, successors)| successors.iter().map(move |&v| (u, v)));
    let back = edges.filter(|&(u, v)| split.device_of[u] > split.device_of[v]);
    let firsts = back.filter(|&(u, _)| seen.insert(split.device_of[u]));
    let violation = |(u, v): (usize, usize)| Violation::OutOfOrder {
        edge: (split.id(u), split.id(v)),
        stages: (split.device_of[u], split.device_of[v]),
    };
    firsts.map(violation).collect()
}

/// The largest time of a stage for each sample, or the time of a batch: a replica takes its stage's time for each
/// sample of as many as there are replicas at once. Other devices wait for one of so many `parts` of a device's work.
pub(super) fn time(split: &Split, costs: &StageCosts, stages: &[Stage], parts: usize) -> f64 {
    let of_one = || stages.iter().zip(split.devices).map(|(stage, device)| (stage.load, device.replicas as f64));
    match split.spec.objective {
        Objective::Step { .. } => {
            let first: f64 = of_one().map(|(load, replicas)| load * replicas).sum();
            let samples = parts as f64 * costs.microbatches as f64;
            let more = of_one().map(|(load, replicas)| load * (samples - replicas));
            (first + more.fold(0.0, f64::max)) / parts as f64
        }
        _ => of_one().map(|(load, _)| load).fold(0.0, f64::max),
    }
}

/// Microbatches in flight on a device.
fn in_flight(split: &Split, costs: &StageCosts, device: usize) -> usize {
    let replicas = split.devices[device].replicas;
    let of_replica = costs.microbatches.div_ceil(replicas);
    let parts =
        |first: usize| split.used().filter(|&(d, _)| d >= first).map(|(_, stage)| stage.replicas).sum::<usize>();
    match costs.in_flight {
        InFlight::Constant(count) => count,
        InFlight::GPipe => of_replica,
        InFlight::OneForwardOneBackward | InFlight::Asynchronous => of_replica.min(parts(device).div_ceil(replicas)),
        InFlight::ZbH1 => of_replica.min(parts(0).div_ceil(replicas)),
        InFlight::ZbH2 => of_replica.min((2 * parts(0)).div_ceil(replicas) - 1),
    }
}

/// What a stage takes whose degrees and options are known.
fn stage(split: &Split, costs: &StageCosts, device: usize) -> Stage {
    if split.devices[device].nodes.is_empty() {
        return Stage::default();
    }
    let in_flight = in_flight(split, costs, device);
    let (load, memory) = (load(split, costs, device), memory(split, costs, device, in_flight));
    Stage { load, memory, in_flight: Some(in_flight), chunks_in_flight: Vec::new() }
}

/// The nodes of a stage, each with its option.
fn chosen<'a>(split: &'a Split, costs: &'a StageCosts, device: usize) -> impl Iterator<Item = (usize, &'a OptionCost)> {
    let stage = &split.devices[device];
    let nodes = stage.nodes.iter().zip(&stage.options).map(|(node, name)| (split.index[node], name));
    nodes.filter_map(move |(v, name)| Some((v, find(&costs.options[v], stage, name)?)))
}

/// The time of a stage for each sample.
pub(super) fn load(split: &Split, costs: &StageCosts, device: usize) -> f64 {
    let (mut compute, mut parameters, mut moved) = (0.0, 0.0, 0.0);
    for (v, option) in chosen(split, costs, device) {
        compute += option.compute;
        parameters += option.parameters;
        for (e, edge) in costs.edges.iter().enumerate() {
            let is_cut = (split.device_of[edge.source] == device) != (split.device_of[edge.target] == device);
            if is_cut && (edge.source == v || edge.target == v) {
                let exchanged: f64 =
                    option.exchanged.iter().filter(|&&(index, _)| index == e).map(|&(_, bytes)| bytes).sum();
                moved += 2.0 * (edge.bytes + exchanged);
            }
        }
    }
    let (replicas, batch) = (split.devices[device].replicas as f64, costs.microbatches as f64);
    let all_reduce = 4.0 * (replicas - 1.0) / replicas * parameters / batch;
    compute / replicas + (moved / replicas + all_reduce) / costs.bandwidth
}

/// Bytes on each device of a stage with so many microbatches in flight.
pub(super) fn memory(split: &Split, costs: &StageCosts, device: usize, in_flight: usize) -> MemoryParts {
    let mut memory = MemoryParts::default();
    let share = |from: usize| if costs.zero >= from { split.devices[device].replicas as f64 } else { 1.0 };
    for (_, option) in chosen(split, costs, device) {
        memory.activations += option.memory_per_microbatch * in_flight as f64;
        memory.weights += option.weights / share(3);
        memory.gradients += option.gradients / share(2);
        memory.optimizer += option.optimizer / share(1);
        memory.other += option.memory;
        if costs.in_flight == InFlight::Asynchronous {
            memory.weights += option.parameters * (in_flight - 1) as f64;
        }
        memory.working = memory.working.max(option.working);
    }
    memory
}

/// Bytes that each chunk of a device keeps of a microbatch.
pub(super) fn kept(split: &Split, costs: &StageCosts, device: usize) -> Vec<f64> {
    let of_node: BTreeMap<usize, f64> =
        chosen(split, costs, device).map(|(v, option)| (v, option.memory_per_microbatch)).collect();
    let of_id = |id: &u64| of_node.get(&split.index[id]).copied().unwrap_or(0.0);
    split.devices[device].chunks.iter().map(|chunk| chunk.iter().map(of_id).sum()).collect()
}
