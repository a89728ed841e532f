//! Stars against the exhaustive search on small random problems.

use rand::rngs::Xoshiro256PlusPlus;
use rand::{RngExt, SeedableRng};

use super::super::model::Model;
use super::super::search::Knowledge;
use super::Stars;
use crate::mapping::packing::Packing;
use crate::mapping::samples::is_mapping;
use crate::mapping::{
    Counted, Device, Exhaustive, Mapper, MappingProblem, Message, Stage, StageCost, StageGraph, Topology,
};
use crate::solve::SearchContext;

/// Two pipelines of a stage in the middle of three others, two of which also exchange something, on up to nine devices no two
/// links of which are alike.
fn problem(seed: u64, counted: Counted) -> MappingProblem {
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
    let rates: Vec<f64> = (0..81).map(|_| rng.random_range(1.0..9.0)).collect();
    let stage = |rng: &mut Xoshiro256PlusPlus| Stage {
        forward: f64::from(rng.random_range(0..3_u8)),
        parameter_bytes: f64::from(rng.random_range(0..9_u8)),
        memory: f64::from(rng.random_range(0..2_u8)),
        ..Stage::default()
    };
    let mut message = |source, target, most: u8| {
        let bytes = f64::from(rng.random_range(most / 2..most));
        Message { source, target, bytes }
    };
    let messages = vec![message(0, 1, 20), message(0, 2, 20), message(3, 0, 20), message(2, 3, 6)];
    let stages = (0..4).map(|_| stage(&mut rng)).collect();
    let count = if rng.random_bool(0.2) { 9 } else { 8 };
    let device = |index: usize| Device { memory: (index == 7).then_some(0.0), ..Device::new(index.to_string()) };
    MappingProblem {
        stages: StageGraph { name: "star".into(), stages, messages },
        replicas: 2,
        topology: Topology::new("random", "", (0..count).map(device).collect(), |a, b| rates[9 * a.min(b) + a.max(b)]),
        cost: StageCost::additive(counted),
    }
}

#[test]
fn targets_below_the_optimum_are_refuted_and_others_are_reached() {
    let cx = SearchContext::new();
    let (mut looked, mut refuted) = (0, 0);
    for (seed, counted) in (0..12).flat_map(|seed| [(seed, Counted::Messages), (seed, Counted::Both)]) {
        let problem = problem(seed, counted);
        let run = Exhaustive.map(&problem, &cx);
        let Some(optimum) = run.outcome.solution().map(|mapping| problem.objective(mapping)) else { continue };
        let model = Model::<1>::new(&problem, &SearchContext::new()).unwrap();
        let mut knowledge = Knowledge::new(&model, &SearchContext::new());
        let mut stars = Stars::new(&model, seed).expect("a stage has three neighbours");
        for target in [0.9 * optimum, optimum * (1.0 - 1e-9), optimum, 1.2 * optimum] {
            let packing = stars.search(&mut knowledge, target, &mut (1 << 40), &cx);
            match &packing {
                Packing::Found(mapping) => {
                    assert!(is_mapping(&problem, mapping), "no mapping of seed {seed}");
                    assert!((optimum * (1.0 - 1e-12)..=target * (1.0 + 1e-9)).contains(&problem.objective(mapping)));
                }
                Packing::Refuted => {
                    assert!(target < optimum, "{target} of seed {seed} is refuted, {optimum} is reached")
                }
                Packing::Unknown(_) | Packing::Crowded => assert_eq!(counted, Counted::Both, "seed {seed} at {target}"),
            }
            looked += usize::from(counted == Counted::Both && target < optimum);
            refuted += usize::from(counted == Counted::Both && packing == Packing::Refuted);
        }
    }
    assert!(looked > 10 && 5 * refuted > looked, "{refuted} of {looked} are refuted where rings count");
}

#[test]
fn drafts_are_mappings_whose_stars_keep_the_target_where_that_is_easy() {
    let cx = SearchContext::new();
    let (mut looked, mut kept) = (0, 0);
    for seed in 0..40 {
        let problem = problem(seed, Counted::Messages);
        let run = Exhaustive.map(&problem, &cx);
        let Some(optimum) = run.outcome.solution().map(|mapping| problem.objective(mapping)) else { continue };
        let model = Model::<1>::new(&problem, &SearchContext::new()).unwrap();
        let stars = Stars::new(&model, seed).expect("a stage has three neighbours");
        let Some(mapping) = stars.draft(&model, 1.5 * optimum) else { continue };
        assert!(is_mapping(&problem, &mapping), "no mapping of seed {seed}");
        looked += 1;
        kept += usize::from(problem.objective(&mapping) <= 1.5 * optimum);
    }
    assert!(looked > 4 && 2 * kept > looked, "{kept} of {looked} keep the target");
}
