//! Exact covers whose pipelines follow one another in rings.
//!
//! Where an all-reduce counts and each device gets a copy, a mapping is an exact cover of the devices by pipelines, and an
//! order of these in which every stage's copies, one after the other, make a ring that is fast enough. Pipelines are those
//! within the target where every ring takes the least it can. Covers are drawn at random among them; a cover's slowest
//! copies say what it leaves of the target to rings, and with that which pipelines may follow one another. A Hamiltonian
//! cycle through these is the order.

use rand::SeedableRng;
use rand::rngs::Xoshiro256PlusPlus;

use super::classes::Classes;
use super::cover::{Covered, draw};
use super::enumeration::Pipelines;
use super::plan::Plan;
use super::{ENUMERATED, Packing, ROUNDING, covering};
use crate::mapping::{Counted, Mapping, MappingProblem, StageCost};
use crate::solve::SearchContext;

/// Extensions of a way before a cover is given up: nearly all cycles are found in fewer.
const EXTENSIONS: u64 = 2000;

/// So many of them take as long as a label of pricing.
const EXTENDED: u64 = 4;

/// Covers by pipelines in the order of rings.
pub struct RingCover<'a> {
    problem: &'a MappingProblem,
    /// The problem without its rings.
    loads: MappingProblem,
    /// How pipelines are enumerated: each stage's ring takes the least it can.
    plan: Plan,
    rng: Xoshiro256PlusPlus,
    /// Covers drawn so far.
    pub nodes: u64,
}

impl<'a> RingCover<'a> {
    /// `None` where messages or rings do not count, devices are left over, alike or many, or loads have several pieces.
    /// O(D² · classes + stages · D²).
    pub fn new(problem: &'a MappingProblem, seed: u64) -> Option<Self> {
        if problem.stages.stages.len() < 2 || problem.replicas < 2 || problem.cost.counted != Counted::Both {
            return None;
        }
        let mut plan = covering(problem, &Classes::new(&problem.topology))?;
        if problem.cost.adds_all_reduce() {
            for step in &mut plan.steps {
                let least = least_ring(problem, step.stage);
                step.base.iter_mut().for_each(|time| *time += least);
            }
        }
        let cost = StageCost { counted: Counted::Messages, ..problem.cost.clone() };
        let loads = MappingProblem { cost, ..problem.clone() };
        Some(Self { problem, loads, plan, rng: Xoshiro256PlusPlus::seed_from_u64(seed), nodes: 0 })
    }

    /// Searches for a mapping within a target, with an effort that is counted in labels of pricing.
    pub fn search(&mut self, target: f64, mut effort: u64, cx: &SearchContext) -> Packing {
        let limit = target * (1.0 + ROUNDING);
        let mut left = effort / ENUMERATED;
        effort -= left;
        let Some(pipelines) = Pipelines::within(&self.plan, limit, &mut left, cx) else {
            return Packing::Crowded;
        };
        effort += left;
        let all = Pipelines::all_devices(self.problem.topology.len());
        while effort > 0 && !cx.should_stop() {
            self.nodes += 1;
            match draw(&pipelines.sets, all, &mut effort, &mut self.rng, cx) {
                Covered::Not => return Packing::Refuted,
                Covered::By(sets) => {
                    let cover =
                        sets.iter().filter_map(|&set| pipelines.pattern(set)).map(|pattern| &pattern.classes[..]);
                    if let Some(mapping) = self.in_order(&cover.collect::<Vec<_>>(), limit, &mut effort) {
                        return Packing::Found(mapping);
                    }
                }
                Covered::Unknown => (),
            }
        }
        Packing::Unknown(None)
    }

    /// The mapping of these pipelines, by stage their devices, in an order whose rings are within the limit.
    fn in_order(&self, pipelines: &[&[usize]], limit: f64, effort: &mut u64) -> Option<Mapping> {
        let (stages, replicas) = (self.problem.stages.stages.len(), self.problem.replicas);
        let place = |order: &[usize]| Mapping {
            devices: (0..stages).flat_map(|stage| order.iter().map(move |&index| pipelines[index][stage])).collect(),
        };
        let times = self.loads.times(&place(&(0..replicas).collect::<Vec<_>>()));
        let slowest = times.chunks(replicas).map(|times| times.iter().copied().fold(0.0, f64::max));
        let left: Vec<f64> =
            slowest.map(|load| if self.problem.cost.adds_all_reduce() { limit - load } else { limit }).collect();
        // Both ways, so that links that differ by direction leave out some orders.
        let follows = |a: usize, b: usize| {
            let link = |stage: usize, a: usize, b: usize| {
                self.problem.all_reduce_time(stage, pipelines[a][stage], pipelines[b][stage])
            };
            (0..stages).all(|stage| link(stage, a, b).max(link(stage, b, a)) <= left[stage])
        };
        let beside =
            |a: usize| (0..replicas).filter(|&b| b != a && follows(a, b)).fold(0_u128, |beside, b| beside | 1 << b);
        let mut cycle =
            HamiltonianCycle { beside: (0..replicas).map(beside).collect(), way: vec![0], extensions: EXTENSIONS };
        let is_closed = cycle.close();
        *effort = effort.saturating_sub(((EXTENSIONS - cycle.extensions) / EXTENDED).max(1));
        is_closed.then(|| place(&cycle.way))
    }
}

