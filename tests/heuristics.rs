//! The heuristics for loads: small examples by hand, and the oracle on random problems.

mod common;

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use common::{InstanceOptions, config, problems, solve_and_verify};
use dagsplit::instance::{Edge, Instance, Node, Platform};
use dagsplit::problem::{DeviceAssignment, DeviceKind, Objective, Problem, ProblemSpec, Replication, Scope, Solution};
use dagsplit::registry;
use dagsplit::solve::BruteForce;
use dagsplit::solve::IdealDp;
use dagsplit::solve::{Branchings, Greedy, LocalSearch, PipeDream, SingleDevice, Uniform};
use dagsplit::solve::{Outcome, SearchContext, Solver};
use dagsplit::verify;
use proptest::collection::vec;
use proptest::prelude::*;

/// Nodes 1, 2, ... with these times, ten times as much on CPUs, one byte and a transfer time of 1 each.
fn graph(times: &[f64], edges: &[(u64, u64)], platform: Platform) -> Instance {
    let node = |(id, &time): (u64, &f64)| Node {
        accelerator_times: vec![Some(time)],
        cpu_time: Some(10.0 * time),
        memory: 1.0,
        transfer_time: 1.0,
        ..Node::new(id)
    };
    Instance {
        platform,
        nodes: (1..).zip(times).map(node).collect(),
        edges: edges.iter().map(|&(source, target)| Edge { source, target }).collect(),
        ..Instance::default()
    }
}

/// A chain of nodes with these times.
fn chain(times: &[f64], platform: Platform) -> Instance {
    let edges: Vec<(u64, u64)> = (1..times.len() as u64).map(|id| (id, id + 1)).collect();
    graph(times, &edges, platform)
}

fn spec(instance: &Instance, scope: Scope) -> ProblemSpec {
    ProblemSpec { scope, ..ProblemSpec::of(instance) }
}

fn all() -> [Box<dyn Solver>; 6] {
    [
        Box::new(LocalSearch::default()),
        Box::new(LocalSearch { cpus: true, ..LocalSearch::default() }),
        Box::new(Greedy),
        Box::new(PipeDream::default()),
        Box::new(Uniform::default()),
        Box::new(SingleDevice),
    ]
}

#[test]
fn greedy_finds_the_least_limit_that_suffices() {
    // {1, 2, 3} sends: 6 + 1; {4, 5} receives: 5 + 1. No limit below 7 suffices.
    let instance = chain(&[1.0, 2.0, 3.0, 4.0, 1.0], Platform::uniform(2, None, 0));
    assert_eq!(solve_and_verify(&Greedy, &instance, &spec(&instance, Scope::Acyclic)), Some(7.0));
    // Two bytes each: {1, 2}, {3, 4}, and the rest on the CPU.
    let instance = chain(&[1.0, 2.0, 3.0, 4.0, 1.0], Platform::uniform(2, Some(2.0), 1));
    assert_eq!(solve_and_verify(&Greedy, &instance, &spec(&instance, Scope::Convex)), Some(10.0));
    // Without a CPU nothing holds the rest.
    let instance = chain(&[1.0, 2.0, 3.0, 4.0, 1.0], Platform::uniform(2, Some(2.0), 0));
    assert_eq!(solve_and_verify(&Greedy, &instance, &spec(&instance, Scope::Acyclic)), None);
}

#[test]
fn uniform_stages_have_as_many_layers_whatever_they_cost() {
    let instance = chain(&[9.0, 1.0, 1.0, 1.0], Platform::uniform(2, None, 1));
    // {1, 2} and {3, 4}, though {1} and the others would be better.
    assert_eq!(solve_and_verify(&Uniform::default(), &instance, &spec(&instance, Scope::Acyclic)), Some(11.0));
    // Two replicas of one stage take 12 / 2; their weights need no time.
    let replication = Some(Replication { max_replicas: 2, bandwidth: 1.0 });
    let replicated = ProblemSpec { replication, ..spec(&instance, Scope::Acyclic) };
    assert_eq!(solve_and_verify(&Uniform::default(), &instance, &replicated), Some(6.0));
}

#[test]
fn a_single_device_is_an_accelerator_where_one_suffices() {
    let roomy = chain(&[1.0, 2.0], Platform::uniform(2, Some(2.0), 1));
    assert_eq!(solve_and_verify(&SingleDevice, &roomy, &spec(&roomy, Scope::Acyclic)), Some(3.0));
    let tight = chain(&[1.0, 2.0], Platform::uniform(2, Some(1.0), 1));
    assert_eq!(solve_and_verify(&SingleDevice, &tight, &spec(&tight, Scope::Acyclic)), Some(30.0));
    let lost = chain(&[1.0, 2.0], Platform::uniform(2, Some(1.0), 0));
    assert_eq!(solve_and_verify(&SingleDevice, &lost, &spec(&lost, Scope::Acyclic)), None);
}

