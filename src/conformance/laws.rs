//! What every partitioner is held to.

use std::fmt;

use clap::ValueEnum;
use serde::{Deserialize, Serialize};

/// A law.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, ValueEnum)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Law {
    /// It ends by itself, without a panic, an error or a signal.
    Runs,
    /// What it prints is a split.
    Readable,
    /// Its split passes the verifier.
    Feasible,
    /// The objective value it claims is the one its split has.
    Claim,
    /// It claims no objective value below the proven optimum or bound.
    NotBelowOptimum,
    /// Its lower bound is not above the optimum.
    Bound,
    /// What it calls optimal is optimal.
    Optimal,
    /// What it calls infeasible has no split.
    Infeasible,
    /// With time left an exact method proves its answer.
    Proof,
    /// The same problem and seed give the same answer.
    Deterministic,
    /// New ids and another order in the file leave the objective value as it is.
    Renumbering,
    /// It ends within the time limit.
    Limits,
    /// Cancelled before it starts, it ends at once, and whatever it returns is right.
    Cancellation,
}

impl Law {
    /// Every law, in the order of the report.
    pub const ALL: [Law; 13] = [
        Law::Runs,
        Law::Readable,
        Law::Feasible,
        Law::Claim,
        Law::NotBelowOptimum,
        Law::Bound,
        Law::Optimal,
        Law::Infeasible,
        Law::Proof,
        Law::Deterministic,
        Law::Renumbering,
        Law::Limits,
        Law::Cancellation,
    ];

    /// The law's name on the command line and in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Law::Runs => "runs",
            Law::Readable => "readable",
            Law::Feasible => "feasible",
            Law::Claim => "claim",
            Law::NotBelowOptimum => "not-below-optimum",
            Law::Bound => "bound",
            Law::Optimal => "optimal",
            Law::Infeasible => "infeasible",
            Law::Proof => "proof",
            Law::Deterministic => "deterministic",
            Law::Renumbering => "renumbering",
            Law::Limits => "limits",
            Law::Cancellation => "cancellation",
        }
    }

    /// What it asks, in one line.
    pub fn statement(self) -> &'static str {
        match self {
            Law::Runs => "it ends by itself, without a panic, an error or a signal",
            Law::Readable => "what it prints is a split",
            Law::Feasible => "its split passes the verifier",
            Law::Claim => "the objective value it claims is the one its split has",
            Law::NotBelowOptimum => "it claims no objective value below the proven optimum or bound",
            Law::Bound => "its lower bound is not above the optimum",
            Law::Optimal => "what it calls optimal is optimal",
            Law::Infeasible => "what it calls infeasible has no split",
            Law::Proof => "with time left an exact method proves its answer",
            Law::Deterministic => "the same problem and seed give the same answer",
            Law::Renumbering => "new ids and another order in the file leave the objective value as it is",
            Law::Limits => "it ends within the time limit",
            Law::Cancellation => "cancelled before it starts, it ends at once, and what it returns is right",
        }
    }
}

impl fmt::Display for Law {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// A law that was broken, and how.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Breach {
    pub law: Law,
    /// What happened.
    pub detail: String,
}
