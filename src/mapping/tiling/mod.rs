//! Mappings that repeat one pipeline all over the topology.
//!
//! In a grid, or in nodes of equally many devices, the devices' numbers have digits, which are their coordinates. Some
//! of the digits tell apart the devices of a tile, the others the tiles. Where each tile takes a pipeline and all take it
//! the same way, the place of one pipeline on one tile and a ring over the tiles make the mapping. In large grids, where
//! messages alone count, tiles also take several pipelines, which fit into more shapes.

mod automorphisms;
mod group_action;
mod lattices;

use rand::rngs::Xoshiro256PlusPlus;
use rand::{RngExt, SeedableRng};

use super::annealing::Annealer;
use super::group_action::GroupAction;
use super::local::LocalCost;
use super::{Counted, Mapping, MappingProblem, MappingRace, StageCost, Topology};
use crate::solve::SearchContext;

/// The most devices that tilings are looked for among.
const LARGEST: usize = 1024;

/// Moves of annealing for each device of a tile.
const MOVES: u64 = 2000;

/// The most devices of a tile that takes several pipelines, and the fewest of a grid for which there are such: searches
/// close smaller ones sooner.
const LARGE: usize = 64;
const FEWEST: usize = 128;

/// How often links of a ring are exchanged at random, and how many pairs of links may be looked at for it, about.
const KICKS: usize = 500;
const KICKED: usize = 1 << 23;

/// How many tilings, and group actions, are tried.
const TILINGS: usize = 6;
const LARGE_TILINGS: usize = 2;
const ACTIONS: usize = 16;

/// Offers mappings that repeat one pipeline or a few, until the best mapping is no longer than the bound, or a limit comes.
pub fn tile(problem: &MappingProblem, race: &mut MappingRace) {
    repeat(problem, Tiling::all(problem).iter().take(TILINGS), race, Tiling::mapping);
    // Without messages nothing ties the rings of different stages together.
    if race.is_within(0.0) || !problem.cost.counted.messages() {
        return;
    }
    let actions = GroupAction::smallest(problem, race.cx);
    repeat(problem, actions.iter().take(ACTIONS), race, |action, _, bound, cx| action.mapping(bound, cx));
    repeat(problem, Tiling::large(problem).iter().take(LARGE_TILINGS), race, Tiling::mapping);
}

/// Offers the mappings of these ways to repeat a pipeline, until one is no longer than the bound or a limit comes.
fn repeat<'w, T: 'w>(
    problem: &MappingProblem,
    ways: impl Iterator<Item = &'w T>,
    race: &mut MappingRace,
    mapping: impl Fn(&T, &MappingProblem, f64, &SearchContext) -> Option<Mapping>,
) {
    for way in ways {
        if race.is_within(0.0) || race.cx.should_stop() {
            return;
        }
        if let Some(mapping) = mapping(way, problem, race.bound(), race.cx) {
            race.offer(problem.objective(&mapping), mapping);
        }
    }
}

/// One way to cut the devices into tiles. Device `tile[i] + offsets[j]` is the i-th of the j-th tile.
pub(super) struct Tiling {
    tile: Vec<usize>,
    offsets: Vec<usize>,
}

impl Tiling {
    /// The tilings into one tile for each replica, the most promising first, one of each shape. None where devices would
    /// be left over.
    pub fn all(problem: &MappingProblem) -> Vec<Self> {
        let (stages, devices) = (problem.stages.stages.len(), problem.topology.len());
        if stages < 2 || problem.replicas < 2 || problem.copies() != devices || devices > LARGEST {
            return Vec::new();
        }
        Self::sorted(problem, |tiling| tiling.tile.len() == stages)
    }

