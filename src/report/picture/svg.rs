//! A laid out scene as SVG text.

use svg::Document;
use svg::node::element::{Definitions, Group, Marker, Path, Rectangle, Text, Title, path::Data};

use super::Detail;
use super::fold::{Point, Route};
use super::layout::{Layout, Place};
use super::scene::{Arrow, Scene, Shape, Subject};
use crate::report::DeviceRecord;
use crate::text::{escaped, escaped_lines};
use crate::units::{bytes, number, short};

pub(super) const MARGIN: f64 = 24.0;
pub(super) const HEADER: f64 = 62.0;
const HEADER_CHARACTER: f64 = 6.0;
const LABEL_CHARACTER: f64 = 6.0;
const LEGEND_COLUMN: f64 = 400.0;
const LEGEND_ROW: f64 = 22.0;
pub(in crate::report) const INK: &str = "#1f2933";
pub(in crate::report) const FAINT: &str = "#9aa5b1";
pub(in crate::report) const FONT: &str = "system-ui, -apple-system, 'Segoe UI', Helvetica, Arial, sans-serif";

/// Ten colours that stay apart also for most colour-blind readers; more devices get shades by the golden angle.
const PALETTE: [&str; 10] =
    ["#4c78a8", "#f58518", "#54a24b", "#b279a2", "#e45756", "#72b7b2", "#d6a800", "#9d755d", "#ff7fb0", "#7f6bd6"];

/// The whole picture: title, legend and graph.
pub fn render(subject: &Subject, scene: &Scene, layout: &Layout) -> String {
    let used = subject.used_devices();
    let facts = facts(subject, scene);
    let widest = [layout.width, LEGEND_COLUMN, facts.chars().count() as f64 * HEADER_CHARACTER];
    let width = widest.into_iter().fold(0.0, f64::max) + 2.0 * MARGIN;
    let columns = (((width - 2.0 * MARGIN) / LEGEND_COLUMN) as usize).clamp(1, 4);
    let rows = used.len().div_ceil(columns);
    let top = HEADER + if rows > 0 { rows as f64 * LEGEND_ROW + MARGIN / 2.0 } else { 0.0 };
    let (width, height) = (width.ceil(), (top + layout.height + MARGIN).ceil());
    let left = (width - layout.width) / 2.0;
    let document = document(width, height)
        .add(arrow_heads())
        .add(rectangle(0.0, 0.0, width, height).set("fill", "white"))
        .add(header(subject, facts))
        .add(legend(subject, &used, rows).set("transform", format!("translate({MARGIN} {HEADER})")))
        .add(graph(subject, scene, layout).set("transform", format!("translate({left:.1} {top:.1})")));
    format!("{document}\n")
}

/// An empty document of this size.
pub(in crate::report) fn document(width: f64, height: f64) -> Document {
    Document::new()
        .set("viewBox", (0, 0, width as i64, height as i64))
        .set("width", width)
        .set("height", height)
        .set("font-family", FONT)
}

pub(in crate::report) fn rectangle(x: f64, y: f64, width: f64, height: f64) -> Rectangle {
    let place = |value: f64| format!("{value:.1}");
    Rectangle::new().set("x", place(x)).set("y", place(y)).set("width", place(width)).set("height", place(height))
}

/// What is shown beside the pointer.
pub(in crate::report) fn title(content: &str) -> Title {
    // Line breaks are ours: names with any are escaped where they come in.
    Title::new(escaped_lines(content))
}

pub(in crate::report) fn text(content: impl AsRef<str>, x: f64, y: f64, size: f64) -> Text {
    Text::new(escaped(content.as_ref()))
        .set("x", format!("{x:.1}"))
        .set("y", format!("{y:.1}"))
        .set("font-size", size)
        .set("fill", INK)
}

