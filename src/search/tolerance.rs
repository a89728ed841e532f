//! What counts as equal: the only place that says so.
//!
//! The best solution's objective is recomputed from the costs as they are given, a bound from costs on a grid. Searches are
//! asked for a little more than the result needs, so that what lies between the two does not undo a proof.

/// Bound and objective count as equal when they differ by no more than this part of the objective: the rounding of sums.
pub const OPTIMALITY_TOLERANCE: f64 = 1e-9;

/// How close a search brings its bound to its solution before it ends.
pub(crate) const SEARCH_TOLERANCE: f64 = 0.5 * OPTIMALITY_TOLERANCE;

/// Whether a bound proves that nothing is better than this objective.
pub(crate) fn is_proven(objective: f64, bound: f64) -> bool {
    objective - bound <= OPTIMALITY_TOLERANCE * objective
}

/// The relative gap (objective − bound) / objective; 0 where the bound proves the objective optimal, and `None` where the
/// objective is 0 and the bound below.
pub fn gap(objective: f64, bound: f64) -> Option<f64> {
    match is_proven(objective, bound) {
        true => Some(0.0),
        false => (objective > 0.0).then(|| (objective - bound) / objective),
    }
}

#[cfg(test)]
mod tests {
    use super::gap;

    #[test]
    fn gaps_are_relative_to_the_objective() {
        assert_eq!(gap(20.0, 15.0), Some(0.25));
        assert_eq!((gap(0.0, 0.0), gap(0.0, -1.0), gap(5.0, 5.0)), (Some(0.0), None, Some(0.0)));
        assert_eq!((gap(0.1 + 0.2, 0.3), gap(0.3, 0.1 + 0.2)), (Some(0.0), Some(0.0)));
        assert!(gap(1.0, 1.0 - 1e-8) > Some(0.0));
    }
}
