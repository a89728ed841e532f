//! The sharding cost: hand-worked values, the oracle against the verifier, and the methods against the oracle.

mod common;

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use common::{InstanceOptions, NEAR_TIES, config, count_runs, instances, solve_and_verify};
use dagsplit::instance::{Edge, Instance, Node, Platform};
use dagsplit::internals::sharding::{Placement, Shards};
use dagsplit::problem::{
    DeviceAssignment, DeviceKind, Interconnect, NodeWeight, Objective, Problem, ProblemSpec, Replication, Scope,
    Sharding, Solution,
};
use dagsplit::solve::BruteForce;
use dagsplit::solve::ShardingBb;
use dagsplit::solve::{Hierarchical, KernighanLin, Levels};
use dagsplit::solve::{Outcome, Run, SearchContext, Solver};
use dagsplit::verify;
use dagsplit::verify::Violation;
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use proptest::sample::{Index, select};

fn sharding_of(spec: &ProblemSpec) -> Sharding {
    let Objective::Sharding(sharding) = spec.objective else { unreachable!("the sharding cost is asked for") };
    sharding
}

/// Requests for the sharding cost of `instance` in one of these scopes, with and without servers.
fn specs(instance: &Instance, scopes: Vec<Scope>) -> impl Strategy<Value = ProblemSpec> + use<> {
    let platform = instance.platform.clone();
    let sizes: Vec<usize> =
        (1..=3).filter(|size| platform.accelerators.iter().all(|class| class.count % size == 0)).collect();
    let interconnect = (select(sizes), 1..=3u8)
        .prop_map(|(server_size, factor)| Interconnect { server_size, between_factor: factor.into() });
    let weights = select(vec![NodeWeight::Parameters, NodeWeight::Memory]);
    (select(scopes), weights, 0..=3u8, 0..=9u8, option::weighted(0.4, interconnect)).prop_map(
        move |(scope, weight, variance, edge, interconnect)| ProblemSpec {
            platform: platform.clone(),
            scope,
            objective: Objective::Sharding(Sharding { weight, variance: variance.into(), edge: edge.into() }),
            interconnect,
            ..ProblemSpec::default()
        },
    )
}

fn problems(groups: usize, options: InstanceOptions) -> impl Strategy<Value = (Instance, ProblemSpec)> {
    instances(groups, options).prop_flat_map(|instance| {
        let specs = specs(&instance, vec![Scope::Arbitrary]);
        (Just(instance), specs)
    })
}

/// Graphs whose accelerators have memory for some part of all nodes, and nothing else to run on.
fn tight(groups: usize) -> impl Strategy<Value = (Instance, ProblemSpec)> {
    let options = InstanceOptions { memory_limits: false, max_accelerators: 3, max_cpus: 0, ..InstanceOptions::ALL };
    (problems(groups, options), 0.3..1.0f64).prop_map(|((mut instance, spec), part)| {
        let needed: f64 = instance.nodes.iter().map(|node| node.memory).sum();
        for class in &mut instance.platform.accelerators {
            class.memory = Some((needed * part).round());
        }
        let objective = Sharding { weight: NodeWeight::Parameters, ..sharding_of(&spec) };
        let platform = instance.platform.clone();
        (instance, ProblemSpec { platform, objective: Objective::Sharding(objective), ..spec })
    })
}

/// Nodes that are heavy where they need little memory, without an edge, and accelerators that hold hardly more than all of
/// them together need: what weighs evenly mostly does not fit.
fn lopsided() -> impl Strategy<Value = (Instance, ProblemSpec)> {
    (vec((1..=9u8, 0..=2u8), 5..=8), 2..=3usize, 0..=2u8).prop_map(|(weights, accelerators, spare)| {
        let node = |(id, &(weight, more)): (u64, &(u8, u8))| Node {
            accelerator_times: vec![Some(1.0)],
            memory: f64::from(10 - weight + more),
            parameter_bytes: weight.into(),
            ..Node::new(id)
        };
        let nodes: Vec<Node> = (0..).zip(&weights).map(node).collect();
        let needed: f64 = nodes.iter().map(|node| node.memory).sum();
        let memory = (needed / accelerators as f64).ceil() + f64::from(spare);
        let platform = Platform::uniform(accelerators, Some(memory), 0);
        let instance = Instance { platform, nodes, ..Instance::default() };
        let objective = Objective::Sharding(Sharding { weight: NodeWeight::Parameters, variance: 1.0, edge: 1.0 });
        let spec = ProblemSpec { objective, scope: Scope::Arbitrary, ..ProblemSpec::of(&instance) };
        (instance, spec)
    })
}

