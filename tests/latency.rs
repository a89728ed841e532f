//! The latency: the verifier against hand-worked examples, the brute-force oracle against the verifier, and the ideal DP
//! against both.

mod common;
mod workloads;

use std::time::Duration;

use common::{InstanceOptions, NEAR_TIES, config, count_runs, latency_problems, near, solve_and_verify};
use dagsplit::formats::{ReadOptions, read_instance};
use dagsplit::instance::{Edge, Instance, Node, Platform};
use dagsplit::problem::{CostKind, DeviceAssignment, DeviceKind, Objective, Problem, ProblemSpec, Solution};
use dagsplit::solve::BruteForce;
use dagsplit::solve::LatencyDp;
use dagsplit::solve::{BoundSource, Run, SearchContext, Solver};
use dagsplit::verify;
use dagsplit::verify::{DeadlockStep, Part, Verified, Violation};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::Index;

const ACCELERATOR: DeviceKind = DeviceKind::Accelerator(0);

/// Times 3, 4, 5, 2 on accelerators, ten times as much on CPUs, transfers 1; edges as given.
fn four(edges: &[(u64, u64)]) -> (Instance, ProblemSpec) {
    let node = |(id, time): (u64, f64)| Node {
        accelerator_times: vec![Some(time)],
        cpu_time: Some(10.0 * time),
        memory: 1.0,
        transfer_time: 1.0,
        ..Node::new(id)
    };
    let instance = Instance {
        platform: Platform::uniform(2, None, 1),
        nodes: [3.0, 4.0, 5.0, 2.0].into_iter().zip(1..).map(|(time, id)| node((id, time))).collect(),
        edges: edges.iter().map(|&(source, target)| Edge { source, target }).collect(),
        ..Instance::default()
    };
    let spec = ProblemSpec { objective: Objective::Latency { subgraphs: 1 }, ..ProblemSpec::of(&instance) };
    (instance, spec)
}

const CHAIN: &[(u64, u64)] = &[(1, 2), (2, 3), (3, 4)];
const DIAMOND: &[(u64, u64)] = &[(1, 2), (1, 3), (2, 4), (3, 4)];

fn with_subgraphs(spec: &ProblemSpec, subgraphs: usize) -> ProblemSpec {
    ProblemSpec { objective: Objective::Latency { subgraphs }, ..spec.clone() }
}

/// Accelerators with these subgraphs, and the rest on a CPU. A single subgraph is not stated.
fn split(accelerators: &[&[&[u64]]], cpu: &[u64]) -> Solution {
    let accelerator = |subgraphs: &&[&[u64]]| DeviceAssignment {
        subgraphs: if subgraphs.len() > 1 { subgraphs.iter().map(|nodes| nodes.to_vec()).collect() } else { vec![] },
        ..DeviceAssignment::new(ACCELERATOR, subgraphs.concat())
    };
    let mut devices: Vec<DeviceAssignment> = accelerators.iter().map(accelerator).collect();
    devices.push(DeviceAssignment::new(DeviceKind::Cpu, cpu.to_vec()));
    Solution { devices, objective: None }
}

fn check((instance, spec): &(Instance, ProblemSpec), split: &Solution) -> Verified {
    verify::check(instance, spec, split).unwrap_or_else(|found| panic!("{found:?}"))
}

fn violations((instance, spec): &(Instance, ProblemSpec), split: &Solution) -> Vec<Violation> {
    verify::check(instance, spec, split).err().unwrap_or_default()
}

#[test]
fn subgraphs_run_when_their_producers_are_ready() {
    let diamond = four(DIAMOND);
    // {1}: 3 + 1 until 4. {2}: 1 + 4 + 1 until 10; 3 on the CPU: 50 until 54. 4 there: 20.
    let verified = check(&diamond, &split(&[&[&[1]], &[&[2]]], &[3, 4]));
    assert_eq!(verified.objective(), 74.0);
    let spans: Vec<_> = verified.devices().iter().map(|device| device.span()).collect();
    assert_eq!(spans, [Some((0.0, 4.0)), Some((4.0, 10.0)), Some((4.0, 74.0))]);
    let loads: Vec<_> = verified.devices().iter().map(|device| device.load()).collect();
    assert_eq!(loads, [4.0, 6.0, 70.0]);
    // {1, 2}: 7 + 2 until 9; {3, 4} has to wait for both outputs: 2 + 7 until 18.
    assert_eq!(check(&diamond, &split(&[&[&[1, 2]], &[&[3, 4]]], &[])).objective(), 18.0);
}

