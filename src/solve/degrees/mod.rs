//! Stages with tensor and data degrees, whose nodes have options (docs/pipelines.md).

mod borders;
mod chunked;
mod equal;
mod front;
mod furthest;
mod kinds;
mod knapsack;
mod model;
mod plain;
mod reach;
mod relaxation;
mod rest;
mod room;
mod search;
mod shape;
mod stage;
mod target;

use std::collections::BTreeSet;

use crate::cost::StageCosts;
use crate::preprocess::Reduced;
use crate::problem::{DeviceAssignment, DeviceKind, Objective, Problem, Scope, Solution};
use crate::search::{OPTIMALITY_TOLERANCE, Race, SearchContext, Stats, in_pool};
use crate::solve::dp::orders;
use crate::solve::{BoundSource, Guarantee, LowerBound, Outcome, Run, SolveError, Solver, Unsupported};
pub(super) use chunked::in_chunks;
pub(crate) use chunked::least_in_chunks;
use front::{Found, MOST_FLEETS, SplitRace};
use model::Model;
use search::Orders;

const NAME: &str = "degrees";

/// How near to the best throughput the first split of a step is.
const GOOD_BEGINNING: f64 = 1e-3;

/// So many orders in a row that bring no better split are enough, where nothing but orders is searched.
const IDLE_ORDERS: usize = 4;

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
    /// Of graphs of so many units in successive layers both sides are brought near to each other before all stages are looked at.
    pub furthest_from: usize,
}

impl Default for DegreeDp {
    fn default() -> Self {
        Self { max_ideals: 200_000, furthest_from: 2_048 }
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
        if problem.costs.stages.is_some() {
            return refuse_others(NAME, problem);
        }
        let reason = "it chooses degrees of stages; ask for them by the microbatches of a batch, or use another method";
        Err(Unsupported { solver: NAME.into(), reason: reason.into() })
    }

    fn search(&self, problem: &Problem, cx: &mut SearchContext) -> Result<Run, SolveError> {
        self.supports(problem)?;
        raced(problem, cx, |asked, race, stats| {
            Ok(in_pool(cx, || {
                asked.model.is_step && self.begin_with_throughput(problem, asked.units, &asked.model, race)
                    || search::run(problem, (asked.units, asked.costs), self, race, stats)
            }))
        })
    }
}

/// What is asked, as searches read it.
struct Asked<'a> {
    costs: &'a StageCosts,
    units: &'a Reduced,
    model: Model<'a>,
}

/// The outcome of a race that `search` runs, which says whether there is proven to be no split; `problem` asks for degrees.
fn raced<'c>(
    problem: &Problem,
    cx: &'c SearchContext,
    search: impl FnOnce(&Asked, &mut SplitRace<'c>, &mut Stats) -> Result<bool, SolveError>,
) -> Result<Run, SolveError> {
    let Some(costs) = &problem.costs.stages else { unreachable!("problems that ask for degrees have options") };
    let units = Reduced::contracted_only(problem);
    let model = Model::new(problem, costs, units.members.clone());
    let asked = Asked { costs, units: &units, model };
    let mut stats = Stats::default();
    if asked.model.bound().is_infinite() {
        // Some node has no option that is allowed.
        return Ok(Run { outcome: Outcome::Infeasible, stats });
    }
    let mut race = Race::new(asked.model.bound(), BoundSource::Work, cx);
    let is_infeasible = search(&asked, &mut race, &mut stats)?;
    let (best, value, source) = race.finish();
    let bound = LowerBound { value, scope: Scope::Acyclic, source };
    let outcome = match best {
        Some((objective, stages)) => Outcome::found(lifted(problem, &asked.model, &stages), objective, bound),
        None if is_infeasible => Outcome::Infeasible,
        None => Outcome::Unknown { bound: Some(bound) },
    };
    Ok(Run { outcome, stats })
}

