//! Exhaustive search: the oracle that every other solver is tested against.

mod enumeration;
mod evaluation;

use super::{
    BoundSource, Guarantee, LowerBound, Outcome, Progress, Run, SearchContext, SolveError, Solver, Stats, Unsupported,
};
use crate::graph::NodeId;
use crate::graph::order_graph::Groups;
use crate::problem::{DeviceAssignment, Objective, Problem, Scope, Solution};
use enumeration::{Enumeration, Stage, enumeration_bound};
use evaluation::Evaluation;

/// Looks at every split of a tiny problem, in every scope and for every objective, cost kind and option.
///
/// Colour groups go one after another to a stage that is already open, or open a new one on each kind of device, with
/// each number of replicas, in each server that differs from the others. Interchangeable devices and servers are thus
/// looked at once. Each complete split is evaluated from scratch on the original graph. When stopped, it returns the
/// best split so far, without a bound.
///
/// ```
/// use dagsplit::instance::{Edge, Instance, Node, Platform};
/// use dagsplit::problem::{Problem, ProblemSpec};
/// use dagsplit::solve::{SearchContext, Solver, brute_force::BruteForce};
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
}

impl Solver for BruteForce {
    fn name(&self) -> &'static str {
        "brute-force"
    }

    fn guarantee(&self) -> Guarantee {
        Guarantee::Exact
    }

    fn supports(&self, problem: &Problem) -> Result<(), Unsupported> {
        let refuse = |reason| Err(Unsupported { solver: self.name(), reason });
        if let Scope::Linearized(order) = &problem.spec.scope
            && !is_permutation(order, problem.node_count())
        {
            return refuse("the order of the linearized scope does not hold each node index once".into());
        }
        if matches!(problem.spec.objective, Objective::Latency { .. }) {
            return refuse("it minimises loads, not latency".into());
        }
        let groups = Groups::new(&problem.color_class).len();
        if groups > Self::MAX_GROUPS {
            return refuse(format!(
                "it has {groups} colour groups, more than {}; use the ideal DP (dp) instead",
                Self::MAX_GROUPS
            ));
        }
        let splits = enumeration_bound(problem, groups);
        if splits > Self::MAX_SPLITS {
            return refuse(format!(
                "there may be {splits:.0e} splits; ask for fewer devices, or use the ideal DP (dp)"
            ));
        }
        Ok(())
    }

    fn solve(&self, problem: &Problem, cx: &mut SearchContext) -> Result<Run, SolveError> {
        self.supports(problem)?;
        let groups = Groups::new(&problem.color_class);
        let evaluation = Evaluation::new(problem, &groups);
        let mut best: Option<(f64, Vec<Stage>)> = None;
        let mut enumeration = Enumeration::new(problem, groups.len(), cx);
        enumeration.run(&mut |stages| {
            let value = evaluation.evaluate(stages);
            let is_better = |value: &f64| best.as_ref().is_none_or(|(least, _)| value < least);
            if let Some(value) = value.filter(is_better) {
                best = Some((value, stages.to_vec()));
                cx.report(&Progress { phase: "enumeration", incumbent: Some(value), bound: None });
            }
        });
        let (splits, complete) = (enumeration.splits, !enumeration.stopped);
        let scope = problem.spec.scope.clone();
        let outcome = match best {
            Some((value, stages)) => {
                let solution = solution(problem, &groups, &evaluation.in_pipeline_order(stages), value);
                if complete {
                    Outcome::Optimal { solution, bound: LowerBound { value, scope, source: BoundSource::Enumeration } }
                } else {
                    Outcome::Feasible { solution, bound: None }
                }
            }
            None if complete => Outcome::Infeasible(scope),
            None => Outcome::Unknown { bound: None },
        };
        let mut stats = Stats::default();
        stats.set("splits", splits as f64);
        Ok(Run { outcome, stats })
    }
}

fn is_permutation(order: &[NodeId], n: usize) -> bool {
    let mut sorted = order.to_vec();
    sorted.sort_unstable();
    sorted.into_iter().eq(0..n)
}

fn solution(problem: &Problem, groups: &Groups, stages: &[Stage], value: f64) -> Solution {
    let device = |stage: &Stage| {
        let mut nodes: Vec<usize> = stage.groups().flat_map(|group| groups.members[group].iter().copied()).collect();
        nodes.sort_unstable();
        DeviceAssignment {
            kind: stage.kind,
            replicas: stage.replicas,
            server: stage.server,
            nodes: nodes.into_iter().map(|v| problem.ids[v]).collect(),
        }
    };
    Solution { devices: stages.iter().map(device).collect(), objective: Some(value) }
}