/// Every device of the platform, with its server.
fn devices(spec: &ProblemSpec) -> Vec<DeviceAssignment> {
    let mut devices = Vec::new();
    for (class, accelerators) in spec.platform.accelerators.iter().enumerate() {
        for _ in 0..accelerators.count {
            let server = spec.interconnect.map(|interconnect| devices.len() / interconnect.server_size);
            let kind = DeviceKind::Accelerator(class);
            devices.push(DeviceAssignment { server, ..DeviceAssignment::new(kind, vec![]) });
        }
    }
    devices.extend((0..spec.platform.cpus).map(|_| DeviceAssignment::new(DeviceKind::Cpu, vec![])));
    devices
}

/// The split that puts the node with index v on device `part_of[v]`.
fn split(instance: &Instance, spec: &ProblemSpec, part_of: &[usize]) -> Solution {
    let mut devices = devices(spec);
    instance.nodes.iter().zip(part_of).for_each(|(node, &d)| devices[d].nodes.push(node.id));
    Solution { devices, objective: None }
}

/// variance · Σ W² and the edges of a split: more than its cost by a constant, and an integer for integer weights.
fn squares_and_edges(instance: &Instance, spec: &ProblemSpec, split: &Solution) -> f64 {
    let sharding = sharding_of(spec);
    let home = |id: u64| split.devices.iter().find(|device| device.nodes.contains(&id)).unwrap();
    let mut cost = 0.0;
    for device in &split.devices {
        let held = instance.nodes.iter().filter(|node| device.nodes.contains(&node.id));
        let weight: f64 = held.map(|node| sharding.weight.of(node)).sum();
        cost += sharding.variance * weight * weight;
    }
    for edge in &instance.edges {
        let (from, to) = (home(edge.source), home(edge.target));
        let is_near = spec.interconnect.is_none() || from.server.is_some() && from.server == to.server;
        let factor = if is_near { 1.0 } else { spec.interconnect.unwrap().between_factor };
        cost += if std::ptr::eq(from, to) { 0.0 } else { sharding.edge * factor };
    }
    cost
}

/// Heuristics with few and with many levels, exact where the platform is small.
fn heuristics() -> Vec<Box<dyn Solver>> {
    vec![
        Box::new(KernighanLin::default()),
        Box::new(KernighanLin { starts: 1, sweeps: 1, ..KernighanLin::default() }),
        Box::new(KernighanLin { starts: 2, passes: 9, ..KernighanLin::default() }),
        Box::new(KernighanLin { starts: 2, sweeps: 10, published: true, ..KernighanLin::default() }),
        Box::new(Hierarchical::default()),
        Box::new(Hierarchical { starts: 2, sweeps: 10, published: true, ..Hierarchical::default() }),
    ]
}

fn near(a: Option<f64>, b: Option<f64>) -> bool {
    match (a, b) {
        (Some(a), Some(b)) => (a - b).abs() <= 1e-9 * a.abs().max(b.abs()).max(1.0),
        (None, None) => true,
        _ => false,
    }
}

/// A chain of weights 3, 1, 2, 2 on two servers of two accelerators and a CPU.
fn chain() -> (Instance, ProblemSpec) {
    let node = |(id, parameter_bytes): (u64, f64)| Node { parameter_bytes, memory: 1.0, ..Node::new(id) };
    let instance = Instance {
        platform: Platform::uniform(4, Some(3.0), 1),
        nodes: [3.0, 1.0, 2.0, 2.0].into_iter().zip(10..).map(|(w, id)| node((id, w))).collect(),
        edges: (10..13).map(|id| Edge { source: id, target: id + 1 }).collect(),
        ..Instance::default()
    };
    let spec = ProblemSpec {
        objective: Objective::Sharding(Sharding { variance: 2.0, edge: 3.0, ..Sharding::default() }),
        scope: Scope::Arbitrary,
        interconnect: Some(Interconnect { server_size: 2, between_factor: 5.0 }),
        ..ProblemSpec::of(&instance)
    };
    (instance, spec)
}

