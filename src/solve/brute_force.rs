//! Exhaustive search: the oracle that every other solver is tested against.

mod enumeration;
mod evaluation;
mod latency;
mod plans;

use super::{
    BoundSource, Guarantee, LowerBound, Outcome, Progress, Run, SearchContext, SolveError, Solver, Stats, Unsupported,
};
use crate::graph::NodeId;
use crate::graph::order_graph::Groups;
use crate::problem::{DeviceAssignment, DeviceKind, Objective, Problem, Scope, Solution};
use enumeration::{Enumeration, Stage, enumeration_bound};
use evaluation::Evaluation;
use latency::{LatencyEvaluation, members};
use plans::{Plans, plans_bound};

/// Looks at every split of a tiny problem, in every scope and for every objective, cost kind and option.
///
/// Colour groups go one after another to a stage that is already open, or open a new one on each kind of device, with
/// each number of replicas, in each server that differs from the others. Interchangeable devices and servers are thus
/// looked at once. Each complete split is evaluated from scratch on the original graph; for the latency, under every
/// division of each accelerator's nodes into subgraphs and every order of these. Where stages have degrees
/// ([`Degrees`](crate::problem::Degrees)) it looks at every list of successive ideals, with all degrees and all options. When
/// stopped, it returns the best split so far, without a bound.
///
/// ```
/// use dagsplit::instance::{Edge, Instance, Node, Platform};
/// use dagsplit::problem::{Problem, ProblemSpec};
/// use dagsplit::solve::{BruteForce, SearchContext, Solver};
///
/// let node = |id| Node { accelerator_times: vec![Some(2.0)], ..Node::new(id) };
/// let instance = Instance {
///     platform: Platform::uniform(2, None, 0),
///     nodes: (0..4).map(node).collect(),
///     edges: (0..3).map(|id| Edge { source: id, target: id + 1 }).collect(),
///     ..Instance::default()
/// };
/// let problem = Problem::new(&instance, ProblemSpec::of(&instance))?;
/// let run = BruteForce.solve(&problem, &mut SearchContext::new())?;
/// assert_eq!(run.outcome.solution().and_then(|split| split.objective), Some(4.0));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct BruteForce;

impl BruteForce {
    /// The most colour groups it takes.
    pub const MAX_GROUPS: usize = 12;

    /// The most splits it may have to look at.
    pub const MAX_SPLITS: f64 = 2e8;

    /// So many splits are looked at in less than a tenth of a second.
    const FEW: f64 = 1e5;

    /// Whether it takes a problem, and no time to speak of.
    pub(crate) fn is_quick(problem: &Problem) -> bool {
        let groups = Groups::new(&problem.color_class).len();
        Self.supports(problem).is_ok() && enumeration_bound(problem, groups) <= Self::FEW
    }
}

impl Solver for BruteForce {
    fn name(&self) -> &str {
        "brute-force"
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
        let refuse = |reason| Err(Unsupported { solver: self.name().into(), reason });
        if let Objective::Latency { .. } = problem.spec.objective
            && problem.node_count() > LatencyEvaluation::MAX_NODES
        {
            let most = LatencyEvaluation::MAX_NODES;
            return refuse(format!("it has {} nodes, more than {most}; use a heuristic", problem.node_count()));
        }
        let groups = Groups::new(&problem.color_class).len();
        let instead = match problem.spec.objective {
            Objective::Sharding(_) => "sharding-bb",
            _ if problem.costs.stages.is_some() => "degrees",
            _ => "the ideal DP (dp)",
        };
        if groups > Self::MAX_GROUPS {
            let most = Self::MAX_GROUPS;
            return refuse(format!("it has {groups} colour groups, more than {most}; use {instead} instead"));
        }
        let splits = match &problem.costs.stages {
            Some(_) if problem.spec.scope != Scope::Acyclic => {
                return refuse("stages with degrees are successive ideals; ask for the scope `acyclic`".into());
            }
            Some(costs) => plans_bound(problem, costs, groups),
            None => enumeration_bound(problem, groups),
        };
        if splits > Self::MAX_SPLITS {
            return refuse(format!("there may be {splits:.0e} splits; ask for fewer devices, or use {instead}"));
        }
        Ok(())
    }

