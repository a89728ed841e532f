//! Methods without proof, one file each, and what they share.
//!
//! Two minimise the latency: [`Greedy`] is the published baseline, [`LocalSearch`] improves on it. Those of
//! [`chen2024`] minimise the sharding cost, and [`SliceGraph`] the largest load.

pub mod chen2024;
mod greedy;
mod latency_bound;
mod local_search;
mod placement;
mod slicegraph;

pub use chen2024::{Hierarchical, KernighanLin};
pub use greedy::Greedy;
pub use latency_bound::latency_bound;
pub use local_search::LocalSearch;
pub use slicegraph::SliceGraph;

use super::{LowerBound, OPTIMALITY_TOLERANCE, Outcome, Unsupported, refuse_sharding};
use crate::problem::{Objective, Problem, Solution};

/// Takes problems whose objective is the latency.
fn supports_latency(solver: &str, problem: &Problem) -> Result<(), Unsupported> {
    refuse_sharding(solver, problem)?;
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
