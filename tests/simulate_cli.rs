//! `dagsplit simulate` as other programs see it.

mod bench;

use std::process::{Command, Output};

use bench::Bench;
use serde_json::{Value, json};

/// Two accelerators that take turns.
const ALTERNATING: &str = r#"{"fpgas": [{"nodes": [10, 12]}, {"nodes": [11, 13]}]}"#;
/// One after the other.
const CONTIGUOUS: &str = r#"{"fpgas": [{"nodes": [10, 11]}, {"nodes": [12, 13]}]}"#;

const STAGES: &str = r#"{"schema": "dagsplit-stages/1", "name": "three stages",
    "stages": [{"name": "a", "forward": 2, "backward": 4, "parameter_bytes": 8, "memory": 10},
               {"name": "b", "forward": 3, "backward": 5, "parameter_bytes": 8, "memory": 11}],
    "messages": [{"source": 0, "target": 1, "bytes": 6}, {"source": 1, "target": 0, "bytes": 6}]}"#;
const TOPOLOGY: &str = r#"{"schema": "dagsplit-topology/1", "name": "pairs",
    "devices": [{"name": "left"}, {"name": "right"}, {"name": "top", "speed": 2}, {"name": "bottom", "speed": 2}],
    "bandwidth": [[null, 2, 1, 1], [2, null, 1, 1], [1, 1, null, 2], [1, 1, 2, null]]}"#;
const MAPPING: &str = r#"{"schema": "dagsplit-mapping/1", "copies": [
    {"stage": 0, "replica": 0, "device": 0}, {"stage": 0, "replica": 1, "device": 2},
    {"stage": 1, "replica": 0, "device": 1}, {"stage": 1, "replica": 1, "device": 3}]}"#;

fn bench() -> Bench {
    let bench = Bench::new();
    bench.file("alternating.json", ALTERNATING);
    bench.file("contiguous.json", CONTIGUOUS);
    bench.file("stages.json", STAGES);
    bench.file("topology.json", TOPOLOGY);
    bench.file("mapping.json", MAPPING);
    bench
}

fn run(bench: &Bench, arguments: &str) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_dagsplit"));
    command.arg("simulate").args(arguments.split_whitespace()).current_dir(bench.directory.path()).output().unwrap()
}

