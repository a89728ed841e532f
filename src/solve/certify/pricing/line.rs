//! Pricing along a line: next to exact, and quick where the graph is nearly a chain.

use super::cell_size::{Costs, cell_of};
use super::grains::Grains;
use super::network::Network;
use super::order::narrow;
use super::prospects::Known;
use super::rows::{Cells, LOAD, MEMORY};
use super::sweep::{Arc, End, Limit, Sweep, Tables};
use super::{Priced, PricedSet, ROOM};

/// Prices the sets of one kind of device by a [`Sweep`].
///
/// Loads are rounded down to whole cells, as on the [lattice](super::lattice), and so is memory where it is limited, so that
/// the bound holds. The sets found may be too long or too large by what was rounded off.
pub struct LinePricer {
    pub(super) sweep: Sweep<2>,
    cell: f64,
    /// What nets cost, where rough cells are to divide that.
    costs: Option<Costs>,
    /// A device's, where it is limited.
    pub(super) memory: Option<f64>,
    tables: Tables,
    /// What may be found where memory counts.
    known: Known,
    /// Sums of an entry and an arc so far.
    sums: usize,
}

impl LinePricer {
    /// A pricer of the sets of `network`, which consume load and, where a device has so much `memory`, that; `None` where no
    /// unit takes time, or where too many variables depend on one another in every order tried.
    pub fn new(network: &Network<2>, times: &[f64], memory: Option<f64>) -> Option<Self> {
        Some(Self::of(Sweep::new(network, &narrow(network))?, cell_of(times)?, None, memory))
    }

    /// The same whose rough cells divide what the nets of its network cost.
    pub fn dividing(self, network: &Network<2>) -> Self {
        let nets = network.factors.iter().filter(|factor| factor.scope.len() > 1);
        let costs = nets.map(|factor| factor.costs.iter().flatten().map(|used| used[LOAD]).fold(0.0, f64::max));
        Self { costs: Some(Costs::of(costs)), ..self }
    }

    fn of(sweep: Sweep<2>, cell: f64, costs: Option<Costs>, memory: Option<f64>) -> Self {
        let size = memory.map_or(f64::MAX, |memory| (memory / MEMORY_CELLS).max(f64::MIN_POSITIVE));
        Self {
            sweep: sweep.counted(LOAD, cell, LOAD).counted(MEMORY, size, MEMORY),
            cell,
            costs,
            memory,
            tables: Tables::default(),
            known: Known::default(),
            sums: 0,
        }
    }

    /// The same in larger cells of load, about so many for this one, so that it is quicker and bounds hold less tightly.
    pub fn rough(&self, target: f64, loads: f64) -> Self {
        let most = target * ROOM / loads;
        let whole = (most / self.cell).floor().max(1.0);
        let cell = match &self.costs {
            Some(costs) if whole > 1.0 => costs.cell(most),
            _ => self.cell * whole,
        };
        Self::of(self.sweep.clone(), cell, self.costs.clone(), self.memory)
    }

    pub(super) fn capacity(&self, target: f64) -> Cells {
        [self.sweep.capacity(target * ROOM / self.cell, LOAD), self.memory_cells()]
    }

    /// Whether memory is limited.
    pub fn counts_memory(&self) -> bool {
        self.memory.is_some()
    }

    fn memory_cells(&self) -> usize {
        self.memory.map_or(0, |_| self.sweep.capacity(MEMORY_CELLS * ROOM, MEMORY))
    }

    /// No device that holds the unit has a smaller load, by unit of so many; infinity where none can hold it.
    pub fn least_loads(&self, units: usize) -> Vec<f64> {
        let mut least = vec![f64::INFINITY; units];
        for (step, load) in self.sweep.steps.iter().zip(self.sweep.least_loads(self.memory_cells())) {
            if let Some(least) = least.get_mut(step.variable) {
                *least = load / ROOM;
            }
        }
        least
    }

