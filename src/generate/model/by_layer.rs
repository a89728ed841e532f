//! Joins the operators of each layer to one node.

use std::collections::{BTreeMap, BTreeSet};

use crate::generate::rounding::six_digits;
use crate::instance::{Edge, EdgeBytes, Instance, Node, NodeOption, Parallelism};

/// A layer, and whether it is its backward pass that is meant.
type Pass = (Option<u64>, bool);

/// The instance with one node for each layer, and one for its backward pass: times, memory and parameters add up. A layer
/// hands on what its operators give to other layers, and its backward pass the gradients of what it got. Ids have to be
/// `0..n`. O(nodes + edges + options), and sorting.
pub(super) fn joined(instance: Instance) -> Instance {
    let pass = |node: &Node| (node.layer, node.backward);
    let mut id_of: BTreeMap<Pass, u64> = BTreeMap::new();
    let mut nodes: Vec<Node> = Vec::new();
    let mut of = Vec::with_capacity(instance.nodes.len());
    for node in &instance.nodes {
        let id = *id_of.entry(pass(node)).or_insert_with(|| {
            nodes.push(empty(node, nodes.len() as u64));
            nodes.len() as u64 - 1
        });
        add(&mut nodes[id as usize], node);
        of.push(id);
    }
    let mut handed_on = BTreeSet::new();
    for edge in &instance.edges {
        let [source, target] = [edge.source, edge.target].map(|id| &instance.nodes[id as usize]);
        if source.layer == target.layer || source.backward || target.backward {
            continue;
        }
        let gradient = |node: &Node| id_of.get(&(node.layer, true)).copied();
        let back = gradient(source).and_then(|_| gradient(target));
        for from in [Some(of[edge.source as usize]), back].into_iter().flatten() {
            if handed_on.insert((from, source.id)) {
                hand_on(&mut nodes[from as usize], source);
            }
        }
    }
    let ends = |edge: &Edge| (of[edge.source as usize], of[edge.target as usize]);
    let between: BTreeSet<(u64, u64)> = instance.edges.iter().map(ends).filter(|(a, b)| a != b).collect();
    let edges = between.into_iter().map(|(source, target)| Edge { source, target }).collect();
    let parallelism = instance.parallelism.as_ref().map(|parallelism| options(parallelism, &of));
    Instance { nodes, edges, parallelism, ..instance }
}

/// A layer of which nothing is added yet, named by the first part of a node's name.
fn empty(node: &Node, id: u64) -> Node {
    let name = node.name.as_deref().and_then(|name| name.split('/').next());
    let gradient = if node.backward { "/gradient" } else { "" };
    Node {
        name: name.map(|name| format!("{name}{gradient}")),
        accelerator_times: vec![Some(0.0); node.accelerator_times.len()],
        cpu_time: Some(0.0),
        output_bytes: Some(0.0),
        backward: node.backward,
        layer: node.layer,
        ..Node::new(id)
    }
}

fn add(layer: &mut Node, node: &Node) {
    let add_time = |sum: &mut Option<f64>, time: Option<f64>| {
        *sum = sum.zip(time).map(|(sum, time)| six_digits(sum + time));
    };
    for (sum, &time) in layer.accelerator_times.iter_mut().zip(&node.accelerator_times) {
        add_time(sum, time);
    }
    add_time(&mut layer.cpu_time, node.cpu_time);
    layer.memory += node.memory;
    layer.parameter_bytes += node.parameter_bytes;
    // Both passes of a layer are one class.
    layer.color_class = layer.color_class.or(node.color_class.and(node.layer));
}

fn hand_on(layer: &mut Node, node: &Node) {
    layer.transfer_time = six_digits(layer.transfer_time + node.transfer_time);
    layer.output_bytes = layer.output_bytes.zip(node.output_bytes).map(|(sum, bytes)| sum + bytes);
}

/// The options of layers, which are those of their operators together. An operator that has none of a name counts by its
/// first. A layer computes again all that it computes again at once; its operators run one after another.
fn options(parallelism: &Parallelism, of: &[u64]) -> Parallelism {
    type Shape = (usize, Option<usize>);
    let shape = |option: &NodeOption| (option.tensor_degree, option.class);
    let mut of_operator: BTreeMap<(u64, Shape), Vec<&NodeOption>> = BTreeMap::new();
    let mut names: BTreeMap<(u64, Shape), BTreeSet<&str>> = BTreeMap::new();
    for option in &parallelism.options {
        of_operator.entry((option.node, shape(option))).or_default().push(option);
        names.entry((of[option.node as usize], shape(option))).or_default().insert(&option.name);
    }
    let mut layers: BTreeMap<(u64, Shape, &str), (NodeOption, f64)> = BTreeMap::new();
    for (&(node, shape), own) in &of_operator {
        let layer = of[node as usize];
        for &name in &names[&(layer, shape)] {
            let option = own.iter().find(|option| option.name == name).unwrap_or(&own[0]);
            let (tensor_degree, class) = shape;
            let none = || NodeOption { node: layer, tensor_degree, class, name: name.into(), ..NodeOption::default() };
            let (sum, on_top) = layers.entry((layer, shape, name)).or_insert_with(|| (none(), 0.0));
            add_option(sum, option);
            // What is computed again is kept by the first option.
            let again = own[0].memory_per_microbatch - option.memory_per_microbatch;
            sum.working_bytes += again;
            *on_top = on_top.max(option.working_bytes - again);
        }
    }
    let mut moved: BTreeMap<(u64, u64), BTreeMap<u64, f64>> = BTreeMap::new();
    for edge in &parallelism.edges {
        let (a, b) = (of[edge.source as usize], of[edge.target as usize]);
        if a != b {
            *moved.entry((a, b)).or_default().entry(edge.source).or_default() += edge.bytes;
        }
    }
    let edge = |((source, target), producers): ((u64, u64), BTreeMap<u64, f64>)| EdgeBytes {
        source,
        target,
        bytes: producers.values().sum(),
    };
    let edges = moved.into_iter().map(edge).collect();
    let whole = |(sum, on_top): (NodeOption, f64)| NodeOption { working_bytes: sum.working_bytes + on_top, ..sum };
    Parallelism { options: layers.into_values().map(whole).collect(), edges, ..*parallelism }
}

/// Adds an operator's option to that of its layer, but for what it works with.
fn add_option(layer: &mut NodeOption, option: &NodeOption) {
    layer.time = six_digits(layer.time + option.time);
    layer.parameter_bytes += option.parameter_bytes;
    layer.memory_per_microbatch += option.memory_per_microbatch;
    layer.memory += option.memory;
    layer.weight_bytes += option.weight_bytes;
    layer.gradient_bytes += option.gradient_bytes;
    layer.optimizer_bytes += option.optimizer_bytes;
    layer.cache_bytes_per_token += option.cache_bytes_per_token;
}
