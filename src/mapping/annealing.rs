//! Swap annealing of mappings.

use rand::rngs::Xoshiro256PlusPlus;
use rand::{RngExt, SeedableRng};

use super::{Mapper, Mapping, MappingOutcome, MappingProblem, MappingRun};
use crate::cost::Terms;
use crate::solve::SearchContext;

/// Marks a device without a copy.
const FREE: usize = usize::MAX;

/// The best mapping so far, and swap annealing to better it.
///
/// The objective is a maximum and says little about which way is down. So the energy is the sum over copies of what they
/// take above a target that lies below the best mapping: once it is zero, there is a better one.
pub struct Annealer<'a> {
    problem: &'a MappingProblem,
    /// By stage: neighbour, bytes to it, bytes from it.
    traffic: Vec<Vec<(usize, f64, f64)>>,
    best: Mapping,
    objective: f64,
    devices: Vec<usize>,
    copies: Vec<usize>,
    times: Vec<f64>,
    rng: Xoshiro256PlusPlus,
    moves: u64,
}

/// What a round of annealing aims at.
struct Round {
    target: f64,
    temperature: f64,
    energy: f64,
}

impl<'a> Annealer<'a> {
    /// Starts from `mapping`, a mapping that fits, and from the orders that come to mind.
    pub fn new(problem: &'a MappingProblem, mapping: Mapping, seed: u64) -> Self {
        let objective = problem.objective(&mapping);
        let mut annealer = Self {
            problem,
            traffic: traffic(problem),
            best: mapping,
            objective,
            devices: Vec::new(),
            copies: Vec::new(),
            times: Vec::new(),
            rng: Xoshiro256PlusPlus::seed_from_u64(seed),
            moves: 0,
        };
        for mapping in seeds(problem) {
            annealer.offer(&mapping);
        }
        annealer
    }

    /// The best mapping and its objective.
    pub fn best(&self) -> (&Mapping, f64) {
        (&self.best, self.objective)
    }

    /// How many moves it has tried.
    pub fn moves(&self) -> u64 {
        self.moves
    }

    /// Takes up a mapping where it is the best so far.
    pub fn offer(&mut self, mapping: &Mapping) {
        let objective = self.problem.objective(mapping);
        if objective < self.objective {
            (self.best, self.objective) = (mapping.clone(), objective);
        }
    }

    /// Anneals for about so many moves, until the best mapping is no longer than `bound`, or a limit comes.
    pub fn anneal(&mut self, bound: f64, moves: u64, cx: &SearchContext) {
        let end = self.moves + moves;
        let mut depth = 0.5;
        while self.moves < end && self.objective > bound && !cx.should_stop() {
            let before = self.objective;
            // Near the best, aim at anything better.
            let target = (self.objective - depth * (self.objective - bound)).min(self.objective * (1.0 - 1e-9));
            self.round(target, moves / 8, cx);
            depth = if self.objective < before { 0.5 } else { depth * 0.5 };
        }
    }

    /// One cooling under a fixed target, from the best mapping on.
    fn round(&mut self, target: f64, moves: u64, cx: &SearchContext) {
        self.restart();
        let mut round = Round { target, temperature: 0.0, energy: self.energy(target) };
        let hot = 0.3 * (self.objective - target).max(0.002 * self.objective);
        for step in 0..moves {
            if step % 1024 == 0 && cx.should_stop() {
                return;
            }
            round.temperature = hot * (1.0 - step as f64 / moves as f64).powi(3);
            self.step(&mut round);
            if round.energy <= 0.0 {
                return;
            }
        }
    }

    fn restart(&mut self) {
        self.devices.clone_from(&self.best.devices);
        self.copies = vec![FREE; self.problem.topology.len()];
        for (copy, &device) in self.devices.iter().enumerate() {
            self.copies[device] = copy;
        }
        self.times = (0..self.devices.len()).map(|copy| self.time(copy)).collect();
    }

    fn energy(&self, target: f64) -> f64 {
        self.times.iter().map(|time| (time - target).max(0.0)).sum()
    }

    /// Swaps the contents of two devices where that is worth it, one of them often of a copy that takes too long.
    fn step(&mut self, round: &mut Round) {
        self.moves += 1;
        let (copy, device) = self.pick(round.target);
        let (from, other) = (self.devices[copy], self.copies[device]);
        if from == device || !self.fits(copy, device) || other != FREE && !self.fits(other, from) {
            return;
        }
        let affected = self.affected(copy, other);
        let before: Vec<f64> = affected.iter().map(|&copy| self.times[copy]).collect();
        self.swap(from, device);
        let above = |time: f64| (time - round.target).max(0.0);
        let mut change = 0.0;
        for (&copy, &before) in affected.iter().zip(&before) {
            self.times[copy] = self.time(copy);
            change += above(self.times[copy]) - above(before);
        }
        if change <= 0.0 || self.rng.random::<f64>() < (-change / round.temperature).exp() {
            round.energy += change;
            if change < 0.0 && round.energy < self.objective - round.target + 1e-9 * self.objective {
                round.energy = self.energy(round.target);
                self.keep_if_best();
            }
        } else {
            self.swap(from, device);
            affected.iter().zip(before).for_each(|(&copy, before)| self.times[copy] = before);
        }
    }

