//! Proofs on the published workloads: value, bound and gap beside what is published. `cargo bench --bench certify` prints
//! them as Markdown.

mod support;

use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow};
use clap::{Parser, ValueEnum};
use dagsplit::instance::formats::{ReadOptions, read_instance};
use dagsplit::problem::{Problem, ProblemSpec, Scope};
use dagsplit::solve::certify::Certify;
use dagsplit::solve::{SearchContext, Solver};
use dagsplit::verify;
use support::figures::{head, or_dash, row};
use support::published::THROUGHPUT;
use support::workloads;

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
    /// Accelerators, where not as many as published; then there is nothing to compare with.
    #[arg(long)]
    accelerators: Option<usize>,
    /// Which splits count.
    #[arg(long, value_enum, default_value_t = Shape::Arbitrary)]
    scope: Shape,
    /// Only workloads whose name holds this.
    #[arg(long, default_value = "")]
    only: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Shape {
    Arbitrary,
    Convex,
}

fn main() -> Result<()> {
    let args = Args::parse();
    if !args.bench {
        println!("start me by `cargo bench --bench certify`");
        return Ok(());
    }
    println!("{}", head(&["workload", "published", "found", "bound", "gap", "seconds"], 1));
    for (name, published) in THROUGHPUT.iter().filter(|(name, _)| name.contains(&args.only)) {
        if let Some(path) = workloads::find(&format!("tarnawski2020/throughput/{name}.json")) {
            let published = published[args.scope as usize];
            println!("{}", measure(&args, name, &path, Some(published).filter(|_| args.accelerators.is_none()))?);
        }
    }
    Ok(())
}

/// The line of one workload.
fn measure(args: &Args, name: &str, path: &Path, published: Option<f64>) -> Result<String> {
    let mut instance = read_instance(path, &ReadOptions::default())?;
    if let Some(accelerators) = args.accelerators {
        instance.platform.accelerators[0].count = accelerators;
    }
    let scope = if args.scope == Shape::Convex { Scope::Convex } else { Scope::Arbitrary };
    let problem = Problem::new(&instance, ProblemSpec { scope, ..ProblemSpec::of(&instance) })?;
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
