//! Several chunks on each device: the solver against all splits, the verifier, and the simulator.

mod common;
#[path = "chunks/memory.rs"]
mod memory;
#[path = "chunks/options.rs"]
mod options;

use std::time::Duration;

use common::{InstanceOptions, config, drawn, layers, near, solve_and_verify};
use dagsplit::conformance::strategies::step_problems;
use dagsplit::formats::{ReadOptions, read_instance};
use dagsplit::instance::{Edge, Instance, Node, Platform};
use dagsplit::problem::{
    Chunks, DeviceAssignment, DeviceKind, Objective, Placement, Problem, ProblemSpec, Scope, Solution,
};
use dagsplit::registry::{methods, solver};
use dagsplit::simulate::schedule::{Interleaved, Schedule, ZbV};
use dagsplit::simulate::{Options, Pipeline, simulate};
use dagsplit::solve::{BruteForce, SearchContext};
use dagsplit::verify::{self, StageFault, Violation};
use proptest::prelude::*;

const INTERLEAVED: Placement = Placement::Interleaved;

fn chunked(instance: &Instance, microbatches: usize, count: usize, placement: Placement) -> ProblemSpec {
    let objective = Objective::Step { microbatches };
    ProblemSpec { objective, chunks: Some(Chunks::new(count, placement)), ..ProblemSpec::of(instance) }
}

/// Graphs of all kinds for accelerators of one class, with chunks or without.
fn chunk_problems(most_groups: usize) -> impl Strategy<Value = (Instance, ProblemSpec)> {
    let options = InstanceOptions { unsupported: false, max_classes: 1, ..InstanceOptions::ALL };
    let interleaved = (1..=3usize).prop_map(|count| Chunks::new(count, INTERLEAVED));
    let chunks = prop_oneof![interleaved, Just(Chunks::new(2, Placement::VShape))];
    let devices = 1..=3usize;
    (step_problems(most_groups, options), chunks, devices).prop_map(|((instance, mut spec), chunks, devices)| {
        spec.platform.cpus = 0;
        spec.platform.accelerators.iter_mut().for_each(|class| class.count = devices);
        (instance, ProblemSpec { chunks: Some(chunks), replication: None, interconnect: None, ..spec })
    })
}

/// The nodes of each colour class, and each other node by itself.
fn groups(instance: &Instance) -> Vec<Vec<u64>> {
    let mut groups: Vec<(Option<u64>, Vec<u64>)> = Vec::new();
    for node in &instance.nodes {
        let known = groups.iter_mut().find(|(color, _)| color.is_some() && *color == node.color_class);
        match known {
            Some((_, nodes)) => nodes.push(node.id),
            None => groups.push((node.color_class, vec![node.id])),
        }
    }
    groups.into_iter().map(|(_, nodes)| nodes).collect()
}

/// The device of each stage, by the words of the definition.
fn devices_of_stages(chunks: Chunks, devices: usize) -> Vec<usize> {
    match chunks.placement {
        INTERLEAVED => (0..chunks.count).flat_map(|_| 0..devices).collect(),
        Placement::VShape => (0..devices).chain((0..devices).rev()).collect(),
    }
}

/// The split whose stages hold these nodes.
fn split_of(stages: &[Vec<u64>], chunks: Chunks) -> Solution {
    let count = stages.len() / chunks.count;
    let mut devices = vec![DeviceAssignment::new(DeviceKind::Accelerator(0), Vec::new()); count];
    for (stage, device) in stages.iter().zip(devices_of_stages(chunks, count)) {
        devices[device].nodes.extend(stage);
        devices[device].chunks.push(stage.clone());
    }
    Solution { devices, objective: None }
}

/// All ways to put the groups into stages, none of them empty, on as many devices as there are or fewer.
fn splits(instance: &Instance, spec: &ProblemSpec) -> impl Iterator<Item = Solution> {
    let (chunks, groups) = (spec.chunks.unwrap(), groups(instance));
    let most =
        spec.platform.accelerators.iter().map(|class| class.count).sum::<usize>().min(groups.len() / chunks.count);
    let of_devices = move |devices: usize| {
        let (stages, groups) = (devices * chunks.count, groups.clone());
        let count = stages.pow(groups.len() as u32);
        let split = move |number: usize| {
            let stage_of = (0..groups.len()).map(|group| number / stages.pow(group as u32) % stages);
            let mut held = vec![Vec::new(); stages];
            stage_of.zip(&groups).for_each(|(stage, group)| held[stage].extend(group));
            held.iter().all(|stage| !stage.is_empty()).then(|| split_of(&held, chunks))
        };
        (0..count).filter_map(split)
    };
    (1..=most).flat_map(of_devices)
}

