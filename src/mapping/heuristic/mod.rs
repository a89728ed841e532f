//! Mappings by rule and by local search: fast, with no bound but that of what copies compute.

mod annealing;
mod greedy;
mod orders;
mod swap;

pub use annealing::MappingAnnealing;
pub use greedy::GreedyMapping;
pub use orders::{Consecutive, PointToPoint, RandomMapping};
pub use swap::SwapSearch;

use super::{Mapping, MappingProblem, MappingRun, compute_bound};
use crate::search::{Outcome, Stats};

/// What a heuristic says of the mapping it found, if any.
fn found(problem: &MappingProblem, mapping: Option<Mapping>, stats: Stats) -> MappingRun {
    let bound = compute_bound(problem);
    let outcome = match mapping {
        Some(mapping) => {
            let objective = problem.objective(&mapping);
            Outcome::found(mapping, objective, bound)
        }
        None => Outcome::Unknown { bound: Some(bound) },
    };
    MappingRun { outcome, stats }
}

/// The best of several mappings, the first among equals.
pub(super) fn best_of(problem: &MappingProblem, mappings: impl IntoIterator<Item = Mapping>) -> Option<Mapping> {
    mappings.into_iter().min_by(|a, b| problem.objective(a).total_cmp(&problem.objective(b)))
}
