//! What counts as equal: the only place that says so.
//!
//! The best split's objective is recomputed from the costs as they are given, a bound from costs on a grid. Searches are
//! asked for a little more than the result needs, so that what lies between the two does not undo a proof.

/// Bound and objective count as equal when they differ by no more than this part of the objective: the rounding of sums.
pub const OPTIMALITY_TOLERANCE: f64 = 1e-9;

/// How close a search brings its bound to its split before it ends.
pub(crate) const SEARCH_TOLERANCE: f64 = 0.5 * OPTIMALITY_TOLERANCE;
