//! How a run ended.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::{Stats, is_proven};

/// A value that no solution is below, with what else is known of it.
pub trait Bound {
    /// The value, in the unit of the objective.
    fn value(&self) -> f64;

    /// The same, where its value is larger, with this one.
    #[must_use]
    fn at_most(self, value: f64) -> Self;
}

impl Bound for f64 {
    fn value(&self) -> f64 {
        *self
    }

    fn at_most(self, value: f64) -> Self {
        self.min(value)
    }
}

/// How a search for a solution `S` ended, with bounds `B`.
#[derive(Debug, Clone, PartialEq)]
pub enum Outcome<S, B> {
    /// A proven optimum: the bound equals the objective up to [`super::OPTIMALITY_TOLERANCE`].
    Optimal {
        /// The solution, its objective filled in.
        solution: S,
        /// The bound that proves it.
        bound: B,
    },
    /// A solution, with what is known of the optimum.
    Feasible {
        /// The solution, its objective filled in.
        solution: S,
        /// A bound, where one is known.
        bound: Option<B>,
    },
    /// There is no solution of what is asked for.
    Infeasible,
    /// A limit came before any solution was found.
    Unknown {
        /// A bound, where one is known.
        bound: Option<B>,
    },
}

impl<S, B: Bound> Outcome<S, B> {
    /// What a solution of this objective and a bound say together: an optimum where they meet. A bound above the objective,
    /// by the rounding of sums, is lowered to it.
    pub fn found(solution: S, objective: f64, bound: B) -> Self {
        match is_proven(objective, bound.value()) {
            true => Self::Optimal { solution, bound: bound.at_most(objective) },
            false => Self::Feasible { solution, bound: Some(bound) },
        }
    }
}

impl<S, B> Outcome<S, B> {
    /// The best solution found.
    pub fn solution(&self) -> Option<&S> {
        match self {
            Self::Optimal { solution, .. } | Self::Feasible { solution, .. } => Some(solution),
            Self::Infeasible | Self::Unknown { .. } => None,
        }
    }

    /// The lower bound known.
    pub fn bound(&self) -> Option<&B> {
        match self {
            Self::Optimal { bound, .. } => Some(bound),
            Self::Feasible { bound, .. } | Self::Unknown { bound } => bound.as_ref(),
            Self::Infeasible => None,
        }
    }

    /// What is left of it where the problem that was solved is narrower than the one that was asked for, as one of clusters
    /// is: solutions remain solutions, bounds and proofs fall away.
    pub(crate) fn without_proof(self) -> Self {
        match self {
            Self::Optimal { solution, .. } | Self::Feasible { solution, .. } => {
                Self::Feasible { solution, bound: None }
            }
            Self::Infeasible | Self::Unknown { .. } => Self::Unknown { bound: None },
        }
    }

    /// How the run ended, in a word.
    pub fn status(&self) -> Status {
        match self {
            Self::Optimal { .. } => Status::Optimal,
            Self::Feasible { .. } => Status::Feasible,
            Self::Infeasible => Status::Infeasible,
            Self::Unknown { .. } => Status::Unknown,
        }
    }
}

/// How a run ended, in a word.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Status {
    /// Its solution is proven optimal, and the checker has accepted the proof (`docs/proofs.md`).
    Certified,
    /// Its solution is proven optimal.
    Optimal,
    /// It found a solution.
    Feasible,
    /// It proved that there is no solution.
    Infeasible,
    /// It found nothing within its limit.
    Unknown,
    /// The verifier rejects what it found.
    Rejected,
    /// The method does not take the problem.
    Unsupported,
    /// The process died, or answered with something else than a result.
    Crashed,
    /// The process went on after its limit and was ended.
    Killed,
    /// Ctrl-C came; the solution is the best so far.
    Interrupted,
}

impl Status {
    /// Whether the solution is proven optimal, be it by the method's word alone.
    pub fn is_proven(self) -> bool {
        matches!(self, Self::Certified | Self::Optimal)
    }

    /// Its name in tables and JSON.
    pub fn name(self) -> &'static str {
        match self {
            Self::Certified => "certified",
            Self::Optimal => "optimal",
            Self::Feasible => "feasible",
            Self::Infeasible => "infeasible",
            Self::Unknown => "unknown",
            Self::Rejected => "rejected",
            Self::Unsupported => "unsupported",
            Self::Crashed => "crashed",
            Self::Killed => "killed",
            Self::Interrupted => "interrupted",
        }
    }
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// What a search returns.
#[derive(Debug, Clone, PartialEq)]
pub struct Run<S, B> {
    /// How it ended.
    pub outcome: Outcome<S, B>,
    /// What it did.
    pub stats: Stats,
}