    /// The tilings into tiles for several replicas, the most promising first, one of each shape, and of those alike the ones
    /// with the smallest tiles. None where devices would be left over, tiles differ, there are few devices, or an
    /// all-reduce ties tiles together.
    pub fn large(problem: &MappingProblem) -> Vec<Self> {
        let (stages, devices) = (problem.stages.stages.len(), problem.topology.len());
        let is_tied = problem.cost.counted.all_reduce();
        if is_tied || stages < 2 || problem.copies() != devices || !(FEWEST..=LARGEST).contains(&devices) {
            return Vec::new();
        }
        let is_large = |size: usize| size > stages && size.is_multiple_of(stages) && size <= LARGE;
        Self::sorted(problem, |tiling| is_large(tiling.tile.len()) && tiling.is_regular(&problem.topology))
    }

    /// Those of all ways to cut the devices into tiles that are `wanted`, the most promising first, one of each shape.
    fn sorted(problem: &MappingProblem, wanted: impl Fn(&Self) -> bool) -> Vec<Self> {
        let radices = prime_factors(problem.topology.len());
        let choices = (0_usize..1 << radices.len()).map(|chosen| {
            let mut tiling = Self { tile: vec![0], offsets: vec![0] };
            let mut place = 1;
            for (digit, &radix) in radices.iter().enumerate() {
                let numbers = if chosen >> digit & 1 == 1 { &mut tiling.tile } else { &mut tiling.offsets };
                *numbers = (0..radix).flat_map(|value| numbers.iter().map(move |low| low + value * place)).collect();
                place *= radix;
            }
            tiling
        });
        let cost = LocalCost::new(problem);
        let mut tilings: Vec<(f64, Self)> =
            choices.filter(wanted).map(|tiling| (tiling.estimate(problem, &cost), tiling)).collect();
        tilings.sort_by(|(a, one), (b, other)| a.total_cmp(b).then(one.tile.len().cmp(&other.tile.len())));
        let mut seen: Vec<[Vec<f64>; 2]> = Vec::new();
        tilings.retain(|(_, tiling)| {
            let links = [&tiling.tile, &tiling.offsets].map(|devices| {
                let mut links = nearest_links(&problem.topology, devices).concat();
                links.sort_by(f64::total_cmp);
                links
            });
            let is_new = !seen.contains(&links);
            seen.extend(Some(links).filter(|_| is_new));
            is_new
        });
        tilings.into_iter().map(|(_, tiling)| tiling).collect()
    }

    /// Whether the links inside all tiles are the same.
    fn is_regular(&self, topology: &Topology) -> bool {
        let link = |a: usize, b: usize| (topology.bandwidth(a, b), topology.latency(a, b));
        let mut pairs = self.tile.iter().flat_map(|&a| self.tile.iter().map(move |&b| (a, b))).filter(|(a, b)| a != b);
        pairs.all(|(a, b)| self.offsets.iter().all(|offset| link(a, b) == link(a + offset, b + offset)))
    }

    /// About how long the slowest stage takes: as if each had the tile's device with the nearest others, some message took
    /// the link that holds the tile together, and a ring led over links from each tile to its nearest and over the one
    /// that holds the tiles together.
    fn estimate(&self, problem: &MappingProblem, cost: &LocalCost) -> f64 {
        let ring = nearest_links(&problem.topology, &self.offsets);
        let link = ring.iter().map(|links| links[1.min(links.len() - 1)]).fold(0.0, f64::max);
        let link = link.max(connecting_link(&problem.topology, &self.offsets));
        let tile = nearest_links(&problem.topology, &self.tile);
        let crossing = connecting_link(&problem.topology, &self.tile);
        let weights = |stage: usize| if cost.has_rings() { problem.stages.stages[stage].parameter_bytes } else { 0.0 };
        let apart = |stage: usize| problem.stages.stages[stage].compute() + 2.0 * weights(stage) * link;
        let time = |stage: usize| {
            let traffic = cost.traffic(stage);
            let bytes: f64 = traffic.iter().map(|traffic| traffic.out + traffic.back).sum();
            let nearest = tile.iter().map(|links| links.iter().take(traffic.len()).sum::<f64>());
            apart(stage) + bytes * nearest.fold(f64::INFINITY, f64::min) / traffic.len().max(1) as f64
        };
        let stages = 0..problem.stages.stages.len();
        let slowest = stages.clone().map(time).fold(0.0, f64::max);
        let cross = |stage: usize| {
            let sent = cost.traffic(stage).iter().map(|traffic| traffic.out + traffic.back);
            apart(stage) + crossing * sent.fold(f64::INFINITY, f64::min)
        };
        let connected = stages.filter(|&stage| !cost.traffic(stage).is_empty());
        slowest.max(connected.map(cross).reduce(f64::min).unwrap_or(0.0))
    }

