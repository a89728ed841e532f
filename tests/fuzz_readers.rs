//! No input makes a reader panic, and whatever one accepts is valid and survives a round trip.

mod readers;
mod workloads;

use std::path::Path;
use std::sync::LazyLock;

use dagsplit::formats::{
    Format, OutputFormat, Pass, PipeDreamOptions, ReadOptions, parse_instance, parse_split, write_instance, write_split,
};
use dagsplit::instance::{AcceleratorClass, Edge, Instance, Node, Platform, validate};
use proptest::prelude::*;

const NATIVE: &str = r#"{
  "schema": "dagsplit-instance/1",
  "units": {"time": "ms", "memory": "bytes"},
  "metadata": {"name": "n", "provenance": "profiled"},
  "platform": {"accelerators": [{"name": "a", "count": 2, "memory": 64}, {"count": 1}], "cpus": 1, "bandwidth": 8},
  "nodes": [
    {"id": 1, "name": "x", "accelerator_times": [1, null], "cpu_time": 10, "memory": 4, "transfer_time": 2},
    {"id": 2, "accelerator_times": [3, 2], "output_bytes": 16, "parameter_bytes": 8, "color_class": 1, "layer": 0},
    {"id": 3, "accelerator_times": [3, 2], "backward": true, "color_class": 1}
  ],
  "edges": [
    {"source": 1, "target": 2},
    {"source": 2, "target": 3}
  ]
}"#;

const TARNAWSKI: &str = r#"{"maxSizePerFPGA": 64.0, "maxFPGAs": 2, "maxCPUs": 1, "nodes": [
  {"name": "a", "id": 1, "supportedOnFpga": 1, "cpuLatency": 10.0, "fpgaLatency": 1.0, "isBackwardNode": 0, "size": 4.0},
  {"id": 2, "supportedOnFpga": true, "cpuLatency": 1, "fpgaLatency": 1, "isBackwardNode": false, "colorClass": 1, "size": 4},
  {"id": 3, "supportedOnFpga": 0, "cpuLatency": 1, "fpgaLatency": 0, "isBackwardNode": 1, "colorClass": null, "layerId": 7, "size": 0}
], "edges": [
  {"sourceId": 1, "destId": 2, "cost": 0.5, "size": 2.0},
  {"sourceId": 1, "destId": 3, "cost": 0.5, "size": 2.0}
]}"#;

const PIPEDREAM: &str = "\
node1 -- Input0 -- forward_compute_time=9.000, backward_compute_time=0.000, activation_size=8.0, parameter_size=0.000
node2 -- LSTM(4, 4) -- forward_compute_time=2.000, backward_compute_time=3.000, activation_size=[6.0; 1.0; 1.0], parameter_size=2.000 -- stage_id=0
node3 -- __getitem__(1) -- forward_compute_time=0.000, backward_compute_time=0.000, activation_size=1.0, parameter_size=0.000
node5 -- Linear -- forward_compute_time=1.000, backward_compute_time=2.000, activation_size=4.0, parameter_size=3.000
\tnode1 -- node2
\tnode2 -- node3
    node2 -- node5
";

const PIPER: &str = r#"{"maxDevices": 4, "maxMemoryPerDevice": 100.0, "bandwidth": 4000.0, "mbsInBatch": 8, "nodes": [
  {"id": 0, "name": "e", "TMPCs": {"1": [
    {"id": "vanilla", "timePerSample": 0.5, "parameterSize": 3.0, "memoryUsageA": 5.0, "memoryUsageB": 6.0}]}},
  {"id": 1, "TMPCs": {"1": [
    {"id": "vanilla", "timePerSample": 1.0, "parameterSize": 0.0, "memoryUsageA": 1.0, "memoryUsageB": 0.0}]}}
], "edges": [
  {"sourceId": 0, "destId": 1, "communicationCost": 8.0}
]}"#;

const COST_GRAPH: &str = r#"# a graph
node { name: "_SOURCE" }
node { name: "a" id: 1 output_info { size: 70 alias_input_port: -1 shape { dim { size: 7 } } } control_input: 0 compute_cost: 58 }
node <
  name: "b", id: 2; temporary_memory_size: 8
  input_info { preceding_node: 1 preceding_port: 0 }
  output_info { size: 52 }
  control_input: [0, 1] compute_cost: 47 is_final: true
>
"#;

const HYPERDAG: &str = "\
%% a header
% HyperDAG file format v1
2 3 5
0 4
1 2 % moved twice
0 10 64
1 30
2 20
0 0
0 1
0 2
1 1
1 2
";

const SPLIT: &str = r#"{"maxLoad": 3.5, "cpus": [{"load": 0.0, "nodes": [1]}], "fpgas": [
  {"load": -1, "nodes": [2]},
  {"load": -1, "class": 1, "replicas": 2, "server": 0, "nodes": []}
]}"#;

