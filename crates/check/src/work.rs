//! The reason `work`: all work together takes more time than all devices together have.

use crate::decimal::{product, sum};
use crate::problem::{Kind, Problem};

/// What the units take at least, by weights of the kinds of devices.
pub struct Work {
    /// The least weighted load of each unit.
    pub of_unit: Vec<i128>,
    /// How much of that a device of each kind does within the target.
    pub of_device: Vec<i128>,
}

/// What a unit takes at least that no device can run: any number is a lower bound there.
const NEVER: i128 = 1 << 100;

/// The largest weight of a kind.
pub const MOST_WEIGHT: i128 = 1 << 40;

impl Work {
    /// What weights of the kinds make of the problem, one for each. O(units · kinds).
    pub fn new(problem: &Problem, weights: &[i128]) -> Result<Self, String> {
        if weights.len() != problem.kinds.len() || weights.iter().any(|w| !(0..=MOST_WEIGHT).contains(w)) {
            return Err(format!("there have to be {} weights from 0 to 2^40", problem.kinds.len()));
        }
        // Sums over all devices stay exact, and with them those over units.
        let devices = problem.kinds.iter().map(|kind| i128::from(kind.count)).sum();
        product([problem.largest, weights.iter().copied().max().unwrap_or_default(), devices])?;
        let price = |(kind, weight): (&Kind, &i128)| {
            kind.pieces.iter().map(|piece| piece[0]).max().unwrap_or_default() * weight
        };
        let prices: Vec<i128> = problem.kinds.iter().zip(weights).map(price).collect();
        let least = |unit: usize| {
            let kinds = problem.kinds.iter().zip(&prices).filter(|(kind, _)| kind.count > 0);
            kinds.filter_map(|(kind, price)| Some(kind.time[unit]? * price)).min().unwrap_or(NEVER)
        };
        let of_unit = (0..problem.order.units).map(least).collect();
        // What replicas share is below the claim, and no whole number.
        let most = |kind: &Kind| problem.target + i128::from(kind.most_replicas > 1);
        let of_device = problem.kinds.iter().zip(weights).map(|(kind, weight)| most(kind) * weight).collect();
        Ok(Self { of_unit, of_device })
    }

    /// Whether the devices cannot do all units within the target.
    pub fn refutes(&self, problem: &Problem) -> Result<(), String> {
        let devices = problem.kinds.iter().zip(&self.of_device);
        let most: i128 = devices.map(|(kind, device)| i128::from(kind.count) * device).sum();
        match sum(self.of_unit.iter().copied())? > most {
            true => Ok(()),
            false => Err("the work does not exceed what devices can do".into()),
        }
    }
}
