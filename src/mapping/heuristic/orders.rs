//! Copies in an order that comes to mind, on devices in their own.

use rand::SeedableRng;
use rand::rngs::Xoshiro256PlusPlus;
use rand::seq::SliceRandom;

use super::{best_of, found};
use crate::mapping::orders::{by_pipeline, by_stage, first_fit};
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
        found(problem, Self::place(problem), Stats::default())
    }
}

impl Mapper for PointToPoint {
    fn name(&self) -> &str {
        "p2p"
    }

    fn map(&self, problem: &MappingProblem, _: &SearchContext) -> MappingRun {
        found(problem, Self::place(problem), Stats::default())
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
        found(problem, best_of(problem, drawn), Stats::default())
    }
}