#[test]
fn the_cost_counts_unused_devices_and_prices_edges_by_server() {
    let (instance, spec) = chain();
    let cost = |part_of: &[usize], spec: &ProblemSpec| {
        verify::check(&instance, spec, &split(&instance, spec, part_of)).unwrap().objective()
    };
    // The mean is 8 / 5. One device: 2 · (6.4² + 4 · 1.6²), but it has memory for three nodes: the CPU has no limit.
    assert!(near(Some(cost(&[4, 4, 4, 4], &spec)), Some(2.0 * (6.4f64.powi(2) + 4.0 * 1.6f64.powi(2)))));
    // Weights 3, 1, 2, 2, 0: squares 1.96 + 0.36 + 0.16 + 0.16 + 2.56 = 5.2. Edges inside, between and inside servers.
    assert!(near(Some(cost(&[0, 1, 2, 3], &spec)), Some(2.0 * 5.2 + 3.0 + 15.0 + 3.0)));
    // A CPU is outside every server.
    assert!(near(Some(cost(&[0, 1, 4, 2], &spec)), Some(2.0 * 5.2 + 3.0 + 15.0 + 15.0)));
    let flat = ProblemSpec { interconnect: None, ..spec.clone() };
    assert!(near(Some(cost(&[0, 1, 4, 2], &flat)), Some(2.0 * 5.2 + 9.0)));
    let memory = Sharding { weight: NodeWeight::Memory, ..sharding_of(&spec) };
    let by_memory = ProblemSpec { objective: Objective::Sharding(memory), ..flat };
    // Weights 2, 2, 0, 0, 0 off 0.8.
    assert!(near(Some(cost(&[0, 0, 1, 1], &by_memory)), Some(2.0 * (2.0 * 1.44 + 3.0 * 0.64) + 3.0)));
}

#[test]
fn an_edge_given_twice_counts_once() {
    let (mut instance, spec) = chain();
    let cost = |instance: &Instance| {
        verify::check(instance, &spec, &split(instance, &spec, &[0, 1, 2, 3])).unwrap().objective()
    };
    let once = cost(&instance);
    instance.edges.push(instance.edges[0]);
    assert_eq!(cost(&instance), once);
    assert_eq!(solve_and_verify(&BruteForce, &instance, &spec), solve_and_verify(&BruteForce, &chain().0, &spec));
}

#[test]
fn corrupted_splits_fail_for_the_right_reason() {
    let (mut instance, spec) = chain();
    instance.nodes[0].color_class = Some(7);
    instance.nodes[1].color_class = Some(7);
    let problem = Problem::new(&instance, spec.clone()).unwrap();
    let run = ShardingBb::default().solve(&problem, &mut SearchContext::new()).unwrap();
    let solution = run.outcome.solution().unwrap().clone();
    let violations = |change: &dyn Fn(&mut Solution)| {
        let mut changed = solution.clone();
        change(&mut changed);
        verify::check(&instance, &spec, &changed).unwrap_err()
    };
    let claim = violations(&|split| split.objective = split.objective.map(|value| value * (1.0 + 1e-6)));
    assert!(matches!(claim[..], [Violation::WrongObjective { .. }]), "{claim:?}");
    let server = violations(&|split| split.devices.iter_mut().for_each(|device| device.server = None));
    assert!(server.iter().any(|violation| matches!(violation, Violation::MissingServer { .. })), "{server:?}");
    // Node 10 alone on a device of its own: its colour is torn.
    let color = violations(&|split| {
        split.devices.iter_mut().for_each(|device| device.nodes.retain(|&id| id != 10));
        split.devices.push(DeviceAssignment::new(DeviceKind::Cpu, vec![10]));
    });
    let is_torn = |violation: &Violation| matches!(violation, Violation::SplitColorClass { color: 7, .. });
    assert!(color.iter().any(is_torn), "{color:?}");
    let memory = violations(&|split| {
        *split = self::split(&instance, &spec, &[0, 0, 0, 0]);
    });
    assert!(matches!(memory[..], [Violation::MemoryExceeded { device: 0, .. }]), "{memory:?}");
}

