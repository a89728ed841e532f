//! The mappers against the exhaustive one on generated problems.

mod common;
mod mappings;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use common::drawn;
use dagsplit::mapping::{BranchAndBound, Exhaustive, Mapper, MappingOutcome, MappingProblem, MappingRun};
use dagsplit::solve::{OPTIMALITY_TOLERANCE, SearchContext};
use mappings::any_problem;
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
