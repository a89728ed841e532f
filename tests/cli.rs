//! The command line as other programs see it: exit codes, JSON, files.

mod bench;

use std::io::Write;
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use bench::{Bench, DIAMOND};
use serde_json::{Value, json};

/// Two accelerators that take turns: each needs two subgraphs.
const ALTERNATING: &str = r#"{"fpgas": [
    {"nodes": [10, 12], "subgraphs": [[10], [12]]}, {"nodes": [11, 13], "subgraphs": [[11], [13]]}]}"#;

impl Bench {
    fn command(&self, arguments: &str) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_dagsplit"));
        command.args(arguments.split_whitespace()).current_dir(self.directory.path());
        command
    }

    /// Runs `dagsplit` with these arguments in the bench's directory.
    fn run(&self, arguments: &str) -> Ran {
        Ran { arguments: arguments.into(), output: self.command(arguments).output().unwrap() }
    }
}

struct Ran {
    arguments: String,
    output: Output,
}

impl Ran {
    #[track_caller]
    fn exits(self, code: i32) -> Self {
        assert_eq!(self.output.status.code(), Some(code), "{}\n{}{}", self.arguments, self.out(), self.err());
        self
    }

    fn out(&self) -> String {
        String::from_utf8(self.output.stdout.clone()).unwrap()
    }

    fn err(&self) -> String {
        String::from_utf8(self.output.stderr.clone()).unwrap()
    }

    fn json(&self) -> Value {
        serde_json::from_str(&self.out()).unwrap()
    }

    /// Each part stands on standard error.
    #[track_caller]
    fn complains(self, parts: &[&str]) {
        let err = self.err();
        for part in parts {
            assert!(err.contains(part), "{}: no `{part}` in\n{err}", self.arguments);
        }
    }
}

#[test]
fn solve_prints_the_contracted_json() {
    let bench = Bench::new();
    let mut record = bench.run("solve diamond.json --json --method brute-force").exits(0).json();
    assert!(record["seconds"].take().as_f64().unwrap() >= 0.0);
    assert!(record["stats"].take().is_object());
    record.as_object_mut().unwrap().remove("trace");
    let hash = record["instance"]["hash"].take();
    assert_eq!(hash.as_str().unwrap().len(), 16);
    let expected = json!({
        "schema": "dagsplit-run/1",
        "instance": {"name": "diamond", "hash": null, "nodes": 4, "edges": 4},
        "method": "brute-force",
        "scope": "acyclic",
        "objective_kind": "throughput",
        "status": "optimal",
        "objective": 7.0,
        "lower_bound": 7.0,
        "gap": 0.0,
        "seconds": null,
        "devices": [
            {"kind": "accelerator", "load": 3.0, "memory": 4.0, "nodes": [10]},
            {"kind": "accelerator", "load": 7.0, "memory": 8.0, "nodes": [11, 12]},
            {"kind": "cpu", "load": 5.0, "memory": 0.0, "nodes": [13]},
        ],
        "stats": null,
        "verified": true,
    });
    assert_eq!(record, expected);
}

#[test]
fn latencies_come_with_their_schedule() {
    let bench = Bench::new();
    let record = bench.run("solve diamond.json --json --objective latency --method brute-force").exits(0).json();
    // {10, 11} until 2 + 3 + 2, then {12, 13}: 2 + 2 + 4; or 13 on the CPU, which takes as long.
    assert_eq!((&record["objective_kind"], &record["objective"]), (&json!("latency"), &json!(15.0)));
    let devices = record["devices"].as_array().unwrap();
    let last = devices.iter().map(|device| device["finish"].as_f64().unwrap()).fold(0.0, f64::max);
    assert_eq!(last, 15.0);
    for device in devices.iter().filter(|device| device["kind"] == "accelerator") {
        let subgraph = &device["subgraphs"][0];
        assert_eq!((&subgraph["start"], &subgraph["nodes"]), (&device["start"], &device["nodes"]));
    }

    std::fs::write(bench.directory.path().join("alternating.json"), ALTERNATING).unwrap();
    let latency = "verify diamond.json alternating.json --objective latency";
    bench.run(latency).exits(1);
    // {10} until 3, {11} until 8, {12} until 12; {13}: the accelerator is free, 10 and 12 are read, and 4: 18.
    let table = bench.run(&format!("{latency} --subgraphs 2")).exits(0).out();
    for part in ["start", "finish", "  subgraph 1", "18 (latency)"] {
        assert!(table.contains(part), "no `{part}` in\n{table}");
    }
    assert!(bench.run("draw diamond.json --split alternating.json").exits(0).out().contains("<svg"));
}

