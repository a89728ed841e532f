//! Flat searches from many random placements (Chen 2024, section 2.3).

use rand::SeedableRng;
use rand::rngs::Xoshiro256PlusPlus;
use rayon::prelude::*;

use super::descent::{Descent, random_placement};
use super::{Model, Placement, recomputed};
use crate::solve::SearchContext;

/// How to search from one random placement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FlatSearch {
    /// Downhill by priced moves until none helps.
    Priced(Descent),
    /// As the paper's authors do: the whole cost is computed anew for each move.
    Recomputed {
        /// The most sweeps: N in the paper.
        sweeps: usize,
    },
}

impl FlatSearch {
    /// The best of `starts` searches, with its cost; `None` where no placement that fits was found.
    ///
    /// Starts run in parallel, with the same answer on any number of threads. Once a limit comes all but the first are
    /// left out.
    pub fn best_of_starts(
        self,
        model: &Model,
        starts: usize,
        seed: u64,
        cx: &SearchContext,
    ) -> Option<(f64, Vec<u32>)> {
        let run = |i: usize| {
            let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed.wrapping_add(i as u64));
            let part_of = match self {
                Self::Priced(descent) => {
                    let mut placement = Placement::new(model, random_placement(model, &mut rng)?);
                    descent.run(&mut placement, cx);
                    placement.into_parts()
                }
                Self::Recomputed { sweeps } => recomputed::search(model, sweeps, &mut rng, cx)?,
            };
            Some((model.cost(&part_of), i, part_of))
        };
        let others = || {
            let starts = (1..starts).into_par_iter().take_any_while(|_| !cx.should_stop());
            // The first of equals.
            starts.filter_map(run).min_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)))
        };
        let (first, others) = rayon::join(|| run(0), others);
        let best = first.into_iter().chain(others).min_by(|a, b| a.0.total_cmp(&b.0));
        best.map(|(cost, _, part_of)| (cost, part_of))
    }
}
