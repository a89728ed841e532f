//! ONNX models become workloads: costs follow from shapes, whatever is wrong is told at once, nothing makes it panic.

mod onnx_models;

use assert_cmd::Command;
use dagsplit::generate::{Accelerator, Hardware, ModelFileOptions, read_onnx};
use dagsplit::instance::{Instance, Provenance, Setting, validate};
use dagsplit::internals::proto::{AttributeProto, Dimension, GraphProto, ModelProto, NodeProto, TensorProto};
use onnx_models::{ints, node, sizes, value, weight, whole_constant, with};
use proptest::prelude::*;
use prost::Message;

/// A convolution, its rectifier, and a linear layer after a reshape, for a batch of a named size.
fn classifier() -> ModelProto {
    let batched =
        |name: &str, rest: &[i64]| value(name, &[vec![Dimension::Name("batch".into())], sizes(rest)].concat());
    let mut depthwise = node("Conv", "block.0/depthwise", &["relu", "thin"], "filtered");
    let group = AttributeProto { name: "group".into(), i: 4, ..AttributeProto::default() };
    depthwise.attribute = vec![group, ints("pads", &[1, 1, 1, 1])];
    let graph = GraphProto {
        name: "classifier".into(),
        node: vec![
            with(node("Conv", "stem/conv", &["image", "kernel", ""], "features"), &[ints("pads", &[1, 1, 1, 1])]),
            node("Relu", "stem/relu", &["features"], "relu"),
            depthwise,
            whole_constant("shape", &[-1, 256]),
            node("Reshape", "block.0/flatten", &["filtered", "shape"], "flat"),
            node("Gemm", "", &["flat", "matrix", "bias"], "scores"),
        ],
        initializer: vec![
            weight("kernel", &[4, 3, 3, 3]),
            weight("thin", &[4, 1, 3, 3]),
            weight("matrix", &[256, 10]),
            weight("bias", &[10]),
        ],
        input: vec![batched("image", &[3, 8, 8]), value("bias", &sizes(&[10]))],
        output: vec![batched("scores", &[10])],
        value_info: Vec::new(),
    };
    ModelProto { producer_name: "a test".into(), graph: Some(graph), ..ModelProto::default() }
}

fn options(batch: u64) -> ModelFileOptions {
    ModelFileOptions { dimensions: [("batch".to_owned(), batch)].into(), ..ModelFileOptions::default() }
}

fn read(model: &ModelProto, options: &ModelFileOptions) -> Result<Instance, String> {
    read_onnx(&model.encode_to_vec(), options).map_err(|problems| problems.to_string())
}

#[test]
fn costs_follow_from_shapes() {
    let instance = read(&classifier(), &options(1000)).unwrap();
    let names: Vec<&str> = instance.nodes.iter().map(|node| node.name.as_deref().unwrap()).collect();
    let wanted = ["image", "stem/conv", "stem/relu", "block.0/depthwise", "block.0/flatten", "Gemm scores"];
    assert_eq!(names, wanted);
    let edges: Vec<(u64, u64)> = instance.edges.iter().map(|edge| (edge.source, edge.target)).collect();
    assert_eq!(edges, [(0, 1), (1, 2), (2, 3), (3, 4), (4, 5)]);

    // V100 in fp32: 0.6 · 15.7 TFLOP/s, 900 GB/s, 5 µs to start a kernel, 15.75 GB/s over PCIe.
    let roof = |flops: f64, numbers: f64| 1e3 * ((flops / (0.6 * 15.7e12)).max(4.0 * numbers / 900e9) + 5e-6);
    let expected = [
        (0.0, 192e3),
        (roof(2.0 * 27.0 * 256e3, 192e3 + 256e3 + 108.0), 256e3),
        (roof(256e3, 2.0 * 256e3), 256e3),
        (roof(2.0 * 9.0 * 256e3, 2.0 * 256e3 + 36.0), 256e3),
        (0.0, 256e3),
        (roof(2.0 * 256.0 * 10e3, 256e3 + 2570.0 + 10e3), 10e3),
    ];
    for (node, (time, output)) in instance.nodes.iter().zip(expected) {
        let modelled = node.accelerator_times[0].unwrap();
        assert!((modelled - time).abs() <= 1e-5 * time, "{:?}: {modelled} instead of {time}", node.name);
        assert_eq!(node.output_bytes, Some(4.0 * output), "{:?}", node.name);
        assert!((node.transfer_time - 4e3 * output / 15.75e9).abs() <= 1e-5, "{:?}", node.name);
    }
    let parameters: Vec<f64> = instance.nodes.iter().map(|node| node.parameter_bytes / 4.0).collect();
    assert_eq!(parameters, [0.0, 108.0, 0.0, 36.0, 0.0, 2570.0]);
    let layers: Vec<u64> = instance.nodes.iter().map(|node| node.layer.unwrap()).collect();
    assert_eq!(layers, [0, 1, 1, 2, 2, 3]);
    assert_eq!(instance.metadata.provenance, Some(Provenance::Modelled));
}

