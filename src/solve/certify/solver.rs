//! The solver: what it takes, and how it is run.

use super::assignment::Setting;
use super::proof::Proof;
use crate::preprocess::Unordered;
use crate::problem::{Objective, Problem, Scope};
use crate::solve::{Guarantee, Run, SearchContext, SolveError, Solver, Unsupported};
use crate::solve::{in_pool_of, refuse_recomputation, refuse_replicas_and_servers, refuse_sharding};

/// Exact search for splits whose devices need no order: branch and price.
///
/// Simulated annealing finds a split; column generation refutes loads below it, and branch and price closes what is
/// left. `docs/certify.md` says why its bounds hold.
///
/// ```
/// use dagsplit::instance::{Edge, Instance, Node, Platform};
/// use dagsplit::problem::{Problem, ProblemSpec, Scope};
/// use dagsplit::solve::{Certify, Outcome, SearchContext, Solver};
///
/// // Two heavy layers and a light one between them: contiguous splits cannot put the heavy ones together.
/// let node = |id, time| Node { accelerator_times: vec![Some(time)], ..Node::new(id) };
/// let instance = Instance {
///     platform: Platform::uniform(2, None, 0),
///     nodes: vec![node(0, 3.0), node(1, 6.0), node(2, 3.0)],
///     edges: vec![Edge { source: 0, target: 1 }, Edge { source: 1, target: 2 }],
///     ..Instance::default()
/// };
/// let spec = ProblemSpec { scope: Scope::Arbitrary, ..ProblemSpec::of(&instance) };
/// let run = Certify.solve(&Problem::new(&instance, spec)?, &mut SearchContext::new())?;
/// let Outcome::Optimal { solution, .. } = run.outcome else { panic!("so small a problem is solved") };
/// assert_eq!(solution.objective, Some(6.0));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Certify;

impl Solver for Certify {
    fn name(&self) -> &str {
        "certify"
    }

    fn guarantee(&self) -> Guarantee {
        Guarantee::Exact
    }

    fn supports(&self, problem: &Problem) -> Result<(), Unsupported> {
        match problem.spec.scope {
            Scope::Acyclic | Scope::Linearized(_) => {
                Err(refusal("its splits have no order of devices; use the ideal DP (dp), or ask for scope convex"))
            }
            Scope::Arbitrary | Scope::Convex => takes(problem),
        }
    }

    fn search(&self, problem: &Problem, cx: &mut SearchContext) -> Result<Run, SolveError> {
        let unordered = Unordered::new(problem);
        let setting = Setting::new(problem, &unordered);
        let cx = &*cx;
        Ok(in_pool_of(cx.most_lanes(), || {
            let mut proof = Proof::new(&setting, cx);
            let is_infeasible = proof.run();
            proof.finish(is_infeasible)
        }))
    }
}

fn refusal(reason: &str) -> Unsupported {
    Unsupported { solver: Certify.name().into(), reason: reason.into() }
}

/// Whether it takes a problem in some scope. In that of splits into successive ideals its bounds hold, and of the splits that
/// it meets it keeps those.
pub fn takes(problem: &Problem) -> Result<(), Unsupported> {
    refuse_sharding(Certify.name(), problem)?;
    refuse_recomputation(Certify.name(), problem)?;
    if problem.spec.objective != Objective::Throughput {
        return Err(refusal(
            "it minimises the largest load alone; use brute-force on tiny graphs, or objective throughput",
        ));
    }
    refuse_replicas_and_servers(Certify.name(), problem)
}
