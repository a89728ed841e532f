//! How good the answers are.

use serde::Serialize;

use super::judge::Judged;
use crate::search::gap;
use crate::statistics::{quantile, sorted};

/// The spread of some gaps, (objective − bound) / objective.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Gaps {
    /// The smallest.
    pub min: f64,
    /// The median.
    pub median: f64,
    /// The value below which nine of ten lie (quantiles are interpolated, as numpy does).
    pub p90: f64,
    /// The largest.
    pub max: f64,
}

impl Gaps {
    /// The spread of `gaps`, if there is any.
    fn of(gaps: &[f64]) -> Option<Self> {
        let sorted = sorted(gaps);
        let [min, median, p90, max] = [0.0, 0.5, 0.9, 1.0].map(|part| quantile(&sorted, part));
        Some(Self { min: min?, median: median?, p90: p90?, max: max? })
    }
}

/// How good the answers to some cases are, measured against the proven optimum or the best bound.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Quality {
    /// Cases that were judged.
    pub cases: usize,
    /// Cases with a valid split.
    pub splits: usize,
    /// Splits that are proven to be optimal.
    pub optimal: usize,
    /// Cases without a valid split though there is one.
    pub missed: usize,
    /// How far the splits are from the optimum.
    pub gaps: Option<Gaps>,
}

/// The answers to some cases, one after another.
#[derive(Debug, Clone, Default)]
pub(super) struct Tally {
    quality: Quality,
    gaps: Vec<f64>,
}

impl Tally {
    pub fn add(&mut self, judged: &Judged) {
        let Judged { objective, reference, .. } = judged;
        self.quality.cases += 1;
        self.quality.splits += usize::from(objective.is_some());
        self.quality.missed += usize::from(objective.is_none() && reference.upper.is_some());
        let gap = objective.zip(reference.lower).and_then(|(objective, lower)| gap(objective, lower));
        self.quality.optimal += usize::from(gap == Some(0.0));
        self.gaps.extend(gap);
    }

    pub fn quality(&self) -> Quality {
        Quality { gaps: Gaps::of(&self.gaps), ..self.quality.clone() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_spread_goes_from_the_smallest_to_the_largest() {
        let gaps = Gaps::of(&[0.75, 0.0, 1.0, 0.25, 0.5]);
        assert_eq!(gaps, Some(Gaps { min: 0.0, median: 0.5, p90: 0.9, max: 1.0 }));
        assert_eq!(Gaps::of(&[0.5]), Some(Gaps { min: 0.5, median: 0.5, p90: 0.5, max: 0.5 }));
        assert_eq!(Gaps::of(&[]), None);
    }
}
