//! Plans: every way to use the devices, split, mapped and simulated.

#[path = "plan/brute_force.rs"]
mod brute_force;
#[path = "plan/chunks.rs"]
mod chunks;
#[path = "plan/serving.rs"]
mod serving;

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use assert_cmd::Command;
use dagsplit::cost::Piece;
use dagsplit::formats::write_topology;
use dagsplit::formats::{OutputFormat, write_instance};
use dagsplit::generate::{Recipe, Transformer, generate};
use dagsplit::instance::{Edge, Instance, Metadata, Node, Platform};
use dagsplit::mapping::{Channel, Counted, Device, Topology};
use dagsplit::plan::{Candidate, Fate, Plan, PlanError, PlanOptions, Shape, plan};
use dagsplit::problem::{Optimizer, Precision, StageMemory, Training};

use dagsplit::simulate::Collective;
use dagsplit::simulate::schedule::{GPipe, Inference, OneForwardOneBackward};
use dagsplit::solve::{SearchContext, Status};
use dagsplit::verify::VerifiedDevice;
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
    plan.candidates.iter().find(|candidate| candidate.shape.stages == stages).unwrap()
}

/// GPipe with recomputation, four microbatches for each device.
fn gpipe() -> PlanOptions {
    PlanOptions { schedules: vec![&GPipe], recompute: vec![true], ..PlanOptions::default() }
}

#[test]
fn shapes_share_out_the_batch_and_fill_the_devices() {
    let instance = layers(12, 0.0, 0.0);
    let shapes = |options: PlanOptions| {
        let plan =
            planned(&instance, &pairs(12, 1e6, None), &PlanOptions { mappers: vec!["consecutive".into()], ..options });
        let mut shapes: Vec<(usize, usize)> = plan
            .candidates
            .iter()
            .map(|Candidate { shape: Shape { stages, replicas, .. }, .. }| (*stages, *replicas))
            .collect();
        shapes.sort_unstable();
        shapes
    };
    let batch = |batch| PlanOptions { batch: Some(batch), ..gpipe() };
    assert_eq!(shapes(batch(4)), [(3, 4), (6, 2), (12, 1)]);
    assert_eq!(shapes(batch(12)), [(1, 12), (2, 6), (3, 4), (4, 3), (6, 2), (12, 1)]);
    assert_eq!(shapes(PlanOptions { stages: vec![5, 3], ..batch(12) }), [(3, 4), (5, 2)]);
    assert_eq!(shapes(PlanOptions { stages: vec![3, 6], replicas: vec![1, 4], ..batch(12) }), [(3, 1), (3, 4), (6, 1)]);
}

#[test]
fn stage_times_follow_the_load_that_the_instance_states() {
    let mut instance = layers(4, 1e6, 0.0);
    let options = PlanOptions { partitioner: Some("dp".into()), batch: Some(4), stages: vec![2], ..gpipe() };
    let stage_time =
        |instance: &Instance| of(&planned(instance, &pairs(2, 1e6, None), &options), 2).pipeline().unwrap().stage_time;
    // Half of the layers with recomputation, then one output forward and its gradient back.
    assert_eq!(stage_time(&instance), 8.0 + 1.0 + 1.0);
    let beside = vec![Piece::COMPUTE, Piece::new(0.0, 1.0, 1.0)];
    instance.platform.accelerators[0].load = Some(beside);
    assert_eq!(stage_time(&instance), 8.0);
}

#[test]
fn nodes_that_are_kept_together_share_a_stage() {
    for partitioner in [None, Some("dp".to_owned())] {
        let options = PlanOptions { partitioner, batch: Some(4), stages: vec![2], replicas: vec![1], ..gpipe() };
        let sizes = |together| {
            let options = PlanOptions { together, ..options.clone() };
            let plan = planned(&layers(4, 0.0, 0.0), &pairs(2, 1e6, None), &options);
            assert!(plan.lower_bound() <= plan.best().unwrap().time());
            let devices = plan.best().unwrap().pipeline().unwrap().partition.verified.devices().to_vec();
            devices.iter().map(|device| device.nodes().len()).collect::<Vec<_>>()
        };
        // Of layers in a row with both passes the one between the two comes along.
        assert_eq!((sizes(vec![]), sizes(vec![vec![0, 2]])), (vec![4, 4], vec![6, 2]));
    }
}

