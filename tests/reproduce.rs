//! `dagsplit reproduce`: what is at hand is run, what is missing is named.

use std::fs;
use std::path::Path;

use assert_cmd::Command;
use serde_json::Value;

/// Two nodes that one accelerator holds: 5 in every scope. It stands in for a published workload, and cannot agree.
const PAIR: &str = r#"{"maxSizePerFPGA": 10, "maxFPGAs": 2, "maxCPUs": 0, "nodes": [
    {"id": 0, "supportedOnFpga": 1, "cpuLatency": 20, "fpgaLatency": 2, "isBackwardNode": 0, "size": 4},
    {"id": 1, "supportedOnFpga": 1, "cpuLatency": 20, "fpgaLatency": 3, "isBackwardNode": 0, "size": 4}],
    "edges": [{"sourceId": 0, "destId": 1, "cost": 9}]}"#;

#[track_caller]
fn run(folder: &Path, arguments: &str, code: i32) -> String {
    let mut command = Command::new(assert_cmd::cargo::cargo_bin!("dagsplit"));
    command.args(arguments.split_whitespace()).current_dir(folder).env_remove("DAGSPLIT_WORKLOADS");
    String::from_utf8(command.assert().code(code).get_output().stdout.clone()).unwrap()
}

/// A folder with one workload of Table 1.
fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let layers = folder.path().join("tarnawski2020/throughput/layer");
    fs::create_dir_all(&layers).unwrap();
    fs::write(layers.join("gnmt_inference.json"), PAIR).unwrap();
    folder
}

#[test]
fn ours_stand_beside_the_published_and_what_is_missing_is_named() {
    let folder = folder();
    let exports = "--export-csv t.csv --export-json t.json --export-markdown t.md --export-latex t.tex";
    let table =
        run(folder.path(), &format!("reproduce table1 --workloads . --only layers --columns DP,non {exports}"), 0);
    for part in
        ["5.00* (32.91, -84.81 %)", "5.00* (31.68, -84.22 %)", "– (107.00)", "gnmt_training.json, from https://"]
    {
        assert!(table.contains(part), "no `{part}` in\n{table}");
    }
    assert!(!table.contains("BERT-3") && !table.contains("Scotch"), "{table}");
    let read = |name: &str| fs::read_to_string(folder.path().join(name)).unwrap();
    let csv = read("t.csv");
    assert!(csv.contains("table1,\"GNMT, layers\",DP,5,yes,no,32.91,-0.848"), "{csv}");
    assert!(
        csv.contains(",lower,") && csv.contains("not at hand: tarnawski2020/throughput/layer/resnet50_inference.json")
    );
    let json: Value = serde_json::from_str(&read("t.json")).unwrap();
    assert_eq!((&json["schema"], &json["study"]), (&"dagsplit-reproduce/1".into(), &"table1".into()));
    let records: Vec<&Value> =
        json["runs"].as_array().unwrap().iter().filter_map(|run| run["result"].get("record")).collect();
    assert!(records.iter().any(|record| record["method"] == "dp" && record["verified"] == true), "{json}");
    assert!(read("t.md").contains("5.00* (32.91") && read("t.tex").contains("\\begin{tabular}"));
}

#[test]
fn a_split_that_is_not_at_hand_is_named() {
    let folder = folder();
    let table = run(folder.path(), "reproduce table1 --workloads . --only GNMT --columns expert,DP", 0);
    assert!(
        table.contains("– (46.21) [") && table.contains("not at hand: tarnawski2020/expert/gnmt_inference_expert.json"),
        "{table}"
    );
}

#[test]
fn a_reproduction_is_resumed() {
    let folder = folder();
    let arguments = "reproduce table1 --workloads . --only GNMT --columns DPL --results runs.jsonl --resume";
    run(folder.path(), arguments, 0);
    let path = folder.path().join("runs.jsonl");
    let first = fs::read_to_string(&path).unwrap();
    run(folder.path(), arguments, 0);
    assert_eq!(fs::read_to_string(&path).unwrap(), first);
}

