//! Loads and the objective, by the verifier's own formulas.

use super::split::Split;
use dagsplit_model::cost::{Piece, Synchronisation, Transfer};
use dagsplit_model::problem::{DeviceKind, Objective};

/// The load of one device, replication counted.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct Load {
    /// Of its forward nodes and their outputs.
    pub forward: f64,
    /// Of its backward nodes and their outputs.
    pub backward: f64,
    /// Of both passes together.
    pub together: f64,
}

impl Load {
    /// The loads of parts that run one after another.
    pub fn plus(self, other: Load) -> Load {
        Load {
            forward: self.forward + other.forward,
            backward: self.backward + other.backward,
            together: self.together + other.together,
        }
    }
}

/// What a device has to do in one pass, in time units.
#[derive(Clone, Copy, Default)]
struct Work {
    compute: f64,
    comm_in: f64,
    comm_out: f64,
}

impl Work {
    fn plus(self, other: Work) -> Work {
        Work {
            compute: self.compute + other.compute,
            comm_in: self.comm_in + other.comm_in,
            comm_out: self.comm_out + other.comm_out,
        }
    }

    fn load(self, pieces: &[Piece]) -> f64 {
        let value = |p: &Piece| p.compute * self.compute + p.comm_in * self.comm_in + p.comm_out * self.comm_out;
        pieces.iter().map(value).fold(0.0, f64::max)
    }
}

/// The work of one device in the forward and in the backward pass.
type Passes = [Work; 2];

/// The time per sample of a pipeline of devices with these loads, or that of a step, in which other devices wait for one
/// of so many `parts` of a device's work.
pub(super) fn time(loads: &[Load], objective: Objective, parts: usize) -> f64 {
    let largest = |part: fn(&Load) -> f64| loads.iter().map(part).fold(0.0, f64::max);
    match objective {
        Objective::GPipe => largest(|load| load.forward) + largest(|load| load.backward),
        Objective::Step { microbatches } => {
            let once: f64 = loads.iter().map(|load| load.together).sum();
            (once + (parts as f64 * microbatches as f64 - 1.0) * largest(|load| load.together)) / parts as f64
        }
        _ => largest(|load| load.together),
    }
}

/// The load of each device of the split, which runs only nodes that its kind supports.
pub(super) fn of_devices(split: &Split) -> Vec<Load> {
    let has_backward = split.instance.nodes.iter().any(|node| node.backward);
    let all_reduces = all_reduces(split);
    let loads = works(split).into_iter().enumerate().map(|(d, [forward, backward])| {
        let all_reduce = all_reduces[d];
        let (in_forward, in_backward) = if has_backward { (0.0, all_reduce) } else { (all_reduce, 0.0) };
        let device = &split.devices[d];
        let pieces = &split.costs.kind(device.kind).pieces;
        let share = |work: Work, all_reduce| replica_share(split, work.load(pieces), device.replicas, all_reduce);
        Load {
            forward: share(forward, in_forward),
            backward: share(backward, in_backward),
            together: share(forward.plus(backward), all_reduce),
        }
    });
    loads.collect()
}

fn replica_share(split: &Split, load: f64, replicas: usize, all_reduce: f64) -> f64 {
    if replicas <= 1 {
        return load;
    }
    let share = load / replicas as f64;
    match split.costs.synchronisation {
        Synchronisation::Added => share + all_reduce,
        Synchronisation::Overlapped => share.max(all_reduce),
    }
}

/// Time of each device's ring all-reduce; 0 where it has no replicas.
fn all_reduces(split: &Split) -> Vec<f64> {
    let mut bytes = vec![0.0; split.devices.len()];
    for (v, &device) in split.device_of.iter().enumerate() {
        bytes[device] += split.instance.nodes[v].parameter_bytes;
    }
    let times = bytes.into_iter().zip(split.devices).map(|(bytes, device)| match split.spec.replication {
        Some(replication) if device.replicas > 1 => {
            let r = device.replicas as f64;
            2.0 * (r - 1.0) / r * bytes / replication.bandwidth
        }
        _ => 0.0,
    });
    times.collect()
}

/// The work of each device in both passes.
fn works(split: &Split) -> Vec<Passes> {
    let pass_of = |v: usize| usize::from(split.instance.nodes[v].backward);
    let mut works = vec![Passes::default(); split.devices.len()];
    for (v, &home) in split.device_of.iter().enumerate() {
        works[home][pass_of(v)].compute += split.time(v, split.devices[home].kind).unwrap_or(0.0);
    }
    for (t, transfer) in split.costs.transfers.iter().enumerate() {
        let (home, touched) = (split.device_of[transfer.source], touched_devices(split, transfer));
        if touched.len() == 1 {
            continue;
        }
        for &payer in &touched {
            let time = split.costs.kind(split.devices[payer].kind).transfers[t];
            let charge = time * charge_factor(split, transfer, payer, &touched);
            let work = &mut works[payer][pass_of(transfer.source)];
            if payer == home {
                work.comm_out += charge;
            } else {
                work.comm_in += charge;
            }
        }
    }
    works
}

/// The devices that make or need the data of a transfer, each once, ascending.
fn touched_devices(split: &Split, transfer: &Transfer) -> Vec<usize> {
    let ends = transfer.consumers.iter().chain([&transfer.source]);
    let mut devices: Vec<usize> = ends.map(|&v| split.device_of[v]).collect();
    devices.sort_unstable();
    devices.dedup();
    devices
}

/// What `payer` pays per unit of time for data that the `touched` devices make or need.
fn charge_factor(split: &Split, transfer: &Transfer, payer: usize, touched: &[usize]) -> f64 {
    let has_servers = split.spec.interconnect.is_some() && split.devices[payer].kind != DeviceKind::Cpu;
    let is_far = has_servers && touched.iter().any(|&device| split.server(device) != split.server(payer));
    if is_far { transfer.between } else { 1.0 }
}
