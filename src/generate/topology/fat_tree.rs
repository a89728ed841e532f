//! Fat trees.

use serde::Serialize;

use super::{Checks, Layout, Links, Rate, Rng};

/// A three-level fat tree of equal switches (Al-Fares et al. 2008): with p ports there are p pods of p/2 leaf switches
/// with p/2 devices each. Above each level the bandwidth of a pair is divided by the oversubscription.
#[derive(Debug, Clone, PartialEq, Serialize, clap::Args)]
pub struct FatTree {
    /// Ports of each switch, an even number.
    #[arg(long, default_value_t = Self::default().ports)]
    pub ports: usize,
    /// Bandwidth of a device's link, in bytes per second.
    #[arg(long, value_name = "RATE", default_value_t = Self::default().link)]
    pub link: Rate,
    /// How many times fewer links lead up from a switch than down.
    #[arg(long, default_value_t = Self::default().oversubscription)]
    pub oversubscription: f64,
    /// Latency of each switch on the way, in microseconds.
    #[arg(long, value_name = "US", default_value_t = Self::default().switch_latency)]
    pub switch_latency: f64,
}

impl Default for FatTree {
    /// 16 devices on 100 Gbit/s Ethernet with two links down for one up.
    fn default() -> Self {
        Self { ports: 4, link: Rate::gb(12.5), oversubscription: 2.0, switch_latency: 0.0 }
    }
}

impl Layout for FatTree {
    fn name(&self) -> String {
        format!("fat-tree-{}", self.devices())
    }

    fn check(&self, checks: &mut Checks) {
        checks.count("ports", self.ports as u64);
        if self.ports % 2 == 1 {
            checks.problem("ports", format!("{} is odd", self.ports), "half of the ports lead up: give an even number");
        }
        checks.at_least("oversubscription", self.oversubscription, 1.0);
        checks.at_least("switch-latency", self.switch_latency, 0.0);
    }

    fn devices(&self) -> usize {
        let half = self.ports / 2;
        self.ports.saturating_mul(half).saturating_mul(half)
    }

    fn device_name(&self, d: usize) -> String {
        let leaf = self.ports / 2;
        format!("pod{}/leaf{}/gpu{}", d / (leaf * leaf), d / leaf % leaf, d % leaf)
    }

    fn draw(&self, _: &mut Rng) -> Links {
        let leaf = self.ports / 2;
        // 0 under one leaf switch, 1 in one pod, 2 across pods.
        let level = move |a: usize, b: usize| {
            usize::from(a / leaf != b / leaf) + usize::from(a / (leaf * leaf) != b / (leaf * leaf))
        };
        let (link, oversubscription) = (self.link.bytes_per_ms(), self.oversubscription);
        let per_switch = self.switch_latency / 1e3;
        Links {
            bandwidth: Box::new(move |a, b| link / oversubscription.powi(level(a, b) as i32)),
            latency: Box::new(move |a, b| (2 * level(a, b) + 1) as f64 * per_switch),
        }
    }
}
