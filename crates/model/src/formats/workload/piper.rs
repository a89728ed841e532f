//! Piper's JSON (Tarnawski, Narayanan and Phanishayee 2021).
//!
//! All that it says of degrees and options becomes the instance's [`Parallelism`], in its own units: seconds and bytes.
//! Other questions see each node at tensor-parallel degree 1, in milliseconds. Each node's time covers both passes, so
//! the graph is one of forward nodes alone, and as in Piper's own cost each output moves twice: forward as
//! activation, backward as gradient. Memory is `memoryUsageA`·y + `memoryUsageB` with y microbatches in flight;
//! in Piper y depends on a stage's place in the pipeline, for other questions [`PiperOptions`] fixes it. Where edges
//! leaving a node differ in size the largest counts there, as an output moves once per device. There is no CPU.

use std::collections::{BTreeMap, HashMap};

use serde::Deserialize;

use crate::formats::ReadCause;
use crate::formats::json::{self, List};
use crate::instance::validate::shorten;
use crate::instance::{
    Edge, EdgeBytes, Instance, Metadata, Node, NodeOption, Parallelism, Platform, Problems, Provenance, Setting,
    TimeUnit,
};

/// What a Piper file leaves open where no degrees are chosen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PiperOptions {
    /// Which of a node's configurations to take: `vanilla` or `activation recomp`.
    pub configuration: String,
    /// How many microbatches a device holds activations of: 1 is the last stage of a 1F1B pipeline.
    pub microbatches_in_flight: u32,
}

