//! The mappers against the exhaustive one on generated problems.

mod common;
mod mappings;
#[path = "../benches/support/pipelines.rs"]
mod pipelines;

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use common::drawn;
use dagsplit::formats::{TopologyOptions, read_topology};
use dagsplit::mapping::{
    BranchAndBound, Counted, Exhaustive, Mapper, MappingOutcome, MappingProblem, MappingRun, StageCost,
};
use dagsplit::solve::{OPTIMALITY_TOLERANCE, SearchContext};
use mappings::any_problem;
use pipelines::{NETWORKS, pipeline};
use proptest::prelude::*;

/// What the run says that no mapping is below; 0 where it says nothing.
fn bound(run: &MappingRun) -> f64 {
    run.outcome.bound().copied().unwrap_or(0.0)
}

/// Panics where a run's answer is no answer.
fn check(problem: &MappingProblem, run: &MappingRun) {
    let Some(mapping) = run.outcome.solution() else { return };
    assert_eq!(mapping.devices.len(), problem.copies());
    let mut devices = mapping.devices.clone();
    devices.sort_unstable();
    devices.dedup();
    assert_eq!(devices.len(), problem.copies(), "two copies on a device");
    for (copy, &device) in mapping.devices.iter().enumerate() {
        assert!(problem.fits(copy / problem.replicas, device), "copy {copy} does not fit");
    }
    assert!(bound(run) <= problem.objective(mapping));
}

/// The optimum, `None` where there is no mapping.
fn optimum(problem: &MappingProblem) -> Option<f64> {
    let run = Exhaustive.map(problem, &SearchContext::new());
    run.outcome.solution().map(|mapping| problem.objective(mapping))
}

/// Whether a mapping that is called optimal is so.
fn is_near(found: f64, optimum: f64) -> bool {
    (found - optimum).abs() <= 2.0 * OPTIMALITY_TOLERANCE * optimum
}

