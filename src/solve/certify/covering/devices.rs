//! The kinds of devices, what limits the sets they hold, and a pricer for each.

use super::super::assignment::Setting;
use super::super::pricing::{
    INSIDE, LinePricer, MOST_PINS, Network, Plan, Pricer, Pricing, Resource, closing, narrow, width,
};
use crate::cost::MAX_PIECES;
use crate::solve::SearchContext;

/// A decision of branch and price on which splits a node of its tree still holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Decision {
    /// Both units share a device.
    Together(usize, usize),
    /// The units are on different devices.
    Apart(usize, usize),
    /// The unit is on a device of this kind.
    On(usize, usize),
    /// The unit is on no device of this kind.
    NotOn(usize, usize),
}

impl Decision {
    /// Whether a device of this kind may hold these units, ascending, and no others.
    pub fn allows(&self, kind: usize, units: &[usize]) -> bool {
        let holds = |u: &usize| units.binary_search(u).is_ok();
        match self {
            Self::Together(u, v) => holds(u) == holds(v),
            Self::Apart(u, v) => !(holds(u) && holds(v)),
            Self::On(u, on) => kind == *on || !holds(u),
            Self::NotOn(u, not_on) => kind != *not_on || !holds(u),
        }
    }
}

/// One pricer for each kind of device.
pub type Pricers = Vec<Box<dyn Pricing>>;

/// The kinds of devices.
pub struct Devices<'a> {
    setting: &'a Setting<'a>,
    /// How many devices of each kind are of use.
    pub counts: Vec<usize>,
    resources: Vec<Vec<Resource>>,
    /// The most pins of a net without a hub, by kind: what makes the smallest tables.
    most_pins: Vec<usize>,
    /// The same for lines: what makes the narrowest ones.
    most_pins_of_lines: Vec<usize>,
    /// Whether some kind's memory counts, or would if it had not been left out.
    has_limits: bool,
}

impl<'a> Devices<'a> {
    /// The kinds of `setting`; `None` where the graph is too wide for the pricing of one of them.
    pub fn new(setting: &'a Setting<'a>, cx: &SearchContext) -> Option<Self> {
        let units = &setting.unordered.units;
        Self::of(setting, units.kinds.iter().map(|kind| Resource::of(units, kind)).collect(), cx)
    }

    /// The same with as much memory as anyone may want, where there are limits: what no split of these is below, none at
    /// all is. Sets are priced many times as quickly, and more exactly, by their load alone. `None` without limits.
    pub fn without_limits(&self, cx: &SearchContext) -> Option<Self> {
        let mut resources = self.resources.clone();
        resources.iter_mut().for_each(|kind| kind.retain(|resource| resource.capacity.is_none()));
        let free = (resources != self.resources).then(|| Self::of(self.setting, resources, cx)).flatten()?;
        Some(Self { has_limits: true, ..free })
    }

    /// The bytes of each unit on devices of a kind, and what one has room for; `None` where that never counts.
    pub fn memory(&self, kind: usize) -> Option<(&[f64], f64)> {
        self.resources[kind].iter().find_map(|resource| Some((&resource.unit[..], resource.capacity?)))
    }

    /// Whether devices of a kind pay nothing for what they send and receive.
    pub fn pays_no_nets(&self, kind: usize) -> bool {
        let load = &self.resources[kind][0];
        load.net_out.iter().chain(&load.net_in).all(|&time| time == 0.0)
    }

    /// What a unit takes of a load on a device of this kind at least; `None` where it cannot run there.
    pub fn time(&self, kind: usize, unit: usize) -> Option<f64> {
        self.setting.unordered.units.kinds[kind].times[unit].map(|_| self.resources[kind][0].unit[unit])
    }

    /// Whether some kind's memory counts.
    pub fn limit_memory(&self) -> bool {
        (0..self.counts.len()).any(|kind| self.memory(kind).is_some())
    }

