//! Generated workloads are well formed, repeatable and true to the published networks.

#[path = "generate/llm.rs"]
mod llm;

use std::collections::{BTreeMap, HashSet};

use dagsplit::generate::{
    Accelerator, Architecture, Chain, Costs, Cpu, Dnn, ErdosRenyi, Hardware, Head, Inception, LanguageModel, Layered,
    Link, Llm, Model, Nasnet, OperatorKind, Precision, RandomDag, RandomFamily, Recipe, Resnet, SemanticFpn,
    SeriesParallel, Style, Swin, Transformer, generate,
};
use dagsplit::instance::{Instance, Node, Provenance};
use dagsplit::problem::Graph;
use llm::llm;
use proptest::prelude::*;

fn made(recipe: &Recipe) -> Instance {
    generate(recipe).expect("a sensible recipe")
}

/// The instance's graph; fails on unknown ends, cycles and repeated edges.
fn graph_of(instance: &Instance) -> Graph {
    let n = instance.nodes.len();
    assert!(instance.nodes.iter().enumerate().all(|(v, node)| node.id == v as u64), "ids are 0..n in order");
    let edges: Vec<(usize, usize)> = instance.edges.iter().map(|e| (e.source as usize, e.target as usize)).collect();
    assert!(edges.iter().all(|&(u, v)| u < n && v < n), "every end is a node");
    let graph = Graph::new(n, &edges).expect("no cycle");
    assert_eq!(graph.edge_count(), edges.len(), "no edge twice");
    graph
}

fn costs_of(node: &Node) -> Vec<f64> {
    let times = node.accelerator_times.iter().copied().chain([node.cpu_time]).flatten();
    times.chain([node.memory, node.transfer_time, node.parameter_bytes]).chain(node.output_bytes).collect()
}

fn assert_well_formed(instance: &Instance) {
    graph_of(instance);
    for node in &instance.nodes {
        assert!(costs_of(node).iter().all(|cost| cost.is_finite() && *cost >= 0.0), "{node:?}");
        assert_eq!(node.accelerator_times.len(), instance.platform.accelerators.len());
        assert_eq!(node.memory, node.memory.round(), "bytes are whole");
    }
}

/// Each colour class is one forward node and, joined to it by an edge, its backward node; backward edges mirror
/// forward ones.
fn assert_mirrored(instance: &Instance) {
    let mut classes: BTreeMap<u64, Vec<&Node>> = BTreeMap::new();
    for node in &instance.nodes {
        if let Some(class) = node.color_class {
            classes.entry(class).or_default().push(node);
        }
        assert!(!node.backward || node.color_class.is_some(), "{node:?} has no forward node");
    }
    let edges: HashSet<(u64, u64)> = instance.edges.iter().map(|e| (e.source, e.target)).collect();
    let mut twin = BTreeMap::new();
    for class in classes.values() {
        let [forward, backward] = class[..] else { panic!("{} nodes in a class", class.len()) };
        assert!(!forward.backward && backward.backward);
        assert!(edges.contains(&(forward.id, backward.id)));
        assert_eq!(forward.layer, backward.layer);
        twin.insert(forward.id, backward.id);
    }
    let is_backward = |id: u64| instance.nodes[id as usize].backward;
    let mirrored: HashSet<(u64, u64)> =
        edges.iter().filter_map(|(u, v)| Some((*twin.get(v)?, *twin.get(u)?))).collect();
    let backward: HashSet<(u64, u64)> = edges.iter().copied().filter(|&(u, _)| is_backward(u)).collect();
    assert_eq!(mirrored, backward);
    assert_eq!(edges.iter().filter(|&&(u, v)| !is_backward(u) && is_backward(v)).count(), classes.len());
}

