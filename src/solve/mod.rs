//! Solvers, what they promise, and what they return.

pub(crate) mod brute_force;
pub(crate) mod bundle;
pub(crate) mod certify;
pub(crate) mod chain;
pub(crate) mod chunks;
pub(crate) mod degrees;
pub(crate) mod dp;
mod grid;
pub(crate) mod heuristic;
#[cfg(feature = "highs")]
pub(crate) mod ip;
pub(crate) mod latency;
pub(crate) mod linearized;
mod objective;
pub(crate) mod portfolio;
pub(crate) mod positions;
pub(crate) mod program;
mod settle;
pub(crate) mod sharding;

pub use brute_force::BruteForce;
pub use certify::{Annealing, Certify};
pub use chain::{Clustering, Refinement};
pub use chunks::ChunkSearch;
pub use degrees::DegreeDp;
pub use dp::{IdealDp, PlainDp};
pub use heuristic::chen2024::Levels;
pub use heuristic::external::Partitioner;
pub use heuristic::{
    Blocks, Branchings, Expert, ExpertError, ExternalPartitioner, Greedy, Hierarchical, IterativeRefinement,
    KernighanLin, Layers, LocalSearch, MaxLoad, OperatorClustering, PipeDream, Rannc, SingleDevice, SliceGraph,
    Uniform,
};
#[cfg(feature = "highs")]
pub use ip::{IntegerProgram, NotPlaced, read_solution};
pub use latency::LatencyDp;
pub use linearized::LinearizedDp;
pub use portfolio::Portfolio;
pub use positions::PositionDp;
pub use program::{Program, ProgramError};
pub use sharding::ShardingBb;

pub use crate::bound::{BoundSource, LowerBound};
pub use crate::search::{MemoryBudget, OPTIMALITY_TOLERANCE, Progress, SearchContext, Stats, Status, Stopped};
pub(crate) use crate::search::{in_pool, in_pool_of};
pub(crate) use program::PROGRAM_PEAK_BYTES;
pub(crate) use settle::FEWEST_DEVICES;

use crate::problem::{Objective, Problem, Solution};
use crate::search;

/// What a solver promises about its answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Guarantee {
    /// Given time it proves its answer optimal within the scope.
    Exact,
    /// Its answer is feasible, without proof.
    Heuristic,
}

/// How a run ended.
pub type Outcome = search::Outcome<Solution, LowerBound>;

/// What a solver returns.
pub type Run = search::Run<Solution, LowerBound>;

/// What a split that states its objective and a bound say together.
fn found(solution: Solution, bound: LowerBound) -> Outcome {
    match solution.objective {
        Some(objective) => Outcome::found(solution, objective, bound),
        None => Outcome::Feasible { solution, bound: Some(bound) },
    }
}

/// Why a solver does not take a problem.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{solver} does not take this problem: {reason}")]
pub struct Unsupported {
    /// The solver's name.
    pub solver: String,
    /// What it cannot take, and what to use instead.
    pub reason: String,
}

/// Refuses the sharding cost on behalf of solvers that minimise times.
fn refuse_sharding(solver: &str, problem: &Problem) -> Result<(), Unsupported> {
    match problem.spec.objective {
        Objective::Sharding(_) => Err(Unsupported {
            solver: solver.into(),
            reason: "it minimises times; use sharding-bb, kernighan-lin or hierarchical for the sharding cost".into(),
        }),
        Objective::Throughput | Objective::GPipe | Objective::Step { .. } | Objective::Latency { .. } => Ok(()),
    }
}

/// Refuses memory that depends on what is cut on behalf of solvers that add it up over nodes.
fn refuse_recomputation(solver: &str, problem: &Problem) -> Result<(), Unsupported> {
    if problem.costs.has_additive_memory() {
        return Ok(());
    }
    let reason = "it adds up the memory of nodes; use dp, dpl or parmesan for memory with recomputation".into();
    Err(Unsupported { solver: solver.into(), reason })
}

/// Refuses replicas of stages and servers on behalf of solvers that know neither.
fn refuse_replicas_and_servers(solver: &str, problem: &Problem) -> Result<(), Unsupported> {
    let reason = if problem.spec.replication.is_some() {
        "it does not replicate stages; use the ideal DP (dp), or ask for no replication"
    } else if problem.spec.interconnect.is_some() {
        "it knows no servers; use the ideal DP (dp), or ask for no interconnect"
    } else {
        return Ok(());
    };
    Err(Unsupported { solver: solver.into(), reason: reason.into() })
}

