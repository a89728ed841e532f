//! Pricing along a line: next to exact, and quick where the graph is nearly a chain.

use super::lattice::{HALF_ROOM, MOST_CELLS, decimal_cell};
use super::network::Network;
use super::order::narrow;
use super::sweep::{Sweep, Tables};
use super::{Priced, PricedSet, ROOM};

/// Prices the sets of one kind of device by a [`Sweep`].
///
/// Loads are rounded down to whole cells, as on the [lattice](super::lattice), so that the bound holds. The sets found
/// may be too long by what was rounded off.
pub struct LinePricer {
    sweep: Sweep<1>,
    cell: f64,
    tables: Tables,
}

impl LinePricer {
    /// A pricer of the sets of `network`; `None` where the units' `times` lie on no decimal lattice, or where too many
    /// variables depend on one another in every order tried.
    pub fn new(network: &Network<1>, times: &[f64]) -> Option<Self> {
        let cell = decimal_cell(times)?;
        let cells = |used: f64| (used * HALF_ROOM / cell).floor() as usize;
        Some(Self { sweep: Sweep::new(network, &narrow(network), cells)?, cell, tables: Tables::default() })
    }

    fn capacity(&self, target: f64) -> f64 {
        (target * ROOM / self.cell).floor()
    }

    /// How many sums it takes to price devices of this load; `None` where that is not quick.
    pub fn effort(&self, target: f64) -> Option<usize> {
        let capacity = self.capacity(target);
        let (sums, entries) = self.sweep.effort(capacity.min(MOST_CELLS) as usize);
        (capacity <= MOST_CELLS && sums <= MOST_SUMS && entries <= MOST_ENTRIES).then_some(sums)
    }

    /// Bounds the profit of all sets under `target`, which has to be [quick](Self::effort), and finds the best and some
    /// good ones. Profits may be negative.
    pub fn price(&mut self, profit: &[f64], target: f64) -> Priced {
        let capacity = self.capacity(target) as usize;
        let per_unit = (self.sweep.most_gain() - profit.len() as f64) / profit.iter().map(|p| p.abs()).sum::<f64>();
        if !per_unit.is_finite() {
            return Priced { upper: 0.0, sets: Vec::new() };
        }
        // No gain is negative: instead of losing inside, a unit gains outside.
        let spared: f64 = profit.iter().map(|profit| (-profit).max(0.0)).sum();
        let grains = |profit: f64| (profit.max(0.0) * per_unit).ceil() as i32;
        let of_unit = |v: usize| profit.get(v).map_or([0; 2], |&profit| [grains(-profit), grains(profit)]);
        let of_step: Vec<[i32; 2]> = self.sweep.steps.iter().map(|step| of_unit(step.variable)).collect();
        self.sweep.fill(&mut self.tables, capacity, |step, arc| of_step[step][usize::from(arc.is_inside)]);
        let loads = self.best_loads(capacity / SPREAD);
        let upper = loads.first().map_or(0.0, |&(_, grains)| f64::from(grains) / per_unit * ROOM - spared);
        let set = |&(load, _): &(usize, i32)| {
            let units = self.units(load, profit.len());
            PricedSet { profit: units.iter().map(|&u| profit[u]).sum(), units }
        };
        Priced { upper: upper.max(0.0), sets: loads.iter().rev().map(set).collect() }
    }

    /// The loads of most profit, the best one first, each further from the others than `distance` cells.
    fn best_loads(&self, distance: usize) -> Vec<(usize, i32)> {
        let mut best: Vec<(usize, i32)> = Vec::new();
        while best.len() < SETS {
            let is_new = |load: usize| best.iter().all(|&(known, _)| known.abs_diff(load) > distance);
            let open = self.sweep.gains(&self.tables).filter(|&(load, grains)| grains > 0 && is_new(load));
            let Some(next) = open.max_by_key(|&(load, grains)| (grains, load)) else { break };
            best.push(next);
        }
        best
    }

    /// The units of the best set of this load, ascending.
    fn units(&self, load: usize, count: usize) -> Vec<usize> {
        let inside = self.sweep.trace(&self.tables, load).filter(|(_, arc)| arc.is_inside);
        let mut units: Vec<usize> = inside.map(|(step, _)| step.variable).filter(|&v| v < count).collect();
        units.sort_unstable();
        units
    }
}

/// How many sets are handed on.
const SETS: usize = 6;

/// Their loads differ by one part in so many of a device.
const SPREAD: usize = 600;

/// The most sums of an entry and an arc, and the most entries.
const MOST_SUMS: usize = 1_200_000_000;
const MOST_ENTRIES: usize = 400_000_000;
