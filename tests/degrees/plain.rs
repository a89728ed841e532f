//! Files without options: their nodes have one each, in both passes.

use assert_cmd::Command;
use dagsplit::conformance::strategies::{InstanceOptions, instances};
use dagsplit::cost::{PerEdge, ProfiledCost};
use dagsplit::formats::{OutputFormat, write_instance};
use dagsplit::instance::{Edge, Instance, Node, Platform};
use dagsplit::problem::{Degrees, InFlight, Optimizer, Precision, Problem, ProblemSpec, StageMemory, Training};
use dagsplit::solve::{BruteForce, SearchContext, Solver};
use proptest::prelude::*;
use serde_json::Value;

use super::{solved, verified};

/// Stages without replicas that keep so much.
pub fn without_replicas(instance: &Instance, microbatches: usize, in_flight: InFlight) -> ProblemSpec {
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
}

/// A layer: forward time, parameters, and what each pass takes besides.
pub type TrainedLayer = (u8, u8, u8, u8);

/// Layers in a row with both passes. Those of some times state more parameters than they hold.
pub fn training_of(rows: &[TrainedLayer], devices: usize) -> Instance {
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
        let held = if time % 4 == 3 { 0.0 } else { parameters };
        [
            Node { parameter_bytes: parameters, ..node(id, time, held + forward) },
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

/// What of its memory are weights says a file by its parameters, from which all follows; of the rest it says nothing.
#[test]
fn memory_that_nothing_is_known_of_is_not_asked_for() {
    let problems = |instance: &Instance, memory: StageMemory| {
        let mut spec = without_replicas(instance, 4, InFlight::default());
        spec.degrees.as_mut().expect("degrees").memory = memory;
        Problem::new(instance, spec).err().map(|problems| problems.to_string()).unwrap_or_default()
    };
    let with_zero = |zero| StageMemory { zero, ..StageMemory::default() };
    let training = |training| StageMemory { training: Some(training), ..StageMemory::default() };
    let adam = training(Training { optimizer: Optimizer::Adam, precision: Precision::Fp32 });
    let instance = training_of(&[(1, 2, 3, 4), (4, 3, 2, 1)], 4);
    assert_eq!([with_zero(0), with_zero(3), adam].map(|memory| problems(&instance, memory)), ["", "", ""]);
    for zero in [1, 2] {
        assert!(problems(&instance, with_zero(zero)).contains("ZeRO: no option says what"), "{zero}");
    }
    let instance = training_of(&[(1, 0, 3, 4), (4, 0, 2, 1)], 4);
    assert!(problems(&instance, with_zero(3)).contains("ZeRO: no option says what"));
    assert!(problems(&instance, adam).contains("training: no option states parameters"));
}

/// A step has stages with degrees as soon as anything is asked of them, and replicas take the bandwidth that is given.
#[test]
fn what_is_asked_of_stages_is_asked_on_the_command_line() {
    let folder = tempfile::tempdir().expect("a folder");
    let instance = training_of(&[(1, 2, 3, 4), (4, 3, 2, 1)], 4);
    let text = write_instance(&instance, OutputFormat::Native).expect("valid");
    std::fs::write(folder.path().join("plain.json"), text).expect("written");
    let solve = |words: &str, code: i32| {
        let mut command = Command::new(assert_cmd::cargo::cargo_bin!("dagsplit"));
        command.args(["solve", "plain.json", "--json", "--microbatches", "4"]).args(words.split_whitespace());
        let assert = command.current_dir(folder.path()).assert().code(code);
        let record: Value = serde_json::from_slice(&assert.get_output().stdout).expect("JSON");
        record["devices"].as_array().is_some_and(|devices| devices[0].get("in_flight").is_some())
    };
    let step = "--objective step --bandwidth 1GB";
    assert!(!solve(step, 0));
    for asked in ["--schedule 1f1b", "--zero 0", "--cache-tokens 0", "--data-degrees 1"] {
        assert!(solve(&format!("{step} {asked}"), 0), "{asked}");
    }
    assert!(solve("--bandwidth 1GB", 0));
    solve("", 2);
}

#[test]
fn replicas_of_plain_nodes_need_a_bandwidth() {
    let mut instance = training_of(&[(1, 2, 3, 4), (4, 3, 2, 1)], 4);
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
