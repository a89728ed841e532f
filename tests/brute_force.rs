//! The brute-force oracle against hand-worked examples and against the verifier as the only judge.

mod common;

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use common::{InstanceOptions, config, instances, problems, solve_and_verify};
use dagsplit::conformance::strategies::{recomputation_problems, together};
use dagsplit::instance::{AcceleratorClass, Edge, Instance, Node, Platform};
use dagsplit::problem::{
    CostKind, DeviceAssignment, DeviceKind, Interconnect, Objective, Problem, ProblemSpec, Replication, Scope, Solution,
};
use dagsplit::solve::BruteForce;
use dagsplit::solve::{Outcome, SearchContext, Solver};
use dagsplit::verify;
use proptest::prelude::*;

fn node(id: u64, time: f64, transfer_time: f64) -> Node {
    Node { accelerator_times: vec![Some(time)], cpu_time: Some(10.0 * time), transfer_time, ..Node::new(id) }
}

fn instance(platform: Platform, nodes: Vec<Node>, edges: &[(u64, u64)]) -> Instance {
    let edges = edges.iter().map(|&(source, target)| Edge { source, target }).collect();
    Instance { platform, nodes, edges, ..Instance::default() }
}

fn optimum(instance: &Instance, spec: &ProblemSpec) -> Option<f64> {
    solve_and_verify(&BruteForce, instance, spec)
}

/// Times 4, 3, 5, 4 and transfers 1, 6, 1, 1 along a chain.
fn chain(platform: Platform) -> Instance {
    let nodes = vec![node(1, 4.0, 1.0), node(2, 3.0, 6.0), node(3, 5.0, 1.0), node(4, 4.0, 1.0)];
    instance(platform, nodes, &[(1, 2), (2, 3), (3, 4)])
}

#[test]
fn cost_kinds_on_a_chain() {
    let instance = chain(Platform::uniform(2, None, 0));
    let with = |cost| optimum(&instance, &ProblemSpec { cost, ..ProblemSpec::of(&instance) });
    // {1,2,3} | {4}: 12 + 1; {1,2} | {3,4} pays the transfer of 6.
    assert_eq!(with(CostKind::Additive), Some(13.0));
    // {1,2} | {3,4}: max(7, 6) and max(9, 6).
    assert_eq!(with(CostKind::Overlap), Some(9.0));
    assert_eq!(with(CostKind::Duplex), Some(9.0));
}

#[test]
fn in_and_out_share_the_link_unless_it_is_duplex() {
    let nodes = vec![node(1, 7.0, 4.0), node(2, 1.0, 4.0), node(3, 7.0, 1.0)];
    let instance = instance(Platform::uniform(3, None, 0), nodes, &[(1, 2), (2, 3)]);
    let with = |cost, scope| optimum(&instance, &ProblemSpec { cost, scope, ..ProblemSpec::of(&instance) });
    // {1} | {2} | {3}: the middle has max(1, 4 + 4) against max(1, 4, 4).
    assert_eq!(with(CostKind::Overlap, Scope::Acyclic), Some(8.0));
    assert_eq!(with(CostKind::Duplex, Scope::Acyclic), Some(7.0));
}

#[test]
fn a_producer_is_paid_once_per_device() {
    let nodes = vec![node(1, 3.0, 2.0), node(2, 3.0, 0.0), node(3, 3.0, 0.0)];
    let instance = instance(Platform::uniform(2, None, 0), nodes, &[(1, 2), (1, 3)]);
    // {1} | {2,3}: 3 + 2 and 2 + 6; {1,2} | {3}: 6 + 2 and 2 + 3.
    assert_eq!(optimum(&instance, &ProblemSpec::of(&instance)), Some(8.0));
}

/// 1 → 2, 3 → 4 with times 1, 5, 1, 5: {1,4} and {2,3} feed each other.
fn crossing() -> Instance {
    let nodes = vec![node(1, 1.0, 0.0), node(2, 5.0, 0.0), node(3, 1.0, 0.0), node(4, 5.0, 0.0)];
    let mut crossing = instance(Platform::uniform(2, None, 0), nodes, &[(1, 2), (3, 4)]);
    for (v, color) in [(0, 1), (3, 1), (1, 2), (2, 2)] {
        crossing.nodes[v].color_class = Some(color);
    }
    crossing
}

