//! Column generation: the best prices over the columns known, blocks that gain under them, and so on.
//!
//! Pricing looks near the prices that made the best bound so far and not at those of the program itself, which leap (Wentges
//! 1997). Any flow with any prices is a bound, once it is known what blocks gain under them at most.

use rayon::prelude::*;
use rustc_hash::FxHashSet;

use super::items::Items;
use super::master::Master;
use super::prices::{Column, Prices};
use super::pricing::{Look, Pricing};
use crate::search::SearchContext;

/// How far pricing goes from the best prices towards those of the program.
const STEP: f64 = 0.25;

/// Columns that a round adds, of those that share less than half of their items with two others.
const COLUMNS_PER_ROUND: usize = 30;

/// Regions that a round looks at for each anchor, and at most for those under which there may be more than was found.
pub const QUICK_EFFORT: usize = 20;
const MOST_EFFORT: usize = 20_000;

/// What accelerators may gain unseen, together, as a part of the bound: at first and at last.
const FIRST_SLACK: f64 = 2e-3;
const LAST_SLACK: f64 = 2e-4;

/// The program over ever more columns.
pub struct Generation<'a> {
    pub items: &'a Items,
    master: Option<Master>,
    columns: Vec<Column>,
    known: FxHashSet<Column>,
    /// The prices of the best bound.
    center: Option<Prices>,
    /// No split ends earlier.
    bound: f64,
    /// The prices of memory with which the last looks began to bound sets, by class and anchor.
    pulls: Vec<Vec<f64>>,
    step: f64,
    effort: usize,
    slack: f64,
}

/// What is known of the blocks that gain under some prices.
struct Priced {
    /// Those that were found, each with its gain.
    found: Vec<(f64, Column)>,
    /// What one block of each class gains at most.
    most: Vec<f64>,
}

impl<'a> Generation<'a> {
    /// The program of these columns. Its rounds look at so many regions, at first, for anchors under which there may be more
    /// than was found; no second time where that is no more than at all anchors.
    pub fn new(items: &'a Items, mut columns: Vec<Column>, effort: usize, cx: &SearchContext) -> Self {
        let mut known = FxHashSet::default();
        columns.retain(|column| known.insert(column.clone()));
        Self {
            items,
            master: Master::new(items, &columns, cx),
            columns,
            known,
            center: None,
            bound: 0.0,
            pulls: vec![vec![0.0; items.len()]; items.classes.len()],
            step: STEP,
            effort,
            slack: FIRST_SLACK,
        }
    }

    /// The best bound so far.
    pub fn bound(&self) -> f64 {
        self.bound
    }

    /// All columns known.
    pub fn columns(&self) -> &[Column] {
        &self.columns
    }

    /// Those that may have weight in the best solution over all known ones: the others lose under its prices.
    pub fn tight_columns(&self) -> Vec<&Column> {
        let Some(master) = &self.master else { return Vec::new() };
        let prices = master.prices(self.items);
        let room = 1e-7 * master.value().abs();
        let is_tight = |column: &&Column| prices.gain(self.items, column) >= prices.accelerator[column.class] - room;
        self.columns.iter().filter(is_tight).collect()
    }

    /// One round: prices, and the blocks that gain most under them. Whether there may be more to gain.
    pub fn round(&mut self, cx: &SearchContext) -> bool {
        let Some(master) = &self.master else { return false };
        let best = master.prices(self.items);
        let targets = self.targets(&best, master.value());
        let prices = match &self.center {
            Some(center) if self.step < 1.0 => center.towards(self.items, &best, self.step),
            _ => best,
        };
        let Some(Priced { found, most }) = self.price(&prices, &targets, cx) else { return false };
        let of_class = self.items.classes.iter().zip(&most).map(|(class, gain)| class.count as f64 * gain);
        let bound = prices.value(self.items) - of_class.sum::<f64>();
        if bound > self.bound {
            (self.bound, self.center) = (bound, Some(prices));
        }
        let is_closed = most.iter().zip(&targets).all(|(gain, target)| gain <= target);
        let added = self.take(found, cx);
        self.goes_on(added > 0, is_closed)
    }

