//! Devices that belong together: nodes, racks, slabs of a grid.

use std::collections::HashMap;

use crate::mapping::{Device, Topology};

/// How many times better links inside blocks must be than those between, to be told from a mere difference.
const STEP: f64 = 1.5;

/// Devices drawn as one box: rows of tiles, `None` where a row has a hole.
pub(super) struct Block {
    pub title: String,
    pub rows: Vec<Vec<Option<usize>>>,
}

impl Block {
    /// Row, column and device of each tile.
    pub fn places(&self) -> impl Iterator<Item = (usize, usize, usize)> {
        let tiles = |(r, row): (usize, &Vec<Option<usize>>)| {
            let tile = move |(c, device): (usize, &Option<usize>)| Some((r, c, (*device)?));
            row.iter().enumerate().filter_map(tile).collect::<Vec<_>>()
        };
        self.rows.iter().enumerate().flat_map(tiles)
    }
}

/// The blocks of a topology: slabs of a grid by its devices' coordinates, else hosts by the devices' names, else the groups that
/// links hold together which are clearly better than the links between them. O(devices²).
pub(super) fn blocks(topology: &Topology) -> Vec<Block> {
    if let Some(slabs) = slabs(topology) {
        return slabs;
    }
    let block = |title: &str, group: &[usize]| Block { title: title.into(), rows: square(group) };
    match hosts(topology) {
        Some(hosts) => hosts.iter().map(|(host, group)| block(host, group)).collect(),
        None => groups(topology).iter().map(|group| block("", group)).collect(),
    }
}

/// The devices of each host, in the order of the topology, where the names of all devices tell it.
fn hosts(topology: &Topology) -> Option<Vec<(&str, Vec<usize>)>> {
    let mut place = HashMap::new();
    let mut hosts: Vec<(&str, Vec<usize>)> = Vec::new();
    for (device, host) in topology.devices.iter().map(Device::host).enumerate() {
        let place = *place.entry(host?).or_insert(hosts.len());
        if place == hosts.len() {
            hosts.push((host?, Vec::new()));
        }
        hosts[place].1.push(device);
    }
    Some(hosts)
}

/// The devices in rows of a near square.
fn square(devices: &[usize]) -> Vec<Vec<Option<usize>>> {
    let width = (devices.len() as f64).sqrt().ceil().max(1.0) as usize;
    devices.chunks(width).map(|row| row.iter().copied().map(Some).collect()).collect()
}

/// The coordinates in a name such as `(1,2)` or `(0,1,2)`, of two or three dimensions.
fn coordinates(name: &str) -> Option<[usize; 3]> {
    let inner = name.strip_prefix('(')?.strip_suffix(')')?;
    let parsed: Result<Vec<usize>, _> = inner.split(',').map(str::parse).collect();
    let parsed = parsed.ok().filter(|parsed| parsed.iter().all(|&coordinate| coordinate < Topology::MAX_DEVICES))?;
    match parsed[..] {
        [row, column] => Some([0, row, column]),
        [slab, row, column] => Some([slab, row, column]),
        _ => None,
    }
}

fn slabs(topology: &Topology) -> Option<Vec<Block>> {
    let places: Vec<[usize; 3]> =
        topology.devices.iter().map(|device| coordinates(&device.name)).collect::<Option<_>>()?;
    let extent = |axis: usize| places.iter().map(|place| place[axis] + 1).max().unwrap_or(0);
    let [slabs, rows, columns] = [0, 1, 2].map(extent);
    // Coordinates of devices far apart are no grid.
    if slabs * rows * columns > 4 * topology.len() {
        return None;
    }
    let title = |slab: usize| if slabs == 1 { String::new() } else { format!("slab {slab}") };
    let empty = |slab: usize| Block { title: title(slab), rows: vec![vec![None; columns]; rows] };
    let mut blocks: Vec<Block> = (0..slabs).map(empty).collect();
    for (device, [slab, row, column]) in places.into_iter().enumerate() {
        blocks[slab].rows[row][column] = Some(device);
    }
    Some(blocks)
}