#[test]
fn times_are_those_of_the_closed_forms() {
    // Nothing to send: R copies of all four layers take 4 · (4 + 4 + 8) for 4 microbatches each.
    let plan = planned(&layers(4, 0.0, 0.0), &pairs(4, 1e6, None), &PlanOptions { batch: Some(16), ..gpipe() });
    let time = |stages| of(&plan, stages).time().unwrap();
    assert_eq!(time(1), 64.0);
    // Four stages of one layer: 3 + 16 forward; each backward pass of a stage takes 1 + 2, but the recomputation of the
    // first one waits for nothing.
    assert!(time(4) > time(2) && time(2) > time(1), "{} {}", time(2), time(4));
    let best = plan.best().unwrap();
    assert_eq!(best.shape, Shape { stages: 1, replicas: 4, tensor: 1 });
    assert_eq!((best.pipeline().unwrap().stage_time, plan.gap()), (16.0, Some(0.0)));
    assert_eq!(plan.status(), Status::Optimal);
}

#[test]
fn heavy_weights_call_for_stages_and_heavy_outputs_for_replicas() {
    let topology = pairs(4, 1e5, None);
    let stages = |output, parameters| {
        let plan = planned(&layers(8, output, parameters), &topology, &PlanOptions { batch: Some(64), ..gpipe() });
        plan.best().unwrap().shape.stages
    };
    assert_eq!(stages(0.0, 1e9), 4);
    assert_eq!(stages(1e7, 0.0), 1);
}

#[test]
fn faster_devices_get_more_work() {
    let mut topology = pairs(4, 1e6, None);
    topology.devices[2].speed = 3.0;
    let options = PlanOptions { replicas: vec![1], batch: Some(600), recompute: vec![false], ..PlanOptions::default() };
    let plan = planned(&layers(12, 0.0, 0.0), &topology, &options);
    // 36 of work on speeds that add up to 6: six for each and microbatch, but for filling and draining.
    let time = plan.best().unwrap().time().unwrap();
    assert!((3600.0..3650.0).contains(&time), "{time}");
}

#[test]
fn the_parts_of_the_devices_time_add_up() {
    let plan = planned(&layers(8, 3e5, 2e5), &pairs(4, 1e5, None), &PlanOptions { batch: Some(16), ..gpipe() });
    for candidate in &plan.candidates {
        let pipeline = candidate.pipeline().unwrap();
        let breakdown = pipeline.breakdown;
        assert!((breakdown.total() - 4.0 * pipeline.time).abs() < 1e-9 * breakdown.total());
        assert!((breakdown.compute - 16.0 * 24.0).abs() < 1e-9 && (breakdown.recompute - 16.0 * 8.0).abs() < 1e-9);
        assert_eq!(pipeline.time, pipeline.simulation.makespan());
    }
}

#[test]
fn more_mappers_and_costs_never_make_a_plan_slower() {
    let (instance, topology) = (layers(8, 8e5, 3e5), pairs(8, 2e5, None));
    let best = |mappers: &[&str], counted: &[Counted]| {
        let mappers = mappers.iter().map(|&mapper| mapper.to_owned()).collect();
        let partitioner = Some("dp".into());
        let plan =
            planned(&instance, &topology, &PlanOptions { mappers, counted: counted.to_vec(), partitioner, ..gpipe() });
        plan.best().unwrap().time().unwrap()
    };
    let all = [Counted::Both, Counted::Messages, Counted::AllReduce];
    let everything = best(&["branch-and-bound", "consecutive", "p2p"], &all);
    for fewer in [best(&["consecutive"], &all), best(&["p2p"], &all), best(&["branch-and-bound"], &all[..1])] {
        assert!(everything <= fewer, "{everything} {fewer}");
    }
}

