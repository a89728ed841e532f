//! Total work over total speed.

use super::linear::ROUNDING;
use super::shares::Shares;
use super::{BoundSource, LowerBound};
use crate::preprocess::{Reduced, Unordered};
use crate::problem::Scope;

/// Steps of the search for each kind's price: the bracket shrinks by a third each.
const PRICE_STEPS: usize = 24;

/// A bound on the objective of any split: total work over total speed.
///
/// With units in parts, the best share of the work is a linear program. By duality, any prices of the device
/// kinds with Σ count · price = 1 bound it by Σ over units of the least price · time. The prices are improved one
/// kind at a time, along which the bound has one maximum. O(n · kinds · steps).
pub fn work(reduced: &Reduced) -> f64 {
    let shares = Shares::new(reduced);
    priced_work(&shares, &best_prices(&shares)) * (1.0 - ROUNDING)
}

/// [`work`] as a bound of every split, in whatever scope. Units contracted further would bound fewer.
pub fn work_bound(unordered: &Unordered) -> LowerBound {
    LowerBound { value: work(&unordered.units), scope: Scope::Arbitrary, source: BoundSource::Work }
}

/// Prices of one device of each kind, with Σ count · price = 1, under which all units cost most.
pub fn best_prices(shares: &Shares) -> Vec<f64> {
    let kinds: Vec<usize> = (0..shares.kinds.len()).filter(|&kind| shares.kinds[kind].count > 0).collect();
    let mut prices: Vec<f64> = shares.kinds.iter().map(|kind| if kind.count > 0 { 1.0 } else { 0.0 }).collect();
    for &kind in kinds.iter().skip(1) {
        let (mut low, mut high) = (0.0, 1.0);
        for _ in 0..PRICE_STEPS {
            let (a, b) = (low + (high - low) / 3.0, high - (high - low) / 3.0);
            let at = |price: f64| {
                let mut trial = prices.clone();
                trial[kind] = price;
                priced_work(shares, &normalised(shares, trial))
            };
            if at(a) < at(b) { low = a } else { high = b }
        }
        prices[kind] = 0.5 * (low + high);
    }
    normalised(shares, prices)
}

fn normalised(shares: &Shares, prices: Vec<f64>) -> Vec<f64> {
    let sum: f64 = shares.kinds.iter().zip(&prices).map(|(kind, price)| kind.count as f64 * price).sum();
    prices.into_iter().map(|price| price / sum.max(f64::MIN_POSITIVE)).collect()
}

/// The least that all units cost at these prices: no target below it can be met.
pub fn priced_work(shares: &Shares, prices: &[f64]) -> f64 {
    (0..shares.unit_count()).filter_map(|u| cheapest(shares, prices, u)).sum()
}

/// The least that a unit costs at these prices, on any kind that can hold it.
pub fn cheapest(shares: &Shares, prices: &[f64], u: usize) -> Option<f64> {
    shares.kinds.iter().zip(prices).filter_map(|(kind, price)| Some(price * kind.of[u]?)).min_by(f64::total_cmp)
}