fn family() -> impl Strategy<Value = RandomFamily> {
    let probability = || prop_oneof![Just(0.0), 0.0..1.0, Just(1.0)];
    prop_oneof![
        (1usize..80, 1usize..4)
            .prop_map(|(nodes, paths)| RandomFamily::Chain(Chain { nodes, paths: paths.min(nodes.max(2) - 1) })),
        (2usize..80, probability())
            .prop_map(|(nodes, parallel)| RandomFamily::SeriesParallel(SeriesParallel { nodes, parallel })),
        (1usize..10, 1usize..8, probability(), probability()).prop_map(|(layers, width, density, skip)| {
            RandomFamily::Layered(Layered { layers, width, density, skip })
        }),
        (1usize..200, 1usize..5, 1usize..5, 1usize..5, probability(), 0usize..10).prop_map(
            |(nodes, branches, branch_length, repeats, skip, skip_length)| {
                RandomFamily::Dnn(Dnn { nodes, branches, branch_length, repeats, skip, skip_length })
            }
        ),
        (1usize..60, probability())
            .prop_map(|(nodes, density)| RandomFamily::ErdosRenyi(ErdosRenyi { nodes, density })),
    ]
}

fn node_count(family: &RandomFamily) -> usize {
    match family {
        RandomFamily::Chain(f) => f.nodes,
        RandomFamily::SeriesParallel(f) => f.nodes,
        RandomFamily::Layered(f) => f.layers * f.width,
        RandomFamily::Dnn(f) => f.nodes,
        RandomFamily::ErdosRenyi(f) => f.nodes,
    }
}

proptest! {
    #[test]
    fn random_dags_are_well_formed(
        family in family(), seed: u64, training: bool, integer: bool, unsupported in 0.0..1.0,
    ) {
        let costs = Costs { integer, unsupported, ..Costs::default() };
        let nodes = node_count(&family);
        let recipe = Recipe { training, ..Recipe::new(RandomDag { family, seed, costs }) };
        let instance = made(&recipe);
        assert_well_formed(&instance);
        prop_assert_eq!(instance.nodes.len(), if training { 2 * nodes } else { nodes });
        prop_assert_eq!(&instance, &made(&recipe));
        if training {
            assert_mirrored(&instance);
        }
        if integer {
            for node in &instance.nodes {
                prop_assert!(costs_of(node).iter().all(|cost| cost.fract() == 0.0), "{:?}", node);
            }
        }
    }

    #[test]
    fn transformers_of_any_size_are_well_formed(
        layers in 1u32..5, heads in 1u32..5, width in 1u32..5, gpt: bool, elementary: bool, training: bool,
        head in prop_oneof![Just(Head::None), Just(Head::Pooler), Just(Head::LanguageModel)],
    ) {
        let style = if gpt { Style::Gpt } else { Style::Bert };
        let hidden = heads * width;
        let network = Transformer { style, layers, heads, hidden, head, elementary, ..Transformer::bert_base() };
        let instance = made(&Recipe { training, ..Recipe::new(network) });
        assert_well_formed(&instance);
        if training {
            assert_mirrored(&instance);
        }
    }
}

/// Producers and consumers of each node of a random graph, counted.
fn degrees(family: RandomFamily, seed: u64) -> Vec<(usize, usize)> {
    let graph = graph_of(&made(&Recipe::new(RandomDag::new(family, seed))));
    (0..graph.node_count()).map(|v| (graph.predecessors(v).len(), graph.successors(v).len())).collect()
}

#[test]
fn paths_meet_in_the_last_node() {
    let random = RandomDag::new(RandomFamily::Chain(Chain { nodes: 6, paths: 2 }), 0);
    let instance = generate(&Recipe::new(random)).expect("sound");
    let edges: Vec<(u64, u64)> = instance.edges.iter().map(|edge| (edge.source, edge.target)).collect();
    assert_eq!(edges, [(0, 1), (1, 5), (2, 3), (3, 4), (4, 5)]);
    assert_eq!(refused_family(RandomFamily::Chain(Chain { nodes: 6, paths: 6 })), ["--paths"]);
}

