//! Moves of annealing that exchange much at once and keep neighbours together.

use rand::RngExt;
use rand::rngs::Xoshiro256PlusPlus;

/// How often a range is all there is.
const ALL: f64 = 0.4;

/// What compound moves depend on.
#[derive(Debug, Clone)]
pub struct Compound {
    /// The devices in an order in which near ones follow one another.
    pub line: Vec<usize>,
    /// Number of stages.
    pub stages: usize,
    /// Number of copies of each.
    pub replicas: usize,
}

/// Pairs of devices whose contents are swapped, one pair after the other.
type Swaps = Vec<(usize, usize)>;

impl Compound {
    /// A random move of the copies that are on these devices: parts of the line change places, pipelines or parts of them
    /// change places in the rings, or two stages do in some pipelines. Replicas go round.
    pub fn pick(&self, devices: &[usize], rng: &mut Xoshiro256PlusPlus) -> Swaps {
        let mut swaps = Vec::new();
        match rng.random_range(0..5) {
            0 => self.shift(rng, &mut swaps),
            1 => self.exchange(rng, &mut swaps),
            2 => {
                let length = rng.random_range(1..=self.replicas);
                self.each_ring(devices, length, rng, |part| reverse(part, &mut swaps));
            }
            3 => {
                let longest = self.replicas / 2;
                let (one, other) = (length(longest, rng), length(longest, rng));
                self.each_ring(devices, (one + other).min(self.replicas), rng, |part| rotate(part, one, &mut swaps));
            }
            _ => self.exchange_stages(devices, rng, &mut swaps),
        }
        swaps
    }

    /// Two parts of the line that follow one another change places.
    fn shift(&self, rng: &mut Xoshiro256PlusPlus, swaps: &mut Swaps) {
        let longest = self.line.len() / 2;
        let (one, other) = (length(longest, rng), length(longest, rng));
        if let Some(last) = self.line.len().checked_sub(one + other) {
            let start = rng.random_range(0..=last);
            rotate(&self.line[start..start + one + other], one, swaps);
        }
    }

    /// Two equally long parts of the line change places.
    fn exchange(&self, rng: &mut Xoshiro256PlusPlus, swaps: &mut Swaps) {
        let length = length(self.line.len() / 2, rng);
        if let Some(last) = self.line.len().checked_sub(2 * length) {
            let first = rng.random_range(0..=last);
            let second = rng.random_range(first + length..=last + length);
            swaps.extend((0..length).map(|index| (self.line[first + index], self.line[second + index])));
        }
    }

    /// Some stages' devices of the same so many replicas in a row.
    fn each_ring(&self, devices: &[usize], length: usize, rng: &mut Xoshiro256PlusPlus, mut act: impl FnMut(&[usize])) {
        let (first, end) = range(self.stages, rng);
        let start = rng.random_range(0..self.replicas);
        for stage in first..end {
            let ring = &devices[stage * self.replicas..][..self.replicas];
            let part: Vec<usize> = ring.iter().cycle().skip(start).take(length).copied().collect();
            act(&part);
        }
    }

    fn exchange_stages(&self, devices: &[usize], rng: &mut Xoshiro256PlusPlus, swaps: &mut Swaps) {
        let (one, other) = (rng.random_range(0..self.stages), rng.random_range(0..self.stages));
        let (first, end) = range(self.replicas, rng);
        if one != other {
            let device = |stage: usize, replica: usize| devices[stage * self.replicas + replica];
            swaps.extend((first..end).map(|replica| (device(one, replica), device(other, replica))));
        }
    }
}

/// A length up to `most`, or 1, short ones as often as long ones.
fn length(most: usize, rng: &mut Xoshiro256PlusPlus) -> usize {
    let most = most.max(1);
    let power = rng.random::<f64>() * (most as f64).log2();
    (power.exp2() as usize).clamp(1, most)
}

/// Some of so many in a row, and often all.
fn range(count: usize, rng: &mut Xoshiro256PlusPlus) -> (usize, usize) {
    if rng.random_bool(ALL) {
        return (0, count);
    }
    let (a, b) = (rng.random_range(0..count), rng.random_range(0..count));
    (a.min(b), a.max(b) + 1)
}

fn reverse(part: &[usize], swaps: &mut Swaps) {
    swaps.extend(part.iter().copied().zip(part.iter().rev().copied()).take(part.len() / 2));
}

/// The first `by` and the others change places.
fn rotate(part: &[usize], by: usize, swaps: &mut Swaps) {
    let (one, other) = part.split_at(by.min(part.len()));
    reverse(one, swaps);
    reverse(other, swaps);
    reverse(part, swaps);
}

#[cfg(test)]
mod tests {
    use rand::SeedableRng;

    use super::*;

    /// The contents after these swaps where each device held its own number.
    fn contents(count: usize, swaps: &Swaps) -> Vec<usize> {
        let mut contents: Vec<usize> = (0..count).collect();
        swaps.iter().for_each(|&(a, b)| contents.swap(a, b));
        contents
    }

    #[test]
    fn parts_change_places_in_their_order() {
        let mut swaps = Vec::new();
        rotate(&[1, 2, 3, 4, 5], 2, &mut swaps);
        assert_eq!(contents(7, &swaps), [0, 3, 4, 5, 1, 2, 6]);
        swaps.clear();
        reverse(&[0, 3, 5], &mut swaps);
        assert_eq!(contents(6, &swaps), [5, 1, 2, 3, 4, 0]);
    }

    #[test]
    fn moves_of_rings_keep_stages_and_others_change_much() {
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(0);
        for (stages, replicas) in [(1, 1), (1, 2), (3, 1), (4, 5)] {
            let count = stages * replicas + 1;
            let compound = Compound { line: (0..count).collect(), stages, replicas };
            let devices: Vec<usize> = (0..stages * replicas).collect();
            let mut moved = vec![false; count];
            for _ in 0..500 {
                let swaps = compound.pick(&devices, &mut rng);
                let contents = contents(count, &swaps);
                (0..count).for_each(|device| moved[device] |= contents[device] != device);
            }
            assert!(moved.iter().all(|&moved| moved), "{stages} stages of {replicas} never move somewhere");
        }
    }
}