#[test]
fn what_does_not_fit_does_not_count() {
    let instance = layers(4, 10.0, 100.0);
    let options = |recompute| PlanOptions { batch: Some(16), recompute: vec![recompute], ..gpipe() };
    let roomy = planned(&instance, &pairs(4, 1e6, Some(1e4)), &options(true));
    assert!(roomy.candidates.iter().all(|candidate| candidate.time().is_some()));
    // Two layers' weights and activations fit, four layers' do not.
    let tight = planned(&instance, &pairs(4, 1e6, Some(300.0)), &options(true));
    assert!(matches!(&of(&tight, 1).fate, Fate::Refuted(_)));
    assert!(of(&tight, 2).time().is_some());
    // The stages fit once, but not with what GPipe keeps of eight microbatches: 200 + 8 · 20.
    let kept = planned(&instance, &pairs(4, 1e6, Some(300.0)), &options(false));
    assert!(matches!(of(&kept, 2).fate, Fate::Refuted(_)));
    let nowhere = planned(&instance, &pairs(4, 1e6, Some(90.0)), &options(true));
    assert_eq!((nowhere.status(), nowhere.lower_bound()), (Status::Infeasible, None));
}

#[test]
fn memory_by_place_decides_the_split() {
    // Of two stages under 1F1B the first keeps two microbatches: 3 + 5 layers fit, 4 + 4 do not.
    let instance = layers(8, 100.0, 10.0);
    let options = PlanOptions {
        schedules: vec![&OneForwardOneBackward],
        recompute: vec![false],
        stages: vec![2],
        batch: Some(8),
        ..PlanOptions::default()
    };
    let plan = planned(&instance, &pairs(2, 1e6, Some(630.0)), &options);
    let best = plan.best().unwrap().pipeline().unwrap();
    assert_eq!((best.peak_memory, best.partition.verified.devices()[0].nodes().len()), (630.0, 6));
}

/// Twelve layers of BERT on four devices under 1F1B need less than 8 GiB, by the sums of their nodes: what the forward pass
/// keeps is there for each microbatch in flight, and the rest once.
#[test]
fn training_fits_where_gradients_lie_once() {
    let bert = Recipe { training: true, ..Recipe::new(Transformer::bert_base()) };
    let (instance, limit) = (generate(&bert).unwrap(), 8.0 * f64::from(1 << 30));
    let options = PlanOptions {
        recompute: vec![false],
        stages: vec![4],
        replicas: vec![1],
        mappers: vec!["consecutive".into()],
        batch: Some(64),
        ..PlanOptions::default()
    };
    let plan = planned(&instance, &pairs(4, 1e6, Some(limit)), &options);
    let best = plan.best().expect("it fits").pipeline().unwrap();
    let devices = best.partition.verified.devices();
    assert_eq!(devices.len(), 4);
    let bytes = |(stage, device): (usize, &VerifiedDevice)| {
        let nodes = instance.nodes.iter().filter(|node| device.nodes().contains(&node.id));
        let (backward, forward): (Vec<&Node>, Vec<&Node>) = nodes.partition(|node| node.backward);
        let kept: f64 = forward.iter().map(|node| node.memory - node.parameter_bytes).sum();
        let once = backward.iter().map(|node| node.memory).chain(forward.iter().map(|node| node.parameter_bytes));
        once.sum::<f64>() + (4 - stage) as f64 * kept
    };
    let peak = devices.iter().enumerate().map(bytes).fold(0.0, f64::max);
    assert_eq!(best.peak_memory, peak);
    assert!(peak <= limit && peak > 0.9 * limit, "{peak}");
}

#[test]
fn the_optimizer_lasts_and_is_shared_out() {
    let training = Some(Training { optimizer: Optimizer::Adam, precision: Precision::Bf16 });
    let peak = |zero| {
        let memory = StageMemory { training, zero, ..StageMemory::default() };
        let options =
            PlanOptions { memory, replicas: vec![2], recompute: vec![false], batch: Some(8), ..PlanOptions::default() };
        planned(&layers(4, 10.0, 100.0), &pairs(2, 1e6, None), &options).best().unwrap().pipeline().unwrap().peak_memory
    };
    // Four layers: 2 + 6 times their weights, and one microbatch.
    assert_eq!([0, 1, 2, 3].map(peak), [3240.0, 2040.0, 1840.0, 1640.0]);
}

#[test]
fn what_replicas_share_out_none_has_to_hold() {
    let training = Some(Training { optimizer: Optimizer::Sgd, precision: Precision::Fp32 });
    let memory = StageMemory { training, zero: 3, ..StageMemory::default() };
    let options = PlanOptions { memory, replicas: vec![8], batch: Some(8), ..PlanOptions::default() };
    // Weights of 400 bytes and their gradients, an eighth of them on each device, and a microbatch.
    let plan = planned(&layers(4, 10.0, 100.0), &pairs(8, 1e6, Some(200.0)), &options);
    assert_eq!(plan.best().and_then(Candidate::pipeline).map(|pipeline| pipeline.peak_memory), Some(140.0));
}

