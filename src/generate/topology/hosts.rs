//! Hosts of any kind, joined by one network.

use super::{Checks, GenerateError};
use crate::mapping::{Channel, Device, Rate, Topology};

/// A host of a cluster.
#[derive(Debug, Clone, PartialEq)]
pub struct Host<'a> {
    /// What it is called.
    pub name: String,
    /// Its devices, the links between them, and the network cards that they share.
    pub inside: &'a Topology,
}

/// What joins hosts.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Network {
    /// Bandwidth between devices of two hosts.
    pub between: Rate,
    /// Latency between them, in microseconds.
    pub latency: f64,
    /// Whether the devices of each host share one uplink of that bandwidth.
    pub shared_uplink: bool,
}

/// The cluster of these hosts, whose devices are called `host/device`: links and channels of each are as they were, and channels
/// carry what goes to other hosts. O(devices²).
///
/// ```
/// use dagsplit::generate::topology::{Dgx1, Host, Network, TopologyRecipe, generate, join};
/// use dagsplit::mapping::Rate;
///
/// let inside = generate(&TopologyRecipe::new(Dgx1 { nodes: 1, ..Dgx1::default() }))?;
/// let hosts = ["a", "b"].map(|name| Host { name: name.into(), inside: &inside });
/// let network = Network { between: Rate::gb(12.5), latency: 5.0, shared_uplink: false };
/// let cluster = join("pair", "two DGX-1", &hosts, &network)?;
/// assert_eq!((cluster.len(), &cluster.devices[8].name[..]), (16, "b/gpu0"));
/// assert_eq!((cluster.bandwidth(0, 8), cluster.latency(0, 8)), (12.5e6, 0.005));
/// # Ok::<(), dagsplit::generate::GenerateError>(())
/// ```
///
/// # Errors
/// [`GenerateError`] if there is no device, if there are too many, if two hosts have one name, or the latency makes no sense.
pub fn join(
    name: impl Into<String>,
    source: impl Into<String>,
    hosts: &[Host],
    network: &Network,
) -> Result<Topology, GenerateError> {
    let firsts: Vec<usize> =
        hosts.iter().scan(0, |next, host| Some(std::mem::replace(next, *next + host.inside.len()))).collect();
    let size: usize = hosts.iter().map(|host| host.inside.len()).sum();
    check(hosts, size, network)?;
    let devices = hosts.iter().flat_map(devices).collect();
    let place = |device: usize| {
        let host = firsts.partition_point(|&first| first <= device) - 1;
        (host, device - firsts[host])
    };
    // Both devices within their host, if it is the same.
    let shared = |a: usize, b: usize| {
        let ((host, a), (other, b)) = (place(a), place(b));
        (host == other).then_some((hosts[host].inside, a, b))
    };
    let (between, latency) = (network.between.bytes_per_ms(), network.latency / 1e3);
    let bandwidth = |a, b| shared(a, b).map_or(between, |(inside, a, b)| inside.bandwidth(a, b));
    let mut cluster = Topology::new(name, source, devices, bandwidth)
        .with_latency(|a, b| shared(a, b).map_or(latency, |(inside, a, b)| inside.latency(a, b)));
    cluster.channels = hosts.iter().zip(&firsts).flat_map(|(host, &first)| channels(host, first, network)).collect();
    Ok(cluster)
}

fn check(hosts: &[Host], size: usize, network: &Network) -> Result<(), GenerateError> {
    let mut checks = Checks::default();
    if !(1..=Topology::MAX_DEVICES).contains(&size) {
        checks.problem(
            "hosts",
            format!("they have {size} devices"),
            format!("1 to {} are taken", Topology::MAX_DEVICES),
        );
    }
    let mut names: Vec<&str> = hosts.iter().map(|host| &host.name[..]).collect();
    names.sort_unstable();
    for pair in names.windows(2).filter(|pair| pair[0] == pair[1]) {
        checks.problem("hosts", format!("two are called {}", pair[0]), "give each a name of its own");
    }
    checks.at_least("network-latency", network.latency, 0.0);
    checks.into_result()
}

/// How a host's devices and channels are called under its name. Where the file is of several hosts itself, what it calls them stays.
fn naming<'a>(host: &'a Host) -> impl Fn(&str) -> String + 'a {
    let is_one = host.inside.devices.windows(2).all(|pair| pair[0].host() == pair[1].host());
    move |name| {
        let own = name.rsplit_once('/').filter(|_| is_one).map_or(name, |(_, own)| own);
        format!("{}/{own}", host.name)
    }
}

/// The devices of a host under its name.
fn devices(host: &Host) -> Vec<Device> {
    let named = naming(host);
    host.inside.devices.iter().map(|device| Device { name: named(&device.name), ..device.clone() }).collect()
}

/// The channels of a host whose devices begin at `first`.
fn channels(host: &Host, first: usize, network: &Network) -> Vec<Channel> {
    let moved = |devices: &[usize]| devices.iter().map(|device| first + device).collect();
    let named = naming(host);
    let own = host.inside.channels.iter().map(|channel| Channel {
        name: named(&channel.name),
        devices: moved(&channel.devices),
        inside: moved(&channel.inside),
        bandwidth: channel.bandwidth,
    });
    let all: Vec<usize> = (first..first + host.inside.len()).collect();
    let is_uplink = |channel: &&Channel| channel.name.rsplit('/').next().is_some_and(|own| own.starts_with("uplink"));
    let uplinks = host.inside.channels.iter().filter(is_uplink).count();
    let uplink = network.shared_uplink.then(|| Channel {
        name: format!("{}/uplink{uplinks}", host.name),
        devices: all.clone(),
        inside: all,
        bandwidth: network.between.bytes_per_ms(),
    });
    own.chain(uplink).collect()
}
