//! Parmesan's partitioning: operator clustering, iterative refinement, and the chains they are steps of.

mod common;

use common::{InstanceOptions, config, problems, proves, solve_and_verify};
use dagsplit::generate::{Recipe, Resnet, Transformer, generate};
use dagsplit::instance::{Edge, Instance, Node, Platform};
use dagsplit::internals::graph::order_graph::Groups;
use dagsplit::internals::preprocess::Reduced;
use dagsplit::problem::Graph;
use dagsplit::problem::{DeviceAssignment, DeviceKind, Objective, Problem, ProblemSpec, Scope, Sharding, Solution};
use dagsplit::registry::solver;
use dagsplit::solve::BruteForce;
use dagsplit::solve::{Clustering, Refinement};
use dagsplit::solve::{IterativeRefinement, OperatorClustering};
use dagsplit::solve::{Outcome, SearchContext, Solver};
use dagsplit::verify;
use proptest::prelude::*;

const SMALL: InstanceOptions = InstanceOptions { max_cpus: 1, ..InstanceOptions::ALL };

fn clusters(problem: &Problem, clusters: usize, alphas: &[f64]) -> Vec<usize> {
    let clustering = OperatorClustering { clusters, alphas: alphas.to_vec() };
    clustering.clusters(problem, &mut SearchContext::new()).expect("clustering cannot fail")
}

fn count(clusters: &[usize]) -> usize {
    clusters.iter().max().map_or(0, |most| most + 1)
}

/// The order graph's quotient by clusters, which has to be acyclic.
fn quotient(problem: &Problem, clusters: &[usize]) -> Option<Graph> {
    let groups = Groups::new(&clusters.iter().map(|&c| Some(c as u64)).collect::<Vec<_>>());
    let order = problem.order_graph(&groups);
    let edges = order.edges.iter().map(|&(u, v)| (order.group_of[u], order.group_of[v]));
    Graph::new(groups.len(), &edges.filter(|(a, b)| a != b).collect::<Vec<_>>()).ok()
}

/// Whether some kind of device can run and hold all nodes of a cluster.
fn has_room(problem: &Problem, nodes: &[usize]) -> bool {
    problem.device_kinds().into_iter().any(|kind| {
        let costs: Option<Vec<f64>> = nodes.iter().map(|&v| Some(problem.costs.node(v, kind)?.memory)).collect();
        costs.is_some_and(|bytes| problem.memory_limit(kind).is_none_or(|limit| bytes.iter().sum::<f64>() <= limit))
    })
}

