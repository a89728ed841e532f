//! What the tests of the dynamic programs share: problems that they take, and plain reference programs.

#![allow(dead_code, reason = "each test file uses some of these")]

use dagsplit::instance::Instance;
use dagsplit::problem::{ProblemSpec, Scope};
use dagsplit::solve::dp::IdealDp;
use proptest::prelude::*;
use proptest::sample::select;

use crate::common::{InstanceOptions, problems};

/// Requests that the ideal DP takes: successive ideals.
pub fn acyclic_problems(max_groups: usize, options: InstanceOptions) -> impl Strategy<Value = (Instance, ProblemSpec)> {
    problems(max_groups, options).prop_map(|(instance, spec)| (instance, acyclic(spec)))
}

/// The same request for splits into successive ideals, without servers, which the dynamic programs do not take.
pub fn acyclic(spec: ProblemSpec) -> ProblemSpec {
    ProblemSpec { scope: Scope::Acyclic, interconnect: None, ..spec }
}

/// Ideal DPs that differ in how much linearized DP leaves to the search: everything, some, and the usual little.
pub fn ideal_dps() -> impl Strategy<Value = IdealDp> {
    select(vec![0, 1, 16]).prop_map(|orders| IdealDp { orders, ..IdealDp::default() })
}

/// Whether two objectives are the same. Weights are integers, and halves are exact; thirds of replicated loads are
/// not, and two ways of adding them up may differ in the last digits.
pub fn same(spec: &ProblemSpec, a: Option<f64>, b: Option<f64>) -> bool {
    let inexact = spec.replication.is_some_and(|r| r.max_replicas > 2);
    match (a, b) {
        (Some(a), Some(b)) if inexact => (a - b).abs() <= 1e-12 * a.max(b),
        _ => a == b,
    }
}
