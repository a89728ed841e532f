//! The search for good splits: annealing, and exact splits of pairs of devices beside it.

use super::assignment::{Assignment, Setting};
use super::multilevel::Search;
use super::resplit::Resplit;
use crate::solve::SearchContext;

/// Both searches, which share their best split.
pub struct Primal<'a> {
    annealing: Search<'a>,
    resplit: Option<Resplit<'a>>,
    /// Rounds of splits of pairs since the last one of annealing.
    rounds_since: usize,
}

impl<'a> Primal<'a> {
    /// No split yet.
    pub fn new(setting: &'a Setting<'a>, cx: &SearchContext) -> Self {
        let resplit = Resplit::new(setting, cx.threads, cx.seed);
        Self { annealing: Search::new(setting, cx.seed), resplit, rounds_since: 0 }
    }

    /// The best split and its objective.
    pub fn best(&self) -> Option<(f64, &Assignment)> {
        self.annealing.best()
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

    /// One round of annealing.
    pub fn anneal(&mut self, cx: &SearchContext) {
        self.annealing.advance(cx);
    }

    /// So many new splits of pairs of devices, and now and then a round of annealing; so many of those where pairs are
    /// not split. No split is below `bound`.
    pub fn refine(&mut self, bound: f64, rounds: usize, cx: &SearchContext) {
        let Some(resplit) = &mut self.resplit else {
            for _ in (0..rounds).take_while(|_| !cx.should_stop()) {
                self.annealing.advance(cx);
            }
            return;
        };
        if let Some(best) = self.annealing.best()
            && let Some(split) = resplit.advance(best, bound, rounds, cx)
        {
            self.annealing.offer(&split);
        }
        self.rounds_since += rounds;
        if self.rounds_since >= ANNEALING_PERIOD {
            self.rounds_since = 0;
            self.annealing.advance(cx);
        }
    }
}

/// After so many rounds of splits of pairs there is one of annealing.
const ANNEALING_PERIOD: usize = 128;
