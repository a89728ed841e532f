//! Stages with degrees and options: against a brute force over all plans, and on files of Piper's shape.

#[path = "degrees/brute_force.rs"]
mod brute_force;
#[path = "degrees/chunk_peaks.rs"]
mod chunk_peaks;
#[path = "degrees/chunked.rs"]
mod chunked;
#[path = "degrees/classes.rs"]
mod classes;
#[path = "degrees/layers.rs"]
mod layers;
#[path = "degrees/others.rs"]
mod others;
#[path = "degrees/peaks.rs"]
mod peaks;
#[path = "degrees/plain.rs"]
mod plain;
#[path = "degrees/sample.rs"]
mod sample;
#[path = "degrees/simulated.rs"]
mod simulated;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use assert_cmd::Command;
use dagsplit::cost::{CostModel, Costs, ProfiledCost};
use dagsplit::formats::{OutputFormat, ReadOptions, parse_instance, parse_split, write_instance, write_split};
use dagsplit::generate::{Accelerator, Granularity, Hardware, LanguageModel, Llm, Model, Precision, Recipe, generate};
use dagsplit::instance::{Edge, EdgeBytes, Instance, Node, NodeOption, Parallelism, Platform, validate};
use dagsplit::problem::{Degrees, InFlight, MOST_IN_FLIGHT, Objective, Problem, ProblemSpec, Solution, StageMemory};
use dagsplit::solve::{DegreeDp, Outcome, Run, SearchContext, Solver, Status};
use dagsplit::verify::{self, StageFault, Verified, Violation};
use proptest::prelude::*;
use serde_json::Value;

fn solved(instance: &Instance, spec: &ProblemSpec) -> Run {
    let problem = Problem::new(instance, spec.clone()).expect("valid");
    DegreeDp::default().solve(&problem, &mut SearchContext::new()).expect("supported")
}

#[track_caller]
fn verified(instance: &Instance, spec: &ProblemSpec, split: &Solution) -> Verified {
    verify::check(instance, spec, split).unwrap_or_else(|found| panic!("{found:?}\n{split:?}"))
}

/// Two nodes of which each needs a device, in an option that exchanges more than the faster one would.
fn lean_pair(memory: Option<f64>) -> (Instance, ProblemSpec) {
    let option = |node: u64, is_lean: bool| {
        let (name, time, memory, sync) = if is_lean { ("lean", 2.0, 4.0, 5.0) } else { ("fast", 1.0, 10.0, 0.0) };
        let (sync_in, sync_out) = ([(0, sync)].into(), [(1, sync)].into());
        NodeOption {
            node,
            tensor_degree: 1,
            name: name.into(),
            time,
            memory,
            sync_in: if node == 1 { sync_in } else { Default::default() },
            sync_out: if node == 0 { sync_out } else { Default::default() },
            ..NodeOption::default()
        }
    };
    let instance = Instance {
        platform: Platform::uniform(2, memory, 0),
        nodes: (0..2).map(Node::new).collect(),
        edges: vec![Edge { source: 0, target: 1 }],
        parallelism: Some(Parallelism {
            bandwidth: 1.0,
            options: [(0, false), (0, true), (1, false), (1, true)].map(|(v, lean)| option(v, lean)).to_vec(),
            edges: vec![EdgeBytes { source: 0, target: 1, bytes: 100.0 }],
            ..Parallelism::default()
        }),
        ..Instance::default()
    };
    let spec = ProblemSpec {
        platform: instance.platform.clone(),
        objective: Objective::Step { microbatches: 1 },
        degrees: Some(Degrees::any(1)),
        ..ProblemSpec::default()
    };
    (instance, spec)
}

/// Without a target and without a split to begin with, a stage's time that is not known yet is no time of infinity.
#[test]
fn options_that_exchange_differently_are_no_reason_for_no_split() {
    for threads in [1, 8] {
        for (memory, optimum) in [(Some(6.0), 424.0), (None, 2.0)] {
            let (instance, spec) = lean_pair(memory);
            let problem = Problem::new(&instance, spec.clone()).expect("valid");
            let mut cx = SearchContext::new();
            cx.threads = threads;
            let run = DegreeDp::default().solve(&problem, &mut cx).expect("supported");
            let Outcome::Optimal { solution, .. } = &run.outcome else { panic!("{threads}: {:?}", run.outcome) };
            assert_eq!(verified(&instance, &spec, solution).objective(), optimum);
        }
    }
}

