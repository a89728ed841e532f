//! Box plots of gaps.

use super::chart::{Chart, Figure, Shape};
use super::{Axis, position, scope_title};
use crate::report::comparison::{Group, Measured, groups, methods, scopes};
use crate::statistics::BoxPlot;

/// The height of a row in points.
const ROW: f64 = 16.0;

/// A row for each method: median, quartiles, whiskers of at most 1.5 interquartile ranges, and what lies beyond.
pub(super) fn figure(runs: &[Measured<'_>]) -> Figure {
    let (methods, scopes, groups) = (methods(runs), scopes(runs), groups(runs));
    let of_scope = |scope: &&str| {
        let rows: Vec<&Group<'_, '_>> = groups.iter().filter(|group| group.scope == *scope).collect();
        let names = (0..).zip(&rows).map(|(row, group)| (f64::from(row) + 0.5, group.method.to_owned()));
        let gaps = rows.iter().flat_map(|group| &group.runs).filter_map(|run| run.gap);
        let shapes = (0..).zip(&rows).flat_map(|(row, group)| {
            let series = position(&methods, group.method);
            shapes(group, f64::from(row) + 0.5).into_iter().map(move |shape| (series, shape))
        });
        Chart {
            title: scope_title(scope, &scopes),
            x: Axis::linear("gap, %", 0.0, gaps.fold(0.01, f64::max) * 105.0),
            y: Axis::rows(rows.len() as f64, names.collect()),
            height: Some(ROW * rows.len() as f64),
            shapes: shapes.collect(),
        }
    };
    Figure { charts: scopes.iter().map(of_scope).collect(), series: Vec::new(), notes: Vec::new() }
}

fn shapes(group: &Group<'_, '_>, row: f64) -> Vec<Shape> {
    let gaps: Vec<f64> = group.runs.iter().filter_map(|run| run.gap).map(|gap| 100.0 * gap).collect();
    let Some(BoxPlot { low, first, median, third, high, outliers }) = BoxPlot::of(&gaps) else { return Vec::new() };
    let upright = |gap: f64, half: f64| Shape::Line(vec![(gap, row - half), (gap, row + half)]);
    vec![
        Shape::Line(vec![(low, row), (first, row)]),
        Shape::Line(vec![(third, row), (high, row)]),
        upright(low, 0.15),
        upright(high, 0.15),
        Shape::Box((first, row - 0.3), (third, row + 0.3), false),
        upright(median, 0.3),
        Shape::Marks(outliers.into_iter().map(|gap| (gap, row)).collect(), true),
    ]
}
