//! Files without options: their nodes have one each, in both passes.

use dagsplit::conformance::strategies::{InstanceOptions, instances};
use dagsplit::cost::{PerEdge, ProfiledCost};
use dagsplit::instance::{Edge, Instance, Node, Platform};
use dagsplit::problem::{Degrees, InFlight, Problem, ProblemSpec, StageMemory};
use dagsplit::simulate::{Options, Pipeline, simulate};
use dagsplit::solve::{BruteForce, SearchContext, Solver};
use proptest::collection::vec;
use proptest::prelude::*;

use super::{simulated, solved, verified};

/// Stages without replicas that keep so much.
fn without_replicas(instance: &Instance, microbatches: usize, in_flight: InFlight) -> ProblemSpec {
    let memory = StageMemory { in_flight, ..StageMemory::default() };
    let degrees = Degrees { data: Some(vec![1]), memory, ..Degrees::any(microbatches) };
    ProblemSpec { degrees: Some(degrees), ..ProblemSpec::of(instance) }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    /// With one microbatch in flight the memory of nodes is what it always was.
    #[test]
    fn alone_and_one_at_a_time_stages_are_devices(
        instance in instances(6, InstanceOptions { max_classes: 1, max_cpus: 0, ..InstanceOptions::ALL })
    ) {
        let mut instance = instance;
        instance.platform.cpus = 0;
        instance.platform.accelerators.iter_mut().for_each(|class| class.load = None);
        let plain = Problem::with_costs(&instance, ProblemSpec::of(&instance), &PerEdge(ProfiledCost));
        prop_assume!(plain.is_ok());
        let best = BruteForce.solve(&plain.unwrap(), &mut SearchContext::new()).unwrap();
        let spec = without_replicas(&instance, 32, InFlight::Constant(1));
        let found = solved(&instance, &spec);
        match (best.outcome.solution(), found.outcome.solution()) {
            (Some(best), Some(found)) => {
                let (best, found) = (best.objective.unwrap(), verified(&instance, &spec, found).objective());
                prop_assert!((found - best).abs() <= 1e-9 * best, "{found}, {best}");
            }
            (best, found) => prop_assert!(best.is_none() && found.is_none(), "{best:?}, {found:?}"),
        }
    }

    #[test]
    fn peaks_of_training_are_those_of_simulations(
        rows in vec((1..9u8, 0..200u8, 0..100u8, 0..100u8), 2..7), devices in 2..5usize, microbatches in 1..12usize
    ) {
        let instance = training(&rows, devices);
        for (in_flight, schedule) in simulated::SCHEDULES.into_iter().filter(|(_, schedule)| schedule.has_backward()) {
            let spec = without_replicas(&instance, microbatches, in_flight);
            let run = solved(&instance, &spec);
            let split = run.outcome.solution().expect("memory has no limit");
            let checked = verified(&instance, &spec, split);
            let mut bare = split.clone();
            bare.objective = None;
            bare.devices.iter_mut().for_each(|device| device.options.clear());
            let spec = ProblemSpec::of(&instance);
            let bare = verified(&instance, &spec, &bare);
            let problem = Problem::new(&instance, spec).expect("valid");
            let pipeline = Pipeline::of_split(&instance, &problem, &bare).expect("a pipeline");
            let simulation = simulate(&pipeline, schedule, Options { microbatches, recompute: false }).expect("simulated");
            let memory = simulation.memory();
            for (stage, in_flight) in pipeline.stages.iter().zip(&memory.in_flight) {
                let device = &checked.devices()[stage.device];
                prop_assert_eq!(device.in_flight(), Some(*in_flight), "{}", schedule.name());
                prop_assert_eq!(device.memory(), memory.peak[stage.device], "{}", schedule.name());
            }
        }
    }
}

/// Layers in a row with both passes: forward time, parameters, and what each pass keeps besides.
fn training(rows: &[(u8, u8, u8, u8)], devices: usize) -> Instance {
    let count = rows.len() as u64;
    let layer = |id: u64| {
        let (time, parameters, forward, backward) = rows[id as usize];
        let node = |id: u64, time: u8, memory: f64| Node {
            accelerator_times: vec![Some(time.into())],
            memory,
            color_class: Some(id % count),
            ..Node::new(id)
        };
        let [parameters, forward, backward] = [parameters, forward, backward].map(f64::from);
        [
            Node { parameter_bytes: parameters, ..node(id, time, parameters + forward) },
            Node { backward: true, ..node(count + id, 2 * time, backward) },
        ]
    };
    let forward = (1..count).map(|id| Edge { source: id - 1, target: id });
    let backward = (1..count).map(|id| Edge { source: count + id, target: count + id - 1 });
    let turn = Edge { source: count - 1, target: 2 * count - 1 };
    Instance {
        platform: Platform::uniform(devices, None, 0),
        nodes: (0..count).flat_map(layer).collect(),
        edges: forward.chain(backward).chain([turn]).collect(),
        ..Instance::default()
    }
}

#[test]
fn replicas_of_plain_nodes_need_a_bandwidth() {
    let mut instance = training(&[(1, 2, 3, 4), (4, 3, 2, 1)], 4);
    let spec = ProblemSpec { degrees: Some(Degrees::any(4)), ..ProblemSpec::of(&instance) };
    let problems = Problem::new(&instance, spec).err().expect("no bandwidth").to_string();
    assert!(problems.contains("ask for the data degree 1 alone"), "{problems}");
    instance.platform.bandwidth = Some(100.0);
    let spec = ProblemSpec { degrees: Some(Degrees::any(4)), ..ProblemSpec::of(&instance) };
    let run = solved(&instance, &spec);
    let split = run.outcome.solution().expect("a split");
    assert!(split.devices.iter().any(|stage| stage.replicas > 1), "{split:?}");
    verified(&instance, &spec, split);
}