#[test]
fn an_accelerator_runs_one_subgraph_after_another() {
    let (instance, spec) = four(DIAMOND);
    let diamond = (instance, with_subgraphs(&spec, 3));
    // {1} until 4, {2} 4..10, {3} 4..11 on the other; {4}: 2 + 2, free at 10, ready at 11.
    let verified = check(&diamond, &split(&[&[&[1], &[2], &[4]], &[&[3]]], &[]));
    let times: Vec<_> = verified.devices()[0].subgraphs().iter().map(|s| (s.start, s.finish)).collect();
    assert_eq!((times, verified.objective()), (vec![(0.0, 4.0), (4.0, 10.0), (11.0, 15.0)], 15.0));
    // Both on one: {1} until 4, {3} 4..11, {2} 11..17, {4} 17..21.
    let (instance, spec) = diamond;
    let diamond = (instance, with_subgraphs(&spec, 4));
    assert_eq!(check(&diamond, &split(&[&[&[1], &[3], &[2], &[4]]], &[])).objective(), 21.0);
}

#[test]
fn nodes_on_cpus_do_not_wait_for_each_other() {
    let (instance, spec) = four(&[]);
    assert_eq!(check(&(instance, spec), &split(&[], &[1, 2, 3, 4])).objective(), 50.0);
}

#[test]
fn sets_are_cut_where_paths_enter_them_anew() {
    let (instance, spec) = four(CHAIN);
    // {1} until 4, {2} 4..10, {3} 10..17, {4} 17..20.
    let crossing = split(&[&[&[1, 3]], &[&[2, 4]]], &[]);
    let verified = check(&(instance.clone(), with_subgraphs(&spec, 2)), &crossing);
    let nodes: Vec<_> = verified.devices()[1].subgraphs().iter().map(|s| s.nodes.clone()).collect();
    assert_eq!((nodes, verified.objective()), (vec![vec![2], vec![4]], 20.0));
    assert_eq!(violations(&(instance, spec), &crossing), [Violation::TooManySubgraphs { device: 0, allowed: 1 }]);
}

/// 1 → 2 and 3 → 4, crossed: {1, 4} and {2, 3} are convex and feed each other.
fn crossed() -> (Instance, ProblemSpec) {
    four(&[(1, 2), (3, 4)])
}

#[test]
fn sets_that_feed_each_other_are_cut_where_one_has_to_wait() {
    let (instance, spec) = crossed();
    let split = split(&[&[&[1, 4]], &[&[2, 3]]], &[]);
    // {1} until 4; {2, 3}: 1 + 9 + 1, until 15; {4} until 18.
    let verified = check(&(instance, with_subgraphs(&spec, 2)), &split);
    let counts: Vec<_> = verified.devices().iter().map(|device| device.subgraphs().len()).collect();
    assert_eq!((counts, verified.objective()), (vec![2, 1, 0], 18.0));
}

#[test]
fn subgraphs_that_wait_for_each_other_deadlock() {
    let (instance, spec) = crossed();
    let crossed = (instance, with_subgraphs(&spec, 2));
    let stated = Solution {
        devices: [vec![1, 4], vec![2, 3]]
            .map(|nodes| DeviceAssignment {
                subgraphs: vec![nodes.clone()],
                ..DeviceAssignment::new(ACCELERATOR, nodes)
            })
            .to_vec(),
        objective: None,
    };
    let found = violations(&crossed, &stated);
    let steps = [(0, (1, 2)), (1, (3, 4))]
        .map(|(device, edge)| DeadlockStep { part: Part::Subgraph(device, 0), edge: Some(edge) });
    assert_eq!(found, [Violation::Deadlock { steps: steps.to_vec() }]);
    // 2 waits for 1 on the CPU, which waits for nothing; but 4 is to run before 3, and 3 feeds 4.
    let reversed = split(&[&[&[4], &[3]]], &[1, 2]);
    let steps = [(0, None), (1, Some((3, 4)))].map(|(i, edge)| DeadlockStep { part: Part::Subgraph(0, i), edge });
    let found = violations(&crossed, &reversed);
    assert_eq!(found, [Violation::Deadlock { steps: steps.to_vec() }]);
    assert_eq!(
        found[0].to_string(),
        "the split cannot run: subgraph 0 of device 0 is to run before subgraph 1 of device 0, \
         subgraph 1 of device 0 feeds subgraph 0 of device 0 (3 → 4); cut or reorder these subgraphs"
    );
}