#[test]
fn scopes_differ() {
    let with = |instance: &Instance, scope| optimum(instance, &ProblemSpec { scope, ..ProblemSpec::of(instance) });
    // Two convex sets that feed each other: convex, not acyclic.
    assert_eq!(with(&crossing(), Scope::Convex), Some(6.0));
    assert_eq!(with(&crossing(), Scope::Acyclic), Some(12.0));
    // A chain 5, 9, 5: {1,3} | {2} balances but is not convex.
    let nodes = vec![node(1, 5.0, 0.0), node(2, 9.0, 0.0), node(3, 5.0, 0.0)];
    let line = instance(Platform::uniform(2, None, 0), nodes, &[(1, 2), (2, 3)]);
    assert_eq!(with(&line, Scope::Arbitrary), Some(10.0));
    assert_eq!(with(&line, Scope::Convex), Some(14.0));
    // Independent nodes 5, 9, 4: the order 0, 1, 2 keeps 5 and 4 apart, the order 0, 2, 1 does not.
    let nodes = vec![node(1, 5.0, 0.0), node(2, 9.0, 0.0), node(3, 4.0, 0.0)];
    let free = instance(Platform::uniform(2, None, 0), nodes, &[]);
    assert_eq!(with(&free, Scope::Linearized(vec![0, 1, 2])), Some(13.0));
    assert_eq!(with(&free, Scope::Linearized(vec![0, 2, 1])), Some(9.0));
}

#[test]
fn cpus_pay_no_transfers_and_take_what_accelerators_cannot_hold() {
    let mut instance = chain(Platform::uniform(1, Some(2.0), 1));
    instance.nodes.iter_mut().for_each(|node| node.memory = 1.0);
    // Two nodes have to go to the CPU: 1 and 2 cost it 70; the accelerator pays 9 + 6.
    assert_eq!(optimum(&instance, &ProblemSpec::of(&instance)), Some(70.0));
    instance.platform.cpus = 0;
    assert_eq!(optimum(&instance, &ProblemSpec::of(&instance)), None);
}

#[test]
fn classes_differ_in_speed_and_support() {
    let mut instance = chain(Platform::uniform(1, None, 0));
    instance.platform.accelerators.push(AcceleratorClass { name: None, count: 1, memory: None, load: None });
    for (node, slow) in instance.nodes.iter_mut().zip([Some(1.0), Some(30.0), Some(30.0), None]) {
        node.accelerator_times.push(slow);
    }
    // {1} on the second class, the rest on the first: max(1 + 1, 1 + 12).
    assert_eq!(optimum(&instance, &ProblemSpec::of(&instance)), Some(13.0));
}

/// Forward 1 → 2 with times 2 and 1, backward 3 → 4 with times 1 and 6; 4 mirrors 1 and 3 mirrors 2.
fn training() -> Instance {
    let mut nodes = vec![node(1, 2.0, 0.0), node(2, 3.0, 0.0), node(3, 1.0, 0.0), node(4, 6.0, 0.0)];
    for (node, color) in nodes.iter_mut().zip([1, 2, 2, 1]) {
        node.color_class = Some(color);
    }
    (nodes[2].backward, nodes[3].backward) = (true, true);
    instance(Platform::uniform(2, None, 0), nodes, &[(1, 2), (2, 3), (3, 4)])
}

#[test]
fn gpipe_adds_the_largest_of_each_pass() {
    let instance = training();
    let with = |objective| optimum(&instance, &ProblemSpec { objective, ..ProblemSpec::of(&instance) });
    assert_eq!(with(Objective::Throughput), Some(8.0));
    assert_eq!(with(Objective::GPipe), Some(9.0));
}

