//! Plans: every way to use the devices, split, mapped and simulated.

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use assert_cmd::Command;
use dagsplit::cost::Piece;
use dagsplit::formats::write_topology;
use dagsplit::formats::{OutputFormat, write_instance};
use dagsplit::instance::{Edge, Instance, Metadata, Node, Platform};
use dagsplit::mapping::{Counted, Device, Topology};
use dagsplit::plan::{Candidate, Factoring, Fate, Plan, PlanError, PlanOptions, plan};
use dagsplit::simulate::schedule::OneForwardOneBackward;
use dagsplit::solve::SearchContext;
use serde_json::Value;

/// Layers in a row, for training: each takes 1 forward and 2 backward, and sends and holds so many bytes.
fn layers(count: u64, output: f64, parameters: f64) -> Instance {
    let forward = |id: u64| Node {
        accelerator_times: vec![Some(1.0)],
        output_bytes: Some(output),
        transfer_time: output / 1e6,
        parameter_bytes: parameters,
        memory: parameters + output,
        color_class: Some(id),
        ..Node::new(id)
    };
    let backward = |id: u64| Node {
        accelerator_times: vec![Some(2.0)],
        backward: true,
        parameter_bytes: 0.0,
        memory: 0.0,
        ..Node { id: count + id, ..forward(id) }
    };
    let edge = |source, target| Edge { source, target };
    let mut edges: Vec<Edge> = (1..count).map(|id| edge(id - 1, id)).collect();
    edges.extend((1..count).map(|id| edge(count + id, count + id - 1)));
    edges.extend((0..count).map(|id| edge(id, count + id)));
    Instance {
        metadata: Metadata { name: Some("layers".into()), ..Metadata::default() },
        platform: Platform::uniform(1, None, 0),
        nodes: (0..count).map(forward).chain((0..count).map(backward)).collect(),
        edges,
        ..Instance::default()
    }
}

/// Nodes of two devices: 1 MB/ms inside, and so much between.
fn pairs(count: usize, between: f64, memory: Option<f64>) -> Topology {
    let device = |d: usize| Device { memory, ..Device::new(format!("gpu{d}")) };
    let bandwidth = |a: usize, b: usize| if a / 2 == b / 2 { 1e6 } else { between };
    Topology::new("pairs", "made up", (0..count).map(device).collect(), bandwidth)
}

fn planned(instance: &Instance, topology: &Topology, options: &PlanOptions) -> Plan {
    plan(instance, topology, options, &SearchContext::new()).unwrap_or_else(|error| panic!("{error}"))
}

fn of(plan: &Plan, stages: usize) -> &Candidate {
    plan.candidates.iter().find(|candidate| candidate.factoring.stages == stages).unwrap()
}

#[test]
fn every_factoring_fills_the_devices() {
    let pairs: Vec<(usize, usize)> = Factoring::all(12).iter().map(|f| (f.stages, f.replicas)).collect();
    assert_eq!(pairs, [(1, 12), (2, 6), (3, 4), (4, 3), (6, 2), (12, 1)]);
    assert_eq!(Factoring::all(0), []);
}

#[test]
fn stage_times_follow_the_load_that_the_instance_states() {
    let mut instance = layers(4, 1e6, 0.0);
    let stage_time = |instance: &Instance| {
        let plan = planned(instance, &pairs(2, 1e6, None), &PlanOptions::default());
        of(&plan, 2).pipeline().unwrap().stage_time
    };
    // Half of the layers with recomputation, then one output forward and its gradient back.
    assert_eq!(stage_time(&instance), 8.0 + 1.0 + 1.0);
    let beside = vec![Piece::COMPUTE, Piece::new(0.0, 1.0, 1.0)];
    instance.platform.accelerators[0].load = Some(beside);
    assert_eq!(stage_time(&instance), 8.0);
}

#[test]
fn times_are_those_of_the_closed_forms() {
    // Nothing to send: R copies of all four layers take 4 · (4 + 4 + 8) for 4 microbatches each.
    let plan = planned(&layers(4, 0.0, 0.0), &pairs(4, 1e6, None), &PlanOptions::default());
    let time = |stages| of(&plan, stages).time().unwrap();
    assert_eq!(time(1), 64.0 / 16.0);
    // Four stages of one layer: 3 + 4 forward; each backward pass of a stage takes 1 + 2, but the recomputation of the
    // first one waits for nothing.
    let bubble = of(&plan, 4).pipeline().unwrap().simulation.bubble();
    assert!(time(4) > time(2) && time(2) > time(1) && bubble > 0.3, "{} {} {bubble}", time(2), time(4));
    assert_eq!(plan.best().unwrap().factoring, Factoring { stages: 1, replicas: 4 });
    let best = plan.best().unwrap().pipeline().unwrap();
    assert_eq!((best.stage_time, best.gap), (16.0, Some(0.0)));
}

