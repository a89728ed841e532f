//! The ideal DP against the oracle and against itself.

mod common;
mod reference;

use common::{InstanceOptions, config, solve_and_verify};
use dagsplit::solve::brute_force::BruteForce;
use proptest::prelude::*;
use reference::{acyclic_problems, ideal_dps, same};

proptest! {
    #![proptest_config(config(1000))]

    #[test]
    fn finds_the_optimum_of_any_problem((instance, spec) in acyclic_problems(6, InstanceOptions::ALL), dp in ideal_dps()) {
        let expected = solve_and_verify(&BruteForce, &instance, &spec);
        let found = solve_and_verify(&dp, &instance, &spec);
        prop_assert!(same(&spec, found, expected), "found {found:?}, expected {expected:?}");
    }

    #[test]
    fn finds_the_optimum_of_plain_graphs((instance, spec) in acyclic_problems(8, InstanceOptions::PLAIN), dp in ideal_dps()) {
        let expected = solve_and_verify(&BruteForce, &instance, &spec);
        let found = solve_and_verify(&dp, &instance, &spec);
        prop_assert!(same(&spec, found, expected), "found {found:?}, expected {expected:?}");
    }
}
