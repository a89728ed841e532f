//! Mapping problems for property tests.

#![allow(dead_code, reason = "each test file uses some of these")]

use dagsplit::cost::{Piece, Synchronisation};
use dagsplit::mapping::{Counted, Device, MappingProblem, Message, Stage, StageCost, StageGraph, Topology};
use proptest::prelude::*;
use proptest::sample::select;

/// What links look like.
#[derive(Debug, Clone, Copy)]
enum Links {
    /// One bandwidth: devices differ in themselves alone.
    Equal,
    /// Few bandwidths, equal in both directions: many symmetries.
    Even,
    /// Nodes of equal devices.
    Nodes(usize),
    /// Each direction for itself, with latencies.
    Wild,
}

/// Even, in nodes, or wild, of one kind of device or several.
fn topology(devices: usize) -> impl Strategy<Value = Topology> {
    let links =
        prop_oneof![Just(Links::Equal), Just(Links::Even), (2..4usize).prop_map(Links::Nodes), Just(Links::Wild)];
    let figures = proptest::collection::vec(0..5usize, devices * devices);
    let device = (prop_oneof![3 => Just(1.0), 1 => Just(2.0)], prop_oneof![3 => Just(None), 1 => Just(Some(4.0))]);
    let kinds = proptest::collection::vec(device, devices);
    (links, figures, kinds, any::<bool>()).prop_map(move |(links, figures, kinds, is_plain)| {
        let device = |(index, (speed, memory)): (usize, (f64, Option<f64>))| match is_plain {
            true => Device::new(index.to_string()),
            false => Device { name: index.to_string(), speed, memory },
        };
        let figure = |a: usize, b: usize| figures[a * devices + b];
        let bandwidth = |a: usize, b: usize| match links {
            Links::Equal => 2.0,
            Links::Even => [1.0, 1.0, 2.0, 2.0, 4.0][figure(a.min(b), a.max(b))],
            Links::Nodes(size) if a / size == b / size => [8.0, 4.0][figure(0, a / size) % 2],
            Links::Nodes(_) => 1.0,
            Links::Wild => [1.0, 2.0, 3.0, 4.0, 5.0][figure(a, b)],
        };
        let latency = |a: usize, b: usize| match links {
            Links::Wild => figure(b, a) as f64,
            Links::Equal | Links::Even | Links::Nodes(_) => 0.0,
        };
        let devices = kinds.into_iter().enumerate().map(device).collect();
        Topology::new("generated", "proptest", devices, bandwidth).with_latency(latency)
    })
}

/// Stages of small whole figures and messages between any of them.
fn stages(count: usize) -> impl Strategy<Value = StageGraph> {
    let stage = (1..10u8, 0..5u8, 0..20u8, 0..6u8).prop_map(|(forward, backward, parameter_bytes, memory)| Stage {
        name: String::new(),
        forward: forward.into(),
        backward: backward.into(),
        parameter_bytes: parameter_bytes.into(),
        memory: memory.into(),
        lasting_bytes: None,
        working_bytes: 0.0,
    });
    let bytes = proptest::collection::vec(prop_oneof![1 => Just(0u8), 1 => 1..20u8], count * count);
    (proptest::collection::vec(stage, count), bytes).prop_map(move |(stages, bytes)| {
        let pairs = (0..count * count).map(|pair| (pair / count, pair % count)).filter(|(a, b)| a != b);
        let message =
            |(source, target): (usize, usize)| Message { source, target, bytes: bytes[source * count + target].into() };
        StageGraph { name: "generated".into(), stages, messages: pairs.map(message).collect() }
    })
}

/// What counts, added or overlapped.
fn cost() -> impl Strategy<Value = StageCost> {
    let additive = vec![Piece::new(1.0, 1.0, 1.0)];
    let overlapped = vec![Piece::new(1.0, 0.0, 0.0), Piece::new(0.0, 1.0, 0.0), Piece::new(0.0, 0.5, 2.0)];
    let counted = select(vec![Counted::Messages, Counted::AllReduce, Counted::Both]);
    let synchronisation = select(vec![Synchronisation::Added, Synchronisation::Overlapped]);
    (counted, select(vec![additive, overlapped]), synchronisation)
        .prop_map(|(counted, pieces, synchronisation)| StageCost { counted, pieces, synchronisation })
}

/// A problem of at most so many devices.
pub fn problem(most_devices: usize) -> impl Strategy<Value = MappingProblem> {
    let sizes: Vec<(usize, usize)> =
        (1..=most_devices).flat_map(|s| (1..=most_devices / s).map(move |r| (s, r))).collect();
    (select(sizes), 0..2usize).prop_flat_map(move |((count, replicas), spare)| {
        let devices = (count * replicas + spare).min(most_devices);
        (stages(count), topology(devices), cost()).prop_map(move |(stages, topology, cost)| MappingProblem {
            stages,
            replicas,
            topology,
            cost,
        })
    })
}

/// Problems as above, of which two in three have figures that nearly tie, by parts in 10³ or in 10⁹.
pub fn any_problem(most_devices: usize) -> impl Strategy<Value = MappingProblem> {
    (problem(most_devices), select(vec![0.0, 1e-3, 1e-9])).prop_map(|(mut problem, step)| {
        for (i, stage) in problem.stages.stages.iter_mut().enumerate() {
            stage.forward += step * i as f64;
            stage.backward += step * (i * i) as f64;
        }
        for (i, message) in problem.stages.messages.iter_mut().enumerate() {
            message.bytes += step * (i * 7 % 5) as f64;
        }
        problem
    })
}
