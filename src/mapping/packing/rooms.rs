//! Column generation over pipelines that somebody else finds.

use super::ROUNDING;
use super::generation::MARGIN;
use super::master::{Master, Row, Use};
use super::pricing::Pattern;

/// A pipeline: the time of its slowest copy, and the zone of each stage.
pub type Found = (f64, Vec<usize>);

/// How many pipelines find room in zones at once, in fractions.
pub struct Rooms {
    rows: Vec<Row>,
    /// The pipelines known so far, each with the time of its slowest copy.
    pool: Vec<(f64, Pattern)>,
}

impl Rooms {
    /// Zones of so many devices each; no pipeline is known.
    pub fn new(sizes: &[usize]) -> Self {
        let rows = sizes.iter().copied().enumerate().map(|(block, most)| Row { what: Use::Room(block), most });
        Self { rows: rows.collect(), pool: Vec::new() }
    }

    /// Takes up a pipeline.
    pub fn learn(&mut self, (time, classes): Found) {
        self.pool.push((time, Pattern { classes }));
    }

    /// Whether no fractions of pipelines within a target, `count` in all, find room; `None` where that stays open. `cheap`
    /// says which pipeline has devices worth at most so much, where those of each zone are worth the same, or that there is
    /// none, and nothing where it does not know.
    pub fn refutes(
        &mut self,
        target: f64,
        count: usize,
        mut cheap: impl FnMut(&[f64], f64) -> Option<Option<Found>>,
    ) -> Option<bool> {
        let within =
            self.pool.iter().filter(|(time, _)| *time <= target * (1.0 + ROUNDING)).map(|(_, pattern)| pattern);
        let mut master = Master::new(&self.rows, within)?;
        while master.count() < count as f64 * (1.0 - MARGIN) {
            let values = master.values();
            let worth: f64 = values.iter().zip(&self.rows).map(|(value, row)| value * row.most as f64).sum();
            let most = worth / count as f64 * (1.0 + 2.0 * MARGIN);
            let Some((time, classes)) = cheap(&values, most)? else { return Some(true) };
            let pattern = Pattern { classes };
            master = master.add(&pattern)?;
            self.pool.push((time, pattern));
        }
        Some(false)
    }
}
