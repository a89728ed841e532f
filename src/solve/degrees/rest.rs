//! What the units outside of a set take at least, however stages hold them.

use super::model::Model;
use super::shape::Need;
use crate::solve::dp::lattice::Lattice;

/// Sums of floats are within this part of what they stand for.
const ROUNDING: f64 = 1e-12;

/// What some units take at least.
#[derive(Debug, Clone, Copy, Default)]
pub struct Rest {
    /// Time of devices, by the weights of their fleets.
    pub work: f64,
    /// Bytes of all devices together.
    bytes: f64,
    /// Time of a replica for a microbatch.
    pub shortest: f64,
}

impl Rest {
    /// The rest of each set of a lattice. O(sets).
    pub fn of_sets(lattice: &Lattice, model: &Model) -> Vec<Self> {
        let mut rests = vec![Self::default(); lattice.count()];
        for set in (0..rests.len()).rev() {
            if let Some(&(unit, larger)) = lattice.above(set).first() {
                let (unit, rest) = (unit as usize, rests[larger as usize]);
                rests[set] = Self {
                    work: rest.work + model.work[unit],
                    bytes: rest.bytes + model.bytes[unit],
                    shortest: rest.shortest + model.shortest[unit],
                };
            }
        }
        rests.into_iter().map(Self::less_rounding).collect()
    }

    fn less_rounding(self) -> Self {
        let less = 1.0 - ROUNDING;
        Self { work: self.work * less, bytes: self.bytes * less, shortest: self.shortest * less }
    }

    /// What they need if each stage takes at most this time for each sample.
    pub fn need(&self, most_time: f64) -> Need {
        let devices = self.work / most_time - ROUNDING;
        // Without a target there is no need; work without time, at a target of none, needs nothing either.
        Need { devices: if devices.is_finite() { devices } else { 0.0 }, bytes: self.bytes }
    }
}