fn arrow_heads() -> Definitions {
    let head = |id: &str, colour: &str| {
        Marker::new()
            .set("id", id)
            .set("viewBox", "0 0 8 8")
            .set("refX", 7.5)
            .set("refY", 4)
            .set("markerWidth", 6)
            .set("markerHeight", 6)
            .set("orient", "auto")
            .add(Path::new().set("d", "M0 0.5 L8 4 L0 7.5 Z").set("fill", colour))
    };
    Definitions::new().add(head("inside", FAINT)).add(head("across", INK))
}

fn header(subject: &Subject, facts: String) -> Group {
    let name = subject.instance.metadata.name.as_deref().unwrap_or("graph");
    let printable: String = escaped(name).chars().take(80).collect();
    Group::new()
        .add(text(printable, MARGIN, 24.0, 15.0).set("font-weight", 600))
        .add(text(facts, MARGIN, 42.0, 11.5).set("fill", "#52606d"))
}

/// Size, largest load and level of detail.
fn facts(subject: &Subject, scene: &Scene) -> String {
    let mut facts = format!("{} nodes, {} edges", subject.graph.node_count(), subject.graph.edge_count());
    if let Some(largest) = subject.split.and_then(|split| split.iter().map(|d| d.load).max_by(f64::total_cmp)) {
        facts += &format!(" · largest load {}", number(largest));
    }
    facts += match (scene.detail, subject.split) {
        (Detail::Nodes, _) => "",
        (Detail::Chains, _) => " · chains drawn as one box",
        (Detail::Stages, Some(_)) => " · one box per stage, transfer times on the arrows",
        (Detail::Stages, None) => " · cut into segments, transfer times on the arrows",
    };
    if scene.left_out > 0 {
        facts += &format!(" · {} weak arrows left out", scene.left_out);
    }
    facts
}

fn graph(subject: &Subject, scene: &Scene, layout: &Layout) -> Group {
    let mut group = Group::new();
    for (arrow, route) in scene.arrows.iter().zip(&layout.routes) {
        group = group.add(arrow_line(subject, scene, arrow, route));
    }
    for (shape, place) in scene.boxes.iter().zip(&layout.boxes) {
        group = group.add(node_box(subject, shape, place, layout.labelled));
    }
    if scene.detail == Detail::Stages {
        // What stays on a device is not transferred.
        let labelled = |arrow: &Arrow| arrow.traffic > 0.0 && (arrow.crosses || subject.split.is_none());
        for (arrow, route) in scene.arrows.iter().zip(&layout.routes).filter(|(arrow, _)| labelled(arrow)) {
            group = group.add(traffic_label(arrow, route));
        }
    }
    group
}

fn arrow_line(subject: &Subject, scene: &Scene, arrow: &Arrow, route: &Route) -> Path {
    let crosses = arrow.crosses && subject.split.is_some();
    let (colour, head) = if crosses { (INK, "url(#across)") } else { (FAINT, "url(#inside)") };
    let line = Path::new()
        .set("d", curve(route))
        .set("fill", "none")
        .set("stroke", colour)
        .set("stroke-opacity", if crosses { 0.75 } else { 0.6 })
        .set("stroke-width", if crosses { 1.5 } else { 1.0 })
        .set("marker-end", head);
    let from = scene.boxes[arrow.from].lines.first().map_or("", String::as_str);
    let to = scene.boxes[arrow.to].lines.first().map_or("", String::as_str);
    let line = line.add(title(&format!("{from} → {to}: transfer {}", number(arrow.traffic))));
    if arrow.against { line.set("stroke-dasharray", "5 3") } else { line }
}

fn curve(route: &Route) -> Data {
    let points: Vec<Point> =
        route.0.iter().map(|&(x, y)| ((10.0 * x).round() / 10.0, (10.0 * y).round() / 10.0)).collect();
    points[1..].chunks_exact(3).fold(Data::new().move_to(points[0]), |data, curve| {
        let [(x1, y1), (x2, y2), (x, y)] = [curve[0], curve[1], curve[2]];
        data.cubic_curve_to((x1, y1, x2, y2, x, y))
    })
}

