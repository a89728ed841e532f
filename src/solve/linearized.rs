//! Linearized DP (Tarnawski 2020, section 5.1.2) as a method.

use super::dp::linearized::best_of_orders;
use super::dp::{self, Setting};
use super::{
    BoundSource, Guarantee, LowerBound, Outcome, Run, SearchContext, SolveError, Solver, Stats, Unsupported, degrees,
    in_pool,
};
use crate::bound;
use crate::preprocess::Reduced;
use crate::problem::{Problem, Scope};

/// Linearized DP over several topological orders: the narrow ones, then random depth-first ones.
///
/// Each order is split optimally into intervals; the best split wins. A heuristic for [`Scope::Acyclic`], exact for
/// one given order ([`Scope::Linearized`]). Degrees of stages are chosen along its orders as [`DegreeDp`](super::DegreeDp) does.
#[derive(Debug, Clone, PartialEq)]
pub struct LinearizedDp {
    /// How many orders to try.
    pub orders: usize,
}

impl Default for LinearizedDp {
    fn default() -> Self {
        Self { orders: 16 }
    }
}

impl Solver for LinearizedDp {
    fn name(&self) -> &str {
        "dpl"
    }

    fn guarantee(&self) -> Guarantee {
        Guarantee::Heuristic
    }

    fn chooses_degrees(&self) -> bool {
        true
    }

    fn knows_steps(&self) -> bool {
        true
    }

    fn supports(&self, problem: &Problem) -> Result<(), Unsupported> {
        match problem.costs.stages {
            Some(_) => degrees::refuse_others(self.name(), problem),
            None => dp::supports(self.name(), problem),
        }
    }

    fn search(&self, problem: &Problem, cx: &mut SearchContext) -> Result<Run, SolveError> {
        if problem.spec.degrees.is_some() {
            return degrees::along_orders(problem, self.orders, cx);
        }
        let reduced = Reduced::new(problem);
        let setting = Setting::new(problem, &reduced);
        let value = bound::least_objective(problem, &reduced, bound::work(&reduced));
        let bound = LowerBound { value, scope: Scope::Acyclic, source: BoundSource::Work };
        let found = in_pool(cx, || best_of_orders(&setting, self.orders, self.orders, bound.value, cx));
        let outcome = match found {
            Some(split) => {
                let objective = split.objective();
                Outcome::Feasible { solution: setting.lift(&split, objective), bound: Some(bound) }
            }
            None => Outcome::Unknown { bound: Some(bound) },
        };
        let mut stats = Stats::default();
        stats.set("units", reduced.unit_count() as f64);
        Ok(Run { outcome, stats })
    }
}
