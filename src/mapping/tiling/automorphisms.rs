//! Automorphisms of grids, and groups of them that move every device.

use super::lattices::{is_in, sublattices};
use crate::mapping::Topology;
use crate::mapping::group_action::Image;

/// The most elements that a group of turns and reflections may have.
const MOST: usize = 400;

/// The most dimensions in which translations are looked for.
const DIMENSIONS: usize = 4;

/// A coordinate of a grid: a digit of the devices' numbers.
#[derive(Debug, Clone, Copy)]
struct Digit {
    place: usize,
    radix: usize,
}

impl Digit {
    fn of(self, device: usize) -> usize {
        device / self.place % self.radix
    }

    fn with(self, device: usize, value: usize) -> usize {
        device - self.of(device) * self.place + value * self.place
    }

    /// The image under a change of this digit alone.
    fn changed(self, devices: usize, change: impl Fn(usize) -> usize) -> Image {
        (0..devices).map(|device| self.with(device, change(self.of(device)))).collect()
    }

    fn turned(self, devices: usize) -> Image {
        self.changed(devices, |value| (value + 1) % self.radix)
    }

    fn reversed(self, devices: usize) -> Image {
        self.changed(devices, |value| self.radix - 1 - value)
    }
}

/// Groups of automorphisms of `topology` whose elements other than the identity move every device: of `replicas`
/// translations, and of turns and reflections as many as divide `replicas`. One of those that look alike.
pub(super) fn groups(topology: &Topology, replicas: usize) -> Vec<Vec<Image>> {
    let digits = digits(topology);
    let mut groups = point_groups(topology, &digits, replicas);
    groups.extend(translations(topology, &digits, replicas));
    let mut seen: Vec<Vec<u64>> = Vec::new();
    groups.retain(|group| {
        let look = look(topology, group);
        let is_new = !seen.contains(&look);
        seen.extend(Some(look).filter(|_| is_new));
        is_new
    });
    groups
}

/// The identity.
pub(super) fn identity(devices: usize) -> Image {
    (0..devices).collect()
}

/// The links from each device to its images, sorted.
fn look(topology: &Topology, group: &[Image]) -> Vec<u64> {
    let links = |device: usize| {
        let mut links: Vec<u64> =
            group[1..].iter().map(|image| topology.bandwidth(device, image[device]).to_bits()).collect();
        links.sort_unstable();
        links
    };
    let mut all: Vec<Vec<u64>> = (0..topology.len()).map(links).collect();
    all.sort_unstable();
    all.concat()
}

/// The digits of the devices' numbers that may be turned or reversed: each begins at a device next to the first.
fn digits(topology: &Topology) -> Vec<Digit> {
    let devices = topology.len();
    let widest = (1..devices).map(|device| topology.bandwidth(0, device)).fold(0.0, f64::max);
    let is_place = |place: usize| place == devices || topology.bandwidth(0, place) == widest;
    let (mut digits, mut place) = (Vec::new(), 1);
    while place < devices {
        let next = (2..=devices / place).map(|radix| Digit { place, radix }).find(|digit| {
            let end = place * digit.radix;
            devices.is_multiple_of(end)
                && is_place(end)
                && (is_automorphism(topology, &digit.turned(devices))
                    || is_automorphism(topology, &digit.reversed(devices)))
        });
        let Some(digit) = next else { return Vec::new() };
        place *= digit.radix;
        digits.push(digit);
    }
    digits
}

fn is_automorphism(topology: &Topology, image: &[usize]) -> bool {
    let alike = |a: usize, b: usize| {
        topology.bandwidth(a, b) == topology.bandwidth(image[a], image[b])
            && topology.latency(a, b) == topology.latency(image[a], image[b])
    };
    let kind = |device: usize| (topology.devices[device].speed, topology.devices[device].memory);
    (0..image.len()).all(|a| kind(a) == kind(image[a]) && (0..image.len()).all(|b| a == b || alike(a, b)))
}

