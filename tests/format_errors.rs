//! What is wrong with a file or an instance is told all at once, with its place, its cause and its cure.

use dagsplit::formats::{Format, ReadOptions, parse_instance, read_instance};
use dagsplit::instance::{AcceleratorClass, Edge, Instance, Node, Platform, validate};

fn parse(text: &str) -> Result<Instance, String> {
    parse_instance(text, &ReadOptions::default()).map_err(|e| e.to_string())
}

#[test]
fn pipedream_problems_come_all_at_once_with_their_lines() {
    let text = "\
node1 -- A -- forward_compute_time=nan, backward_compute_time=1.0, activation_size=[1.0; x], parameter_size=-1
node1 -- B -- forward_compute_time=1.0, backward_compute_time=1.0, activation_size=1.0, parameter_size=1.0
node2 -- C -- forward_compute_time=1.0, activation_size=1.0, parameter_size=1e999
what is this
\tnode1 -- nodeX
";
    insta::assert_snapshot!(parse(text).unwrap_err(), @r#"
    8 problems found
      line 1, node 1: its forward_compute_time is "nan"; give a finite number that is at least 0, or a list of them such as [1.0; 2.0]
      line 1, node 1: its activation_size is "[1.0; x]"; give a finite number that is at least 0, or a list of them such as [1.0; 2.0]
      line 1, node 1: its parameter_size is "-1"; give a finite number that is at least 0, or a list of them such as [1.0; 2.0]
      line 2, node 1: line 1 describes this node, too; keep one of the two lines
      line 3, node 2: it has no backward_compute_time; add `backward_compute_time=…`
      line 3, node 2: its parameter_size is "1e999"; give a finite number that is at least 0, or a list of them such as [1.0; 2.0]
      line 4: "what is this" is neither a node nor an edge; write `node1 -- Name -- forward_compute_time=…, …` or `node1 -- node2`
      line 5: "node1 -- nodeX" is neither a node nor an edge; write `node1 -- Name -- forward_compute_time=…, …` or `node1 -- node2`
    "#);
}

#[test]
fn every_problem_of_an_instance_is_listed_at_once() {
    let node = Node::new;
    let bad = Instance {
        platform: Platform {
            accelerators: vec![AcceleratorClass { name: None, count: usize::MAX, memory: Some(f64::NAN), load: None }],
            cpus: 1,
            bandwidth: Some(0.0),
        },
        nodes: vec![
            Node { accelerator_times: vec![Some(f64::NAN)], name: Some("conv \u{1b}[31m".to_owned()), ..node(1) },
            Node { accelerator_times: vec![], ..node(2) },
            Node { accelerator_times: vec![None], cpu_time: None, ..node(3) },
            Node { transfer_time: f64::INFINITY, memory: -1.0, parameter_bytes: -0.5, ..node(4) },
            Node { backward: true, output_bytes: Some(f64::NEG_INFINITY), ..node(5) },
            node(1),
            Node { accelerator_times: vec![None], color_class: Some(9), ..node(6) },
            Node { cpu_time: None, color_class: Some(9), ..node(7) },
        ],
        edges: [(1, 2), (2, 3), (3, 1), (5, 4), (6, 6), (8, 9), (1, 8)]
            .map(|(source, target)| Edge { source, target })
            .to_vec(),
        ..Instance::default()
    };
    insta::assert_snapshot!(validate(&bad).unwrap_err(), @r#"
    18 problems found
      platform: it has more than 1000000 devices; correct the counts
      accelerator class 0: its memory is NaN; give a finite number of bytes that is at least 0
      platform: its bandwidth is 0; give a positive finite number of bytes per time unit, or leave it out
      node 1 ("conv \u{1b}[31m"): its time on accelerator class 0 is NaN; give a finite number of time units that is at least 0
      node 2: it has 0 accelerator times for 1 classes; give one time, or null, for each accelerator class of the platform
      node 3: no device can run it; give it a time on an accelerator class or on a CPU
      node 4: its memory is -1; give a finite number of bytes that is at least 0
      node 4: its transfer time is inf; give a finite number of time units that is at least 0
      node 4: its parameter size is -0.5; give a finite number of bytes that is at least 0
      node 5: its output size is -inf; give a finite number of bytes that is at least 0
      colour class 9: no kind of device can run all its nodes (6, 7); give its nodes a kind of device in common, or take them apart
      node 1: entries 1 and 6 of the node list have this id; give every node an id of its own
      edge 5 → 4: it leads from a backward node to a forward node; turn the edge, or correct the nodes' backward flags
      edge 6 → 6: a node cannot consume its own output; drop the edge
      edge 8 → 9: its source 8 is no node; add the node or drop the edge
      edge 8 → 9: its target 9 is no node; add the node or drop the edge
      edge 1 → 8: its target 8 is no node; add the node or drop the edge
      edges: they form the cycle 1 → 2 → 3 → 1; drop one of its edges
    "#);
    insta::assert_snapshot!(validate(&Instance::default()).unwrap_err(), @r"
    1 problem found
      nodes: there are none; list at least one node
    ");
}

#[test]
fn sums_that_overflow_and_floods_of_problems_are_bounded() {
    let huge = Node { memory: 1e308, ..Node::new(0) };
    let nodes = vec![huge.clone(), Node { id: 1, ..huge }];
    let platform = Platform::uniform(1, None, 0);
    let found = validate(&Instance { platform, nodes, ..Instance::default() }).unwrap_err();
    assert_eq!(
        found.to_string(),
        "1 problem found\n  nodes: their memory sizes add up to infinity; choose a larger unit"
    );
    let flood = Instance { nodes: vec![Node::new(0); 5000], ..Instance::default() };
    let found = validate(&flood).unwrap_err();
    assert_eq!((found.issues.len(), found.issues.len() + found.more), (100, 5000 + 4999));
}

#[test]
fn long_cycles_are_shown_by_their_ends() {
    let nodes: Vec<Node> = (0..100_000).map(Node::new).collect();
    let edges = (0..100_000).map(|v| Edge { source: v, target: (v + 1) % 100_000 }).collect();
    let instance = Instance { platform: Platform::uniform(1, None, 0), nodes, edges, ..Instance::default() };
    insta::assert_snapshot!(validate(&instance).unwrap_err(), @r"
    1 problem found
      edges: they form the cycle 0 → 1 → 2 → 3 → 4 → 5 → 6 → 7 → 8 → 9 → (99981 more) → 99991 → 99992 → 99993 → 99994 → 99995 → 99996 → 99997 → 99998 → 99999 → 0; drop one of its edges
    ");
}

#[test]
fn tarnawski_problems_come_all_at_once() {
    let text = r#"{"maxSizePerFPGA": 10, "maxFPGAs": 2, "maxCPUs": 1, "extra": [1],
      "nodes": [
        {"id": 1, "supportedOnFpga": 1, "cpuLatency": 1, "fpgaLatency": -1, "isBackwardNode": false, "colorClass": null, "size": 1, "x": 0},
        {"id": 2, "supportedOnFpga": 2, "cpuLatency": 1, "fpgaLatency": 1, "size": 1},
        {"id": 3, "supportedOnFpga": true, "cpuLatency": "fast", "fpgaLatency": 1, "size": 1},
        {"supportedOnFpga": true, "cpuLatency": 1, "fpgaLatency": 1, "size": 1},
        {"id": 4, "supportedOnFpga": 0, "cpuLatency": 1, "fpgaLatency": 1, "isBackwardNode": 1, "size": 1}
      ],
      "edges": [
        {"sourceId": 1, "destId": 2, "cost": 0.5}, {"sourceId": 1, "destId": 4, "cost": 0.75, "size": 3},
        {"sourceId": 1, "destId": 4}, 7
      ]}"#;
    insta::assert_snapshot!(parse(text).unwrap_err(), @r#"
    7 problems found
      nodes[1] (id 2): expected 0, 1, false or true, found 2; write it as docs/format.md states
      nodes[2] (id 3): invalid type: string "fast", expected f64; write it as docs/format.md states
      nodes[3]: missing field `id`; write it as docs/format.md states
      edges[2]: missing field `cost`; write it as docs/format.md states
      edges[3]: expected an object, found 7; write it as docs/format.md states
      node 1: its edge to node 2 costs 0.5 and its edge to node 4 costs 0.75; give all edges that leave a node the same cost: its output moves once per device
      node 1: its time on accelerator class 0 is -1; give a finite number of time units that is at least 0
    "#);
}

#[test]
fn what_is_no_workload_is_told_so() {
    let deep = format!("{{\"nodes\": {}", "[".repeat(100_000));
    let rest = r#""platform": {"accelerators": [], "cpus": 1}, "edges": [], "schema": "dagsplit-instance/1""#;
    let balanced = format!("{deep}{}, {rest}}}", "]".repeat(100_000));
    let texts = [
        "",
        "hello",
        "[1, 2]",
        "{}",
        "{\"schema\": \"dagsplit-instance/2\", \"tensors\": []}",
        "{\"schema\": 1}",
        "{\"schema\": \"dagsplit-instance/1\", \"nodes\": [{\"id\": NaN}]}",
        "{\"schema\": \"dagsplit-instance/1\", \"nodes\": [{\"id\": -Infinity}]}",
        "{\"schema\": \"dagsplit-instance/1\", \"platform\": {\"accelerators\": [], \"cpus\": 1}, \"nodes\": [{\"id\": 1e999}], \"edges\": []}",
        "{\"schema\": \"dagsplit-instance/1\", \"units\": {\"time\": \"s\", \"memory\": \"bytes\"}, \"platform\": {\"accelerators\": [], \"cpus\": 1}, \"nodes\": [{\"id\": 1, \"accelerator_times\": [], \"cpu_time\": 1, \"colour\": 3}], \"edges\": []}",
        deep.as_str(),
        balanced.as_str(),
    ];
    let errors: Vec<String> = texts.iter().map(|text| parse(text).unwrap_err()).collect();
    insta::assert_snapshot!(errors.join("\n---\n"), @r#"
    this is no known workload format: JSON begins with `{`, a PipeDream profile has lines such as `node1 -- node2`, a cost graph begins with `node {` and a HyperDAG file with three counts
    ---
    this is no known workload format: JSON begins with `{`, a PipeDream profile has lines such as `node1 -- node2`, a cost graph begins with `node {` and a HyperDAG file with three counts
    ---
    this is no known workload format: JSON begins with `{`, a PipeDream profile has lines such as `node1 -- node2`, a cost graph begins with `node {` and a HyperDAG file with three counts
    ---
    this is no known workload format: the JSON has neither `schema` (dagsplit) nor `maxFPGAs` (Tarnawski) nor `maxDevices` (Piper)
    ---
    the schema is "dagsplit-instance/2"; this program reads "dagsplit-instance/1"
    ---
    invalid type: integer `1`, expected a string at line 1 column 12
    ---
    expected value at line 1 column 52; NaN and Infinity are not JSON: write a finite number, or null where the format allows it
    ---
    invalid number at line 1 column 53; NaN and Infinity are not JSON: write a finite number, or null where the format allows it
    ---
    1 problem found
      nodes[0]: number out of range; write it as docs/format.md states
    ---
    2 problems found
      units: time is in "s" and memory in "bytes"; convert times to "ms" and memory to "bytes"
      nodes[0] (id 1): unknown field `colour`, expected one of `id`, `name`, `accelerator_times`, `cpu_time`, `memory`, `transfer_time`, `output_bytes`, `parameter_bytes`, `backward`, `color_class`, `layer`, `time_spread`; write it as docs/format.md states
    ---
    EOF while parsing a list at line 1 column 100010
    ---
    1 problem found
      nodes[0]: recursion limit exceeded; write it as docs/format.md states
    "#);
    let options = ReadOptions { format: Some(Format::PipeDream), transfer_scale: -1.0, ..ReadOptions::default() };
    insta::assert_snapshot!(parse_instance("{}", &options).unwrap_err(), @r#"
    2 problems found
      line 1: "{}" is neither a node nor an edge; write `node1 -- Name -- forward_compute_time=…, …` or `node1 -- node2`
      transfer scale: it is -1; give a finite number that is at least 0
    "#);
}

#[test]
fn file_errors_name_the_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("bad.json");
    let message = |path| read_instance(path, &ReadOptions::default()).unwrap_err().to_string();
    assert!(message(&path).contains("bad.json: "));
    std::fs::write(&path, b"{\"a\": \"\xff\"}").unwrap();
    assert!(message(&path).ends_with("bad.json: byte 7 is not UTF-8; save the file as UTF-8 text"));
    std::fs::File::create(&path).unwrap().set_len(1 << 32).unwrap();
    assert!(message(&path).ends_with("bad.json: the file holds 4294967296 bytes; at most 536870912 are read"));
    assert!(message(folder.path()).contains("directory"));
}
