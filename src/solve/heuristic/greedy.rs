//! Filling devices one after another along a topological order.

mod latency;
mod loads;

pub(super) use latency::fill;

use super::{refuse_recomputation, supports_latency, supports_loads};
use crate::problem::{Objective, Problem};
use crate::solve::{Guarantee, Run, SearchContext, SolveError, Solver, Unsupported};

/// Fills one device after another with the graph in a depth-first topological order.
///
/// **Latency** (Tarnawski 2020, appendix F): each accelerator gets as much as fits in its memory, as one subgraph, and
/// the CPU what is left. Colour classes, and classes that need each other, go as a whole. Ties of the order are broken as
/// the published program does: first the source that the file names first, then the consumer that it names last. It
/// finds no split where what is left over cannot run on a CPU. O(n + m).
///
/// **Loads**: each device gets the longest run of the order whose load does not exceed a limit and which fits in its
/// memory; the kind of device that holds the longest comes next. The limit is lowered by bisection as long as the
/// devices suffice. The splits are acyclic, and count in every wider scope; stages are not replicated.
/// O(n · nets of a unit · kinds of device · devices) for each of some 50 limits: where it is transfers that end runs, each
/// device may look at all that is left.
///
/// ```
/// use dagsplit::instance::{Edge, Instance, Node, Platform};
/// use dagsplit::problem::{Objective, Problem, ProblemSpec};
/// use dagsplit::solve::{Greedy, SearchContext, Solver};
///
/// let node = |id| Node { accelerator_times: vec![Some(2.0)], memory: 1.0, transfer_time: 1.0, ..Node::new(id) };
/// let instance = Instance {
///     platform: Platform::uniform(2, Some(2.0), 0),
///     nodes: (0..4).map(node).collect(),
///     edges: (0..3).map(|id| Edge { source: id, target: id + 1 }).collect(),
///     ..Instance::default()
/// };
/// let latency = ProblemSpec { objective: Objective::Latency { subgraphs: 1 }, ..ProblemSpec::of(&instance) };
/// for (spec, value) in [(ProblemSpec::of(&instance), 5.0), (latency, 10.0)] {
///     let run = Greedy.solve(&Problem::new(&instance, spec)?, &mut SearchContext::new())?;
///     assert_eq!(run.outcome.solution().and_then(|split| split.objective), Some(value));
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Greedy;

impl Solver for Greedy {
    fn name(&self) -> &str {
        "greedy"
    }

    fn guarantee(&self) -> Guarantee {
        Guarantee::Heuristic
    }

    fn supports(&self, problem: &Problem) -> Result<(), Unsupported> {
        refuse_recomputation(self.name(), problem)?;
        match problem.spec.objective {
            Objective::Latency { .. } => supports_latency(self.name(), problem),
            _ => supports_loads(self.name(), problem),
        }
    }

    fn search(&self, problem: &Problem, cx: &mut SearchContext) -> Result<Run, SolveError> {
        Ok(match problem.spec.objective {
            Objective::Latency { .. } => latency::solve(problem, cx),
            _ => loads::solve(problem, cx),
        })
    }
}
