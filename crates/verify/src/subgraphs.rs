//! The subgraphs of each accelerator: those that the split states, or the plainest that can run.

use super::split::{Split, Subgraphs};
use super::{Violation, cut};
use dagsplit_model::problem::DeviceKind;

/// The subgraphs of each device, at most `allowed` each. Where no device states any, they are cut.
pub(super) fn of_devices(split: &Split, allowed: usize) -> Result<Vec<Subgraphs>, Vec<Violation>> {
    let are_stated = split.used().any(|(_, device)| device.kind != DeviceKind::Cpu && !device.subgraphs.is_empty());
    if !are_stated {
        return cut::into_subgraphs(split, allowed).map_err(|violation| vec![violation]);
    }
    let found = stated(split)?;
    let too_many = found.iter().enumerate().filter(|(_, subgraphs)| subgraphs.len() > allowed);
    let violations: Vec<Violation> =
        too_many.map(|(device, _)| Violation::TooManySubgraphs { device, allowed }).collect();
    if violations.is_empty() { Ok(found) } else { Err(violations) }
}

/// The subgraphs as the split states them; an accelerator that states none runs its nodes as one.
fn stated(split: &Split) -> Result<Vec<Subgraphs>, Vec<Violation>> {
    let mut violations = Vec::new();
    let mut found = vec![Vec::new(); split.devices.len()];
    for (device, nodes) in split.on_accelerators().into_iter().enumerate().filter(|(_, nodes)| !nodes.is_empty()) {
        let subgraphs = &split.devices[device].subgraphs;
        if subgraphs.is_empty() {
            found[device].push(nodes);
            continue;
        }
        let mut times = vec![0; split.device_of.len()];
        for ids in subgraphs.iter().filter(|ids| !ids.is_empty()) {
            let position = |id: &u64| split.index.get(id).copied().filter(|&v| split.device_of[v] == device);
            let foreign = ids.iter().filter(|id| position(id).is_none());
            violations.extend(foreign.map(|&node| Violation::ForeignInSubgraph { device, node }));
            let subgraph: Vec<usize> = ids.iter().filter_map(position).collect();
            subgraph.iter().for_each(|&v| times[v] += 1);
            found[device].push(subgraph);
        }
        let wrong = nodes.into_iter().filter(|&v| times[v] != 1);
        violations.extend(wrong.map(|v| Violation::NotInOneSubgraph { device, node: split.id(v), times: times[v] }));
    }
    if violations.is_empty() { Ok(found) } else { Err(violations) }
}
