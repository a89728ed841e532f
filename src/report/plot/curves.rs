//! Performance profiles, and gaps over time.

use super::chart::{Chart, Figure, Shape};
use super::{Axis, position, scope_title};
use crate::report::comparison::{Curve, Measured, methods, scopes};

/// Times before this many seconds are left out.
const FIRST: f64 = 1e-3;
/// About how many marks a curve has.
const MARKS: usize = 8;

/// The share of tasks that each method is within a factor of the best in.
pub(super) fn profile(runs: &[Measured<'_>], curves: &[Curve<'_>], factor: &str) -> Figure {
    let chart = |curves: &[&Curve<'_>]| {
        let x = Axis::logarithmic(factor, values(curves).chain([1.0]));
        let y = Axis::linear("share of tasks", 0.0, 1.04);
        let lines = curves.iter().map(|curve| stairs(&curve.steps, x.high()));
        (lines.collect(), x, y)
    };
    figure(runs, curves, chart)
}

/// The mean gap of each method, from the first moment that is shown.
pub(super) fn progress(runs: &[Measured<'_>], curves: &[Curve<'_>]) -> Figure {
    let chart = |curves: &[&Curve<'_>]| {
        let x = Axis::logarithmic("seconds", values(curves).filter(|seconds| *seconds >= FIRST));
        let y = Axis::linear("mean gap, %", 0.0, 104.0);
        let lines = curves.iter().map(|curve| {
            let before = curve.steps.iter().rev().find(|step| step.0 < x.low()).map(|step| (x.low(), step.1));
            let later = curve.steps.iter().filter(|step| step.0 >= x.low()).copied();
            let steps = before.into_iter().chain(later).map(|(seconds, gap)| (seconds, 100.0 * gap));
            stairs(&steps.collect::<Vec<_>>(), x.high())
        });
        (lines.collect(), x, y)
    };
    figure(runs, curves, chart)
}

/// What a chart draws: the line of each curve, and its axes.
type Drawn = (Vec<Vec<(f64, f64)>>, Axis, Axis);

/// A chart for each scope.
fn figure(runs: &[Measured<'_>], curves: &[Curve<'_>], chart: impl Fn(&[&Curve<'_>]) -> Drawn) -> Figure {
    let (methods, scopes) = (methods(runs), scopes(runs));
    let of_scope = |scope: &&str| {
        let curves: Vec<&Curve<'_>> = curves.iter().filter(|curve| curve.scope == *scope).collect();
        let (lines, x, y) = chart(&curves);
        let series = curves.iter().map(|curve| position(&methods, curve.method));
        let shapes = series.zip(lines).flat_map(|(series, line)| {
            let every = line.len().div_ceil(MARKS).max(1);
            let marks = Shape::Marks(line.iter().copied().step_by(every).collect(), true);
            [(series, Shape::Line(line)), (series, marks)]
        });
        Chart { title: scope_title(scope, &scopes), height: None, shapes: shapes.collect(), x, y }
    };
    Figure {
        charts: scopes.iter().map(of_scope).collect(),
        series: methods.iter().map(|method| (*method).into()).collect(),
        notes: Vec::new(),
    }
}

fn values(curves: &[&Curve<'_>]) -> impl Iterator<Item = f64> {
    curves.iter().flat_map(|curve| curve.steps.iter().map(|step| step.0))
}

/// A step function as a line that goes on to `end`.
fn stairs(steps: &[(f64, f64)], end: f64) -> Vec<(f64, f64)> {
    let before = steps.iter().map(|step| step.1);
    let rises = steps.iter().skip(1).zip(before).flat_map(|(&(x, y), before)| [(x, before), (x, y)]);
    let last = steps.last().map(|&(_, y)| (end, y));
    steps.first().copied().into_iter().chain(rises).chain(last).collect()
}