#[test]
fn solve_prints_a_table_for_people() {
    let table = Bench::new().run("solve diamond.json --method brute-force,auto").exits(0).out();
    for part in ["accelerator 1", "CPU 0", "objective    7 (", "status       optimal", "best bound", "verified     yes"]
    {
        assert!(table.contains(part), "no `{part}` in\n{table}");
    }
}

#[test]
fn solve_compares_methods() {
    let record = Bench::new().run("solve diamond.json --json --method auto,brute-force").exits(0).json();
    let compared = record["compared"].as_array().unwrap();
    assert_eq!(compared.len(), 2);
    assert!(compared.iter().all(|method| method["objective"] == 7.0 && method["status"] == "optimal"));
}

#[test]
fn options_take_the_place_of_the_files_devices() {
    let bench = Bench::new();
    let objective =
        |options: &str| bench.run(&format!("solve diamond.json --json {options}")).exits(0).json()["objective"].take();
    assert_eq!(objective("--accelerators 1 --cpus 0 --memory 16GiB"), 11.0);
    assert_eq!(objective("--accelerators 3 --cpus 0 --memory unlimited"), 7.0);
    assert_eq!(objective("--cost overlap --cpus 0 --memory 12"), 6.0);
    assert_eq!(objective("--transfer-scale 0 --cpus 0 --memory 12"), 6.0);
    let gpipe = bench.run("solve diamond.json --json --objective gpipe --scope convex").exits(0).json();
    assert_eq!(
        (&gpipe["objective_kind"], &gpipe["scope"], &gpipe["objective"]),
        (&json!("gpipe"), &json!("convex"), &json!(7.0))
    );
}

#[test]
fn a_solved_split_verifies() {
    let bench = Bench::new();
    bench.run("solve diamond.json --method brute-force --output split.json").exits(0);
    assert!(bench.run("verify diamond.json split.json").exits(0).out().contains("valid        yes"));
    let record = bench.run("verify diamond.json split.json --json").exits(0).json();
    assert_eq!((&record["valid"], &record["objective"]), (&json!(true), &json!(7.0)));
    let split: Value = serde_json::from_str(&bench.read("split.json")).unwrap();
    assert_eq!(split["fpgas"][0]["nodes"], json!([10]));
}

