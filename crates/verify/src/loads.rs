//! Loads and the objective, by the verifier's own formulas.

use super::split::Split;
use dagsplit_model::problem::{CostKind, DeviceKind, Objective};

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

    fn load(self, kind: CostKind) -> f64 {
        match kind {
            CostKind::Additive => self.compute + self.comm_in + self.comm_out,
            CostKind::Overlap => self.compute.max(self.comm_in + self.comm_out),
            CostKind::Duplex => self.compute.max(self.comm_in).max(self.comm_out),
        }
    }
}

/// The work of one device in the forward and in the backward pass.
type Passes = [Work; 2];

/// The time per sample of a pipeline of devices with these loads.
pub(super) fn time_per_sample(loads: &[Load], objective: Objective) -> f64 {
    let largest = |part: fn(&Load) -> f64| loads.iter().map(part).fold(0.0, f64::max);
    match objective {
        Objective::GPipe => largest(|load| load.forward) + largest(|load| load.backward),
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
        let kind = split.spec.cost;
        let share =
            |work: Work, all_reduce| replica_share(work.load(kind), split.devices[d].replicas, all_reduce, kind);
        Load {
            forward: share(forward, in_forward),
            backward: share(backward, in_backward),
            together: share(forward.plus(backward), all_reduce),
        }
    });
    loads.collect()
}

fn replica_share(load: f64, replicas: usize, all_reduce: f64, kind: CostKind) -> f64 {
    if replicas <= 1 {
        return load;
    }
    let share = load / replicas as f64;
    match kind {
        CostKind::Additive => share + all_reduce,
        CostKind::Overlap | CostKind::Duplex => share.max(all_reduce),
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
    let mut works = vec![Passes::default(); split.devices.len()];
    let mut touched = touched_devices(split);
    for (v, node) in split.instance.nodes.iter().enumerate() {
        let home = split.device_of[v];
        let pass = usize::from(node.backward);
        works[home][pass].compute += split.time(v, split.devices[home].kind).unwrap_or(0.0);
        let touched = std::mem::take(&mut touched[v]);
        if touched.len() == 1 {
            continue;
        }
        for &payer in &touched {
            let charge = node.transfer_time * charge_factor(split, payer, &touched);
            let work = &mut works[payer][pass];
            if payer == home {
                work.comm_out += charge;
            } else {
                work.comm_in += charge;
            }
        }
    }
    works
}

/// For each producer the devices that make or consume its output, each once, ascending.
fn touched_devices(split: &Split) -> Vec<Vec<usize>> {
    let mut touched: Vec<Vec<usize>> = split.device_of.iter().map(|&home| vec![home]).collect();
    for &(producer, consumer) in &split.edges {
        touched[producer].push(split.device_of[consumer]);
    }
    for devices in &mut touched {
        devices.sort_unstable();
        devices.dedup();
    }
    touched
}

/// What `payer` pays per unit of transfer time for an output that the `touched` devices make or consume.
fn charge_factor(split: &Split, payer: usize, touched: &[usize]) -> f64 {
    match (split.devices[payer].kind, split.spec.interconnect) {
        (DeviceKind::Cpu, _) => 0.0,
        (DeviceKind::Accelerator(_), Some(interconnect))
            if touched.iter().any(|&device| split.server(device) != split.server(payer)) =>
        {
            interconnect.between_factor
        }
        (DeviceKind::Accelerator(_), _) => 1.0,
    }
}
