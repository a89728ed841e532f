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

/// What is known after a search that found `solution` at most; no better split exists than one that meets `bound`.
fn outcome(solution: Option<Solution>, bound: LowerBound) -> Outcome {
    match solution {
        Some(solution) if solution.objective.is_some_and(|value| value <= bound.value) => {
            Outcome::Optimal { solution, bound }
        }
        Some(solution) => Outcome::Feasible { solution, bound: Some(bound) },
        None => Outcome::Unknown { bound: Some(bound) },
    }
}
