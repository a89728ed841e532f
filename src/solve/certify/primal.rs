//! The search for good splits: annealing, and exact splits of pairs of devices beside it.

use super::assignment::{Assignment, Setting};
use super::multilevel::Search;
use super::resplit::Resplit;
use crate::solve::SearchContext;

/// Both searches, which share their best split.
pub struct Primal<'a> {
    annealing: Search<'a>,
    resplit: Option<Resplit<'a>>,
    /// Rounds of both.
    rounds: u64,
}

impl<'a> Primal<'a> {
    /// No split yet.
    pub fn new(setting: &'a Setting<'a>, cx: &SearchContext) -> Self {
        let resplit = Resplit::new(setting, cx.threads, cx.seed);
        Self { annealing: Search::new(setting, cx.seed), resplit, rounds: 0 }
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

    /// New splits of pairs of devices, and now and then a round of annealing; annealing alone where pairs are not split.
    /// No split is below `bound`.
    pub fn refine(&mut self, bound: f64, cx: &SearchContext) {
        self.rounds += 1;
        if self.resplit.is_none() || self.rounds.is_multiple_of(ANNEALING_PERIOD) {
            self.annealing.advance(cx);
        }
        let best = self.annealing.best();
        let found = self.resplit.as_mut().zip(best).and_then(|(resplit, best)| resplit.advance(best, bound));
        if let Some(split) = found {
            self.annealing.offer(&split);
        }
    }
}

/// In one of so many rounds annealing goes on beside the splits of pairs.
const ANNEALING_PERIOD: u64 = 32;
