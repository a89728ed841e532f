//! Pricing: the most profitable set that one device can hold under a target load.
//!
//! Given a profit π ≥ 0 for each unit, find the set S of largest π(S) whose load is at most T and whose memory fits.
//! The sets are a [network] of variables with local costs; eliminating its variables one after another
//! (dynamic programming over a tree decomposition) answers two questions exactly:
//!
//! - For prices λ of the resources, what is the largest π(S) − λ·use(S)? With λ·capacity added this bounds π(S) from
//!   above, and the best λ is found by intersecting lines ([`lagrangian`]).
//! - Which pairs of (use, profit) are possible? Fronts of them are carried instead of single values, without those that
//!   the Lagrangian proves too low, whatever the rest of the graph adds ([`sets`]).
//!
//! Where times are decimals the second question is also asked in whole numbers ([`lattice`], [`integer_fronts`]), where it
//! is answered quickly and next to exactly. Where the graph is nearly a chain besides, a dynamic program along it
//! ([`line`](mod@line), [`sweep`]) answers it more quickly still.

mod cell_size;
mod elimination;
mod grains;
mod integer_fronts;
mod lagrangian;
mod lattice;
mod least;
mod line;
mod nearby;
mod network;
mod order;
mod pareto_fronts;
mod prospects;
mod rows;
mod sets;
mod sweep;

pub use cell_size::cell_of;
pub use elimination::Plan;
pub use line::LinePricer;
pub use nearby::{Nearby, NearbySet};
pub use network::{INSIDE, MOST_PINS, Network, Resource};
pub use order::{closing, narrow, narrowest, width};
pub use pareto_fronts::Rounding;
pub use rows::{LOAD, MEMORY};
pub use sweep::{Arc, End, Limit, Sweep, Tables, Width};

use lagrangian::{Inward, Outward, Prices};
use lattice::Lattice;
use pareto_fronts::Window;
use sets::Fronts;

use crate::solve::SearchContext;

/// A set of units that one device can hold under the target.
#[derive(Debug, Clone, PartialEq)]
pub struct PricedSet {
    /// The units, ascending.
    pub units: Vec<usize>,
    /// Their profit.
    pub profit: f64,
}

/// What pricing found.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Priced {
    /// No set that fits has more profit.
    pub upper: f64,
    /// Sets that fit, the best one last.
    pub sets: Vec<PricedSet>,
}

impl Priced {
    /// The largest profit of a set found; 0 for the empty set.
    pub fn best(&self) -> f64 {
        self.sets.iter().map(|set| set.profit).fold(0.0, f64::max)
    }
}

/// What sets are asked for.
#[derive(Debug, Clone, Copy)]
pub struct Profits<'a> {
    /// Profit of each unit.
    pub profit: &'a [f64],
    /// The most load of a device.
    pub target: f64,
    /// Only sets of more profit matter.
    pub threshold: f64,
    /// Which sets are looked at.
    pub rounding: Rounding,
}

/// Prices the sets of one kind of device.
pub trait Pricing: Send {
    /// Bounds the profit and finds good sets by Lagrangian relaxation alone.
    fn relax(&mut self, profit: &[f64], target: f64) -> Priced;

