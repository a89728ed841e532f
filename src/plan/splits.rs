//! The splits of a candidate, and what its solvers prove of its step.

use std::time::Duration;

use super::groups::Rates;
use super::question::Question;
use super::{Joint, Partition, PlanError, PlanOptions};
use crate::mapping::{JointPlan, JointProblem, JointSearch};
use crate::problem::{DeviceAssignment, DeviceKind, Problem, Solution};
use crate::registry;
use crate::solve::{ChunkSearch, DegreeDp, IdealDp, Outcome, SearchContext, SolveError, Solver, Status};

/// What splits where the exact methods find nothing within their time: Parmesan's chain.
const CLUSTERED: &str = "cluster:k=48+dp+refine";

/// Labels that the joint search keeps at most where it is not asked for: some seconds for each number of stages.
const MOST_LABELS: usize = 200_000;

/// A time that no step is below, and what proves it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Bound {
    pub time: f64,
    pub by: &'static str,
}

impl Bound {
    fn raise(&mut self, time: f64, by: &'static str) {
        if time > self.time {
            *self = Self { time, by };
        }
    }
}

/// What splitting and placing together is called.
const JOINT: &str = "joint search";

/// What came of looking for splits.
pub struct Splits {
    /// A time that no step is below.
    pub bound: Bound,
    /// The splits, each with the method that found it.
    pub found: Vec<(Partition, String)>,
    /// Whether it is proven that there is none.
    pub is_refuted: bool,
}

/// Splits by the partitioner that `options` name, or by the exact methods: one for the slowest stage on the fastest links, whose
/// bound holds for every step, and one for the step under memory by place. Each has so much time at most. No step is below `known`.
///
/// # Errors
/// The instance cannot be split like this, a method fails, or the verifier rejects what it finds.
pub fn splits(
    question: &Question,
    known: Bound,
    options: &PlanOptions,
    limit: Option<Duration>,
    cx: &SearchContext,
) -> Result<Splits, PlanError> {
    let mut search = Search { question, by_step: question.by_step()?, found: Vec::new(), limit, cx };
    let mut bound = known;
    let is_refuted = match options.partitioner.as_deref() {
        Some(spec) => {
            search.by(registry::solver(spec)?.as_ref(), &question.as_it_stands()?)?;
            false
        }
        None => search.by_exact_methods(&mut bound, options.joint)?,
    };
    Ok(Splits { bound, found: search.found, is_refuted })
}

struct Search<'a> {
    question: &'a Question<'a>,
    by_step: Problem,
    found: Vec<(Partition, String)>,
    limit: Option<Duration>,
    cx: &'a SearchContext,
}

