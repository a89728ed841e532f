//! `dagsplit map`, `generate topology` and `draw` of topologies, as other programs see them.

mod bench;

use std::process::{Command, Output};

use bench::Bench;
use serde_json::{Value, json};

/// Two stages: what each has to send is two fast milliseconds, and its weights two.
const STAGES: &str = r#"{"schema": "dagsplit-stages/1", "name": "pair",
    "stages": [{"name": "a", "forward": 1, "backward": 2, "parameter_bytes": 20, "memory": 4},
               {"name": "b", "forward": 1, "backward": 2, "parameter_bytes": 20, "memory": 2}],
    "messages": [{"source": 0, "target": 1, "bytes": 10}, {"source": 1, "target": 0, "bytes": 10}]}"#;

/// Two nodes of two devices: 10 bytes per ms inside, 1 between.
const NODES: &str = "bytes/ms, a0, a1, b0, b1\na0, , 10, 1, 1\na1, 10, , 1, 1\nb0, 1, 1, , 10\nb1, 1, 1, 10,\n";

struct Ran(Output);

impl Ran {
    #[track_caller]
    fn exits(self, code: i32) -> Self {
        assert_eq!(self.0.status.code(), Some(code), "{}\n{}", self.out(), self.err());
        self
    }

    fn out(&self) -> String {
        String::from_utf8(self.0.stdout.clone()).unwrap()
    }

    fn err(&self) -> String {
        String::from_utf8(self.0.stderr.clone()).unwrap()
    }

    fn json(&self) -> Value {
        serde_json::from_str(&self.out()).unwrap()
    }
}

fn setup() -> Bench {
    let bench = Bench::new();
    bench.file("stages.json", STAGES);
    bench.file("nodes.csv", NODES);
    bench
}

fn run(bench: &Bench, arguments: &str) -> Ran {
    let mut command = Command::new(env!("CARGO_BIN_EXE_dagsplit"));
    Ran(command.args(arguments.split_whitespace()).current_dir(bench.directory.path()).output().unwrap())
}

#[test]
fn the_json_is_the_contracted_one() {
    let bench = setup();
    let mut record = run(&bench, "map stages.json nodes.csv --replicas 2 --cost messages --json").exits(0).json();
    assert!(record["seconds"].take().as_f64().unwrap() >= 0.0);
    assert!(record["stats"].take().is_object());
    let techniques = record["techniques"].take();
    assert_eq!((&techniques[0]["name"], &techniques[0]["calls"]), (&json!("bisection"), &json!(1)));
    let copies = record["copies"].take();
    let expected = json!({
        "schema": "dagsplit-map/1",
        "stages": {"name": "pair", "count": 2},
        "topology": {"name": "nodes", "count": 4},
        "replicas": 2,
        "cost": "messages",
        "method": "branch-and-bound",
        "status": "optimal",
        "objective": 5.0,
        "lower_bound": record["lower_bound"].clone(),
        "gap": 0.0,
        "seconds": null,
        "copies": null,
        "stats": null,
        "techniques": null,
        "verified": true,
    });
    assert_eq!(record, expected);
    assert!((record["lower_bound"].as_f64().unwrap() - 5.0).abs() < 1e-6);
    for (i, copy) in copies.as_array().unwrap().iter().enumerate() {
        assert_eq!((&copy["stage"], &copy["replica"]), (&json!(i / 2), &json!(i % 2)));
        assert_eq!((&copy["compute"], &copy["messages"], &copy["all_reduce"]), (&json!(3.0), &json!(2.0), &json!(0.0)));
        assert_eq!(copy["device_name"], ["a0", "a1", "b0", "b1"][copy["device"].as_u64().unwrap() as usize]);
    }
}

