//! Curves over all workloads: performance profiles, and gaps over time.

use super::classes::{classes, is_same_task};
use super::gaps::Measured;
use super::groups::{Group, groups};
use crate::report::method::gap;
use crate::search::is_proven;

/// Shorter times count as so many seconds: that is what starting a search takes.
const SHORTEST: f64 = 1e-3;

/// What a performance profile compares.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Performance {
    /// The objective; a run without a split has none.
    Objective,
    /// The seconds that it took to prove the optimum, or that there is no split; a run without a proof has none.
    ProofTime,
}

/// A method in one scope as a step function: from `x` on it is `y`.
#[derive(Debug, Clone, PartialEq)]
pub struct Curve<'r> {
    /// The method's spec string.
    pub method: &'r str,
    /// Which splits count.
    pub scope: &'static str,
    /// The steps (x, y), by rising x.
    pub steps: Vec<(f64, f64)>,
}

/// Performance profiles (Dolan and Moré 2002): the share of the tasks in which a method is within the factor x of the
/// best one of its scope, from x = 1 on. Every method has all tasks of its scope, but for those that are proven to
/// have no split where objectives are compared: one that it failed at, or does not take, counts as one that it never
/// solves.
pub fn profiles<'r>(runs: &[Measured<'r>], performance: Performance) -> Vec<Curve<'r>> {
    let can_be_solved = |run: &&Measured<'_>| performance == Performance::ProofTime || !run.has_no_split;
    let tasks = classes(runs.iter().filter(can_be_solved), |run| run.record, is_same_task);
    let profile = |group: Group<'_, 'r>| {
        let is_own = |run: &Measured<'_>| run.record.trial.method == group.method;
        let in_scope = tasks.iter().filter(|task| task[0].record.trial.problem.scope.name() == group.scope);
        let ratios: Vec<Option<f64>> = in_scope
            .map(|task| {
                let best = task.iter().filter_map(|run| performance.of(run)).min_by(f64::total_cmp)?;
                let own = task.iter().find(|run| is_own(run)).and_then(|run| performance.of(run))?;
                performance.ratio(own, best)
            })
            .collect();
        let mut reached: Vec<f64> = ratios.iter().flatten().copied().collect();
        reached.sort_by(f64::total_cmp);
        let share = |count: usize| count as f64 / ratios.len() as f64;
        let first = (1.0, share(reached.iter().filter(|&&ratio| ratio == 1.0).count()));
        let later = (1..).zip(&reached).filter(|(_, ratio)| **ratio > 1.0).map(|(count, &ratio)| (ratio, share(count)));
        Curve { method: group.method, scope: group.scope, steps: std::iter::once(first).chain(later).collect() }
    };
    // A scope all of whose tasks have no split has no shares.
    let has_tasks =
        |group: &Group<'_, '_>| tasks.iter().any(|task| task[0].record.trial.problem.scope.name() == group.scope);
    groups(runs).into_iter().filter(has_tasks).map(profile).collect()
}

impl Performance {
    fn of(self, run: &Measured<'_>) -> Option<f64> {
        match self {
            Self::Objective => run.record.ending.objective,
            Self::ProofTime => run.record.is_proven().then(|| run.record.seconds().max(SHORTEST)),
        }
    }

    /// What is equal but for rounding is within the factor 1; nothing is within a factor of 0.
    fn ratio(self, own: f64, best: f64) -> Option<f64> {
        if is_proven(own, best) { Some(1.0) } else { Some(own / best).filter(|ratio| ratio.is_finite()) }
    }
}

/// The mean gap of each method's best splits so far, over the seconds since its runs began: 1 as long as a run has no
/// split, and what it ended with once it has ended (the primal gap of Berthold 2013). Runs whose reference is not
/// known are left out, and those whose question is proven to have no split.
pub fn gaps_over_time<'r>(runs: &[Measured<'r>]) -> Vec<Curve<'r>> {
    let curve = |group: Group<'_, 'r>| {
        let known: Vec<_> = group.runs.iter().filter(|run| run.reference.is_some() && !run.has_no_split).collect();
        let mut changes: Vec<(f64, f64)> = known.iter().flat_map(|run| changes(run)).collect();
        changes.sort_by(|a, b| a.0.total_cmp(&b.0));
        let mut sum = known.len() as f64;
        let mut steps = vec![(0.0, 1.0)];
        for (seconds, change) in changes {
            sum += change;
            let step = (seconds, sum.max(0.0) / known.len() as f64);
            match steps.last_mut().filter(|last| last.0 == seconds) {
                Some(last) => *last = step,
                None => steps.push(step),
            }
        }
        (!known.is_empty()).then_some(Curve { method: group.method, scope: group.scope, steps })
    };
    groups(runs).into_iter().filter_map(curve).collect()
}

/// When the gap of a run changed, and by how much, from 1 on.
fn changes(run: &Measured<'_>) -> Vec<(f64, f64)> {
    let reference = run.reference.map_or(0.0, |known| known.value);
    let ending = &run.record.ending;
    let told = ending.trace.0.iter().filter_map(|known| Some((known.seconds, known.incumbent?)));
    let at_end = ending.objective.map(|objective| (run.record.seconds(), objective));
    let mut before = 1.0;
    let mut changes = Vec::new();
    for (seconds, objective) in told.chain(at_end) {
        let now = gap(objective, reference).unwrap_or(0.0);
        changes.push((seconds.min(run.record.seconds()), now - before));
        before = now;
    }
    changes
}
