//! How good the answers are.

use serde::Serialize;

use super::judge::Judged;
use crate::search::gap;

/// The spread of some gaps, (objective − bound) / objective.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Gaps {
    /// The smallest.
    pub min: f64,
    /// Half of them are no larger.
    pub median: f64,
    /// Nine of ten are no larger.
    pub p90: f64,
    /// The largest.
    pub max: f64,
}

impl Gaps {
    /// The spread of `gaps`, if there is any.
    fn of(gaps: &[f64]) -> Option<Self> {
        let mut sorted = gaps.to_vec();
        sorted.sort_by(f64::total_cmp);
        let quantile = |part: f64| sorted[((part * sorted.len() as f64).ceil() as usize).saturating_sub(1)];
        let (min, max) = (*sorted.first()?, *sorted.last()?);
        Some(Self { min, median: quantile(0.5), p90: quantile(0.9), max })
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
    fn quantiles_are_members() {
        let gaps = Gaps::of(&[0.4, 0.1, 0.2, 0.3, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0]);
        assert_eq!(gaps, Some(Gaps { min: 0.1, median: 0.5, p90: 0.9, max: 1.0 }));
        assert_eq!(Gaps::of(&[0.5]), Some(Gaps { min: 0.5, median: 0.5, p90: 0.5, max: 0.5 }));
        assert_eq!(Gaps::of(&[]), None);
    }
}
