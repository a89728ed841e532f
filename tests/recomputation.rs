//! Memory with activation recomputation (Parmesan 2024, equation 14): solvers against brute force, and the verifier
//! against the formula and corrupted splits.

mod common;

use std::collections::BTreeSet;

use common::{InstanceOptions, config, solve_and_verify};
use dagsplit::conformance::strategies::recomputation_problems;
use dagsplit::instance::{AcceleratorClass, Edge, Instance, Node, Platform};
use dagsplit::problem::{
    DeviceAssignment, DeviceKind, MemoryModel, Objective, Problem, ProblemSpec, Replication, Scope,
};
use dagsplit::registry::solver;
use dagsplit::solve::BruteForce;
use dagsplit::solve::IdealDp;
use dagsplit::solve::{SearchContext, Solver, Status};
use dagsplit::verify;
use dagsplit::verify::Violation;
use proptest::prelude::*;
use proptest::sample::Index;

const TIGHT: InstanceOptions = InstanceOptions { max_cpus: 1, ..InstanceOptions::ALL };

/// Methods that take memory with recomputation.
const METHODS: [&str; 10] = [
    "dp",
    "dpl",
    "slicegraph:generations=2",
    "pipedream",
    "uniform",
    "single-device",
    "parmesan:k=3",
    "cluster:k=3+dp+refine",
    "blocks:k=3+dpl",
    "brute-force+refine",
];

/// Bytes that a set of nodes needs by the formula of the paper, replicas aside.
fn peak(instance: &Instance, nodes: &[u64], microbatches: usize) -> f64 {
    let held = |id: u64| nodes.contains(&id);
    let node = |id: u64| instance.nodes.iter().find(|node| node.id == id).expect("known");
    let classes: BTreeSet<(Option<u64>, u64)> =
        nodes.iter().map(|&id| (node(id).color_class, node(id).color_class.map_or(id, |_| 0))).collect();
    let own = classes.into_iter().map(|(class, id)| {
        let of = |&&v: &&u64| if class.is_some() { node(v).color_class == class } else { v == id };
        let pass = |backward: bool| {
            nodes.iter().filter(of).filter(|&&v| node(v).backward == backward).map(|&v| node(v).memory).sum::<f64>()
        };
        pass(false).max(pass(true))
    });
    let edges: BTreeSet<(u64, u64)> = instance.edges.iter().map(|edge| (edge.source, edge.target)).collect();
    let cut = edges.iter().filter(|(u, v)| held(*u) != held(*v)).map(|&(u, _)| node(u).output_bytes.expect("stated"));
    (own.sum::<f64>() + cut.sum::<f64>()) / microbatches as f64
}

fn microbatches(spec: &ProblemSpec) -> usize {
    match spec.memory {
        MemoryModel::Recomputation { microbatches } => microbatches,
        MemoryModel::Additive => unreachable!("the strategy asks for recomputation"),
    }
}

#[test]
fn beside_a_memory_a_million_million_times_as_large_the_least_is_proven() {
    let of_both = |id| Node { accelerator_times: vec![Some(0.0); 2], output_bytes: Some(0.0), ..Node::new(id) };
    let boundary = Node {
        output_bytes: Some(1e-12),
        cpu_time: Some(1.0),
        accelerator_times: vec![Some(0.0), None],
        ..Node::new(0)
    };
    let nodes = vec![boundary, Node { memory: 8.4e12, ..of_both(1) }];
    for count in [0, 1] {
        let mut platform = Platform::uniform(1, Some(1e-6), 1);
        platform.accelerators.push(AcceleratorClass { count, memory: Some(8.4e12), ..AcceleratorClass::default() });
        let edges = vec![Edge { source: 0, target: 1 }];
        let instance = Instance { nodes: nodes.clone(), edges, platform, ..Instance::default() };
        let memory = MemoryModel::Recomputation { microbatches: 3 };
        let problem = Problem::new(&instance, ProblemSpec { memory, ..ProblemSpec::of(&instance) }).unwrap();
        for method in ["brute-force", "dp"] {
            let outcome = solver(method).unwrap().solve(&problem, &mut SearchContext::new()).unwrap().outcome;
            let objective = outcome.solution().and_then(|split| split.objective);
            assert_eq!((outcome.status(), objective), (Status::Optimal, Some(0.0)), "{method} beside {count}");
        }
    }
}