    /// The mapping that it makes of a good ring and good pipelines; `None` where copies do not fit.
    pub fn mapping(&self, problem: &MappingProblem, bound: f64, cx: &SearchContext) -> Option<Mapping> {
        let ring = self.ring(problem, cx);
        let pipelines = self.pipelines(problem, &ring, bound, cx);
        let on_tiles = |copies: &[usize]| -> Vec<usize> {
            ring.iter().flat_map(|offset| copies.iter().map(move |device| device + offset)).collect()
        };
        let devices: Vec<usize> = pipelines.chunks(self.replicas(problem)).flat_map(on_tiles).collect();
        problem.all_fit(&devices).then_some(Mapping { devices })
    }

    /// The offsets in the order of the replicas: a closed way with short links.
    fn ring(&self, problem: &MappingProblem, cx: &SearchContext) -> Vec<usize> {
        if !problem.cost.counted.all_reduce() {
            return self.offsets.clone();
        }
        let topology = restricted(&problem.topology, &self.offsets);
        shortest_ring(&topology, cx).into_iter().map(|index| self.offsets[index]).collect()
    }

    /// The tile's devices in the order of the copies on it, where `ring` is the ring of each.
    fn pipelines(&self, problem: &MappingProblem, ring: &[usize], bound: f64, cx: &SearchContext) -> Vec<usize> {
        let mut stages = problem.stages.clone();
        if problem.cost.counted.all_reduce() && problem.cost.adds_all_reduce() {
            for (index, stage) in stages.stages.iter_mut().enumerate() {
                let links = ring.iter().zip(ring.iter().cycle().skip(1));
                let times = links.map(|(&a, &b)| problem.all_reduce_time(index, a, b));
                stage.forward += times.fold(0.0, f64::max);
            }
        }
        if !problem.cost.counted.messages() {
            stages.messages.clear();
        }
        let cost = StageCost { counted: Counted::Messages, ..problem.cost.clone() };
        let (replicas, topology) = (self.replicas(problem), restricted(&problem.topology, &self.tile));
        let part = MappingProblem { stages, replicas, topology, cost };
        let first = Mapping { devices: (0..part.copies()).collect() };
        let mut annealer = Annealer::new(&part, cx.seed);
        let mut race = annealer.race(&first, bound, cx);
        // Several pipelines may themselves repeat one.
        tile(&part, &mut race);
        annealer.anneal(&mut race, MOVES.saturating_mul(part.copies() as u64));
        race.solution().iter().flat_map(|mapping| &mapping.devices).map(|&index| self.tile[index]).collect()
    }

    /// How many copies of each stage a tile takes.
    fn replicas(&self, problem: &MappingProblem) -> usize {
        self.tile.len() / problem.stages.stages.len()
    }
}

