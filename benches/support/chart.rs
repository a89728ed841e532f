//! Growth charts: log-log, in colours and shapes that are told apart without colour vision.

use std::path::Path;

use anyhow::{Result, anyhow};
use plotters::coord::Shift;
use plotters::coord::combinators::{BindKeyPoints, WithKeyPoints};
use plotters::element::ComposedElement;
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

/// Okabe and Ito's colours that show on white, the darkest ones first.
const COLOURS: [RGBColor; 6] = [
    RGBColor(0, 114, 178),
    RGBColor(213, 94, 0),
    RGBColor(0, 158, 115),
    RGBColor(204, 121, 167),
    RGBColor(230, 159, 0),
    RGBColor(86, 180, 233),
];

/// Corners of a shape of this many sides around the origin, the first one at this angle (in turns).
const SHAPES: [(u32, f64); 6] = [(16, 0.0), (3, 0.75), (4, 0.125), (3, 0.25), (4, 0.0), (5, 0.75)];

/// Distance of a shape's corners from its centre in pixels.
const RADIUS: f64 = 6.0;

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
            .build_cartesian_2d(axis(self.values(|p| p.0)), axis(self.values(|p| p.1)))?;
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

/// A logarithmic axis that holds all `values`, with a tick at 1, 2 and 5 times each power of ten.
fn axis(values: impl Iterator<Item = f64>) -> WithKeyPoints<LogCoord<f64>> {
    let (low, high) = values.fold((f64::MAX, f64::MIN_POSITIVE), |(low, high), v| (low.min(v), high.max(v)));
    let (low, high) = (low / 1.3, high * 1.3);
    let decades = low.log10().floor() as i32..=high.log10().ceil() as i32;
    let steps: &[f64] = if high / low < 1e3 { &[1.0, 2.0, 5.0] } else { &[1.0] };
    let ticks = decades.flat_map(|decade| steps.iter().map(move |step| step * 10f64.powi(decade)));
    let axis: LogCoord<f64> = (low..high).log_scale().into();
    axis.with_key_points(ticks.filter(|tick| (low..high).contains(tick)).collect())
}

/// A shape at `at`, its fill and its outline in pixels around it.
type Marker<'a, At> = ComposedElement<At, SVGBackend<'a>, Polygon<(i32, i32)>, PathElement<(i32, i32)>>;

/// The shape of the series with this number.
fn marker<'a, At>(at: At, series: usize, filled: bool) -> Marker<'a, At> {
    let (sides, first) = SHAPES[series % SHAPES.len()];
    let corner = |i: u32| {
        let angle = (f64::from(i) / f64::from(sides) + first) * std::f64::consts::TAU;
        ((RADIUS * angle.cos()).round() as i32, (RADIUS * angle.sin()).round() as i32)
    };
    let colour = COLOURS[series % COLOURS.len()];
    let inside = if filled { colour } else { WHITE };
    let corners: Vec<(i32, i32)> = (0..=sides).map(corner).collect();
    EmptyElement::at(at)
        + Polygon::new(corners.clone(), inside.filled())
        + PathElement::new(corners, colour.stroke_width(2))
}

/// A tick's label, such as 0.001 or 10,000.
fn tick(value: f64) -> String {
    if value >= 1000.0 {
        format!("{:.0},{:03.0}", (value / 1000.0).floor(), value % 1000.0)
    } else if value >= 1.0 {
        format!("{value:.0}")
    } else {
        format!("{value:.4}").trim_end_matches('0').to_owned()
    }
}
