//! `dagsplit compare`: gaps, dead runs, resuming, exports.
#![cfg(unix)] // Programs that misbehave are shell scripts.

mod bench;

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Output;
use std::time::{Duration, Instant};

use assert_cmd::Command;
use bench::{Bench, DIAMOND};
use serde_json::{Value, json};

/// What a method would answer that splits the diamond at 10.
const TEN: &str = r#"{"status": "feasible", "objective": 10, "lower_bound": null, "seconds": 0.1, "verified": true}"#;

impl Bench {
    /// A program that does `does` when it is to run method dpl, and is dagsplit otherwise.
    fn program(&self, does: &str) {
        let dagsplit = assert_cmd::cargo::cargo_bin!("dagsplit").display();
        let script = format!("#!/bin/sh\ncase \"$*\" in *--method=dpl*) {does};; esac\nexec '{dagsplit}' \"$@\"\n");
        self.file("program", &script);
        fs::set_permissions(self.path("program"), fs::Permissions::from_mode(0o755)).unwrap();
    }

    /// Runs `dagsplit` with these arguments, which has to exit with `code`.
    #[track_caller]
    fn run(&self, arguments: &str, code: i32) -> Output {
        let mut command = Command::new(assert_cmd::cargo::cargo_bin!("dagsplit"));
        command.args(arguments.split_whitespace()).current_dir(self.directory.path());
        command.assert().code(code).get_output().clone()
    }

    /// The records that `arguments` give.
    #[track_caller]
    fn records(&self, arguments: &str, code: i32) -> Vec<Value> {
        self.run(&format!("compare {arguments} --export-json records.json"), code);
        serde_json::from_str(&self.read("records.json")).unwrap()
    }
}

/// The attributes and texts of a picture, which has to be well-formed.
fn drawn(svg: &str) -> (Vec<svg::node::Attributes>, Vec<String>) {
    let (mut tags, mut texts) = (Vec::new(), Vec::new());
    for event in svg::read(svg).unwrap() {
        match event {
            svg::parser::Event::Error(error) => panic!("{error}"),
            svg::parser::Event::Tag(_, _, attributes) => tags.push(attributes),
            svg::parser::Event::Text(text) => texts.push(text.to_owned()),
            _ => (),
        }
    }
    (tags, texts)
}

fn cells(csv: &str, row: usize) -> Vec<String> {
    csv.lines().nth(row).unwrap().split(',').map(str::to_owned).collect()
}

