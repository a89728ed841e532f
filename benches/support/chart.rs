//! Growth charts: log-log, in colours and shapes that are told apart without colour vision.

use std::path::Path;

use anyhow::{Result, anyhow};
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
        let root = SVGBackend::new(path, (800, 500)).into_drawing_area();
        self.draw_on(&root).map_err(|error| anyhow!("{}: {error}", path.display()))
    }

    fn draw_on(&self, root: &DrawingArea<SVGBackend, plotters::coord::Shift>) -> Result<(), Box<dyn std::error::Error>> {
        root.fill(&WHITE)?;
        let (xs, ys) = (self.range(|p| p.0, 1.1), self.range(|p| p.1, 1.5));
        let mut chart = ChartBuilder::on(root)
            .caption(self.title, ("sans-serif", 20))
            .margin(15)
            .x_label_area_size(50)
            .y_label_area_size(75)
            .build_cartesian_2d((xs.0..xs.1).log_scale(), (ys.0..ys.1).log_scale())?;
        chart
            .configure_mesh()
            .x_desc(self.x)
            .y_desc(self.y)
            .label_style(("sans-serif", 15))
            .light_line_style(RGBColor(240, 240, 240))
            .bold_line_style(RGBColor(215, 215, 215))
            .x_label_formatter(&|x| tick(*x))
            .y_label_formatter(&|y| tick(*y))
            .draw()?;
        for (i, series) in self.series.iter().enumerate() {
            let colour = COLOURS[i % COLOURS.len()];
            let line = series.points.iter().map(|&(x, y, _)| (x, y));
            chart.draw_series(LineSeries::new(line, colour.stroke_width(2)))?;
            let points = series.points.iter().map(|&(x, y, filled)| EmptyElement::at((x, y)) + marker(i, filled));
            chart
                .draw_series(points)?
                .label(series.name.as_str())
                .legend(move |at| EmptyElement::at(at) + marker(i, true));
        }
        chart
            .configure_series_labels()
            .position(SeriesLabelPosition::UpperLeft)
            .label_font(("sans-serif", 15))
            .background_style(WHITE.mix(0.85))
            .border_style(RGBColor(215, 215, 215))
            .margin(10)
            .draw()?;
        root.present()?;
        Ok(())
    }

    /// Smallest and largest value of the points, apart by at least `air` on either side.
    fn range(&self, value: impl Fn(&(f64, f64, bool)) -> f64, air: f64) -> (f64, f64) {
        let values = || self.series.iter().flat_map(|series| &series.points).map(&value);
        (values().fold(f64::MAX, f64::min) / air, values().fold(f64::MIN_POSITIVE, f64::max) * air)
    }
}

/// The shape of the series with this number, in pixels around its point.
fn marker(
    series: usize,
    filled: bool,
) -> impl for<'a> Drawable<SVGBackend<'a>> + for<'a> PointCollection<'a, (i32, i32)> {
    let (sides, first) = SHAPES[series % SHAPES.len()];
    let corner = |i: u32| {
        let angle = (f64::from(i) / f64::from(sides) + first) * std::f64::consts::TAU;
        ((RADIUS * angle.cos()).round() as i32, (RADIUS * angle.sin()).round() as i32)
    };
    let colour = COLOURS[series % COLOURS.len()];
    let inside = if filled { colour } else { WHITE };
    let corners: Vec<(i32, i32)> = (0..=sides).map(corner).collect();
    EmptyElement::at((0, 0))
        + Polygon::new(corners.clone(), inside.filled())
        + PathElement::new(corners, colour.stroke_width(2))
}

/// A tick's label, such as 0.001 or 1000.
fn tick(value: f64) -> String {
    if value >= 1.0 { format!("{value:.0}") } else { format!("{value:.4}").trim_end_matches('0').to_owned() }
}
