//! The time of a step of microbatches: methods against brute force, the formula against simulated pipelines, and what
//! is asked for and refused.

mod common;

use common::{InstanceOptions, config, layers, proves, solve_and_verify};
use dagsplit::conformance::Suite;
use dagsplit::conformance::strategies::step_problems;
use dagsplit::instance::{Edge, Instance, Node};
use dagsplit::problem::{DeviceAssignment, DeviceKind, Objective, Problem, ProblemSpec, Scope, Solution};
use dagsplit::registry::solver;
use dagsplit::simulate::schedule::{GPipe, OneForwardOneBackward, Schedule};
use dagsplit::simulate::{Options, Pipeline, simulate};
use dagsplit::solve::{BruteForce, Guarantee, Outcome, SearchContext, Status};
use dagsplit::verify;
use proptest::collection::vec;
use proptest::prelude::*;

/// Those that count steps themselves, and some that know the largest load alone.
const METHODS: [&str; 8] =
    ["portfolio", "dp:plain", "dpl", "uniform", "pipedream", "greedy", "parmesan:k=3", "cluster:k=3+dp:plain"];

/// Room for the rounding of sums.
const LESS: f64 = 1.0 - verify::CLAIM_TOLERANCE;

fn step_of(instance: &Instance, microbatches: usize) -> ProblemSpec {
    ProblemSpec { objective: Objective::Step { microbatches }, ..ProblemSpec::of(instance) }
}

proptest! {
    #![proptest_config(config(300))]

    #[test]
    fn no_method_beats_the_oracle_and_exact_ones_meet_it((instance, spec) in step_problems(6, InstanceOptions::ALL)) {
        let best = solve_and_verify(&BruteForce, &instance, &spec);
        let problem = Problem::new(&instance, spec.clone()).unwrap();
        for name in METHODS {
            let solver = solver(name).unwrap();
            if solver.takes(&problem).is_err() {
                continue;
            }
            let run = solver.solve(&problem, &mut SearchContext::new()).unwrap();
            let found = solve_and_verify(solver.as_ref(), &instance, &spec);
            let is_exact = solver.guarantee() == Guarantee::Exact;
            match (found, best) {
                (Some(found), Some(best)) => {
                    prop_assert!(found >= best * LESS, "{name}: {found} < {best}");
                    prop_assert!(!is_exact || found * LESS <= best, "{name}: {found} > {best}");
                }
                _ => prop_assert!(found.is_none() && (best.is_none() || !is_exact), "{name}: {found:?}, {best:?}"),
            }
            if let (Some(bound), Some(best)) = (run.outcome.bound(), best) {
                prop_assert!(bound.value * LESS <= best, "{name}: bound {} of {best}", bound.value);
            }
        }
    }

    #[test]
    fn it_is_the_makespan_of_gpipe_where_all_passes_are_in_one_ratio(
        times in vec(1..20u8, 1..7), ratio in 1..4u8, microbatches in 1..9usize
    ) {
        // A stage for each layer: its forward pass, and a backward pass of so many times as long.
        let count = times.len();
        let forward: Vec<f64> = times.iter().map(|&time| time.into()).collect();
        let mut instance = layers(&forward, 0.0, count);
        for (id, time) in forward.iter().enumerate() {
            let backward = Node {
                accelerator_times: vec![Some(time * f64::from(ratio))],
                backward: true,
                color_class: Some(id as u64),
                ..Node::new((count + id) as u64)
            };
            instance.nodes.push(backward);
            instance.nodes[id].color_class = Some(id as u64);
        }
        let last = count as u64 - 1;
        instance.edges.push(Edge { source: last, target: count as u64 + last });
        let backward = |id: u64| Edge { source: count as u64 + id, target: count as u64 + id - 1 };
        instance.edges.extend((1..count as u64).rev().map(backward));
        let device = |id: u64| DeviceAssignment::new(DeviceKind::Accelerator(0), vec![id, count as u64 + id]);
        let split = Solution { devices: (0..count as u64).map(device).collect(), objective: None };
        let spec = step_of(&instance, microbatches);
        let verified = verify::check(&instance, &spec, &split).unwrap();
        let problem = Problem::new(&instance, spec).unwrap();
        let pipeline = Pipeline::of_split(&instance, &problem, &verified).unwrap();
        let options = Options { microbatches, recompute: false };
        let makespan = |schedule: &dyn Schedule| simulate(&pipeline, schedule, options).unwrap().makespan();
        prop_assert_eq!(makespan(&GPipe), verified.objective());
        // Backward passes may begin before the pipeline is full.
        prop_assert!(makespan(&OneForwardOneBackward) <= verified.objective());
    }
}

#[test]
fn laws_hold_for_a_step() {
    for name in ["portfolio", "dp:plain", "dpl", "uniform", "brute-force", "degrees"] {
        let objective = Objective::Step { microbatches: 4 };
        let requests = vec![ProblemSpec { objective, ..ProblemSpec::default() }];
        Suite { cases: 60, requests, ..Suite::default() }.check(solver(name).unwrap().as_ref());
    }
}

#[test]
fn few_microbatches_want_few_stages_and_many_want_even_ones() {
    let instance = layers(&[4.0, 1.0, 1.0, 4.0, 1.0, 1.0], 1.5, 6);
    let optimum = |microbatches| {
        let problem = Problem::new(&instance, step_of(&instance, microbatches)).unwrap();
        let run = solver("portfolio").unwrap().solve(&problem, &mut SearchContext::new()).unwrap();
        let Outcome::Optimal { solution, .. } = run.outcome else { panic!("{:?}", run.outcome) };
        (solution.objective.unwrap(), solution.devices.len())
    };
    // One microbatch is worth no transfer: the sum of all times. Two stages of 6 + 1.5 each otherwise.
    assert_eq!(optimum(1), (12.0, 1));
    assert_eq!(optimum(2), (7.5 * 2.0 + 7.5, 2));
    let (many, stages) = optimum(1000);
    assert!(stages >= 2 && many <= 7.5 * 1001.0);
}

#[test]
fn what_is_no_step_is_refused() {
    let instance = layers(&[1.0, 1.0], 0.0, 2);
    let wrong = |spec: ProblemSpec| Problem::new(&instance, spec).map(|_| ()).unwrap_err().to_string();
    assert!(wrong(step_of(&instance, 0)).contains("a step of no microbatches"));
    for scope in [Scope::Convex, Scope::Arbitrary] {
        let message = wrong(ProblemSpec { scope, ..step_of(&instance, 2) });
        assert!(message.contains("ask for the scope `acyclic`"), "{message}");
    }
    let problem = Problem::new(&instance, step_of(&instance, 2)).unwrap();
    for name in ["dp", "certify", "ip:strong"].into_iter().filter_map(|name| solver(name).ok()) {
        assert!(name.takes(&problem).is_err(), "{}", name.name());
    }
    let unproven = solver("uniform").unwrap().solve(&problem, &mut SearchContext::new()).unwrap();
    assert_eq!(unproven.outcome.solution().and_then(|split| split.objective), Some(3.0));
    assert_eq!(unproven.outcome.status(), Status::Optimal, "what the work alone says meets it");
    assert!(proves(unproven.outcome.bound().unwrap().value, 3.0));
}
