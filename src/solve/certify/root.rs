//! The root of the tree: what pricing shows of a target with nothing decided.

use super::covering::{Bundle, Center, Devices, Generation, Pricers, Query, Verdict, refuted_by};
use super::crowding;
use super::pricing::LinePricer;
use crate::solve::SearchContext;

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

    /// How many sums a round of the bundle method takes at this target; `None` where pricing is not quick.
    pub fn effort(&self, target: f64) -> Option<usize> {
        self.lines.as_ref()?.iter().map(|line| line.effort(target)).sum()
    }

    /// The same as [`Self::refute`] by a bundle method, and the target up to `most` that it refutes if any; `None` where
    /// nothing prices along a line, which has to be [quick](Self::effort).
    pub fn ascend(
        &mut self,
        (target, most): (f64, f64),
        beside: &mut (dyn FnMut() -> bool + Send),
        cx: &SearchContext,
    ) -> Option<(Verdict, f64)> {
        let devices = self.generation.devices;
        let start = self.center.profit.clone();
        let lines = self.lines.as_mut()?;
        let mut bundle = Bundle::new(&devices.counts, lines, target, &self.work, &start);
        let verdict = bundle.ascend(MOST_BUNDLE_ROUNDS, beside, cx);
        let best = bundle.center().to_vec();
        let least = if verdict == Verdict::Refuted { target } else { 0.0 };
        let shown = refuted_by(&devices.counts, lines, &best, (least, most));
        self.center.profit = best.into_iter().map(|profit| profit.max(0.0)).collect();
        Some((verdict, shown))
    }

    /// A target between two that the best profits so far refute; `low` is refuted.
    pub fn refuted_by_profits(&mut self, low: f64, high: f64) -> f64 {
        self.generation.refuted_by(&self.center, (low, high), &mut self.pricers)
    }
}

/// The most rounds of the bundle method for one target.
const MOST_BUNDLE_ROUNDS: usize = 240;
