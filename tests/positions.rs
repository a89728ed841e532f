//! The dynamic program over positions: its bounds against the oracle, and what it is good for.

mod common;
mod reference;

use common::{InstanceOptions, config, solve_and_verify};
use dagsplit::instance::{Edge, Instance, Node, Platform};
use dagsplit::problem::{Problem, ProblemSpec, Scope};
use dagsplit::solve::{BruteForce, Outcome, PlainDp, PositionDp, Run, SearchContext, Solver};
use dagsplit::verify;
use proptest::prelude::*;
use reference::{acyclic_problems, by_load};

fn run(instance: &Instance, spec: &ProblemSpec) -> Run {
    let problem = Problem::new(instance, spec.clone()).unwrap();
    PositionDp.solve(&problem, &mut SearchContext::new()).unwrap()
}

proptest! {
    #![proptest_config(config(1000))]

    #[test]
    fn no_bound_is_above_the_optimum_where_units_are_marked((instance, accelerators) in graphs()) {
        let instance = Instance { platform: Platform::uniform(accelerators, None, 1), ..instance };
        let spec = ProblemSpec { scope: Scope::Acyclic, ..ProblemSpec::of(&instance) };
        let optimum = solve_and_verify(&PlainDp::default(), &instance, &spec).unwrap();
        let run = run(&instance, &spec);
        let bound = run.outcome.bound().unwrap().value;
        prop_assert!(bound <= optimum * (1.0 + 1e-9), "bound {bound}, optimum {optimum}");
        // Nothing but which units a stage has decides its load here: the last chain is a split.
        prop_assert!(bound >= optimum * (1.0 - 1e-6), "bound {bound}, optimum {optimum}, {:?}", run.stats);
        let split = run.outcome.solution().unwrap();
        prop_assert!(verify::check(&instance, &spec, split).is_ok());
        prop_assert!(split.objective.unwrap() <= optimum * (1.0 + 1e-6), "{:?}, optimum {optimum}", split.objective);
    }

    #[test]
    fn no_bound_is_above_the_optimum(
        (instance, spec) in acyclic_problems(7, InstanceOptions::ALL).prop_map(by_load),
    ) {
        let optimum = solve_and_verify(&BruteForce, &instance, &spec);
        let run = run(&instance, &spec);
        if let (Some(bound), Some(optimum)) = (run.outcome.bound(), optimum) {
            prop_assert!(bound.value <= optimum * (1.0 + 1e-9), "bound {}, optimum {optimum}", bound.value);
        }
        if let Some(split) = run.outcome.solution() {
            prop_assert!(verify::check(&instance, &spec, split).is_ok());
            prop_assert!(optimum.is_some_and(|optimum| split.objective.unwrap() >= optimum * (1.0 - 1e-9)));
        }
        let claims_none = run.outcome == Outcome::Infeasible;
        prop_assert!(!claims_none || optimum.is_none());
    }
}

/// Layers of up to four nodes, each of which reads some of the layer before; times are few whole numbers, so that many ideals have the
/// same work.
fn graphs() -> impl Strategy<Value = (Instance, usize)> {
    let node = (1..5u32, 0..4u32, prop::collection::vec(any::<bool>(), 4));
    let layers = prop::collection::vec(prop::collection::vec(node, 1..5), 2..8);
    (layers, 2..5usize).prop_map(|(layers, accelerators)| {
        let mut instance = Instance::default();
        let mut before: Vec<u64> = Vec::new();
        for layer in layers {
            let mut now = Vec::new();
            for (time, transfer, reads) in layer {
                let id = instance.nodes.len() as u64;
                let (accelerator_times, cpu_time) = (vec![Some(f64::from(time))], Some(4.0 * f64::from(time)));
                let transfer_time = f64::from(transfer) / 4.0;
                instance.nodes.push(Node { accelerator_times, cpu_time, transfer_time, ..Node::new(id) });
                let read = before.iter().zip(reads).filter(|(_, reads)| *reads);
                instance.edges.extend(read.map(|(&source, _)| Edge { source, target: id }));
                now.push(id);
            }
            before = now;
        }
        (instance, accelerators)
    })
}

/// Routers, each with so many branches of two nodes that a join gathers: alike, but no two the same.
fn branches(blocks: u64, count: u64) -> Instance {
    let mut instance = Instance { platform: Platform::uniform(3, None, 1), ..Instance::default() };
    let mut add = |time: f64, transfer_time: f64| {
        let id = instance.nodes.len() as u64;
        let (accelerator_times, cpu_time) = (vec![Some(time)], Some(10.0 * time));
        instance.nodes.push(Node { accelerator_times, cpu_time, transfer_time, ..Node::new(id) });
        id
    };
    let mut edges = Vec::new();
    let mut last = add(1.0, 0.3);
    for block in 0..blocks {
        let (router, join) = (add(0.1, 0.3), add(0.1, 0.3));
        edges.push((last, router));
        for branch in 0..count {
            let noise = ((block * count + branch) * 7919 % 97) as f64 / 997.0;
            let (up, down) = (add(0.2 + noise, 0.03 + noise / 30.0), add(0.21 + noise, 0.031 + noise / 30.0));
            edges.extend([(router, up), (up, down), (down, join)]);
        }
        last = join;
    }
    instance.edges = edges.into_iter().map(|(source, target)| Edge { source, target }).collect();
    instance
}

#[test]
fn branches_that_are_alike_are_proven_by_marks() {
    let instance = branches(3, 5);
    let spec = ProblemSpec { scope: Scope::Acyclic, ..ProblemSpec::of(&instance) };
    let optimum = solve_and_verify(&PlainDp::default(), &instance, &spec).unwrap();
    let run = run(&instance, &spec);
    assert!(matches!(run.outcome, Outcome::Optimal { .. }), "{:?}", run.outcome);
    let objective = run.outcome.solution().unwrap().objective.unwrap();
    assert!((objective - optimum).abs() <= 1e-9 * optimum, "{objective}, optimum {optimum}");
    assert!(run.stats.get("marks").unwrap() > 0.0, "{:?}", run.stats);
}

#[test]
fn chains_are_proven() {
    let node = |id| Node { accelerator_times: vec![Some(1.0 + (id % 3) as f64)], transfer_time: 0.5, ..Node::new(id) };
    let instance = Instance {
        platform: Platform::uniform(4, None, 0),
        nodes: (0..40).map(node).collect(),
        edges: (0..39).map(|id| Edge { source: id, target: id + 1 }).collect(),
        ..Instance::default()
    };
    let run = run(&instance, &ProblemSpec::of(&instance));
    assert!(matches!(run.outcome, Outcome::Optimal { .. }), "{:?}", run.outcome);
}
