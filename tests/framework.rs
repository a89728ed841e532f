//! Splits as the settings of frameworks: each says what the split says, and what it cannot say is refused.

mod bench;

use std::collections::BTreeSet;

use assert_cmd::Command;
use bench::Bench;
use dagsplit::formats::{OutputFormat, write_instance, write_split};
use dagsplit::instance::{Edge, Instance, Node, Platform};
use dagsplit::internals::report::framework::{Framework, export};
use dagsplit::problem::{DeviceAssignment, DeviceKind, ProblemSpec, Scope, Solution};
use dagsplit::verify;
use dagsplit::verify::Verified;
use proptest::prelude::*;
use serde_json::Value;

/// What each layer of [`chain`] consists of: an attention, a view of its result, and a linear operator.
const PARTS: [(&str, f64); 3] = [("attention/sdpa", 1.0), ("view", 0.0), ("mlp/linear", 2.0)];

/// An embedding, `layers` layers of [`PARTS`] in the list `model.layers`, and a head, one after another.
fn chain(layers: usize) -> Instance {
    let mut named = vec![("/tokens".to_owned(), 0.0), ("model.embedding/embedding".to_owned(), 1.0)];
    for layer in 0..layers {
        named.extend(PARTS.map(|(part, time)| {
            let separator = if part == "view" { "/" } else { "." };
            (format!("model.layers.{layer}{separator}{part}"), time)
        }));
    }
    named.push(("head/linear".to_owned(), 1.0));
    let node = |(id, (name, time)): (usize, (String, f64))| Node {
        name: Some(name),
        accelerator_times: vec![Some(time)],
        parameter_bytes: 4.0 * time,
        ..Node::new(id as u64)
    };
    let count = named.len() as u64;
    Instance {
        platform: Platform::uniform(8, None, 1),
        nodes: named.into_iter().enumerate().map(node).collect(),
        edges: (1..count).map(|id| Edge { source: id - 1, target: id }).collect(),
        ..Instance::default()
    }
}

/// `instance` without its outermost module, so that the list of layers is a child of the model.
fn unwrapped(mut instance: Instance) -> Instance {
    for name in instance.nodes.iter_mut().filter_map(|node| node.name.as_mut()) {
        *name = name.trim_start_matches("model.").to_owned();
    }
    instance
}

/// The split that puts node v on the device `device_of[v]`; the verifier has passed it.
fn verified(instance: &Instance, device_of: &[usize]) -> Verified {
    let devices = device_of.iter().max().map_or(0, |last| last + 1);
    let nodes = |d| (0..device_of.len()).filter(move |&v| device_of[v] == d).map(|v| instance.nodes[v].id).collect();
    let device = |d| DeviceAssignment::new(DeviceKind::Accelerator(0), nodes(d));
    let split = Solution { devices: (0..devices).map(device).collect(), objective: None };
    let spec = ProblemSpec { scope: Scope::Arbitrary, ..ProblemSpec::of(instance) };
    verify::check(instance, &spec, &split).unwrap()
}

fn text(framework: Framework, instance: &Instance, device_of: &[usize]) -> String {
    export(framework, instance, &verified(instance, device_of), None).unwrap()
}

fn refusal(framework: Framework, instance: &Instance, device_of: &[usize]) -> String {
    export(framework, instance, &verified(instance, device_of), None).unwrap_err().to_string()
}

/// Devices of the nodes of `chain(counts.iter().sum())` with so many layers on each stage.
fn whole_layers(counts: &[usize]) -> Vec<usize> {
    let mut device_of = vec![0, 0];
    for (stage, &count) in counts.iter().enumerate() {
        device_of.extend(vec![stage; PARTS.len() * count]);
    }
    device_of.push(counts.len() - 1);
    device_of
}