#[test]
fn every_violation_is_listed() {
    let bench = Bench::new();
    bench.file("split.json", r#"{"maxLoad": 7, "cpus": [], "fpgas": [{"nodes": [10, 12, 13]}, {"nodes": [11]}]}"#);
    let text = bench.run("verify diamond.json split.json").exits(1).out();
    for part in ["2 violations", "12 bytes but has 10", "not acyclic"] {
        assert!(text.contains(part), "no `{part}` in\n{text}");
    }
    let record = bench.run("verify diamond.json split.json --json").exits(1).json();
    assert_eq!((&record["valid"], record["violations"].as_array().unwrap().len()), (&json!(false), 2));
    bench.run("draw diamond.json --split split.json").exits(1).complains(&["split.json", "12 bytes but has 10"]);
    // Memory is the only violation of an arbitrary split; with more of it only the claimed load is wrong.
    bench.run("verify diamond.json split.json --scope arbitrary --memory 12").exits(1);
    bench.file("split.json", r#"{"cpus": [], "fpgas": [{"nodes": [10, 12, 13]}, {"nodes": [11]}]}"#);
    bench.run("verify diamond.json split.json --scope arbitrary --memory 12").exits(0);
}

#[test]
fn usage_errors_exit_with_2_and_say_what_there_is() {
    let bench = Bench::new();
    bench.run("solve").exits(2);
    bench.run("solve diamond.json --memory lots").exits(2).complains(&["16GiB"]);
    bench.run("solve diamond.json --method nonesuch").exits(2).complains(&["nonesuch", "brute-force"]);
    bench
        .run("solve diamond.json --accelerators 1,2")
        .exits(2)
        .complains(&["--accelerators has 2 values", "1 accelerator class"]);
    bench.run("solve diamond.json --accelerators 0 --cpus 0").exits(2).complains(&["there is no device"]);
    bench.run("solve diamond.json --replicas 2").exits(2).complains(&["--sync-bandwidth"]);
    bench.run("solve diamond.json --training --inference").exits(2);
    bench.run("generate transformer --layers 0").exits(2).complains(&["layers"]);
}

#[test]
fn bad_input_exits_with_3_and_names_the_file() {
    let bench = Bench::new();
    bench.run("solve missing.json").exits(3).complains(&["missing.json"]);
    bench.file("broken.json", "{");
    bench.run("info broken.json").exits(3).complains(&["broken.json"]);
    bench.file(
        "two.json",
        &DIAMOND.replace("\"fpgaLatency\": 3", "\"fpgaLatency\": -3").replace("\"id\": 12", "\"id\": 11"),
    );
    bench.run("solve two.json").exits(3).complains(&["two.json", "11", "-3"]);
    bench.run("verify diamond.json diamond.json").exits(3).complains(&["diamond.json"]);
    bench.run("verify diamond.json nosplit.json").exits(3).complains(&["nosplit.json"]);
}

#[test]
fn infeasible_problems_exit_with_4() {
    let record = Bench::new().run("solve diamond.json --json --cpus 0 --memory 7").exits(4).json();
    assert_eq!(
        (&record["status"], &record["verified"], &record["objective"]),
        (&json!("infeasible"), &json!(false), &Value::Null)
    );
    assert_eq!(record["devices"], json!([]));
}

#[test]
fn nothing_found_within_the_limit_exits_with_5() {
    let record = Bench::new().run("solve diamond.json --json --method brute-force --time-limit 0").exits(5).json();
    assert_eq!((&record["status"], &record["objective"]), (&json!("unknown"), &Value::Null));
}

#[test]
fn unwritable_output_exits_with_74() {
    let bench = Bench::new();
    bench.run("solve diamond.json --output no/such/directory.json").exits(74).complains(&["no/such/directory.json"]);
}

#[cfg(unix)]
#[test]
fn an_interrupted_search_keeps_its_best_split() {
    let bench = Bench::new();
    let nodes: Vec<Value> = (0..12).map(|id| json!({"id": id, "supportedOnFpga": 1, "cpuLatency": 1 + id % 5, "fpgaLatency": 3 + id % 4, "isBackwardNode": 0, "size": 1})).collect();
    let free = json!({"maxSizePerFPGA": 99, "maxFPGAs": 3, "maxCPUs": 2, "nodes": nodes, "edges": []});
    bench.file("free.json", &free.to_string());
    let command = "solve free.json --json --method brute-force --scope arbitrary";
    let child = bench.command(command).stdout(Stdio::piped()).spawn().unwrap();
    std::thread::sleep(Duration::from_millis(700));
    let interrupted = Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    assert!(interrupted.success());
    let ran = Ran { arguments: command.into(), output: child.wait_with_output().unwrap() }.exits(0);
    let record = ran.json();
    assert_eq!((&record["status"], &record["verified"]), (&json!("feasible"), &json!(true)));
}

#[cfg(unix)]
#[test]
fn two_signals_at_once_are_one() {
    let bench = Bench::new();
    // `timeout` signals the program, and then its whole group.
    let search = "solve diamond.json --json --method annealing:patience=1000000000 --scope arbitrary";
    let mut command = Command::new("timeout");
    command.args(["-s", "INT", "3", env!("CARGO_BIN_EXE_dagsplit")]).args(search.split(' '));
    let output = command.current_dir(bench.directory.path()).output().unwrap();
    let record: Value = serde_json::from_slice(&output.stdout).expect("the best split is told");
    assert_eq!((&record["status"], &record["verified"]), (&json!("feasible"), &json!(true)));
}

#[cfg(unix)]
#[test]
fn a_later_second_signal_or_a_third_one_ends_at_once() {
    for pauses in [&[1500][..], &[150, 150]] {
        let bench = Bench::new();
        // `compare` gives a program that does not heed it five seconds.
        bench.file(
            "program",
            "#!/bin/sh\n[ \"$1\" = --version ] && exit\ntrap '' TERM\ntouch began\nwhile :; do sleep 0.05; done\n",
        );
        let executable = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        std::fs::set_permissions(bench.path("program"), executable).unwrap();
        let arguments = "compare diamond.json --methods dpl --quiet --program ./program";
        let child = bench.command(arguments).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let interrupt = || Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
        while !bench.path("began").exists() {
            std::thread::sleep(Duration::from_millis(20));
        }
        interrupt();
        for &pause in pauses {
            std::thread::sleep(Duration::from_millis(pause));
            interrupt();
        }
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(130), "{pauses:?}: {output:?}");
    }
}

/// A name that clears a terminal's screen, turns text around, and breaks a line.
const EVIL: &str = "a\\u001b[2J\\u009b31m\\u202eb\\nstatus";

#[track_caller]
fn shows_nothing_that_acts(what: &str, text: &str) {
    let acts =
        |c: &char| *c != '\n' && (c.is_control() || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}'));
    assert_eq!(text.chars().find(acts), None, "{what}:\n{text:?}");
}

#[test]
fn what_files_say_acts_on_no_terminal() {
    let bench = Bench::new();
    let named = format!(
        r#"{{"schema": "dagsplit-instance/1", "units": {{"time": "ms", "memory": "bytes"}}, "metadata": {{"name": "{EVIL}"}},
        "platform": {{"accelerators": [{{"name": "{EVIL}", "count": 1}}, {{"name": "b", "count": 1}}], "cpus": 1}},
        "nodes": [{{"id": 0, "name": "{EVIL}", "accelerator_times": [1, 2], "cpu_time": 3}}], "edges": []}}"#
    );
    bench.file("named.json", &named);
    let verbs = [
        "info named.json",
        "info named.json --json",
        "solve named.json --quiet",
        "solve named.json --quiet --json",
        "compare named.json --methods dp --quiet",
        "draw named.json",
        "convert named.json --to dot",
        "convert named.json --to native",
    ];
    for verb in verbs {
        let ran = bench.run(verb).exits(0);
        shows_nothing_that_acts(verb, &ran.out());
        shows_nothing_that_acts(verb, &ran.err());
    }
    assert!(bench.run("info named.json").out().contains("a\\u{1b}[2J\\u{9b}31m\\u{202e}b\\nstatus"));
    // The name itself is what it was, in files and in JSON.
    let facts = bench.run("info named.json --json").json();
    assert_eq!(facts["instance"]["name"], "a\u{1b}[2J\u{9b}31m\u{202e}b\nstatus");
    bench.run("compare named.json --methods dp --quiet --export-csv t.csv --export-latex t.tex --export-markdown t.md --export-json t.json --plot t.svg").exits(0);
    for file in ["t.csv", "t.tex", "t.md", "t.json", "t.svg"] {
        shows_nothing_that_acts(file, &bench.read(file));
    }
    // Complaints name fields, files and words of the command line.
    bench.file("field.json", &named.replace("\"edges\"", &format!("\"{EVIL}\"")));
    let ran = bench.run("info field.json").exits(3);
    shows_nothing_that_acts("field", &ran.err());
    assert_eq!(ran.err().lines().filter(|line| line.starts_with("status")).count(), 0, "{}", ran.err());
    let output = bench.command("info").arg("\u{1b}[2J\u{202e}.json").output().unwrap();
    let err = String::from_utf8(output.stderr).unwrap();
    assert_eq!((output.status.code(), err.contains("\\u{1b}[2J\\u{202e}.json")), (Some(3), true), "{err}");
    shows_nothing_that_acts("file", &err);
    let output = bench.command("info named.json").arg("\u{9b}31m\u{202e}").output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    shows_nothing_that_acts("word", &String::from_utf8(output.stderr).unwrap());
}

