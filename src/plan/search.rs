//! All candidates, side by side: those first whose bounds are lowest.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use rayon::prelude::*;

use super::chunked;
use super::groups::groups;
use super::placing::{Placing, is_rule};
use super::question::{Question, keeps_tokens, tensor_degrees};
use super::splits::{Bound, splits};
use super::workload::of_microbatches;
use super::{Candidate, Fate, Partition, PlanError, PlanOptions, Shape, candidate};
use crate::instance::Instance;
use crate::instance::validate::validate;
use crate::mapping::Topology;
use crate::problem::{InFlight, Placement, StageMemory};
use crate::registry;
use crate::search::{Status, gap, is_proven};
use crate::simulate::schedule::{Inference, Interleaved, OneForwardOneBackward, Schedule, ZbV};
use crate::solve::{Progress, SearchContext, in_pool};

/// So many of the best are shown, and are looked at with all mappers.
pub const BEST: usize = 10;

/// Candidates that are looked at before it is asked again which of the others may be among the best. A fixed number, so that
/// the answer does not depend on threads.
const ROUND: usize = 8;

/// All candidates and what they are worth.
#[derive(Clone)]
pub struct Plan {
    /// Samples of a step.
    pub batch: usize,
    /// The candidates: the fastest that fit in memory first, and those that were not simulated by their bounds.
    pub candidates: Vec<Candidate>,
}

impl Plan {
    /// The candidate with the shortest simulated step of those that fit in memory.
    pub fn best(&self) -> Option<&Candidate> {
        self.candidates.first().filter(|candidate| candidate.time().is_some())
    }

    /// A time that no step of any plan looked at is below, whatever split and mapping; `None` where there are none.
    pub fn lower_bound(&self) -> Option<f64> {
        least_bound(&self.candidates).map(|(bound, _)| bound)
    }

    /// What proves [`Self::lower_bound`]: [`Candidate::bound_by`] of the candidate that has it.
    pub fn bound_by(&self) -> Option<&'static str> {
        least_bound(&self.candidates).map(|(_, by)| by)
    }

    /// The candidates that serve and that no other one is better than in samples a second, latency or tokens.
    pub fn front(&self) -> Vec<&Candidate> {
        let on_front = candidate::on_front(&self.candidates);
        self.candidates.iter().zip(on_front).filter_map(|(own, is_on_front)| is_on_front.then_some(own)).collect()
    }

    /// How far the best is from the bound at most, as a part of it.
    pub fn gap(&self) -> Option<f64> {
        gap(self.best()?.time()?, self.lower_bound()?)
    }

    /// How the search ended.
    pub fn status(&self) -> Status {
        match (self.best().and_then(Candidate::time), self.lower_bound()) {
            (Some(time), Some(bound)) if is_proven(time, bound) => Status::Optimal,
            (Some(_), _) => Status::Feasible,
            (None, None) => Status::Infeasible,
            (None, Some(_)) => Status::Unknown,
        }
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
    validate(instance)?;
    let planner = Planner::new(instance, topology, options, cx)?;
    in_pool(cx, || planner.run())
}

pub struct Planner<'a> {
    topology: &'a Topology,
    pub(super) options: &'a PlanOptions,
    pub(super) cx: &'a SearchContext,
    /// The workload by the size of microbatches.
    instances: BTreeMap<usize, Instance>,
    batch: usize,
    has_backward: bool,
    has_options: bool,
    /// How many layers there are to be put into chunks; none where several on a device are not planned.
    layers: usize,
    /// Whether any candidate was simulated.
    pub(super) found_any: AtomicBool,
}

impl<'a> Planner<'a> {
    fn new(
        instance: &Instance,
        topology: &'a Topology,
        options: &'a PlanOptions,
        cx: &'a SearchContext,
    ) -> Result<Self, PlanError> {
        options.partitioner.iter().try_for_each(|spec| registry::solver(spec).map(drop))?;
        options.mappers.iter().try_for_each(|spec| registry::mapper(spec).map(drop))?;
        let has_options = instance.parallelism.is_some();
        let keeps_tokens = keeps_tokens(instance);
        if options.memory.cache_tokens > 0 && !keeps_tokens {
            return Err(PlanError::NoCache);
        }
        // Options state both passes, but for those of serving and under a schedule that has one.
        let serves = match options.schedules.first() {
            Some(schedule) => !schedule.has_backward(),
            None => keeps_tokens,
        };
        let has_backward = has_options && !serves || instance.nodes.iter().any(|node| node.backward);
        if (has_backward || has_options) && options.schedules.iter().any(|one| one.has_backward() != has_backward) {
            return Err(PlanError::BackwardPass);
        }
        let sizes = options.microbatch_sizes.iter();
        Ok(Self {
            topology,
            options,
            cx,
            instances: sizes.map(|&size| (size, of_microbatches(instance, size))).collect(),
            batch: options.batch.unwrap_or(4 * topology.len()),
            has_backward,
            has_options,
            layers: layers(instance, options)?,
            found_any: AtomicBool::new(false),
        })
    }