#[track_caller]
fn out(bench: &Bench, arguments: &str) -> String {
    let output = run(bench, arguments);
    assert!(output.status.success(), "{arguments}\n{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

#[track_caller]
fn record(bench: &Bench, arguments: &str) -> Value {
    serde_json::from_str(&out(bench, &format!("{arguments} --json"))).unwrap()
}

#[track_caller]
fn fails(bench: &Bench, arguments: &str, code: i32, part: &str) {
    let output = run(bench, arguments);
    let error = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(code), "{arguments}\n{error}");
    assert!(error.contains(part), "{arguments}: no `{part}` in\n{error}");
}

#[test]
fn tables_are_what_they_were() {
    let bench = bench();
    insta::assert_snapshot!("help", out(&bench, "-h"));
    insta::assert_snapshot!("split", out(&bench, "diamond.json alternating.json --microbatches 4"));
    let mapped = "stages.json topology.json mapping.json --microbatches 4 --recompute";
    insta::assert_snapshot!("mapping", out(&bench, mapped));
}

#[test]
fn the_steady_time_is_the_load_that_verify_computes() {
    let bench = bench();
    for split in ["alternating", "contiguous"] {
        let mut verify = Command::new(env!("CARGO_BIN_EXE_dagsplit"));
        let arguments = format!("verify diamond.json {split}.json --scope arbitrary --json");
        let verified = verify.args(arguments.split(' ')).current_dir(bench.directory.path()).output().unwrap().stdout;
        let verified: Value = serde_json::from_slice(&verified).unwrap();
        let record = record(&bench, &format!("diamond.json {split}.json"));
        assert_eq!(record["steady_time"], verified["objective"]);
        assert_eq!(record["schedule"], "virtual-devices");
    }
}

#[test]
fn the_record_is_the_contracted_object() {
    let bench = bench();
    let record = record(&bench, "diamond.json contiguous.json --schedule inference --microbatches 2");
    // 10, 11: 2 + 3, and 2 to hand both on; 12, 13: 2 + 4, and 2 to fetch both.
    let device = |name: &str, compute, memory| {
        json!({"name": name, "compute": compute, "recompute": 0.0, "transfers": 4.0, "all_reduces": 0.0,
               "idle": 23.0 - compute - 4.0, "utilisation": compute / 23.0, "peak_memory": memory, "memory_limit": 10.0})
    };
    let expected = json!({
        "schema": "dagsplit-simulate/1",
        "name": "diamond",
        "schedule": "inference",
        "transfers": "on-device",
        "recompute": false,
        "pipelines": 1,
        "microbatches": 2,
        "makespan": 23.0,
        "lower_bound": 23.0,
        "gap": 0.0,
        "throughput": 2.0 / 23.0,
        "steady_time": 8.0,
        "bubble": 1.0 - 30.0 / 46.0,
        "devices": [device("accelerator 0", 10.0, 8.0), device("accelerator 1", 12.0, 8.0)],
        "stages": [
            {"name": "stage 0", "replica": 0, "device": "accelerator 0", "in_flight": 1},
            {"name": "stage 1", "replica": 0, "device": "accelerator 1", "in_flight": 1},
        ],
    });
    assert_eq!(record, expected);
}

#[test]
fn options_change_what_is_simulated() {
    let bench = bench();
    let mapped = |options: &str| record(&bench, &format!("stages.json topology.json mapping.json {options}"));
    assert_eq!(mapped("")["schedule"], "1f1b");
    assert_eq!(mapped("")["pipelines"], 2);
    // Compute and messages of the slower pipeline, 3 + 5 + 3 + 3, and each all-reduce of 8 at the end.
    assert_eq!(mapped("")["steady_time"], 14.0);
    assert_eq!(mapped("--schedule async-1f1b")["steady_time"], 22.0);
    assert_eq!(mapped("--overlap")["transfers"], "links");
    assert_eq!(mapped("--overlap --contention")["transfers"], "contended-links");
    // Where weight gradients take no time, ZB-H1 is 1F1B.
    let zero_bubble = |share: &str| mapped(&format!("--schedule zb-h1 --weight-gradient {share}"))["makespan"].as_f64();
    assert_eq!(zero_bubble("0"), mapped("")["makespan"].as_f64());
    assert!(zero_bubble("0.5") < zero_bubble("0"));
    let split = |options: &str| record(&bench, &format!("diamond.json contiguous.json {options}"));
    assert_eq!((&split("")["steady_time"], &split("")["transfers"]), (&json!(8.0), &json!("on-device")));
    // Compute hides the transfers.
    assert_eq!(split("--overlap")["steady_time"], 6.0);
    assert_eq!(split("--overlap --contention")["transfers"], "one-engine");
}

/// Four devices with NVLink, of which the rates of links are not told.
const NVIDIA_SMI: &str = "\tGPU0\tGPU1\tGPU2\tGPU3\nGPU0\t X \tNV1\tNV1\tNV1\nGPU1\tNV1\t X \tNV1\tNV1
GPU2\tNV1\tNV1\t X \tNV1\nGPU3\tNV1\tNV1\tNV1\t X \n";

#[test]
fn rates_of_links_are_those_given() {
    let bench = bench();
    bench.file("host.txt", NVIDIA_SMI);
    let heavy = STAGES.replace("\"bytes\": 6", "\"bytes\": 1000000");
    bench.file("stages.json", &heavy);
    let mapped = |options: &str| {
        let record =
            record(&bench, &format!("stages.json host.txt mapping.json --schedule gpipe --microbatches 1 {options}"));
        record["devices"][0]["transfers"].as_f64().unwrap()
    };
    // One message each way, of a million bytes: at 1 MB/s a second each, in milliseconds.
    assert!((mapped("--link NV=1MB") - 2000.0).abs() < 1e-6);
    assert!(mapped("") < 1.0);
    let refused = "stages.json topology.json mapping.json --link NV=1MB";
    fails(&bench, refused, 2, "topology.json: it is no text of `nvidia-smi topo -m`");
    fails(&bench, "diamond.json contiguous.json --link NV=1MB", 2, "there is no topology");
}

#[test]
fn copies_of_stages_are_told_apart() {
    let stages = record(&bench(), "stages.json topology.json mapping.json")["stages"].take();
    let stages: Vec<_> = stages.as_array().unwrap().iter().map(|s| (s["name"].clone(), s["replica"].clone())).collect();
    assert_eq!(stages, [("a", 0), ("a", 1), ("b", 0), ("b", 1)].map(|(name, replica)| (json!(name), json!(replica))));
}

#[test]
fn timelines_are_drawn_and_traced() {
    let bench = bench();
    let arguments = "diamond.json alternating.json --microbatches 3 --gantt t.svg --trace t.json --quiet";
    assert_eq!(out(&bench, arguments), "");
    insta::assert_snapshot!("gantt", bench.read("t.svg"));
    let trace: Value = serde_json::from_str(&bench.read("t.json")).unwrap();
    let events = trace["traceEvents"].as_array().unwrap();
    let named = events.iter().filter(|event| event["ph"] == "M" && event["name"] == "process_name");
    let devices: Vec<&str> = named.map(|event| event["args"]["name"].as_str().unwrap()).collect();
    assert_eq!(devices, ["accelerator 0", "accelerator 1"]);
    let busy: f64 = events.iter().filter_map(|event| event["dur"].as_f64()).sum();
    // Compute of 11 and six transfers, three times, in microseconds.
    assert_eq!(busy, 3.0 * (11.0 + 6.0) * 1000.0);

    let mapped = "stages.json topology.json mapping.json --microbatches 2 --overlap --trace t.json --quiet";
    out(&bench, mapped);
    let trace: Value = serde_json::from_str(&bench.read("t.json")).unwrap();
    let count = |phase: &str| trace["traceEvents"].as_array().unwrap().iter().filter(|e| e["ph"] == phase).count();
    // Messages pass side by side: two directions, two pipelines, two microbatches.
    assert_eq!((count("b"), count("e")), (8, 8));
    // Each is an arrow between what runs at its ends, and every counter comes to the peak.
    assert_eq!((count("s"), count("f")), (8, 8));
    let events = trace["traceEvents"].as_array().unwrap();
    let of = |phase: &'static str| events.iter().filter(move |event| event["ph"] == phase);
    for arrow in of("s").chain(of("f")) {
        let time = |event: &Value, key: &str| event[key].as_f64().unwrap();
        let runs = |event: &&Value| ["pid", "tid"].iter().all(|&key| event[key] == arrow[key]);
        let is_in = |event: &Value| (0.0..=time(event, "dur")).contains(&(time(arrow, "ts") - time(event, "ts")));
        assert!(of("X").filter(runs).any(is_in), "{arrow}");
        let other = of("f").find(|event| event["id"] == arrow["id"]).unwrap();
        assert!(other["pid"] != arrow["pid"] || arrow["ph"] == "f");
        assert!(time(arrow, "ts") <= time(other, "ts"));
    }
    let devices = record(&bench, "stages.json topology.json mapping.json --microbatches 2 --overlap")["devices"].take();
    for (pid, device) in devices.as_array().unwrap().iter().enumerate() {
        let held = of("C").filter(|event| event["pid"] == pid).map(|event| event["args"]["bytes"].as_f64().unwrap());
        assert_eq!(held.fold(0.0, f64::max), device["peak_memory"].as_f64().unwrap(), "{device}");
    }
}

#[test]
fn what_is_wrong_is_told() {
    let bench = bench();
    fails(&bench, "diamond.json", 2, "FILES");
    fails(&bench, "diamond.json alternating.json --contention", 2, "--overlap");
    fails(&bench, "diamond.json alternating.json --buckets 4", 2, "--overlap");
    fails(&bench, "diamond.json alternating.json --all-reduce tree", 2, "map its stages to a topology");
    fails(&bench, "diamond.json alternating.json --microbatches 0", 2, "from 1 to");
    fails(&bench, "diamond.json alternating.json --schedule 1f1b", 2, "virtual-devices");
    fails(&bench, "diamond.json contiguous.json --weight-gradient 2", 2, "from 0 to 1");
    fails(&bench, "diamond.json contiguous.json --schedule zb-v", 2, "stages i and 2p - 1 - i");
    fails(&bench, "stages.json topology.json mapping.json --schedule dualpipe", 2, "stages i and p - 1 - i");
    fails(&bench, "diamond.json missing.json", 3, "missing.json");
    bench.file("half.json", r#"{"fpgas": [{"nodes": [10, 11]}]}"#);
    fails(&bench, "diamond.json half.json", 1, "half.json: the split is invalid");
    fails(&bench, "stages.json topology.json stages.json", 3, "dagsplit-mapping/1");
    bench.file("outside.json", &MAPPING.replace("\"device\": 3", "\"device\": 4"));
    fails(&bench, "stages.json topology.json outside.json", 1, "outside.json: the mapping is invalid");
    bench.file("crowd.json", &MAPPING.replace("\"replica\": 1", "\"replica\": 18446744073709551615"));
    fails(&bench, "stages.json topology.json crowd.json", 1, "crowd.json");
    let named =
        |device: &str| MAPPING.replace("\"device\": 3", &format!("\"device\": 3, \"device_name\": \"{device}\""));
    bench.file("named.json", &named("bottom"));
    out(&bench, "stages.json topology.json named.json");
    bench.file("named.json", &named("node0/gpu3"));
    let other = "device 3 is called bottom here but node0/gpu3 in the mapping; map onto this topology";
    fails(&bench, "stages.json topology.json named.json", 1, other);
    let stage = "\"stage\": 1, \"stage_name\": \"encoder\"";
    bench.file("named.json", &MAPPING.replace("\"stage\": 1", stage));
    fails(&bench, "stages.json topology.json named.json", 1, "encoder in the mapping; map these stages");
    let sync = "leave --sync-bandwidth out";
    fails(&bench, "stages.json topology.json mapping.json --sync-bandwidth 5", 2, sync);
    fails(&bench, "topology.json stages.json mapping.json", 2, "it is a topology; name the stages");
    // Devices of the same names in another topology are for the reader to judge.
    bench.file("elsewhere.json", &MAPPING.replace("\"copies\"", "\"topology\": \"mesh\", \"copies\""));
    let said = run(&bench, "stages.json topology.json elsewhere.json").stderr;
    let note = "note: the mapping is said to be onto the topology \"mesh\", and this one is \"pairs\"\n";
    assert_eq!(String::from_utf8(said).unwrap(), note);
    bench.file("together.json", &MAPPING.replace("\"device\": 3", "\"device\": 2"));
    fails(&bench, "stages.json topology.json together.json --schedule gpipe --gantt no/such/t.svg", 74, "no/such");
    fails(&bench, "stages.json topology.json together.json", 2, "top holds 2 stages");
}
