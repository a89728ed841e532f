//! The published latency workloads at hand, on one thread: optimum, time and labels, with the accelerators of the file
//! and with 1 to 12. `cargo bench --bench latency` prints it as Markdown.

mod support;

use std::time::{Duration, Instant};

use anyhow::Result;
use clap::Parser;
use dagsplit::formats::{ReadOptions, read_instance};
use dagsplit::instance::Instance;
use dagsplit::problem::{Objective, Problem, ProblemSpec};
use dagsplit::solve::LatencyDp;
use dagsplit::solve::{SearchContext, Solver};
use dagsplit::verify;
use support::figures::{head, row};
use support::limits::Limits;
use support::{machine, workloads};

/// What makes a latency workload of a throughput workload: accelerators, bytes of each, and the factor of its transfers.
type Change = (usize, f64, f64);

/// Workload, with the change that it needs where only the throughput workload is at hand.
const WORKLOADS: [(&str, Option<Change>); 8] = [
    ("latency/operator/bert_l-3_inference", None),
    ("latency/operator/bert_l-6_inference", None),
    ("throughput/operator/bert_l-12_inference", Some((7, 2_147_483_648.0, 1.0))),
    ("latency/operator/resnet50_inference", None),
    ("latency/layer/bert24_inference", None),
    ("latency/layer/resnet50_inference", None),
    ("throughput/layer/inceptionv3_inference", Some((12, 2_147_483_648.0, 1000.0))),
    ("throughput/layer/gnmt_inference", Some((6, 629_145_600.0, 1000.0))),
];

/// Seconds that a solve may take.
const SECONDS: f64 = 60.0;

#[derive(Parser)]
struct Args {
    #[command(flatten)]
    limits: Limits,
    /// Only workloads whose name contains this.
    #[arg(long, default_value = "")]
    only: String,
    /// With the accelerators of the workload only.
    #[arg(long)]
    own: bool,
}

fn main() -> Result<()> {
    let args = Args::parse();
    if !args.limits.is_asked("latency") {
        return Ok(());
    }
    println!("{}; one thread, a time limit of {} s.\n", machine::describe(), args.limits.seconds(SECONDS));
    println!(
        "{}",
        head(&["workload", "accelerators", "outcome", "latency", "bound", "seconds", "labels", "subgraphs"], 1)
    );
    for (name, change) in WORKLOADS.into_iter().filter(|(name, _)| name.contains(&args.only)) {
        let Some(path) = workloads::find(&format!("tarnawski2020/{name}.json")) else { continue };
        let mut instance = read_instance(&path, &ReadOptions::default())?;
        if let Some((count, memory, factor)) = change {
            let class = &mut instance.platform.accelerators[0];
            (class.count, class.memory) = (count, Some(memory));
            instance.nodes.iter_mut().for_each(|node| node.transfer_time *= factor);
        }
        let own = instance.platform.accelerators[0].count;
        let counts = std::iter::once(own).chain(1..=if args.own { 0 } else { 12 });
        for count in counts {
            instance.platform.accelerators[0].count = count;
            println!("{}", measure(name, &instance, args.limits.seconds(SECONDS))?);
        }
    }
    Ok(())
}

fn measure(name: &str, instance: &Instance, time_limit: f64) -> Result<String> {
    let spec = ProblemSpec { objective: Objective::Latency { subgraphs: 1 }, ..ProblemSpec::of(instance) };
    let started = Instant::now();
    let problem = Problem::new(instance, spec.clone()).map_err(|problems| anyhow::anyhow!("{problems}"))?;
    let mut cx = SearchContext::new().with_time_limit(Duration::from_secs_f64(time_limit));
    let run = LatencyDp::default().solve(&problem, &mut cx)?;
    let seconds = started.elapsed().as_secs_f64();
    let value = match run.outcome.solution() {
        Some(split) => match verify::check(instance, &spec, split) {
            Ok(verified) => format!("{:.4}", verified.objective()),
            Err(violations) => anyhow::bail!("{name}: {violations:?}"),
        },
        None => "-".into(),
    };
    let figure = |name| run.stats.get(name).map_or("-".into(), |figure| format!("{figure}"));
    Ok(row(&[
        name.to_owned(),
        format!("{}", instance.platform.accelerators[0].count),
        run.outcome.status().to_string(),
        value,
        run.outcome.bound().map_or("-".into(), |bound| format!("{:.4}", bound.value)),
        format!("{seconds:.3}"),
        figure("labels"),
        figure("subgraphs"),
    ]))
}