#[test]
fn a_chain_is_a_path() {
    let degrees = degrees(RandomFamily::Chain(Chain { nodes: 5, paths: 1 }), 0);
    assert_eq!(degrees, [(0, 1), (1, 1), (1, 1), (1, 1), (1, 0)]);
}

proptest! {
    #[test]
    fn series_parallel_graphs_reduce_to_one_edge(nodes in 2usize..60, parallel in 0.0..=1.0, seed: u64) {
        let family = RandomFamily::SeriesParallel(SeriesParallel { nodes, parallel });
        let instance = made(&Recipe::new(RandomDag::new(family, seed)));
        let mut edges: HashSet<(u64, u64)> = instance.edges.iter().map(|e| (e.source, e.target)).collect();
        // Contracting a node between one producer and one consumer merges the edge with a parallel one, if any.
        while let Some(v) = (0..nodes as u64).find(|&v| {
            edges.iter().filter(|e| e.1 == v).count() == 1 && edges.iter().filter(|e| e.0 == v).count() == 1
        }) {
            let before = edges.iter().copied().find(|e| e.1 == v).unwrap();
            let after = edges.iter().copied().find(|e| e.0 == v).unwrap();
            edges.retain(|&e| e != before && e != after);
            edges.insert((before.0, after.1));
        }
        prop_assert_eq!(edges, HashSet::from([(0, nodes as u64 - 1)]));
    }

    #[test]
    fn inner_layers_are_fed_and_feed(layers in 2usize..8, width in 1usize..8, density in 0.0..1.0, seed: u64) {
        let shape = Layered { layers, width, density, skip: 0.0 };
        let degrees = degrees(RandomFamily::Layered(shape), seed);
        prop_assert!(degrees[width..].iter().all(|d| d.0 > 0));
        prop_assert!(degrees[..(layers - 1) * width].iter().all(|d| d.1 > 0));
    }

    #[test]
    fn networks_have_one_source_and_one_sink(nodes in 1usize..300, skip in 0.0..1.0, seed: u64) {
        let degrees = degrees(RandomFamily::Dnn(Dnn { nodes, skip, ..Dnn::default() }), seed);
        prop_assert_eq!(degrees.iter().filter(|d| d.0 == 0).count(), 1);
        prop_assert_eq!(degrees.iter().filter(|d| d.1 == 0).count(), 1);
    }
}

#[test]
fn seeds_matter_and_keep_their_meaning() {
    let dag = |seed| made(&Recipe::new(RandomDag::new(RandomFamily::Dnn(Dnn::default()), seed)));
    assert_ne!(dag(1).edges, dag(2).edges);
    let costs = Costs { integer: true, ..Costs::default() };
    let family = RandomFamily::Layered(Layered { layers: 3, width: 2, density: 0.5, skip: 0.5 });
    let instance = made(&Recipe::new(RandomDag { family, seed: 7, costs }));
    let edges: Vec<_> = instance.edges.iter().map(|e| (e.source, e.target)).collect();
    let times: Vec<_> = instance.nodes.iter().map(|node| node.accelerator_times[0].unwrap()).collect();
    assert_eq!(edges, [(0, 2), (0, 3), (0, 4), (1, 3), (2, 4), (3, 5)]);
    assert_eq!(times, [12.0, 50.0, 11.0, 80.0, 1.0, 81.0]);
}

#[test]
fn networks_of_fifty_thousand_nodes_branch() {
    let family = RandomFamily::Dnn(Dnn { nodes: 50_000, ..Dnn::default() });
    let instance = made(&Recipe::new(RandomDag::new(family, 1)));
    let graph = graph_of(&instance);
    assert_eq!(graph.node_count(), 50_000);
    let merges = (0..50_000).filter(|&v| graph.predecessors(v).len() >= 2).count();
    assert!((4_000..12_000).contains(&merges), "{merges} nodes merge branches");
}

