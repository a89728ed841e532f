//! Layered graphs.

use rand::RngExt;
use serde::Serialize;

use super::dag::{Dag, sample};
use super::{Checks, Rng, Shape};

/// Layers of equal width. Each node has at least one producer in the layer before and one consumer in the layer after.
#[derive(Debug, Clone, PartialEq, Serialize, clap::Args)]
pub struct Layered {
    /// How many layers there are.
    #[arg(long, default_value_t = Self::default().layers)]
    pub layers: usize,
    /// How many nodes each layer has.
    #[arg(long, default_value_t = Self::default().width)]
    pub width: usize,
    /// The probability of an edge between two nodes of neighbouring layers.
    #[arg(long, default_value_t = Self::default().density)]
    pub density: f64,
    /// The probability that a node also feeds a node two or more layers on, drawn uniformly.
    #[arg(long, default_value_t = Self::default().skip)]
    pub skip: f64,
}

impl Default for Layered {
    fn default() -> Self {
        Self { layers: 20, width: 5, density: 0.3, skip: 0.1 }
    }
}

impl Layered {
    /// Edges from layer `layer` to the next.
    fn join(&self, layer: usize, rng: &mut Rng, edges: &mut Vec<(u32, u32)>) {
        let w = self.width;
        let (from, to) = ((layer * w) as u32, ((layer + 1) * w) as u32);
        let (mut feeds, mut fed) = (vec![false; w], vec![false; w]);
        for pair in sample(w * w, self.density, rng) {
            let (i, j) = (pair / w, pair % w);
            (feeds[i], fed[j]) = (true, true);
            edges.push((from + i as u32, to + j as u32));
        }
        for j in (0..w).filter(|&j| !fed[j]) {
            let i = rng.random_range(0..w);
            feeds[i] = true;
            edges.push((from + i as u32, to + j as u32));
        }
        for i in (0..w).filter(|&i| !feeds[i]) {
            edges.push((from + i as u32, to + rng.random_range(0..w as u32)));
        }
    }
}

impl Shape for Layered {
    fn name(&self) -> &'static str {
        "layered"
    }

    fn check(&self, checks: &mut Checks) {
        checks.count("layers", self.layers as u64);
        checks.count("width", self.width as u64);
        checks.probability("density", self.density);
        checks.probability("skip", self.skip);
    }

    fn size(&self) -> (f64, f64) {
        let (layers, width) = (self.layers as f64, self.width as f64);
        (layers * width, layers * width * (width * self.density + 2.0 + self.skip))
    }

    fn draw(&self, rng: &mut Rng) -> Dag {
        let n = self.layers * self.width;
        let mut edges = Vec::new();
        for layer in 1..self.layers {
            self.join(layer - 1, rng, &mut edges);
        }
        let beyond_next = |v: usize| (v / self.width + 2) * self.width;
        for v in sample(n, self.skip, rng) {
            if beyond_next(v) < n {
                edges.push((v as u32, rng.random_range(beyond_next(v)..n) as u32));
            }
        }
        Dag::new(n, edges, (0..n).map(|v| (v / self.width) as u64).collect())
    }
}