proptest! {
    #![proptest_config(config(500))]

    #[test]
    fn clusters_keep_classes_order_and_memory(
        (instance, spec) in problems(7, SMALL), k in 1..6usize, alpha in prop::sample::select(vec![0.01, 1.0, 100.0])
    ) {
        let problem = Problem::new(&instance, spec).expect("valid");
        let found = clusters(&problem, k, &[alpha]);
        prop_assert_eq!(&found, &clusters(&problem, k, &[alpha]));
        let fine = clusters(&problem, usize::MAX, &[alpha]);
        prop_assert!(quotient(&problem, &found).is_some(), "{:?}", found);
        let groups = Groups::new(&found.iter().map(|&c| Some(c as u64)).collect::<Vec<_>>());
        for nodes in &groups.members {
            let units: std::collections::BTreeSet<usize> = nodes.iter().map(|&v| fine[v]).collect();
            prop_assert!(units.len() == 1 || has_room(&problem, nodes), "{:?}", nodes);
        }
        for (u, v) in (0..found.len()).flat_map(|u| (0..u).map(move |v| (u, v))) {
            let same_class = problem.color_class[u].is_some() && problem.color_class[u] == problem.color_class[v];
            prop_assert!((!same_class && fine[u] != fine[v]) || found[u] == found[v]);
        }
    }

    #[test]
    fn a_connected_graph_without_limits_comes_down_to_k(
        (mut instance, spec) in problems(7, InstanceOptions::PLAIN), k in 1..6usize
    ) {
        // One node that all others consume.
        let accelerator_times = vec![Some(1.0); instance.platform.accelerators.len()];
        instance.nodes.push(Node { accelerator_times, ..Node::new(1000) });
        instance.edges.extend(instance.nodes.iter().rev().skip(1).map(|v| Edge { source: 1000, target: v.id }));
        let spec = ProblemSpec { scope: Scope::Acyclic, platform: spec.platform, ..ProblemSpec::of(&instance) };
        let problem = Problem::new(&instance, spec).expect("valid");
        prop_assert_eq!(count(&clusters(&problem, k, &[1.0])), k.min(instance.nodes.len()));
    }

    /// Whatever is found on clusters is a split of the nodes, and no better than the best one; in every scope.
    #[test]
    fn chains_are_verified_and_never_beat_the_optimum((instance, spec) in problems(6, SMALL), k in 1..5usize) {
        let least = solve_and_verify(&BruteForce, &instance, &spec);
        let problem = Problem::new(&instance, spec.clone()).expect("valid");
        for method in ["brute-force+refine", "dp+refine", "dpl+refine", "annealing:patience=2+refine"] {
            let chain = solver(&format!("cluster:k={k}+{method}")).expect("a chain");
            if chain.supports(&problem).is_err() {
                continue;
            }
            let value = solve_and_verify(&*chain, &instance, &spec);
            prop_assert!(value.is_none_or(|value| least.is_some_and(|least| value >= least)), "{}", method);
        }
        if BruteForce.supports(&problem).is_ok() {
            // Single units are what acyclic splits keep whole.
            let chain = solver("cluster:k=1000+brute-force").expect("a chain");
            let value = solve_and_verify(&*chain, &instance, &spec);
            prop_assert!(spec.scope != Scope::Acyclic || value == least);
        }
    }

    #[test]
    fn parmesan_is_verified_and_repeats_itself((instance, spec) in problems(6, SMALL), k in 1..5usize) {
        let spec = ProblemSpec { scope: Scope::Acyclic, interconnect: None, ..spec };
        let parmesan = solver(&format!("parmesan:k={k}")).expect("a method");
        let value = solve_and_verify(&*parmesan, &instance, &spec);
        prop_assert_eq!(value, solve_and_verify(&*parmesan, &instance, &spec));
        let least = solve_and_verify(&BruteForce, &instance, &spec);
        prop_assert!(value.is_none_or(|value| least.is_some_and(|least| value >= least)));
    }

    /// Refining never worsens a split: neither one of a solver nor the worst one.
    #[test]
    fn refinement_never_worsens((instance, spec) in problems(6, SMALL)) {
        let spec = ProblemSpec { interconnect: None, ..spec };
        let problem = Problem::new(&instance, spec.clone()).expect("valid");
        let refinement = IterativeRefinement::default();
        prop_assume!(refinement.supports(&problem).is_ok());
        let run = BruteForce.solve(&problem, &mut SearchContext::new()).expect("small");
        if let Some(best) = run.outcome.solution() {
            let refined = refinement.refine(&problem, best.clone(), &mut SearchContext::new()).expect("supported");
            let value = verify::check(&instance, &spec, &refined).map(|split| split.objective());
            prop_assert_eq!(value.ok(), best.objective);
        }
        let nodes = instance.nodes.iter().map(|v| v.id).collect();
        for kind in problem.device_kinds() {
            let split = |nodes| Solution { devices: vec![DeviceAssignment::new(kind, nodes)], objective: None };
            let all = split(Vec::clone(&nodes));
            if let Ok(before) = verify::check(&instance, &spec, &all) {
                let refined = refinement.refine(&problem, all, &mut SearchContext::new()).expect("supported");
                let after = verify::check(&instance, &spec, &refined).expect("a split").objective();
                prop_assert!(after <= before.objective());
            }
        }
    }
}

/// A chain of nodes that take these times, with transfers of these times.
fn chain(times: &[f64], transfers: &[f64], accelerators: usize) -> Instance {
    let node = |(id, (&time, &transfer_time))| Node {
        accelerator_times: vec![Some(time)],
        cpu_time: None,
        transfer_time,
        ..Node::new(id)
    };
    let n = times.len() as u64;
    Instance {
        platform: Platform::uniform(accelerators, None, 0),
        nodes: (0..n).zip(times.iter().zip(transfers)).map(node).collect(),
        edges: (1..n).map(|id| Edge { source: id - 1, target: id }).collect(),
        ..Instance::default()
    }
}

