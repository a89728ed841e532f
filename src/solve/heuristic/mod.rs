//! Methods without proof, one file each, and what they share.
//!
//! [`Greedy`] and [`LocalSearch`] minimise the latency, the former as published. [`parmesan`] and [`rannc`] are
//! published partitioners for pipelines.

mod greedy;
mod groups;
mod latency_bound;
mod local_search;
pub mod parmesan;
mod placement;
pub mod rannc;

pub use greedy::Greedy;
pub use latency_bound::latency_bound;
pub use local_search::LocalSearch;
pub use parmesan::{IterativeRefinement, OperatorClustering};
pub use rannc::{Blocks, Rannc};

use super::{LowerBound, OPTIMALITY_TOLERANCE, Outcome, Unsupported};
use crate::problem::{Objective, Problem, Solution};

/// Takes problems whose objective is the latency.
fn supports_latency(solver: &str, problem: &Problem) -> Result<(), Unsupported> {
    match problem.spec.objective {
        Objective::Latency { .. } => Ok(()),
        _ => Err(Unsupported {
            solver: solver.into(),
            reason: "it minimises the latency; use dp or dpl for loads".into(),
        }),
    }
}

/// Whether a split of this value cannot be better by more than `gap`, or than the rounding of sums.
fn is_good_enough(value: f64, bound: &LowerBound, gap: f64) -> bool {
    value - bound.value <= gap.max(OPTIMALITY_TOLERANCE) * value
}

/// What is known after a search that found `solution` at most.
fn outcome(solution: Option<Solution>, bound: LowerBound) -> Outcome {
    match solution {
        Some(solution) => Outcome::found(solution, bound),
        None => Outcome::Unknown { bound: Some(bound) },
    }
}
