//! The sharding cost as plain data.

use serde::{Deserialize, Serialize};

use super::Interconnect;
use crate::instance::{Instance, Node, Problems};

/// How unevenly the nodes' weights lie on the devices, and what the edges between devices cost: the objective of
/// Chen 2024, section 2.1.
///
/// The cost of a split over the k devices of the platform, unused ones included, is
///
/// > variance · Σ_d (W_d − W̄)² + Σ_{(u, v)} M(d(u), d(v)),
///
/// where W_d is the weight of the nodes on device d, W̄ = Σ_d W_d / k, and the second sum runs over the edges of the
/// graph, each counted once however much data it carries. M is 0 on one device. Between two devices it is `edge`, and
/// `edge` · [`between_factor`](crate::problem::Interconnect::between_factor) where the interconnect has servers and the
/// two are not accelerators of one server. The costs of time and transfer of an instance do not enter.
///
/// Weights are in bytes, so the sum of squares is in bytes², `variance` in cost per byte² and `edge` in cost per edge:
/// their ratio says how many edges a byte² is worth. The paper has 1 for `variance`, parameters for weights, and
/// measured latencies for M.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Sharding {
    /// What a node weighs.
    pub weight: NodeWeight,
    /// The cost of a squared byte off the mean; finite, at least 0.
    pub variance: f64,
    /// The cost of an edge between two devices of one server; finite, at least 0.
    pub edge: f64,
}

impl Default for Sharding {
    fn default() -> Self {
        Self { weight: NodeWeight::Parameters, variance: 1.0, edge: 1.0 }
    }
}

/// What a node weighs in the sharding cost, on whichever device it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum NodeWeight {
    /// The bytes of its parameters, as in the paper.
    #[default]
    Parameters,
    /// The bytes it occupies on an accelerator.
    Memory,
}

impl NodeWeight {
    /// The weight's name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            NodeWeight::Parameters => "parameters",
            NodeWeight::Memory => "memory",
        }
    }

    /// The weight of `node` in bytes.
    pub fn of(self, node: &Node) -> f64 {
        match self {
            NodeWeight::Parameters => node.parameter_bytes,
            NodeWeight::Memory => node.memory,
        }
    }
}

impl Sharding {
    /// Adds what is wrong with the coefficients to `found`.
    pub(super) fn validate(&self, instance: &Instance, interconnect: Option<Interconnect>, found: &mut Problems) {
        for (place, value) in [("variance weight", self.variance), ("edge cost", self.edge)] {
            if !value.is_finite() || value < 0.0 {
                found.add(place, format!("it is {value}"), "give a finite number of at least 0");
            }
        }
        let total: f64 = instance.nodes.iter().map(|node| self.weight.of(node)).sum();
        let factor = interconnect.map_or(1.0, |interconnect| interconnect.between_factor);
        let most = self.variance * total.powi(2) + self.edge * factor * instance.edges.len() as f64;
        if !most.is_finite() {
            found.add("sharding cost", "it can exceed all numbers", "give a smaller variance weight or edge cost");
        }
    }
}
