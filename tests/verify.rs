//! The verifier: valid splits pass, and every corruption fails with the violation it causes and no other.

mod common;

use common::{InstanceOptions, config, problems};
use dagsplit::instance::{Instance, Node, Platform};
use dagsplit::problem::{
    DeviceAssignment, DeviceKind, Interconnect, Objective, Problem, ProblemSpec, Replication, Scope, Solution,
};
use dagsplit::solve::BruteForce;
use dagsplit::solve::{SearchContext, Solver};
use dagsplit::verify;
use dagsplit::verify::{CycleStep, Part, Violation};
use proptest::prelude::*;
use proptest::sample::Index;

const ACCELERATOR: DeviceKind = DeviceKind::Accelerator(0);

/// A valid split and what it is a split of.
type Case = (Instance, ProblemSpec, Solution);

/// Optimal splits of random problems; problems without a split are dropped.
fn cases(options: InstanceOptions) -> impl Strategy<Value = Case> {
    problems(5, options).prop_filter_map("no split exists", |(instance, spec)| {
        let problem = Problem::new(&instance, spec.clone()).ok()?;
        let solution = BruteForce.solve(&problem, &mut SearchContext::new()).ok()?.outcome.solution()?.clone();
        Some((instance, spec, solution))
    })
}

fn violations(instance: &Instance, spec: &ProblemSpec, solution: &Solution) -> Vec<Violation> {
    verify::check(instance, spec, solution).err().unwrap_or_default()
}

/// The device and the position of a node, chosen by `pick`.
fn locate(solution: &Solution, pick: Index) -> (usize, usize) {
    let devices = solution.devices.iter().enumerate();
    let all: Vec<(usize, usize)> =
        devices.flat_map(|(d, device)| (0..device.nodes.len()).map(move |i| (d, i))).collect();
    all[pick.index(all.len())]
}