#[test]
fn subgraphs_count_as_many_as_there_are_nodes() {
    let bench = Bench::new();
    for method in ["greedy", "local-search", "brute-force"] {
        let solve = format!("solve diamond.json --objective latency --quiet --json --method {method}");
        let objective = |subgraphs: &str| {
            bench.run(&format!("{solve} --subgraphs {subgraphs}")).exits(0).json()["objective"].clone()
        };
        assert_eq!(objective("1000000"), objective("4"), "{method}");
    }
    bench.run("solve diamond.json --objective latency --quiet --subgraphs 1000000 --time-limit 20").exits(0);
    bench.run("solve diamond.json --objective latency --subgraphs 0").exits(2).complains(&["--subgraphs", "from 1 to"]);
}

#[test]
fn threads_beyond_the_cores_are_not_used_and_that_is_said() {
    let bench = Bench::new();
    let cores = std::thread::available_parallelism().unwrap();
    let said = format!("note: --threads 1000000: there are {cores} cores; {cores} threads are used\n");
    for verb in ["solve diamond.json --method slicegraph", "solve diamond.json --scope arbitrary --method certify"] {
        assert_eq!(bench.run(&format!("{verb} --quiet --threads 1000000")).exits(0).err(), said);
    }
    bench.run("compare diamond.json --methods dp --threads 1000000 --quiet --export-json t.json").exits(0);
    let records: Value = serde_json::from_str(&bench.read("t.json")).unwrap();
    assert_eq!(records[0]["limits"]["threads"], cores.get(), "{records}");
    bench.run("solve diamond.json --threads 1000001").exits(2).complains(&["--threads", "from 0 to 1000000"]);
}