fn models() -> Vec<Architecture> {
    vec![
        Transformer::bert_base().into(),
        Transformer { layers: 2, elementary: true, head: Head::LanguageModel, ..Transformer::bert_base() }.into(),
        Transformer::gpt2_medium().into(),
        Resnet::default().into(),
        Resnet { depth: 152, ..Resnet::default() }.into(),
        Inception::default().into(),
        Nasnet::mobile().into(),
        Nasnet::large().into(),
        Swin::default().into(),
        Swin::ultra().into(),
        SemanticFpn::default().into(),
        llm(LanguageModel::Llama32_1b).into(),
        llm(LanguageModel::Mixtral8x7b).into(),
        llm(LanguageModel::Jamba).into(),
    ]
}

#[test]
fn model_graphs_are_well_formed() {
    for architecture in models() {
        let name = architecture.name();
        let operators = architecture.operators().unwrap();
        let forward = operators.operators.len();
        let gradients = operators.has_gradient().iter().filter(|&&has| has).count();
        let model = Model { architecture, hardware: Hardware::default() };
        let inference = made(&Recipe::new(model.clone()));
        assert_well_formed(&inference);
        assert_eq!(inference.nodes.len(), forward, "{name}");
        let graph = graph_of(&inference);
        let sinks = (0..forward).filter(|&v| graph.successors(v).is_empty()).count();
        assert_eq!(sinks, 1, "{name}");

        let training = made(&Recipe { training: true, ..Recipe::new(model) });
        assert_well_formed(&training);
        assert_mirrored(&training);
        assert_eq!(training.nodes.len(), forward + gradients + 2, "{name}: the loss comes on top, both ways");
        assert_eq!(training.nodes[..forward], colored_like(&training, &inference), "{name}");
    }
}

/// The nodes of `inference` with the colour classes that `training` gives them.
fn colored_like(training: &Instance, inference: &Instance) -> Vec<Node> {
    let pairs = inference.nodes.iter().zip(&training.nodes);
    pairs.map(|(node, trained)| Node { color_class: trained.color_class, ..node.clone() }).collect()
}

/// Parameters as the original programs count them.
#[test]
fn parameter_counts_are_those_published() {
    let embedding_copy = 50257.0 * 1024.0;
    let resnet = |depth| Architecture::from(Resnet { depth, ..Resnet::default() });
    for (architecture, parameters) in [
        (resnet(50), 25_557_032.0),
        (resnet(101), 44_549_160.0),
        (resnet(152), 60_192_808.0),
        (Inception::default().into(), 23_834_568.0),
        (Nasnet::mobile().into(), 5_289_978.0),
        (Nasnet::large().into(), 88_753_150.0),
        (Transformer::bert_base().into(), 109_482_240.0),
        (Transformer { elementary: true, ..Transformer::bert_base() }.into(), 109_482_240.0),
        (Transformer::gpt2_medium().into(), 354_823_168.0 + embedding_copy),
        (Swin::tiny().into(), 28_288_354.0),
        (Swin { blocks: 18, ..Swin::tiny() }.into(), 49_606_258.0),
        (Swin { width: 128, blocks: 18, ..Swin::tiny() }.into(), 87_768_224.0),
        (Swin::large().into(), 196_532_476.0),
        (SemanticFpn::default().into(), 28_495_574.0),
        (llm(LanguageModel::Llama2_7b).into(), 6_738_415_616.0),
        (llm(LanguageModel::Llama32_1b).into(), 1_235_814_400.0 + 128_256.0 * 2048.0),
        (llm(LanguageModel::Llama3_8b).into(), 8_030_261_248.0),
        (Llm { model: LanguageModel::Llama3_70b, ..Llm::default() }.into(), 70_553_706_496.0),
        (Llm { model: LanguageModel::Llama3_405b, ..Llm::default() }.into(), 405_853_388_800.0),
        (llm(LanguageModel::Mixtral8x7b).into(), 46_702_792_704.0),
        (llm(LanguageModel::Jamba).into(), 51_570_323_328.0),
    ] {
        let name = architecture.name();
        assert_eq!(architecture.operators().unwrap().parameters(), parameters, "{name}");
        let model = Model { architecture, hardware: Hardware { precision: Precision::Fp16, ..Hardware::default() } };
        let instance = made(&Recipe::new(model));
        assert_eq!(instance.nodes.iter().map(|node| node.parameter_bytes).sum::<f64>(), 2.0 * parameters, "{name}");
    }
}

