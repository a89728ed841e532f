//! Dynamic programs: over ideals, and over the prefixes of one order.

pub mod chain;
pub mod chain_cuts;
pub mod coarse_to_fine;
pub mod consumption;
mod costs;
pub mod dominance;
pub mod enumerate;
pub mod frontier;
pub mod grouping;
pub mod guide;
pub mod ideal;
pub mod inner;
pub mod lattice;
mod line_memory;
pub mod linear;
pub mod linearized;
pub mod loads;
pub mod orders;
pub mod pairs;
pub mod pareto_fronts;
pub mod plain;
pub mod quantise;
pub mod relaxation;
pub mod reorder;
mod rests;
pub mod search;
pub mod secondary;
pub mod servers;
mod setting;
pub mod stage;
pub mod suffixes;
mod zone;

pub use ideal::IdealDp;
pub use plain::PlainDp;
pub use setting::{Incumbent, Setting};

use crate::problem::{Objective, Problem, Scope};
use crate::solve::{Unsupported, in_pool, refuse_sharding};

/// More uses of devices than this are not tabulated: every position of an order has an entry for each.
const MAX_USES: f64 = 1e6;

/// Both dynamic programs split into successive ideals, and tabulate how many devices of each kind are in use.
pub(super) fn supports(solver: &str, problem: &Problem) -> Result<(), Unsupported> {
    takes(solver, problem)?;
    let reason = match problem.spec.scope {
        Scope::Linearized(_) => "it does not take one given order; ask for the scope `acyclic`",
        Scope::Arbitrary | Scope::Convex => {
            "it finds splits into successive ideals; ask for the scope `acyclic`, or use certify"
        }
        Scope::Acyclic => return Ok(()),
    };
    Err(Unsupported { solver: solver.into(), reason: reason.into() })
}

/// Whether they take a problem in the scope of such splits.
pub(super) fn takes(solver: &str, problem: &Problem) -> Result<(), Unsupported> {
    refuse_sharding(solver, problem)?;
    let kinds = problem.device_kinds();
    let uses: f64 =
        kinds.iter().map(|&kind| problem.device_count(kind).min(problem.node_count()) as f64 + 1.0).product();
    let reason = match problem.spec.objective {
        Objective::Latency { .. } => "it minimises loads, not latency; use latency-dp or local-search".into(),
        _ if uses > MAX_USES => format!(
            "its devices can be in use in {uses:.0e} ways, more than {MAX_USES:.0e}; ask for fewer devices or kinds of them"
        ),
        _ => return Ok(()),
    };
    Err(Unsupported { solver: solver.into(), reason })
}