/// The best step of all splits that the verifier passes.
fn best_of_all(instance: &Instance, spec: &ProblemSpec) -> Option<f64> {
    let valid = splits(instance, spec).filter_map(|split| verify::check(instance, spec, &split).ok());
    valid.map(|verified| verified.objective()).reduce(f64::min)
}

fn meets_the_best_of_all((instance, spec): (Instance, ProblemSpec)) {
    let found = solve_and_verify(solver("chunks").unwrap().as_ref(), &instance, &spec);
    let best = best_of_all(&instance, &spec);
    assert!(near(found, best), "{found:?}, not {best:?}: {spec:?}, {instance:?}");
}

/// What devices may hold can be so much more than what they do that its rounding drowns that.
#[test]
fn rounding_refutes_no_split() {
    let found = |instance: &Instance, placement| {
        solve_and_verify(solver("chunks").unwrap().as_ref(), instance, &chunked(instance, 64, 2, placement)).unwrap()
    };
    let even = |count, memory| {
        let platform = Platform::uniform(8, memory, 0);
        Instance { platform, ..layers(&vec![1.0; count], 0.0, 8) }
    };
    let ample = Some(80.0 * 1024.0_f64.powi(3));
    for placement in [INTERLEAVED, Placement::VShape] {
        for count in [16, 17, 20, 24] {
            let [without, with] = [None, ample].map(|memory| found(&even(count, memory), placement));
            assert_eq!(without, with, "{count} layers, {placement:?}");
        }
    }
    assert_eq!(found(&even(16, ample), INTERLEAVED), 135.0);
    // All 32 devices can hold two chunks in one way alone.
    let times: Vec<f64> = (0..64).map(|layer| f64::from(100 + layer * 7919 % 801) / 100.0).collect();
    let instance = layers(&times, 0.0, 32);
    let stages: Vec<Vec<u64>> = (0..64).map(|id| vec![id]).collect();
    let spec = chunked(&instance, 64, 2, INTERLEAVED);
    let of_all = verify::check(&instance, &spec, &split_of(&stages, spec.chunks.unwrap())).unwrap().objective();
    assert!(found(&instance, INTERLEAVED) <= of_all);
}

proptest! {
    #![proptest_config(config(500))]

    #[test]
    fn the_best_of_all_splits_is_found_and_proven(problem in chunk_problems(5)) {
        meets_the_best_of_all(problem);
    }

    #[test]
    fn one_chunk_is_a_step_without((instance, mut spec) in chunk_problems(5)) {
        spec.chunks = None;
        let without = solve_and_verify(&BruteForce, &instance, &spec);
        let found = solve_and_verify(solver("chunks").unwrap().as_ref(), &instance, &spec);
        prop_assert!(near(found, without), "{found:?}, not {without:?}");
    }

    #[test]
    fn the_step_is_the_makespan_of_balanced_pipelines(
        time in 1..9u8, devices in 1..5usize, count in 1..4usize, layers in 1..3usize, rounds in 1..4usize, is_v: bool
    ) {
        let (chunks, microbatches) = match is_v {
            true => (Chunks::new(2, Placement::VShape), 2 * devices - 1 + rounds),
            false => (Chunks::new(count, INTERLEAVED), rounds * devices),
        };
        // A backward pass takes twice as long as a forward one: half of it for the gradients of weights.
        let instance = trained(&vec![f64::from(time); devices * chunks.count * layers], devices);
        let spec = ProblemSpec { chunks: Some(chunks), ..chunked(&instance, microbatches, 1, INTERLEAVED) };
        let members = groups(&instance);
        let stages: Vec<Vec<u64>> = members.chunks(layers).map(|stage| stage.concat()).collect();
        let verified = verify::check(&instance, &spec, &split_of(&stages, chunks)).unwrap();
        let problem = Problem::new(&instance, spec).unwrap();
        let pipeline = Pipeline::of_split(&instance, &problem, &verified).unwrap();
        let schedule: &dyn Schedule = if is_v { &ZbV } else { &Interleaved };
        let simulation = simulate(&pipeline, schedule, Options { microbatches, recompute: false }).unwrap();
        let (makespan, step) = (simulation.makespan(), verified.objective());
        prop_assert!((makespan - step).abs() <= 1e-9 * step, "{makespan}, not {step}");
    }
}

