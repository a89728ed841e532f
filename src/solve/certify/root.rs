//! The root of the tree: what pricing shows of a target with nothing decided.

use super::covering::{Bundle, Center, Devices, Generation, Pricers, Query, Verdict, refuted_by};
use super::crowding;
use super::pricing::LinePricer;
use crate::solve::SearchContext;

/// In what cells loads are counted along a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cells {
    /// In so few that rounds are quick, and bounds a part in a thousand too low.
    Rough,
    /// In those that all times are multiples of.
    Fine,
}

/// What pricing along a line is good for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reach {
    /// There is no line, or the graph is so small that other ways are as quick.
    None,
    /// Rounds in fine cells are over at once, and so is the linear program.
    Quick,
    /// Rounds in fine cells are quicker than the linear program's.
    Large,
    /// Only rough cells are quick.
    Rough,
}

/// The root of the tree: no decisions.
pub struct Root<'a> {
    /// What prices sets, and the columns.
    pub generation: Generation<'a>,
    pricers: Pricers,
    /// What prices along a line, where the graph is nearly one.
    lines: Option<Vec<LinePricer>>,
    /// The best profits.
    pub center: Center,
    /// The least time of each unit.
    work: Vec<f64>,
}

impl<'a> Root<'a> {
    /// The root over these devices; `None` where the graph is too wide for pricing.
    pub fn new(devices: &'a Devices<'a>, cx: &'a SearchContext) -> Option<Self> {
        let work = devices.work();
        let center = Center { profit: work.clone() };
        let generation = Generation::new(devices, cx);
        Some(Self { generation, pricers: devices.pricers(&[], cx)?, lines: devices.lines(cx), center, work })
    }

    /// Whether no split is below `target`, as far as so many rounds show; `beside` runs in each of them.
    pub fn refute(&mut self, target: f64, max_rounds: usize, beside: &mut (dyn FnMut() -> bool + Send)) -> Verdict {
        let query = Query { target, decisions: &[], max_rounds };
        self.generation.refute(query, &mut self.pricers, &mut self.center, beside)
    }

    /// Whether crowding refutes `target`, which costs less than a round of pricing.
    pub fn is_crowded(&self, target: f64) -> bool {
        crowding::refutes(self.generation.devices.setting(), &self.work, target)
    }

    /// What crowding, and then as many rounds as it takes, say of `target`.
    pub fn settle(&mut self, target: f64, beside: &mut (dyn FnMut() -> bool + Send)) -> Verdict {
        if self.is_crowded(target) { Verdict::Refuted } else { self.refute(target, usize::MAX, beside) }
    }

    /// In which cells devices of this load are priced along a line quickly.
    pub fn reach(&self, target: f64) -> Reach {
        let Some(lines) = &self.lines else { return Reach::None };
        match effort(lines, target) {
            Some(sums) if sums < LARGE => Reach::Quick,
            Some(_) => Reach::Large,
            None if effort(&rough(lines, target), target).is_some_and(|sums| sums >= LARGE) => Reach::Rough,
            None => Reach::None,
        }
    }

    /// The same as [`Self::refute`] by a bundle method, and the largest target between `bound`, below which no split is, and
    /// `most` that its profits refute; `None` where nothing prices devices of this load along a line quickly. `beside` is
    /// told how many sums each round takes.
    pub fn ascend(
        &mut self,
        (bound, target, most): (f64, f64, f64),
        cells: Cells,
        beside: &mut (dyn FnMut(usize) + Send),
        cx: &SearchContext,
    ) -> Option<(Verdict, f64)> {
        let counts = &self.generation.devices.counts;
        let fine = self.lines.as_mut()?;
        let mut in_rough_cells;
        let lines = match cells {
            Cells::Rough => {
                in_rough_cells = rough(fine, most);
                &mut in_rough_cells
            }
            Cells::Fine => fine,
        };
        let sums = effort(lines, most)?;
        let start = std::mem::take(&mut self.center.profit);
        let mut bundle = Bundle::new(counts, lines, target, &self.work, &start);
        let rounds = (MOST_BUNDLE_SUMS / sums.max(1)).clamp(LEAST_BUNDLE_ROUNDS, MOST_BUNDLE_ROUNDS);
        let verdict = bundle.ascend(rounds, &mut || beside(sums), cx);
        let best = bundle.center().to_vec();
        let least = if verdict == Verdict::Refuted { target.max(bound) } else { bound };
        let shown = refuted_by(counts, lines, &best, (least, most));
        self.center.profit = best.into_iter().map(|profit| profit.max(0.0)).collect();
        Some((verdict, shown))
    }

    /// A target between two that the best profits so far refute; `low` is refuted.
    pub fn refuted_by_profits(&mut self, low: f64, high: f64) -> f64 {
        self.generation.refuted_by(&self.center, (low, high), &mut self.pricers)
    }
}

/// Pricers along the same lines in rough cells, where devices have this load.
fn rough(lines: &[LinePricer], target: f64) -> Vec<LinePricer> {
    lines.iter().map(|line| line.rough(target)).collect()
}

/// How many sums it takes to price devices of all kinds; `None` where that is not quick.
fn effort(lines: &[LinePricer], target: f64) -> Option<usize> {
    lines.iter().map(|line| line.effort(target)).sum()
}

/// Rounds of fewer sums than this are over at once.
const LARGE: usize = 10_000_000;

/// The most rounds of the bundle method for one target: as many as make so many sums, within these.
const MOST_BUNDLE_SUMS: usize = 4_000_000_000;
const LEAST_BUNDLE_ROUNDS: usize = 40;
const MOST_BUNDLE_ROUNDS: usize = 240;
