//! Solvers, what they promise, and what they return.

pub mod brute_force;
pub mod certify;
pub mod context;
pub mod dp;
mod grid;
pub mod heuristic;
#[cfg(feature = "highs")]
pub mod ip;
pub mod latency;
mod memory;
mod objective;
pub mod registry;
mod settle;
pub mod sharding;
mod tolerance;

pub(crate) use context::in_pool;
pub use context::{Progress, SearchContext};
pub use memory::MemoryBudget;
pub use tolerance::OPTIMALITY_TOLERANCE;
pub(crate) use tolerance::SEARCH_TOLERANCE;

use crate::problem::{MemoryModel, Objective, Problem, Scope, Solution};

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

/// How a run ended.
#[derive(Debug, Clone, PartialEq)]
pub enum Outcome {
    /// A proven optimum of the scope: the bound equals the objective up to floating-point rounding.
    Optimal {
        /// The split, its objective filled in.
        solution: Solution,
        /// The bound that proves it.
        bound: LowerBound,
    },
    /// A split, with what is known of the optimum.
    Feasible {
        /// The split, its objective filled in.
        solution: Solution,
        /// A bound, where one is known.
        bound: Option<LowerBound>,
    },
    /// No split of this scope exists.
    Infeasible(Scope),
    /// A limit came before any split was found.
    Unknown {
        /// A bound, where one is known.
        bound: Option<LowerBound>,
    },
}

impl Outcome {
    /// What `solution` and `bound` say together: an optimum where they meet within [`OPTIMALITY_TOLERANCE`]. A bound above
    /// the objective, by the rounding of sums, is lowered to it.
    fn found(solution: Solution, bound: LowerBound) -> Self {
        match solution.objective {
            Some(objective) if objective - bound.value <= OPTIMALITY_TOLERANCE * objective => {
                Outcome::Optimal { solution, bound: LowerBound { value: bound.value.min(objective), ..bound } }
            }
            _ => Outcome::Feasible { solution, bound: Some(bound) },
        }
    }

    /// The best split found.
    pub fn solution(&self) -> Option<&Solution> {
        match self {
            Outcome::Optimal { solution, .. } | Outcome::Feasible { solution, .. } => Some(solution),
            Outcome::Infeasible(_) | Outcome::Unknown { .. } => None,
        }
    }

    /// The lower bound known.
    pub fn bound(&self) -> Option<&LowerBound> {
        match self {
            Outcome::Optimal { bound, .. } => Some(bound),
            Outcome::Feasible { bound, .. } | Outcome::Unknown { bound } => bound.as_ref(),
            Outcome::Infeasible(_) => None,
        }
    }

    /// `optimal`, `feasible`, `infeasible` or `unknown`.
    pub fn status(&self) -> &'static str {
        match self {
            Outcome::Optimal { .. } => "optimal",
            Outcome::Feasible { .. } => "feasible",
            Outcome::Infeasible(_) => "infeasible",
            Outcome::Unknown { .. } => "unknown",
        }
    }
}

/// What a run did, by name, in the order it was recorded.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Stats(pub Vec<(&'static str, f64)>);

impl Stats {
    /// Records or replaces a figure.
    pub fn set(&mut self, name: &'static str, value: f64) {
        match self.0.iter_mut().find(|(known, _)| *known == name) {
            Some(entry) => entry.1 = value,
            None => self.0.push((name, value)),
        }
    }

    /// A figure by name.
    pub fn get(&self, name: &str) -> Option<f64> {
        self.0.iter().find(|(known, _)| *known == name).map(|&(_, value)| value)
    }
}

/// What a solver returns.
#[derive(Debug, Clone, PartialEq)]
pub struct Run {
    /// How it ended.
    pub outcome: Outcome,
    /// What it did.
    pub stats: Stats,
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
        settle::solve(&|problem, cx| self.search(problem, cx), problem, cx)
    }
}
