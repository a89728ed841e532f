//! What every search shares, whatever it looks for: splits, mappings or plans.
//!
//! A [`SearchContext`] holds its limits, a [`Race`] what it knows from both sides, the best solution and the best bound; a
//! [`Verdict`] says what became of a target, an [`Outcome`] how the run ended. Searches that go [`by_turns`] share what they know. Only here is anything called optimal.

mod context;
mod memory;
mod outcome;
mod race;
mod stats;
mod table;
mod tolerance;
mod turns;
mod verdict;

pub use context::{Progress, SearchContext, Stopped};
pub(crate) use context::{in_pool, in_pool_of};
pub use memory::MemoryBudget;
pub use outcome::{Bound, Outcome, Run, Status};
pub(crate) use race::Race;
pub use stats::{Stats, Technique};
pub use tolerance::{OPTIMALITY_TOLERANCE, gap};
pub(crate) use tolerance::{SEARCH_TOLERANCE, is_proven};
pub(crate) use turns::{Entrant, by_turns};
pub(crate) use verdict::Verdict;