/// The networks of Parmesan's Tables VII and VIII.
#[test]
fn parmesan_s_networks_are_as_large_as_it_says() {
    let bert = |layers| Transformer {
        layers,
        hidden: 1024,
        heads: 16,
        feed_forward: 4096,
        sequence: 512,
        vocabulary: 30533,
        head: Head::LanguageModel,
        ..Transformer::bert_base()
    };
    for (architecture, millions) in [
        (Architecture::from(Resnet { depth: 152, ..Resnet::default() }), 60.0),
        (bert(24).into(), 365.0),
        (bert(36).into(), 516.0),
        (bert(48).into(), 667.0),
        (Swin::large().into(), 197.0),
        (Swin { window: 12, resolution: 384, ..Swin::large() }.into(), 197.0),
        (Swin::ultra().into(), 424.0),
        (SemanticFpn::default().into(), 30.0),
    ] {
        let got = architecture.operators().unwrap().parameters() / 1e6;
        assert!((got / millions - 1.0).abs() < 0.06, "{}: {got} million against {millions}", architecture.name());
    }
}

/// Multiply-adds of one image, in millions, as published.
#[test]
fn operation_counts_are_those_published() {
    for (architecture, millions) in [
        (Architecture::from(Resnet { batch: 1, ..Resnet::default() }), 4_089.0),
        (Resnet { batch: 1, depth: 152, ..Resnet::default() }.into(), 11_514.0),
        (Inception { batch: 1, ..Inception::default() }.into(), 5_713.0),
        (Nasnet { batch: 1, ..Nasnet::mobile() }.into(), 564.0),
        (Nasnet { batch: 1, ..Nasnet::large() }.into(), 23_800.0),
        (Swin { batch: 1, ..Swin::tiny() }.into(), 4_490.0),
        (Swin { batch: 1, ..Swin::large() }.into(), 34_500.0),
        (Swin { batch: 1, window: 12, resolution: 384, ..Swin::large() }.into(), 103_900.0),
    ] {
        let got = architecture.operators().unwrap().product_flops() / 2e6;
        let name = architecture.name();
        assert!((got / millions - 1.0).abs() < 0.01, "{name}: {got} million against {millions}");
    }
}

#[test]
fn bert_base_computes_what_its_formula_says() {
    let bert = Transformer { head: Head::None, batch: 1, ..Transformer::bert_base() };
    let (tokens, hidden) = (384.0, 768.0);
    let layer = tokens * (4.0 * hidden * hidden + 2.0 * hidden * 3072.0 + 2.0 * tokens * hidden);
    let operators = Architecture::from(bert).operators().unwrap();
    assert_eq!(operators.product_flops() / 2.0, 12.0 * layer);
}

#[test]
fn networks_have_the_published_number_of_products() {
    for (architecture, products) in [
        (Architecture::from(Resnet::default()), 53 + 1),
        (Inception::default().into(), 94 + 1),
        // Six products with parameters and two of attention in each layer, and the pooler.
        (Transformer::bert_base().into(), 12 * 8 + 1),
    ] {
        let operators = architecture.operators().unwrap().operators;
        let matrices = operators.iter().filter(|op| op.kind == OperatorKind::Matrix).count();
        assert_eq!(matrices, products, "{}", architecture.name());
    }
    let nasnet = Architecture::from(Nasnet::mobile()).operators().unwrap().operators;
    let separable = nasnet.iter().filter(|op| op.kind == OperatorKind::Depthwise).count();
    // Twice each of the five in a normal cell and in a reduction cell.
    assert_eq!(separable, 2 * 5 * (12 + 4));
}

