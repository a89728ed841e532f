//! Growth charts: log-log, in colours and shapes that are told apart without colour vision.

use std::path::Path;

use anyhow::{Result, anyhow};
use dagsplit::internals::report::plot::marks::{COLOURS, log_axis, marker, tick};
use plotters::coord::Shift;
use plotters::prelude::*;

/// One line of a chart.
pub struct Series {
    /// What the legend calls it.
    pub name: String,
    /// x, y, and whether the point's shape is filled.
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
        let root = SVGBackend::new(path, SIZE).into_drawing_area();
        self.draw_on(&root).map_err(|error| anyhow!("{}: {error}", path.display()))
    }

    fn draw_on(&self, root: &DrawingArea<SVGBackend, Shift>) -> Result<(), Box<dyn std::error::Error>> {
        root.fill(&WHITE)?;
        let (plot, legend) = root.split_horizontally(SIZE.0 - LEGEND_WIDTH);
        let mut chart = ChartBuilder::on(&plot)
            .caption(self.title, ("sans-serif", 19))
            .margin(15)
            .x_label_area_size(50)
            .y_label_area_size(75)
            .build_cartesian_2d(log_axis(self.values(|p| p.0)), log_axis(self.values(|p| p.1)))?;
        chart
            .configure_mesh()
            .x_desc(self.x)
            .y_desc(self.y)
            .label_style(("sans-serif", 15))
            .light_line_style(TRANSPARENT)
            .bold_line_style(RGBColor(220, 220, 220))
            .x_label_formatter(&|x| tick(*x))
            .y_label_formatter(&|y| tick(*y))
            .draw()?;
        for (i, series) in self.series.iter().enumerate() {
            let line = series.points.iter().map(|&(x, y, _)| (x, y));
            chart.draw_series(LineSeries::new(line, COLOURS[i % COLOURS.len()].stroke_width(2)))?;
            chart.draw_series(series.points.iter().map(|&(x, y, filled)| marker((x, y), i, filled)))?;
            let at = 60 + 26 * i as i32;
            legend.draw(&marker((10, at), i, true))?;
            legend.draw(&Text::new(series.name.as_str(), (24, at - 8), ("sans-serif", 15)))?;
        }
        root.present()?;
        Ok(())
    }

    fn values(&self, value: impl Fn(&(f64, f64, bool)) -> f64) -> impl Iterator<Item = f64> {
        self.series.iter().flat_map(|series| &series.points).map(value)
    }
}

/// Width and height of a chart in pixels, and the width of its legend.
const SIZE: (u32, u32) = (900, 460);
const LEGEND_WIDTH: u32 = 220;
