//! Time against memory of all plans.

use crate::plan::{Candidate, MappedPipeline, Plan};
use crate::report::plot::chart::{Chart, Figure, Shape};
use crate::report::plot::{Axis, WIDTH};

const GIB: f64 = 1_073_741_824.0;

/// How much longer the axes are than what they show.
const ROOM: f64 = 1.08;

/// A step's time against the memory of the fullest device, as SVG: a mark for each simulated candidate that fits, of its number
/// of stages, and filled where no other takes both less time and less memory, which a line joins. A further line is the time
/// that no plan is below.
pub fn plot(plan: &Plan) -> String {
    let fitting = plan.candidates.iter().filter(|candidate| candidate.time().is_some());
    let points: Vec<&MappedPipeline> = fitting.filter_map(Candidate::pipeline).collect();
    let front = front(&points);
    let largest = |axis: fn((f64, f64)) -> f64| ROOM * points.iter().map(|&point| axis(at(point))).fold(1e-9, f64::max);
    let (memory, time) = (largest(|point| point.0), largest(|point| point.1));
    let mut lengths: Vec<usize> = points.iter().map(|point| point.problem.stages.stages.len()).collect();
    lengths.sort_unstable();
    lengths.dedup();
    let series_of =
        |point: &MappedPipeline| lengths.partition_point(|&known| known < point.problem.stages.stages.len());
    let is_on_front = |point: &MappedPipeline| front.iter().any(|&other| std::ptr::eq(other, point));
    let mark = |&point: &&MappedPipeline| (series_of(point), Shape::Marks(vec![at(point)], is_on_front(point)));
    let mut shapes: Vec<(usize, Shape)> = points.iter().map(mark).collect();
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
