//! Packing against the exhaustive search on small random problems.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use super::{Classes, Packer, Packing};
use crate::mapping::samples::problem;
use crate::mapping::{Exhaustive, Mapper, MappingProblem, Stage, Topology};
use crate::solve::SearchContext;

/// Effort without end for problems so small.
const PLENTY: u64 = 1 << 40;

fn packer(problem: &MappingProblem) -> Packer<'_> {
    Packer::all(problem, None, 0).pop().expect("messages alone count")
}

#[test]
fn packing_refutes_no_target_that_a_mapping_keeps() {
    let cx = SearchContext::new();
    let (mut looked, mut found, mut refuted) = (0, 0, 0);
    for seed in 0..300 {
        let problem = problem(seed);
        let run = Exhaustive.map(&problem, &cx);
        let Some(optimum) = run.outcome.solution().map(|mapping| problem.objective(mapping)) else { continue };
        let mut packer = packer(&problem);
        let bound = packer.bound(0.0, 2.0 * optimum, PLENTY, &cx);
        assert!(bound <= optimum * (1.0 + 1e-12), "bound {bound} above {optimum} of seed {seed}");
        match packer.search(optimum, &mut PLENTY.clone(), &cx) {
            Packing::Refuted => panic!("{optimum} of seed {seed} is refuted"),
            Packing::Found(mapping) => {
                assert!(problem.objective(&mapping) <= optimum * (1.0 + 1e-11), "too long in seed {seed}");
                found += 1;
            }
            Packing::Unknown(_) | Packing::Crowded => (),
        }
        match packer.search(optimum * (1.0 - 1e-6), &mut PLENTY.clone(), &cx) {
            Packing::Refuted => refuted += 1,
            Packing::Found(_) => panic!("better than the best of seed {seed}"),
            Packing::Unknown(_) | Packing::Crowded => (),
        }
        looked += 1;
    }
    assert!(found * 10 > looked * 8 && refuted * 10 > looked * 6, "{found} and {refuted} of {looked} are told");
}

#[test]
fn blocks_taken_for_classes_refute_no_target_that_a_mapping_keeps() {
    let cx = SearchContext::new();
    let (mut looked, mut tight) = (0, 0);
    for (seed, size) in (0..200).flat_map(|seed| [(seed, 2), (seed, 3), (seed, 4)]) {
        let problem = problem(seed);
        let run = Exhaustive.map(&problem, &cx);
        let Some(optimum) = run.outcome.solution().map(|mapping| problem.objective(mapping)) else { continue };
        let devices: Vec<usize> = (0..problem.topology.len()).collect();
        let blocks = devices.chunks(size).map(<[usize]>::to_vec).collect();
        let Some(classes) = Classes::new(&problem.topology).merged(blocks) else { continue };
        let mut packer = Packer::new(&problem, classes).expect("there are few classes");
        let bound = packer.bound(0.0, 2.0 * optimum, PLENTY, &cx);
        assert!(bound <= optimum * (1.0 + 1e-12), "bound {bound} above {optimum} of seed {seed}, blocks of {size}");
        match packer.search(optimum, &mut PLENTY.clone(), &cx) {
            Packing::Refuted => panic!("{optimum} of seed {seed} is refuted by blocks of {size}"),
            Packing::Found(mapping) => {
                assert!(problem.objective(&mapping) <= optimum * (1.0 + 1e-11), "too long in seed {seed}");
            }
            Packing::Unknown(_) | Packing::Crowded => (),
        }
        tight += usize::from(bound > optimum * (1.0 - 1e-4));
        looked += 1;
    }
    assert!(looked > 100 && tight * 5 > looked, "{tight} of {looked} bounds are tight");
}

/// The same devices, no two of them alike by their links.
fn unlike(topology: &Topology, seed: u64) -> Topology {
    Topology::new("unlike", "", topology.devices.clone(), |a, b| 1.0 + ((a + b) * (a + 2) * (b + 2) % 7) as f64)
        .with_latency(|a, b| ((a * b + a + seed as usize) % 3) as f64)
}

#[test]
fn covers_tell_just_which_targets_a_mapping_keeps() {
    let cx = SearchContext::new();
    let mut looked = 0;
    for seed in 0..600 {
        let mut problem = problem(seed);
        problem.topology = unlike(&problem.topology, seed);
        let run = Exhaustive.map(&problem, &cx);
        let Some(optimum) = run.outcome.solution().map(|mapping| problem.objective(mapping)) else { continue };
        let mut packer = packer(&problem);
        if !packer.can_cover() {
            continue;
        }
        let Packing::Found(mapping) = packer.cover(optimum, &mut PLENTY.clone(), &cx) else {
            panic!("{optimum} of seed {seed} is not found")
        };
        assert!(problem.objective(&mapping) <= optimum * (1.0 + 1e-11), "too long in seed {seed}");
        let better = packer.cover(optimum * (1.0 - 1e-6), &mut PLENTY.clone(), &cx);
        assert_eq!(better, Packing::Refuted, "better than the best of seed {seed}");
        looked += 1;
    }
    assert!(looked > 100, "{looked} problems have covers");
}

#[test]
fn covers_end_when_their_effort_does() {
    let is_full = |problem: &MappingProblem| problem.replicas == 3 && problem.copies() == problem.topology.len();
    let mut problem = (0..).map(problem).find(is_full).expect("one of seven kinds");
    problem.topology = unlike(&problem.topology, 0);
    let mut packer = packer(&problem);
    assert!(packer.can_cover());
    let cx = SearchContext::new();
    assert_eq!(packer.cover(1e6, &mut 0, &cx), Packing::Crowded);
    assert!(matches!(packer.cover(1e6, &mut PLENTY.clone(), &cx), Packing::Found(_)));
}

#[test]
fn packing_ends_when_it_is_told_to() {
    let problem = (0..).map(problem).find(|problem| problem.replicas == 3).expect("one of seven kinds");
    let stopped = SearchContext::new().with_cancellation(Arc::new(AtomicBool::new(true)));
    let mut packer = packer(&problem);
    assert_eq!(packer.bound(0.0, 100.0, PLENTY, &stopped), 0.0);
    assert_eq!(packer.search(1.0, &mut PLENTY.clone(), &stopped), Packing::Unknown(None));
}

#[test]
fn more_stages_than_can_be_ordered_are_refused() {
    let mut problem = problem(0);
    problem.stages.stages = vec![Stage::default(); 200];
    problem.stages.messages.clear();
    assert!(Packer::all(&problem, None, 0).is_empty());
}
