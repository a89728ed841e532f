//! What places stages, and what comes of it.

use super::{Mapping, MappingProblem};
use crate::solve::SearchContext;

/// What a mapper found out.
#[derive(Debug, Clone, PartialEq)]
pub enum MappingOutcome {
    /// The best mapping there is: its bound equals its time up to rounding.
    Optimal(Mapping),
    /// A mapping, perhaps not the best.
    Feasible(Mapping),
    /// There is no mapping: too few devices, or too little memory.
    Infeasible,
    /// None was found in time.
    Unknown,
}

/// A mapper's answer.
#[derive(Debug, Clone, PartialEq)]
pub struct MappingRun {
    /// What it found out.
    pub outcome: MappingOutcome,
    /// No mapping's slowest copy is faster than this; 0 where nothing is known.
    pub bound: f64,
    /// Figures of the search by name, as they are shown.
    pub stats: Vec<(&'static str, u64)>,
}

impl MappingRun {
    /// The mapping found.
    pub fn mapping(&self) -> Option<&Mapping> {
        match &self.outcome {
            MappingOutcome::Optimal(mapping) | MappingOutcome::Feasible(mapping) => Some(mapping),
            MappingOutcome::Infeasible | MappingOutcome::Unknown => None,
        }
    }
}

/// Places the copies of stages on devices.
pub trait Mapper {
    /// Its name on the command line and in records.
    fn name(&self) -> &str;

    /// Places the copies. It stops within the context's limits with the best mapping and bound it has, and gives the
    /// same answer for the same problem, seed and threads where no limit stops it.
    fn map(&self, problem: &MappingProblem, cx: &SearchContext) -> MappingRun;
}
