//! Column generation at a target load.

use super::columns::Pool;
use super::cover::Cover;
use super::devices::{Decision, Devices, Pricers};
use super::target::largest_refuted;
use crate::solve::SearchContext;
use crate::solve::bundle::Verdict;
use crate::solve::certify::pricing::{Priced, PricedSet, Profits, Rounding};

/// What column generation is asked.
#[derive(Debug, Clone, Copy)]
pub struct Query<'a> {
    /// The load to refute.
    pub target: f64,
    /// What the splits obey that count.
    pub decisions: &'a [Decision],
    /// The most rounds of pricing.
    pub max_rounds: usize,
}

/// The best profits so far, which new ones are drawn to: their bound moves less than that of the master's own profits
/// (in-out separation, Ben-Ameur and Neto 2007).
#[derive(Debug, Clone, PartialEq)]
pub struct Center {
    /// Profit of each unit.
    pub profit: Vec<f64>,
}

/// What column generation has done.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Effort {
    /// Rounds of pricing.
    pub rounds: usize,
    /// Runs of a front's dynamic program.
    pub searches: usize,
    /// Nodes of the tree, but for roots.
    pub nodes: usize,
}

/// Column generation over a growing pool of columns.
pub struct Generation<'a> {
    /// The kinds of devices.
    pub devices: &'a Devices<'a>,
    /// The columns.
    pub pool: Pool,
    /// What was done.
    pub effort: Effort,
    /// By what part of what all devices can earn the units have to be worth more, where a target is refuted.
    pub margin: f64,
    cx: &'a SearchContext,
}

/// The profits of a round, with what pricing says of them by kind.
struct Trial {
    profit: Vec<f64>,
    total: f64,
    priced: Vec<Priced>,
}

impl Trial {
    /// The most that all devices together can earn.
    fn most(&self, counts: &[usize]) -> f64 {
        self.priced.iter().zip(counts).map(|(priced, &count)| priced.upper * count as f64).sum()
    }

    /// What they can earn with the sets found.
    fn found(&self, counts: &[usize]) -> f64 {
        self.priced.iter().zip(counts).map(|(priced, &count)| priced.best() * count as f64).sum()
    }

    /// How many rounds of devices it takes to earn what the units are worth, as far as the sets found show.
    fn value(&self, counts: &[usize]) -> f64 {
        self.total / self.found(counts).max(f64::MIN_POSITIVE)
    }

    /// How much the surplus of the units over what the sets found earn grows on the way from `center` to `profit`.
    fn gain(&self, counts: &[usize], profit: &[f64], center: &[f64]) -> f64 {
        if center.is_empty() {
            return 0.0;
        }
        let mut slope = vec![1.0; profit.len()];
        for (priced, &count) in self.priced.iter().zip(counts) {
            let units = priced.sets.last().map_or(&[][..], |set| &set.units);
            units.iter().for_each(|&u| slope[u] -= count as f64);
        }
        let (a, b) = (scale(profit), scale(center));
        slope.iter().zip(profit.iter().zip(center)).map(|(slope, (p, c))| slope * (a * p - b * c)).sum()
    }

    /// Whether the units are worth more than all devices can earn, by so much of that.
    fn refutes(&self, counts: &[usize], margin: f64) -> bool {
        self.total > self.most(counts) * (1.0 + margin)
    }
}

impl<'a> Generation<'a> {
    /// No column yet.
    pub fn new(devices: &'a Devices<'a>, cx: &'a SearchContext) -> Self {
        Self { devices, pool: Pool::default(), effort: Effort::default(), margin: MARGIN, cx }
    }

