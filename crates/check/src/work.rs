//! The reason `work`: all work together takes more time than all devices together have.

use crate::problem::Problem;

/// What the units take at least, by weights of the kinds of devices.
pub struct Work {
    /// The least weighted load of each unit.
    pub of_unit: Vec<i128>,
    /// How much of that a device of each kind does within the target.
    pub of_device: Vec<i128>,
}

/// What a unit takes at least that no device can run: any number is a lower bound there.
const NEVER: i128 = 1 << 100;

/// All units together take, and all devices together do, less than this.
const LARGEST_SUM: i128 = 1 << 125;

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
            times.map(|(time, price)| time.checked_mul(price)).try_fold(NEVER, |least, time| Some(least.min(time?)))
        };
        let of_unit = (0..problem.order.units).map(least).collect::<Option<Vec<i128>>>();
        let device = |weight: &i128| problem.target.checked_mul(one)?.checked_mul(*weight);
        let of_device = weights.iter().map(device).collect::<Option<Vec<i128>>>();
        let (of_unit, of_device) = of_unit.zip(of_device).ok_or("the weights are too large")?;
        let work = Self { of_unit, of_device };
        let [least, most] = work.sums(problem).ok_or("the weights are too large")?;
        (least.max(most.abs()) < LARGEST_SUM).then_some(work).ok_or_else(|| "the weights are too large".into())
    }

    /// What all units take at least, and what all devices can do within the target.
    fn sums(&self, problem: &Problem) -> Option<[i128; 2]> {
        let least = self.of_unit.iter().try_fold(0_i128, |sum, &least| sum.checked_add(least))?;
        let devices = problem.kinds.iter().zip(&self.of_device);
        let parts = devices.map(|(kind, &device)| device.checked_mul(i128::from(kind.count)));
        Some([least, parts.into_iter().try_fold(0_i128, |sum, part| sum.checked_add(part?))?])
    }

    /// Whether the devices cannot do all units within the target.
    ///
    /// # Errors
    /// They can.
    pub fn refutes(&self, problem: &Problem) -> Result<(), String> {
        match self.sums(problem) {
            Some([least, most]) if least > most => Ok(()),
            _ => Err("the work does not exceed what devices can do".into()),
        }
    }
}