/// The input 1 feeds 2; 2 branches to 3 and 4, which meet at 5; then 6.
fn branching() -> Instance {
    let edges = [(1, 2), (2, 3), (2, 4), (3, 5), (4, 5), (5, 6)];
    graph(&[0.0, 1.0, 4.0, 4.0, 1.0, 5.0], &edges, Platform::uniform(2, None, 0))
}

#[test]
fn pipedream_contracts_branchings_up_to_where_they_meet() {
    let instance = branching();
    let problem = Problem::new(&instance, spec(&instance, Scope::Acyclic)).unwrap();
    let clusters = Branchings::default().of(&problem);
    let together = |a: usize, b: usize| clusters[a - 1] == clusters[b - 1];
    assert!(together(2, 3) && together(2, 4));
    assert!(!together(1, 2) && !together(2, 5) && !together(5, 6));
    // {2, 3, 4} and {5, 6}, 9 + 2 and 6 + 2. Parted, {2, 3} and {4, 5, 6} would take 5 + 2 and 10 + 2.
    assert_eq!(solve_and_verify(&PipeDream::default(), &instance, &spec(&instance, Scope::Acyclic)), Some(11.0));
    let chain = registry::solver("branchings+dp").unwrap();
    assert_eq!(solve_and_verify(&*chain, &instance, &spec(&instance, Scope::Acyclic)), Some(11.0));
}

#[test]
fn inputs_and_broadcasts_do_not_tie_the_graph_together() {
    // The input 1 feeds all of 2, 3, 4, which are a chain.
    let edges = [(1, 2), (1, 3), (1, 4), (2, 3), (3, 4)];
    let distinct = |first: f64, broadcast: usize| {
        let instance = graph(&[first, 1.0, 1.0, 1.0], &edges, Platform::uniform(2, None, 0));
        let problem = Problem::new(&instance, spec(&instance, Scope::Acyclic)).unwrap();
        let mut clusters = Branchings { broadcast }.of(&problem);
        clusters.sort_unstable();
        clusters.dedup();
        clusters.len()
    };
    assert_eq!(distinct(0.0, 4), 4);
    // Once it computes, it is a layer like any other.
    assert_eq!(distinct(1.0, 4), 2);
    // A node without compute time that is fed by another is a broadcast from its fourth consumer on.
    let edges = [(1, 2), (2, 3), (2, 4), (2, 5), (3, 4), (4, 5)];
    let instance = graph(&[1.0, 0.0, 1.0, 1.0, 1.0], &edges, Platform::uniform(2, None, 0));
    let problem = Problem::new(&instance, spec(&instance, Scope::Acyclic)).unwrap();
    let count = |broadcast: usize| {
        let clusters = Branchings { broadcast }.of(&problem);
        (0..5).filter(|&v| !clusters[..v].contains(&clusters[v])).count()
    };
    assert_eq!((count(2), count(3)), (5, 3));
}

#[test]
fn local_search_fits_before_it_balances() {
    // Three bytes on each of two accelerators: four must not be on one, whatever the loads.
    let instance = chain(&[6.0, 1.0, 1.0, 1.0, 1.0, 1.0], Platform::uniform(2, Some(3.0), 0));
    let found = solve_and_verify(&LocalSearch::default(), &instance, &spec(&instance, Scope::Arbitrary));
    assert_eq!(found, Some(9.0));
}

#[test]
fn local_search_takes_cpus_only_where_it_must_or_may() {
    let search = |cpus: bool, memory: Option<f64>| {
        let mut instance = chain(&[4.0, 4.0, 0.1], Platform::uniform(2, memory, 1));
        instance.edges.clear();
        solve_and_verify(&LocalSearch { cpus, ..LocalSearch::default() }, &instance, &spec(&instance, Scope::Arbitrary))
    };
    assert_eq!(search(false, None), Some(4.1));
    assert_eq!(search(true, None), Some(4.0));
    assert_eq!(search(false, Some(1.0)), Some(4.0));
}

#[test]
fn a_stopped_search_ends_at_once() {
    let instance = chain(&[1.0, 2.0, 3.0], Platform::uniform(2, None, 0));
    let problem = Problem::new(&instance, spec(&instance, Scope::Arbitrary)).unwrap();
    let cancelled = || SearchContext::new().with_cancellation(Arc::new(AtomicBool::new(true)));
    let run = LocalSearch::default().solve(&problem, &mut cancelled()).unwrap();
    assert_eq!(run.stats.get("moves"), Some(0.0));
    assert!(matches!(run.outcome, Outcome::Feasible { bound: Some(_), .. }), "{:?}", run.outcome);
    for solver in all() {
        assert!(solver.solve(&problem, &mut cancelled()).unwrap().outcome.solution().is_some(), "{}", solver.name());
    }
}

