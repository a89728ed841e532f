//! Profits that refute a target, by a proximal bundle method (Lemaréchal 1975; Kiwiel 1990).
//!
//! Where pricing is quick and exact, the largest surplus F(π) = Σ π − Σ_d n_d · z_d(π) is found in some dozens of rounds: each
//! prices the profits that are best by the sets known so far, near the best ones yet. A surplus above zero refutes the
//! target. Profits may be negative here, as each unit is on exactly one device.

use super::super::pricing::{LinePricer, Priced};
use super::generation::Verdict;
use super::proximal::Proximal;
use crate::solve::SearchContext;

/// The search for profits at one target.
pub struct Bundle<'a> {
    counts: &'a [usize],
    lines: &'a mut [LinePricer],
    target: f64,
    master: Proximal,
    /// The best profits, whose sum stays the same.
    center: Vec<f64>,
    total: f64,
    /// F at the center.
    surplus: f64,
    step: f64,
    /// Rounds in a row that have not moved the center.
    idle: usize,
}

/// How a round ended.
enum Round {
    Refuted,
    /// The center has moved, or the sets found show why it has not.
    Goes,
    /// There is hardly any surplus to gain.
    Converged,
}

impl<'a> Bundle<'a> {
    /// Starts from `profit`. The profits of units follow in proportion to their `work`.
    pub fn new(counts: &'a [usize], lines: &'a mut [LinePricer], target: f64, work: &[f64], profit: &[f64]) -> Self {
        let mut sorted = work.to_vec();
        sorted.sort_by(f64::total_cmp);
        let least = sorted.get(sorted.len() / 2).copied().unwrap_or_default() * LEAST_SCALE;
        let scale = work.iter().map(|work| work.max(least).max(f64::MIN_POSITIVE)).collect();
        let total: f64 = work.iter().sum();
        let mut bundle = Self {
            counts,
            lines,
            target,
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

    /// Goes on until the target is refuted, `max_rounds` are over, or there is hardly any surplus to gain, which leaves
    /// the target open. `beside` runs beside every round and says whether to go on.
    pub fn ascend(
        &mut self,
        max_rounds: usize,
        beside: &mut (dyn FnMut() -> bool + Send),
        cx: &SearchContext,
    ) -> Verdict {
        if self.refutes() {
            return Verdict::Refuted;
        }
        for _ in 0..max_rounds {
            if cx.should_stop() {
                break;
            }
            let (round, goes_on) = rayon::join(|| self.round(), &mut *beside);
            match round {
                Round::Refuted => return Verdict::Refuted,
                Round::Converged => return Verdict::Open,
                Round::Goes if goes_on => {}
                Round::Goes => break,
            }
        }
        Verdict::Limit
    }

    fn refutes(&self) -> bool {
        self.surplus > MARGIN * self.total
    }

    fn round(&mut self) -> Round {
        let proposal = self.master.solve(&self.center, self.step);
        let expected = proposal.surplus - self.surplus;
        if expected <= CONVERGED * self.surplus.abs() {
            return Round::Converged;
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
        if self.refutes() { Round::Refuted } else { Round::Goes }
    }

    /// The profits, scaled to the sum of all work, and their surplus. The sets found go to the master.
    fn evaluate(&mut self, profit: &[f64]) -> (Vec<f64>, f64) {
        let scale = self.total / profit.iter().sum::<f64>();
        let profit: Vec<f64> = profit.iter().map(|profit| profit * scale).collect();
        let mut earned = 0.0;
        for (kind, line) in self.lines.iter_mut().enumerate() {
            let Priced { upper, sets } = line.price(&profit, self.target);
            sets.iter().rev().for_each(|set| self.master.add(kind, &set.units));
            earned += self.counts[kind] as f64 * upper;
        }
        let surplus = self.total - earned;
        (profit, surplus)
    }
}

/// Nearly the largest target between `low` and `high` that these profits refute by themselves; `low` where there is none.
pub fn refuted_by(counts: &[usize], lines: &mut [LinePricer], profit: &[f64], (low, high): (f64, f64)) -> f64 {
    let total: f64 = profit.iter().sum();
    let mut target = high;
    for _ in 0..TARGET_STEPS {
        let earned = lines.iter_mut().zip(counts).map(|(line, &count)| line.price(profit, target).upper * count as f64);
        let earned: f64 = earned.sum();
        if total > earned * (1.0 + MARGIN) {
            return target;
        }
        // What devices earn grows about as their load does.
        target *= total / earned * (1.0 - TARGET_STEP);
        if !target.is_finite() || target <= low {
            break;
        }
    }
    low
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

/// They get shorter where so many rounds in a row have not helped and the last one was far off.
const PATIENCE: usize = 3;
const SHRINKAGE: f64 = 0.8;

/// What is expected to be gained, as a part of what is missing, where the search ends.
const CONVERGED: f64 = 0.01;

/// Room for rounding in comparisons of profits.
const MARGIN: f64 = 1e-9;

/// Steps of the search for the target that profits refute.
const TARGET_STEPS: usize = 6;

/// By how much a target is put below the one at which profits seem to be worth as much as devices earn, lest a small
/// error makes another step necessary.
const TARGET_STEP: f64 = 2e-6;