proptest! {
    #![proptest_config(config(512))]

    #[test]
    fn a_valid_split_is_reported_in_full((instance, spec, solution) in cases(InstanceOptions::ALL)) {
        let verified = verify::check(&instance, &spec, &solution).unwrap();
        prop_assert_eq!(&verified.to_solution(), &solution);
        let loads = || verified.devices().iter();
        let largest = |load: fn(&verify::VerifiedDevice) -> f64| loads().map(load).fold(0.0, f64::max);
        let expected = match spec.objective {
            Objective::Throughput | Objective::Latency { .. } | Objective::Sharding(_) => largest(|device| device.load()),
            Objective::GPipe => largest(|device| device.forward_load()) + largest(|device| device.backward_load()),
            Objective::Step { .. } => unreachable!("the strategy asks for none"),
        };
        prop_assert_eq!(verified.objective(), expected);
    }

    #[test]
    fn a_dropped_node_is_missing((instance, spec, mut solution) in cases(InstanceOptions::ALL), pick: Index) {
        let (d, i) = locate(&solution, pick);
        let node = solution.devices[d].nodes.remove(i);
        prop_assert_eq!(violations(&instance, &spec, &solution), [Violation::MissingNode { node }]);
    }

    #[test]
    fn a_repeated_node_is_duplicated(
        (instance, spec, mut solution) in cases(InstanceOptions::ALL), pick: Index, other: Index,
    ) {
        let (d, i) = locate(&solution, pick);
        let node = solution.devices[d].nodes[i];
        let again = other.index(solution.devices.len());
        solution.devices[again].nodes.push(node);
        let (first, second) = (d.min(again), d.max(again));
        prop_assert_eq!(violations(&instance, &spec, &solution), [Violation::DuplicatedNode { node, first, second }]);
    }

    #[test]
    fn a_foreign_id_is_unknown((instance, spec, mut solution) in cases(InstanceOptions::ALL), pick: Index) {
        let (device, i) = locate(&solution, pick);
        let missing = std::mem::replace(&mut solution.devices[device].nodes[i], 7777);
        prop_assert_eq!(
            violations(&instance, &spec, &solution),
            [Violation::UnknownNode { device, node: 7777 }, Violation::MissingNode { node: missing }]
        );
    }

    #[test]
    fn a_foreign_class_is_unknown((instance, spec, mut solution) in cases(InstanceOptions::ALL), pick: Index) {
        let (device, _) = locate(&solution, pick);
        let classes = spec.platform.accelerators.len();
        solution.devices[device].kind = DeviceKind::Accelerator(classes);
        prop_assert_eq!(
            violations(&instance, &spec, &solution),
            [Violation::UnknownClass { device, class: classes, classes }]
        );
    }

    #[test]
    fn a_wrong_claim_is_found((instance, spec, mut solution) in cases(InstanceOptions::ALL), step in -3..3i8) {
        let recomputed = solution.objective.unwrap();
        let claimed = recomputed + f64::from(step) + 0.5;
        solution.objective = Some(claimed);
        prop_assert_eq!(
            violations(&instance, &spec, &solution), [Violation::WrongObjective { claimed, recomputed }]
        );
        solution.objective = Some(recomputed * (1.0 + 1e-12));
        prop_assert_eq!(violations(&instance, &spec, &solution), []);
        solution.objective = Some(f64::NAN);
        let found = violations(&instance, &spec, &solution);
        let is_wrong = matches!(found[..], [Violation::WrongObjective { .. }]);
        prop_assert!(is_wrong, "{found:?}");
    }

    #[test]
    fn devices_are_counted_with_replicas((instance, mut spec, solution) in cases(InstanceOptions::ALL), pick: Index) {
        let (d, _) = locate(&solution, pick);
        let kind = solution.devices[d].kind;
        let used: usize = solution.devices.iter().filter(|device| device.kind == kind).map(|d| d.replicas).sum();
        let available = used - 1;
        spec.interconnect = None;
        match kind {
            DeviceKind::Accelerator(class) => {
                spec.platform.accelerators[class].count = available;
                spec.platform.cpus += 1;
            }
            DeviceKind::Cpu => {
                spec.platform.cpus = available;
                spec.platform.accelerators[0].count += 1;
            }
        }
        prop_assert_eq!(
            violations(&instance, &spec, &solution), [Violation::TooManyDevices { kind, used, available }]
        );
    }

    #[test]
    fn too_little_memory_is_exceeded((instance, mut spec, solution) in cases(InstanceOptions::ALL), pick: Index) {
        let (d, _) = locate(&solution, pick);
        let DeviceKind::Accelerator(class) = solution.devices[d].kind else { return Ok(()) };
        let memory_of = |id: &u64| instance.nodes.iter().find(|node| node.id == *id).unwrap().memory;
        let memory = |d: usize| solution.devices[d].nodes.iter().map(memory_of).sum::<f64>();
        prop_assume!(memory(d) > 0.0);
        let limit = memory(d) - 1.0;
        spec.platform.accelerators[class].memory = Some(limit);
        let expected: Vec<Violation> = (0..solution.devices.len())
            .filter(|&e| solution.devices[e].kind == solution.devices[d].kind && memory(e) > limit)
            .map(|device| Violation::MemoryExceeded { device, used: memory(device), limit })
            .collect();
        prop_assert_eq!(violations(&instance, &spec, &solution), expected);
    }

    #[test]
    fn a_node_without_a_time_is_unsupported(
        (mut instance, spec, solution) in cases(InstanceOptions::ALL), pick: Index,
    ) {
        let (device, i) = locate(&solution, pick);
        let (kind, id) = (solution.devices[device].kind, solution.devices[device].nodes[i]);
        // Everything runs on some other kind, so that the instance stays valid.
        for node in &mut instance.nodes {
            let (first, cpu) = (&mut node.accelerator_times[0], &mut node.cpu_time);
            let other = if kind == DeviceKind::Cpu { first } else { cpu };
            other.get_or_insert(1.0);
        }
        let node = instance.nodes.iter_mut().find(|node| node.id == id).unwrap();
        match kind {
            DeviceKind::Accelerator(class) => node.accelerator_times[class] = None,
            DeviceKind::Cpu => node.cpu_time = None,
        }
        prop_assert_eq!(
            violations(&instance, &spec, &solution), [Violation::UnsupportedNode { device, kind, node: id }]
        );
    }

    #[test]
    fn a_colour_class_stays_together(
        (instance, mut spec, mut solution) in
            cases(InstanceOptions { unsupported: false, memory_limits: false, ..InstanceOptions::ALL }),
        pick: Index,
    ) {
        let (d, i) = locate(&solution, pick);
        let node = solution.devices[d].nodes.remove(i);
        let color_of = |id: u64| instance.nodes.iter().find(|node| node.id == id).unwrap().color_class;
        let partners: Vec<u64> = solution.devices[d].nodes.iter().copied()
            .filter(|&other| color_of(other).is_some() && color_of(other) == color_of(node)).collect();
        prop_assume!(!partners.is_empty());
        let elsewhere = solution.devices.len();
        solution.devices.push(DeviceAssignment::new(DeviceKind::Cpu, vec![node]));
        spec.platform.cpus = elsewhere + 1;
        spec.scope = Scope::Arbitrary;
        let found = violations(&instance, &spec, &solution);
        let [Violation::SplitColorClass { color, first, second }] = found[..] else { panic!("{found:?}") };
        prop_assert_eq!(Some(color), color_of(node));
        let (moved, stayed) = if first.1 == elsewhere { (first, second) } else { (second, first) };
        prop_assert_eq!(moved, (node, elsewhere));
        prop_assert!(partners.contains(&stayed.0) && stayed.1 == d);
    }

    #[test]
    fn replicas_need_leave_and_accelerators(
        (instance, mut spec, mut solution) in cases(InstanceOptions { memory_limits: false, ..InstanceOptions::ALL }),
        pick: Index,
    ) {
        let (device, _) = locate(&solution, pick);
        spec.interconnect = None;
        spec.platform.cpus += 9;
        spec.platform.accelerators.iter_mut().for_each(|class| class.count += 9);
        let allowed = spec.replication.map_or(1, |replication| replication.max_replicas);
        let replicas = allowed + 1;
        solution.devices[device].replicas = replicas;
        let expected = match solution.devices[device].kind {
            DeviceKind::Accelerator(_) => Violation::TooManyReplicas { device, replicas, allowed },
            DeviceKind::Cpu => Violation::ReplicatedCpu { device, replicas },
        };
        prop_assert_eq!(violations(&instance, &spec, &solution), [expected]);
        solution.devices[device].replicas = 0;
        prop_assert_eq!(violations(&instance, &spec, &solution), [Violation::NoReplica { device }]);
    }

    #[test]
    fn a_path_that_returns_is_named((instance, spec, _) in cases(InstanceOptions::PLAIN), pick: Index) {
        // The ends of a two-edge path on one device, everything else on another.
        let edges = || instance.edges.iter();
        let paths: Vec<[u64; 3]> = edges()
            .flat_map(|a| edges().filter(move |b| a.target == b.source).map(move |b| [a.source, a.target, b.target]))
            .collect();
        prop_assume!(!paths.is_empty());
        let [from, _, to] = paths[pick.index(paths.len())];
        let rest = instance.nodes.iter().map(|node| node.id).filter(|&id| id != from && id != to).collect();
        let solution = split(vec![vec![from, to], rest]);
        let platform = Platform::uniform(2, None, 0);
        let is_edge = |u: u64, v: u64| edges().any(|edge| (edge.source, edge.target) == (u, v));

        let base = ProblemSpec { platform, interconnect: None, replication: None, ..spec };
        let found = violations(&instance, &ProblemSpec { scope: Scope::Convex, ..base.clone() }, &solution);
        let mut devices = Vec::new();
        for violation in &found {
            let Violation::NotConvex { device, path } = violation else { panic!("{violation:?}") };
            devices.push(*device);
            let inside: Vec<bool> = path.iter().map(|id| solution.devices[*device].nodes.contains(id)).collect();
            prop_assert!(path.len() >= 3 && path.windows(2).all(|pair| is_edge(pair[0], pair[1])), "{path:?}");
            prop_assert!((0..path.len()).all(|i| inside[i] == (i == 0 || i == path.len() - 1)), "{path:?}");
        }
        prop_assert_eq!(devices.first(), Some(&0));

        let found = violations(&instance, &ProblemSpec { scope: Scope::Acyclic, ..base }, &solution);
        let [Violation::Cyclic { steps }] = &found[..] else { panic!("{found:?}") };
        prop_assert_eq!(steps.iter().map(|step| step.part).collect::<Vec<_>>(), [Part::Device(0), Part::Device(1)]);
        for (i, CycleStep { edge: (u, v), .. }) in steps.iter().enumerate() {
            prop_assert!(is_edge(*u, *v));
            prop_assert!(solution.devices[i].nodes.contains(u) && solution.devices[1 - i].nodes.contains(v));
        }
    }
}