    /// Refutes the target of `query`, with the pricers made for its decisions, or finds columns that cover all units.
    /// `beside` runs beside the pricing of every round and says whether to go on.
    pub fn refute(
        &mut self,
        query: Query,
        pricers: &mut Pricers,
        center: &mut Center,
        beside: &mut (dyn FnMut() -> bool + Send),
    ) -> Verdict {
        let Query { target, decisions, max_rounds } = query;
        let devices = self.devices;
        let counts = &devices.counts;
        let known = self.pool.below(target, decisions);
        let Some(mut cover) = Cover::new(self.devices.setting().unit_count(), counts, &known) else {
            return Verdict::Open;
        };
        let mut merit = 0.0;
        let mut pull = PULL;
        let mut rounds = 0;
        let mut profit = std::mem::take(&mut center.profit);
        let mut verdict = Verdict::Open;
        loop {
            if self.cx.should_stop() || rounds == max_rounds {
                verdict = Verdict::Limit;
                break;
            }
            self.effort.rounds += 1;
            let is_proof = rounds % PROOF_PERIOD == 0;
            rounds += 1;
            let (mut trial, goes_on) = self.cx.join(|| self.price(profit, target, pricers), &mut *beside);
            if is_proof || trial.value(counts) > merit {
                self.tighten(&mut trial, target, pricers, STEPS);
                if trial.value(counts) > 1.0 + NEARLY_SOLVED * (cover.rounds() - 1.0) {
                    self.tighten(&mut trial, target, pricers, &[Rounding::Exact]);
                }
            }
            if trial.refutes(counts, self.margin) {
                center.profit = trial.profit;
                return Verdict::Refuted;
            }
            if !goes_on {
                verdict = Verdict::Limit;
                break;
            }
            let value = trial.value(counts);
            let improves_beyond = trial.gain(counts, &cover.profit(), &center.profit) > 0.0;
            let Some((mut next, mut added)) = self.extend(cover, &trial.priced) else { break };
            if value > merit || center.profit.is_empty() {
                (merit, center.profit) = (value, trial.profit);
            }
            pull = if added == 0 {
                pull * 0.6
            } else if improves_beyond {
                pull - 0.1 * pull
            } else {
                pull + 0.2 * (MOST_PULL - pull)
            };
            if added == 0 && pull < LEAST_PULL {
                // The master's own profits, exactly: either there is a column to add, or it is solved.
                let trial = self.price_exactly(&next, target, pricers);
                if trial.refutes(counts, self.margin) {
                    center.profit = trial.profit;
                    return Verdict::Refuted;
                }
                match self.extend(next, &trial.priced) {
                    Some((extended, more)) => (next, added) = (extended, more),
                    None => break,
                }
                if added == 0 {
                    break;
                }
            }
            cover = next;
            if cover.rounds() <= 1.0 + MARGIN {
                break;
            }
            let is_proof = rounds % PROOF_PERIOD == 0;
            profit = mixed(&cover.profit(), &center.profit, if is_proof { 0.0 } else { pull });
        }
        if center.profit.is_empty() {
            center.profit = self.devices.work();
        }
        verdict
    }

    /// A target between `low`, which is refuted, and `high` that the best profits refute by themselves: nearly the
    /// largest one.
    pub fn refuted_by(&mut self, center: &Center, range: (f64, f64), pricers: &mut Pricers) -> f64 {
        largest_refuted(range, TARGET_STEPS, |target| {
            if self.cx.should_stop() {
                return None;
            }
            let mut trial = self.price(center.profit.clone(), target, pricers);
            self.tighten(&mut trial, target, pricers, STEPS);
            self.tighten(&mut trial, target, pricers, LAST_STEPS);
            Some(trial.total / (trial.most(&self.devices.counts) * (1.0 + MARGIN)))
        })
    }

    /// The most that a device of each kind can hold of the best profits within a target, as exactly as it takes to tell
    /// whether they refute it.
    pub fn most(&mut self, center: &Center, target: f64, pricers: &mut Pricers) -> Vec<f64> {
        let mut trial = self.price(center.profit.clone(), target, pricers);
        self.tighten(&mut trial, target, pricers, STEPS);
        self.tighten(&mut trial, target, pricers, LAST_STEPS);
        trial.priced.iter().map(|priced| priced.upper).collect()
    }

    /// Prices the profits for each kind, quickly.
    fn price(&mut self, profit: Vec<f64>, target: f64, pricers: &mut Pricers) -> Trial {
        let priced = pricers.iter_mut().map(|pricer| pricer.relax(&profit, target)).collect();
        let mut trial = Trial { total: profit.iter().sum(), profit, priced };
        for kind in 0..pricers.len() {
            self.search(&mut trial, kind, target, pricers, FIRST_STEP);
        }
        self.tighten(&mut trial, target, pricers, QUICK_STEPS);
        trial
    }

    /// Prices more and more exactly while that may still refute the target.
    fn tighten(&mut self, trial: &mut Trial, target: f64, pricers: &mut Pricers, steps: &[Rounding]) {
        for &rounding in steps {
            for kind in 0..pricers.len() {
                let counts = &self.devices.counts;
                if trial.refutes(counts, self.margin) || trial.total <= trial.found(counts) {
                    return;
                }
                self.search(trial, kind, target, pricers, rounding);
            }
        }
    }