fn lines(path: &Path) -> Vec<Value> {
    fs::read_to_string(path).unwrap().lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn gaps_are_those_to_the_proven_optimum_of_the_same_scope() {
    let bench = Bench::new();
    bench.program(&format!("echo '{TEN}'; exit 0"));
    bench.run(
        "compare diamond.json --methods brute-force,dpl --scope acyclic,arbitrary --program ./program --export-csv t.csv",
        0,
    );
    let csv = bench.read("t.csv");
    // dpl takes acyclic splits alone, whose optimum is 7: (10 − 7) / 10.
    let (acyclic, arbitrary, heuristic) = (cells(&csv, 1), cells(&csv, 2), cells(&csv, 3));
    assert_eq!(acyclic[..8], ["diamond", "brute-force", "acyclic", "optimal", "7", "7", "0", "optimum"]);
    assert_eq!(
        (arbitrary[2].as_str(), arbitrary[3].as_str(), arbitrary[7].as_str()),
        ("arbitrary", "optimal", "optimum")
    );
    assert!(arbitrary[4].parse::<f64>().unwrap() <= 7.0);
    assert_eq!(heuristic[..8], ["diamond", "dpl", "acyclic", "feasible", "10", "7", "0.3", "optimum"]);
    assert_eq!(csv.lines().count(), 4);
}

#[test]
fn a_record_holds_what_it_takes_to_do_it_again() {
    let bench = Bench::new();
    let records =
        bench.records("diamond.json --methods annealing:patience=7 --scope arbitrary --seed 3 --memory 12 --cpus 0", 0);
    let record = &records[0];
    assert_eq!(record["schema"], "dagsplit-compare/1");
    assert_eq!((&record["instance"]["hash"].as_str().map(str::len), &record["seed"]), (&Some(16), &json!(3)));
    assert_eq!(record["steps"], json!([{"step": "annealing", "parameters": {"patience": "7"}}]));
    assert_eq!(record["problem"]["platform"]["accelerators"][0]["memory"], 12.0);
    assert_eq!((&record["verified"], &record["limits"]["threads"]), (&json!(true), &json!(1)));
    assert_eq!(record["versions"]["dagsplit"], env!("CARGO_PKG_VERSION"));
    assert!(!record["machine"]["cpu"].as_str().unwrap().is_empty());
    assert!(record["peak_bytes"].as_u64().unwrap() > 1 << 20, "{record}");

    let command: Vec<&str> =
        record["command"].as_array().unwrap()[1..].iter().map(|word| word.as_str().unwrap()).collect();
    let again = bench.run(&format!("{} --json", command.join(" ")), 0);
    let answer: Value = serde_json::from_slice(&again.stdout).unwrap();
    assert_eq!((&answer["objective"], &answer["scope"]), (&record["objective"], &json!("arbitrary")));
}

#[test]
fn a_run_that_dies_is_a_row_with_its_reason() {
    for (does, status, reason) in [
        ("kill -9 $$", "crashed", "signal: 9"),
        ("echo broken pipes >&2; exit 70", "crashed", "broken pipes"),
        ("echo garbage; exit 0", "crashed", "no result"),
        ("exit 0", "crashed", "no result"),
        (
            r#"echo '{"status": "feasible", "objective": 1, "lower_bound": null, "seconds": 1, "verified": false}'; exit 0"#,
            "crashed",
            "not verified",
        ),
    ] {
        let bench = Bench::new();
        bench.program(does);
        let records = bench.records("diamond.json --methods dpl,brute-force --program ./program", 0);
        assert_eq!((&records[0]["status"], &records[0]["objective"]), (&json!(status), &Value::Null), "{does}");
        let message = records[0]["message"].as_str().unwrap();
        assert!(message.contains(reason), "{does}: {message}");
        assert_eq!((&records[1]["status"], &records[1]["objective"]), (&json!("optimal"), &json!(7.0)));
        let table = String::from_utf8(
            bench.run("compare diamond.json --methods dpl,brute-force --program ./program", 0).stdout,
        )
        .unwrap();
        assert!(table.contains("diamond, dpl: crashed: "), "{table}");
    }
}

#[test]
fn a_run_that_does_not_stop_is_killed() {
    let bench = Bench::new();
    bench.program("exec sleep 60");
    let started = Instant::now();
    let arguments = "diamond.json --methods dpl,brute-force --program ./program --time-limit 0.2 --grace 0.3";
    let records = bench.records(arguments, 0);
    assert!(started.elapsed() < Duration::from_secs(20));
    assert_eq!((&records[0]["status"], &records[1]["status"]), (&json!("killed"), &json!("optimal")));
    assert!(records[0]["process_seconds"].as_f64().unwrap() >= 0.5);
}

#[test]
fn what_is_done_is_not_run_again() {
    let bench = Bench::new();
    bench.program("kill -9 $$");
    let arguments = "compare diamond.json --program ./program --results runs.jsonl";
    bench.run(&format!("{arguments} --methods brute-force,dpl"), 0);
    let first = lines(&bench.path("runs.jsonl"));
    assert_eq!((first.len(), &first[1]["status"]), (2, &json!("crashed")));

    // A results file is not overwritten by mistake.
    bench.run(&format!("{arguments} --methods brute-force"), 2);

    // Whatever ran again would now differ.
    bench.program(&format!("echo '{TEN}'; exit 0"));
    bench.run(&format!("{arguments} --methods brute-force,dpl,dp --resume --any-version"), 0);
    let second = lines(&bench.path("runs.jsonl"));
    assert_eq!((second.len(), &second[..2]), (3, &first[..]));

    // Another seed, other limits or another problem are other runs.
    for other in ["--seed 1", "--gap 0.5", "--time-limit 9", "--memory 12", "--cost overlap", "--transfer-scale 2"] {
        let before = lines(&bench.path("runs.jsonl")).len();
        bench.run(&format!("{arguments} --methods dpl --resume --any-version {other}"), 0);
        assert_eq!(lines(&bench.path("runs.jsonl")).len(), before + 1, "{other}");
    }

    bench.file("runs.jsonl", "{}\n");
    bench.run(&format!("{arguments} --methods dpl --resume"), 3);
}

#[test]
fn every_export_shows_every_run() {
    let bench = Bench::new();
    bench.file("other.json", &DIAMOND.replace("\"fpgaLatency\": 3", "\"fpgaLatency\": 6"));
    let exports = "--export-json t.json --export-csv t.csv --export-markdown t.md --export-latex t.tex --plot t.svg";
    bench.run(&format!("compare diamond.json other.json --methods dp,brute-force {exports}"), 0);
    for (name, is_data) in [("t.json", true), ("t.csv", true), ("t.md", true), ("t.tex", true), ("t.svg", false)] {
        let text = bench.read(name);
        for part in ["diamond", "other"] {
            assert!(text.matches(part).count() >= if is_data { 2 } else { 1 }, "no `{part}` in {name}:\n{text}");
        }
        assert!(text.contains("dp") && text.contains("brute-force"), "{name}:\n{text}");
    }
    bench.run("compare diamond.json --methods dp --export-csv no/t.csv", 74);
}

#[test]
fn exit_codes_are_those_of_solve() {
    let bench = Bench::new();
    bench.run("compare diamond.json --methods dp,brute-force --cpus 0 --memory 7", 4);
    bench.run("compare diamond.json --methods brute-force --time-limit 0", 5);
    bench.run("compare diamond.json --methods certify --scope acyclic", 5);
    bench.run("compare diamond.json --methods nonesuch", 2);
    bench.run("compare diamond.json missing.json --methods dp", 3);
    bench.program(&format!("echo '{}'; exit 0", TEN.replace("10", "3")));
    let output = bench.run("compare diamond.json --methods brute-force,dpl --program ./program", 70);
    assert!(String::from_utf8_lossy(&output.stderr).contains("method dpl found a valid split of 3"));
}

#[test]
fn a_results_file_without_end_is_refused() {
    let bench = Bench::new();
    let output = bench.run("compare diamond.json --methods dp --quiet --results /dev/zero --resume", 3);
    let err = String::from_utf8(output.stderr).unwrap();
    assert!(err.contains("/dev/zero") && err.contains("at most 536870912 are read"), "{err}");
}

#[test]
fn children_end_with_a_compare_that_is_killed() {
    let bench = Bench::new();
    // It has a child of its own, and neither heeds a gentle signal.
    bench.program("trap '' TERM INT HUP; sleep 600 & echo $$ $! > ids; wait");
    let mut command = std::process::Command::new(assert_cmd::cargo::cargo_bin!("dagsplit"));
    command.args("compare diamond.json --methods dpl --quiet --program ./program".split(' '));
    let mut child = command.current_dir(bench.directory.path()).stdout(std::process::Stdio::null()).spawn().unwrap();
    let wait_for = |what: &str, holds: &dyn Fn() -> bool| {
        let started = Instant::now();
        while !holds() {
            assert!(started.elapsed() < Duration::from_secs(30), "{what}");
            std::thread::sleep(Duration::from_millis(20));
        }
    };
    wait_for("it begins", &|| fs::read_to_string(bench.path("ids")).is_ok_and(|ids| ids.ends_with('\n')));
    let ids = bench.read("ids");
    child.kill().unwrap();
    child.wait().unwrap();
    let is_running = |id: &str| {
        // What has ended and is not yet reaped, by whoever adopted it, runs no more.
        let state = std::process::Command::new("ps").args(["-o", "stat=", "-p", id]).output().unwrap();
        !matches!(String::from_utf8_lossy(&state.stdout).trim().chars().next(), None | Some('Z'))
    };
    wait_for("they end", &|| !ids.split_whitespace().any(is_running));
}

#[test]
fn ctrl_c_keeps_what_is_done() {
    let bench = Bench::new();
    // It stops when asked to, as dagsplit does, and tells its best split.
    bench.program(&format!(
        "trap \"echo '{}'; exit 0\" TERM; touch began; while :; do sleep 0.05; done",
        TEN.replace('"', "\\\"")
    ));
    let mut command = std::process::Command::new(assert_cmd::cargo::cargo_bin!("dagsplit"));
    let arguments = "compare diamond.json --methods brute-force,dpl,dp --program ./program --results runs.jsonl";
    command.args(arguments.split(' ')).current_dir(bench.directory.path()).stdout(std::process::Stdio::piped());
    let child = command.spawn().unwrap();
    while !bench.path("began").exists() {
        std::thread::sleep(Duration::from_millis(20));
    }
    std::process::Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    let output = child.wait_with_output().unwrap();
    let table = String::from_utf8(output.stdout).unwrap();
    assert!(table.contains("optimal") && table.contains("interrupted") && !table.contains(" dp "), "{table}");
    let kept = lines(&bench.path("runs.jsonl"));
    assert_eq!((kept.len(), &kept[1]["status"], &kept[1]["objective"]), (2, &json!("interrupted"), &json!(10.0)));

    // An interrupted run is run again, and its new record stands after the old one.
    bench.program(&format!("echo '{TEN}'; exit 0"));
    bench.run(&format!("{arguments} --resume --any-version"), 0);
    let resumed = lines(&bench.path("runs.jsonl"));
    assert_eq!((resumed.len(), resumed.iter().filter(|r| r["status"] == "feasible").count()), (4, 1));
}

#[test]
fn tables_tell_what_runs_come_to() {
    let bench = Bench::new();
    bench.program(&format!("echo '{TEN}'; exit 0"));
    let runs = "compare diamond.json --program ./program --scope acyclic,arbitrary --seeds 1,2 --results runs/";
    let told = |methods: &str, table: &str| {
        bench.run(&format!("{runs} --methods {methods} --table {table} --export-csv t.csv --export-latex t.tex"), 0);
        bench.read("t.csv")
    };
    let methods = told("brute-force,dpl", "methods");
    let head = "method,splits,runs,splits found,proven,wins,mean gap,median gap,worst gap,mean ratio,time,spread";
    assert_eq!(methods.lines().next(), Some(head));
    // dpl takes acyclic splits alone: 10 where 7 is optimal.
    let (exact, heuristic) = (cells(&methods, 1), cells(&methods, 3));
    assert_eq!(exact[..10], ["brute-force", "acyclic", "2", "2", "2", "2", "0", "0", "0", "1"]);
    assert_eq!(heuristic[..9], ["dpl", "acyclic", "2", "2", "0", "0", "0.3", "0.3", "0.3"]);
    assert!((heuristic[9].parse::<f64>().unwrap() - 10.0 / 7.0).abs() < 1e-12 && heuristic[11] == "0");
    let ratios = told("brute-force,dpl", "ratios");
    assert_eq!(cells(&ratios, 1)[..5], ["diamond", "acyclic", "7", "optimum", "1"]);
    assert_eq!(cells(&ratios, 2)[..2], ["geometric mean", "acyclic"]);
    assert_eq!(cells(&ratios, 3)[5], "", "dpl has no arbitrary splits");
    let prices = told("brute-force", "contiguity");
    let arbitrary = cells(&told("brute-force", "ratios"), 3)[2].clone();
    let price = (7.0 / arbitrary.parse::<f64>().unwrap()).to_string();
    assert_eq!(cells(&prices, 1), ["diamond", "acyclic", "7", "arbitrary", &arbitrary, &price, &price]);
    assert_eq!(told("brute-force,dpl", "runs").lines().count(), 1 + 4 + 2);
}

#[test]
fn tables_are_latex() {
    let bench = Bench::new();
    let is_here = std::process::Command::new("pdflatex").arg("--version").output().is_ok();
    if !is_here {
        eprintln!("*** pdflatex is not here: the tables' structure alone is looked at ***");
    }
    for table in ["runs", "methods", "ratios", "contiguity", "changes"] {
        bench.run("compare diamond.json --methods brute-force,dpl --scope acyclic,arbitrary --results old/", 0);
        let asked =
            "compare diamond.json --methods brute-force,dpl --scope acyclic,arbitrary --results old/ --against old/";
        bench.run(&format!("{asked} --table {table} --export-latex t.tex"), 0);
        let tex = bench.read("t.tex");
        let columns = tex.split("\\begin{tabular}{").nth(1).unwrap().split('}').next().unwrap().len();
        let rows: Vec<&str> = tex.lines().filter(|line| line.ends_with("\\\\")).collect();
        assert!(!rows.is_empty() && rows.iter().all(|row| row.matches(" & ").count() == columns - 1), "{tex}");
        for part in ["\\toprule", "\\midrule", "\\bottomrule", "\\end{tabular}", "\\end{table}"] {
            assert_eq!(tex.matches(part).count(), 1, "{tex}");
        }
        if is_here {
            let page =
                format!("\\documentclass{{article}}\\usepackage{{booktabs}}\\begin{{document}}{tex}\\end{{document}}");
            bench.file("page.tex", &page);
            let arguments = ["-halt-on-error", "-interaction=nonstopmode", "page.tex"];
            let made =
                std::process::Command::new("pdflatex").args(arguments).current_dir(bench.directory.path()).output();
            assert!(made.unwrap().status.success(), "{page}");
        }
    }
}

#[test]
fn figures_are_drawn_in_the_size_and_format_of_their_file() {
    let bench = Bench::new();
    let asked = "compare diamond.json --methods brute-force,dp,dpl,single-device --results runs/ --plot-width 84";
    for kind in ["gaps", "profile", "proof-time", "progress", "boxes"] {
        bench.run(&format!("{asked} --plot {kind}=t.svg"), 0);
        let (tags, texts) = drawn(&bench.read("t.svg"));
        assert_eq!(tags[0]["width"].to_string(), "84.00mm");
        for method in ["brute-force", "dp", "dpl", "single-device"] {
            assert!(texts.iter().any(|text| text == method), "{kind}: {texts:?}");
        }
    }
    bench.run(asked, 2);
    bench.run(&format!("{asked} --plot t.eps"), 2);
    let scopes = format!("{asked} --scope acyclic,arbitrary --plot t.svg").replace("dpl", "portfolio");
    bench.run(&scopes, 0);
    let (_, texts) = drawn(&bench.read("t.svg"));
    for scope in ["acyclic", "arbitrary"] {
        assert!(texts.contains(&format!("Gap against time, {scope}")), "{texts:?}");
    }
    let refused = bench.run(&format!("{asked} --plot scatter=t.svg"), 2);
    assert!(
        String::from_utf8_lossy(&refused.stderr).contains("name one of gaps, profile, proof-time, progress, boxes")
    );
}

#[cfg(feature = "images")]
#[test]
fn figures_are_pages_and_pixels_too() {
    let bench = Bench::new();
    let asked = "compare diamond.json --methods brute-force,dpl --results runs/ --plot-width 84";
    bench.run(&format!("{asked} --plot profile=t.svg --plot profile=t.pdf --plot profile=t.PNG"), 0);
    let height: f64 = drawn(&bench.read("t.svg")).0[0]["height"].trim_end_matches("mm").parse().unwrap();
    let pdf = fs::read(bench.path("t.pdf")).unwrap();
    let text = String::from_utf8_lossy(&pdf);
    assert!(text.starts_with("%PDF-") && text.contains("/FontFile"), "the font is in the file");
    let page = text.split("/MediaBox [").nth(1).unwrap().split(']').next().unwrap();
    let sides: Vec<f64> = page.split_whitespace().map(|side| side.parse().unwrap()).collect();
    assert!((sides[2] / 72.0 * 25.4 - 84.0).abs() < 0.1 && (sides[3] / 72.0 * 25.4 - height).abs() < 0.1, "{sides:?}");
    let png = fs::read(bench.path("t.PNG")).unwrap();
    assert_eq!(&png[..8], b"\x89PNG\r\n\x1a\n");
    let width = u32::from_be_bytes(png[16..20].try_into().unwrap());
    assert!((f64::from(width) / 300.0 * 25.4 - 84.0).abs() < 0.2, "{width}");
}

#[cfg(not(feature = "images"))]
#[test]
fn a_format_that_is_not_built_in_is_told_before_anything_runs() {
    let bench = Bench::new();
    let refused = bench.run("compare diamond.json --methods dp --plot t.pdf --results runs.jsonl", 2);
    assert!(String::from_utf8_lossy(&refused.stderr).contains("without PDF and PNG"), "{refused:?}");
    assert!(!bench.path("runs.jsonl").exists());
}

#[test]
fn what_is_worse_than_before_is_named_and_ends_with_code_1() {
    let bench = Bench::new();
    let asked = "compare diamond.json --methods brute-force,dpl";
    bench.run(&format!("{asked} --results good.jsonl"), 0);
    bench.program(&format!("echo '{TEN}'; exit 0"));
    bench.run(&format!("{asked} --program ./program --results bad.jsonl"), 0);
    let told = |new: &str, old: &str, code: i32| {
        let program = if new == "bad" { "--program ./program" } else { "" };
        let arguments =
            format!("{asked} {program} --results {new}.jsonl --resume --against {old}.jsonl --table changes");
        let out = bench.run(&format!("{arguments} --slower-by 100000 --export-csv t.csv"), code).stdout;
        (bench.read("t.csv"), String::from_utf8(out).unwrap())
    };
    let (worse, text) = told("bad", "good", 1);
    assert_eq!(worse.lines().count(), 2);
    let row = cells(&worse, 1);
    assert_eq!(row[..3], ["diamond", "dpl", "acyclic"]);
    assert!(row[3].ends_with("worse split") && row[6] == "10", "{worse}");
    assert!(text.contains("1 runs are worse than before, 0 better, 1 the same"), "{text}");
    let (better, text) = told("good", "bad", 0);
    assert!(cells(&better, 1)[3].ends_with("better split") && better.lines().count() == 2, "{better}");
    assert!(text.contains("0 runs are worse than before, 1 better, 1 the same"), "{text}");
    let (same, _) = told("good", "good", 0);
    assert_eq!(same.lines().count(), 1);
    let refused = |arguments: &str, cause: &str| {
        let output = bench.run(arguments, 3);
        assert!(String::from_utf8_lossy(&output.stderr).contains(cause), "{output:?}");
    };
    refused(&format!("{asked} --results new.jsonl --against none.jsonl"), "cannot be read");
    assert!(!bench.path("new.jsonl").exists(), "nothing is run before it is told");
    // What holds none of the runs is no proof that nothing is worse.
    fs::create_dir(bench.path("empty")).unwrap();
    refused(&format!("{asked} --against empty"), "none of these runs");
    refused(&format!("{asked} --time-limit 60 --against good.jsonl"), "none of these runs");
    bench.run(&format!("{asked} --results new/ --against new/"), 3);
    // Two versions made the same runs.
    let other = bench.read("good.jsonl").replace(env!("CARGO_PKG_VERSION"), "0.0.9");
    bench.file("both.jsonl", &(bench.read("good.jsonl") + &other));
    refused(&format!("{asked} --against both.jsonl"), "several versions");
    // Only what went to its end counts, wherever it stands.
    let interrupted = bench.read("bad.jsonl").replace("\"feasible\"", "\"interrupted\"");
    bench.file("ended.jsonl", &(bench.read("good.jsonl") + interrupted.lines().last().unwrap() + "\n"));
    assert_eq!(told("good", "ended", 0).0.lines().count(), 1);
    bench.run(&format!("{asked} --table changes"), 2);
    // What a split disproves is no regression, but a bug.
    bench.program(
        r#"echo '{"status": "optimal", "objective": 9, "lower_bound": 9, "seconds": 0.1, "verified": true}'; exit 0"#,
    );
    bench.run("compare diamond.json --methods dpl --program ./program --against good.jsonl", 70);
}
