//! The search for good splits: annealing, and exact splits of pairs of devices beside it.
//!
//! Both improve one split, the best of a line. A line that stays where it is ends, and the next one starts from nothing:
//! where a line ends is a matter of luck, and most of its progress is quick.

use super::assignment::{Assignment, Setting};
use super::multilevel::Multilevel;
use super::resplit::Resplit;
use crate::solve::SearchContext;
use crate::solve::dp::orders::scramble;

/// Both searches, which share the best split of the present line.
pub struct Primal<'a> {
    setting: &'a Setting<'a>,
    seed: u64,
    annealing: Multilevel<'a>,
    resplit: Option<Resplit<'a>>,
    /// Rounds of splits of pairs since the last one of annealing.
    rounds_since: usize,
    /// Rounds of splits of pairs, or of annealing alone, that have not improved the line's best split.
    stale: usize,
    /// After so many a line ends.
    patience: usize,
    /// The best split of former lines, and how many of them there are.
    former: Option<(f64, Assignment)>,
    lines: u64,
}

impl<'a> Primal<'a> {
    /// No split yet.
    pub fn new(setting: &'a Setting<'a>, cx: &SearchContext) -> Self {
        let resplit = Resplit::new(setting, cx.threads, cx.seed);
        let annealing = Multilevel::new(setting, cx.seed);
        let patience = if resplit.is_some() { STALE } else { usize::MAX };
        let (seed, rounds_since, stale, former, lines) = (cx.seed, 0, 0, None, 0);
        Self { setting, seed, annealing, resplit, rounds_since, stale, patience, former, lines }
    }

    /// The best split and its objective.
    pub fn best(&self) -> Option<(f64, &Assignment)> {
        let former = self.former.as_ref().map(|(value, split)| (*value, split));
        self.annealing.best().into_iter().chain(former).min_by(|a, b| a.0.total_cmp(&b.0))
    }

    /// The best objective.
    pub fn value(&self) -> Option<f64> {
        self.best().map(|(value, _)| value)
    }

    /// Takes `split` as the best one, if it is valid and better than what is known.
    pub fn offer(&mut self, split: &Assignment) -> bool {
        self.annealing.offer(split)
    }

    /// Whether pairs of devices can be split anew.
    pub fn resplits(&self) -> bool {
        self.resplit.is_some()
    }

    /// Splits no more pairs of devices anew: annealing has lines of its own.
    pub fn anneal_alone(&mut self) {
        (self.resplit, self.stale, self.patience) = (None, 0, STALE_ALONE);
    }

    /// One round of annealing.
    pub fn anneal(&mut self, cx: &SearchContext) {
        self.annealing.advance(cx);
    }

    /// So many new splits of pairs of devices, and now and then a round of annealing; so many of those where pairs are
    /// not split. No split is below `bound`.
    pub fn refine(&mut self, bound: f64, rounds: usize, cx: &SearchContext) {
        let Some(resplit) = &mut self.resplit else {
            for _ in (0..rounds).take_while(|_| !cx.should_stop()) {
                self.stale = if self.annealing.advance(cx) { 0 } else { self.stale + 1 };
                if self.stale >= self.patience {
                    self.begin_line(cx);
                }
            }
            return;
        };
        self.stale += rounds;
        if let Some(best) = self.annealing.best()
            && let Some(split) = resplit.advance(best, bound, rounds, cx)
            && self.annealing.offer(&split)
        {
            self.stale = 0;
        }
        self.rounds_since += rounds;
        if self.stale >= self.patience {
            self.begin_line(cx);
        } else if self.rounds_since >= ANNEALING_PERIOD {
            self.rounds_since = 0;
            self.annealing.advance(cx);
        }
    }

    /// Ends the present line and anneals the first split of the next one.
    fn begin_line(&mut self, cx: &SearchContext) {
        self.former = self.best().map(|(value, split)| (value, split.clone()));
        self.lines += 1;
        (self.stale, self.rounds_since) = (0, 0);
        self.annealing = Multilevel::new(self.setting, scramble(self.seed ^ self.lines));
        for _ in (0..FIRST_ROUNDS).take_while(|_| !cx.should_stop()) {
            self.annealing.advance(cx);
        }
        if let Some(resplit) = &mut self.resplit {
            resplit.begin_line();
        }
    }
}

/// Rounds of splits of pairs that have not helped, after which a line ends.
const STALE: usize = 800;

/// The same of annealing alone.
const STALE_ALONE: usize = 150;

/// Rounds of annealing at the start of a line.
pub const FIRST_ROUNDS: usize = 32;

/// After so many rounds of splits of pairs there is one of annealing.
const ANNEALING_PERIOD: usize = 128;

#[cfg(test)]
mod tests {
    use std::sync::{Arc, atomic::AtomicBool};

    use proptest::prelude::*;

    use super::super::samples;
    use super::*;
    use crate::preprocess::Unordered;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(32))]

        #[test]
        fn annealing_alone_has_lines_of_its_own(instance in samples::instances()) {
            let problem = samples::problem(&instance, false);
            let unordered = Unordered::new(&problem);
            let setting = Setting::new(&problem, &unordered);
            let cx = SearchContext::new();
            let mut primal = Primal::new(&setting, &cx);
            primal.anneal_alone();
            primal.refine(0.0, STALE_ALONE, &cx);
            let before = primal.value();
            // What can be found of so small a graph is found by then.
            primal.refine(0.0, STALE_ALONE, &cx);
            prop_assert!(primal.lines > 0 && primal.value() <= before, "{} lines, {before:?}", primal.lines);
        }

        #[test]
        fn the_best_split_outlives_its_line(instance in samples::instances()) {
            let problem = samples::problem(&instance, false);
            let unordered = Unordered::new(&problem);
            let setting = Setting::new(&problem, &unordered);
            let cx = SearchContext::new();
            let mut primal = Primal::new(&setting, &cx);
            prop_assume!(primal.resplits());
            primal.anneal(&cx);
            let before = primal.best().map(|(value, split)| (value, split.clone()));
            // The next line finds nothing in no time.
            let cancelled = SearchContext::new().with_cancellation(Arc::new(AtomicBool::new(true)));
            primal.refine(0.0, STALE, &cancelled);
            prop_assert!(primal.annealing.best().is_none());
            prop_assert_eq!(primal.best().map(|(value, split)| (value, split.clone())), before.clone());
            // Then it does, and can only be of use. Its first chain may fail: where no order has intervals, it starts with
            // everything on one device, and a unit that cannot run there may be cheaper than where it can. The next one
            // starts from a random split, which is valid.
            (0..FIRST_ROUNDS).for_each(|_| primal.anneal(&cx));
            prop_assert!(primal.annealing.best().is_some());
            prop_assert!(before.is_none_or(|before| primal.value().is_some_and(|value| value <= before.0)));
        }
    }
}
