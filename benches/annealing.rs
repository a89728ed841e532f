//! Annealing on the published workloads: what it finds, how that compares with what is published, and when it gets
//! there. `cargo bench --bench annealing` prints it as Markdown.

mod support;

use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use clap::{Parser, ValueEnum};
use dagsplit::instance::formats::{ReadOptions, read_instance};
use dagsplit::preprocess::Unordered;
use dagsplit::problem::{Problem, ProblemSpec, Scope};
use dagsplit::solve::SearchContext;
use dagsplit::solve::certify::Setting;
use dagsplit::solve::certify::multilevel::Search;
use dagsplit::verify;
use support::figures::{head, or_dash, row};
use support::published::THROUGHPUT;
use support::workloads;

/// A published value is reached within this, relative to it: it is printed with two decimals.
const CLOSE: f64 = 5e-4;

#[derive(Parser)]
struct Args {
    /// Given by cargo; without it nothing is measured.
    #[arg(long, hide = true)]
    bench: bool,
    /// Seconds for each workload.
    #[arg(long, default_value_t = 10.0)]
    time_limit: f64,
    /// How many threads to use.
    #[arg(long, default_value_t = 1)]
    threads: usize,
    /// Seed of everything random.
    #[arg(long, default_value_t = 0)]
    seed: u64,
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
        println!("start me by `cargo bench --bench annealing`");
        return Ok(());
    }
    println!("{}", head(&["workload", "published", "found", "ratio", "seconds to published", "to found", "rounds"], 1));
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
    let unordered = Unordered::new(&problem);
    let setting = Setting::new(&problem, &unordered);
    let mut search = Search::new(&setting, args.seed);
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