#[test]
fn longer_microbatches_are_fewer() {
    let options = PlanOptions { microbatch_sizes: vec![1, 4], replicas: vec![1], batch: Some(16), ..gpipe() };
    let plan = planned(&layers(4, 0.0, 50.0), &pairs(2, 1e6, None), &options);
    let of_size = |size| plan.candidates.iter().find(|candidate| candidate.microbatch_size == size).unwrap();
    let time = |size: usize| of_size(size).time().unwrap();
    assert_eq!((of_size(1).microbatches, of_size(4).microbatches), (16, 4));
    // Two stages of 8 with recomputation: as much work, and four times as long to fill and drain.
    assert_eq!((time(1) - 128.0) * 4.0, time(4) - 128.0);
}

#[test]
fn threads_do_not_change_the_plan() {
    let (instance, topology) = (layers(8, 8e5, 3e5), pairs(8, 2e5, None));
    let times = |threads| {
        let mut cx = SearchContext::new();
        cx.threads = threads;
        let plan = plan(&instance, &topology, &PlanOptions::default(), &cx).unwrap();
        plan.candidates.iter().map(|c| (c.shape, c.pipeline().map(|p| p.mapping.clone()))).collect::<Vec<_>>()
    };
    assert_eq!(times(1), times(3));
}

#[test]
fn a_stopped_plan_is_no_fault() {
    let cx = SearchContext::new().with_cancellation(Arc::new(AtomicBool::new(true)));
    let plan = plan(&layers(8, 1e5, 1e5), &pairs(4, 1e5, None), &PlanOptions::default(), &cx).unwrap();
    assert_eq!(
        plan.candidates.len(),
        14,
        "three shapes, two of them with 2 and 4 chunks, with and without recomputation"
    );
    assert!(plan.lower_bound().is_some());
}

#[test]
fn what_makes_no_sense_is_refused() {
    let (instance, topology) = (layers(4, 1.0, 1.0), pairs(4, 1.0, None));
    let refused = |options| plan(&instance, &topology, &options, &SearchContext::new()).err().unwrap();
    let partitioner = |text: &str| PlanOptions { partitioner: Some(text.to_owned()), ..PlanOptions::default() };
    assert!(matches!(refused(partitioner("nonesuch")), PlanError::Spec(_)));
    assert!(matches!(
        refused(PlanOptions { mappers: vec!["nonesuch".into()], ..PlanOptions::default() }),
        PlanError::Spec(_)
    ));
    assert!(matches!(refused(partitioner("sharding-bb")), PlanError::Solve(_)));
    let odd = PlanOptions { batch: Some(3), replicas: vec![2], ..PlanOptions::default() };
    assert!(matches!(refused(odd), PlanError::NoCandidate { .. }));
    let serving = PlanOptions { schedules: vec![&Inference], ..PlanOptions::default() };
    assert!(matches!(refused(serving), PlanError::BackwardPass));
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
    let table = run(folder.path(), "plan layers.json pairs.json --batch 32 --chunks 1", 0);
    assert!(table.contains("is the best:") && table.contains("longer"), "{table}");
    let json = run(folder.path(), "plan layers.json pairs.json --batch 32 --chunks 1 --json", 0);
    let json: Value = serde_json::from_str(&json).unwrap();
    assert_eq!((&json["schema"], &json["verified"]), (&"dagsplit-plan/2".into(), &true.into()));
    let candidates = json["candidates"].as_array().unwrap();
    assert_eq!(candidates.len(), 6);
    assert_eq!((&candidates[0]["status"], &candidates[0]["time"]), (&"best".into(), &json["objective"]));
    let times: Vec<f64> = candidates.iter().map(|candidate| candidate["time"].as_f64().unwrap()).collect();
    assert!(times.is_sorted(), "{times:?}");
    assert_eq!(json["copies"].as_array().unwrap().len(), 4);
    assert_eq!(json["reasons"].as_array().unwrap().len(), 6);
    let (objective, bound) = (json["objective"].as_f64().unwrap(), json["lower_bound"].as_f64().unwrap());
    assert!((json["gap"].as_f64().unwrap() - (1.0 - bound / objective)).abs() < 1e-9, "{json}");
}

