//! `certify` against brute force, with every feature it takes; its bounds and answers when it is cut off.

mod common;
mod workloads;

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use common::{InstanceOptions, NEAR_TIES, config, count_runs, instances, near, odd_cycles, proves, solve_and_verify};
use dagsplit::formats::{ReadOptions, read_instance};
use dagsplit::instance::{Edge, Instance, Node, Platform};
use dagsplit::problem::{CostKind, Interconnect, Objective, Problem, ProblemSpec, Replication, Scope};
use dagsplit::solve::BruteForce;
use dagsplit::solve::Certify;
use dagsplit::solve::{OPTIMALITY_TOLERANCE, Outcome, Progress, Run, SearchContext, Solver};
use dagsplit::verify;
use proptest::prelude::*;
use proptest::sample::select;

/// Instances with a request that `certify` takes.
fn problems(max_groups: usize, options: InstanceOptions) -> impl Strategy<Value = (Instance, ProblemSpec)> {
    let scopes = select(vec![Scope::Arbitrary, Scope::Convex]);
    let costs = select(vec![CostKind::Additive, CostKind::Overlap, CostKind::Duplex]);
    (instances(max_groups, options), scopes, costs).prop_map(|(instance, scope, cost)| {
        let spec = ProblemSpec { scope, cost, ..ProblemSpec::of(&instance) };
        (instance, spec)
    })
}

/// Odd cycles, whose root bounds leave a gap that the tree has to close.
fn gaps() -> impl Strategy<Value = (Instance, ProblemSpec)> {
    odd_cycles(2).prop_map(|instance| {
        let spec = ProblemSpec { scope: Scope::Arbitrary, ..ProblemSpec::of(&instance) };
        (instance, spec)
    })
}

fn problem(instance: &Instance, spec: &ProblemSpec) -> Problem {
    Problem::new(instance, spec.clone()).unwrap_or_else(|problems| panic!("{problems}"))
}

proptest! {
    #![proptest_config(config(200))]

    #[test]
    fn certify_is_brute_force((instance, spec) in problems(6, InstanceOptions::ALL)) {
        prop_assert_eq!(solve_and_verify(&Certify, &instance, &spec), solve_and_verify(&BruteForce, &instance, &spec));
    }

    #[test]
    fn plain_graphs_of_more_units((instance, spec) in problems(9, InstanceOptions::PLAIN)) {
        prop_assert_eq!(solve_and_verify(&Certify, &instance, &spec), solve_and_verify(&BruteForce, &instance, &spec));
    }

    /// Whatever it has said when it is cut off must be true, in the end and on the way.
    #[test]
    fn cut_off_anywhere((instance, spec) in problems(7, InstanceOptions::ALL), reports in 0..60usize) {
        is_true_when_cut_off(&instance, &spec, reports, 0.0)?;
    }

    #[test]
    fn cut_off_among_near_ties((instance, spec) in problems(8, NEAR_TIES), reports in 0..60usize) {
        is_true_when_cut_off(&instance, &spec, reports, OPTIMALITY_TOLERANCE)?;
    }
}

proptest! {
    #![proptest_config(config(40))]

    #[test]
    fn near_ties_are_told_apart((instance, spec) in prop_oneof![3 => problems(8, NEAR_TIES), 1 => gaps()]) {
        let found = solve_and_verify(&Certify, &instance, &spec);
        let optimum = solve_and_verify(&BruteForce, &instance, &spec);
        prop_assert!(near(found, optimum), "found {found:?}, optimum {optimum:?}");
    }
}

/// Ends a run after so many reports and compares all that it says with the optimum, which a bound may exceed by this part.
fn is_true_when_cut_off(
    instance: &Instance,
    spec: &ProblemSpec,
    reports: usize,
    room: f64,
) -> Result<(), TestCaseError> {
    let optimum = solve_and_verify(&BruteForce, instance, spec);
    let stop = Arc::new(AtomicBool::new(reports == 0));
    let heard: Arc<Mutex<Vec<Progress>>> = Arc::default();
    let count = AtomicUsize::new(0);
    let listener = {
        let (stop, heard) = (stop.clone(), heard.clone());
        move |progress: &Progress| {
            heard.lock().unwrap().push(progress.clone());
            stop.store(count.fetch_add(1, Ordering::Relaxed) + 1 >= reports, Ordering::Relaxed);
        }
    };
    let mut cx = SearchContext::new().with_cancellation(stop).with_report(listener);
    let run = Certify.solve(&problem(instance, spec), &mut cx).unwrap();
    let is_bound = |bound: f64| optimum.is_none_or(|optimum| bound <= optimum * (1.0 + room));
    for progress in heard.lock().unwrap().iter() {
        prop_assert!(progress.bound.is_none_or(is_bound), "{progress:?}, optimum {optimum:?}");
        prop_assert!(progress.incumbent.is_none_or(|value| optimum.is_some_and(|optimum| value >= optimum)));
    }
    if let Some(bound) = run.outcome.bound() {
        prop_assert!(is_bound(bound.value), "{bound:?}, optimum {optimum:?}");
        prop_assert!(bound.scope.covers(&spec.scope));
    }
    match &run.outcome {
        Outcome::Optimal { solution, bound } => {
            prop_assert!(near(solution.objective, optimum), "{solution:?}, optimum {optimum:?}");
            prop_assert!(proves(bound.value, solution.objective.unwrap()), "{bound:?}, {solution:?}");
        }
        Outcome::Infeasible => prop_assert_eq!(optimum, None),
        Outcome::Feasible { .. } | Outcome::Unknown { .. } => {}
    }
    if let Some(solution) = run.outcome.solution() {
        prop_assert!(verify::check(instance, spec, solution).is_ok());
    }
    Ok(())
}