/// The devices as a tree of best links holds them together, cut where the links get worse by the largest step.
fn groups(topology: &Topology) -> Vec<Vec<usize>> {
    let size = topology.len();
    let tree = best_tree(topology);
    let mut bandwidths: Vec<f64> = tree.iter().map(|&(.., bandwidth)| bandwidth).collect();
    bandwidths.sort_by(|a, b| b.total_cmp(a));
    let steps = bandwidths.windows(2).map(|pair| (pair[0] / pair[1], pair[0]));
    let least = match steps.max_by(|a, b| a.0.total_cmp(&b.0)) {
        Some((step, above)) if step >= STEP => above,
        _ => 0.0,
    };
    let mut group_of: Vec<usize> = (0..size).collect();
    // The tree's links come in the order in which its devices were reached, so that each one's group is known.
    for &(from, to, bandwidth) in &tree {
        if bandwidth >= least {
            group_of[to] = group_of[from];
        }
    }
    let mut groups: Vec<Vec<usize>> = vec![Vec::new(); size];
    for (device, &group) in group_of.iter().enumerate() {
        groups[group].push(device);
    }
    groups.retain(|group| !group.is_empty());
    groups.sort();
    groups
}

/// A spanning tree of the best links (Prim): from, to, bandwidth of the worse direction.
fn best_tree(topology: &Topology) -> Vec<(usize, usize, f64)> {
    let size = topology.len();
    let link = |a: usize, b: usize| topology.bandwidth(a, b).min(topology.bandwidth(b, a));
    let mut best: Vec<(usize, f64)> =
        (0..size).map(|device| (0, if device == 0 { 0.0 } else { link(0, device) })).collect();
    let mut outside: Vec<usize> = (1..size).collect();
    let mut tree = Vec::with_capacity(size);
    while let Some(position) = (0..outside.len()).max_by(|&a, &b| best[outside[a]].1.total_cmp(&best[outside[b]].1)) {
        let device = outside.swap_remove(position);
        tree.push((best[device].0, device, best[device].1));
        for &other in &outside {
            let bandwidth = link(device, other);
            if bandwidth > best[other].1 {
                best[other] = (device, bandwidth);
            }
        }
    }
    tree
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::generate::topology::{Dgx1, Hierarchical, Mesh, TopologyFamily, TopologyRecipe, UniformDist, generate};

    fn sizes(family: impl Into<TopologyFamily>) -> Vec<usize> {
        let topology = generate(&TopologyRecipe::new(family)).expect("a sensible recipe");
        blocks(&topology).iter().map(|block| block.rows.iter().flatten().flatten().count()).collect()
    }

    #[test]
    fn nodes_and_slabs_are_found() {
        assert_eq!(sizes(Hierarchical::default()), [4; 4]);
        assert_eq!(sizes(Dgx1::default()), [8; 4]);
        assert_eq!(sizes(Mesh { shape: "2x3x4".parse().expect("a shape") }), [12; 2]);
        assert_eq!(sizes(UniformDist { devices: 12, ..UniformDist::default() }), [12]);
        assert_eq!(sizes(UniformDist { devices: 1, ..UniformDist::default() }), [1]);
    }

    #[test]
    fn hosts_are_told_by_names_where_links_would_join_them() {
        // Two fast hosts are nearer to each other than to the slow ones, and a host's devices need not be neighbours.
        let names = ["a/0", "b/0", "a/1", "b/1", "c/0", "d/0", "c/1", "d/1"].map(Device::new).to_vec();
        let fast = |device: usize| device < 4;
        let topology = Topology::new("", "", names, |a, b| if fast(a) && fast(b) { 100.0 } else { 1.0 });
        let hosts = blocks(&topology);
        let shown: Vec<(&str, Vec<usize>)> = hosts
            .iter()
            .map(|host| (&host.title[..], host.rows.iter().flatten().flatten().copied().collect()))
            .collect();
        assert_eq!(shown, [("a", vec![0, 2]), ("b", vec![1, 3]), ("c", vec![4, 6]), ("d", vec![5, 7])]);
    }
}
