//! Cost models from outside: every exact method against the brute-force oracle and the verifier, by the same data.

mod common;

use common::{InstanceOptions, config, latency_problems, problems, proves};
use dagsplit::cost::{CostModel, Costs, PerEdge, Piece, ProfiledCost};
use dagsplit::instance::{Edge, Instance, Node, Platform};
use dagsplit::problem::{DeviceAssignment, DeviceKind, Objective, Problem, ProblemSpec, Scope, Solution};
use dagsplit::registry::{self, Method};
use dagsplit::solve::BruteForce;
use dagsplit::solve::{Outcome, SearchContext, Solver};
use dagsplit::verify;
use dagsplit::verify::Violation;
use proptest::prelude::*;
use rand::rngs::Xoshiro256PlusPlus;
use rand::seq::IndexedRandom;
use rand::{RngExt, SeedableRng};

/// Costs that no instance states: loads of any pieces, transfers to any of a node's consumers, other times on each class,
/// and memory for what is cut.
#[derive(Debug, Clone, Copy)]
struct Strange {
    seed: u64,
    /// Whether boundaries take memory, and replicas share it.
    has_boundaries: bool,
}

impl CostModel for Strange {
    fn costs(&self, instance: &Instance, spec: &ProblemSpec) -> Costs {
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(self.seed);
        let mut costs = ProfiledCost.costs(instance, spec);
        let classes = costs.kinds.len() - 1;
        let (mut transfers, mut times) = (Vec::new(), vec![Vec::new(); classes + 1]);
        for (t, transfer) in costs.transfers.iter().enumerate() {
            // The consumers in up to two groups, which may overlap, or leave some out.
            for _ in 0..rng.random_range(0..=2) {
                let chosen = transfer.consumers.iter().copied().filter(|_| rng.random_bool(0.7));
                let consumers: Vec<usize> = chosen.collect();
                if consumers.is_empty() {
                    continue;
                }
                let mut of_group = transfer.clone();
                of_group.consumers = consumers;
                transfers.push(of_group);
                for (class, times) in times.iter_mut().enumerate() {
                    let time = costs.kinds[class].transfers[t] * f64::from(rng.random_range(0..=3u8)) / 2.0;
                    times.push(if class < classes { time } else { 0.0 });
                }
            }
        }
        costs.transfers = transfers;
        costs.kinds.iter_mut().zip(times).for_each(|(kind, times)| kind.transfers = times);
        for kind in &mut costs.kinds[..classes] {
            let coefficients = [0.0, 0.25, 0.5, 1.0, 1.5];
            let mut coefficient = || *coefficients.choose(&mut rng).unwrap();
            let pieces = (0..4).map(|_| Piece::new(coefficient(), coefficient(), coefficient()));
            let pieces: Vec<Piece> = pieces.collect();
            kind.pieces = pieces[..rng.random_range(1..=4)].to_vec();
        }
        if self.has_boundaries && !matches!(spec.objective, Objective::Latency { .. }) {
            for kind in &mut costs.kinds[..classes] {
                kind.boundary = instance.nodes.iter().map(|_| f64::from(rng.random_range(0..=2u8))).collect();
            }
            costs.memory.is_shared = rng.random_bool(0.5);
        }
        costs
    }
}

/// What a method says of a problem, once the verifier has agreed; `None` where it does not take it.
fn checked(solver: &dyn Solver, instance: &Instance, spec: &ProblemSpec, model: &dyn CostModel) -> Option<Outcome> {
    let problem = Problem::with_costs(instance, spec.clone(), model).unwrap();
    solver.supports(&problem).ok()?;
    let outcome = solver.solve(&problem, &mut SearchContext::new()).unwrap().outcome;
    if let Some(split) = outcome.solution() {
        let verified = verify::check_with(instance, spec, &model.costs(instance, spec), split);
        let listed = verified.err().unwrap_or_default();
        assert!(listed.is_empty(), "{} {model:?}: {listed:?}\n{spec:?}\n{instance:?}", solver.name());
    }
    Some(outcome)
}

