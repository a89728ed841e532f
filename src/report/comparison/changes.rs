//! Two results of the same runs: what another version, or another machine, made of them.

use std::fmt;

use serde::Serialize;

use super::gaps::Measured;
use super::journal::Journal;
use super::record::Record;
use crate::search::is_proven;
use crate::solve::Status;
use crate::statistics::geometric_mean;

/// Shorter times count as so many seconds: below that they are noise.
pub const NOISE: f64 = 0.1;

/// What one result of a run lacks that the other one has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Loss {
    /// A split.
    Split,
    /// A proof as strong: that the checker confirmed, or else of the method's own.
    Proof,
    /// An objective as low, but for rounding.
    Objective,
    /// A time as short: both ended with a proof, on the same machine, and the times differ by more than a given factor.
    Time,
}

impl Loss {
    /// What is worse with it.
    fn worse(self) -> &'static str {
        match self {
            Self::Split => "no split",
            Self::Proof => "weaker proof",
            Self::Objective => "worse split",
            Self::Time => "slower",
        }
    }

    /// What is better without it.
    fn better(self) -> &'static str {
        match self {
            Self::Split => "a split",
            Self::Proof => "stronger proof",
            Self::Objective => "better split",
            Self::Time => "faster",
        }
    }
}

/// A run now and before.
#[derive(Debug, Clone, PartialEq)]
pub struct Change<'a, 'r> {
    /// The run as it is now.
    pub now: &'a Measured<'r>,
    /// The same run before.
    pub before: &'a Record,
    /// What it had before, and has no more.
    pub worse: Vec<Loss>,
    /// What it has now, and had not before.
    pub better: Vec<Loss>,
}

impl fmt::Display for Change<'_, '_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let worse = self.worse.iter().map(|loss| loss.worse());
        let words: Vec<&str> = worse.chain(self.better.iter().map(|loss| loss.better())).collect();
        f.write_str(&words.join(", "))
    }
}

/// Each of `runs` that has a counterpart in `before`: the last record of an equal trial that went to its end. A time is
/// longer where it is more than `factor` times the other one.
pub fn changes<'a, 'r>(runs: &'a [Measured<'r>], before: &'a Journal, factor: f64) -> Vec<Change<'a, 'r>> {
    let change = |now: &'a Measured<'r>| {
        let before = before.last(&now.record.trial)?;
        let (worse, better) = (losses(before, now.record, factor), losses(now.record, before, factor));
        Some(Change { now, before, worse, better })
    };
    runs.iter().filter_map(change).collect()
}

/// What `to` lacks that `from` has.
fn losses(from: &Record, to: &Record, factor: f64) -> Vec<Loss> {
    let objectives = (from.ending.objective, to.ending.objective);
    let is_higher = matches!(objectives, (Some(from), Some(to)) if !is_proven(to, from));
    [
        (Loss::Split, matches!(objectives, (Some(_), None))),
        (Loss::Proof, strength(from) > strength(to)),
        (Loss::Objective, is_higher),
        (Loss::Time, time_ratio(from, to).is_some_and(|ratio| ratio > factor)),
    ]
    .into_iter()
    .filter_map(|(loss, holds)| holds.then_some(loss))
    .collect()
}

/// Whether a run has proven something, and whether that is certified.
fn strength(run: &Record) -> (bool, bool) {
    (run.is_proven(), run.ending.status == Status::Certified)
}

/// The time of `to` over that of `from`; `None` where one ended without a proof, by its limit perhaps, or where they
/// ran on different machines.
pub fn time_ratio(from: &Record, to: &Record) -> Option<f64> {
    let are_comparable = from.is_proven() && to.is_proven() && from.machine == to.machine;
    are_comparable.then(|| to.seconds().max(NOISE) / from.seconds().max(NOISE))
}

/// The geometric mean of the ratios of times.
pub fn mean_time_ratio(changes: &[Change<'_, '_>]) -> Option<f64> {
    let ratios: Vec<f64> = changes.iter().filter_map(|change| time_ratio(change.before, change.now.record)).collect();
    geometric_mean(&ratios, 0.0)
}
