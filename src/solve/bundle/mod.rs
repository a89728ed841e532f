//! Profits that refute a target, by a proximal bundle method (Lemaréchal 1975; Kiwiel 1990).
//!
//! Where pricing is quick and exact, the largest surplus F(π) = Σ π − Σ_d n_d · z_d(π) is found in some dozens of rounds: each
//! prices the profits that are best by the sets known so far, near the best ones yet. A surplus above zero refutes the
//! target. Profits may be negative here, as each unit is on exactly one device.

mod proximal;

use proximal::Proximal;

use crate::solve::SearchContext;

/// What pricing says of one kind of device.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Offer {
    /// No set that fits has more profit.
    pub most: f64,
    /// Sets of much profit that fit, the best one first.
    pub sets: Vec<Vec<usize>>,
}

/// Prices profits for each kind of device within the target.
pub type Prices<'a> = Box<dyn FnMut(&[f64]) -> Vec<Offer> + Send + 'a>;

/// What is known of a target.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// No split is below it.
    Refuted,
    /// Fractions of columns cover all units, or no proof was found that they do not.
    Open,
    /// A limit came first.
    Limit,
}

/// The search for profits at one target.
pub struct Bundle<'a> {
    counts: &'a [usize],
    prices: Prices<'a>,
    master: Proximal,
    /// The best profits, whose sum stays the same.
    center: Vec<f64>,
    total: f64,
    /// F at the center, less what rounding may add to it.
    surplus: f64,
    step: f64,
    /// Rounds in a row that have not moved the center.
    idle: usize,
}

impl<'a> Bundle<'a> {
    /// Starts from `profit`. The profits of units follow in proportion to their `work`.
    pub fn new(counts: &'a [usize], prices: Prices<'a>, work: &[f64], profit: &[f64]) -> Self {
        let mut sorted = work.to_vec();
        sorted.sort_by(f64::total_cmp);
        let least = sorted.get(sorted.len() / 2).copied().unwrap_or_default() * LEAST_SCALE;
        let scale = work.iter().map(|work| work.max(least).max(f64::MIN_POSITIVE)).collect();
        let total: f64 = work.iter().sum();
        let mut bundle = Self {
            counts,
            prices,
            master: Proximal::new(counts, scale),
            center: Vec::new(),
            total,
            surplus: f64::MIN,
            step: FIRST_STEP,
            idle: 0,
        };
        let (center, surplus) = bundle.evaluate(profit);
        (bundle.center, bundle.surplus) = (center, surplus);
        bundle
    }

    /// The best profits.
    pub fn center(&self) -> &[f64] {
        &self.center
    }

    /// Takes up a set of units, ascending, that a device of this kind is known to hold.
    pub fn know(&mut self, kind: usize, units: &[usize]) {
        self.master.add(kind, units);
    }

    /// The sets that the last proposal rests on, each with its kind and weight.
    pub fn cover(&self) -> impl Iterator<Item = (usize, &[usize], f64)> {
        self.master.cover()
    }

    /// By how much they exceed what all devices earn, at least.
    pub fn surplus(&self) -> f64 {
        self.surplus
    }

    /// Goes on until the target is refuted, `max_rounds` are over, or there is hardly any surplus to gain, which leaves
    /// the target open. `beside` runs beside every round.
    pub fn ascend(&mut self, max_rounds: usize, beside: &mut (dyn FnMut() + Send), cx: &SearchContext) -> Verdict {
        for _ in 0..max_rounds {
            if self.refutes() || cx.should_stop() {
                break;
            }
            let (goes_on, ()) = cx.join(|| self.round(), &mut *beside);
            if !goes_on {
                return Verdict::Open;
            }
        }
        if self.refutes() { Verdict::Refuted } else { Verdict::Limit }
    }