/// The methods that are held to brute force.
fn methods() -> impl Iterator<Item = &'static Method> {
    registry::methods().iter().filter(|method| !method.needs_more() && method.name != "brute-force")
}

/// Holds these methods to the brute-force optimum, the exact ones among them to reach it. Returns how many of these took
/// the problem.
fn hold_to_the_optimum<'a>(
    methods: impl Iterator<Item = &'a Method>,
    (instance, spec): (&Instance, &ProblemSpec),
    model: &dyn CostModel,
) -> usize {
    let Some(truth) = checked(&BruteForce, instance, spec, model) else { return 0 };
    let least = truth.solution().and_then(|split| split.objective);
    let mut exact = 0;
    for method in methods {
        let solver = method.solver();
        let place = || format!("{} {model:?}\n{spec:?}\n{instance:?}", method.name);
        let Some(outcome) = checked(solver.as_ref(), instance, spec, model) else { continue };
        exact += usize::from(method.exact);
        let bound = outcome.bound().filter(|bound| bound.scope.covers(&spec.scope)).map(|bound| bound.value);
        if let (Some(bound), Some(least)) = (bound, least) {
            assert!(bound <= least * (1.0 + 1e-9), "a bound of {bound} above the optimum {least}: {}", place());
        }
        match &outcome {
            Outcome::Optimal { solution, .. } => {
                let (value, least) = (solution.objective.unwrap(), least.unwrap_or(f64::NAN));
                assert!(proves(least * (1.0 - 1e-12), value), "{value} is not the optimum {least}: {}", place());
            }
            Outcome::Infeasible => assert_eq!(least, None, "there are splits: {}", place()),
            _ => assert!(!method.exact, "no proof without a limit: {outcome:?} {}", place()),
        }
    }
    exact
}

/// Small instances with requests of any kind and a seed for strange costs.
fn strange_problems() -> impl Strategy<Value = (Instance, ProblemSpec, Strange)> {
    let options = InstanceOptions { memory_limits: true, ..InstanceOptions::ALL };
    let latency = latency_problems(4, 2, options);
    let problems = prop_oneof![3 => problems(5, options), 1 => latency];
    (problems, any::<u64>(), prop::bool::weighted(0.3))
        .prop_map(|((instance, spec), seed, has_boundaries)| (instance, spec, Strange { seed, has_boundaries }))
}

proptest! {
    #![proptest_config(config(150))]

    #[test]
    fn every_exact_method_solves_costs_from_outside((instance, spec, model) in strange_problems()) {
        hold_to_the_optimum(methods(), (&instance, &spec), &model);
    }

    #[test]
    fn every_exact_method_pays_for_each_edge((instance, spec) in problems(5, InstanceOptions::ALL)) {
        hold_to_the_optimum(methods(), (&instance, &spec), &PerEdge(ProfiledCost));
    }
}

/// Run once for closing notes: two thousand problems for each exact method.
#[test]
#[ignore = "takes minutes"]
fn every_exact_method_solves_two_thousand_problems() {
    let mut runner = proptest::test_runner::TestRunner::deterministic();
    let strategy = strange_problems();
    let mut solved = std::collections::BTreeMap::<&str, usize>::new();
    // Options of nodes and what sharding moves are asked for by other objectives.
    let others = ["degrees", "sharding-bb"];
    let exact: Vec<_> = methods().filter(|method| method.exact && !others.contains(&method.name)).collect();
    while exact.iter().any(|method| solved.get(method.name).copied().unwrap_or(0) < 2000) {
        let tree = proptest::strategy::Strategy::new_tree(&strategy, &mut runner).unwrap();
        let (instance, spec, model) = proptest::strategy::ValueTree::current(&tree);
        let problem = Problem::with_costs(&instance, spec.clone(), &model).unwrap();
        let wanted = |name: &str| solved.get(name).copied().unwrap_or(0) < 2000;
        if !exact.iter().any(|method| wanted(method.name) && method.solver().supports(&problem).is_ok()) {
            continue;
        }
        hold_to_the_optimum(exact.iter().copied(), (&instance, &spec), &model);
        for method in exact.iter().filter(|method| method.solver().supports(&problem).is_ok()) {
            *solved.entry(method.name).or_default() += 1;
        }
    }
    println!("{solved:?}");
    assert_eq!(solved.len(), exact.len());
}