#[test]
fn a_step_counts_what_a_microbatch_bears_of_the_all_reduce() {
    let bench = setup();
    let objective = |file: &str, options: &str| {
        let record = run(&bench, &format!("map {file} nodes.csv --replicas 2 --json {options}")).exits(0).json();
        (record["cost"].as_str().unwrap().to_owned(), record["objective"].as_f64().unwrap())
    };
    let both = objective("stages.json", "--cost both");
    assert_eq!(objective("stages.json", ""), both);
    // A tenth of 20 bytes, with compute and messages as before.
    let (cost, share) = objective("stages.json", "--microbatches 10");
    let messages = objective("stages.json", "--cost messages").1;
    assert!(cost == "both" && messages < share && share < both.1, "{messages} {share} {both:?}");
    // Without a backward pass there is nothing to reduce.
    bench.file("inference.json", &STAGES.replace("\"backward\": 2, ", ""));
    assert_eq!(objective("inference.json", ""), objective("inference.json", "--cost messages"));
    run(&bench, "map stages.json nodes.csv --cost both --microbatches 10").exits(2);
}

#[test]
fn people_get_a_table_and_methods_are_compared() {
    let bench = setup();
    let arguments =
        "map stages.json nodes.csv --replicas 2 --method consecutive,p2p,parmesan:timeout=5,swap,exhaustive";
    let table = run(&bench, arguments).exits(0).out();
    for part in [
        "all-reduce",
        "b1",
        "objective    25 ms (compute, messages and all-reduce)",
        "status       optimal",
        "parmesan:timeout=5",
    ] {
        assert!(table.contains(part), "no `{part}` in\n{table}");
    }
    let record = run(&bench, &format!("{arguments} --json --cost auto")).exits(0).json();
    // 40 bytes of weights against 20 of messages.
    assert_eq!((&record["cost"], &record["objective"]), (&json!("all-reduce"), &json!(5.0)));
    assert_eq!(record["compared"].as_array().unwrap().len(), 5);
}

#[test]
fn mappings_are_written_drawn_and_checked() {
    let bench = setup();
    run(&bench, "map stages.json nodes.csv --replicas 2 --output mapping.json --draw mapping.svg").exits(0);
    let picture = bench.read("mapping.svg");
    assert!(picture.starts_with("<svg") && picture.contains("4 in use"));
    let draw = "draw nodes.csv --mapping mapping.json --stages stages.json";
    assert_eq!(run(&bench, draw).exits(0).out(), picture);
    let mapping = bench.read("mapping.json");
    let device = mapping.find("\"device\":").unwrap();
    bench.file("mapping.json", &format!("{}\"device\":9{}", &mapping[..device], &mapping[device + 10..]));
    let failed = run(&bench, draw).exits(1).err();
    assert!(
        failed.contains("mapping.json: the mapping is invalid:\n  ") && failed.contains("is on device 9"),
        "{failed}"
    );
    assert!(run(&bench, "draw nodes.csv").exits(0).out().contains("4 devices"));
}

/// What `nvidia-smi topo -m` prints on a host of four GPUs, two behind each of two cards.
const HOST: &str = "\tGPU0\tGPU1\tGPU2\tGPU3\tNIC0\tNIC1\tCPU Affinity
GPU0\t X \tPIX\tSYS\tSYS\tPIX\tSYS\t0-15
GPU1\tPIX\t X \tSYS\tSYS\tPIX\tSYS\t0-15
GPU2\tSYS\tSYS\t X \tPIX\tSYS\tPIX\t16-31
GPU3\tSYS\tSYS\tPIX\t X \tSYS\tPIX\t16-31
";

