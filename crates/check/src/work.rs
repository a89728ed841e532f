//! The reason `work`: all work together takes more time than all devices together have.

use crate::Result;
use crate::decimal::{product, sum};
use crate::problem::{Kind, Problem};

/// What a unit takes at least that no device can run: any number is a lower bound there.
const NEVER: i128 = 1 << 100;

/// The largest weight of a kind.
pub const MOST_WEIGHT: i128 = 1 << 40;

/// What weights of the kinds, one for each, make of the problem: the least weighted load of each unit, and how much of that a
/// device of each kind does within the target. O(units · kinds).
pub fn weighted(problem: &Problem, weights: &[i128]) -> Result<(Vec<i128>, Vec<i128>)> {
    let kinds = &problem.kinds;
    let are_right = weights.len() == kinds.len() && weights.iter().all(|w| (0..=MOST_WEIGHT).contains(w));
    ensure!(are_right, "there have to be {} weights from 0 to 2^40", kinds.len());
    // Sums over all devices stay exact, and with them those over units.
    let devices = kinds.iter().map(|kind| i128::from(kind.count)).sum();
    product([problem.largest, weights.iter().copied().max().unwrap_or_default(), devices])?;
    let prices: Vec<i128> = kinds.iter().zip(weights).map(|(kind, &weight)| kind.load(&[weight, 0, 0])).collect();
    let least = |unit| problem.present().filter_map(|(k, kind)| Some(kind.time(unit)? * prices[k])).min();
    let of_unit = (0..problem.order.units).map(|unit| least(unit).unwrap_or(NEVER)).collect();
    // What replicas share is below the claim, and no whole number.
    let most = |kind: &Kind| problem.target + i128::from(kind.most_replicas > 1);
    Ok((of_unit, kinds.iter().zip(weights).map(|(kind, weight)| most(kind) * weight).collect()))
}

/// Whether the devices cannot do all units within the target; else why not.
pub fn refutes(problem: &Problem, weights: &[i128]) -> Result<()> {
    let (of_unit, of_device) = weighted(problem, weights)?;
    let most: i128 = problem.present().map(|(k, kind)| i128::from(kind.count) * of_device[k]).sum();
    ensure!(sum(of_unit)? > most, "the work does not exceed what devices can do");
    Ok(())
}
