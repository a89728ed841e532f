//! Devices that share the operators of a copy, as one.

use std::borrow::Cow;

use petgraph::unionfind::UnionFind;

use crate::mapping::{Channel, Device, Topology};
use crate::simulate::Collective;

/// `topology` with each `size` devices that follow one another as one device: as fast as the slowest, with the least memory, and
/// with links between each device and its match in another group. Devices that are left over are left out.
pub fn groups(topology: &Topology, size: usize) -> Cow<'_, Topology> {
    if size == 1 {
        return Cow::Borrowed(topology);
    }
    let group = |members: &[Device]| Device {
        name: format!("{} to {}", members[0].name, members[size - 1].name),
        speed: members.iter().map(|device| device.speed).fold(f64::INFINITY, f64::min),
        memory: members.iter().filter_map(|device| device.memory).min_by(f64::total_cmp),
    };
    let devices = topology.devices.chunks_exact(size).map(group).collect();
    let matches = |a: usize, b: usize| (0..size).map(move |rank| (a * size + rank, b * size + rank));
    let slowest = |a, b| matches(a, b).map(|(a, b)| topology.bandwidth(a, b)).fold(f64::INFINITY, f64::min);
    let name = format!("{} in groups of {size}", topology.name);
    let mut grouped = Topology::new(name, topology.source.clone(), devices, slowest);
    grouped.channels = topology.channels.iter().filter_map(|channel| of_groups(channel, grouped.len(), size)).collect();
    let latest = |a, b| matches(a, b).map(|(a, b)| topology.latency(a, b)).fold(0.0, f64::max);
    Cow::Owned(grouped.with_latency(latest))
}

/// A channel of `count` groups of `size` devices, each of which sends over it as often as it has devices there.
fn of_groups(channel: &Channel, count: usize, size: usize) -> Option<Channel> {
    let devices: Vec<usize> =
        channel.devices.iter().map(|device| device / size).filter(|&group| group < count).collect();
    let is_inside = |group: &usize| {
        let mut members = group * size..(group + 1) * size;
        devices.binary_search(group).is_ok() || members.all(|device| channel.inside.binary_search(&device).is_ok())
    };
    let inside = (0..count).filter(is_inside).collect();
    (!devices.is_empty()).then(|| Channel { devices, inside, ..channel.clone() })
}

/// What messages and all-reduces take on the links of a topology.
#[derive(Debug, Clone, Copy)]
pub struct Rates {
    /// Bytes of a message per millisecond.
    pub bandwidth: f64,
    /// Milliseconds before the first byte.
    pub latency: f64,
    /// Milliseconds of an all-reduce for each byte of parameters.
    pub all_reduce: f64,
}

impl Rates {
    /// Messages and all-reduces that keep nobody waiting.
    pub const FREE: Self = Self { bandwidth: 1e15, latency: 0.0, all_reduce: 0.0 };

    /// What no message is faster than, and no all-reduce of so many replicas. Latencies do not count: outputs of several nodes can go as
    /// one message.
    pub fn fastest(topology: &Topology, replicas: usize, all_reduce: Collective) -> Self {
        let joined = joined(topology);
        let bandwidths = links(topology).map(|(a, b)| topology.bandwidth(a, b));
        Self {
            bandwidth: bandwidths.max_by(f64::total_cmp).unwrap_or(Self::FREE.bandwidth),
            latency: 0.0,
            all_reduce: all_reduce
                .least(replicas, &|count| joined.get(count).map_or(0.0, |bandwidth| bandwidth.recip())),
        }
    }

    /// What a message takes on average over all links, with all-reduces for nothing.
    pub fn mean(topology: &Topology) -> Self {
        let count = links(topology).count().max(1) as f64;
        let mean = |value: fn(&Topology, usize, usize) -> f64| {
            links(topology).map(|(a, b)| value(topology, a, b)).sum::<f64>() / count
        };
        let per_byte = mean(|topology, a, b| topology.bandwidth(a, b).recip());
        let bandwidth = if per_byte > 0.0 { per_byte.recip() } else { Self::FREE.bandwidth };
        Self { bandwidth, latency: mean(Topology::latency), ..Self::FREE }
    }
}

