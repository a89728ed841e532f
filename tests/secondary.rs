//! Among splits that are equally good: the fewest devices, the least traffic, the evenest loads.

mod common;
mod reference;

use common::{InstanceOptions, config, solve_and_verify};
use dagsplit::formats::{ReadOptions, parse_instance};
use dagsplit::instance::{Edge, Instance, Node, Platform};
use dagsplit::problem::{DeviceAssignment, DeviceKind, Objective, Problem, ProblemSpec, Solution};
use dagsplit::solve::{BruteForce, IdealDp, Portfolio, SearchContext, Solver};
use dagsplit::verify;
use proptest::prelude::*;
use reference::acyclic_problems;

const DEMO: &str = include_str!("../instances/bert12_inference.json");

/// A node that takes this on an accelerator, this on a CPU, and this to move its output.
type Layer = (u32, u32, u32);

/// A chain of nodes for two accelerators and a CPU.
fn chain(layers: &[Layer]) -> Instance {
    let node = |(id, &(accelerator, cpu, transfer)): (usize, &Layer)| Node {
        accelerator_times: vec![Some(f64::from(accelerator))],
        cpu_time: Some(f64::from(cpu)),
        transfer_time: f64::from(transfer),
        ..Node::new(id as u64)
    };
    Instance {
        platform: Platform::uniform(2, None, 1),
        nodes: layers.iter().enumerate().map(node).collect(),
        edges: (1..layers.len() as u64).map(|id| Edge { source: id - 1, target: id }).collect(),
        ..Instance::default()
    }
}

/// All splits of a chain of `n` nodes into intervals on two accelerators and a CPU at most.
fn splits(n: u64) -> Vec<Solution> {
    let kinds = [DeviceKind::Accelerator(0), DeviceKind::Accelerator(0), DeviceKind::Cpu];
    let mut splits = Vec::new();
    for cuts in (0..n).flat_map(|a| (a..n).map(move |b| [a, b])) {
        for cpu in 0..3 {
            let parts = [0..cuts[0], cuts[0]..cuts[1], cuts[1]..n];
            let kind = |part: usize| kinds[(part + 2 - cpu) % 3];
            let device =
                |(part, nodes): (usize, std::ops::Range<u64>)| DeviceAssignment::new(kind(part), nodes.collect());
            let devices = parts.into_iter().enumerate().map(device).filter(|device| !device.nodes.is_empty());
            splits.push(Solution { devices: devices.collect(), objective: None });
        }
    }
    splits
}

/// Objective, devices, traffic and the sum of the loads' squares, all by the verifier.
fn rank(instance: &Instance, spec: &ProblemSpec, split: &Solution) -> Option<[f64; 4]> {
    let verified = verify::check(instance, spec, split).ok()?;
    let computed = |device: &verify::VerifiedDevice| -> f64 {
        let of = |&id: &u64| {
            let node = &instance.nodes[id as usize];
            if device.kind() == DeviceKind::Cpu { node.cpu_time } else { node.accelerator_times[0] }
        };
        device.nodes().iter().filter_map(of).sum()
    };
    let devices = verified.devices();
    let traffic = devices.iter().map(|device| device.load() - computed(device)).sum();
    let squares = devices.iter().map(|device| device.load() * device.load()).sum();
    Some([verified.objective(), devices.len() as f64, traffic, squares])
}

proptest! {
    #![proptest_config(config(300))]

    /// A chain has one order, of which the best split in this sense is found.
    #[test]
    fn the_best_of_the_best_split_of_a_chain(
        layers in prop::collection::vec((1..6_u32, 1..9_u32, 0..3_u32), 1..8), is_portfolio: bool,
    ) {
        let instance = chain(&layers);
        let spec = ProblemSpec::of(&instance);
        let problem = Problem::new(&instance, spec.clone()).unwrap();
        let solver: &dyn Solver = if is_portfolio { &Portfolio::default() } else { &IdealDp::default() };
        let run = solver.solve(&problem, &mut SearchContext::new()).unwrap();
        let found = rank(&instance, &spec, run.outcome.solution().unwrap()).unwrap();
        let ranks = splits(layers.len() as u64).into_iter().filter_map(|split| rank(&instance, &spec, &split));
        let best = ranks.reduce(|best, next| if next < best { next } else { best }).unwrap();
        prop_assert_eq!(found, best);
    }

    /// With fewer devices than any split as good is said to need, there is none.
    #[test]
    fn no_split_as_good_has_fewer_devices((instance, spec) in acyclic_problems(6, InstanceOptions::ALL)) {
        let spec = ProblemSpec { objective: Objective::Throughput, interconnect: None, replication: None, ..spec };
        let problem = Problem::new(&instance, spec.clone()).unwrap();
        let run = IdealDp::default().solve(&problem, &mut SearchContext::new()).unwrap();
        let Some(split) = run.outcome.solution() else { return Ok(()) };
        let (value, fewest) = (split.objective.unwrap(), run.stats.get("fewest_devices").unwrap() as usize);
        prop_assert!(split.devices.iter().filter(|device| !device.nodes.is_empty()).count() >= fewest);
        let platform = &spec.platform;
        let (accelerators, cpus) = (platform.accelerators.iter().map(|class| class.count).sum::<usize>(), platform.cpus);
        if platform.accelerators.len() == 1 {
            for count in 0..fewest.min(accelerators + 1) {
                let mut fewer = spec.clone();
                fewer.platform.accelerators[0].count = count;
                fewer.platform.cpus = cpus.min(fewest - 1 - count);
                if Problem::new(&instance, fewer.clone()).is_ok() {
                    let best = solve_and_verify(&BruteForce, &instance, &fewer);
                    prop_assert!(best.is_none_or(|best| best > value), "{best:?} with fewer than {fewest}, {value} before");
                }
            }
        }
    }
}

/// One of the optimal splits has a node on the CPU between two accelerators, for nothing.
#[test]
fn no_device_for_nothing() {
    let instance = parse_instance(DEMO, &ReadOptions::default()).unwrap();
    let problem = Problem::new(&instance, ProblemSpec::of(&instance)).unwrap();
    for solver in [&IdealDp::default() as &dyn Solver, &Portfolio::default()] {
        let run = solver.solve(&problem, &mut SearchContext::new()).unwrap();
        let devices = &run.outcome.solution().unwrap().devices;
        assert!(devices.iter().all(|device| device.kind != DeviceKind::Cpu), "{}", solver.name());
        assert_eq!((devices.len(), run.stats.get("fewest_devices")), (6, Some(6.0)));
    }
}