    /// Expects sets that earn about as much as these.
    pub fn expect(&mut self, sets: impl Iterator<Item = Vec<usize>>) {
        if self.counts_memory() {
            self.known.add(sets);
        }
    }

    /// How many arcs a set's way along the line may take in all.
    pub fn arcs(&self) -> usize {
        self.sweep.arcs()
    }

    /// How many sums pricing has taken so far.
    pub fn sums(&self) -> usize {
        self.sums
    }

    /// How many sums it takes to price devices of this load; `None` where that is not quick.
    pub fn effort(&self, target: f64) -> Option<usize> {
        let capacity = self.capacity(target);
        if capacity[LOAD] > MOST_CELLS {
            return None;
        }
        let all = if self.counts_memory() { ALL_FOR_ONE_OF_USE } else { 1 };
        let limit = Limit { sums: LIMIT.sums * all, entries: LIMIT.entries * all };
        self.sweep.effort(capacity, limit).map(|sums| sums / all)
    }

    /// Bounds the profit of all sets under `target`, which has to be [quick](Self::effort), and finds the best and some
    /// good ones. Profits may be negative; where they are too many or too large to be counted, no set is found and the
    /// bound says nothing.
    pub fn price(&mut self, profit: &[f64], target: f64) -> Priced {
        let capacity = self.capacity(target);
        if profit.iter().all(|&profit| profit == 0.0) {
            return Priced::default();
        }
        let Some(grains) = Grains::new(&self.sweep, profit) else {
            return Priced { upper: f64::MAX, sets: Vec::new() };
        };
        let gain = |step: usize, arc: &Arc<2>| grains.gain(step, arc);
        let expected = self.known.best(&grains.of_unit);
        let mut prospects = expected.map(|_| self.sweep.prospects(capacity, gain));
        let leasts = expected.into_iter().flat_map(|best| NEARLY_BEST.map(|part| best - best / part));
        let ends = leasts.chain([i32::MIN]).find_map(|least| {
            prospects.iter_mut().for_each(|prospects| prospects.least = least);
            self.sums += self.sweep.fill(&mut self.tables, capacity, gain, prospects.as_ref());
            let ends = self.best_ends(capacity[LOAD] / SPREAD);
            (least == i32::MIN || ends.first().is_some_and(|end| end.gain >= least)).then_some(ends)
        });
        let ends = ends.unwrap_or_default();
        let upper = ends.first().map_or(0.0, |end| grains.profit(end.gain) * ROOM - grains.spared);
        let set = |&end: &End| {
            let units = self.units(end, profit.len());
            PricedSet { profit: units.iter().map(|&u| profit[u]).sum(), units }
        };
        let sets: Vec<PricedSet> = ends.iter().rev().map(set).collect();
        self.expect(sets.iter().map(|set| set.units.clone()));
        Priced { upper: upper.max(0.0), sets }
    }

    /// The ends of most profit, the best one first, each of a load further from the others than `distance` cells.
    fn best_ends(&self, distance: usize) -> Vec<End> {
        let mut best: Vec<End> = Vec::new();
        while best.len() < SETS {
            let is_new = |load: usize| best.iter().all(|known| known.load.abs_diff(load) > distance);
            let open = self.sweep.gains(&self.tables).filter(|end| end.gain > 0 && is_new(end.load));
            let Some(next) = open.max_by_key(|end| (end.gain, end.load)) else { break };
            best.push(next);
        }
        best
    }

    /// The units of the best set at this end, ascending.
    fn units(&self, end: End, count: usize) -> Vec<usize> {
        let inside = self.sweep.trace(&self.tables, end).filter(|(_, arc)| arc.is_inside());
        let mut units: Vec<usize> = inside.map(|(step, _)| step.variable).filter(|&v| v < count).collect();
        units.sort_unstable();
        units
    }
}

/// Cells of a device's memory.
const MEMORY_CELLS: f64 = 256.0;