    fn of(setting: &'a Setting<'a>, resources: Vec<Vec<Resource>>, cx: &SearchContext) -> Option<Self> {
        let units = &setting.unordered.units;
        let counts = units.kinds.iter().map(|kind| kind.count.min(units.unit_count().max(1))).collect();
        let has_limits = resources.iter().flatten().any(|resource| resource.capacity.is_some());
        let (most_pins, most_pins_of_lines) = (Vec::new(), Vec::new());
        let mut devices = Self { setting, counts, resources, most_pins, most_pins_of_lines, has_limits };
        for kind in 0..devices.counts.len() {
            let entries = |pins: &usize| Some((devices.pricer(kind, &[], *pins, cx)?.entry_count(), *pins));
            let (_, pins) = MOST_PINS.iter().filter_map(entries).min()?;
            let arcs = |pins: &usize| Some((devices.line(kind, &[], *pins)?.arcs(), *pins));
            let of_lines = MOST_PINS.iter().filter_map(arcs).min().map_or(pins, |(_, pins)| pins);
            devices.most_pins.push(pins);
            devices.most_pins_of_lines.push(of_lines);
        }
        Some(devices)
    }

    /// The units and devices.
    pub fn setting(&self) -> &'a Setting<'a> {
        self.setting
    }

    /// Pricers of the sets that obey the decisions; `None` where the decisions make the graph too wide.
    pub fn pricers(&self, decisions: &[Decision], cx: &SearchContext) -> Option<Pricers> {
        (0..self.counts.len()).map(|kind| self.pricer(kind, decisions, self.most_pins[kind], cx)).collect()
    }

    fn pricer(&self, kind: usize, decisions: &[Decision], pins: usize, cx: &SearchContext) -> Option<Box<dyn Pricing>> {
        match self.resources[kind].len() {
            1 => self.pricer_of::<1>(kind, decisions, pins, cx),
            2 => self.pricer_of::<2>(kind, decisions, pins, cx),
            3 => self.pricer_of::<3>(kind, decisions, pins, cx),
            4 => self.pricer_of::<4>(kind, decisions, pins, cx),
            // More than is usual: as much as there may be at most, of which some is never used up.
            _ => self.pricer_of::<{ MAX_PIECES + 1 }>(kind, decisions, pins, cx),
        }
    }

    fn pricer_of<const D: usize>(
        &self,
        kind: usize,
        decisions: &[Decision],
        pins: usize,
        cx: &SearchContext,
    ) -> Option<Box<dyn Pricing>> {
        let mut resources = self.resources[kind].clone();
        resources.resize(D, Resource::unused(&self.setting.unordered.units));
        let network = self.network::<D>(kind, decisions, &resources, pins);
        let plan = Plan::new(&network, MAX_ENTRIES, &|| cx.should_stop())?;
        let pricer = Pricer::new(plan, std::array::from_fn(|r| resources[r].capacity), MAX_LABELS);
        Some(Box::new(pricer.with_lattice(&resources[0].unit)))
    }

    /// The sets of a kind that consume `resources` and obey the decisions.
    fn network<const D: usize>(
        &self,
        kind: usize,
        decisions: &[Decision],
        resources: &[Resource],
        pins: usize,
    ) -> Network<D> {
        let costs = &self.setting.unordered.units.kinds[kind];
        let forbids = |decision: &Decision, unit: usize| match *decision {
            Decision::On(u, other) => u == unit && other != kind,
            Decision::NotOn(u, other) => u == unit && other == kind,
            Decision::Together(..) | Decision::Apart(..) => false,
        };
        let can_hold = |u: usize| costs.times[u].is_some() && !decisions.iter().any(|decision| forbids(decision, u));
        let mut network = Network::<D>::new(self.setting.unordered, &can_hold, resources, pins);
        for decision in decisions {
            match *decision {
                Decision::Together(u, v) => {
                    network.add(vec![u, v], |x| ((x[0] == INSIDE) == (x[1] == INSIDE)).then_some([0.0; D]));
                }
                Decision::Apart(u, v) => {
                    network.add(vec![u, v], |x| (x[0] != INSIDE || x[1] != INSIDE).then_some([0.0; D]));
                }
                Decision::On(..) | Decision::NotOn(..) => {}
            }
        }
        network
    }

