//! What each technique of the mapper is worth: branch and bound on interconnects of machine rooms, or with `--published` on
//! those of Liu et al. (2024), whole and without each technique in turn. `cargo bench --bench ablation` prints it as
//! Markdown.

mod support;

use anyhow::{Result, ensure};
use clap::Parser;
use dagsplit::mapping::{
    BranchAndBound, Counted, Mapper, MappingProblem, Message, Stage, StageCost, StageGraph, Topology,
};
use support::figures::{head, row};
use support::interconnects::{machine_rooms, published};
use support::mapped::{Mapped, branch_and_bound};
use support::pipelines::pipeline;

#[derive(Parser)]
struct Args {
    /// Given by cargo; without it nothing is measured.
    #[arg(long, hide = true)]
    bench: bool,
    /// Seconds for each mapping.
    #[arg(long, default_value_t = 2.0)]
    time_limit: f64,
    /// How many devices there are, a multiple of 16; 64 or 512 of the published.
    #[arg(long, default_value_t = 64)]
    devices: usize,
    /// The interconnects of Liu et al. (2024).
    #[arg(long)]
    published: bool,
    /// Only interconnects whose name begins so.
    #[arg(long, default_value = "")]
    topology: String,
    /// Leave out these techniques together, in place of each one by itself; may be given several times.
    #[arg(long, value_name = "NAME,...")]
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
    for without in sets(&args) {
        let (mapper, mut sum) = (branch_and_bound(&without)?, Sum::default());
        for problem in &problems {
            sum.add(&args, problem, mapper.as_ref())?;
        }
        let mean = sum.gaps.iter().sum::<f64>() / sum.gaps.len().max(1) as f64;
        let worst = sum.gaps.iter().copied().fold(0.0, f64::max);
        println!(
            "{}",
            row(&[
                if without.is_empty() { "nothing".to_owned() } else { without.join(", ") },
                format!("{} of {}", sum.proven, problems.len()),
                format!("{:.2}%", 100.0 * mean),
                format!("{:.1}%", 100.0 * worst),
                format!("{:.1}", sum.seconds),
            ])
        );
    }
    Ok(())
}

fn topologies(args: &Args) -> Result<Vec<Topology>> {
    let mut topologies = match args.published {
        true => published(args.devices, 1)?.into_iter().flat_map(|(_, topologies)| topologies).collect(),
        false => machine_rooms(args.devices)?,
    };
    topologies.retain(|known| known.name.starts_with(&args.topology));
    ensure!(!topologies.is_empty(), "no interconnect's name begins with {:?}", args.topology);
    Ok(topologies)
}

/// Nothing, and then the techniques that are left out together.
fn sets(args: &Args) -> Vec<Vec<String>> {
    let each: Vec<Vec<String>> = match (args.whole, args.without.is_empty()) {
        (true, _) => Vec::new(),
        (false, true) => BranchAndBound::techniques().iter().map(|&name| vec![name.to_owned()]).collect(),
        (false, false) => args.without.iter().map(|names| names.split(',').map(str::to_owned).collect()).collect(),
    };
    std::iter::once(Vec::new()).chain(each).collect()
}

/// A chain and graphs with skip connections, in 8 stages and in 16, on each interconnect.
fn problems(args: &Args) -> Result<Vec<MappingProblem>> {
    let mut problems = Vec::new();
    for topology in topologies(args)? {
        let graphs = [8, 16]
            .into_iter()
            .flat_map(|stages| [pipeline("bert-l", stages, 1.0), pipeline("semantic-fpn", stages, 1.0), unet(stages)]);
        for stages in graphs {
            for counted in [Counted::Messages, Counted::Both] {
                problems.push(MappingProblem {
                    replicas: topology.len() / stages.stages.len(),
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
    fn add(&mut self, args: &Args, problem: &MappingProblem, mapper: &dyn Mapper) -> Result<()> {
        let run = Mapped::measure(mapper, problem, args.time_limit)?;
        if args.cases {
            println!("{}", run.line(problem));
        }
        self.proven += usize::from(run.is_proven);
        self.gaps.push(run.gap());
        self.seconds += run.seconds;
        Ok(())
    }
}
