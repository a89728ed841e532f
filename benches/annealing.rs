//! Annealing on the published workloads.

mod support;

use std::time::{Duration, Instant};

use anyhow::Result;
use clap::Parser;
use dagsplit::instance::formats::{ReadOptions, read_instance};
use dagsplit::preprocess::Unordered;
use dagsplit::problem::{Problem, ProblemSpec, Scope};
use dagsplit::solve::SearchContext;
use dagsplit::solve::certify::{Setting, multilevel::Search};
use support::workloads;

/// File, and the published value over arbitrary splits.
const TABLE_1: [(&str, f64); 16] = [
    ("operator/bert_l-3_inference", 21.91),
    ("operator/bert_l-6_inference", 28.33),
    ("operator/bert_l-12_inference", 130.03),
    ("operator/resnet50_inference", 124.35),
    ("operator/bert_l-3_training", 54.21),
    ("operator/bert_l-6_training", 71.64),
    ("operator/bert_l-12_training", 373.42),
    ("operator/resnet50_training", 255.19),
    ("layer/bert24_inference", 17.71),
    ("layer/resnet50_inference", 33.31),
    ("layer/inceptionv3_inference", 51.52),
    ("layer/gnmt_inference", 31.68),
    ("layer/bert24_training", 39.79),
    ("layer/resnet50_training", 76.65),
    ("layer/inceptionv3_training", 117.72),
    ("layer/gnmt_training", 88.47),
];

#[derive(Parser)]
struct Args {
    /// Given by cargo; without it nothing is measured.
    #[arg(long, hide = true)]
    bench: bool,
    /// Seconds for each workload.
    #[arg(long, default_value_t = 10.0)]
    time_limit: f64,
    #[arg(long, default_value_t = 0)]
    seed: u64,
    #[arg(long)]
    accelerators: Option<usize>,
    #[arg(long, default_value = "")]
    only: String,
}

fn main() -> Result<()> {
    let args = Args::parse();
    if !args.bench {
        println!("start me by `cargo bench --bench annealing`");
        return Ok(());
    }
    for (name, published) in TABLE_1.iter().filter(|(name, _)| name.contains(&args.only)) {
        let Some(path) = workloads::find(&format!("tarnawski2020/throughput/{name}.json")) else { continue };
        let mut instance = read_instance(&path, &ReadOptions::default())?;
        if let Some(k) = args.accelerators {
            instance.platform.accelerators[0].count = k;
        }
        let spec = ProblemSpec { scope: Scope::Arbitrary, ..ProblemSpec::of(&instance) };
        let problem = Problem::new(&instance, spec)?;
        let start = Instant::now();
        let unordered = Unordered::new(&problem);
        let setting = Setting::new(&problem, &unordered);
        let mut search = Search::new(&setting, args.seed);
        let cx = SearchContext::new().with_time_limit(Duration::from_secs_f64(args.time_limit));
        let mut reached = None;
        let mut last = 0.0;
        while !cx.should_stop() {
            if search.advance(&cx) {
                let (value, _) = search.best().unwrap();
                last = start.elapsed().as_secs_f64();
                if value <= published * 1.0005 && reached.is_none() {
                    reached = Some(last);
                }
            }
        }
        let (value, split) = search.best().unwrap();
        dagsplit::verify::check(&instance, &problem.spec, &setting.to_solution(split)).unwrap();
        println!(
            "{name:32} {value:9.4} {published:7.2} {:.4} reached {reached:.2?} last {last:.2} rounds {}",
            value / published,
            search.rounds()
        );
    }
    Ok(())
}