    /// A pricer along a line for each kind, by load and memory; `None` where a load has several pieces, nothing takes time, or
    /// the graph is far from a chain.
    pub fn lines(&self, decisions: &[Decision], cx: &SearchContext) -> Option<Vec<LinePricer>> {
        let line = |kind: usize| self.line(kind, decisions, self.most_pins_of_lines[kind]);
        let has_work = self.work().iter().any(|&work| work > 0.0);
        let has_time = !cx.should_stop();
        (has_work && has_time).then(|| (0..self.counts.len()).map(line).collect()).flatten()
    }

    fn line(&self, kind: usize, decisions: &[Decision], pins: usize) -> Option<LinePricer> {
        let resources = match &self.resources[kind][..] {
            [load] => [load.clone(), Resource::unused(&self.setting.unordered.units)],
            [load, memory] if memory.capacity.is_some() => [load.clone(), memory.clone()],
            _ => return None,
        };
        let network = self.network(kind, decisions, &resources, pins);
        let line = LinePricer::new(&network, &resources[0].unit, resources[1].capacity)?;
        // Convex sets of ResNet50's layers take a third longer to prove in such cells.
        let divides = self.has_limits && self.setting.unordered.order.is_none();
        Some(if divides { line.dividing(&network) } else { line })
    }

    /// The units in an order that leaves few of them tied to later ones, for the kind whose pricing takes most: the narrower
    /// one of two.
    pub fn narrow_order(&self) -> Vec<usize> {
        let costs = |kind: usize| (self.resources[kind][0].net_out.iter().sum::<f64>(), kind);
        let kind = (0..self.counts.len()).map(costs).max_by(|a, b| a.0.total_cmp(&b.0)).map_or(0, |(_, kind)| kind);
        let network = Network::new(self.setting.unordered, &|_| true, &self.resources[kind][..1], self.most_pins[kind]);
        let mut order = narrow::<1>(&network);
        order.retain(|&variable| variable < network.units);
        let nets = self.setting.unordered.units.nets.iter();
        let edges = self
            .setting
            .unordered
            .order
            .iter()
            .flat_map(|order| order.edges.iter().map(|&(a, b)| vec![order.group_of[a], order.group_of[b]]));
        let nets = nets.map(|net| net.pins.iter().map(|&u| u as usize).collect());
        let ties: Vec<Vec<usize>> = nets.chain(edges.filter(|ends| ends[0] != ends[1])).collect();
        let closing = closing(network.units, &ties);
        if width(&closing, &ties) < width(&order, &ties) { closing } else { order }
    }

    /// The load of a device of this kind that holds `units`, ascending.
    pub fn load(&self, kind: usize, units: &[usize]) -> f64 {
        let holds = |u: u32| units.binary_search(&(u as usize)).is_ok();
        let nets = &self.setting.unordered.units.nets;
        let mut crossed: Vec<usize> = Vec::new();
        for &u in units {
            let around = self.setting.unordered.units.nets_of.row(u).iter().map(|&e| e as usize);
            crossed.extend(around.filter(|&e| !nets[e].pins.iter().all(|&v| holds(v))));
        }
        crossed.sort_unstable();
        crossed.dedup();
        let consumption = |resource: &Resource| {
            let cut = |&e: &usize| if holds(nets[e].source) { resource.net_out[e] } else { resource.net_in[e] };
            units.iter().map(|&u| resource.unit[u]).sum::<f64>() + crossed.iter().map(cut).sum::<f64>()
        };
        let pieces = self.resources[kind].iter().filter(|resource| resource.capacity.is_none());
        pieces.map(consumption).fold(0.0, f64::max)
    }