proptest! {
    #![proptest_config(config(500))]

    /// Exact methods find the optimum, others a split that counts or nothing.
    #[test]
    fn no_method_beats_the_oracle_and_dp_meets_it((instance, spec) in recomputation_problems(6, TIGHT)) {
        let least = solve_and_verify(&BruteForce, &instance, &spec);
        let problem = Problem::new(&instance, spec.clone()).expect("valid");
        // Without a first split the search has to find everything.
        let searching = IdealDp { orders: 0, ..IdealDp::default() };
        if searching.supports(&problem).is_ok() {
            prop_assert_eq!(solve_and_verify(&searching, &instance, &spec), least);
        }
        for method in METHODS {
            let solver = solver(method).expect("a method");
            if solver.supports(&problem).is_err() {
                continue;
            }
            let value = solve_and_verify(&*solver, &instance, &spec);
            prop_assert!(value.is_none_or(|value| least.is_some_and(|least| value >= least)), "{}", method);
            prop_assert!(method != "dp" || value == least, "{:?} instead of {:?}", value, least);
        }
    }

    #[test]
    fn what_an_accelerator_lacks_is_named((instance, mut spec) in recomputation_problems(5, TIGHT), pick: Index) {
        let unlimited = |spec: &mut ProblemSpec, memory: Option<f64>| {
            spec.platform.accelerators.iter_mut().for_each(|class| class.memory = memory);
        };
        unlimited(&mut spec, None);
        let problem = Problem::new(&instance, spec.clone()).expect("valid");
        let run = BruteForce.solve(&problem, &mut SearchContext::new()).expect("small");
        let Some(split) = run.outcome.solution() else { return Ok(()) };
        let devices = || split.devices.iter().enumerate().filter(|(_, device)| device.kind != DeviceKind::Cpu);
        let needs = |device: &DeviceAssignment| {
            peak(&instance, &device.nodes, microbatches(&spec)) / device.replicas as f64
        };
        let needed: Vec<(usize, f64)> = devices().map(|(d, device)| (d, needs(device))).collect();
        prop_assume!(!needed.is_empty());
        let verified = verify::check(&instance, &spec, split).expect("an optimum");
        for &(d, bytes) in &needed {
            prop_assert!((verified.devices()[d].memory() - bytes).abs() <= 1e-9 * bytes, "device {}: {}", d, bytes);
        }
        let limit = needed[pick.index(needed.len())].1 - 0.125;
        prop_assume!(limit >= 0.0);
        unlimited(&mut spec, Some(limit));
        let lacking: Vec<usize> = needed.iter().filter(|(_, bytes)| *bytes > limit).map(|(d, _)| *d).collect();
        let found = verify::check(&instance, &spec, split).expect_err("too little memory");
        let named: Option<Vec<usize>> = found.iter().map(|violation| match violation {
            Violation::MemoryExceeded { device, .. } => Some(*device),
            _ => None,
        }).collect();
        prop_assert_eq!(named, Some(lacking), "{:?}", found);
    }
}

/// Operators of time 1 and these bytes along a path whose edges carry these bytes.
fn path(memory: &[f64], edges: &[f64], accelerators: usize, limit: f64) -> Instance {
    let node = |(id, &memory): (u64, &f64)| Node {
        accelerator_times: vec![Some(1.0)],
        cpu_time: None,
        memory,
        output_bytes: edges.get(id as usize).copied(),
        ..Node::new(id)
    };
    let n = memory.len() as u64;
    Instance {
        platform: Platform::uniform(accelerators, Some(limit), 0),
        nodes: (0..n).zip(memory).map(node).collect(),
        edges: (1..n).map(|id| Edge { source: id - 1, target: id }).collect(),
        ..Instance::default()
    }
}

fn with(instance: &Instance, microbatches: usize) -> ProblemSpec {
    ProblemSpec { memory: MemoryModel::Recomputation { microbatches }, ..ProblemSpec::of(instance) }
}

#[test]
fn a_larger_stage_can_need_less() {
    // Cut after the second operator, each half keeps 2 + 9; after the first, 1 + 1 and 3 + 1.
    let instance = path(&[1.0; 4], &[1.0, 9.0, 1.0], 2, 4.0);
    let value = |spec: &ProblemSpec| solve_and_verify(&*solver("dp").expect("a method"), &instance, spec);
    assert_eq!(value(&ProblemSpec::of(&instance)), Some(2.0));
    assert_eq!(value(&with(&instance, 1)), Some(3.0));
    // Of three microbatches each takes 11 / 3.
    assert_eq!(value(&with(&instance, 3)), Some(2.0));
}

