//! Pricing in whole numbers: the search for sets whose load is rounded down to a lattice.
//!
//! Costs are rounded down to whole cells once, before they are summed: no set that fits is lost, and what is lost in
//! tightness does not grow with the size of the graph, as it does where fronts are shortened. Times that are measured to
//! a few decimals lie on the lattice of those decimals, so that next to nothing is lost. Memory is left out, which
//! keeps the bound valid; sets that break it are not handed on.

use super::cell_size::{HALF_ROOM, decimal_cell};
use super::elimination::{Bucket, Plan};
use super::integer_fronts::{Frame, IntegerFronts, Task};
use super::lagrangian::{Outward, Prices};
use super::network::INSIDE;
use super::{Priced, PricedSet, Pricer, Profits, ROOM, SETS_PER_SEARCH};
use crate::solve::SearchContext;

/// A pricing problem of one resource, in whole cells.
pub struct Lattice {
    /// The size of a cell.
    cell: f64,
    /// Prices loads in cells and profits in grains.
    pricer: Pricer<1>,
}

impl Lattice {
    /// The first resource of `plan` on the lattice of the units' `times`; `None` where they lie on no decimal lattice.
    pub fn new<const D: usize>(plan: &Plan<D>, times: &[f64]) -> Option<Self> {
        let cell = decimal_cell(times)?;
        let cells = |used: &[f64; D]| [(used[0] * HALF_ROOM / cell).floor()];
        let bucket = |bucket: &Bucket<D>| Bucket {
            variable: bucket.variable,
            values: bucket.values,
            separator: bucket.separator.clone(),
            rows: bucket.rows,
            base: bucket.base.iter().map(|used| used.as_ref().map(cells)).collect(),
            children: bucket.children.clone(),
        };
        let plan = Plan { buckets: plan.buckets.iter().map(bucket).collect(), units: plan.units };
        Some(Self { cell, pricer: Pricer::new(plan, [None], 0) })
    }
}

impl<const D: usize> Pricer<D> {
    /// Whether devices of this load are priced on a lattice.
    pub(super) fn has_lattice(&self, target: f64) -> bool {
        self.lattice.as_ref().is_some_and(|lattice| target <= MOST_CELLS * lattice.cell)
    }

    /// Finds sets of more profit than the threshold, and bounds the rest. `None` where it takes too many points, or `cx`
    /// says to stop.
    pub(super) fn search_lattice(&mut self, query: Profits<'_>, cx: &SearchContext) -> Option<Priced> {
        let Profits { profit, target, threshold, .. } = query;
        let full = self.capacity(target);
        let lattice = self.lattice.as_mut()?;
        let capacity = (full[0] / lattice.cell).floor();
        let per_unit = MOST_GRAINS / profit.iter().sum::<f64>();
        if !per_unit.is_finite() {
            return None;
        }
        let grains: Vec<f64> = profit.iter().map(|profit| (profit * per_unit).ceil()).collect();
        let inward = lattice.pricer.best_prices(&grains, &[capacity], &mut |_| {}).inward;
        let Pricer { plan, lambda, .. } = &lattice.pricer;
        let outward = Outward::new(plan, &Prices { profit: &grains, lambda: *lambda }, &inward);
        let frame = Frame { capacity: capacity as u32, threshold: threshold * per_unit - 1.0, price: lambda[0] };
        let task = Task { plan, grains: &grains, frame, bounds: (&inward, &outward) };
        let fronts = IntegerFronts::new(task, MAX_POINTS, cx)?;
        let upper = fronts.complete().last().map_or(0.0, |point| f64::from(point.profit) / per_unit);
        let mut sets = Vec::new();
        for &point in fronts.complete().iter().rev().take(MOST_TRIED) {
            let entries = fronts.entries(point)?;
            let (units, used) = self.plan.filled(&entries);
            if Self::fits(&used, &full) {
                sets.push(PricedSet { profit: units.iter().map(|&u| profit[u]).sum(), units });
            }
            if sets.len() == SETS_PER_SEARCH {
                break;
            }
        }
        sets.sort_by(|a, b| a.profit.total_cmp(&b.profit));
        Some(Priced { upper: upper.max(threshold) * ROOM, sets })
    }
}

impl<const D: usize> Plan<D> {
    /// The units inside and what they consume, by the entries of all tables.
    fn filled(&self, entries: &[usize]) -> (Vec<usize>, [f64; D]) {
        let mut units = Vec::new();
        let mut used = [0.0; D];
        for (bucket, &at) in self.buckets.iter().zip(entries) {
            let inside = at % bucket.values == usize::from(INSIDE);
            units.extend(bucket.variable.filter(|&v| v < self.units && inside));
            used = std::array::from_fn(|r| used[r] + bucket.base[at].map_or(0.0, |base| base[r]));
        }
        units.sort_unstable();
        (units, used)
    }
}

/// The most cells of a device.
const MOST_CELLS: f64 = 1e5;

/// Grains of all units together.
const MOST_GRAINS: f64 = 1e9 / 4.0;

/// The most points of all fronts.
const MAX_POINTS: usize = 16_000_000;

/// How many of the best points are looked at for sets that fit without rounding.
const MOST_TRIED: usize = 40;