#[cfg(unix)]
#[test]
fn a_closed_pipe_is_no_failure() {
    let bench = Bench::new();
    let mut child =
        bench.command("generate chain --nodes 20000").stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert_eq!((output.status.code(), String::from_utf8(output.stderr).unwrap()), (Some(0), String::new()));
}

#[test]
fn info_tells_the_facts() {
    let bench = Bench::new();
    let text = bench.run("info diamond.json").exits(0).out();
    assert!(text.contains("4 (4 forward, 0 backward)") && text.contains("2 accelerators with 10 B, 1 CPUs"), "{text}");
    let facts = bench.run("info diamond.json --json --accelerators 4").exits(0).json();
    assert_eq!((&facts["schema"], &facts["depth"]), (&json!("dagsplit-info/1"), &json!(4)));
    let bound = |name: &str| facts[name].as_f64().unwrap();
    assert!(bound("lower_bound") >= 4.0 * (1.0 - 1e-9), "{facts}");
    assert!(bound("lower_bound_acyclic") >= bound("lower_bound"), "{facts}");
    assert_eq!(facts["platform"]["accelerators"][0]["count"], 4);
}

#[test]
fn convert_keeps_the_problem() {
    let bench = Bench::new();
    bench.run("convert diamond.json --to native --accelerators 3 --output native.json").exits(0);
    bench.run("convert native.json --to tarnawski --output back.json").exits(0);
    let objective =
        |file: &str| bench.run(&format!("solve {file} --json --cpus 0")).exits(0).json()["objective"].take();
    assert_eq!((objective("native.json"), objective("back.json")), (json!(7.0), json!(7.0)));
    let hash = |file: &str| bench.run(&format!("info {file} --json")).exits(0).json()["instance"]["hash"].take();
    assert_eq!(hash("native.json"), hash("back.json"));
    for (format, beginning) in [("dot", "digraph"), ("metis", ""), ("scotch", "")] {
        let text = bench.run(&format!("convert diamond.json --to {format}")).exits(0).out();
        assert!(!text.is_empty() && text.starts_with(beginning), "{format}: {text}");
    }
}

#[test]
fn a_generated_file_names_the_command_that_makes_it() {
    let bench = Bench::new();
    let families = [
        "transformer --layers 2 --head language-model --training",
        "resnet --depth 50 --link nvlink --accelerator h100",
        "inception",
        "nasnet --repeats 2",
        "chain --nodes 9",
        "series-parallel --nodes 30",
        "layered --layers 5 --width 3",
        "dnn --nodes 60 --integer",
        "erdos-renyi --nodes 20 --memory 1e6 --cpus 2",
    ];
    for family in families {
        bench.run(&format!("generate {family} --output made.json")).exits(0);
        let made = bench.read("made.json");
        let file: Value = serde_json::from_str(&made).unwrap();
        let source = file["metadata"]["source"].as_str().unwrap().strip_prefix("dagsplit ").unwrap();
        assert_eq!(bench.run(source).exits(0).out(), made, "{source}");
    }
}

#[test]
fn pictures_show_every_device_and_escape_names() {
    let bench = Bench::new();
    bench.file("named.json", &DIAMOND.replace("\"id\": 11,", "\"id\": 11, \"name\": \"a<b>&\\u0000\\\"c\","));
    bench.run("solve named.json --method brute-force --output split.json").exits(0);
    bench.run("draw named.json --split split.json --output picture.svg").exits(0);
    let picture = bench.read("picture.svg");
    for part in ["accelerator 0", "accelerator 1", "CPU 0", "a&lt;b&gt;&amp;", "largest load 7"] {
        assert!(picture.contains(part), "no `{part}` in\n{picture}");
    }
    assert!(picture.chars().all(|c| !c.is_control() || c == '\n'));
    let stages = bench.run("draw named.json --split split.json --detail stages").exits(0).out();
    assert!(stages.contains("load 7") && stages.contains("2 nodes"), "{stages}");
    assert_eq!(bench.run("draw named.json --split split.json").out(), picture, "pictures are reproducible");
}

