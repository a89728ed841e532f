//! Pipelines near each other, mapped anew by themselves.
//!
//! Where messages alone count, pipelines share nothing but the devices. So some of them that lie near each other on a line
//! of devices, the slowest among them, are a small problem of their own on the devices that they have, which is annealed
//! (Shaw 1998, large neighbourhood search).

use rand::rngs::Xoshiro256PlusPlus;
use rand::{RngExt, SeedableRng};

use super::annealing::Annealer;
use super::ring_segments::part;
use super::{Mapping, MappingProblem};
use crate::search::{Race, SearchContext};

/// The first temperature, as a part of how far a target lies below the slowest copy. In so small a problem most copies
/// are in each other's way, and hills are high beside what is left to win.
const HOT: f64 = 10.0;

/// The most pipelines that are mapped anew at once.
const MOST: usize = 6;

/// How many copies are mapped anew at one go, for each copy of the problem.
const EFFORT: u64 = 10;

/// How many windows in a row may better nothing before more pipelines are mapped anew at once.
const PATIENCE: usize = 4;

/// How many windows in a row may lessen what copies take above a target by less than this part of it before another target
/// is aimed at.
const TARGET_PATIENCE: usize = 12;
const PROGRESS: f64 = 0.01;

/// The first temperature below a target, as a part of it.
const TARGET_HOT: f64 = 0.3;

/// How close to each other targets get, as a part of them.
const PRECISION: f64 = 0.01;

/// SlidingWindows on the pipelines along a line of devices.
#[derive(Clone)]
pub struct SlidingWindows<'a> {
    problem: &'a MappingProblem,
    line: Vec<usize>,
    /// By device: its place on the line.
    places: Vec<usize>,
    rng: Xoshiro256PlusPlus,
}

impl<'a> SlidingWindows<'a> {
    /// SlidingWindows along this line of all devices; `None` where the all-reduce ties pipelines together.
    pub fn new(problem: &'a MappingProblem, line: &[usize], seed: u64) -> Option<Self> {
        if problem.cost.counted.all_reduce() {
            return None;
        }
        let mut places = vec![0; line.len()];
        line.iter().enumerate().for_each(|(place, &device)| places[device] = place);
        Some(Self { problem, line: line.to_vec(), places, rng: Xoshiro256PlusPlus::seed_from_u64(seed) })
    }

    /// A mapping from the pipelines on consecutive parts of the line, with so many moves for each copy of a window: targets
    /// between the two are bisected, and what all copies take above one is lessened in windows. `None` where a copy does not
    /// fit.
    pub fn mapping(&mut self, bound: f64, objective: f64, moves: u64, cx: &SearchContext) -> Option<Mapping> {
        let (stages, replicas) = (self.problem.stages.stages.len(), self.problem.replicas);
        let device = |copy: usize| self.line[copy % replicas * stages + copy / replicas];
        let mut mapping = Mapping { devices: (0..stages * replicas).map(device).collect() };
        if !self.problem.all_fit(&mapping.devices) {
            return None;
        }
        let (mut best, mut low, mut high) = (mapping.clone(), bound, objective);
        while high - low > PRECISION * high && !cx.should_stop() {
            let target = f64::midpoint(low, high);
            self.lessen(&mut mapping, target, moves, cx);
            let time = self.problem.objective(&mapping);
            if time > target {
                low = target;
            }
            high = high.min(time);
            if time < self.problem.objective(&best) {
                best.clone_from(&mapping);
            }
        }
        Some(best)
    }

    /// Lessens what all copies take above a target, window by window, until that is nothing or windows lessen it little.
    fn lessen(&mut self, mapping: &mut Mapping, target: f64, moves: u64, cx: &SearchContext) {
        let (mut least, mut tries) = (f64::INFINITY, 0);
        while tries < TARGET_PATIENCE && !cx.should_stop() {
            let times = self.problem.times(mapping);
            let late: Vec<usize> = (0..times.len()).filter(|&copy| times[copy] > target).collect();
            if late.is_empty() {
                return;
            }
            let excess = late.iter().map(|&copy| times[copy] - target).sum::<f64>();
            tries = if excess < (1.0 - PROGRESS) * least { 0 } else { tries + 1 };
            least = least.min(excess);
            let copy = late[self.rng.random_range(0..late.len())];
            let size = self.rng.random_range(1..=MOST.min(self.problem.replicas));
            let window = self.around(copy % self.problem.replicas, size, mapping);
            self.renew_below(mapping, &window, target, moves, cx);
        }
    }