    fn run(&self) -> Result<Plan, PlanError> {
        let mut candidates = self.candidates()?;
        let mut done = 0;
        while done < candidates.len() {
            // Plans that serve are on the front for their latency and tokens, too.
            let worst = self.worst_of_best(&candidates).filter(|_| self.has_backward);
            let (left, rest) = (candidates.len() - done, &mut candidates[done..]);
            let round = rest.len().min(ROUND);
            rest[..round].par_iter_mut().try_for_each(|candidate| self.look_at(candidate, worst, left))?;
            done += round;
            self.tell(&candidates);
        }
        if !self.has_backward {
            self.add_front(&mut candidates)?;
        }
        candidates.sort_by(by_rank);
        let best = candidates.iter().take_while(|candidate| candidate.time().is_some()).count().min(BEST);
        candidates[..best].par_iter_mut().try_for_each(|candidate| self.improve(candidate, best))?;
        candidates.sort_by(by_rank);
        Ok(Plan { batch: self.batch, candidates })
    }

    /// Every way to use the devices, the lowest bound first.
    fn candidates(&self) -> Result<Vec<Candidate>, PlanError> {
        let mut candidates = Vec::new();
        for (&microbatch_size, instance) in &self.instances {
            for shape in self.shapes(instance, microbatch_size) {
                let microbatches = self.batch / microbatch_size / shape.replicas;
                for (schedule, chunks, recompute) in self.ways_to_run(shape) {
                    let (bound, bound_by, fate, splits) = (0.0, "work", Fate::Skipped, Vec::new());
                    let size = microbatch_size;
                    let mut candidate = Candidate {
                        shape,
                        microbatch_size: size,
                        microbatches,
                        chunks,
                        schedule,
                        recompute,
                        bound,
                        bound_by,
                        fate,
                        splits,
                    };
                    candidate.bound = self.question(&candidate).least_by_work();
                    candidates.push(candidate);
                }
            }
        }
        candidates.sort_by(|a, b| a.bound.total_cmp(&b.bound));
        match candidates.is_empty() {
            true => Err(PlanError::NoCandidate { batch: self.batch, devices: self.topology.len() }),
            false => Ok(candidates),
        }
    }

    /// How the devices may be shared out.
    fn shapes(&self, instance: &Instance, microbatch_size: usize) -> Vec<Shape> {
        let asked = |list: &[usize], value: usize| list.is_empty() || list.contains(&value);
        let PlanOptions { stages: lengths, replicas: copies, tensor_degrees: degrees, .. } = self.options;
        let mut shapes = Vec::new();
        for tensor in tensor_degrees(instance).into_iter().filter(|&degree| asked(degrees, degree)) {
            let devices = self.topology.len() / tensor;
            let shares = |replicas: &usize| self.batch.is_multiple_of(microbatch_size * replicas);
            for replicas in (1..=devices).filter(|&count| asked(copies, count)).filter(shares) {
                let most = devices / replicas;
                // Where replicas are not asked for they fill the devices.
                let is_filled =
                    |&stages: &usize| stages <= most && (!copies.is_empty() || devices / stages == replicas);
                let asked: Vec<usize> = lengths.iter().copied().filter(is_filled).collect();
                let stages = if lengths.is_empty() { vec![most] } else { asked };
                shapes.extend(stages.into_iter().map(|stages| Shape { stages, replicas, tensor }));
            }
        }
        shapes
    }

