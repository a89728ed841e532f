//! Performance profiles, gaps over time, and what one run knew when.

use super::chart::{Chart, Figure, Shape};
use super::{Axis, WIDTH, position, scope_title};
use crate::report::comparison::{Curve, Measured, methods, scopes};
use crate::report::trace::{Known, Trace};

/// Times before this many seconds are left out.
const FIRST: f64 = 1e-3;
/// Earlier moments of one run are drawn at this many seconds.
const EARLIEST: f64 = 1e-4;
/// How much of an axis is left beyond the values of one run, and the least part of them that it spans.
const ROOM: f64 = 0.05;
const NARROWEST: f64 = 1e-3;
/// The height of the chart of one run in points.
const HEIGHT: f64 = 130.0;
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

/// A run's best split and bound over time until its `end`, as SVG; `None` where nothing is known at two moments at least.
pub fn known_over_time(trace: &Trace, end: f64) -> Option<String> {
    let known = || trace.0.iter().flat_map(|known| [known.incumbent, known.bound]).flatten();
    let first = trace.0.first().filter(|_| trace.0.len() > 1)?.seconds.max(EARLIEST);
    let (low, high) = known().fold((f64::MAX, f64::MIN), |(low, high), value| (low.min(value), high.max(value)));
    let room = ROOM * (high - low).max(NARROWEST * high).max(1e-9);
    let x = Axis::logarithmic("seconds", [first, end.max(2.0 * first)].into_iter());
    let line = |figure: fn(&Known) -> Option<f64>| {
        let steps = trace.0.iter().filter_map(|known| Some((known.seconds.max(EARLIEST), figure(known)?)));
        Shape::Line(stairs(&steps.collect::<Vec<_>>(), x.high()))
    };
    let shapes = vec![(0, line(|known| known.incumbent)), (1, line(|known| known.bound))];
    let y = Axis::linear("", low - room, high + room);
    let chart = Chart { title: String::new(), y, height: Some(HEIGHT), shapes, x };
    let series = vec!["best split".into(), "bound".into()];
    Some(Figure { charts: vec![chart], series, notes: Vec::new() }.svg(WIDTH))
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
