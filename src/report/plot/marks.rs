//! How series are told apart: by colour, mark and dash, so that neither colour vision nor a colour printer is needed.

use svg::node::element::Path;

/// Okabe and Ito's colours that show on white, the darkest ones first, and black.
const COLOURS: [&str; 7] = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000"];

/// Corners of a mark of this many sides around its centre, the first one at this angle (in turns).
const MARKS: [(u32, f64); 6] = [(16, 0.0), (3, 0.75), (4, 0.125), (3, 0.25), (4, 0.0), (5, 0.75)];

/// Lengths of dashes and of what is between them.
const DASHES: [&str; 4] = ["none", "5 2", "1 2", "6 2 1 2"];

/// Distance of a mark's corners from its centre in points.
const RADIUS: f64 = 3.0;

/// How a series is drawn.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Style {
    /// The colour of its lines and marks.
    pub colour: &'static str,
    dash: &'static str,
    mark: (u32, f64),
}

/// That of the series with this number. The first 24 differ in mark or dash, and the first 126 in one of the three.
pub fn style(series: usize) -> Style {
    // As 4 and 6 share a factor, pairs of a mark and a dash come again after 12 series, if not with the next dash.
    let dash = series + series / 12;
    Style {
        colour: COLOURS[series % COLOURS.len()],
        dash: DASHES[dash % DASHES.len()],
        mark: MARKS[series % MARKS.len()],
    }
}

impl Style {
    /// The mark at a place in points, filled or hollow.
    pub fn mark(&self, (x, y): (f64, f64), is_filled: bool) -> Path {
        let (sides, first) = self.mark;
        let corner = |i: u32| {
            let angle = (f64::from(i) / f64::from(sides) + first) * std::f64::consts::TAU;
            (x + RADIUS * angle.cos(), y + RADIUS * angle.sin())
        };
        let corners: Vec<(f64, f64)> = (0..sides).map(corner).collect();
        let fill = if is_filled { self.colour } else { "white" };
        outline(&corners).set("class", "mark").set("fill", fill).set("stroke", self.colour).set("stroke-width", 1)
    }

    /// A line through places in points.
    pub fn line(&self, places: &[(f64, f64)]) -> Path {
        Path::new()
            .set("d", path(places))
            .set("fill", "none")
            .set("stroke", self.colour)
            .set("stroke-dasharray", self.dash)
            .set("stroke-width", 1.2)
    }
}

/// A closed line.
fn outline(places: &[(f64, f64)]) -> Path {
    Path::new().set("d", path(places) + "Z")
}

fn path(places: &[(f64, f64)]) -> String {
    let step = |(i, (x, y)): (usize, &(f64, f64))| format!("{}{x:.2} {y:.2}", if i == 0 { 'M' } else { 'L' });
    places.iter().enumerate().map(step).collect()
}

#[cfg(test)]
mod tests {
    use super::style;

    #[test]
    fn series_are_told_apart_with_and_without_colours() {
        let styles: Vec<_> = (0..126).map(style).collect();
        for (i, one) in styles.iter().enumerate() {
            for (j, other) in styles.iter().enumerate().skip(i + 1) {
                assert_ne!(one, other, "{i} and {j}");
                assert!(j >= 24 || (one.mark, one.dash) != (other.mark, other.dash), "{i} and {j}");
            }
        }
    }
}