/// The solver's answer and that of a few orders alone, against all plans.
#[track_caller]
fn agrees(seed: u64) {
    let (instance, spec) = sample::problem(seed);
    let optimum = brute_force::optimum(&instance, &spec);
    let run = solved(&instance, &spec);
    match (&run.outcome, optimum) {
        (Outcome::Infeasible, None) => {}
        (Outcome::Optimal { solution, bound }, Some(optimum)) => {
            let objective = verified(&instance, &spec, solution).objective();
            assert!((objective - optimum).abs() <= 1e-9 * optimum, "seed {seed}: {objective}, but {optimum}");
            assert!(bound.value <= optimum * (1.0 + 1e-9), "seed {seed}: bound {}, but {optimum}", bound.value);
        }
        (outcome, optimum) => panic!("seed {seed}: {outcome:?}, but {optimum:?}"),
    }
    let problem = Problem::new(&instance, spec.clone()).expect("valid");
    let mut cx = SearchContext::new();
    cx.threads = 7;
    let at_once = DegreeDp::default().solve(&problem, &mut cx).expect("supported");
    assert_eq!(at_once.outcome.status(), run.outcome.status(), "seed {seed}");
    if let (Some(split), Some(optimum)) = (at_once.outcome.solution(), optimum) {
        let objective = verified(&instance, &spec, split).objective();
        assert!((objective - optimum).abs() <= 1e-9 * optimum, "seed {seed}: {objective} at once, but {optimum}");
    }
    let run = DegreeDp { max_ideals: 0, ..DegreeDp::default() }
        .solve(&problem, &mut SearchContext::new())
        .expect("supported");
    assert_ne!(run.outcome.status(), Status::Infeasible, "seed {seed}: a few orders prove nothing");
    if let Some(split) = run.outcome.solution() {
        let objective = verified(&instance, &spec, split).objective();
        assert!(optimum.is_some_and(|optimum| objective >= optimum * (1.0 - 1e-9)), "seed {seed}");
    }
    if let (Some(bound), Some(optimum)) = (run.outcome.bound(), optimum) {
        assert!(bound.value <= optimum * (1.0 + 1e-9), "seed {seed}");
    }
}

/// The answer where stages first go as far as they can, against that of a search among all stages.
#[track_caller]
fn goes_as_far((instance, spec): &(Instance, ProblemSpec)) {
    let problem = Problem::new(instance, spec.clone()).expect("valid");
    let [all, furthest] = [usize::MAX, 0].map(|furthest_from| {
        let solver = DegreeDp { furthest_from, ..DegreeDp::default() };
        let run = solver.solve(&problem, &mut SearchContext::new()).expect("supported");
        (run.outcome.status(), run.outcome.solution().map(|split| verified(instance, spec, split).objective()))
    });
    assert_eq!(furthest.0, all.0);
    assert!([Status::Optimal, Status::Infeasible].contains(&all.0));
    if let (Some(all), Some(furthest)) = (all.1, furthest.1) {
        assert!((furthest - all).abs() <= 1e-9 * all, "{furthest}, but {all}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    #[test]
    fn answers_are_those_of_all_plans(seed in any::<u64>()) {
        agrees(seed);
    }

    #[test]
    fn stages_that_go_as_far_as_they_can_prove_nothing_false(seed in any::<u64>()) {
        goes_as_far(&sample::problem(seed));
        goes_as_far(&sample::blocks(seed));
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, ..ProptestConfig::default() })]

    #[test]
    #[ignore = "takes a minute"]
    fn answers_are_those_of_all_plans_on_many_cases(seed in any::<u64>()) {
        agrees(seed);
    }

    #[test]
    #[ignore = "takes minutes"]
    fn stages_that_go_as_far_as_they_can_prove_nothing_false_on_many_cases(seed in any::<u64>()) {
        goes_as_far(&sample::problem(seed));
        goes_as_far(&sample::blocks(seed));
    }
}