#[test]
fn every_framework_gets_the_layers_of_each_stage() {
    let (instance, device_of) = (chain(6), whole_layers(&[3, 1, 2]));
    assert_eq!(text(Framework::Vllm, &instance, &device_of), "VLLM_PP_LAYER_PARTITION=3,1,2\n");
    assert_eq!(
        text(Framework::Megatron, &instance, &device_of),
        "--pipeline-model-parallel-size 3 --pipeline-model-parallel-layout \"Et*3|t|t*2,L\"\n"
    );
    let deepspeed: Value = serde_json::from_str(&text(Framework::Deepspeed, &instance, &device_of)).unwrap();
    assert_eq!(deepspeed["parts"], serde_json::json!([0, 4, 5, 8]));
    assert_eq!(deepspeed["layers"].as_array().unwrap().len(), 8);
    insta::assert_snapshot!(text(Framework::Torchtitan, &unwrapped(instance), &device_of), @r#"
    pipeline_parallel_degree = 3
    module_fqns_per_model_part = [
        ["embedding", "layers.0", "layers.1", "layers.2"],
        ["layers.3"],
        ["layers.4", "layers.5", "head"],
    ]
    "#);
}

#[test]
fn pytorch_gets_nodes_and_the_modules_at_which_stages_begin() {
    let (instance, device_of) = (chain(4), whole_layers(&[2, 2]));
    let file: Value = serde_json::from_str(&text(Framework::PytorchPipelining, &instance, &device_of)).unwrap();
    assert_eq!(file["schema"], "dagsplit-pytorch-stages/1");
    assert_eq!(file["split_spec"], serde_json::json!({"model.layers.2": "BEGINNING"}));
    assert_eq!(file["objective"], 7.0);
    assert_eq!(file["stages"][1]["load"], 7.0);
    let names = |stage: usize| file["stages"][stage]["nodes"].as_array().unwrap().clone();
    let all: Vec<Value> = names(0).into_iter().chain(names(1)).collect();
    assert_eq!(all, instance.nodes.iter().map(|node| Value::from(node.name.clone())).collect::<Vec<_>>());
}

#[test]
fn a_stage_that_begins_inside_a_module_has_no_split_point() {
    let mut instance = chain(1);
    instance.nodes[2].name = Some("head/norm".to_owned());
    let file: Value =
        serde_json::from_str(&text(Framework::PytorchPipelining, &instance, &[0, 0, 0, 0, 0, 1])).unwrap();
    assert_eq!(file["split_spec"], Value::Null);
    assert_eq!(file["no_split_spec"], "no module begins at head/linear, the first node of stage 1");
}

/// `chain(1)` with these names after the embedding, and what is told of the modules at which the stages begin.
fn named_split(names: [&str; 4], device_of: &[usize]) -> (Value, Value) {
    let mut instance = chain(1);
    for (node, name) in instance.nodes[2..].iter_mut().zip(names) {
        (node.name, node.accelerator_times) = (Some(name.to_owned()), vec![Some(1.0)]);
    }
    let file: Value = serde_json::from_str(&text(Framework::PytorchPipelining, &instance, device_of)).unwrap();
    (file["split_spec"].clone(), file["no_split_spec"].clone())
}

#[test]
fn a_module_that_is_called_twice_is_no_split_point() {
    let again = "module relu is called again at relu@1, and a split point cuts every call";
    for names in [["conv.0", "relu", "conv.1", "relu@1"], ["conv.0", "relu", "relu@1", "conv.1"]] {
        assert_eq!(named_split(names, &[0, 0, 0, 1, 1, 1]), (Value::Null, again.into()), "{names:?}");
    }
    // Operators of a module carry no number.
    let message = "module act is called again at act/mul_1, and a split point cuts every call";
    let names = ["conv.0", "act/mul", "conv.1", "act/mul_1"];
    assert_eq!(named_split(names, &[0, 0, 0, 1, 1, 1]), (Value::Null, message.into()));
    // Another call within a module that begins once is no harm.
    let names = ["stem", "block.conv", "block.relu", "block.relu@1"];
    assert_eq!(named_split(names, &[0, 0, 0, 1, 1, 1]).0, serde_json::json!({"block": "BEGINNING"}));
}

#[test]
fn a_stage_without_costs_is_told() {
    // The view of the layer alone.
    let (instance, device_of) = (chain(1), [0, 0, 0, 1, 2, 2]);
    let file: Value = serde_json::from_str(&text(Framework::PytorchPipelining, &instance, &device_of)).unwrap();
    assert_eq!(file["split_spec"], Value::Null);
    assert_eq!(file["no_split_spec"], "nothing on stage 1 costs anything, so no module begins there");
    assert_eq!(file["stages"].as_array().unwrap().len(), 3);
    let message = refusal(Framework::Vllm, &instance, &device_of);
    assert!(message.contains("stage 1: nothing on it costs anything"), "{message}");
}

#[test]
fn devices_with_backward_nodes_alone_are_refused() {
    let mut instance = chain(1);
    instance.nodes[5].backward = true;
    let message = refusal(Framework::PytorchPipelining, &instance, &[0, 0, 0, 0, 0, 1]);
    assert!(message.contains("device 1: it holds backward nodes alone"), "{message}");
    instance.nodes.iter_mut().for_each(|node| node.backward = true);
    let message = refusal(Framework::Vllm, &instance, &[0; 6]);
    assert!(message.contains("device 0: it holds backward nodes alone"), "{message}");
}

#[test]
fn layers_that_are_cut_are_all_named() {
    let instance = chain(3);
    // Layers 0 and 2 are cut between attention and what follows, and the head is not on the last stage.
    let device_of = [0, 0, 0, 1, 1, 1, 1, 1, 1, 2, 2, 1];
    let instance = Instance { edges: instance.edges[..10].to_vec(), ..instance };
    for framework in [Framework::Vllm, Framework::Megatron, Framework::Deepspeed, Framework::Torchtitan] {
        let message = refusal(framework, &instance, &device_of);
        assert!(message.starts_with("3 problems found"), "{message}");
        for part in ["layer 0 of `model.layers`: it lies on stage 0, 1", "layer 2 of", "what comes before the layers"] {
            assert!(message.contains(part), "{part} is not in {message}");
        }
    }
    let file = text(Framework::PytorchPipelining, &instance, &device_of);
    assert!(file.contains("model.layers.0.mlp/linear"), "{file}");
}

/// torchtitan goes through the model's children, and would drop one that holds the list as a whole.
#[test]
fn torchtitan_splits_children_of_the_model_alone() {
    let message = refusal(Framework::Torchtitan, &chain(2), &whole_layers(&[1, 1]));
    assert!(message.contains("the list of layers: it is `model.layers`, and torchtitan splits"), "{message}");
    let mut sequence = chain(2);
    for name in sequence.nodes.iter_mut().filter_map(|node| node.name.as_mut()) {
        *name = name.replace("model.layers.", "");
    }
    let message = refusal(Framework::Torchtitan, &sequence, &whole_layers(&[1, 1]));
    assert!(message.contains("the list of layers: it is the model itself, and torchtitan splits"), "{message}");
}

#[test]
fn names_are_escaped_as_each_format_asks() {
    let mut instance = chain(2);
    instance.nodes[1].name = Some("embed\u{200b}\"ding/embedding".to_owned());
    let titan = text(Framework::Torchtitan, &unwrapped(instance), &whole_layers(&[1, 1]));
    assert!(titan.contains("[\"embed\u{200b}\\\"ding\", \"layers.0\"]"), "{titan}");
}

#[test]
fn what_is_no_pipeline_is_refused() {
    let message = refusal(Framework::PytorchPipelining, &chain(1), &[0, 0, 1, 1, 0, 0]);
    assert!(message.contains("data flows in a circle between 2 of its devices"), "{message}");
    let mut unnamed = chain(1);
    unnamed.nodes.iter_mut().for_each(|node| node.name = None);
    let message = refusal(Framework::Vllm, &unnamed, &[0, 0, 1, 1, 1, 1]);
    assert!(message.contains("their names state no layer"), "{message}");
}

#[test]
fn cpus_are_refused_where_a_framework_has_none() {
    let mut instance = chain(2);
    instance.nodes.iter_mut().for_each(|node| node.cpu_time = node.accelerator_times[0]);
    let ids = |nodes: std::ops::Range<u64>| nodes.collect();
    let devices = vec![
        DeviceAssignment::new(DeviceKind::Accelerator(0), ids(0..5)),
        DeviceAssignment::new(DeviceKind::Cpu, ids(5..9)),
    ];
    let split = Solution { devices, objective: None };
    let verified = verify::check(&instance, &ProblemSpec::of(&instance), &split).unwrap();
    let message = export(Framework::Vllm, &instance, &verified, None).unwrap_err().to_string();
    assert!(message.contains("stage 1: it is a CPU, with 4 nodes; solve with --cpus 0"), "{message}");
    let file = export(Framework::PytorchPipelining, &instance, &verified, None).unwrap();
    assert!(file.contains("\"device\": \"cpu\""), "{file}");
}

#[test]
fn the_backward_pass_of_a_training_graph_follows_its_forward_nodes() {
    let mut instance = chain(2);
    let n = instance.nodes.len() as u64;
    for v in 0..n {
        instance.nodes[v as usize].color_class = Some(v);
        let forward = &instance.nodes[v as usize];
        let name = forward.name.as_ref().map(|name| format!("{name}/gradient"));
        instance.nodes.push(Node { id: n + v, name, backward: true, ..forward.clone() });
        instance.edges.push(Edge { source: v, target: n + v });
    }
    let forward = whole_layers(&[1, 1]);
    let device_of = [forward.clone(), forward].concat();
    assert_eq!(text(Framework::Vllm, &instance, &device_of), "VLLM_PP_LAYER_PARTITION=1,1\n");
    let file = text(Framework::PytorchPipelining, &instance, &device_of);
    assert!(!file.contains("gradient"), "{file}");
}

#[test]
fn the_list_of_layers_can_be_named() {
    let mut instance = chain(3);
    instance.nodes[0].name = Some("vision.0/patch".to_owned());
    let verified = verified(&instance, &whole_layers(&[2, 1]));
    let named = |list| export(Framework::Vllm, &instance, &verified, Some(list));
    assert_eq!(named("model.layers").unwrap(), "VLLM_PP_LAYER_PARTITION=2,1\n");
    let message = named("decoder").unwrap_err().to_string();
    assert!(message.contains("no node lies in a layer of `decoder`"), "{message}");
}

#[test]
fn the_verb_writes_the_file_and_refuses_what_does_not_apply() {
    let bench = Bench::new();
    let instance = chain(2);
    let split = |device_of: &[usize]| write_split(&instance, &verified(&instance, device_of).to_solution());
    bench.file("model.json", &write_instance(&instance, OutputFormat::Native).unwrap());
    bench.file("whole.json", &split(&whole_layers(&[1, 1])));
    bench.file("cut.json", &split(&[0, 0, 0, 1, 1, 1, 1, 1, 1]));
    let run = |words: &str| {
        let mut command = Command::new(assert_cmd::cargo::cargo_bin!("dagsplit"));
        command.current_dir(bench.directory.path()).args(words.split_whitespace()).assert()
    };
    run("export model.json whole.json --to vllm").success().stdout("VLLM_PP_LAYER_PARTITION=1,1\n");
    run("export model.json whole.json --to pytorch-pipelining --output stages.json").success();
    assert!(bench.read("stages.json").contains("dagsplit-pytorch-stages/1"));
    let refused = run("export model.json cut.json --to megatron").code(2);
    let message = String::from_utf8_lossy(&refused.get_output().stderr).into_owned();
    assert!(message.starts_with("error: cut.json: this target cannot run the split: 1 problem found"), "{message}");
}

/// How many layers each stage of a Megatron layout holds.
fn layout(arguments: &str) -> Vec<usize> {
    let layout = arguments.split('"').nth(1).unwrap();
    let layers = |stage: &str| {
        let stage = stage.trim_start_matches('E').trim_end_matches('L').trim_end_matches(',');
        match stage.split_once('*') {
            Some((_, count)) => count.parse().unwrap(),
            None => stage.len(),
        }
    };
    layout.split('|').map(layers).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    /// Wherever views at the boundaries lie, each framework is told the same layers, and every one once.
    #[test]
    fn layers_are_counted_whatever_stage_views_lie_on(
        counts in prop::collection::vec(1_usize..4, 1..6),
        moved in prop::collection::vec(any::<bool>(), 32),
    ) {
        let layers: usize = counts.iter().sum();
        let mut instance = chain(layers);
        let mut device_of = whole_layers(&counts);
        // A view that ends a layer may go to the next stage: data still flows one way.
        for (layer, &moved) in moved.iter().enumerate().take(layers) {
            let (view, linear) = (2 + PARTS.len() * layer + 1, 2 + PARTS.len() * layer + 2);
            instance.nodes.swap(view, linear);
            let (a, b) = (instance.nodes[view].id, instance.nodes[linear].id);
            (instance.nodes[view].id, instance.nodes[linear].id) = (b, a);
            if moved {
                device_of[linear] = device_of[linear + 1];
            }
        }
        let vllm = text(Framework::Vllm, &instance, &device_of);
        let wanted: Vec<String> = counts.iter().map(usize::to_string).collect();
        prop_assert_eq!(vllm.trim_end(), format!("VLLM_PP_LAYER_PARTITION={}", wanted.join(",")));
        prop_assert_eq!(layout(&text(Framework::Megatron, &instance, &device_of)), counts.clone());
        let deepspeed: Value = serde_json::from_str(&text(Framework::Deepspeed, &instance, &device_of)).unwrap();
        let parts: Vec<u64> = deepspeed["parts"].as_array().unwrap().iter().map(|p| p.as_u64().unwrap()).collect();
        prop_assert_eq!(*parts.last().unwrap() as usize, layers + 2);
        let titan = text(Framework::Torchtitan, &unwrapped(instance), &device_of);
        let named: Vec<&str> = titan.split('"').skip(1).step_by(2).collect();
        prop_assert_eq!(named.len(), layers + 2);
        prop_assert_eq!(named.iter().collect::<BTreeSet<_>>().len(), layers + 2);
    }
}
