//! What must hold of every reader of text or bytes from outside, whatever these are: no panic, and what is accepted is
//! valid and survives a round trip.
//!
//! The targets in `fuzz/` hand in what libFuzzer makes, `tests/fuzz_readers.rs` the committed corpus.

#![allow(dead_code, reason = "each target uses one of these")]

use std::path::Path;
use std::sync::LazyLock;

use dagsplit::formats::{
    Format, OutputFormat, Pass, PipeDreamOptions, ReadOptions, parse_instance, parse_split, write_instance, write_split,
};
use dagsplit::formats::{
    TopologyOptions, parse_mapping, parse_stages, parse_topology, write_mapping, write_stages, write_topology,
};
use dagsplit::generate::topology::GridShape;
use dagsplit::generate::{ModelFileOptions, read_fx_graph, read_onnx};
use dagsplit::instance::{Edge, Instance, Node, Platform, validate};
use dagsplit::internals::report::comparison::{Answer, Record};
use dagsplit::internals::report::lines::parse;
use dagsplit::mapping::{Counted, MappingProblem, Rate, StageCost, StageGraph, Topology};
use dagsplit::problem::{Objective, Problem, ProblemSpec, Scope};
use dagsplit::registry;
use dagsplit::solve::{Partitioner, Program};
use dagsplit::verify;

#[path = "../../src/cli/values.rs"]
mod values;

/// A reader by the name of its target and its corpus.
pub type Target = (&'static str, fn(&[u8]));

/// All of them.
pub const TARGETS: &[Target] = &[
    ("answer", answer),
    ("fx", fx),
    ("instance", instance),
    ("journal", journal),
    ("mapping", mapping),
    ("onnx", onnx),
    #[cfg(feature = "highs")]
    ("solution", solution),
    ("spec", spec),
    ("split", split),
    ("stages", stages),
    ("topology", topology),
];

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

static PROBLEM: LazyLock<Problem> =
    LazyLock::new(|| Problem::new(&INSTANCE, ProblemSpec::of(&INSTANCE)).expect("the instance is valid"));

/// Two stages in two copies each, on four devices.
static MAPPING: LazyLock<MappingProblem> = LazyLock::new(|| {
    let topology = "GB/s, a, b, c, d\na, , 10, 1, 1\nb, 10, , 1, 1\nc, 1, 1, , 10\nd, 1, 1, 10,";
    let stages = r#"{"schema": "dagsplit-stages/1", "units": {"time": "ms", "memory": "bytes"},
        "stages": [{"forward": 2, "parameter_bytes": 8}, {"forward": 3}],
        "messages": [{"source": 0, "target": 1, "bytes": 16}]}"#;
    MappingProblem {
        stages: parse_stages(stages).expect("the stages are valid"),
        replicas: 2,
        topology: parse_topology(topology, &TopologyOptions::default()).expect("the topology is valid"),
        cost: StageCost::additive(Counted::Both),
    }
});

/// The number that the first byte gives below `count`, and the text behind it.
fn choice(data: &[u8], count: usize) -> Option<(usize, &str)> {
    let (&first, text) = data.split_first()?;
    Some((usize::from(first) % count, std::str::from_utf8(text).ok()?))
}

/// Workloads. The first byte picks the format, or leaves it to be told from the content, and the pass of a profile.
pub fn instance(data: &[u8]) {
    const FORMATS: [Option<Format>; 5] =
        [None, Some(Format::Native), Some(Format::Tarnawski), Some(Format::PipeDream), Some(Format::Piper)];
    let Some((choice, text)) = choice(data, 2 * FORMATS.len() + 2) else { return };
    let training = PipeDreamOptions { pass: Pass::Training, keep_inputs: true, ..PipeDreamOptions::default() };
    let (format, pipedream) = match choice {
        0..5 => (FORMATS[choice], PipeDreamOptions::default()),
        5..10 => (FORMATS[choice - 5], training),
        10 => (Some(Format::CostGraph), PipeDreamOptions::default()),
        _ => (Some(Format::HyperDag), PipeDreamOptions::default()),
    };
    let options = ReadOptions { format, pipedream, ..ReadOptions::default() };
    let Ok(instance) = parse_instance(text, &options) else { return };
    assert_eq!(validate(&instance), Ok(()), "a reader accepted what is not valid");
    let native = write_instance(&instance, OutputFormat::Native).expect("valid instances can be written");
    assert_eq!(parse_instance(&native, &ReadOptions::default()).expect("what is written can be read"), instance);
    for format in [OutputFormat::Tarnawski, OutputFormat::Dot, OutputFormat::Metis, OutputFormat::Scotch] {
        // Some have no words for all of it.
        let _ = write_instance(&instance, format);
    }
}

/// Splits, and the verifier for each objective.
pub fn split(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let Ok(split) = parse_split(text, &INSTANCE) else { return };
    let again = parse_split(&write_split(&INSTANCE, &split), &INSTANCE);
    assert_eq!(again.expect("what is written can be read").devices.len(), split.devices.len());
    for objective in [Objective::Throughput, Objective::GPipe, Objective::Latency { subgraphs: 2 }] {
        let spec = ProblemSpec { objective, ..ProblemSpec::of(&INSTANCE) };
        // Whether the split is valid does not matter here.
        let _ = verify::check(&INSTANCE, &spec, &split);
    }
}