    /// Goes on for so many rounds with prices that look at other sets each time, also where the target is refuted as far as
    /// these show; whether there is more to gain.
    pub fn improve(&mut self, rounds: usize, cx: &SearchContext) -> bool {
        (0..rounds).all(|_| {
            if cx.should_stop() {
                return false;
            }
            // Sets found since know better of the center.
            self.surplus = self.surplus.min(self.master.surplus(&self.center));
            self.round()
        })
    }

    /// Whether the best profits refute the target.
    pub fn refutes(&self) -> bool {
        self.surplus > 0.0
    }

    /// Moves the center, or learns from the sets found why it does not move; whether there is more to gain.
    fn round(&mut self) -> bool {
        let proposal = self.master.solve((&self.center, self.surplus), self.step);
        let expected = proposal.surplus - self.surplus;
        if expected <= CONVERGED * self.surplus.abs() {
            if self.step >= MOST_STEP {
                return false;
            }
            self.step *= GREAT_GROWTH;
            return true;
        }
        let (profit, surplus) = self.evaluate(&proposal.profit);
        let gain = surplus - self.surplus;
        if gain > SERIOUS * expected {
            if gain > LONGER * expected || self.idle == 0 {
                self.step *= GROWTH;
            }
            (self.center, self.surplus, self.idle) = (profit, surplus, 0);
        } else {
            self.idle += 1;
            if self.idle > PATIENCE && gain < -2.0 * expected {
                self.step *= SHRINKAGE;
                self.idle = 0;
            }
        }
        true
    }

    /// The profits, scaled to the sum of all work, and their surplus, less what rounding may add to it. The sets found go
    /// to the master. Profits without a sum to scale by say nothing.
    fn evaluate(&mut self, profit: &[f64]) -> (Vec<f64>, f64) {
        let scale = self.total / profit.iter().sum::<f64>();
        if !scale.is_normal() || scale < 0.0 {
            return (profit.to_vec(), f64::MIN);
        }
        let profit: Vec<f64> = profit.iter().map(|profit| profit * scale).collect();
        let offers = (self.prices)(&profit);
        for (kind, offer) in offers.iter().enumerate() {
            offer.sets.iter().for_each(|set| self.master.add(kind, set));
        }
        let most: Vec<f64> = offers.iter().map(|offer| offer.most).collect();
        let surplus = surplus(&profit, self.counts, &most);
        (profit, surplus)
    }
}

/// By how much profits exceed what so many devices of each kind earn, each as much as it can at `most`; less what rounding may add.
pub fn surplus(profit: &[f64], counts: &[usize], most: &[f64]) -> f64 {
    let earned: f64 = counts.iter().zip(most).map(|(&count, most)| count as f64 * most).sum();
    profit.iter().sum::<f64>() - earned - rounding(profit)
}

/// What the rounding of sums may add to the surplus of these profits: they may cancel one another.
pub fn rounding(profit: &[f64]) -> f64 {
    MARGIN * profit.iter().map(|profit| profit.abs()).sum::<f64>()
}

/// Profits follow by this part of a unit's work, at first, for each device that is missing to cover it.
const FIRST_STEP: f64 = 0.01;

/// Light units follow as if they had this part of the median work.
const LEAST_SCALE: f64 = 0.3;

/// The center moves where this part of the surplus expected is gained.
const SERIOUS: f64 = 0.1;

/// Steps get longer where this part is gained.
const LONGER: f64 = 0.5;
const GROWTH: f64 = 1.5;

/// Steps that hardly promise to gain anything are lengthened up to this before the search ends.
const MOST_STEP: f64 = 1.0;
const GREAT_GROWTH: f64 = 8.0;

/// They get shorter where so many rounds in a row have not helped and the last one was far off.
const PATIENCE: usize = 3;
const SHRINKAGE: f64 = 0.8;

/// What is expected to be gained, as a part of what is missing, where the search ends.
const CONVERGED: f64 = 0.01;

/// Room for rounding in comparisons of profits.
const MARGIN: f64 = 1e-9;
