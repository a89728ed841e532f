//! The best bound that needs no search.

use super::{BoundSource, heaviest, refutes, work};
use crate::preprocess::Reduced;
use crate::problem::Problem;
use crate::search::SearchContext;

/// Targets closer than this part of the upper bound are not told apart.
const RESOLUTION: f64 = 1e-6;

/// The best of all bounds in this module on splits that keep the units of `reduced` whole, and what proved it.
///
/// `upper` is the objective of a known split, or any value that the optimum does not exceed. Tries a target just below
/// it first, then bisects.
pub fn best(problem: &Problem, reduced: &Reduced, upper: f64, cx: &SearchContext) -> (f64, BoundSource) {
    let mut best = (work(reduced), BoundSource::Work);
    let heaviest = heaviest(problem, reduced, cx);
    if heaviest > best.0 {
        best = (heaviest, BoundSource::HeaviestNode);
    }
    let (mut target, mut high) = (upper * (1.0 - 1e-9), upper);
    while high - best.0 > RESOLUTION * upper && !cx.should_stop() {
        if refutes(problem, reduced, target, cx) {
            best = (target, BoundSource::Forcing);
        } else {
            high = target;
        }
        target = 0.5 * (best.0 + high);
    }
    best
}
