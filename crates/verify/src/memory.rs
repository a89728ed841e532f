//! The bytes that each device needs, by the verifier's own formulas.

use std::collections::{BTreeMap, BTreeSet};

use super::split::Split;
use dagsplit_model::problem::{DeviceKind, MemoryModel};

/// Bytes that each accelerator of a device's group of replicas needs; 0 for a CPU.
pub(super) fn of_devices(split: &Split) -> Vec<f64> {
    let is_accelerator = |d: usize| split.devices[d].kind != DeviceKind::Cpu;
    let mut bytes = match split.spec.memory {
        MemoryModel::Additive => sums(split),
        MemoryModel::Recomputation { microbatches } => {
            let shares = peaks(split).into_iter().zip(boundaries(split)).zip(split.devices);
            shares
                .map(|((peak, boundary), device)| {
                    (peak + boundary) / microbatches as f64 / device.replicas.max(1) as f64
                })
                .collect()
        }
    };
    bytes.iter_mut().enumerate().filter(|(d, _)| !is_accelerator(*d)).for_each(|(_, bytes)| *bytes = 0.0);
    bytes
}

/// The memory of the nodes of each device.
fn sums(split: &Split) -> Vec<f64> {
    let mut bytes = vec![0.0; split.devices.len()];
    for (node, &device) in split.instance.nodes.iter().zip(&split.device_of) {
        bytes[device] += node.memory;
    }
    bytes
}

/// For each device the larger of the two passes' memory, summed over colour classes and nodes without one.
fn peaks(split: &Split) -> Vec<f64> {
    let mut bytes = vec![0.0; split.devices.len()];
    let mut of_class: BTreeMap<(usize, u64), [f64; 2]> = BTreeMap::new();
    for (node, &device) in split.instance.nodes.iter().zip(&split.device_of) {
        match node.color_class {
            Some(class) => of_class.entry((device, class)).or_default()[usize::from(node.backward)] += node.memory,
            None => bytes[device] += node.memory,
        }
    }
    for ((device, _), [forward, backward]) in of_class {
        bytes[device] += forward.max(backward);
    }
    bytes
}

/// For each device the outputs of the edges that enter or leave it, each edge by itself; one given twice counts once.
fn boundaries(split: &Split) -> Vec<f64> {
    let mut bytes = vec![0.0; split.devices.len()];
    let distinct: BTreeSet<(usize, usize)> = split.edges.iter().copied().collect();
    for (u, v) in distinct {
        let ends = [split.device_of[u], split.device_of[v]];
        if ends[0] != ends[1] {
            ends.into_iter().for_each(|d| bytes[d] += split.instance.nodes[u].output_bytes.unwrap_or(0.0));
        }
    }
    bytes
}
