//! Formats: round trips, the published workloads, splits, and the JSON Schema.

mod workloads;

use dagsplit::formats::{
    OutputFormat, Pass, PipeDreamOptions, PiperOptions, ReadOptions, content_hash, parse_instance, parse_split,
    read_instance, read_split, write_atomically, write_instance, write_split,
};
use dagsplit::instance::{
    AcceleratorClass, Edge, EdgeBytes, Instance, Metadata, Node, NodeOption, Parallelism, Platform, Provenance,
    Setting, TimeUnit,
};
use dagsplit::problem::{DeviceAssignment, DeviceKind, Solution};

/// Every field of the native format at work.
fn everything() -> Instance {
    let node = |id, accelerator_times, cpu_time| Node { accelerator_times, cpu_time, ..Node::new(id) };
    Instance {
        metadata: Metadata {
            name: Some("everything".to_owned()),
            model: Some("toy \"net\", batch 8\n".to_owned()),
            device: Some("V100".to_owned()),
            source: Some("a test".to_owned()),
            provenance: Some(Provenance::Modelled),
            software: Some("a program 1.0".to_owned()),
            date: Some("2026-11-22".to_owned()),
            settings: [
                ("batch".to_owned(), Setting::Number(8.0)),
                ("compiled".to_owned(), Setting::Flag(false)),
                ("dtype".to_owned(), Setting::Text("float16".to_owned())),
            ]
            .into(),
        },
        platform: Platform {
            accelerators: vec![
                AcceleratorClass { name: Some("V100".to_owned()), count: 2, memory: Some(1024.0), load: None },
                AcceleratorClass { name: None, count: 1, memory: None, load: None },
            ],
            cpus: 1,
            bandwidth: Some(1e6),
        },
        nodes: vec![
            Node {
                name: Some("é→conv".to_owned()),
                memory: 100.0,
                transfer_time: 0.1,
                output_bytes: Some(64.0),
                parameter_bytes: 36.0,
                color_class: Some(7),
                layer: Some(3),
                time_spread: Some(0.125),
                ..node(u64::MAX, vec![Some(1.0 / 3.0), None], Some(5.0))
            },
            node(0, vec![None, Some(2.0)], None),
            Node { backward: true, color_class: Some(7), ..node(12, vec![Some(4.0), Some(1e-300)], None) },
        ],
        edges: vec![
            Edge { source: u64::MAX, target: 0 },
            Edge { source: 0, target: 12 },
            Edge { source: 0, target: 12 },
        ],
        ..Instance::default()
    }
}

/// Two nodes with options, and every field of these at work.
fn with_options() -> Instance {
    let option = |node, tensor_degree, name: &str| NodeOption {
        node,
        tensor_degree,
        class: (tensor_degree > 1).then_some(0),
        name: name.to_owned(),
        time: 0.1 * tensor_degree as f64,
        parameter_bytes: 8.0,
        memory_per_microbatch: 2.5,
        memory: 32.0,
        weight_bytes: 1.0,
        gradient_bytes: 2.0,
        optimizer_bytes: 3.0,
        working_bytes: 4.0,
        cache_bytes_per_token: 0.5,
        sync_in: if node == 1 { [(0, 4.0)].into() } else { Default::default() },
        sync_out: if node == 0 { [(1, 1.0)].into() } else { Default::default() },
    };
    Instance {
        platform: Platform::uniform(4, Some(1024.0), 0),
        nodes: vec![Node::new(0), Node::new(1)],
        edges: vec![Edge { source: 0, target: 1 }],
        parallelism: Some(Parallelism {
            time: TimeUnit::Seconds,
            bandwidth: 1e9,
            options: vec![option(0, 1, "vanilla"), option(0, 2, "recompute"), option(1, 1, "vanilla")],
            edges: vec![EdgeBytes { source: 0, target: 1, bytes: 64.0 }],
        }),
        ..Instance::default()
    }
}

