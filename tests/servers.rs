//! Two-level interconnects in the dynamic programs: by hand, against the oracle, and on modelled networks.

mod common;

use std::time::Duration;

use common::{InstanceOptions, config, problems, solve_and_verify};
use dagsplit::generate::{Recipe, Resnet, Transformer, generate};
use dagsplit::instance::{Edge, Instance, Node, Platform};
use dagsplit::internals::dp::Setting;
use dagsplit::internals::dp::chain::Bits;
use dagsplit::internals::dp::dominance::{Covered, Dominance, Extension};
use dagsplit::internals::dp::loads::SetLoads;
use dagsplit::internals::preprocess::Reduced;
use dagsplit::problem::{Interconnect, Objective, Problem, ProblemSpec, Replication, Scope};
use dagsplit::solve::BruteForce;
use dagsplit::solve::{IdealDp, LinearizedDp, PlainDp};
use dagsplit::solve::{SearchContext, Solver};
use dagsplit::verify;
use proptest::prelude::*;
use proptest::sample::Index;

fn with(spec: ProblemSpec, server_size: usize, between_factor: f64) -> ProblemSpec {
    ProblemSpec { interconnect: Some(Interconnect { server_size, between_factor }), ..spec }
}

fn optimum(instance: &Instance, spec: &ProblemSpec) -> f64 {
    solve_and_verify(&IdealDp::default(), instance, spec).expect("there is a split")
}

fn chain(times: &[f64], transfers: &[f64]) -> Instance {
    let node = |(id, (&time, &transfer_time))| Node {
        accelerator_times: vec![Some(time)],
        cpu_time: None,
        transfer_time,
        ..Node::new(id)
    };
    let n = times.len() as u64;
    Instance {
        platform: Platform::uniform(times.len(), None, 0),
        nodes: (0..n).zip(times.iter().zip(transfers)).map(node).collect(),
        edges: (1..n).map(|id| Edge { source: id - 1, target: id }).collect(),
        ..Instance::default()
    }
}

#[test]
fn transfers_between_servers_cost_more() {
    let instance = chain(&[4.0; 4], &[1.0, 2.0, 1.0, 0.0]);
    let of = |size| optimum(&instance, &with(ProblemSpec::of(&instance), size, 3.0));
    assert_eq!(of(4), 4.0 + 1.0 + 2.0);
    // {0} | {1} {2,3} with one transfer between servers: 4 + 3, 3 + 4 + 2, 2 + 8. Cut in the middle it is 1 + 4 + 6.
    assert_eq!(of(2), 10.0);
    // Every transfer is between servers. All apart: 3 + 4 + 6; {0} {1,2} {3}: 3 + 8 + 3; {0,1} {2,3}: 8 + 6.
    assert_eq!(of(1), 13.0);
}

#[test]
fn a_net_that_leaves_its_server_past_other_stages_costs_more() {
    let mut instance = chain(&[6.0, 5.0, 5.0, 5.0, 5.0, 5.0], &[1.0, 0.0, 0.0, 0.0, 0.0, 0.0]);
    instance.edges.push(Edge { source: 0, target: 5 });
    // All apart in two servers: node 0 pays 6 + 5, for node 5 is in the other server. In one server {0,1} {2,3} {4,5}
    // pays 11 + 1.
    assert_eq!(optimum(&instance, &with(ProblemSpec::of(&instance), 3, 5.0)), 11.0);
    // With a factor of 7 that is less than 6 + 7.
    assert_eq!(optimum(&instance, &with(ProblemSpec::of(&instance), 3, 7.0)), 12.0);
}

/// Whether dominance adds unit 1 to a stage that holds unit 0 alone.
fn dominates(instance: &Instance, server_size: usize, between_factor: f64) -> bool {
    let spec = with(ProblemSpec::of(instance), server_size, between_factor);
    let problem = Problem::new(instance, spec).expect("valid");
    let reduced = Reduced::contracted_only(&problem);
    let setting = Setting::new(&problem, &reduced);
    let rule = Dominance::new(&problem, &reduced).expect("in and out weigh the same");
    let empty: Bits = [0].into();
    let stage = setting.stages[0];
    let (ideal, set): (Bits, Bits) = ([1].into(), [1].into());
    let mut sets = SetLoads::new(&setting.loads);
    let sums = sets.least_sums(stage, &set, &empty, &ideal).expect("an accelerator can run it");
    let mut reached = Extension { ideal, set, sums, value: [0.0; 2] };
    rule.extend(&mut reached, stage, (&empty, [0.0; 2]), (&mut sets, &mut Covered::default()), 1e3);
    reached.ideal[0] & 2 != 0
}

#[test]
fn dominance_heeds_the_price_between_servers() {
    // Node 1 computes for 2 and makes the cut larger by 1: no loss in a server, but one between servers.
    let instance = chain(&[4.0, 2.0, 8.0], &[0.0, 1.0, 0.0]);
    assert!(dominates(&instance, 3, 2.0));
    assert!(!dominates(&instance, 3, 3.0));
}

