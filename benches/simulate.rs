//! How long the simulation of a long pipeline takes. `cargo bench --bench simulate` prints it as Markdown.

mod support;

use std::time::Instant;

use anyhow::{Result, ensure};
use clap::Parser;
use dagsplit::mapping::{Counted, Device, Mapping, MappingProblem, Message, Stage, StageCost, StageGraph, Topology};
use dagsplit::simulate::schedule::{GPipe, OneForwardOneBackward, Schedule, VirtualDevices, ZbH1};
use dagsplit::simulate::{Links, Options, Pipeline, simulate};
use support::figures::{head, row, seconds};

#[derive(Parser)]
struct Args {
    /// Given by cargo; without it nothing is measured.
    #[arg(long, hide = true)]
    bench: bool,
    /// How many stages there are, on a device each.
    #[arg(long, default_value_t = 64)]
    stages: usize,
    /// How many microbatches pass through them.
    #[arg(long, default_value_t = 1024)]
    microbatches: usize,
    /// How long the slowest of them may take, in seconds.
    #[arg(long, default_value_t = 1.0)]
    limit: f64,
}

fn main() -> Result<()> {
    let args = Args::parse();
    if !args.bench {
        println!("start me by `cargo bench --bench simulate`");
        return Ok(());
    }
    let problem = chain(args.stages);
    let mapping = Mapping { devices: (0..args.stages).collect() };
    println!("{}", head(&["schedule", "links", "spans", "makespan", "seconds"], 2));
    for (links, schedule) in [
        (Links::Blocking, &OneForwardOneBackward as &dyn Schedule),
        (Links::Contended, &OneForwardOneBackward),
        (Links::Contended, &GPipe),
        (Links::Overlapped, &VirtualDevices),
        (Links::Overlapped, &ZbH1),
    ] {
        let pipeline = Pipeline::of_mapping(&problem, &mapping, links)?;
        let start = Instant::now();
        let simulation = simulate(&pipeline, schedule, Options { microbatches: args.microbatches, recompute: false })?;
        let took = start.elapsed().as_secs_f64();
        let (spans, makespan) = (simulation.spans().count().to_string(), simulation.makespan().to_string());
        println!("{}", row(&[schedule.name().to_owned(), format!("{links:?}"), spans, makespan, seconds(took)]));
        ensure!(took < args.limit, "{} took {took} s", schedule.name());
    }
    Ok(())
}

/// Equal stages in a chain, each on a device of its own.
fn chain(stages: usize) -> MappingProblem {
    let stage = |i| Stage { name: format!("stage {i}"), forward: 1.0, backward: 2.0, ..Stage::default() };
    let message = |source, target| Message { source, target, bytes: 3.0 };
    let devices = (0..stages).map(|d| Device::new(format!("GPU {d}"))).collect();
    MappingProblem {
        stages: StageGraph {
            name: "chain".into(),
            stages: (0..stages).map(stage).collect(),
            messages: (1..stages).flat_map(|i| [message(i - 1, i), message(i, i - 1)]).collect(),
        },
        replicas: 1,
        topology: Topology::new("equal links", "made up", devices, |_, _| 1.0),
        cost: StageCost::additive(Counted::Both),
    }
}
