//! A timeline as a Gantt chart in SVG.

use svg::node::element::{Group, Line, Rectangle};

use super::{owner, span_name, track_name};
use crate::report::picture::svg::{FAINT, INK, document, rectangle, text, title};
use crate::simulate::{Pass, Simulation, Span, TrackKind, Work};
use crate::text::escaped;
use crate::units::{number, percent, short};

const MARGIN: f64 = 24.0;
const HEADER: f64 = 84.0;
const LABELS: f64 = 150.0;
const WIDTH: f64 = 1200.0;
const ROW: f64 = 22.0;
const GAP: f64 = 3.0;
const AXIS: f64 = 30.0;
/// About how many marks the time axis has.
const MARKS: f64 = 10.0;
/// Spans that are narrower together than this many pixels are drawn as one, if they are no further apart than that.
const NARROWEST: f64 = 2.0;
const CLOSEST: f64 = 0.25;
/// The width of a character of a span's label.
const CHARACTER: f64 = 6.5;

const FORWARD: &str = "#7ba7d9";
const BACKWARD: &str = "#54a24b";
const WEIGHT_GRADIENT: &str = "#72b7b2";
const RECOMPUTE: &str = "#c6dcf2";
const TRANSFER: &str = "#d6a800";
const ALL_REDUCE: &str = "#b279a2";

/// A row per device, and below it one for each of its engines and links that was busy: forward passes in blue,
/// backward passes in green, those of the weights alone in teal, lighter from stage to stage of one device, and the
/// rest in colours of its own. What is too narrow to be told apart is drawn as one box, so that the picture's size does
/// not grow with the microbatches.
pub fn gantt(simulation: &Simulation) -> String {
    let rows = rows(simulation);
    let makespan = simulation.makespan();
    let scale = if makespan > 0.0 { WIDTH / makespan } else { 0.0 };
    let height = HEADER + rows.len() as f64 * ROW + AXIS + MARGIN;
    let width = LABELS + WIDTH + 2.0 * MARGIN;
    let mut chart = Group::new().set("transform", format!("translate({} {HEADER})", MARGIN + LABELS));
    chart = chart.add(axis(makespan, scale, rows.len() as f64 * ROW));
    let shades = shades(simulation);
    for (i, row) in rows.iter().enumerate() {
        let top = i as f64 * ROW;
        chart = chart.add(text(label(simulation, row), -LABELS, top + 14.0, 11.5));
        for shown in boxes(simulation, row, scale) {
            chart = chart.add(draw(simulation, &shown, top, scale, &shades));
        }
    }
    let document = document(width, height)
        .add(rectangle(0.0, 0.0, width, height).set("fill", "white"))
        .add(header(simulation))
        .add(chart);
    format!("{document}\n")
}

/// A track and its spans in order.
struct Row {
    kind: TrackKind,
    spans: Vec<Span>,
}

/// The tracks of each device, one below the other; engines and links without work are left out.
fn rows(simulation: &Simulation) -> Vec<Row> {
    let tracks = &simulation.template().tracks;
    let mut rows: Vec<Row> = tracks.iter().map(|track| Row { kind: track.kind, spans: Vec::new() }).collect();
    for span in simulation.spans().filter(|span| span.end > span.start) {
        rows[simulation.operation(&span).track].spans.push(span);
    }
    rows.retain(|row| matches!(row.kind, TrackKind::Device(_)) || !row.spans.is_empty());
    rows.iter_mut().for_each(|row| row.spans.sort_by(|a, b| a.start.total_cmp(&b.start)));
    rows.sort_by_key(|row| (owner(&simulation.pipeline, row.kind), row.kind));
    rows
}

fn label(simulation: &Simulation, row: &Row) -> String {
    let name = track_name(&simulation.pipeline, row.kind);
    let printable = escaped(&name).into_owned();
    let most = (LABELS / CHARACTER) as usize;
    if printable.chars().count() <= most {
        printable
    } else {
        printable.chars().take(most - 1).chain(['…']).collect()
    }
}

/// A box of the chart: a span, or several that are too narrow.
struct Shown {
    first: Span,
    end: f64,
    count: usize,
}

fn boxes(simulation: &Simulation, row: &Row, scale: f64) -> Vec<Shown> {
    let mut boxes: Vec<Shown> = Vec::new();
    let looks = |span: &Span| (simulation.operation(span).work, simulation.pass(span));
    for &span in &row.spans {
        let joins = |last: &Shown| {
            let too_narrow = (span.end - last.first.start) * scale < NARROWEST;
            let side_by_side = span.start < last.end && looks(&span) == looks(&last.first);
            too_narrow && (span.start - last.end) * scale < CLOSEST || side_by_side
        };
        match boxes.last_mut().filter(|last| joins(last)) {
            Some(last) => {
                last.end = last.end.max(span.end);
                last.count += 1;
            }
            None => boxes.push(Shown { first: span, end: span.end, count: 1 }),
        }
    }
    boxes
}

/// How light each stage is: which of its device's stages it is, from 0 to 1.
fn shades(simulation: &Simulation) -> Vec<f64> {
    let mut shades = vec![0.0; simulation.pipeline.stages.len()];
    for stages in simulation.pipeline.stages_by_device() {
        let count = stages.len() as f64;
        stages.into_iter().enumerate().for_each(|(i, stage)| shades[stage] = i as f64 / count);
    }
    shades
}