#[test]
fn dominance_heeds_nets_that_pass_backward() {
    // Nodes 0, 1, 2 have backward partners 3, 4, 5, and 5 feeds 4. A stage that holds 2 and 5 but not 1 and 4 may have
    // 1 and 4 above it inside its server, or below it between servers.
    let mut instance = chain(&[9.0; 6], &[0.0, 0.0, 0.0, 0.0, 0.0, 1.0]);
    for (v, node) in instance.nodes.iter_mut().enumerate() {
        (node.backward, node.color_class) = (v > 2, Some(v as u64 % 3));
    }
    instance.edges = vec![Edge { source: 5, target: 4 }];
    assert!(dominates(&instance, 3, 1.0));
    assert!(!dominates(&instance, 3, 2.0));
}

/// Acyclic problems with servers, of at most `most` accelerators in one of the classes.
fn with_servers(
    max_groups: usize,
    options: InstanceOptions,
    most: usize,
) -> impl Strategy<Value = (Instance, ProblemSpec)> {
    (problems(max_groups, options), 1..=3usize, 1..=most, any::<Index>(), 2..=6u8).prop_map(
        move |((mut instance, spec), size, servers, class, factor)| {
            let classes = &mut instance.platform.accelerators;
            let chosen = class.index(classes.len());
            for (i, class) in classes.iter_mut().enumerate() {
                class.count = if i == chosen { size * servers.min(most / size) } else { class.count / size * size };
            }
            let platform = instance.platform.clone();
            let spec = with(ProblemSpec { platform, scope: Scope::Acyclic, ..spec }, size, factor.into());
            (instance, spec)
        },
    )
}

fn matches_the_oracle(instance: &Instance, spec: &ProblemSpec) -> Result<(), TestCaseError> {
    let expected = solve_and_verify(&BruteForce, instance, spec);
    prop_assert_eq!(solve_and_verify(&IdealDp::default(), instance, spec), expected);
    if spec.objective == Objective::Throughput {
        prop_assert_eq!(solve_and_verify(&PlainDp::default(), instance, spec), expected);
    }
    let linearized = solve_and_verify(&LinearizedDp::default(), instance, spec);
    prop_assert!(linearized.is_none_or(|value| expected.is_some_and(|least| value >= least)));
    Ok(())
}

proptest! {
    #![proptest_config(config(1000))]

    #[test]
    fn the_ideal_dp_is_exact_with_everything_at_once(
        (instance, spec) in with_servers(5, InstanceOptions { max_cpus: 1, max_accelerators: 2, ..InstanceOptions::ALL }, 4)
    ) {
        matches_the_oracle(&instance, &spec)?;
    }

    #[test]
    fn the_ideal_dp_is_exact_where_stages_fill_servers(
        (instance, spec) in with_servers(7, InstanceOptions { max_cpus: 1, ..InstanceOptions::PLAIN }, 6)
    ) {
        matches_the_oracle(&instance, &spec)?;
    }
}

fn transformer() -> Instance {
    let recipe = Recipe { accelerators: 8, cpus: 0, ..Recipe::new(Transformer::bert_base()) };
    generate(&recipe).expect("the recipe makes sense")
}

#[test]
fn networks_over_two_servers_are_proven() {
    let resnet = Recipe { accelerators: 8, cpus: 1, ..Recipe::new(Resnet::default()) };
    for instance in [transformer(), generate(&resnet).expect("the recipe makes sense")] {
        let plain = ProblemSpec::of(&instance);
        // Ordered by what their splits pay: one server of all, two with equal prices, two, eight.
        let specs =
            [plain.clone(), with(plain.clone(), 4, 1.0), with(plain.clone(), 4, 4.0), with(plain.clone(), 1, 4.0)];
        let values = specs.map(|spec| optimum(&instance, &spec));
        // The times are no integers: sums of them differ by their rounding.
        let is_at_most = |a: f64, b: f64| a <= b * (1.0 + verify::CLAIM_TOLERANCE);
        assert!(values.is_sorted_by(|&a, &b| is_at_most(a, b)), "{values:?}");
        assert!(values[1] * 1.001 < values[2], "the boundary between servers costs nothing: {values:?}");
    }
}

#[test]
fn replicas_and_gpipe_over_two_servers_are_proven() {
    let instance = transformer();
    let replication = Some(Replication { max_replicas: 4, bandwidth: 1e8 });
    let spec = ProblemSpec { replication, objective: Objective::GPipe, ..ProblemSpec::of(&instance) };
    assert!(optimum(&instance, &with(spec.clone(), 4, 4.0)) >= optimum(&instance, &spec));
}

#[test]
fn a_time_limit_leaves_a_split_and_a_bound() {
    let instance = transformer();
    let spec = with(ProblemSpec::of(&instance), 4, 16.0);
    let problem = Problem::new(&instance, spec.clone()).expect("valid");
    let mut cx = SearchContext::new().with_time_limit(Duration::ZERO);
    let run = IdealDp::default().solve(&problem, &mut cx).expect("supported");
    let split = run.outcome.solution().expect("the first order is always split");
    let objective = verify::check(&instance, &spec, split).expect("valid").objective();
    let bound = run.outcome.bound().expect("there is a bound").value;
    assert!(bound > 0.0 && bound <= optimum(&instance, &spec) && optimum(&instance, &spec) <= objective);
}