    /// Prices the blocks that gain more than the targets: all anchors are looked at quickly, and those under which there may be
    /// more than what that found once more. `None` once `cx` says to stop.
    fn price(&mut self, prices: &Prices, targets: &[f64], cx: &SearchContext) -> Option<Priced> {
        let classes = (0..targets.len()).filter(|&class| self.items.classes[class].count > 0);
        let anchors = classes.flat_map(|class| (0..self.items.len()).map(move |v| (class, v))).collect();
        let mut found = targets.to_vec();
        let quick = self.looks(anchors, prices, &found, QUICK_EFFORT, cx)?;
        gather(&quick, &mut found);
        let open = quick.iter().filter(|look| look.bound > found[look.class]);
        let open = open.filter(|_| self.effort > QUICK_EFFORT).map(|look| (look.class, look.anchor)).collect();
        let closer = self.looks(open, prices, &found, self.effort, cx)?;
        gather(&closer, &mut found);
        let mut most = found.clone();
        for look in if closer.is_empty() { &quick } else { &closer } {
            most[look.class] = most[look.class].max(look.bound);
        }
        if !closer.is_empty() && most != found {
            self.effort = (2 * self.effort).min(MOST_EFFORT);
        }
        quick.iter().for_each(|look| self.pulls[look.class][look.anchor] = look.pull);
        let found = quick.into_iter().chain(closer).filter_map(|look| look.best).collect();
        Some(Priced { found, most })
    }

    /// What blocks of each class may gain without being looked for.
    fn targets(&self, prices: &Prices, value: f64) -> Vec<f64> {
        let all: usize = self.items.classes.iter().map(|class| class.count).sum();
        let spare = self.slack * value.abs() / all.max(1) as f64;
        prices.accelerator.iter().map(|price| price + spare).collect()
    }

    /// Looks at the sets of these anchors, each with its class. `None` once `cx` says to stop.
    fn looks(
        &self,
        anchors: Vec<(usize, usize)>,
        prices: &Prices,
        targets: &[f64],
        effort: usize,
        cx: &SearchContext,
    ) -> Option<Vec<Look>> {
        let look = |(class, anchor): (usize, usize)| {
            let pricing = Pricing { items: self.items, prices, class, target: targets[class], effort };
            pricing.look(anchor, self.pulls[class][anchor], cx)
        };
        anchors.into_par_iter().map(look).collect()
    }

    /// Adds those of the columns found that gain most and are not too much alike; how many.
    fn take(&mut self, mut found: Vec<(f64, Column)>, cx: &SearchContext) -> usize {
        found.sort_by(|a, b| b.0.total_cmp(&a.0));
        let mut taken = vec![0; self.items.len()];
        let mut added = 0;
        for (_, column) in found {
            if added == COLUMNS_PER_ROUND || cx.should_stop() {
                break;
            }
            let alike = column.set.iter().filter(|&v| taken[v] > 1).count();
            if 2 * alike > column.set.len() {
                continue;
            }
            let set = column.set.clone();
            if self.add(column) {
                set.iter().for_each(|v| taken[v] += 1);
                added += 1;
            }
        }
        added
    }

    /// Adds a column; whether it is new.
    fn add(&mut self, column: Column) -> bool {
        let is_new = self.known.insert(column.clone());
        if is_new {
            self.master = self.master.take().and_then(|master| master.add(self.items, &column));
            self.columns.push(column);
        }
        is_new
    }

    /// What to try next, after a round that added columns or not, and left sets of which more may be known or not.
    fn goes_on(&mut self, has_added: bool, is_closed: bool) -> bool {
        if has_added {
            self.step = STEP;
            return true;
        }
        if self.step < 1.0 {
            self.step = 1.0;
            return true;
        }
        self.step = STEP;
        let has_slack = self.slack > LAST_SLACK;
        self.slack /= if is_closed && has_slack { 2.0 } else { 1.0 };
        if is_closed { has_slack } else { self.effort < MOST_EFFORT && self.effort > QUICK_EFFORT }
    }
}

/// Raises what is known to be gained by one block of each class to what these looks found.
fn gather(looks: &[Look], found: &mut [f64]) {
    for (gain, column) in looks.iter().filter_map(|look| look.best.as_ref()) {
        found[column.class] = found[column.class].max(*gain);
    }
}
