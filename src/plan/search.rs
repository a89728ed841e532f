//! All candidates, side by side.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::time::Duration;

use rayon::prelude::*;

use super::{Breakdown, Candidate, Factoring, Fate, MappedPipeline, Partition, PlanOptions};
use crate::instance::{Instance, Platform, Problems};
use crate::mapping::{ClaimedMapping, Counted, Mapper, Mapping, MappingProblem, StageCost, StageGraph, Topology};
use crate::problem::{Problem, ProblemSpec, Scope};
use crate::registry as mappers;
use crate::registry::{self, SpecError};
use crate::search::gap;
use crate::simulate::{Options, Pipeline, simulate};
use crate::solve::{Progress, SearchContext, SolveError, Solver, in_pool};
use crate::verify::{self, Violation};

/// All candidates and what they are worth.
#[derive(Debug, Clone)]
pub struct Plan {
    /// The verified splits by the number of stages asked for.
    pub partitions: BTreeMap<usize, Partition>,
    /// By stages, then microbatches.
    pub candidates: Vec<Candidate>,
}

/// Why nothing is planned.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PlanError {
    /// A spec string names no method or no mapper.
    #[error(transparent)]
    Spec(#[from] SpecError),
    /// The instance cannot be split like this.
    #[error(transparent)]
    Problem(#[from] Problems),
    /// The partitioner does not take the instance, or failed.
    #[error(transparent)]
    Solve(#[from] SolveError),
    /// The verifier rejects a split.
    #[error("the split into {stages} stages that {method} found is invalid: {}", first(.violations))]
    Split {
        /// The partitioner.
        method: String,
        /// How many stages were asked for.
        stages: usize,
        /// What is wrong.
        violations: Vec<Violation>,
        /// Whether the partitioner is a program of the user's, and this no bug.
        is_program: bool,
    },
    /// The verifier rejects a mapping.
    #[error("the mapping that {mapper} found is invalid: {violation}")]
    Mapping {
        /// The mapper.
        mapper: String,
        /// What is wrong.
        violation: String,
    },
}

fn first(violations: &[Violation]) -> String {
    violations.first().map(ToString::to_string).unwrap_or_default()
}

/// A mapping and who found it.
struct Found {
    mapping: Mapping,
    problem: MappingProblem,
    mapper: String,
    /// The mapper's gap under what the problem counts.
    gap: Option<f64>,
}

impl Plan {
    /// The candidate with the best simulated throughput of those that fit in memory.
    pub fn best(&self) -> Option<&Candidate> {
        let timed = self.candidates.iter().filter_map(|candidate| Some((candidate, candidate.time()?)));
        timed.min_by(|a, b| a.1.total_cmp(&b.1)).map(|(candidate, _)| candidate)
    }
}

/// Plans `instance` on `topology`: every candidate within the limits of `cx`, on as many threads as it allows. Candidates
/// that a limit leaves out are told.
///
/// # Errors
/// [`PlanError`]; that a candidate has no pipeline is no error.
pub fn plan(
    instance: &Instance,
    topology: &Topology,
    options: &PlanOptions,
    cx: &SearchContext,
) -> Result<Plan, PlanError> {
    let planner = Planner::new(instance, topology, options, cx)?;
    in_pool(cx, || planner.run())
}

struct Planner<'a> {
    instance: &'a Instance,
    topology: &'a Topology,
    options: &'a PlanOptions,
    cx: &'a SearchContext,
    factorings: Vec<Factoring>,
    /// The best time so far, for whoever watches.
    best: Mutex<Option<f64>>,
}

impl<'a> Planner<'a> {
    fn new(
        instance: &'a Instance,
        topology: &'a Topology,
        options: &'a PlanOptions,
        cx: &'a SearchContext,
    ) -> Result<Self, PlanError> {
        registry::solver(&options.partitioner)?;
        options.mappers.iter().try_for_each(|spec| mappers::mapper(spec).map(drop))?;
        let factorings = options.factorings.clone().unwrap_or_else(|| Factoring::all(topology.len()));
        Ok(Self { instance, topology, options, cx, factorings, best: Mutex::new(None) })
    }

    fn run(&self) -> Result<Plan, PlanError> {
        let mut stages: Vec<usize> = self.factorings.iter().map(|factoring| factoring.stages).collect();
        stages.sort_unstable();
        stages.dedup();
        let split = |&stages: &usize| Ok((stages, self.partition(stages)?));
        let splits: Vec<(usize, Result<Partition, String>)> =
            stages.par_iter().map(split).collect::<Result<_, PlanError>>()?;
        let splits: BTreeMap<usize, Result<Partition, String>> = splits.into_iter().collect();
        let asked: Vec<(Factoring, usize)> = self
            .factorings
            .iter()
            .flat_map(|&factoring| self.options.microbatches.iter().map(move |&count| (factoring, count)))
            .collect();
        let limit = self.share(asked.len() * self.options.mappers.len() * self.options.counted.len());
        let candidate = |&(factoring, microbatches): &(Factoring, usize)| {
            let fate = match &splits[&factoring.stages] {
                Err(reason) => Fate::Failed(reason.clone()),
                Ok(_) if self.cx.should_stop() && self.best().is_some() => Fate::Skipped,
                Ok(partition) => self.fate(partition, factoring, microbatches, limit)?,
            };
            Ok(Candidate { factoring, microbatches, fate })
        };
        let candidates = asked.par_iter().map(candidate).collect::<Result<_, PlanError>>()?;
        let partitions = splits.into_iter().filter_map(|(stages, split)| Some((stages, split.ok()?))).collect();
        Ok(Plan { partitions, candidates })
    }

    /// The longest time of one of `count` mappings, so that all of them come to their turn within the limit.
    fn share(&self, count: usize) -> Duration {
        let threads = self.cx.threads.clamp(1, count.max(1)) as u32;
        let share = self.cx.remaining().map(|left| left * threads / count.max(1) as u32);
        share.map_or(self.options.mapping_time, |share| share.min(self.options.mapping_time))
    }

    /// A split into `stages`, or why there is none.
    fn partition(&self, stages: usize) -> Result<Result<Partition, String>, PlanError> {
        let accelerators = self.instance.platform.accelerators.iter().enumerate().map(|(class, accelerators)| {
            let count = if class == 0 { stages } else { 0 };
            crate::instance::AcceleratorClass { count, memory: self.options.memory, ..accelerators.clone() }
        });
        let platform = Platform { accelerators: accelerators.collect(), cpus: 0, ..self.instance.platform.clone() };
        let spec = ProblemSpec { platform, scope: Scope::Acyclic, ..ProblemSpec::of(self.instance) };
        let problem = Problem::new(self.instance, spec)?;
        let solver: Box<dyn Solver> = registry::solver(&self.options.partitioner)?;
        solver.supports(&problem).map_err(SolveError::from)?;
        let run = solver.solve(&problem, &mut self.cx.part(None))?;
        let Some(solution) = run.outcome.solution() else {
            return Ok(Err(format!("{}: no split into {stages} stages ({})", solver.name(), run.outcome.status())));
        };
        let verified = verify::check(self.instance, &problem.spec, solution).map_err(|violations| {
            let (method, is_program) = (solver.name().into(), solver.is_program());
            PlanError::Split { method, stages, violations, is_program }
        })?;
        let stages = StageGraph::of(self.instance, &problem, &verified.to_solution())?;
        let cost = StageCost::of(&problem, Counted::Both)?;
        Ok(Ok(Partition { verified, stages, cost }))
    }

    /// The best of the mappings of a split, by simulation.
    fn fate(
        &self,
        partition: &Partition,
        factoring: Factoring,
        microbatches: usize,
        limit: Duration,
    ) -> Result<Fate, PlanError> {
        let copies = partition.stages.stages.len() * factoring.replicas;
        let devices = self.topology.len();
        let asked = self.mapping_problem(partition, factoring.replicas, microbatches, Counted::Both);
        let mut reason = asked.memory_shortage().map_or_else(
            || format!("no mapping of {copies} copies on {devices} devices was found in time"),
            |shortage| shortage.to_string(),
        );
        let mut best: Option<MappedPipeline> = None;
        for found in self.mappings(partition, factoring.replicas, microbatches, limit)? {
            match self.simulated(partition, found, microbatches) {
                Ok(pipeline) if best.as_ref().is_none_or(|best| pipeline.is_better(best)) => best = Some(pipeline),
                Ok(_) => {}
                Err(error) => reason = error,
            }
        }
        let Some(best) = best else { return Ok(Fate::Failed(reason)) };
        self.tell(&best);
        Ok(Fate::Planned(Box::new(best)))
    }

    /// What each mapper finds under each cost, each mapping once.
    fn mappings(
        &self,
        partition: &Partition,
        replicas: usize,
        microbatches: usize,
        limit: Duration,
    ) -> Result<Vec<Found>, PlanError> {
        let mut all: Vec<Found> = Vec::new();
        for spec in &self.options.mappers {
            let mapper = mappers::mapper(spec)?;
            for &counted in &self.options.counted {
                let problem = self.mapping_problem(partition, replicas, microbatches, counted);
                let run = mapper.map(&problem, &self.cx.part(Some(limit)));
                let Some(mapping) =
                    run.outcome.solution().filter(|&mapping| all.iter().all(|known| known.mapping != *mapping))
                else {
                    continue;
                };
                let time = verified(&problem, mapping, mapper.as_ref())?;
                let bound = run.outcome.bound().copied().filter(|&bound| bound > 0.0);
                let gap = bound.and_then(|bound| gap(time, bound));
                all.push(Found { mapping: mapping.clone(), problem, mapper: spec.clone(), gap });
            }
        }
        Ok(all)
    }

    /// The mapping problem of stages as one microbatch sees them: with recomputation, and its share of the all-reduce.
    fn mapping_problem(
        &self,
        partition: &Partition,
        replicas: usize,
        microbatches: usize,
        counted: Counted,
    ) -> MappingProblem {
        let mut stages = partition.stages.of_microbatch(microbatches);
        for stage in &mut stages.stages {
            if self.options.recompute && stage.backward > 0.0 {
                stage.backward += stage.forward;
            }
        }
        let cost = StageCost { counted, ..partition.cost.clone() };
        MappingProblem { stages, replicas, topology: self.topology.clone(), cost }
    }

    fn simulated(&self, partition: &Partition, found: Found, microbatches: usize) -> Result<MappedPipeline, String> {
        let Found { mapping, problem, mapper, gap } = found;
        let options = Options { microbatches, recompute: self.options.recompute };
        let actual = MappingProblem { stages: partition.stages.clone(), ..problem.clone() };
        let simulation = Pipeline::of_mapping(&actual, &mapping, self.options.links)
            .and_then(|pipeline| simulate(&pipeline, self.options.schedule, options))
            .map_err(|error| error.to_string())?;
        let peaks = simulation.memory().peak;
        let limit = |place: usize| self.topology.devices[mapping.devices[place]].memory;
        let overfull = (0..peaks.len()).find(|&place| limit(place).is_some_and(|limit| peaks[place] > limit));
        let counted = problem.cost.counted;
        let whole = MappingProblem { cost: partition.cost.clone(), ..problem };
        Ok(MappedPipeline {
            mapping: ClaimedMapping::new(&whole, &mapping),
            stage_time: whole.objective(&mapping),
            problem: whole,
            mapper,
            counted,
            gap,
            time: simulation.makespan() / simulation.samples() as f64,
            breakdown: Breakdown::of(&simulation, self.topology.len()),
            peak_memory: peaks.iter().copied().fold(0.0, f64::max),
            overfull: overfull.map(|place| mapping.devices[place]),
            simulation,
        })
    }

    fn best(&self) -> Option<f64> {
        *self.best.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    fn tell(&self, pipeline: &MappedPipeline) {
        let mut best = self.best.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        if pipeline.overfull.is_none() && best.is_none_or(|best| pipeline.time < best) {
            *best = Some(pipeline.time);
        }
        self.cx.report(&Progress { phase: "planning", incumbent: *best, bound: None });
    }
}

/// The time of the slowest copy, recomputed by the verifier.
fn verified(problem: &MappingProblem, mapping: &Mapping, mapper: &dyn Mapper) -> Result<f64, PlanError> {
    let verified = verify::mapping::check(problem, &ClaimedMapping::new(problem, mapping));
    verified.map(|verified| verified.objective()).map_err(|violations| PlanError::Mapping {
        mapper: mapper.name().into(),
        violation: violations.first().map(ToString::to_string).unwrap_or_default(),
    })
}