    fn pick(&mut self, target: f64) -> (usize, usize) {
        let mut copy = self.rng.random_range(0..self.devices.len());
        for _ in 0..8 {
            if self.times[copy] > target {
                break;
            }
            copy = self.rng.random_range(0..self.devices.len());
        }
        (copy, self.rng.random_range(0..self.copies.len()))
    }

    fn fits(&self, copy: usize, device: usize) -> bool {
        self.problem.fits(copy / self.problem.replicas, device)
    }

    fn swap(&mut self, a: usize, b: usize) {
        self.copies.swap(a, b);
        for device in [a, b] {
            if self.copies[device] != FREE {
                self.devices[self.copies[device]] = device;
            }
        }
    }

    fn keep_if_best(&mut self) {
        let longest = self.times.iter().copied().fold(0.0, f64::max);
        if longest < self.objective {
            self.offer(&Mapping { devices: self.devices.clone() });
        }
    }

    /// The copies whose times depend on where these two are.
    fn affected(&self, copy: usize, other: usize) -> Vec<usize> {
        let replicas = self.problem.replicas;
        let mut affected = Vec::with_capacity(16);
        for copy in [copy, other].into_iter().filter(|&copy| copy != FREE) {
            let (stage, replica) = (copy / replicas, copy % replicas);
            if self.problem.cost.counted.all_reduce() {
                affected.extend(stage * replicas..(stage + 1) * replicas);
            } else {
                affected.push(copy);
            }
            affected.extend(self.traffic[stage].iter().map(|&(neighbour, ..)| neighbour * replicas + replica));
        }
        affected.sort_unstable();
        affected.dedup();
        affected
    }

    fn time(&self, copy: usize) -> f64 {
        let problem = self.problem;
        let (stage, replica, device) = (copy / problem.replicas, copy % problem.replicas, self.devices[copy]);
        let topology = &problem.topology;
        let mut terms = Terms {
            compute: problem.stages.stages[stage].compute() / topology.devices[device].speed,
            ..Terms::default()
        };
        for &(neighbour, bytes_out, bytes_in) in &self.traffic[stage] {
            let there = self.devices[neighbour * problem.replicas + replica];
            terms.comm_out += topology.message_time(device, there, bytes_out);
            terms.comm_in += topology.message_time(there, device, bytes_in);
        }
        problem.time(&terms, self.ring_time(stage))
    }

    fn ring_time(&self, stage: usize) -> f64 {
        if !self.problem.cost.counted.all_reduce() || self.problem.replicas == 1 {
            return 0.0;
        }
        let ring = &self.devices[stage * self.problem.replicas..][..self.problem.replicas];
        let next = ring.iter().cycle().skip(1);
        ring.iter().zip(next).map(|(&a, &b)| self.problem.all_reduce_time(stage, a, b)).fold(0.0, f64::max)
    }
}

/// By stage: the stages it shares messages with, the bytes to each and from each.
fn traffic(problem: &MappingProblem) -> Vec<Vec<(usize, f64, f64)>> {
    let mut traffic = vec![Vec::new(); problem.stages.stages.len()];
    if problem.cost.counted.messages() {
        for message in &problem.stages.messages {
            traffic[message.source].push((message.target, message.bytes, 0.0));
            traffic[message.target].push((message.source, 0.0, message.bytes));
        }
    }
    traffic
}

/// Replicas of a stage next to each other, and pipelines next to each other, along the devices' numbers and along a path
/// that goes on to the nearest device each time.
fn seeds(problem: &MappingProblem) -> Vec<Mapping> {
    let (stages, replicas) = (problem.stages.stages.len(), problem.replicas);
    let orders = [(0..problem.topology.len()).collect(), nearest_next(problem)];
    let fits = |mapping: &Mapping| {
        mapping.devices.iter().enumerate().all(|(copy, &device)| problem.fits(copy / replicas, device))
    };
    let by_stage = |order: &Vec<usize>| Mapping { devices: order[..stages * replicas].to_vec() };
    let by_pipeline = |order: &Vec<usize>| Mapping {
        devices: (0..stages * replicas).map(|copy| order[copy % replicas * stages + copy / replicas]).collect(),
    };
    orders.iter().flat_map(|order| [by_stage(order), by_pipeline(order)]).filter(fits).collect()
}

fn nearest_next(problem: &MappingProblem) -> Vec<usize> {
    let topology = &problem.topology;
    let mut order: Vec<usize> = vec![0];
    let mut rest: Vec<usize> = (1..topology.len()).collect();
    while let Some(&last) = order.last().filter(|_| !rest.is_empty()) {
        let time = |device: usize| topology.message_time(last, device, 1.0);
        let nearest = (0..rest.len()).min_by(|&a, &b| time(rest[a]).total_cmp(&time(rest[b])));
        order.extend(nearest.map(|index| rest.remove(index)));
    }
    order
}

/// Swap annealing from consecutive placements. A heuristic: its bound is nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MappingAnnealing {
    /// How many swaps it tries for each copy.
    pub moves: u64,
}

impl Default for MappingAnnealing {
    fn default() -> Self {
        Self { moves: 20_000 }
    }
}
