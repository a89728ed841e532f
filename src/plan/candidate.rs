//! One way to use the devices.

use super::chunked::placement;
use super::{Breakdown, Partition, Shape};
use crate::mapping::{ClaimedMapping, Counted, Mapping, MappingProblem};
use crate::problem::Placement;
use crate::simulate::Simulation;
use crate::simulate::schedule::Schedule;

/// Sums of times in another order differ by so much.
const ROUNDING: f64 = 1e-9;

/// What pipelines are worth that serve.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Service {
    /// Samples a second of all pipelines, once these are full.
    pub throughput: f64,
    /// Milliseconds that a microbatch takes through an empty pipeline.
    pub latency: f64,
    /// The most tokens whose keys and values each pipeline has room for, on its fullest device, beside all else; `None` where
    /// nothing limits them.
    pub tokens: Option<usize>,
    /// The same of all pipelines together.
    pub tokens_in_all: Option<usize>,
}

impl Service {
    /// Whether it has as many samples a second, as little latency and as many tokens in all as `other`.
    pub fn is_as_good_as(&self, other: &Self) -> bool {
        let tokens = |service: &Self| service.tokens_in_all.unwrap_or(usize::MAX);
        self.throughput >= other.throughput * (1.0 - ROUNDING)
            && self.latency <= other.latency * (1.0 + ROUNDING)
            && tokens(self) >= tokens(other)
    }
}

/// Stages on devices, simulated.
#[derive(Debug, Clone)]
pub struct MappedPipeline {
    /// The split.
    pub partition: Partition,
    /// The method that found it.
    pub method: String,
    /// What was mapped: with several chunks on each device, what a device holds is one stage. Its stage times are those of
    /// one microbatch: with recomputation, and with a microbatch's share of the all-reduce.
    pub problem: MappingProblem,
    /// The mapping, verified.
    pub mapping: ClaimedMapping,
    /// The mapper's name.
    pub mapper: String,
    /// What the mapper counted.
    pub counted: Counted,
    /// The slowest copy, with messages and all-reduce whatever the mapper counted.
    pub stage_time: f64,
    /// The relative gap of the mapper under what it counted; `None` where it knows no bound, or the stages are others since.
    pub gap: Option<f64>,
    /// When everything ran.
    pub simulation: Simulation,
    /// Time of a step.
    pub time: f64,
    /// Where the devices' time goes.
    pub breakdown: Breakdown,
    /// The most bytes that a device holds at a time.
    pub peak_memory: f64,
    /// The first device whose memory is too small, by its index in the topology.
    pub overfull: Option<usize>,
    /// What it is worth in serving, if it does not train.
    pub service: Option<Service>,
}

impl MappedPipeline {
    /// Where its stages are: with several chunks on each device those of the split, not of what was mapped.
    pub fn places(&self) -> ClaimedMapping {
        self.partition.spread(&self.mapping)
    }

    /// The device of each copy.
    pub(super) fn devices(&self) -> Mapping {
        let mapping = self.mapping.to_mapping(&self.problem);
        mapping.unwrap_or_else(|| unreachable!("a verified mapping places each copy once"))
    }

    /// Whether it serves as well as `other`, where both serve.
    pub(super) fn serves_as_well_as(&self, other: &Self) -> bool {
        self.service.zip(other.service).is_none_or(|(own, other)| own.is_as_good_as(&other))
    }

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
    /// It was simulated.
    Planned(Box<MappedPipeline>),
    /// It is proven that there is no such pipeline, for this reason.
    Refuted(String),
    /// No pipeline was found, for this reason.
    Failed(String),
    /// Its bound says that it is not among the best.
    Beaten,
    /// It was not looked at before the limit or Ctrl-C came.
    Skipped,
}

/// One way to use the devices, and what came of it.
#[derive(Clone)]
pub struct Candidate {
    /// Stages, replicas and devices of each copy.
    pub shape: Shape,
    /// Samples of a microbatch.
    pub microbatch_size: usize,
    /// Microbatches of each pipeline.
    pub microbatches: usize,
    /// Chunks of the pipeline on each device.
    pub chunks: usize,
    /// In which order devices work.
    pub schedule: &'static dyn Schedule,
    /// Whether whole stages compute their activations once more.
    pub recompute: bool,
    /// A time that no step of such a plan is below, whatever split and mapping.
    pub bound: f64,
    /// What proves it: `work`, `stages in line`, `dp`, `degrees`, `chunks` or `joint search`.
    pub bound_by: &'static str,
    /// What became of it.
    pub fate: Fate,
    /// Its splits, each with the method that found it.
    pub(super) splits: Vec<(Partition, String)>,
}

impl Candidate {
    /// Its pipeline, whether or not it fits in memory.
    pub fn pipeline(&self) -> Option<&MappedPipeline> {
        match &self.fate {
            Fate::Planned(pipeline) => Some(pipeline),
            _ => None,
        }
    }

    /// The time of its step, where it runs and fits in memory.
    pub fn time(&self) -> Option<f64> {
        self.pipeline().filter(|pipeline| pipeline.overfull.is_none()).map(|pipeline| pipeline.time)
    }

    /// What it is worth in serving, where it runs and fits in memory.
    pub fn service(&self) -> Option<Service> {
        self.pipeline().filter(|pipeline| pipeline.overfull.is_none())?.service
    }

    /// Which stages each device holds, where these are several.
    pub fn placement(&self) -> Placement {
        placement(self.schedule)
    }

    /// How many stages its pipeline has, or may have at most; with several chunks on each device how many devices.
    pub fn stages(&self) -> usize {
        self.pipeline().map_or(self.shape.stages, |pipeline| pipeline.problem.stages.stages.len())
    }
}

/// Which of the candidates serve and no other is better than: of those that are alike the first. O(candidates²).
pub fn on_front(candidates: &[Candidate]) -> Vec<bool> {
    let services: Vec<Option<Service>> = candidates.iter().map(Candidate::service).collect();
    let is_beaten = |i: usize, own: &Service| {
        let is_better =
            |j: usize, other: &Service| j != i && other.is_as_good_as(own) && (j < i || !own.is_as_good_as(other));
        services.iter().enumerate().any(|(j, other)| other.is_some_and(|other| is_better(j, &other)))
    };
    services.iter().enumerate().map(|(i, own)| own.is_some_and(|own| !is_beaten(i, &own))).collect()
}

/// Keeps the candidates on the front, and the first so many.
pub fn keep_front(candidates: &mut Vec<Candidate>, first: usize) {
    let mut is_kept = on_front(candidates).into_iter().enumerate().map(|(i, is_on_front)| i < first || is_on_front);
    candidates.retain(|_| is_kept.next() == Some(true));
}