/// The files to mutate: one of each format, and small published ones where they are at hand.
static FILES: LazyLock<Vec<String>> = LazyLock::new(|| {
    let published = ["tarnawski2020/latency/layer/bert24_inference.json", "pipedream2019/gnmt.txt"];
    let own = [NATIVE, TARNAWSKI, PIPEDREAM, PIPER, COST_GRAPH, HYPERDAG].map(str::to_owned);
    let found = published.iter().filter_map(|path| workloads::find(path));
    own.into_iter().chain(found.map(|path| std::fs::read_to_string(path).unwrap())).collect()
});

/// What numbers and other words are replaced by.
const WORDS: [&str; 19] = [
    "NaN",
    "-1",
    "0",
    "1",
    "2",
    "3",
    "1e999",
    "1e308",
    "-0.0",
    "4.5e-320",
    "18446744073709551615",
    "18446744073709551616",
    "null",
    "true",
    "\"x\"",
    "[]",
    "{}",
    "[1.0; 2.0]",
    "",
];

/// One change to a file; positions are fractions of its length.
#[derive(Debug, Clone)]
enum Mutation {
    SetByte(f64, u8),
    Truncate(f64),
    DuplicateLine(f64),
    DropLine(f64),
    SwapLines(f64, f64),
    ReplaceNumber(f64, &'static str),
    Nest(f64, usize),
}

fn mutation() -> impl Strategy<Value = Mutation> {
    let at = || 0.0..1.0;
    prop_oneof![
        1 => (at(), any::<u8>()).prop_map(|(p, byte)| Mutation::SetByte(p, byte)),
        1 => at().prop_map(Mutation::Truncate),
        1 => at().prop_map(Mutation::DuplicateLine),
        1 => at().prop_map(Mutation::DropLine),
        1 => (at(), at()).prop_map(|(p, q)| Mutation::SwapLines(p, q)),
        6 => (at(), prop::sample::select(WORDS.to_vec())).prop_map(|(p, word)| Mutation::ReplaceNumber(p, word)),
        1 => (at(), 1_usize..100_000).prop_map(|(p, depth)| Mutation::Nest(p, depth)),
    ]
}

impl Mutation {
    fn apply(&self, text: &mut Vec<u8>) {
        let at = |p: f64, length: usize| (p * length as f64) as usize;
        let mut lines: Vec<Vec<u8>> = text.split(|&b| b == b'\n').map(<[u8]>::to_vec).collect();
        match *self {
            _ if text.is_empty() => {}
            Mutation::SetByte(p, byte) => {
                let i = at(p, text.len());
                text[i] = byte;
            }
            Mutation::Truncate(p) => text.truncate(at(p, text.len())),
            Mutation::DuplicateLine(p) => {
                let i = at(p, lines.len());
                lines.insert(i, lines[i].clone());
                *text = lines.join(&b'\n');
            }
            Mutation::DropLine(p) => {
                lines.remove(at(p, lines.len()));
                *text = lines.join(&b'\n');
            }
            Mutation::SwapLines(p, q) => {
                let (i, j) = (at(p, lines.len()), at(q, lines.len()));
                lines.swap(i, j);
                *text = lines.join(&b'\n');
            }
            Mutation::ReplaceNumber(p, word) => {
                let is_digit = |b: &u8| b.is_ascii_digit() || *b == b'.';
                let from = at(p, text.len());
                if let Some(start) = text[from..].iter().position(is_digit).map(|i| from + i) {
                    let length = text[start..].iter().take_while(|b| is_digit(b)).count();
                    text.splice(start..start + length, word.bytes());
                }
            }
            Mutation::Nest(p, depth) => {
                let i = at(p, text.len());
                text.splice(i..i, b"[".repeat(depth));
            }
        }
    }
}

fn mutated(files: &'static [String]) -> impl Strategy<Value = String> {
    (0..files.len(), prop::collection::vec(mutation(), 0..5)).prop_map(|(file, mutations)| {
        let mut text = files[file].clone().into_bytes();
        mutations.iter().for_each(|mutation| mutation.apply(&mut text));
        String::from_utf8_lossy(&text).into_owned()
    })
}

/// Reads `text` and asserts what must hold of whatever is accepted. Returns whether it was.
fn read(text: &str, options: &ReadOptions) -> bool {
    let Ok(instance) = parse_instance(text, options) else { return false };
    assert_eq!(validate(&instance), Ok(()));
    let native = write_instance(&instance, OutputFormat::Native).unwrap();
    assert_eq!(parse_instance(&native, &ReadOptions::default()).unwrap(), instance);
    for format in [OutputFormat::Tarnawski, OutputFormat::Dot, OutputFormat::Metis, OutputFormat::Scotch] {
        let _ = write_instance(&instance, format);
    }
    true
}

fn training(format: Option<Format>) -> ReadOptions {
    let pipedream = PipeDreamOptions { pass: Pass::Training, keep_inputs: true, ..PipeDreamOptions::default() };
    ReadOptions { format, pipedream, ..ReadOptions::default() }
}

#[test]
fn unchanged_files_are_accepted() {
    assert!(FILES.iter().all(|text| read(text, &ReadOptions::default())));
    let have_passes = FILES.iter().filter(|text| ![COST_GRAPH, HYPERDAG].contains(&text.as_str()));
    assert!(have_passes.into_iter().all(|text| read(text, &training(None))));
}

/// What libFuzzer found for each reader; see `fuzz/README.md`. The crate's package has no such folder.
#[test]
fn the_corpus_holds() {
    let fuzz = Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz");
    if !fuzz.is_dir() {
        return eprintln!("SKIPPED: there is no {}", fuzz.display());
    }
    let corpus = fuzz.join("corpus");
    for (name, target) in readers::TARGETS {
        let files: Vec<_> = std::fs::read_dir(corpus.join(name)).unwrap().map(|file| file.unwrap().path()).collect();
        assert!(!files.is_empty(), "{name} has no corpus");
        for file in files {
            let data = std::fs::read(&file).unwrap();
            let ended = std::panic::catch_unwind(|| target(&data));
            assert!(ended.is_ok(), "{name} panics on {}", file.display());
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn mutated_files_are_refused_or_valid(text in mutated(&FILES)) {
        read(&text, &ReadOptions::default());
        for format in [Format::Native, Format::Tarnawski, Format::PipeDream, Format::Piper] {
            read(&text, &training(Some(format)));
        }
        for format in [Format::CostGraph, Format::HyperDag] {
            read(&text, &ReadOptions { format: Some(format), ..ReadOptions::default() });
        }
    }

    #[test]
    fn mutated_splits_never_panic(mutations in prop::collection::vec(mutation(), 0..4)) {
        let instance = parse_instance(NATIVE, &ReadOptions::default()).unwrap();
        let mut text = SPLIT.as_bytes().to_vec();
        mutations.iter().for_each(|mutation| mutation.apply(&mut text));
        if let Ok(split) = parse_split(&String::from_utf8_lossy(&text), &instance) {
            prop_assert!(parse_split(&write_split(&instance, &split), &instance).is_ok());
        }
    }

    #[test]
    fn any_instance_is_refused_or_round_trips(instance in any_instance()) {
        match write_instance(&instance, OutputFormat::Native) {
            Ok(text) => prop_assert_eq!(parse_instance(&text, &ReadOptions::default()).unwrap(), instance),
            Err(_) => prop_assert!(validate(&instance).is_err()),
        }
    }
}

/// Mostly tame numbers, now and then one that breaks things.
fn amount() -> impl Strategy<Value = f64> {
    prop_oneof![60 => (0_u32..9).prop_map(f64::from), 8 => 0.0..1e9, 1 => any::<f64>(), 1 => Just(1e308)]
}

fn any_node() -> impl Strategy<Value = Node> {
    let time = || prop::option::weighted(0.9, amount());
    let costs = (prop::collection::vec(time(), 2..=2), time(), amount(), amount(), amount());
    let marks = (0_u64..40, prop::option::of(".{0,5}"), any::<bool>(), prop::option::weighted(0.3, 0_u64..4));
    (costs, marks).prop_map(|((times, cpu_time, memory, transfer_time, parameter_bytes), (id, name, back, class))| {
        Node {
            name,
            accelerator_times: times,
            cpu_time,
            memory,
            transfer_time,
            parameter_bytes,
            backward: back && id > 20,
            color_class: class,
            ..Node::new(id)
        }
    })
}

prop_compose! {
    fn any_instance()(
        mut nodes in prop::collection::vec(any_node(), 0..8),
        ends in prop::collection::vec((0_u64..42, 0_u64..42), 0..6),
        any_edges in prop::bool::weighted(0.1),
        memory in prop::option::of(amount()),
        count in prop_oneof![0_usize..5, any::<usize>()],
    ) -> Instance {
        let class = AcceleratorClass { name: None, count, memory, load: None };
        if !any_edges {
            nodes.sort_by_key(|node| node.id);
            nodes.dedup_by_key(|node| node.id);
        }
        // Edges along ids between known nodes make a valid instance; any others are there to be refused.
        let known = |id: u64| nodes.iter().any(|node| node.id == id);
        let ends = ends.into_iter().filter(|&(u, v)| any_edges || (u < v && known(u) && known(v)));
        Instance {
            platform: Platform { accelerators: vec![class.clone(), class], cpus: 1, bandwidth: None },
            edges: ends.map(|(source, target)| Edge { source, target }).collect(),
            nodes,
            ..Instance::default()
        }
    }
}
