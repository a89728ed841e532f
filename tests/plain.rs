//! The plain DP with profits of units in place of their work: the optima are the same.

mod common;
mod reference;

use common::{InstanceOptions, config, solve_and_verify};
use dagsplit::instance::{Edge, Instance, Node, Platform};
use dagsplit::problem::{Objective, ProblemSpec, Scope};
use dagsplit::solve::{BruteForce, PlainDp};
use proptest::prelude::*;
use reference::acyclic_problems;

/// With profits at every target.
const PRICED: PlainDp = PlainDp { max_ideals: 1_000_000, many_pairs: 0 };

/// Without any.
const BY_WORK: PlainDp = PlainDp { max_ideals: 1_000_000, many_pairs: u64::MAX };

/// Splits by their largest load, without replicas and servers.
fn taken((instance, spec): (Instance, ProblemSpec)) -> (Instance, ProblemSpec) {
    let spec = ProblemSpec { interconnect: None, replication: None, objective: Objective::Throughput, ..spec };
    (instance, spec)
}

/// Layers of equal width, whose nodes read about half of those before them.
fn layers(width: u64, count: u64, seed: u64) -> (Instance, ProblemSpec) {
    let mut state = seed;
    let mut draw = move |most: u64| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % most
    };
    let node = |id, time: u64, transfer: u64| Node {
        accelerator_times: vec![Some(1.0 + time as f64)],
        cpu_time: Some(10.0 + 10.0 * time as f64),
        transfer_time: transfer as f64,
        memory: 1.0 + (time % 7) as f64,
        ..Node::new(id)
    };
    let nodes: Vec<Node> = (0..width * count).map(|id| node(id, draw(100), draw(20))).collect();
    let mut edges: Vec<Edge> = (0..width * (count - 1)).map(|source| Edge { source, target: source + width }).collect();
    for source in 0..width * (count - 1) {
        let next = (source / width + 1) * width;
        edges.extend(
            (next..next + width)
                .filter(|&target| target != source + width && draw(3) == 0)
                .map(|target| Edge { source, target }),
        );
    }
    let bytes: f64 = nodes.iter().map(|node| node.memory).sum();
    let platform = Platform::uniform(5, Some(bytes / 4.0), seed as usize % 2);
    let instance = Instance { platform, nodes, edges, ..Instance::default() };
    let spec = ProblemSpec { scope: Scope::Acyclic, ..ProblemSpec::of(&instance) };
    (instance, spec)
}

proptest! {
    #![proptest_config(config(1000))]

    #[test]
    fn profits_leave_the_optimum(
        (instance, spec) in acyclic_problems(7, InstanceOptions::ALL).prop_map(taken),
    ) {
        let optimum = solve_and_verify(&BruteForce, &instance, &spec);
        prop_assert_eq!(solve_and_verify(&PRICED, &instance, &spec), optimum);
    }
}

proptest! {
    #![proptest_config(config(40))]

    #[test]
    fn profits_leave_the_optimum_of_layers(width in 2..5u64, count in 4..9u64, seed: u64) {
        let (instance, spec) = layers(width, count, seed);
        let by_work = solve_and_verify(&BY_WORK, &instance, &spec);
        prop_assert_eq!(solve_and_verify(&PRICED, &instance, &spec), by_work);
    }
}
