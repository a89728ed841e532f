//! Random costs.

use rand::RngExt;
use serde::Serialize;

use super::{Checks, Rng};
use crate::generate::rounding::six_digits;
use crate::generate::training::BackwardCost;
use crate::instance::Node;

/// How costs are drawn: uniformly and independently for each node. The backward counterpart of a node takes twice its
/// time, as its two matrix products do against one forward, and holds gradients as large as the parameters.
#[derive(Debug, Clone, PartialEq, Serialize, clap::Args)]
pub struct Costs {
    /// Draws integers only, so that sums of costs are exact.
    #[arg(long)]
    pub integer: bool,
    /// The longest accelerator time; the shortest is 1 for integers, a hundredth of the longest otherwise.
    #[arg(long, default_value_t = Self::default().max_time)]
    pub max_time: f64,
    /// How many times longer a CPU takes.
    #[arg(long, default_value_t = Self::default().cpu_slowdown)]
    pub cpu_slowdown: f64,
    /// The longest transfer of an output; the shortest is 0.
    #[arg(long, default_value_t = Self::default().max_transfer)]
    pub max_transfer: f64,
    /// The largest memory of a node in bytes, always an integer of at least 1; half of it is parameters.
    #[arg(long, default_value_t = Self::default().max_memory)]
    pub max_memory: f64,
    /// The probability that accelerators do not support a node.
    #[arg(long, default_value_t = Self::default().unsupported)]
    pub unsupported: f64,
}

impl Default for Costs {
    fn default() -> Self {
        Self {
            integer: false,
            max_time: 100.0,
            cpu_slowdown: 10.0,
            max_transfer: 20.0,
            max_memory: 100.0,
            unsupported: 0.0,
        }
    }
}

impl Costs {
    pub(super) fn check(&self, checks: &mut Checks) {
        if self.integer {
            checks.at_least("max-time", self.max_time, 1.0);
        } else {
            checks.positive("max-time", self.max_time);
        }
        checks.positive("cpu-slowdown", self.cpu_slowdown);
        checks.at_least("max-transfer", self.max_transfer, 0.0);
        checks.at_least("max-memory", self.max_memory, 1.0);
        checks.probability("unsupported", self.unsupported);
    }

    pub(super) fn draw(&self, id: u64, rng: &mut Rng) -> Node {
        let time = self.uniform(if self.integer { 1.0 } else { self.max_time / 100.0 }, self.max_time, rng);
        let cpu_time = self.rounded(time * self.cpu_slowdown);
        let transfer_time = self.uniform(0.0, self.max_transfer, rng);
        let memory = rng.random_range(1..=self.max_memory as u64) as f64;
        let supported = !rng.random_bool(self.unsupported);
        Node {
            accelerator_times: vec![supported.then_some(time)],
            cpu_time: Some(cpu_time),
            memory,
            transfer_time,
            parameter_bytes: (memory / 2.0).floor(),
            ..Node::new(id)
        }
    }

    pub(super) fn backward(&self, forward: &Node) -> BackwardCost {
        BackwardCost {
            accelerator_times: vec![forward.accelerator_times[0].map(|time| 2.0 * time)],
            cpu_time: forward.cpu_time.map(|time| 2.0 * time),
            gradient_bytes: forward.parameter_bytes,
        }
    }

    fn uniform(&self, least: f64, most: f64, rng: &mut Rng) -> f64 {
        if self.integer {
            rng.random_range(least as u64..=most as u64) as f64
        } else {
            six_digits(rng.random_range(least..=most))
        }
    }

    fn rounded(&self, value: f64) -> f64 {
        if self.integer { value.round() } else { six_digits(value) }
    }
}
