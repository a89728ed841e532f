//! Proofs on the published workloads: value, bound and gap beside what is published. `cargo bench --bench certify` prints
//! them as Markdown.

mod support;

use std::path::Path;
use std::time::Instant;

use anyhow::{Context, Result, anyhow};
use clap::Parser;
use dagsplit::solve::Certify;
use dagsplit::solve::Solver;
use dagsplit::verify;
use support::figures::{head, or_dash, row};
use support::limits::Searching;
use support::published::Selection;

/// Seconds for each workload.
const SECONDS: f64 = 60.0;

#[derive(Parser)]
struct Args {
    #[command(flatten)]
    search: Searching,
    #[command(flatten)]
    selection: Selection,
}

fn main() -> Result<()> {
    let args = Args::parse();
    if !args.search.limits.is_asked("certify") {
        return Ok(());
    }
    println!("{}", head(&["workload", "published", "found", "bound", "gap", "seconds"], 1));
    args.selection.print(|name, path, published| measure(&args, name, path, published))
}

/// The line of one workload.
fn measure(args: &Args, name: &str, path: &Path, published: Option<f64>) -> Result<String> {
    let (instance, problem) = args.selection.problem(path)?;
    let mut context = args.search.context(SECONDS);
    let start = Instant::now();
    let run = Certify.solve(&problem, &mut context)?;
    let seconds = start.elapsed().as_secs_f64();
    let split = run.outcome.solution().context("no valid split was found")?;
    let verified = verify::check(&instance, &problem.spec, split)
        .map_err(|violations| anyhow!("the split is wrong: {violations:?}"))?;
    let (value, bound) = (verified.objective(), run.outcome.bound().map(|bound| bound.value));
    Ok(row(&[
        name.to_owned(),
        or_dash(published.map(|published| format!("{published:.2}"))),
        format!("{value:.4}"),
        or_dash(bound.map(|bound| format!("{bound:.4}"))),
        or_dash(bound.map(|bound| format!("{:.4}%", (100.0 * (value - bound) / value).max(0.0)))),
        format!("{seconds:.2}"),
    ]))
}
