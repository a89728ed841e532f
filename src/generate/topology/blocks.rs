//! Random blocks: nodes of random size (Liu et al. 2024, appendix D-B).

use rand::RngExt;
use serde::Serialize;

use super::uniform::Pairs;
use super::{Checks, Layout, Links, Rate, Rng};

/// random_blk_1: nodes of random size, a bandwidth drawn uniformly for the inside of each, and one fixed bandwidth
/// between nodes. The paper's range is 1e-4 to 1e-2 MB/µs, which is 100 to 10 000 MiB/s.
#[derive(Debug, Clone, PartialEq, Serialize, clap::Args)]
pub struct RandomBlk1 {
    /// How many devices there are.
    #[arg(long, default_value_t = Self::default().devices)]
    pub devices: usize,
    /// How many nodes they are divided into, all divisions being equally likely [default: one for eight devices].
    #[arg(long)]
    pub nodes: Option<usize>,
    /// The least bandwidth inside a node, in bytes per second.
    #[arg(long, value_name = "RATE", default_value_t = Self::default().slowest)]
    pub slowest: Rate,
    /// The largest bandwidth inside a node, in bytes per second.
    #[arg(long, value_name = "RATE", default_value_t = Self::default().fastest)]
    pub fastest: Rate,
    /// Bandwidth between devices of two nodes, in bytes per second.
    #[arg(long, value_name = "RATE", default_value_t = Self::default().between)]
    pub between: Rate,
}

/// random_blk_2: nodes of random size, a bandwidth drawn uniformly for each pair inside them, and between nodes i and j
/// a tenth of their mean, divided by |i − j|. The paper's range is 1e-5 to 1e-2 MB/µs, which is 10 to 10 000 MiB/s.
#[derive(Debug, Clone, PartialEq, Serialize, clap::Args)]
pub struct RandomBlk2 {
    /// How many devices there are.
    #[arg(long, default_value_t = Self::default().devices)]
    pub devices: usize,
    /// How many nodes they are divided into, all divisions being equally likely [default: one for eight devices].
    #[arg(long)]
    pub nodes: Option<usize>,
    /// The least bandwidth inside a node, in bytes per second.
    #[arg(long, value_name = "RATE", default_value_t = Self::default().slowest)]
    pub slowest: Rate,
    /// The largest bandwidth inside a node, in bytes per second.
    #[arg(long, value_name = "RATE", default_value_t = Self::default().fastest)]
    pub fastest: Rate,
}

impl Default for RandomBlk1 {
    fn default() -> Self {
        let (slowest, fastest, between) = (Rate::mib(100.0), Rate::mib(10_000.0), Rate::mib(100.0));
        Self { devices: 64, nodes: None, slowest, fastest, between }
    }
}

impl Default for RandomBlk2 {
    fn default() -> Self {
        Self { devices: 64, nodes: None, slowest: Rate::mib(10.0), fastest: Rate::mib(10_000.0) }
    }
}

/// Devices of one node where the number of nodes is left open.
const USUAL_SIZE: usize = 8;

fn node_count(nodes: Option<usize>, devices: usize) -> usize {
    nodes.unwrap_or_else(|| devices.div_ceil(USUAL_SIZE).max(2).min(devices))
}

fn check_blocks(devices: usize, nodes: Option<usize>, checks: &mut Checks) {
    checks.count("devices", devices as u64);
    if let Some(nodes) = nodes {
        checks.within("nodes", nodes as u64, 1, devices.max(1) as u64);
    }
}

/// The node of each device: a uniformly drawn division of `devices` into `nodes` blocks of at least one. Devices of
/// one node follow one another.
fn draw_nodes(devices: usize, nodes: usize, rng: &mut Rng) -> Vec<usize> {
    let mut node = 0;
    let starts_node = |d: usize, node: &mut usize, rng: &mut Rng| {
        // Selection sampling: the cuts that are still to be made among the places that are left.
        if d > 0 && rng.random_range(0..devices - d) < nodes - 1 - *node {
            *node += 1;
        }
        *node
    };
    (0..devices).map(|d| starts_node(d, &mut node, rng)).collect()
}

impl Layout for RandomBlk1 {
    fn name(&self) -> String {
        format!("random-blk-1-{}", self.devices)
    }

    fn check(&self, checks: &mut Checks) {
        check_blocks(self.devices, self.nodes, checks);
        super::uniform::check_range(self.slowest, self.fastest, checks);
    }

    fn devices(&self) -> usize {
        self.devices
    }

    fn draw(&self, rng: &mut Rng) -> Links {
        let count = node_count(self.nodes, self.devices);
        let nodes = draw_nodes(self.devices, count, rng);
        let range = self.slowest.bytes_per_ms()..=self.fastest.bytes_per_ms();
        let inside: Vec<f64> = (0..count).map(|_| rng.random_range(range.clone())).collect();
        let between = self.between.bytes_per_ms();
        Links::new(move |a, b| if nodes[a] == nodes[b] { inside[nodes[a]] } else { between })
    }
}

impl Layout for RandomBlk2 {
    fn name(&self) -> String {
        format!("random-blk-2-{}", self.devices)
    }

    fn check(&self, checks: &mut Checks) {
        check_blocks(self.devices, self.nodes, checks);
        super::uniform::check_range(self.slowest, self.fastest, checks);
    }

    fn devices(&self) -> usize {
        self.devices
    }

    fn draw(&self, rng: &mut Rng) -> Links {
        let nodes = draw_nodes(self.devices, node_count(self.nodes, self.devices), rng);
        let (slowest, fastest) = (self.slowest.bytes_per_ms(), self.fastest.bytes_per_ms());
        let pairs = Pairs::draw(self.devices, slowest..=fastest, rng);
        let same = |&(a, b): &(usize, usize)| nodes[a] == nodes[b];
        let inside: Vec<f64> = Pairs::all(self.devices).filter(same).map(|(a, b)| pairs.get(a, b)).collect();
        // Where every node holds one device the mean is that of the distribution.
        let mean = match inside.len() {
            0 => f64::midpoint(slowest, fastest),
            count => inside.iter().sum::<f64>() / count as f64,
        };
        Links::new(move |a, b| match nodes[a].abs_diff(nodes[b]) {
            0 => pairs.get(a, b),
            distance => mean / 10.0 / distance as f64,
        })
    }
}

#[cfg(test)]
mod tests {
    use rand::SeedableRng;

    use super::*;

    #[test]
    fn divisions_have_every_node_and_all_are_drawn() {
        let mut seen = std::collections::BTreeSet::new();
        for seed in 0..200 {
            let nodes = draw_nodes(5, 3, &mut Rng::seed_from_u64(seed));
            assert!(nodes.windows(2).all(|pair| pair[1] - pair[0] <= 1) && nodes[0] == 0 && nodes[4] == 2);
            seen.insert(nodes);
        }
        // 5 = a + b + c with parts of at least 1: two cuts in four places.
        assert_eq!(seen.len(), 6);
    }
}
