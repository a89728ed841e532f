//! Local search over exact splits of two devices.
//!
//! A move takes all units of two devices and splits them anew: of all ways to load the first with at most a target, it
//! finds one that leaves the second the least load, by a [sweep](super::pricing::Sweep) over their units. What is above the
//! target thus collects on one device, which passes it on until it fits into gaps elsewhere. Such moves reach far beyond
//! those of single units: a split that annealing cannot improve is often far from the best one.

mod pairs;
mod walk;

use rayon::prelude::*;

use super::assignment::{Assignment, Setting};
use crate::solve::SearchContext;
use pairs::Pairs;
use walk::Walker;

/// The search, which can be resumed at any time.
///
/// Equal settings, seeds and best splits given give equal splits after equal numbers of [`Self::advance`].
pub struct Resplit<'a> {
    pairs: Pairs<'a>,
    walkers: Vec<Walker>,
}

impl<'a> Resplit<'a> {
    /// A search of so many walkers; `None` where sets have to be convex, loads have several pieces, or nothing takes time.
    pub fn new(setting: &'a Setting<'a>, walkers: usize, seed: u64) -> Option<Self> {
        let walkers = (0..walkers.max(1)).map(|i| Walker::new(seed, i)).collect();
        Some(Self { pairs: Pairs::new(setting)?, walkers })
    }

    /// Ends all walks, as the best split given next is not one that they can come from.
    pub fn begin_line(&mut self) {
        self.walkers.iter_mut().for_each(Walker::begin_line);
    }

    /// So many moves of each walker, side by side; a better split than `best`, at which a walker stops, if they find one.
    /// No split is below `bound`.
    pub fn advance(
        &mut self,
        (value, best): (f64, &Assignment),
        bound: f64,
        moves: usize,
        cx: &SearchContext,
    ) -> Option<Assignment> {
        let pairs = &self.pairs;
        let found = self.walkers.par_iter_mut().filter_map(|walker| {
            let mut moves = (0..moves).take_while(|_| !cx.should_stop());
            moves.find_map(|_| walker.advance(pairs, (value, best), bound))
        });
        found.min_by(|a, b| a.0.total_cmp(&b.0)).map(|(_, split)| split)
    }
}