#[test]
fn what_is_written_is_verified_and_simulated_to_the_same_time() {
    let folder = folder();
    let outputs = "--output split.json --output-stages stages.json --output-mapping mapping.json";
    let shape = "--stages 4 --replicas 1 --batch 8 --schedule gpipe --recompute always";
    let json = run(folder.path(), &format!("plan layers.json pairs.json {shape} {outputs} --json"), 0);
    let plan: Value = serde_json::from_str(&json).unwrap();
    run(folder.path(), "verify layers.json split.json --accelerators 4", 0);
    let simulate = "simulate stages.json pairs.json mapping.json --schedule gpipe --recompute --microbatches 8 --json";
    let simulated: Value = serde_json::from_str(&run(folder.path(), simulate, 0)).unwrap();
    assert_eq!(plan["objective"], simulated["makespan"]);
}

/// A model whose options have tensor degrees: what is written is for groups of devices.
#[test]
fn a_language_model_is_planned_verified_exported_and_drawn() {
    let folder = folder();
    let model = "--model llama3-8b --layers 8 --tensor-degrees 1,2 --accelerator h100 --precision fp16";
    run(folder.path(), &format!("generate llm {model} --accelerators 8 --cpus 0 --output llm.json"), 0);
    run(folder.path(), "generate topology nvswitch --nodes 2 --node-size 4 --server dgx-h100 --output servers.json", 0);
    let asked = "--batch 32 --optimizer adam --precision bf16 --zero 1";
    let outputs = "--output split.json --output-stages stages.json --output-mapping mapping.json \
                   --output-topology groups.json --gantt step.svg --trace step.json --plot plans.svg";
    let shape = "--tensor-degrees 2 --stages 2 --replicas 2 --chunks 1";
    let json = run(folder.path(), &format!("plan llm.json servers.json {asked} {shape} {outputs} --json"), 0);
    let plan: Value = serde_json::from_str(&json).unwrap();
    let degrees = "--microbatches 32 --optimizer adam --precision bf16 --zero 1";
    run(folder.path(), &format!("verify llm.json split.json {degrees} --memory 80GB"), 0);
    run(folder.path(), &format!("export llm.json split.json {degrees} --memory 80GB --to pytorch-pipelining"), 0);
    let simulate = "simulate stages.json groups.json mapping.json --schedule 1f1b --microbatches 16 --json";
    let simulated: Value = serde_json::from_str(&run(folder.path(), simulate, 0)).unwrap();
    assert_eq!(plan["objective"], simulated["makespan"]);
    assert_eq!(
        plan["candidates"][0]["peak_memory"],
        simulated["devices"]
            .as_array()
            .unwrap()
            .iter()
            .map(|device| device["peak_memory"].as_f64().unwrap())
            .fold(0.0, f64::max)
    );
    for file in ["step.svg", "plans.svg"] {
        assert!(fs::read_to_string(folder.path().join(file)).unwrap().starts_with("<svg"));
    }
    assert!(fs::read_to_string(folder.path().join("step.json")).unwrap().contains("traceEvents"));
    let (objective, bound) = (plan["objective"].as_f64().unwrap(), plan["lower_bound"].as_f64().unwrap());
    assert!(bound <= objective && plan["gap"].as_f64().unwrap() < 0.1, "{bound} {objective}");
}

/// Two pairs of devices with 1 MB/ms inside and 0.1 between, each device with all of the weights.
#[test]
fn all_reduces_by_hosts_send_less_between_them() {
    let (instance, topology) = (layers(4, 0.0, 1e6), pairs(4, 1e5, None));
    let planned = |all_reduce| {
        let options = PlanOptions {
            all_reduce,
            stages: vec![1],
            recompute: vec![false],
            batch: Some(4),
            ..PlanOptions::default()
        };
        let plan = planned(&instance, &topology, &options);
        (plan.best().unwrap().time().unwrap(), plan.lower_bound().unwrap())
    };
    // In ms: a ring of 6 messages of 1 MB, or 2 of 2 MB inside and 2 of 1 MB between.
    let near =
        |(time, bound): (f64, f64), expected: f64| (time - expected).abs() < 1e-9 && (bound - expected).abs() < 1e-9;
    assert!(near(planned(Collective::Ring), 12.0 + 60.0));
    for way in [Collective::Hierarchical, Collective::Tree, Collective::Auto] {
        assert!(near(planned(way), 12.0 + 4.0 + 20.0), "{way:?}");
    }
}

