//! Chains.

use serde::Serialize;

use super::dag::Dag;
use super::{Checks, Rng, Shape};

/// A path: each node feeds the next.
#[derive(Debug, Clone, PartialEq, Serialize, clap::Args)]
pub struct Chain {
    /// How many nodes there are.
    #[arg(long, default_value_t = Self::default().nodes)]
    pub nodes: usize,
}

impl Default for Chain {
    fn default() -> Self {
        Self { nodes: 100 }
    }
}

impl Shape for Chain {
    fn name(&self) -> &'static str {
        "chain"
    }

    fn check(&self, checks: &mut Checks) {
        checks.count("nodes", self.nodes as u64);
    }

    fn size(&self) -> (f64, f64) {
        (self.nodes as f64, self.nodes as f64)
    }

    fn draw(&self, _rng: &mut Rng) -> Dag {
        let edges = (1..self.nodes as u32).map(|v| (v - 1, v)).collect();
        Dag::new(self.nodes, edges, Vec::new())
    }
}
