//! Proofs on the command line: checked by a verb, sought in comparisons, and taken from others.

mod bench;

use std::path::Path;
use std::process::{Command, Output};

use bench::Bench;

fn dagsplit(folder: &Path, arguments: &str) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_dagsplit"));
    command.args(arguments.split_whitespace()).current_dir(folder).output().unwrap()
}

/// A proof of the diamond's optimum that claims more.
fn raised(proof: &str) -> String {
    proof.replace("\"claim\":7", "\"claim\":8")
}

#[test]
fn the_record_says_what_a_proof_takes() {
    let bench = Bench::new();
    let output = dagsplit(bench.directory.path(), "solve diamond.json --json --quiet --proof diamond.proof");
    let record: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let of_proof = |name: &str| record["proof"][name].as_f64().unwrap();
    assert_eq!(of_proof("bytes"), bench.read("diamond.proof").len() as f64);
    assert!(0.0 <= of_proof("check_seconds") && of_proof("check_seconds") <= of_proof("seconds"), "{record}");
    let output = dagsplit(bench.directory.path(), "solve diamond.json --quiet --certify");
    assert!(String::from_utf8_lossy(&output.stdout).contains("checked in"), "{output:?}");
}

#[test]
fn the_verb_is_the_checker() {
    let bench = Bench::new();
    let solve = "solve diamond.json --quiet --output split.json --proof diamond.proof";
    assert_eq!(dagsplit(bench.directory.path(), solve).status.code(), Some(0));
    bench.file("raised.proof", &raised(&bench.read("diamond.proof")));
    bench.file("other.proof", "no proof");
    bench.file("worse.json", r#"{"cpus": [{"nodes": [10, 11, 12, 13]}]}"#);
    let said = |arguments: &str| {
        let output = dagsplit(bench.directory.path(), &format!("check diamond.json {arguments} --json"));
        let record: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        (output.status.code().unwrap(), record)
    };
    let (code, record) = said("diamond.proof split.json");
    assert_eq!((code, record["accepted"].as_bool(), record["lower_bound"].as_f64()), (0, Some(true), Some(7.0)));
    assert_eq!((record["claim"].as_i64(), record["digits"].as_i64()), (Some(7), Some(0)), "{record}");
    let (code, record) = said("raised.proof");
    assert_eq!((code, record["accepted"].as_bool(), record["line"].as_u64()), (1, Some(false), Some(2)), "{record}");
    let (code, record) = said("diamond.proof worse.json");
    assert!(code == 1 && record["cause"].as_str().unwrap().contains("above the claim 7"), "{record}");
    let (code, record) = said("other.proof");
    assert!(code == 3 && record["error"].as_str().unwrap().contains("proof, line 1"), "{record}");
    assert_eq!(said("missing.proof").0, 3);
}

#[test]
fn runs_are_certified_and_measured_against_the_proofs_of_others() {
    let bench = Bench::new();
    let folder = bench.directory.path();
    let compare = |options: &str| {
        let output = dagsplit(folder, &format!("compare diamond.json --quiet --export-json runs.json {options}"));
        let runs = std::fs::read_to_string(folder.join("runs.json")).unwrap_or("null".into());
        let runs: serde_json::Value = serde_json::from_str(&runs).unwrap();
        (
            output.status.code().unwrap(),
            runs,
            String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned(),
        )
    };
    let (code, runs, said) = compare("--methods dp --certify");
    assert_eq!(
        (code, runs[0]["status"].as_str(), runs[0]["limits"]["certify"].as_bool()),
        (0, Some("certified"), Some(true)),
        "{said}"
    );
    assert!(runs[0]["command"].as_array().unwrap().contains(&"--certify".into()));

    assert!(dagsplit(folder, "solve diamond.json --quiet --proof diamond.proof").status.success());
    // Against the optimum of seven a split without proof is measured, where a proof shows that it is one.
    let (code, _, said) = compare("--methods dpl --scope acyclic --proof diamond.proof");
    assert!(code == 0 && said.contains("bound") && said.contains(" 0 %"), "{code}: {said}");
    let (_, _, said) = compare("--methods local-search --scope arbitrary --proof diamond.proof");
    assert!(said.contains("bound") && !said.contains(" 0 %"), "a bound of contiguous splits is none of others: {said}");
    bench.file("raised.proof", &raised(&bench.read("diamond.proof")));
    let (code, _, said) = compare("--methods dpl --scope acyclic --proof raised.proof");
    assert!(code == 1 && said.contains("raised.proof: refused: line 2"), "{code}: {said}");
    let (code, _, said) = compare("--methods dpl --accelerators 1 --proof diamond.proof");
    assert!(code == 3 && said.contains("the proof is about none of these runs"), "{code}: {said}");
}

#[test]
fn stability_is_told_and_proven() {
    let bench = Bench::new();
    let folder = bench.directory.path();
    let solve = |options: &str| {
        let output = dagsplit(folder, &format!("solve diamond.json --quiet {options}"));
        let said = [&output.stdout[..], &output.stderr[..]].map(String::from_utf8_lossy).concat();
        (output.status.code().unwrap(), said)
    };
    let (code, said) = solve("--json --stable 10% --stable-proof stable.proof");
    let record: serde_json::Value = serde_json::from_str(&said).unwrap();
    let stability = &record["stability"];
    assert_eq!(
        (code, stability["certified"].as_bool(), stability["spread"].as_f64()),
        (0, Some(true), Some(0.1)),
        "{said}"
    );
    let (regret, relative) = (stability["regret"].as_f64().unwrap(), stability["relative"].as_f64().unwrap());
    // Of the optimum of seven nine tenths are left at least.
    assert!((relative - regret / 6.3).abs() < 1e-9, "{said}");
    let output = dagsplit(folder, "check diamond.json stable.proof --json");
    let checked: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert!((checked["regret"].as_f64().unwrap() - regret).abs() <= 1e-8, "{checked}");
    assert!(checked.get("lower_bound").is_none(), "{checked}");
    // A ledger keeps bounds of loads.
    let refused = dagsplit(folder, "ledger add diamond.json stable.proof --by me --ledger ledger.json");
    assert_eq!(refused.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&refused.stderr).contains("a proof of stability bounds no load"), "{refused:?}");
    // Nothing was measured: times stay what they are.
    let (_, said) = solve("--stable measured");
    assert!(said.contains("at most 0 % above the best split"), "{said}");
    for unknown in ["--objective gpipe", "--server-size 1 --between-factor 4"] {
        let (code, said) = solve(&format!("--stable 5% {unknown}"));
        assert!(code == 0 && said.contains("nothing is known of its stability"), "{said}");
    }
    // The scenarios are solved by the method of the split, not by another one of the list.
    let regrets = ["uniform,dp", "dp"].map(|methods| {
        let (code, said) = solve(&format!("--json --stable 10% --method {methods}"));
        let record: serde_json::Value = serde_json::from_str(&said).unwrap();
        assert_eq!((code, record["stability"]["certified"].as_bool()), (0, Some(true)), "{said}");
        record["stability"]["regret"].as_f64().unwrap()
    });
    assert_eq!(regrets[0], regrets[1]);
    for wrong in ["100%", "-1%", "much"] {
        let (code, said) = solve(&format!("--stable={wrong}"));
        assert!(code == 2 && said.contains("such as `5%`"), "{said}");
    }
}
