//! Put the stages of a pipeline on the devices of two servers: `cargo run --example map_stages`

use dagsplit::mapping::{Counted, Device, MappingProblem, Message, Stage, StageCost};
use dagsplit::{SearchContext, StageGraph, Topology, registry, verify};

/// The devices of each stage's two copies, stage by stage.
pub fn run() -> Result<Vec<usize>, Box<dyn std::error::Error>> {
    let stage =
        |i| Stage { name: format!("stage {i}"), forward: 1.0, backward: 2.0, parameter_bytes: 4e6, ..Stage::default() };
    let stages = StageGraph {
        name: "four stages".into(),
        stages: (0..4).map(stage).collect(),
        messages: (0..3).map(|i| Message { source: i, target: i + 1, bytes: 1e6 }).collect(),
    };
    // 100 MB/ms inside a server of four, 10 MB/ms between two servers.
    let devices = (0..8).map(|i| Device::new(format!("GPU {i}"))).collect();
    let topology = Topology::new("two servers", "made up", devices, |a, b| if a / 4 == b / 4 { 1e8 } else { 1e7 });
    let problem = MappingProblem { stages, replicas: 2, topology, cost: StageCost::additive(Counted::Both) };
    let run = registry::mapper("branch-and-bound")?.map(&problem, &SearchContext::new());
    let mapping = run.outcome.solution().ok_or("there is no mapping")?;
    let claim = dagsplit::mapping::ClaimedMapping::new(&problem, mapping);
    let verified = verify::mapping::check(&problem, &claim).map_err(|violations| violations[0].clone())?;
    println!("{} at {} ms", run.outcome.status(), verified.objective());
    mapping.devices.chunks(2).enumerate().for_each(|(i, devices)| println!("stage {i} on {devices:?}"));
    Ok(mapping.devices.clone())
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    run().map(|_| ())
}