fn split(devices: Vec<Vec<u64>>) -> Solution {
    let devices = devices.into_iter().map(|nodes| DeviceAssignment::new(ACCELERATOR, nodes));
    Solution { devices: devices.collect(), objective: None }
}

/// A chain 1 → … → n without costs, on three accelerators.
fn chain(n: u64) -> (Instance, ProblemSpec) {
    let instance = Instance {
        platform: Platform::uniform(3, None, 0),
        nodes: (1..=n).map(Node::new).collect(),
        edges: (1..n).map(|id| dagsplit::instance::Edge { source: id, target: id + 1 }).collect(),
        ..Instance::default()
    };
    let spec = ProblemSpec::of(&instance);
    (instance, spec)
}

#[test]
fn a_cycle_of_three_devices_is_named_step_by_step() {
    let (instance, spec) = chain(4);
    let steps = [(0, (1, 2)), (1, (2, 3)), (2, (3, 4))]
        .map(|(device, edge)| CycleStep { part: Part::Device(device), edge })
        .to_vec();
    let found = violations(&instance, &spec, &split(vec![vec![1, 4], vec![2], vec![3]]));
    assert_eq!(found, [Violation::Cyclic { steps }]);
    assert_eq!(
        found[0].to_string(),
        "the split is not acyclic: device 0 feeds device 1 (1 → 2), device 1 feeds device 2 (2 → 3), \
         device 2 feeds device 0 (3 → 4); merge or reorder these stages"
    );
}

