//! Erdős–Rényi graphs with an order.

use serde::Serialize;

use super::dag::{Dag, sample};
use super::{Checks, Rng, Shape};

/// The G(n, p) graph of Erdős, Rényi and Gilbert with every edge directed from the lower to the higher node.
/// It may have several components.
#[derive(Debug, Clone, PartialEq, Serialize, clap::Args)]
pub struct ErdosRenyi {
    /// How many nodes there are.
    #[arg(long, default_value_t = Self::default().nodes)]
    pub nodes: usize,
    /// The probability of an edge between two nodes.
    #[arg(long, default_value_t = Self::default().density)]
    pub density: f64,
}

impl Default for ErdosRenyi {
    fn default() -> Self {
        Self { nodes: 100, density: 0.05 }
    }
}

impl Shape for ErdosRenyi {
    fn name(&self) -> &'static str {
        "erdos-renyi"
    }

    fn check(&self, checks: &mut Checks) {
        checks.count("nodes", self.nodes as u64);
        checks.probability("density", self.density);
    }

    fn size(&self) -> (f64, f64) {
        let n = self.nodes as f64;
        (n, self.density * n * (n - 1.0) / 2.0)
    }

    fn draw(&self, rng: &mut Rng) -> Dag {
        let n = self.nodes;
        let mut edges = Vec::new();
        for u in 0..n {
            let later = u + 1;
            edges.extend(sample(n - later, self.density, rng).into_iter().map(|i| (u as u32, (later + i) as u32)));
        }
        Dag::new(n, edges, Vec::new())
    }
}