#[test]
fn the_cheapest_pair_is_joined_first() {
    let instance = chain(&[4.0, 1.0, 2.0, 9.0], &[0.0, 0.0, 7.0, 0.0], 2);
    let problem = Problem::new(&instance, ProblemSpec::of(&instance)).expect("valid");
    // 4 + 1, 1 + 2 and 2 + 9 - 7 α.
    assert_eq!(clusters(&problem, 3, &[0.01]), [0, 1, 1, 2]);
    assert_eq!(clusters(&problem, 3, &[100.0]), [0, 1, 2, 2]);
    // The first leaves a cut of 0 only between 4 and 3; the second balances 5 and 11 without a transfer.
    assert_eq!(clusters(&problem, 2, &[0.01, 100.0]), [0, 0, 1, 1]);
    // The sharding cost has no linear DP: there, too, loads choose the weight.
    let objective = Objective::Sharding(Sharding::default());
    let spec = ProblemSpec { objective, scope: Scope::Arbitrary, ..ProblemSpec::of(&instance) };
    let problem = Problem::new(&instance, spec).expect("valid");
    assert_ne!(clusters(&problem, 2, &[0.01]), [0, 0, 1, 1]);
    assert_eq!(clusters(&problem, 2, &[0.01, 100.0]), [0, 0, 1, 1]);
}

#[test]
fn a_pair_that_a_path_forbids_comes_back_once_the_path_is_joined() {
    // 0 → 1 → 2 and 0 → 2, which is the cheapest pair from the start.
    let mut instance = chain(&[1.0, 50.0, 1.0], &[0.0; 3], 2);
    instance.edges.push(Edge { source: 0, target: 2 });
    let problem = Problem::new(&instance, ProblemSpec::of(&instance)).expect("valid");
    assert_eq!(clusters(&problem, 2, &[1.0]), [0, 0, 1]);
    assert_eq!(clusters(&problem, 1, &[1.0]), [0, 0, 0]);
}

#[test]
fn a_cluster_leaves_the_order_as_it_was() {
    // Backward 3 → 4 → 5, where 3 mirrors 1, 5 mirrors 0 and 4 is an orphan, which lies between 0 and 1 in the order.
    let mut instance = chain(&[1.0; 6], &[0.0; 6], 2);
    instance.edges = [(0, 1), (3, 4), (4, 5)].map(|(source, target)| Edge { source, target }).into();
    for (v, class) in [(0, 0), (1, 1), (3, 1), (5, 0)] {
        instance.nodes[v].color_class = Some(class);
    }
    instance.nodes[3..].iter_mut().for_each(|node| node.backward = true);
    let problem = Problem::new(&instance, ProblemSpec::of(&instance)).expect("valid");
    let clustered = problem.clustered(&[0, 1, 2, 1, 2, 0]);
    let reduced = Reduced::contracted_only(&clustered);
    assert_eq!(reduced.members, [vec![0, 5], vec![2, 4], vec![1, 3]]);
    assert_eq!(reduced.order.edges().collect::<Vec<_>>(), [(0, 1), (0, 2), (1, 2)]);
}

#[test]
fn refinement_moves_the_boundary_to_where_branches_meet() {
    // 0 → 1 → {2, 3} → 4 → 5: the branches part at 1 and meet at 4.
    let mut instance = chain(&[1.0; 6], &[1.0; 6], 2);
    instance.edges =
        [(0, 1), (1, 2), (1, 3), (2, 4), (3, 4), (4, 5)].map(|(source, target)| Edge { source, target }).into();
    let spec = ProblemSpec::of(&instance);
    let problem = Problem::new(&instance, spec.clone()).expect("valid");
    let device = |nodes: &[u64]| DeviceAssignment::new(DeviceKind::Accelerator(0), nodes.to_vec());
    let split = Solution { devices: vec![device(&[0, 1, 2]), device(&[3, 4, 5])], objective: None };
    // Two producers cross: 3 + 2 on both. With 2 on the other side one does: 2 + 1 and 4 + 1.
    let refined =
        IterativeRefinement { steps: 1 }.refine(&problem, split, &mut SearchContext::new()).expect("supported");
    assert_eq!(refined.objective, Some(5.0));
    assert_eq!(verify::check(&instance, &spec, &refined).expect("a split").objective(), 5.0);
}

