//! No text makes the reader of splits or the verifier panic.

#![no_main]

use std::sync::LazyLock;

use dagsplit::instance::formats::parse_split;
use dagsplit::instance::{Edge, Instance, Node, Platform};
use dagsplit::problem::{Objective, ProblemSpec};
use dagsplit::verify::check;
use libfuzzer_sys::fuzz_target;

/// A forward chain of three nodes and its backward mirror, for two accelerators and a CPU.
static INSTANCE: LazyLock<Instance> = LazyLock::new(|| {
    let node = |id: u64| Node {
        accelerator_times: vec![Some(1.0)],
        cpu_time: Some(5.0),
        backward: id >= 3,
        color_class: Some(id.min(5 - id)),
        ..Node::new(id)
    };
    Instance {
        platform: Platform::uniform(2, None, 1),
        nodes: (0..6).map(node).collect(),
        edges: (0..5).map(|id| Edge { source: id, target: id + 1 }).collect(),
        ..Instance::default()
    }
});

fuzz_target!(|text: &str| {
    let Ok(solution) = parse_split(text, &INSTANCE) else { return };
    for objective in [Objective::Throughput, Objective::GPipe, Objective::Latency { subgraphs: 2 }] {
        let spec = ProblemSpec { objective, ..ProblemSpec::of(&INSTANCE) };
        // Whether the split is valid does not matter here.
        let _ = check(&INSTANCE, &spec, &solution);
    }
});
