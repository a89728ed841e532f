//! `dagsplit generate topology hosts`

use std::collections::BTreeMap;
use std::path::Path;
use std::str::FromStr;

use crate::generate::topology::{
    Dgx1, Host, Network, Nvswitch, Server, TopologyFamily, TopologyRecipe, generate, join,
};
use crate::mapping::{Rate, Topology};
use crate::registry::{Parameter, Parameters, Values, parts};
use crate::text;

use super::generate::Made;
use super::generate_topology::CommonArgs;
use super::mapping_args::LinkArgs;
use super::values::{self, Memory};
use super::{Exit, Failure, OrFail};

/// Hosts of any kind, joined by one network.
#[derive(Debug, clap::Args)]
pub struct HostsArgs {
    /// The hosts: `dgx-1`, `dgx-a100`, `dgx-h100`, or the file of a topology in any format, such as what `nvidia-smi topo -m`
    /// prints there. `HOST:count=4,speed=0.5,memory=16GiB` are four of them, whose devices have this speed and this memory.
    #[arg(value_name = "HOST", required = true)]
    hosts: Vec<HostSpec>,

    /// Bandwidth between devices of two hosts, in bytes per second.
    #[arg(long, value_name = "RATE", help_heading = "Interconnect")]
    between: Rate,

    /// Latency between devices of two hosts, in microseconds.
    #[arg(long, value_name = "US", default_value_t = 0.0, value_parser = values::number(0.0..=values::MOST), help_heading = "Interconnect")]
    network_latency: f64,

    /// Whether the devices of each host share one uplink of the bandwidth between hosts.
    #[arg(long, help_heading = "Interconnect")]
    shared_uplink: bool,

    #[command(flatten)]
    links: LinkArgs,

    #[command(flatten)]
    common: CommonArgs,
}

/// Hosts that are alike, as a spec string names them.
#[derive(Debug, Clone)]
struct HostSpec {
    spec: String,
    /// A preset or a path.
    kind: String,
    count: usize,
    /// `None` where the kind of host tells it.
    speed: Option<f64>,
    memory: Option<Memory>,
}

/// What a host takes.
const PARAMETERS: &[Parameter] = &[
    Parameter { name: "count", default: "1", meaning: "how many there are", values: Values::Whole(1, 4096) },
    Parameter {
        name: "speed",
        default: "",
        meaning: "the speed of its devices, relative to the one that times are for",
        values: Values::Number(1e-6, 1e6),
    },
    Parameter { name: "memory", default: "", meaning: "the memory of each of its devices", values: Values::Text },
];

impl FromStr for HostSpec {
    type Err = String;

    fn from_str(spec: &str) -> Result<Self, String> {
        let (kind, given) = parts(spec);
        let has = |name: &str| given.iter().any(|(other, _)| *other == name);
        let (has_speed, has_memory) = (has("speed"), has("memory"));
        let wrong = |error: &dyn std::fmt::Display| error.to_string();
        let parameters = Parameters::new("a host", PARAMETERS, given).map_err(|error| wrong(&error))?;
        let count = parameters.get("count").map_err(|error| wrong(&error))?;
        let speed = has_speed.then(|| parameters.get("speed")).transpose().map_err(|error| wrong(&error))?;
        let memory: Option<String> =
            has_memory.then(|| parameters.get("memory")).transpose().map_err(|error| wrong(&error))?;
        let memory = memory.map(|text| values::memory(&text)).transpose()?;
        Ok(Self { spec: spec.into(), kind: kind.into(), count, speed, memory })
    }
}

impl HostSpec {
    /// The host that its name stands for, if that is a preset.
    fn preset(&self) -> Option<TopologyFamily> {
        let nvswitch = |server| Nvswitch { server, nodes: 1, ..Nvswitch::default() }.into();
        Some(match &self.kind[..] {
            "dgx-1" => Dgx1 { nodes: 1, ..Dgx1::default() }.into(),
            "dgx-a100" => nvswitch(Server::DgxA100),
            "dgx-h100" => nvswitch(Server::DgxH100),
            _ => return None,
        })
    }

    /// What its hosts are called, before they are numbered.
    fn name(&self) -> String {
        let stem = Path::new(&self.kind).file_stem().map(|stem| stem.to_string_lossy().into_owned());
        stem.filter(|_| self.preset().is_none()).unwrap_or_else(|| self.kind.clone())
    }

    /// The same devices with the speed and the memory that it states, or the `usual` memory.
    fn adapted(&self, mut inside: Topology, usual: Option<Memory>) -> Topology {
        for device in &mut inside.devices {
            device.speed = self.speed.unwrap_or(device.speed);
            device.memory = self.memory.or(usual).map_or(device.memory, |memory| memory.0);
        }
        inside
    }
}

impl HostsArgs {
    /// Makes the file, and says where it goes.
    pub fn made(self) -> Result<Made, Failure> {
        let kinds = self.kinds()?;
        let mut totals: BTreeMap<String, usize> = BTreeMap::new();
        for spec in &self.hosts {
            *totals.entry(spec.name()).or_default() += spec.count;
        }
        let mut made: BTreeMap<String, usize> = BTreeMap::new();
        let mut hosts = Vec::new();
        for (spec, inside) in self.hosts.iter().zip(&kinds) {
            let name = spec.name();
            for _ in 0..spec.count {
                let number = made.entry(name.clone()).or_default();
                let numbered = if totals[&name] == 1 { name.clone() } else { format!("{name}-{number}") };
                *number += 1;
                hosts.push(Host { name: numbered, inside });
            }
        }
        let Self { between, network_latency: latency, shared_uplink, .. } = self;
        let network = Network { between, latency, shared_uplink };
        let cluster = join(self.title(), self.source(&kinds), &hosts, &network).or_fail(Exit::Usage)?;
        Ok(self.common.written(&cluster))
    }

    /// One host of each spec.
    fn kinds(&self) -> Result<Vec<Topology>, Failure> {
        let paths = self.hosts.iter().filter(|spec| spec.preset().is_none()).map(|spec| Path::new(&spec.kind));
        let mut files = self.links.read_all(&paths.collect::<Vec<_>>())?.into_iter();
        let host = |spec: &HostSpec| {
            let made = match spec.preset() {
                Some(family) => generate(&TopologyRecipe::new(family)).or_fail(Exit::Bug)?,
                None => files.next().unwrap_or_default(),
            };
            Ok(spec.adapted(made, self.common.memory))
        };
        self.hosts.iter().map(host).collect()
    }

    /// The name of the cluster, such as `4 dgx-a100, v100`.
    fn title(&self) -> String {
        let part = |spec: &HostSpec| match spec.count {
            1 => spec.name(),
            count => format!("{count} {}", spec.name()),
        };
        self.hosts.iter().map(part).collect::<Vec<_>>().join(", ")
    }

    /// Where its figures come from: the network, and the source of each kind of host.
    fn source(&self, kinds: &[Topology]) -> String {
        let uplink = if self.shared_uplink { " shared by each host" } else { "" };
        let network = format!("hosts joined at {}/s{uplink} after {} us", self.between, self.network_latency);
        let of_kind =
            |(spec, inside): (&HostSpec, &Topology)| format!("; {}: {}", text::escaped(&spec.spec), inside.source);
        network + &self.hosts.iter().zip(kinds).map(of_kind).collect::<String>()
    }
}