#[test]
fn pictures_fold_to_a_page_and_need_nothing_that_converters_lack() {
    let bench = Bench::new();
    let families =
        ["chain --nodes 20", "chain --nodes 80", "dnn --nodes 24 --seed 3", "resnet --depth 50", "transformer"];
    for family in families {
        bench.run(&format!("generate {family} --output made.json")).exits(0);
        let picture = bench.run("draw made.json").exits(0).out();
        let (_, view) = picture.split_once("viewBox=\"0 0 ").unwrap();
        let sides: Vec<f64> = view.split('"').next().unwrap().split(' ').map(|side| side.parse().unwrap()).collect();
        assert!((1.0 / 1.6..=1.6).contains(&(sides[0] / sides[1])), "{family}: {sides:?}");
        let stages = bench.run("draw made.json --detail stages").exits(0).out();
        assert!(!picture.contains("paint-order") && !stages.contains("paint-order"), "{family}");
    }
}

#[test]
fn big_graphs_are_drawn_quickly() {
    let bench = Bench::new();
    for family in
        ["dnn --nodes 20000 --training", "erdos-renyi --nodes 1500 --density 0.1", "layered --layers 2 --width 1200"]
    {
        bench.run(&format!("generate {family} --output big.json")).exits(0);
        for detail in ["", "--detail nodes", "--detail stages"] {
            let started = Instant::now();
            let picture = bench.run(&format!("draw big.json {detail}")).exits(0).out();
            assert!(picture.starts_with("<svg") && picture.len() < 20_000_000, "{family} {detail}");
            assert!(started.elapsed() < Duration::from_secs(20), "{family} {detail}: {:?}", started.elapsed());
        }
    }
}

