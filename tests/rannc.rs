//! RaNNC: atomic components, blocks, stages, and the search over replicas and microbatches.

mod common;

use std::collections::BTreeSet;
use std::time::Duration;

use common::{InstanceOptions, config, problems, solve_and_verify};
use dagsplit::generate::{Recipe, Transformer, generate};
use dagsplit::instance::{Edge, Instance, Node, Platform};
use dagsplit::internals::graph::order_graph::Groups;
use dagsplit::internals::heuristic::rannc::atomic;
use dagsplit::internals::preprocess::Reduced;
use dagsplit::problem::Graph;
use dagsplit::problem::{DeviceKind, Problem, ProblemSpec, Replication, Scope};
use dagsplit::registry::solver;
use dagsplit::solve::BruteForce;
use dagsplit::solve::{Blocks, Rannc};
use dagsplit::solve::{Clustering, Outcome, SearchContext, Solver};
use proptest::prelude::*;

const SMALL: InstanceOptions = InstanceOptions { max_cpus: 1, ..InstanceOptions::ALL };

fn blocks(problem: &Problem, k: usize) -> Vec<usize> {
    Blocks { k }.clusters(problem, &mut SearchContext::new()).expect("blocks cannot fail")
}

fn count(blocks: &[usize]) -> usize {
    blocks.iter().collect::<BTreeSet<_>>().len()
}

/// The order graph's quotient by blocks, if it is acyclic.
fn quotient(problem: &Problem, blocks: &[usize]) -> Option<Graph> {
    let groups = Groups::new(&blocks.iter().map(|&c| Some(c as u64)).collect::<Vec<_>>());
    let order = problem.order_graph(&groups);
    let edges = order.edges.iter().map(|&(u, v)| (order.group_of[u], order.group_of[v]));
    Graph::new(groups.len(), &edges.filter(|(a, b)| a != b).collect::<Vec<_>>()).ok()
}

proptest! {
    #![proptest_config(config(500))]

    #[test]
    fn blocks_partition_the_nodes_into_an_acyclic_graph((instance, spec) in problems(8, SMALL), k in 1..6usize) {
        let problem = Problem::new(&instance, spec).expect("valid");
        let found = blocks(&problem, k);
        prop_assert_eq!(&found, &blocks(&problem, k));
        prop_assert_eq!(found.len(), problem.node_count());
        prop_assert!(quotient(&problem, &found).is_some(), "{:?}", found);
    }

    #[test]
    fn without_limits_there_are_at_most_k_blocks(
        (instance, spec) in problems(8, InstanceOptions { training: true, shared_colors: true, ..InstanceOptions::PLAIN }),
        k in 1..6usize,
    ) {
        let problem = Problem::new(&instance, spec).expect("valid");
        prop_assert!(count(&blocks(&problem, k)) <= k);
    }

    #[test]
    fn blocks_fit_a_device(
        (instance, spec) in problems(8, InstanceOptions { memory_limits: true, ..InstanceOptions::PLAIN }),
        k in 1..6usize,
    ) {
        let problem = Problem::new(&instance, spec).expect("valid");
        let class = &problem.spec.platform.accelerators[0];
        prop_assume!(class.count >= problem.spec.platform.cpus);
        let found = blocks(&problem, k);
        for block in 0..=found.iter().copied().max().unwrap_or(0) {
            let members: Vec<usize> = (0..found.len()).filter(|&v| found[v] == block).collect();
            let bytes: f64 = members.iter().map(|&v| instance.nodes[v].memory).sum();
            prop_assert!(members.len() <= 1 || class.memory.is_none_or(|limit| bytes <= limit), "{:?}", members);
        }
    }

    #[test]
    fn splits_are_verified_and_never_beat_the_optimum(
        (instance, spec) in problems(6, SMALL), k in 1..7usize, node in 0..3usize, batch in 1..9usize
    ) {
        let spec = ProblemSpec { interconnect: None, ..spec };
        prop_assume!(!matches!(spec.scope, Scope::Linearized(_)));
        let least = solve_and_verify(&BruteForce, &instance, &spec);
        let rannc = format!("rannc:k={k},node={node},batch={batch}");
        for name in [rannc, "rannc:coarsen=false".into(), format!("blocks:k={k}+brute-force")] {
            let method = solver(&name).expect("a method");
            let value = solve_and_verify(&*method, &instance, &spec);
            prop_assert_eq!(value, solve_and_verify(&*method, &instance, &spec));
            let is_above = value.is_none_or(|value| least.is_some_and(|least| value >= least));
            prop_assert!(is_above, "{}: {:?} {:?}", name, value, least);
        }
    }

    /// A path without free nodes has one order, and its atomic components are its nodes. Where every forward node may
    /// lie apart and nothing is sent, RaNNC's time is the load: the dynamic program is exact.
    #[test]
    fn on_a_path_without_transfers_it_is_exact(
        times in prop::collection::vec((1..9u8, 0..4u8), 1..7), devices in 1..4usize, memory in 0..12u8,
    ) {
        let node = |(id, (time, memory)): (u64, &(u8, u8))| Node {
            accelerator_times: vec![Some((*time).into())], cpu_time: None, memory: (*memory).into(), ..Node::new(id)
        };
        let n = times.len() as u64;
        let instance = Instance {
            platform: Platform::uniform(devices, Some(memory.into()), 0),
            nodes: (0..n).zip(&times).map(node).collect(),
            edges: (1..n).map(|id| Edge { source: id - 1, target: id }).collect(),
            ..Instance::default()
        };
        let spec = ProblemSpec::of(&instance);
        let rannc = Rannc { k: 7, ..Rannc::default() };
        prop_assert_eq!(solve_and_verify(&rannc, &instance, &spec), solve_and_verify(&BruteForce, &instance, &spec));
    }

    #[test]
    fn it_finds_a_split_where_memory_is_ample(
        (instance, spec) in problems(6, InstanceOptions { training: true, ..InstanceOptions::PLAIN })
    ) {
        let spec = ProblemSpec { interconnect: None, replication: None, ..spec };
        prop_assume!(!matches!(spec.scope, Scope::Linearized(_)));
        prop_assert!(solve_and_verify(&Rannc::default(), &instance, &spec).is_some());
    }
}

