//! Copies in an order that comes to mind, on devices in their own.

use rand::SeedableRng;
use rand::rngs::Xoshiro256PlusPlus;
use rand::seq::SliceRandom;

use super::{best_of, found};
use crate::mapping::local::UNPLACED;
use crate::mapping::{Mapper, Mapping, MappingProblem, MappingRun};
use crate::search::{SearchContext, Stats};

/// Consecutive mapping, CS (Liu et al. 2024, section VIII-A): the replicas of a stage side by side, consecutive stages
/// on consecutive devices. It comes first where the all-reduce does. O(copies · devices) with memory limits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Consecutive;

/// Point-to-point sequential mapping, p2p (Liu et al. 2024, section VIII-C): the stages of a pipeline side by side, one
/// pipeline after another. It comes first where messages do; with one replica it is [`Consecutive`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct PointToPoint;

/// Mappings drawn uniformly, the best of `samples`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RandomMapping {
    /// How many are drawn; at least one.
    pub samples: usize,
}

impl Default for RandomMapping {
    fn default() -> Self {
        Self { samples: 1 }
    }
}

/// The copies stage by stage.
pub(in crate::mapping) fn by_stage(problem: &MappingProblem) -> Vec<usize> {
    (0..problem.copies()).collect()
}

/// The copies pipeline by pipeline.
pub(in crate::mapping) fn by_pipeline(problem: &MappingProblem) -> Vec<usize> {
    let stages = problem.stages.stages.len();
    (0..problem.copies()).map(|i| i % stages * problem.replicas + i / stages).collect()
}

/// The copies in this order, each on the first of the free `devices` that has the memory; `None` where one finds none.
pub(in crate::mapping) fn first_fit(problem: &MappingProblem, copies: &[usize], devices: &[usize]) -> Option<Mapping> {
    let mut free = devices.to_vec();
    let mut placed = vec![UNPLACED; copies.len()];
    // The devices are taken from the end, which costs nothing where the last one fits.
    free.reverse();
    for &copy in copies {
        let position = free.iter().rposition(|&device| problem.fits(copy / problem.replicas, device))?;
        placed[copy] = free.remove(position);
    }
    Some(Mapping { devices: placed })
}

fn in_order(problem: &MappingProblem, copies: &[usize]) -> Option<Mapping> {
    let devices: Vec<usize> = (0..problem.topology.len()).collect();
    first_fit(problem, copies, &devices)
}

impl Consecutive {
    /// The mapping; `None` where memory does not let copies be placed in this order.
    pub fn place(problem: &MappingProblem) -> Option<Mapping> {
        in_order(problem, &by_stage(problem))
    }
}

impl PointToPoint {
    /// The mapping; `None` where memory does not let copies be placed in this order.
    pub fn place(problem: &MappingProblem) -> Option<Mapping> {
        in_order(problem, &by_pipeline(problem))
    }
}

impl RandomMapping {
    /// A mapping on devices in random order; `None` where memory does not let copies be placed in it.
    pub fn draw(problem: &MappingProblem, rng: &mut Xoshiro256PlusPlus) -> Option<Mapping> {
        let mut devices: Vec<usize> = (0..problem.topology.len()).collect();
        devices.shuffle(rng);
        first_fit(problem, &by_stage(problem), &devices)
    }
}

impl Mapper for Consecutive {
    fn name(&self) -> &str {
        "consecutive"
    }

    fn map(&self, problem: &MappingProblem, _: &SearchContext) -> MappingRun {
        found(Self::place(problem), Stats::default())
    }
}

impl Mapper for PointToPoint {
    fn name(&self) -> &str {
        "p2p"
    }

    fn map(&self, problem: &MappingProblem, _: &SearchContext) -> MappingRun {
        found(Self::place(problem), Stats::default())
    }
}

impl Mapper for RandomMapping {
    fn name(&self) -> &str {
        "random"
    }

    fn map(&self, problem: &MappingProblem, cx: &SearchContext) -> MappingRun {
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(cx.seed);
        // One is drawn whatever the limit.
        let samples = (0..self.samples.max(1)).take_while(|&sample| sample == 0 || !cx.should_stop());
        let drawn = samples.filter_map(|_| Self::draw(problem, &mut rng));
        found(best_of(problem, drawn), Stats::default())
    }
}

/// Replicas of a stage next to each other, and pipelines next to each other, along the devices' numbers and along a path
/// that goes on to the nearest device each time. Rings lead along them and back at the end, or go there by every other
/// place and come back by the others, so that no link of theirs is long.
pub(in crate::mapping) fn seeds(problem: &MappingProblem) -> Vec<Mapping> {
    let orders = [(0..problem.topology.len()).collect(), nearest_next(problem)];
    let replicas: [Vec<usize>; 2] = [(0..problem.replicas).collect(), there_and_back(problem.replicas)];
    let mut mappings = Vec::new();
    for devices in &orders {
        for copies in [by_stage(problem), by_pipeline(problem)] {
            for replicas in &replicas {
                let along = |copy: &usize| copy - copy % replicas.len() + replicas[copy % replicas.len()];
                mappings.extend(first_fit(problem, &copies.iter().map(along).collect::<Vec<_>>(), devices));
            }
        }
    }
    mappings
}

/// The places of a ring along a line, none of whose links is longer than two.
fn there_and_back(count: usize) -> Vec<usize> {
    (0..count).map(|place| if place % 2 == 0 { place / 2 } else { count - 1 - place / 2 }).collect()
}

/// The devices along a path that goes on to the nearest device each time.
pub(in crate::mapping) fn nearest_next(problem: &MappingProblem) -> Vec<usize> {
    let topology = &problem.topology;
    let mut order: Vec<usize> = Vec::new();
    let mut rest: Vec<usize> = (0..topology.len()).collect();
    while !rest.is_empty() {
        let last = order.last().copied().unwrap_or(rest[0]);
        let time = |device: usize| topology.message_time(last, device, 1.0);
        let nearest = (0..rest.len()).min_by(|&a, &b| time(rest[a]).total_cmp(&time(rest[b])));
        order.extend(nearest.map(|index| rest.remove(index)));
    }
    order
}