/// The samples ask what they are meant to: there are all kinds of answers among them.
#[test]
fn samples_are_of_all_kinds() {
    let runs: Vec<Run> = (0..60).map(sample::problem).map(|(i, s)| solved(&i, &s)).collect();
    let splits: Vec<&Solution> = runs.iter().filter_map(|run| run.outcome.solution()).collect();
    let stages = || splits.iter().flat_map(|split| &split.devices);
    assert!(runs.iter().any(|run| run.outcome == Outcome::Infeasible));
    assert!(splits.iter().any(|split| split.devices.len() > 2));
    assert!(stages().any(|stage| stage.tensor_degree > 1) && stages().any(|stage| stage.replicas > 1));
    assert!(splits.iter().any(|split| split.devices.iter().any(|s| s.kind != split.devices[0].kind)), "two classes");
    let is_mixed = |options: &[String]| options.iter().any(|option| *option != options[0]);
    assert!(stages().any(|stage| is_mixed(&stage.options)));
}

/// Of two stages under 1F1B the last one keeps what 12 layers keep, and the first one what 6 do: 21 layers there and 19 here take
/// 72 and 70. Without memory both take 60.
#[test]
fn memory_raises_the_bound_without_a_search() {
    let option = |node: u64, name: &str, time: f64, kept: f64| NodeOption {
        node,
        tensor_degree: 1,
        name: name.into(),
        time,
        memory_per_microbatch: kept,
        ..NodeOption::default()
    };
    let parallelism = Parallelism {
        bandwidth: 1.0,
        options: (0..40).flat_map(|v| [option(v, "vanilla", 3.0, 1.0), option(v, "recompute", 4.0, 0.0)]).collect(),
        edges: (1..40).map(|v| EdgeBytes { source: v - 1, target: v, bytes: 0.0 }).collect(),
        ..Parallelism::default()
    };
    let instance = Instance {
        platform: Platform::uniform(2, Some(12.0), 0),
        nodes: (0..40).map(Node::new).collect(),
        edges: (1..40).map(|v| Edge { source: v - 1, target: v }).collect(),
        parallelism: Some(parallelism),
        ..Instance::default()
    };
    let degrees = Degrees { data: Some(vec![1]), ..Degrees::any(1000) };
    let spec = ProblemSpec { degrees: Some(degrees), ..ProblemSpec::of(&instance) };
    assert_eq!(solved(&instance, &spec).outcome.bound().map(|bound| bound.value.round()), Some(72.0));
}

fn layers(count: usize) -> Instance {
    parse_instance(&layers::piper(count), &ReadOptions::default()).expect("valid")
}

/// What is asked of layers: so many devices of 8 GB, and so many microbatches.
fn spec(instance: &Instance, devices: usize, microbatches: usize) -> ProblemSpec {
    let mut spec = ProblemSpec { degrees: Some(Degrees::any(microbatches)), ..ProblemSpec::of(instance) };
    spec.platform.accelerators[0].count = devices;
    spec.platform.accelerators[0].memory = Some(8e9);
    spec
}

/// A small Llama of 18 layers, whose operators are more than are split at once in all places.
fn llama(granularity: Granularity) -> Instance {
    let (model, layers, tensor_degrees) = (LanguageModel::Llama32_1b, Some(18), vec![1, 2]);
    let llm = Llm { model, layers, granularity, tensor_degrees, ..Llm::default() };
    let hardware = Hardware { accelerator: Accelerator::H100, precision: Precision::Fp16, ..Hardware::default() };
    let model = Model { architecture: llm.into(), hardware };
    generate(&Recipe { accelerators: 6, cpus: 0, ..Recipe::new(model) }).unwrap()
}