impl Default for PiperOptions {
    fn default() -> Self {
        Self { configuration: "vanilla".to_owned(), microbatches_in_flight: 1 }
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct File {
    max_devices: usize,
    max_memory_per_device: f64,
    bandwidth: f64,
    #[serde(default)]
    mbs_in_batch: Option<f64>,
    nodes: List<FileNode>,
    edges: List<FileEdge>,
}

#[derive(Deserialize)]
struct FileNode {
    id: u64,
    #[serde(default)]
    name: Option<String>,
    /// By tensor-parallel degree.
    #[serde(rename = "TMPCs")]
    configurations: BTreeMap<String, Vec<Configuration>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Configuration {
    id: String,
    time_per_sample: f64,
    parameter_size: f64,
    memory_usage_a: f64,
    memory_usage_b: f64,
    /// Bytes, whatever the name says, by predecessor.
    #[serde(default)]
    sync_time_fw: BTreeMap<u64, f64>,
    /// Bytes by successor.
    #[serde(default)]
    sync_time_bw: BTreeMap<u64, f64>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct FileEdge {
    source_id: u64,
    dest_id: u64,
    communication_cost: f64,
}

pub(super) fn parse(text: &str, options: &PiperOptions, problems: &mut Problems) -> Result<Instance, ReadCause> {
    let file: File = json::parse(text)?;
    let nodes = file.nodes.take("nodes", problems);
    let edges = file.edges.take("edges", problems);
    let bandwidth = file.bandwidth / 1000.0;
    let mut output_bytes: HashMap<u64, f64> = HashMap::new();
    for edge in &edges {
        let largest = output_bytes.entry(edge.source_id).or_insert(edge.communication_cost);
        *largest = largest.max(edge.communication_cost);
    }
    if !bandwidth.is_finite() || bandwidth <= 0.0 {
        problems.add(
            "bandwidth",
            format!("it is {}", file.bandwidth),
            "give a positive finite number of bytes per second",
        );
    }
    let parallelism = Parallelism {
        time: TimeUnit::Seconds,
        bandwidth: file.bandwidth,
        options: nodes.iter().flat_map(|node| options_of(node, problems)).collect(),
        edges: edge_bytes(&edges),
    };
    let nodes = nodes.into_iter().filter_map(|node| {
        let chosen = choose(&node, options, problems)?;
        let bytes = output_bytes.get(&node.id).copied();
        Some(Node {
            name: node.name.clone(),
            accelerator_times: vec![Some(chosen.time_per_sample * 1000.0)],
            cpu_time: None,
            memory: chosen.memory_usage_a * f64::from(options.microbatches_in_flight) + chosen.memory_usage_b,
            transfer_time: 2.0 * bytes.unwrap_or_default() / bandwidth,
            output_bytes: bytes,
            parameter_bytes: chosen.parameter_size,
            ..Node::new(node.id)
        })
    });
    Ok(Instance {
        nodes: nodes.collect(),
        edges: edges.iter().map(|e| Edge { source: e.source_id, target: e.dest_id }).collect(),
        metadata: Metadata {
            source: Some(format!("Piper profile, {}", options.configuration)),
            provenance: Some(Provenance::Profiled),
            settings: file.mbs_in_batch.map(|n| ("microbatches".to_owned(), Setting::Number(n))).into_iter().collect(),
            ..Metadata::default()
        },
        platform: Platform {
            bandwidth: Some(bandwidth),
            ..Platform::uniform(file.max_devices, Some(file.max_memory_per_device), 0)
        },
        parallelism: Some(parallelism),
    })
}

/// All that a node can do, by tensor-parallel degree.
fn options_of(node: &FileNode, problems: &mut Problems) -> Vec<NodeOption> {
    let mut options = Vec::new();
    for (degree, configurations) in &node.configurations {
        let Ok(tensor_degree) = degree.parse() else {
            let cause = format!("{:?} is no tensor-parallel degree", shorten(degree, 40));
            problems.add(format!("node {}", node.id), cause, "give whole numbers as keys of `TMPCs`");
            continue;
        };
        options.extend(configurations.iter().map(|configuration| NodeOption {
            node: node.id,
            tensor_degree,
            name: configuration.id.clone(),
            time: configuration.time_per_sample,
            parameter_bytes: configuration.parameter_size,
            memory_per_microbatch: configuration.memory_usage_a,
            memory: configuration.memory_usage_b,
            sync_in: exchanged(&configuration.sync_time_fw),
            sync_out: exchanged(&configuration.sync_time_bw),
            ..NodeOption::default()
        }));
    }
    options.sort_by_key(|option| option.tensor_degree);
    options
}

/// Without the edges for which nothing is exchanged.
fn exchanged(bytes: &BTreeMap<u64, f64>) -> BTreeMap<u64, f64> {
    bytes.iter().filter(|&(_, &bytes)| bytes != 0.0).map(|(&id, &bytes)| (id, bytes)).collect()
}

/// What each edge moves: the most, where one is given more than once.
fn edge_bytes(edges: &[FileEdge]) -> Vec<EdgeBytes> {
    let mut most: BTreeMap<(u64, u64), f64> = BTreeMap::new();
    for edge in edges {
        let bytes = most.entry((edge.source_id, edge.dest_id)).or_insert(edge.communication_cost);
        *bytes = bytes.max(edge.communication_cost);
    }
    most.into_iter().map(|((source, target), bytes)| EdgeBytes { source, target, bytes }).collect()
}

/// The configuration that the options name, at tensor-parallel degree 1.
fn choose<'a>(node: &'a FileNode, options: &PiperOptions, problems: &mut Problems) -> Option<&'a Configuration> {
    let candidates = node.configurations.get("1").map(Vec::as_slice).unwrap_or_default();
    let chosen = candidates.iter().find(|c| c.id == options.configuration);
    if chosen.is_none() {
        let ids: Vec<String> = candidates.iter().take(4).map(|c| format!("{:?}", shorten(&c.id, 40))).collect();
        let known = if ids.is_empty() { "none".to_owned() } else { ids.join(", ") };
        problems.add(
            format!("node {}", node.id),
            format!("it has no configuration {:?} at tensor-parallel degree 1", options.configuration),
            format!("choose one that it has there ({known}) or add it to the file"),
        );
    }
    chosen
}