#[test]
fn generated_workloads_need_no_folder() {
    let folder = tempfile::tempdir().unwrap();
    let arguments = "reproduce parmesan-clusters --only clusters --columns Res152 --export-json t.json";
    run(folder.path(), arguments, 0);
    let json: Value = serde_json::from_str(&fs::read_to_string(folder.path().join("t.json")).unwrap()).unwrap();
    let load = json["figures"].as_array().unwrap().iter().find(|figure| figure["column"] == "Res152, load").unwrap();
    assert!(load["ours"].as_f64().unwrap() > 0.0 && load["is_proven"] == true, "{load}");
    assert!(json["runs"].as_array().unwrap().iter().any(|run| {
        run["workload"].as_str().is_some_and(|command| command.starts_with("dagsplit generate resnet"))
    }));
}

#[test]
fn mapped_pipelines_are_planned_and_simulated() {
    let folder = tempfile::tempdir().unwrap();
    let arguments = "reproduce parmesan-topologies --only torus --columns (4,16) --time-limit 20 --export-json t.json";
    let table = run(folder.path(), arguments, 0);
    assert!(table.contains("2d torus") && table.contains("3d torus") && !table.contains("mesh"), "{table}");
    let json: Value = serde_json::from_str(&fs::read_to_string(folder.path().join("t.json")).unwrap()).unwrap();
    for figure in json["figures"].as_array().unwrap() {
        let ours = figure["ours"].as_f64().unwrap();
        assert!((0.8..2.0).contains(&ours) && figure["published"].is_number(), "{figure}");
    }
    let runs: Vec<&Value> =
        json["runs"].as_array().unwrap().iter().filter(|run| run["result"]["record"].is_object()).collect();
    assert_eq!(runs.len(), 4, "a rule and our map on each torus");
    for run in runs {
        assert!(run["topology"].as_str().unwrap().starts_with("dagsplit generate topology torus --shape "), "{run}");
        let record = &run["result"]["record"];
        assert_eq!((&record["status"], &record["verified"]), (&"feasible".into(), &true.into()));
        assert!(record["method"].as_str().unwrap().starts_with("cluster:k=32+dp+refine --stages 4 --replicas 16"));
        assert_eq!(record["command"][1], "plan");
    }
}

#[test]
fn the_planners_own_splits_stand_beside_the_published() {
    let folder = tempfile::tempdir().unwrap();
    let arguments =
        "reproduce parmesan-hierarchy --only dagsplit --columns Res152 --time-limit 20 --export-json t.json";
    run(folder.path(), arguments, 0);
    let json: Value = serde_json::from_str(&fs::read_to_string(folder.path().join("t.json")).unwrap()).unwrap();
    for figure in json["figures"].as_array().unwrap() {
        let is_ahead = figure["ours"].as_f64().unwrap() > 2.0;
        assert!(is_ahead && figure["published"].is_null() && figure["verdict"] == "incomparable", "{figure}");
    }
    let own = json["runs"].as_array().unwrap().iter().filter(|run| run["method"] == "auto");
    let records: Vec<&Value> = own.map(|run| &run["result"]["record"]).filter(|record| record.is_object()).collect();
    assert_eq!(records.len(), 3);
    for record in records {
        let words = record["command"].as_array().unwrap();
        assert!(words[1] == "plan" && words.iter().all(|word| !word.as_str().unwrap().contains("partitioner")));
        assert_eq!(record["verified"], true);
    }
}

#[test]
fn what_there_is_is_listed_and_what_there_is_not_refused() {
    let folder = tempfile::tempdir().unwrap();
    let list = run(folder.path(), "reproduce", 0);
    for name in ["table1", "latency", "parmesan-refinement", "parmesan-ensemble-large", "rannc-bert", "chen-hierarchy"]
    {
        assert!(list.contains(name), "{list}");
    }
    run(folder.path(), "reproduce table9", 2);
    run(folder.path(), "reproduce table1 --only nonesuch", 2);
    run(folder.path(), "reproduce table1 --workloads nowhere", 3);
    run(folder.path(), "reproduce table1 --only GNMT", 5);
}

/// A chain of layers: times, transfers behind each, memory.
struct Layers {
    times: Vec<f64>,
    transfers: Vec<f64>,
    memory: Vec<f64>,
}

