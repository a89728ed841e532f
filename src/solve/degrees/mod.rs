//! Stages with tensor and data degrees, whose nodes have options (docs/pipelines.md).

mod front;
mod kinds;
mod knapsack;
mod model;
mod reach;
mod relaxation;
mod rest;
mod search;
mod shape;
mod stage;
mod target;

use crate::preprocess::Reduced;
use crate::problem::{DeviceAssignment, DeviceKind, Objective, Problem, Scope, Solution};
use crate::search::{Race, SearchContext, Stats, in_pool};
use crate::solve::{BoundSource, Guarantee, LowerBound, Outcome, Run, SolveError, Solver, Unsupported};
use front::{Found, MOST_FLEETS};
use model::Model;
use search::SplitRace;

const NAME: &str = "degrees";

/// How near to the best throughput the first split of a step is.
const GOOD_BEGINNING: f64 = 1e-3;

/// A dynamic program over ideals for stages with degrees and options ([`Degrees`](crate::problem::Degrees)): the problem of
/// Piper (Tarnawski et al. 2021), solved exactly.
///
/// Targets between bound and best split are met or refuted, one after the other. For a target each set of nodes at the
/// pipeline's end keeps what its stages can take of devices and data degrees, and for a step of time; the options of a
/// stage are a multiple-choice knapsack, whose relaxation nearly always tells. A step begins with the split of the best
/// throughput. Chains of layers take milliseconds: time grows with the pairs of ideals whose stage is within the target.
/// Where there are too many ideals, those of a few orders of the nodes make the split, and the bound is that of all work.
#[derive(Debug, Clone, PartialEq)]
pub struct DegreeDp {
    /// The most ideals that it lists.
    pub max_ideals: usize,
}

impl Default for DegreeDp {
    fn default() -> Self {
        Self { max_ideals: 200_000 }
    }
}

impl Solver for DegreeDp {
    fn name(&self) -> &str {
        NAME
    }

    fn guarantee(&self) -> Guarantee {
        Guarantee::Exact
    }

    fn chooses_degrees(&self) -> bool {
        true
    }

    fn knows_steps(&self) -> bool {
        true
    }

    fn supports(&self, problem: &Problem) -> Result<(), Unsupported> {
        let reason = match (&problem.costs.stages, &problem.spec.scope) {
            (None, _) => {
                "it chooses degrees of stages; ask for them by the microbatches of a batch, or use another method"
            }
            _ if problem.spec.platform.accelerators.iter().filter(|class| class.count > 0).count() > MOST_FLEETS => {
                "it takes accelerators of four classes at most; ask for none of some"
            }
            (_, Scope::Acyclic) => return Ok(()),
            _ => "it finds splits into successive ideals; ask for the scope `acyclic`",
        };
        Err(Unsupported { solver: NAME.into(), reason: reason.into() })
    }

    fn search(&self, problem: &Problem, cx: &mut SearchContext) -> Result<Run, SolveError> {
        self.supports(problem)?;
        let Some(costs) = &problem.costs.stages else { unreachable!("supported problems have options") };
        let units = Reduced::contracted_only(problem);
        let model = Model::new(problem, costs, units.members.clone());
        let mut stats = Stats::default();
        if model.bound().is_infinite() {
            // Some node has no option that is allowed.
            return Ok(Run { outcome: Outcome::Infeasible, stats });
        }
        let mut race = Race::new(model.bound(), BoundSource::Work, cx);
        let is_infeasible = in_pool(cx, || {
            model.is_step && self.begin_with_throughput(problem, &units, &model, &mut race)
                || search::run(problem, &units, costs, self.max_ideals, &mut race, &mut stats)
        });
        let (best, value, source) = race.finish();
        let bound = LowerBound { value, scope: Scope::Acyclic, source };
        let outcome = match best {
            Some((objective, stages)) => Outcome::found(lifted(problem, &model, &stages), objective, bound),
            None if is_infeasible => Outcome::Infeasible,
            None => Outcome::Unknown { bound: Some(bound) },
        };
        Ok(Run { outcome, stats })
    }
}

impl DegreeDp {
    /// Offers the split of the best throughput as that of a step, and raises the bound to what that says of one. It has half of the
    /// time. Whether there is proven to be no split.
    fn begin_with_throughput(&self, problem: &Problem, units: &Reduced, model: &Model, race: &mut SplitRace) -> bool {
        let mut by_loads = problem.clone();
        by_loads.spec.objective = Objective::Throughput;
        let mut part = race.cx.part(race.cx.remaining().map(|left| left / 2));
        part.threads = race.cx.threads;
        part.gap = part.gap.max(GOOD_BEGINNING);
        let bound = Model::new(&by_loads, model.costs, units.members.clone()).bound();
        let mut largest = Race::new(bound, BoundSource::Work, &part);
        let is_infeasible =
            search::run(&by_loads, units, model.costs, self.max_ideals, &mut largest, &mut Stats::default());
        let (best, bound, source) = largest.finish();
        // Splits of a step may have more parts than a batch has microbatches.
        if model.parts <= model.costs.microbatches {
            race.raise(model.step_of(bound), source);
        }
        if let Some((_, stages)) = best {
            race.offer(model.objective(&stages), stages);
        }
        is_infeasible && model.parts <= model.costs.microbatches
    }
}

/// A time that no slowest stage is below where pipelines run in line: stages wait for all those before them, but for such as
/// hold nothing in line, which are as heavy as `heaviest` says of nodes' weights at most. At least `known`; infinite where
/// no stages have the memory; `None` where stages may have several degrees, or unlimited memory, or sets are too many.
pub(crate) fn least_in_line(
    problem: &Problem,
    heaviest: &dyn Fn(&[f64]) -> f64,
    known: f64,
    cx: &SearchContext,
) -> Option<f64> {
    let (costs, units) = (problem.costs.stages.as_ref()?, Reduced::contracted_only(problem));
    let model = Model::new(problem, costs, units.members.clone());
    let lattice = search::all_filters(&units, DegreeDp::default().max_ideals, cx)?;
    reach::least(&lattice, &model, known, Some(heaviest), cx)
}

/// The split into these stages.
fn lifted(problem: &Problem, model: &Model, stages: &[Found]) -> Solution {
    let device = |stage: &Found| {
        let shape = &model.shapes[stage.shape];
        let name = |&(v, option): &(usize, usize)| model.costs.options[v][option].name.clone();
        DeviceAssignment {
            replicas: stage.data,
            tensor_degree: shape.tensor,
            options: stage.nodes.iter().map(name).collect(),
            ..DeviceAssignment::new(
                DeviceKind::Accelerator(shape.class),
                stage.nodes.iter().map(|&(v, _)| problem.ids[v]).collect(),
            )
        }
    };
    Solution { devices: stages.iter().map(device).collect(), objective: Some(model.objective(stages)) }
}