#[test]
fn constants_join_their_first_consumer() {
    // Values 0 and 1; task 2 consumes 0, task 3 consumes 0 and 2, task 4 consumes 1 and 3; 5 consumes what only 1
    // gives.
    let mut nodes: Vec<Node> = (0..6).map(Node::new).collect();
    nodes[2..5].iter_mut().for_each(|node| node.accelerator_times = vec![Some(1.0)]);
    let edges = [(0, 2), (0, 3), (2, 3), (3, 4), (1, 5), (5, 4)];
    let instance = Instance {
        platform: Platform::uniform(2, None, 0),
        nodes,
        edges: edges.map(|(source, target)| Edge { source, target }).into(),
        ..Instance::default()
    };
    let problem = Problem::new(&instance, ProblemSpec::of(&instance)).expect("valid");
    let reduced = Reduced::contracted_only(&problem);
    let by_node = |is_met: &dyn Fn(&[usize]) -> bool| {
        let components = atomic::components(&reduced, 0, is_met);
        let mut of = [0; 6];
        reduced.members.iter().zip(components).for_each(|(members, component)| of[members[0]] = component);
        of
    };
    // 0 goes with 2; 1 and 5 go with 4.
    assert_eq!(by_node(&|_| true), [0, 2, 0, 1, 2, 2]);
    let apart = by_node(&|_| false);
    assert_eq!(apart.iter().collect::<BTreeSet<_>>().len(), 6);
}

fn bert(layers: u32, accelerators: usize) -> Instance {
    let recipe = Recipe { accelerators, cpus: 0, ..Recipe::new(Transformer { layers, ..Transformer::bert_base() }) };
    generate(&recipe).expect("a network")
}

#[test]
fn the_fewest_stages_that_fit_share_all_devices() {
    let mut instance = bert(12, 8);
    let memory: f64 = instance.nodes.iter().map(|v| v.memory).sum();
    let replication = Some(Replication { max_replicas: 8, bandwidth: 1e9 });
    let mut devices = |part: f64, node: usize| {
        instance.platform.accelerators[0].memory = Some(memory * part);
        let spec = ProblemSpec { replication, ..ProblemSpec::of(&instance) };
        let problem = Problem::new(&instance, spec.clone()).expect("valid");
        let rannc = Rannc { node, ..Rannc::default() };
        solve_and_verify(&rannc, &instance, &spec).expect("a split");
        let run = rannc.solve(&problem, &mut SearchContext::new()).expect("supported");
        run.outcome.solution().expect("a split").devices.iter().map(|device| device.replicas).collect::<Vec<_>>()
    };
    assert_eq!(devices(1.0, 0), [8]);
    let two = devices(0.8, 0);
    assert_eq!((two.len(), two.iter().sum::<usize>()), (2, 8));
    // A pipeline in each of two nodes.
    let copied = devices(0.8, 4);
    assert_eq!((copied.len(), copied.iter().sum::<usize>()), (2, 8));
    assert!(copied.iter().all(|replicas| replicas % 2 == 0), "{copied:?}");
}

#[test]
fn without_replicas_each_stage_has_one_device() {
    let instance = bert(12, 6);
    let problem = Problem::new(&instance, ProblemSpec::of(&instance)).expect("valid");
    let run = Rannc::default().solve(&problem, &mut SearchContext::new()).expect("supported");
    let split = run.outcome.solution().expect("a split");
    assert!(split.devices.len() <= 6 && split.devices.iter().all(|device| device.replicas == 1));
    assert!(split.devices.iter().all(|device| device.kind == DeviceKind::Accelerator(0)));
    assert_eq!(run.stats.get("blocks"), Some(32.0));
}

