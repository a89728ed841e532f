//! What is asked of the memory of chunks on the command line.

use assert_cmd::Command;
use dagsplit::formats::{OutputFormat, write_instance};
use serde_json::{Value, json};

use super::memory::four_layers;

struct Folder(tempfile::TempDir);

impl Folder {
    fn run(&self, words: &str, code: i32) -> (Value, String) {
        let mut command = Command::new(assert_cmd::cargo::cargo_bin!("dagsplit"));
        let assert = command.args(words.split_whitespace()).current_dir(self.0.path()).assert().code(code);
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let output = assert.get_output();
        (serde_json::from_slice(&output.stdout).unwrap_or_default(), text(&output.stderr))
    }

    /// What a run that ends well prints.
    fn text(&self, words: &str) -> String {
        let mut command = Command::new(assert_cmd::cargo::cargo_bin!("dagsplit"));
        let assert = command.args(words.split_whitespace()).current_dir(self.0.path()).assert().success();
        String::from_utf8_lossy(&assert.get_output().stdout).into_owned()
    }

    fn solve(&self, words: &str, code: i32) -> (Value, String) {
        self.run(&format!("solve four.json --json --objective step --microbatches 4 --chunks 2 {words}"), code)
    }
}

fn folder() -> Folder {
    let folder = tempfile::tempdir().unwrap();
    let text = write_instance(&four_layers(), OutputFormat::Native).unwrap();
    std::fs::write(folder.path().join("four.json"), text).unwrap();
    Folder(folder)
}

#[test]
fn memory_of_chunks_is_asked_for_on_the_command_line() {
    let folder = folder();
    let first = |words: &str| folder.solve(words, 0).0["devices"][0].clone();
    assert_eq!(first("").get("chunks_in_flight"), None);
    for (words, in_flight, memory) in [
        ("--schedule interleaved", [3, 2], 205.0),
        ("--schedule gpipe", [4, 4], 406.0),
        ("--in-flight 2", [2, 2], 204.0),
        ("--placement v-shape --schedule zb-v", [3, 1], 1_005.0),
        ("--optimizer adam --precision bf16", [3, 2], 219.0),
    ] {
        let device = first(words);
        assert_eq!((&device["chunks_in_flight"], &device["memory"]), (&json!(in_flight), &json!(memory)), "{words}");
    }
    folder.solve("--schedule interleaved --memory 1022 --output split.json", 0);
    let verify =
        "verify four.json split.json --json --objective step --microbatches 4 --chunks 2 --schedule interleaved";
    folder.run(&format!("{verify} --memory 1022"), 0);
    let (record, _) = folder.run(&format!("{verify} --memory 1021"), 1);
    let said = record.to_string();
    assert!(said.contains("1022"), "{said}");
    folder.solve("--schedule interleaved --memory 1021", 4);
}

#[test]
fn options_that_mean_nothing_for_chunks_are_refused_by_name() {
    let folder = folder();
    for (words, refused, cure) in [
        ("--schedule 1f1b", "--schedule 1f1b", "ask for interleaved or gpipe"),
        ("--schedule inference", "--schedule inference", "--in-flight"),
        ("--schedule zb-v", "--schedule zb-v", "ask for interleaved"),
        ("--placement v-shape --schedule interleaved", "--schedule interleaved", "ask for zb-v"),
        ("--in-flight 1000001", "--in-flight", "from 1 to 1000000"),
        ("--zero 1", "--zero", "no replicas"),
        ("--cache-tokens 5", "--cache-tokens", "leave it out"),
        ("--data-degrees 1", "--data-degrees", "no degrees"),
        ("--tensor-degrees 1", "--tensor-degrees", "no degrees"),
        ("--options plain", "--options", "no degrees"),
    ] {
        let (_, said) = folder.solve(words, 2);
        assert!(said.contains(refused) && said.contains(cure), "{words}: {said}");
    }
    let without = "solve four.json --objective step --microbatches 4 --schedule";
    for schedule in ["interleaved", "zb-v"] {
        let (_, said) = folder.run(&format!("{without} {schedule}"), 2);
        assert!(said.contains(&format!("--schedule {schedule}")) && said.contains("--chunks"), "{said}");
    }
}

#[test]
fn one_chunk_on_each_device_is_1f1b() {
    let folder = folder();
    let solve = |schedule: &str| {
        let words =
            format!("solve four.json --json --objective step --microbatches 4 --chunks 1 --schedule {schedule}");
        folder.run(&words, 0).0["devices"].take()
    };
    assert_eq!(solve("1f1b"), solve("interleaved"));
    let v_shape = "solve four.json --objective step --microbatches 4 --chunks 2 --placement v-shape --schedule 1f1b";
    assert!(folder.run(v_shape, 2).1.contains("ask for zb-v"));
}

/// Interleaved 1F1B takes the microbatches in groups of one for each device.
#[test]
fn what_stays_idle_is_said() {
    let folder = folder();
    let solved = |microbatches: usize, words: &str| {
        let asked = format!("solve four.json --objective step --microbatches {microbatches} --chunks 2 {words}");
        let (record, _) = folder.run(&format!("{asked} --json"), 0);
        (record, folder.text(&asked))
    };
    let (record, table) = solved(3, "--schedule interleaved");
    assert_eq!((&record["idle_devices"], record["devices"].as_array().unwrap().len()), (&json!(1), 1));
    assert!(table.contains("note         1 device stays idle: ") && table.contains("3 microbatches"), "{table}");
    for (microbatches, words) in [(4, "--schedule interleaved"), (3, ""), (3, "--placement v-shape --schedule zb-v")] {
        let (record, table) = solved(microbatches, words);
        assert!(record.get("idle_devices").is_none() && !table.contains("idle"), "{words}: {table}");
    }
}

/// Of two devices the first holds the stages 0 and 2, and the second the stages 1 and 3.
#[test]
fn pictures_show_the_chunk_of_each_stage() {
    let folder = folder();
    folder.solve("--output split.json", 0);
    let stages = folder.text("draw four.json --split split.json --detail stages");
    for holder in
        ["accelerator 0, chunk 0", "accelerator 1, chunk 0", "accelerator 0, chunk 1", "accelerator 1, chunk 1"]
    {
        let boxes = stages.matches(&format!("\n{holder}\n</text>")).count();
        assert_eq!(boxes, 1, "{holder}: {stages}");
    }
    let nodes = folder.text("draw four.json --split split.json --detail nodes");
    assert!(nodes.contains("\naccelerator 1, chunk 1\n"), "{nodes}");
    // Without chunks no picture speaks of any.
    folder.run("solve four.json --quiet --output split.json", 0);
    assert!(!folder.text("draw four.json --split split.json --detail stages").contains("chunk"));
}