/// Layers with these forward times, and backward ones twice as long, in colour classes of their own.
fn trained(times: &[f64], accelerators: usize) -> Instance {
    let mut instance = layers(times, 0.0, accelerators);
    let count = times.len() as u64;
    for (id, time) in (0..).zip(times) {
        instance.nodes[id as usize].color_class = Some(id);
        let backward = Node {
            accelerator_times: vec![Some(2.0 * time)],
            backward: true,
            color_class: Some(id),
            ..Node::new(count + id)
        };
        instance.nodes.push(backward);
    }
    instance.edges.push(Edge { source: count - 1, target: 2 * count - 1 });
    instance.edges.extend((1..count).map(|id| Edge { source: count + id, target: count + id - 1 }));
    instance
}

#[test]
fn a_step_of_chunks_by_hand() {
    // Two devices hold the stages 4 | 2 | 1 | 3 by turns: loads of 4 + 1 and 2 + 3, and of the six ends of three cuts, each
    // of which costs 1/2, three on either device.
    let instance = layers(&[4.0, 2.0, 1.0, 3.0], 0.5, 2);
    let of = |count, placement, microbatches| {
        let spec = chunked(&instance, microbatches, count, placement);
        let split = split_of(&[vec![0], vec![1], vec![2], vec![3]], spec.chunks.unwrap());
        verify::check(&instance, &spec, &split).unwrap()
    };
    let verified = of(2, INTERLEAVED, 3);
    assert_eq!(verified.devices().iter().map(|device| device.load()).collect::<Vec<_>>(), [6.5, 6.5]);
    assert_eq!(verified.objective(), 3.0 * 6.5 + 6.5 / 2.0);
    // In a V the middle stages follow one another on the second device, and move nothing.
    let verified = of(2, Placement::VShape, 3);
    assert_eq!(verified.devices().iter().map(|device| device.load()).collect::<Vec<_>>(), [8.0, 4.0]);
    assert!(near(Some(verified.objective()), Some(3.0 * 8.0 + 4.0 / 6.0)));
    assert_eq!(verified.devices()[1].chunks(), [vec![1], vec![2]]);
}

#[test]
fn what_is_wrong_with_chunks_is_said() {
    let instance = layers(&[1.0; 4], 0.5, 2);
    let spec = chunked(&instance, 4, 2, INTERLEAVED);
    let good = split_of(&[vec![0], vec![1], vec![2], vec![3]], spec.chunks.unwrap());
    let found = |change: &dyn Fn(&mut Solution)| {
        let mut split = good.clone();
        change(&mut split);
        verify::check(&instance, &spec, &split).unwrap_err()
    };
    let not_chunks = |found: Vec<Violation>| found.contains(&Violation::NotInChunks { device: 0, count: 2 });
    assert!(not_chunks(found(&|split| split.devices[0].chunks.clear())));
    assert!(not_chunks(found(&|split| split.devices[0].chunks[0].push(2))));
    assert!(not_chunks(found(&|split| split.devices[0].chunks[0][0] = 1)));
    assert!(not_chunks(found(&|split| split.devices[0].chunks = vec![vec![0, 2], vec![]])));
    let turned = found(&|split| split.devices[1].chunks.reverse());
    assert_eq!(turned[0], Violation::OutOfOrder { edge: (1, 2), stages: (3, 2) });
    assert!(matches!(found(&|split| split.devices.reverse())[..], [Violation::OutOfOrder { .. }, ..]));
    assert!(matches!(found(&|split| split.objective = Some(1.0))[..], [Violation::WrongObjective { .. }]));
    let without = ProblemSpec { chunks: None, ..spec.clone() };
    let fault = StageFault::ChunksNotAskedFor;
    assert!(verify::check(&instance, &without, &good).unwrap_err().contains(&Violation::Stage { device: 0, fault }));
    let trained = trained(&[1.0; 4], 2);
    let mut parted = split_of(&[vec![0, 4], vec![1, 5], vec![2, 6], vec![3, 7]], spec.chunks.unwrap());
    parted.devices[0].chunks = vec![vec![0, 6], vec![2, 4]];
    let found = verify::check(&trained, &chunked(&trained, 4, 2, INTERLEAVED), &parted).unwrap_err();
    assert!(matches!(found[..], [Violation::SplitColorClass { .. }, ..]), "{found:?}");
}

