//! What plans are worth that serve, and plans that hold ever more tokens.

use std::sync::atomic::Ordering;

use rayon::prelude::*;
use rustc_hash::FxHashMap;

use super::candidate::keep_front;
use super::groups::Rates;
use super::question::Question;
use super::search::Planner;
use super::{Candidate, Fate, Partition, PlanError, Service};
use crate::mapping::Mapping;
use crate::problem::{Objective, Problem, StageMemory};
use crate::simulate::{Options, SimulateError, Simulation, simulate};
use crate::solve::{DegreeDp, Outcome, Solver};

/// So many demands of a shape are one token above what the last split holds; the next ones halve what is left.
const SINGLE_STEPS: usize = 8;

/// Room for more tokens is not told from room for so many, which sum up without loss.
const MOST_TOKENS: f64 = 1e15;

/// What splits of a shape are the best in.
#[derive(Clone, Copy)]
enum Aim {
    /// The slowest stage.
    Throughput,
    /// The sum of all stages.
    Latency,
}

impl Question<'_> {
    /// What stages are worth that serve from these devices.
    ///
    /// # Errors
    /// So many microbatches as fill the pipelines cannot be simulated.
    pub fn service(
        &self,
        partition: &Partition,
        mapping: &Mapping,
        simulation: &Simulation,
    ) -> Result<Service, SimulateError> {
        let run = |microbatches| {
            simulate(&simulation.pipeline, self.schedule, Options { microbatches, ..simulation.options })
        };
        let full = run(2 * partition.stages.stages.len())?;
        let tokens = self.tokens(partition, mapping);
        Ok(Service {
            throughput: 1e3 * (self.microbatch_size * self.shape.replicas) as f64 / full.steady_time(self.schedule)?,
            latency: run(1)?.makespan(),
            tokens: tokens.iter().flatten().min().copied(),
            tokens_in_all: tokens.into_iter().sum(),
        })
    }

    /// The tokens that each pipeline has room for on its fullest device; `None` where nothing limits those of one.
    fn tokens(&self, partition: &Partition, mapping: &Mapping) -> Vec<Option<usize>> {
        let (devices, replicas) = (&mapping.devices, self.shape.replicas);
        let of_copy = |copy: usize| {
            tokens_of_stage(self, partition, (copy / replicas, self.topology.devices[devices[copy]].memory))
        };
        (0..replicas).map(|replica| (replica..devices.len()).step_by(replicas).filter_map(of_copy).min()).collect()
    }

    /// A number of tokens that no split of this shape has room for; `None` where nothing limits them.
    fn too_many_tokens(&self) -> Option<usize> {
        let stated = self.instance.parallelism.as_ref()?;
        let mut least: FxHashMap<u64, f64> = FxHashMap::default();
        for option in stated.options.iter().filter(|option| option.tensor_degree == self.shape.tensor) {
            let bytes = least.entry(option.node).or_insert(f64::INFINITY);
            *bytes = option.cache_bytes_per_token.min(*bytes);
        }
        let bytes: f64 = least.into_values().sum();
        let memory = self.shape.stages as f64 * self.most_memory()?;
        (bytes > 0.0).then(|| (memory / bytes).min(MOST_TOKENS) as usize + 2)
    }

    /// The problem of the split that is the best in something of those that hold so many tokens, with links like the mean.
    fn that_holds(&self, tokens: usize, aim: Aim) -> Result<Problem, PlanError> {
        let memory = StageMemory { cache_tokens: tokens, ..self.memory };
        let of = |microbatches| Question { microbatches, memory, topology: self.topology.clone(), ..*self };
        Ok(match aim {
            // Solvers ask for as many microbatches as there are stages.
            Aim::Throughput => of(self.microbatches.max(self.shape.stages))
                .with_degrees(Objective::Throughput, Rates::mean(&self.topology))?,
            Aim::Latency => of(1).by_step()?,
        })
    }
}

/// The tokens that a stage has room for on devices of this memory.
fn tokens_of_stage(question: &Question, partition: &Partition, (stage, memory): (usize, Option<f64>)) -> Option<usize> {
    let bytes = partition.cache_bytes.get(stage).copied().filter(|&bytes| bytes > 0.0)?;
    let more = ((memory? - partition.stages.stages[stage].memory) / bytes).clamp(0.0, MOST_TOKENS);
    Some(question.memory.cache_tokens + more as usize)
}

/// Which numbers of tokens are asked for, one after another.
struct Demands {
    asked: usize,
    /// The most that a split is known to hold.
    held: Option<usize>,
    /// The least that none holds.
    fails: usize,
    steps: usize,
}

impl Demands {
    fn next(&mut self) -> Option<usize> {
        let least = self.held.map_or(self.asked, |held| held + 1);
        let halfway = self.held.map_or(least, |held| held + self.fails.saturating_sub(held) / 2);
        self.steps += 1;
        (least < self.fails).then_some(if self.steps > SINGLE_STEPS { halfway } else { least })
    }
}

impl Planner<'_> {
    /// Adds plans of the same shapes that no other is better than: those with the least slowest stage, or the least latency, of all
    /// that hold so many tokens.
    pub fn add_front(&self, candidates: &mut Vec<Candidate>) -> Result<(), PlanError> {
        let known = candidates.len();
        let of_shape = candidates.par_iter().map(|candidate| self.of_shape(candidate, known));
        candidates.extend(of_shape.collect::<Result<Vec<_>, _>>()?.into_iter().flatten());
        keep_front(candidates, known);
        Ok(())
    }

    /// Plans of a candidate's shape that hold more and more tokens, up to the most.
    fn of_shape(&self, candidate: &Candidate, parts: usize) -> Result<Vec<Candidate>, PlanError> {
        let mut plans = Vec::new();
        let is_refuted = matches!(candidate.fate, Fate::Refuted(_));
        if is_refuted || candidate.schedule.has_backward() || self.options.partitioner.is_some() {
            return Ok(plans);
        }
        let (question, solver) = (self.question(candidate), DegreeDp::default());
        let by_step = question.by_step()?;
        let (asked, limit) = (question.memory.cache_tokens, self.share(4 * SINGLE_STEPS * parts));
        let mut fails = question.too_many_tokens().unwrap_or(asked + 1);
        for aim in [Aim::Throughput, Aim::Latency] {
            let mut demands = Demands { asked, held: None, fails, steps: 0 };
            while let Some(tokens) = demands.next() {
                if self.cx.should_stop() && self.found_any.load(Ordering::Relaxed) {
                    return Ok(plans);
                }
                let problem = question.that_holds(tokens, aim)?;
                let outcome = solver.solve(&problem, &mut self.cx.part(limit))?.outcome;
                if let Some(split) = outcome.solution() {
                    let partition = Partition::of(&question, &by_step, (solver.name(), false), split)?;
                    let of_stage = |stage| tokens_of_stage(&question, &partition, (stage, question.most_memory()));
                    let room = (0..partition.stages.stages.len()).filter_map(of_stage).min();
                    demands.held = room.max(Some(tokens));
                    let splits = vec![(partition, solver.name().to_owned())];
                    let fate = self.placed(&question, &splits, self.rules(), parts)?;
                    plans.push(Candidate { fate, splits, ..*candidate });
                } else if outcome == Outcome::Infeasible {
                    demands.fails = tokens;
                } else {
                    break;
                }
            }
            fails = demands.fails;
        }
        keep_front(&mut plans, 0);
        Ok(plans)
    }
}
