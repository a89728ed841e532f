//! The search over stages, replicas and microbatches (RaNNC 2021, Algorithm 2), and the solver.

use super::batch::{BATCH_TIME, Synchronous};
use super::blocks::{Blocks, atoms, main_kind};
use super::profile::Profile;
use super::stages::{Pipeline, Request, form_stages};
use crate::preprocess::Reduced;
use crate::problem::{DeviceKind, Problem};
use crate::solve::Clustering;
use crate::solve::dp::loads::{SetLoads, objective, worse};
use crate::solve::dp::stage::StageKind;
use crate::solve::dp::{Incumbent, Setting};
use crate::solve::heuristic::{refuse_recomputation, supports_loads};
use crate::solve::{Guarantee, Outcome, Progress, Run, SearchContext, SolveError, Solver, Stats, Unsupported};

/// RaNNC's partitioner (Tanaka et al. 2021): [`Blocks`], then stages of successive blocks by dynamic programming over
/// stages, replicas and microbatches (Algorithms 1 and 2).
///
/// The search goes by RaNNC's own time of a pipeline, the sum of the longest forward and the longest backward time of a
/// stage, each with the time to send its outputs. The split's objective is that of the problem. Where stages may have
/// replicas, the fewest stages that fit are taken, as published: over 1, 2, 4, … compute nodes, whose pipeline the
/// others copy, and over 1, 2, 4, … microbatches of a batch, of which the pipeline with the least time of a batch,
/// (microbatches + stages − 1) · time, is best. Samples are shared whole, the busiest replica counts. Where they may not, every number of stages is tried, and the one that
/// is best by the problem's objective is taken. Devices are those of the kind that there are most of; others stay idle.
///
/// ```
/// use dagsplit::generate::{Recipe, Transformer, generate};
/// use dagsplit::problem::{Problem, ProblemSpec};
/// use dagsplit::solve::{Rannc, SearchContext, Solver};
///
/// let bert = generate(&Recipe::new(Transformer::bert_base()))?;
/// let problem = Problem::new(&bert, ProblemSpec::of(&bert))?;
/// let run = Rannc::default().solve(&problem, &mut SearchContext::new())?;
/// assert_eq!(run.outcome.solution().map(|split| split.devices.len()), Some(6));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rannc {
    /// How many blocks are aimed at, k in the paper; at least 1.
    pub k: usize,
    /// Whether blocks are formed at all; without them stages consist of atomic components, as in the ablation
    /// (section IV-C).
    pub coarsen: bool,
    /// Samples of a batch; at least 1.
    pub batch: usize,
    /// Devices of a compute node; 0 takes all devices for one node. A node count that is no power of two is rounded
    /// down.
    pub node: usize,
}

impl Default for Rannc {
    fn default() -> Self {
        Self { k: 32, coarsen: true, batch: 256, node: 0 }
    }
}

impl Solver for Rannc {
    fn name(&self) -> &str {
        "rannc"
    }

    fn guarantee(&self) -> Guarantee {
        Guarantee::Heuristic
    }

    fn supports(&self, problem: &Problem) -> Result<(), Unsupported> {
        refuse_recomputation(self.name(), problem)?;
        supports_loads(self.name(), problem)
    }

    fn search(&self, problem: &Problem, cx: &mut SearchContext) -> Result<Run, SolveError> {
        let blocks = if self.coarsen { Blocks { k: self.k }.clusters(problem, cx)? } else { atoms(problem) };
        let reduced = Reduced::contracted_only(&problem.clustered(&blocks));
        let search = StageSearch::new(self, problem, &reduced, cx);
        let mut stats = Stats::default();
        stats.set("blocks", reduced.unit_count() as f64);
        cx.report(&Progress { phase: "blocks", incumbent: None, bound: None });
        let outcome = match search.run() {
            None => Outcome::Unknown { bound: None },
            Some(Found { split, objective, batch }) => {
                stats.set("stages", split.stages.len() as f64);
                if let Some((microbatches, time)) = batch {
                    stats.set("microbatches", microbatches as f64);
                    stats.set(BATCH_TIME, time);
                }
                Outcome::Feasible { solution: search.setting.lift(&split, objective), bound: None }
            }
        };
        Ok(Run { outcome, stats })
    }
}

/// A split with its objective.
struct Found {
    split: Incumbent,
    objective: f64,
    /// The microbatches of a batch and its time, where they were looked for.
    batch: Option<(usize, f64)>,
}

/// The search for stages of given blocks.
struct StageSearch<'a> {
    options: &'a Rannc,
    reduced: &'a Reduced,
    setting: Setting<'a>,
    profile: Profile<'a>,
    kind: usize,
    most_replicas: usize,
    cx: &'a SearchContext,
}