fn draw(simulation: &Simulation, shown: &Shown, top: f64, scale: f64, shades: &[f64]) -> Group {
    let span = &shown.first;
    let operation = simulation.operation(span);
    let colour = match (operation.work, simulation.pass(span)) {
        (Work::Compute, Pass::Forward) => FORWARD,
        (Work::Compute, Pass::Backward) => BACKWARD,
        (Work::Compute, Pass::WeightGradient) => WEIGHT_GRADIENT,
        (Work::Recompute, _) => RECOMPUTE,
        (Work::AllReduce, _) => ALL_REDUCE,
        (Work::Input | Work::Output | Work::Message, _) => TRANSFER,
    };
    let shade = shades[simulation.pipeline.blocks[operation.block].stage];
    let (left, width) = (span.start * scale, (shown.end - span.start) * scale);
    let bar = fine_rectangle(left, top + GAP / 2.0, width, ROW - GAP)
        .set("fill", colour)
        .set("fill-opacity", format!("{:.2}", 1.0 - 0.55 * shade));
    let group = Group::new().add(bar.add(title(&tooltip(simulation, shown))));
    let number = span.microbatch.map(|microbatch| microbatch.to_string()).unwrap_or_default();
    if shown.count > 1 || (number.len() as f64 + 1.0) * CHARACTER > width || operation.work != Work::Compute {
        return group;
    }
    let middle = left + width / 2.0;
    group.add(text(number, middle, top + 15.0, 10.5).set("text-anchor", "middle"))
}

/// A box with an outline, wide as it is: boxes that touch stay apart.
fn fine_rectangle(left: f64, top: f64, width: f64, height: f64) -> Rectangle {
    let place = |value: f64| format!("{value:.2}");
    Rectangle::new()
        .set("x", place(left))
        .set("y", place(top))
        .set("width", place(width))
        .set("height", place(height))
        .set("stroke", "white")
        .set("stroke-width", if width > 4.0 { 0.8 } else { 0.0 })
}

fn tooltip(simulation: &Simulation, shown: &Shown) -> String {
    let (start, end) = (number(shown.first.start), number(shown.end));
    if shown.count > 1 {
        return format!("{} operations: {start} to {end}", shown.count);
    }
    let block = &simulation.pipeline.blocks[simulation.operation(&shown.first).block];
    let stage = escaped(&simulation.pipeline.stages[block.stage].name);
    format!("{}, {stage}: {start} to {end}", span_name(simulation, &shown.first))
}

fn header(simulation: &Simulation) -> Group {
    let pipeline = &simulation.pipeline;
    let printable: String = escaped(&pipeline.name).chars().take(80).collect();
    let facts = format!(
        "{}, {} microbatches · makespan {} · bubble {}",
        simulation.schedule,
        simulation.options.microbatches,
        number(simulation.makespan()),
        percent(simulation.bubble()),
    );
    let kinds = [
        ("forward", FORWARD),
        ("backward", BACKWARD),
        ("recompute", RECOMPUTE),
        ("transfer", TRANSFER),
        ("all-reduce", ALL_REDUCE),
        ("weight gradient", WEIGHT_GRADIENT),
    ];
    let splits = pipeline.blocks.iter().any(|block| block.pass == Pass::WeightGradient);
    let kinds = kinds.into_iter().filter(|&(_, colour)| splits || colour != WEIGHT_GRADIENT);
    let mut group = Group::new()
        .add(text(printable, MARGIN, 24.0, 15.0).set("font-weight", 600))
        .add(text(facts, MARGIN, 42.0, 11.5).set("fill", "#52606d"));
    for (i, (name, colour)) in kinds.enumerate() {
        let left = MARGIN + i as f64 * 100.0;
        group = group.add(rectangle(left, 54.0, 12.0, 12.0).set("rx", 3).set("fill", colour)).add(text(
            name,
            left + 18.0,
            64.0,
            11.5,
        ));
    }
    group
}

/// Marks at round times, and a line down from each.
fn axis(makespan: f64, scale: f64, height: f64) -> Group {
    let mut group = Group::new();
    let step = round_step(makespan / MARKS);
    let marks = if step > 0.0 { (makespan / step) as usize + 1 } else { 0 };
    for mark in 0..marks {
        let time = mark as f64 * step;
        let place = format!("{:.2}", time * scale);
        let line = Line::new().set("x1", place.clone()).set("x2", place).set("y1", 0).set("y2", height + 4.0);
        group = group
            .add(line.set("stroke", FAINT).set("stroke-opacity", 0.4))
            .add(text(short(time), time * scale, height + 18.0, 10.5).set("text-anchor", "middle").set("fill", INK));
    }
    group
}

/// The least of 1, 2 and 5 times a power of ten that is not below `least`; 0 for none.
fn round_step(least: f64) -> f64 {
    if least <= 0.0 {
        return 0.0;
    }
    let power = 10f64.powi(least.log10().floor() as i32);
    [1.0, 2.0, 5.0, 10.0].into_iter().map(|factor| factor * power).find(|&step| step >= least).unwrap_or(10.0 * power)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_are_at_round_times() {
        assert_eq!([0.0, 0.7, 1.0, 1.2, 3.0, 60.0].map(round_step), [0.0, 1.0, 1.0, 2.0, 5.0, 100.0]);
    }
}
