//! Which devices are interchangeable, given what has been decided.

use std::collections::HashMap;
use std::hash::BuildHasher;
use std::rc::Rc;

use rustc_hash::{FxBuildHasher, FxHashMap};

use crate::mapping::Topology;
use crate::solve::SearchContext;

/// For each device, the lowest that some automorphism takes it to.
pub type Orbits = Vec<usize>;

/// The automorphisms of a topology: permutations of its devices that change no link, speed or memory.
pub struct Symmetry {
    devices: usize,
    /// By ordered pair: equal for equal links.
    links: Vec<u32>,
    /// By device: equal for equal speed and memory.
    kinds: Vec<u64>,
    /// By device: the lowest with the same links to all others and the same kind.
    twins: Vec<usize>,
    /// Whether no devices but twins are interchangeable.
    has_only_twins: bool,
    known: FxHashMap<Vec<usize>, Rc<Orbits>>,
}

/// So many devices take so long to be compared that limits count in between.
const MANY: usize = 512;

/// Devices that a search for one automorphism may try to map before it gives up.
const PATIENCE: usize = 200;

impl Symmetry {
    /// The automorphisms of `topology`. O(D²).
    pub fn new(topology: &Topology, cx: &SearchContext) -> Self {
        let devices = topology.len();
        let mut classes: FxHashMap<[u64; 4], u32> = FxHashMap::default();
        let mut links = vec![0; devices * devices];
        for a in 0..devices {
            for b in (0..devices).filter(|&b| b != a) {
                let figures = [
                    topology.bandwidth(a, b),
                    topology.bandwidth(b, a),
                    topology.latency(a, b),
                    topology.latency(b, a),
                ];
                let next = classes.len() as u32 + 1;
                links[a * devices + b] = *classes.entry(figures.map(f64::to_bits)).or_insert(next);
            }
        }
        let kind = |device: usize| {
            let device = &topology.devices[device];
            FxBuildHasher.hash_one((device.speed.to_bits(), device.memory.map(f64::to_bits)))
        };
        let kinds = (0..devices).map(kind).collect();
        let (twins, known) = ((0..devices).collect(), HashMap::default());
        let mut symmetry = Self { devices, links, kinds, twins, has_only_twins: false, known };
        for b in 0..devices {
            let is_first_twin = |&a: &usize| symmetry.twins[a] == a && symmetry.are_twins(a, b);
            symmetry.twins[b] = (0..b).find(is_first_twin).unwrap_or(b);
        }
        symmetry.has_only_twins = *symmetry.orbits(&vec![0; devices], cx) == symmetry.twins && !cx.should_stop();
        symmetry
    }

    fn link(&self, a: usize, b: usize) -> u32 {
        self.links[a * self.devices + b]
    }

    fn are_twins(&self, a: usize, b: usize) -> bool {
        let alike = |other: usize| other == a || other == b || self.link(a, other) == self.link(b, other);
        self.kinds[a] == self.kinds[b] && self.link(a, b) == self.link(b, a) && (0..self.devices).all(alike)
    }

    /// The orbits of the automorphisms that keep every device's colour, or of some of them where they are hard to find.
    pub fn orbits(&mut self, colours: &[usize], cx: &SearchContext) -> Rc<Orbits> {
        if let Some(orbits) = self.known.get(colours) {
            return Rc::clone(orbits);
        }
        let orbits = Rc::new(self.search_orbits(colours, cx));
        self.known.insert(colours.to_vec(), Rc::clone(&orbits));
        orbits
    }

    fn search_orbits(&self, colours: &[usize], cx: &SearchContext) -> Orbits {
        let mut orbits = Orbits::new();
        for device in 0..self.devices {
            let is_twin = |&other: &usize| self.twins[other] == self.twins[device] && colours[other] == colours[device];
            orbits.push((self.twins[device]..device).find(is_twin).map_or(device, |twin| orbits[twin]));
        }
        if self.has_only_twins {
            return orbits;
        }
        let refined = self.refine(&colours.iter().map(|&colour| colour as u64).collect::<Vec<u64>>());
        for device in 0..self.devices {
            let mut earlier: Vec<usize> = (0..device).filter(|&other| refined[other] == refined[device]).collect();
            earlier.retain(|&other| orbits[other] == other);
            for other in earlier {
                if orbits[device] != device {
                    break;
                }
                if self.devices >= MANY && cx.should_stop() {
                    return orbits;
                }
                let image = self.automorphism(&refined, other, device, cx);
                let keeps = |image: &Vec<usize>| (0..self.devices).all(|from| colours[from] == colours[image[from]]);
                if let Some(image) = image.filter(keeps) {
                    (0..self.devices).for_each(|from| merge(&mut orbits, from, image[from]));
                }
            }
        }
        orbits
    }

    /// An automorphism that takes `from` to `to` and keeps the colours.
    fn automorphism(&self, colours: &[u64], from: usize, to: usize, cx: &SearchContext) -> Option<Vec<usize>> {
        let mut patience = PATIENCE;
        self.extend(colours, colours, from, to, &mut patience, cx)
    }

