//! What can change places without a difference.

use super::super::Topology;

/// The most permutations of classes that are looked at; more would cost more than they save.
const MOST: usize = 2_000;

/// Symmetries of a topology: devices of one class can change places, and so can whole classes.
pub(super) struct Symmetry {
    /// The devices of each class, ascending.
    pub classes: Vec<Vec<u8>>,
    /// The class of each device.
    pub class_of: Vec<u8>,
    /// Permutations of the classes, the identity first: the class that each one goes to.
    pub permutations: Vec<Vec<u8>>,
    /// Whether every link is the same both ways.
    pub both_ways: bool,
}

impl Symmetry {
    /// O(devices³) and the permutations that there are.
    pub fn new(topology: &Topology) -> Self {
        let count = topology.len();
        let mut classes: Vec<Vec<u8>> = Vec::new();
        let mut class_of = Vec::with_capacity(count);
        for device in 0..count {
            let twin = classes.iter().position(|class| are_twins(topology, class[0].into(), device));
            let class = twin.unwrap_or(classes.len());
            if twin.is_none() {
                classes.push(Vec::new());
            }
            classes[class].push(device as u8);
            class_of.push(class as u8);
        }
        let mut permutations = Vec::new();
        extend(topology, &classes, &mut Vec::new(), &mut permutations);
        let pairs = || (0..count).flat_map(|a| (0..a).map(move |b| (a, b)));
        let both_ways = pairs().all(|(a, b)| link(topology, a, b) == link(topology, b, a));
        Self { classes, class_of, permutations, both_ways }
    }
}

fn link(topology: &Topology, a: usize, b: usize) -> (f64, f64) {
    (topology.bandwidth(a, b), topology.latency(a, b))
}

fn are_alike(topology: &Topology, a: usize, b: usize) -> bool {
    let (a, b) = (&topology.devices[a], &topology.devices[b]);
    a.speed == b.speed && a.memory == b.memory
}

fn are_twins(topology: &Topology, a: usize, b: usize) -> bool {
    let same_way = |x| link(topology, a, x) == link(topology, b, x) && link(topology, x, a) == link(topology, x, b);
    are_alike(topology, a, b)
        && link(topology, a, b) == link(topology, b, a)
        && (0..topology.len()).filter(|&x| x != a && x != b).all(same_way)
}

/// Completes `images`, the classes that the first ones go to, in every way that changes no link.
fn extend(topology: &Topology, classes: &[Vec<u8>], images: &mut Vec<u8>, found: &mut Vec<Vec<u8>>) {
    if found.len() == MOST {
        return;
    }
    let next = images.len();
    if next == classes.len() {
        found.push(images.clone());
        return;
    }
    for image in 0..classes.len() {
        if images.contains(&(image as u8)) || classes[next].len() != classes[image].len() {
            continue;
        }
        let (from, to) = (&classes[next], &classes[image]);
        let first = |class: &Vec<u8>| usize::from(class[0]);
        let within = |class: &[u8]| class.get(1).map(|&b| link(topology, class[0].into(), b.into()));
        let is_alike = are_alike(topology, first(from), first(to)) && within(from) == within(to);
        let keeps = |(other, &target): (usize, &u8)| {
            let (x, y) = (first(&classes[other]), first(&classes[usize::from(target)]));
            link(topology, first(from), x) == link(topology, first(to), y)
                && link(topology, x, first(from)) == link(topology, y, first(to))
        };
        if is_alike && images.iter().enumerate().all(keeps) {
            images.push(image as u8);
            extend(topology, classes, images, found);
            images.pop();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mapping::Device;

    fn topology(count: usize, bandwidth: impl Fn(usize, usize) -> f64) -> Topology {
        let devices = (0..count).map(|d| Device::new(d.to_string())).collect();
        Topology::new("test", "test", devices, bandwidth)
    }

    #[test]
    fn nodes_and_their_devices_can_change_places() {
        let hierarchy = topology(8, |a, b| if a / 2 == b / 2 { 10.0 } else { 1.0 });
        let symmetry = Symmetry::new(&hierarchy);
        assert_eq!((symmetry.classes.len(), symmetry.permutations.len(), symmetry.both_ways), (4, 24, true));
        assert_eq!(symmetry.permutations[0], [0, 1, 2, 3]);
    }

    #[test]
    fn a_ring_turns_and_flips_unless_it_runs_one_way() {
        let ring = |a: usize, b: usize| (a + 1) % 6 == b;
        let symmetry = Symmetry::new(&topology(6, |a, b| if ring(a, b) || ring(b, a) { 2.0 } else { 1.0 }));
        assert_eq!((symmetry.classes.len(), symmetry.permutations.len(), symmetry.both_ways), (6, 12, true));
        let symmetry = Symmetry::new(&topology(6, |a, b| if ring(a, b) { 2.0 } else { 1.0 }));
        assert_eq!((symmetry.permutations.len(), symmetry.both_ways), (6, false));
    }
}
