//! Pricing along a line: next to exact, and quick where the graph is nearly a chain.

use super::lattice::{HALF_ROOM, MOST_CELLS, decimal_cell};
use super::network::Network;
use super::order::narrow;
use super::sweep::{Limit, Sweep, Tables};
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
        Some(Self::of(Sweep::new(network, &narrow(network))?, decimal_cell(times)?))
    }

    fn of(sweep: Sweep<1>, cell: f64) -> Self {
        let cells = |used: f64| (used * HALF_ROOM / cell).floor() as usize;
        Self { sweep: sweep.counted(cells), cell, tables: Tables::default() }
    }

    /// The same in larger cells, so that it is quicker and bounds hold less tightly, where devices of this load have many.
    pub fn rough(&self, target: f64) -> Self {
        Self::of(self.sweep.clone(), self.cell * (self.capacity(target) / ROUGH_CELLS).floor().max(1.0))
    }

    fn capacity(&self, target: f64) -> f64 {
        (target * ROOM / self.cell).floor()
    }

    /// How many sums it takes to price devices of this load; `None` where that is not quick.
    pub fn effort(&self, target: f64) -> Option<usize> {
        let capacity = self.capacity(target);
        if capacity <= MOST_CELLS { self.sweep.effort(capacity as usize, LIMIT) } else { None }
    }

    /// Bounds the profit of all sets under `target`, which has to be [quick](Self::effort), and finds the best and some
    /// good ones. Profits may be negative; where they are too many or too large to be counted, no set is found and the
    /// bound says nothing.
    pub fn price(&mut self, profit: &[f64], target: f64) -> Priced {
        let capacity = self.capacity(target) as usize;
        if profit.iter().all(|&profit| profit == 0.0) {
            return Priced::default();
        }
        let per_unit = (self.sweep.most_gain() - profit.len() as f64) / profit.iter().map(|p| p.abs()).sum::<f64>();
        if !per_unit.is_normal() || per_unit < 0.0 {
            return Priced { upper: f64::MAX, sets: Vec::new() };
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

/// The least number of cells of a device that are enough to begin with.
const ROUGH_CELLS: f64 = 4_000.0;

/// How many sets are handed on.
const SETS: usize = 6;

/// Their loads differ by one part in so many of a device.
const SPREAD: usize = 600;

/// What is quick.
const LIMIT: Limit = Limit { sums: 1_200_000_000, entries: 400_000_000 };

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::super::network::Resource;
    use super::*;
    use crate::preprocess::Unordered;
    use crate::solve::SearchContext;
    use crate::solve::certify::assignment::{Assignment, Setting};
    use crate::solve::certify::covering::Devices;
    use crate::solve::certify::samples::{instances, problem, sets};

    /// Units without nets.
    fn loose(times: &[f64]) -> LinePricer {
        let mut network = Network { domains: vec![2; times.len()], factors: Vec::new(), units: times.len() };
        for (v, &time) in times.iter().enumerate() {
            network.add(vec![v], |x| Some([if x[0] == 0 { 0.0 } else { time }]));
        }
        LinePricer::new(&network, times).unwrap()
    }

    #[test]
    fn huge_times_hide_no_small_ones() {
        assert_eq!(loose(&[5.0, 1e20, 5.0]).price(&[1.0; 3], 10.0).best(), 2.0);
        assert_eq!(loose(&[5e-6, 1e14, 5e-6]).price(&[1.0; 3], 1e-5).best(), 2.0);
    }

    #[test]
    fn rough_cells_raise_the_bound_by_what_they_round_off() {
        let times: Vec<f64> = (0..10).map(|u| f64::from(u * 7919 % 997 + 3) / 10_000.0).collect();
        let profit: Vec<f64> = (0..10).map(|u| f64::from(u * 7 % 5 + 1)).collect();
        let sum = |values: &[f64], units: &[usize]| units.iter().map(|&u| values[u]).sum::<f64>();
        let most = |target: f64| {
            let fitting = sets(10).filter(|units| sum(&times, units) <= target);
            fitting.map(|units| sum(&profit, &units)).fold(0.0, f64::max)
        };
        let mut fine = loose(&times);
        fine.cell /= 1_000.0;
        let mut fine = LinePricer::of(fine.sweep, fine.cell);
        for target in [0.03, 0.1, 0.15, 0.3] {
            let mut rough = fine.rough(target);
            assert!(rough.capacity(target) >= ROUGH_CELLS && rough.capacity(target) < 2.0 * ROUGH_CELLS);
            let (upper, exact) = (rough.price(&profit, target).upper, most(target));
            let most_rough = most(target + 10.0 * rough.cell);
            assert!(upper >= exact && upper <= most_rough + 1e-4, "{target}: {exact}, {upper}, {most_rough}");
            assert!(fine.price(&profit, target).upper >= exact);
        }
    }

    #[test]
    fn profits_that_cannot_be_counted_are_not_bounded() {
        let mut line = loose(&[1.0, 2.0]);
        for profit in [[f64::MAX; 2], [1.0, f64::NAN], [1.0, f64::INFINITY], [f64::from_bits(1), 0.0]] {
            assert_eq!(line.price(&profit, 3.0), Priced { upper: f64::MAX, sets: Vec::new() }, "{profit:?}");
        }
        assert_eq!(line.price(&[0.0; 2], 3.0), Priced::default());
    }

    proptest! {
        /// For each kind of device, with hubs and without, and with profits below zero.
        #[test]
        fn prices_are_those_of_enumeration(
            instance in instances(),
            is_convex: bool,
            most_pins in prop_oneof![Just(2), Just(6)],
            profit in vec(-9..=9i32, 6),
            target in 0..30u32,
        ) {
            let problem = problem(&instance, is_convex);
            let unordered = Unordered::new(&problem);
            let setting = Setting::new(&problem, &unordered);
            let devices = Devices::new(&setting, &SearchContext::new()).unwrap();
            let (count, target) = (setting.unit_count(), f64::from(target));
            let profit: Vec<f64> = profit.into_iter().take(count).map(f64::from).collect();
            let earned = |units: &[usize]| units.iter().map(|&u| profit[u]).sum::<f64>();
            let is_on_lattice = instance.nodes.iter().all(|node| node.transfer_time.fract() == 0.0);
            for (number, kind) in unordered.units.kinds.iter().enumerate() {
                let is_set = |units: &[usize]| {
                    let device_of = (0..count).map(|u| u32::from(!units.contains(&u))).collect();
                    let is_allowed = units.iter().all(|&u| kind.times[u].is_some());
                    is_allowed && setting.is_convex(&Assignment { device_of }, 0)
                };
                let fitting = sets(count).filter(|units| is_set(units) && devices.load(number, units) <= target);
                let most = fitting.map(|units| earned(&units)).fold(0.0, f64::max);
                let resources = Resource::of(&unordered.units, kind);
                let network = Network::new(&unordered, &|u| kind.times[u].is_some(), &resources[..1], most_pins);
                let Some(mut line) = LinePricer::new(&network, &resources[0].unit) else { continue };
                let priced = line.price(&profit, target);
                prop_assert!(priced.upper >= most, "{} is below {most}", priced.upper);
                if is_on_lattice {
                    prop_assert!(priced.upper <= most + 1e-4, "{} is above {most}", priced.upper);
                    prop_assert_eq!(priced.best(), most);
                }
                for set in &priced.sets {
                    prop_assert!(is_set(&set.units) && set.profit == earned(&set.units), "{:?}", set);
                    prop_assert!(!is_on_lattice || devices.load(number, &set.units) <= target, "{:?}", set);
                }
            }
        }
    }
}
