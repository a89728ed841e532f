//! Devices that share the operators of a copy, as one.

use std::borrow::Cow;

use petgraph::unionfind::UnionFind;

use crate::mapping::{Device, Topology};

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
    let grouped = Topology::new(name, topology.source.clone(), devices, slowest);
    let latest = |a, b| matches(a, b).map(|(a, b)| topology.latency(a, b)).fold(0.0, f64::max);
    Cow::Owned(grouped.with_latency(latest))
}

/// What messages and all-reduces take on the links of a topology.
#[derive(Debug, Clone, Copy)]
pub struct Rates {
    /// Bytes of a message per millisecond.
    pub bandwidth: f64,
    /// Milliseconds before the first byte.
    pub latency: f64,
    /// Bytes per millisecond on the slowest link of a ring.
    pub ring: f64,
}

impl Rates {
    /// Messages and rings that keep nobody waiting.
    pub const FREE: Self = Self { bandwidth: 1e15, latency: 0.0, ring: f64::INFINITY };

    /// What no message is faster than, and no ring of so many replicas. Latencies do not count: outputs of several nodes can go as
    /// one message.
    pub fn fastest(topology: &Topology, replicas: usize) -> Self {
        let bandwidths = links(topology).map(|(a, b)| topology.bandwidth(a, b));
        Self {
            bandwidth: bandwidths.max_by(f64::total_cmp).unwrap_or(Self::FREE.bandwidth),
            latency: 0.0,
            ring: ring(topology, replicas),
        }
    }

    /// What a message takes on average over all links, with rings for nothing.
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

/// The most bandwidth at which some `replicas` devices hang together: no ring of them has a faster slowest link. O(k² log k).
fn ring(topology: &Topology, replicas: usize) -> f64 {
    let mut fastest: Vec<(f64, usize, usize)> =
        links(topology).map(|(a, b)| (topology.bandwidth(a, b), a, b)).collect();
    fastest.sort_by(|a, b| b.0.total_cmp(&a.0));
    let (mut joined, mut sizes) = (UnionFind::new(topology.len()), vec![1; topology.len()]);
    let reaches = |&&(_, a, b): &&(f64, usize, usize)| {
        let (a, b) = (joined.find(a), joined.find(b));
        if joined.union(a, b) {
            sizes[joined.find(a)] = sizes[a] + sizes[b];
        }
        sizes[joined.find(a)] >= replicas
    };
    let slowest = if replicas > 1 { fastest.iter().find(reaches) } else { None };
    slowest.map_or(Rates::FREE.ring, |link| link.0)
}

fn links(topology: &Topology) -> impl Iterator<Item = (usize, usize)> {
    let count = topology.len();
    (0..count * count).map(move |pair| (pair / count, pair % count)).filter(|(a, b)| a != b)
}
