//! Which device each rank of a launch has.

use crate::mapping::{ClaimedMapping, Topology};

/// One line for each rank, in Megatron-LM's order (the devices of a copy, then copies, then stages): its host, and the
/// number of its device there. `tensor` devices of the topology that follow one another are one of the mapping. O(k²) for
/// k devices.
///
/// A device's host is its name up to the last slash, or else `localhost`; its devices count in the topology's order.
pub fn ranks(mapping: &ClaimedMapping, topology: &Topology, tensor: usize) -> String {
    let mut copies: Vec<_> = mapping.copies.iter().map(|copy| (copy.stage, copy.replica, copy.device)).collect();
    copies.sort_unstable();
    let devices = copies.iter().flat_map(|&(_, _, group)| group * tensor..(group + 1) * tensor);
    let line = |device: usize| {
        let host = |device: usize| topology.devices[device].host().unwrap_or("localhost");
        let before = (0..device).filter(|&other| host(other) == host(device)).count();
        format!("{} {before}\n", host(device))
    };
    devices.map(line).collect()
}
