//! What places stages, and what comes of it.

use super::{Mapping, MappingProblem};
use crate::search::{Outcome, Race, Run, SearchContext};

/// How a mapper's run ended; a bound is a time that no mapping's slowest copy is below.
pub type MappingOutcome = Outcome<Mapping, f64>;

/// A mapper's answer.
pub type MappingRun = Run<Mapping, f64>;

/// What a search for a mapping knows from both sides.
pub(super) type MappingRace<'a> = Race<'a, Mapping, ()>;

/// Places the copies of stages on devices.
pub trait Mapper {
    /// Its name on the command line and in records.
    fn name(&self) -> &str;

    /// Places the copies. It stops within the context's limits with the best mapping and bound it has, and gives the
    /// same answer for the same problem, seed and threads where no limit stops it.
    fn map(&self, problem: &MappingProblem, cx: &SearchContext) -> MappingRun;
}
