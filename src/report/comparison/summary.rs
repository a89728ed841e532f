//! How each method did over all workloads.

use std::collections::HashSet;

use serde::Serialize;

use super::classes::{classes, is_same_question, is_same_task};
use super::gaps::Measured;
use super::groups::{Group, groups};
use crate::report::method::gap;
use crate::statistics::{geometric_mean, mean, quantile, sorted};

/// The shift of geometric means of times, in seconds (Achterberg 2007 takes it, too).
const SHIFT: f64 = 1.0;

/// How a method did in one scope. Gaps and ratios are of the runs with a split and a reference, times of those with a
/// split.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Summary {
    /// The method's spec string.
    pub method: String,
    /// Which splits count.
    pub scope: &'static str,
    /// Its runs, without those of workloads that it does not take.
    pub runs: usize,
    /// Those with a split.
    pub found: usize,
    /// Those that proved an optimum, or that there is no split.
    pub proven: usize,
    /// Those whose split no other method's is better than, on the same workload with the same seed.
    pub wins: usize,
    /// Those with a gap to a bound, where no optimum is known: it is at most so much.
    pub to_bounds: usize,
    /// The mean of the gaps.
    pub mean_gap: Option<f64>,
    /// Their median.
    pub median_gap: Option<f64>,
    /// The worst of them.
    pub worst_gap: Option<f64>,
    /// The geometric mean of objective / reference.
    pub mean_ratio: Option<f64>,
    /// The largest (highest − lowest objective) / highest of one workload over its seeds; `None` where
    /// each has one.
    pub spread: Option<f64>,
    /// The geometric mean of the seconds, shifted by one second.
    pub seconds: Option<f64>,
}

/// How each method did in each scope, in the order of their first runs.
pub fn summaries(runs: &[Measured<'_>]) -> Vec<Summary> {
    let groups = groups(runs);
    let wins = wins(runs);
    groups.iter().map(|group| summary(group, &wins)).collect()
}

fn summary(group: &Group<'_, '_>, wins: &HashSet<*const Measured<'_>>) -> Summary {
    let count = |holds: &dyn Fn(&Measured<'_>) -> bool| group.runs.iter().filter(|run| holds(run)).count();
    let gaps = sorted(&group.runs.iter().filter_map(|run| run.gap).collect::<Vec<f64>>());
    let ratios: Vec<f64> = group.runs.iter().filter_map(|run| run.ratio()).collect();
    let with_split = group.runs.iter().filter(|run| run.record.ending.objective.is_some());
    let seconds: Vec<f64> = with_split.map(|run| run.record.seconds()).collect();
    Summary {
        method: group.method.into(),
        scope: group.scope,
        runs: group.runs.len(),
        found: seconds.len(),
        proven: count(&|run| run.record.is_proven()),
        wins: count(&|run| wins.contains(&std::ptr::from_ref(run))),
        to_bounds: count(&|run| run.gap.is_some() && run.reference.is_some_and(|known| !known.is_optimum)),
        mean_gap: mean(&gaps),
        median_gap: quantile(&gaps, 0.5),
        worst_gap: gaps.last().copied(),
        mean_ratio: geometric_mean(&ratios, 0.0),
        spread: spread(group),
        seconds: geometric_mean(&seconds, SHIFT),
    }
}

/// The runs whose split is the best of their task; several where they are equally good.
fn wins<'a, 'r>(runs: &'a [Measured<'r>]) -> HashSet<*const Measured<'r>> {
    let tasks = classes(runs, |run| run.record, is_same_task);
    let of_task = |task: Vec<&'a Measured<'r>>| {
        let best = task.iter().filter_map(|run| run.record.ending.objective).min_by(f64::total_cmp);
        let above_best = move |run: &Measured<'r>| gap(run.record.ending.objective?, best?);
        task.into_iter().filter(move |run| above_best(run) == Some(0.0)).map(std::ptr::from_ref)
    };
    tasks.into_iter().flat_map(of_task).collect()
}

fn spread(group: &Group<'_, '_>) -> Option<f64> {
    let workloads = classes(group.runs.iter().copied(), |run| run.record, is_same_question);
    let of_workload = |runs: Vec<&Measured<'_>>| {
        let objectives = sorted(&runs.iter().filter_map(|run| run.record.ending.objective).collect::<Vec<f64>>());
        let (lowest, highest) = (objectives.first()?, objectives.last()?);
        (objectives.len() > 1).then(|| gap(*highest, *lowest)).flatten()
    };
    workloads.into_iter().filter_map(of_workload).max_by(f64::total_cmp)
}
