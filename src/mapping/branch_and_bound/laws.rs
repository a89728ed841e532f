//! Laws that every technique of the portfolio keeps, and every propagator, on problems of eight to twelve devices.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use rand::rngs::Xoshiro256PlusPlus;
use rand::seq::SliceRandom;
use rand::{RngExt, SeedableRng};

use super::portfolio::{Round, Row};
use super::search::Knowledge;
use super::state::{Price, State};
use super::{Model, Proof};
use crate::mapping::heuristic::MappingAnnealing;
use crate::mapping::samples::{grid, is_mapping, torus};
use crate::mapping::{
    Counted, Device, Mapper, Mapping, MappingProblem, Message, Stage, StageCost, StageGraph, Topology,
};
use crate::search::SearchContext;
use crate::small_set::Set;

const KINDS: [&str; 6] = ["real", "blocks", "noise", "grid", "torus", "slow"];

/// An interconnect of one of [`KINDS`], with eight to twelve devices.
fn interconnect(kind: &str, rng: &mut Xoshiro256PlusPlus) -> Topology {
    let count = 4 * rng.random_range(2..=3_usize);
    let real: Vec<f64> = (0..count * count).map(|_| rng.random_range(0.5..8.0)).collect();
    let slow = rng.random_range(0..count);
    let devices = (0..count).map(|index| Device::new(index.to_string())).collect();
    let bandwidth = |a: usize, b: usize| match (kind, a / 4 == b / 4) {
        ("real", _) => real[a * count + b],
        ("slow", _) if a == slow || b == slow => 0.5,
        ("noise", true) => 8.0 * (1.0 + real[a * count + b] / 400.0),
        ("noise", false) => 1.0 + real[a * count + b] / 400.0,
        (_, true) => 8.0,
        (_, false) => 1.0,
    };
    match kind {
        "grid" => grid(count / 4, 4),
        "torus" => torus(count / 4, 4),
        _ => Topology::new(kind, "", devices, bandwidth),
    }
}

/// A problem of a kind: a chain, a star or a graph with skip connections, in as many copies as there is room for.
fn problem(kind: &str, seed: u64) -> MappingProblem {
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
    let topology = interconnect(kind, &mut rng);
    let count = 4;
    let links: &[(usize, usize)] =
        [&[(0, 1), (1, 2), (2, 3)][..], &[(0, 1), (0, 2), (0, 3)], &[(0, 1), (1, 2), (2, 3), (0, 3)]]
            [rng.random_range(0..3_usize)];
    let stage = |rng: &mut Xoshiro256PlusPlus| Stage {
        forward: rng.random_range(1.0..4.0),
        backward: rng.random_range(0.0..4.0),
        parameter_bytes: rng.random_range(0.0..20.0),
        ..Stage::default()
    };
    let messages =
        links.iter().map(|&(source, target)| Message { source, target, bytes: rng.random_range(1.0..20.0) }).collect();
    MappingProblem {
        stages: StageGraph { name: kind.into(), stages: (0..count).map(|_| stage(&mut rng)).collect(), messages },
        replicas: topology.len() / count,
        topology,
        cost: StageCost::additive([Counted::Messages, Counted::AllReduce, Counted::Both][rng.random_range(0..3_usize)]),
    }
}

/// Problems of all kinds.
fn problems() -> impl Iterator<Item = MappingProblem> {
    (0..12).flat_map(|seed| KINDS.into_iter().map(move |kind| problem(kind, seed)))
}

/// The devices in a random order.
fn shuffled(problem: &MappingProblem, seed: u64) -> Mapping {
    let mut devices: Vec<usize> = (0..problem.topology.len()).collect();
    devices.shuffle(&mut Xoshiro256PlusPlus::seed_from_u64(seed));
    devices.truncate(problem.copies());
    Mapping { devices }
}

/// What a technique that runs alone from a bad mapping comes to: mapping and bound; `None` where it is not for the problem.
fn alone(problem: &MappingProblem, row: &Row<1>, cx: &SearchContext) -> Option<(Mapping, f64)> {
    let model = Model::new(problem, cx)?;
    let mut proof = Proof::new(Knowledge::new(&model, cx), &shuffled(problem, 1), cx);
    proof.run_one(row, Round { moves: 20 * problem.copies() as u64, decisions: 20 });
    (!proof.techniques.is_empty()).then(|| (proof.best(), proof.bound()))
}

#[test]
fn a_technique_by_itself_refutes_nothing_that_holds_and_offers_mappings_alone() {
    let cx = SearchContext::new();
    let stopped = SearchContext::new().with_cancellation(Arc::new(AtomicBool::new(true)));
    let problems: Vec<(MappingProblem, f64)> = problems()
        .map(|problem| {
            let least = problem.objective(&annealed(&problem, &cx));
            (problem, least)
        })
        .collect();
    for row in Row::<1>::all() {
        let mut runs = 0;
        for (problem, annealed) in &problems {
            let Some((mapping, bound)) = alone(problem, row, &cx) else { continue };
            let least = annealed.min(problem.objective(&mapping));
            let about = || format!("{} on {} with {:?}", row.name, problem.topology.name, problem.cost.counted);
            assert!(bound <= least * (1.0 + 1e-9), "{}: bound {bound}, and a mapping takes {least}", about());
            assert!(is_mapping(problem, &mapping), "{}: {mapping:?}", about());
            assert_eq!(alone(problem, row, &cx), Some((mapping, bound)), "{} another time", about());
            if let Some((mapping, bound)) = alone(problem, row, &stopped) {
                assert!(is_mapping(problem, &mapping) && bound <= least * (1.0 + 1e-9), "{} cut off", about());
            }
            runs += 1;
        }
        assert!(runs >= 4, "{} ran on {runs} problems", row.name);
    }
}

/// A good mapping, found without any of this.
fn annealed(problem: &MappingProblem, cx: &SearchContext) -> Mapping {
    MappingAnnealing::default().map(problem, cx).outcome.solution().cloned().unwrap_or_else(|| panic!("there is one"))
}

#[test]
fn propagation_takes_no_device_from_a_mapping_within_the_target() {
    let cx = SearchContext::new();
    for (seed, problem) in (0..).zip(problems()) {
        let model: Model<1> = Model::new(&problem, &cx).unwrap();
        for mapping in [annealed(&problem, &cx), shuffled(&problem, seed)] {
            let mut state = State::new(&model, problem.objective(&mapping));
            let costs: Vec<f64> = (0..model.devices()).map(|device| (device * 7 % 5) as f64).collect();
            let paid = mapping.devices.iter().map(|&device| costs[device]).sum();
            state.limit_price(Price::new(costs, paid));
            let mut copies: Vec<usize> = (0..problem.copies()).collect();
            copies.shuffle(&mut Xoshiro256PlusPlus::seed_from_u64(seed));
            for decided in 0..=copies.len() {
                assert!(state.propagate(&cx).is_ok(), "{mapping:?} is refuted after {decided} of {copies:?}");
                for (copy, &device) in mapping.devices.iter().enumerate() {
                    assert!(state.domains.devices[copy].contains(device), "{copy} on {device} after {decided}");
                }
                let Some(&copy) = copies.get(decided) else { break };
                state.touched.add(copy);
                assert!(state.keep(copy, &Set::only(mapping.devices[copy])).is_ok());
            }
        }
    }
}
