//! Devices that hold several stages of a pipeline: the definition of [`Chunks`], step by step.

use std::collections::BTreeSet;

use super::chunk_memory::{self, Peak};
use super::loads::{self, Load};
use super::split::Split;
use super::stages::{self, Stage};
use super::{Violation, devices};
use dagsplit_model::cost::StageCosts;
use dagsplit_model::problem::{Chunks, ChunksInFlight, Degrees, DeviceAssignment, Placement};

/// The stages of a split, in pipeline order.
struct Stages {
    /// The device of each.
    homes: Vec<usize>,
    /// That of each node.
    stage_of: Vec<usize>,
}

/// The load of each device, where neither the devices nor their chunks break a rule. What these break is added to what the
/// devices do.
pub(super) fn loads(split: &Split, chunks: Chunks, found: &mut Vec<Violation>) -> Option<Vec<Load>> {
    let Stages { homes, stage_of } = in_order(split, chunks, found)?;
    let apart: Vec<DeviceAssignment> = homes.iter().map(|&home| split.devices[home].clone()).collect();
    let together = stage_of.into_iter().map(|stage| first_together(&homes, stage)).collect();
    let mut loads = vec![Load::default(); split.devices.len()];
    for (&home, load) in homes.iter().zip(loads::of_devices(&of_parts(split, &apart, together))) {
        loads[home] = loads[home].plus(load);
    }
    Some(loads)
}

/// What each device takes whose nodes run in options, likewise: the loads of its chunks as stages, and the memory at its peak.
pub(super) fn stages(
    split: &Split,
    costs: &StageCosts,
    chunks: Chunks,
    found: &mut Vec<Violation>,
) -> Option<Vec<Stage>> {
    let Stages { homes, stage_of } = in_order(split, chunks, found)?;
    let mut apart: Vec<DeviceAssignment> = homes
        .iter()
        .map(|&home| DeviceAssignment { nodes: Vec::new(), options: Vec::new(), ..split.devices[home].clone() })
        .collect();
    for (_, device) in split.used() {
        for (id, option) in device.nodes.iter().zip(&device.options) {
            let part = &mut apart[first_together(&homes, stage_of[split.index[id]])];
            part.nodes.push(*id);
            part.options.push(option.clone());
        }
    }
    let together = stage_of.into_iter().map(|stage| first_together(&homes, stage)).collect();
    let by_part = of_parts(split, &apart, together);
    let asked = chunks.memory.map_or(ChunksInFlight::Constant(1), |memory| memory.in_flight);
    let used: Vec<usize> = split.used().map(|(device, _)| device).collect();
    let mut stages: Vec<Stage> = split.devices.iter().map(|_| Stage::default()).collect();
    for (place, &device) in used.iter().enumerate() {
        let kept = stages::kept(split, costs, device);
        let (chunks_in_flight, activations) =
            chunk_memory::most_kept((place, used.len()), chunks, asked, microbatches(split), &kept);
        let mut memory = stages::memory(split, costs, device, 1);
        memory.activations = activations;
        let load =
            (0..homes.len()).filter(|&part| homes[part] == device).map(|part| stages::load(&by_part, costs, part));
        stages[device] = Stage { load: load.sum(), memory, in_flight: None, chunks_in_flight };
    }
    Some(stages)
}

/// The stages in pipeline order, where neither the devices nor their chunks break a rule.
fn in_order(split: &Split, chunks: Chunks, found: &mut Vec<Violation>) -> Option<Stages> {
    let wrong = split.used().filter(|(_, device)| !are_chunks(device, chunks.count));
    let wrong: Vec<Violation> =
        wrong.map(|(device, _)| Violation::NotInChunks { device, count: chunks.count }).collect();
    if !wrong.is_empty() {
        found.extend(wrong);
        return None;
    }
    let used: Vec<usize> = split.used().map(|(device, _)| device).collect();
    if !is_in_groups(split, chunks) {
        let (devices, microbatches) = (used.len(), microbatches(split));
        found.push(Violation::NotInGroups { devices, microbatches });
    }
    let homes: Vec<usize> = chunks.homes(used.len()).into_iter().map(|home| used[home]).collect();
    let stage_of = stage_of(split, &homes);
    let apart: Vec<DeviceAssignment> = homes.iter().map(|&home| split.devices[home].clone()).collect();
    let by_stage = of_parts(split, &apart, stage_of.clone());
    devices::color_classes(&by_stage, found);
    found.extend(stages::out_of_order(&by_stage));
    found.is_empty().then_some(Stages { homes, stage_of })
}

/// The first of the stages that follow one another on the device of `stage`: these pay their transfers as one.
fn first_together(homes: &[usize], stage: usize) -> usize {
    (0..=stage).rev().take_while(|&s| homes[s] == homes[stage]).last().unwrap_or(stage)
}

/// What each device needs at most, where that depends on the place and the split has such places.
pub(super) fn peaks(split: &Split, chunks: Chunks) -> Option<Vec<Option<Peak>>> {
    let asked = chunks.memory?.in_flight;
    let is_split = split.used().all(|(_, device)| are_chunks(device, chunks.count)) && is_in_groups(split, chunks);
    is_split.then(|| chunk_memory::peaks(split, chunks, asked, microbatches(split)))
}

/// Microbatches that pass through a device's chunks: those of one of its replicas.
fn microbatches(split: &Split) -> usize {
    let [_, replicas] = split.spec.degrees.as_ref().map_or([1; 2], Degrees::one_of_each);
    split.spec.objective.microbatches().unwrap_or(1) / replicas
}

/// Whether the microbatches are groups of one for each device, where interleaved 1F1B takes them as such.
fn is_in_groups(split: &Split, chunks: Chunks) -> bool {
    let takes_groups = chunks.count > 1
        && chunks.placement == Placement::Interleaved
        && chunks.memory.is_some_and(|memory| memory.in_flight == ChunksInFlight::OfPlacement);
    !takes_groups || microbatches(split).is_multiple_of(split.used().count().max(1))
}

/// Whether a device states its nodes as so many chunks, none of which is empty.
fn are_chunks(device: &DeviceAssignment, count: usize) -> bool {
    let listed: Vec<u64> = device.chunks.concat();
    let (listed_once, nodes) = (BTreeSet::from_iter(&listed), BTreeSet::from_iter(&device.nodes));
    device.chunks.len() == count
        && device.chunks.iter().all(|chunk| !chunk.is_empty())
        && listed.len() == nodes.len()
        && listed_once == nodes
}

/// The stage of each node, where each device holds the stages of which it is the home, in their order.
fn stage_of(split: &Split, homes: &[usize]) -> Vec<usize> {
    let mut stage_of = vec![0; split.device_of.len()];
    for (device, assignment) in split.used() {
        let held = (0..homes.len()).filter(|&stage| homes[stage] == device);
        for (stage, chunk) in held.zip(&assignment.chunks) {
            chunk.iter().for_each(|id| stage_of[split.index[id]] = stage);
        }
    }
    stage_of
}

/// The split with a device of its own for each part of a device's nodes.
fn of_parts<'a>(split: &'a Split, parts: &'a [DeviceAssignment], part_of: Vec<usize>) -> Split<'a> {
    Split { devices: parts, device_of: part_of, edges: split.edges.clone(), index: split.index.clone(), ..*split }
}