#[test]
fn the_tree_is_reached() {
    let branches = |run: &Run| run.stats.get("tree_nodes") > Some(0.0);
    let trees = count_runs(&gaps(), 10, &Certify, branches);
    assert!(trees >= 8, "{trees} of 10 runs branch");
}

#[test]
fn refuses_what_it_does_not_solve() {
    let mut instance = Instance { platform: Platform::uniform(2, None, 0), ..Instance::default() };
    instance.nodes = vec![Node::new(1), Node::new(2)];
    let spec = ProblemSpec { scope: Scope::Arbitrary, ..ProblemSpec::of(&instance) };
    let takes = |spec: ProblemSpec| Certify.supports(&problem(&instance, &spec)).is_ok();
    assert!(takes(spec.clone()));
    assert!(takes(ProblemSpec { scope: Scope::Convex, ..spec.clone() }));
    assert!(!takes(ProblemSpec { scope: Scope::Acyclic, ..spec.clone() }));
    assert!(!takes(ProblemSpec { objective: Objective::GPipe, ..spec.clone() }));
    assert!(!takes(ProblemSpec { objective: Objective::Latency { subgraphs: 1 }, ..spec.clone() }));
    let interconnect = Some(Interconnect { server_size: 1, between_factor: 2.0 });
    assert!(!takes(ProblemSpec { interconnect, ..spec.clone() }));
    let replication = Some(Replication { max_replicas: 2, bandwidth: 1.0 });
    assert!(!takes(ProblemSpec { replication, ..spec }));
}

#[test]
fn equal_runs_give_equal_splits() {
    let Some(path) = workloads::find("tarnawski2020/throughput/layer/bert24_training.json") else { return };
    let instance = read_instance(&path, &ReadOptions::default()).unwrap();
    let spec = ProblemSpec { scope: Scope::Arbitrary, ..ProblemSpec::of(&instance) };
    let run = || Certify.solve(&problem(&instance, &spec), &mut SearchContext::new()).unwrap();
    assert_eq!(run(), run());
}

/// Published values and proofs where a proof takes little time (Tarnawski 2020, Table 1, non-contiguous).
#[test]
fn published_workloads_are_proven() {
    let published = [
        ("layer/bert24_inference", 17.715),
        ("layer/bert24_training", 39.795),
        ("operator/bert_l-3_training", 54.215),
        ("operator/resnet50_inference", 124.355),
    ];
    published.into_iter().for_each(|(name, least_above)| is_proven(name, least_above));
}

/// The same where it takes minutes on one thread: splits of many units that are all but tied.
#[test]
#[ignore = "takes minutes"]
fn published_near_ties_are_proven() {
    let published = [("layer/resnet50_inference", 33.2223), ("layer/resnet50_training", 76.2036)];
    published.into_iter().for_each(|(name, least_above)| is_proven(name, least_above));
}

/// Whether a split below so much is found and proven.
fn is_proven(name: &str, least_above: f64) {
    let Some(path) = workloads::find(&format!("tarnawski2020/throughput/{name}.json")) else { return };
    let instance = read_instance(&path, &ReadOptions::default()).unwrap();
    let spec = ProblemSpec { scope: Scope::Arbitrary, ..ProblemSpec::of(&instance) };
    let mut cx = SearchContext::new().with_time_limit(Duration::from_secs(300));
    let run = Certify.solve(&problem(&instance, &spec), &mut cx).unwrap();
    let Outcome::Optimal { solution, bound } = run.outcome else { panic!("{name} is not proven") };
    let value = solution.objective.unwrap();
    assert!(value < least_above, "{name}: {value}");
    assert!(proves(bound.value, value), "{name}: {bound:?}, {value}");
    verify::check(&instance, &spec, &solution).unwrap_or_else(|violations| panic!("{name}: {violations:?}"));
}

/// One node takes nearly all the memory of a device, so that the best set of a pricing round is not the one with the
/// largest load.
#[test]
fn a_light_node_that_fills_a_device_gets_one() {
    let node = |id, time, memory, transfer_time| Node {
        accelerator_times: vec![Some(time)],
        cpu_time: None,
        memory,
        transfer_time,
        ..Node::new(id)
    };
    let instance = Instance {
        platform: Platform::uniform(2, Some(7.0007), 0),
        nodes: vec![
            node(0, 0.0, 0.0011, 1.0),
            node(1, 0.0, 7.0, 0.0),
            node(2, 2.3, 1.0, 1.0),
            node(3, 0.0, 1.0, 0.7),
            node(4, 0.0, 1.0, 0.0),
            node(5, 23.0, 0.1, 0.0),
        ],
        edges: [(0, 1), (2, 3), (3, 4)].map(|(source, target)| Edge { source, target }).to_vec(),
        ..Instance::default()
    };
    let spec = ProblemSpec { scope: Scope::Arbitrary, ..ProblemSpec::of(&instance) };
    assert_eq!(solve_and_verify(&Certify, &instance, &spec), Some(26.3));
}