/// The most cells of a device's load.
const MOST_CELLS: usize = 200_000;

/// How many sets are handed on.
const SETS: usize = 6;

/// Their loads differ by one part in so many of a device.
const SPREAD: usize = 600;

/// Where memory counts, sets are looked for that gain no less than the best one known by one part in so many, and where there
/// are none, as what is known need not fit, by more.
const NEARLY_BEST: [i32; 2] = [200, 8];

/// What is quick.
const LIMIT: Limit = Limit { sums: 1_200_000_000, entries: 400_000_000 };

/// Where memory counts, one in so many entries is within reach of a set that is as good as those known.
const ALL_FOR_ONE_OF_USE: usize = 10;

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
    use crate::solve::certify::samples::{instances, limit_memory, problem, sets};

    /// Units without nets.
    fn loose(times: &[f64]) -> LinePricer {
        let mut network = Network { domains: vec![2; times.len()], factors: Vec::new(), units: times.len() };
        for (v, &time) in times.iter().enumerate() {
            network.add(vec![v], |x| Some([if x[0] == 0 { 0.0 } else { time }, 0.0]));
        }
        LinePricer::new(&network, times, None).unwrap()
    }

    #[test]
    fn huge_times_hide_no_small_ones() {
        assert_eq!(loose(&[5.0, 1e20, 5.0]).price(&[1.0; 3], 10.0).best(), 2.0);
        assert_eq!(loose(&[5e-6, 1e14, 5e-6]).price(&[1.0; 3], 1e-5).best(), 2.0);
    }

    const ROUGH_CELLS: f64 = 4_000.0;

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
        let mut fine = LinePricer::of(fine.sweep, fine.cell, None, None);
        for target in [0.03, 0.1, 0.15, 0.3] {
            let mut rough = fine.rough(target, ROUGH_CELLS);
            let cells = rough.capacity(target)[LOAD] as f64;
            assert!((ROUGH_CELLS..2.0 * ROUGH_CELLS).contains(&cells));
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
        /// For each kind of device, with hubs and without, with a memory limit and without, in few cells and in all, and with profits
        /// below zero; and what the device of each unit has at least.
        #[test]
        fn prices_are_those_of_enumeration(
            mut instance in instances(),
            is_convex: bool,
            most_pins in prop_oneof![Just(2), Just(6)],
            profit in vec(-9..=9i32, 6),
            target in 0..30u32,
            limit in prop_oneof![Just(None), (3..30u32).prop_map(Some)],
            cells in prop_oneof![3 => Just(None), 1 => (2..12u32).prop_map(Some)],
        ) {
            limit_memory(&mut instance, limit.map(f64::from));
            let problem = problem(&instance, is_convex);
            let unordered = Unordered::new(&problem);
            let setting = Setting::new(&problem, &unordered);
            let devices = Devices::new(&setting, &SearchContext::new()).unwrap();
            let (count, target) = (setting.unit_count(), f64::from(target));
            let profit: Vec<f64> = profit.into_iter().take(count).map(f64::from).collect();
            let earned = |units: &[usize]| units.iter().map(|&u| profit[u]).sum::<f64>();
            let is_on_lattice = instance.nodes.iter().all(|node| {
                let times = node.accelerator_times.iter().chain([&node.cpu_time]).flatten();
                times.chain([&node.transfer_time]).all(|time| time.fract() == 0.0)
            });
            for (number, kind) in unordered.units.kinds.iter().enumerate() {
                let mut resources = Resource::of(&unordered.units, kind);
                let capacity = resources.get(1).and_then(|memory| memory.capacity);
                let is_exact = is_on_lattice && capacity.is_none();
                resources.resize(2, Resource::unused(&unordered.units));
                let fits = |units: &[usize]| {
                    capacity.is_none_or(|most| units.iter().map(|&u| kind.memory[u]).sum::<f64>() <= most)
                };
                let is_set = |units: &[usize]| {
                    let device_of = (0..count).map(|u| u32::from(!units.contains(&u))).collect();
                    let is_allowed = units.iter().all(|&u| kind.times[u].is_some());
                    is_allowed && setting.is_convex(&Assignment { device_of }, 0)
                };
                let valid: Vec<Vec<usize>> = sets(count).filter(|units| is_set(units) && fits(units)).collect();
                let fitting = valid.iter().filter(|units| devices.load(number, units) <= target);
                let most = fitting.map(|units| earned(units)).fold(0.0, f64::max);
                let network = Network::new(&unordered, &|u| kind.times[u].is_some(), &[resources[0].clone(), resources[1].clone()], most_pins);
                let Some(mut line) = LinePricer::new(&network, &resources[0].unit, capacity) else { continue };
                let least = line.least_loads(count);
                for (u, &least) in least.iter().enumerate() {
                    let loads = valid.iter().filter(|units| units.contains(&u)).map(|units| devices.load(number, units));
                    let exact = loads.fold(f64::INFINITY, f64::min);
                    prop_assert!(least <= exact, "{least} is above {exact} for {u}");
                    prop_assert!(capacity.is_some() || least >= exact / (1.0 + 1e-9), "{least} for {exact}");
                }
                // Where times are no decimals cells are too many for all but small targets.
                let is_exact = is_exact && line.effort(target).is_some() && cells.is_none();
                if let Some(cells) = cells {
                    line = line.dividing(&network).rough(target, f64::from(cells));
                } else if line.effort(target).is_none() {
                    line = line.rough(target, ROUGH_CELLS);
                }
                // What other profits and targets found may leave out nothing of use.
                let others: Vec<f64> = profit.iter().rev().copied().collect();
                for (profit, target) in [(&profit, target + 5.0), (&others, target), (&profit, target)] {
                    if line.effort(target).is_some() {
                        line.price(profit, target);
                    }
                }
                let priced = line.price(&profit, target);
                prop_assert!(priced.upper >= most, "{} is below {most}", priced.upper);
                if is_exact {
                    prop_assert!(priced.upper <= most + 1e-4, "{} is above {most}", priced.upper);
                    prop_assert_eq!(priced.best(), most);
                }
                for set in &priced.sets {
                    prop_assert!(is_set(&set.units) && set.profit == earned(&set.units), "{:?}", set);
                    prop_assert!(!is_exact || devices.load(number, &set.units) <= target, "{:?}", set);
                }
            }
        }
    }

    proptest! {
        /// Sets that are expected need not fit, nor earn what they did; bounds are the same, and so is the best set's profit.
        #[test]
        fn what_is_expected_changes_no_price(
            mut instance in instances(),
            profit in vec(-3..=9i32, 6),
            target in 1..30u32,
            limit in 3..30u32,
            expected in vec(0..64usize, 1..4),
        ) {
            limit_memory(&mut instance, Some(f64::from(limit)));
            let problem = problem(&instance, false);
            let (unordered, cx) = (Unordered::new(&problem), SearchContext::new());
            let setting = Setting::new(&problem, &unordered);
            let devices = Devices::new(&setting, &cx).unwrap();
            let profit: Vec<f64> = profit.into_iter().take(setting.unit_count()).map(f64::from).collect();
            let sets: Vec<Vec<usize>> = sets(profit.len()).collect();
            let lines = || devices.lines(&[], &cx).into_iter().flatten();
            for (mut alone, mut other) in lines().zip(lines()) {
                other.expect(expected.iter().map(|&number| sets[number % sets.len()].clone()));
                let target = f64::from(target);
                let (before, after) = (alone.price(&profit, target), other.price(&profit, target));
                prop_assert_eq!((before.upper, before.best()), (after.upper, after.best()));
                prop_assert!(alone.sums() > 0 || profit.iter().all(|&profit| profit == 0.0));
            }
        }
    }
}