#[test]
fn what_is_not_taken_is_said() {
    let instance = chain(&[1.0, 2.0], Platform::uniform(2, None, 0));
    for solver in all() {
        let latency = ProblemSpec { objective: Objective::Latency { subgraphs: 1 }, ..spec(&instance, Scope::Acyclic) };
        for spec in [latency, spec(&instance, Scope::Linearized(vec![0, 1]))] {
            let problem = Problem::new(&instance, spec).unwrap();
            if let Err(unsupported) = solver.supports(&problem) {
                assert_eq!(unsupported.solver, solver.name());
                assert!(solver.solve(&problem, &mut SearchContext::new()).is_err());
            } else {
                assert!(["greedy", "local-search"].contains(&solver.name()), "{}", solver.name());
            }
        }
    }
}

/// All splits that differ from `solution` by the accelerator of one colour class.
fn neighbours(instance: &Instance, solution: &Solution) -> Vec<Solution> {
    let devices: Vec<DeviceAssignment> = solution.devices.clone();
    let mut found = Vec::new();
    for (from, holder) in devices.iter().enumerate() {
        for id in &holder.nodes {
            let class = instance.nodes.iter().find(|node| node.id == *id).and_then(|node| node.color_class);
            let moves = |other: &u64| {
                let node = instance.nodes.iter().find(|node| node.id == *other);
                other == id || class.is_some() && node.is_some_and(|node| node.color_class == class)
            };
            for to in (0..devices.len()).filter(|&to| to != from) {
                let mut moved = devices.clone();
                let (going, staying) = holder.nodes.iter().partition(|other| moves(other));
                moved[from].nodes = staying;
                moved[to].nodes.extend::<Vec<u64>>(going);
                moved.retain(|device| !device.nodes.is_empty());
                found.push(Solution { devices: moved, objective: None });
            }
        }
    }
    found
}

