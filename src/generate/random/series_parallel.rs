//! Series-parallel graphs.

use rand::RngExt;
use serde::Serialize;

use super::dag::Dag;
use super::{Checks, Rng, Shape};
use crate::graph::{Graph, topological};

/// Two-terminal series-parallel graphs, grown from one edge between source and sink.
///
/// Each further node is put on a random edge: in series it subdivides the edge, in parallel it becomes a second path
/// beside it. Nodes are then numbered in a topological order.
#[derive(Debug, Clone, PartialEq, Serialize, clap::Args)]
pub struct SeriesParallel {
    /// How many nodes there are.
    #[arg(long, default_value_t = Self::default().nodes)]
    pub nodes: usize,
    /// The probability that a node goes in parallel.
    #[arg(long, default_value_t = Self::default().parallel)]
    pub parallel: f64,
}

impl Default for SeriesParallel {
    fn default() -> Self {
        Self { nodes: 100, parallel: 0.5 }
    }
}

impl Shape for SeriesParallel {
    fn name(&self) -> &'static str {
        "series-parallel"
    }

    fn check(&self, checks: &mut Checks) {
        checks.within("nodes", self.nodes as u64, 2, u64::from(u32::MAX));
        checks.probability("parallel", self.parallel);
    }

    fn size(&self) -> (f64, f64) {
        (self.nodes as f64, self.nodes as f64 * (1.0 + self.parallel))
    }

    fn draw(&self, rng: &mut Rng) -> Dag {
        let mut edges = vec![(0, 1)];
        for v in 2..self.nodes {
            let e = rng.random_range(0..edges.len());
            let (a, b) = edges[e];
            edges.push((v, b));
            if rng.random_bool(self.parallel) {
                edges.push((a, v));
            } else {
                edges[e] = (a, v);
            }
        }
        Dag::new(self.nodes, renumbered(self.nodes, &edges), Vec::new())
    }
}

/// The same acyclic edges with nodes numbered in topological order.
fn renumbered(n: usize, edges: &[(usize, usize)]) -> Vec<(u32, u32)> {
    let graph = Graph::new(n, edges).expect("subdividing an edge and doubling a path close no cycle");
    let mut position = vec![0; n];
    for (i, v) in topological::smallest_first(&graph).into_iter().enumerate() {
        position[v] = i as u32;
    }
    edges.iter().map(|&(u, v)| (position[u], position[v])).collect()
}
