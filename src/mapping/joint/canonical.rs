//! Labels that differ by a symmetry look the same.

use super::label::Label;
use super::symmetry::Symmetry;

/// What everything behind a label depends on, but for the times.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Key(Box<[u8]>);

/// Changes places of devices, classes and replicas so that labels which differ by that alone become equal, and gives
/// the key of the label.
pub(super) fn canonise(label: &mut Label, symmetry: &Symmetry, replicas: usize) -> Key {
    let mut best: Option<(Vec<u8>, usize, Vec<usize>)> = None;
    let rings = rings(replicas, symmetry.both_ways);
    let mut scratch = Relabelling::new(symmetry);
    for ring in rings {
        for permutation in 0..symmetry.permutations.len() {
            scratch.run(label, &symmetry.permutations[permutation], &ring, replicas);
            if best.as_ref().is_none_or(|(least, ..)| scratch.code < *least) {
                best = Some((scratch.code.clone(), permutation, ring.clone()));
            }
        }
    }
    let Some((mut code, permutation, ring)) = best else { return Key(Box::default()) };
    scratch.run(label, &symmetry.permutations[permutation], &ring, replicas);
    apply(label, &scratch.image, &ring, replicas);
    code.extend(&label.owners);
    code.push(label.live.len() as u8);
    code.push((label.devices.len() / replicas) as u8);
    code.extend(label.ideal.to_le_bytes());
    Key(code.into())
}

/// The orders of the replicas that keep the ring, the given one first: by turns, and backwards.
fn rings(replicas: usize, both_ways: bool) -> Vec<Vec<usize>> {
    let turns = (0..replicas).map(|first| (0..replicas).map(|r| (first + r) % replicas).collect::<Vec<_>>());
    let mut rings: Vec<Vec<usize>> = turns.collect();
    if both_ways && replicas > 2 {
        let back: Vec<Vec<usize>> = rings.iter().map(|ring| ring.iter().rev().copied().collect()).collect();
        rings.extend(back);
    }
    rings
}

/// New places for the devices of a label.
struct Relabelling<'a> {
    symmetry: &'a Symmetry,
    /// Where each device goes.
    image: Vec<Option<u8>>,
    /// How many devices of each class are taken.
    taken: Vec<usize>,
    /// The live copies' devices, then how many devices of each class are used.
    code: Vec<u8>,
}

impl<'a> Relabelling<'a> {
    fn new(symmetry: &'a Symmetry) -> Self {
        let image = vec![None; symmetry.class_of.len()];
        Self { symmetry, image, taken: vec![0; symmetry.classes.len()], code: Vec::new() }
    }

    fn run(&mut self, label: &Label, permutation: &[u8], ring: &[usize], replicas: usize) {
        self.image.fill(None);
        self.taken.fill(0);
        self.code.clear();
        for &stage in &label.live {
            for &replica in ring {
                let device = label.devices[usize::from(stage) * replicas + replica];
                let image = self.take(device, permutation);
                self.code.push(image);
            }
        }
        for &device in &label.devices {
            if self.image[usize::from(device)].is_none() {
                self.take(device, permutation);
            }
        }
        self.code.extend(self.taken.iter().map(|&taken| taken as u8));
    }

    fn take(&mut self, device: u8, permutation: &[u8]) -> u8 {
        let class = usize::from(permutation[usize::from(self.symmetry.class_of[usize::from(device)])]);
        let image = self.symmetry.classes[class][self.taken[class]];
        self.taken[class] += 1;
        self.image[usize::from(device)] = Some(image);
        image
    }
}

fn apply(label: &mut Label, image: &[Option<u8>], ring: &[usize], replicas: usize) {
    let old = std::mem::take(&mut label.devices);
    let moved = |copies: &[u8]| -> Vec<u8> {
        ring.iter().map(|&replica| copies[replica]).map(|d| image[usize::from(d)].unwrap_or(d)).collect()
    };
    label.devices = old.chunks(replicas).flat_map(moved).collect();
    let terms = std::mem::take(&mut label.terms);
    label.terms = terms.chunks(replicas).flat_map(|copies| ring.iter().map(|&replica| copies[replica])).collect();
}