    fn extend(
        &self,
        sources: &[u64],
        targets: &[u64],
        from: usize,
        to: usize,
        patience: &mut usize,
        cx: &SearchContext,
    ) -> Option<Vec<usize>> {
        *patience = patience.checked_sub(1)?;
        if self.devices >= MANY && cx.should_stop() {
            return None;
        }
        let (sources, targets) = (self.refine(&marked(sources, from)), self.refine(&marked(targets, to)));
        let mut by_colour: FxHashMap<u64, (Vec<usize>, Vec<usize>)> = FxHashMap::default();
        for device in 0..self.devices {
            by_colour.entry(sources[device]).or_default().0.push(device);
            by_colour.entry(targets[device]).or_default().1.push(device);
        }
        if by_colour.values().any(|(sources, targets)| sources.len() != targets.len()) {
            return None;
        }
        // Any one-to-one map within the cells is worth a try: in most topologies the first is an automorphism.
        let mut image = vec![0; self.devices];
        for (sources, targets) in by_colour.values() {
            sources.iter().zip(targets).for_each(|(&source, &target)| image[source] = target);
        }
        if self.is_automorphism(&image) {
            return Some(image);
        }
        let cells = by_colour.values().filter(|(sources, _)| sources.len() > 1);
        let (cell, candidates) = cells.min_by_key(|(sources, _)| sources[0])?;
        candidates.iter().find_map(|&candidate| self.extend(&sources, &targets, cell[0], candidate, patience, cx))
    }

    fn is_automorphism(&self, image: &[usize]) -> bool {
        let keeps = |a: usize| {
            self.kinds[a] == self.kinds[image[a]]
                && (0..self.devices).all(|b| self.link(a, b) == self.link(image[a], image[b]))
        };
        (0..self.devices).all(keeps)
    }

    /// Colours that tell devices apart by the colours at the ends of their links, as far as that goes.
    fn refine(&self, colours: &[u64]) -> Vec<u64> {
        let mut colours: Vec<u64> = colours.iter().zip(&self.kinds).map(|pair| FxBuildHasher.hash_one(pair)).collect();
        let mut count = distinct(&colours);
        loop {
            let seen = |a: usize| {
                let links = &self.links[a * self.devices..][..self.devices];
                let ends = links.iter().zip(&colours).map(|end| mixed(FxBuildHasher.hash_one(end)));
                FxBuildHasher.hash_one((colours[a], ends.fold(0, u64::wrapping_add)))
            };
            let finer: Vec<u64> = (0..self.devices).map(seen).collect();
            let finer_count = distinct(&finer);
            if finer_count <= count {
                return colours;
            }
            (colours, count) = (finer, finer_count);
        }
    }
}

/// The colours with one device told from all others.
fn marked(colours: &[u64], device: usize) -> Vec<u64> {
    let mut colours = colours.to_vec();
    colours[device] = mixed(colours[device] ^ 1);
    colours
}

fn distinct(colours: &[u64]) -> usize {
    let mut sorted = colours.to_vec();
    sorted.sort_unstable();
    sorted.dedup();
    sorted.len()
}

/// Spreads a hash's bits, so that sums of them tell multisets apart.
fn mixed(hash: u64) -> u64 {
    let hash = (hash ^ hash >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let hash = (hash ^ hash >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    hash ^ hash >> 31
}

fn merge(orbits: &mut Orbits, a: usize, b: usize) {
    let (low, high) = (orbits[a].min(orbits[b]), orbits[a].max(orbits[b]));
    if low != high {
        orbits.iter_mut().filter(|orbit| **orbit == high).for_each(|orbit| *orbit = low);
    }
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;
    use crate::mapping::Device;
    use crate::mapping::samples::orders;

    /// For each device, the lowest that a permutation takes it to which changes no device and no link.
    fn by_hand(topology: &Topology) -> Orbits {
        let devices = topology.len();
        let mut orbits: Orbits = (0..devices).collect();
        orders(&mut (0..devices).collect(), 0, &mut |image| {
            let same = |a: usize| {
                let (own, other) = (&topology.devices[a], &topology.devices[image[a]]);
                (own.speed, own.memory) == (other.speed, other.memory)
            };
            let linked = |a: usize, b: usize| topology.bandwidth(a, b) == topology.bandwidth(image[a], image[b]);
            let pairs = || (0..devices).flat_map(|a| (0..devices).filter(move |&b| b != a).map(move |b| (a, b)));
            if (0..devices).all(same) && pairs().all(|(a, b)| linked(a, b)) {
                (0..devices).for_each(|a| orbits[a] = orbits[a].min(image[a]));
            }
        });
        orbits
    }

    proptest! {
        #[test]
        fn orbits_are_those_of_all_permutations(
            kinds in vec((0..4u8, 0..4u8), 2..=5), links in vec(0..4u8, 25), is_even in any::<bool>()
        ) {
            let device = |&(speed, memory): &(u8, u8)| Device {
                speed: if speed == 0 { 2.0 } else { 1.0 },
                memory: (memory == 0).then_some(4.0),
                ..Device::new("")
            };
            let bandwidth = |a: usize, b: usize| {
                let (a, b) = if is_even { (a.min(b), a.max(b)) } else { (a, b) };
                if links[5 * a + b] == 0 { 2.0 } else { 1.0 }
            };
            let topology = Topology::new("", "", kinds.iter().map(device).collect(), bandwidth);
            let cx = SearchContext::new();
            let orbits = Symmetry::new(&topology, &cx).orbits(&vec![0; topology.len()], &cx);
            prop_assert_eq!(&*orbits, &by_hand(&topology));
        }
    }
}
