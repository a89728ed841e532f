//! The heuristics and the bound for the latency: published figures, and the oracle on random problems.

mod common;
mod workloads;

use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex};

use common::{InstanceOptions, config, latency_problems, solve_and_verify};
use dagsplit::formats::{ReadOptions, read_instance};
use dagsplit::instance::{Edge, Instance, Node, Platform};
use dagsplit::internals::heuristic::latency_bound;
use dagsplit::problem::{Objective, Problem, ProblemSpec};
use dagsplit::solve::BruteForce;
use dagsplit::solve::{Greedy, LocalSearch, MaxLoad};
use dagsplit::solve::{Outcome, Progress, SearchContext, Solver};
use proptest::prelude::*;

/// Enough to settle tiny problems.
const SHORT: LocalSearch = LocalSearch { restarts: 4, steps: 500, cpus: false };

fn latency_of(instance: &Instance) -> ProblemSpec {
    ProblemSpec { objective: Objective::Latency { subgraphs: 1 }, ..ProblemSpec::of(instance) }
}

/// Published latencies: what greedy finds, and the optimum.
const PUBLISHED: [(&str, f64, f64); 5] = [
    ("operator/bert_l-3_inference", 416.20, 408.4744),
    ("operator/bert_l-6_inference", 494.14, 438.0625),
    ("operator/resnet50_inference", 839.54, 651.1208),
    ("layer/bert24_inference", 100.22, 100.2185),
    ("layer/resnet50_inference", 4197.06, 1156.8813),
];

#[test]
fn greedy_finds_what_is_published() {
    for (name, greedy, optimum) in PUBLISHED {
        let Some(path) = workloads::find(&format!("tarnawski2020/latency/{name}.json")) else { continue };
        let instance = read_instance(&path, &ReadOptions::default()).unwrap();
        let spec = latency_of(&instance);
        let found = solve_and_verify(&Greedy, &instance, &spec).unwrap();
        assert!((found - greedy).abs() <= 0.005, "{name}: {found}");
        let bound = latency_bound(&Problem::new(&instance, spec.clone()).unwrap(), &SearchContext::new()).value;
        assert!(bound <= optimum * (1.0 + 1e-6), "{name}: {bound}");
        let searched =
            solve_and_verify(&LocalSearch { restarts: 4, steps: 20_000, cpus: false }, &instance, &spec).unwrap();
        assert!(searched <= found && searched >= optimum * (1.0 - 1e-6), "{name}: {searched}");
    }
}

/// A chain of three nodes, times 3, 4, 5 and ten times as much on CPUs, for one accelerator that holds two.
fn chain() -> Instance {
    let node = |(id, time): (u64, f64)| Node {
        accelerator_times: vec![Some(time)],
        cpu_time: Some(10.0 * time),
        memory: 1.0,
        transfer_time: 1.0,
        ..Node::new(id)
    };
    Instance {
        platform: Platform::uniform(1, Some(2.0), 1),
        nodes: [3.0, 4.0, 5.0].into_iter().zip(1..).map(|(time, id)| node((id, time))).collect(),
        edges: [(1, 2), (2, 3)].map(|(source, target)| Edge { source, target }).to_vec(),
        ..Instance::default()
    }
}

#[test]
fn annealing_repairs_what_greedy_fills_badly() {
    let instance = chain();
    let spec = latency_of(&instance);
    // {1, 2} and 3 on the CPU: 8 + 50; {2, 3} and 1: 30 + 10.
    assert_eq!(solve_and_verify(&Greedy, &instance, &spec), Some(58.0));
    assert_eq!(solve_and_verify(&SHORT, &instance, &spec), Some(40.0));
}

#[test]
fn the_bound_knows_paths_memory_and_accelerators() {
    let bound = |instance: &Instance| {
        latency_bound(&Problem::new(instance, latency_of(instance)).unwrap(), &SearchContext::new()).value
    };
    let close = |value: f64, expected: f64| assert!((value - expected).abs() <= 1e-6, "{value}, not {expected}");
    // The accelerator cannot hold all three: one is on the CPU, at best the first.
    let mut instance = chain();
    close(bound(&instance), 30.0 + 4.0 + 5.0);
    instance.platform.accelerators[0].memory = None;
    close(bound(&instance), 12.0);
    // Apart from each other all three run at once, but not on one accelerator: one takes 12, the CPU takes 30.
    instance.edges.clear();
    close(bound(&instance), 12.0);
    // Shared weights keep them together.
    instance.platform.accelerators[0].memory = Some(2.0);
    instance.nodes.iter_mut().for_each(|node| node.color_class = Some(1));
    close(bound(&instance), 50.0);
}

#[test]
fn the_answer_depends_on_the_seed_alone() {
    let instance = chain();
    let problem = Problem::new(&instance, latency_of(&instance)).unwrap();
    let outcome = |threads| {
        let mut cx = SearchContext::new();
        cx.threads = threads;
        SHORT.solve(&problem, &mut cx).unwrap().outcome
    };
    assert_eq!(outcome(1), outcome(3));
}

#[test]
fn a_stopped_search_keeps_what_it_has() {
    let instance = chain();
    let problem = Problem::new(&instance, latency_of(&instance)).unwrap();
    let mut cancelled = SearchContext::new().with_cancellation(Arc::new(AtomicBool::new(true)));
    let run = LocalSearch::default().solve(&problem, &mut cancelled).unwrap();
    assert!(run.stats.get("steps") <= Some(4.0 * 256.0), "{:?}", run.stats);
    assert!(matches!(run.outcome, Outcome::Feasible { bound: Some(_), .. }), "{:?}", run.outcome);
}

#[test]
fn the_best_pipeline_is_judged_by_its_latency() {
    let mut instance = chain();
    (instance.platform, instance.nodes[1].transfer_time) = (Platform::uniform(2, None, 0), 0.5);
    let problem = Problem::new(&instance, latency_of(&instance)).unwrap();
    let told = Arc::new(Mutex::new(Vec::new()));
    let listener = Arc::clone(&told);
    let report = move |progress: &Progress| listener.lock().unwrap().push(progress.incumbent);
    let mut cx = SearchContext::new().with_report(report);
    let run = MaxLoad.solve(&problem, &mut cx).unwrap();
    // {1, 2} sends for 0.5, and {3} receives for as long: loads of 7.5 and 5.5, and one after the other.
    assert_eq!(run.outcome.solution().and_then(|split| split.objective), Some(13.0));
    assert_eq!(solve_and_verify(&MaxLoad, &instance, &latency_of(&instance)), Some(13.0));
    // No load is told as if it were a latency.
    assert!(told.lock().unwrap().iter().flatten().all(|&value| value >= 13.0), "{told:?}");
}

proptest! {
    #![proptest_config(config(1000))]

    #[test]
    fn heuristics_and_the_bound_enclose_the_optimum((instance, spec) in latency_problems(4, 2, InstanceOptions::ALL)) {
        let optimum = solve_and_verify(&BruteForce, &instance, &spec);
        let [filled, searched] =
            [&Greedy as &dyn Solver, &SHORT].map(|solver| solve_and_verify(solver, &instance, &spec));
        let bound = latency_bound(&Problem::new(&instance, spec).unwrap(), &SearchContext::new()).value;
        let Some(optimum) = optimum else {
            prop_assert_eq!((filled, searched), (None, None));
            return Ok(());
        };
        prop_assert!(bound <= optimum, "{bound} above {optimum}");
        prop_assert!(searched.is_none_or(|value| value >= optimum));
        prop_assert!(filled.is_none_or(|value| searched.is_some_and(|searched| searched <= value)));
    }
}