/// The best split along so many orders of the nodes, whose stages each hold what lies between two places of one; `problem` asks for
/// degrees. No proof but the bound of all work.
pub(super) fn along_orders(problem: &Problem, count: usize, cx: &SearchContext) -> Result<Run, SolveError> {
    raced(problem, cx, |asked, race, stats| {
        let (units, mut seen, mut targets) = (asked.units, BTreeSet::new(), 0);
        let near = cx.gap.max(OPTIMALITY_TOLERANCE);
        in_pool(cx, || {
            let along = Orders { problem, units, costs: asked.costs, near, patience: IDLE_ORDERS };
            along.begin(race, &mut targets);
            let orders = (0..count).map(|i| orders::numbered(units, i, cx.seed, cx));
            along.run(orders.filter(|order| seen.insert(order.clone())), race, &mut targets);
        });
        stats.set("targets", targets as f64);
        Ok(false)
    })
}

/// Searches for a split of a problem without degrees.
pub(super) type Splitter<'a> = &'a dyn Fn(&Problem, &mut SearchContext) -> Result<Run, SolveError>;

/// The best split into stages of equal degrees that a heuristic finds which knows none; `problem` asks for degrees. It is asked for
/// each pair of them, with its part of the time. No proof but the bound of all work.
pub(super) fn of_equal_degrees(problem: &Problem, cx: &SearchContext, split: Splitter) -> Result<Run, SolveError> {
    raced(problem, cx, |Asked { costs, units, model }, race, stats| {
        let nodes = Model::new(problem, costs, (0..problem.node_count()).map(|v| vec![v]).collect());
        let pairs = equal::pairs(model);
        stats.set("degrees", pairs.len() as f64);
        // A split of a file may be none for some pairs.
        let mut fault = None;
        for (tried, &pair) in pairs.iter().enumerate() {
            for own in equal::problems(problem, &nodes, pair) {
                if race.is_done() {
                    return Ok(false);
                }
                let mut part = cx.part(cx.remaining().map(|left| left / (pairs.len() - tried) as u32));
                part.threads = cx.threads;
                let found = split(&own, &mut part).map_err(|error| fault.get_or_insert(error)).ok();
                let Some(found) = found.as_ref().and_then(|run| run.outcome.solution()) else { continue };
                let Ok(stages) = equal::stages(found, problem, units, model, pair, cx) else { return Ok(false) };
                let Some(stages) = stages else { continue };
                race.offer(model.objective(&stages), stages);
                race.report("equal degrees");
                break;
            }
        }
        fault.filter(|_| race.solution().is_none()).map_or(Ok(false), Err)
    })
}

/// Whether a heuristic that knows no degrees takes the problems that it is asked in the place of `problem`, which asks for degrees.
///
/// # Errors
/// What it cannot take.
pub(super) fn takes_equal_degrees(
    solver: &str,
    problem: &Problem,
    takes: impl Fn(&Problem) -> Result<(), Unsupported>,
) -> Result<(), Unsupported> {
    refuse_others(solver, problem)?;
    let Some(costs) = &problem.costs.stages else { unreachable!("problems that ask for degrees have options") };
    let nodes = Model::new(problem, costs, (0..problem.node_count()).map(|v| vec![v]).collect());
    let first = equal::pairs(&nodes).first().map(|&pair| equal::problems(problem, &nodes, pair));
    first.iter().flatten().try_for_each(takes)
}

/// Refuses scopes in which stages have no order, and more classes of devices than labels count.
pub(super) fn refuse_others(solver: &str, problem: &Problem) -> Result<(), Unsupported> {
    let classes = problem.spec.platform.accelerators.iter().filter(|class| class.count > 0).count();
    let reason = match problem.spec.scope {
        Scope::Acyclic if classes <= MOST_FLEETS => return Ok(()),
        Scope::Acyclic => "it takes accelerators of four classes at most; ask for none of some",
        _ => "it finds splits into successive ideals; ask for the scope `acyclic`",
    };
    Err(Unsupported { solver: solver.into(), reason: reason.into() })
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
        let is_infeasible = search::run(&by_loads, (units, model.costs), self, &mut largest, &mut Stats::default());
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