/// A fault: not a limit, not an infeasible problem.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum SolveError {
    /// The solver does not take the problem.
    #[error(transparent)]
    Unsupported(#[from] Unsupported),
    /// A split file that cannot be read, or that does not count.
    #[error(transparent)]
    Expert(#[from] heuristic::ExpertError),
    /// Another program that is missing or failed.
    #[error(transparent)]
    Program(#[from] heuristic::external::ProgramError),
    /// A program of one's own that gave no answer.
    #[error(transparent)]
    Exec(#[from] ProgramError),
    /// HiGHS failed.
    #[cfg(feature = "highs")]
    #[error(transparent)]
    Highs(#[from] ip::highs::Fault),
}

/// A way to split a problem's graph.
pub trait Solver: Send + Sync {
    /// The name, or the whole spec string, it is asked for by.
    fn name(&self) -> &str;

    /// What it promises.
    fn guarantee(&self) -> Guarantee;

    /// Whether it takes `problem`.
    ///
    /// # Errors
    /// What it cannot take.
    fn supports(&self, problem: &Problem) -> Result<(), Unsupported>;

    /// Whether it chooses tensor and data degrees of stages and options of nodes by itself, where a problem asks for them
    /// ([`Degrees`](crate::problem::Degrees)). A heuristic that does not is asked for a split into stages of equal degrees, for each
    /// pair of these, and options are chosen for it; an exact method that does not takes no such problem.
    fn chooses_degrees(&self) -> bool {
        false
    }

    /// Whether it is a [`Program`] of one's own: what it answers is returned as it stands.
    fn is_program(&self) -> bool {
        false
    }

    /// Whether it minimises the time of a step ([`Objective::Step`]) by itself. A heuristic that does not is asked for the
    /// throughput, and its split is valued as a step's; an exact method that does not takes no such problem.
    fn knows_steps(&self) -> bool {
        false
    }

    /// Whether it puts several stages on each device where a problem asks for them
    /// ([`Chunks`](crate::problem::Chunks)); others are not asked.
    fn knows_chunks(&self) -> bool {
        false
    }

    /// Whether it takes `problem`, degrees and options included.
    ///
    /// # Errors
    /// What it cannot take.
    fn takes(&self, problem: &Problem) -> Result<(), Unsupported> {
        if problem.spec.degrees.is_some() && !self.chooses_degrees() {
            if self.guarantee() == Guarantee::Heuristic && !self.is_program() {
                return degrees::takes_equal_degrees(self.name(), problem, |own| self.takes(own));
            }
            let reason =
                "it chooses no degrees of stages and no options of nodes, which the microbatches ask for; use degrees";
            return Err(Unsupported { solver: self.name().into(), reason: reason.into() });
        }
        if problem.spec.chunks.is_some() && !self.knows_chunks() {
            let reason = "it puts one stage on each device, not several chunks; use chunks";
            return Err(Unsupported { solver: self.name().into(), reason: reason.into() });
        }
        if !minimises_loads_for(self, problem) {
            return self.supports(problem);
        }
        if self.guarantee() == Guarantee::Exact {
            let reason = "it minimises the largest load, not the time of a step; use dp:plain or dpl";
            return Err(Unsupported { solver: self.name().into(), reason: reason.into() });
        }
        self.supports(&by_loads(problem))
    }

    /// Searches within the limits of `cx`, for [`Self::solve`]: `problem` is supported, and sums of its costs are exact in
    /// any order, so that differences of them are, too.
    ///
    /// # Errors
    /// A fault. Limits and infeasible problems are outcomes.
    fn search(&self, problem: &Problem, cx: &mut SearchContext) -> Result<Run, SolveError>;

    /// Solves `problem` within the limits of `cx`.
    ///
    /// The search sees costs that are rounded down to a grid; what it returns is judged by the costs as they are: the
    /// split's objective is recomputed from them, and it is optimal where the bound meets that objective within
    /// [`OPTIMALITY_TOLERANCE`]. Degrees of stages have costs of their own, which are seen as they are, as all costs are by
    /// programs and by those that know chunks.
    ///
    /// # Errors
    /// A fault, or a problem that it does not take. Limits and infeasible problems are outcomes.
    fn solve(&self, problem: &Problem, cx: &mut SearchContext) -> Result<Run, SolveError> {
        self.takes(problem)?;
        if problem.spec.degrees.is_some() && !self.chooses_degrees() {
            return degrees::of_equal_degrees(problem, cx, &|own, cx| self.solve(own, cx));
        }
        if problem.spec.degrees.is_some() || self.knows_chunks() || self.is_program() {
            return self.search(problem, cx);
        }
        let search = |problem: &Problem, cx: &mut SearchContext| {
            if !minimises_loads_for(self, problem) {
                return self.search(problem, cx);
            }
            let Run { outcome, stats } = self.search(&by_loads(problem), &mut cx.silent())?;
            Ok(Run { outcome: outcome.without_proof(), stats })
        };
        settle::solve(&search, self.guarantee(), problem, cx)
    }
}

/// Whether the time of a step is asked for, and the largest load is what the solver minimises in its place.
fn minimises_loads_for<S: Solver + ?Sized>(solver: &S, problem: &Problem) -> bool {
    problem.spec.objective.microbatches().is_some() && !solver.knows_steps()
}

/// The problem with the largest load in place of the time of a step.
fn by_loads(problem: &Problem) -> Problem {
    let mut problem = problem.clone();
    problem.spec.objective = Objective::Throughput;
    problem
}