    /// Finds sets of more profit than the threshold, and bounds the rest. The bound is at least the threshold, and exact
    /// above it without rounding. `None` where it takes too many labels, or `cx` says to stop.
    fn search(&mut self, query: Profits<'_>, cx: &SearchContext) -> Option<Priced>;

    /// The price of the first resource, a piece of the load, at which the last relaxation was tightest.
    fn price_of_load(&self) -> f64;

    /// How many entries the tables of its dynamic program hold.
    fn entry_count(&self) -> usize;
}

/// Pricing with `D` resources.
pub struct Pricer<const D: usize> {
    plan: Plan<D>,
    capacities: [Option<f64>; D],
    /// The best prices of the last call, where the next search begins.
    lambda: [f64; D],
    max_labels: usize,
    /// The same problem in whole numbers, where loads have one piece and times lie on a lattice.
    lattice: Option<Box<Lattice>>,
}

/// Room for the rounding of sums: no set that fits exactly is lost.
pub const ROOM: f64 = 1.0 + 1e-10;

/// Steps of the search for the best price of one resource.
const LINE_STEPS: usize = 40;

/// Rounds over all resources in the search for the best prices.
const SWEEPS: usize = 3;

/// The bound that one set gives, by the price of a resource: its value at no price, and how much the set exceeds the
/// capacity, by which the line falls.
type Line = (f64, f64);

/// What the Lagrangian says at one price.
struct Evaluation<const D: usize> {
    inward: Inward,
    units: Vec<usize>,
    used: [f64; D],
    profit: f64,
    bound: f64,
}

impl<const D: usize> Pricer<D> {
    /// A pricer over `plan`, whose resources have the given capacities; `None` stands for the target.
    pub fn new(plan: Plan<D>, capacities: [Option<f64>; D], max_labels: usize) -> Self {
        Self { plan, capacities, lambda: [0.0; D], max_labels, lattice: None }
    }

    /// The same with a lattice for [`Rounding::Lattice`], where the first resource alone is the load and the `times` of
    /// the units are decimals.
    pub fn with_lattice(mut self, times: &[f64]) -> Self {
        let has_one_piece = self.capacities.iter().position(Option::is_none) == Some(0)
            && self.capacities[1..].iter().all(Option::is_some);
        self.lattice = has_one_piece.then(|| Lattice::new(&self.plan, times)).flatten().map(Box::new);
        self
    }

    fn capacity(&self, target: f64) -> [f64; D] {
        self.capacities.map(|capacity| capacity.unwrap_or(target * ROOM))
    }

    fn evaluate(&self, prices: &Prices<D>, capacity: &[f64; D]) -> Evaluation<D> {
        let inward = Inward::new(&self.plan, prices);
        let (units, used) = inward.solution(&self.plan, prices);
        let profit = units.iter().map(|&u| prices.profit[u]).sum();
        let bound = inward.optimum() + prices.cost(capacity);
        Evaluation { inward, units, used, profit, bound }
    }

    /// Searches for the prices of the least bound; `seen` gets every set on the way.
    fn best_prices(
        &mut self,
        profit: &[f64],
        capacity: &[f64; D],
        seen: &mut dyn FnMut(&Evaluation<D>),
    ) -> Evaluation<D> {
        let mut prices = Prices { profit, lambda: self.lambda };
        let mut best = self.evaluate(&prices, capacity);
        seen(&best);
        for sweep in 0..if D == 1 { 1 } else { SWEEPS } {
            let before = best.bound;
            for r in 0..D {
                self.line_search(&mut prices, r, capacity, &mut best, seen);
            }
            if sweep > 0 && before - best.bound <= 1e-6 * before.abs() {
                break;
            }
        }
        self.lambda = prices.lambda;
        best
    }

    /// Finds the best price of resource `r`, the others fixed: the bound is the upper envelope of one line per set, so
    /// the search goes on where the lines of the last sets on both sides meet, until no line lies above.
    fn line_search(
        &self,
        prices: &mut Prices<D>,
        r: usize,
        capacity: &[f64; D],
        best: &mut Evaluation<D>,
        seen: &mut dyn FnMut(&Evaluation<D>),
    ) {
        let excess = |e: &Evaluation<D>| e.used[r] - capacity[r];
        let start = prices.lambda[r];
        let mut line: Line = (best.bound + start * excess(best), excess(best));
        let scale = prices.profit.iter().sum::<f64>() / capacity[r].max(f64::MIN_POSITIVE);
        // The lines on both sides of the minimum.
        let (mut low, mut high): (Option<Line>, Option<Line>) = (None, None);
        let mut lambda = start;
        for _ in 0..LINE_STEPS {
            if line.1 > 0.0 {
                low = Some(line)
            } else {
                high = Some(line)
            }
            let next = match (low, high) {
                (Some(a), Some(b)) => (a.0 - b.0) / (a.1 - b.1),
                (Some(_), None) => (lambda * 2.0).max(scale * 0.1),
                (None, _) if lambda > scale * 1e-3 => lambda * 0.5,
                (None, _) if lambda > 0.0 => 0.0,
                (None, _) => return,
            };
            if !next.is_finite() || next < 0.0 || next == lambda {
                return;
            }
            lambda = next;
            let expected = low.zip(high).map(|(a, _)| a.0 - lambda * a.1);
            let mut trial = *prices;
            trial.lambda[r] = lambda;
            let evaluation = self.evaluate(&trial, capacity);
            seen(&evaluation);
            line = (evaluation.bound + lambda * excess(&evaluation), excess(&evaluation));
            let bound = evaluation.bound;
            if bound < best.bound {
                *best = evaluation;
                prices.lambda[r] = lambda;
            }
            if expected.is_some_and(|expected| bound - expected <= 1e-9 * bound.abs()) {
                return;
            }
        }
    }