#[test]
fn heavy_weights_call_for_stages_and_heavy_outputs_for_replicas() {
    let topology = pairs(4, 1e5, None);
    let stages = |output, parameters| {
        let plan = planned(&layers(8, output, parameters), &topology, &PlanOptions::default());
        plan.best().unwrap().factoring.stages
    };
    assert_eq!(stages(0.0, 1e8), 4);
    assert_eq!(stages(1e7, 0.0), 1);
}

#[test]
fn the_parts_of_the_devices_time_add_up() {
    let plan = planned(&layers(8, 3e5, 2e5), &pairs(4, 1e5, None), &PlanOptions::default());
    for candidate in &plan.candidates {
        let pipeline = candidate.pipeline().unwrap();
        assert!((pipeline.breakdown.total() - 4.0 * pipeline.time).abs() < 1e-9 * pipeline.breakdown.total());
        assert!((pipeline.breakdown.compute - 24.0).abs() < 1e-9 && (pipeline.breakdown.recompute - 8.0).abs() < 1e-9);
        assert_eq!(pipeline.time, pipeline.simulation.makespan() / pipeline.simulation.samples() as f64);
    }
}

#[test]
fn more_mappers_and_costs_never_make_a_plan_slower() {
    let (instance, topology) = (layers(8, 8e5, 3e5), pairs(8, 2e5, None));
    let best = |mappers: &[&str], counted: &[Counted]| {
        let mappers = mappers.iter().map(|&mapper| mapper.to_owned()).collect();
        let options = PlanOptions { mappers, counted: counted.to_vec(), ..PlanOptions::default() };
        planned(&instance, &topology, &options).candidates.iter().map(|c| c.time().unwrap()).collect::<Vec<_>>()
    };
    let all = [Counted::Both, Counted::Messages, Counted::AllReduce];
    let everything = best(&["branch-and-bound", "consecutive", "p2p"], &all);
    for fewer in [best(&["consecutive"], &all), best(&["p2p"], &all), best(&["branch-and-bound"], &all[..1])] {
        assert!(everything.iter().zip(&fewer).all(|(a, b)| a <= b), "{everything:?} {fewer:?}");
    }
}

#[test]
fn what_does_not_fit_does_not_count() {
    let instance = layers(4, 10.0, 100.0);
    let roomy = planned(&instance, &pairs(4, 1e6, Some(1e4)), &PlanOptions::default());
    assert!(roomy.candidates.iter().all(|candidate| candidate.time().is_some()));
    // Two layers' weights and activations fit, four layers' do not.
    let tight = planned(&instance, &pairs(4, 1e6, Some(300.0)), &PlanOptions::default());
    assert!(matches!(&of(&tight, 1).fate, Fate::Failed(reason) if reason.contains("copies need as much, but 0 of 4")));
    assert!(of(&tight, 2).time().is_some());
    // The stage fits once, but not with what it keeps of four microbatches.
    let options = PlanOptions { recompute: false, microbatches: vec![4, 16], ..PlanOptions::default() };
    let kept = planned(&instance, &pairs(4, 1e6, Some(300.0)), &options);
    let two = |count| kept.candidates.iter().find(|c| c.factoring.stages == 2 && c.microbatches == count).unwrap();
    assert!(two(4).time().is_some());
    assert!(two(16).time().is_none() && two(16).pipeline().is_some_and(|pipeline| pipeline.overfull.is_some()));
}

#[test]
fn one_f_one_b_keeps_less_than_gpipe() {
    let instance = layers(8, 1e5, 1e3);
    let peak = |options: PlanOptions| {
        let options = PlanOptions { microbatches: vec![16], recompute: false, ..options };
        of(&planned(&instance, &pairs(4, 1e6, None), &options), 4).pipeline().unwrap().peak_memory
    };
    let (gpipe, one_f_one_b) = (
        peak(PlanOptions::default()),
        peak(PlanOptions { schedule: &OneForwardOneBackward, ..PlanOptions::default() }),
    );
    assert!(one_f_one_b < gpipe, "{one_f_one_b} {gpipe}");
}

#[test]
fn threads_do_not_change_the_plan() {
    let (instance, topology) = (layers(8, 8e5, 3e5), pairs(8, 2e5, None));
    let times = |threads| {
        let mut cx = SearchContext::new();
        cx.threads = threads;
        let plan = plan(&instance, &topology, &PlanOptions::default(), &cx).unwrap();
        plan.candidates.iter().map(|c| (c.factoring, c.pipeline().map(|p| p.mapping.clone()))).collect::<Vec<_>>()
    };
    assert_eq!(times(1), times(3));
}