/// The least that the all-reduce of a stage takes.
fn least_ring(problem: &MappingProblem, stage: usize) -> f64 {
    let devices = problem.topology.len();
    let pairs = (0..devices).flat_map(|a| (0..devices).map(move |b| (a, b))).filter(|(a, b)| a != b);
    pairs.map(|(a, b)| problem.all_reduce_time(stage, a, b)).fold(f64::INFINITY, f64::min)
}

/// A search for a cycle through all nodes of a graph.
struct HamiltonianCycle {
    /// By node: those that may be beside it, as bits.
    beside: Vec<u128>,
    /// The first nodes of the cycle.
    way: Vec<usize>,
    extensions: u64,
}

impl HamiltonianCycle {
    /// Whether the way, which has a node at least, becomes a cycle; `false` also where the extensions are used up.
    fn close(&mut self) -> bool {
        let visited = self.way.iter().fold(0_u128, |visited, &node| visited | 1 << node);
        let (first, last) = (self.way[0], self.way[self.way.len() - 1]);
        let rest: Vec<usize> = (0..self.beside.len()).filter(|&node| visited >> node & 1 == 0).collect();
        if rest.is_empty() {
            return self.beside[last] >> first & 1 == 1;
        }
        let open = !visited | 1 << first | 1 << last;
        // The cycle comes to each node from one and goes on to another; of two nodes, to the same.
        let ways = |node: usize| (self.beside[node] & open).count_ones();
        if self.extensions == 0 || self.beside.len() > 2 && rest.iter().any(|&node| ways(node) < 2) {
            return false;
        }
        self.extensions -= 1;
        let mut next: Vec<usize> = rest.iter().copied().filter(|&node| self.beside[last] >> node & 1 == 1).collect();
        next.sort_by_key(|&node| ways(node));
        for node in next {
            self.way.push(node);
            if self.close() {
                return true;
            }
            self.way.pop();
        }
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mapping::{Exhaustive, Mapper, Synchronisation, samples};

    #[test]
    fn covers_reach_optima_and_refute_nothing_else() {
        let cx = SearchContext::new();
        let (mut looked, mut found, mut refuted) = (0, 0, 0);
        for seed in 0..2000 {
            let mut problem = samples::problem(seed);
            let synchronisation = if seed % 3 == 0 { Synchronisation::Overlapped } else { Synchronisation::Added };
            problem.cost = StageCost { synchronisation, ..StageCost::additive(Counted::Both) };
            for (index, stage) in problem.stages.stages.iter_mut().enumerate() {
                stage.parameter_bytes = 3.0 * (seed as usize % 4 + index) as f64;
            }
            let Some(mut rings) = RingCover::new(&problem, seed) else { continue };
            let run = Exhaustive.map(&problem, &cx);
            let Some(optimum) = run.mapping().map(|mapping| problem.objective(mapping)) else { continue };
            looked += 1;
            match rings.search(optimum, 20_000, &cx) {
                Packing::Found(mapping) => {
                    let mut devices = mapping.devices.clone();
                    devices.sort_unstable();
                    assert!(devices.into_iter().eq(0..problem.topology.len()), "devices of seed {seed} are shared");
                    assert!(problem.objective(&mapping) <= optimum * (1.0 + 1e-9), "seed {seed}");
                    found += 1;
                }
                Packing::Refuted => panic!("the optimum of seed {seed} is refuted"),
                Packing::Unknown(_) | Packing::Crowded => (),
            }
            match rings.search(optimum * (1.0 - 1e-6), 20_000, &cx) {
                Packing::Found(_) => panic!("something is below the optimum of seed {seed}"),
                Packing::Refuted => refuted += 1,
                Packing::Unknown(_) | Packing::Crowded => (),
            }
        }
        assert!(looked > 60 && 2 * found > looked && refuted > 0, "{found} found, {refuted} refuted of {looked}");
    }

    #[test]
    fn cycles_lead_once_through_every_node() {
        // A cube's corners.
        let beside: Vec<u128> =
            (0..8_usize).map(|node| [1, 2, 4].iter().fold(0, |all, bit| all | 1 << (node ^ bit))).collect();
        let mut cycle = HamiltonianCycle { beside: beside.clone(), way: vec![0], extensions: EXTENSIONS };
        assert!(cycle.close());
        let links = cycle.way.iter().zip(cycle.way.iter().cycle().skip(1));
        assert!(links.into_iter().all(|(&a, &b)| beside[a] >> b & 1 == 1));
        let mut nodes = cycle.way.clone();
        nodes.sort_unstable();
        assert_eq!(nodes, (0..8).collect::<Vec<_>>());
        // Two squares that share a corner.
        let pairs = [(0, 1), (1, 2), (2, 3), (3, 0), (0, 4), (4, 5), (5, 6), (6, 0)];
        let mut beside = vec![0_u128; 7];
        pairs.iter().for_each(|&(a, b)| {
            beside[a] |= 1 << b;
            beside[b] |= 1 << a;
        });
        assert!(!HamiltonianCycle { beside, way: vec![0], extensions: EXTENSIONS }.close());
    }
}