#[test]
fn operators_split_no_worse_than_layers() {
    let [operators, layers] = [Granularity::Operator, Granularity::Layer].map(|granularity| {
        let instance = llama(granularity);
        let spec = ProblemSpec { degrees: Some(Degrees::any(64)), ..ProblemSpec::of(&instance) };
        let run = solved(&instance, &spec);
        assert_eq!(run.outcome.status(), Status::Optimal);
        verified(&instance, &spec, run.outcome.solution().unwrap()).objective()
    });
    // Times of layers are sums with six digits.
    assert!(operators <= layers * (1.0 + 1e-4) && operators > 0.9 * layers, "{operators}, {layers}");
}

#[test]
fn the_first_split_of_operators_is_a_good_one() {
    let instance = llama(Granularity::Operator);
    let spec = ProblemSpec { degrees: Some(Degrees::any(64)), ..ProblemSpec::of(&instance) };
    let problem = Problem::new(&instance, spec.clone()).unwrap();
    let found = Arc::new(AtomicBool::new(false));
    let tell = Arc::clone(&found);
    let cx = SearchContext::new().with_cancellation(found);
    let mut cx = cx.with_report(move |progress| tell.store(progress.incumbent.is_some(), Ordering::Relaxed));
    let run = DegreeDp::default().solve(&problem, &mut cx).unwrap();
    assert_eq!(run.outcome.status(), Status::Feasible);
    let objective = verified(&instance, &spec, run.outcome.solution().unwrap()).objective();
    assert!(objective < 1.15 * run.outcome.bound().unwrap().value, "{objective}, {:?}", run.outcome.bound());
}

#[test]
fn fewer_choices_are_never_better() {
    let instance = layers(8);
    let mut asked = spec(&instance, 16, 64);
    asked.platform.accelerators[0].memory = Some(2e9);
    let objective = |degrees: Degrees| {
        let spec = ProblemSpec { degrees: Some(degrees), ..asked.clone() };
        let run = solved(&instance, &spec);
        run.outcome.solution().map_or(f64::INFINITY, |split| verified(&instance, &spec, split).objective())
    };
    let all = objective(Degrees::any(64));
    let without_data = objective(Degrees { data: Some(vec![1]), ..Degrees::any(64) });
    let without_tensor = objective(Degrees { tensor: Some(vec![1]), ..Degrees::any(64) });
    let without_recomputation = objective(Degrees { options: Some(vec!["vanilla".into()]), ..Degrees::any(64) });
    assert!(all < without_data && all < without_recomputation && all <= without_tensor);
    assert!(all.is_finite());
}

#[test]
fn what_is_wrong_with_a_split_is_named() {
    let instance = layers(8);
    let spec = spec(&instance, 16, 64);
    let run = solved(&instance, &spec);
    let split = run.outcome.solution().expect("a split");
    assert!(split.devices.len() > 1, "one stage cannot be out of order");
    let found = |change: &dyn Fn(&mut Solution)| {
        let mut changed = split.clone();
        change(&mut changed);
        verify::check(&instance, &spec, &changed).expect_err("a corrupted split")
    };
    let fault = |change: &dyn Fn(&mut Solution)| {
        let fault = found(change).into_iter().find_map(|violation| match violation {
            Violation::Stage { device: 0, fault } => Some(fault),
            _ => None,
        });
        fault.expect("a fault of the first stage")
    };
    assert!(matches!(fault(&|s| s.devices[0].tensor_degree = 3), StageFault::TensorDegree { degree: 3, .. }));
    assert!(matches!(fault(&|s| s.devices[0].replicas = 3), StageFault::DataDegree { degree: 3, .. }));
    assert!(matches!(fault(&|s| s.devices[0].replicas = 0), StageFault::DataDegree { degree: 0, .. }));
    assert!(matches!(fault(&|s| drop(s.devices[0].options.pop())), StageFault::OptionCount { .. }));
    assert!(matches!(fault(&|s| s.devices[0].options[0] = "none".into()), StageFault::UnknownOption { .. }));
    assert!(matches!(found(&|s| s.devices.reverse())[..], [Violation::OutOfOrder { .. }, ..]));
    assert!(matches!(found(&|s| s.objective = s.objective.map(|o| 0.99 * o))[..], [Violation::WrongObjective { .. }]));
    let everywhere = |s: &mut Solution| s.devices.iter_mut().for_each(|stage| stage.replicas = 64);
    let of_all = found(&|s| everywhere(s));
    assert!(of_all.iter().any(|v| matches!(v, Violation::TooManyParts { microbatches: 64, .. })), "{of_all:?}");
    assert!(of_all.iter().any(|v| matches!(v, Violation::TooManyDevices { available: 16, .. })), "{of_all:?}");
    let mut small = spec.clone();
    small.platform.accelerators[0].memory = Some(1e9);
    let violations = verify::check(&instance, &small, split).expect_err("too little memory");
    assert!(violations.iter().all(|v| matches!(v, Violation::MemoryExceeded { .. })), "{violations:?}");
    let without = ProblemSpec { degrees: None, ..spec };
    let violations = verify::check(&instance, &without, split).expect_err("degrees are not asked for");
    assert!(violations.iter().any(|v| matches!(v, Violation::Stage { fault: StageFault::NotAskedFor, .. })));
}