#[test]
fn hosts_are_joined_to_a_cluster() {
    let bench = setup();
    bench.file("v100.txt", HOST);
    let hosts = "generate topology hosts dgx-a100:count=2 v100.txt:count=2,speed=0.4,memory=16GiB v100.txt";
    let made = run(&bench, &format!("{hosts} --between 20GB --network-latency 5 --link PIX=10GB,NIC=12.5GB")).exits(0);
    let cluster = made.json();
    let names: Vec<&str> =
        cluster["devices"].as_array().unwrap().iter().map(|device| device["name"].as_str().unwrap()).collect();
    assert_eq!((names.len(), names[15], names[16], names[27]), (28, "dgx-a100-1/gpu7", "v100-0/GPU0", "v100-2/GPU3"));
    let device = |d: usize| (cluster["devices"][d]["speed"].clone(), cluster["devices"][d]["memory"].clone());
    assert_eq!([device(0), device(16)], [(json!(null), json!(80e9)), (json!(0.4), json!(17_179_869_184.0))]);
    let link =
        |a: usize, b: usize| [&cluster["bandwidth"][a][b], &cluster["latency"][a][b]].map(|x| x.as_f64().unwrap());
    assert_eq!(
        [link(0, 7), link(0, 8), link(16, 17), link(17, 20)],
        [[300e6, 0.0], [20e6, 0.005], [10e6, 0.0], [20e6, 0.005]]
    );
    let channels = cluster["channels"].as_array().unwrap();
    let last =
        json!({"name": "v100-2/NIC1", "devices": [26, 27], "inside": [24, 25, 26, 27], "bandwidth": 12_500_000.0});
    assert_eq!((channels.len(), &channels[5]), (6, &last));
    let source = cluster["source"].as_str().unwrap();
    assert!(source.contains("dgx-a100:count=2: dagsplit generate topology nvswitch"), "{source}");
    assert!(source.contains("20GB/s") && source.contains("NIC 12.5GB/s"), "{source}");

    // A card that two groups of GPUs share is counted once.
    bench.file("shared.txt", &HOST.replace("GPU1\tPIX\t X \tSYS\tSYS\tPIX\tSYS", "GPU1\tPIX\t X \tSYS\tSYS\tPIX\tPIX"));
    let shared =
        run(&bench, "generate topology hosts shared.txt dgx-1 --between 20GB --link NIC=12.5GB").exits(0).json();
    let channels = shared["channels"].as_array().unwrap();
    assert_eq!(channels.len(), 1, "{channels:?}");
    assert_eq!((&channels[0]["devices"], &channels[0]["bandwidth"]), (&json!([0, 1, 2, 3]), &json!(25_000_000.0)));

    let memory =
        run(&bench, "generate topology hosts dgx-1 dgx-1:memory=unlimited --between 1GB --memory 8GB").exits(0).json();
    assert_eq!([&memory["devices"][0]["memory"], &memory["devices"][8]["memory"]], [&json!(8e9), &json!(null)]);
    for (arguments, code, part) in [
        ("dgx-1:count=0", 2, "parameter `count` cannot be `0`"),
        ("dgx-1:speed=nan", 2, "parameter `speed` cannot be `nan`"),
        ("dgx-1:memory=-1", 2, "give bytes, such as `16GiB`"),
        ("dgx-1:gpus=4", 2, "a host has no parameter `gpus`; it has count, speed, memory"),
        ("dgx-1:count=513", 2, "they have 4104 devices"),
        ("dgx-1 --link NIC=1GB", 2, "no host is a text of `nvidia-smi topo -m`; leave --link out"),
        ("nowhere.txt", 3, "nowhere.txt"),
    ] {
        let message = run(&bench, &format!("generate topology hosts {arguments} --between 1GB")).exits(code).err();
        assert!(message.contains(part), "{arguments}: no `{part}` in\n{message}");
    }
}

/// The number that attribute `name` of an element has.
fn attribute(element: &str, name: &str) -> f64 {
    let value = element.split_once(&format!(" {name}=\"")).unwrap_or_else(|| panic!("no {name} in {element}")).1;
    value.split_once('"').unwrap().0.parse().unwrap()
}