#[test]
fn options_choose_the_accelerator_and_the_pass() {
    let hardware = Hardware { accelerator: Accelerator::H100, ..Hardware::default() };
    let faster = read(&classifier(), &ModelFileOptions { hardware, training: true, ..options(1000) }).unwrap();
    assert_eq!(faster.platform.accelerators[0].name.as_deref(), Some("H100"));
    let slower = read(&classifier(), &options(1000)).unwrap();
    assert!(faster.nodes[1].accelerator_times[0] < slower.nodes[1].accelerator_times[0]);
    // The loss and the backward nodes of all that a parameter precedes.
    assert_eq!(faster.nodes.len(), 7 + 6);
    assert_eq!(faster.nodes.iter().filter(|node| node.backward).count(), 6);
}

fn constant(output: &str, dims: &[i64], data_type: i32) -> NodeProto {
    let t = Some(TensorProto { data_type, ..weight("", dims).0 }.into());
    let value = AttributeProto { name: "value".into(), t, ..AttributeProto::default() };
    NodeProto { attribute: vec![value], ..node("Constant", "", &[], output) }
}

#[test]
fn weights_may_be_constants() {
    let expected = read(&classifier(), &options(2)).unwrap();
    let mut model = classifier();
    let graph = model.graph.as_mut().unwrap();
    graph.initializer.retain(|tensor| tensor.0.name != "kernel");
    graph.node.insert(0, constant("kernel", &[4, 3, 3, 3], 1));
    let instance = read(&model, &options(2)).unwrap();
    assert_eq!(instance.nodes, expected.nodes);
    assert_eq!(instance.nodes[1].parameter_bytes, 4.0 * 108.0);
    model.graph.as_mut().unwrap().node[0] = constant("kernel", &[4, -3, 3, 3], 1);
    let message = read(&model, &options(2)).unwrap_err();
    assert!(message.contains("value \"kernel\": a size of it is out of range"), "{message}");
}

#[test]
fn operators_are_named_by_their_modules() {
    let mut model = classifier();
    let graph = model.graph.as_mut().unwrap();
    graph.node[0].name = "/features/stem/Conv".into();
    graph.node[1].name = "/Relu".into();
    let instance = read(&model, &options(2)).unwrap();
    let names: Vec<_> = instance.nodes[1..3].iter().map(|node| node.name.as_deref().unwrap()).collect();
    assert_eq!(names, ["features.stem/Conv", "/Relu"]);
}

/// A repeated index has the size of the values that are not repeated along it, in whatever order they come.
#[test]
fn sizes_of_one_do_not_hide_others() {
    let graph = |shapes: [&[i64]; 2]| GraphProto {
        node: vec![NodeProto {
            attribute: vec![AttributeProto { name: "equation".into(), s: "ij,jk->ik".into(), ..Default::default() }],
            ..node("Einsum", "product", &["a", "b"], "result")
        }],
        input: vec![value("a", &sizes(shapes[0])), value("b", &sizes(shapes[1]))],
        output: vec![value("result", &sizes(&[64, 64]))],
        ..GraphProto::default()
    };
    let hardware = Hardware { efficiency: 1e-9, ..Hardware::default() };
    let time = |shapes| {
        let model = ModelProto { graph: Some(graph(shapes)), ..ModelProto::default() };
        let options = ModelFileOptions { hardware: hardware.clone(), ..ModelFileOptions::default() };
        read(&model, &options).unwrap().nodes[2].accelerator_times[0].unwrap()
    };
    assert_eq!(time([&[64, 300], &[1, 64]]), time([&[64, 300], &[300, 64]]));
}

