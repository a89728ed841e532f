//! Growth charts: log-log, in colours and marks that are told apart without colour vision.

use std::path::Path;

use anyhow::{Context, Result};
use dagsplit::internals::report::plot::Axis;
use dagsplit::internals::report::plot::chart::{Chart as Panel, Figure, Shape};

/// How wide a chart is, in millimetres.
const WIDTH: f64 = 174.0;

/// One line of a chart.
pub struct Series {
    /// What the legend calls it.
    pub name: String,
    /// x, y, and whether the point's mark is filled.
    pub points: Vec<(f64, f64, bool)>,
}

/// A log-log chart.
pub struct Chart<'a> {
    /// What stands above it.
    pub title: &'a str,
    /// The axis along the bottom.
    pub x: &'a str,
    /// The axis on the left.
    pub y: &'a str,
    /// Its lines.
    pub series: &'a [Series],
}

impl Chart<'_> {
    /// Draws the chart as an SVG file.
    pub fn draw(&self, path: &Path) -> Result<()> {
        let marks = |points: &[(f64, f64, bool)], is_filled| {
            let shown = points.iter().filter(|point| point.2 == is_filled).map(|&(x, y, _)| (x, y));
            Shape::Marks(shown.collect(), is_filled)
        };
        let shapes = self.series.iter().enumerate().flat_map(|(i, series)| {
            let line = Shape::Line(series.points.iter().map(|&(x, y, _)| (x, y)).collect());
            [(i, line), (i, marks(&series.points, true)), (i, marks(&series.points, false))]
        });
        let panel = Panel {
            title: self.title.into(),
            x: Axis::logarithmic(self.x, self.values(|point| point.0)),
            y: Axis::logarithmic(self.y, self.values(|point| point.1)),
            height: None,
            shapes: shapes.collect(),
        };
        let series = self.series.iter().map(|series| series.name.clone()).collect();
        let svg = Figure { charts: vec![panel], series, notes: Vec::new() }.svg(WIDTH);
        std::fs::write(path, svg).with_context(|| path.display().to_string())
    }

    fn values(&self, value: impl Fn(&(f64, f64, bool)) -> f64) -> impl Iterator<Item = f64> {
        self.series.iter().flat_map(|series| &series.points).map(value)
    }
}
