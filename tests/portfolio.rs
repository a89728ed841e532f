//! The plain DP and the portfolio against the oracle, by turns so short that everybody takes many.

mod common;
mod reference;

use common::{InstanceOptions, NEAR_TIES, config, near, solve_and_verify};
use dagsplit::generate::{Layered, RandomDag, RandomFamily, Recipe, generate};
use dagsplit::instance::Instance;
use dagsplit::problem::{Objective, Problem, ProblemSpec, Scope};
use dagsplit::solve::{BruteForce, Outcome, PlainDp, Portfolio, SearchContext, Solver, Status};
use dagsplit::verify;
use proptest::prelude::*;
use reference::{acyclic_problems, same};

/// Many turns even on small problems.
const SHORT: Portfolio = Portfolio { looks: Some(5) };

fn without_servers((instance, spec): (Instance, ProblemSpec)) -> (Instance, ProblemSpec) {
    (instance, ProblemSpec { interconnect: None, ..spec })
}

fn of_one_load((instance, spec): (Instance, ProblemSpec)) -> (Instance, ProblemSpec) {
    (instance, ProblemSpec { objective: Objective::Throughput, ..spec })
}

/// The problem for splits of this scope by their largest load, without replicas, as branch and price takes it.
fn of_scope(spec: &ProblemSpec, scope: &Scope) -> ProblemSpec {
    let spec = ProblemSpec { interconnect: None, replication: None, scope: scope.clone(), ..spec.clone() };
    ProblemSpec { objective: Objective::Throughput, ..spec }
}

proptest! {
    #![proptest_config(config(500))]

    #[test]
    fn the_plain_program_finds_the_optimum(
        (instance, spec) in acyclic_problems(6, InstanceOptions::ALL).prop_map(without_servers),
    ) {
        let expected = solve_and_verify(&BruteForce, &instance, &spec);
        let found = solve_and_verify(&PlainDp::default(), &instance, &spec);
        prop_assert!(same(&spec, found, expected), "found {found:?}, expected {expected:?}");
    }

    #[test]
    fn the_portfolio_finds_the_optimum(
        (instance, spec) in acyclic_problems(6, InstanceOptions::ALL).prop_map(of_one_load),
        (threads, looks) in (1..4_usize, 1..50_u64),
    ) {
        let expected = solve_and_verify(&BruteForce, &instance, &spec);
        let problem = Problem::new(&instance, spec.clone()).unwrap();
        let mut cx = SearchContext::new();
        cx.threads = threads;
        let run = Portfolio { looks: Some(looks) }.solve(&problem, &mut cx).unwrap();
        let found = run.outcome.solution().and_then(|split| split.objective);
        prop_assert!(same(&spec, found, expected), "found {found:?}, expected {expected:?}");
        prop_assert!(matches!(run.outcome.status(), Status::Optimal | Status::Infeasible));
        if let Some(split) = run.outcome.solution() {
            prop_assert!(verify::check(&instance, &spec, split).is_ok());
        }
    }
}

proptest! {
    #![proptest_config(config(100))]

    #[test]
    fn near_ties_are_told_apart(
        (instance, spec) in acyclic_problems(7, NEAR_TIES).prop_map(without_servers).prop_map(of_one_load),
    ) {
        let expected = solve_and_verify(&BruteForce, &instance, &spec);
        for solver in [&PlainDp::default() as &dyn Solver, &SHORT] {
            let found = solve_and_verify(solver, &instance, &spec);
            prop_assert!(near(found, expected), "{}: found {found:?}, expected {expected:?}", solver.name());
        }
    }

    #[test]
    fn every_scope_has_its_optimum((instance, spec) in acyclic_problems(6, InstanceOptions::PLAIN)) {
        for scope in [Scope::Arbitrary, Scope::Convex, Scope::Acyclic] {
            let spec = of_scope(&spec, &scope);
            let expected = solve_and_verify(&BruteForce, &instance, &spec);
            let found = solve_and_verify(&SHORT, &instance, &spec);
            prop_assert!(same(&spec, found, expected), "{scope:?}: found {found:?}, expected {expected:?}");
        }
    }

    /// Cut off anywhere, it claims nothing that is not so.
    #[test]
    fn anytime(
        (instance, spec) in acyclic_problems(6, InstanceOptions::ALL).prop_map(of_one_load), micros in 0..3_000_u64,
    ) {
        let optimum = solve_and_verify(&BruteForce, &instance, &spec);
        let problem = Problem::new(&instance, spec.clone()).unwrap();
        let mut cx = SearchContext::new().with_time_limit(std::time::Duration::from_micros(micros));
        let run = SHORT.solve(&problem, &mut cx).unwrap();
        if let Some(split) = run.outcome.solution() {
            prop_assert!(verify::check(&instance, &spec, split).is_ok());
        }
        if let (Some(bound), Some(optimum)) = (run.outcome.bound(), optimum) {
            prop_assert!(bound.value <= optimum * (1.0 + 1e-9), "{bound:?}, optimum {optimum}");
        }
        prop_assert!(run.outcome != Outcome::Infeasible || optimum.is_none());
    }
}

/// A graph on which everybody has something to do: whoever is awake when, the answer is the same.
#[test]
fn answers_depend_on_no_clock() {
    let family = RandomFamily::Layered(Layered { layers: 7, width: 4, ..Layered::default() });
    let instance = generate(&Recipe::new(RandomDag::new(family, 1))).expect("a sound recipe");
    for scope in [Scope::Acyclic, Scope::Convex] {
        let problem = Problem::new(&instance, ProblemSpec { scope, ..ProblemSpec::of(&instance) }).unwrap();
        for threads in [1, 3] {
            let run = || {
                let mut cx = SearchContext::new();
                cx.threads = threads;
                Portfolio { looks: Some(100) }.solve(&problem, &mut cx).unwrap().outcome
            };
            let first = run();
            assert_eq!(first.status(), Status::Optimal);
            (0..3).for_each(|_| assert_eq!(run(), first, "{threads} threads"));
        }
    }
}