#[test]
fn graphs_are_measured_before_they_are_decoded() {
    // Operators without content, of which there are too many.
    let operators = [0x0a, 0x00].repeat(4_000_001);
    let mut bytes = vec![0x3a];
    prost::encoding::encode_varint(operators.len() as u64, &mut bytes);
    bytes.extend(operators);
    let message = read_onnx(&bytes, &ModelFileOptions::default()).unwrap_err().to_string();
    assert!(message.contains("the graph: it is too large; keep below 4000000 operators"), "{message}");
}

#[test]
fn dimensions_that_no_value_has_are_told() {
    let mut wrong = options(2);
    wrong.dimensions.insert("bacth".into(), 2);
    let message = read(&classifier(), &wrong).unwrap_err();
    assert!(message.contains("dimension \"bacth\": the file names batch; leave it out"), "{message}");
}

/// An operator, its equation, the shapes of its inputs and of its result, and its operations.
type Product<'a> = (&'a str, &'a str, Vec<Vec<i64>>, Vec<i64>, f64);

#[test]
fn products_of_two_values_count_their_common_dimension() {
    let cases: [Product; 4] = [
        ("MatMul", "", vec![vec![5, 7, 300], vec![5, 300, 11]], vec![5, 7, 11], 2.0 * 5.0 * 7.0 * 11.0 * 300.0),
        ("Einsum", "bik,bkj->bij", vec![vec![5, 7, 300], vec![5, 300, 11]], vec![5, 7, 11], 2.0 * 115_500.0),
        ("Attention", "", vec![vec![2, 9, 64]; 3], vec![2, 9, 64], 4.0 * 2.0 * 9.0 * 64.0 * 9.0),
        ("ConvTranspose", "", vec![vec![1, 8, 5, 5], vec![8, 4, 2, 2]], vec![1, 4, 10, 10], 2.0 * 200.0 * 16.0),
    ];
    // So little efficiency that arithmetic outweighs memory traffic and the start of kernels.
    let hardware = Hardware { efficiency: 1e-9, ..Hardware::default() };
    for (op, equation, inputs, output, flops) in cases {
        let names: Vec<String> = (0..inputs.len()).map(|i| format!("input{i}")).collect();
        let mut product = node(op, "product", &names.iter().map(String::as_str).collect::<Vec<_>>(), "result");
        product.attribute = vec![AttributeProto { name: "equation".into(), s: equation.into(), ..Default::default() }];
        let graph = GraphProto {
            node: vec![product],
            input: names.iter().zip(&inputs).map(|(name, shape)| value(name, &sizes(shape))).collect(),
            output: vec![value("result", &sizes(&output))],
            ..GraphProto::default()
        };
        let model = ModelProto { graph: Some(graph), ..ModelProto::default() };
        let instance =
            read(&model, &ModelFileOptions { hardware: hardware.clone(), ..ModelFileOptions::default() }).unwrap();
        let time = instance.nodes.last().unwrap().accelerator_times[0].unwrap();
        let counted = 1e-3 * (time - 5e-3) * 15.7e12 * 1e-9;
        assert!((counted - flops).abs() <= 1e-4 * flops, "{op}: {counted} instead of {flops} operations");
    }
}

