//! Problems for property tests, and solving with every answer verified.

// Each test binary uses its own part of this module.
#![allow(dead_code, unused_imports)]

pub use dagsplit::conformance::strategies::{
    InstanceOptions, Weights, instances, latency_problems, odd_cycles, problems,
};

use dagsplit::instance::{Edge, Instance, Node, Platform};
use dagsplit::problem::{Problem, ProblemSpec};
use dagsplit::solve::{Guarantee, OPTIMALITY_TOLERANCE, Outcome, Run, SearchContext, Solver};
use dagsplit::verify;
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::{FailurePersistence, FileFailurePersistence, TestRunner};

/// Inference graphs whose costs nearly tie, by parts in 10⁴ or in 10¹⁰: bounds have no room for errors.
pub const NEAR_TIES: InstanceOptions = InstanceOptions { weights: Weights::NearTies, ..InstanceOptions::PLAIN };

/// A configuration of `cases` cases that keeps failing ones in a file beside the test, unless the environment says not to.
pub fn config(cases: u32) -> ProptestConfig {
    let default = ProptestConfig::default();
    let beside = |_| -> Box<dyn FailurePersistence> { Box::new(FileFailurePersistence::WithSource("regressions")) };
    ProptestConfig { cases, failure_persistence: default.failure_persistence.map(beside), ..default }
}

/// Solves without limits, has the verifier check the answer and its claimed objective, and returns the objective;
/// `None` where no split exists or a heuristic finds none. Panics with the whole problem otherwise.
pub fn solve_and_verify(solver: &dyn Solver, instance: &Instance, spec: &ProblemSpec) -> Option<f64> {
    let fail = |what: String| -> ! { panic!("{}: {what}\nspec: {spec:?}\ninstance: {instance:?}", solver.name()) };
    let problem = Problem::new(instance, spec.clone()).unwrap_or_else(|problems| fail(problems.to_string()));
    let run = solver.solve(&problem, &mut SearchContext::new()).unwrap_or_else(|error| fail(error.to_string()));
    let exact = solver.guarantee() == Guarantee::Exact;
    match &run.outcome {
        Outcome::Optimal { solution, bound } if !solution.objective.is_some_and(|value| proves(bound.value, value)) => {
            fail(format!("the bound {} does not prove the objective {:?}", bound.value, solution.objective))
        }
        Outcome::Feasible { .. } | Outcome::Unknown { .. } if exact => {
            fail(format!("an exact solver without limits gave up: {:?}", run.outcome))
        }
        _ => {}
    }
    let solution = run.outcome.solution()?;
    if solution.objective.is_none() {
        fail("the split claims no objective".into());
    }
    match verify::check(instance, spec, solution) {
        Ok(_) => solution.objective,
        Err(violations) => {
            let listed: Vec<String> = violations.iter().map(ToString::to_string).collect();
            fail(format!("the verifier rejects {solution:?}: {}", listed.join("; ")))
        }
    }
}

/// Whether a bound proves an objective optimal: it is no higher, and lower by no more than rounding.
pub fn proves(bound: f64, objective: f64) -> bool {
    bound <= objective && objective - bound <= verify::CLAIM_TOLERANCE * objective
}

/// Whether two objectives are the same within what solvers promise; none is the same as none.
pub fn near(a: Option<f64>, b: Option<f64>) -> bool {
    match (a, b) {
        (Some(a), Some(b)) => (a - b).abs() <= OPTIMALITY_TOLERANCE * a.abs().max(b.abs()),
        _ => a == b,
    }
}

/// The same so many values on every run, for tests that count.
pub fn drawn<S: Strategy>(strategy: &S, count: usize) -> impl Iterator<Item = S::Value> {
    let mut runner = TestRunner::deterministic();
    (0..count).map(move |_| strategy.new_tree(&mut runner).expect("no value is rejected").current())
}

/// How many of the same `cases` problems on every run enter what `reaches` looks for in a run without limits.
pub fn count_runs(
    strategy: &impl Strategy<Value = (Instance, ProblemSpec)>,
    cases: usize,
    solver: &dyn Solver,
    reaches: impl Fn(&Run) -> bool,
) -> usize {
    let run = |(instance, spec): (Instance, ProblemSpec)| {
        solver.solve(&Problem::new(&instance, spec).unwrap(), &mut SearchContext::new()).unwrap()
    };
    drawn(strategy, cases).map(run).filter(reaches).count()
}

/// Layers in a row with these times, each of whose outputs takes so long to move.
pub fn layers(times: &[f64], transfer_time: f64, accelerators: usize) -> Instance {
    let layer = |(id, &time): (usize, &f64)| Node {
        accelerator_times: vec![Some(time)],
        transfer_time,
        ..Node::new(id as u64)
    };
    Instance {
        platform: Platform::uniform(accelerators, None, 0),
        nodes: times.iter().enumerate().map(layer).collect(),
        edges: (1..times.len() as u64).map(|id| Edge { source: id - 1, target: id }).collect(),
        ..Instance::default()
    }
}