/// A short closed way over all devices: links are exchanged in pairs, and after that in threes at random, as long as it
/// gets no longer.
fn shortest_ring(topology: &Topology, cx: &SearchContext) -> Vec<usize> {
    let devices = topology.len();
    let pairs = (0..devices * devices).map(|pair| (pair / devices, pair % devices));
    let both_ways = |(a, b)| topology.message_time(a, b, 1.0) + topology.message_time(b, a, 1.0);
    let times: Vec<f64> = pairs.map(both_ways).collect();
    let time = |a: usize, b: usize| times[a * devices + b];
    let length = |order: &[usize]| order.windows(2).map(|pair| time(pair[0], pair[1])).sum::<f64>();
    // The first device stands at both ends.
    let mut best: Vec<usize> = (0..devices).chain([0]).collect();
    while !cx.should_stop() && exchange_links(&mut best, time) {}
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(cx.seed);
    for _ in 0..KICKS.min(KICKED / (devices * devices)) {
        let mut order = best.clone();
        let mut cuts = [1, 1, 1].map(|low| rng.random_range(low..=devices));
        cuts.sort_unstable();
        order[cuts[0]..cuts[2]].rotate_left(cuts[1] - cuts[0]);
        while !cx.should_stop() && exchange_links(&mut order, time) {}
        if length(&order) <= length(&best) * (1.0 + 1e-9) {
            best = order;
        }
    }
    best.pop();
    best
}

/// Exchanges pairs of links, which turns round the way between them, wherever it shortens the way.
fn exchange_links(order: &mut [usize], time: impl Fn(usize, usize) -> f64) -> bool {
    let mut has_improved = false;
    for first in 1..order.len() - 1 {
        for last in first + 1..order.len() - 1 {
            let [before, from, to, after] = [first - 1, first, last, last + 1].map(|index| order[index]);
            if time(before, to) + time(from, after) < (1.0 - 1e-9) * (time(before, from) + time(to, after)) {
                order[first..=last].reverse();
                has_improved = true;
            }
        }
    }
    has_improved
}

/// The topology of some devices, whose memory sets no limit.
fn restricted(topology: &Topology, devices: &[usize]) -> Topology {
    let some = devices.iter().map(|&device| super::Device { memory: None, ..topology.devices[device].clone() });
    Topology::new("", "", some.collect(), |a, b| topology.bandwidth(devices[a], devices[b]))
        .with_latency(|a, b| topology.latency(devices[a], devices[b]))
}

/// By device: the times of a byte to and from each other device there and back, the shortest first.
fn nearest_links(topology: &Topology, devices: &[usize]) -> Vec<Vec<f64>> {
    let both_ways = |a: usize, b: usize| topology.message_time(a, b, 0.5) + topology.message_time(b, a, 0.5);
    let links = |&a: &usize| {
        let mut links: Vec<f64> = devices.iter().filter(|&&b| b != a).map(|&b| both_ways(a, b)).collect();
        links.sort_by(f64::total_cmp);
        links
    };
    devices.iter().map(links).collect()
}

/// The longest link of a shortest spanning tree: a byte's time there and back over the link that holds the devices
/// together (Prim).
fn connecting_link(topology: &Topology, devices: &[usize]) -> f64 {
    let both_ways = |a: usize, b: usize| topology.message_time(a, b, 0.5) + topology.message_time(b, a, 0.5);
    let mut apart: Vec<(usize, f64)> = devices[1..].iter().map(|&b| (b, both_ways(devices[0], b))).collect();
    let mut longest = 0.0f64;
    while let Some(next) = (0..apart.len()).min_by(|&a, &b| apart[a].1.total_cmp(&apart[b].1)) {
        let (device, link) = apart.swap_remove(next);
        longest = longest.max(link);
        apart.iter_mut().for_each(|(other, time)| *time = time.min(both_ways(device, *other)));
    }
    longest
}