#[test]
fn corrupted_subgraphs_are_named() {
    let (instance, spec) = four(CHAIN);
    let chain = (instance, with_subgraphs(&spec, 2));
    let valid = split(&[&[&[1], &[3]], &[&[2, 4]]], &[]);
    // The second accelerator states nothing beside one that does: it is one subgraph.
    let found = violations(&chain, &valid);
    assert_eq!(found, [Violation::NotContiguous { device: 1, subgraph: 0, path: vec![2, 3, 4] }]);
    let valid = split(&[&[&[1], &[3]], &[&[2]]], &[4]);
    assert_eq!(violations(&chain, &valid), []);

    let corrupted = |corrupt: &dyn Fn(&mut Vec<Vec<u64>>)| {
        let mut split = valid.clone();
        corrupt(&mut split.devices[0].subgraphs);
        violations(&chain, &split)
    };
    let times = |node, times| Violation::NotInOneSubgraph { device: 0, node, times };
    assert_eq!(corrupted(&|s| s[1].clear()), [times(3, 0)]);
    assert_eq!(corrupted(&|s| s[1].push(1)), [times(1, 2)]);
    assert_eq!(corrupted(&|s| s[1].push(2)), [Violation::ForeignInSubgraph { device: 0, node: 2 }]);
    assert_eq!(corrupted(&|s| s[1].push(77)), [Violation::ForeignInSubgraph { device: 0, node: 77 }]);
    assert_eq!(
        violations(&(chain.0.clone(), spec.clone()), &valid),
        [Violation::TooManySubgraphs { device: 0, allowed: 1 }]
    );
    let mut wrong = valid.clone();
    wrong.objective = Some(1.0);
    let recomputed = check(&chain, &valid).objective();
    assert_eq!(violations(&chain, &wrong), [Violation::WrongObjective { claimed: 1.0, recomputed }]);
}

#[test]
fn memory_is_that_of_all_subgraphs_together() {
    let (instance, mut spec) = four(CHAIN);
    spec.platform.accelerators[0].memory = Some(1.0);
    let chain = (instance, with_subgraphs(&spec, 2));
    let found = violations(&chain, &split(&[&[&[1], &[3]], &[&[2]]], &[4]));
    assert_eq!(found, [Violation::MemoryExceeded { device: 0, used: 2.0, limit: 1.0 }]);
}

#[test]
fn what_the_latency_is_not_defined_for_is_refused() {
    let (instance, spec) = four(CHAIN);
    let refused = |spec: ProblemSpec| spec.validate(&instance).is_err();
    assert!(!refused(spec.clone()));
    assert!(refused(with_subgraphs(&spec, 0)));
    let replication = Some(dagsplit::problem::Replication { max_replicas: 2, bandwidth: 1.0 });
    assert!(refused(ProblemSpec { replication, ..spec.clone() }));
    let interconnect = Some(dagsplit::problem::Interconnect { server_size: 1, between_factor: 2.0 });
    assert!(refused(ProblemSpec { interconnect, ..spec.clone() }));
    assert!(refused(ProblemSpec { scope: dagsplit::problem::Scope::Linearized(vec![0, 1, 2, 3]), ..spec }));
}

#[test]
fn the_oracle_finds_what_is_best() {
    let (mut instance, spec) = four(CHAIN);
    let optimum = |instance: &Instance, spec: &ProblemSpec| solve_and_verify(&BruteForce, instance, spec);
    // All on one accelerator.
    assert_eq!(optimum(&instance, &spec), Some(14.0));
    // Two nodes on each: 3 + 4 + 1 and 1 + 5 + 2.
    let tight = |memory| {
        let mut spec = spec.clone();
        spec.platform.accelerators[0].memory = Some(memory);
        spec
    };
    assert_eq!(optimum(&instance, &tight(2.0)), Some(16.0));
    // 1 and 4 share weights. One subgraph: 1 and 4 on the CPU; two: {1}, {4} around {2, 3}.
    (instance.nodes[0].color_class, instance.nodes[3].color_class) = (Some(1), Some(1));
    assert_eq!(optimum(&instance, &tight(2.0)), Some(30.0 + 11.0 + 20.0));
    assert_eq!(optimum(&instance, &with_subgraphs(&tight(2.0), 2)), Some(4.0 + 11.0 + 3.0));
    // Overlapped: max(3, 1) and max(9, 1 + 1) and max(2, 1).
    let overlap = ProblemSpec { cost: CostKind::Overlap, ..with_subgraphs(&tight(2.0), 2) };
    assert_eq!(optimum(&instance, &overlap), Some(14.0));
}

