//! Many runs: several at a time, in parts, by several processes, killed and gone on with; `exec:` as one of the methods.
#![cfg(unix)] // Programs that misbehave are shell scripts.

mod bench;

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use bench::{Bench, DIAMOND};
use serde_json::{Value, json};

/// Methods with and without chance, of which one takes no such problem.
const METHODS: &str = "dp,dpl,brute-force,slicegraph:generations=4,latency-dp";

impl Bench {
    fn command(&self, arguments: &str) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_dagsplit"));
        let words = shlex::split(arguments).unwrap();
        command.args(words).current_dir(self.directory.path()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    /// Runs `dagsplit` with these arguments, which has to exit with `code`.
    #[track_caller]
    fn run(&self, arguments: &str, code: i32) -> Output {
        let output = self.command(arguments).output().unwrap();
        let err = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(code), "{arguments}\n{err}");
        output
    }

    /// Three workloads and their list.
    fn workloads(&self) {
        for (name, time) in [("one", 3), ("two", 4), ("three", 5)] {
            self.file(
                &format!("{name}.json"),
                &DIAMOND.replace("\"fpgaLatency\": 3", &format!("\"fpgaLatency\": {time}")),
            );
        }
        self.file("list", "one.json\ntwo.json\n\nthree.json\n");
    }

    fn script(&self, name: &str, text: &str) {
        self.file(name, &format!("#!/bin/sh\n{text}\n"));
        fs::set_permissions(self.path(name), fs::Permissions::from_mode(0o755)).unwrap();
    }

    /// The records that a comparison tells, without what differs from run to run.
    #[track_caller]
    fn told(&self, arguments: &str) -> Vec<Value> {
        self.run(&format!("compare {arguments} --export-json told.json"), 0);
        let records: Vec<Value> = serde_json::from_str(&self.read("told.json")).unwrap();
        records.into_iter().map(timeless).collect()
    }
}

/// A record without times, what was told at times, memory, machine and which build it was.
fn timeless(mut record: Value) -> Value {
    let fields = record.as_object_mut().unwrap();
    for field in ["seconds", "process_seconds", "cpu_seconds", "peak_bytes", "machine", "stats", "trace"] {
        fields.remove(field);
    }
    record["versions"].as_object_mut().unwrap().remove("program");
    record
}