#[test]
fn what_is_asked_has_to_make_sense() {
    let (instance, spec) = chain();
    let replication = Some(Replication { max_replicas: 2, bandwidth: 1.0 });
    assert!(Problem::new(&instance, ProblemSpec { replication, ..spec.clone() }).is_err());
    for (variance, edge) in [(-1.0, 1.0), (1.0, f64::NAN), (f64::MAX, 1.0)] {
        let objective = Objective::Sharding(Sharding { variance, edge, ..Sharding::default() });
        assert!(Problem::new(&instance, ProblemSpec { objective, ..spec.clone() }).is_err(), "{variance} {edge}");
    }
    let problem = Problem::new(&instance, spec).unwrap();
    let levels = |levels| Hierarchical { levels: Levels::Given(levels), ..Hierarchical::default() };
    assert!(levels(vec![5]).supports(&problem).is_ok());
    assert!(levels(vec![2, 2]).supports(&problem).is_err());
    assert!(levels(vec![usize::MAX, 2]).supports(&problem).is_err());
}

/// Two cliques of weight-1 nodes, joined by one edge, for two devices: the cut goes between them.
#[test]
fn cliques_stay_whole() {
    let node = |id| Node { parameter_bytes: 1.0, ..Node::new(id) };
    let clique = |first: u64| (first..first + 5).flat_map(move |u| (u + 1..first + 5).map(move |v| (u, v)));
    let edges = clique(0).chain(clique(5)).chain([(4, 5)]);
    let instance = Instance {
        platform: Platform::uniform(2, None, 0),
        nodes: (0..10).map(node).collect(),
        edges: edges.map(|(source, target)| Edge { source, target }).collect(),
        ..Instance::default()
    };
    let objective = Objective::Sharding(Sharding::default());
    let spec = ProblemSpec { objective, scope: Scope::Arbitrary, ..ProblemSpec::of(&instance) };
    for solver in [&ShardingBb::default() as &dyn Solver, &KernighanLin::default(), &Hierarchical::default()] {
        assert_eq!(solve_and_verify(solver, &instance, &spec), Some(1.0), "{}", solver.name());
    }
}

/// A weight of a node in bytes, as real layers have it: its square is worth more edges than a float has digits.
const BYTES: f64 = 987_654_321.0;

/// Nodes with these parameters and edges between them, for accelerators alone.
fn graph(accelerators: usize, weights: &[f64], edges: impl IntoIterator<Item = (u64, u64)>) -> (Instance, ProblemSpec) {
    let node = |(id, &parameter_bytes): (u64, &f64)| Node { parameter_bytes, ..Node::new(id) };
    let instance = Instance {
        platform: Platform::uniform(accelerators, None, 0),
        nodes: (0..).zip(weights).map(node).collect(),
        edges: edges.into_iter().map(|(source, target)| Edge { source, target }).collect(),
        ..Instance::default()
    };
    let objective = Objective::Sharding(Sharding::default());
    let spec = ProblemSpec { objective, scope: Scope::Arbitrary, ..ProblemSpec::of(&instance) };
    (instance, spec)
}

fn limited(limit: Duration) -> SearchContext {
    SearchContext::new().with_time_limit(limit)
}

#[test]
fn weightless_nodes_follow_their_neighbours_however_heavy_others_are() {
    let weights: Vec<f64> = (0..22).map(|id| if id < 2 { BYTES } else { 0.0 }).collect();
    let (instance, spec) = graph(2, &weights, (2..22).map(|id| (id % 2, id)));
    let once = KernighanLin { starts: 1, ..KernighanLin::default() };
    assert_eq!(solve_and_verify(&once, &instance, &spec), Some(0.0));
}

#[test]
fn heavy_parts_change_servers_to_save_an_edge() {
    let (instance, spec) = graph(4, &[BYTES; 4], [(0, 1), (2, 3)]);
    let interconnect = Some(Interconnect { server_size: 2, between_factor: 5.0 });
    let problem = Problem::new(&instance, ProblemSpec { interconnect, ..spec }).unwrap();
    for seed in 0..8 {
        let mut cx = SearchContext::new();
        cx.seed = seed;
        let once = KernighanLin { starts: 1, ..KernighanLin::default() };
        let run = once.solve(&problem, &mut cx).unwrap();
        assert_eq!(run.outcome.solution().unwrap().objective, Some(2.0), "seed {seed}");
    }
}