/// The least latency over every assignment of nodes to CPU or subgraph that the verifier accepts.
fn least_verified(instance: &Instance, spec: &ProblemSpec) -> Option<f64> {
    let Objective::Latency { subgraphs } = spec.objective else { unreachable!("the latency is asked for") };
    let mut slots: Vec<Option<(usize, usize)>> = vec![];
    let mut empty = vec![];
    for (class, accelerators) in spec.platform.accelerators.iter().enumerate() {
        for _ in 0..accelerators.count {
            slots.extend((0..subgraphs).map(|i| Some((empty.len(), i))));
            empty.push(DeviceAssignment::new(DeviceKind::Accelerator(class), vec![]));
        }
    }
    if spec.platform.cpus > 0 {
        slots.push(None);
    }
    empty.push(DeviceAssignment::new(DeviceKind::Cpu, vec![]));
    let filled = |mut code: usize| {
        let mut devices = empty.clone();
        for node in &instance.nodes {
            let slot = slots[code % slots.len()];
            code /= slots.len();
            let device = &mut devices[slot.map_or(empty.len() - 1, |(device, _)| device)];
            device.nodes.push(node.id);
            if let Some((_, i)) = slot {
                device.subgraphs.resize(subgraphs, vec![]);
                device.subgraphs[i].push(node.id);
            }
        }
        let split = Solution { devices, objective: None };
        verify::check(instance, spec, &split).ok().map(|verified| verified.objective())
    };
    let codes = slots.len().pow(instance.nodes.len() as u32);
    (0..codes).filter_map(filled).min_by(f64::total_cmp)
}

fn few_slots() -> impl Strategy<Value = (Instance, ProblemSpec)> {
    let options = InstanceOptions { max_accelerators: 2, max_cpus: 1, ..InstanceOptions::ALL };
    latency_problems(4, 2, options).prop_filter("at most 4000 assignments", |(instance, spec)| {
        let accelerators: usize = instance.platform.accelerators.iter().map(|class| class.count).sum();
        let Objective::Latency { subgraphs } = spec.objective else { return false };
        (accelerators * subgraphs + instance.platform.cpus).pow(instance.nodes.len() as u32) <= 4000
    })
}

/// Any assignment of the colour groups to two accelerators and a CPU.
fn any_split(instance: &Instance, picks: &[Index]) -> Solution {
    let mut device_of_color = std::collections::HashMap::new();
    let mut devices = vec![DeviceAssignment::new(ACCELERATOR, vec![]); 2];
    devices.push(DeviceAssignment::new(DeviceKind::Cpu, vec![]));
    for (node, pick) in instance.nodes.iter().zip(picks.iter().cycle()) {
        let picked = pick.index(3);
        let device = node.color_class.map_or(picked, |color| *device_of_color.entry(color).or_insert(picked));
        devices[device].nodes.push(node.id);
    }
    Solution { devices, objective: None }
}

proptest! {
    #![proptest_config(config(1000))]

    #[test]
    fn the_oracle_finds_the_least_that_the_verifier_accepts((instance, spec) in few_slots()) {
        prop_assert_eq!(solve_and_verify(&BruteForce, &instance, &spec), least_verified(&instance, &spec));
    }

    #[test]
    fn every_answer_of_the_oracle_is_verified((instance, spec) in latency_problems(4, 2, InstanceOptions::ALL)) {
        solve_and_verify(&BruteForce, &instance, &spec);
    }

    #[test]
    fn every_split_can_be_cut_to_run(
        (instance, spec) in latency_problems(9, 3, InstanceOptions { unsupported: false, ..InstanceOptions::ALL }),
        picks in vec(any::<Index>(), 9),
    ) {
        let mut spec = with_subgraphs(&spec, instance.nodes.len());
        spec.platform.accelerators[0] = dagsplit::instance::AcceleratorClass { name: None, count: 2, memory: None, load: None };
        spec.platform.cpus = 1;
        let split = any_split(&instance, &picks);
        let problem = (instance, spec);
        let cut = check(&problem, &split);
        // What is cut runs as well when it is stated.
        let mut stated = split;
        for (device, cut) in stated.devices.iter_mut().zip(cut.devices()) {
            device.subgraphs = cut.subgraphs().iter().map(|subgraph| subgraph.nodes.clone()).collect();
        }
        let again = check(&problem, &stated);
        prop_assert_eq!(again.objective(), cut.objective());
        // An accelerator's subgraphs follow one another, and none starts before its producers are ready.
        for device in cut.devices() {
            prop_assert!(device.subgraphs().windows(2).all(|pair| pair[0].finish <= pair[1].start));
        }
    }
}

