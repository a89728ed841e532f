//! Interconnects of today's machine rooms, in bytes per millisecond, and those of Liu et al. (2024).

use anyhow::Result;
use dagsplit::generate::topology::{
    Dgx1, GridShape, Hierarchical, Mesh, Nvswitch, RandomBlk1, RandomBlk2, Server, TopologyFamily, TopologyRecipe,
    Torus, UniformDist, generate,
};
use dagsplit::mapping::{Device, Topology};
use rand::rngs::Xoshiro256PlusPlus;
use rand::{RngExt, SeedableRng};

/// A gigabyte each second.
const GB: f64 = 1e6;

/// The devices of a server.
const SERVER: usize = 8;

fn devices(count: usize, speed: impl Fn(usize) -> f64) -> Vec<Device> {
    (0..count).map(|d| Device { speed: speed(d), ..Device::new(format!("gpu{d}")) }).collect()
}

fn alike(count: usize) -> Vec<Device> {
    devices(count, |_| 1.0)
}

/// Servers with NVSwitch whose devices each hang on one of two rails: between servers, a message that changes rails goes
/// over the spine at half the bandwidth.
fn two_rails(count: usize) -> Topology {
    let rail = |d: usize| d % SERVER / (SERVER / 2);
    Topology::new("two-rails", "two-rail fat tree", alike(count), |a, b| {
        match (a / SERVER == b / SERVER, rail(a) == rail(b)) {
            (true, _) => 300.0 * GB,
            (false, true) => 25.0 * GB,
            (false, false) => 12.5 * GB,
        }
    })
}

/// Servers with NVSwitch, joined by InfiniBand.
fn nvswitch(count: usize) -> Result<Topology> {
    let servers = Nvswitch { server: Server::DgxH100, nodes: count / SERVER, node_size: SERVER, ..Nvswitch::default() };
    let mut topology = generate(&TopologyRecipe::new(servers))?;
    topology.name = "nvswitch".into();
    Ok(topology)
}

/// Groups of routers of four devices: all links inside a group, one from group to group.
fn dragonfly(count: usize) -> Topology {
    let (router, group) = (|d: usize| d / 4, |d: usize| d / 16);
    Topology::new("dragonfly", "groups of four routers", alike(count), |a, b| {
        match (router(a) == router(b), group(a) == group(b)) {
            (true, _) => 100.0 * GB,
            (false, true) => 25.0 * GB,
            (false, false) => 10.0 * GB,
        }
    })
}

/// Servers with A100 in the first half, and with V100, half as fast, in the second.
fn mixed(count: usize) -> Topology {
    let is_new = move |d: usize| d < count / 2;
    let speeds = devices(count, |d| if is_new(d) { 1.0 } else { 0.5 });
    Topology::new("a100-v100", "half A100, half V100", speeds, |a, b| match (a / SERVER == b / SERVER, is_new(a)) {
        (true, true) => 300.0 * GB,
        (true, false) => 150.0 * GB,
        (false, _) => 25.0 * GB,
    })
}

/// Equal servers but for one, whose network port runs at a quarter.
fn slow_node(count: usize) -> Topology {
    Topology::new("slow-node", "one slow port", alike(count), |a, b| {
        match (a / SERVER == b / SERVER, a.min(b) < SERVER) {
            (true, _) => 300.0 * GB,
            (false, true) => 6.25 * GB,
            (false, false) => 25.0 * GB,
        }
    })
}

/// The links of `topology` as one measures them: each direction off by up to 3 percent.
fn measured(topology: &Topology, seed: u64) -> Topology {
    let (mut rng, count) = (Xoshiro256PlusPlus::seed_from_u64(seed), topology.len());
    let factors: Vec<f64> = (0..count * count).map(|_| rng.random_range(0.97..1.03)).collect();
    let name = format!("measured-{}", topology.name);
    Topology::new(name, "off by 3 %", topology.devices.clone(), |a, b| {
        topology.bandwidth(a, b) * factors[a * count + b]
    })
}

/// Servers of which some pairs of devices have no link of their own, and go over the host.
fn missing(count: usize) -> Topology {
    Topology::new("missing-links", "half a cube mesh", alike(count), |a, b| {
        match (a / SERVER == b / SERVER, (a ^ b).count_ones()) {
            (true, 1) => 50.0 * GB,
            (true, _) => 12.0 * GB,
            (false, _) => 10.0 * GB,
        }
    })
}

/// Those of machine rooms.
pub fn machine_rooms(count: usize) -> Result<Vec<Topology>> {
    let exact = [two_rails(count), nvswitch(count)?, dragonfly(count), mixed(count), slow_node(count), missing(count)];
    let measured = [measured(&exact[0], 1), measured(&exact[1], 2), measured(&exact[5], 3)];
    Ok(exact.into_iter().chain(measured).collect())
}

/// The paper's of 64 or 512 devices by kind, so many of each random kind, and with 64 devices also its smaller ones.
pub fn published(devices: usize, seeds: u64) -> Result<Vec<(&'static str, Vec<Topology>)>> {
    let shapes = if devices == 512 { [vec![16, 32], vec![8, 8, 8]] } else { [vec![8, 8], vec![4, 4, 4]] };
    let shapes: Vec<GridShape> = shapes.into_iter().filter_map(|extents| GridShape::new(extents).ok()).collect();
    let random = |family: TopologyFamily| {
        (0..seeds).map(move |seed| TopologyRecipe::seeded(family.clone(), seed)).collect::<Vec<_>>()
    };
    let fixed = |families: Vec<TopologyFamily>| families.into_iter().map(TopologyRecipe::new).collect::<Vec<_>>();
    let mut groups = vec![
        ("mesh", fixed(shapes.iter().map(|shape| Mesh { shape: shape.clone() }.into()).collect())),
        ("torus", fixed(shapes.iter().map(|shape| Torus { shape: shape.clone() }.into()).collect())),
        ("random_blk_1", random(RandomBlk1 { devices, ..RandomBlk1::default() }.into())),
        ("random_blk_2", random(RandomBlk2 { devices, ..RandomBlk2::default() }.into())),
        ("uniform_dist", random(UniformDist { devices, ..UniformDist::default() }.into())),
    ];
    if devices != 512 {
        groups.insert(0, ("dgx1", fixed(vec![Dgx1::default().into()])));
        groups.insert(0, ("hierarchical", fixed(vec![Hierarchical::default().into()])));
    }
    let made = |(name, recipes): (&'static str, Vec<TopologyRecipe>)| {
        Ok((name, recipes.iter().map(generate).collect::<Result<_, _>>()?))
    };
    groups.into_iter().map(made).collect()
}