#[test]
fn a_claim_off_by_an_edge_is_wrong_however_heavy_nodes_are() {
    let (instance, spec) = graph(2, &[BYTES; 8], (0..7).map(|id| (id, id + 1)));
    let claimed = |objective| Solution { objective, ..split(&instance, &spec, &[0, 0, 0, 0, 1, 1, 1, 1]) };
    assert!(verify::check(&instance, &spec, &claimed(Some(1.0))).is_ok());
    for wrong in [0.0, 2.0, 1000.0] {
        let violations = verify::check(&instance, &spec, &claimed(Some(wrong))).unwrap_err();
        assert!(matches!(violations[..], [Violation::WrongObjective { .. }]), "{violations:?}");
    }
}

#[test]
fn weights_whose_squares_are_no_numbers_are_refused() {
    let (instance, spec) = graph(2, &[1e200], []);
    let objective = Objective::Sharding(Sharding { variance: 0.0, ..Sharding::default() });
    assert!(Problem::new(&instance, ProblemSpec { objective, ..spec }).is_err());
}

#[test]
fn large_graphs_are_not_searched() {
    let (instance, spec) = graph(2, &[1.0; 2001], (1..2001).map(|id| (0, id)));
    let problem = Problem::new(&instance, spec.clone()).unwrap();
    let run = ShardingBb { starts: 1 }.solve(&problem, &mut limited(Duration::from_secs(1))).unwrap();
    assert_eq!(run.stats.get("placements"), None);
    assert!(run.outcome.bound().is_some());
    verify::check(&instance, &spec, run.outcome.solution().unwrap()).unwrap();
}

/// The figures of section 2.5: 384.63 and 96.63 from 20 starts each.
#[test]
fn the_authors_flat_search_ends_long_before_the_hierarchical_one() {
    let edges = (0..200).map(|v| if v < 100 { (v, v + 1) } else { (v + 1, if v < 199 { v + 2 } else { 100 }) });
    let (instance, spec) = graph(96, &[2.0; 201], edges);
    let objective = Objective::Sharding(Sharding { edge: 1e-9, ..sharding_of(&spec) });
    let interconnect = Some(Interconnect { server_size: 2, between_factor: 5e8 });
    let spec = ProblemSpec { objective, interconnect, ..spec };
    let cost = |solver: &dyn Solver| solve_and_verify(solver, &instance, &spec).unwrap();
    let levels = Levels::Given(vec![2, 3, 4, 4]);
    let flat = cost(&KernighanLin { starts: 3, sweeps: 10, passes: 0, published: true });
    let hierarchical = cost(&Hierarchical { levels, starts: 3, sweeps: 10, passes: 0, published: true });
    assert!((350.0..480.0).contains(&flat), "{flat}");
    assert!((80.0..130.0).contains(&hierarchical), "{hierarchical}");
    // As many starts without that limit.
    assert!(cost(&KernighanLin { starts: 3, ..KernighanLin::default() }) < hierarchical);
}

#[test]
fn a_limit_is_kept_within_a_pass_and_over_all_starts() {
    let (instance, spec) = graph(8, &[1.0; 8000], (1..8000).map(|id| (id / 2, id)));
    let problem = Problem::new(&instance, spec).unwrap();
    for method in [
        KernighanLin { starts: 1, sweeps: 9000, passes: 9, published: false },
        KernighanLin { starts: usize::MAX, sweeps: 1, passes: 0, published: true },
    ] {
        let start = Instant::now();
        let run = method.solve(&problem, &mut limited(Duration::from_secs(1))).unwrap();
        assert!(run.outcome.solution().is_some());
        assert!(start.elapsed() < Duration::from_secs(20), "{method:?}: {:?}", start.elapsed());
    }
    let hierarchical = Hierarchical { starts: usize::MAX, sweeps: 1, ..Hierarchical::default() };
    assert!(hierarchical.solve(&problem, &mut limited(Duration::from_secs(1))).is_ok());
}