/// Replicas share out what ZeRO's stage says, and the parts of the memory say so.
#[test]
fn memory_is_told_by_part() {
    let mut instance = layers(1);
    for option in &mut instance.parallelism.as_mut().expect("options").options {
        (option.weight_bytes, option.gradient_bytes, option.optimizer_bytes) = (8.0, 16.0, 32.0);
        (option.memory, option.memory_per_microbatch, option.working_bytes) = (5.0, 3.0, option.node as f64);
        option.cache_bytes_per_token = 0.5;
    }
    let nodes = instance.nodes.len() as f64;
    for (zero, shared) in [(0, [1.0, 1.0, 1.0]), (1, [1.0, 1.0, 4.0]), (2, [1.0, 4.0, 4.0]), (3, [4.0, 4.0, 4.0])] {
        let memory = StageMemory { zero, cache_tokens: 6, ..StageMemory::default() };
        let degrees = Degrees { data: Some(vec![4]), tensor: Some(vec![1]), memory, ..Degrees::any(8) };
        let spec = ProblemSpec { degrees: Some(degrees), ..spec(&instance, 4, 8) };
        let run = solved(&instance, &spec);
        let checked = verified(&instance, &spec, run.outcome.solution().expect("one stage"));
        let parts = checked.devices()[0].memory_parts().expect("degrees");
        let state = [parts.weights, parts.gradients, parts.optimizer];
        assert_eq!(state, [8.0 / shared[0], 16.0 / shared[1], 32.0 / shared[2]].map(|bytes| nodes * bytes));
        assert_eq!([parts.activations, parts.other], [3.0, 5.0 + 3.0].map(|bytes| nodes * bytes));
        assert_eq!((parts.working, parts.total()), (nodes - 1.0, checked.devices()[0].memory()));
    }
}

#[test]
fn requests_that_do_not_go_together_are_listed() {
    let instance = layers(2);
    let mut wrong = spec(&instance, 4, 6);
    wrong.platform.cpus = 1;
    let options = Some(vec!["reversible".into()]);
    let memory = StageMemory { in_flight: InFlight::Constant(0), zero: 7, ..StageMemory::default() };
    wrong.degrees = Some(Degrees { tensor: Some(vec![3]), data: Some(vec![4]), options, memory, ..Degrees::any(6) });
    wrong.objective = Objective::Step { microbatches: 5 };
    let problems = Problem::new(&instance, wrong).err().expect("nothing of this").to_string();
    for part in [
        "8 problems found",
        "tensor degrees: no node has an option of degree 3",
        "data degrees: 4 does not divide the 6 microbatches",
        "options: no node has the option \"reversible\"",
        "devices: it does not go with degrees of stages",
        "objective: it does not go with degrees of stages",
        "in flight: no microbatch is in flight",
        "ZeRO: there is no stage 7",
        "ZeRO: no option says what of its memory is shared out",
    ] {
        assert!(problems.contains(part), "no `{part}` in {problems}");
    }
    let mut endless = spec(&instance, 4, 6);
    endless.degrees.as_mut().expect("degrees").memory.in_flight = InFlight::Asynchronous;
    assert!(Problem::new(&instance, endless.clone()).is_ok());
    endless.objective = Objective::Step { microbatches: 6 };
    let problems = Problem::new(&instance, endless.clone()).err().expect("no step").to_string();
    assert!(problems.contains("in flight: asynchronous training never empties"), "{problems}");
    let mut in_flight = |count| {
        endless.degrees.as_mut().expect("degrees").memory.in_flight = InFlight::Constant(count);
        Problem::new(&instance, endless.clone()).err().map(|problems| problems.to_string())
    };
    assert_eq!(in_flight(MOST_IN_FLIGHT), None);
    let problems = in_flight(MOST_IN_FLIGHT + 1).expect("too many");
    assert!(problems.contains("in flight: 1000001 microbatches are more than anyone has"), "{problems}");
}

