//! Mappings of the paper's kinds of pipelines on its topologies: proofs, decisions, times and gaps of branch and bound
//! beside the published search's. `cargo bench --bench mapping` prints them as Markdown.

mod support;

use std::time::Duration;

use anyhow::Result;
use clap::Parser;
use dagsplit::mapping::{Counted, Mapper, MappingProblem, Parmesan2024, StageCost, Topology};
use support::figures::{head, row};
use support::interconnects::published;
use support::mapped::{Mapped, branch_and_bound};
use support::pipelines::{NETWORKS, pipeline};

#[derive(Parser)]
struct Args {
    /// Given by cargo; without it nothing is measured.
    #[arg(long, hide = true)]
    bench: bool,
    /// CPU seconds for each mapping.
    #[arg(long, default_value_t = 5.0)]
    time_limit: f64,
    /// Only topologies whose name begins so.
    #[arg(long, default_value = "")]
    topology: String,
    /// How many topologies of each random kind.
    #[arg(long, default_value_t = 2)]
    seeds: u64,
    /// What compute times are multiplied by.
    #[arg(long, default_value_t = 1.0)]
    compute: f64,
    /// 512 devices in place of 64, in 16 stages.
    #[arg(long)]
    large: bool,
    /// Also run the published search.
    #[arg(long)]
    published: bool,
    /// Leave out these techniques of ours.
    #[arg(long, value_delimiter = ',', value_name = "NAME,...")]
    without: Vec<String>,
    /// Print a line for every mapping.
    #[arg(long)]
    cases: bool,
}

fn main() -> Result<()> {
    let args = Args::parse();
    if !args.bench {
        println!("start me by `cargo bench --bench mapping`");
        return Ok(());
    }
    let titles = ["topology", "cost", "search", "proven", "decisions", "seconds", "longest", "worst gap"];
    println!("{}", head(&titles, 3));
    let mut mappers: Vec<(&str, Box<dyn Mapper>)> = vec![("ours", branch_and_bound(&args.without)?)];
    if args.published {
        let timeout = Duration::from_secs_f64(args.time_limit);
        mappers.push(("published", Box::new(Parmesan2024 { timeout })));
    }
    let groups = published(if args.large { 512 } else { 64 }, args.seeds)?;
    for (name, topologies) in groups.into_iter().filter(|(name, _)| name.starts_with(&args.topology)) {
        for (cost, counted) in [("c^m", Counted::Messages), ("c^AR", Counted::AllReduce), ("full", Counted::Both)] {
            for (search, mapper) in &mappers {
                let mut runs = Vec::new();
                for problem in problems(&args, &topologies, counted) {
                    let run = Mapped::measure(mapper.as_ref(), &problem, args.time_limit)?;
                    if args.cases {
                        println!("{} {}", mapper.name(), run.line(&problem));
                    }
                    runs.push(run);
                }
                println!("{}", line(name, cost, search, &runs));
            }
        }
    }
    Ok(())
}

fn problems(args: &Args, topologies: &[Topology], counted: Counted) -> Vec<MappingProblem> {
    let stages: &[usize] = if args.large { &[16] } else { &[4, 8, 16] };
    let mut problems = Vec::new();
    for topology in topologies {
        for &stages in stages {
            let replicas = topology.len() / stages;
            if replicas == 1 && counted == Counted::AllReduce {
                continue;
            }
            problems.extend(NETWORKS.iter().map(|network| MappingProblem {
                stages: pipeline(network, stages, args.compute),
                replicas,
                topology: topology.clone(),
                cost: StageCost::additive(counted),
            }));
        }
    }
    problems
}

fn line(name: &str, cost: &str, search: &str, runs: &[Mapped]) -> String {
    let median = |mut values: Vec<f64>| {
        values.sort_by(f64::total_cmp);
        values.get(values.len() / 2).copied().unwrap_or_default()
    };
    let longest = runs.iter().map(|run| run.seconds).fold(0.0, f64::max);
    let worst = runs.iter().map(Mapped::gap).fold(0.0, f64::max);
    row(&[
        name.to_owned(),
        cost.to_owned(),
        search.to_owned(),
        format!("{} of {}", runs.iter().filter(|run| run.is_proven).count(), runs.len()),
        format!("{:.0}", median(runs.iter().map(|run| run.decisions as f64).collect())),
        format!("{:.2}", median(runs.iter().map(|run| run.seconds).collect())),
        format!("{longest:.2}"),
        format!("{:.2}%", 100.0 * worst),
    ])
}
