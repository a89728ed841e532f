//! Plots of comparisons as SVG, in colours and shapes that are told apart without colour vision.

mod bars;
pub mod marks;
mod points;

use plotters::coord::Shift;
use plotters::prelude::*;

use super::comparison::Measured;

/// Width of a plot in pixels.
const WIDTH: u32 = 900;
/// Height of the panel of points.
const POINTS_HEIGHT: u32 = 380;
/// Height of one bar, of the room between two workloads, and of what surrounds the bars.
const BAR: u32 = 14;
const BETWEEN: u32 = 10;
const AROUND_BARS: u32 = 110;

type Panel<'a> = DrawingArea<SVGBackend<'a>, Shift>;
type Drawn = Result<(), Box<dyn std::error::Error>>;

/// A plot cannot be drawn.
#[derive(Debug, thiserror::Error)]
#[error("the plot cannot be drawn: {0}")]
pub struct PlotError(String);

/// What both panels show.
struct Shown<'a> {
    /// The methods in the order of their first run.
    methods: Vec<&'a str>,
    /// The workloads, with the scope where there are several, in the order of their first run.
    workloads: Vec<String>,
    /// The runs in their order.
    runs: Vec<Point<'a>>,
}

/// A run: its gap in per cent, where it is known, is to the proven optimum or else to a bound.
struct Point<'a> {
    workload: usize,
    method: usize,
    gap: Option<f64>,
    is_to_optimum: bool,
    seconds: f64,
    status: &'a str,
}

/// Gap against time with a point per run, and below it the gaps as bars by workload. The shapes are those of the
/// methods, hollow where the gap is to a bound and may be less; a run without a gap has its status in place of a bar.
///
/// # Errors
/// [`PlotError`] where plotters fails.
pub fn plot(runs: &[Measured<'_>]) -> Result<String, PlotError> {
    let shown = Shown::new(runs);
    let bars = shown.runs.len() as u32 * BAR + shown.workloads.len() as u32 * BETWEEN;
    let mut svg = String::new();
    {
        let root = SVGBackend::with_string(&mut svg, (WIDTH, POINTS_HEIGHT + AROUND_BARS + bars)).into_drawing_area();
        shown.draw(&root).map_err(|error| PlotError(error.to_string()))?;
    }
    Ok(svg)
}

impl<'a> Shown<'a> {
    fn new(runs: &[Measured<'a>]) -> Self {
        let first = runs.first().map(|run| &run.record.trial.problem.scope);
        let several = runs.iter().any(|run| Some(&run.record.trial.problem.scope) != first);
        let mut shown = Self { methods: Vec::new(), workloads: Vec::new(), runs: Vec::new() };
        for Measured { record, workload, gap, reference } in runs {
            let (trial, ending) = (&record.trial, &record.ending);
            let scope = if several { format!(", {}", trial.problem.scope.name()) } else { String::new() };
            shown.runs.push(Point {
                workload: index(&mut shown.workloads, format!("{workload}{scope}")),
                method: index(&mut shown.methods, trial.method.as_str()),
                gap: gap.map(|gap| 100.0 * gap),
                is_to_optimum: reference.is_some_and(|known| known.is_optimum),
                seconds: ending.seconds.unwrap_or(ending.process_seconds),
                status: ending.status.name(),
            });
        }
        shown
    }

    fn draw(&self, root: &Panel<'_>) -> Drawn {
        root.fill(&WHITE)?;
        let (above, below) = root.split_vertically(POINTS_HEIGHT);
        self.draw_points(&above)?;
        self.draw_bars(&below)?;
        root.present()?;
        Ok(())
    }

    /// The end of an axis that holds every gap.
    fn largest_gap(&self) -> f64 {
        1.08 * self.runs.iter().filter_map(|run| run.gap).fold(1.0, f64::max)
    }
}

/// Position of `item`, which is added where it is new.
fn index<T: PartialEq>(items: &mut Vec<T>, item: T) -> usize {
    items.iter().position(|known| *known == item).unwrap_or_else(|| {
        items.push(item);
        items.len() - 1
    })
}

#[cfg(test)]
mod tests {
    use crate::report::comparison::{Status, measured, tests::record};

    #[test]
    fn every_method_and_workload_is_named_and_drawn() {
        let mut runs = vec![record("dp", Some(8.0)), record("dpl", Some(10.0)), record("annealing", None)];
        runs[0].ending.status = Status::Optimal;
        runs[0].ending.lower_bound = Some(8.0);
        runs[0].trial.instance.name = "a<b".into();
        let svg = super::plot(&measured(&runs)).unwrap();
        for part in ["<svg", "dp", "dpl", "annealing", "a&lt;b", "crashed", "20.00 %", "gap", "seconds"] {
            assert!(svg.contains(part), "no `{part}` in\n{svg}");
        }
    }

    #[test]
    fn nothing_to_show_is_no_failure() {
        assert!(super::plot(&[]).unwrap().contains("<svg"));
    }
}