/// Nodes and edges of the workloads in `instances/`, as its README states them.
#[test]
fn in_repo_workloads_have_the_stated_sizes() {
    let inference = |architecture: Architecture| Recipe::new(Model { architecture, hardware: Hardware::default() });
    let training = |architecture| Recipe { training: true, ..inference(architecture) };
    let bert = Transformer::bert_base;
    for (recipe, nodes, edges) in [
        (inference(bert().into()), 377, 435),
        (inference(Transformer { elementary: true, ..bert() }.into()), 625, 745),
        (training(Transformer { layers: 6, head: Head::LanguageModel, ..bert() }.into()), 393, 637),
        (inference(Transformer::gpt2_medium().into()), 727, 845),
        (inference(Resnet::default().into()), 176, 191),
        (training(Resnet::default().into()), 353, 559),
        (inference(Inception::default().into()), 314, 348),
        (training(Inception::default().into()), 629, 1011),
        (inference(Nasnet::mobile().into()), 904, 1059),
        (inference(Nasnet::large().into()), 1234, 1449),
    ] {
        let instance = made(&recipe);
        let name = instance.metadata.name.as_deref().unwrap();
        assert_eq!((instance.nodes.len(), instance.edges.len()), (nodes, edges), "{name}");
    }
}

#[test]
fn every_layer_of_bert_consumes_the_mask() {
    let bert = made(&Recipe::new(Transformer::bert_base()));
    let mask = bert.nodes.iter().find(|node| node.name.as_deref() == Some("mask/scale")).unwrap();
    let consumers = bert.edges.iter().filter(|e| e.source == mask.id).map(|e| &bert.nodes[e.target as usize]);
    let layers: Vec<_> = consumers.map(|node| node.layer.unwrap()).collect();
    assert_eq!(layers, (1..=12).collect::<Vec<_>>());
}

/// A 3×3 convolution and a ReLU of ResNet-50 computed by hand.
#[test]
fn costs_follow_the_roofline() {
    let hardware = Hardware { link: Some(Link::Pcie4), efficiency: 0.5, ..Hardware::default() };
    let model = Model { architecture: Resnet { batch: 1, ..Resnet::default() }.into(), hardware };
    let instance = made(&Recipe { training: true, ..Recipe::new(model) });
    let named = |name: &str| instance.nodes.iter().find(|node| node.name.as_deref() == Some(name)).unwrap();
    let close = |a: f64, b: f64| assert!((a / b - 1.0).abs() < 1e-5, "{a} against {b}");

    let conv = named("stage1/block1/conv2");
    let map = 64.0 * 56.0 * 56.0;
    let product = 1e3 * 2.0 * 9.0 * 64.0 * map / (15.7e12 * 0.5) + 5e-3;
    close(conv.accelerator_times[0].unwrap(), product);
    close(conv.cpu_time.unwrap(), 1e3 * 2.0 * 9.0 * 64.0 * map / (1.408e12 * 0.5) + 1e-3);
    close(conv.transfer_time, 1e3 * 4.0 * map / 31.5e9);
    assert_eq!(conv.parameter_bytes, 4.0 * 9.0 * 64.0 * 64.0);
    assert_eq!(conv.output_bytes, Some(4.0 * map));
    assert_eq!(conv.memory, conv.parameter_bytes + 4.0 * map);

    let gradient = named("stage1/block1/conv2/gradient");
    close(gradient.accelerator_times[0].unwrap(), 2.0 * product);
    assert_eq!(gradient.memory, conv.parameter_bytes + 4.0 * map, "gradients of its parameters and its input");
    assert_eq!((gradient.transfer_time, gradient.output_bytes), (conv.transfer_time, conv.output_bytes));
    let first = named("stem/conv");
    let only_parameters = named("stem/conv/gradient");
    assert_eq!(only_parameters.accelerator_times, first.accelerator_times, "images need no gradient");
    assert_eq!(only_parameters.transfer_time, 0.0);

    let relu = named("stem/relu");
    let map = 64.0 * 112.0 * 112.0;
    close(relu.accelerator_times[0].unwrap(), 1e3 * 4.0 * 2.0 * map / 900e9 + 5e-3);
    close(named("stem/relu/gradient").accelerator_times[0].unwrap(), 1e3 * 4.0 * 3.0 * map / 900e9 + 5e-3);
}