#[test]
fn an_ideal_that_grows_may_cost_a_later_stage_its_memory() {
    // {0} | {1, 2}: the first stage has room for 1 and for what it sends, but 2 has not.
    let instance = path(&[0.0, 0.0, 5.0], &[0.0, 9.0], 2, 10.0);
    let search = IdealDp { orders: 0, ..IdealDp::default() };
    assert_eq!(solve_and_verify(&search, &instance, &with(&instance, 1)), Some(2.0));
}

#[test]
fn the_larger_pass_of_an_operator_counts() {
    let mut instance = path(&[3.0, 2.0, 4.0, 1.0], &[0.0; 3], 1, 6.0);
    for (v, class) in [(0, 0), (1, 1), (2, 1), (3, 0)] {
        instance.nodes[v].color_class = Some(class);
        instance.nodes[v].backward = v > 1;
    }
    // max(3, 1) + max(2, 4), where all together are 10.
    let split = |limit| {
        let mut instance = instance.clone();
        instance.platform.accelerators[0].memory = Some(limit);
        solve_and_verify(&BruteForce, &instance, &with(&instance, 1))
    };
    assert_eq!((split(7.0), split(6.0)), (Some(4.0), None));
}

#[test]
fn replicas_share_a_stage() {
    let instance = path(&[4.0], &[], 2, 2.0);
    let replication = Some(Replication { max_replicas: 2, bandwidth: 1.0 });
    for (memory, value) in [(MemoryModel::Additive, None), (MemoryModel::Recomputation { microbatches: 1 }, Some(0.5))]
    {
        let spec = ProblemSpec { memory, replication, ..ProblemSpec::of(&instance) };
        for method in ["dp", "brute-force", "parmesan"] {
            assert_eq!(solve_and_verify(&*solver(method).expect("a method"), &instance, &spec), value, "{method}");
        }
    }
}

/// Memory that adds up to four times what there is, of which each of four microbatches takes a quarter.
#[test]
fn every_method_finds_what_fits_with_recomputation_alone() {
    let instance = path(&[4.0; 4], &[0.0; 3], 1, 4.0);
    assert_eq!(solve_and_verify(&BruteForce, &instance, &ProblemSpec::of(&instance)), None);
    for method in METHODS {
        let value = solve_and_verify(&*solver(method).expect("a method"), &instance, &with(&instance, 4));
        assert_eq!(value, Some(4.0), "{method}");
    }
}

#[test]
fn requests_that_make_no_sense_say_so() {
    let instance = path(&[1.0; 2], &[1.0], 1, 4.0);
    let mut silent = instance.clone();
    silent.nodes[0].output_bytes = None;
    let latency = ProblemSpec { objective: Objective::Latency { subgraphs: 1 }, ..with(&instance, 1) };
    for (instance, spec, place) in [
        (&instance, with(&instance, 0), "microbatches"),
        (&instance, latency, "memory model"),
        (&silent, with(&silent, 1), "node 0"),
    ] {
        let problems = spec.validate(instance).expect_err(place);
        assert_eq!(problems.issues.iter().map(|issue| issue.place.as_str()).collect::<Vec<_>>(), [place]);
    }
}

#[test]
fn solvers_that_add_memory_up_refuse_it() {
    let instance = path(&[1.0; 3], &[1.0; 2], 2, 4.0);
    let takes = |method: &str, scope: &Scope| {
        let spec = ProblemSpec { scope: scope.clone(), ..with(&instance, 1) };
        solver(method).expect("a method").supports(&Problem::new(&instance, spec).expect("valid")).is_ok()
    };
    for method in ["greedy", "local-search", "annealing", "certify", "expert:file=none", "scotch", "rannc"] {
        assert!(
            ![Scope::Arbitrary, Scope::Convex, Scope::Acyclic].iter().any(|scope| takes(method, scope)),
            "{method}"
        );
    }
    for method in ["dp", "dpl", "parmesan", "uniform", "pipedream", "slicegraph", "brute-force"] {
        assert!(takes(method, &Scope::Acyclic), "{method}");
    }
}
