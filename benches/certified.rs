//! Which published workloads are certified, how long their proofs are, and what the checker takes: `dagsplit solve --certify` on
//! `instances/profiled`, contiguous and not, and GPipe on the training graphs. `cargo bench --bench certified` prints it as
//! Markdown.

mod support;

use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result};
use clap::Parser;
use serde_json::Value;
use support::figures::{head, or_dash, row, seconds};
use support::limits::Limits;
use support::machine;
use support::published::{PROFILE_ACCELERATORS, PROFILES, THROUGHPUT};

/// Seconds that a solve may take.
const SECONDS: f64 = 60.0;

#[derive(Parser)]
struct Args {
    #[command(flatten)]
    limits: Limits,
    /// Only workloads whose name holds this.
    #[arg(long, default_value = "")]
    only: String,
}

fn main() -> Result<()> {
    let args = Args::parse();
    if !args.limits.is_asked("certified") {
        return Ok(());
    }
    let limit = args.limits.seconds(SECONDS);
    println!("{}; one thread, a time limit of {limit} s.\n", machine::describe());
    let titles =
        ["workload", "question", "status", "objective", "solved [s]", "found [s]", "proof [bytes]", "checked [s]"];
    println!("{}", head(&titles, 3));
    for (name, asked) in questions().filter(|(name, _)| name.contains(&args.only)) {
        println!("{}", line(&name, &asked, limit)?);
    }
    Ok(())
}

/// Each workload's file in `instances/profiled`, with what is asked of it.
fn questions() -> impl Iterator<Item = (String, String)> {
    let table = THROUGHPUT.iter().flat_map(|(name, _)| {
        let gpipe = name.ends_with("training").then_some("--objective gpipe");
        let asked = ["", "--scope arbitrary"].into_iter().chain(gpipe);
        asked.map(move |asked| (format!("tarnawski2020/throughput/{name}"), asked.to_owned()))
    });
    let profiles = PROFILES.iter().flat_map(|name| {
        PROFILE_ACCELERATORS.map(|k| (format!("pipedream2019/{name}_inference"), format!("--accelerators {k}")))
    });
    table.chain(profiles)
}

/// A row of the table.
fn line(name: &str, asked: &str, limit: f64) -> Result<String> {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("instances/profiled").join(format!("{name}.json"));
    let output = Command::new(env!("CARGO_BIN_EXE_dagsplit"))
        .args(["solve", "--certify", "--json", "--quiet", "--threads", "1", "--time-limit", &limit.to_string()])
        .args(asked.split_whitespace())
        .arg(&file)
        .output()?;
    let record: Value = serde_json::from_slice(&output.stdout).with_context(|| format!("{name} {asked}"))?;
    let figure = |value: &Value| or_dash(value.as_f64().map(seconds));
    let proof = &record["proof"];
    Ok(row(&[
        name.to_owned(),
        asked.to_owned(),
        record["status"].as_str().unwrap_or_default().to_owned(),
        or_dash(record["objective"].as_f64().map(|value| format!("{value:.4}"))),
        figure(&record["seconds"]),
        figure(&proof["seconds"]),
        or_dash(proof["bytes"].as_u64().map(|bytes| bytes.to_string())),
        figure(&proof["check_seconds"]),
    ]))
}
