//! What is known of a case from exact methods: the oracle.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::chunks;
use super::partitioner::Case;
use crate::graph::order_graph::Groups;
use crate::problem::Problem;
use crate::registry;
use crate::solve::brute_force::BruteForce;
use crate::solve::{Guarantee, SearchContext, Solver};
use crate::verify;

/// The most colour groups that are looked at exhaustively.
const ENUMERATED_GROUPS: usize = 6;

/// The time that other exact methods may take for one case.
const TIME_LIMIT: Duration = Duration::from_secs(2);

/// What is known of a case.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Reference {
    /// No split is below this value.
    pub lower: Option<f64>,
    /// A verified split has this value.
    pub upper: Option<f64>,
}

impl Reference {
    /// Solves `case` by an exact method other than the one named `besides`: exhaustively where it is tiny, by the first
    /// exact method that takes it otherwise. With several chunks on each device the tiny ones alone are looked at. Nothing is
    /// known where there is none. Splits pass the verifier first.
    pub fn of(case: &Case, problem: &Problem, besides: &str) -> Self {
        if let Some(asked) = problem.spec.chunks {
            let best = if is_enumerated(problem) { chunks::best(case, problem, asked) } else { None };
            return Self { lower: best, upper: best };
        }
        let Some(oracle) = oracle(problem, besides) else { return Self::default() };
        let mut cx = SearchContext::new();
        if oracle.name() != BruteForce.name() {
            cx = cx.with_time_limit(TIME_LIMIT);
        }
        let Ok(run) = oracle.solve(problem, &mut cx) else { return Self::default() };
        let solution = run.outcome.solution();
        let verified = solution.and_then(|solution| case.verify(solution).ok());
        let bound = run.outcome.bound().filter(|bound| bound.scope.covers(&case.spec.scope));
        Self { lower: bound.map(|bound| bound.value), upper: verified.map(|verified| verified.objective()) }
    }
}

/// Whether a problem is so small that every split of it can be looked at.
pub(super) fn is_enumerated(problem: &Problem) -> bool {
    Groups::new(&problem.color_class).len() <= ENUMERATED_GROUPS
}

fn oracle(problem: &Problem, besides: &str) -> Option<Box<dyn Solver>> {
    let takes = |solver: &dyn Solver| solver.name() != besides && solver.takes(problem).is_ok();
    if is_enumerated(problem) && takes(&BruteForce) {
        return Some(Box::new(BruteForce));
    }
    let mut methods = registry::methods().iter().filter(|method| method.exact && method.name != BruteForce.name());
    methods.find_map(|method| {
        let solver = method.solver();
        (solver.guarantee() == Guarantee::Exact && takes(solver.as_ref())).then_some(solver)
    })
}

/// Whether `a` is below `b` by more than the rounding of sums.
pub(super) fn below(a: f64, b: f64) -> bool {
    a < b - verify::CLAIM_TOLERANCE * b.abs()
}
