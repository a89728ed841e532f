//! Splits as the settings of frameworks: each says what the split says, and what it cannot say is refused.

mod bench;
#[path = "framework/chunks.rs"]
mod chunks;

use std::collections::BTreeSet;

use assert_cmd::Command;
use bench::Bench;
use dagsplit::formats::{OutputFormat, write_instance, write_split};
use dagsplit::instance::{Edge, EdgeBytes, Instance, Node, NodeOption, Parallelism, Platform};
use dagsplit::internals::report::framework::{Framework, Launch, export, ranks};
use dagsplit::mapping::{ClaimedMapping, Device, PlacedCopy, Topology};
use dagsplit::problem::{Degrees, DeviceAssignment, DeviceKind, ProblemSpec, Scope, Solution};
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
    export(framework, instance, &verified(instance, device_of), &Launch::default()).unwrap()
}

fn refusal(framework: Framework, instance: &Instance, device_of: &[usize]) -> String {
    export(framework, instance, &verified(instance, device_of), &Launch::default()).unwrap_err().to_string()
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
    assert_eq!(text(Framework::Sglang, &instance, &device_of), "SGLANG_PP_LAYER_PARTITION=3,1,2\n");
    assert_eq!(
        text(Framework::LlamaCpp, &instance, &device_of),
        "--n-gpu-layers 7 --split-mode layer --tensor-split 3,1,3\n"
    );
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
fn accelerate_gets_the_device_of_each_module_in_order() {
    // The head may lie anywhere, where modules are placed one by one.
    let device_of = [vec![0; 5], vec![1; 3], vec![2]].concat();
    insta::assert_snapshot!(text(Framework::Accelerate, &chain(2), &device_of), @r#"
    {
      "model.embedding": 0,
      "model.layers.0": 0,
      "model.layers.1": 1,
      "head": 2
    }
    "#);
    let cut = [vec![0; 4], vec![1; 5]].concat();
    let message = refusal(Framework::Accelerate, &chain(2), &cut);
    assert!(message.contains("module `model.layers.0`: it lies on the stages 0 and 1"), "{message}");
}

/// The device of each layer and of the output in llama.cpp, as its loader works it out: `--tensor-split` says up to which part
/// of them devices go, counted in single precision, and layer i is on the first one that goes beyond i / (n + 1); tensors like
/// one of `--override-tensor` are where that says, which is here `None`. An error where the arguments are not of this form.
fn of_llama_cpp(arguments: &str, layers: usize) -> Result<Vec<Option<usize>>, String> {
    let words: Vec<&str> = arguments.split_whitespace().collect();
    let value = |name| words.iter().position(|&word| word == name).map(|place| words[place + 1]);
    let number = |text: &str| text.parse::<f32>().map_err(|error| format!("{text}: {error}"));
    let all: usize = value("--n-gpu-layers").and_then(|all| all.parse().ok()).ok_or("no --n-gpu-layers")?;
    let shares = value("--tensor-split").map_or(Ok(vec![]), |list| list.split(',').map(number).collect())?;
    let sum: f32 = shares.iter().sum();
    let ends: Vec<f32> = (1..=shares.len()).map(|end| shares[..end].iter().sum::<f32>() / sum).collect();
    let overrides = value("--override-tensor").map(|text| text.trim_matches('"'));
    let kept: Vec<&str> = match overrides {
        None => vec![],
        Some(text) => text
            .strip_prefix("^(")
            .and_then(|text| text.strip_suffix(")=CPU"))
            .ok_or_else(|| format!("{text} is of another form"))?
            .split('|')
            .collect(),
    };
    let device = |layer: usize| {
        let name = if layer == layers { "output".to_owned() } else { format!("blk\\.{layer}\\.") };
        let place = layer as f32 / all.min(layers + 1) as f32;
        let on_device = layer + all > layers && !kept.contains(&name.as_str());
        on_device.then(|| ends.iter().position(|&end| end > place).unwrap())
    };
    Ok((0..=layers).map(device).collect())
}

#[test]
fn llama_cpp_keeps_what_lies_on_cpus_in_main_memory() {
    let mut instance = chain(5);
    instance.platform.cpus = 2;
    instance.nodes.iter_mut().for_each(|node| node.cpu_time = node.accelerator_times[0]);
    let exported = |kinds: &[DeviceKind], counts: &[usize]| {
        let device_of = whole_layers(counts);
        let nodes = |d| (0..device_of.len()).filter(|&v| device_of[v] == d).map(|v| v as u64).collect();
        let devices = kinds.iter().enumerate().map(|(d, &kind)| DeviceAssignment::new(kind, nodes(d))).collect();
        let verified =
            verify::check(&instance, &ProblemSpec::of(&instance), &Solution { devices, objective: None }).unwrap();
        export(Framework::LlamaCpp, &instance, &verified, &Launch::default()).unwrap()
    };
    let (gpu, cpu) = (DeviceKind::Accelerator(0), DeviceKind::Cpu);
    let text = exported(&[cpu, gpu, cpu, gpu], &[1, 1, 2, 1]);
    assert_eq!(
        text,
        "--n-gpu-layers 6 --split-mode layer --tensor-split 4,2 --override-tensor \"^(blk\\.0\\.|blk\\.2\\.|blk\\.3\\.)=CPU\"\n"
    );
    assert_eq!(of_llama_cpp(&text, 5).unwrap(), [None, Some(0), None, None, Some(1), Some(1)]);
    let tail = exported(&[gpu, cpu], &[4, 1]);
    assert_eq!(of_llama_cpp(&tail, 5).unwrap(), [Some(0), Some(0), Some(0), Some(0), None, None]);
    assert_eq!(of_llama_cpp(&exported(&[cpu, cpu], &[4, 1]), 5).unwrap(), [None; 6]);
    assert!(of_llama_cpp(&tail.replace(")=CPU", "=CPU"), 5).is_err());
    assert!(of_llama_cpp(&text.replace("4,2", "4;2"), 5).is_err());
}

/// `chain(layers)` for pairs of devices, with options that keep activations and compute them once more.
fn with_options(layers: usize) -> Instance {
    let mut instance = chain(layers);
    let option = |node: &Node, tensor_degree: usize, name: &str| NodeOption {
        node: node.id,
        tensor_degree,
        name: name.to_owned(),
        time: node.accelerator_times[0].unwrap(),
        ..NodeOption::default()
    };
    let ways = [(2, "vanilla"), (2, "recompute")];
    let options = instance.nodes.iter().flat_map(|node| ways.map(|(degree, name)| option(node, degree, name)));
    let edges = instance.edges.iter().map(|&Edge { source, target }| EdgeBytes { source, target, bytes: 1.0 });
    let (options, edges) = (options.collect(), edges.collect());
    instance.parallelism = Some(Parallelism { bandwidth: 1.0, options, edges, ..Parallelism::default() });
    instance.platform = Platform::uniform(12, None, 0);
    instance
}

#[test]
fn degrees_batch_and_recomputed_layers_stand_beside_the_split() {
    let instance = with_options(5);
    let device_of = whole_layers(&[3, 2]);
    let device = |d: usize| {
        let nodes: Vec<u64> = (0..device_of.len()).filter(|&v| device_of[v] == d).map(|v| v as u64).collect();
        // The second and the third layer of the first stage, and the last one.
        let is_again = |v: &u64| (5..11).contains(v) || (14..17).contains(v);
        let options = nodes.iter().map(|v| if is_again(v) { "recompute" } else { "vanilla" }.to_owned()).collect();
        DeviceAssignment {
            replicas: 3,
            tensor_degree: 2,
            options,
            ..DeviceAssignment::new(DeviceKind::Accelerator(0), nodes)
        }
    };
    let split = Solution { devices: vec![device(0), device(1)], objective: None };
    let spec = ProblemSpec { degrees: Some(Degrees::any(12)), ..ProblemSpec::of(&instance) };
    let verified = verify::check(&instance, &spec, &split).unwrap();
    let launch = Launch { batch: Some((12, 2)), zero: 1, ..Launch::default() };
    let text = |framework, instance: &Instance, launch| export(framework, instance, &verified, &launch).unwrap();
    assert_eq!(
        text(Framework::Megatron, &instance, launch),
        "--tensor-model-parallel-size 2 --pipeline-model-parallel-size 2 --pipeline-model-parallel-layout \"Et*3|t*2,L\" \
         --global-batch-size 12 --micro-batch-size 2 --use-distributed-optimizer \
         --recompute-granularity full --recompute-method block --recompute-num-layers 2\n"
    );
    let all = text(Framework::Megatron, &instance, Launch { recompute: true, ..Launch::default() });
    assert!(all.ends_with("--recompute-num-layers 3\n") && !all.contains("optimizer"), "{all}");
    let deepspeed: Value = serde_json::from_str(&text(Framework::Deepspeed, &instance, launch)).unwrap();
    assert_eq!((&deepspeed["num_mp"], &deepspeed["num_dp"]), (&Value::from(2), &Value::from(3)));
    let titan = |zero| text(Framework::Torchtitan, &unwrapped(instance.clone()), Launch { zero, ..launch });
    let lines = |replicate, shard| {
        format!(
            "pipeline_parallel_degree = 2\ntensor_parallel_degree = 2\ndata_parallel_replicate_degree = {replicate}\n\
             data_parallel_shard_degree = {shard}\n"
        )
    };
    assert!(titan(0).starts_with(&lines(3, 1)) && titan(1).starts_with(&lines(1, 3)), "{}", titan(1));
}

#[test]
fn ranks_are_counted_by_devices_of_a_copy_then_copies_then_stages() {
    let names = ["a/gpu0", "a/gpu1", "b/gpu0", "b/gpu1", "b/gpu2", "b/gpu3", "a/gpu2", "a/gpu3"];
    let topology = Topology::new("hosts", "", names.map(Device::new).to_vec(), |_, _| 1.0);
    let copy = |(stage, replica, device)| PlacedCopy { stage, replica, device, time: None };
    let copies = [(1, 0, 1), (0, 1, 3), (0, 0, 2), (1, 1, 0)].map(copy).to_vec();
    let mapping = ClaimedMapping { copies, ..ClaimedMapping::default() };
    assert_eq!(ranks(&mapping, &topology, 2), "b 2\nb 3\na 2\na 3\nb 0\nb 1\na 0\na 1\n");
}

#[test]
fn tails_that_are_parted_are_kept_together_as_the_refusal_says() {
    let bench = Bench::new();
    let mut instance = chain(4);
    for (place, name) in [(14, "norm/rms"), (15, "output/linear")] {
        instance.nodes.truncate(place);
        let (id, accelerator_times) = (place as u64, vec![Some(if place == 15 { 14.0 } else { 1.0 })]);
        instance.nodes.push(Node { name: Some(name.to_owned()), accelerator_times, ..Node::new(id) });
    }
    instance.edges = (1..16).map(|id| Edge { source: id - 1, target: id }).collect();
    instance.platform = Platform::uniform(2, None, 0);
    bench.file("model.json", &write_instance(&instance, OutputFormat::Native).unwrap());
    let run = |words: &str| {
        let mut command = Command::new(assert_cmd::cargo::cargo_bin!("dagsplit"));
        let output = command.current_dir(bench.directory.path()).args(words.split_whitespace()).output().unwrap();
        let said = [&output.stdout[..], &output.stderr[..]].map(String::from_utf8_lossy).concat();
        (output.status.code().unwrap(), said)
    };
    for (target, written) in [
        ("vllm", "VLLM_PP_LAYER_PARTITION=4,0"),
        ("sglang", "SGLANG_PP_LAYER_PARTITION=4,0"),
        ("megatron", "\"Et*4|L\""),
        ("deepspeed", "\"num_stages\": 2"),
        ("llama.cpp", "--tensor-split 4,1"),
    ] {
        run("solve model.json --quiet --output split.json");
        let (code, said) = run(&format!("export model.json split.json --to {target}"));
        assert!(code == 2 && said.contains("what comes after the layers: it lies on stage 0, 1"), "{code}: {said}");
        let patterns = said.split("--together ").nth(1).and_then(|rest| rest.split(", or").next()).unwrap();
        let (code, said) = run(&format!("solve model.json --quiet --output split.json --together {patterns}"));
        assert_eq!(code, 0, "{said}");
        let (code, said) = run(&format!("export model.json split.json --to {target}"));
        assert!(code == 0 && said.contains(written), "{target}: {said}");
    }
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
    let message = export(Framework::Vllm, &instance, &verified, &Launch::default()).unwrap_err().to_string();
    assert!(message.contains("stage 1: it is a CPU, with 4 nodes; solve with --cpus 0"), "{message}");
    let file = export(Framework::PytorchPipelining, &instance, &verified, &Launch::default()).unwrap();
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
    let launch = |list| Launch { layers: Some(list), ..Launch::default() };
    let named = |list| export(Framework::Vllm, &instance, &verified, &launch(list));
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
        prop_assert_eq!(text(Framework::Sglang, &instance, &device_of), vllm.replace("VLLM", "SGLANG"));
        let llama = text(Framework::LlamaCpp, &instance, &device_of);
        let layers_of = |s: usize| vec![Some(s); counts[s] + usize::from(s + 1 == counts.len())];
        let placed = (0..counts.len()).flat_map(layers_of).collect::<Vec<_>>();
        prop_assert_eq!(of_llama_cpp(&llama, layers).unwrap(), placed.clone());
        // A layer more for the first device is another split, but where there is one alone.
        let other = llama.replace(&format!("split {}", counts[0]), &format!("split {}", counts[0] + 1));
        prop_assert!(counts.len() == 1 || of_llama_cpp(&other, layers).unwrap() != placed);
        let map: Value = serde_json::from_str(&text(Framework::Accelerate, &instance, &device_of)).unwrap();
        for (layer, stage) in placed[..layers].iter().enumerate() {
            prop_assert_eq!(map[format!("model.layers.{layer}")].as_u64(), stage.map(|stage| stage as u64));
        }
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
