//! The reason `work`: all work together takes more time than all devices together have.

use crate::problem::Problem;

/// What the units take at least, by weights of the kinds of devices.
pub struct Work {
    /// The least weighted load of each unit.
    pub of_unit: Vec<i128>,
    /// How much of that a device of each kind does within the target.
    pub of_device: Vec<i128>,
}

/// The largest weight of a kind.
const MOST_WEIGHT: i128 = 1 << 40;

impl Work {
    /// What weights of the kinds make of the problem. O(units · kinds).
    ///
    /// # Errors
    /// There is not one weight for each kind, from 0 to 2⁴⁰, or numbers are too large.
    pub fn new(problem: &Problem, weights: &[i128]) -> Result<Self, String> {
        if weights.len() != problem.kinds.len() || weights.iter().any(|w| !(0..=MOST_WEIGHT).contains(w)) {
            return Err(format!("there have to be {} weights from 0 to 2^40", problem.kinds.len()));
        }
        // Coefficients count parts of `one`, which differ from kind to kind.
        let one = problem.kinds.iter().map(|kind| kind.one).max().unwrap_or(1);
        let price = |(kind, weight): (&crate::problem::Kind, &i128)| {
            kind.per_work().checked_mul(one / kind.one)?.checked_mul(*weight)
        };
        let prices = problem.kinds.iter().zip(weights).map(price).collect::<Option<Vec<i128>>>();
        let prices = prices.ok_or("the weights are too large")?;
        let least = |unit: usize| {
            let kinds = problem.kinds.iter().zip(&prices).filter(|(kind, _)| kind.count > 0);
            let times = kinds.filter_map(|(kind, price)| Some((kind.time[unit]?, *price)));
            times.map(|(time, price)| time.checked_mul(price)).try_fold(i128::MAX, |least, time| Some(least.min(time?)))
        };
        let of_unit = (0..problem.order.units).map(least).collect::<Option<Vec<i128>>>();
        let device = |weight: &i128| problem.target.checked_mul(one)?.checked_mul(*weight);
        let of_device = weights.iter().map(device).collect::<Option<Vec<i128>>>();
        let (of_unit, of_device) = of_unit.zip(of_device).ok_or("the weights are too large")?;
        Ok(Self { of_unit, of_device })
    }

    /// Whether the devices cannot do all units within the target.
    ///
    /// # Errors
    /// Numbers are too large, or they can.
    pub fn refutes(&self, problem: &Problem) -> Result<(), String> {
        let sum = self.of_unit.iter().try_fold(0_i128, |sum, &least| sum.checked_add(least));
        let counts = problem.kinds.iter().map(|kind| i128::from(kind.count));
        let parts = counts.zip(&self.of_device).map(|(count, &device)| count.checked_mul(device));
        let most = parts.into_iter().try_fold(0_i128, |sum, part| sum.checked_add(part?));
        let (sum, most) = sum.zip(most).ok_or("the weights are too large")?;
        if sum > most { Ok(()) } else { Err(format!("the work {sum} does not exceed what devices can do, {most}")) }
    }
}
