//! Downhill moves of single nodes from many random placements (section 2.3).

use crate::problem::Problem;
use crate::solve::sharding::descent::Descent;
use crate::solve::sharding::{self, FlatSearch, Shards};
use crate::solve::{Guarantee, Run, SearchContext, SolveError, Solver, Stats, Unsupported, in_pool};

/// The flat search of Chen 2024, in the manner of Kernighan and Lin: for each ordered pair of devices it makes the first
/// move of a node from one to the other that lowers the sharding cost, until none does, from each of many random
/// placements; the best one wins.
///
/// Nodes of one colour class move together; memory and support are respected. Every move is priced in O(1) by tables
/// (`Placement`), where the paper recomputes the cost. Starts run on all threads,
/// with the same answer on any number. O(n · k) for each sweep over n nodes and k devices, O(n² · k) for
/// each pass, O(n · k) memory per thread.
///
/// ```
/// use dagsplit::instance::{Edge, Instance, Node, Platform};
/// use dagsplit::problem::{Objective, Problem, ProblemSpec, Scope, Sharding};
/// use dagsplit::solve::{KernighanLin, SearchContext, Solver};
///
/// let node = |id| Node { parameter_bytes: 2.0, ..Node::new(id) };
/// let instance = Instance {
///     platform: Platform::uniform(2, None, 0),
///     nodes: (0..4).map(node).collect(),
///     edges: (0..3).map(|id| Edge { source: id, target: id + 1 }).collect(),
///     ..Instance::default()
/// };
/// let objective = Objective::Sharding(Sharding::default());
/// let spec = ProblemSpec { objective, scope: Scope::Arbitrary, ..ProblemSpec::of(&instance) };
/// let problem = Problem::new(&instance, spec)?;
/// let run = KernighanLin::default().solve(&problem, &mut SearchContext::new())?;
/// assert_eq!(run.outcome.solution().and_then(|split| split.objective), Some(1.0));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KernighanLin {
    /// Random placements to start from; at least 1.
    pub starts: usize,
    /// The most sweeps over all pairs of devices from each start: N in the paper.
    pub sweeps: usize,
    /// The most passes of Kernighan and Lin where no single move helps: each moves every node once, the best move first,
    /// and keeps the best placement on the way. The paper has none.
    pub passes: usize,
    /// Whether to search as the authors' program does, without passes: each move is judged by the cost from scratch, with
    /// the parts of the split given to devices anew, no device stays empty, and *a sweep ends after the first part that
    /// gave a node away*, which the pseudocode does not say. Their figures have 20 starts and 10 sweeps.
    pub published: bool,
}

impl Default for KernighanLin {
    fn default() -> Self {
        Self { starts: 16, sweeps: 1000, passes: 0, published: false }
    }
}

impl Solver for KernighanLin {
    fn name(&self) -> &str {
        "kernighan-lin"
    }

    fn guarantee(&self) -> Guarantee {
        Guarantee::Heuristic
    }

    fn supports(&self, problem: &Problem) -> Result<(), Unsupported> {
        sharding::supports(self.name(), problem)
    }

    fn search(&self, problem: &Problem, cx: &mut SearchContext) -> Result<Run, SolveError> {
        let cx = &*cx;
        let shards = Shards::new(problem);
        let search = flat_search(self.sweeps, self.passes, self.published);
        let found = in_pool(cx, || search.best_of_starts(&shards.model, self.starts.max(1), cx.seed, cx));
        let outcome = shards.outcome(found.map(|(_, part_of)| part_of).as_deref());
        Ok(Run { outcome, stats: Stats::of([("units", shards.model.unit_count() as f64)]) })
    }
}

/// The search of these parameters from one start.
pub(super) fn flat_search(sweeps: usize, passes: usize, published: bool) -> FlatSearch {
    if published { FlatSearch::Recomputed { sweeps } } else { FlatSearch::Priced(Descent { sweeps, passes }) }
}