    /// A load that no device exceeds, whatever it holds.
    pub fn ceiling(&self) -> f64 {
        let all = |values: &[f64]| values.iter().sum::<f64>();
        let most = |r: &Resource| all(&r.unit) + all(&r.net_out) + all(&r.net_in);
        self.resources.iter().flatten().filter(|r| r.capacity.is_none()).map(most).fold(f64::MIN_POSITIVE, f64::max)
    }

    /// The least time of each unit on the kinds of devices that can run it: profits to start from.
    pub fn work(&self) -> Vec<f64> {
        let longest = |kind: &[Resource], u: usize| kind.iter().map(|r| r.unit[u]).fold(0.0, f64::max);
        let kinds = || self.resources.iter().zip(&self.setting.unordered.units.kinds);
        let times = |u: usize| {
            kinds().filter(move |(_, costs)| costs.times[u].is_some()).map(move |(kind, _)| longest(kind, u))
        };
        let least = |u: usize| times(u).min_by(f64::total_cmp).unwrap_or_default();
        (0..self.setting.unit_count()).map(least).collect()
    }
}

/// The most entries of a pricer's tables.
const MAX_ENTRIES: usize = 1 << 20;

/// The most labels of a pricer's fronts.
const MAX_LABELS: usize = 4_000_000;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cost::{CostModel, Costs, Piece, ProfiledCost};
    use crate::instance::{Edge, Instance, Node, Platform};
    use crate::preprocess::Unordered;
    use crate::problem::{Problem, ProblemSpec, Scope};
    use crate::solve::certify::pricing::{Profits, Rounding};

    /// `n` nodes whose times and transfer times come from a mixed counter, for one accelerator; edges join node v to
    /// the nodes at these distances.
    fn problem(n: u64, distances: &[u64]) -> Problem {
        arbitrary(&instance(n, distances))
    }

    fn arbitrary(instance: &Instance) -> Problem {
        let spec = ProblemSpec { scope: Scope::Arbitrary, ..ProblemSpec::of(instance) };
        Problem::new(instance, spec).unwrap()
    }

    fn instance(n: u64, distances: &[u64]) -> Instance {
        let mixed = |v: u64, most: u64| (v.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40) % most;
        let node = |v| Node {
            accelerator_times: vec![Some((1 + mixed(v, 9)) as f64)],
            transfer_time: mixed(v + 100, 4) as f64,
            ..Node::new(v)
        };
        let edges = |v: u64| distances.iter().map(move |d| Edge { source: v, target: v + d }).filter(|e| e.target < n);
        Instance {
            platform: Platform::uniform(1, None, 0),
            nodes: (0..n).map(node).collect(),
            edges: (0..n).flat_map(edges).collect(),
            ..Instance::default()
        }
    }

    /// What the pricer of the only kind says of these profits with this rounding.
    fn best(devices: &Devices, profit: &[f64], target: f64, rounding: Rounding) -> f64 {
        let mut pricers = devices.pricers(&[], &SearchContext::new()).unwrap();
        let query = Profits { profit, target, threshold: 0.0, rounding };
        let priced = pricers[0].search(query, &SearchContext::new()).expect("few labels");
        let is_real = |set: &crate::solve::certify::pricing::PricedSet| {
            let worth = set.units.iter().map(|&u| profit[u]).sum::<f64>();
            let fits = |memory: &Resource| {
                memory.capacity.is_none_or(|most| set.units.iter().map(|&u| memory.unit[u]).sum::<f64>() <= most)
            };
            worth == set.profit && devices.load(0, &set.units) <= target && devices.resources[0].iter().all(fits)
        };
        assert!(priced.sets.iter().all(is_real), "{priced:?}");
        // The best set is among the few that are handed on.
        let is_found = (priced.best() - priced.upper).abs() <= 1e-8 * priced.upper;
        assert!(rounding != Rounding::Exact || is_found, "{target}: {priced:?}");
        priced.upper
    }

    /// Four branches of three nodes each from one concatenation to the next.
    fn branches(blocks: u64) -> Instance {
        let node = |v| Node { accelerator_times: vec![Some(1.0)], transfer_time: 1.0, ..Node::new(v) };
        let first = |block: u64| block * 13;
        let of_branch = |(block, branch): (u64, u64)| {
            let ends = [first(block), first(block) + 3 * branch + 1, first(block) + 3 * branch + 2];
            let targets = [ends[1], ends[2], ends[2] + 1, first(block + 1)];
            [ends[0], ends[1], ends[2], ends[2] + 1].into_iter().zip(targets)
        };
        let edges = (0..blocks).flat_map(|block| (0..4).map(move |branch| (block, branch))).flat_map(of_branch);
        Instance {
            platform: Platform::uniform(2, None, 0),
            nodes: (0..=first(blocks)).map(node).collect(),
            edges: edges.map(|(source, target)| Edge { source, target }).collect(),
            ..Instance::default()
        }
    }

    #[test]
    fn lines_have_hubs_that_make_them_narrow() {
        let problem = arbitrary(&branches(4));
        let unordered = Unordered::new(&problem);
        let setting = Setting::new(&problem, &unordered);
        let devices = Devices::new(&setting, &SearchContext::new()).unwrap();
        let arcs = |pins| devices.line(0, &[], pins).map(|line| line.arcs());
        let chosen = devices.lines(&[], &SearchContext::new()).expect("a narrow graph")[0].arcs();
        assert_eq!(MOST_PINS.iter().filter_map(|&pins| arcs(pins)).min(), Some(chosen));
        // Elimination has smaller tables with other hubs, along which lines are wide.
        assert!(arcs(devices.most_pins[0]).is_none_or(|arcs| arcs > chosen));
    }

    #[test]
    fn prices_are_those_of_enumeration() {
        let problem = problem(9, &[1, 3]);
        let unordered = Unordered::new(&problem);
        let setting = Setting::new(&problem, &unordered);
        let devices = Devices::new(&setting, &SearchContext::new()).unwrap();
        let profit: Vec<f64> = (0..9).map(|u| f64::from(u * 7 % 5 + 1)).collect();
        for target in (4..40).map(f64::from) {
            let sets = (0..1u32 << 9).map(|bits| (0..9).filter(|u| bits >> u & 1 == 1).collect::<Vec<usize>>());
            let fitting = sets.filter(|units| devices.load(0, units) <= target);
            let most = fitting.map(|units| units.iter().map(|&u| profit[u]).sum()).fold(0.0, f64::max);
            let exact = best(&devices, &profit, target, Rounding::Exact);
            assert!((exact - most).abs() <= 1e-8 * most, "{target}: {exact}, by enumeration {most}");
            for rounding in [Rounding::Optimistic(4), Rounding::Thinned(2)] {
                assert!(best(&devices, &profit, target, rounding) >= most, "{target}, {rounding:?}");
            }
            let lattice = best(&devices, &profit, target, Rounding::Lattice(4));
            assert!((lattice - most).abs() <= 1e-6 * most, "{target}: {lattice} on the lattice, by enumeration {most}");
            let line =
                devices.lines(&[], &SearchContext::new()).expect("so narrow a graph").remove(0).price(&profit, target);
            assert!((line.upper - most).abs() <= 1e-6 * most, "{target}: {} along the line, not {most}", line.upper);
            assert_eq!(line.best(), most);
            assert!(line.sets.iter().all(|set| devices.load(0, &set.units) <= target), "{:?}", line.sets);
        }
    }

    /// Few units of much memory: what they earn within a limit, and without one, which is never less.
    #[test]
    fn prices_with_memory_are_those_of_enumeration() {
        let memory = |u: usize| (u * 37 % 11 + 3) as f64;
        // Where units earn what they take of the memory, sets that fill it earn more than the few of the largest loads.
        let profits = [(0..9).map(|u| (u * 7 % 5 + 1) as f64).collect(), Vec::from_iter((0..9).map(memory))];
        let mut are_limited = 0;
        for limit in (10..60).step_by(3).map(f64::from) {
            let mut instance = instance(9, &[1, 3]);
            instance.nodes.iter_mut().enumerate().for_each(|(u, node)| node.memory = memory(u));
            instance.platform.accelerators[0].memory = Some(limit);
            let problem = arbitrary(&instance);
            let unordered = Unordered::new(&problem);
            let setting = Setting::new(&problem, &unordered);
            let cx = SearchContext::new();
            let devices = Devices::new(&setting, &cx).unwrap();
            let free = devices.without_limits(&cx);
            assert_eq!(free.is_some(), limit < (0..9).map(memory).sum());
            let targets = (10..40).step_by(5).map(f64::from);
            for (target, profit) in targets.flat_map(|target| profits.iter().map(move |profit| (target, profit))) {
                let sets = (0..1u32 << 9).map(|bits| (0..9).filter(|u| bits >> u & 1 == 1).collect::<Vec<usize>>());
                let within = |units: &Vec<usize>| devices.load(0, units) <= target;
                let fits = |units: &Vec<usize>| units.iter().map(|&u| memory(u)).sum::<f64>() <= limit;
                let worth = |units: Vec<usize>| units.iter().map(|&u| profit[u]).sum::<f64>();
                let most = sets.clone().filter(within).filter(fits).map(worth).fold(0.0, f64::max);
                let without = sets.filter(within).map(worth).fold(0.0, f64::max);
                are_limited += usize::from(most < without);
                let exact = |devices: &Devices| best(devices, profit, target, Rounding::Exact);
                let near = |found: f64, most: f64| (found - most).abs() <= 1e-8 * most;
                assert!(near(exact(&devices), most), "{target}, {limit}: by enumeration {most}");
                assert!(free.iter().all(|free| near(exact(free), without)), "{target}, {limit}: {without} without");
                for rounding in [Rounding::Optimistic(1), Rounding::Optimistic(4), Rounding::Lattice(4)] {
                    assert!(best(&devices, profit, target, rounding) >= most, "{target}, {limit}, {rounding:?}");
                }
            }
        }
        assert!(are_limited > 70, "{are_limited}");
    }

    /// More pieces of a load than pricers are made to measure for, with a memory limit and without it.
    #[test]
    fn loads_of_many_pieces_are_priced_with_and_without_limits() {
        let mut instance = instance(7, &[1, 3]);
        instance.nodes.iter_mut().enumerate().for_each(|(u, node)| node.memory = (u * 5 % 7 + 1) as f64);
        instance.platform.accelerators[0].memory = Some(9.0);
        let spec = ProblemSpec { scope: Scope::Arbitrary, ..ProblemSpec::of(&instance) };
        let problem = Problem::with_costs(&instance, spec, &ManyPieces).unwrap();
        let unordered = Unordered::new(&problem);
        let setting = Setting::new(&problem, &unordered);
        let devices = Devices::new(&setting, &SearchContext::new()).unwrap();
        let free = devices.without_limits(&SearchContext::new()).unwrap();
        let profit: Vec<f64> = (0..7).map(|u| f64::from(u * 7 % 5 + 1)).collect();
        for target in (10..60).step_by(5).map(f64::from) {
            for devices in [&devices, &free] {
                let sets = (0..1u32 << 7).map(|bits| (0..7).filter(|u| bits >> u & 1 == 1).collect::<Vec<usize>>());
                let within = |units: &Vec<usize>| devices.load(0, units) <= target;
                let fits = |units: &Vec<usize>| {
                    let mut limits = devices.resources[0].iter().filter_map(|r| Some((&r.unit, r.capacity?)));
                    limits.all(|(unit, most)| units.iter().map(|&u| unit[u]).sum::<f64>() <= most)
                };
                let worth = |units: Vec<usize>| units.iter().map(|&u| profit[u]).sum::<f64>();
                let most = sets.filter(within).filter(fits).map(worth).fold(0.0, f64::max);
                assert!((best(devices, &profit, target, Rounding::Exact) - most).abs() <= 1e-8 * most, "{target}");
            }
        }
    }

    /// Profiled costs whose load has as many pieces as may be.
    #[derive(Debug)]
    struct ManyPieces;

    impl CostModel for ManyPieces {
        fn costs(&self, instance: &Instance, spec: &ProblemSpec) -> Costs {
            let mut costs = ProfiledCost.costs(instance, spec);
            let share = |piece: usize| piece as f64 / MAX_PIECES as f64;
            let piece = |number: usize| Piece::new(share(number), 1.0 - share(number), 0.5);
            costs.kinds[0].pieces = (1..=MAX_PIECES).map(piece).collect();
            costs
        }
    }

    #[test]
    fn decisions_leave_the_sets_that_obey_them() {
        let problem = problem(8, &[1, 3]);
        let unordered = Unordered::new(&problem);
        let setting = Setting::new(&problem, &unordered);
        let devices = Devices::new(&setting, &SearchContext::new()).unwrap();
        // Each unit's profit is a power of two, so that a sum of profits tells the set.
        let profit: Vec<f64> = (0..8).map(|u| f64::from(1u32 << u)).collect();
        let obeys = |decision: &Decision, units: &[usize]| match decision {
            Decision::Together(u, v) => units.contains(u) == units.contains(v),
            Decision::Apart(u, v) => !(units.contains(u) && units.contains(v)),
            Decision::On(..) => true,
            Decision::NotOn(u, _) => !units.contains(u),
        };
        let pairs = (0..8).flat_map(|u| (0..u).map(move |v| (u, v)));
        let parted = pairs.flat_map(|(u, v)| [Decision::Together(u, v), Decision::Apart(u, v)]);
        let placed = (0..8).flat_map(|u| [Decision::On(u, 0), Decision::NotOn(u, 0)]);
        for decision in parted.chain(placed) {
            let decisions = [decision, Decision::Apart(2, 5)];
            for target in [6.0, 14.0, devices.ceiling()] {
                let mut pricers = devices.pricers(&decisions, &SearchContext::new()).unwrap();
                let query = Profits { profit: &profit, target, threshold: 0.0, rounding: Rounding::Exact };
                let priced = pricers[0].search(query, &SearchContext::new()).expect("few labels");
                let sets = (0..1u32 << 8).map(|bits| (0..8).filter(|u| bits >> u & 1 == 1).collect::<Vec<usize>>());
                let allowed =
                    sets.filter(|set| devices.load(0, set) <= target && decisions.iter().all(|d| obeys(d, set)));
                let most = allowed.map(|set| set.iter().map(|&u| profit[u]).sum()).fold(0.0, f64::max);
                assert!(
                    (priced.upper - most).abs() <= 1e-8 * most,
                    "{decisions:?}, {target}: {}, {most}",
                    priced.upper
                );
                assert!(priced.sets.iter().all(|set| decisions.iter().all(|d| obeys(d, &set.units))), "{decisions:?}");
            }
        }
    }

    #[test]
    fn many_units_without_nets_are_priced_one_after_another() {
        let problem = problem(60, &[]);
        let unordered = Unordered::new(&problem);
        let setting = Setting::new(&problem, &unordered);
        let devices = Devices::new(&setting, &SearchContext::new()).unwrap();
        let profit: Vec<f64> = (0..60).map(|u| f64::from(u * 37 % 11 + 1)).collect();
        // A knapsack: the largest profit by load.
        let mut most = vec![0.0f64; 101];
        for (u, profit) in profit.iter().enumerate() {
            let time = devices.load(0, &[u]) as usize;
            (time..=100).rev().for_each(|load| most[load] = most[load].max(most[load - time] + profit));
        }
        let exact = best(&devices, &profit, 100.0, Rounding::Exact);
        assert!((exact - most[100]).abs() <= 1e-8 * most[100], "{exact}, by the knapsack {}", most[100]);
        let lattice = best(&devices, &profit, 100.0, Rounding::Lattice(4));
        assert!((lattice - most[100]).abs() <= 1e-6 * most[100], "{lattice}, by the knapsack {}", most[100]);
    }
}
