//! Methods without proof, one file each, and what they share.
//!
//! Both minimise the latency: [`Greedy`] is the published baseline, [`LocalSearch`] improves on it.

mod greedy;
mod latency_bound;
mod local_search;
mod placement;

pub use greedy::Greedy;
pub use latency_bound::latency_bound;
pub use local_search::LocalSearch;

use super::{LowerBound, Outcome, Unsupported};
use crate::problem::{Objective, Problem, Solution};

fn supports_latency(solver: &'static str, problem: &Problem) -> Result<(), Unsupported> {
    match problem.spec.objective {
        Objective::Latency { .. } => Ok(()),
        _ => Err(Unsupported { solver, reason: "it minimises the latency; use dp or dpl for loads".into() }),
    }
}

/// Whether a split of this value cannot be better by more than `gap`, or than the rounding of sums.
fn is_good_enough(value: f64, bound: &LowerBound, gap: f64) -> bool {
    value - bound.value <= gap.max(1e-9) * value
}

/// What is known after a search that found `solution` at most.
fn outcome(solution: Option<Solution>, bound: LowerBound) -> Outcome {
    match solution {
        Some(solution) if solution.objective.is_some_and(|value| is_good_enough(value, &bound, 0.0)) => {
            Outcome::Optimal { solution, bound }
        }
        Some(solution) => Outcome::Feasible { solution, bound: Some(bound) },
        None => Outcome::Unknown { bound: Some(bound) },
    }
}