impl Search<'_> {
    /// Whether it is proven that there is no split.
    fn by_exact_methods(&mut self, bound: &mut Bound, joint: Joint) -> Result<bool, PlanError> {
        if self.question.chunks > 1 {
            return self.by_chunk_search(bound);
        }
        let part = self.cx.part(self.limit.map(|limit| limit / 2));
        let in_line = self.question.least_in_line(bound.time, &part)?;
        if in_line == Some(f64::INFINITY) {
            return Ok(true);
        }
        bound.raise(in_line.unwrap_or(0.0), "stages in line");
        let (degrees, dp) = (DegreeDp::default(), IdealDp::default());
        if let Some(by_load) = self.question.by_load()? {
            let (exact, name): (&dyn Solver, _) =
                if self.question.has_options() { (&degrees, "degrees") } else { (&dp, "dp") };
            let outcome = self.by(exact, &by_load)?;
            if let Some(least) = outcome.bound() {
                bound.raise(self.question.least_by_load(least.value), name);
            }
            if outcome == Outcome::Infeasible {
                return Ok(true);
            }
        }
        self.by_joint_search(bound, joint)?;
        let by_step = self.by_step.clone();
        let is_refuted = self.by(&degrees, &by_step)? == Outcome::Infeasible;
        if !is_refuted && self.found.is_empty() && !self.question.has_options() {
            self.by(registry::solver(CLUSTERED)?.as_ref(), &self.question.as_it_stands()?)?;
        }
        Ok(is_refuted)
    }

    /// Several chunks on each device: on the fastest links for the bound, and on links like the mean, with stages that are even and with
    /// such as memory makes uneven where nodes have options.
    fn by_chunk_search(&mut self, bound: &mut Bound) -> Result<bool, PlanError> {
        let even = ChunkSearch { is_even: true, ..ChunkSearch::default() };
        let fastest = self.question.by_chunks(self.question.fastest_links())?;
        let in_memory = self.question.least_in_memory(&fastest, &self.cx.part(self.limit.map(|limit| limit / 2)));
        if in_memory == f64::INFINITY {
            return Ok(true);
        }
        bound.raise(in_memory, "chunks");
        let outcome = self.by(&even, &fastest)?;
        if let Some(least) = outcome.bound() {
            bound.raise(self.question.least_by_chunks(least.value), "chunks");
        }
        let is_refuted = outcome == Outcome::Infeasible;
        if !is_refuted {
            let mean = self.question.by_chunks(Rates::mean(&self.question.topology))?;
            self.by(&even, &mean)?;
            if self.question.has_options() {
                self.by(&ChunkSearch::default(), &mean)?;
            }
        }
        Ok(is_refuted)
    }

    /// What a method answers; its split is kept.
    fn by(&mut self, solver: &dyn Solver, problem: &Problem) -> Result<Outcome, PlanError> {
        solver.supports(problem).map_err(SolveError::from)?;
        let outcome = solver.solve(problem, &mut self.cx.part(self.limit))?.outcome;
        if let Some(split) = outcome.solution() {
            self.keep((solver.name(), solver.is_program()), split)?;
        }
        Ok(outcome)
    }

    fn keep(&mut self, method: (&str, bool), split: &Solution) -> Result<(), PlanError> {
        let partition = Partition::of(self.question, &self.by_step, method, split)?;
        if self.found.iter().all(|(known, _)| known.stages != partition.stages) {
            self.found.push((partition, method.0.to_owned()));
        }
        Ok(())
    }

    /// Splits and places small workloads together, for each number of stages: no slowest stage is below the least of these on
    /// the links that there are.
    fn by_joint_search(&mut self, bound: &mut Bound, asked: Joint) -> Result<(), PlanError> {
        if asked == Joint::Never {
            return Ok(());
        }
        let is_asked = asked == Joint::Always;
        let (problem, members) = match self.question.joint() {
            Err(PlanError::NoJoint(_)) if !is_asked => return Ok(()),
            joint => joint?,
        };
        let few = JointSearch { max_labels: MOST_LABELS, ..JointSearch::default() };
        let search = if is_asked { JointSearch::default() } else { few };
        let lengths = 1..=self.question.shape.stages.min(members.len());
        let limit = self.limit.map(|limit| limit / self.question.shape.stages as u32);
        let (mut least, mut best): (f64, Option<JointPlan>) = (f64::INFINITY, None);
        for stages in lengths {
            let run = match search.solve(&JointProblem { stages, ..problem.clone() }, &self.cx.part(limit)) {
                Ok(run) => run,
                Err(error) if is_asked => return Err(PlanError::NoJoint(error.to_string())),
                Err(_) => return Ok(()),
            };
            if run.outcome.status() != Status::Infeasible {
                least = least.min(run.outcome.bound().copied().unwrap_or(0.0));
            }
            let found = run.outcome.solution().filter(|found| best.as_ref().is_none_or(|best| found.time < best.time));
            best = found.cloned().or(best);
        }
        let Some(best) = best else { return Ok(()) };
        bound.raise(self.question.least_by_load(least), JOINT);
        let nodes = |units: &Vec<usize>| units.iter().flat_map(|&unit| members[unit].iter().copied()).collect();
        let device = |units| DeviceAssignment::new(DeviceKind::Accelerator(0), nodes(units));
        let split = Solution { devices: best.stages.iter().map(device).collect(), objective: None };
        self.keep((JOINT, false), &split)
    }
}