    /// Maps these pipelines anew on the devices they have, unless that makes what copies take above a target more.
    fn renew_below(&mut self, mapping: &mut Mapping, window: &[usize], target: f64, moves: u64, cx: &SearchContext) {
        let (copies, small, devices) = self.part(window, mapping);
        let first = Mapping { devices: (0..devices.len()).collect() };
        let mut annealer = Annealer::new(&small, self.rng.random());
        let moves = moves.saturating_mul(devices.len() as u64);
        let after = annealer.below(&first, target, TARGET_HOT * target, moves, &mut Race::new(0.0, (), cx));
        let above =
            |mapping: &Mapping| -> f64 { small.times(mapping).iter().map(|time| (time - target).max(0.0)).sum() };
        if above(&after) <= above(&first) {
            copies.iter().zip(&after.devices).for_each(|(&copy, &place)| mapping.devices[copy] = devices[place]);
        }
    }

    /// Betters a mapping by so many moves for each copy of a window, and a few times as many for each copy of the problem in
    /// all, until it is no longer than `bound`, windows of all sizes better it no more, or a limit comes.
    pub fn better(&mut self, mapping: &Mapping, moves: u64, bound: f64, cx: &SearchContext) -> Mapping {
        let replicas = self.problem.replicas;
        let (mut mapping, mut size, mut failures) = (mapping.clone(), 1, 0);
        let mut left = EFFORT * self.problem.copies() as u64;
        while size <= MOST.min(replicas) && left > 0 && !cx.should_stop() {
            let times = self.problem.times(&mapping);
            let slowest = (0..times.len()).max_by(|&a, &b| times[a].total_cmp(&times[b]));
            let Some(slowest) = slowest.filter(|&copy| times[copy] > bound) else { break };
            let window = self.around(slowest % replicas, size, &mapping);
            left = left.saturating_sub((size * self.problem.stages.stages.len()) as u64);
            if self.renew(&mut mapping, &window, moves, bound, cx) {
                (size, failures) = (1, 0);
                continue;
            }
            failures += 1;
            // There is but one window of one pipeline.
            if failures == PATIENCE || size == 1 {
                (size, failures) = (size + 1, 0);
            }
        }
        mapping
    }

    /// This pipeline and some that are next to it along the line, `size` in all.
    fn around(&mut self, replica: usize, size: usize, mapping: &Mapping) -> Vec<usize> {
        let replicas = self.problem.replicas;
        let place = |replica: usize| -> usize {
            mapping.devices.iter().skip(replica).step_by(replicas).map(|&device| self.places[device]).sum()
        };
        let mut order: Vec<usize> = (0..replicas).collect();
        order.sort_by_cached_key(|&replica| place(replica));
        let rank = order.iter().position(|&other| other == replica).unwrap_or_default();
        let first = rank.saturating_sub(self.rng.random_range(0..size)).min(replicas - size);
        order[first..first + size].to_vec()
    }

    /// The copies of these pipelines, and the problem of mapping them on the devices they have, which come with it.
    fn part(&self, window: &[usize], mapping: &Mapping) -> (Vec<usize>, MappingProblem, Vec<usize>) {
        let (problem, stages) = (self.problem, self.problem.stages.stages.len());
        let copy = |stage: usize, replica: usize| stage * problem.replicas + replica;
        let copies: Vec<usize> =
            (0..stages).flat_map(|stage| window.iter().map(move |&replica| copy(stage, replica))).collect();
        let devices: Vec<usize> = copies.iter().map(|&copy| mapping.devices[copy]).collect();
        let small = MappingProblem {
            stages: problem.stages.clone(),
            replicas: window.len(),
            topology: part(&problem.topology, &devices),
            cost: problem.cost.clone(),
        };
        (copies, small, devices)
    }