/// Costs of another question than the one that is asked.
#[derive(Debug)]
struct Of(ProblemSpec);

impl CostModel for Of {
    fn costs(&self, instance: &Instance, _: &ProblemSpec) -> Costs {
        ProfiledCost.costs(instance, &self.0)
    }
}

#[test]
fn costs_are_those_of_what_is_asked() {
    let instance = layers(2);
    let asked = spec(&instance, 4, 6);
    let other = |change: fn(&mut Degrees)| {
        let mut other = asked.clone();
        change(other.degrees.as_mut().expect("degrees"));
        Problem::with_costs(&instance, asked.clone(), &Of(other)).err().map(|problems| problems.to_string())
    };
    assert_eq!(other(|_| {}), None);
    let changes: [fn(&mut Degrees); 3] =
        [|d| d.microbatches = 12, |d| d.memory.in_flight = InFlight::GPipe, |d| d.memory.zero = 1];
    for change in changes {
        assert!(other(change).is_some_and(|problems| problems.contains("are not what is asked for")));
    }
}

#[test]
fn what_is_wrong_with_options_is_listed() {
    let mut instance = layers(2);
    let parallelism = instance.parallelism.as_mut().expect("options");
    parallelism.bandwidth = 0.0;
    parallelism.edges.truncate(1);
    parallelism.options[0].tensor_degree = 0;
    parallelism.options[1].time = f64::NAN;
    parallelism.options[2].sync_out.insert(99, 1.0);
    parallelism.options.push(parallelism.options[3].clone());
    let last = parallelism.options.iter().map(|option| option.node).max().expect("options");
    parallelism.options.retain(|option| option.node != last);
    let problems = validate(&instance).expect_err("all of this").to_string();
    for part in [
        "its bandwidth is 0",
        "`parallelism` does not say what it moves",
        "at degree 0: there is no such degree",
        "its time is NaN",
        "which does not exist",
        "the node has it twice",
        "`parallelism` gives it no option",
    ] {
        assert!(problems.contains(part), "no `{part}` in {problems}");
    }
}

#[test]
fn a_file_is_written_and_read_as_it_was() {
    let instance = layers(3);
    let text = write_instance(&instance, OutputFormat::Native).expect("valid");
    assert_eq!(parse_instance(&text, &ReadOptions::default()).expect("valid"), instance);
    let spec = spec(&instance, 4, 8);
    let split = solved(&instance, &spec).outcome.solution().expect("a split").clone();
    let mut read = parse_split(&write_split(&instance, &split), &instance).expect("a split");
    assert_eq!(read.objective, split.objective);
    read.objective = None;
    assert_eq!(read.devices, split.devices);
}