impl Layers {
    /// The layers of a generated workload, if each feeds the next one alone.
    fn generated(folder: &Path, command: &str) -> Option<Self> {
        run(folder, &format!("{} --output w.json", command.strip_prefix("dagsplit ")?), 0);
        let instance: Value = serde_json::from_str(&fs::read_to_string(folder.join("w.json")).unwrap()).unwrap();
        let edges = instance["edges"].as_array().unwrap();
        let is_chain = edges.iter().enumerate().all(|(v, edge)| edge["source"] == v && edge["target"] == v + 1);
        let of = |figure: fn(&Value) -> &Value| {
            instance["nodes"].as_array().unwrap().iter().map(|node| figure(node).as_f64().unwrap()).collect()
        };
        is_chain.then(|| Self {
            times: of(|node| &node["accelerator_times"][0]),
            transfers: of(|node| &node["transfer_time"]),
            memory: of(|node| &node["memory"]),
        })
    }

    /// The load of a stage of the layers `first..end`; none where 141 GB do not hold them.
    fn load(&self, first: usize, end: usize) -> Option<f64> {
        let cut = |at: usize| if at > 0 && at < self.times.len() { self.transfers[at - 1] } else { 0.0 };
        let fits = self.memory[first..end].iter().sum::<f64>() <= 141e9;
        fits.then(|| self.times[first..end].iter().sum::<f64>() + cut(first) + cut(end))
    }

    /// The least largest load of so many stages at most.
    fn optimum(&self, stages: usize) -> f64 {
        let n = self.times.len();
        let mut best = vec![f64::INFINITY; n];
        best.push(0.0);
        for _ in 0..stages {
            let with_one_more = |first: usize| {
                let stages = (first + 1..=n).filter_map(|end| Some(self.load(first, end)?.max(best[end])));
                stages.fold(best[first], f64::min)
            };
            best = (0..=n).map(with_one_more).collect();
        }
        best[0]
    }
}

/// Loads and optimum of every split of a chain, by sums and by a recursion over its layers.
#[test]
fn defaults_are_valued_as_by_hand() {
    let folder = tempfile::tempdir().unwrap();
    run(folder.path(), "reproduce defaults --export-json t.json", 0);
    let json: Value = serde_json::from_str(&fs::read_to_string(folder.path().join("t.json")).unwrap()).unwrap();
    let answers: Value = serde_json::from_str(include_str!("../src/reproduce/defaults.json")).unwrap();
    let figures = json["figures"].as_array().unwrap();
    let optima = json["runs"].as_array().unwrap().iter().filter(|run| run["method"] == "dp");
    let (mut valued, mut without) = (0, 0);
    for (optimum, run) in figures.iter().filter(|figure| figure["column"] == "optimum").zip(optima) {
        let Some(layers) = Layers::generated(folder.path(), run["workload"].as_str().unwrap()) else { continue };
        let row = optimum["row"].as_str().unwrap();
        let devices = row.split(' ').rev().nth(1).unwrap().parse().unwrap();
        let least = layers.optimum(devices);
        assert!(
            (optimum["ours"].as_f64().unwrap() / least - 1.0).abs() < 1e-9 && optimum["is_proven"] == true,
            "{row}"
        );
        for figure in figures.iter().filter(|figure| figure["row"] == row && figure["column"] != "optimum") {
            let name = figure["column"].as_str().unwrap().rsplit_once(' ').unwrap().0;
            let stages = answers[name]["splits"][row].as_array();
            let loads = stages.and_then(|stages| {
                let end = |stage: &Value, at: usize| stage[at].as_u64().unwrap() as usize;
                stages.iter().map(|stage| layers.load(end(stage, 0), end(stage, 1) + 1)).collect::<Option<Vec<_>>>()
            });
            match loads.map(|loads| loads.into_iter().fold(0.0, f64::max) / least) {
                Some(ratio) => {
                    assert!((figure["ours"].as_f64().unwrap() / ratio - 1.0).abs() < 1e-9, "{figure}: {ratio}");
                    valued += 1;
                }
                None => {
                    let reason = figure["reason"].as_str().unwrap();
                    assert!(reason.starts_with("refused: ") || reason.contains(" GiB of its "), "{figure}");
                    without += 1;
                }
            }
        }
    }
    assert!(valued > 90 && without > 0, "{valued} and {without}");
}
