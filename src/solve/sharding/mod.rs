//! The sharding cost of Chen 2024: what its methods share, and an exact search for it.
//!
//! [`Shards`] are the units of a problem (colour classes) and its devices; [`Model`] is what their placement costs;
//! [`Placement`] keeps the cost of every single move at hand; [`descent`] goes downhill. The published heuristics stand
//! in [`heuristic`](crate::solve::heuristic) and use these; [`ShardingBb`] proves optima.

mod bound;
mod branch_and_bound;
pub mod descent;
mod dominance;
mod flat;
mod model;
mod order;
mod placement;
mod recomputed;
mod shards;

pub use branch_and_bound::ShardingBb;
pub use flat::FlatSearch;
pub(crate) use model::GroupWeights;
pub use model::Model;
pub use placement::Placement;
pub use shards::Shards;

use super::Unsupported;
use crate::problem::{Objective, Problem, Scope};

/// More units times devices than this are not tabulated.
const MAX_TABLE: usize = 50_000_000;

/// Takes problems whose objective is the sharding cost, over arbitrary splits.
pub(super) fn supports(solver: &str, problem: &Problem) -> Result<(), Unsupported> {
    let refuse = |reason: String| Err(Unsupported { solver: solver.into(), reason });
    let Objective::Sharding(_) = problem.spec.objective else {
        return refuse("it minimises the sharding cost alone; ask for objective sharding, or use auto".into());
    };
    if problem.spec.scope != Scope::Arbitrary {
        return refuse("its splits are not contiguous; ask for scope arbitrary, or use brute-force".into());
    }
    let devices: usize = problem.device_kinds().into_iter().map(|kind| problem.device_count(kind)).sum();
    if problem.node_count().saturating_mul(devices) > MAX_TABLE || devices.saturating_mul(devices) > MAX_TABLE {
        let nodes = problem.node_count();
        return refuse(format!("it tabulates {nodes} nodes by {devices} devices; ask for fewer devices"));
    }
    Ok(())
}
