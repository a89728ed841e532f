//! The ledger: what it holds is proven, and it takes in nothing else.

mod bench;

use std::path::Path;
use std::process::{Command, Output};

use bench::Bench;
use serde_json::Value;

const COMMITTED: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/instances/ledger.json");

fn dagsplit(folder: &Path, arguments: &str) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_dagsplit"));
    command.args(arguments.split_whitespace()).current_dir(folder).output().unwrap()
}

/// Exit code, standard output and standard error.
fn said(bench: &Bench, arguments: &str) -> (i32, String) {
    let output = dagsplit(bench.directory.path(), arguments);
    let text = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
    (output.status.code().unwrap(), text)
}

#[test]
fn every_committed_proof_holds() {
    let output = dagsplit(Path::new("."), &format!("ledger --check --json --ledger {COMMITTED}"));
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let ledger: Value = serde_json::from_slice(&output.stdout).unwrap();
    let schema: Value = serde_json::from_str(include_str!("../docs/ledger.schema.json")).unwrap();
    let schema = jsonschema::validator_for(&schema).unwrap();
    assert!(schema.is_valid(&ledger), "{:?}", schema.validate(&ledger));
    let mut nameless = ledger.clone();
    nameless["entries"][0]["bound"].as_object_mut().unwrap().remove("by");
    assert!(!schema.is_valid(&nameless), "whoever found a bound has a name");
    let entries = ledger["entries"].as_array().unwrap();
    assert!(entries.len() >= 15, "{} entries", entries.len());
    assert!(entries.iter().all(|entry| entry["split"]["value"] == entry["bound"]["value"]), "each optimum is proven");
}

#[test]
fn only_what_is_better_and_proven_gets_in() {
    let bench = Bench::new();
    let add = "ledger add diamond.json --ledger ledger.json --by somebody";
    assert_eq!(said(&bench, "solve diamond.json --quiet --output split.json --proof best.proof").0, 0);
    let proof = bench.read("best.proof");
    bench.file("lower.proof", &proof.replace("\"claim\":7", "\"claim\":6"));
    bench.file("raised.proof", &proof.replace("\"claim\":7", "\"claim\":8"));
    bench.file("worse.json", r#"{"cpus": [{"nodes": [10, 11, 12, 13]}]}"#);
    let refused = |files: &str, code: i32, why: &str| {
        let (exit, text) = said(&bench, &format!("{add} {files}"));
        assert!(exit == code && text.contains(why), "{files}: {exit}: {text}, expected `{why}`");
    };
    refused("raised.proof", 1, "refused: line 2: a device of kind 0 may hold");
    assert!(!bench.path("ledger.json").exists());
    assert_eq!(said(&bench, &format!("{add} lower.proof worse.json")).0, 0);
    refused("lower.proof worse.json", 1, "nothing is better: the ledger has a bound of 6 and a split of 65");
    assert!(said(&bench, &format!("{add} best.proof split.json")).1.contains("a better bound and a better split"));
    refused("best.proof split.json", 1, "nothing is better: the ledger has a bound of 7 and a split of 7");
    let (code, text) = said(&bench, "ledger --check --ledger ledger.json");
    assert!(code == 0 && text.contains("certified") && text.contains("diamond.json"), "{text}");
    // A file that was changed afterwards is found out.
    bench.file("ledger/diamond-acyclic.proof", &bench.read("raised.proof"));
    let (code, text) = said(&bench, "ledger --check --ledger ledger.json");
    assert!(code == 1 && text.contains("diamond.json: refused: line 2"), "{text}");
    bench.file("ledger.json", "{}");
    let (code, text) = said(&bench, "ledger --ledger ledger.json");
    assert!(code == 3 && text.contains("it is no ledger"), "{text}");
}
