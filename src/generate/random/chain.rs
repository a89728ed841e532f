//! Chains.

use serde::Serialize;

use super::dag::Dag;
use super::{Checks, Rng, Shape};

/// A path, each node of which feeds the next; or several paths of like length that meet in the last node.
#[derive(Debug, Clone, PartialEq, Serialize, clap::Args)]
pub struct Chain {
    /// How many nodes there are.
    #[arg(long, default_value_t = Self::default().nodes)]
    pub nodes: usize,
    /// How many paths lead to the last node.
    #[arg(long, default_value_t = Self::default().paths)]
    pub paths: usize,
}

impl Default for Chain {
    fn default() -> Self {
        Self { nodes: 100, paths: 1 }
    }
}

impl Shape for Chain {
    fn name(&self) -> &'static str {
        "chain"
    }

    fn check(&self, checks: &mut Checks) {
        checks.count("nodes", self.nodes as u64);
        checks.within("paths", self.paths as u64, 1, self.nodes.saturating_sub(1).max(1) as u64);
    }

    fn size(&self) -> (f64, f64) {
        (self.nodes as f64, self.nodes as f64)
    }

    fn draw(&self, _rng: &mut Rng) -> Dag {
        let last = self.nodes - 1;
        let edges = (0..self.paths).flat_map(|path| {
            let (first, end) = (path * last / self.paths, (path + 1) * last / self.paths);
            let next = move |v: usize| if v + 1 == end { last } else { v + 1 };
            (first..end).map(move |v| (v as u32, next(v) as u32))
        });
        Dag::new(self.nodes, edges.collect(), Vec::new())
    }
}