/// What the Tarnawski format can say: a training graph with an unsupported node.
fn tarnawski() -> Instance {
    let node = |id| Node { memory: 8.0, accelerator_times: vec![Some(2.0)], cpu_time: Some(20.0), ..Node::new(id) };
    Instance {
        platform: Platform::uniform(3, Some(32.0), 2),
        nodes: vec![
            Node { transfer_time: 1.5, output_bytes: Some(4.0), color_class: Some(1), ..node(4) },
            Node { accelerator_times: vec![None], layer: Some(2), name: Some("embed".to_owned()), ..node(9) },
            Node { backward: true, color_class: Some(1), ..node(2) },
        ],
        edges: vec![Edge { source: 4, target: 9 }, Edge { source: 4, target: 2 }],
        ..Instance::default()
    }
}

fn parse(text: &str) -> Result<Instance, String> {
    parse_instance(text, &ReadOptions::default()).map_err(|e| e.to_string())
}

fn write(instance: &Instance, format: OutputFormat) -> String {
    write_instance(instance, format).unwrap_or_else(|e| panic!("{e}"))
}

#[test]
fn native_round_trip_keeps_everything() {
    for instance in [everything(), with_options(), tarnawski()] {
        assert_eq!(parse(&write(&instance, OutputFormat::Native)), Ok(instance));
    }
}

#[test]
fn tarnawski_round_trip_keeps_what_the_format_can_say() {
    let instance = tarnawski();
    assert_eq!(parse(&write(&instance, OutputFormat::Tarnawski)), Ok(instance));
}

#[test]
fn published_workloads_survive_round_trips() {
    let training = PipeDreamOptions { pass: Pass::Training, ..PipeDreamOptions::default() };
    for path in workloads::all_workloads() {
        for pipedream in [PipeDreamOptions::default(), training.clone()] {
            let options = ReadOptions { pipedream, ..ReadOptions::default() };
            let instance = read_instance(&path, &options).unwrap_or_else(|e| panic!("{e}"));
            assert_eq!(parse(&write(&instance, OutputFormat::Native)).as_ref(), Ok(&instance), "{}", path.display());
            if instance.platform.cpus > 0 {
                let back = parse(&write(&instance, OutputFormat::Tarnawski)).unwrap();
                let metadata = Metadata::default();
                assert_eq!(costs(back), costs(Instance { metadata, ..instance }), "{}", path.display());
            }
        }
    }
}

/// The instance without what the Tarnawski format cannot say and what costs nothing: sinks' outputs.
fn costs(mut instance: Instance) -> Instance {
    let sources: std::collections::HashSet<u64> = instance.edges.iter().map(|e| e.source).collect();
    for node in &mut instance.nodes {
        node.parameter_bytes = 0.0;
        if !sources.contains(&node.id) {
            (node.transfer_time, node.output_bytes) = (0.0, None);
        }
    }
    instance.platform.bandwidth = None;
    instance
}

#[test]
fn pipedream_profiles_reproduce_the_published_layer_graphs() {
    let published = [
        ("pipedream2019/resnet50.txt", "tarnawski2020/throughput/layer/resnet50_training.json", Pass::Training),
        ("pipedream2019/resnet50.txt", "tarnawski2020/throughput/layer/resnet50_inference.json", Pass::Inference),
        (
            "pipedream2019/inception_v3.txt",
            "tarnawski2020/throughput/layer/inceptionv3_inference.json",
            Pass::Inference,
        ),
    ];
    for (profile, graph, pass) in published {
        let (Some(profile), Some(graph)) = (workloads::find(profile), workloads::find(graph)) else { continue };
        let mut expected = read_instance(&graph, &ReadOptions::default()).unwrap();
        if graph.ends_with("inceptionv3_inference.json") {
            // The published graph has one edge that the profile has not.
            expected.edges.retain(|e| (e.source, e.target) != (239, 258));
            assert_eq!(expected.edges.len(), 362);
        }
        let options = ReadOptions {
            pipedream: PipeDreamOptions {
                memory: expected.platform.accelerators[0].memory,
                bandwidth: 1000.0 * (1_u64 << 31) as f64,
                pass,
                keep_inputs: true,
                ..PipeDreamOptions::default()
            },
            ..ReadOptions::default()
        };
        let converted = read_instance(&profile, &options).unwrap();
        assert_eq!(comparable(converted), comparable(expected), "{}", graph.display());
    }
}

