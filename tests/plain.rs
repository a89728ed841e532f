//! The plain DP with profits of units in place of their work: the optima are the same.

mod common;
mod reference;

use common::{InstanceOptions, config, solve_and_verify};
use dagsplit::generate::{Costs, Layered, RandomDag, RandomFamily, Recipe, generate};
use dagsplit::instance::{Instance, Platform};
use dagsplit::problem::{ProblemSpec, Scope};
use dagsplit::solve::{BruteForce, PlainDp};
use proptest::prelude::*;
use proptest::sample::select;
use reference::{acyclic_problems, by_load};

/// With profits at every target.
const PRICED: PlainDp = PlainDp { max_ideals: 1_000_000, many_pairs: 0 };

/// Without any.
const BY_WORK: PlainDp = PlainDp { max_ideals: 1_000_000, many_pairs: u64::MAX };

/// Layers of equal width over five accelerators, which have a quarter more memory than it takes, and a CPU or none.
fn layers(width: usize, layers: usize, seed: u64) -> (Instance, ProblemSpec) {
    let family = RandomFamily::Layered(Layered { width, layers, ..Layered::default() });
    let costs = Costs { integer: true, ..Costs::default() };
    let mut instance = generate(&Recipe::new(RandomDag { family, seed, costs })).unwrap();
    let bytes: f64 = instance.nodes.iter().map(|node| node.memory).sum();
    instance.platform = Platform::uniform(5, Some(bytes / 4.0), seed as usize % 2);
    let spec = ProblemSpec { scope: Scope::Acyclic, ..ProblemSpec::of(&instance) };
    (instance, spec)
}

/// The same instance with times in a unit that is so many times as small.
fn in_unit(mut instance: Instance, parts: f64) -> Instance {
    for node in &mut instance.nodes {
        let times = node.accelerator_times.iter_mut().flatten().chain(&mut node.cpu_time);
        times.chain([&mut node.transfer_time]).for_each(|time| *time *= parts);
    }
    instance
}

proptest! {
    #![proptest_config(config(1000))]

    #[test]
    fn profits_leave_the_optimum(
        (instance, spec) in acyclic_problems(7, InstanceOptions::ALL).prop_map(by_load),
        parts in select(vec![1.0, 2f64.powi(-60), 2f64.powi(60)]),
    ) {
        let instance = in_unit(instance, parts);
        let optimum = solve_and_verify(&BruteForce, &instance, &spec);
        prop_assert_eq!(solve_and_verify(&PRICED, &instance, &spec), optimum);
    }
}

proptest! {
    #![proptest_config(config(40))]

    #[test]
    fn profits_leave_the_optimum_of_layers(width in 2..5usize, count in 4..9usize, seed: u64) {
        let (instance, spec) = layers(width, count, seed);
        let by_work = solve_and_verify(&BY_WORK, &instance, &spec);
        prop_assert_eq!(solve_and_verify(&PRICED, &instance, &spec), by_work);
    }
}
