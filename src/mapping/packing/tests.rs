//! Packing against the exhaustive search on small random problems.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use rand::rngs::Xoshiro256PlusPlus;
use rand::{RngExt, SeedableRng};

use super::{Packer, Packing};
use crate::mapping::{
    Counted, Device, Exhaustive, Mapper, MappingProblem, Message, Stage, StageCost, StageGraph, Topology,
};
use crate::solve::SearchContext;

/// Effort without end for problems so small.
const PLENTY: u64 = 1 << 40;

/// Up to seven devices in blocks, some of which are alike inside, and stages that send messages to any others, or to all:
/// then more of them wait than pricing keeps apart.
fn problem(seed: u64) -> MappingProblem {
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
    let (stages, replicas) = [(2, 2), (2, 3), (3, 2), (4, 1), (5, 1), (6, 1), (3, 1)][rng.random_range(0..7)];
    let devices = (stages * replicas + rng.random_range(0..2)).min(7);
    let size = rng.random_range(1..=4);
    let inside: Vec<f64> = (0..49).map(|_| f64::from(rng.random_range(1..=4_u8))).collect();
    let (is_even, is_plain) = (rng.random_bool(0.5), rng.random_bool(0.7));
    let density = if stages == 6 && rng.random_bool(0.5) { 1.0 } else { 0.4 };
    let bandwidth = |a: usize, b: usize| match (a / size == b / size, is_even) {
        (false, _) => 1.0,
        (true, true) => 2.0 * inside[a / size],
        (true, false) => inside[7 * a.min(b) + a.max(b)],
    };
    let kinds: Vec<Device> = (0..devices)
        .map(|index| Device {
            speed: if is_plain { 1.0 } else { f64::from(rng.random_range(1..=2_u8)) },
            memory: (!is_plain && rng.random_bool(0.3)).then_some(1.0),
            ..Device::new(index.to_string())
        })
        .collect();
    let stage = |rng: &mut Xoshiro256PlusPlus| Stage {
        forward: f64::from(rng.random_range(1..9_u8)),
        memory: f64::from(rng.random_range(0..3_u8)),
        ..Stage::default()
    };
    let mut messages = Vec::new();
    for (source, target) in (0..stages).flat_map(|a| (0..stages).map(move |b| (a, b))).filter(|(a, b)| a != b) {
        if rng.random_bool(density) {
            messages.push(Message { source, target, bytes: f64::from(rng.random_range(1..20_u8)) });
        }
    }
    let stages = (0..stages).map(|_| stage(&mut rng)).collect();
    // Between blocks, and longer one way than the other.
    let delay = if rng.random_bool(0.3) { f64::from(rng.random_range(1..=5_u8)) } else { 0.0 };
    let latency = |a: usize, b: usize| match (a / size).cmp(&(b / size)) {
        std::cmp::Ordering::Less => delay,
        std::cmp::Ordering::Equal => 0.0,
        std::cmp::Ordering::Greater => 2.0 * delay,
    };
    MappingProblem {
        stages: StageGraph { name: "random".into(), stages, messages },
        replicas,
        topology: Topology::new("random", "", kinds, bandwidth).with_latency(latency),
        cost: StageCost::additive(Counted::Messages),
    }
}

#[test]
fn packing_refutes_no_target_that_a_mapping_keeps() {
    let cx = SearchContext::new();
    let (mut looked, mut found, mut refuted) = (0, 0, 0);
    for seed in 0..300 {
        let problem = problem(seed);
        let run = Exhaustive.map(&problem, &cx);
        let Some(optimum) = run.mapping().map(|mapping| problem.objective(mapping)) else { continue };
        let mut packer = Packer::new(&problem).expect("messages alone count");
        let bound = packer.bound(0.0, 2.0 * optimum, PLENTY, &cx);
        assert!(bound <= optimum * (1.0 + 1e-12), "bound {bound} above {optimum} of seed {seed}");
        match packer.search(optimum, &mut PLENTY.clone(), &cx) {
            Packing::Refuted => panic!("{optimum} of seed {seed} is refuted"),
            Packing::Found(mapping) => {
                assert!(problem.objective(&mapping) <= optimum * (1.0 + 1e-11), "too long in seed {seed}");
                found += 1;
            }
            Packing::Unknown(_) => (),
        }
        match packer.search(optimum * (1.0 - 1e-6), &mut PLENTY.clone(), &cx) {
            Packing::Refuted => refuted += 1,
            Packing::Found(_) => panic!("better than the best of seed {seed}"),
            Packing::Unknown(_) => (),
        }
        looked += 1;
    }
    assert!(found * 10 > looked * 8 && refuted * 10 > looked * 6, "{found} and {refuted} of {looked} are told");
}

#[test]
fn packing_ends_when_it_is_told_to() {
    let problem = (0..).map(problem).find(|problem| problem.replicas == 3).expect("one of seven kinds");
    let stopped = SearchContext::new().with_cancellation(Arc::new(AtomicBool::new(true)));
    let mut packer = Packer::new(&problem).expect("messages alone count");
    assert_eq!(packer.bound(0.0, 100.0, PLENTY, &stopped), 0.0);
    assert_eq!(packer.search(1.0, &mut PLENTY.clone(), &stopped), Packing::Unknown(None));
}

#[test]
fn more_stages_than_can_be_ordered_are_refused() {
    let mut problem = problem(0);
    problem.stages.stages = vec![Stage::default(); 200];
    problem.stages.messages.clear();
    assert!(Packer::new(&problem).is_none());
}
