//! Charts, one below the other, as SVG in the size of a paper's column: a unit is a point, and texts have 8 of them.

use svg::Document;
use svg::node::element::{Group, Line};

use super::axis::Axis;
use super::marks::style;
use crate::report::picture::svg::{FONT, INK, rectangle, text, title};

/// Points in a millimetre.
const MILLIMETRE: f64 = 72.0 / 25.4;
const FONT_SIZE: f64 = 8.0;
const TITLE_SIZE: f64 = 9.0;
/// About the width of a character.
const CHARACTER: f64 = 0.55 * FONT_SIZE;
/// The height of a line of text.
const LINE: f64 = 12.0;
const MARGIN: f64 = 5.0;
/// The length of a series' line in the legend.
const SAMPLE: f64 = 22.0;
/// The most of the width that names beside an axis take.
const NAMES: f64 = 0.35;
const GRID: &str = "#dcdcdc";

/// What is drawn in a chart, at places on its axes, in the style of a series.
#[derive(Debug, Clone, PartialEq)]
pub enum Shape {
    /// A line.
    Line(Vec<(f64, f64)>),
    /// Marks at some places, filled or hollow.
    Marks(Vec<(f64, f64)>, bool),
    /// A mark at a place, filled or hollow, that tells its name where a pointer rests on it.
    Named((f64, f64), bool, String),
    /// A box between two corners, filled or hollow.
    Box((f64, f64), (f64, f64), bool),
    /// Words that begin at a place.
    Words((f64, f64), String),
}

/// A chart.
#[derive(Debug, Clone, PartialEq)]
pub struct Chart {
    /// What stands above it.
    pub title: String,
    /// The axis along the bottom.
    pub x: Axis,
    /// The axis on the left.
    pub y: Axis,
    /// Its height in points, without what stands around it; `None` is half its width.
    pub height: Option<f64>,
    /// What is in it, with the number of its series.
    pub shapes: Vec<(usize, Shape)>,
}

/// Charts with one legend.
#[derive(Debug, Clone, PartialEq)]
pub struct Figure {
    /// From top to bottom.
    pub charts: Vec<Chart>,
    /// What each series is called.
    pub series: Vec<String>,
    /// Remarks below the legend.
    pub notes: Vec<String>,
}

impl Figure {
    /// The figure as SVG, so many millimetres wide and as high as it takes.
    pub fn svg(&self, width: f64) -> String {
        let width = width * MILLIMETRE;
        let mut all = Group::new();
        let mut top = MARGIN;
        for chart in &self.charts {
            let (drawn, height) = chart.draw(top, width);
            all = all.add(drawn);
            top += height;
        }
        let (legend, height) = self.legend(top, width);
        top += height;
        for note in &self.notes {
            top += LINE;
            all = all.add(text(note, MARGIN, top - 4.0, FONT_SIZE));
        }
        let height = top + MARGIN;
        let millimetres = |points: f64| format!("{:.2}mm", points / MILLIMETRE);
        let document = Document::new()
            .set("viewBox", format!("0 0 {width:.2} {height:.2}"))
            .set("width", millimetres(width))
            .set("height", millimetres(height))
            .set("font-family", FONT)
            .add(rectangle(0.0, 0.0, width, height).set("fill", "white"))
            .add(all)
            .add(legend);
        format!("{document}\n")
    }

    /// A line and a mark for each series, in as many columns as there is room for.
    fn legend(&self, top: f64, width: f64) -> (Group, f64) {
        let most = (width - 2.0 * MARGIN - SAMPLE) / CHARACTER - 2.0;
        let names: Vec<String> = self.series.iter().map(|name| shortened(name, most)).collect();
        let longest = names.iter().map(|name| name.chars().count()).max().unwrap_or(0);
        let entry = SAMPLE + (longest as f64 + 2.0) * CHARACTER;
        let columns = (((width - 2.0 * MARGIN) / entry) as usize).max(1);
        let mut legend = Group::new().set("class", "legend");
        for (i, name) in names.iter().enumerate() {
            let (x, y) = (MARGIN + (i % columns) as f64 * entry, top + (i / columns) as f64 * LINE + LINE / 2.0);
            let (end, style) = (x + SAMPLE - 4.0, style(i));
            legend = legend
                .add(style.line(&[(x, y), (end, y)]))
                .add(style.mark((f64::midpoint(x, end), y), true))
                .add(text(name, x + SAMPLE, y + 3.0, FONT_SIZE).add(title(&self.series[i])));
        }
        (legend, names.len().div_ceil(columns) as f64 * LINE)
    }
}

