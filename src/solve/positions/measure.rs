//! Where an ideal lies: about how much work is in it, in whole cells.

use std::ops::RangeInclusive;

use super::sides::{EARLIER, INSIDE};
use super::steps::{Arc, Steps};

/// Positions from a first to a last one.
pub type Window = RangeInclusive<usize>;

/// How many positions a window has.
pub fn width(window: &Window) -> usize {
    window.end() - window.start() + 1
}

/// Whole cells for each unit, about in proportion to its work. The position of an ideal is the sum over its units.
#[derive(Debug, Clone)]
pub struct Measure {
    /// Cells of each unit.
    pub of: Vec<u32>,
    /// Cells of all, the last position.
    pub total: usize,
    /// Work in a cell.
    size: f64,
    /// By how much the work of an ideal is at least and at most above that of its cells.
    error: [f64; 2],
}

impl Measure {
    /// About so many cells in all. What is rounded off is handed on to the next unit in the order of the steps.
    pub fn new(work: &[f64], steps: &Steps, cells: usize) -> Self {
        let size = work.iter().sum::<f64>() / cells as f64;
        let mut of = vec![0; work.len()];
        let mut rest = 0.0;
        for u in steps.steps.iter().filter_map(|step| step.unit) {
            rest += work[u] / size;
            let whole = rest.round().max(0.0);
            of[u] = whole as u32;
            rest -= whole;
        }
        let lost: Vec<f64> = work.iter().zip(&of).map(|(work, &cells)| work - f64::from(cells) * size).collect();
        let gained: Vec<f64> = lost.iter().map(|lost| -lost).collect();
        let error = [-most_of_ideals(steps, &gained), most_of_ideals(steps, &lost)];
        Self { total: of.iter().map(|&cells| cells as usize).sum(), of, size, error }
    }

    /// The positions of all ideals whose work is between a least and a most.
    pub fn window(&self, [least, most]: [f64; 2]) -> Option<Window> {
        let first = ((least - self.error[1]) / self.size - SLACK).ceil().max(0.0);
        let last = ((most - self.error[0]) / self.size + SLACK).floor().min(self.total as f64);
        (first <= last).then_some(first as usize..=last as usize)
    }

    /// The least and most work of ideals at these positions.
    pub fn work(&self, window: &Window) -> [f64; 2] {
        let work = |position: usize, error: f64, slack: f64| (position as f64 + slack) * self.size + error;
        [work(*window.start(), self.error[0], -SLACK), work(*window.end(), self.error[1], SLACK)]
    }
}

/// The most that the values of an ideal's units sum up to. O(arcs).
fn most_of_ideals(steps: &Steps, value: &[f64]) -> f64 {
    let mut before = vec![0.0];
    for step in &steps.steps {
        let value = step.unit.map(|u| value[u]);
        let through = |arc: &Arc| match (value, arc.side) {
            (Some(_), INSIDE) => f64::NEG_INFINITY,
            (Some(value), EARLIER) => before[arc.from as usize] + value,
            _ => before[arc.from as usize],
        };
        before = step.states().map(|arcs| arcs.iter().map(through).fold(f64::NEG_INFINITY, f64::max)).collect();
    }
    before.first().copied().unwrap_or_default().max(0.0)
}

/// Room for the rounding of sums, in cells.
const SLACK: f64 = 1e-6;
