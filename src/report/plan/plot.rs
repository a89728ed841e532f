//! Time against memory of all plans.

use plotters::prelude::*;

use crate::plan::{Candidate, MappedPipeline, Plan};
use crate::report::plot::marks::marker;

const SIZE: (u32, u32) = (760, 420);

const GIB: f64 = 1_073_741_824.0;

/// A step's time against the memory of the fullest device, a point for each simulated candidate that fits: filled where no
/// other takes both less time and less memory, which a line joins, and in a shape for each number of stages. A further line
/// is the time that no plan is below.
///
/// # Errors
/// [`PlanPlotError`] where plotters fails.
pub fn plot(plan: &Plan) -> Result<String, PlanPlotError> {
    let mut svg = String::new();
    draw(plan, &mut svg).map_err(|error| PlanPlotError(error.to_string()))?;
    Ok(svg)
}

/// The plot of a plan cannot be drawn.
#[derive(Debug, thiserror::Error)]
#[error("the plans cannot be drawn: {0}")]
pub struct PlanPlotError(String);

/// Memory in GiB and time in ms.
fn at(pipeline: &MappedPipeline) -> (f64, f64) {
    (pipeline.peak_memory / GIB, pipeline.time)
}

fn draw(plan: &Plan, svg: &mut String) -> Result<(), Box<dyn std::error::Error>> {
    let root = SVGBackend::with_string(svg, SIZE).into_drawing_area();
    root.fill(&WHITE)?;
    let fitting = plan.candidates.iter().filter(|candidate| candidate.time().is_some());
    let points: Vec<&MappedPipeline> = fitting.filter_map(Candidate::pipeline).collect();
    let front = front(&points);
    let largest = |axis: fn((f64, f64)) -> f64| 1.08 * points.iter().map(|&point| axis(at(point))).fold(1e-9, f64::max);
    let (memory, time) = (largest(|point| point.0), largest(|point| point.1));
    let mut chart = ChartBuilder::on(&root)
        .caption("Time of a step against memory", ("sans-serif", 19))
        .margin(15)
        .x_label_area_size(45)
        .y_label_area_size(80)
        .build_cartesian_2d(0.0..memory, 0.0..time)?;
    chart
        .configure_mesh()
        .x_desc("GiB on the fullest device")
        .y_desc("ms")
        .label_style(("sans-serif", 14))
        .light_line_style(TRANSPARENT)
        .bold_line_style(RGBColor(220, 220, 220))
        .draw()?;
    chart.draw_series([PathElement::new(front.iter().map(|&point| at(point)).collect::<Vec<_>>(), BLACK)])?;
    if let Some(bound) = plan.lower_bound() {
        chart.draw_series([PathElement::new([(0.0, bound), (memory, bound)], RGBColor(120, 120, 120))])?;
        chart.draw_series([Text::new("no plan is below", (0.02 * memory, bound), ("sans-serif", 13))])?;
    }
    let mut stages: Vec<usize> = points.iter().map(|point| point.problem.stages.stages.len()).collect();
    stages.sort_unstable();
    stages.dedup();
    let shape = |count: usize| stages.partition_point(|&known| known < count);
    let is_on_front = |point: &MappedPipeline| front.iter().any(|&other| std::ptr::eq(other, point));
    let mark =
        |point: &&MappedPipeline| marker(at(point), shape(point.problem.stages.stages.len()), is_on_front(point));
    chart.draw_series(points.iter().map(mark))?;
    for (i, &count) in stages.iter().enumerate() {
        let y = 40 + 20 * i as i32;
        root.draw(&marker((SIZE.0 as i32 - 110, y), i, true))?;
        root.draw(&Text::new(format!("{count} stages"), (SIZE.0 as i32 - 96, y - 7), ("sans-serif", 14)))?;
    }
    root.present()?;
    Ok(())
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