/// The prime factors of a number above 0, the smallest first.
fn prime_factors(mut number: usize) -> Vec<usize> {
    let mut factors = Vec::new();
    let mut factor = 2;
    while number > 1 {
        if number.is_multiple_of(factor) {
            factors.push(factor);
            number /= factor;
        } else {
            factor += 1;
        }
    }
    factors
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mapping::samples::grid;
    use crate::mapping::{Message, Stage, StageGraph};

    /// Stages that send one byte round in a circle.
    pub fn circle(stages: usize, replicas: usize, topology: Topology) -> MappingProblem {
        let stage = Stage { parameter_bytes: replicas as f64, ..Stage::default() };
        let message = |source: usize| Message { source, target: (source + 1) % stages, bytes: 1.0 };
        let stages = StageGraph {
            name: "circle".into(),
            stages: vec![stage; stages],
            messages: (0..stages).map(message).collect(),
        };
        MappingProblem { stages, replicas, topology, cost: StageCost::additive(Counted::Both) }
    }

    /// Stages the first of which exchanges a byte each way with every other one.
    pub fn star(stages: usize, replicas: usize, topology: Topology) -> MappingProblem {
        let mut problem = circle(stages, replicas, topology);
        let there = (1..stages).map(|target| Message { source: 0, target, bytes: 1.0 });
        let back = (1..stages).map(|source| Message { source, target: 0, bytes: 1.0 });
        problem.stages.messages = there.chain(back).collect();
        problem.cost = StageCost::additive(Counted::Messages);
        problem
    }

    #[test]
    fn several_pipelines_make_a_tile_where_one_does_not() {
        let (problem, cx) = (star(4, 32, grid(8, 16)), SearchContext::new());
        let reach = |tilings: Vec<Tiling>, target: f64| {
            tilings.iter().filter_map(|tiling| tiling.mapping(&problem, target, &cx)).any(|mapping| {
                let mut devices = mapping.devices.clone();
                devices.sort_unstable();
                assert!(devices.into_iter().eq(0..128));
                problem.objective(&mapping) <= target
            })
        };
        assert!(reach(Tiling::all(&problem), 8.0) && !reach(Tiling::all(&problem), 6.0));
        // Four T-shaped pipelines make a square.
        assert!(reach(Tiling::large(&problem), 6.0));
    }

    #[test]
    fn tiles_trade_messages_for_rings() {
        let problem = circle(4, 8, grid(4, 8));
        let cx = SearchContext::new();
        let mappings = Tiling::all(&problem).into_iter().filter_map(|tiling| tiling.mapping(&problem, 0.0, &cx));
        let mapping = mappings.min_by(|a, b| problem.objective(a).total_cmp(&problem.objective(b)));
        let mapping = mapping.expect("the grid has tilings");
        let mut devices = mapping.devices.clone();
        devices.sort_unstable();
        assert_eq!(devices, (0..32).collect::<Vec<_>>());
        // Each ring has a block of 2 by 4 to itself, and sends 14 bytes over links of one hop. Blocks are two hops from
        // each other down, and four across.
        assert_eq!(problem.objective(&mapping), 14.0 + 2.0 + 4.0);
    }

    #[test]
    fn a_closed_way_over_a_grid_takes_no_detour() {
        let topology = grid(4, 8);
        let ring = shortest_ring(&topology, &SearchContext::new());
        let links = ring.iter().zip(ring.iter().cycle().skip(1));
        assert_eq!(links.map(|(&a, &b)| topology.message_time(a, b, 1.0)).fold(0.0, f64::max), 1.0);
    }

    #[test]
    fn devices_are_held_together_by_their_longest_necessary_link() {
        let topology = grid(4, 8);
        assert_eq!(connecting_link(&topology, &[0, 1, 8, 9]), 1.0);
        assert_eq!(connecting_link(&topology, &[0, 1, 8, 13]), 5.0);
        assert_eq!(connecting_link(&topology, &[7]), 0.0);
    }

    #[test]
    fn nothing_is_tiled_where_devices_are_left_over() {
        let problem = circle(3, 2, grid(2, 4));
        assert!(Tiling::all(&problem).is_empty() && Tiling::large(&problem).is_empty());
        assert_eq!(prime_factors(360), [2, 2, 2, 3, 3, 5]);
    }
}