/// The instance without the documented differences: published names are ids, published inference graphs give
/// each node a colour class of its own, and published sizes of backward edges are their consumer's.
fn comparable(instance: Instance) -> Instance {
    let mut instance = costs(Instance { metadata: Metadata::default(), ..instance });
    let training = instance.nodes.iter().any(|node| node.backward);
    for node in &mut instance.nodes {
        node.name = None;
        node.color_class = node.color_class.filter(|_| training);
        node.output_bytes = node.output_bytes.filter(|_| !training);
    }
    instance
}

#[test]
fn the_published_unit_slip_is_cured_by_a_scale() {
    for network in ["bert24", "resnet50"] {
        let file = |kind| format!("tarnawski2020/{kind}/layer/{network}_inference.json");
        let (Some(slipped), Some(right)) = (workloads::find(&file("throughput")), workloads::find(&file("latency")))
        else {
            continue;
        };
        let options = ReadOptions { transfer_scale: 1000.0, ..ReadOptions::default() };
        let times = |path, options| -> Vec<f64> {
            read_instance(path, options).unwrap().nodes.iter().map(|v| v.transfer_time).collect()
        };
        assert_eq!(times(&slipped, &options), times(&right, &ReadOptions::default()));
    }
}

const PROFILE: &str = "\
node1 -- Input0 -- forward_compute_time=9.000, backward_compute_time=0.000, activation_size=8.0, parameter_size=0.000
node2 -- LSTM(4, -- x) -- forward_compute_time=2.000, backward_compute_time=3.000, activation_size=[6.0; 1.0; 1.0], parameter_size=2.000 -- stage_id=0
node3 -- __getitem__(1) -- forward_compute_time=0.000, backward_compute_time=0.000, activation_size=1.0, parameter_size=0.000
node5 -- Linear -- forward_compute_time=1.000, backward_compute_time=2.000, activation_size=4.0, parameter_size=3.000
\tnode1 -- node2
    node2 -- node3
\tnode2 -- node5
";

#[test]
fn pipedream_text_is_read_in_all_its_forms() {
    let mut options = ReadOptions {
        pipedream: PipeDreamOptions { bandwidth: 2000.0, memory: None, ..PipeDreamOptions::default() },
        ..ReadOptions::default()
    };
    let inference = parse_instance(PROFILE, &options).unwrap();
    let lstm = Node {
        name: Some("LSTM(4, -- x)".to_owned()),
        accelerator_times: vec![Some(2.0)],
        cpu_time: Some(20.0),
        memory: 10.0,
        transfer_time: 4.0,
        output_bytes: Some(8.0),
        parameter_bytes: 2.0,
        ..Node::new(2)
    };
    assert_eq!(inference.nodes[0], lstm);
    assert_eq!(inference.edges, [Edge { source: 2, target: 5 }]);

    options.pipedream.pass = Pass::Training;
    let training = parse_instance(PROFILE, &options).unwrap();
    assert_eq!(
        training.nodes.iter().map(|v| (v.id, v.backward)).collect::<Vec<_>>(),
        [(2, false), (6, true), (5, false), (7, true)]
    );
    assert_eq!(training.edges, [Edge { source: 2, target: 5 }, Edge { source: 6, target: 7 }]);
    let gradient = Node {
        name: Some("LSTM(4, -- x) grad".to_owned()),
        accelerator_times: vec![Some(3.0)],
        cpu_time: Some(30.0),
        parameter_bytes: 0.0,
        backward: true,
        color_class: Some(2),
        id: 6,
        ..lstm
    };
    assert_eq!(training.nodes[1], gradient);

    options.pipedream.keep_inputs = true;
    assert_eq!(parse_instance(PROFILE, &options).unwrap().nodes.len(), 8);
}

const PIPER: &str = r#"{
  "maxDevices": 4, "maxMemoryPerDevice": 100.0, "bandwidth": 4000.0, "mbsInBatch": 8,
  "nodes": [
    {"id": 0, "name": "embed", "TMPCs": {"1": [
      {"id": "vanilla", "timePerSample": 0.002, "parameterSize": 3.0, "memoryUsageA": 5.0, "memoryUsageB": 6.0,
       "syncTimeFw": {}, "syncTimeBw": {"1": 0.0, "2": 0.0}},
      {"id": "activation recomp", "timePerSample": 0.003, "parameterSize": 3.0, "memoryUsageA": 1.0,
       "memoryUsageB": 7.0, "syncTimeFw": {}, "syncTimeBw": {"1": 0.0, "2": 0.0}}]}},
    {"id": 1, "TMPCs": {"1": [{"id": "vanilla", "timePerSample": 1, "parameterSize": 0, "memoryUsageA": 0, "memoryUsageB": 0}]}},
    {"id": 2, "TMPCs": {"2": []}}
  ],
  "edges": [
    {"sourceId": 0, "destId": 1, "communicationCost": 8.0}, {"sourceId": 0, "destId": 2, "communicationCost": 6.0}
  ]
}"#;