#[test]
fn what_cannot_be_refined_is_refused() {
    let instance = chain(&[1.0; 3], &[1.0; 3], 2);
    let spec = ProblemSpec { scope: Scope::Linearized(vec![0, 1, 2]), ..ProblemSpec::of(&instance) };
    let problem = Problem::new(&instance, spec).expect("valid");
    let reason = solver("brute-force+refine").expect("a chain").supports(&problem).expect_err("a given order");
    assert_eq!(
        reason.to_string(),
        "refine does not take this problem: it does not take one given order; ask for the scope `acyclic`"
    );
}

#[test]
fn a_proof_on_clusters_is_none_on_nodes() {
    let instance = chain(&[3.0, 2.0, 2.0], &[0.0; 3], 2);
    let problem = Problem::new(&instance, ProblemSpec::of(&instance)).expect("valid");
    let run = solver("cluster:k=1+dp").expect("a chain").solve(&problem, &mut SearchContext::new()).expect("supported");
    // What is left is the bound by work.
    let Outcome::Feasible { solution, bound: Some(bound) } = &run.outcome else { panic!("{:?}", run.outcome) };
    assert_eq!(solution.objective, Some(7.0));
    assert!(proves(bound.value, 3.5), "{bound:?}");
    let small = ProblemSpec { platform: Platform::uniform(2, Some(0.0), 0), ..ProblemSpec::of(&instance) };
    let mut heavy = instance.clone();
    heavy.nodes[0].memory = 1.0;
    let problem = Problem::new(&heavy, small).expect("valid");
    let run = solver("cluster:k=1+dp").expect("a chain").solve(&problem, &mut SearchContext::new()).expect("supported");
    assert!(matches!(run.outcome, Outcome::Unknown { bound: None }), "{:?}", run.outcome);
}

#[test]
fn on_a_network_few_clusters_cost_little() {
    let instance =
        generate(&Recipe::new(Transformer { elementary: true, ..Transformer::bert_base() })).expect("a network");
    let spec = ProblemSpec::of(&instance);
    let value =
        |name: &str| solve_and_verify(&*solver(name).expect("a method"), &instance, &spec).expect("there is a split");
    let best = value("dp");
    let (coarse, fine, refined) = (value("cluster:k=12+dp"), value("cluster:k=48+dp"), value("parmesan"));
    assert!(best <= refined && refined <= fine && fine <= coarse, "{best} {refined} {fine} {coarse}");
    assert!(refined <= 1.1 * best, "{refined} against {best}");
}

#[test]
fn layers_are_kept_whole() {
    let recipe = Recipe { accelerators: 4, cpus: 0, memory: Some(1e13), ..Recipe::new(Resnet::default()) };
    let instance = generate(&recipe).unwrap();
    let problem = Problem::new(&instance, ProblemSpec::of(&instance)).unwrap();
    let objective = |spec: &str| {
        let solver = solver(spec).unwrap();
        let run = solver.solve(&problem, &mut SearchContext::new()).unwrap();
        let solution = run.outcome.solution().unwrap().clone();
        for device in &solution.devices {
            let layer = |id: &u64| instance.nodes[*id as usize].layer;
            let others = instance.nodes.iter().filter(|node| !device.nodes.contains(&node.id)).map(|node| node.layer);
            let held: Vec<_> = device.nodes.iter().map(layer).collect();
            assert!(others.into_iter().all(|other| !held.contains(&other)), "{spec} cuts a layer");
        }
        solution.objective.unwrap()
    };
    let best = solver("dp").unwrap().solve(&problem, &mut SearchContext::new()).unwrap();
    assert!(objective("layers+dp") >= best.outcome.solution().unwrap().objective.unwrap());
    let nameless =
        Instance { nodes: instance.nodes.iter().map(|v| Node { layer: None, ..v.clone() }).collect(), ..instance };
    let problem = Problem::new(&nameless, ProblemSpec::of(&nameless)).unwrap();
    assert!(solver("layers+dp").unwrap().supports(&problem).is_err());
}