#[cfg(unix)]
#[test]
fn conform_tells_which_programs_obey_the_laws() {
    let bench = Bench::new();
    let run = |program: &str, arguments: &str| {
        let mut command = bench.command(&format!("conform {arguments}"));
        let output = command.args(["--exec", program]).output().unwrap();
        Ran { arguments: format!("conform {arguments} --exec '{program}'"), output }
    };
    bench.file("unknown.sh", "echo '{\"status\": \"unknown\"}'");
    let report = run("sh unknown.sh", "--cases 3 --json").exits(0).json();
    assert_eq!((&report["schema"], &report["passed"]), (&json!("dagsplit-conformance/1"), &json!(true)));
    assert_eq!(report["quality"]["cases"], 3);

    bench.file("infeasible.sh", "echo '{\"status\": \"infeasible\"}'");
    let report = run("sh infeasible.sh", "--cases 3 --json").exits(1).json();
    let finding = &report["findings"][0];
    assert_eq!((&finding["law"], &finding["nodes"]), (&json!("infeasible"), &json!(1)));
    assert_eq!(finding["file"], "conform-failures/infeasible.json");
    bench.run("solve conform-failures/infeasible.json").exits(0);
    let again = finding["again"].as_str().unwrap();
    let again = Command::new("sh").args(["-c", again]).current_dir(bench.directory.path()).output().unwrap();
    assert_eq!(String::from_utf8(again.stdout).unwrap().trim(), r#"{"status": "infeasible"}"#);

    let table = run("sh infeasible.sh", "--cases 3 --waive deterministic --failures elsewhere").exits(1).out();
    for part in ["1 law is broken", "elsewhere/infeasible.json", "there is a split", "DAGSPLIT_SCOPE=acyclic"] {
        assert!(table.contains(part), "no `{part}` in\n{table}");
    }
    assert!(!table.contains("deterministic"), "{table}");
    run("sh infeasible.sh", "--cases 3 --waive infeasible").exits(0);
    run("no/such/program", "").exits(2).complains(&["no/such/program"]);
}

#[test]
fn conform_tries_methods() {
    let bench = Bench::new();
    let table = bench.run("conform --method dpl --families chain,training --cases 2").exits(0).out();
    assert!(table.contains("result       passed") && table.contains("training"), "{table}");
    bench.run("conform").exits(2).complains(&["--exec", "--method"]);
    bench.run("conform --method latency-dp").exits(2).complains(&["no case was tried", "latency"]);
    bench.run("conform --method nonesuch").exits(2).complains(&["nonesuch", "brute-force"]);
    bench.run("conform --method dpl --families nonesuch").exits(2).complains(&["series-parallel"]);
}

#[test]
#[cfg(feature = "highs")] // The page is that of the default build.
fn the_table_of_methods_is_up_to_date() {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/methods.md");
    let page = std::fs::read_to_string(&path).unwrap();
    let (begin, end) = ("<!-- table: begin -->\n", "<!-- table: end -->");
    let (before, rest) = page.split_once(begin).unwrap();
    let (_, after) = rest.split_once(end).unwrap();
    let table = Bench::new().run("methods --markdown").exits(0).out();
    let wanted = format!("{before}{begin}{table}{end}{after}");
    if std::env::var_os("DAGSPLIT_UPDATE").is_some() {
        std::fs::write(&path, wanted).unwrap();
    } else {
        assert_eq!(page, wanted, "run: DAGSPLIT_UPDATE=1 cargo test --test cli");
    }
}

#[test]
#[cfg(feature = "highs")] // The page is that of the default build.
fn help_is_what_it_was() {
    let bench = Bench::new();
    insta::assert_snapshot!("help", bench.run("--help").exits(0).out());
    insta::assert_snapshot!("solve", bench.run("solve -h").exits(0).out());
}

#[test]
#[cfg(feature = "highs")]
fn a_written_program_and_a_solution_of_it_make_a_split() {
    let bench = Bench::new();
    bench.run("formulate diamond.json --scope convex --out model.mps").exits(0);
    bench.run("formulate diamond.json --scope convex --strong --out model.lp").exits(0);
    for name in ["model.mps", "model.lp"] {
        assert!(bench.read(name).contains("x_v12_a1"), "{name}");
    }
    bench.file("other.sol", "x_v10_a1 1\nx_v11_a1 1\nx_v12_a0 1\nx_v13_c0 1\n");
    let import = "import-solution diamond.json other.sol --scope convex";
    let record = bench.run(&format!("{import} --json --output split.json")).exits(0).json();
    assert_eq!((&record["valid"], &record["objective"]), (&json!(true), &json!(7.0)));
    bench.run("verify diamond.json split.json --scope convex").exits(0);

    // {10, 12} is not convex: the path over 11 leaves it.
    bench.file("other.sol", "x_v10_a1 1\nx_v11_a0 1\nx_v12_a1 1\nx_v13_c0 1\n");
    assert!(bench.run(import).exits(1).out().contains("invalid"));
    bench.file("other.sol", "x_v10_a1 1\n");
    bench.run(import).exits(3).complains(&["other.sol", "11"]);
    std::fs::File::create(bench.path("other.sol")).unwrap().set_len(1 << 30).unwrap();
    bench.run(import).exits(3).complains(&["other.sol", "at most 536870912 are read"]);
    bench.run("formulate diamond.json --scope convex --out model.txt").exits(2).complains(&[".mps", ".lp"]);
    bench.run("formulate diamond.json --out model.mps").exits(2).complains(&["--scope convex"]);
    bench.run("formulate diamond.json --scope convex --out no/model.mps").exits(74).complains(&["no/model.mps"]);
}

#[test]
fn a_dash_is_standard_input() {
    let bench = Bench::new();
    let run = |arguments: &str, input: &str| {
        let mut child = bench.command(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
        Ran { arguments: arguments.into(), output: child.wait_with_output().unwrap() }
    };
    let record = run("solve - --json --output split.json --proof diamond.proof", DIAMOND).exits(0).json();
    assert_eq!((&record["objective"], &record["certified"]), (&json!(7.0), &json!(true)));
    run("verify diamond.json - --json", &bench.read("split.json")).exits(0);
}

#[test]
fn programs_are_told_of_errors_in_json() {
    let bench = Bench::new();
    for (arguments, code, part) in [
        ("solve missing.json --json", 3, "missing.json"),
        ("solve diamond.json --json --method dpp", 2, "dpp"),
        ("info diamond.json --json --cpus many", 2, "--cpus"),
    ] {
        let error = bench.run(arguments).exits(code).json();
        assert_eq!((&error["schema"], &error["exit_code"]), (&json!("dagsplit-error/1"), &json!(code)), "{arguments}");
        assert!(error["error"].as_str().unwrap().contains(part), "{error}");
    }
    assert!(bench.run("solve missing.json").exits(3).out().is_empty());
}
