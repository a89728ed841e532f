//! Stages on accelerators of several classes, with options of their own.

use dagsplit::instance::{
    AcceleratorClass, Edge, EdgeBytes, Instance, Node, NodeOption, Parallelism, Platform, validate,
};
use dagsplit::problem::{Degrees, DeviceKind, Interconnect, Objective, Problem, ProblemSpec, Solution};
use dagsplit::registry;
use dagsplit::solve::Status;
use dagsplit::verify::{self, StageFault, Violation};

use super::{solved, verified};

/// A chain of layers, each of which takes 1 on the first class and 3 on the second, and a device's memory of 10 in part: 4 of
/// it, and on the second class half of that. The first class has two devices, the second one.
fn chain(layers: u64) -> Instance {
    let option = |node: u64, class: usize| NodeOption {
        node,
        tensor_degree: 1,
        class: Some(class),
        name: "vanilla".into(),
        time: [1.0, 3.0][class],
        memory: [4.0, 2.0][class],
        ..NodeOption::default()
    };
    let edges: Vec<Edge> = (1..layers).map(|v| Edge { source: v - 1, target: v }).collect();
    let class = |count: usize| AcceleratorClass { count, memory: Some(10.0), ..AcceleratorClass::default() };
    Instance {
        platform: Platform { accelerators: vec![class(2), class(1)], cpus: 0, bandwidth: None },
        nodes: (0..layers).map(|id| Node { accelerator_times: vec![Some(1.0), Some(3.0)], ..Node::new(id) }).collect(),
        parallelism: Some(Parallelism {
            bandwidth: 1.0,
            options: (0..layers).flat_map(|v| [0, 1].map(|class| option(v, class))).collect(),
            edges: edges.iter().map(|e| EdgeBytes { source: e.source, target: e.target, bytes: 0.0 }).collect(),
            ..Parallelism::default()
        }),
        edges,
        ..Instance::default()
    }
}

fn asked(instance: &Instance, objective: Objective) -> ProblemSpec {
    let microbatches = objective.microbatches().unwrap_or(4);
    let degrees = Some(Degrees { data: Some(vec![1]), ..Degrees::any(microbatches) });
    ProblemSpec { objective, degrees, ..ProblemSpec::of(instance) }
}

fn layers_by_class(split: &Solution) -> [usize; 2] {
    let of = |class| split.devices.iter().filter(move |device| device.kind == DeviceKind::Accelerator(class));
    [0, 1].map(|class| of(class).map(|device| device.nodes.len()).sum())
}

/// Two layers fit on a device of the first class and five on that of the second.
#[test]
fn memory_and_times_are_those_of_the_class() {
    for (layers, objective, value, by_class) in [
        (5, Objective::Throughput, 3.0, [4, 1]),
        (9, Objective::Throughput, 15.0, [4, 5]),
        // A microbatch passes all stages, and three more the slowest one: once all is on three devices, else on two.
        (5, Objective::Step { microbatches: 4 }, 16.0, [4, 1]),
        (4, Objective::Step { microbatches: 4 }, 10.0, [4, 0]),
    ] {
        let instance = chain(layers);
        let spec = asked(&instance, objective);
        let run = solved(&instance, &spec);
        assert_eq!(run.outcome.status(), Status::Optimal);
        let split = run.outcome.solution().expect("a split");
        assert_eq!(verified(&instance, &spec, split).objective(), value, "{layers} layers");
        assert_eq!(layers_by_class(split), by_class, "{layers} layers");
    }
    let instance = chain(10);
    assert_eq!(solved(&instance, &asked(&instance, Objective::Throughput)).outcome.status(), Status::Infeasible);
}

#[test]
fn a_split_is_held_to_the_classes_of_its_stages() {
    let instance = chain(9);
    let spec = asked(&instance, Objective::Throughput);
    let run = solved(&instance, &spec);
    let split = run.outcome.solution().expect("a split");
    let found = |instance: &Instance, change: &dyn Fn(&mut Solution)| {
        let mut changed = Solution { objective: None, ..split.clone() };
        change(&mut changed);
        verify::check(instance, &spec, &changed).expect_err("a corrupted split")
    };
    let slow = split.devices.iter().position(|device| device.kind == DeviceKind::Accelerator(1)).expect("five layers");
    let moved = found(&instance, &|split| split.devices[slow].kind = DeviceKind::Accelerator(0));
    assert!(matches!(moved[..], [Violation::TooManyDevices { used: 3, available: 2, .. }, ..]), "{moved:?}");
    let swapped = found(&instance, &|split| {
        let other = (slow + 1) % split.devices.len();
        split.devices[slow].kind = DeviceKind::Accelerator(0);
        split.devices[other].kind = DeviceKind::Accelerator(1);
    });
    let is_expected = |v: &Violation| matches!(v, Violation::MemoryExceeded { device, .. } if *device == slow);
    assert!(swapped.iter().all(is_expected), "{swapped:?}");
    let mut of_one = instance.clone();
    let options = &mut of_one.parallelism.as_mut().expect("options").options;
    options.retain(|option| option.class == Some(0) || option.node == 0);
    let without = found(&of_one, &|_| {});
    let is_missing = |v: &Violation| matches!(v, Violation::Stage { fault: StageFault::UnknownOption { .. }, .. });
    assert!(without.iter().all(is_missing), "{without:?}");
}