/// What crosses, on a ground of its own: not all programs know how to draw an outline behind letters.
fn traffic_label(arrow: &Arrow, route: &Route) -> Group {
    let (x, y) = route.middle();
    let label = short(arrow.traffic);
    let width = label.chars().count() as f64 * LABEL_CHARACTER + 4.0;
    let ground = rectangle(x - width / 2.0, y - 7.0, width, 14.0).set("fill", "white").set("fill-opacity", 0.85);
    Group::new().add(ground).add(text(label, x, y + 4.0, 10.5).set("text-anchor", "middle"))
}

fn node_box(subject: &Subject, shape: &Shape, place: &Place, labelled: bool) -> Group {
    let colour = shape.device.map_or_else(|| FAINT.to_string(), |device| device_colour(subject, device));
    let (left, top) = (place.centre.0 - place.width / 2.0, place.centre.1 - place.height / 2.0);
    let opacity = match (labelled, shape.backward) {
        (true, false) => 0.28,
        (true, true) => 0.12,
        (false, false) => 0.9,
        (false, true) => 0.35,
    };
    let mut outline = rectangle(left, top, place.width, place.height)
        .set("rx", 4)
        .set("fill", colour.clone())
        .set("fill-opacity", opacity)
        .set("stroke", colour)
        .set("stroke-width", 1.2);
    if shape.backward {
        outline = outline.set("stroke-dasharray", "3 2");
    }
    let mut group = Group::new()
        .set("class", "box")
        .add(title(&shape.tooltip))
        .add(rectangle(left, top, place.width, place.height).set("rx", 4).set("fill", "white"))
        .add(outline);
    if labelled {
        let first = top + 4.0 + 11.0;
        for (i, line) in shape.lines.iter().enumerate() {
            let label = text(line.clone(), place.centre.0, first + 15.0 * i as f64, 11.0).set("text-anchor", "middle");
            group = group.add(if i == 0 && shape.lines.len() > 1 { label.set("font-weight", 600) } else { label });
        }
    }
    group
}

/// The colour of a device: grey for CPUs, a colour of its own for each accelerator.
fn device_colour(subject: &Subject, device: usize) -> String {
    let devices = subject.split.unwrap_or_default();
    if devices.get(device).is_some_and(DeviceRecord::is_cpu) {
        return "#7b8794".into();
    }
    colour(devices[..device].iter().filter(|d| !d.is_cpu()).count())
}

/// The colour of what has this number: of an accelerator, or of a stage.
pub(super) fn colour(index: usize) -> String {
    match PALETTE.get(index) {
        Some(colour) => (*colour).into(),
        None => format!("hsl({:.0}, 55%, 50%)", index as f64 * 137.508 % 360.0),
    }
}

/// One entry per device: colour, name, a bar of its load, and the figures.
fn legend(subject: &Subject, used: &[usize], rows: usize) -> Group {
    let devices = subject.split.unwrap_or_default();
    let largest = devices.iter().map(|d| d.load).fold(f64::MIN_POSITIVE, f64::max);
    let mut group = Group::new();
    for (place, &i) in used.iter().enumerate() {
        let device = &devices[i];
        let (x, y) = ((place / rows) as f64 * LEGEND_COLUMN, (place % rows) as f64 * LEGEND_ROW);
        let colour = device_colour(subject, i);
        let bar = |width: f64| rectangle(x + 128.0, y + 1.0, width, 10.0).set("rx", 2);
        let figures = format!("{} · {} · {} nodes", number(device.load), bytes(device.memory), device.nodes.len());
        group = group
            .add(rectangle(x, y, 12.0, 12.0).set("rx", 3).set("fill", colour.clone()))
            .add(text(&subject.labels[i], x + 18.0, y + 10.0, 11.5))
            .add(bar(60.0).set("fill", "#e4e7eb"))
            .add(bar(60.0 * device.load / largest).set("fill", colour))
            .add(text(figures, x + 196.0, y + 10.0, 11.0).set("fill", "#3e4c59"));
    }
    group
}
