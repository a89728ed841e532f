//! How many devices of each kind a prefix of the pipeline uses, as one mixed-radix index.

use super::stage::StageKind;
use crate::preprocess::Reduced;

/// The uses of devices: index = Σ used\[kind\] · stride\[kind\]. A larger use has a larger index.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Consumption {
    counts: Vec<usize>,
    strides: Vec<usize>,
    len: usize,
}

impl Consumption {
    /// The uses of the device kinds of `reduced`. A kind has no more devices than could hold a unit each.
    pub fn new(reduced: &Reduced, stages: &[StageKind]) -> Self {
        let most_replicas = stages.iter().map(|s| s.replicas).max().unwrap_or(1);
        let useful = reduced.unit_count().saturating_mul(most_replicas);
        let counts: Vec<usize> = reduced.kinds.iter().map(|kind| kind.count.min(useful)).collect();
        let mut strides = Vec::with_capacity(counts.len());
        let mut len = 1;
        for &count in &counts {
            strides.push(len);
            len *= count + 1;
        }
        Self { counts, strides, len }
    }

    /// How many uses there are.
    pub fn len(&self) -> usize {
        self.len
    }

    /// The use of all devices.
    pub fn full(&self) -> usize {
        self.len - 1
    }

    /// All uses, each after those it contains.
    pub fn all(&self) -> std::ops::Range<usize> {
        0..self.len
    }

    fn of(&self, index: usize, kind: usize) -> usize {
        index / self.strides[kind] % (self.counts[kind] + 1)
    }

    /// `used` and the devices of one more stage, if there are enough.
    #[inline]
    pub fn add(&self, used: usize, stage: StageKind) -> Option<usize> {
        let fits = self.of(used, stage.kind) + stage.replicas <= self.counts[stage.kind];
        fits.then(|| used + stage.replicas * self.strides[stage.kind])
    }

    /// `left` without the devices of one stage, if it has them.
    #[inline]
    pub fn take(&self, left: usize, stage: StageKind) -> Option<usize> {
        let fits = self.of(left, stage.kind) >= stage.replicas;
        fits.then(|| left - stage.replicas * self.strides[stage.kind])
    }

    /// Whether `used` holds at least the devices of `other` of each kind.
    #[inline]
    pub fn contains(&self, used: usize, other: usize) -> bool {
        (0..self.counts.len()).all(|kind| self.of(used, kind) >= self.of(other, kind))
    }
}
