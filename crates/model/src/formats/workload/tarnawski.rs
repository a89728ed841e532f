//! The JSON of Tarnawski et al. 2020: throughput and latency workloads.
//!
//! The published files differ in details, all of which are read: flags are 0/1 or true/false, `colorClass` may
//! be null or absent, and latency files carry a `layerId`. A node's transfer time is the cost of the edges that
//! leave it, which must be one; its output bytes are the largest `size` of those edges (the published layer
//! training graphs give some edges the size of their consumer's output). Unknown fields are left aside.

use std::collections::HashMap;

use serde::{Deserialize, Serialize};

use crate::formats::json::{self, List, Object};
use crate::formats::{ReadCause, WriteError};
use crate::instance::validate::node_place;
use crate::instance::{AcceleratorClass, Edge, Instance, Metadata, Node, Platform, Problems};

#[derive(Deserialize)]
struct File {
    #[serde(rename = "maxSizePerFPGA")]
    max_size_per_fpga: f64,
    #[serde(rename = "maxFPGAs")]
    max_fpgas: usize,
    #[serde(rename = "maxCPUs")]
    max_cpus: usize,
    nodes: List<FileNode>,
    edges: List<FileEdge>,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct FileNode {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    name: Option<String>,
    id: u64,
    #[serde(deserialize_with = "json::flag")]
    supported_on_fpga: bool,
    cpu_latency: f64,
    fpga_latency: f64,
    #[serde(default, deserialize_with = "json::flag")]
    is_backward_node: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    color_class: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    layer_id: Option<u64>,
    size: f64,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct FileEdge {
    source_id: u64,
    dest_id: u64,
    cost: f64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    size: Option<f64>,
}

pub(super) fn parse(text: &str, problems: &mut Problems) -> Result<Instance, ReadCause> {
    let file: File = json::parse(text)?;
    let nodes = file.nodes.take("nodes", problems);
    let edges = file.edges.take("edges", problems);
    let outputs = outputs(&edges, problems);
    Ok(Instance {
        metadata: Metadata::default(),
        platform: Platform::uniform(file.max_fpgas, Some(file.max_size_per_fpga), file.max_cpus),
        nodes: nodes.into_iter().map(|node| from_file(node, &outputs)).collect(),
        edges: edges.iter().map(|e| Edge { source: e.source_id, target: e.dest_id }).collect(),
        parallelism: None,
    })
}

/// What the edges that leave a node say of its output.
struct Output {
    cost: f64,
    target: u64,
    bytes: Option<f64>,
}

fn outputs(edges: &[FileEdge], problems: &mut Problems) -> HashMap<u64, Output> {
    let mut outputs: HashMap<u64, Output> = HashMap::new();
    for edge in edges {
        let first =
            outputs.entry(edge.source_id).or_insert(Output { cost: edge.cost, target: edge.dest_id, bytes: edge.size });
        if first.cost != edge.cost {
            problems.add(
                format!("node {}", edge.source_id),
                format!(
                    "its edge to node {} costs {} and its edge to node {} costs {}",
                    first.target, first.cost, edge.dest_id, edge.cost
                ),
                "give all edges that leave a node the same cost: its output moves once per device",
            );
        }
        first.bytes = match (first.bytes, edge.size) {
            (Some(a), Some(b)) => Some(a.max(b)),
            (a, b) => a.or(b),
        };
    }
    outputs
}

fn from_file(node: FileNode, outputs: &HashMap<u64, Output>) -> Node {
    let output = outputs.get(&node.id);
    Node {
        id: node.id,
        name: node.name,
        accelerator_times: vec![node.supported_on_fpga.then_some(node.fpga_latency)],
        cpu_time: Some(node.cpu_latency),
        memory: node.size,
        transfer_time: output.map_or(0.0, |o| o.cost),
        output_bytes: output.and_then(|o| o.bytes),
        parameter_bytes: 0.0,
        backward: node.is_backward_node,
        color_class: node.color_class,
        layer: node.layer_id,
        time_spread: None,
    }
}

/// Metadata, bandwidth and parameter bytes have no place in this format and are left out.
pub(super) fn write(instance: &Instance) -> Result<String, WriteError> {
    let (class, memory) = the_class(instance)?;
    let nodes: HashMap<u64, &Node> = instance.nodes.iter().map(|node| (node.id, node)).collect();
    let edges = instance.edges.iter().filter_map(|edge| {
        let source = nodes.get(&edge.source)?;
        Some(FileEdge {
            source_id: edge.source,
            dest_id: edge.target,
            cost: source.transfer_time,
            size: source.output_bytes,
        })
    });
    Ok(Object::begin()
        .field("maxSizePerFPGA", &memory)
        .field("maxFPGAs", &class.count)
        .field("maxCPUs", &instance.platform.cpus)
        .list("nodes", instance.nodes.iter().map(to_file))
        .list("edges", edges)
        .finish())
}

/// The instance's only accelerator class and its memory, if this format can express the instance at all.
fn the_class(instance: &Instance) -> Result<(&AcceleratorClass, f64), WriteError> {
    let mut problems = Problems::default();
    let classes = &instance.platform.accelerators;
    if classes.len() != 1 {
        problems.add("platform", format!("it has {} accelerator classes", classes.len()), "keep exactly one");
    }
    if classes.iter().any(|class| class.memory.is_none()) {
        problems.add("platform", "accelerator memory is unlimited", "give a number of bytes");
    }
    for node in instance.nodes.iter().filter(|node| node.cpu_time.is_none()) {
        problems.add(node_place(node), "no CPU can run it", "give it a CPU time");
    }
    match classes.as_slice() {
        [class] if problems.issues.is_empty() => Ok((class, class.memory.unwrap_or_default())),
        _ => Err(WriteError::Inexpressible { format: "Tarnawski", problems }),
    }
}

fn to_file(node: &Node) -> FileNode {
    let time = node.accelerator_times.first().copied().flatten();
    FileNode {
        name: node.name.clone(),
        id: node.id,
        supported_on_fpga: time.is_some(),
        cpu_latency: node.cpu_time.unwrap_or_default(),
        fpga_latency: time.unwrap_or_default(),
        is_backward_node: node.backward,
        color_class: node.color_class,
        layer_id: node.layer,
        size: node.memory,
    }
}
