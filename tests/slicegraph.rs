//! SliceGraph against the oracle, against linearized DP, and against itself on several threads.

mod common;
mod reference;

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use common::{InstanceOptions, config, problems, solve_and_verify};
use dagsplit::generate::{Dnn, RandomDag, RandomFamily, Recipe, generate};
use dagsplit::instance::Instance;
use dagsplit::problem::{Objective, Problem, ProblemSpec, Scope};
use dagsplit::solve::BruteForce;
use dagsplit::solve::SliceGraph;
use dagsplit::solve::{SearchContext, Solver};
use dagsplit::verify;
use dagsplit::verify::Violation;
use proptest::prelude::*;
use reference::acyclic_problems;

/// Few individuals: every generation has elite, mutants and children.
const SMALL: SliceGraph = SliceGraph { population: 8, generations: 4, elite: 0.25, mutants: 0.25, bias: 0.7 };

fn dnn(nodes: usize, seed: u64) -> Instance {
    let family = RandomFamily::Dnn(Dnn { nodes, skip: 0.4, ..Dnn::default() });
    generate(&Recipe::new(RandomDag::new(family, seed))).unwrap()
}

fn objective(solver: &SliceGraph, instance: &Instance, seed: u64) -> f64 {
    let problem = Problem::new(instance, ProblemSpec::of(instance)).unwrap();
    let mut cx = SearchContext::new();
    cx.seed = seed;
    let run = solver.solve(&problem, &mut cx).unwrap();
    verify::check(instance, &problem.spec, run.outcome.solution().unwrap()).unwrap().objective()
}

proptest! {
    #![proptest_config(config(96))]

    #[test]
    fn no_split_is_better_than_the_optimum((instance, spec) in acyclic_problems(6, InstanceOptions::ALL)) {
        let optimum = solve_and_verify(&BruteForce, &instance, &spec);
        let found = solve_and_verify(&SMALL, &instance, &spec);
        // On a handful of units every order is soon tried, so that a split is found where there is one.
        prop_assert_eq!(found.is_some(), optimum.is_some());
        if let (Some(found), Some(optimum)) = (found, optimum) {
            prop_assert!(found >= optimum * (1.0 - 1e-12), "{found} {optimum}");
        }
    }

    /// With servers, too, and whatever the scope: what it takes is verified, the rest refused.
    #[test]
    fn what_it_takes_is_acyclic((instance, spec) in problems(6, InstanceOptions::ALL)) {
        let problem = Problem::new(&instance, spec.clone()).unwrap();
        prop_assert_eq!(SMALL.supports(&problem).is_ok(), spec.scope == Scope::Acyclic);
        if spec.scope == Scope::Acyclic {
            solve_and_verify(&SMALL, &instance, &spec);
        }
    }

    #[test]
    fn threads_change_nothing((instance, spec) in acyclic_problems(8, InstanceOptions::ALL), seed: u64) {
        let problem = Problem::new(&instance, spec).unwrap();
        let with = |threads| {
            let mut cx = SearchContext::new();
            (cx.threads, cx.seed) = (threads, seed);
            SMALL.solve(&problem, &mut cx).unwrap()
        };
        prop_assert_eq!(with(1), with(3));
    }
}

#[test]
fn generations_help_and_never_harm() {
    let mut helped = 0;
    for seed in 0..3 {
        let instance = dnn(80, seed);
        let after = |generations| objective(&SliceGraph { generations, ..SMALL }, &instance, seed);
        let (first, few, many) = (after(0), after(5), after(30));
        assert!(few <= first && many <= few, "{first} {few} {many}");
        helped += usize::from(many < first);
    }
    assert!(helped > 0);
}

/// The extremes of every parameter are allowed: no elite but one, mutants only, children that take all from one parent.
#[test]
fn extreme_parameters_are_taken() {
    let instance = dnn(30, 1);
    for (elite, mutants, bias) in [(0.0, 0.0, 0.0), (1.0, 1.0, 1.0), (0.0, 1.0, 0.5), (0.5, 0.5, 1.0)] {
        for population in [0, 2, 5] {
            let method = SliceGraph { population, generations: 3, elite, mutants, bias };
            assert!(objective(&method, &instance, 7) > 0.0);
        }
    }
}

#[test]
fn a_cancelled_run_keeps_a_split() {
    let instance = dnn(60, 2);
    let problem = Problem::new(&instance, ProblemSpec::of(&instance)).unwrap();
    let mut cx = SearchContext::new().with_cancellation(Arc::new(AtomicBool::new(true)));
    let run = SliceGraph::default().solve(&problem, &mut cx).unwrap();
    let split = run.outcome.solution().unwrap();
    assert!(verify::check(&instance, &problem.spec, split).is_ok());
    assert!(run.outcome.bound().unwrap().value <= split.objective.unwrap());
    assert_eq!(run.stats.get("generations"), Some(0.0));
}

#[test]
fn a_corrupted_split_fails_for_the_right_reason() {
    let instance = dnn(40, 3);
    let spec = ProblemSpec::of(&instance);
    let problem = Problem::new(&instance, spec.clone()).unwrap();
    let run = SMALL.solve(&problem, &mut SearchContext::new()).unwrap();
    let mut split = run.outcome.solution().unwrap().clone();
    split.objective = None;
    // The first node of the graph goes to the last stage, and feeds the first from there.
    let first = split.devices.iter().position(|device| device.nodes.contains(&instance.nodes[0].id)).unwrap();
    let last = (0..split.devices.len()).find(|&d| d != first).unwrap();
    split.devices[first].nodes.retain(|&id| id != instance.nodes[0].id);
    split.devices[last].nodes.push(instance.nodes[0].id);
    let violations = verify::check(&instance, &spec, &split).unwrap_err();
    let is_cycle = |violation: &Violation| matches!(violation, Violation::Cyclic { .. });
    assert!(violations.iter().any(is_cycle), "{violations:?}");
}

#[test]
fn it_minimises_loads_alone() {
    let instance = dnn(30, 4);
    let spec = ProblemSpec { objective: Objective::Latency { subgraphs: 1 }, ..ProblemSpec::of(&instance) };
    assert!(SMALL.supports(&Problem::new(&instance, spec).unwrap()).is_err());
}
