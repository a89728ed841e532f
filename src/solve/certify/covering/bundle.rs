//! Profits that refute a target, by a proximal bundle method (Lemaréchal 1975; Kiwiel 1990).
//!
//! Where pricing is quick and exact, the largest surplus F(π) = Σ π − Σ_d n_d · z_d(π) is found in some dozens of rounds: each
//! prices the profits that are best by the sets known so far, near the best ones yet. A surplus above zero refutes the
//! target. Profits may be negative here, as each unit is on exactly one device.

use super::super::pricing::{LinePricer, Priced};
use super::generation::Verdict;
use super::proximal::Proximal;
use super::target::largest_refuted;
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
    /// F at the center, less what rounding may add to it.
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
    /// the target open. `beside` runs beside every round.
    pub fn ascend(&mut self, max_rounds: usize, beside: &mut (dyn FnMut() + Send), cx: &SearchContext) -> Verdict {
        if self.refutes() {
            return Verdict::Refuted;
        }
        for _ in 0..max_rounds {
            if cx.should_stop() {
                break;
            }
            let (round, ()) = rayon::join(|| self.round(), &mut *beside);
            match round {
                Round::Refuted => return Verdict::Refuted,
                Round::Converged => return Verdict::Open,
                Round::Goes => {}
            }
        }
        Verdict::Limit
    }

    fn refutes(&self) -> bool {
        self.surplus > 0.0
    }

    fn round(&mut self) -> Round {
        let proposal = self.master.solve((&self.center, self.surplus), self.step);
        let expected = proposal.surplus - self.surplus;
        if expected <= CONVERGED * self.surplus.abs() {
            if self.step >= MOST_STEP {
                return Round::Converged;
            }
            self.step *= GREAT_GROWTH;
            return Round::Goes;
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

    /// The profits, scaled to the sum of all work, and their surplus, less what rounding may add to it. The sets found go
    /// to the master. Profits without a sum to scale by say nothing.
    fn evaluate(&mut self, profit: &[f64]) -> (Vec<f64>, f64) {
        let scale = self.total / profit.iter().sum::<f64>();
        if !scale.is_normal() || scale < 0.0 {
            return (profit.to_vec(), f64::MIN);
        }
        let profit: Vec<f64> = profit.iter().map(|profit| profit * scale).collect();
        let mut earned = 0.0;
        for (kind, line) in self.lines.iter_mut().enumerate() {
            let Priced { upper, sets } = line.price(&profit, self.target);
            sets.iter().rev().for_each(|set| self.master.add(kind, &set.units));
            earned += self.counts[kind] as f64 * upper;
        }
        let surplus = profit.iter().sum::<f64>() - earned - rounding(&profit);
        (profit, surplus)
    }
}

/// What the rounding of sums may add to the surplus of these profits: they may cancel one another.
fn rounding(profit: &[f64]) -> f64 {
    MARGIN * profit.iter().map(|profit| profit.abs()).sum::<f64>()
}

/// Nearly the largest target between `low` and `high` that these profits refute by themselves; `low` where there is none.
pub fn refuted_by(counts: &[usize], lines: &mut [LinePricer], profit: &[f64], range: (f64, f64)) -> f64 {
    let total: f64 = profit.iter().sum();
    let margin = rounding(profit);
    largest_refuted(range, TARGET_STEPS, |target| {
        let earned = lines.iter_mut().zip(counts).map(|(line, &count)| line.price(profit, target).upper * count as f64);
        Some(total / (earned.sum::<f64>() + margin))
    })
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

/// Steps of the search for the target that profits refute.
const TARGET_STEPS: usize = 6;

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;
    use crate::instance::{Instance, Node, Platform};
    use crate::preprocess::Unordered;
    use crate::solve::certify::assignment::{Assignment, Setting};
    use crate::solve::certify::covering::Devices;
    use crate::solve::certify::samples::{instances, problem, sets};

    /// F by enumeration.
    fn surplus(setting: &Setting, devices: &Devices, profit: &[f64], target: f64) -> f64 {
        let most = |kind: usize| {
            let times = &setting.unordered.units.kinds[kind].times;
            let is_set = |units: &Vec<usize>| {
                let device_of = (0..profit.len()).map(|u| u32::from(!units.contains(&u))).collect();
                units.iter().all(|&u| times[u].is_some()) && setting.is_convex(&Assignment { device_of }, 0)
            };
            let fitting = sets(profit.len()).filter(|set| is_set(set) && devices.load(kind, set) <= target);
            fitting.map(|units| units.iter().map(|&u| profit[u]).sum()).fold(0.0, f64::max)
        };
        let earned = devices.counts.iter().enumerate().map(|(kind, &count)| count as f64 * most(kind));
        profit.iter().sum::<f64>() - earned.sum::<f64>()
    }

    /// The least objective by enumeration.
    fn optimum(setting: &Setting) -> f64 {
        let (count, devices) = (setting.unit_count() as u32, setting.device_count());
        let split = |number: usize| Assignment {
            device_of: (0..count).map(|u| (number / devices.pow(u) % devices) as u32).collect(),
        };
        let splits = (0..devices.pow(count)).map(split);
        splits.filter_map(|split| setting.objective(&split)).fold(f64::INFINITY, f64::min)
    }

    proptest! {
        #[test]
        fn what_is_refuted_is_below_all_splits(
            instance in instances(),
            is_convex: bool,
            profit in vec(prop_oneof![-9..=9i32, 0..=9i32], 6),
            part in 0.5..1.2f64,
        ) {
            let problem = problem(&instance, is_convex);
            let unordered = Unordered::new(&problem);
            let setting = Setting::new(&problem, &unordered);
            let devices = Devices::new(&setting, &SearchContext::new()).unwrap();
            let profit: Vec<f64> = profit.into_iter().take(setting.unit_count()).map(f64::from).collect();
            let Some(mut lines) = devices.lines(&SearchContext::new()) else { return Ok(()) };
            let optimum = optimum(&setting);
            // Huge devices are beyond a line.
            let target = (optimum * part).min(1e4);
            let mut bundle = Bundle::new(&devices.counts, &mut lines, target, &devices.work(), &profit);
            let is_below = |bundle: &Bundle| bundle.surplus <= surplus(&setting, &devices, &bundle.center, target);
            prop_assert!(is_below(&bundle), "{} at {:?}", bundle.surplus, bundle.center);
            let verdict = bundle.ascend(40, &mut || (), &SearchContext::new());
            prop_assert!(is_below(&bundle), "{} at {:?}", bundle.surplus, bundle.center);
            prop_assert!(verdict != Verdict::Refuted || target < optimum, "{target} is refuted, {optimum} is optimal");
            let center = bundle.center().to_vec();
            for profit in [center, profit] {
                let shown = refuted_by(&devices.counts, &mut lines, &profit, (0.0, 2.0 * target));
                prop_assert!(shown <= optimum, "{shown} is refuted, {optimum} is optimal");
            }
        }
    }

    #[test]
    fn profits_that_cancel_refute_nothing() {
        let node = |id| Node { accelerator_times: vec![Some(1.0)], ..Node::new(id) };
        let instance = Instance {
            platform: Platform::uniform(1, None, 0),
            nodes: (0..2).map(node).collect(),
            ..Instance::default()
        };
        let problem = problem(&instance, false);
        let unordered = Unordered::new(&problem);
        let setting = Setting::new(&problem, &unordered);
        let devices = Devices::new(&setting, &SearchContext::new()).unwrap();
        let mut lines = devices.lines(&SearchContext::new()).unwrap();
        for profit in [[0.0, 0.0], [1.0, -1.0], [-1.0, -1.0], [1.0, f64::NAN], [1.0 + 1e-15, -1.0]] {
            let mut bundle = Bundle::new(&devices.counts, &mut lines, 2.0, &[1.0; 2], &profit);
            assert!(!bundle.refutes(), "{profit:?}");
            assert_ne!(bundle.ascend(20, &mut || (), &SearchContext::new()), Verdict::Refuted, "{profit:?}");
            assert_eq!(refuted_by(&devices.counts, &mut lines, &profit, (0.0, 2.0)), 0.0, "{profit:?}");
        }
    }
}
