//! Colours, shapes and axes of plots.

use plotters::coord::combinators::{BindKeyPoints, WithKeyPoints};
use plotters::element::ComposedElement;
use plotters::prelude::*;

/// Okabe and Ito's colours that show on white, the darkest ones first.
pub const COLOURS: [RGBColor; 6] = [
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

/// A shape at `At`, its fill and its outline in pixels around it.
pub type Marker<'a, At> = ComposedElement<At, SVGBackend<'a>, Polygon<(i32, i32)>, PathElement<(i32, i32)>>;

/// The shape of the series with this number. Beyond six colours come again with another shape.
pub fn marker<'a, At>(at: At, series: usize, filled: bool) -> Marker<'a, At> {
    let (sides, first) = SHAPES[(series + series / COLOURS.len()) % SHAPES.len()];
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

/// A logarithmic axis that holds all `values`, with ticks at powers of ten, and at 2 and 5 times them where it is short.
/// Values have to be positive.
pub fn log_axis(values: impl Iterator<Item = f64>) -> WithKeyPoints<LogCoord<f64>> {
    let (low, high) = values.fold((f64::MAX, f64::MIN_POSITIVE), |(low, high), v| (low.min(v), high.max(v)));
    let (low, high) = (low / 1.3, high * 1.3);
    let decades = low.log10().floor() as i32..=high.log10().ceil() as i32;
    let steps: &[f64] = if high / low < 1e3 { &[1.0, 2.0, 5.0] } else { &[1.0] };
    let ticks = decades.flat_map(|decade| steps.iter().map(move |step| step * 10f64.powi(decade)));
    let axis: LogCoord<f64> = (low..high).log_scale().into();
    axis.with_key_points(ticks.filter(|tick| (low..high).contains(tick)).collect())
}

/// A tick's label, such as 0.001 or 10,000.
pub fn tick(value: f64) -> String {
    if value >= 1000.0 {
        format!("{:.0},{:03.0}", (value / 1000.0).floor(), value % 1000.0)
    } else if value >= 1.0 {
        format!("{value:.0}")
    } else {
        format!("{value:.4}").trim_end_matches('0').to_owned()
    }
}
