//! Device counts, replicas, servers, support, memory and colour classes.

use std::collections::BTreeMap;
use std::ops::Range;

use super::{StageFault, Violation, split::Split};
use dagsplit_model::problem::{DeviceAssignment, DeviceKind, fits};

/// Everything wrong with the devices of a split, which need these bytes of memory; contiguity apart.
pub(super) fn violations(split: &Split, bytes: &[f64]) -> Vec<Violation> {
    let mut found = Vec::new();
    device_counts(split, &mut found);
    degrees(split, &mut found);
    chunks(split, &mut found);
    replicas(split, &mut found);
    servers(split, &mut found);
    support(split, &mut found);
    memory(split, bytes, &mut found);
    color_classes(split, &mut found);
    together(split, &mut found);
    found
}

/// Degrees and options where none are asked for.
fn degrees(split: &Split, found: &mut Vec<Violation>) {
    let has_degrees = |stage: &DeviceAssignment| stage.tensor_degree != 1 || !stage.options.is_empty();
    let stages = split.used().filter(|(_, stage)| has_degrees(stage));
    found.extend(stages.map(|(device, _)| Violation::Stage { device, fault: StageFault::NotAskedFor }));
}

/// Chunks where none are asked for.
pub(super) fn chunks(split: &Split, found: &mut Vec<Violation>) {
    let states = |device: &DeviceAssignment| split.spec.chunks.is_none() && !device.chunks.is_empty();
    let stages = split.used().filter(|(_, stage)| states(stage));
    found.extend(stages.map(|(device, _)| Violation::Stage { device, fault: StageFault::ChunksNotAskedFor }));
}

pub(super) fn device_counts(split: &Split, found: &mut Vec<Violation>) {
    let mut used_of_kind: BTreeMap<DeviceKind, usize> = BTreeMap::new();
    for (_, device) in split.used() {
        let used = used_of_kind.entry(device.kind).or_default();
        *used = used.saturating_add(device.replicas.saturating_mul(device.tensor_degree));
    }
    for (kind, used) in used_of_kind {
        let available = match kind {
            DeviceKind::Accelerator(class) => split.spec.platform.accelerators[class].count,
            DeviceKind::Cpu => split.spec.platform.cpus,
        };
        if used > available {
            found.push(Violation::TooManyDevices { kind, used, available });
        }
    }
}

fn replicas(split: &Split, found: &mut Vec<Violation>) {
    let allowed = split.spec.replication.map_or(1, |replication| replication.max_replicas);
    for (device, assignment) in split.used() {
        let replicas = assignment.replicas;
        if replicas == 0 {
            found.push(Violation::NoReplica { device });
        } else if replicas > 1 && assignment.kind == DeviceKind::Cpu {
            found.push(Violation::ReplicatedCpu { device, replicas });
        } else if replicas > allowed {
            found.push(Violation::TooManyReplicas { device, replicas, allowed });
        }
    }
}

fn servers(split: &Split, found: &mut Vec<Violation>) {
    let Some(interconnect) = split.spec.interconnect else { return };
    let size = interconnect.server_size;
    let mut used_in: BTreeMap<usize, usize> = BTreeMap::new();
    for (device, assignment) in split.used() {
        let DeviceKind::Accelerator(class) = assignment.kind else { continue };
        let servers = servers_of_class(split, class, size);
        match assignment.server {
            None => found.push(Violation::MissingServer { device }),
            Some(server) if !servers.contains(&server) => {
                found.push(Violation::UnknownServer { device, server, servers });
            }
            Some(server) => {
                let used = used_in.entry(server).or_default();
                *used = used.saturating_add(assignment.replicas);
            }
        }
    }
    let overfull = used_in.into_iter().filter(|&(_, used)| used > size);
    found.extend(overfull.map(|(server, used)| Violation::OverfullServer { server, used, size }));
}

/// The servers that hold the accelerators of `class`: servers are numbered class by class.
fn servers_of_class(split: &Split, class: usize, size: usize) -> Range<usize> {
    let classes = &split.spec.platform.accelerators;
    let before: usize = classes[..class].iter().map(|class| class.count / size).sum();
    before..before + classes[class].count / size
}

fn support(split: &Split, found: &mut Vec<Violation>) {
    for (v, &device) in split.device_of.iter().enumerate() {
        let kind = split.devices[device].kind;
        if split.time(v, kind).is_none() {
            found.push(Violation::UnsupportedNode { device, kind, node: split.id(v) });
        }
    }
}

fn memory(split: &Split, bytes: &[f64], found: &mut Vec<Violation>) {
    for (device, assignment) in split.used() {
        let DeviceKind::Accelerator(class) = assignment.kind else { continue };
        let used = bytes[device];
        let limit = split.spec.platform.accelerators[class].memory;
        if let Some(limit) = limit.filter(|&limit| !fits(used, Some(limit))) {
            found.push(Violation::MemoryExceeded { device, used, limit });
        }
    }
}

pub(super) fn color_classes(split: &Split, found: &mut Vec<Violation>) {
    let mut seen: BTreeMap<u64, (usize, bool)> = BTreeMap::new();
    for (v, node) in split.instance.nodes.iter().enumerate() {
        let Some(color) = node.color_class else { continue };
        let (first, reported) = seen.entry(color).or_insert((v, false));
        let (first_device, device) = (split.device_of[*first], split.device_of[v]);
        if device != first_device && !*reported {
            *reported = true;
            let first = (split.id(*first), first_device);
            found.push(Violation::SplitColorClass { color, first, second: (node.id, device) });
        }
    }
}

pub(super) fn together(split: &Split, found: &mut Vec<Violation>) {
    let place = |v: usize| (split.id(v), split.device_of[v]);
    for set in &split.spec.together {
        let elsewhere = set.iter().find(|&&v| split.device_of[v] != split.device_of[set[0]]);
        found.extend(elsewhere.map(|&v| Violation::Parted { first: place(set[0]), second: place(v) }));
    }
}