#[test]
fn replicas_share_load_and_synchronise_weights() {
    let mut instance = instance(Platform::uniform(3, None, 0), vec![node(1, 12.0, 0.0)], &[]);
    instance.nodes[0].parameter_bytes = 6.0;
    let with = |max_replicas, cost| {
        let replication = Some(Replication { max_replicas, bandwidth: 2.0 });
        optimum(&instance, &ProblemSpec { replication, cost, ..ProblemSpec::of(&instance) })
    };
    assert_eq!(with(1, CostKind::Additive), Some(12.0));
    assert_eq!(with(2, CostKind::Additive), Some(6.0 + 3.0));
    assert_eq!(with(3, CostKind::Additive), Some(4.0 + 4.0));
    assert_eq!(with(3, CostKind::Overlap), Some(4.0));
}

#[test]
fn the_all_reduce_belongs_to_the_backward_pass() {
    let mut instance = training();
    instance.nodes.iter_mut().for_each(|node| node.parameter_bytes = 1.0);
    let replication = Some(Replication { max_replicas: 2, bandwidth: 4.0 });
    let spec = ProblemSpec { objective: Objective::GPipe, replication, ..ProblemSpec::of(&instance) };
    // One stage on two devices: forward 5/2, backward 7/2 + 4/4.
    let solution = Solution {
        devices: vec![DeviceAssignment {
            replicas: 2,
            ..DeviceAssignment::new(DeviceKind::Accelerator(0), vec![1, 2, 3, 4])
        }],
        objective: None,
    };
    let verified = verify::check(&instance, &spec, &solution).unwrap();
    let device = &verified.devices()[0];
    assert_eq!((device.forward_load(), device.backward_load(), verified.objective()), (2.5, 4.5, 7.0));
    assert_eq!(optimum(&instance, &spec), Some(7.0));
}

#[test]
fn transfers_between_servers_cost_more() {
    let nodes = vec![node(1, 4.0, 1.0), node(2, 4.0, 2.0), node(3, 4.0, 1.0), node(4, 4.0, 0.0)];
    let instance = instance(Platform::uniform(4, None, 0), nodes, &[(1, 2), (2, 3), (3, 4)]);
    let with = |server_size| {
        let interconnect = Some(Interconnect { server_size, between_factor: 3.0 });
        optimum(&instance, &ProblemSpec { interconnect, ..ProblemSpec::of(&instance) })
    };
    assert_eq!(with(4), Some(4.0 + 1.0 + 2.0));
    // {1} | {2} {3,4} with one transfer between servers: 4 + 3, 3 + 4 + 2, 2 + 8. Cut in the middle it is 1 + 4 + 6.
    assert_eq!(with(2), Some(10.0));
    // Every transfer is between servers. All apart: 3 + 4 + 6; {1} {2,3} {4}: 3 + 8 + 3; {1,2} {3,4}: 8 + 6.
    assert_eq!(with(1), Some(13.0));
}

#[test]
fn limits_and_size_are_honoured() {
    let instance = chain(Platform::uniform(2, None, 0));
    let problem = Problem::new(&instance, ProblemSpec::of(&instance)).unwrap();
    let mut cancelled = SearchContext::new().with_cancellation(Arc::new(AtomicBool::new(true)));
    assert_eq!(BruteForce.solve(&problem, &mut cancelled).unwrap().outcome, Outcome::Unknown { bound: None });

    let many =
        |nodes: u64, platform| Instance { nodes: (0..nodes).map(Node::new).collect(), platform, ..Instance::default() };
    let supports =
        |instance: Instance| BruteForce.supports(&Problem::new(&instance, ProblemSpec::of(&instance)).unwrap()).is_ok();
    assert!(supports(many(12, Platform::uniform(3, None, 1))));
    assert!(!supports(many(13, Platform::uniform(1, None, 0))));
    assert!(!supports(many(12, Platform::uniform(12, None, 12))));
}

