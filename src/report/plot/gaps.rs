//! Gap against time, and gaps by workload.

use super::chart::{Chart, Figure, Shape};
use super::{Axis, position};
use crate::report::comparison::{Measured, classes, is_same_question, methods, scopes};
use crate::units::percent;

/// Shorter runs are drawn at this many seconds.
const SHORTEST: f64 = 1e-4;
/// The height of a bar in points.
const BAR: f64 = 9.0;
/// How much longer the axis of the bars is than the longest of them, for what stands beside it.
const ROOM: f64 = 1.25;

pub(super) fn figure(runs: &[Measured<'_>]) -> Figure {
    let is_to_bound = |run: &Measured<'_>| run.gap.is_some() && run.reference.is_some_and(|known| !known.is_optimum);
    let notes = runs.iter().any(is_to_bound).then(|| "hollow: to a bound, at most".into());
    Figure {
        charts: scopes(runs).iter().map(|scope| points(runs, scope)).chain([bars(runs)]).collect(),
        series: methods(runs).into_iter().map(String::from).collect(),
        notes: notes.into_iter().collect(),
    }
}

/// What tells a scope from others, where there are any.
fn of_scope(scope: &str, scopes: &[&str]) -> String {
    if scopes.len() > 1 { format!(", {scope}") } else { String::new() }
}

fn is_filled(run: &Measured<'_>) -> bool {
    run.reference.is_some_and(|known| known.is_optimum)
}

/// The end of an axis that holds every gap, in per cent.
fn largest(runs: &[Measured<'_>]) -> f64 {
    runs.iter().filter_map(|run| run.gap).fold(0.01, f64::max) * 105.0
}

fn points(runs: &[Measured<'_>], scope: &str) -> Chart {
    let (methods, scopes) = (methods(runs), scopes(runs));
    let in_scope = || runs.iter().filter(|run| run.record.trial.problem.scope.name() == scope);
    let at = |run: &Measured<'_>| Some((run.record.seconds().max(SHORTEST), 100.0 * run.gap?));
    let mark = |run: &Measured<'_>| {
        let shape = Shape::Marks(vec![at(run)?], is_filled(run));
        Some((position(&methods, &run.record.trial.method), shape))
    };
    let largest = largest(runs);
    Chart {
        title: format!("Gap against time{}", of_scope(scope, &scopes)),
        x: Axis::logarithmic("seconds", in_scope().filter_map(at).map(|(seconds, _)| seconds)),
        y: Axis::linear("gap, %", -0.04 * largest, largest),
        height: None,
        shapes: in_scope().filter_map(mark).collect(),
    }
}

/// A bar for each run, by workload; a run without a gap has its status in place of it.
fn bars(runs: &[Measured<'_>]) -> Chart {
    let (methods, scopes) = (methods(runs), scopes(runs));
    let mut shapes = Vec::new();
    let (mut names, mut row) = (Vec::new(), 0.0);
    for workload in classes(runs, |run| run.record, is_same_question) {
        let scope = workload[0].record.trial.problem.scope.name();
        let name = format!("{}{}", workload[0].workload, of_scope(scope, &scopes));
        names.push((row + workload.len() as f64 / 2.0, name));
        for run in &workload {
            let series = position(&methods, &run.record.trial.method);
            let end = 100.0 * run.gap.unwrap_or(0.0);
            if run.gap.is_some() {
                shapes.push((series, Shape::Box((0.0, row + 0.2), (end, row + 0.8), true)));
                shapes.push((series, Shape::Marks(vec![(end, row + 0.5)], is_filled(run))));
            }
            shapes.push((series, Shape::Words((end, row + 0.5), words(run))));
            row += 1.0;
        }
        row += 0.5;
    }
    Chart {
        title: "Gap by workload".into(),
        x: Axis::linear("gap, %", 0.0, ROOM * largest(runs)),
        y: Axis::rows(row, names),
        height: Some(row * BAR),
        shapes,
    }
}

fn words(run: &Measured<'_>) -> String {
    let at_most = if is_filled(run) { "" } else { "≤ " };
    run.gap.map_or_else(|| run.record.ending.status.to_string(), |gap| format!("{at_most}{}", percent(gap)))
}