fn assert_equals_exhaustive(problem: &MappingProblem, mapper: &BranchAndBound) {
    let run = mapper.map(problem, &SearchContext::new());
    check(problem, &run);
    match (optimum(problem), &run.outcome) {
        (None, outcome) => assert_eq!(*outcome, MappingOutcome::Infeasible),
        (Some(optimum), MappingOutcome::Optimal { solution: mapping, .. }) => {
            let found = problem.objective(mapping);
            assert!(is_near(found, optimum), "found {found}, optimum {optimum}");
            assert!(bound(&run) <= optimum * (1.0 + 1e-12), "bound {} above the optimum {optimum}", bound(&run));
        }
        (Some(optimum), outcome) => panic!("{outcome:?} where the optimum is {optimum}"),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn branch_and_bound_equals_the_exhaustive_search(problem in any_problem(6)) {
        // So little annealing leaves it to the search to find the optimum.
        assert_equals_exhaustive(&problem, &BranchAndBound { moves: 1, decisions: 1, ..BranchAndBound::default() });
    }

    /// A search that may stop at a gap says optimal only of what it proves.
    #[test]
    fn a_gap_is_no_proof(problem in any_problem(6), gap in prop_oneof![Just(1e-3), Just(0.01), Just(0.3)]) {
        let mut cx = SearchContext::new();
        cx.gap = gap;
        let run = BranchAndBound { moves: 1, decisions: 1, ..BranchAndBound::default() }.map(&problem, &cx);
        check(&problem, &run);
        if let (Some(optimum), Some(mapping)) = (optimum(&problem), run.outcome.solution()) {
            let found = problem.objective(mapping);
            prop_assert!(found - bound(&run) <= gap * found, "found {found}, bound {}", bound(&run));
            if matches!(run.outcome, MappingOutcome::Optimal { .. }) {
                prop_assert!(is_near(found, optimum), "found {found}, optimum {optimum}");
            }
        }
    }

    #[test]
    fn what_is_known_when_cut_off_is_true(problem in any_problem(6), reports in 0..6usize) {
        let (stop, told) = (Arc::new(AtomicBool::new(reports == 0)), AtomicUsize::new(0));
        let flag = Arc::clone(&stop);
        let cx = SearchContext::new().with_cancellation(stop).with_report(move |_| {
            if told.fetch_add(1, Ordering::Relaxed) + 1 >= reports {
                flag.store(true, Ordering::Relaxed);
            }
        });
        let run = BranchAndBound { moves: 1, decisions: 1, ..BranchAndBound::default() }.map(&problem, &cx);
        check(&problem, &run);
        match optimum(&problem) {
            None => prop_assert_eq!(run.outcome, MappingOutcome::Infeasible),
            Some(optimum) => {
                prop_assert!(bound(&run) <= optimum * (1.0 + 1e-12));
                prop_assert!(run.outcome.solution().is_some());
                if let MappingOutcome::Optimal { solution: mapping, .. } = &run.outcome {
                    let found = problem.objective(mapping);
                    prop_assert!(is_near(found, optimum), "found {found}, optimum {optimum}");
                }
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(20))]

    #[test]
    fn branch_and_bound_equals_the_exhaustive_search_of_eight_devices(problem in any_problem(8)) {
        assert_equals_exhaustive(&problem, &BranchAndBound::default());
    }
}

#[test]
fn the_tree_is_reached() {
    let mapper = BranchAndBound { moves: 1, decisions: 1, ..BranchAndBound::default() };
    let decisions = |problem: MappingProblem| {
        let run = mapper.map(&problem, &SearchContext::new());
        run.stats.get("decisions").unwrap_or(0.0)
    };
    // More decisions than one for each of ten copies: not only the first way down.
    let counts: Vec<f64> = drawn(&any_problem(10), 300).map(decisions).collect();
    let trees = counts.iter().filter(|&&count| count > 10.0).count();
    assert!(trees >= 20, "{trees} of 300 runs branch: {counts:?}");
}

/// A problem with a proven optimum: network, stages, interconnect of `instances/topologies`, and what counts.
type Golden = (String, usize, String, String);

/// Mappings of the networks of Liu et al. (2024) on committed interconnects of 16 to 64 devices, with a tenth of the
/// compute.
fn golden_problems() -> impl Iterator<Item = (Golden, MappingProblem)> {
    let topologies = ["hierarchical-4x4", "fat-tree-16", "dgx1-4x8", "dgx-h100-4x8", "mesh-8x8", "torus-4x4x4"];
    let asked = topologies.into_iter().flat_map(|topology| {
        let counted = [Counted::Messages, Counted::AllReduce, Counted::Both];
        NETWORKS.into_iter().flat_map(move |network| {
            [4, 8].into_iter().flat_map(move |stages| counted.map(|counted| (network, stages, topology, counted)))
        })
    });
    asked.map(|(network, stages, name, counted)| {
        let path = format!("{}/instances/topologies/{name}.json", env!("CARGO_MANIFEST_DIR"));
        let topology = read_topology(Path::new(&path), &TopologyOptions::default()).unwrap();
        let problem = MappingProblem {
            stages: pipeline(network, stages, 0.1),
            replicas: topology.len() / stages,
            topology,
            cost: StageCost::additive(counted),
        };
        ((network.into(), stages, name.into(), counted.name().into()), problem)
    })
}

/// No bound is above what is known to be the optimum, and no mapping below it. `DAGSPLIT_UPDATE` writes what is known anew.
#[test]
fn golden_optima_are_proven_again() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/mappings/golden.json");
    let mut found = Vec::new();
    for (about, problem) in golden_problems() {
        let cx = SearchContext::new().with_time_limit(Duration::from_secs(60));
        let run = BranchAndBound::default().map(&problem, &cx);
        check(&problem, &run);
        assert!(matches!(run.outcome, MappingOutcome::Optimal { .. }), "{about:?} is no longer proven");
        found.push((about, problem.objective(run.outcome.solution().unwrap()), bound(&run)));
    }
    if std::env::var_os("DAGSPLIT_UPDATE").is_some() {
        let line = |(about, objective, _): &(Golden, f64, f64)| serde_json::to_string(&(about, objective)).unwrap();
        let lines: Vec<String> = found.iter().map(line).collect();
        std::fs::write(path, format!("[\n{}\n]\n", lines.join(",\n"))).unwrap();
    }
    let known: Vec<(Golden, f64)> = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    assert_eq!(known.len(), found.len());
    for ((known, optimum), (about, objective, bound)) in known.into_iter().zip(found) {
        assert_eq!(known, about);
        assert!(bound <= optimum * (1.0 + 1e-12), "{about:?}: the bound {bound} is above {optimum}");
        assert!(objective >= optimum * (1.0 - OPTIMALITY_TOLERANCE), "{about:?}: {objective} is below {optimum}");
    }
}
