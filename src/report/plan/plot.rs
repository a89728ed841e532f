//! Time against memory of all plans, and where the time of the best goes.

use super::{name_of, serving};
use crate::plan::{BEST, Breakdown, Candidate, MappedPipeline, Plan};
use crate::report::plot::chart::{Chart, Figure, Shape};
use crate::report::plot::{Axis, WIDTH};
use crate::units::{bytes, number};

const GIB: f64 = 1_073_741_824.0;

/// How much longer the axes are than what they show.
const ROOM: f64 = 1.08;

/// The height of a bar and of what is between two of them, in points.
const ROW: f64 = 16.0;

/// A step's time against the memory of the fullest device, as SVG: a mark for each simulated candidate that fits, of its number
/// of stages, which tells the candidate's name, and filled where no other takes both less time and less memory, which a line joins. A further line is the time
/// that no plan is below. Of plans that serve, latency and tokens against samples a second.
pub fn plot(plan: &Plan) -> String {
    if !plan.front().is_empty() {
        return serving::plot(plan, name_of);
    }
    let fitting = fitting(plan);
    let points: Vec<&MappedPipeline> = fitting.iter().map(|(_, point)| *point).collect();
    let front = front(&points);
    let largest = |axis: fn((f64, f64)) -> f64| ROOM * points.iter().map(|&point| axis(at(point))).fold(1e-9, f64::max);
    let (memory, time) = (largest(|point| point.0), largest(|point| point.1));
    let mut lengths: Vec<usize> = points.iter().map(|point| point.problem.stages.stages.len()).collect();
    lengths.sort_unstable();
    lengths.dedup();
    let series_of =
        |point: &MappedPipeline| lengths.partition_point(|&known| known < point.problem.stages.stages.len());
    let is_on_front = |point: &MappedPipeline| front.iter().any(|&other| std::ptr::eq(other, point));
    let mark = |&(candidate, point): &(&Candidate, &MappedPipeline)| {
        let name = format!("{}: {} ms, {}", name_of(candidate), number(point.time), bytes(point.peak_memory));
        (series_of(point), Shape::Named(at(point), is_on_front(point), name))
    };
    let mut shapes: Vec<(usize, Shape)> = fitting.iter().map(mark).collect();
    let mut series: Vec<String> = lengths.iter().map(|count| format!("{count} stages")).collect();
    let lines = [
        ("no other takes less of both", front.iter().map(|&point| at(point)).collect()),
        ("no plan is below", plan.lower_bound().map_or(vec![], |bound| vec![(0.0, bound), (memory, bound)])),
    ];
    for (name, line) in lines {
        shapes.push((series.len(), Shape::Line(line)));
        series.push(name.into());
    }
    let chart = Chart {
        title: "Time of a step against memory".into(),
        x: Axis::linear("GiB on the fullest device", 0.0, memory),
        y: Axis::linear("ms", 0.0, time),
        height: None,
        shapes,
    };
    Figure { charts: vec![chart], series, notes: Vec::new() }.svg(WIDTH)
}

/// The candidates that run and fit, the fastest first.
fn fitting(plan: &Plan) -> Vec<(&Candidate, &MappedPipeline)> {
    let fitting = plan.candidates.iter().filter(|candidate| candidate.time().is_some());
    fitting.filter_map(|candidate| Some((candidate, candidate.pipeline()?))).collect()
}

/// What the devices do during a step of each of the best candidates, as SVG: a bar as long as the step, in parts.
pub fn breakdown(plan: &Plan) -> String {
    let best = fitting(plan).into_iter().take(BEST);
    let rows: Vec<(String, &MappedPipeline)> = best.map(|(candidate, point)| (name_of(candidate), point)).collect();
    let bar = |(row, (_, point)): (usize, &(String, &MappedPipeline))| {
        let (row, scale) = (row as f64, point.time / point.breakdown.total().max(f64::MIN_POSITIVE));
        let ends = point.breakdown.parts().into_iter().scan(0.0, move |end, (_, time)| {
            let begin = *end;
            *end += scale * time;
            Some(((begin, row + 0.15), (*end, row + 0.85)))
        });
        let shapes: Vec<(usize, Shape)> = ends.map(|(begin, end)| Shape::Box(begin, end, true)).enumerate().collect();
        shapes
    };
    let longest = rows.iter().map(|(_, point)| point.time).fold(1e-9, f64::max);
    let names = rows.iter().enumerate().map(|(row, (name, _))| (row as f64 + 0.5, name.clone()));
    let chart = Chart {
        title: "What devices do during a step".into(),
        x: Axis::linear("ms", 0.0, ROOM * longest),
        y: Axis::rows(rows.len() as f64, names.collect()),
        height: Some(ROW * rows.len() as f64),
        shapes: rows.iter().enumerate().flat_map(bar).collect(),
    };
    let series = Breakdown::default().parts().map(|(name, _)| name.into());
    Figure { charts: vec![chart], series: series.into(), notes: Vec::new() }.svg(WIDTH)
}

/// Memory in GiB and time in ms.
fn at(pipeline: &MappedPipeline) -> (f64, f64) {
    (pipeline.peak_memory / GIB, pipeline.time)
}

/// The points that no other is below in both, by memory.
fn front<'a>(points: &[&'a MappedPipeline]) -> Vec<&'a MappedPipeline> {
    let mut sorted = points.to_vec();
    sorted.sort_by(|a, b| at(a).0.total_cmp(&at(b).0).then(a.time.total_cmp(&b.time)));
    let mut front: Vec<&MappedPipeline> = Vec::new();
    for point in sorted {
        if front.last().is_none_or(|last| point.time < last.time) {
            front.push(point);
        }
    }
    front
}
