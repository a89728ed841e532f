//! Block configurations against the exhaustive search on small random problems.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use super::BlockConfiguration;
use crate::mapping::samples::problem;
use crate::mapping::{Counted, Exhaustive, Mapper, MappingProblem, StageCost};
use crate::solve::SearchContext;

/// Blocks of so many devices. Any blocks give bounds; those that the problem was made of give mappings, too.
fn blocks(problem: &MappingProblem, size: usize) -> Vec<Vec<usize>> {
    let devices: Vec<usize> = (0..problem.topology.len()).collect();
    devices.chunks(size).map(<[usize]>::to_vec).collect()
}

#[test]
fn no_bound_is_above_the_optimum_and_some_are_equal_to_it() {
    let cx = SearchContext::new();
    let (mut equal, mut looked) = (0, 0);
    for (seed, counted) in (0..200).flat_map(|seed| [(seed, Counted::Messages), (seed, Counted::Both)]) {
        let problem = MappingProblem { cost: StageCost::additive(counted), ..problem(seed) };
        let run = Exhaustive.map(&problem, &cx);
        let Some(optimum) = run.outcome.solution().map(|mapping| problem.objective(mapping)) else { continue };
        for size in 1..=4 {
            let mut filler = BlockConfiguration::new(&problem, &blocks(&problem, size), 0).expect("messages count");
            let bound = filler.bound(0.0, 2.0 * optimum, &cx);
            assert!(bound <= optimum * (1.0 + 1e-12), "bound {bound} above {optimum} of seed {seed}, blocks of {size}");
            equal += usize::from(bound > optimum * (1.0 - 1e-9));
            looked += 1;
        }
    }
    assert!(equal * 5 > 2 * looked, "{equal} of {looked} bounds are tight");
}

#[test]
fn no_bound_with_rings_is_above_the_optimum_and_some_bounds_and_mappings_are_better() {
    let cx = SearchContext::new();
    let (mut better, mut found, mut looked) = (0, 0, 0);
    for seed in 0..60 {
        let mut problem = MappingProblem { cost: StageCost::additive(Counted::Both), ..problem(seed) };
        let bytes = |stage: usize| f64::from(((stage + seed as usize) * 7 % 5) as u8);
        problem.stages.stages.iter_mut().enumerate().for_each(|(stage, row)| row.parameter_bytes = bytes(stage));
        let run = Exhaustive.map(&problem, &cx);
        let Some(optimum) = run.outcome.solution().map(|mapping| problem.objective(mapping)) else { continue };
        for size in 2..=3 {
            let mut filler = BlockConfiguration::new(&problem, &blocks(&problem, size), 0).expect("messages count");
            let low = filler.bound(0.0, 2.0 * optimum, &cx);
            for high in [optimum, 1.5 * optimum] {
                let (bound, mapping) = filler.decide_rings(low, high, 1 << 13, &cx);
                assert!((low..=optimum * (1.0 + 1e-12)).contains(&bound), "{bound} above {optimum} of seed {seed}");
                better += usize::from(bound > low * (1.0 + 1e-9));
                let Some(mapping) = mapping else { continue };
                let mut devices = mapping.devices.clone();
                devices.sort_unstable();
                devices.dedup();
                assert_eq!(devices.len(), problem.copies(), "copies of seed {seed} share devices");
                assert!(problem.objective(&mapping) >= optimum * (1.0 - 1e-12));
                found += usize::from(problem.objective(&mapping) < high);
            }
            assert_eq!(
                filler.bound(0.0, 2.0 * optimum, &cx),
                low,
                "rings of seed {seed} stay where they were said to be"
            );
            looked += 1;
        }
    }
    assert!(better * 20 > looked && found * 20 > looked, "of {looked}, {better} bounds are better, {found} are found");
}

#[test]
fn blocks_are_filled_within_the_target() {
    let cx = SearchContext::new();
    let (mut found, mut looked) = (0, 0);
    for seed in 0..200 {
        let problem = problem(seed);
        let run = Exhaustive.map(&problem, &cx);
        let Some(optimum) = run.outcome.solution().map(|mapping| problem.objective(mapping)) else { continue };
        let best = (1..=4).filter_map(|size| {
            let mut filler = BlockConfiguration::new(&problem, &blocks(&problem, size), 0)?;
            let mapping = filler.mapping(optimum, 20, &cx)?;
            let mut devices = mapping.devices.clone();
            devices.sort_unstable();
            devices.dedup();
            assert_eq!(devices.len(), problem.copies(), "copies of seed {seed} share devices");
            Some(problem.objective(&mapping))
        });
        let best = best.fold(f64::INFINITY, f64::min);
        assert!(best >= optimum * (1.0 - 1e-12), "{best} is better than the best of seed {seed}");
        found += usize::from(best <= optimum * (1.0 + 1e-9));
        looked += 1;
    }
    assert!(found * 3 > 2 * looked, "{found} of {looked} are found");
}

#[test]
fn filling_ends_when_it_is_told_to() {
    let problem = problem(1);
    let stopped = SearchContext::new().with_cancellation(Arc::new(AtomicBool::new(true)));
    let mut filler = BlockConfiguration::new(&problem, &blocks(&problem, 2), 0).expect("messages count");
    assert_eq!(filler.bound(1.0, 100.0, &stopped), 1.0);
    filler.mapping(100.0, u64::MAX, &stopped);
    assert_eq!(filler.nodes, 1);
}

#[test]
fn where_no_message_counts_there_is_nothing_to_fill() {
    let problem = MappingProblem { cost: StageCost::additive(Counted::AllReduce), ..problem(0) };
    assert!(BlockConfiguration::new(&problem, &blocks(&problem, 2), 0).is_none());
}
