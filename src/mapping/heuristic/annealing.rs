//! Swap annealing by itself.

use super::found;
use crate::mapping::annealing::Annealer;
use crate::mapping::orders::seeds;
use crate::mapping::tiling::tile;
use crate::mapping::{Mapper, MappingProblem, MappingRun, compute_bound};
use crate::search::{SearchContext, Stats};

/// Swap annealing from mappings by rule: a heuristic.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MappingAnnealing {
    /// How many swaps it tries for each copy.
    pub moves: u64,
}

impl Default for MappingAnnealing {
    fn default() -> Self {
        Self { moves: 20_000 }
    }
}

impl Mapper for MappingAnnealing {
    fn name(&self) -> &str {
        "annealing"
    }

    fn map(&self, problem: &MappingProblem, cx: &SearchContext) -> MappingRun {
        let Some(first) = seeds(problem).into_iter().next() else {
            return found(problem, None, Stats::default());
        };
        let mut annealer = Annealer::new(problem, cx.seed);
        let mut race = annealer.race(&first, compute_bound(problem), cx);
        tile(problem, &mut race);
        annealer.anneal(&mut race, self.moves.saturating_mul(problem.copies() as u64));
        let (best, ..) = race.finish();
        found(problem, best.map(|(_, mapping)| mapping), Stats::of([("moves", annealer.moves() as f64)]))
    }
}
