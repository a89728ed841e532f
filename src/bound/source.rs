//! Bounds with the splits that they hold for and what proved them.

use crate::problem::Scope;
use crate::search::Bound;

/// Where a lower bound comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum BoundSource {
    /// Total work over total speed.
    Work,
    /// The least load of a set that holds one node.
    HeaviestNode,
    /// What a target forces: units that kinds of device cannot hold, and the work left for others (`refutes`).
    Forcing,
    /// The relaxation of the ideal DP that lets boundaries cross (`dp`).
    BoundaryRelaxation,
    /// The longest path, and what it leaves to the accelerators (`latency_bound`); or many paths by weights (`latency-dp`).
    LongestPath,
    /// Weights spread over devices as evenly as the edges that this cuts are worth (`sharding`).
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