    /// Maps these pipelines anew on the devices they have. Whether that made the slowest of them faster.
    fn renew(&mut self, mapping: &mut Mapping, window: &[usize], moves: u64, bound: f64, cx: &SearchContext) -> bool {
        let (copies, small, devices) = self.part(window, mapping);
        let first = Mapping { devices: (0..devices.len()).collect() };
        let before = small.objective(&first);
        let mut annealer = Annealer::new(&small, self.rng.random());
        annealer.heat(HOT);
        let mut race = annealer.race(&first, bound, cx);
        annealer.anneal(&mut race, moves.saturating_mul(devices.len() as u64));
        let best = race.solution().into_iter().flat_map(|best| &best.devices);
        copies.iter().zip(best).for_each(|(&copy, &place)| mapping.devices[copy] = devices[place]);
        race.objective() < Some(before)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mapping::{Counted, Exhaustive, Mapper, StageCost, samples};

    #[test]
    fn windows_keep_devices_apart_and_most_often_reach_the_optimum() {
        let cx = SearchContext::new();
        let (mut found, mut looked, mut bettered) = (0, 0, 0);
        for seed in 0..200 {
            let problem = samples::problem(seed);
            let line: Vec<usize> = (0..problem.topology.len()).collect();
            let first = Mapping { devices: (0..problem.copies()).collect() };
            // SlidingWindows leave devices without a copy aside.
            if !problem.all_fit(&first.devices) || problem.copies() < problem.topology.len() {
                continue;
            }
            let run = Exhaustive.map(&problem, &cx);
            let Some(optimum) = run.outcome.solution().map(|mapping| problem.objective(mapping)) else { continue };
            let mut windows = SlidingWindows::new(&problem, &line, seed).expect("messages alone count");
            let mapping = windows.better(&first, 200, 0.0, &cx);
            let mut devices = mapping.devices.clone();
            devices.sort_unstable();
            assert_eq!(devices, line, "copies of seed {seed} share devices");
            let (before, after) = (problem.objective(&first), problem.objective(&mapping));
            assert!((optimum * (1.0 - 1e-12)..=before).contains(&after), "{after} from {before} for {optimum}");
            found += usize::from(after <= optimum * (1.0 + 1e-9));
            bettered += usize::from(after < before);
            looked += 1;
        }
        assert!(found * 10 > 9 * looked && 2 * bettered > looked, "{found} of {looked} are found, {bettered} bettered");
    }

    #[test]
    fn windows_on_a_line_map_all_copies_and_often_reach_the_optimum() {
        let cx = SearchContext::new();
        let (mut found, mut looked) = (0, 0);
        for seed in 0..200 {
            let problem = samples::problem(seed);
            let line: Vec<usize> = (0..problem.topology.len()).collect();
            let run = Exhaustive.map(&problem, &cx);
            let Some(optimum) = run.outcome.solution().map(|mapping| problem.objective(mapping)) else { continue };
            let mut windows = SlidingWindows::new(&problem, &line, seed).expect("messages alone count");
            let Some(mapping) = windows.mapping(0.0, 2.0 * optimum, 200, &cx) else { continue };
            let mut devices = mapping.devices.clone();
            devices.sort_unstable();
            assert_eq!(devices, line[..problem.copies()], "copies of seed {seed} share devices");
            let time = problem.objective(&mapping);
            assert!(time >= optimum * (1.0 - 1e-12), "better than the best of seed {seed}");
            looked += 1;
            found += usize::from(time <= optimum * (1.0 + 1e-9));
        }
        assert!(looked > 100 && 2 * found > looked, "{found} of {looked} are best");
    }

    #[test]
    fn where_the_all_reduce_counts_there_are_no_windows() {
        let problem = MappingProblem { cost: StageCost::additive(Counted::Both), ..samples::problem(0) };
        assert!(SlidingWindows::new(&problem, &[0, 1, 2], 0).is_none());
    }
}
