//! DGX-1 servers of eight V100.

use serde::Serialize;

use super::{Checks, Layout, Links, Rate, Rng, name_in_node};

/// Devices of one server.
const SIZE: usize = 8;

/// NVLinks between each two V100 of a DGX-1: the hybrid cube mesh of its white paper, two faces of four fully joined
/// devices and an edge from each to its partner, six links for every device.
#[rustfmt::skip]
const NVLINKS: [[u8; SIZE]; SIZE] = [
    [0, 1, 1, 2, 2, 0, 0, 0],
    [1, 0, 2, 1, 0, 2, 0, 0],
    [1, 2, 0, 2, 0, 0, 1, 0],
    [2, 1, 2, 0, 0, 0, 0, 1],
    [2, 0, 0, 0, 0, 1, 1, 2],
    [0, 2, 0, 0, 1, 0, 2, 1],
    [0, 0, 1, 0, 1, 2, 0, 2],
    [0, 0, 0, 1, 2, 1, 2, 0],
];

/// DGX-1 servers: single or double NVLinks in a hybrid cube mesh, PCIe between the other pairs of a server, and one
/// network between servers. The defaults are the measured bandwidths of Liu et al. (2024).
#[derive(Debug, Clone, PartialEq, Serialize, clap::Args)]
pub struct Dgx1 {
    /// How many servers there are.
    #[arg(long, default_value_t = Self::default().nodes)]
    pub nodes: usize,
    /// Bandwidth of two devices of a server without NVLink, in bytes per second.
    #[arg(long, value_name = "RATE", default_value_t = Self::default().pcie)]
    pub pcie: Rate,
    /// Bandwidth of one NVLink, in bytes per second.
    #[arg(long, value_name = "RATE", default_value_t = Self::default().nvlink)]
    pub nvlink: Rate,
    /// Bandwidth of a double NVLink, in bytes per second.
    #[arg(long, value_name = "RATE", default_value_t = Self::default().double_nvlink)]
    pub double_nvlink: Rate,
    /// Bandwidth between devices of two servers, in bytes per second.
    #[arg(long, value_name = "RATE", default_value_t = Self::default().between)]
    pub between: Rate,
}

impl Default for Dgx1 {
    fn default() -> Self {
        Self {
            nodes: 4,
            pcie: Rate::gib(10.1),
            nvlink: Rate::gib(21.4),
            double_nvlink: Rate::gib(43.2),
            between: Rate::gib(1.4),
        }
    }
}

impl Layout for Dgx1 {
    fn name(&self) -> String {
        format!("dgx1-{}x{SIZE}", self.nodes)
    }

    fn check(&self, checks: &mut Checks) {
        checks.count("nodes", self.nodes as u64);
    }

    fn devices(&self) -> usize {
        self.nodes.saturating_mul(SIZE)
    }

    fn device_name(&self, d: usize) -> String {
        name_in_node(d, SIZE)
    }

    fn draw(&self, _: &mut Rng) -> Links {
        let inside = [self.pcie, self.nvlink, self.double_nvlink].map(Rate::bytes_per_ms);
        let between = self.between.bytes_per_ms();
        Links::new(
            move |a, b| {
                if a / SIZE == b / SIZE { inside[usize::from(NVLINKS[a % SIZE][b % SIZE])] } else { between }
            },
        )
    }
}

#[cfg(test)]
mod tests {
    use super::NVLINKS;

    #[test]
    fn every_device_has_its_six_links_and_they_are_mutual() {
        for (a, links) in NVLINKS.iter().enumerate() {
            assert_eq!(links.iter().sum::<u8>(), 6);
            assert!(links.iter().enumerate().all(|(b, &count)| count == NVLINKS[b][a]));
        }
    }
}