/// What programs rely on: `solve --json`, and `verify` of what it writes.
#[test]
fn programs_read_degrees_and_options() {
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::write(folder.path().join("layers.json"), layers::piper(8)).expect("written");
    let run = |words: &str, code: i32| {
        let mut command = Command::new(assert_cmd::cargo::cargo_bin!("dagsplit"));
        command.args(words.split_whitespace()).current_dir(folder.path());
        String::from_utf8(command.assert().code(code).get_output().stdout.clone()).expect("text")
    };
    let asked = "--accelerators 16 --cpus 0 --memory 8GiB --bandwidth 25GiB --microbatches 64";
    let json = run(&format!("solve layers.json {asked} --json --output split.json"), 0);
    let record: Value = serde_json::from_str(&json).expect("JSON");
    assert_eq!((&record["status"], &record["time_unit"]), (&"optimal".into(), &"s".into()));
    let (objective, bound) = (record["objective"].as_f64().expect("a number"), record["lower_bound"].as_f64());
    assert!(bound.is_some_and(|bound| bound <= objective) && record["gap"] == 0.0);
    let stages = record["devices"].as_array().expect("stages");
    let loads = stages.iter().map(|stage| stage["load"].as_f64().expect("a load"));
    assert_eq!(loads.fold(0.0, f64::max), objective);
    for stage in stages {
        let parts = stage["memory_parts"].as_object().expect("parts").values();
        assert_eq!(parts.map(|bytes| bytes.as_f64().expect("bytes")).sum::<f64>(), stage["memory"]);
        let count = |name: &str| stage[name].as_u64().expect("a count");
        assert!(count("tensor_degree") * count("data_degree") <= 16 && count("in_flight") > 0);
        let length = |name: &str| stage[name].as_array().expect("a list").len();
        assert_eq!(length("nodes"), length("options"));
    }
    assert!(run(&format!("verify layers.json split.json {asked}"), 0).contains("valid        yes"));
    run(&format!("verify layers.json split.json {asked} --tensor-degrees 8"), 1);
    run("solve layers.json --accelerators 1 --memory 1MB --microbatches 4", 4);
    run("solve layers.json --microbatches 4 --method dp", 2);
}

/// Published figures of Piper's program (`published-results.md` of the workloads): devices, GiB, time per sample.
const PUBLISHED: [(usize, f64, f64); 5] = [
    (8, 8.0, 0.16585575),
    (8, 80.0, 0.12200726935),
    (64, 8.0, 0.0202005502945),
    (512, 8.0, 0.00256112784601),
    (2048, 8.0, 0.000703591184443),
];

#[path = "workloads/mod.rs"]
mod workloads;

#[test]
fn no_published_split_is_better() {
    let Some(path) = workloads::find("piper2021/bert32a100.json") else { return };
    let mut instance = dagsplit::formats::read_instance(&path, &ReadOptions::default()).expect("valid");
    let gibibyte = f64::from(1 << 30);
    instance.parallelism.as_mut().expect("options").bandwidth = 25.0 * gibibyte;
    for (devices, memory, published) in PUBLISHED {
        let mut spec = spec(&instance, devices, 1920);
        spec.platform.accelerators[0].memory = Some(memory * gibibyte);
        let started = std::time::Instant::now();
        let run = solved(&instance, &spec);
        let seconds = started.elapsed().as_secs_f64();
        let Outcome::Optimal { solution, .. } = &run.outcome else { panic!("{:?}", run.outcome) };
        let objective = verified(&instance, &spec, solution).objective();
        println!("k = {devices}, {memory} GiB: {objective} in {seconds:.3} s, published {published}");
        assert!(objective <= published * (1.0 + 1e-9), "k = {devices}: {objective}, published {published}");
    }
}

/// Seconds for files of Piper's shape, and for the published one where it is at hand.
#[test]
#[ignore = "prints times"]
fn layers_take_their_time() {
    for count in [32, 64, 96] {
        let instance = layers(count);
        for (devices, memory) in [(64, 2e9), (64, 8e9), (512, 8e9), (2048, 2e9), (2048, 8e9), (2048, 80e9)] {
            let mut spec = spec(&instance, devices, 1920);
            spec.platform.accelerators[0].memory = Some(memory);
            let started = std::time::Instant::now();
            let run = solved(&instance, &spec);
            println!("{count} layers, {devices} devices of {memory:e} bytes: {:.3} s", started.elapsed().as_secs_f64());
            assert_eq!(run.outcome.status(), Status::Optimal);
        }
    }
}