    /// The schedules, each with its numbers of chunks, with and without recomputation of whole stages.
    fn ways_to_run(&self, shape: Shape) -> impl Iterator<Item = (&'static dyn Schedule, usize, bool)> {
        let usual: &'static dyn Schedule = if self.has_backward { &OneForwardOneBackward } else { &Inference };
        let asked = self.options.schedules.clone();
        let schedules = if asked.is_empty() { vec![usual, &Interleaved] } else { asked };
        let with_chunks = move |schedule: &'static dyn Schedule| {
            let is_v = chunked::placement(schedule) == Placement::VShape;
            let runs = move |chunks: usize| match runs_chunks(schedule) {
                // Two devices at least, and as many layers as they have chunks; a V has two.
                true => chunks > 1 && shape.stages > 1 && chunks <= self.layers / 2 && (!is_v || chunks == 2),
                false => chunks == 1,
            };
            self.options.chunks.iter().filter(move |&&chunks| runs(chunks)).map(move |&chunks| (schedule, chunks))
        };
        let chooses = self.has_backward && !self.has_options;
        let recompute = if chooses { self.options.recompute.clone() } else { vec![false] };
        schedules.into_iter().flat_map(with_chunks).flat_map(move |(schedule, chunks)| {
            recompute.clone().into_iter().map(move |again| (schedule, chunks, again))
        })
    }

    pub(super) fn question(&self, candidate: &Candidate) -> Question<'_> {
        let Candidate { shape, microbatch_size, microbatches, chunks, schedule, recompute, .. } = *candidate;
        let mut known = PlanOptions::schedules().into_iter();
        let of_schedule = known.find(|(known, _)| known.name() == schedule.name()).map(|(_, in_flight)| in_flight);
        // What is recomputed is not kept; a stage needs it for one microbatch at a time.
        let in_flight = of_schedule.filter(|_| self.has_backward && !recompute).unwrap_or(InFlight::Constant(1));
        Question {
            instance: &self.instances[&microbatch_size],
            topology: groups(self.topology, shape.tensor),
            shape,
            microbatch_size,
            microbatches,
            chunks,
            schedule,
            recompute,
            links: self.options.links,
            all_reduce: self.options.all_reduce,
            memory: StageMemory { in_flight, ..self.options.memory },
            together: &self.options.together,
        }
    }

    /// Splits, places and simulates a candidate that may be better than `worst`, one of `left`.
    fn look_at(&self, candidate: &mut Candidate, worst: Option<f64>, left: usize) -> Result<(), PlanError> {
        let is_beaten = |candidate: &Candidate| worst.is_some_and(|worst| candidate.bound > worst);
        candidate.fate = Fate::Beaten;
        if is_beaten(candidate) {
            return Ok(());
        }
        if self.cx.should_stop() && self.found_any.load(Ordering::Relaxed) {
            candidate.fate = Fate::Skipped;
            return Ok(());
        }
        let question = self.question(candidate);
        // Two sevenths each for the slowest stage, for the step, and for mappings, and one for stages in line.
        let limit = self.share(7 * left).map(|part| 2 * part);
        let known = Bound { time: candidate.bound, by: candidate.bound_by };
        let splits = splits(&question, known, self.options, limit, self.cx)?;
        (candidate.bound, candidate.bound_by) = (splits.bound.time, splits.bound.by);
        if splits.is_refuted {
            candidate.fate = Fate::Refuted("no split fits in memory".into());
        } else if !is_beaten(candidate) {
            candidate.fate = self.placed(&question, &splits.found, self.rules(), left)?;
            candidate.splits = splits.found;
            self.place_again(&question, candidate, left)?;
        }
        Ok(())
    }

    /// Places the best split once more, if it was found for places.
    fn place_again(&self, question: &Question, candidate: &mut Candidate, left: usize) -> Result<(), PlanError> {
        let is_known = |split: &Partition| candidate.splits.iter().any(|(known, _)| known.stages == split.stages);
        let Some(best) = candidate.pipeline().filter(|best| !is_known(&best.partition)) else { return Ok(()) };
        if self.cx.should_stop() {
            return Ok(());
        }
        let mut split = (best.partition.clone(), best.method.clone());
        let again = self.placed(question, std::slice::from_ref(&split), self.rules(), left)?;
        if let Fate::Planned(again) = again
            && again.is_better(best)
        {
            split = (again.partition.clone(), again.method.clone());
            candidate.fate = Fate::Planned(again);
        }
        candidate.splits.push(split);
        Ok(())
    }

    /// The mappers that take no time, or all where there are none.
    pub(super) fn rules(&self) -> impl Iterator<Item = &String> + Clone {
        let has_rules = self.options.mappers.iter().any(|spec| is_rule(spec));
        self.options.mappers.iter().filter(move |spec| is_rule(spec) == has_rules)
    }

    /// The best of the splits by simulation.
    pub(super) fn placed<'m>(
        &self,
        question: &Question,
        splits: &[(Partition, String)],
        mappers: impl Iterator<Item = &'m String> + Clone,
        left: usize,
    ) -> Result<Fate, PlanError> {
        let limit = self.mapping_limit(left * splits.len() * mappers.clone().count());
        let mut fate = Fate::Failed("no split was found".into());
        for (partition, method) in splits {
            let placing = Placing { question, partition, method, options: self.options, limit, cx: self.cx };
            match placing.best(mappers.clone())? {
                Ok(pipeline) => {
                    let known = if let Fate::Planned(known) = &fate { Some(known) } else { None };
                    if known.is_none_or(|known| pipeline.is_better(known)) {
                        fate = Fate::Planned(Box::new(pipeline));
                    }
                }
                Err(reason) if matches!(fate, Fate::Failed(_)) => fate = Fate::Failed(reason),
                Err(_) => {}
            }
        }
        if matches!(fate, Fate::Planned(_)) {
            self.found_any.store(true, Ordering::Relaxed);
        }
        Ok(fate)
    }

    /// How long one of so many mappers may take under each cost.
    fn mapping_limit(&self, mappers: usize) -> Duration {
        self.options.mapping_time.min(self.share(mappers * self.options.counted.len()).unwrap_or(Duration::MAX))
    }

    /// Places one of so many best candidates by all mappers.
    fn improve(&self, candidate: &mut Candidate, best: usize) -> Result<(), PlanError> {
        let exact = self.options.mappers.iter().filter(|spec| !is_rule(spec));
        let Some(known) = candidate.pipeline() else { return Ok(()) };
        if exact.clone().count() == self.options.mappers.len() || self.cx.should_stop() {
            return Ok(());
        }
        if let Fate::Planned(pipeline) = self.placed(&self.question(candidate), &candidate.splits, exact, best)?
            && pipeline.is_better(known)
        {
            candidate.fate = Fate::Planned(pipeline);
        }
        Ok(())
    }

    /// The part of the time left that one of `parts` may take, so that all of them come to their turn.
    pub(super) fn share(&self, parts: usize) -> Option<Duration> {
        let (threads, parts) = (self.cx.threads.clamp(1, parts.max(1)) as u32, parts.max(1) as u32);
        self.cx.remaining().map(|left| left * threads / parts)
    }

    /// The time of the worst of the best known, where there are as many as are shown.
    fn worst_of_best(&self, candidates: &[Candidate]) -> Option<f64> {
        let mut times: Vec<f64> = candidates.iter().filter_map(Candidate::time).collect();
        times.sort_by(f64::total_cmp);
        times.get(BEST - 1).copied()
    }

    fn tell(&self, candidates: &[Candidate]) {
        let incumbent = candidates.iter().filter_map(Candidate::time).min_by(f64::total_cmp);
        let bound = least_bound(candidates).map(|(bound, _)| bound);
        self.cx.report(&Progress { phase: "planning", incumbent, bound });
    }
}