proptest! {
    #![proptest_config(config(1500))]

    #[test]
    fn no_heuristic_beats_the_optimum((instance, spec) in problems(5, InstanceOptions::ALL)) {
        let problem = Problem::new(&instance, spec.clone()).unwrap();
        let optimum = solve_and_verify(&BruteForce, &instance, &spec);
        for solver in all() {
            if solver.supports(&problem).is_err() {
                continue;
            }
            let found = solve_and_verify(&*solver, &instance, &spec);
            match optimum {
                None => prop_assert_eq!(found, None, "{}", solver.name()),
                Some(optimum) => prop_assert!(
                    found.is_none_or(|found| found >= optimum * (1.0 - 1e-9)),
                    "{}: {:?} below {}", solver.name(), found, optimum
                ),
            }
            let outcome = |threads| {
                let mut cx = SearchContext::new();
                cx.threads = threads;
                solver.solve(&problem, &mut cx).unwrap().outcome
            };
            prop_assert_eq!(outcome(1), outcome(2), "{}", solver.name());
        }
    }

    /// Clusters only take splits away, also where they give a backward node without a partner the company of others.
    #[test]
    fn splits_of_clusters_are_splits((instance, spec) in problems(5, InstanceOptions::ALL), labels in vec(0..4usize, 10)) {
        if matches!(spec.scope, Scope::Linearized(_)) {
            return Ok(()); // Clusters interrupt intervals of one given order.
        }
        let problem = Problem::new(&instance, spec.clone()).unwrap();
        let clustered = problem.clustered(&labels[..problem.node_count()]);
        let best = |problem: &Problem| BruteForce.solve(problem, &mut SearchContext::new()).unwrap().outcome;
        if let Some(solution) = best(&clustered).solution() {
            prop_assert!(verify::check(&instance, &spec, solution).is_ok(), "{solution:?}");
            let optimum = best(&problem).solution().and_then(|split| split.objective);
            prop_assert!(optimum <= solution.objective);
            if clustered.spec.scope == Scope::Acyclic {
                let outcome = IdealDp::default().solve(&clustered, &mut SearchContext::new()).unwrap().outcome;
                prop_assert_eq!(outcome.solution().and_then(|split| split.objective), solution.objective);
            }
        }
    }

    /// Without limits every method finds a split, and greedy is no worse than one device.
    #[test]
    fn plain_problems_are_split((instance, mut spec) in problems(6, InstanceOptions::PLAIN)) {
        spec.interconnect = None;
        if matches!(spec.scope, Scope::Linearized(_)) {
            spec.scope = Scope::Acyclic;
        }
        let problem = Problem::new(&instance, spec.clone()).unwrap();
        let value = |solver: &dyn Solver| solve_and_verify(solver, &instance, &spec);
        for solver in all() {
            if solver.supports(&problem).is_ok() {
                prop_assert!(value(&*solver).is_some(), "{}", solver.name());
            }
        }
        let has_accelerators = spec.platform.accelerators.iter().any(|class| class.count > 0);
        if has_accelerators && spec.replication.is_none() {
            prop_assert!(value(&Uniform::default()) <= value(&SingleDevice));
        }
    }

    /// A chain is a path already, so that PipeDream's optimizer is exact; without transfers greedy is, too, on equal
    /// devices; and uniform splits are what slices of the chain cost.
    #[test]
    fn on_chains_the_answers_are_known((mut instance, mut spec) in problems(5, InstanceOptions::PLAIN)) {
        let ids: Vec<u64> = instance.nodes.iter().map(|node| node.id).collect();
        instance.edges = ids.windows(2).map(|pair| Edge { source: pair[0], target: pair[1] }).collect();
        (spec.scope, spec.interconnect) = (Scope::Acyclic, None);
        prop_assert_eq!(
            solve_and_verify(&PipeDream::default(), &instance, &spec),
            solve_and_verify(&BruteForce, &instance, &spec)
        );
        (spec.platform.accelerators[0].count, spec.platform.cpus, spec.replication) = (3, 0, None);
        let sliced = |count: usize| {
            let slice = |i: usize| ids[i * ids.len() / count..(i + 1) * ids.len() / count].to_vec();
            let device = |i| DeviceAssignment::new(DeviceKind::Accelerator(0), slice(i));
            let split = Solution { devices: (0..count).map(device).collect(), objective: None };
            verify::check(&instance, &spec, &split).unwrap().objective()
        };
        let best = (1..=3.min(ids.len())).map(sliced).fold(f64::MAX, f64::min);
        prop_assert_eq!(solve_and_verify(&Uniform::default(), &instance, &spec), Some(best));
        if spec.objective == Objective::Throughput {
            instance.nodes.iter_mut().for_each(|node| node.transfer_time = 0.0);
            let optimum = solve_and_verify(&BruteForce, &instance, &spec);
            prop_assert_eq!(solve_and_verify(&Greedy, &instance, &spec), optimum);
        }
    }

    /// No reassignment between the devices in use betters what local search finds, by the verifier's own sums.
    #[test]
    fn local_search_ends_in_a_local_optimum((instance, spec) in problems(6, InstanceOptions::ALL)) {
        let spec = ProblemSpec { scope: Scope::Arbitrary, interconnect: None, replication: None, ..spec };
        let problem = Problem::new(&instance, spec.clone()).unwrap();
        let search = LocalSearch { cpus: true, ..LocalSearch::default() };
        let run = search.solve(&problem, &mut SearchContext::new()).unwrap();
        let Some(solution) = run.outcome.solution() else { return Ok(()) };
        let value = solution.objective.unwrap();
        for moved in neighbours(&instance, solution) {
            if let Ok(verified) = verify::check(&instance, &spec, &moved) {
                prop_assert!(verified.objective() >= value * (1.0 - 1e-9), "{moved:?} betters {solution:?}");
            }
        }
    }
}

/// Two colour classes that need each other share a device in every acyclic split, and not in the best of all.
#[test]
fn a_bound_for_arbitrary_splits_parts_what_acyclic_ones_cannot() {
    let mut instance = graph(&[1.0, 10.0, 10.0, 1.0], &[(1, 2), (3, 4)], Platform::uniform(1, None, 1));
    for (node, (class, cpu_time)) in instance.nodes.iter_mut().zip([(0, 90.0), (1, 1.0), (1, 1.0), (0, 90.0)]) {
        (node.color_class, node.cpu_time, node.transfer_time) = (Some(class), Some(cpu_time), 0.0);
    }
    let spec = ProblemSpec { scope: Scope::Arbitrary, ..ProblemSpec::of(&instance) };
    assert_eq!(solve_and_verify(&BruteForce, &instance, &spec), Some(2.0));
    let problem = Problem::new(&instance, spec).expect("valid");
    for method in [&Greedy as &dyn Solver, &PipeDream::default(), &Uniform::default()] {
        let run = method.solve(&problem, &mut SearchContext::new()).expect("supported");
        let bound = run.outcome.bound().expect("a bound");
        assert!(bound.scope != Scope::Arbitrary || bound.value <= 2.0, "{}: {bound:?}", method.name());
    }
}