proptest! {
    #![proptest_config(config(96))]

    /// Nodes of no weight or of a gigabyte, which devices can share evenly: then edges alone decide.
    #[test]
    fn branch_and_bound_counts_edges_beside_heavy_nodes(
        (heavy, light, edges, heaviest) in (2..=3u64, 0..=3u64, vec(any::<(Index, Index)>(), 0..14), 5e8..1e9f64)
    ) {
        let weights: Vec<f64> =
            (0..2 * heavy + light).map(|id| if id < 2 * heavy { heaviest.round() } else { 0.0 }).collect();
        let ends = edges.iter().map(|(u, v)| (u.index(weights.len()) as u64, v.index(weights.len()) as u64));
        let (instance, spec) = graph(heavy as usize, &weights, ends.filter(|(u, v)| u < v));
        let found = solve_and_verify(&ShardingBb { starts: 1 }, &instance, &spec);
        let optimum = solve_and_verify(&BruteForce, &instance, &spec);
        prop_assert!(near(found, optimum), "{found:?} {optimum:?}");
    }

    /// Sums of fractions round, and depend on their order.
    #[test]
    fn branch_and_bound_takes_fractions(
        (mut instance, spec) in problems(7, InstanceOptions { max_accelerators: 3, ..InstanceOptions::ALL })
    ) {
        for node in &mut instance.nodes {
            node.parameter_bytes /= 10.0;
        }
        let objective = Sharding { weight: NodeWeight::Parameters, ..sharding_of(&spec) };
        let spec = ProblemSpec { objective: Objective::Sharding(objective), ..spec };
        let found = solve_and_verify(&ShardingBb { starts: 1 }, &instance, &spec);
        let optimum = solve_and_verify(&BruteForce, &instance, &spec);
        prop_assert!(near(found, optimum), "{found:?} {optimum:?}");
    }

    /// Every assignment of nodes to devices, with the verifier as the only judge.
    #[test]
    fn brute_force_finds_the_least_verified_cost(
        (instance, spec) in instances(4, InstanceOptions { max_accelerators: 2, max_cpus: 1, ..InstanceOptions::ALL })
            .prop_filter("few assignments", |instance| instance.nodes.len() <= 5)
            .prop_flat_map(|instance| {
                let specs = specs(&instance, vec![Scope::Arbitrary, Scope::Convex, Scope::Acyclic]);
                (Just(instance), specs)
            })
    ) {
        let (n, k) = (instance.nodes.len(), devices(&spec).len());
        let mut part_of = vec![0; n];
        let mut least: Option<f64> = None;
        for number in 0..k.pow(n as u32) {
            part_of.iter_mut().enumerate().for_each(|(v, d)| *d = number / k.pow(v as u32) % k);
            if let Ok(verified) = verify::check(&instance, &spec, &split(&instance, &spec, &part_of)) {
                least = Some(least.map_or(verified.objective(), |least| least.min(verified.objective())));
            }
        }
        let found = solve_and_verify(&BruteForce, &instance, &spec);
        prop_assert!(near(found, least), "{found:?} {least:?}");
    }

    /// What a move changes by the tables is what it changes from scratch, to the last bit.
    #[test]
    fn tables_price_moves_exactly(
        (instance, spec) in problems(9, InstanceOptions { unsupported: false, ..InstanceOptions::ALL }),
        start in vec(any::<Index>(), 9),
        moves in vec(any::<(Index, Index)>(), 1..20),
    ) {
        let problem = Problem::new(&instance, spec.clone()).unwrap();
        let shards = Shards::new(&problem);
        let (n, k) = (shards.model.unit_count(), shards.model.part_count());
        let part_of = start[..n].iter().map(|index| index.index(k) as u32).collect();
        let mut placement = Placement::new(&shards.model, part_of);
        let value = |placement: &Placement| {
            squares_and_edges(&instance, &spec, &shards.solution(placement.part_of()))
        };
        let mut before = value(&placement);
        for (u, to) in moves {
            let (u, to) = (u.index(n), to.index(k));
            let rise = placement.rise(u, to);
            placement.apply(u, to);
            let after = value(&placement);
            prop_assert_eq!(rise, after - before);
            before = after;
        }
        let fresh = Placement::new(&shards.model, placement.part_of().to_vec());
        for (u, to) in (0..n).flat_map(|u| (0..k).map(move |to| (u, to))) {
            prop_assert_eq!(placement.rise(u, to), fresh.rise(u, to));
            prop_assert_eq!(placement.admits(u, to), fresh.admits(u, to));
        }
    }

    #[test]
    fn branch_and_bound_finds_the_optimum((instance, spec) in problems(8, InstanceOptions::ALL)) {
        let found = solve_and_verify(&ShardingBb::default(), &instance, &spec);
        let optimum = solve_and_verify(&BruteForce, &instance, &spec);
        prop_assert!(near(found, optimum), "{found:?} {optimum:?}");
    }

    /// Memory that holds between a third of all nodes and all of them: what a placement leaves of it decides.
    #[test]
    fn branch_and_bound_heeds_tight_memory((instance, spec) in prop_oneof![tight(8), lopsided()]) {
        let found = solve_and_verify(&ShardingBb { starts: 1 }, &instance, &spec);
        let optimum = solve_and_verify(&BruteForce, &instance, &spec);
        prop_assert!(near(found, optimum), "{found:?} {optimum:?}");
    }

    #[test]
    fn branch_and_bound_tells_near_ties_apart(
        (instance, spec) in problems(7, InstanceOptions { max_accelerators: 4, max_cpus: 0, ..NEAR_TIES })
    ) {
        let found = solve_and_verify(&ShardingBb { starts: 1 }, &instance, &spec);
        let optimum = solve_and_verify(&BruteForce, &instance, &spec);
        prop_assert!(near(found, optimum), "{found:?} {optimum:?}");
    }

    /// With many devices alike and no luck at the start, so that symmetry, dominance and bounds do the work.
    #[test]
    fn branch_and_bound_needs_no_good_start(
        (instance, spec) in problems(8, InstanceOptions { max_accelerators: 6, max_cpus: 1, ..InstanceOptions::PLAIN })
    ) {
        let found = solve_and_verify(&ShardingBb { starts: 1 }, &instance, &spec);
        let optimum = solve_and_verify(&BruteForce, &instance, &spec);
        prop_assert!(near(found, optimum), "{found:?} {optimum:?}");
    }

    #[test]
    fn heuristics_and_bounds_stay_on_their_side((instance, spec) in problems(7, InstanceOptions::ALL)) {
        let optimum = solve_and_verify(&BruteForce, &instance, &spec);
        let problem = Problem::new(&instance, spec.clone()).unwrap();
        let stopped = || SearchContext::new().with_cancellation(Arc::new(AtomicBool::new(true)));
        for solver in heuristics() {
            if let Some(found) = solve_and_verify(&*solver, &instance, &spec) {
                prop_assert!(optimum.is_some_and(|optimum| found >= optimum - 1e-9 * optimum), "{found} {optimum:?}");
            }
            let run = solver.solve(&problem, &mut SearchContext::new()).unwrap();
            let bound = run.outcome.bound().map(|bound| bound.value);
            prop_assert!(optimum.is_none_or(|optimum| bound.unwrap() <= optimum), "{bound:?} {optimum:?}");
        }
        let run = ShardingBb { starts: 1 }.solve(&problem, &mut stopped()).unwrap();
        prop_assert!(optimum.is_none() || !matches!(run.outcome, Outcome::Infeasible));
        if let (Some(bound), Some(optimum)) = (run.outcome.bound(), optimum) {
            prop_assert!(bound.value <= optimum * (1.0 + 1e-12), "{bound:?} {optimum}");
        }
    }

    #[test]
    fn threads_change_nothing((instance, spec) in problems(9, InstanceOptions::ALL), seed: u64) {
        let problem = Problem::new(&instance, spec).unwrap();
        for solver in heuristics() {
            let with = |threads| {
                let mut cx = SearchContext::new();
                (cx.threads, cx.seed) = (threads, seed);
                solver.solve(&problem, &mut cx).unwrap()
            };
            prop_assert_eq!(with(1), with(3));
        }
    }
}

#[test]
fn the_tree_is_reached() {
    let options = InstanceOptions { max_accelerators: 4, max_cpus: 0, ..NEAR_TIES };
    // More placements than one for each of ten units: not only the first way down.
    let branches = |run: &Run| run.stats.get("placements") > Some(10.0);
    let found = [
        count_runs(&problems(10, InstanceOptions::ALL), 100, &ShardingBb { starts: 1 }, branches),
        count_runs(&tight(10), 100, &ShardingBb { starts: 1 }, branches),
        count_runs(&problems(10, options), 100, &ShardingBb { starts: 1 }, branches),
    ];
    assert!(found.iter().all(|&trees| trees >= 20), "{found:?} of 100 runs each branch");
}
