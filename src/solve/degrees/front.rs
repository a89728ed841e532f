//! What is known of the stages behind an ideal: how many parts of a batch they take, how many devices, and how long;
//! and stages that were found.

use crate::search::Race;
use crate::solve::BoundSource;

/// The most fleets of devices that labels count.
pub const MOST_FLEETS: usize = 4;

/// How many devices of each fleet.
pub type Devices = [u32; MOST_FLEETS];

/// What stages take: less of nothing is worse for those before them.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Taken {
    /// The sum of their data degrees.
    pub parts: usize,
    /// The devices that they use.
    pub devices: Devices,
    /// For a step: what a replica of each takes for a microbatch, added up; else 0.
    pub once: f64,
    /// For a step: the most that a replica of one takes for its other microbatches; else 0.
    pub more: f64,
}

/// Times that differ by less than this part are the same.
const SAME: f64 = 1e-13;

impl Taken {
    /// Nothing.
    pub const NOTHING: Self = Self { parts: 0, devices: [0; MOST_FLEETS], once: 0.0, more: 0.0 };

    /// The least of each that one of these takes.
    pub fn least(all: impl Iterator<Item = Self>) -> Option<Self> {
        all.reduce(|a, b| Self {
            parts: a.parts.min(b.parts),
            devices: std::array::from_fn(|fleet| a.devices[fleet].min(b.devices[fleet])),
            once: a.once.min(b.once),
            more: a.more.min(b.more),
        })
    }

    #[inline]
    fn is_no_more_than(&self, other: &Self) -> bool {
        self.parts <= other.parts
            && self.devices.iter().zip(&other.devices).all(|(own, others)| own <= others)
            && self.once <= other.once * (1.0 + SAME)
            && self.more <= other.more * (1.0 + SAME)
    }
}

/// A stage of a split that was found.
pub struct Found {
    /// Its nodes, ascending, each with the index of its option.
    pub nodes: Vec<(usize, usize)>,
    /// The index of its shape.
    pub shape: usize,
    pub data: usize,
    /// Its time for each sample.
    pub time: f64,
}

/// The race of a search for splits.
pub type SplitRace<'a> = Race<'a, Vec<Found>, BoundSource>;

/// Stages that hold all units of one filter.
#[derive(Debug, Clone, Copy)]
pub struct Label {
    pub taken: Taken,
    /// The units that they hold, by the number of their set in the lattice.
    pub set: u32,
    /// The label without the first of them, by its number; that without any names itself.
    pub behind: u32,
    /// The index of the first one's shape.
    pub shape: usize,
    /// Its data degree.
    pub data: usize,
    /// A time for each sample within which it has options.
    pub time: f64,
}

/// The labels of a set that no other of them is better than, by their numbers; those with fewer parts first.
#[derive(Debug, Clone)]
pub struct Front {
    labels: Vec<(Taken, u32)>,
    /// Whether none takes times, or devices of another fleet than the first.
    is_plain: bool,
}

impl Default for Front {
    fn default() -> Self {
        Self { labels: Vec::new(), is_plain: true }
    }
}

impl Front {
    /// Whether some label takes no more. O(labels), and O(log labels) where there are neither times nor other fleets.
    #[inline]
    pub fn dominates(&self, taken: &Taken) -> bool {
        let end = self.labels.partition_point(|(known, _)| known.parts <= taken.parts);
        // Of one fleet and without times those with more parts use fewer devices.
        let nearest = if self.is_plain { end.min(1) } else { end };
        self.labels[end - nearest..end].iter().rev().any(|(known, _)| known.is_no_more_than(taken))
    }

    /// Adds a label that is not dominated, in the place of those that it dominates. O(labels).
    pub fn insert(&mut self, taken: Taken, label: u32) {
        self.is_plain &= taken.once + taken.more == 0.0 && taken.devices[1..] == [0; MOST_FLEETS - 1];
        let place = self.labels.partition_point(|(known, _)| known.parts < taken.parts);
        self.labels.insert(place, (taken, label));
        let mut kept = place + 1;
        for other in place + 1..self.labels.len() {
            if !taken.is_no_more_than(&self.labels[other].0) {
                self.labels[kept] = self.labels[other];
                kept += 1;
            }
        }
        self.labels.truncate(kept);
    }

    /// The labels.
    pub fn labels(&self) -> &[(Taken, u32)] {
        &self.labels
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_front_keeps_what_nothing_is_better_than() {
        let taken = |parts, devices, once, more| Taken { parts, devices: [devices, 0, 0, 0], once, more };
        let mut front = Front::default();
        for (label, (parts, devices)) in [(4, 8), (2, 16), (6, 4), (3, 12), (3, 7)].into_iter().enumerate() {
            let new = taken(parts, devices, 1.0, 1.0);
            assert!(!front.dominates(&new));
            front.insert(new, label as u32);
        }
        let kept: Vec<u32> = front.labels().iter().map(|&(_, label)| label).collect();
        assert_eq!(kept, [1, 4, 2]);
        for (parts, devices, is_dominated) in [(3, 7, true), (4, 7, true), (7, 5, true), (3, 6, false), (1, 99, false)]
        {
            assert_eq!(front.dominates(&taken(parts, devices, 1.0, 1.0)), is_dominated);
        }
        assert!(!front.dominates(&taken(9, 99, 0.5, 2.0)) && !front.dominates(&taken(9, 99, 2.0, 0.5)));
        front.insert(taken(3, 7, 0.5, 0.5), 9);
        assert!(front.dominates(&taken(3, 7, 0.5, 2.0)) && front.labels().len() == 3);
    }
    #[test]
    fn devices_of_several_fleets_are_compared_one_by_one() {
        let taken =
            |parts, devices: [u32; 2]| Taken { parts, devices: [devices[0], devices[1], 0, 0], once: 0.0, more: 0.0 };
        let mut front = Front::default();
        front.insert(taken(2, [4, 0]), 1);
        assert!(!front.dominates(&taken(3, [0, 4])));
        front.insert(taken(3, [0, 4]), 2);
        for (other, is_dominated) in [([4, 0], true), ([0, 4], true), ([3, 3], false), ([5, 9], true)] {
            assert_eq!(front.dominates(&taken(4, other)), is_dominated, "{other:?}");
        }
    }
}
