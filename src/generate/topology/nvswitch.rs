//! Servers with NVSwitch, joined by InfiniBand.

use serde::Serialize;

use super::{Checks, Layout, Links, Rate, Rng, channels_of_nodes, name_in_node};
use crate::mapping::Channel;

/// A server of eight devices that NVSwitch joins at full NVLink bandwidth, with one InfiniBand port for each device:
/// figures of the maker's data sheets, one direction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, clap::ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub enum Server {
    /// DGX A100 of 80 GB devices: NVLink 300 GB/s, HDR InfiniBand 25 GB/s.
    #[default]
    DgxA100,
    /// DGX H100 of 80 GB devices: NVLink 450 GB/s, NDR InfiniBand 50 GB/s.
    DgxH100,
}

impl Server {
    fn inside(self) -> Rate {
        Rate::gb(match self {
            Self::DgxA100 => 300.0,
            Self::DgxH100 => 450.0,
        })
    }

    fn between(self) -> Rate {
        Rate::gb(match self {
            Self::DgxA100 => 25.0,
            Self::DgxH100 => 50.0,
        })
    }

    fn name(self) -> &'static str {
        match self {
            Self::DgxA100 => "dgx-a100",
            Self::DgxH100 => "dgx-h100",
        }
    }
}

/// Servers with NVSwitch: NVLink between any two devices of a server, InfiniBand between servers.
#[derive(Debug, Clone, PartialEq, Serialize, clap::Args)]
pub struct Nvswitch {
    /// The kind of server.
    #[arg(long, value_enum, default_value_t = Self::default().server)]
    pub server: Server,
    /// How many servers there are.
    #[arg(long, default_value_t = Self::default().nodes)]
    pub nodes: usize,
    /// How many devices of each server are used.
    #[arg(long, default_value_t = Self::default().node_size)]
    pub node_size: usize,
    /// How many InfiniBand ports the devices of each server share [default: one for each].
    #[arg(long)]
    pub nics: Option<usize>,
    /// Latency between devices of two servers, in microseconds.
    #[arg(long, value_name = "US", default_value_t = Self::default().network_latency)]
    pub network_latency: f64,
}

impl Default for Nvswitch {
    fn default() -> Self {
        Self { server: Server::default(), nodes: 4, node_size: 8, nics: None, network_latency: 0.0 }
    }
}

impl Layout for Nvswitch {
    fn name(&self) -> String {
        let nics = self.nics.map_or_else(String::new, |nics| format!("-nics{nics}"));
        format!("{}-{}x{}{nics}", self.server.name(), self.nodes, self.node_size)
    }

    fn check(&self, checks: &mut Checks) {
        checks.count("nodes", self.nodes as u64);
        checks.within("node-size", self.node_size as u64, 1, 8);
        if let Some(nics) = self.nics {
            checks.within("nics", nics as u64, 1, self.node_size as u64);
        }
        checks.at_least("network-latency", self.network_latency, 0.0);
    }

    fn devices(&self) -> usize {
        self.nodes.saturating_mul(self.node_size)
    }

    fn device_name(&self, d: usize) -> String {
        name_in_node(d, self.node_size)
    }

    fn memory(&self) -> Option<f64> {
        Some(80e9)
    }

    fn channels(&self) -> Vec<Channel> {
        let of = |nics| channels_of_nodes((self.nodes, self.node_size), nics, "nic", self.server.between());
        self.nics.map(of).unwrap_or_default()
    }

    fn draw(&self, _: &mut Rng) -> Links {
        let (size, latency) = (self.node_size, self.network_latency / 1e3);
        let (inside, between) = (self.server.inside().bytes_per_ms(), self.server.between().bytes_per_ms());
        Links {
            bandwidth: Box::new(move |a, b| if a / size == b / size { inside } else { between }),
            latency: Box::new(move |a, b| if a / size == b / size { 0.0 } else { latency }),
        }
    }
}
