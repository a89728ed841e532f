//! Two levels: nodes of equal size, and one network between them.

use serde::Serialize;

use super::{Checks, Layout, Links, Rate, Rng, channels_of_nodes, name_in_node};
use crate::mapping::Channel;

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
    /// Whether the devices of a node share one uplink of the bandwidth between nodes.
    #[arg(long)]
    pub shared_uplink: bool,
}

impl Default for Hierarchical {
    fn default() -> Self {
        Self { nodes: 4, node_size: 4, inside: Rate::gib(11.0), between: Rate::gib(1.1), shared_uplink: false }
    }
}

impl Layout for Hierarchical {
    fn name(&self) -> String {
        let uplink = if self.shared_uplink { "-uplink" } else { "" };
        format!("hierarchical-{}x{}{uplink}", self.nodes, self.node_size)
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

    fn channels(&self) -> Vec<Channel> {
        let count = usize::from(self.shared_uplink);
        channels_of_nodes((self.nodes, self.node_size), count, "uplink", self.between)
    }

    fn draw(&self, _: &mut Rng) -> Links {
        let (size, inside, between) = (self.node_size, self.inside.bytes_per_ms(), self.between.bytes_per_ms());
        Links::new(move |a, b| if a / size == b / size { inside } else { between })
    }
}
