//! Local search from many starts: for loads as published, for the latency by annealing.

mod latency;
mod loads;

use super::{refuse_recomputation, supports_latency, supports_loads, unsupported};
use crate::problem::{Objective, Problem, Scope};
use crate::solve::{Guarantee, Run, SearchContext, SolveError, Solver, Unsupported};

/// Local search over the devices of colour classes, each start by itself; the best split of all is returned.
///
/// **Loads** (Tarnawski 2020, section 6): from a random split on the accelerators the best reassignment of one class is
/// made, over and over, until none helps. Memory comes first: while some device holds too much, the best reassignment is
/// the one after which the least is too much. Any splits count ([`Scope::Arbitrary`]). Pin counts are kept for each net
/// and device, so that a reassignment costs O(nets of the class) to judge and to make, and only those are judged
/// that touch a device with the largest load: O(classes · nets of a class) for each step.
///
/// As published, classes stay on accelerators that can run them. They go to a CPU where memory does not suffice (the
/// published program minds no memory), or at any time if `cpus` says so, which makes for better splits.
///
/// **Latency**: simulated annealing over placements of colour classes, each on the CPU or in one of the subgraphs of the
/// accelerators. A move takes a class, or all that comes before or after one of its nodes in a subgraph, to where a
/// neighbour is or anywhere else, or exchanges two classes. Placements whose subgraphs wait for each other are left out;
/// those that exceed a memory pay a price for it that rises while they do and falls while they do not. Each start is a
/// greedy filling along a random topological order, which then cools for a fixed number of steps, O(n + m) each. The
/// bound is that of `latency_bound`.
///
/// Starts run on all threads, with the same answer on any number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LocalSearch {
    /// How often the search starts anew; at least 1.
    pub restarts: usize,
    /// For the latency: moves tried from each start.
    pub steps: usize,
    /// For loads: whether classes may leave accelerators for CPUs though memory suffices.
    pub cpus: bool,
}

impl Default for LocalSearch {
    fn default() -> Self {
        Self { restarts: 10, steps: 320_000, cpus: false }
    }
}

/// How many starts share a look at the incumbent: a fixed number, so that the answer does not depend on the threads.
const BATCH: usize = 4;

impl Solver for LocalSearch {
    fn name(&self) -> &str {
        "local-search"
    }

    fn guarantee(&self) -> Guarantee {
        Guarantee::Heuristic
    }

    fn supports(&self, problem: &Problem) -> Result<(), Unsupported> {
        if let Objective::Latency { .. } = problem.spec.objective {
            return supports_latency(self.name(), problem);
        }
        supports_loads(self.name(), problem)?;
        refuse_recomputation(self.name(), problem)?;
        match problem.spec.scope {
            Scope::Arbitrary => Ok(()),
            _ => Err(unsupported(self.name(), "its moves part what is contiguous; ask for the scope `arbitrary`")),
        }
    }

    fn search(&self, problem: &Problem, cx: &mut SearchContext) -> Result<Run, SolveError> {
        Ok(match problem.spec.objective {
            Objective::Latency { .. } => latency::solve(*self, problem, cx),
            _ => loads::solve(*self, problem, cx),
        })
    }
}
