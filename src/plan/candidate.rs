//! One way to use the devices.

use super::{Breakdown, Factoring};
use crate::mapping::{ClaimedMapping, Counted, MappingProblem, StageCost, StageGraph};
use crate::simulate::Simulation;
use crate::verify::Verified;

/// A verified split into stages.
#[derive(Debug, Clone)]
pub struct Partition {
    /// The split.
    pub verified: Verified,
    /// Its stages; fewer than asked for where the partitioner leaves devices empty.
    pub stages: StageGraph,
    /// What a copy's time is, with messages and all-reduce.
    pub cost: StageCost,
}

/// Stages on devices, simulated.
#[derive(Debug, Clone)]
pub struct MappedPipeline {
    /// What was mapped. Its stage times are those of one microbatch: with recomputation, and with a microbatch's share
    /// of the all-reduce.
    pub problem: MappingProblem,
    /// The mapping, verified.
    pub mapping: ClaimedMapping,
    /// The mapper's name.
    pub mapper: String,
    /// What the mapper counted.
    pub counted: Counted,
    /// The slowest copy, with messages and all-reduce whatever the mapper counted.
    pub stage_time: f64,
    /// The relative gap of the mapper under what it counted; `None` where it knows no bound.
    pub gap: Option<f64>,
    /// When everything ran.
    pub simulation: Simulation,
    /// Time of the run for each microbatch of all pipelines: its inverse is the throughput.
    pub time: f64,
    /// Where the devices' time goes.
    pub breakdown: Breakdown,
    /// The most bytes that a device holds at a time.
    pub peak_memory: f64,
    /// The first device whose memory is too small, by its index in the topology.
    pub overfull: Option<usize>,
}

impl MappedPipeline {
    /// Whether it fits where `other` does not, or else is faster.
    pub(super) fn is_better(&self, other: &Self) -> bool {
        let order = |pipeline: &Self| pipeline.overfull.is_some();
        order(self).cmp(&order(other)).then(self.time.total_cmp(&other.time)).is_lt()
    }
}

/// What became of a candidate.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum Fate {
    /// It runs.
    Planned(Box<MappedPipeline>),
    /// There is no pipeline, for this reason.
    Failed(String),
    /// It was not looked at before the limit or Ctrl-C came.
    Skipped,
}

/// One way to use the devices, and what came of it.
#[derive(Debug, Clone)]
pub struct Candidate {
    /// Stages and replicas.
    pub factoring: Factoring,
    /// Microbatches of each pipeline.
    pub microbatches: usize,
    /// What became of it.
    pub fate: Fate,
}

impl Candidate {
    /// Its pipeline, whether or not it fits in memory.
    pub fn pipeline(&self) -> Option<&MappedPipeline> {
        match &self.fate {
            Fate::Planned(pipeline) => Some(pipeline),
            Fate::Failed(_) | Fate::Skipped => None,
        }
    }

    /// Its time per microbatch, where it runs and fits in memory.
    pub fn time(&self) -> Option<f64> {
        self.pipeline().filter(|pipeline| pipeline.overfull.is_none()).map(|pipeline| pipeline.time)
    }
}