    fn fits(used: &[f64; D], capacity: &[f64; D]) -> bool {
        used.iter().zip(capacity).all(|(used, capacity)| used <= capacity)
    }

    fn relaxed(&mut self, profit: &[f64], target: f64) -> (Priced, Evaluation<D>) {
        let capacity = self.capacity(target);
        let mut sets: Vec<PricedSet> = Vec::new();
        let best = self.best_prices(profit, &capacity, &mut |seen| {
            if Self::fits(&seen.used, &capacity) && !sets.iter().any(|set| set.units == seen.units) {
                sets.push(PricedSet { units: seen.units.clone(), profit: seen.profit });
            }
        });
        sets.sort_by(|a, b| a.profit.total_cmp(&b.profit));
        (Priced { upper: best.bound.max(0.0) * ROOM, sets }, best)
    }
}

impl<const D: usize> Pricing for Pricer<D> {
    fn relax(&mut self, profit: &[f64], target: f64) -> Priced {
        self.relaxed(profit, target).0
    }

    fn search(&mut self, query: Profits<'_>, cx: &SearchContext) -> Option<Priced> {
        let Profits { profit, target, threshold, mut rounding } = query;
        if let Rounding::Lattice(most) = rounding {
            let found = if self.has_lattice(target) { self.search_lattice(query, cx) } else { None };
            if found.as_ref().is_some_and(|found| !found.sets.is_empty() || found.upper <= threshold * ROOM) {
                return found;
            }
            rounding = Rounding::Thinned(most);
        }
        let (mut priced, best) = self.relaxed(profit, target);
        if priced.upper <= threshold {
            return Some(priced);
        }
        let capacity = self.capacity(target);
        let prices = Prices { profit, lambda: self.lambda };
        let outward = Outward::new(&self.plan, &prices, &best.inward);
        let window = Window { prices, capacity, threshold };
        let fronts = Fronts::new(&self.plan, window, (&best.inward, &outward), rounding, self.max_labels, cx)?;
        let complete = fronts.complete();
        let found = complete.iter().map(|label| label.profit).fold(threshold, f64::max);
        if !matches!(rounding, Rounding::Thinned(_)) {
            priced.upper = priced.upper.min(found * ROOM);
        }
        if !matches!(rounding, Rounding::Optimistic(_)) {
            // With memory beside the load the front is not in the order of profits.
            let mut best = complete.to_vec();
            best.sort_by(|a, b| a.profit.total_cmp(&b.profit));
            for &label in &best[best.len().saturating_sub(SETS_PER_SEARCH)..] {
                if let Some(units) = fronts.units(label) {
                    priced.sets.push(PricedSet { units, profit: label.profit });
                }
            }
        }
        Some(priced)
    }

    fn price_of_load(&self) -> f64 {
        self.lambda[0]
    }

    fn entry_count(&self) -> usize {
        self.plan.entry_count()
    }
}

/// How many of the sets that a search finds are handed on.
const SETS_PER_SEARCH: usize = 4;
