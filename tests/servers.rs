//! Two-level interconnects in the dynamic programs: against the oracle, by hand, and on a modelled network.

mod common;

use common::{InstanceOptions, config, problems, solve_and_verify};
use dagsplit::instance::Instance;
use dagsplit::problem::{Interconnect, ProblemSpec, Scope};
use dagsplit::solve::brute_force::BruteForce;
use dagsplit::solve::dp::{IdealDp, linearized::LinearizedDp};
use proptest::prelude::*;

/// Problems with servers; `factor` says what the price between them can be.
fn with_servers(
    max_groups: usize,
    options: InstanceOptions,
    most: usize,
) -> impl Strategy<Value = (Instance, ProblemSpec)> {
    (problems(max_groups, options), 1..=3usize, 1..=4usize, any::<proptest::sample::Index>(), 1..=6u8).prop_map(
        move |((mut instance, mut spec), size, servers, class, factor)| {
            let size = size.min(most);
            let servers = servers.min(most / size).max(1);
            let classes = &mut instance.platform.accelerators;
            let chosen = class.index(classes.len());
            for (i, class) in classes.iter_mut().enumerate() {
                class.count = if i == chosen { size * servers } else { class.count / size * size };
            }
            spec.platform = instance.platform.clone();
            spec.interconnect = Some(Interconnect { server_size: size, between_factor: factor.into() });
            spec.scope = Scope::Acyclic;
            (instance, spec)
        },
    )
}

proptest! {
    #![proptest_config(config(1000))]

    #[test]
    fn the_ideal_dp_is_exact((instance, spec) in with_servers(5, InstanceOptions { max_accelerators: 2, max_cpus: 1, ..InstanceOptions::ALL }, 4)) {
        let expected = solve_and_verify(&BruteForce, &instance, &spec);
        prop_assert_eq!(solve_and_verify(&IdealDp::default(), &instance, &spec), expected);
        let linearized = solve_and_verify(&LinearizedDp::default(), &instance, &spec);
        prop_assert!(expected.is_none_or(|least| linearized.is_none_or(|value| value >= least)));
    }
}