/// Topologies in all formats.
pub fn topology(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let options = TopologyOptions::default();
    let Ok(topology) = parse_topology(text, &options) else { return };
    assert_eq!(parse_topology(&write_topology(&topology), &options).expect("what is written can be read"), topology);
}

/// Stage graphs.
pub fn stages(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let Ok(stages) = parse_stages(text) else { return };
    assert_eq!(parse_stages(&write_stages(&stages)).expect("what is written can be read"), stages);
}

/// Mappings, and their verifier. Names are written as the stages and the topology have them.
pub fn mapping(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let Ok(claim) = parse_mapping(text) else { return };
    let written = write_mapping(&StageGraph::default(), &Topology::default(), &claim);
    let again = parse_mapping(&written).expect("what is written can be read");
    assert_eq!((&again.copies, again.objective), (&claim.copies, claim.objective));
    let _ = (claim.replicas(), verify::mapping::check(&MAPPING, &claim));
}

/// Journals of comparisons.
pub fn journal(data: &[u8]) {
    let path = Path::new("results.jsonl");
    let Ok(records) = parse::<Record>(path, data) else { return };
    let lines = records.iter().map(|record| serde_json::to_string(record).expect("records are plain data") + "\n");
    let again: Vec<Record> = parse(path, lines.collect::<String>().as_bytes()).expect("what is written can be read");
    assert_eq!(again, records);
    for record in &records {
        // The methods of a journal are those of another version, perhaps.
        let _ = registry::settings(&record.trial.method);
    }
}

/// Graphs that torch.fx drew. The first byte's last bit adds the backward pass, its others are the size of a dimension.
pub fn fx(data: &[u8]) {
    let Some((&first, bytes)) = data.split_first() else { return };
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let dimensions = [("s0".to_owned(), u64::from(first >> 1))].into();
    let training = first & 1 == 1;
    let named = ModelFileOptions { dimensions, training, ..ModelFileOptions::default() };
    for options in [named, ModelFileOptions { training, ..ModelFileOptions::default() }] {
        if let Ok(instance) = read_fx_graph(text, &options) {
            assert_eq!(validate(&instance), Ok(()), "a reader accepted what is not valid");
        }
    }
}

/// ONNX models. The first byte's last bit adds the backward pass, its others are the size of every named dimension.
pub fn onnx(data: &[u8]) {
    let Some((&first, bytes)) = data.split_first() else { return };
    let training = first & 1 == 1;
    let size = u64::from(first >> 1);
    // What is given in vain is refused.
    for names in [&["batch", "N"][..], &["batch"], &[]] {
        let dimensions = names.iter().map(|&name| (name.to_owned(), size)).collect();
        let options = ModelFileOptions { dimensions, training, ..ModelFileOptions::default() };
        if let Ok(instance) = read_onnx(bytes, &options) {
            assert_eq!(validate(&instance), Ok(()), "a reader accepted what is not valid");
        }
    }
}

/// Solution files of integer programs, and the verifier on what they hold.
#[cfg(feature = "highs")]
pub fn solution(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    if let Ok(split) = dagsplit::solve::read_solution(&PROBLEM, text) {
        let _ = verify::check(&INSTANCE, &PROBLEM.spec, &split);
    }
}

/// Spec strings, lists of them, and values of options. Nothing is solved: a spec string may name a program to be run.
pub fn spec(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    for spec in registry::split_list(text) {
        let Ok(solver) = registry::solver(&spec) else { continue };
        let steps = registry::settings(&spec).expect("what names a solver has settings");
        assert!(!steps.is_empty() && !solver.name().is_empty());
        let _ = solver.supports(&PROBLEM);
    }
    if let Ok(rate) = text.parse::<Rate>() {
        assert_eq!(rate.to_string().parse(), Ok(rate));
    }
    if let Ok(shape) = text.parse::<GridShape>() {
        assert_eq!(shape.to_string().parse(), Ok(shape));
    }
    let _ = (values::memory(text), values::bandwidth(text), values::whole_bytes(text), values::count::<usize>()(text));
    let _ = (values::dimension(text), values::seconds(text), values::number(0.0..=values::MOST)(text));
}

/// Answers of programs: the first byte picks the reader.
pub fn answer(data: &[u8]) {
    const PARTITIONERS: [Partitioner; 3] = [Partitioner::Scotch, Partitioner::Metis, Partitioner::Kahip];
    let Some((choice, text)) = choice(data, 2 + PARTITIONERS.len()) else { return };
    match choice {
        0 => {
            let _ = serde_json::from_str::<Answer>(text).map(Answer::into_ending);
        }
        1 => {
            let _ = Program::outcome(text, &INSTANCE, &Scope::Acyclic);
        }
        partitioner => {
            if let Ok(parts) = PARTITIONERS[partitioner - 2].parse(text, 4, 3) {
                assert!(parts.len() == 4 && parts.iter().all(|&part| part < 3));
            }
        }
    }
}