    /// Prices the master's own profits until there is a column to add, or it is clear that there is none.
    fn price_exactly(&mut self, cover: &Cover, target: f64, pricers: &mut Pricers) -> Trial {
        let (profit, best) = (cover.profit(), cover.best());
        let mut trial = self.price(profit, target, pricers);
        for &rounding in STEPS.iter().chain(LAST_STEPS) {
            for (kind, &best) in best.iter().enumerate() {
                if trial.refutes(&self.devices.counts, self.margin) || trial.priced[kind].best() > best + MARGIN {
                    return trial;
                }
                if trial.priced[kind].upper > best + MARGIN {
                    self.search(&mut trial, kind, target, pricers, rounding);
                }
            }
        }
        trial
    }

    /// Searches the sets of one kind, and raises what is known of them.
    fn search(&mut self, trial: &mut Trial, kind: usize, target: f64, pricers: &mut Pricers, rounding: Rounding) {
        let counts = &self.devices.counts;
        let (best, upper) = (trial.priced[kind].best(), trial.priced[kind].upper);
        // What the sets of this kind may earn and the target is refuted still: those that earn less need not be told apart.
        let others = trial.most(counts) - upper * counts[kind] as f64;
        let harmless = (trial.total * (1.0 - MARGIN - self.margin) - others) / counts[kind] as f64;
        let threshold = if matches!(rounding, Rounding::Thinned(_)) { best } else { best.max(harmless) };
        if upper <= threshold * (1.0 + MARGIN) {
            return;
        }
        self.effort.searches += 1;
        let query = Profits { profit: &trial.profit, target, threshold, rounding };
        if let Some(found) = pricers[kind].search(query, self.cx) {
            let known = &mut trial.priced[kind];
            known.upper = known.upper.min(found.upper);
            known.sets.extend(found.sets);
        }
    }

    /// Adds the sets found to pool and master; how many were new. `None` on numerical failure.
    fn extend(&mut self, mut cover: Cover, priced: &[Priced]) -> Option<(Cover, usize)> {
        let (profit, best) = (cover.profit(), cover.best());
        let mut added = 0;
        for (kind, priced) in priced.iter().enumerate() {
            let surplus = |set: &PricedSet| set.units.iter().map(|&u| profit[u]).sum::<f64>() - best[kind];
            let mut sets: Vec<(f64, &PricedSet)> = priced.sets.iter().map(|set| (surplus(set), set)).collect();
            sets.retain(|(surplus, _)| *surplus > MARGIN);
            sets.sort_by(|a, b| b.0.total_cmp(&a.0));
            for (_, set) in sets.into_iter().take(COLUMNS_PER_ROUND) {
                if let Some(column) = self.pool.add(self.devices, kind, set.units.clone()) {
                    cover = cover.add(column)?;
                    added += 1;
                }
            }
        }
        Some((cover, added))
    }
}

fn mixed(profit: &[f64], center: &[f64], pull: f64) -> Vec<f64> {
    let (a, b) = ((1.0 - pull) * scale(profit), pull * scale(center));
    profit.iter().zip(center).map(|(p, c)| a * p + b * c).collect()
}

/// What makes the profits sum to one.
fn scale(profit: &[f64]) -> f64 {
    1.0 / profit.iter().sum::<f64>().max(f64::MIN_POSITIVE)
}

/// How much the profits of a round are drawn to the best ones known, at first.
const PULL: f64 = 0.7;

/// How much they are drawn at most.
const MOST_PULL: f64 = 0.995;

/// Steps of the search for the target that known profits refute.
const TARGET_STEPS: usize = 4;

/// Below this they are not drawn at all.
const LEAST_PULL: f64 = 0.1;

/// How many columns of a kind a round adds.
const COLUMNS_PER_ROUND: usize = 3;

/// Room for rounding in comparisons of profits.
pub const MARGIN: f64 = 1e-9;

/// The master's own profits are priced in one of so many rounds, as exactly as a proof takes. They rest on few units,
/// where fronts are short and bounds tight; drawn to the best ones, they move less but are harder to price.
const PROOF_PERIOD: usize = 8;

/// How exactly the fronts are searched for sets in every round.
const FIRST_STEP: Rounding = Rounding::Lattice(40);

/// How exactly they are searched in most rounds where the sets found leave room for a refutation.
const QUICK_STEPS: &[Rounding] = &[Rounding::Optimistic(100)];

/// How exactly they are searched where a proof is looked for, one after the other.
const STEPS: &[Rounding] = &[Rounding::Thinned(150), Rounding::Optimistic(500)];

/// How they are searched where it has to be clear whether there is another column.
const LAST_STEPS: &[Rounding] = &[Rounding::Thinned(600), Rounding::Optimistic(2000), Rounding::Exact];

/// The fronts are kept whole once the profits show this part of what the master claims.
const NEARLY_SOLVED: f64 = 0.7;
