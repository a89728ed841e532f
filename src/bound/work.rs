//! Total work over total speed.

use super::linear::ROUNDING;
use super::memory::work_within_memory;
use super::prices::{best_prices, priced_work};
use super::shares::Shares;
use super::{BoundSource, LowerBound};
use crate::preprocess::{Reduced, Unordered};
use crate::problem::{Problem, Scope};

/// A bound on the objective of any split: total work over total speed.
///
/// With units in parts, the best share of the work is a linear program. By duality, any prices of the device
/// kinds with Σ count · price = 1 bound it by Σ over units of the least price · time. The prices are improved one
/// kind at a time, along which the bound has one maximum. O(n · kinds · steps). Where memory is scarce, it has a price, too
/// ([`work_within_memory`]).
pub fn work(reduced: &Reduced) -> f64 {
    let shares = Shares::new(reduced);
    let prices = best_prices(&shares);
    let within_memory = work_within_memory(reduced, &shares, &prices);
    f64::max(priced_work(&shares, &prices), within_memory) * (1.0 - ROUNDING)
}

/// What no split's objective is below where its largest load is at least `load`: for a step that counts for each microbatch but
/// one, and the loads of all stages together, which are at least the work by each unit's share, for that one. O(n · kinds).
pub fn least_objective(problem: &Problem, reduced: &Reduced, load: f64) -> f64 {
    let Some(microbatches) = problem.spec.objective.microbatches() else { return load };
    let shares = Shares::new(reduced);
    let work: f64 = (0..reduced.unit_count()).filter_map(|u| shares.least(u)).sum();
    let replicas = problem.spec.most_replicas();
    let once = work / replicas as f64 * (1.0 - ROUNDING);
    (microbatches - 1) as f64 * load + once.max(load)
}

/// [`work`] as a bound of every split, in whatever scope. Units contracted further would bound fewer.
pub fn work_bound(unordered: &Unordered) -> LowerBound {
    LowerBound { value: work(&unordered.units), scope: Scope::Arbitrary, source: BoundSource::Work }
}
