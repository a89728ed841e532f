//! Graphs of other people's sets become workloads: TensorFlow's cost graphs, HyperDAG files, and graphs that torch.fx drew.

use assert_cmd::Command;
use dagsplit::formats::{Pass, PipeDreamOptions, ReadOptions, parse_instance};
use dagsplit::generate::{Hardware, ModelFileOptions, read_fx_graph};
use dagsplit::instance::Instance;

/// A graph that torch.fx drew, in the shape of those of HyperDAG_DB: a convolution with its statistics, and a layer behind it.
const FX: &str = include_str!("graphs/fx.dot");

fn edges(instance: &Instance) -> Vec<(u64, u64)> {
    instance.edges.iter().map(|edge| (edge.source, edge.target)).collect()
}

fn names(instance: &Instance) -> Vec<&str> {
    instance.nodes.iter().map(|node| node.name.as_deref().unwrap()).collect()
}

fn refusal(text: &str) -> String {
    parse_instance(text, &ReadOptions::default()).unwrap_err().to_string()
}

#[test]
fn cost_graphs_are_read() {
    let text = r#"
        # The ends of the graph are no nodes.
        node { name: "_SOURCE" }
        node { name: "a" id: 1 output_info { size: 70 alias_input_port: -1 } control_input: 0 compute_cost: 58 }
        node { name: "b" id: 2 device: "/device:GPU:0"
            input_info { preceding_node: 1 }
            output_info { size: 50 alias_input_port: -1 shape { dim { size: 5 } dim { size: 10 } } dtype: DT_INT8 }
            output_info { size: 70 }
            temporary_memory_size: 8 persistent_memory_size: 4 compute_cost: 47 }
        node { name: "c" id: 3 input_info { preceding_node: 2 preceding_port: 1 } control_input: [1]
            output_info { size: -1 alias_input_port: -1 } is_final: true }"#;
    let pipedream =
        PipeDreamOptions { bandwidth: 1e6, cpu_factor: 2.0, accelerators: 3, ..PipeDreamOptions::default() };
    let instance = parse_instance(text, &ReadOptions { pipedream, ..ReadOptions::default() }).unwrap();
    assert_eq!(names(&instance), ["a", "b", "c"]);
    assert_eq!(edges(&instance), [(1, 2), (2, 3), (1, 3)]);
    let times: Vec<_> =
        instance.nodes.iter().map(|node| (node.accelerator_times[0].unwrap(), node.cpu_time.unwrap())).collect();
    assert_eq!(times, [(0.058, 0.116), (0.047, 0.094), (0.0, 0.0)]);
    // An alias is sent and held by the node that it is an alias of.
    let sizes: Vec<_> = instance.nodes.iter().map(|node| (node.output_bytes.unwrap(), node.memory)).collect();
    assert_eq!(sizes, [(70.0, 70.0), (120.0, 62.0), (0.0, 0.0)]);
    assert!((instance.nodes[1].transfer_time - 0.12).abs() < 1e-12);
    assert_eq!(instance.platform.accelerators[0].count, 3);
}

#[test]
fn what_is_wrong_with_a_cost_graph_is_told_with_its_line() {
    let message = refusal("node {\n id: x\n compute_cost: -5\n input_info { preceding_node: 7 }\n}\nnode { id: 2 } }");
    for part in [
        "line 2, id: it is \"x\"; give a whole number that is at least 0",
        "line 3, compute_cost: it is \"-5\"; give a number that is at least 0",
        "line 6: \"}\" closes nothing",
    ] {
        assert!(message.contains(part), "{part} is not in {message}");
    }
    assert!(refusal("node { id: 2 compute_cost: 1 input_info { preceding_node: 7 } }").contains('7'));
    assert!(refusal("node { id: 1").contains("the file ends within a message; close every `{` by a `}`"));
    let training = PipeDreamOptions { pass: Pass::Training, ..PipeDreamOptions::default() };
    let options = ReadOptions { pipedream: training, ..ReadOptions::default() };
    let message = parse_instance("node { id: 1 compute_cost: 2 }", &options).unwrap_err().to_string();
    assert!(
        message.contains("training: a TensorFlow cost graph has the nodes of one graph and no passes"),
        "{message}"
    );
}

#[test]
fn hyperdag_files_are_read() {
    let text = "%% header\n%comment\n2 3 5\n0 4\n1 2 % moved\n0 10 64\n1 30\n2\n0 0\n0 1\n0 2\n1 1\n1 2\n";
    let instance = parse_instance(text, &ReadOptions::default()).unwrap();
    assert_eq!(edges(&instance), [(0, 1), (0, 2), (1, 2)]);
    let nodes: Vec<_> = instance
        .nodes
        .iter()
        .map(|node| (node.accelerator_times[0].unwrap(), node.memory, node.transfer_time))
        .collect();
    assert_eq!(nodes, [(10.0, 64.0, 4.0), (30.0, 0.0, 2.0), (1.0, 0.0, 0.0)]);
}