#[test]
fn devices_that_feed_each_other_are_convex_but_not_acyclic() {
    let (mut instance, spec) = chain(4);
    instance.edges.remove(1);
    let solution = split(vec![vec![1, 4], vec![2, 3]]);
    assert_eq!(violations(&instance, &ProblemSpec { scope: Scope::Convex, ..spec.clone() }, &solution), []);
    let steps = [(0, (1, 2)), (1, (3, 4))].map(|(device, edge)| CycleStep { part: Part::Device(device), edge });
    assert_eq!(violations(&instance, &spec, &solution), [Violation::Cyclic { steps: steps.to_vec() }]);
}

#[test]
fn an_orphan_is_ordered_and_a_mirrored_node_is_not() {
    // Forward 1 → 2, backward 3 → 4 → 5: 3 mirrors 2, 5 mirrors 1, 4 is an orphan between them.
    let (mut instance, spec) = chain(5);
    for (v, color, backward) in [(0, 1, false), (1, 2, false), (2, 2, true), (4, 1, true)] {
        (instance.nodes[v].color_class, instance.nodes[v].backward) = (Some(color), backward);
    }
    instance.nodes[3].backward = true;
    assert_eq!(violations(&instance, &spec, &split(vec![vec![1, 5], vec![4], vec![2, 3]])), []);
    // With 1 and 2 on one device the stand-in of 4 lies between them: 1 → 4 → 2.
    let solution = split(vec![vec![1, 5, 2, 3], vec![4]]);
    let steps = [(0, (1, 4)), (1, (4, 2))].map(|(device, edge)| CycleStep { part: Part::Device(device), edge });
    assert_eq!(violations(&instance, &spec, &solution), [Violation::Cyclic { steps: steps.to_vec() }]);
    let convex = ProblemSpec { scope: Scope::Convex, ..spec };
    assert_eq!(violations(&instance, &convex, &solution), [Violation::NotConvex { device: 0, path: vec![1, 4, 2] }]);
}