#[test]
fn faster_devices_are_faster() {
    let total = |accelerator, precision, cpu| {
        let hardware = Hardware { accelerator, precision, cpu, ..Hardware::default() };
        let instance = made(&Recipe::new(Model { architecture: Transformer::bert_base().into(), hardware }));
        let sum = |time: fn(&Node) -> f64| instance.nodes.iter().map(time).sum::<f64>();
        (sum(|node| node.accelerator_times[0].unwrap()), sum(|node| node.cpu_time.unwrap()))
    };
    let (v100, xeon) = total(Accelerator::V100, Precision::Fp32, None);
    let (a100, epyc) = total(Accelerator::A100, Precision::Fp32, None);
    let (h100, _) = total(Accelerator::H100, Precision::Fp32, None);
    let (h100_half, _) = total(Accelerator::H100, Precision::Fp16, None);
    let (_, same_epyc) = total(Accelerator::V100, Precision::Fp32, Some(Cpu::Epyc7742));
    assert!(v100 > a100 && a100 > h100 && h100 > h100_half);
    assert!(xeon > 5.0 * v100 && xeon > epyc && epyc == same_epyc);
}

#[test]
fn metadata_says_how_to_make_the_workload_again() {
    let recipe = Recipe { training: true, memory: Some(8e9), ..Recipe::new(Resnet::default()) };
    let instance = made(&recipe);
    let metadata = &instance.metadata;
    assert_eq!(metadata.provenance, Some(Provenance::Modelled));
    assert_eq!(metadata.name.as_deref(), Some("resnet-50-training"));
    assert_eq!(metadata.device.as_deref(), Some("V100 over PCIe 3.0 x16; CPU Xeon E5-2698 v4"));
    assert_eq!(metadata.model.as_deref(), Some("ResNet-50, 224x224 images, 1000 classes, batch 32, fp32, training"));
    assert_eq!(
        metadata.source.as_deref(),
        Some(
            "dagsplit generate resnet --accelerator v100 --accelerators 6 --batch 32 --classes 1000 --cpus 1 \
             --depth 50 --efficiency 0.6 --memory 8000000000 --precision fp32 --resolution 224 --training"
        )
    );
    assert_eq!(instance.platform.accelerators[0].memory, Some(8e9));
    assert_eq!(instance.platform.bandwidth, Some(15.75e6), "bytes per millisecond");
    let random = Recipe::new(RandomDag::new(RandomFamily::Layered(Layered::default()), 3));
    assert_eq!(
        random.command_line(),
        "dagsplit generate layered --accelerators 6 --cpu-slowdown 10 --cpus 1 --density 0.3 --layers 20 \
         --max-memory 100 --max-time 100 --max-transfer 20 --seed 3 --skip 0.1 --unsupported 0 --width 5"
    );
    assert_eq!(made(&random).metadata.name.as_deref(), Some("layered-100-seed3-inference"));
}

/// The places that the error of a senseless recipe names.
fn refused(recipe: &Recipe) -> Vec<String> {
    let error = generate(recipe).expect_err("a senseless recipe");
    error.0.issues.into_iter().map(|issue| issue.place).collect()
}

fn refused_family(family: RandomFamily) -> Vec<String> {
    refused(&Recipe::new(RandomDag::new(family, 0)))
}