/// By their number, the most bandwidth at which some devices hang together: no link that such a set cannot do without is faster.
/// O(k² log k).
fn joined(topology: &Topology) -> Vec<f64> {
    let mut fastest: Vec<(f64, usize, usize)> =
        links(topology).map(|(a, b)| (topology.bandwidth(a, b), a, b)).collect();
    fastest.sort_by(|a, b| b.0.total_cmp(&a.0));
    let (mut joined, mut sizes) = (UnionFind::new(topology.len()), vec![1; topology.len()]);
    let mut most = vec![f64::INFINITY; 2];
    for (bandwidth, a, b) in fastest {
        let (a, b) = (joined.find(a), joined.find(b));
        if joined.union(a, b) {
            let size = sizes[a] + sizes[b];
            sizes[joined.find(a)] = size;
            most.resize(most.len().max(size + 1), bandwidth);
        }
    }
    most
}

fn links(topology: &Topology) -> impl Iterator<Item = (usize, usize)> {
    let count = topology.len();
    (0..count * count).map(move |pair| (pair / count, pair % count)).filter(|(a, b)| a != b)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulate::AllReduce;
    use proptest::collection::vec;
    use proptest::prelude::*;
    use proptest::sample::select;

    const ALL: [Collective; 4] = [Collective::Ring, Collective::Hierarchical, Collective::Tree, Collective::Auto];

    fn topology(count: usize, bandwidth: impl Fn(usize, usize) -> f64) -> Topology {
        Topology::new("any", "made up", (0..count).map(|d| Device::new(d.to_string())).collect(), bandwidth)
    }

    fn time(collective: Collective, topology: &Topology, devices: &[usize], bytes: f64) -> f64 {
        AllReduce { after: Vec::new(), ways: collective.ways(topology, devices, bytes) }.time(1)
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 2000, ..ProptestConfig::default() })]

        #[test]
        fn no_all_reduce_is_faster_than_the_fastest_links_allow(
            count in 2..10usize, copies in 1..10usize, rates in vec(select(vec![1.0, 2.0, 8.0, 9.0]), 81), size in proptest::option::of(1..5usize),
            order in Just((0..9usize).collect::<Vec<_>>()).prop_shuffle(),
        ) {
            let bandwidth = |a: usize, b: usize| match size {
                Some(size) if a / size == b / size => 10.0,
                Some(_) => rates[0],
                None => rates[a * 9 + b],
            };
            let topology = topology(count, bandwidth);
            let devices: Vec<usize> = order.into_iter().filter(|&d| d < count).take(copies).collect();
            for collective in ALL {
                let (taken, least) = (time(collective, &topology, &devices, 60.0), 60.0 * Rates::fastest(&topology, devices.len(), collective).all_reduce);
                prop_assert!(least <= taken * (1.0 + 1e-12), "{collective:?}: {least} above {taken}");
            }
        }
    }

    /// Of hosts of four devices with two cards each, pairs send twice over one card, and what is left over sends nothing.
    #[test]
    fn groups_share_what_their_devices_share() {
        let mut whole = topology(9, |_, _| 1.0);
        let channel = |devices: &[usize], inside: &[usize]| Channel {
            name: String::new(),
            devices: devices.to_vec(),
            inside: inside.to_vec(),
            bandwidth: 1.0,
        };
        whole.channels = vec![
            channel(&[0, 1], &[0, 1, 2, 3]),
            channel(&[2, 3], &[0, 1, 2, 3]),
            channel(&[8], &[8]),
            channel(&[5, 6], &[5, 6]),
        ];
        let grouped = groups(&whole, 2);
        assert_eq!(grouped.channels, [channel(&[0, 0], &[0, 1]), channel(&[1, 1], &[0, 1]), channel(&[2, 3], &[2, 3])]);
        assert_eq!(grouped.at_once(&[(0, 2)], 5.0)[0].transfer, 10.0);
    }

    /// Hosts alike leave nothing between the bound and copies that fill them.
    #[test]
    fn on_hosts_the_bound_is_met() {
        let topology = topology(32, |a, b| if a / 8 == b / 8 { 16.0 } else { 2.0 });
        for copies in [2, 4, 8, 16, 32] {
            let devices: Vec<usize> = (0..copies).collect();
            for collective in ALL {
                let (taken, least) = (
                    time(collective, &topology, &devices, 1.0),
                    Rates::fastest(&topology, copies, collective).all_reduce,
                );
                assert!((taken - least).abs() < 1e-12, "{collective:?} of {copies}: {least} for {taken}");
            }
        }
    }
}
