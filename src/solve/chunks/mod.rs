//! Several stages of the pipeline on each device, which holds them in turn (docs/pipelines.md).

mod columns;
mod dive;
mod family;
mod loads;
mod pipeline;
mod search;

use crate::bound;
use crate::preprocess::{Reduced, Unordered};
use crate::problem::{Chunks, DeviceAssignment, Objective, Placement, Problem, Scope, Solution};
use crate::search::{Race, SearchContext, Stats};
use crate::solve::{BoundSource, Guarantee, LowerBound, Outcome, Run, SolveError, Solver, Unsupported, degrees};

const NAME: &str = "chunks";

/// One chunk on each device: the stages of a step without chunks.
const ONE: Chunks = Chunks::new(1, Placement::Interleaved);

/// Branch and bound for pipelines with several chunks on each device ([`Chunks`]).
///
/// The ideals at which stages begin are chosen in pipeline order, within a target for the step. What is left has to find room
/// on the devices that still take stages, each no fuller than the largest sum of loads of single stages within the target: where
/// layers are of few kinds these sums are few, and the bound mostly meets the first splits. The others are refuted by
/// enumeration, as far as they are few. Graphs of many ideals are split along two orders, with the bound of all work.
#[derive(Debug, Clone, PartialEq)]
pub struct ChunkSearch {
    /// The most ideals that it lists.
    pub max_ideals: usize,
    /// Whether stages of nodes with options stay as even as they are found, and are not moved to where memory leaves room: a step's
    /// formula does not see what uneven ones wait for.
    pub is_even: bool,
}

impl Default for ChunkSearch {
    fn default() -> Self {
        Self { max_ideals: 1_000, is_even: false }
    }
}

impl Solver for ChunkSearch {
    fn name(&self) -> &str {
        NAME
    }

    fn guarantee(&self) -> Guarantee {
        Guarantee::Exact
    }

    fn knows_steps(&self) -> bool {
        true
    }

    fn knows_chunks(&self) -> bool {
        true
    }

    fn chooses_degrees(&self) -> bool {
        true
    }

    fn supports(&self, problem: &Problem) -> Result<(), Unsupported> {
        let spec = &problem.spec;
        let reason = if spec.degrees.is_some() && spec.chunks.is_none() {
            "it chooses none of the degrees that the microbatches ask for, but options for several chunks; use degrees"
        } else if spec.objective.microbatches().is_none() {
            "it minimises the time of a step; use another method, or ask for that"
        } else if spec.scope != Scope::Acyclic {
            "it finds splits into successive ideals; ask for the scope `acyclic`"
        } else if problem.device_kinds().len() != 1 || spec.platform.cpus > 0 {
            "it takes accelerators of one class and no CPU; use another method"
        } else if spec.replication.is_some() || spec.interconnect.is_some() {
            "it knows neither replicas nor servers; use another method"
        } else if !problem.costs.has_additive_memory() {
            "it adds up the memory of nodes; use another method"
        } else {
            return Ok(());
        };
        Err(Unsupported { solver: NAME.into(), reason: reason.into() })
    }

    fn search(&self, problem: &Problem, cx: &mut SearchContext) -> Result<Run, SolveError> {
        self.supports(problem)?;
        let chunks = problem.spec.chunks.unwrap_or(ONE);
        if problem.spec.degrees.is_some() {
            return degrees::in_chunks(problem, (chunks, self.is_even), cx, &|own, cx| self.search(own, cx));
        }
        let units = Reduced::contracted_only(problem);
        let mut race = Race::new(of_work(problem, chunks, cx), BoundSource::Work, cx);
        let mut stats = Stats::default();
        let is_infeasible = search::run(problem, &units, chunks, self.max_ideals, &mut race, &mut stats);
        let (best, value, source) = race.finish();
        let bound = LowerBound { value, scope: Scope::Acyclic, source };
        let outcome = match best {
            Some((objective, stages)) => {
                Outcome::found(lifted(problem, &units, chunks, &stages, objective), objective, bound)
            }
            None if is_infeasible => Outcome::Infeasible,
            None => Outcome::Unknown { bound: Some(bound) },
        };
        Ok(Run { outcome, stats })
    }
}

/// What no step is below, by the bounds of the largest load of any split, that need no search: a device with chunks takes at
/// least what it would with its nodes as one stage. A step is one of w · m microbatches without chunks, over w.
fn of_work(problem: &Problem, chunks: Chunks, cx: &SearchContext) -> f64 {
    let mut whole = problem.clone();
    let microbatches = chunks.parts() * problem.spec.objective.microbatches().unwrap_or(1);
    whole.spec.objective = Objective::Step { microbatches };
    let units = &Unordered::new(&whole).units;
    let all: f64 = units.kinds[0].times.iter().flatten().map(|time| time.total()).sum();
    let (load, _) = bound::best(&whole, units, all, cx);
    bound::least_objective(&whole, units, load) / chunks.parts() as f64
}

/// The split into these stages, by units.
fn lifted(problem: &Problem, units: &Reduced, chunks: Chunks, stages: &[Vec<usize>], objective: f64) -> Solution {
    let kind = problem.device_kinds()[0];
    let count = stages.len() / chunks.count;
    let mut devices = vec![DeviceAssignment::new(kind, Vec::new()); count];
    for (stage, held) in stages.iter().enumerate() {
        let nodes: Vec<u64> = units.lift(held.iter().copied()).into_iter().map(|v| problem.ids[v]).collect();
        let device = &mut devices[chunks.device_of(stage, count)];
        device.nodes.extend(&nodes);
        if problem.spec.chunks.is_some() {
            device.chunks.push(nodes);
        }
    }
    Solution { devices, objective: Some(objective) }
}