proptest! {
    #![proptest_config(config(3000))]

    /// Several sources, colour classes of all kinds, backward passes, two classes of accelerators, memory limits.
    #[test]
    fn the_ideal_dp_agrees_with_brute_force((instance, spec) in latency_problems(7, 1, InstanceOptions::ALL)) {
        let best = solve_and_verify(&BruteForce, &instance, &spec);
        prop_assert_eq!(solve_and_verify(&LatencyDp::default(), &instance, &spec), best);
    }

    /// Graphs with more ideals than allowed: what is found without proof is a split and a bound.
    #[test]
    fn a_graph_too_wide_has_a_split_and_a_bound((instance, spec) in latency_problems(7, 1, InstanceOptions::ALL)) {
        let best = solve_and_verify(&BruteForce, &instance, &spec);
        let problem = Problem::new(&instance, spec.clone()).unwrap();
        let run = LatencyDp { max_ideals: 2 }.solve(&problem, &mut SearchContext::new()).unwrap();
        if let Some(split) = run.outcome.solution() {
            prop_assert!(verify::check(&instance, &spec, split).is_ok());
            prop_assert!(split.objective >= best);
        }
        match (run.outcome.bound(), best) {
            (Some(bound), Some(best)) => prop_assert!(bound.value <= best),
            (None, Some(_)) => prop_assert!(false, "{:?}", run.outcome),
            (_, None) => prop_assert!(run.outcome.solution().is_none()),
        }
    }
}

proptest! {
    #![proptest_config(config(400))]

    #[test]
    fn the_ideal_dp_tells_near_ties_apart((instance, spec) in latency_problems(6, 1, NEAR_TIES)) {
        let best = solve_and_verify(&BruteForce, &instance, &spec);
        let found = solve_and_verify(&LatencyDp::default(), &instance, &spec);
        prop_assert!(near(found, best), "found {found:?}, optimum {best:?}");
    }
}

/// The published latency workloads at hand and their optima.
const PUBLISHED: [(&str, f64); 5] = [
    ("operator/bert_l-3_inference", 408.4744),
    ("operator/bert_l-6_inference", 438.0625),
    ("operator/resnet50_inference", 651.1208),
    ("layer/bert24_inference", 100.2185),
    ("layer/resnet50_inference", 1156.8813),
];

#[test]
fn published_workloads_are_solved_to_their_optima() {
    for (name, optimum) in PUBLISHED {
        let Some(path) = workloads::find(&format!("tarnawski2020/latency/{name}.json")) else { continue };
        let instance = read_instance(&path, &ReadOptions::default()).unwrap();
        let spec = ProblemSpec { objective: Objective::Latency { subgraphs: 1 }, ..ProblemSpec::of(&instance) };
        let found = solve_and_verify(&LatencyDp::default(), &instance, &spec);
        assert!(found.is_some_and(|value| (value - optimum).abs() < 1e-4), "{name}: {found:?}");
    }
}

#[test]
fn a_stopped_run_has_a_split_and_a_bound() {
    let Some(path) = workloads::find("tarnawski2020/latency/operator/bert_l-6_inference.json") else { return };
    let instance = read_instance(&path, &ReadOptions::default()).unwrap();
    let spec = ProblemSpec { objective: Objective::Latency { subgraphs: 1 }, ..ProblemSpec::of(&instance) };
    let problem = Problem::new(&instance, spec.clone()).unwrap();
    for milliseconds in [0, 3, 30, 100] {
        let mut cx = SearchContext::new().with_time_limit(Duration::from_millis(milliseconds));
        let run = LatencyDp::default().solve(&problem, &mut cx).unwrap();
        let split = run.outcome.solution().unwrap();
        let value = verify::check(&instance, &spec, split).unwrap().objective();
        let bound = run.outcome.bound().unwrap().value;
        assert!(0.0 < bound && bound < 438.0626 && value > 438.0624, "{bound} {value}");
    }
}

/// Not bounds and beams alone settle what is drawn, but the pass over all labels.
#[test]
fn the_whole_search_is_reached() {
    let is_enumerated = |run: &Run| run.outcome.bound().is_some_and(|bound| bound.source == BoundSource::Enumeration);
    let found = [InstanceOptions::ALL, NEAR_TIES]
        .map(|options| count_runs(&latency_problems(7, 1, options), 100, &LatencyDp::default(), is_enumerated));
    assert!(found.iter().all(|&runs| runs >= 20), "{found:?} of 100 runs each search all labels");
}
