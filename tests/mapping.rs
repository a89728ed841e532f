//! The mappers against the exhaustive one on generated problems.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use dagsplit::cost::{Piece, Synchronisation};
use dagsplit::mapping::{
    BranchAndBound, Counted, Device, Exhaustive, Mapper, MappingOutcome, MappingProblem, MappingRun, Message, Stage,
    StageCost, StageGraph, Topology,
};
use dagsplit::solve::SearchContext;
use proptest::prelude::*;
use proptest::sample::select;

/// What links look like.
#[derive(Debug, Clone, Copy)]
enum Links {
    /// Few bandwidths, equal in both directions: many symmetries.
    Even,
    /// Nodes of equal devices.
    Nodes(usize),
    /// Each direction for itself, with latencies.
    Wild,
}

fn topology(devices: usize) -> impl Strategy<Value = Topology> {
    let links = prop_oneof![Just(Links::Even), (2..4usize).prop_map(Links::Nodes), Just(Links::Wild)];
    let figures = proptest::collection::vec(0..5usize, devices * devices);
    let device = (prop_oneof![3 => Just(1.0), 1 => Just(2.0)], prop_oneof![3 => Just(None), 1 => Just(Some(4.0))]);
    let kinds = proptest::collection::vec(device, devices);
    (links, figures, kinds, any::<bool>()).prop_map(move |(links, figures, kinds, is_plain)| {
        let device = |(index, (speed, memory)): (usize, (f64, Option<f64>))| match is_plain {
            true => Device::new(index.to_string()),
            false => Device { name: index.to_string(), speed, memory },
        };
        let figure = |a: usize, b: usize| figures[a * devices + b];
        let bandwidth = |a: usize, b: usize| match links {
            Links::Even => [1.0, 1.0, 2.0, 2.0, 4.0][figure(a.min(b), a.max(b))],
            Links::Nodes(size) if a / size == b / size => [8.0, 4.0][figure(0, a / size) % 2],
            Links::Nodes(_) => 1.0,
            Links::Wild => [1.0, 2.0, 3.0, 4.0, 5.0][figure(a, b)],
        };
        let latency = |a: usize, b: usize| match links {
            Links::Wild => figure(b, a) as f64,
            Links::Even | Links::Nodes(_) => 0.0,
        };
        let devices = kinds.into_iter().enumerate().map(device).collect();
        Topology::new("generated", "proptest", devices, bandwidth).with_latency(latency)
    })
}

fn stages(count: usize) -> impl Strategy<Value = StageGraph> {
    let stage = (1..10u8, 0..5u8, 0..20u8, 0..6u8).prop_map(|(forward, backward, parameter_bytes, memory)| Stage {
        name: String::new(),
        forward: forward.into(),
        backward: backward.into(),
        parameter_bytes: parameter_bytes.into(),
        memory: memory.into(),
    });
    let bytes = proptest::collection::vec(prop_oneof![1 => Just(0u8), 1 => 1..20u8], count * count);
    (proptest::collection::vec(stage, count), bytes).prop_map(move |(stages, bytes)| {
        let pairs = (0..count * count).map(|pair| (pair / count, pair % count)).filter(|(a, b)| a != b);
        let message =
            |(source, target): (usize, usize)| Message { source, target, bytes: bytes[source * count + target].into() };
        StageGraph { name: "generated".into(), stages, messages: pairs.map(message).collect() }
    })
}

fn cost() -> impl Strategy<Value = StageCost> {
    let additive = vec![Piece::new(1.0, 1.0, 1.0)];
    let overlapped = vec![Piece::new(1.0, 0.0, 0.0), Piece::new(0.0, 1.0, 0.0), Piece::new(0.0, 0.5, 2.0)];
    let counted = select(vec![Counted::Messages, Counted::AllReduce, Counted::Both]);
    let synchronisation = select(vec![Synchronisation::Added, Synchronisation::Overlapped]);
    (counted, select(vec![additive, overlapped]), synchronisation)
        .prop_map(|(counted, pieces, synchronisation)| StageCost { counted, pieces, synchronisation })
}

fn problem(most_devices: usize) -> impl Strategy<Value = MappingProblem> {
    let sizes: Vec<(usize, usize)> =
        (1..=most_devices).flat_map(|s| (1..=most_devices / s).map(move |r| (s, r))).collect();
    (select(sizes), 0..2usize).prop_flat_map(move |((count, replicas), spare)| {
        let devices = (count * replicas + spare).min(most_devices);
        (stages(count), topology(devices), cost()).prop_map(move |(stages, topology, cost)| MappingProblem {
            stages,
            replicas,
            topology,
            cost,
        })
    })
}

/// Panics where a run's answer is no answer.
fn check(problem: &MappingProblem, run: &MappingRun) {
    let Some(mapping) = run.mapping() else { return };
    assert_eq!(mapping.devices.len(), problem.copies());
    let mut devices = mapping.devices.clone();
    devices.sort_unstable();
    devices.dedup();
    assert_eq!(devices.len(), problem.copies(), "two copies on a device");
    for (copy, &device) in mapping.devices.iter().enumerate() {
        assert!(problem.fits(copy / problem.replicas, device), "copy {copy} does not fit");
    }
    assert!(run.bound <= problem.objective(mapping));
}

/// The optimum, `None` where there is no mapping.
fn optimum(problem: &MappingProblem) -> Option<f64> {
    let run = Exhaustive.map(problem, &SearchContext::new());
    run.mapping().map(|mapping| problem.objective(mapping))
}

fn assert_equals_exhaustive(problem: &MappingProblem) {
    let run = BranchAndBound::default().map(problem, &SearchContext::new());
    check(problem, &run);
    match (optimum(problem), &run.outcome) {
        (None, outcome) => assert_eq!(*outcome, MappingOutcome::Infeasible),
        (Some(optimum), MappingOutcome::Optimal(mapping)) => {
            let found = problem.objective(mapping);
            assert!((found - optimum).abs() <= 1e-8 * optimum, "found {found}, optimum {optimum}");
            assert!(run.bound <= optimum * (1.0 + 1e-12), "bound {} above the optimum {optimum}", run.bound);
        }
        (Some(optimum), outcome) => panic!("{outcome:?} where the optimum is {optimum}"),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn branch_and_bound_equals_the_exhaustive_search(problem in problem(6)) {
        assert_equals_exhaustive(&problem);
    }

    #[test]
    fn what_is_known_when_cut_off_is_true(problem in problem(6), reports in 0..6usize) {
        let (stop, told) = (Arc::new(AtomicBool::new(reports == 0)), AtomicUsize::new(0));
        let flag = Arc::clone(&stop);
        let cx = SearchContext::new().with_cancellation(stop).with_report(move |_| {
            if told.fetch_add(1, Ordering::Relaxed) + 1 >= reports {
                flag.store(true, Ordering::Relaxed);
            }
        });
        let run = BranchAndBound::default().map(&problem, &cx);
        check(&problem, &run);
        match optimum(&problem) {
            None => prop_assert_eq!(run.outcome, MappingOutcome::Infeasible),
            Some(optimum) => {
                prop_assert!(run.bound <= optimum * (1.0 + 1e-12));
                prop_assert!(run.mapping().is_some());
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    #[test]
    fn branch_and_bound_equals_the_exhaustive_search_of_eight_devices(problem in problem(8)) {
        assert_equals_exhaustive(&problem);
    }
}
