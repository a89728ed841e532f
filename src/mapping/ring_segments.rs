//! Rings on segments of a line.
//!
//! Where the all-reduce alone counts, nothing ties the rings of different stages together. So a line in which near devices
//! follow one another is cut into segments of one ring each, each ring is annealed by itself, and the stages with the most
//! weights get the fastest rings.

use super::annealing::Annealer;
use super::{Counted, Mapping, MappingProblem, Stage, StageCost, StageGraph, Topology};
use crate::solve::SearchContext;

/// Moves of annealing for each device of a ring.
const MOVES: u64 = 500;

/// The mapping along this line of all devices; `None` where a copy does not fit. O(copies) moves of annealing.
pub fn mapping(problem: &MappingProblem, line: &[usize], cx: &SearchContext) -> Option<Mapping> {
    let (stages, replicas) = (&problem.stages.stages, problem.replicas);
    let mut rings: Vec<(f64, Vec<usize>)> =
        line.chunks_exact(replicas).take(stages.len()).map(|devices| ring(problem, devices, cx)).collect();
    rings.sort_by(|a, b| a.0.total_cmp(&b.0));
    let mut heaviest: Vec<usize> = (0..stages.len()).collect();
    heaviest.sort_by(|&a, &b| stages[b].parameter_bytes.total_cmp(&stages[a].parameter_bytes));
    let mut devices = vec![0; problem.copies()];
    for ((_, ring), stage) in rings.iter().zip(heaviest) {
        devices[stage * replicas..][..replicas].copy_from_slice(ring);
    }
    problem.all_fit(&devices).then_some(Mapping { devices })
}

/// A ring of all of these devices, and the time of its slowest link for the mean of all stages' weights.
fn ring(problem: &MappingProblem, devices: &[usize], cx: &SearchContext) -> (f64, Vec<usize>) {
    let stages = &problem.stages.stages;
    let bytes = stages.iter().map(|stage| stage.parameter_bytes).sum::<f64>() / stages.len() as f64;
    let stage = Stage { parameter_bytes: bytes, ..Stage::default() };
    let part = MappingProblem {
        stages: StageGraph { name: "segment".into(), stages: vec![stage], messages: Vec::new() },
        replicas: devices.len(),
        topology: part(&problem.topology, devices),
        cost: StageCost::additive(Counted::AllReduce),
    };
    let mut annealer = Annealer::new(&part, cx.seed);
    let mut race = annealer.race(&Mapping { devices: (0..devices.len()).collect() }, 0.0, cx);
    annealer.anneal(&mut race, MOVES * devices.len() as u64);
    let ring = race.solution().iter().flat_map(|mapping| &mapping.devices).map(|&device| devices[device]).collect();
    (race.objective().unwrap_or(f64::INFINITY), ring)
}

/// These devices of a topology.
pub fn part(whole: &Topology, devices: &[usize]) -> Topology {
    let kinds = devices.iter().map(|&device| whole.devices[device].clone()).collect();
    Topology::new("part", "", kinds, |a, b| whole.bandwidth(devices[a], devices[b]))
        .with_latency(|a, b| whole.latency(devices[a], devices[b]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mapping::{Exhaustive, Mapper, samples};

    #[test]
    fn rings_on_segments_use_each_device_once_and_are_often_best() {
        let cx = SearchContext::new();
        let (mut found, mut looked) = (0, 0);
        for seed in 0..200 {
            let mut problem = samples::problem(seed);
            problem.cost = StageCost::additive(Counted::AllReduce);
            problem
                .stages
                .stages
                .iter_mut()
                .zip(1..)
                .for_each(|(stage, bytes)| stage.parameter_bytes = f64::from(bytes));
            let line: Vec<usize> = (0..problem.topology.len()).collect();
            let Some(mapping) = mapping(&problem, &line, &cx) else { continue };
            let mut devices = mapping.devices.clone();
            devices.sort_unstable();
            assert_eq!(devices, line[..problem.copies()], "copies of seed {seed} share devices");
            let run = Exhaustive.map(&problem, &cx);
            let Some(optimum) = run.outcome.solution().map(|mapping| problem.objective(mapping)) else { continue };
            assert!(problem.objective(&mapping) >= optimum * (1.0 - 1e-12), "better than the best of seed {seed}");
            found += usize::from(problem.objective(&mapping) <= optimum * (1.0 + 1e-9));
            looked += 1;
        }
        assert!(found * 2 > looked, "{found} of {looked} are best");
    }

    #[test]
    fn the_heaviest_stage_gets_the_fastest_ring() {
        let mut problem = samples::problem(0);
        let bytes = [1.0, 3.0];
        problem.stages.stages.truncate(2);
        problem.stages.stages.iter_mut().zip(bytes).for_each(|(stage, bytes)| stage.parameter_bytes = bytes);
        problem.stages.messages.clear();
        problem.replicas = 3;
        problem.cost = StageCost::additive(Counted::AllReduce);
        let devices = (0..6).map(|index| crate::mapping::Device::new(index.to_string())).collect();
        problem.topology = Topology::new("two nodes", "", devices, |a, b| match (a < 3, b < 3) {
            (true, true) => 1.0,
            (false, false) => 2.0,
            _ => 0.1,
        });
        let mapping = mapping(&problem, &[0, 1, 2, 3, 4, 5], &SearchContext::new()).expect("all fit");
        assert!(mapping.devices[..3].iter().all(|&device| device < 3));
        assert!(mapping.devices[3..].iter().all(|&device| device >= 3));
    }
}