#[test]
fn what_does_not_go_with_chunks_is_refused() {
    let instance = layers(&[1.0; 4], 0.5, 2);
    let spec = chunked(&instance, 4, 2, INTERLEAVED);
    let wrong = |spec: ProblemSpec| Problem::new(&instance, spec).map(|_| ()).unwrap_err().to_string();
    assert!(wrong(chunked(&instance, 4, 0, INTERLEAVED)).contains("a device has none"));
    assert!(wrong(chunked(&instance, 4, 3, Placement::VShape)).contains("3 chunks make no V"));
    assert!(
        wrong(ProblemSpec { objective: Objective::Throughput, ..spec.clone() }).contains("ask for the time of a step")
    );
    let mut with_cpu = spec.clone();
    with_cpu.platform.cpus = 1;
    assert!(wrong(with_cpu).contains("for no CPU"));
    assert!(wrong(ProblemSpec { scope: Scope::Linearized(vec![0, 1, 2, 3]), ..spec.clone() }).contains("`acyclic`"));
    let problem = Problem::new(&instance, spec).unwrap();
    for method in methods().iter().filter(|method| method.name != "chunks" && !method.needs_more()) {
        let refusal = method.solver().takes(&problem).unwrap_err().to_string();
        assert!(refusal.contains("use chunks"), "{refusal}");
    }
}

/// Layer graphs of language models: an embedding, layers of some kinds by turns, a head.
fn language_model(count: usize, kinds: &[f64], head: f64, devices: usize) -> Instance {
    let inner = kinds.iter().copied().cycle().take(count - 2);
    let times: Vec<f64> = [0.25].into_iter().chain(inner).chain([head]).collect();
    layers(&times, 0.0625, devices)
}

#[test]
fn steps_of_long_layer_graphs_are_proven() {
    let (v, four) = ((2, Placement::VShape), (4, INTERLEAVED));
    for (kinds, head) in [(&[1.0][..], 1.0), (&[1.0], 2.5), (&[1.0, 1.5], 1.0), (&[1.0, 1.0, 1.0, 1.75], 2.0)] {
        for (count, placement) in [(2, INTERLEAVED), v, four] {
            let instance = language_model(128, kinds, head, 16);
            let spec = chunked(&instance, 64, count, placement);
            let found = solve_and_verify(solver("chunks").unwrap().as_ref(), &instance, &spec);
            assert!(found.is_some(), "{kinds:?}, {head}, {count}");
        }
    }
}

#[test]
#[ignore = "minutes: 2,000 problems of more stages against all splits"]
fn two_thousand_problems_of_more_stages() {
    drawn(&chunk_problems(6), 2_000).for_each(meets_the_best_of_all);
}

#[test]
fn operator_graphs_are_bounded_from_both_sides() {
    for name in ["bert12_inference", "bert6_training"] {
        let path = format!("{}/instances/{name}.json", env!("CARGO_MANIFEST_DIR"));
        let mut instance = read_instance(path.as_ref(), &ReadOptions::default()).unwrap();
        instance.platform.cpus = 0;
        instance.platform.accelerators[0].count = 4;
        let spec = chunked(&instance, 16, 2, INTERLEAVED);
        let problem = Problem::new(&instance, spec.clone()).unwrap();
        let mut limits = SearchContext::new().with_time_limit(Duration::from_secs(20));
        let run = solver("chunks").unwrap().solve(&problem, &mut limits).unwrap();
        let (bound, split) = (run.outcome.bound().unwrap().value, run.outcome.solution().unwrap());
        let step = verify::check(&instance, &spec, split).unwrap().objective();
        assert!(0.8 * step <= bound && bound <= step, "{name}: {bound}, {step}");
    }
}
