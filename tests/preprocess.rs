//! Every reduction keeps the optimum, and whole splits can be lifted from it.

mod common;
mod reference;

use common::{InstanceOptions, config, solve_and_verify};
use dagsplit::instance::{Edge, Instance, Node, Platform};
use dagsplit::internals::preprocess::Reduced;
use dagsplit::problem::{CostKind, Problem, ProblemSpec};
use dagsplit::solve::BruteForce;
use dagsplit::solve::IdealDp;
use proptest::prelude::*;
use reference::{acyclic_problems, best_on_units, ideals, same};

/// Whether each original node is in one unit, order edges ascend, and nets and costs fit the units.
fn check_shape(problem: &Problem, reduced: &Reduced) -> Result<(), TestCaseError> {
    let n = reduced.unit_count();
    prop_assert_eq!(reduced.lift(0..n), (0..problem.node_count()).collect::<Vec<_>>());
    prop_assert!(reduced.members.iter().all(|nodes| !nodes.is_empty()));
    prop_assert_eq!(reduced.order.node_count(), n);
    prop_assert!(reduced.order.edges().all(|(u, v)| u < v));
    for (e, net) in reduced.nets.iter().enumerate() {
        prop_assert!(net.pins.len() > 1 && net.pins.is_sorted() && net.pins.contains(&net.source));
        prop_assert!(net.pins.iter().all(|&u| reduced.nets_of.row(u as usize).contains(&(e as u32))));
    }
    prop_assert_eq!(reduced.nets_of.entry_count(), reduced.nets.iter().map(|net| net.pins.len()).sum::<usize>());
    for kind in &reduced.kinds {
        prop_assert_eq!(kind.transfers.len(), reduced.nets.len());
        prop_assert_eq!((kind.times.len(), kind.memory.len(), kind.fixed.len()), (n, n, n));
    }
    Ok(())
}

fn optimum(problem: &Problem, reduced: &Reduced) -> Option<f64> {
    best_on_units(problem, reduced, &ideals(&reduced.order))
}

proptest! {
    #![proptest_config(config(2500))]

    #[test]
    fn reductions_keep_the_optimum((instance, spec) in acyclic_problems(6, InstanceOptions::ALL)) {
        let expected = solve_and_verify(&BruteForce, &instance, &spec);
        let problem = Problem::new(&instance, spec.clone()).unwrap();
        let contracted = Reduced::contracted_only(&problem);
        let joined = Reduced::new(&problem);
        for reduced in [&contracted, &joined] {
            check_shape(&problem, reduced)?;
            let found = optimum(&problem, reduced);
            prop_assert!(same(&spec, found, expected), "{found:?} on {reduced:?}, expected {expected:?}");
        }
        prop_assert!(joined.unit_count() <= contracted.unit_count());
    }

    #[test]
    fn reductions_under_a_target_keep_what_meets_it(
        (instance, spec) in acyclic_problems(6, InstanceOptions::ALL), above in 0..=4u8,
    ) {
        let expected = solve_and_verify(&BruteForce, &instance, &spec);
        let problem = Problem::new(&instance, spec.clone()).unwrap();
        // A target of the optimum itself is the sharpest that may lose nothing.
        let target = expected.unwrap_or(9.0) * (1.0 + f64::from(above) / 4.0) * (1.0 + 1e-12);
        for start in [Reduced::contracted_only(&problem), Reduced::new(&problem)] {
            let reduced = start.below(&problem, target);
            check_shape(&problem, &reduced)?;
            let found = optimum(&problem, &reduced);
            prop_assert!(same(&spec, found, expected), "{found:?} on {reduced:?}, expected {expected:?}");
        }
    }

    #[test]
    fn no_target_finds_a_split_that_is_not_there(
        (instance, spec) in acyclic_problems(6, InstanceOptions::ALL), target in 0..30u8,
    ) {
        let expected = solve_and_verify(&BruteForce, &instance, &spec).unwrap_or(f64::INFINITY);
        let problem = Problem::new(&instance, spec).unwrap();
        let reduced = Reduced::new(&problem).below(&problem, target.into());
        check_shape(&problem, &reduced)?;
        let found = optimum(&problem, &reduced).unwrap_or(f64::INFINITY);
        // Splits above the target may look cheaper than they are, but not as cheap as the target.
        prop_assert!(found >= expected.min(f64::from(target)) * (1.0 - 1e-12), "{found} below {expected}");
    }
}

/// Hand-worked: forward 1 → 2 and 1 → 3, backward 13 → 11 and 13 → 12, one colour class for each last digit. Class 3
/// costs nothing and hangs at class 1 alone, but its gradient goes to class 2 as well. With class 1 it would send 5 + 5;
/// with class 2 each of the two devices sends 5 and receives 5.
#[test]
fn a_free_leaf_may_turn_incoming_transfers_into_outgoing_ones() {
    let node = |id: u64, time: f64, transfer_time: f64| Node {
        accelerator_times: vec![Some(time)],
        transfer_time,
        backward: id > 10,
        color_class: Some(id % 10),
        ..Node::new(id)
    };
    let nodes = vec![
        node(1, 4.0, 5.0),
        node(2, 4.0, 0.0),
        node(3, 0.0, 0.0),
        node(11, 0.0, 0.0),
        node(12, 0.0, 0.0),
        node(13, 0.0, 5.0),
    ];
    let edges = [(1, 2), (1, 3), (13, 11), (13, 12)].map(|(source, target)| Edge { source, target }).to_vec();
    let instance = Instance { platform: Platform::uniform(2, None, 0), nodes, edges, ..Instance::default() };
    for (cost, expected) in [(CostKind::Additive, 8.0), (CostKind::Overlap, 8.0), (CostKind::Duplex, 5.0)] {
        let spec = ProblemSpec { cost, ..ProblemSpec::of(&instance) };
        assert_eq!(solve_and_verify(&BruteForce, &instance, &spec), Some(expected));
        assert_eq!(solve_and_verify(&IdealDp::default(), &instance, &spec), Some(expected), "{cost:?}");
    }
}