fn three_consumers() -> Instance {
    let node = |id| Node { accelerator_times: vec![Some(4.0)], cpu_time: None, transfer_time: 1.0, ..Node::new(id) };
    Instance {
        platform: Platform::uniform(2, None, 0),
        nodes: (0..4).map(node).collect(),
        edges: (1..4).map(|target| Edge { source: 0, target }).collect(),
        ..Instance::default()
    }
}

#[test]
fn an_output_is_paid_once_or_for_each_edge() {
    let (instance, device) = (three_consumers(), |nodes| DeviceAssignment::new(DeviceKind::Accelerator(0), nodes));
    let spec = ProblemSpec { scope: Scope::Arbitrary, ..ProblemSpec::of(&instance) };
    let split = Solution { devices: vec![device(vec![0, 1]), device(vec![2, 3])], objective: None };
    let value = |model: &dyn CostModel| {
        verify::check_with(&instance, &spec, &model.costs(&instance, &spec), &split).unwrap().objective()
    };
    assert_eq!((value(&ProfiledCost), value(&PerEdge(ProfiledCost))), (9.0, 10.0));
    assert_eq!(verify::check(&instance, &spec, &split).unwrap().objective(), 9.0);
}

#[test]
fn data_that_is_no_cost_is_refused_with_all_that_is_wrong() {
    #[derive(Debug)]
    struct Wrong;
    impl CostModel for Wrong {
        fn costs(&self, instance: &Instance, spec: &ProblemSpec) -> Costs {
            let mut costs = ProfiledCost.costs(instance, spec);
            costs.kinds[0].pieces = vec![Piece::new(-1.0, 0.0, 0.0)];
            costs.kinds[1].transfers[0] = 1.0;
            costs.transfers[0].consumers = vec![3, 2];
            costs.kinds[0].boundary = vec![1.0];
            costs
        }
    }
    let instance = three_consumers();
    let spec = ProblemSpec::of(&instance);
    let problems = Problem::with_costs(&instance, spec.clone(), &Wrong).err().unwrap();
    let listed = problems.to_string();
    for part in ["a coefficient of its load is -1", "costs of CPUs", "transfer 0", "the bytes of boundaries"] {
        assert!(listed.contains(part), "{part} is missing in {listed}");
    }
    let split = Solution::default();
    let violations = verify::check_with(&instance, &spec, &Wrong.costs(&instance, &spec), &split).unwrap_err();
    assert!(matches!(&violations[..], [Violation::InvalidInstance(found)] if found.to_string() == listed));
}

#[test]
fn a_class_that_states_its_load_has_it_everywhere() {
    let mut instance = three_consumers();
    // A load of compute time and twice what comes in: the second device takes 8 + 2.
    instance.platform.accelerators[0].load = Some(vec![Piece::new(1.0, 2.0, 0.0)]);
    let spec = ProblemSpec { scope: Scope::Arbitrary, ..ProblemSpec::of(&instance) };
    let problem = Problem::new(&instance, spec.clone()).unwrap();
    for method in ["certify", "brute-force"] {
        let run = registry::solver(method).unwrap().solve(&problem, &mut SearchContext::new()).unwrap();
        let Outcome::Optimal { solution, .. } = run.outcome else { panic!("{method}: {:?}", run.outcome) };
        assert_eq!(verify::check(&instance, &spec, &solution).unwrap().objective(), 10.0);
    }
}
