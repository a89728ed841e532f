//! The sharding cost, by the verifier's own formulas.

use std::collections::BTreeSet;

use super::split::Split;
use dagsplit_model::problem::{DeviceKind, NodeWeight, Sharding};

/// The sharding cost of a split.
pub(super) struct Cost {
    pub value: f64,
    /// How far sums of the same numbers in another order can be from it: squares of deviations are small differences
    /// of large weights.
    pub rounding: f64,
}

/// The cost of a split whose devices the platform has.
pub(super) fn cost(split: &Split, sharding: &Sharding) -> Cost {
    let weights = weights(split, sharding);
    let platform = &split.spec.platform;
    let devices = platform.cpus + platform.accelerators.iter().map(|class| class.count).sum::<usize>();
    let total: f64 = weights.iter().sum();
    let mean = total / devices as f64;
    let used: Vec<usize> = split.used().map(|(d, _)| d).collect();
    let unused = std::iter::repeat_n(mean, devices - used.len());
    let off_mean: Vec<f64> = used.iter().map(|&d| (weights[d] - mean).abs()).chain(unused).collect();
    let squares: f64 = off_mean.iter().map(|x| x.powi(2)).sum();
    // Each weight and the mean carry one rounding per addend; (x + off)² − x² is off · (2 x + off).
    let off = 4.0 * (split.device_of.len() + devices) as f64 * f64::EPSILON * total;
    let rounding: f64 = off_mean.iter().map(|x| off * (2.0 * x + off)).sum();
    Cost { value: sharding.variance * squares + edges(split, sharding), rounding: sharding.variance * rounding }
}

/// The weight of each device of the split.
fn weights(split: &Split, sharding: &Sharding) -> Vec<f64> {
    let mut weights = vec![0.0; split.devices.len()];
    for (node, &device) in split.instance.nodes.iter().zip(&split.device_of) {
        weights[device] += match sharding.weight {
            NodeWeight::Parameters => node.parameter_bytes,
            NodeWeight::Memory => node.memory,
        };
    }
    weights
}

/// What the edges between devices cost; an edge given twice counts once.
fn edges(split: &Split, sharding: &Sharding) -> f64 {
    let distinct: BTreeSet<(usize, usize)> = split.edges.iter().copied().collect();
    let mut cost = 0.0;
    for (u, v) in distinct {
        let (from, to) = (split.device_of[u], split.device_of[v]);
        if from != to {
            cost += sharding.edge * distance(split, from, to);
        }
    }
    cost
}

/// How many times as much an edge between two devices costs as one inside a server.
fn distance(split: &Split, from: usize, to: usize) -> f64 {
    let Some(interconnect) = split.spec.interconnect else { return 1.0 };
    let is_accelerator = |d: usize| split.devices[d].kind != DeviceKind::Cpu;
    let share_server = is_accelerator(from) && is_accelerator(to) && split.server(from) == split.server(to);
    if share_server { 1.0 } else { interconnect.between_factor }
}