impl Chart {
    /// The chart below `top`, and how high it is.
    fn draw(&self, top: f64, width: f64) -> (Group, f64) {
        let most = NAMES * width / CHARACTER;
        let names: Vec<String> = self.y.ticks.iter().map(|(_, name)| shortened(name, most)).collect();
        let longest = names.iter().map(|name| name.chars().count()).max().unwrap_or(0);
        let beside = if self.y.label.is_empty() { 0.0 } else { LINE };
        let left = MARGIN + beside + longest as f64 * CHARACTER + 4.0;
        let right = width - 2.0 * MARGIN;
        let above = if self.title.is_empty() { 0.0 } else { LINE + 2.0 };
        let height = self.height.unwrap_or(0.5 * (right - left));
        let frame = Frame { left, right, top: top + above, bottom: top + above + height };
        let mut chart = Group::new().set("class", "chart");
        if above > 0.0 {
            let middle = f64::midpoint(left, right);
            chart = chart.add(text(&self.title, middle, top + TITLE_SIZE, TITLE_SIZE).set("text-anchor", "middle"));
        }
        chart = chart.add(self.axes(&frame, &names));
        for (series, shape) in &self.shapes {
            chart = chart.add(self.draw_shape(&frame, *series, shape));
        }
        (chart, above + height + 2.0 * LINE + MARGIN)
    }

    fn axes(&self, frame: &Frame, names: &[String]) -> Group {
        let Frame { left, right, top, bottom } = *frame;
        let middle = f64::midpoint(left, right);
        let mut axes = Group::new().set("class", "axes");
        for (value, label) in &self.x.ticks {
            let x = frame.x(self.x.place(*value));
            axes = axes.add(line((x, top), (x, bottom), GRID));
            axes = axes.add(text(label, x, bottom + LINE - 2.0, FONT_SIZE).set("text-anchor", "middle"));
        }
        for ((value, _), name) in self.y.ticks.iter().zip(names) {
            let y = frame.y(self.y.place(*value));
            if self.y.has_grid() {
                axes = axes.add(line((left, y), (right, y), GRID));
            }
            axes = axes.add(text(name, left - 4.0, y + 3.0, FONT_SIZE).set("text-anchor", "end"));
        }
        if !self.y.label.is_empty() {
            let (x, y) = (MARGIN + FONT_SIZE, f64::midpoint(top, bottom));
            let turn = format!("rotate(-90 {x:.1} {y:.1})");
            axes = axes.add(text(&self.y.label, x, y, FONT_SIZE).set("text-anchor", "middle").set("transform", turn));
        }
        axes.add(text(&self.x.label, middle, bottom + 2.0 * LINE - 2.0, FONT_SIZE).set("text-anchor", "middle"))
            .add(line((left, top), (left, bottom), INK))
            .add(line((left, bottom), (right, bottom), INK))
    }

    fn draw_shape(&self, frame: &Frame, series: usize, shape: &Shape) -> Group {
        let place = |&(x, y): &(f64, f64)| (frame.x(self.x.place(x)), frame.y(self.y.place(y)));
        let style = style(series);
        let group = Group::new();
        match shape {
            Shape::Line(points) if points.is_empty() => group,
            Shape::Line(points) => group.add(style.line(&points.iter().map(place).collect::<Vec<_>>())),
            Shape::Marks(points, is_filled) => {
                points.iter().fold(group, |group, point| group.add(style.mark(place(point), *is_filled)))
            }
            Shape::Named(point, is_filled, name) => group.add(style.mark(place(point), *is_filled).add(title(name))),
            Shape::Box(one, other, is_filled) => {
                let ((x0, y0), (x1, y1)) = (place(one), place(other));
                let fill = if *is_filled { style.colour } else { "white" };
                let outline = rectangle(x0.min(x1), y0.min(y1), (x1 - x0).abs(), (y1 - y0).abs());
                group.add(outline.set("fill", fill).set("stroke", style.colour))
            }
            Shape::Words(point, words) => {
                let (x, y) = place(point);
                group.add(text(words, x + 6.0, y + 3.0, FONT_SIZE - 1.0))
            }
        }
    }
}

/// Where the axes are, in points.
struct Frame {
    left: f64,
    right: f64,
    top: f64,
    bottom: f64,
}

impl Frame {
    fn x(&self, place: f64) -> f64 {
        self.left + place * (self.right - self.left)
    }

    fn y(&self, place: f64) -> f64 {
        self.bottom - place * (self.bottom - self.top)
    }
}

fn line((x1, y1): (f64, f64), (x2, y2): (f64, f64), colour: &str) -> Line {
    let place = |value: f64| format!("{value:.2}");
    Line::new()
        .set("x1", place(x1))
        .set("y1", place(y1))
        .set("x2", place(x2))
        .set("y2", place(y2))
        .set("stroke", colour)
        .set("stroke-width", 0.6)
}

/// A name of at most so many characters, without some in the middle: ends tell spec strings apart.
fn shortened(name: &str, most: f64) -> String {
    let (characters, most) = (name.chars().collect::<Vec<char>>(), most.max(3.0) as usize);
    if characters.len() <= most {
        return name.into();
    }
    let (head, tail) = (&characters[..most / 3], &characters[characters.len() - (most - most / 3 - 1)..]);
    head.iter().chain(&['…']).chain(tail).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn names_are_as_long_as_there_is_room_and_keep_both_ends(name in "[a-zä=:]{0,60}", most in 3usize..40) {
            let short: Vec<char> = shortened(&name, most as f64).chars().collect();
            let long: Vec<char> = name.chars().collect();
            prop_assert_eq!(short.len(), long.len().min(most));
            prop_assert_eq!((short.first(), short.last()), (long.first(), long.last()));
            prop_assert_eq!(short.contains(&'…'), long.len() > most);
        }
    }
}