#[test]
fn a_stopped_plan_is_no_fault() {
    let cx = SearchContext::new().with_cancellation(Arc::new(AtomicBool::new(true)));
    let plan = plan(&layers(8, 1e5, 1e5), &pairs(4, 1e5, None), &PlanOptions::default(), &cx).unwrap();
    assert_eq!(plan.candidates.len(), 3);
}

#[test]
fn what_makes_no_sense_is_refused() {
    let (instance, topology) = (layers(4, 1.0, 1.0), pairs(4, 1.0, None));
    let refused = |options| plan(&instance, &topology, &options, &SearchContext::new()).err().unwrap();
    let spec = |text: &str| text.to_owned();
    assert!(matches!(
        refused(PlanOptions { partitioner: spec("nonesuch"), ..PlanOptions::default() }),
        PlanError::Spec(_)
    ));
    assert!(matches!(
        refused(PlanOptions { mappers: vec![spec("nonesuch")], ..PlanOptions::default() }),
        PlanError::Spec(_)
    ));
    assert!(matches!(
        refused(PlanOptions { partitioner: spec("sharding-bb"), ..PlanOptions::default() }),
        PlanError::Solve(_)
    ));
    let unknown = Instance { nodes: instance.nodes.iter().map(without_size).collect(), ..instance.clone() };
    let error = plan(&unknown, &topology, &PlanOptions::default(), &SearchContext::new()).err().unwrap();
    assert!(matches!(error, PlanError::Problem(_)));
}

fn without_size(node: &Node) -> Node {
    Node { output_bytes: None, ..node.clone() }
}

/// A folder with a workload and a topology.
fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let instance = write_instance(&layers(8, 8e5, 3e5), OutputFormat::Native).unwrap();
    fs::write(folder.path().join("layers.json"), instance).unwrap();
    fs::write(folder.path().join("pairs.json"), write_topology(&pairs(4, 2e5, None))).unwrap();
    folder
}

#[track_caller]
fn run(folder: &Path, arguments: &str, code: i32) -> String {
    let mut command = Command::new(assert_cmd::cargo::cargo_bin!("dagsplit"));
    command.args(arguments.split_whitespace()).current_dir(folder);
    String::from_utf8(command.assert().code(code).get_output().stdout.clone()).unwrap()
}

#[test]
fn the_command_line_shows_every_candidate_and_says_why() {
    let folder = folder();
    let table = run(folder.path(), "plan layers.json pairs.json --microbatches 4,8", 0);
    assert!(table.contains("is the best:") && table.contains("longer"), "{table}");
    let json = run(folder.path(), "plan layers.json pairs.json --microbatches 4,8 --json", 0);
    let json: Value = serde_json::from_str(&json).unwrap();
    assert_eq!((&json["schema"], &json["verified"]), (&"dagsplit-plan/1".into(), &true.into()));
    let candidates = json["candidates"].as_array().unwrap();
    assert_eq!(candidates.len(), 6);
    assert_eq!((&candidates[0]["status"], &candidates[0]["time"]), (&"best".into(), &json["objective"]));
    let times: Vec<f64> = candidates.iter().map(|candidate| candidate["time"].as_f64().unwrap()).collect();
    assert!(times.is_sorted(), "{times:?}");
    assert_eq!(json["copies"].as_array().unwrap().len(), 4);
    assert_eq!(json["reasons"].as_array().unwrap().len(), 6);
}

#[test]
fn what_is_written_is_verified_and_simulated_to_the_same_time() {
    let folder = folder();
    let outputs = "--output split.json --output-stages stages.json --output-mapping mapping.json";
    let shape = "--stages 4 --replicas 1 --microbatches 8";
    let json = run(folder.path(), &format!("plan layers.json pairs.json {shape} {outputs} --json"), 0);
    let plan: Value = serde_json::from_str(&json).unwrap();
    run(folder.path(), "verify layers.json split.json --accelerators 4", 0);
    let simulate = "simulate stages.json pairs.json mapping.json --schedule gpipe --recompute --microbatches 8 --json";
    let simulated: Value = serde_json::from_str(&run(folder.path(), simulate, 0)).unwrap();
    let (time, makespan) = (plan["objective"].as_f64().unwrap(), simulated["makespan"].as_f64().unwrap());
    assert!((8.0 * time - makespan).abs() < 1e-9 * makespan, "{time} {makespan}");
}

#[test]
fn senseless_command_lines_are_refused() {
    let folder = folder();
    for arguments in [
        "--stages 0",
        "--stages 5",
        "--stages 4 --replicas 2",
        "--microbatches 0",
        "--schedule nonesuch",
        "--partitioner nonesuch",
        "--mapper nonesuch",
    ] {
        run(folder.path(), &format!("plan layers.json pairs.json {arguments}"), 2);
    }
    run(folder.path(), "plan layers.json layers.json", 3);
    run(folder.path(), "plan layers.json pairs.json --memory 1000", 5);
}
