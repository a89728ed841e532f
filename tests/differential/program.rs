//! `dagsplit solve` as a program of its own, on a file.

use std::path::Path;
use std::process::Command;

use dagsplit::formats::{OutputFormat, write_instance};
use dagsplit::problem::{MemoryModel, Objective};
use serde_json::Value;

use super::generator::Case;
use super::judge::{Reference, Tally, Wrong};

/// What the method is called in tallies.
pub const SOLVE: &str = "dagsplit solve";

/// Runs the default method on a case in `folder`, and holds the answer against the true optimum.
pub fn judge(case: &Case, folder: &Path, seed: u64, tally: &mut Tally) -> Result<(), (Wrong, String)> {
    let Some(mut reference) = Reference::new(case, tally) else { return Ok(()) };
    let file = folder.join(format!("{seed}.json"));
    let json = write_instance(&case.instance, OutputFormat::Native).expect("generated problems are valid");
    std::fs::write(&file, json).expect("the folder can be written");
    let output = Command::new(env!("CARGO_BIN_EXE_dagsplit")).arg("solve").arg(&file).args(words(case, seed)).output();
    let output = output.expect("dagsplit runs");
    std::fs::remove_file(&file).expect("the folder can be written");
    let words = String::from_utf8_lossy(&output.stderr);
    if !matches!(output.status.code(), Some(0 | 4 | 5)) {
        return Err((Wrong::Error, format!("{}: {words}", output.status)));
    }
    let answer: Value = serde_json::from_slice(&output.stdout).map_err(|error| (Wrong::Error, error.to_string()))?;
    let status = answer["status"].as_str().unwrap_or_default();
    tally.count(SOLVE, status);
    if let Some(bound) = answer["lower_bound"].as_f64() {
        reference.bound(bound)?;
    }
    if let Some(objective) = answer["objective"].as_f64() {
        reference.objective(objective, None)?;
        if status == "optimal" {
            reference.optimal(objective)?;
        }
    }
    match status {
        "infeasible" => reference.infeasible(),
        "optimal" => Ok(()),
        "feasible" if reference.proves(answer["objective"].as_f64(), answer["lower_bound"].as_f64()) => Ok(()),
        _ => Err((Wrong::Unproven, format!("{answer}"))),
    }
}

/// Whether the program can be asked for this at all.
pub fn takes(case: &Case) -> bool {
    case.spec.scope.name() != "linearized"
}

/// The options that ask for the case.
fn words(case: &Case, seed: u64) -> Vec<String> {
    let spec = &case.spec;
    let mut words = vec![
        "--json".to_owned(),
        "--quiet".into(),
        "--time-limit=60".into(),
        format!("--seed={seed}"),
        format!("--scope={}", spec.scope.name()),
        format!("--objective={}", spec.objective.name()),
        format!("--cost={}", spec.cost.name()),
    ];
    match spec.objective {
        Objective::Latency { subgraphs } => words.push(format!("--subgraphs={subgraphs}")),
        Objective::Sharding(sharding) => words.extend([
            format!("--shard-weight={}", sharding.weight.name()),
            format!("--variance-weight={}", sharding.variance),
            format!("--edge-cost={}", sharding.edge),
        ]),
        Objective::Step { microbatches } => words.push(format!("--microbatches={microbatches}")),
        Objective::Throughput | Objective::GPipe => {}
    }
    if let MemoryModel::Recomputation { microbatches } = spec.memory {
        words.push(format!("--recomputation={microbatches}"));
    }
    if let Some(replication) = spec.replication {
        words.push(format!("--replicas={}", replication.max_replicas));
        words.push(format!("--sync-bandwidth={}", replication.bandwidth));
    }
    if let Some(interconnect) = spec.interconnect {
        words.push(format!("--server-size={}", interconnect.server_size));
        words.push(format!("--between-factor={}", interconnect.between_factor));
    }
    words
}
