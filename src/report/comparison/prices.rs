//! What contiguity costs: the optimum of narrower splits over that of wider ones.

use std::collections::HashSet;

use serde::Serialize;

use super::classes::classes;
use super::gaps::Measured;
use super::record::Record;
use crate::problem::Scope;
use crate::report::method::MethodRecord;
use crate::search::is_proven;

/// The price of a scope on a workload. Where both optima are proven, the ratio is known; else it is between two
/// figures.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Price<'r> {
    /// What to call the workload.
    pub workload: &'r str,
    /// The narrower scope.
    pub narrow: &'static str,
    /// The widest scope that was asked for.
    pub wide: &'static str,
    /// The best objective of the narrower scope.
    pub narrow_best: Option<f64>,
    /// That of the wider one.
    pub wide_best: Option<f64>,
    /// The ratio of the optima is at least so much.
    pub at_least: f64,
    /// It is at most so much, where a bound of the wider scope and a split of the narrower one are known.
    pub at_most: Option<f64>,
}

/// The price of each scope but the widest, workload by workload, without those that are proven to have no split.
pub fn prices<'r>(runs: &[Measured<'r>]) -> Vec<Price<'r>> {
    let of_workload = |runs: Vec<&Measured<'r>>| {
        let claims: Vec<MethodRecord> = runs.iter().map(|run| run.record.claim()).collect();
        let mut scopes: Vec<&'static str> = claims.iter().filter_map(|claim| claim.scope).collect();
        scopes.sort_by_key(|scope| std::cmp::Reverse(Scope::width(scope)));
        scopes.dedup();
        let without_split: HashSet<&str> =
            runs.iter().filter(|run| run.has_no_split).map(|run| run.record.trial.problem.scope.name()).collect();
        let narrower = scopes.iter().skip(1).filter(|scope| !without_split.contains(**scope));
        narrower.map(|narrow| price(runs[0].workload, narrow, scopes[0], &claims)).collect::<Vec<_>>()
    };
    classes(runs, |run| run.record, Record::is_comparable).into_iter().flat_map(of_workload).collect()
}

fn price<'r>(workload: &'r str, narrow: &'static str, wide: &'static str, claims: &[MethodRecord]) -> Price<'r> {
    let ([narrow_bound, wide_bound], [narrow_best, wide_best]) =
        ([narrow, wide].map(|scope| bound(claims, scope)), [narrow, wide].map(|scope| best(claims, scope)));
    let ratio = |above: Option<f64>, below: Option<f64>| {
        above.zip(below).filter(|(_, below)| *below > 0.0).map(|(above, below)| above / below)
    };
    let at_least = ratio(narrow_bound, wide_best).map_or(1.0, |ratio| ratio.max(1.0));
    // Two bounds that meet but for rounding do not cross.
    let at_most = ratio(narrow_best, wide_bound).map(|ratio| ratio.max(at_least));
    let at_least = at_most.filter(|&most| is_proven(most, at_least)).unwrap_or(at_least);
    Price { workload, narrow, wide, narrow_best, wide_best, at_least, at_most }
}

/// The best bound that holds for every split of a scope.
fn bound(claims: &[MethodRecord], scope: &str) -> Option<f64> {
    let holds = |claim: &&MethodRecord| claim.scope.and_then(Scope::width) >= Scope::width(scope);
    claims.iter().filter(holds).filter_map(|claim| claim.lower_bound).max_by(f64::total_cmp)
}

/// The best split that is one of a scope.
fn best(claims: &[MethodRecord], scope: &str) -> Option<f64> {
    let is_one = |claim: &&MethodRecord| claim.scope.and_then(Scope::width) <= Scope::width(scope);
    claims.iter().filter(is_one).filter_map(|claim| claim.objective).min_by(f64::total_cmp)
}
