//! The primal search: multilevel simulated annealing on the communication hypergraph.
//!
//! A round coarsens the graph at random along costly nets, anneals the coarsest level, and anneals each finer one on the
//! way back, cooler each time. The energy is the overload above a target that falls with every split that meets it. Some
//! rounds start from nothing or from intervals of a topological order; others keep the best split's devices apart while
//! they coarsen, and start from it. Where sets have to be convex, every start is, and so is every move.

mod anneal;
mod coarsen;
mod convexity;
mod level;
mod round;
mod starts;
mod state;

use rand::SeedableRng;
use rand::rngs::Xoshiro256PlusPlus;
use rayon::prelude::*;

use super::{Assignment, Setting};
use crate::cost::MAX_PIECES;
use crate::problem::Scope;
use crate::solve::SearchContext;
use crate::solve::dp::orders::scramble;
pub(in crate::solve) use level::{Level, Rows};
use round::{Hierarchy, Order, Rounds};
use starts::Starts;
pub(in crate::solve) use state::{Shift, State, overload};

/// A generator whose numbers are the same on every platform and in every version.
type Rng = Xoshiro256PlusPlus;

/// A search for good splits that can be resumed at any time.
///
/// Equal settings, seeds, offers and numbers of threads give equal splits after equal numbers of [`Self::advance`].
pub struct Multilevel<'a> {
    setting: &'a Setting<'a>,
    rounds: Box<dyn Rounds + 'a>,
    starts: Starts,
    seed: u64,
    /// How many rounds have been started.
    started: u64,
    /// How many chains have been started.
    chains: u64,
    /// One chain per thread.
    lanes: Vec<Chain>,
    best: Option<(f64, Assignment)>,
}

/// Rounds that start from one another.
#[derive(Debug, Clone, Default)]
struct Chain {
    /// The best split of the chain, or the one it starts from.
    split: Option<Assignment>,
    /// Its objective, where it is valid.
    value: Option<f64>,
    /// Rounds in a row that have not helped.
    stale: u32,
}

/// A chain ends after this many rounds that did not help.
const STALE: u32 = 4;

/// Of so many chains one starts from the best split of all.
const FRESH_CHAINS: u64 = 2;

impl<'a> Multilevel<'a> {
    /// A search without a split yet. O(n + pins), and n²/4 bytes where sets have to be convex.
    pub fn new(setting: &'a Setting<'a>, seed: u64) -> Self {
        let rows = Rows::new(setting.problem, &setting.unordered.units);
        let rounds: Box<dyn Rounds + 'a> = match rows.count() {
            1 => Box::new(Hierarchy::<1>::new(setting, rows)),
            2 => Box::new(Hierarchy::<2>::new(setting, rows)),
            3..=8 => Box::new(Hierarchy::<8>::new(setting, rows)),
            _ => Box::new(Hierarchy::<{ 2 * MAX_PIECES + 1 }>::new(setting, rows)),
        };
        let starts = Starts::new(setting.problem, seed);
        Self { setting, rounds, starts, seed, started: 0, chains: 0, lanes: Vec::new(), best: None }
    }

    /// Takes `split` as the best one, if it is valid and better than what is known.
    pub fn offer(&mut self, split: &Assignment) -> bool {
        let Some(value) = self.setting.objective(split) else { return false };
        let is_better = self.best.as_ref().is_none_or(|(best, _)| value < *best);
        if is_better {
            self.best = Some((value, split.clone()));
        }
        is_better
    }

    /// The best split and its objective.
    pub fn best(&self) -> Option<(f64, &Assignment)> {
        self.best.as_ref().map(|(value, split)| (*value, split))
    }

    /// How many rounds have been started.
    pub fn rounds(&self) -> u64 {
        self.started
    }

    /// One round per thread of `cx`, side by side; whether a better split came of them.
    ///
    /// The first rounds take milliseconds where the graph has hundreds of units, later ones tens of them.
    pub fn advance(&mut self, cx: &SearchContext) -> bool {
        self.start_chains(cx);
        let first = self.started;
        self.started += self.lanes.len() as u64;
        let round = |(i, chain): (usize, &Chain)| self.round(first + i as u64, chain, cx);
        let found: Vec<Assignment> = match self.lanes.len() {
            1 => self.lanes.iter().enumerate().map(round).collect(),
            _ => self.lanes.par_iter().enumerate().map(round).collect(),
        };
        let values: Vec<Option<f64>> = found.iter().map(|split| self.setting.objective(split)).collect();
        for (chain, (split, value)) in self.lanes.iter_mut().zip(found.into_iter().zip(values)) {
            match value {
                Some(value) if chain.value.is_none_or(|known| value < known) => {
                    *chain = Chain { split: Some(split), value: Some(value), stale: 0 };
                }
                _ => chain.stale += 1,
            }
        }
        self.keep_best()
    }

    /// Keeps the best split of the chains, if it is better than what is known.
    fn keep_best(&mut self) -> bool {
        let known = self.best.as_ref().map(|(value, _)| *value);
        let of_chain = |chain: &Chain| Some((chain.value?, chain.split.clone()?));
        let best = self.lanes.iter().filter_map(of_chain).min_by(|a, b| a.0.total_cmp(&b.0));
        let better = best.filter(|(value, _)| known.is_none_or(|known| *value < known));
        let is_better = better.is_some();
        self.best = better.or_else(|| self.best.take());
        is_better
    }

    /// Starts as many chains as there are threads, and new ones in the place of those that help no more.
    fn start_chains(&mut self, cx: &SearchContext) {
        let threads = cx.threads.max(1);
        self.lanes.resize_with(threads, || Chain { stale: STALE, ..Chain::default() });
        for lane in 0..threads {
            if self.lanes[lane].stale < STALE {
                continue;
            }
            let number = self.chains;
            self.chains += 1;
            let from_best = number % FRESH_CHAINS == FRESH_CHAINS - 1;
            let best = self.best.as_ref().filter(|_| from_best).map(|(_, split)| split.clone());
            // The first chain begins where linearized DP ends; convex sets need a start that is convex.
            let needs_start = number == 0 || self.setting.problem.spec.scope != Scope::Arbitrary;
            let split = best.or_else(|| needs_start.then(|| self.starts.numbered(self.setting, number as usize, cx)));
            let value = split.as_ref().and_then(|split| self.setting.objective(split));
            self.lanes[lane] = Chain { split, value, stale: 0 };
        }
    }

    fn round(&self, number: u64, chain: &Chain, cx: &SearchContext) -> Assignment {
        let start = chain.split.as_ref();
        let mut rng = Rng::seed_from_u64(scramble(self.seed) ^ number);
        let known = start.or(self.best.as_ref().map(|(_, split)| split));
        self.rounds.round(self.setting, Order { start, known, effort: effort(number) }, &mut rng, cx)
    }
}

/// Sweeps over each level of round `number`: few at first, so that something good is there soon.
fn effort(number: u64) -> usize {
    40 << (number / 4).min(3)
}
