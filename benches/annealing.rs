//! Annealing on the published workloads: what it finds, how that compares with what is published, and when it gets
//! there. `cargo bench --bench annealing` prints it as Markdown.

mod support;

use std::path::Path;
use std::time::Instant;

use anyhow::{Context, Result};
use clap::Parser;
use dagsplit::internals::certify::Setting;
use dagsplit::internals::certify::multilevel::Multilevel;
use dagsplit::internals::preprocess::Unordered;
use dagsplit::verify;
use support::figures::{head, or_dash, row};
use support::limits::Searching;
use support::published::Selection;

/// A published value is reached within this, relative to it: it is printed with two decimals.
const CLOSE: f64 = 5e-4;

/// Seconds for each workload.
const SECONDS: f64 = 10.0;

#[derive(Parser)]
struct Args {
    #[command(flatten)]
    search: Searching,
    /// Seed of everything random.
    #[arg(long, default_value_t = 0)]
    seed: u64,
    #[command(flatten)]
    selection: Selection,
}

fn main() -> Result<()> {
    let args = Args::parse();
    if !args.search.limits.is_asked("annealing") {
        return Ok(());
    }
    println!("{}", head(&["workload", "published", "found", "ratio", "seconds to published", "to found", "rounds"], 1));
    args.selection.print(|name, path, published| measure(&args, name, path, published))
}

/// The line of one workload.
fn measure(args: &Args, name: &str, path: &Path, published: Option<f64>) -> Result<String> {
    let (instance, problem) = args.selection.problem(path)?;
    let context = args.search.context(SECONDS);
    let start = Instant::now();
    let unordered = Unordered::new(&problem);
    let setting = Setting::new(&problem, &unordered);
    let mut search = Multilevel::new(&setting, args.seed);
    let (mut reached, mut last) = (None, 0.0);
    while !context.should_stop() {
        if search.advance(&context) {
            last = start.elapsed().as_secs_f64();
            let is_close = |(value, _)| published.is_some_and(|published| value <= published * (1.0 + CLOSE));
            reached = reached.or(search.best().is_some_and(is_close).then_some(last));
        }
    }
    let (value, split) = search.best().context("no valid split was found")?;
    verify::check(&instance, &problem.spec, &setting.to_solution(split))
        .map_err(|violations| anyhow::anyhow!("the split is wrong: {violations:?}"))?;
    Ok(row(&[
        name.to_owned(),
        or_dash(published.map(|published| format!("{published:.2}"))),
        format!("{value:.4}"),
        or_dash(published.map(|published| format!("{:.4}", value / published))),
        or_dash(reached.map(|seconds: f64| format!("{seconds:.2}"))),
        format!("{last:.2}"),
        search.rounds().to_string(),
    ]))
}