#[test]
fn what_is_wrong_with_a_hyperdag_file_is_told_with_its_line() {
    let message = refusal("2 3 4\n0 4\n5 2\n0 x\n0 1\n0 2\n0 0\n0 1.5\n1 -2");
    for part in [
        "line 3: 5 is no number of a hyperedge; give one below 2",
        "line 4: \"0 x\" is not a node; give 1 or more numbers",
        "line 6: node 0 has a line before it",
        "line 8: 1.5 is no number of a node; give one below 3",
        "line 9: \"1 -2\" is not a pin; give 2 or more numbers",
        "line 9: the file ends where a pin should follow; correct the counts",
    ] {
        assert!(message.contains(part), "{part} is not in {message}");
    }
    assert!(refusal("9 9 1000000000").contains("line 1: it counts more than the file has lines"));
}

fn options(dimensions: &[(&str, u64)]) -> ModelFileOptions {
    let dimensions = dimensions.iter().map(|&(name, size)| (name.to_owned(), size)).collect();
    ModelFileOptions { dimensions, ..ModelFileOptions::default() }
}

#[test]
fn drawn_graphs_are_read() {
    let instance = read_fx_graph(FX, &options(&[("s0", 2)])).unwrap();
    assert_eq!(names(&instance), ["image", "convolution", "norm", "view", "addmm"]);
    assert_eq!(edges(&instance), [(0, 1), (1, 2), (2, 3), (3, 4)]);
    let parameters: Vec<f64> = instance.nodes.iter().map(|node| node.parameter_bytes / 4.0).collect();
    assert_eq!(parameters, [0.0, 135.0, 5.0, 0.0, 2247.0]);
    let outputs: Vec<f64> = instance.nodes.iter().map(|node| node.output_bytes.unwrap() / 4.0).collect();
    assert_eq!(outputs, [384.0, 640.0, 640.0, 640.0, 14.0]);
}

/// With so little efficiency that arithmetic outweighs all else.
#[test]
fn products_of_drawn_graphs_are_counted_by_their_sizes() {
    let hardware = Hardware { efficiency: 1e-9, ..Hardware::default() };
    let instance = read_fx_graph(FX, &ModelFileOptions { hardware, ..options(&[("s0", 2)]) }).unwrap();
    for (node, flops) in [(1, 2.0 * 640.0 * 27.0), (4, 2.0 * 2.0 * 320.0 * 7.0)] {
        let counted = 1e-3 * (instance.nodes[node].accelerator_times[0].unwrap() - 5e-3) * 15.7e12 * 1e-9;
        assert!((counted - flops).abs() <= 1e-4 * flops, "node {node}: {counted} instead of {flops} operations");
    }
}

#[test]
fn what_is_wrong_with_a_drawn_graph_is_told_at_once() {
    let text = FX
        .replace("piece -> view", "view -> piece")
        .replace("shape=(0,)", "shape=(?)")
        .replace("bias -> addmm", "bias -> nowhere");
    let message = read_fx_graph(&text, &options(&[("batch", 2)])).unwrap_err().to_string();
    for part in [
        "node \"saved\": its shape is \"(?)\"; draw the graph with torch.fx",
        "dimensions: no size is stated of s0; give it: --dimension s0=SIZE",
        "dimension \"batch\": no shape has it",
        "\"bias\" or \"nowhere\" is no node",
        "its reader \"piece\" (line 10) comes before it",
    ] {
        assert!(message.contains(part), "{part} is not in {message}");
    }
    for (text, part) in [
        ("", "this is no graph"),
        ("digraph { a [label=\"x", "text in quotes does not end"),
        ("digraph { a }", "its label has no op_code"),
    ] {
        let message = read_fx_graph(text, &ModelFileOptions::default()).unwrap_err().to_string();
        assert!(message.contains(part), "{part} is not in {message}");
    }
}

#[test]
fn the_command_line_converts_them() {
    let folder = tempfile::tempdir().unwrap();
    let run = |words: &str| {
        let mut command = Command::new(assert_cmd::cargo::cargo_bin!("dagsplit"));
        command.current_dir(folder.path()).args(words.split_whitespace()).assert()
    };
    std::fs::write(folder.path().join("fx.dot"), FX).unwrap();
    run("convert fx.dot --dimension s0=8 --accelerator a100 --accelerators 2 --to native --output fx.json").success();
    run("solve fx.json").success();
    let written = std::fs::read_to_string(folder.path().join("fx.json")).unwrap();
    assert!(written.contains(r#""name":"fx""#), "{written}");
    std::fs::write(folder.path().join("graph.pbtxt"), "node { id: 3 compute_cost: 9 }").unwrap();
    std::fs::write(folder.path().join("graph.txt"), "0 2 0\n0 5\n1 6\n").unwrap();
    run("convert graph.pbtxt --bandwidth 1GB --to native").success();
    run("solve graph.txt --format hyperdag --accelerators 2 --cpus 0").success();
}