#[test]
fn pictures_show_hosts_stages_and_the_ring_of_the_slowest_copy() {
    let bench = setup();
    let hosts = "dgx-a100:count=2,memory=40GiB dgx-1:count=2,speed=0.4,memory=16GiB";
    run(&bench, &format!("generate topology hosts {hosts} --between 1GB --output mixed.json")).exits(0);
    let map = "map stages.json mixed.json --replicas 9 --method greedy --draw mapping.svg --json";
    let record = run(&bench, map).exits(0).json();
    let picture = bench.read("mapping.svg");
    for (host, facts) in [("dgx-a100-0", "40.0 GiB, speed 1"), ("dgx-1-1", "16.0 GiB, speed 0.4")] {
        assert!(picture.contains(&format!("\n{host}\n")), "no box of {host}");
        assert_eq!(picture.matches(&format!("\n{facts}\n")).count(), 2, "{facts}");
    }
    let copies = record["copies"].as_array().unwrap();
    let time = |copy: &Value| copy["time"].as_f64().unwrap();
    let slowest = copies.iter().fold(&copies[0], |a, b| if time(b) > time(a) { b } else { a });
    // Every tile begins with its device's name, and its rectangle follows.
    let corner = |copy: &Value| {
        let name = format!("<title>{} (speed", copy["device_name"].as_str().unwrap());
        let tile = picture.split_once(&name).unwrap().1.split_once("<rect").unwrap().1.split_once("/>").unwrap().0;
        let [x, y, width, height] = ["x", "y", "width", "height"].map(|name| attribute(tile, name));
        (x, y, format!("{:.1},{:.1}", x + width - 5.0, y + height - 5.0))
    };
    let mut ring: Vec<&Value> = copies.iter().filter(|copy| copy["stage"] == slowest["stage"]).collect();
    ring.sort_by_key(|copy| copy["replica"].as_u64());
    let points: Vec<String> = ring.iter().map(|copy| corner(copy).2).collect();
    assert!(points.len() == 9 && picture.contains(&format!("points=\"{}\"", points.join(" "))), "{points:?}");
    let (x, y, _) = corner(slowest);
    let frames = picture.lines().filter(|line| line.contains("<rect") && line.contains("#c81e1e"));
    assert_eq!(frames.map(|line| (attribute(line, "x"), attribute(line, "y"))).collect::<Vec<_>>(), [(x, y)]);
    let legend = |name: &str, stage: usize| {
        let of_stage = copies.iter().filter(|copy| copy["stage"] == stage).map(time);
        let slowest = (100.0 * of_stage.fold(0.0, f64::max)).round() / 100.0;
        let entry = format!("\n{stage} {name}: {slowest} ms\n");
        assert!(picture.contains(&entry), "no `{entry}`");
    };
    legend("a", 0);
    legend("b", 1);
    assert!(picture.contains(&format!("slowest copy {}·{}, ", slowest["stage"], slowest["replica"])));
}

#[test]
fn a_workload_with_its_split_gives_the_stages() {
    let bench = setup();
    run(&bench, "solve diamond.json --cpus 0 --output split.json").exits(0);
    run(&bench, "generate topology hierarchical --nodes 2 --node-size 2 --output nodes.json").exits(0);
    let map = "map diamond.json nodes.json --split split.json --replicas 2 --json";
    // The file states transfer times, but neither bytes nor a bandwidth.
    let failed = run(&bench, map).exits(3).err();
    assert!(failed.contains("its output goes to another stage and has no size"), "{failed}");
    run(&bench, "convert diamond.json --to native --output diamond-native.json").exits(0);
    let native = bench.read("diamond-native.json").replace("\"cpus\":1", "\"cpus\":1,\"bandwidth\":1000");
    bench.file("diamond.json", &native);
    let record = run(&bench, map).exits(0).json();
    assert_eq!((&record["stages"]["count"], &record["status"]), (&json!(2), &json!("optimal")));

    // With its stages the mapping can be read back.
    run(&bench, &format!("{map} --output mapping.json --output-stages made.json")).exits(0);
    run(&bench, "simulate made.json nodes.json mapping.json --schedule inference --json").exits(0);
    run(&bench, "draw nodes.json --mapping mapping.json --stages made.json").exits(0);
}