#[test]
fn piper_configurations_are_chosen_by_name() {
    insta::assert_snapshot!(parse(PIPER).unwrap_err(), @r#"
    1 problem found
      node 2: it has no configuration "vanilla" at tensor-parallel degree 1; choose one that it has there (none) or add it to the file
    "#);
    let text = PIPER.replace(r#""2": []"#, r#""1": [{"id": "activation recomp", "timePerSample": 1, "parameterSize": 0, "memoryUsageA": 0, "memoryUsageB": 0}]"#)
        .replace("\"id\": 1, \"TMPCs\": {\"1\": [{\"id\": \"vanilla\"", "\"id\": 1, \"TMPCs\": {\"1\": [{\"id\": \"activation recomp\"");
    let options = ReadOptions {
        piper: PiperOptions { configuration: "activation recomp".to_owned(), microbatches_in_flight: 4 },
        ..ReadOptions::default()
    };
    let instance = parse_instance(&text, &options).unwrap();
    let embed = Node {
        name: Some("embed".to_owned()),
        accelerator_times: vec![Some(3.0)],
        cpu_time: None,
        memory: 11.0,
        transfer_time: 4.0,
        output_bytes: Some(8.0),
        parameter_bytes: 3.0,
        ..Node::new(0)
    };
    assert_eq!(instance.nodes[0], embed);
    assert_eq!((instance.platform.bandwidth, instance.platform.cpus), (Some(4.0), 0));
}

#[test]
fn the_published_piper_profile_adds_up() {
    let Some(path) = workloads::find("piper2021/bert32a100.json") else { return };
    let instance = read_instance(&path, &ReadOptions::default()).unwrap();
    assert_eq!((instance.nodes.len(), instance.edges.len(), instance.platform.accelerators[0].count), (37, 67, 10));
    assert_eq!(instance.nodes.iter().map(|v| v.parameter_bytes).sum::<f64>(), 5_879_481_600.0);
    assert_eq!(instance.nodes.iter().map(|v| v.memory).sum::<f64>(), 19_457_540_096.0 + 11_758_963_200.0);
    assert_eq!(instance.nodes[4].output_bytes, Some(31_457_280.0));
}

/// The first field tells the format that is one's mark and not null, wherever it stands and whatever comes after it.
#[test]
fn marks_tell_formats() {
    let marked = |before: &str, after: &str| {
        let file = write(&tarnawski(), OutputFormat::Tarnawski);
        let fields = file.trim_end().trim_start_matches('{').trim_end_matches('}').to_owned();
        parse(&format!("{{{before}{fields}{after}}}"))
    };
    for (before, after) in
        [("", ""), ("\"schema\": null,", ""), ("\"notes\": {\"schema\": 1},", ", \"schema\": \"mine\"")]
    {
        assert_eq!(marked(before, after).unwrap(), tarnawski(), "{before} {after}");
    }
    assert!(marked("\"schema\": \"mine\",", "").unwrap_err().contains("the schema is \"mine\""));
}

#[test]
fn the_name_defaults_to_the_files() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("net.v2.txt");
    std::fs::write(&path, format!("\u{feff}{PROFILE}")).unwrap();
    assert_eq!(read_instance(&path, &ReadOptions::default()).unwrap().metadata.name.as_deref(), Some("net.v2"));
    std::fs::write(&path, write(&everything(), OutputFormat::Native)).unwrap();
    assert_eq!(read_instance(&path, &ReadOptions::default()).unwrap(), everything());
}

#[test]
fn formats_refuse_what_they_cannot_express() {
    insta::assert_snapshot!(write_instance(&everything(), OutputFormat::Tarnawski).unwrap_err(), @r"
    the Tarnawski format cannot express this instance: 4 problems found
      platform: it has 2 accelerator classes; keep exactly one
      platform: accelerator memory is unlimited; give a number of bytes
      node 0: no CPU can run it; give it a CPU time
      node 12: no CPU can run it; give it a CPU time
    ");
    for format in [OutputFormat::Native, OutputFormat::Dot, OutputFormat::Metis, OutputFormat::Scotch] {
        assert!(write_instance(&Instance::default(), format).is_err());
    }
}

#[test]
fn drawings_and_partitioner_graphs() {
    insta::assert_snapshot!(write(&everything(), OutputFormat::Dot), @r#"
    digraph "everything" {
      node [shape=box];
      18446744073709551615 [label="é→conv\n0.3333333333333333"];
      0 [label="0\n2"];
      12 [label="12\n4", style=dashed];
      18446744073709551615 -> 0;
      0 -> 12;
      0 -> 12;
    }
    "#);
    let mut instance = tarnawski();
    instance.nodes[0].transfer_time = 3.0;
    insta::assert_snapshot!(write(&instance, OutputFormat::Metis), @r"
    % weights are times multiplied by 1
    3 2 011
    2 2 3 3 3
    20 1 3
    2 1 3
    ");
    insta::assert_snapshot!(write(&instance, OutputFormat::Scotch), @r"
    0
    3 4
    0 011
    2 2 3 1 3 2
    20 1 3 0
    2 1 3 0
    ");
    instance.nodes[0].transfer_time = 0.5;
    insta::assert_snapshot!(write(&instance, OutputFormat::Metis), @r"
    % weights are times multiplied by 41666666.666666664
    3 2 011
    83333333 2 20833333 3 20833333
    833333333 1 20833333
    83333333 1 20833333
    ");
}

#[test]
fn splits_round_trip_and_follow_colour_classes() {
    let instance = everything();
    let device = |kind, replicas, server, nodes: &[u64]| DeviceAssignment {
        replicas,
        server,
        subgraphs: if replicas > 1 { vec![vec![12], vec![u64::MAX]] } else { vec![] },
        ..DeviceAssignment::new(kind, nodes.to_vec())
    };
    let solution = Solution {
        devices: vec![
            device(DeviceKind::Accelerator(1), 1, None, &[0]),
            device(DeviceKind::Accelerator(0), 2, Some(1), &[u64::MAX, 12]),
            device(DeviceKind::Cpu, 1, None, &[]),
        ],
        objective: Some(0.1),
    };
    let text = write_split(&instance, &solution);
    insta::assert_snapshot!(text, @r#"
    {
      "maxLoad": 0.1,
      "cpus": [
        {"load":-1,"nodes":[]}
      ],
      "fpgas": [
        {"load":-1,"class":1,"nodes":[0]},
        {"load":-1,"replicas":2,"server":1,"nodes":[18446744073709551615,12],"subgraphs":[[12],[18446744073709551615]]}
      ]
    }
    "#);
    assert_eq!(parse_split(&text, &instance).unwrap(), solution);

    let forward_only =
        r#"{"maxLoad": -1, "cpus": [], "fpgas": [{"load": -1.0, "nodes": [0]}, {"nodes": [18446744073709551615]}]}"#;
    let split = parse_split(forward_only, &instance).unwrap();
    assert_eq!(split.devices[1].nodes, [u64::MAX, 12]);
    assert_eq!(split.objective, None);
    assert!(parse_split(r#"{"fpgas": [{"nodes": [-1]}]}"#, &instance).is_err());
    assert!(parse_split("[]", &instance).is_err());
    let no_split = parse_split(&write(&instance, OutputFormat::Native), &instance).unwrap_err();
    assert_eq!(no_split.to_string(), "this is no split: it has neither `fpgas` nor `cpus`");
}

#[test]
fn published_splits_cover_their_graphs() {
    let pairs = [
        ("bert24_inference", "bert24_inference"),
        ("bert24_training", "bert24_training"),
        ("bert24_inference", "bert24_training"),
        ("gnmt_inference", "gnmt_inference"),
        ("inceptionv3_inference", "inceptionv3_inference"),
        ("resnet50_inference", "resnet50_inference"),
        ("resnet50_inference", "resnet50_training"),
    ];
    for (split, graph) in pairs {
        let split = workloads::find(&format!("tarnawski2020/expert/{split}_expert.json"));
        let graph = workloads::find(&format!("tarnawski2020/throughput/layer/{graph}.json"));
        let (Some(split), Some(graph)) = (split, graph) else { continue };
        let instance = read_instance(&graph, &ReadOptions::default()).unwrap();
        let mut placed: Vec<u64> =
            read_split(&split, &instance).unwrap().devices.into_iter().flat_map(|d| d.nodes).collect();
        let mut ids: Vec<u64> = instance.nodes.iter().map(|v| v.id).collect();
        placed.sort_unstable();
        ids.sort_unstable();
        assert_eq!(placed, ids, "{} on {}", split.display(), graph.display());
    }
}

#[test]
fn written_native_files_follow_the_schema() {
    let schema: serde_json::Value = serde_json::from_str(include_str!("../docs/instance.schema.json")).unwrap();
    let validator = jsonschema::validator_for(&schema).unwrap();
    let check = |text: &str| validator.is_valid(&serde_json::from_str(text).unwrap());
    for instance in [everything(), tarnawski(), parse(PROFILE).unwrap()] {
        assert!(check(&write(&instance, OutputFormat::Native)));
    }
    for path in workloads::all_workloads() {
        let instance = read_instance(&path, &ReadOptions::default()).unwrap();
        assert!(check(&write(&instance, OutputFormat::Native)), "{}", path.display());
    }
    let text = write(&everything(), OutputFormat::Native);
    for (from, to) in [
        ("dagsplit-instance/1", "dagsplit-instance/2"),
        ("\"ms\"", "\"s\""),
        ("\"modelled\"", "\"guessed\""),
        ("\"memory\":100.0", "\"memory\":-100.0"),
        ("\"color_class\"", "\"colour_class\""),
        ("\"id\":12,", ""),
        ("\"cpus\":1", "\"cpus\":-1"),
        ("\"target\":0", "\"target\":null"),
    ] {
        let changed = text.replace(from, to);
        assert_ne!(changed, text, "{from} is not there to change");
        assert!(!check(&changed), "the schema lets {to} pass");
        assert!(parse(&changed).is_err(), "the reader lets {to} pass");
    }
}

#[test]
fn the_example_of_the_format_page_is_read() {
    let page = include_str!("../docs/format.md");
    let example = page.split("```json\n").nth(1).and_then(|rest| rest.split("```").next()).unwrap();
    let instance = parse(example).unwrap();
    let schema: serde_json::Value = serde_json::from_str(include_str!("../docs/instance.schema.json")).unwrap();
    assert!(jsonschema::validator_for(&schema).unwrap().is_valid(&serde_json::from_str(example).unwrap()));
    assert_eq!((instance.nodes.len(), instance.edges.len()), (3, 2));
}

#[test]
fn the_hash_tells_contents_apart_and_never_changes() {
    let instance = everything();
    let mut renamed = instance.clone();
    renamed.metadata.name = Some("other".to_owned());
    let mut changed = instance.clone();
    changed.nodes[0].memory += 1.0;
    assert_eq!(content_hash(&instance), content_hash(&renamed));
    assert_ne!(content_hash(&instance), content_hash(&changed));
    insta::assert_snapshot!(content_hash(&tarnawski()), @"13edb62c38a26220");
}

#[cfg(unix)]
#[test]
fn atomic_writes_keep_permissions_and_links() {
    use std::os::unix::fs::{PermissionsExt, symlink};
    let folder = tempfile::tempdir().unwrap();
    let (file, link) = (folder.path().join("file"), folder.path().join("link"));
    write_atomically(&file, b"one").unwrap();
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o640)).unwrap();
    symlink(&file, &link).unwrap();
    write_atomically(&link, b"two").unwrap();
    assert_eq!(std::fs::read(&file).unwrap(), b"two");
    assert_eq!(std::fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o640);
    assert!(std::fs::symlink_metadata(&link).unwrap().is_symlink());
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 2, "no temporary file stays behind");
    assert!(write_atomically(&folder.path().join("no/where"), b"").is_err());
    write_atomically(std::path::Path::new("/dev/null"), b"gone").unwrap();
}