/// The least objective over every assignment of nodes to labelled devices with every choice of replicas and servers
/// that the verifier accepts.
fn least_verified(instance: &Instance, spec: &ProblemSpec) -> Option<f64> {
    let mut empty: Vec<Vec<DeviceAssignment>> = vec![vec![]];
    for (class, accelerators) in spec.platform.accelerators.iter().enumerate() {
        for _ in 0..accelerators.count {
            empty = extend(&empty, &shapes(spec, class));
        }
    }
    let cpu = DeviceAssignment::new(DeviceKind::Cpu, vec![]);
    for _ in 0..spec.platform.cpus {
        empty = extend(&empty, std::slice::from_ref(&cpu));
    }
    empty.iter().flat_map(|devices| all_fillings(instance, spec, devices)).min_by(f64::total_cmp)
}

fn shapes(spec: &ProblemSpec, class: usize) -> Vec<DeviceAssignment> {
    let total: usize = spec.platform.accelerators.iter().map(|class| class.count).sum();
    let servers: Vec<Option<usize>> = match spec.interconnect {
        None => vec![None],
        Some(interconnect) => (0..total / interconnect.server_size).map(Some).collect(),
    };
    let replicas = 1..=spec.replication.map_or(1, |replication| replication.max_replicas);
    let empty = DeviceAssignment::new(DeviceKind::Accelerator(class), vec![]);
    let shape = |replicas, server| DeviceAssignment { replicas, server, ..empty.clone() };
    replicas.flat_map(|replicas| servers.iter().map(move |&server| shape(replicas, server))).collect()
}

fn extend(lists: &[Vec<DeviceAssignment>], choices: &[DeviceAssignment]) -> Vec<Vec<DeviceAssignment>> {
    let with =
        |list: &Vec<DeviceAssignment>, choice: &DeviceAssignment| [&list[..], std::slice::from_ref(choice)].concat();
    lists.iter().flat_map(|list| choices.iter().map(move |choice| with(list, choice))).collect()
}

fn all_fillings(instance: &Instance, spec: &ProblemSpec, devices: &[DeviceAssignment]) -> Vec<f64> {
    let (k, n) = (devices.len(), instance.nodes.len());
    let filled = |mut code: usize| {
        let mut solution = Solution { devices: devices.to_vec(), objective: None };
        for node in &instance.nodes {
            solution.devices[code % k].nodes.push(node.id);
            code /= k;
        }
        verify::check(instance, spec, &solution).ok().map(|verified| verified.objective())
    };
    (0..k.pow(n as u32)).filter_map(filled).collect()
}

fn few_devices() -> impl Strategy<Value = (Instance, ProblemSpec)> {
    let options = InstanceOptions { max_accelerators: 2, max_cpus: 2, ..InstanceOptions::ALL };
    let kept_together = together(problems(4, options));
    prop_oneof![problems(4, options), recomputation_problems(4, options), kept_together].prop_filter(
        "at most 3 devices and 5 nodes",
        |(instance, _)| {
            let platform = &instance.platform;
            platform.cpus + platform.accelerators.iter().map(|class| class.count).sum::<usize>() <= 3
                && instance.nodes.len() <= 5
        },
    )
}

proptest! {
    #![proptest_config(config(1000))]

    #[test]
    fn finds_the_least_of_all_that_the_verifier_accepts((instance, spec) in few_devices()) {
        prop_assert_eq!(optimum(&instance, &spec), least_verified(&instance, &spec));
    }

    #[test]
    fn every_answer_is_verified((instance, spec) in problems(5, InstanceOptions::ALL)) {
        optimum(&instance, &spec);
    }

    #[test]
    fn a_narrower_scope_is_never_better(instance in instances(5, InstanceOptions::ALL)) {
        let order = (0..instance.nodes.len()).collect();
        let scopes = [Scope::Arbitrary, Scope::Convex, Scope::Acyclic, Scope::Linearized(order)];
        let values = scopes.map(|scope| {
            optimum(&instance, &ProblemSpec { scope, ..ProblemSpec::of(&instance) }).unwrap_or(f64::MAX)
        });
        prop_assert!(values.is_sorted(), "{values:?}");
    }
}
