//! Total work over total speed.

use super::linear::ROUNDING;
use super::memory::work_within_memory;
use super::prices::{best_prices, priced_work};
use super::shares::Shares;
use super::{BoundSource, LowerBound};
use crate::preprocess::{Reduced, Unordered};
use crate::problem::Scope;

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

/// [`work`] as a bound of every split, in whatever scope. Units contracted further would bound fewer.
pub fn work_bound(unordered: &Unordered) -> LowerBound {
    LowerBound { value: work(&unordered.units), scope: Scope::Arbitrary, source: BoundSource::Work }
}
