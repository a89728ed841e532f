//! The least load of any set that holds one unit.

use super::cuts::Holder;
use super::linear::ROUNDING;
use super::shares::Shares;
use crate::preprocess::Reduced;
use crate::problem::Problem;
use crate::search::SearchContext;

/// A bound on the objective of any split: the largest, over units, least load of a set that holds the unit.
///
/// One minimum cut for each unit and kind of device at most. A cut tells its value to all units of its set, so few of
/// them are needed. When `cx` says to stop, the bound is what is known by then.
pub fn heaviest(problem: &Problem, reduced: &Reduced, cx: &SearchContext) -> f64 {
    let mut holders = Holder::all(problem, reduced);
    // By holder and linear bound: the load of a set that holds the unit, where one is known.
    let mut known: Vec<Vec<Vec<f64>>> =
        holders.iter().map(|holder| vec![vec![f64::MAX; reduced.unit_count()]; holder.cuts.len()]).collect();
    let mut best = 0.0;
    for u in Shares::new(reduced).heaviest_first() {
        if cx.should_stop() {
            break;
        }
        let is_light = known.iter().any(|bounds| bounds.iter().all(|loads| loads[u] <= best));
        if !is_light && let Some(least) = least_load(&mut holders, &mut known, u, best) {
            best = f64::max(best, least);
        }
    }
    best * (1.0 - ROUNDING)
}

/// The least load over all holders of a set with unit `u`; `None` when it is known not to exceed `best`, or when no
/// device can hold the unit.
fn least_load(holders: &mut [Holder], known: &mut [Vec<Vec<f64>>], u: usize, best: f64) -> Option<f64> {
    let mut least: Option<f64> = None;
    for (holder, known) in holders.iter_mut().zip(known) {
        let mut load = Some(0.0);
        for (cuts, known) in holder.cuts.iter_mut().zip(known) {
            let cut = cuts.least(&[u]);
            if let Some(cut) = cut {
                cuts.set().for_each(|v| known[v] = known[v].min(cut));
            }
            load = load.zip(cut).map(|(a, b)| f64::max(a, b));
        }
        if load.is_some_and(|load| load <= best) {
            return None;
        }
        least = least.into_iter().chain(load).reduce(f64::min);
    }
    least
}