#[test]
fn a_linearized_split_holds_intervals() {
    let (mut instance, spec) = chain(3);
    instance.edges.clear();
    let with = |order| ProblemSpec { scope: Scope::Linearized(order), ..spec.clone() };
    let solution = split(vec![vec![1, 3], vec![2]]);
    assert_eq!(violations(&instance, &with(vec![0, 2, 1]), &solution), []);
    assert_eq!(
        violations(&instance, &with(vec![0, 1, 2]), &solution),
        [Violation::NotAnInterval { device: 0, ends: (1, 3), between: 2 }]
    );
    for order in [vec![0, 1, 1], vec![0, 1]] {
        let found = violations(&instance, &with(order), &solution);
        assert!(
            matches!(&found[..], [Violation::InvalidInstance(problems)] if problems.to_string().contains("linearized scope")),
            "{found:?}"
        );
    }
}

#[test]
fn servers_exist_have_room_and_hold_successive_ideals() {
    let (instance, mut spec) = chain(3);
    spec.platform = Platform::uniform(4, None, 0);
    spec.interconnect = Some(Interconnect { server_size: 2, between_factor: 2.0 });
    spec.replication = Some(Replication { max_replicas: 2, bandwidth: 1.0 });
    let found = |servers: [Option<usize>; 3], replicas: usize| {
        let mut solution = split(vec![vec![1], vec![2], vec![3]]);
        solution.devices.iter_mut().zip(servers).for_each(|(device, server)| device.server = server);
        solution.devices[0].replicas = replicas;
        violations(&instance, &spec, &solution)
    };
    assert_eq!(found([Some(0), Some(0), Some(1)], 1), []);
    assert_eq!(found([Some(0), None, Some(1)], 1), [Violation::MissingServer { device: 1 }]);
    assert_eq!(
        found([Some(0), Some(0), Some(2)], 1),
        [Violation::UnknownServer { device: 2, server: 2, servers: 0..2 }]
    );
    let overfull = Violation::OverfullServer { server: 0, used: 3, size: 2 };
    assert_eq!(found([Some(0), Some(0), Some(1)], 2), [overfull]);
    let steps = [(0, (1, 2)), (1, (2, 3))].map(|(server, edge)| CycleStep { part: Part::Server(server), edge });
    assert_eq!(found([Some(0), Some(1), Some(0)], 1), [Violation::Cyclic { steps: steps.to_vec() }]);
}

#[test]
fn devices_without_nodes_count_for_nothing() {
    let (instance, spec) = chain(1);
    let solution = split(vec![vec![], vec![1], vec![], vec![], vec![]]);
    let verified = verify::check(&instance, &spec, &solution).unwrap();
    assert_eq!(verified.devices().len(), 5);
    assert_eq!(verified.devices()[1].nodes(), [1]);
}

#[test]
fn an_invalid_request_is_no_split() {
    let (instance, mut spec) = chain(1);
    spec.platform.accelerators[0].count = 0;
    let found = violations(&instance, &spec, &split(vec![vec![1]]));
    assert!(matches!(found[..], [Violation::InvalidInstance(_)]), "{found:?}");
}

#[test]
fn violations_name_ids_and_cure() {
    let (instance, spec) = chain(2);
    let shown = |solution| violations(&instance, &spec, &solution).iter().map(ToString::to_string).collect::<Vec<_>>();
    assert_eq!(
        shown(split(vec![vec![1, 9, 1]])),
        [
            "device 0 holds node 9, which the instance does not have; remove it or correct its id",
            "node 1 is on device 0 and again on device 0; keep one of them",
            "node 2 is on no device; assign it to one",
        ]
    );
}