#[test]
fn the_simulator_reduces_as_the_plan_does() {
    let folder = folder();
    let heavy = write_instance(&layers(4, 1e3, 1e6), OutputFormat::Native).unwrap();
    fs::write(folder.path().join("heavy.json"), heavy).unwrap();
    let mut shared = pairs(4, 2e5, None);
    let channel =
        |devices: Vec<usize>| Channel { name: "uplink".into(), inside: devices.clone(), devices, bandwidth: 2e5 };
    shared.channels = vec![channel(vec![0, 1]), channel(vec![2, 3])];
    fs::write(folder.path().join("shared.json"), write_topology(&shared)).unwrap();
    let outputs = "--output-stages stages.json --output-mapping mapping.json --json";
    let record = |arguments: &str| serde_json::from_str::<Value>(&run(folder.path(), arguments, 0)).unwrap();
    for (way, topology) in
        ["ring", "hierarchical", "tree", "auto"].into_iter().flat_map(|way| [(way, "pairs"), (way, "shared")])
    {
        let asked = "--batch 8 --stages 1 --recompute never --chunks 1 --links overlapped --buckets 3";
        let planned = record(&format!("plan heavy.json {topology}.json {asked} --all-reduce {way} {outputs}"));
        assert_eq!(planned["all_reduce"].as_str().unwrap_or("ring"), way);
        assert_eq!(planned["reasons"].to_string().contains("channels"), topology == "shared");
        let simulate =
            format!("simulate stages.json {topology}.json mapping.json --microbatches 2 --overlap --buckets 3 --json");
        assert_eq!(planned["objective"], record(&format!("{simulate} --all-reduce {way}"))["makespan"], "{way}");
    }
}

#[test]
fn senseless_command_lines_are_refused() {
    let folder = folder();
    for arguments in [
        "--stages 0",
        "--stages 5",
        "--stages 4 --replicas 2",
        "--batch 0",
        "--batch 3 --replicas 2",
        "--optimizer adam --precision bf16",
        "--schedule nonesuch",
        "--chunks 0",
        "--chunks 2 --stages 1",
        "--partitioner nonesuch",
        "--mapper nonesuch",
        "--buckets 0",
        "--buckets 4",
        "--all-reduce star",
    ] {
        run(folder.path(), &format!("plan layers.json pairs.json {arguments}"), 2);
    }
    run(folder.path(), "plan layers.json layers.json", 3);
    run(folder.path(), "plan layers.json pairs.json --memory 1000", 5);
}

/// Of a workload for two kinds of accelerators the first one's times and options count, in whichever order they are stated.
#[test]
fn times_are_those_of_the_first_class() {
    let recipe =
        |words: &str| format!("generate llm --model llama3-8b --granularity layer {words} --cpus 0 --accelerator h100");
    for (options, batch) in [("--tensor-degrees 1,2", 16), ("--training", 8)] {
        let folder = folder();
        run(folder.path(), &(recipe(options) + " --accelerators 4 --output one.json"), 0);
        run(folder.path(), &(recipe(options) + " --accelerators 4 --other-accelerators v100:4 --output two.json"), 0);
        let two = folder.path().join("two.json");
        let mut text: Value = serde_json::from_str(&std::fs::read_to_string(&two).expect("written")).expect("JSON");
        if let Some(options) = text.pointer_mut("/parallelism/options").and_then(Value::as_array_mut) {
            options.reverse();
        }
        std::fs::write(&two, text.to_string()).expect("written");
        run(
            folder.path(),
            "generate topology nvswitch --nodes 1 --node-size 4 --server dgx-h100 --output server.json",
            0,
        );
        let planned = |file: &str| -> Value {
            let text = run(folder.path(), &format!("plan {file} server.json --batch {batch} --json"), 0);
            serde_json::from_str(&text).expect("JSON")
        };
        let (one, two) = (planned("one.json"), planned("two.json"));
        for field in ["objective", "lower_bound"] {
            assert!(one[field].is_f64(), "{options}: {field}");
            assert_eq!(one[field], two[field], "{options}: {field}");
        }
    }
}
