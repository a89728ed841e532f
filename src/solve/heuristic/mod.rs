//! Methods without proof, one file each, and what they share.
//!
//! [`Greedy`], [`LocalSearch`] and [`Expert`]s serve loads and the latency, [`MaxLoad`] the latency alone. For loads there are the published baselines too:
//! [`PipeDream`]'s optimizer, [`Uniform`] splits, [`SingleDevice`], and the graph partitioners
//! behind [`ExternalPartitioner`]. [`parmesan`], [`rannc`] and [`SliceGraph`] are published partitioners for pipelines;
//! those of [`chen2024`] minimise the sharding cost.

pub mod chen2024;
mod expert;
pub mod external;
mod greedy;
mod groups;
mod latency_bound;
mod layers;
mod local_search;
mod max_load;
pub mod parmesan;
mod pipedream;
mod placement;
pub mod rannc;
mod single_device;
mod slicegraph;
mod uniform;

pub use chen2024::{Hierarchical, KernighanLin};
pub use expert::{Expert, ExpertError};
pub use external::ExternalPartitioner;
pub use greedy::Greedy;
pub use latency_bound::latency_bound;
pub use layers::Layers;
pub use local_search::LocalSearch;
pub use max_load::MaxLoad;
pub use parmesan::{IterativeRefinement, OperatorClustering};
pub use pipedream::{Branchings, PipeDream};
pub use rannc::{Blocks, Rannc};
pub use single_device::SingleDevice;
pub use slicegraph::SliceGraph;
pub use uniform::Uniform;

use super::{LowerBound, Outcome, Unsupported, found, refuse_recomputation, refuse_sharding};
use crate::bound::work_bound;
use crate::problem::{Objective, Problem, Scope, Solution};
use crate::search::SEARCH_TOLERANCE;

/// Takes problems whose objective is the latency.
fn supports_latency(solver: &str, problem: &Problem) -> Result<(), Unsupported> {
    refuse_sharding(solver, problem)?;
    match problem.spec.objective {
        Objective::Latency { .. } => Ok(()),
        _ => Err(unsupported(solver, "it minimises the latency; use dp or dpl for loads")),
    }
}

/// Takes problems whose objective is made of loads, on devices without servers, in every scope but that of one order.
fn supports_loads(solver: &str, problem: &Problem) -> Result<(), Unsupported> {
    refuse_sharding(solver, problem)?;
    let spec = &problem.spec;
    let reason = match spec.scope {
        _ if matches!(spec.objective, Objective::Latency { .. }) => {
            "it minimises loads, not latency; use latency-dp or local-search"
        }
        Scope::Linearized(_) => "it does not take one given order; ask for the scope `acyclic`",
        _ if spec.interconnect.is_some() => "it does not place devices in servers; use dp, dpl or pipedream",
        _ => return Ok(()),
    };
    Err(unsupported(solver, reason))
}

fn unsupported(solver: &str, reason: &str) -> Unsupported {
    Unsupported { solver: solver.into(), reason: reason.into() }
}

/// Whether a split of this value cannot be better by more than `gap`, or than the rounding of sums.
fn is_good_enough(value: f64, bound: &LowerBound, gap: f64) -> bool {
    value - bound.value <= gap.max(SEARCH_TOLERANCE) * value
}

/// What is known after a search that found `solution` at most.
fn outcome(solution: Option<Solution>, bound: LowerBound) -> Outcome {
    match solution {
        Some(solution) => found(solution, bound),
        None => Outcome::Unknown { bound: Some(bound) },
    }
}