#[test]
fn splits_made_for_more_devices_than_the_file_states_are_taken() {
    let bench = setup();
    run(&bench, "generate transformer --layers 1 --accelerators 1 --cpus 0 --output bert.json").exits(0);
    run(&bench, "solve bert.json --accelerators 4 --output split.json").exits(0);
    run(&bench, "map bert.json nodes.csv --split split.json").exits(0);
    run(&bench, "simulate bert.json split.json").exits(0);
    assert!(run(&bench, "draw bert.json --split split.json").exits(0).out().contains("<svg"));
}

#[test]
fn splits_made_under_any_cost_are_taken() {
    let bench = setup();
    run(&bench, "convert diamond.json --to native --output diamond-native.json").exits(0);
    let native = bench.read("diamond-native.json").replace("\"cpus\":1", "\"cpus\":1,\"bandwidth\":1000");
    bench.file("diamond.json", &native);
    run(&bench, "solve diamond.json --cpus 0 --cost overlap --output overlap.json").exits(0);
    run(&bench, "verify diamond.json overlap.json").exits(1);
    bench.file("replicas.json", r#"{"maxLoad": 1, "fpgas": [{"nodes": [10, 11, 12, 13], "replicas": 2}]}"#);
    for split in ["overlap.json", "replicas.json"] {
        let memory = "--memory 100";
        run(&bench, &format!("map diamond.json nodes.csv --split {split} {memory}")).exits(0);
        assert!(run(&bench, &format!("draw diamond.json --split {split} {memory}")).exits(0).out().contains("<svg"));
        run(&bench, &format!("simulate diamond.json {split} {memory}")).exits(0);
    }
    // Without a link bandwidth it has to be told.
    bench.file("diamond.json", bench::DIAMOND);
    let draw = "draw diamond.json --split replicas.json --memory 100";
    assert!(run(&bench, draw).exits(2).err().contains("give --sync-bandwidth"));
    run(&bench, &format!("{draw} --sync-bandwidth 5")).exits(0);
}

#[test]
fn mistakes_are_told_with_their_cures() {
    let bench = setup();
    let complaint = |arguments: &str, code| run(&bench, arguments).exits(code).err();
    let usage = [
        ("map stages.json nodes.csv --replicas 3", "2 stages make 6 copies for 4 devices; give fewer replicas"),
        ("map stages.json nodes.csv --replicas 0", "give a whole number from 1"),
        ("map nodes.csv stages.json", "nodes.csv: it is a topology; name the stages or the workload first"),
        ("plan nodes.csv diamond.json", "nodes.csv: it is a topology; name the stages or the workload first"),
        ("map stages.json nodes.csv --method nonesuch", "there is no method `nonesuch`; there are branch-and-bound"),
        ("map diamond.json nodes.csv", "for a workload, name its split with --split"),
        ("map stages.json nodes.csv --split stages.json", "leave --split out"),
        ("map stages.json nodes.csv --link NV=1GB", "nodes.csv: it is no text of `nvidia-smi topo -m`"),
        ("draw diamond.json --link NV=1GB", "there is no topology"),
        ("map stages.json nodes.csv --link NVX=1GB", "name one of NV, PIX"),
        ("map stages.json nodes.csv --link NV=fast", "give bytes per second with their unit"),
        ("generate topology mesh --shape 0x4", "such as `8x8`"),
        ("generate topology random-blk-1 --nodes 65", "--nodes: 65 is out of range; give 1 to 64"),
    ];
    for (arguments, part) in usage {
        let message = complaint(arguments, 2);
        assert!(message.contains(part), "{arguments}: no `{part}` in\n{message}");
    }
    bench.file("nodes.csv", &NODES.replace("10", "-10"));
    let message = complaint("map stages.json nodes.csv", 3);
    assert!(message.contains("nodes.csv: 4 problems found") && message.contains("line 2, column 3"), "{message}");
    complaint("map stages.json missing.json", 3);
    complaint("map missing.json nodes.csv", 3);
    bench.file("notes.txt", "no stages here");
    std::fs::write(bench.path("binary"), [0, 159, 146, 150]).unwrap();
    bench.file("nodes.csv", NODES);
    for (file, part) in [("notes.txt", "expected a JSON object"), ("binary", "is not UTF-8"), (".", "directory")] {
        let message = complaint(&format!("map {file} nodes.csv"), 3);
        assert!(message.contains(file) && message.contains(part), "{message}");
    }
    bench.file("twice.csv", &NODES.replace("b1", "a0"));
    let message = complaint("map stages.json twice.csv", 3);
    assert!(
        message.contains(r#"its name "a0" is that of device 0, too; give each device a name of its own"#),
        "{message}"
    );
}

#[test]
fn memory_can_leave_no_mapping() {
    let bench = setup();
    let topology = r#"{"schema": "dagsplit-topology/1", "devices": [{"memory": 1}, {"memory": 9}], "bandwidth": [[null, 1], [1, null]]}"#;
    bench.file("small.json", topology);
    let record = run(&bench, "map stages.json small.json --json").exits(4).json();
    assert_eq!((&record["status"], &record["verified"]), (&json!("infeasible"), &json!(false)));
    // One device has room for the larger stage, and no other for the smaller one.
    let reason = "stage 1 (b) needs 2 bytes on each of its devices; 2 copies need as much, but 1 of 2 devices have it";
    assert!(record["reason"].as_str().unwrap().starts_with(reason), "{record}");
    let table = run(&bench, "map stages.json small.json --method consecutive,greedy").exits(4).out();
    assert!(table.contains(reason), "{table}");
}

#[test]
fn techniques_are_left_out_by_name() {
    let bench = setup();
    let asked = "map stages.json nodes.csv --replicas 2 --cost messages --json --without";
    let record = run(&bench, &format!("{asked} bisection,tiling")).exits(0).json();
    assert_eq!(
        (&record["method"], &record["objective"]),
        (&json!("branch-and-bound:without=bisection/tiling"), &json!(5.0))
    );
    let names: Vec<&str> =
        record["techniques"].as_array().unwrap().iter().map(|technique| technique["name"].as_str().unwrap()).collect();
    assert!(names.contains(&"annealing") && !names.contains(&"bisection"), "{names:?}");
    let unknown = run(&bench, &format!("{asked} luck")).exits(2).err();
    assert!(["luck", "annealing", "block-configuration"].iter().all(|word| unknown.contains(word)), "{unknown}");
    let none = run(&bench, &format!("{asked} tiling --method greedy")).exits(2).err();
    assert!(none.contains("only branch-and-bound has techniques"), "{none}");
}

#[test]
fn help_lists_every_mapper() {
    let help = run(&setup(), "map --help").exits(0).out();
    for kind in dagsplit::registry::mappers() {
        assert!(help.contains(&format!("{}: ", kind.name)), "{help}");
    }
}

#[test]
fn a_topology_names_the_command_that_makes_it() {
    let bench = setup();
    for family in [
        "hierarchical --nodes 3",
        "dgx1 --between 2GB",
        "mesh --shape 2x3",
        "torus --shape 2x2x2",
        "random-blk-1 --devices 9 --nodes 2 --seed 5",
        "random-blk-2 --devices 9 --memory 16GiB",
        "uniform-dist --devices 5 --slowest 1MB",
        "fat-tree --switch-latency 0.25",
        "nvswitch --server dgx-h100 --node-size 4",
    ] {
        let text = run(&bench, &format!("generate topology {family}")).exits(0).out();
        let topology: Value = serde_json::from_str(&text).unwrap();
        let command = topology["source"].as_str().unwrap().strip_prefix("dagsplit ").unwrap();
        assert_eq!(run(&bench, command).exits(0).out(), text, "{command}");
    }
}
