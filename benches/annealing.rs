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
use support::workloads;

/// File, and the published values over arbitrary and over contiguous splits: Tarnawski et al. 2020, Table 1.
const TABLE_1: [(&str, [f64; 2]); 16] = [
    ("operator/bert_l-3_inference", [21.91, 27.92]),
    ("operator/bert_l-6_inference", [28.33, 29.58]),
    ("operator/bert_l-12_inference", [130.03, 147.48]),
    ("operator/resnet50_inference", [124.35, 124.35]),
    ("operator/bert_l-3_training", [54.21, 65.30]),
    ("operator/bert_l-6_training", [71.64, 72.86]),
    ("operator/bert_l-12_training", [373.42, 438.00]),
    ("operator/resnet50_training", [255.19, 255.19]),
    ("layer/bert24_inference", [17.71, 17.79]),
    ("layer/resnet50_inference", [33.31, 33.77]),
    ("layer/inceptionv3_inference", [51.52, 51.55]),
    ("layer/gnmt_inference", [31.68, 32.91]),
    ("layer/bert24_training", [39.79, 41.75]),
    ("layer/resnet50_training", [76.65, 78.63]),
    ("layer/inceptionv3_training", [117.72, 122.76]),
    ("layer/gnmt_training", [88.47, 107.00]),
];

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
    for (name, published) in TABLE_1.iter().filter(|(name, _)| name.contains(&args.only)) {
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