/// Whether a schedule runs several chunks on each device.
fn runs_chunks(schedule: &dyn Schedule) -> bool {
    [Interleaved.name(), ZbV.name()].contains(&schedule.name())
}

/// How many layers there are to be put into chunks.
///
/// # Errors
/// There are none, and plans without several chunks on a device are not asked for.
fn layers(instance: &Instance, options: &PlanOptions) -> Result<usize, PlanError> {
    let reason = match chunked::layers(instance) {
        _ if options.partitioner.is_some() => "a partitioner is named, which puts one stage on each",
        _ if !options.together.is_empty() => "nodes are kept together",
        None if instance.parallelism.is_some() => "the nodes that have options are no chain",
        None => "the workload is no chain of layers with both passes",
        Some(_) if keeps_tokens(instance) => "options that keep keys and values have no backward pass",
        Some(layers) => return Ok(layers),
    };
    let is_asked = !options.chunks.contains(&1) || options.schedules.iter().any(|&schedule| runs_chunks(schedule));
    if is_asked { Err(PlanError::NoChunks(reason)) } else { Ok(0) }
}

/// The least of the bounds of candidates that are not proven impossible, and what proves it.
fn least_bound(candidates: &[Candidate]) -> Option<(f64, &'static str)> {
    let possible = candidates.iter().filter(|candidate| !matches!(candidate.fate, Fate::Refuted(_)));
    possible.map(|candidate| (candidate.bound, candidate.bound_by)).min_by(|a, b| a.0.total_cmp(&b.0))
}

/// Those that fit in memory before those that do not, and the fastest first; the others by their bounds.
fn by_rank(a: &Candidate, b: &Candidate) -> std::cmp::Ordering {
    let key = |candidate: &Candidate| match candidate.pipeline() {
        Some(pipeline) => (usize::from(pipeline.overfull.is_some()), pipeline.time),
        None => (2, candidate.bound),
    };
    let (a, b) = (key(a), key(b));
    a.0.cmp(&b.0).then(a.1.total_cmp(&b.1))
}