impl<'a> StageSearch<'a> {
    fn new(options: &'a Rannc, problem: &'a Problem, reduced: &'a Reduced, cx: &'a SearchContext) -> Self {
        let kind = main_kind(reduced);
        let is_cpu = reduced.kinds[kind].kind == DeviceKind::Cpu;
        let replication = problem.spec.replication.filter(|_| !is_cpu);
        let most_replicas = replication.map_or(1, |replication| replication.max_replicas);
        let (setting, profile) = (Setting::new(problem, reduced), Profile::new(reduced, kind));
        Self { options, reduced, setting, profile, kind, most_replicas, cx }
    }

    fn run(&self) -> Option<Found> {
        if self.most_replicas == 1 { self.every_stage_count() } else { self.fewest_stages() }
    }

    /// The best of all numbers of stages, each on one device.
    fn every_stage_count(&self) -> Option<Found> {
        let most = self.reduced.kinds[self.kind].count.min(self.reduced.unit_count());
        let request = |stages| Request { stages, devices: stages, most_replicas: 1, samples: 1 };
        let found = (1..=most).filter_map(|stages| self.found(&self.form(&request(stages))?, 1, None));
        found.min_by(|a, b| a.objective.total_cmp(&b.objective))
    }

    /// Algorithm 2: the fewest stages for which there is a pipeline.
    fn fewest_stages(&self) -> Option<Found> {
        let count = self.reduced.kinds[self.kind].count;
        let per_node = if self.options.node == 0 { count } else { self.options.node.min(count) };
        let nodes = count / per_node.max(1);
        powers_of_two(nodes).map(|n| (n, nodes / n)).find_map(|(n, copies)| {
            let mut stages = per_node * (n - 1) + 1..=per_node * n;
            stages.find_map(|stages| self.best_microbatches(stages, per_node * n, copies))
        })
    }

    /// The best pipeline of these numbers of stages and devices, of which there are several copies, over microbatches.
    fn best_microbatches(&self, stages: usize, devices: usize, copies: usize) -> Option<Found> {
        let most = if copies > self.options.batch { 0 } else { self.options.batch.div_ceil(copies) };
        let pipelines = powers_of_two(most).filter_map(|microbatches| {
            let (samples, most_replicas) = (most.div_ceil(microbatches), self.most_replicas / copies);
            let pipeline = self.form(&Request { stages, devices, most_replicas, samples })?;
            let time = (pipeline.time[0] + pipeline.time[1]) * (microbatches as f64 + (stages - 1) as f64);
            Some((time, microbatches, pipeline))
        });
        let (_, microbatches, pipeline) = pipelines.min_by(|a, b| a.0.total_cmp(&b.0))?;
        self.found(&pipeline, copies, Some(microbatches))
    }

    fn form(&self, request: &Request) -> Option<Pipeline> {
        form_stages(&self.profile, request, &|| self.cx.should_stop())
    }

    /// The pipeline as a split, each of its stages held by `copies` times its devices.
    fn found(&self, pipeline: &Pipeline, copies: usize, microbatches: Option<usize>) -> Option<Found> {
        let mut sets = SetLoads::new(&self.setting.loads);
        let (mut value, mut stages, mut from) = ([0.0; 2], Vec::new(), 0);
        let mut synchronous = Synchronous::default();
        for &(to, devices) in &pipeline.stages {
            let replicas = devices * copies;
            let holds = |stage: &StageKind| stage.kind == self.kind && stage.replicas == replicas;
            let stage = self.setting.stages.iter().position(holds)?;
            let mut set = vec![0; self.reduced.unit_count().div_ceil(64)];
            (from..to).for_each(|block| set[block / 64] |= 1 << (block % 64));
            value = worse(value, sets.value(self.setting.stages[stage], &set)?);
            synchronous.add(&mut sets, self.setting.stages[stage], &set)?;
            stages.push((self.reduced.lift(from..to), stage));
            from = to;
        }
        let batch = microbatches.map(|count| (count, synchronous.batch_time(self.options.batch, count)));
        Some(Found { objective: objective(value), split: Incumbent { value, stages }, batch })
    }
}

/// 1, 2, 4, … up to `most`.
fn powers_of_two(most: usize) -> impl Iterator<Item = usize> {
    std::iter::successors(Some(1_usize), |n| n.checked_mul(2)).take_while(move |&n| n <= most)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn powers_of_two_end_at_the_most() {
        assert_eq!(powers_of_two(0).count(), 0);
        assert_eq!(powers_of_two(9).collect::<Vec<_>>(), [1, 2, 4, 8]);
        assert_eq!(powers_of_two(usize::MAX).last(), Some(1 << (usize::BITS - 1)));
    }
}