    fn search(&self, problem: &Problem, cx: &mut SearchContext) -> Result<Run, SolveError> {
        let groups = Groups::new(&problem.color_class);
        let (best, splits, is_complete) = match &problem.costs.stages {
            Some(costs) => {
                let mut plans = Plans::new(problem, costs, &groups, cx);
                (plans.best(), plans.plans, !plans.stopped)
            }
            None => enumerated(problem, &groups, cx),
        };
        let scope = problem.spec.scope.clone();
        let outcome = match best {
            Some(solution) => match solution.objective.filter(|_| is_complete) {
                Some(value) => {
                    Outcome::Optimal { solution, bound: LowerBound { value, scope, source: BoundSource::Enumeration } }
                }
                None => Outcome::Feasible { solution, bound: None },
            },
            None if is_complete => Outcome::Infeasible,
            None => Outcome::Unknown { bound: None },
        };
        let mut stats = Stats::default();
        stats.set("splits", splits as f64);
        Ok(Run { outcome, stats })
    }
}

/// The best of all splits of a problem without degrees, how many were looked at, and whether these are all.
fn enumerated(problem: &Problem, groups: &Groups, cx: &SearchContext) -> (Option<Solution>, u64, bool) {
    let mut judge = Judge::new(problem, groups);
    let mut best: Option<(f64, Vec<Stage>)> = None;
    let mut enumeration = Enumeration::new(problem, groups.len(), cx);
    enumeration.run(&mut |stages| {
        let value = judge.value(stages);
        let is_better = |value: &f64| best.as_ref().is_none_or(|(least, _)| value < least);
        if let Some(value) = value.filter(is_better) {
            best = Some((value, stages.to_vec()));
            cx.report(&Progress { phase: "enumeration", incumbent: Some(value), bound: None });
        }
    });
    let solution = |(value, stages)| Solution { devices: judge.devices(stages), objective: Some(value) };
    (best.map(solution), enumeration.splits, !enumeration.stopped)
}

/// Says what a split is worth.
enum Judge<'a> {
    Pipeline(&'a Problem, &'a Groups, Evaluation<'a>),
    Latency(&'a Problem, LatencyEvaluation<'a>),
}

impl<'a> Judge<'a> {
    fn new(problem: &'a Problem, groups: &'a Groups) -> Self {
        match problem.spec.objective {
            Objective::Latency { subgraphs } => {
                Self::Latency(problem, LatencyEvaluation::new(problem, groups, subgraphs))
            }
            Objective::Throughput | Objective::GPipe | Objective::Step { .. } | Objective::Sharding(_) => {
                Self::Pipeline(problem, groups, Evaluation::new(problem, groups))
            }
        }
    }

    /// The objective value of a split, or `None` when it is infeasible or outside the scope.
    fn value(&mut self, stages: &[Stage]) -> Option<f64> {
        match self {
            Self::Pipeline(.., evaluation) => evaluation.evaluate(stages),
            Self::Latency(_, evaluation) => Some(evaluation.evaluate(stages)?.0),
        }
    }

    /// The devices of a feasible split.
    fn devices(&mut self, stages: Vec<Stage>) -> Vec<DeviceAssignment> {
        match self {
            Self::Pipeline(problem, groups, evaluation) => {
                let stages = evaluation.in_pipeline_order(stages);
                let nodes = |stage: &Stage| stage.groups().flat_map(|g| groups.members[g].iter().copied()).collect();
                stages.iter().map(|stage| device(problem, stage, nodes(stage))).collect()
            }
            Self::Latency(problem, evaluation) => {
                let divisions = evaluation.evaluate(&stages).map_or_else(Vec::new, |(_, divisions)| divisions);
                let divided = |(stage, division): (&Stage, &Vec<u64>)| {
                    let nodes = division.iter().flat_map(|&subgraph| members(subgraph)).collect();
                    let is_cut = stage.kind != DeviceKind::Cpu && division.len() > 1;
                    let ids = |&subgraph: &u64| members(subgraph).map(|v| problem.ids[v]).collect();
                    let subgraphs = if is_cut { division.iter().map(ids).collect() } else { Vec::new() };
                    DeviceAssignment { subgraphs, ..device(problem, stage, nodes) }
                };
                stages.iter().zip(&divisions).map(divided).collect()
            }
        }
    }
}

fn device(problem: &Problem, stage: &Stage, mut nodes: Vec<NodeId>) -> DeviceAssignment {
    nodes.sort_unstable();
    DeviceAssignment {
        replicas: stage.replicas,
        server: stage.server,
        ..DeviceAssignment::new(stage.kind, nodes.into_iter().map(|v| problem.ids[v]).collect())
    }
}