#[test]
fn classes_that_are_not_there_are_named() {
    let mut instance = chain(2);
    let options = &mut instance.parallelism.as_mut().expect("options").options;
    options[0].class = Some(7);
    options[3].class = None;
    let problems = validate(&instance).expect_err("both").to_string();
    for part in ["there is no accelerator class 7", "the node has it twice"] {
        assert!(problems.contains(part), "no `{part}` in {problems}");
    }
}

/// A file without options has one for each node on each class.
#[test]
fn nodes_without_options_have_times_on_each_class() {
    let mut instance = chain(3);
    instance.parallelism = None;
    instance.nodes[1].accelerator_times = vec![None, Some(3.0)];
    let spec = asked(&instance, Objective::Throughput);
    let run = solved(&instance, &spec);
    let split = run.outcome.solution().expect("a split");
    assert_eq!(verified(&instance, &spec, split).objective(), 3.0);
    assert_eq!(layers_by_class(split), [2, 1]);
}

/// Groups of devices lie in servers: of 2 in those of 2 and 6, and of 3 in those of 6 alone.
#[test]
fn tensor_degrees_are_those_that_servers_have_room_for() {
    let mut instance = chain(4);
    instance.platform.accelerators = vec![AcceleratorClass { count: 6, ..AcceleratorClass::default() }];
    instance.nodes.iter_mut().for_each(|node| node.accelerator_times.truncate(1));
    let option = |node: u64, degree: usize| NodeOption {
        node,
        tensor_degree: degree,
        name: "vanilla".into(),
        time: 6.0 / degree as f64,
        ..NodeOption::default()
    };
    instance.parallelism.as_mut().expect("options").options =
        (0..4).flat_map(|v| [1, 2, 3].map(|degree| option(v, degree))).collect();
    let servers = |server_size| Some(Interconnect { server_size, between_factor: 1.0 });
    let mut spec = asked(&instance, Objective::Step { microbatches: 1 });
    let alone = solved(&instance, &spec);
    let split = alone.outcome.solution().expect("a split");
    assert_eq!(verified(&instance, &spec, split).objective(), 8.0, "all in groups of three");
    spec.interconnect = servers(2);
    let in_servers = solved(&instance, &spec);
    let of_two = in_servers.outcome.solution().expect("a split");
    assert_eq!(verified(&instance, &spec, of_two).objective(), 12.0, "all in groups of two");
    let found = verify::check(&instance, &spec, split).expect_err("groups of three");
    let is_expected =
        |v: &Violation| matches!(v, Violation::Stage { fault: StageFault::TensorDegree { degree: 3, .. }, .. });
    assert!(found.iter().any(is_expected), "{found:?}");
    spec.interconnect = servers(6);
    let problems = spec.validate(&instance).expect_err("groups of two and three").to_string();
    assert!(problems.contains("groups of 2 and of 3 devices need not fill servers of 6"), "{problems}");
    spec.degrees.as_mut().expect("degrees").tensor = Some(vec![2]);
    spec.interconnect = servers(3);
    let problems = spec.validate(&instance).expect_err("groups of two").to_string();
    assert!(problems.contains("2 does not divide servers of 3"), "{problems}");
}

/// Labels count four classes, and nobody proves anything of more.
#[test]
fn more_than_four_classes_are_refused() {
    let mut instance = chain(2);
    instance.platform.accelerators = vec![AcceleratorClass { count: 1, ..AcceleratorClass::default() }; 5];
    instance.nodes.iter_mut().for_each(|node| node.accelerator_times = vec![Some(1.0); 5]);
    instance.parallelism = None;
    let problem = Problem::new(&instance, asked(&instance, Objective::Throughput)).expect("valid");
    for method in ["degrees", "dpl", "uniform"] {
        let solver = registry::solver(method).expect("known");
        let refused = solver.takes(&problem).expect_err("five classes").to_string();
        assert!(refused.contains("four classes at most"), "{method}: {refused}");
    }
}
