//! TensorFlow's `CostGraphDef` as protocol buffers' text, the format of REGAL's graphs (Paliwal et al. 2020).
//!
//! ```text
//! node { name: "conv" id: 2 input_info { preceding_node: 1 } output_info { size: 70 alias_input_port: -1 } compute_cost: 58 }
//! ```
//!
//! Costs are in microseconds, sizes in bytes; instances here are in milliseconds. A node's transfer time is what all its
//! outputs take together, its memory these and what it states for itself (temporary and persistent), but for outputs that
//! are aliases of an input. Sizes that are not known (−1) count as 0. Control inputs are edges like others: they order
//! nodes, and their producer's output is sent along. `_SOURCE` and `_SINK`, which stand for the ends of the graph and do
//! nothing, are left out. Devices that nodes were on are not read, and the graph names none: [`PipeDreamOptions`] does.

use std::collections::HashSet;

use super::pipedream::PipeDreamOptions;
use super::protobuf_text::{Field, Reader};
use super::unplaced;
use crate::instance::{Edge, Instance, Node, Problems};

/// A node as the file has it.
#[derive(Default)]
struct FileNode {
    id: u64,
    name: String,
    inputs: Vec<u64>,
    microseconds: f64,
    output_bytes: f64,
    /// What it holds beside its outputs, and less those that are aliases.
    own_bytes: f64,
    alias_bytes: f64,
}

/// Whether `text` begins as such a file does.
pub(super) fn is_one(text: &str) -> bool {
    let mut lines = text.lines().map(str::trim_start);
    let first = lines.find(|line| !line.is_empty() && !line.starts_with('#')).unwrap_or_default();
    first.strip_prefix("node").is_some_and(|rest| rest.trim_start().starts_with(['{', '<', ':']))
}

pub(super) fn parse(text: &str, options: &PipeDreamOptions, problems: &mut Problems) -> Instance {
    let mut reader = Reader::new(text);
    let mut nodes = Vec::new();
    while let Some(field) = reader.field(problems) {
        match field.name {
            "node" if field.is_message => nodes.push(node(&mut reader, problems)),
            _ => reader.skip(&field),
        }
    }
    build(nodes, options, problems)
}

fn node(reader: &mut Reader, problems: &mut Problems) -> FileNode {
    let mut node = FileNode::default();
    while let Some(field) = reader.field(problems) {
        match field.name {
            "name" => node.name = field.text(),
            "id" => node.id = id(&field, problems).unwrap_or_default(),
            "control_input" => node.inputs.extend(ids(&field, problems)),
            "compute_cost" => node.microseconds = field.number(0.0, problems),
            "temporary_memory_size" | "persistent_memory_size" | "device_persistent_memory_size" => {
                node.own_bytes += field.number(0.0, problems);
            }
            "input_info" if field.is_message => node.inputs.push(input(reader, problems)),
            "output_info" if field.is_message => output(&mut node, reader, problems),
            _ => reader.skip(&field),
        }
    }
    node
}

/// The node that an input comes from; 0 where it is not written down.
fn input(reader: &mut Reader, problems: &mut Problems) -> u64 {
    let mut node = 0;
    while let Some(field) = reader.field(problems) {
        match field.name {
            "preceding_node" => node = id(&field, problems).unwrap_or_default(),
            _ => reader.skip(&field),
        }
    }
    node
}

fn output(node: &mut FileNode, reader: &mut Reader, problems: &mut Problems) {
    // Fields that are 0 are not written down.
    let (mut size, mut alias) = (0.0, 0.0);
    while let Some(field) = reader.field(problems) {
        match field.name {
            "size" => size = field.number(-1.0, problems).max(0.0),
            "alias_input_port" => alias = field.number(f64::NEG_INFINITY, problems),
            _ => reader.skip(&field),
        }
    }
    node.output_bytes += size;
    if alias >= 0.0 && !node.inputs.is_empty() {
        node.alias_bytes += size;
    }
}

fn id(field: &Field, problems: &mut Problems) -> Option<u64> {
    ids(field, problems).pop()
}

fn ids(field: &Field, problems: &mut Problems) -> Vec<u64> {
    let read = |text: &&str| match text.parse() {
        Ok(id) => Some(id),
        Err(_) => {
            field.report(text, "give a whole number that is at least 0", problems);
            None
        }
    };
    field.values.iter().filter_map(read).collect()
}

fn build(mut nodes: Vec<FileNode>, options: &PipeDreamOptions, problems: &mut Problems) -> Instance {
    let is_end = |node: &FileNode| matches!(node.name.as_str(), "_SOURCE" | "_SINK") && node.microseconds == 0.0;
    let ends: HashSet<u64> = nodes.iter().filter(|node| is_end(node)).map(|node| node.id).collect();
    nodes.retain(|node| !is_end(node));
    let mut edges = Vec::new();
    for node in &nodes {
        let inputs = node.inputs.iter().filter(|input| !ends.contains(input));
        edges.extend(inputs.map(|&source| Edge { source, target: node.id }));
    }
    let nodes = nodes.into_iter().map(|node| {
        let time = node.microseconds / 1000.0;
        Node {
            name: Some(node.name).filter(|name| !name.is_empty()),
            accelerator_times: vec![Some(time)],
            cpu_time: Some(time * options.cpu_factor),
            memory: (node.output_bytes - node.alias_bytes + node.own_bytes).max(0.0),
            transfer_time: 1000.0 * node.output_bytes / options.bandwidth,
            output_bytes: Some(node.output_bytes),
            ..Node::new(node.id)
        }
    });
    let nodes = nodes.collect();
    unplaced::instance("TensorFlow cost graph", nodes, edges, options, problems)
}