#[test]
fn everything_that_is_wrong_is_told_at_once() {
    let mut model = classifier();
    let graph = model.graph.as_mut().unwrap();
    graph.input.push(value("mask", &[vec![Dimension::Size(-1)], sizes(&[3])].concat()));
    graph.node.push(NodeProto { domain: "com.example".into(), ..node("Magic", "magic", &["nowhere"], "scores") });
    graph.node.push(node("If", "choice", &["relu"], "chosen"));
    graph.node.push(node("Loop", "loop", &["relu"], "looped"));
    graph.node.push(node("Unheard", "unheard", &["relu"], "silence"));
    graph.initializer.push(weight("broken", &[-1]));
    let message = read(&model, &ModelFileOptions::default()).unwrap_err();
    for part in [
        "dimensions: no size is stated of batch (axis 0 of value \"image\"), mask.0 (axis 0 of value \"mask\")",
        "give it: --dimension batch=SIZE --dimension mask.0=SIZE",
        "unheard: Unheard: its shape is not known, for there is no rule for it",
        "magic: Magic of \"com.example\" is not one of ONNX' own operators",
        "magic: it reads value \"nowhere\", which no operator before it gives",
        "value \"scores\": it is given twice",
        "choice: If chooses one of two graphs as the model runs",
        "loop: Loop holds graphs of its own",
        "value \"broken\": a size of it is out of range",
    ] {
        assert!(message.contains(part), "{part} is not in {message}");
    }
    for bytes in [&b""[..], b"{}", b"\x0a\xff"] {
        assert!(read_onnx(bytes, &ModelFileOptions::default()).is_err());
    }
}

#[test]
fn the_command_line_converts_models() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("model.onnx"), classifier().encode_to_vec()).unwrap();
    let run = |words: &str| {
        let mut command = Command::new(assert_cmd::cargo::cargo_bin!("dagsplit"));
        command.current_dir(folder.path()).args(words.split_whitespace()).assert()
    };
    run("convert model.onnx --dimension batch=8 --accelerator a100 --accelerators 3 --to native --output model.json")
        .success();
    let written = std::fs::read_to_string(folder.path().join("model.json")).unwrap();
    assert!(written.contains(r#"{"name":"A100","count":3,"#), "{written}");
    run("solve model.json").success();
    for option in ["--accelerator h100", "--precision fp16", "--dimension batch=8"] {
        let refused = run(&format!("convert model.json {option} --to native")).code(2);
        let message = String::from_utf8_lossy(&refused.get_output().stderr).into_owned();
        assert!(message.contains("model.json: options of models do not apply to it"), "{message}");
    }
    // Sparse: no disk holds it.
    let large = std::fs::File::create(folder.path().join("large.onnx")).unwrap();
    large.set_len((1 << 31) + 1).unwrap();
    let refused = run("convert large.onnx --to native").code(3);
    let message = String::from_utf8_lossy(&refused.get_output().stderr).into_owned();
    assert!(message.contains("at most 2147483647 are read"), "{message}");
    let refused = run("convert model.onnx --to native").code(3);
    let message = String::from_utf8_lossy(&refused.get_output().stderr).into_owned();
    assert!(
        message.starts_with("error: model.onnx: 1 problem found\n  dimensions: no size is stated of batch"),
        "{message}"
    );
}

#[test]
fn settings_are_finite() {
    let mut instance = read(&classifier(), &options(2)).unwrap();
    instance.metadata.settings.insert("rate".into(), Setting::Number(f64::INFINITY));
    let message = validate(&instance).unwrap_err().to_string();
    assert!(message.contains("setting \"rate\": it is inf"), "{message}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    /// Changed bytes, lost parts and noise are refused or read as something valid.
    #[test]
    fn mutated_files_never_panic(
        changes in prop::collection::vec((0.0..1.0, any::<u8>()), 0..6),
        cut in prop::option::weighted(0.2, 0.0..1.0),
        batch in prop_oneof![Just(8), any::<u64>()],
    ) {
        let mut bytes = classifier().encode_to_vec();
        let length = bytes.len() as f64;
        changes.iter().for_each(|(at, byte)| bytes[(at * length) as usize] = *byte);
        bytes.truncate((cut.unwrap_or(1.0) * length) as usize);
        if let Ok(instance) = read_onnx(&bytes, &options(batch)) {
            prop_assert_eq!(validate(&instance), Ok(()));
        }
    }
}
