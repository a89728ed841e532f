//! Proofs on the published workloads: value, bound and gap beside what is published. `cargo bench --bench certify` prints
//! them as Markdown.

mod support;

use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow};
use clap::Parser;
use dagsplit::solve::certify::Certify;
use dagsplit::solve::{SearchContext, Solver};
use dagsplit::verify;
use support::figures::{head, or_dash, row};
use support::published::Selection;

#[derive(Parser)]
struct Args {
    /// Given by cargo; without it nothing is measured.
    #[arg(long, hide = true)]
    bench: bool,
    /// Seconds for each workload.
    #[arg(long, default_value_t = 60.0)]
    time_limit: f64,
    /// How many threads to use.
    #[arg(long, default_value_t = 1)]
    threads: usize,
    #[command(flatten)]
    selection: Selection,
}

fn main() -> Result<()> {
    let args = Args::parse();
    if !args.bench {
        println!("start me by `cargo bench --bench certify`");
        return Ok(());
    }
    println!("{}", head(&["workload", "published", "found", "bound", "gap", "seconds"], 1));
    args.selection.print(|name, path, published| measure(&args, name, path, published))
}

/// The line of one workload.
fn measure(args: &Args, name: &str, path: &Path, published: Option<f64>) -> Result<String> {
    let (instance, problem) = args.selection.problem(path)?;
    let mut context = SearchContext::new().with_time_limit(Duration::from_secs_f64(args.time_limit));
    context.threads = args.threads;
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