#[test]
fn senseless_networks_are_refused() {
    let bert = Transformer::bert_base;
    let transformer = |network: Transformer| refused(&Recipe::new(network));
    assert_eq!(transformer(Transformer { layers: 0, ..bert() }), ["--layers"]);
    assert_eq!(transformer(Transformer { heads: 7, ..bert() }), ["--heads"]);
    assert_eq!(transformer(Transformer { heads: 0, hidden: 0, ..bert() }), ["--hidden", "--heads"]);
    assert_eq!(transformer(Transformer { sequence: 513, ..bert() }), ["--positions"]);
    assert_eq!(transformer(Transformer { layers: u32::MAX, ..bert() }), ["size", "size"]);
    assert_eq!(refused(&Recipe::new(Resnet { depth: 51, batch: 0, ..Resnet::default() })), ["--depth", "--batch"]);
    assert_eq!(refused(&Recipe::new(Inception { resolution: 10, ..Inception::default() })), ["--resolution"]);
    assert_eq!(refused(&Recipe::new(Swin { width: 100, window: 0, ..Swin::default() })), ["--width", "--window"]);
    assert_eq!(refused(&Recipe::new(Swin { resolution: 384, ..Swin::default() })), ["--resolution"]);
    assert_eq!(refused(&Recipe::new(SemanticFpn { resolution: 500, ..Default::default() })), ["--resolution"]);
    let shared = Recipe::new(Llm { tensor_degrees: vec![3, 2, 16], ..Llm::default() });
    assert_eq!(refused(&shared), ["--tensor-degrees"; 2]);
    let both = Recipe { training: true, ..Recipe::new(Llm { tensor_degrees: vec![2], ..Llm::default() }) };
    assert_eq!(refused(&both), ["--tensor-degrees"]);
    assert_eq!(refused(&Recipe::new(Nasnet { filters: 1000, ..Nasnet::mobile() })), ["--filters"]);
    assert_eq!(refused(&Recipe::new(Nasnet { repeats: 0, ..Nasnet::mobile() })), ["--repeats"]);
    for efficiency in [0.0, -1.0, 1.5, f64::NAN] {
        let hardware = Hardware { efficiency, ..Hardware::default() };
        assert_eq!(refused(&Recipe::new(Model { architecture: bert().into(), hardware })), ["--efficiency"]);
    }
}

#[test]
fn senseless_random_dags_are_refused() {
    assert_eq!(refused_family(RandomFamily::Chain(Chain { nodes: 0, paths: 1 })), ["--nodes"]);
    assert_eq!(refused_family(RandomFamily::Chain(Chain { nodes: 5_000_000, paths: 1 })), ["size"]);
    assert_eq!(refused_family(RandomFamily::SeriesParallel(SeriesParallel { nodes: 1, parallel: 0.5 })), ["--nodes"]);
    let layered = Layered { density: f64::NAN, skip: 2.0, ..Layered::default() };
    assert_eq!(refused_family(RandomFamily::Layered(layered)), ["--density", "--skip"]);
    let dense = ErdosRenyi { nodes: 100_000, density: 0.5 };
    assert_eq!(refused_family(RandomFamily::ErdosRenyi(dense)), ["size"]);
    assert_eq!(refused_family(RandomFamily::Dnn(Dnn { branches: 0, ..Dnn::default() })), ["--branches"]);
    let costs = Costs { max_time: f64::INFINITY, max_memory: 0.5, unsupported: -0.1, ..Costs::default() };
    let random = RandomDag { costs, ..RandomDag::new(RandomFamily::Chain(Chain::default()), 0) };
    assert_eq!(refused(&Recipe::new(random)), ["--max-time", "--max-memory", "--unsupported"]);
}

#[test]
fn senseless_platforms_are_refused() {
    let recipe = Recipe::new(Resnet::default());
    assert_eq!(refused(&Recipe { accelerators: 0, cpus: 0, ..recipe.clone() }), ["--accelerators"]);
    assert_eq!(refused(&Recipe { memory: Some(0.0), ..recipe.clone() }), ["--memory"]);
    assert_eq!(refused(&Recipe { memory: Some(f64::NAN), ..recipe.clone() }), ["--memory"]);
    let message = generate(&Recipe { accelerators: usize::MAX, ..recipe }).unwrap_err().to_string();
    assert!(message.contains("--accelerators: 18446744073709551615 is out of range; give 0 to 4000000"), "{message}");
}
