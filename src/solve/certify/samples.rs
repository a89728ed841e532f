//! Small problems for tests, by the thousand.

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;

use super::assignment::{Assignment, Setting};
use crate::instance::{Edge, Instance, Node, Platform};
use crate::problem::{Problem, ProblemSpec, Scope};

/// Small numbers, some of them no decimals, and now and then one beside which they vanish.
fn time() -> impl Strategy<Value = f64> {
    prop_oneof![24 => (1..9u32).prop_map(f64::from), 1 => (1..9u32).prop_map(|time| f64::from(time) / 3.0), 2 => Just(1e20)]
}

/// Times on an accelerator and a CPU, of which one cannot run some nodes, and a transfer time, some of them no decimals.
fn node() -> impl Strategy<Value = Node> {
    let times = prop_oneof![
        6 => (time(), time()).prop_map(|(a, b)| (Some(a), Some(b))),
        1 => time().prop_map(|a| (Some(a), None)),
        1 => time().prop_map(|b| (None, Some(b))),
    ];
    let transfer = prop_oneof![8 => (0..4u32).prop_map(f64::from), 1 => Just(1.0 / 3.0)];
    (times, transfer).prop_map(|((accelerator, cpu), transfer_time)| Node {
        accelerator_times: vec![accelerator],
        cpu_time: cpu,
        transfer_time,
        ..Node::new(0)
    })
}

/// Up to six nodes with any edges between them, for one or two accelerators and a CPU.
pub fn instances() -> impl Strategy<Value = Instance> {
    (vec(node(), 2..=6), vec(any::<bool>(), 15), 1..=2usize).prop_map(|(mut nodes, joined, accelerators)| {
        (0..).zip(&mut nodes).for_each(|(id, node)| node.id = id);
        let pairs = (0..6u64).flat_map(|target| (0..target).map(move |source| Edge { source, target }));
        let edges = pairs.zip(joined).filter(|(edge, joined)| *joined && edge.target < nodes.len() as u64);
        Instance {
            platform: Platform::uniform(accelerators, None, 1),
            edges: edges.map(|(edge, _)| edge).collect(),
            nodes,
            ..Instance::default()
        }
    })
}

/// The same so many values on every run.
pub fn drawn<S: Strategy>(strategy: S, count: usize) -> impl Iterator<Item = S::Value> {
    let mut runner = TestRunner::deterministic();
    (0..count).map(move |_| strategy.new_tree(&mut runner).expect("no value is rejected").current())
}

/// The problem of an instance, whose sets have to be convex or not.
pub fn problem(instance: &Instance, is_convex: bool) -> Problem {
    let scope = if is_convex { Scope::Convex } else { Scope::Arbitrary };
    Problem::new(instance, ProblemSpec { scope, ..ProblemSpec::of(instance) }).unwrap()
}

/// Gives each node some bytes, and accelerators room for so many.
pub fn limit_memory(instance: &mut Instance, limit: Option<f64>) {
    instance.nodes.iter_mut().enumerate().for_each(|(v, node)| node.memory = (v * 37 % 11 + 1) as f64);
    instance.platform.accelerators.iter_mut().for_each(|class| class.memory = limit);
}

/// All splits of the units over the devices, valid or not.
pub fn splits(setting: &Setting) -> impl Iterator<Item = Assignment> {
    let (count, devices) = (setting.unit_count() as u32, setting.device_count());
    (0..devices.pow(count)).map(move |number| Assignment {
        device_of: (0..count).map(|u| (number / devices.pow(u) % devices) as u32).collect(),
    })
}

/// All sets of so many units.
pub fn sets(count: usize) -> impl Iterator<Item = Vec<usize>> {
    (0..1u32 << count).map(move |bits| (0..count).filter(|u| bits >> u & 1 == 1).collect())
}