/// The ablation: stages of atomic components may be finer than those of blocks.
#[test]
fn blocks_cost_little_on_a_network() {
    let instance = bert(12, 6);
    let spec = ProblemSpec::of(&instance);
    let value = |name: &str| solve_and_verify(&*solver(name).expect("a method"), &instance, &spec).expect("a split");
    let (best, with, without) = (value("dp"), value("rannc"), value("rannc:coarsen=false"));
    assert!(best <= without && best <= with, "{best} {without} {with}");
    assert!(with <= 1.25 * best && without <= 1.1 * best, "{with} and {without} against {best}");
    let exact = value("blocks:k=32+dp");
    assert!(best <= exact && exact <= with * (1.0 + 1e-9), "{best} {exact} {with}");
}

/// The samples of a batch are shared whole, and weights synchronised once.
#[test]
fn a_batch_takes_what_its_busiest_replicas_do() {
    let node = Node { accelerator_times: vec![Some(3.0)], cpu_time: None, parameter_bytes: 1.0, ..Node::new(0) };
    let instance = Instance { platform: Platform::uniform(2, None, 0), nodes: vec![node], ..Instance::default() };
    let replication = Some(Replication { max_replicas: 2, bandwidth: 1.0 });
    let spec = ProblemSpec { replication, ..ProblemSpec::of(&instance) };
    let stat = |method: &str, spec: &ProblemSpec, name: &str| {
        let problem = Problem::new(&instance, spec.clone()).expect("valid");
        let run = solver(method).expect("a method").solve(&problem, &mut SearchContext::new()).expect("supported");
        run.stats.get(name)
    };
    // One device has three of five samples. The ring sends the parameter's byte once.
    assert_eq!(stat("rannc:batch=5", &spec, "batch_time"), Some(3.0 * 3.0 + 1.0));
    assert_eq!(stat("rannc:batch=5", &spec, "microbatches"), Some(1.0));
    // Three microbatches of two samples, the last of which has but one.
    assert_eq!(stat("uniform:batch=5", &spec, "batch_time"), Some(3.0 * 3.0 + 1.0));
    // Without replicas nothing is known of batches.
    assert_eq!(stat("rannc:batch=5", &ProblemSpec::of(&instance), "batch_time"), None);
}

#[test]
fn what_does_not_fit_is_not_found() {
    let mut instance = bert(2, 2);
    instance.platform.accelerators[0].memory = Some(1.0);
    let problem = Problem::new(&instance, ProblemSpec::of(&instance)).expect("valid");
    let run = Rannc::default().solve(&problem, &mut SearchContext::new()).expect("supported");
    assert!(matches!(run.outcome, Outcome::Unknown { bound: None }));
}

#[test]
fn a_time_limit_ends_the_search() {
    let instance = bert(48, 8);
    let problem = Problem::new(&instance, ProblemSpec::of(&instance)).expect("valid");
    let mut cx = SearchContext::new().with_time_limit(Duration::ZERO);
    let run = Rannc { coarsen: false, ..Rannc::default() }.solve(&problem, &mut cx).expect("supported");
    assert!(matches!(run.outcome, Outcome::Unknown { .. }));
}

/// Nodes that take these times and send for these times, and edges between them.
fn network(costs: &[(f64, f64)], edges: &[(u64, u64)]) -> Problem {
    let node = |(id, &(time, transfer_time)): (u64, &(f64, f64))| Node {
        accelerator_times: vec![Some(time)],
        cpu_time: None,
        transfer_time,
        ..Node::new(id)
    };
    let instance = Instance {
        platform: Platform::uniform(2, None, 0),
        nodes: (0..).zip(costs).map(node).collect(),
        edges: edges.iter().map(|&(source, target)| Edge { source, target }).collect(),
        ..Instance::default()
    };
    Problem::new(&instance, ProblemSpec::of(&instance)).expect("valid")
}

#[test]
fn coarsening_joins_the_fastest_and_uncoarsening_lowers_communication() {
    let path = [(0, 1), (1, 2), (2, 3)];
    // 0 joins 1, 3 joins 2.
    assert_eq!(blocks(&network(&[(1.0, 2.0), (2.0, 1.0), (2.0, 2.0), (1.0, 0.0)], &path), 2), [0, 0, 1, 1]);
    // The same, but then 1 goes to where it sends most.
    assert_eq!(blocks(&network(&[(1.0, 1.0), (2.0, 9.0), (2.0, 2.0), (1.0, 0.0)], &path), 2), [0, 1, 1, 1]);
}

#[test]
fn compaction_joins_what_no_edge_does() {
    // 1 is the fastest, and 2 the faster one of its neighbours.
    assert_eq!(blocks(&network(&[(5.0, 0.0), (1.0, 0.0), (2.0, 0.0)], &[]), 2), [0, 1, 1]);
}
