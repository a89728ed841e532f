//! The bytes that each device needs, by the verifier's own formulas.

use std::collections::BTreeSet;

use super::split::Split;
use dagsplit_model::problem::DeviceKind;

/// Bytes that each accelerator of a device's group of replicas needs; 0 for a CPU.
pub(super) fn of_devices(split: &Split) -> Vec<f64> {
    let mut bytes = vec![0.0; split.devices.len()];
    for (v, &device) in split.device_of.iter().enumerate() {
        let cost = split.costs.kind(split.devices[device].kind).nodes[v];
        bytes[device] += cost.map_or(0.0, |cost| cost.memory);
    }
    let law = &split.costs.memory;
    // Each edge by itself; one given twice counts once.
    let is_kept = split.costs.kinds.iter().any(|kind| !kind.boundary.is_empty());
    let distinct: BTreeSet<(usize, usize)> = split.edges.iter().copied().filter(|_| is_kept).collect();
    for (u, v) in distinct {
        let ends = [split.device_of[u], split.device_of[v]];
        if ends[0] != ends[1] {
            let kept = |d: usize| split.costs.kind(split.devices[d].kind).boundary.get(u);
            ends.into_iter().for_each(|d| bytes[d] += kept(d).copied().unwrap_or(0.0));
        }
    }
    let of_one = |(bytes, d): (f64, usize)| match split.devices[d].kind {
        DeviceKind::Cpu => 0.0,
        DeviceKind::Accelerator(_) if law.is_shared => bytes / split.devices[d].replicas.max(1) as f64,
        DeviceKind::Accelerator(_) => bytes,
    };
    bytes.into_iter().zip(0..).map(of_one).collect()
}
