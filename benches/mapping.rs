//! Mappings of the paper's kinds of pipelines on its topologies: proofs, decisions, times and gaps of branch and bound
//! beside the published search's. `cargo bench --bench mapping` prints them as Markdown.

mod support;

use std::fs;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use clap::Parser;
use dagsplit::generate::topology::{
    Dgx1, GridShape, Hierarchical, Mesh, RandomBlk1, RandomBlk2, TopologyFamily, TopologyRecipe, Torus, UniformDist,
    generate,
};
use dagsplit::mapping::{
    BranchAndBound, Counted, Mapper, MappingOutcome, MappingProblem, Parmesan2024, StageCost, Topology,
};
use dagsplit::solve::SearchContext;
use support::figures::{head, row};
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
    let mut mappers: Vec<(&str, Box<dyn Mapper>)> = vec![("ours", Box::new(BranchAndBound::default()))];
    if args.published {
        let timeout = Duration::from_secs_f64(args.time_limit);
        mappers.push(("published", Box::new(Parmesan2024 { timeout })));
    }
    for (name, topologies) in groups(&args)? {
        for (cost, counted) in [("c^m", Counted::Messages), ("c^AR", Counted::AllReduce), ("full", Counted::Both)] {
            for (search, mapper) in &mappers {
                let runs: Vec<Measured> = problems(&args, &topologies, counted)
                    .iter()
                    .map(|problem| measure(&args, mapper.as_ref(), problem))
                    .collect::<Result<_>>()?;
                println!("{}", line(name, cost, search, &runs));
            }
        }
    }
    Ok(())
}

/// The topologies by kind.
fn groups(args: &Args) -> Result<Vec<(&'static str, Vec<Topology>)>> {
    let devices = if args.large { 512 } else { 64 };
    let shapes = if args.large { [vec![16, 32], vec![8, 8, 8]] } else { [vec![8, 8], vec![4, 4, 4]] };
    let shapes: Vec<GridShape> = shapes.into_iter().filter_map(|extents| GridShape::new(extents).ok()).collect();
    let random = |family: TopologyFamily| {
        (0..args.seeds).map(move |seed| TopologyRecipe::seeded(family.clone(), seed)).collect::<Vec<_>>()
    };
    let fixed = |families: Vec<TopologyFamily>| families.into_iter().map(TopologyRecipe::new).collect::<Vec<_>>();
    let mut groups = vec![
        ("mesh", fixed(shapes.iter().map(|shape| Mesh { shape: shape.clone() }.into()).collect())),
        ("torus", fixed(shapes.iter().map(|shape| Torus { shape: shape.clone() }.into()).collect())),
        ("random_blk_1", random(RandomBlk1 { devices, ..RandomBlk1::default() }.into())),
        ("random_blk_2", random(RandomBlk2 { devices, ..RandomBlk2::default() }.into())),
        ("uniform_dist", random(UniformDist { devices, ..UniformDist::default() }.into())),
    ];
    if !args.large {
        groups.insert(0, ("dgx1", fixed(vec![Dgx1::default().into()])));
        groups.insert(0, ("hierarchical", fixed(vec![Hierarchical::default().into()])));
    }
    groups.retain(|(name, _)| name.starts_with(&args.topology));
    let made = |(name, recipes): (&'static str, Vec<TopologyRecipe>)| {
        Ok((name, recipes.iter().map(generate).collect::<Result<_, _>>()?))
    };
    groups.into_iter().map(made).collect()
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

/// What a run came to.
struct Measured {
    is_proven: bool,
    decisions: u64,
    seconds: f64,
    gap: f64,
}

fn measure(args: &Args, mapper: &dyn Mapper, problem: &MappingProblem) -> Result<Measured> {
    let (stop, is_done) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicBool::new(false)));
    let cx = SearchContext::new().with_cancellation(Arc::clone(&stop));
    let clock = Clock::start();
    let (end, limit) = (Arc::clone(&is_done), args.time_limit);
    let watch = thread::spawn(move || {
        while !end.load(Ordering::Relaxed) {
            thread::sleep(Duration::from_millis(5));
            stop.fetch_or(clock.seconds() >= limit, Ordering::Relaxed);
        }
    });
    let run = mapper.map(problem, &cx);
    let seconds = clock.seconds();
    is_done.store(true, Ordering::Relaxed);
    ensure!(watch.join().is_ok(), "the watch failed");
    let objective = run.outcome.solution().map(|mapping| problem.objective(mapping));
    let bound = run.outcome.bound().copied().unwrap_or(0.0);
    let gap = objective.map_or(1.0, |objective| ((objective - bound) / objective).max(0.0));
    let decisions = run.stats.get("decisions").or_else(|| run.stats.get("placements")).unwrap_or(0.0) as u64;
    let is_proven = matches!(run.outcome, MappingOutcome::Optimal { .. });
    if args.cases {
        let (stages, objective) = (problem.stages.stages.len(), objective.unwrap_or_default());
        println!(
            "{} {} {stages}x{} {} {objective:.4} {:.4} gap {:.3}% {decisions} decisions {seconds:.2} s",
            mapper.name(),
            problem.topology.name,
            problem.replicas,
            problem.stages.name,
            bound,
            100.0 * gap
        );
    }
    Ok(Measured { is_proven, decisions, seconds, gap })
}

/// CPU time of all threads to a hundredth of a second, or the time of day where the system does not tell it.
#[derive(Clone, Copy)]
struct Clock {
    start: Instant,
    used: Option<f64>,
}

impl Clock {
    fn start() -> Self {
        Self { start: Instant::now(), used: Self::used() }
    }

    fn used() -> Option<f64> {
        let text = fs::read_to_string("/proc/self/stat").ok()?;
        // User and system time, in ticks, follow the command's name and eleven other fields.
        let mut fields = text.rsplit(')').next()?.split_whitespace().skip(11);
        let mut ticks = || fields.next()?.parse::<f64>().ok();
        Some((ticks()? + ticks()?) / 100.0)
    }

    fn seconds(&self) -> f64 {
        match (self.used, Self::used()) {
            (Some(before), Some(now)) => now - before,
            _ => self.start.elapsed().as_secs_f64(),
        }
    }
}

fn line(name: &str, cost: &str, search: &str, runs: &[Measured]) -> String {
    let median = |mut values: Vec<f64>| {
        values.sort_by(f64::total_cmp);
        values.get(values.len() / 2).copied().unwrap_or_default()
    };
    let longest = runs.iter().map(|run| run.seconds).fold(0.0, f64::max);
    let worst = runs.iter().map(|run| run.gap).fold(0.0, f64::max);
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
