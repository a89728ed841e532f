//! What places stages, and what comes of it.

use super::{Mapping, MappingProblem};
use crate::cost::Terms;
use crate::search::{Outcome, Race, Run, SearchContext};

/// How a mapper's run ended; a bound is a time that no mapping's slowest copy is below.
pub type MappingOutcome = Outcome<Mapping, f64>;

/// A mapper's answer.
pub type MappingRun = Run<Mapping, f64>;

/// What a search for a mapping knows from both sides.
pub(super) type MappingRace<'a> = Race<'a, Mapping, ()>;

/// A time that no mapping's slowest copy is below, for what copies compute alone: those that compute most go to the
/// fastest devices, which keeps the slowest as fast as can be. O(n log n) of devices and copies.
pub(super) fn compute_bound(problem: &MappingProblem) -> f64 {
    let compute = |copy: usize| problem.stages.stages[copy / problem.replicas].compute();
    let mut work: Vec<f64> = (0..problem.copies()).map(compute).collect();
    let mut speeds: Vec<f64> = problem.topology.devices.iter().map(|device| device.speed).collect();
    for descending in [&mut work, &mut speeds] {
        descending.sort_by(|a, b| b.total_cmp(a));
    }
    let compute = work.iter().zip(speeds).map(|(work, speed)| work / speed).fold(0.0, f64::max);
    problem.time(&Terms { compute, ..Terms::default() }, 0.0)
}

/// Places the copies of stages on devices.
pub trait Mapper {
    /// Its name on the command line and in records.
    fn name(&self) -> &str;

    /// Places the copies. It stops within the context's limits with the best mapping and bound it has, and gives the
    /// same answer for the same problem, seed and threads where no limit stops it.
    fn map(&self, problem: &MappingProblem, cx: &SearchContext) -> MappingRun;
}