/// Groups that digits' reversals and exchanges make.
fn point_groups(topology: &Topology, digits: &[Digit], replicas: usize) -> Vec<Vec<Image>> {
    let devices = topology.len();
    let mut generators: Vec<Image> = digits.iter().map(|digit| digit.reversed(devices)).collect();
    for (index, &a) in digits.iter().enumerate() {
        for &b in digits[..index].iter().filter(|b| b.radix == a.radix) {
            let exchanged = |device: usize| b.with(a.with(device, b.of(device)), a.of(device));
            generators.push((0..devices).map(exchanged).collect());
        }
    }
    generators.retain(|image| is_automorphism(topology, image));
    let Some(all) = closure(devices, &generators, MOST) else { return Vec::new() };
    let free: Vec<&Image> = all.iter().filter(|image| moves_all(image)).collect();
    let (mut groups, mut done) = (vec![(Vec::new(), vec![identity(devices)])], 0);
    while done < groups.len() {
        for &image in free.iter().filter(|image| !groups[done].1.contains(**image)).collect::<Vec<_>>() {
            let generators: Vec<Image> = groups[done].0.iter().chain([image]).cloned().collect();
            let Some(mut group) = closure(devices, &generators, replicas) else { continue };
            group.sort_unstable();
            if group[1..].iter().all(|image| moves_all(image)) && groups.iter().all(|(_, known)| *known != group) {
                groups.push((generators, group));
            }
        }
        done += 1;
    }
    let groups = groups.into_iter().map(|(_, group)| group);
    groups.filter(|group| group.len() > 1 && replicas.is_multiple_of(group.len())).collect()
}

fn moves_all(image: &[usize]) -> bool {
    image.iter().enumerate().all(|(device, &to)| device != to)
}

/// All products of the generators, the identity among them; `None` where these are more than `most`.
fn closure(devices: usize, generators: &[Image], most: usize) -> Option<Vec<Image>> {
    let mut group = vec![identity(devices)];
    let mut done = 0;
    while done < group.len() {
        for generator in generators {
            let product: Image = group[done].iter().map(|&device| generator[device]).collect();
            if !group.contains(&product) {
                group.push(product);
            }
        }
        if group.len() > most {
            return None;
        }
        done += 1;
    }
    Some(group)
}

/// The groups of `replicas` translations, where all digits may be turned.
fn translations(topology: &Topology, digits: &[Digit], replicas: usize) -> Vec<Vec<Image>> {
    let devices = topology.len();
    let turns = digits.iter().all(|digit| is_automorphism(topology, &digit.turned(devices)));
    if digits.is_empty() || digits.len() > DIMENSIONS || !turns || !devices.is_multiple_of(replicas) {
        return Vec::new();
    }
    let radices: Vec<usize> = digits.iter().map(|digit| digit.radix).collect();
    let coordinates = |device: usize| digits.iter().map(|digit| digit.of(device)).collect::<Vec<_>>();
    let moved = |by: usize| -> Image {
        let step = |device: usize, digit: &Digit| digit.with(device, (digit.of(device) + digit.of(by)) % digit.radix);
        (0..devices).map(|device| digits.iter().fold(device, step)).collect()
    };
    sublattices(&radices, devices / replicas)
        .iter()
        .map(|basis| (0..devices).filter(|&by| is_in(basis, coordinates(by))).map(moved).collect())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mapping::samples::{grid, torus};

    fn sizes(groups: &[Vec<Image>]) -> Vec<usize> {
        let mut sizes: Vec<usize> = groups.iter().map(Vec::len).collect();
        sizes.sort_unstable();
        sizes
    }

    #[test]
    fn groups_keep_all_links_and_no_device() {
        for topology in [grid(4, 4), grid(2, 6), torus(4, 4), torus(3, 6)] {
            for replicas in [2, 3, 4, 6] {
                for group in groups(&topology, replicas) {
                    assert!(replicas.is_multiple_of(group.len()));
                    assert!(group.iter().all(|image| is_automorphism(&topology, image)));
                    assert_eq!(group.iter().filter(|image| !moves_all(image)).count(), 1);
                    let products = closure(topology.len(), &group, replicas);
                    assert_eq!(products.map(|products| products.len()), Some(group.len()));
                }
            }
        }
    }

    #[test]
    fn meshes_have_turns_and_reflections_and_tori_translations_too() {
        // Quarter turns, both reflections, half turns and either reflection.
        assert_eq!(sizes(&groups(&grid(4, 4), 4)), [2, 2, 4, 4]);
        assert!(groups(&grid(4, 4), 3).is_empty());
        assert!(sizes(&groups(&torus(4, 4), 8)).contains(&8));
        let mut uneven = grid(4, 4);
        uneven.devices[0].speed = 2.0;
        assert!(groups(&uneven, 4).is_empty());
    }
}
