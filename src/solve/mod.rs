//! Solvers, what they promise, and what they return.

pub mod brute_force;
pub mod certify;
pub mod dp;
mod grid;
pub mod heuristic;
#[cfg(feature = "highs")]
pub mod ip;
pub mod latency;
mod objective;
pub mod registry;
mod settle;
pub mod sharding;

pub(crate) use crate::search::in_pool;
pub use crate::search::{MemoryBudget, OPTIMALITY_TOLERANCE, Progress, SearchContext, Stats, Status};

use crate::problem::{MemoryModel, Objective, Problem, Scope, Solution};
use crate::search::{self, Bound};

/// What a solver promises about its answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Guarantee {
    /// Given time it proves its answer optimal within the scope.
    Exact,
    /// Its answer is feasible, without proof.
    Heuristic,
}

/// Where a lower bound comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BoundSource {
    /// Total work over total speed.
    Work,
    /// The least load of a set that holds one node.
    HeaviestNode,
    /// What a target forces: units that kinds of device cannot hold, and the work left for others ([`crate::bound`]).
    Forcing,
    /// The relaxation of the ideal DP that lets boundaries cross ([`dp`]).
    BoundaryRelaxation,
    /// The longest path, and what it leaves to the accelerators ([`heuristic::latency_bound`]).
    LongestPath,
    /// Weights spread over devices as evenly as the edges that this cuts are worth ([`sharding`]).
    Spreading,
    /// A target below which a search found nothing.
    Refuted,
    /// Every split was looked at.
    Enumeration,
    /// The dual bound of an integer program, less its solver's tolerance.
    IntegerProgram,
    /// A program of its own states it.
    Stated,
}

/// A value that no split of the scope can be below.
#[derive(Debug, Clone, PartialEq)]
pub struct LowerBound {
    /// The bound, in the unit of the objective.
    pub value: f64,
    /// The splits it holds for. A bound for contiguous splits says nothing about arbitrary ones.
    pub scope: Scope,
    /// What proved it.
    pub source: BoundSource,
}

impl Bound for LowerBound {
    fn value(&self) -> f64 {
        self.value
    }

    fn at_most(self, value: f64) -> Self {
        Self { value: self.value.min(value), ..self }
    }
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
        Objective::Throughput | Objective::GPipe | Objective::Latency { .. } => Ok(()),
    }
}

/// Refuses memory that depends on what is cut on behalf of solvers that add it up over nodes.
fn refuse_recomputation(solver: &str, problem: &Problem) -> Result<(), Unsupported> {
    match problem.spec.memory {
        MemoryModel::Additive => Ok(()),
        MemoryModel::Recomputation { .. } => Err(Unsupported {
            solver: solver.into(),
            reason: "it adds up the memory of nodes; use dp, dpl or parmesan for memory with recomputation".into(),
        }),
    }
}

/// A fault: not a limit, not an infeasible problem.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
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
    /// [`OPTIMALITY_TOLERANCE`].
    ///
    /// # Errors
    /// A fault, or a problem that it does not take. Limits and infeasible problems are outcomes.
    fn solve(&self, problem: &Problem, cx: &mut SearchContext) -> Result<Run, SolveError> {
        self.supports(problem)?;
        settle::solve(&|problem, cx| self.search(problem, cx), self.guarantee(), problem, cx)
    }
}
