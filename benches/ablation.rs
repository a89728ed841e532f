//! What each technique of the mapper is worth: branch and bound on interconnects of machine rooms, whole and without each
//! technique in turn. `cargo bench --bench ablation` prints it as Markdown.

mod support;

use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use clap::Parser;
use dagsplit::mapping::{
    BranchAndBound, Counted, Mapper, MappingOutcome, MappingProblem, Message, Stage, StageCost, StageGraph,
};
use dagsplit::solve::SearchContext;
use support::figures::{head, row};
use support::interconnects::interconnects;
use support::pipelines::pipeline;

#[derive(Parser)]
struct Args {
    /// Given by cargo; without it nothing is measured.
    #[arg(long, hide = true)]
    bench: bool,
    /// Seconds for each mapping.
    #[arg(long, default_value_t = 2.0)]
    time_limit: f64,
    /// How many devices there are, a multiple of 16.
    #[arg(long, default_value_t = 64)]
    devices: usize,
    /// Only interconnects whose name begins so.
    #[arg(long, default_value = "")]
    topology: String,
    /// Leave out these techniques alone, in place of each one.
    #[arg(long, value_delimiter = ',')]
    without: Vec<String>,
    /// Only the whole search.
    #[arg(long)]
    whole: bool,
    /// Print a line for every mapping.
    #[arg(long)]
    cases: bool,
}

/// What a search came to on all problems.
#[derive(Default)]
struct Sum {
    proven: usize,
    gaps: Vec<f64>,
    seconds: f64,
}

fn main() -> Result<()> {
    let args = Args::parse();
    if !args.bench {
        println!("start me by `cargo bench --bench ablation`");
        return Ok(());
    }
    let problems = problems(&args)?;
    println!("{}", head(&["left out", "proven", "mean gap", "worst gap", "seconds"], 1));
    let techniques = match args.without.is_empty() {
        true => BranchAndBound::techniques(),
        false => {
            BranchAndBound::techniques().into_iter().filter(|name| args.without.iter().any(|a| a == name)).collect()
        }
    };
    let each = techniques.iter().map(|&name| (name, vec![name])).filter(|_| !args.whole);
    for (name, without) in std::iter::once(("nothing", Vec::new())).chain(each) {
        let mut sum = Sum::default();
        for problem in &problems {
            sum.add(&args, problem, &BranchAndBound { without: without.clone(), ..BranchAndBound::default() })?;
        }
        let mean = sum.gaps.iter().sum::<f64>() / sum.gaps.len().max(1) as f64;
        let worst = sum.gaps.iter().copied().fold(0.0, f64::max);
        println!(
            "{}",
            row(&[
                name.to_owned(),
                format!("{} of {}", sum.proven, problems.len()),
                format!("{:.2}%", 100.0 * mean),
                format!("{:.1}%", 100.0 * worst),
                format!("{:.1}", sum.seconds),
            ])
        );
    }
    Ok(())
}

/// A chain and graphs with skip connections, in 8 stages and in 16, on each interconnect.
fn problems(args: &Args) -> Result<Vec<MappingProblem>> {
    let mut problems = Vec::new();
    for topology in interconnects(args.devices)?.into_iter().filter(|known| known.name.starts_with(&args.topology)) {
        let graphs = [8, 16]
            .into_iter()
            .flat_map(|stages| [pipeline("bert-l", stages, 1.0), pipeline("semantic-fpn", stages, 1.0), unet(stages)]);
        for stages in graphs {
            for counted in [Counted::Messages, Counted::Both] {
                problems.push(MappingProblem {
                    replicas: args.devices / stages.stages.len(),
                    stages: stages.clone(),
                    topology: topology.clone(),
                    cost: StageCost::additive(counted),
                });
            }
        }
    }
    Ok(problems)
}

/// A U-Net: each stage of the way down also sends to the one of its size on the way up.
fn unet(stages: usize) -> StageGraph {
    const MB: f64 = 1e6;
    let depth = |stage: usize| stage.min(stages - 1 - stage) as f64;
    let stage = |stage: usize| Stage {
        forward: 10.0,
        backward: 20.0,
        parameter_bytes: (2.0 + 6.0 * depth(stage)) * MB,
        ..Stage::default()
    };
    let sent = |stage: usize| 200.0 * MB * (-0.25 * depth(stage)).exp2();
    let next = (0..stages - 1).map(|source| (source, source + 1));
    let skips = (0..stages / 2 - 1).map(|source| (source, stages - 1 - source));
    let both_ways = next.chain(skips).flat_map(|(a, b)| [(a, b, sent(a)), (b, a, sent(a))]);
    StageGraph {
        name: "unet".into(),
        stages: (0..stages).map(stage).collect(),
        messages: both_ways.map(|(source, target, bytes)| Message { source, target, bytes }).collect(),
    }
}

impl Sum {
    fn add(&mut self, args: &Args, problem: &MappingProblem, mapper: &BranchAndBound) -> Result<()> {
        let started = Instant::now();
        let cx = SearchContext::new().with_time_limit(Duration::from_secs_f64(args.time_limit));
        let run = mapper.map(problem, &cx);
        let seconds = started.elapsed().as_secs_f64();
        let mapping = run.outcome.solution().context("some mapping is found")?;
        let (objective, bound) = (problem.objective(mapping), run.outcome.bound().copied().unwrap_or(0.0));
        let gap = ((objective - bound) / objective).max(0.0);
        if args.cases {
            let (topology, stages) = (&problem.topology.name, &problem.stages.name);
            let counted = problem.cost.counted.name();
            println!("{topology} {stages} {counted}: {objective:.4} {bound:.4} gap {:.2}% {seconds:.2} s", 100.0 * gap);
        }
        self.proven += usize::from(matches!(run.outcome, MappingOutcome::Optimal { .. }));
        self.gaps.push(gap);
        self.seconds += seconds;
        Ok(())
    }
}
