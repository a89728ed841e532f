//! Stages with tensor and data degrees, whose nodes have options (docs/pipelines.md).

mod front;
mod knapsack;
mod model;
mod search;
mod stage;
mod target;

use crate::problem::{DeviceAssignment, DeviceKind, Problem, Scope, Solution};
use crate::search::{Race, SearchContext, Stats};
use crate::solve::{BoundSource, Guarantee, LowerBound, Outcome, Run, SolveError, Solver, Unsupported};
use model::Model;
use target::Found;

const NAME: &str = "degrees";

/// A dynamic program over ideals for stages with degrees and options ([`Degrees`](crate::problem::Degrees)): the problem of
/// Piper (Tarnawski et al. 2021), solved exactly.
///
/// Targets between bound and best split are met or refuted, one after the other. For a target each set of nodes at the
/// pipeline's end keeps what its stages can take of devices and data degrees; the options of a stage are a multiple-choice
/// knapsack, whose relaxation nearly always tells. Chains of layers take milliseconds: time grows with the pairs of ideals
/// whose stage is within the target. Where there are too many ideals, those of a few orders of the nodes make the split, and
/// the bound is that of all work.
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

    fn supports(&self, problem: &Problem) -> Result<(), Unsupported> {
        let reason = match (&problem.costs.stages, &problem.spec.scope) {
            (None, _) => {
                "it chooses degrees of stages; ask for them by the microbatches of a batch, or use another method"
            }
            (_, Scope::Acyclic) => return Ok(()),
            _ => "it finds splits into successive ideals; ask for the scope `acyclic`",
        };
        Err(Unsupported { solver: NAME.into(), reason: reason.into() })
    }

    fn search(&self, problem: &Problem, cx: &mut SearchContext) -> Result<Run, SolveError> {
        self.supports(problem)?;
        let Some(costs) = &problem.costs.stages else { unreachable!("supported problems have options") };
        let bound = Model::new(problem, costs, (0..problem.node_count()).collect()).bound();
        let mut stats = Stats::default();
        if bound.is_infinite() {
            // Some node has no option that is allowed.
            return Ok(Run { outcome: Outcome::Infeasible, stats });
        }
        let mut race = Race::new(bound, BoundSource::Work, cx);
        let is_infeasible = search::run(problem, costs, self.max_ideals, &mut race, &mut stats);
        let (best, value, source) = race.finish();
        let bound = LowerBound { value, scope: Scope::Acyclic, source };
        let outcome = match best {
            Some((objective, split)) => {
                Outcome::found(Solution { objective: Some(objective), ..split }, objective, bound)
            }
            None if is_infeasible => Outcome::Infeasible,
            None => Outcome::Unknown { bound: Some(bound) },
        };
        Ok(Run { outcome, stats })
    }
}

/// The split into these stages of units, and its largest time.
fn lifted(problem: &Problem, model: &Model, stages: &[Found]) -> (f64, Solution) {
    let class = problem.spec.platform.accelerators.iter().position(|class| class.count > 0).unwrap_or(0);
    let device = |stage: &Found| {
        let mut nodes: Vec<(usize, usize)> =
            stage.units.iter().map(|&unit| model.node_of[unit]).zip(stage.options.iter().copied()).collect();
        nodes.sort_unstable();
        let name = |&(v, option): &(usize, usize)| model.costs.options[v][option].name.clone();
        DeviceAssignment {
            replicas: stage.data,
            tensor_degree: stage.tensor,
            options: nodes.iter().map(name).collect(),
            ..DeviceAssignment::new(
                DeviceKind::Accelerator(class),
                nodes.iter().map(|&(v, _)| problem.ids[v]).collect(),
            )
        }
    };
    let objective = stages.iter().map(|stage| stage.time).fold(0.0, f64::max);
    (objective, Solution { devices: stages.iter().map(device).collect(), objective: None })
}
