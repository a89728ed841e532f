//! Latency by dynamic programming over ideals: exact for one subgraph per accelerator.

mod cheapest;
mod completions;
mod configurations;
mod counts;
mod crossing;
mod flow;
#[cfg(test)]
mod generated;
mod heads;
mod labels;
mod lattice;
mod lift;
mod model;
mod moves;
mod narrow;
mod run;
mod search;
mod subgraphs;
mod table;
mod trace;
mod units;
mod views;
mod watch;
mod weighted;

use super::{Guarantee, Run, SearchContext, SolveError, Solver, Unsupported, refuse_sharding};
use crate::problem::{Objective, Problem};
use labels::Used;

/// The exact DP for [`Objective::Latency`] with one subgraph per accelerator.
///
/// Blocks of a split that can run (accelerator subgraphs, CPU nodes) have an order whose prefixes are ideals. A label of
/// an ideal is what the blocks inside mean for the rest: accelerators used, the last finish, and the time at which each
/// output that is still needed is ready. Completion is monotone in all of them, so only Pareto labels are kept.
///
/// Anytime: on a limit, or where the graph has too many ideals, it returns its best split and a lower bound.
///
/// Source: Tarnawski 2020, section 4, states the problem; the method is our own (`docs/latency.md`).
#[derive(Debug, Clone, PartialEq)]
pub struct LatencyDp {
    /// The most ideals of the units' order; wider graphs are split without proof.
    pub max_ideals: usize,
}

impl Default for LatencyDp {
    fn default() -> Self {
        Self { max_ideals: 400_000 }
    }
}

impl Solver for LatencyDp {
    fn name(&self) -> &str {
        "latency-dp"
    }

    fn guarantee(&self) -> Guarantee {
        Guarantee::Exact
    }

    fn supports(&self, problem: &Problem) -> Result<(), Unsupported> {
        refuse_sharding(self.name(), problem)?;
        let refuse = |reason: String| Err(Unsupported { solver: self.name().into(), reason });
        let classes = &problem.spec.platform.accelerators;
        match problem.spec.objective {
            Objective::Latency { subgraphs: 1 } => {}
            Objective::Latency { .. } => {
                return refuse(
                    "it runs one subgraph on each accelerator; ask for one, or use local-search or ip:strong".into(),
                );
            }
            _ => return refuse("it minimises the latency; use dp or dpl for loads".into()),
        }
        if classes.iter().filter(|class| class.count > 0).count() > Used::MAX_CLASSES {
            return refuse(format!("it counts accelerators of at most {} classes; ask for fewer", Used::MAX_CLASSES));
        }
        Ok(())
    }

    fn search(&self, problem: &Problem, cx: &mut SearchContext) -> Result<Run, SolveError> {
        Ok(run::solve(problem, self.max_ideals, cx))
    }
}