fn lines(path: &Path) -> Vec<Value> {
    fs::read_to_string(path).unwrap().lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// The records of all journals in a folder.
fn journals(folder: &Path) -> Vec<Value> {
    fs::read_dir(folder).unwrap().flat_map(|entry| lines(&entry.unwrap().path())).collect()
}

/// How often each run stands in records.
fn counted(records: &[Value]) -> BTreeMap<String, usize> {
    let mut counts = BTreeMap::new();
    for record in records {
        let key = format!("{} {} {}", record["file"], record["method"], record["seed"]);
        *counts.entry(key).or_default() += 1;
    }
    counts
}

/// Waits until something holds.
#[track_caller]
fn wait_for(what: &str, holds: impl Fn() -> bool) {
    let started = Instant::now();
    while !holds() {
        assert!(started.elapsed() < Duration::from_secs(60), "{what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Whether a program that a test needs is there; else it says so.
fn is_here(program: &str, test: &str) -> bool {
    let found = Command::new("sh").args(["-c", &format!("command -v {program}")]).stdout(Stdio::null()).status();
    let is_found = found.is_ok_and(|status| status.success());
    if !is_found {
        eprintln!("*** SKIPPED: {test} needs {program}, which is not here ***");
    }
    is_found
}

#[test]
fn runs_beside_each_other_and_in_parts_are_those_one_after_another() {
    let bench = Bench::new();
    bench.workloads();
    let asked = format!("--workloads-from list --methods {METHODS} --seeds 0..2 --memory-limit 1GB");
    let serial = bench.told(&asked);
    // One row says that latency-dp takes no such problem.
    assert_eq!(serial.len(), 3 * (4 * 3 + 1));
    assert!(counted(&serial).values().all(|&count| count == 1));
    assert_eq!(bench.told(&format!("{asked} --jobs 3")), serial);

    let parts: Vec<_> = (1..=4)
        .map(|part| bench.command(&format!("compare {asked} --results all/ --shard {part}/4")).spawn().unwrap())
        .collect();
    for part in parts {
        let output = part.wait_with_output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }
    assert_eq!(fs::read_dir(bench.path("all")).unwrap().count(), 4);
    let kept = journals(&bench.path("all"));
    assert_eq!(counted(&kept), counted(&serial));
    // Whatever ran again would now fail.
    bench.script("dead", "exit 70");
    assert_eq!(bench.told(&format!("{asked} --results all/ --program ./dead --any-version")), serial);
    bench.run(&format!("compare {asked} --results all.jsonl --shard 1/4"), 2);
}

#[test]
#[cfg(target_os = "linux")] // Elsewhere no system tells how much memory there is.
fn a_share_of_the_memory_is_a_limit_like_any_other() {
    let bench = Bench::new();
    let asked = "compare diamond.json --methods dp,dpl --results runs/";
    bench.run(&format!("{asked} --jobs 2"), 0);
    for record in journals(&bench.path("runs")) {
        let word = json!(format!("--memory-limit={}", record["limits"]["memory_limit"]));
        assert!(record["command"].as_array().unwrap().contains(&word), "{record}");
    }
    bench.run(asked, 0);
    assert_eq!(journals(&bench.path("runs")).len(), 4, "a run that has all the memory is another one");
}

#[test]
fn runs_by_other_costs_are_other_runs() {
    let bench = Bench::new();
    bench.run("compare diamond.json --methods dp --results runs/", 0);
    let asked = "diamond.json --methods dp --costs per-edge";
    assert_eq!(bench.told(&format!("{asked} --results runs/")), bench.told(asked));
    assert_eq!(journals(&bench.path("runs")).len(), 2);
}

#[test]
fn a_copy_of_a_workload_keeps_its_name() {
    let bench = Bench::new();
    bench.file("copy.json", DIAMOND);
    let alone = bench.told("copy.json --methods dp");
    let both = bench.told("diamond.json copy.json --methods dp --results runs/");
    assert_eq!((&both[0]["file"], &both[1..]), (&json!("diamond.json"), &alone[..]));
    assert_eq!(journals(&bench.path("runs")).len(), 1);
}

#[test]
fn a_part_with_nothing_to_do_is_done() {
    let bench = Bench::new();
    for part in 1..=3 {
        bench.run(&format!("compare diamond.json --methods dp,latency-dp --results runs/ --shard {part}/3"), 0);
    }
    assert_eq!(journals(&bench.path("runs")).len(), 2);
    bench.run("compare diamond.json --methods latency-dp", 5);
    bench.run("reproduce defaults --only 3.2 --columns vLLM --results study/ --shard 9/9", 0);
}

#[test]
fn a_study_is_made_in_parts_as_well() {
    let bench = Bench::new();
    let asked = "reproduce defaults --only 3.2 --columns optimum,vLLM,PiPPy --export-json";
    let figures = |file: &str| {
        let study: Value = serde_json::from_str(&bench.read(file)).unwrap();
        assert_eq!(study["figures"].as_array().map(Vec::len), Some(6));
        study["figures"].clone()
    };
    bench.run(&format!("{asked} serial.json"), 0);
    bench.run(&format!("{asked} beside.json --jobs 3"), 0);
    assert_eq!(figures("beside.json"), figures("serial.json"));
    for part in ["1/2", "2/2"] {
        bench.run(&format!("{asked} part.json --results runs/ --shard {part}"), 0);
    }
    let kept = journals(&bench.path("runs"));
    assert_eq!(kept.len(), 6);
    bench.run(&format!("{asked} merged.json --results runs/"), 0);
    assert_eq!(figures("merged.json"), figures("serial.json"));
    assert_eq!(journals(&bench.path("runs")).len(), 6, "nothing was run again");
}

#[test]
fn tasks_are_listed_and_make_what_they_say() {
    let bench = Bench::new();
    bench.workloads();
    let asked = format!("compare --workloads-from list --methods {METHODS} --seeds 4,2 --results none/ --list-tasks");
    let listed = |more: &str| -> Vec<Value> {
        let output = bench.run(&format!("{asked} {more}"), 0);
        String::from_utf8(output.stdout).unwrap().lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    };
    let all = listed("");
    assert_eq!(all.len(), 3 * (4 * 2 + 1));
    assert!(!bench.path("none").exists());
    let mut parts: Vec<Value> = (1..=3).flat_map(|part| listed(&format!("--shard {part}/3"))).collect();
    parts.sort_by_key(|task| task["task"].as_u64());
    assert_eq!(parts, all);
    let refused = all.iter().filter(|task| !task["refusal"].is_null());
    assert_eq!(refused.map(|task| &task["method"]).collect::<Vec<_>>(), ["latency-dp"; 3]);
    bench.run("reproduce defaults --only 3.2 --list-tasks", 2);
    let words = all[1]["command"].as_array().unwrap()[1..].iter().map(|word| word.as_str().unwrap());
    let answer = bench.run(&format!("{} --json", shlex::try_join(words).unwrap()), 0);
    let answer: Value = serde_json::from_slice(&answer.stdout).unwrap();
    assert_eq!((&all[1]["seed"], &answer["method"]), (&json!(2), &all[1]["method"]));
}

#[test]
fn a_sweep_that_is_killed_loses_its_running_task_alone() {
    let bench = Bench::new();
    bench.workloads();
    let dagsplit = env!("CARGO_BIN_EXE_dagsplit");
    // The fifth run hangs until the sweep is killed.
    bench.script(
        "program",
        &format!("case \"$*\" in *two.json*--method=dpl*) [ -e once ] || {{ touch once; sleep 600; }};; esac\nexec {dagsplit} \"$@\""),
    );
    let asked = "--workloads-from list --methods dp,dpl,brute-force";
    for (results, journal) in [("runs/", "runs"), ("runs.jsonl --resume", "runs.jsonl")] {
        let records = || {
            let path = bench.path(journal);
            if path.is_dir() {
                journals(&path)
            } else if path.exists() {
                lines(&path)
            } else {
                Vec::new()
            }
        };
        let arguments = format!("{asked} --results {results} --program ./program");
        let mut sweep = bench.command(&format!("compare {arguments}")).spawn().unwrap();
        wait_for("the fifth run begins", || bench.path("once").exists());
        sweep.kill().unwrap();
        sweep.wait().unwrap();
        let before = records();
        assert_eq!(before.len(), 4);
        let told = bench.told(&arguments);
        assert_eq!(told, bench.told(asked));
        let after = records();
        assert_eq!((after.len(), counted(&after).len()), (9, 9));
        assert!(before.iter().all(|record| after.contains(record)), "what was done is as it was");
        fs::remove_file(bench.path("once")).unwrap();
    }
}

impl Bench {
    /// Two workloads and three topologies with their lists, but for the first of each; and how to plan all of them.
    fn plans(&self) -> String {
        for (layers, name) in [(2, "small"), (4, "large")] {
            let model = format!("--model llama3-8b --layers {layers} --tensor-degrees 1,2 --precision fp16");
            self.run(&format!("generate llm {model} --accelerator h100 --cpus 0 --output {name}.json"), 0);
        }
        for nodes in 1..=3 {
            let shape = format!("--nodes {nodes} --node-size 2 --output nodes{nodes}.json");
            self.run(&format!("generate topology hierarchical {shape}"), 0);
        }
        self.file("workloads", "large.json\n");
        self.file("topologies", "nodes2.json\nnodes3.json\n");
        let lists = "--workloads-from workloads --topologies-from topologies";
        format!("plan small.json nodes1.json {lists} --batch 12 --schedule gpipe,1f1b --memory-limit 1GB")
    }

    /// The records that plans tell, without what differs from run to run.
    #[track_caller]
    fn planned(&self, arguments: &str) -> Vec<Value> {
        self.run(&format!("{arguments} --export-json told.json"), 0);
        let records: Vec<Value> = serde_json::from_str(&self.read("told.json")).unwrap();
        records.into_iter().map(timeless).collect()
    }
}

#[test]
fn plans_beside_each_other_and_in_parts_are_those_one_after_another() {
    let bench = Bench::new();
    let asked = bench.plans();
    let serial = bench.planned(&asked);
    assert_eq!(serial.len(), 2 * 3);
    // Each is what one plan says that is made alone, by the command that its record holds.
    for record in &serial {
        let words = record["command"].as_array().unwrap()[1..].iter().map(|word| word.as_str().unwrap());
        let alone = bench.run(&format!("{} --json", shlex::try_join(words).unwrap()), 0);
        let alone: Value = serde_json::from_slice(&alone.stdout).unwrap();
        assert_eq!((&alone["objective"], &alone["lower_bound"]), (&record["objective"], &record["lower_bound"]));
        assert_eq!(
            alone["candidates"].as_array().unwrap().iter().find(|plan| plan["status"] == "best"),
            Some(&record["plan"])
        );
    }
    assert_eq!(bench.planned(&format!("{asked} --jobs 3")), serial);
    for part in 1..=4 {
        bench.run(&format!("{asked} --results plans/ --shard {part}/4"), 0);
    }
    assert_eq!(journals(&bench.path("plans")).len(), 6);
    bench.script("dead", "exit 70");
    let merged = format!("{asked} --results plans/ --program ./dead --any-version");
    assert_eq!(bench.planned(&merged), serial, "nothing is planned again");
    let listed = bench.run(&format!("{asked} --list-tasks"), 0);
    assert_eq!(String::from_utf8(listed.stdout).unwrap().lines().count(), 6);
    // Files are of one plan.
    let refused = bench.run(&format!("{asked} --output split.json --html plan.html"), 2);
    assert!(String::from_utf8_lossy(&refused.stderr).contains("--output=split.json, --html=plan.html"));
}

#[test]
fn a_worker_that_is_killed_loses_its_running_plan_alone() {
    let bench = Bench::new();
    let asked = bench.plans();
    let serial = bench.planned(&asked);
    let dagsplit = env!("CARGO_BIN_EXE_dagsplit");
    // The fourth plan hangs until the worker is killed.
    bench.script(
        "program",
        &format!("case \"$*\" in *large.json*nodes1.json*) [ -e once ] || {{ touch once; sleep 600; }};; esac\nexec {dagsplit} \"$@\""),
    );
    let arguments = format!("{asked} --results plans/ --program ./program");
    let mut worker = bench.command(&arguments).spawn().unwrap();
    wait_for("the fourth plan begins", || bench.path("once").exists());
    worker.kill().unwrap();
    worker.wait().unwrap();
    let before = journals(&bench.path("plans"));
    assert_eq!(before.len(), 3);
    assert_eq!(bench.planned(&arguments), serial);
    let after = journals(&bench.path("plans"));
    assert_eq!(after.len(), 6);
    assert!(before.iter().all(|record| after.contains(record)), "what was done is as it was");
}

#[test]
fn sweeps_that_share_a_file_lose_nothing() {
    let bench = Bench::new();
    bench.workloads();
    let sweeps: Vec<_> = (0..3)
        .map(|seed| {
            let asked = format!("compare --workloads-from list --methods dp,dpl,brute-force,greedy --seed {seed}");
            bench.command(&format!("{asked} --results runs.jsonl --resume")).spawn().unwrap()
        })
        .collect();
    for sweep in sweeps {
        assert!(sweep.wait_with_output().unwrap().status.success());
    }
    let kept = lines(&bench.path("runs.jsonl"));
    assert_eq!((kept.len(), counted(&kept).len()), (36, 36));
}

#[test]
fn results_of_another_version_are_not_taken_unasked() {
    let bench = Bench::new();
    let dagsplit = env!("CARGO_BIN_EXE_dagsplit");
    // Two builds of one version.
    for build in ["old", "older"] {
        let does = format!("[ \"$1\" = --version ] && exec echo dagsplit 0.0.9; exec {dagsplit} \"$@\" # {build}");
        bench.script(build, &does);
    }
    let asked = "compare diamond.json --methods dp,dpl --results runs/";
    bench.run(&format!("{asked} --program ./old"), 0);
    let count = || journals(&bench.path("runs")).len();
    let starts = [
        ("--program ./old", 2),
        ("--any-version", 2),
        ("--program ./older", 4),
        ("", 6),
        ("", 6),
        ("--time-limit 9", 8),
    ];
    for (more, expected) in starts {
        bench.run(&format!("{asked} {more}"), 0);
        assert_eq!(count(), expected, "{more}");
    }
    let versions: Vec<Value> =
        journals(&bench.path("runs")).iter().map(|r| r["versions"]["dagsplit"].clone()).collect();
    assert_eq!(versions.iter().filter(|version| *version == "0.0.9").count(), 4);
    bench.run("compare diamond.json --methods dp --results runs.jsonl --any-version", 2);
    bench.run("compare diamond.json --methods dp --program ./missing", 2);
}

#[test]
fn a_program_tells_all_of_its_versions() {
    let bench = Bench::new();
    let (own, of_program) = (
        bench.told("diamond.json --methods dp"),
        bench.told(concat!("diamond.json --methods dp --program ", env!("CARGO_BIN_EXE_dagsplit"))),
    );
    assert_eq!(own, of_program);
}

#[test]
fn a_bad_workload_is_told_and_left_out() {
    let bench = Bench::new();
    bench.file("bad.json", "{");
    let arguments = "compare bad.json diamond.json missing.json --methods dp";
    bench.run(arguments, 3);
    let output = bench.run(&format!("{arguments} --skip-bad"), 0);
    let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(
        out.contains("diamond") && err.contains("left out: bad.json") && err.contains("left out: missing.json"),
        "{err}"
    );
}

#[test]
fn records_hold_the_split_and_what_was_known_when() {
    let bench = Bench::new();
    bench.run("generate dnn --nodes 60 --seed 1 --output w.json", 0);
    bench.run("compare w.json --methods portfolio --export-json told.json", 0);
    let records: Value = serde_json::from_str(&bench.read("told.json")).unwrap();
    let record = &records[0];
    let nodes = record["devices"].as_array().unwrap().iter().flat_map(|device| device["nodes"].as_array().unwrap());
    let mut nodes: Vec<u64> = nodes.map(|node| node.as_u64().unwrap()).collect();
    nodes.sort_unstable();
    assert_eq!(nodes.len(), 60);
    let loads = record["devices"].as_array().unwrap().iter().map(|device| device["load"].as_f64().unwrap());
    assert_eq!(Some(loads.fold(0.0, f64::max)), record["objective"].as_f64());
    let trace = record["trace"].as_array().unwrap();
    let column = |name: &str| trace.iter().filter_map(|known| known[name].as_f64()).collect::<Vec<f64>>();
    assert!(column("seconds").is_sorted() && column("bound").is_sorted());
    assert!(column("incumbent").iter().rev().is_sorted() && !trace.is_empty());
    let objective = record["objective"].as_f64().unwrap();
    assert!(column("incumbent").iter().all(|&value| value >= objective * (1.0 - 1e-9)));
    assert!(column("bound").iter().all(|&value| value <= objective * (1.0 + 1e-9)));
}

#[test]
fn a_program_is_a_method_like_any_other() {
    let bench = Bench::new();
    // It looks at what it is asked, and calls what it finds optimal: 2 + 3 + 2 + 4 on one device.
    bench.script(
        "split.sh",
        "grep -q '\"count\":3' && [ \"$DAGSPLIT_SCOPE $DAGSPLIT_SEED $2\" = 'acyclic 7 a, b' ] && \
         echo '{\"status\": \"optimal\", \"maxLoad\": 11, \"fpgas\": [{\"nodes\": [10, 11, 12, 13]}]}'",
    );
    bench.script("bad.sh", "cat > /dev/null; echo '{\"fpgas\": [{\"nodes\": [10]}]}'");
    bench.script("spin.sh", "i=0; while [ $i -lt 300000 ]; do i=$((i + 1)); done; echo '{\"status\": \"unknown\"}'");
    bench.script("hang.sh", "(sleep 4; touch survived) & sleep 60");
    let programs = [
        ("exec:./split.sh x 'a, b'", "feasible", ""),
        ("exec:./bad.sh", "rejected", "node 11 is on no device"),
        ("exec:echo hello", "rejected", "cannot be read"),
        ("exec:sh -c 'echo help >&2; exit 3'", "crashed", "exit status: 3: help"),
        ("exec:./missing", "unsupported", "cannot start `./missing`"),
        ("exec:./spin.sh", "unknown", ""),
        ("exec:./hang.sh", "unknown", ""),
    ];
    let methods: Vec<&str> = programs.iter().map(|(spec, ..)| *spec).collect();
    let methods = shlex::try_quote(&format!("brute-force,{}", methods.join(","))).unwrap().into_owned();
    let asked =
        format!("compare diamond.json --methods {methods} --accelerators 3 --memory 16 --seed 7 --time-limit 1");
    bench.run(&format!("{asked} --export-json told.json"), 0);
    let records: Vec<Value> = serde_json::from_str(&bench.read("told.json")).unwrap();
    assert_eq!(records.len(), 1 + programs.len());
    for (record, (spec, status, message)) in records[1..].iter().zip(programs) {
        assert_eq!((&record["method"], &record["status"]), (&json!(spec), &json!(status)), "{record}");
        assert!(record["message"].as_str().unwrap_or_default().contains(message), "{record}");
        // What a program claims is no proof.
        assert_eq!(record["lower_bound"], Value::Null);
    }
    assert_eq!((&records[1]["objective"], &records[1]["verified"]), (&json!(11.0), &json!(true)));
    let spun = &records[6];
    let (wall, cpu) = (&spun["stats"]["program_seconds"], &spun["stats"]["program_cpu_seconds"]);
    assert!(cpu.as_f64().unwrap() > 0.01 && wall.as_f64().unwrap() > 0.01, "{spun}");
    assert!(spun["cpu_seconds"].as_f64().unwrap() >= cpu.as_f64().unwrap(), "{spun}");
    // Killed three seconds after it began, with what it had started.
    let killed = records[7]["stats"]["program_seconds"].as_f64().unwrap();
    assert!((2.5..4.0).contains(&killed), "{killed}");
    std::thread::sleep(Duration::from_secs(2));
    assert!(!bench.path("survived").exists());

    for (spec, code) in [("./bad.sh", 1), ("echo hello", 1), ("false", 5), ("./missing", 2), ("'open", 2), ("", 2)] {
        bench.run(&format!("solve diamond.json --method {}", shlex::try_quote(&format!("exec:{spec}")).unwrap()), code);
    }
    bench.run("generate topology dgx1 --nodes 1 --output dgx1.json", 0);
    for (spec, code) in [("./bad.sh", 1), ("echo hello", 1), ("false", 5), ("./missing", 2)] {
        let spec = format!("exec:{spec}");
        bench.run(&format!("plan diamond.json dgx1.json --partitioner {}", shlex::try_quote(&spec).unwrap()), code);
    }
    bench.run("conform --method exec:./missing --cases 1", 2);
    bench.run("conform --method exec:./bad.sh --cases 2", 1);
}

#[test]
fn ctrl_c_ends_a_program() {
    let bench = Bench::new();
    bench.script("hang.sh", "echo $$ > id; sleep 600");
    let solve = bench.command("solve diamond.json --method exec:./hang.sh").spawn().unwrap();
    wait_for("it begins", || fs::read_to_string(bench.path("id")).is_ok_and(|id| id.ends_with('\n')));
    Command::new("kill").args(["-INT", &solve.id().to_string()]).status().unwrap();
    let started = Instant::now();
    assert_eq!(solve.wait_with_output().unwrap().status.code(), Some(5));
    assert!(started.elapsed() < Duration::from_secs(20));
    let id = bench.read("id");
    let is_running = || Command::new("kill").args(["-0", id.trim()]).stderr(Stdio::null()).status().unwrap().success();
    wait_for("it ends", || !is_running());
}

#[test]
fn gnu_parallel_makes_the_parts() {
    if !is_here("parallel", "the recipe for GNU parallel") {
        return;
    }
    let bench = Bench::new();
    bench.workloads();
    let asked = format!("compare --workloads-from list --methods {METHODS} --seeds 0..2");
    let run = format!(
        "parallel -j 3 {} {asked} --results runs/ --shard {{}}/6 ::: 1 2 3 4 5 6 > /dev/null",
        env!("CARGO_BIN_EXE_dagsplit")
    );
    let status = Command::new("sh").args(["-c", &run]).current_dir(bench.directory.path()).status().unwrap();
    assert!(status.success());
    let kept = journals(&bench.path("runs"));
    assert_eq!((kept.len(), counted(&kept).len()), (39, 39));
}

/// A Slurm cluster of this machine alone; `None` where Slurm is not installed, which is said.
struct Slurm {
    folder: tempfile::TempDir,
}

impl Slurm {
    fn start() -> Option<Self> {
        let test = "the recipe for Slurm";
        if !["slurmctld", "slurmd", "sbatch", "munged"].iter().all(|program| is_here(program, test)) {
            return None;
        }
        let id = Command::new("id").arg("-u").output().unwrap();
        if id.stdout != b"0\n" {
            eprintln!("*** SKIPPED: {test} needs root, to start the daemons ***");
            return None;
        }
        let slurm = Self { folder: tempfile::tempdir().unwrap() };
        assert!(slurm.script("start").success(), "the cluster does not start");
        Some(slurm)
    }

    fn script(&self, verb: &str) -> std::process::ExitStatus {
        let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/slurm/node.sh");
        Command::new("sh").args([script, verb]).arg(self.folder.path()).status().unwrap()
    }
}

impl Drop for Slurm {
    fn drop(&mut self) {
        self.script("stop");
    }
}

#[test]
fn the_tasks_of_a_slurm_array_make_the_parts() {
    let Some(slurm) = Slurm::start() else { return };
    let bench = Bench::new();
    bench.workloads();
    let dagsplit = env!("CARGO_BIN_EXE_dagsplit");
    // The second task's sweep is killed by -9 in the middle, once.
    bench.script(
        "program",
        &format!(
            "[ \"$1\" = --version ] || [ \"$SLURM_ARRAY_TASK_ID\" != 2 ] || [ -e killed ] || \
             {{ [ -e once ] && touch killed && kill -9 $PPID; touch once; }}\nexec {dagsplit} \"$@\""
        ),
    );
    let asked = format!("--workloads-from list --methods {METHODS} --seeds 0..2");
    let job = format!("{dagsplit} compare {asked} --results runs/ --shard slurm --program ./program");
    let submit = || {
        let mut command = Command::new("sbatch");
        command.args(["--array=1-4", "--wait", "--output=%a.log", "--wrap", &job]);
        command.env("SLURM_CONF", slurm.folder.path().join("slurm.conf")).current_dir(bench.directory.path());
        command.stdout(Stdio::null()).status().unwrap()
    };
    assert!(!submit().success(), "a task was killed");
    let before = journals(&bench.path("runs"));
    assert!(before.len() < 39 && bench.path("killed").exists());
    let status = submit();
    let log = || (1..=4).map(|task| bench.read(&format!("{task}.log"))).collect::<String>();
    assert!(status.success(), "{}", log());
    let after = journals(&bench.path("runs"));
    assert_eq!((after.len(), counted(&after).len()), (39, 39));
    assert!(before.iter().all(|record| after.contains(record)));
    assert_eq!(bench.told(&format!("{asked} --results runs/ --any-version")), bench.told(&asked));
    assert_eq!(journals(&bench.path("runs")).len(), 39);
}

/// A report of `conform` without its seconds.
fn report(output: &Output) -> Value {
    let mut report: Value = serde_json::from_slice(&output.stdout).unwrap();
    report.as_object_mut().unwrap().remove("seconds");
    report
}

#[test]
fn a_partitioner_in_parts_has_the_report_of_one_process() {
    let bench = Bench::new();
    bench.script("lazy.sh", "echo '{\"status\": \"infeasible\"}'");
    for (partitioner, code) in [("--method dpl", 0), ("--exec ./lazy.sh", 1)] {
        let asked = format!("conform {partitioner} --cases 30 --time-limit 60 --grace 60");
        let whole = report(&bench.run(&format!("{asked} --json"), code));
        let parallel = report(&bench.run(&format!("{asked} --jobs 3 --json"), code));
        assert_eq!(parallel, whole);
        // Results of another question count for nothing.
        bench.run(&format!("{asked} --seed 7 --results tried/ --shard 1/3"), 0);
        let others = journals(&bench.path("tried")).len();
        for part in 1..=3 {
            bench.run(&format!("{asked} --results tried/ --shard {part}/3 --jobs 2"), 0);
        }
        let tried = journals(&bench.path("tried")).len() - others;
        assert_eq!(tried, 33, "there is a large case for every ten");
        let merged = report(&bench.run(&format!("{asked} --results tried/ --json"), code));
        assert_eq!(merged, whole);
        assert_eq!(journals(&bench.path("tried")).len() - others, tried, "nothing is tried again");
        fs::remove_dir_all(bench.path("tried")).unwrap();
    }
    bench.run("conform --method dpl --shard 1/2", 2);
}

#[test]
fn a_killed_part_of_a_suite_loses_its_running_case_alone() {
    let bench = Bench::new();
    bench.script("slow.sh", "sleep 0.05; echo '{\"status\": \"unknown\"}'");
    let asked = "conform --exec ./slow.sh --cases 60 --grace 60";
    let mut child = bench.command(&format!("{asked} --results tried/")).spawn().unwrap();
    let count = || bench.path("tried").read_dir().map_or(0, |_| journals(&bench.path("tried")).len());
    wait_for("some cases are tried", || count() >= 5);
    child.kill().unwrap();
    child.wait().unwrap();
    let before = count();
    bench.run(&format!("{asked} --results tried/ --jobs 4 --json"), 0);
    assert_eq!(count(), 66);
    assert!((5..66).contains(&before));
}
