//! Stages on devices, and their step by simulation.

use std::time::Duration;

use super::question::Question;
use super::resplit::resplits;
use super::{Breakdown, MappedPipeline, Partition, PlanError, PlanOptions};
use crate::mapping::{ClaimedMapping, Counted, Mapping, MappingProblem, StageCost};
use crate::registry;
use crate::search::gap;
use crate::simulate::{Communication, Options, Pipeline, simulate};
use crate::solve::SearchContext;
use crate::verify;

/// What a method's name ends with whose split was split again for its places.
const AGAIN: &str = "+places";

/// Mappings whose step is no longer than so many times the shortest are worth splitting again.
const NEAR: f64 = 1.1;

/// A split to be placed, the options to place it with, and how long a mapper may take under one cost.
pub struct Placing<'a> {
    pub question: &'a Question<'a>,
    pub partition: &'a Partition,
    /// The method that found the split.
    pub method: &'a str,
    pub options: &'a PlanOptions,
    pub limit: Duration,
    pub cx: &'a SearchContext,
}

/// A mapping and who found it.
struct Found {
    mapping: Mapping,
    problem: MappingProblem,
    mapper: String,
    /// The mapper's gap under what the problem counts.
    gap: Option<f64>,
}

impl Placing<'_> {
    /// The best of the mappings by some of the mappers, by simulation.
    ///
    /// # Errors
    /// The verifier rejects a mapping. Within it, why there is none.
    pub fn best<'m>(
        &self,
        mappers: impl Iterator<Item = &'m String>,
    ) -> Result<Result<MappedPipeline, String>, PlanError> {
        let asked = self.mapping_problem(Counted::Both);
        let mut reason = asked.memory_shortage().map_or_else(
            || format!("no mapping of {} copies on {} devices was found in time", asked.copies(), asked.topology.len()),
            |shortage| shortage.to_string(),
        );
        let mut mapped = Vec::new();
        for found in self.mappings(mappers)? {
            match self.simulated(found) {
                Ok(pipeline) => mapped.push(pipeline),
                Err(error) => reason = error,
            }
        }
        let fitting = mapped.iter().filter(|pipeline| pipeline.overfull.is_none()).map(|pipeline| pipeline.time);
        let near = NEAR * fitting.fold(f64::INFINITY, f64::min);
        let mut best: Option<MappedPipeline> = None;
        for pipeline in mapped {
            let pipeline = if pipeline.time <= near { self.settled(pipeline)? } else { pipeline };
            if best.as_ref().is_none_or(|best| pipeline.is_better(best)) {
                best = Some(pipeline);
            }
        }
        Ok(best.ok_or(reason))
    }

    /// The stages of a pipeline split again for their places as long as that gains something.
    fn settled(&self, mut best: MappedPipeline) -> Result<MappedPipeline, PlanError> {
        let is_given = self.options.partitioner.is_some();
        while !is_given
            && !self.cx.should_stop()
            && let Some(better) = self.split_again(&best)?
        {
            best = better;
        }
        Ok(best)
    }

    /// The best with the same places that is better than `known`, and serves as well.
    fn split_again(&self, known: &MappedPipeline) -> Result<Option<MappedPipeline>, PlanError> {
        let method = &format!("{}{AGAIN}", known.method.trim_end_matches(AGAIN));
        let mut best: Option<MappedPipeline> = None;
        let mapping = known.devices();
        for split in resplits(self.question, known, self.cx)? {
            let partition = &Partition::of_nodes(self.question, (method, false), &split)?;
            let placing = Placing { partition, method, ..*self };
            let problem = placing.mapping_problem(known.counted);
            verified(&problem, &mapping, &known.mapper)?;
            let found = Found { mapping: mapping.clone(), problem, mapper: known.mapper.clone(), gap: None };
            let is_better =
                |one: &MappedPipeline| one.is_better(best.as_ref().unwrap_or(known)) && one.serves_as_well_as(known);
            best = placing.simulated(found).ok().filter(is_better).or(best);
        }
        Ok(best)
    }

    /// What each mapper finds under each cost, each mapping once.
    fn mappings<'m>(&self, mappers: impl Iterator<Item = &'m String>) -> Result<Vec<Found>, PlanError> {
        let mut all: Vec<Found> = Vec::new();
        for spec in mappers {
            let mapper = registry::mapper(spec)?;
            for &counted in &self.options.counted {
                let problem = self.mapping_problem(counted);
                let run = mapper.map(&problem, &self.cx.part(Some(self.limit)));
                let Some(mapping) =
                    run.outcome.solution().filter(|&mapping| all.iter().all(|known| known.mapping != *mapping))
                else {
                    continue;
                };
                let time = verified(&problem, mapping, mapper.name())?;
                let bound = run.outcome.bound().copied().filter(|&bound| bound > 0.0);
                let gap = bound.and_then(|bound| gap(time, bound));
                all.push(Found { mapping: mapping.clone(), problem, mapper: spec.clone(), gap });
            }
        }
        Ok(all)
    }

    /// The mapping problem of stages as one microbatch sees them: with recomputation, and its share of the all-reduce.
    fn mapping_problem(&self, counted: Counted) -> MappingProblem {
        let Question { topology, microbatches, recompute, shape, .. } = self.question;
        let mut stages = self.partition.on_devices().of_microbatch(*microbatches);
        for stage in &mut stages.stages {
            if *recompute && stage.backward > 0.0 {
                stage.backward += stage.forward;
            }
        }
        let cost = StageCost { counted, ..self.partition.cost.clone() };
        MappingProblem { stages, replicas: shape.replicas, topology: topology.clone().into_owned(), cost }
    }

    /// The devices of all stages, of which a device may hold several.
    fn of_stages(&self, mapping: &Mapping) -> Mapping {
        let replicas = self.question.shape.replicas;
        let copies = |&home: &usize| &mapping.devices[home * replicas..(home + 1) * replicas];
        Mapping { devices: self.partition.homes.iter().flat_map(copies).copied().collect() }
    }

    fn simulated(&self, found: Found) -> Result<MappedPipeline, String> {
        let Found { mapping, problem, mapper, gap } = found;
        let Question { topology, microbatches, recompute, schedule, links, all_reduce, shape, .. } = self.question;
        let communication = Communication { links: *links, all_reduce: *all_reduce };
        let options = Options { microbatches: *microbatches, recompute: *recompute };
        let actual = MappingProblem { stages: self.partition.stages.clone(), ..problem.clone() };
        let buckets = self.options.buckets;
        let simulation = Pipeline::of_mapping(&actual, &self.of_stages(&mapping), communication)
            .and_then(|pipeline| simulate(&Pipeline { buckets, ..pipeline }, *schedule, options))
            .map_err(|error| error.to_string())?;
        let peaks = simulation.memory().peak;
        let limit = |place: usize| topology.devices[simulated_device(&mapping, place)].memory;
        let overfull = (0..peaks.len()).find(|&place| !crate::problem::fits(peaks[place], limit(place)));
        let counted = problem.cost.counted;
        let serves = !schedule.has_backward();
        let service = serves.then(|| self.question.service(self.partition, &mapping, &simulation).ok()).flatten();
        let whole = MappingProblem { cost: self.partition.cost.clone(), ..problem };
        Ok(MappedPipeline {
            partition: self.partition.clone(),
            method: self.method.to_owned(),
            mapping: ClaimedMapping::new(&whole, &mapping),
            stage_time: whole.objective(&mapping),
            problem: whole,
            mapper,
            counted,
            gap,
            time: simulation.makespan(),
            breakdown: Breakdown::of(&simulation, topology.len() * shape.tensor, shape.tensor),
            peak_memory: peaks.iter().copied().fold(0.0, f64::max),
            overfull: overfull.map(|place| simulated_device(&mapping, place)),
            service,
            simulation,
        })
    }
}

/// The device of the topology that is a simulation's device of this index: used ones alone, ascending.
fn simulated_device(mapping: &Mapping, place: usize) -> usize {
    let mut used = mapping.devices.clone();
    used.sort_unstable();
    used[place]
}

/// Whether a mapper is a rule of thumb, which takes no time.
pub fn is_rule(spec: &str) -> bool {
    registry::mappers().iter().any(|kind| kind.name == spec && !kind.exact)
}

/// The time of the slowest copy, recomputed by the verifier.
fn verified(problem: &MappingProblem, mapping: &Mapping, mapper: &str) -> Result<f64, PlanError> {
    let verified = verify::mapping::check(problem, &ClaimedMapping::new(problem, mapping));
    verified.map(|verified| verified.objective()).map_err(|violations| PlanError::Mapping {
        mapper: mapper.into(),
        violation: violations.first().map(ToString::to_string).unwrap_or_default(),
    })
}
