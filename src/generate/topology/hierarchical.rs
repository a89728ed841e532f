//! Two levels: nodes of equal size, and one network between them.

use serde::Serialize;

use super::{Checks, Layout, Links, Rate, Rng, name_in_node};

/// Nodes of equal size; one bandwidth inside them and one between them. The defaults are the measured ones of Liu et
/// al. (2024): four nodes of four Titan V on PCIe, joined by Ethernet.
#[derive(Debug, Clone, PartialEq, Serialize, clap::Args)]
pub struct Hierarchical {
    /// How many nodes there are.
    #[arg(long, default_value_t = Self::default().nodes)]
    pub nodes: usize,
    /// How many devices each node has.
    #[arg(long, default_value_t = Self::default().node_size)]
    pub node_size: usize,
    /// Bandwidth between two devices of one node, in bytes per second.
    #[arg(long, value_name = "RATE", default_value_t = Self::default().inside)]
    pub inside: Rate,
    /// Bandwidth between devices of two nodes, in bytes per second.
    #[arg(long, value_name = "RATE", default_value_t = Self::default().between)]
    pub between: Rate,
}

impl Default for Hierarchical {
    fn default() -> Self {
        Self { nodes: 4, node_size: 4, inside: Rate::gib(11.0), between: Rate::gib(1.1) }
    }
}

impl Layout for Hierarchical {
    fn name(&self) -> String {
        format!("hierarchical-{}x{}", self.nodes, self.node_size)
    }

    fn check(&self, checks: &mut Checks) {
        checks.count("nodes", self.nodes as u64);
        checks.count("node-size", self.node_size as u64);
    }

    fn devices(&self) -> usize {
        self.nodes.saturating_mul(self.node_size)
    }

    fn device_name(&self, d: usize) -> String {
        name_in_node(d, self.node_size)
    }

    fn draw(&self, _: &mut Rng) -> Links {
        let (size, inside, between) = (self.node_size, self.inside.bytes_per_ms(), self.between.bytes_per_ms());
        Links::new(move |a, b| if a / size == b / size { inside } else { between })
    }
}
