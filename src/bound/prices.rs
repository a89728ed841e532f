//! Prices of devices, under which the least that all units cost bounds what any split takes.

use super::shares::Shares;

/// Steps of the search for each kind's part of the price of all devices: the bracket shrinks by a third each.
const STEPS: usize = 40;

/// Prices of one device of each kind, with Σ count · price = 1, under which all units cost most.
/// O(n · kinds² · steps).
pub fn best_prices(shares: &Shares) -> Vec<f64> {
    let kinds = shares.kinds.iter().filter(|kind| kind.count > 0).count();
    let equal = |count: usize| if count > 0 { 1.0 / (kinds * count) as f64 } else { 0.0 };
    let prices = shares.kinds.iter().map(|kind| equal(kind.count)).collect();
    improved(shares, prices, &|prices| priced_work(shares, prices))
}

/// Prices with Σ count · price = 1 that are better by a concave `value`: the price of one kind after the other goes from
/// nothing to all there is, while those of the others keep their ratios.
pub fn improved(shares: &Shares, mut prices: Vec<f64>, value: &dyn Fn(&[f64]) -> f64) -> Vec<f64> {
    let kinds: Vec<usize> = (0..shares.kinds.len()).filter(|&kind| shares.kinds[kind].count > 0).collect();
    for &kind in kinds.iter().skip(1) {
        let (mut low, mut high) = (0.0, 1.0);
        for _ in 0..STEPS {
            let parts = [low + (high - low) / 3.0, high - (high - low) / 3.0];
            let [a, b] = parts.map(|part| value(&with_part(shares, &prices, kind, part)));
            if a < b { low = parts[0] } else { high = parts[1] }
        }
        // Where a price goes to an end, no step comes quite there.
        let ends = [0.0, 0.5 * (low + high), 1.0].map(|part| with_part(shares, &prices, kind, part));
        prices = ends.into_iter().max_by(|a, b| value(a).total_cmp(&value(b))).unwrap_or(prices);
    }
    prices
}

/// The prices where all devices of `kind` have this part of the price of all devices, and the others the rest.
fn with_part(shares: &Shares, prices: &[f64], kind: usize, part: f64) -> Vec<f64> {
    let count = |kind: usize| shares.kinds[kind].count as f64;
    let rest = 1.0 - count(kind) * prices[kind];
    let price = |other: usize| match (other == kind, rest > 0.0) {
        (true, _) => part / count(kind),
        (false, true) => prices[other] * (1.0 - part) / rest,
        (false, false) => 0.0,
    };
    (0..prices.len()).map(price).collect()
}

/// The least that all units cost at these prices: no target below it can be met.
pub fn priced_work(shares: &Shares, prices: &[f64]) -> f64 {
    (0..shares.unit_count()).filter_map(|u| cheapest(shares, prices, u)).sum()
}

/// The least that a unit costs at these prices, on any kind that can hold it.
pub fn cheapest(shares: &Shares, prices: &[f64], u: usize) -> Option<f64> {
    shares.kinds.iter().zip(prices).filter_map(|(kind, price)| Some(price * kind.of[u]?)).min_by(f64::total_cmp)
}
