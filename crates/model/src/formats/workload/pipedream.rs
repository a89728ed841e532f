//! PipeDream's profiles (Narayanan et al. 2019): text, one line per node or edge.
//!
//! ```text
//! node4 -- Conv2d(3, 64) -- forward_compute_time=1.5, backward_compute_time=3.0, activation_size=4096.0, parameter_size=512.0
//!     node4 -- node5
//! ```
//!
//! Times are in milliseconds and sizes in bytes; `activation_size=[a; b; c]` lists several tensors, which add up;
//! a `stage_id` may follow. A profile names no devices: [`PipeDreamOptions`] does.
//!
//! A training graph is built as the published layer graphs of Tarnawski et al. 2020 were built from these
//! profiles: each profile node v gives a forward and a backward node in one colour class, each with the time of
//! its pass and the memory of activation and parameters; each edge u → v gives u → v and grad(u) → grad(v), both
//! with u's transfer time. The backward edges thus point along the forward ones, against the flow of gradients:
//! the gradient that v returns to u has the size of u's output, and only a node's own output size can be charged
//! to its edges. No edge joins the passes, as colocation makes it free. Ids of backward nodes follow the
//! profile's largest id in the order of the file.

use std::collections::{HashMap, HashSet};

use crate::instance::validate::shorten;
use crate::instance::{Edge, Instance, Metadata, Node, Platform, Problems, Provenance};

/// Which passes a profile is turned into.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Pass {
    /// The forward pass alone.
    #[default]
    Inference,
    /// The forward and the backward pass.
    Training,
}

/// What a PipeDream profile leaves open, and other files that name no devices.
#[derive(Debug, Clone, PartialEq)]
pub struct PipeDreamOptions {
    /// How many accelerators there are.
    pub accelerators: usize,
    /// Memory of each, in bytes; `None` is unlimited.
    pub memory: Option<f64>,
    /// Bandwidth between an accelerator and host memory, in bytes per second.
    pub bandwidth: f64,
    /// How many CPUs there are.
    pub cpus: usize,
    /// Time on a CPU relative to the profiled time.
    pub cpu_factor: f64,
    /// Which passes to build.
    pub pass: Pass,
    /// Keep sources called `Input…` and then sinks called `__getitem__…`, which PipeDream's optimizer drops.
    pub keep_inputs: bool,
}

impl Default for PipeDreamOptions {
    /// Six accelerators of 16 GiB at 10 GB/s and one CPU, ten times slower; inference.
    fn default() -> Self {
        Self {
            accelerators: 6,
            memory: Some((1_u64 << 34) as f64),
            bandwidth: 1e10,
            cpus: 1,
            cpu_factor: 10.0,
            pass: Pass::Inference,
            keep_inputs: false,
        }
    }
}

/// One node of a profile.
#[derive(Default)]
struct ProfileNode {
    id: u64,
    description: String,
    forward: f64,
    backward: f64,
    activation: f64,
    parameters: f64,
}

#[derive(Default)]
struct Profile {
    nodes: Vec<ProfileNode>,
    edges: Vec<Edge>,
}

pub(super) fn parse(text: &str, options: &PipeDreamOptions, problems: &mut Problems) -> Instance {
    let mut profile = parse_profile(text, problems);
    if !options.keep_inputs {
        drop_where(&mut profile, |edge| edge.target, "Input");
        drop_where(&mut profile, |edge| edge.source, "__getitem__");
    }
    if !options.bandwidth.is_finite() || options.bandwidth <= 0.0 {
        problems.add(
            "bandwidth",
            format!("it is {}", options.bandwidth),
            "give a positive finite number of bytes per second",
        );
    }
    build(&profile, options, problems)
}

/// Drops the nodes whose description starts with `prefix` and that are on no edge's `end`.
fn drop_where(profile: &mut Profile, end: impl Fn(&Edge) -> u64, prefix: &str) {
    let joined: HashSet<u64> = profile.edges.iter().map(end).collect();
    let goes = |node: &ProfileNode| node.description.starts_with(prefix) && !joined.contains(&node.id);
    let gone: HashSet<u64> = profile.nodes.iter().filter(|node| goes(node)).map(|node| node.id).collect();
    profile.nodes.retain(|node| !gone.contains(&node.id));
    profile.edges.retain(|edge| !gone.contains(&edge.source) && !gone.contains(&edge.target));
}

fn parse_profile(text: &str, problems: &mut Problems) -> Profile {
    let mut profile = Profile::default();
    let mut lines_of: HashMap<u64, usize> = HashMap::new();
    for (number, line) in (1..).zip(text.lines()).filter(|(_, line)| !line.trim().is_empty()) {
        let parts: Vec<&str> = line.trim().split(" -- ").map(str::trim).collect();
        let id = node_id(parts[0]);
        match (id, parts.as_slice()) {
            (Some(source), [_, target]) if node_id(target).is_some() => {
                profile.edges.extend(node_id(target).map(|target| Edge { source, target }));
            }
            (Some(id), [_, description @ .., fields]) if !description.is_empty() => {
                let first = *lines_of.entry(id).or_insert(number);
                if first != number {
                    problems.add(
                        format!("line {number}, node {id}"),
                        format!("line {first} describes this node, too"),
                        "keep one of the two lines",
                    );
                    continue;
                }
                let (description, fields) = match description {
                    [rest @ .., last] if fields.starts_with("stage_id") => (rest, *last),
                    all => (all, *fields),
                };
                let mut node = ProfileNode { id, description: description.join(" -- "), ..Default::default() };
                parse_fields(&mut node, fields, number, problems);
                profile.nodes.push(node);
            }
            _ => problems.add(
                format!("line {number}"),
                format!("{:?} is neither a node nor an edge", shorten(line.trim(), 60)),
                "write `node1 -- Name -- forward_compute_time=…, …` or `node1 -- node2`",
            ),
        }
    }
    profile
}

fn node_id(text: &str) -> Option<u64> {
    text.strip_prefix("node").filter(|digits| !digits.starts_with('+'))?.parse().ok()
}

/// Fills `node` from `key=value, key=value, …`; unknown keys are left aside.
fn parse_fields(node: &mut ProfileNode, fields: &str, line: usize, problems: &mut Problems) {
    let place = format!("line {line}, node {}", node.id);
    let wanted = [
        ("forward_compute_time", &mut node.forward),
        ("backward_compute_time", &mut node.backward),
        ("activation_size", &mut node.activation),
        ("parameter_size", &mut node.parameters),
    ];
    for (key, slot) in wanted {
        let value = fields.split(", ").find_map(|field| field.trim().strip_prefix(key)?.strip_prefix('='));
        match value.map(|text| (text, sum(text))) {
            Some((_, Some(value))) => *slot = value,
            Some((text, None)) => problems.add(
                place.as_str(),
                format!("its {key} is {:?}", shorten(text, 40)),
                "give a finite number that is at least 0, or a list of them such as [1.0; 2.0]",
            ),
            None => problems.add(place.as_str(), format!("it has no {key}"), format!("add `{key}=…`")),
        }
    }
}

/// A number, or the sum of a list such as `[6291456.0; 131072.0]`.
fn sum(text: &str) -> Option<f64> {
    let number = |part: &str| part.trim().parse().ok().filter(|x: &f64| x.is_finite() && *x >= 0.0);
    match text.trim().strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
        Some(list) if list.trim().is_empty() => Some(0.0),
        Some(list) => list.split(';').map(number).sum(),
        None => number(text),
    }
}

fn build(profile: &Profile, options: &PipeDreamOptions, problems: &mut Problems) -> Instance {
    let bandwidth = options.bandwidth / 1000.0;
    let node = |v: &ProfileNode, id: u64, time: f64| Node {
        accelerator_times: vec![Some(time)],
        cpu_time: Some(time * options.cpu_factor),
        memory: v.activation + v.parameters,
        transfer_time: v.activation / bandwidth,
        output_bytes: Some(v.activation),
        ..Node::new(id)
    };
    let training = options.pass == Pass::Training;
    let gradients = if training { gradient_ids(profile, problems) } else { HashMap::new() };
    let mut instance = Instance {
        metadata: Metadata {
            source: Some("PipeDream profile".to_owned()),
            provenance: Some(Provenance::Profiled),
            ..Metadata::default()
        },
        platform: Platform {
            bandwidth: Some(bandwidth),
            ..Platform::uniform(options.accelerators, options.memory, options.cpus)
        },
        ..Instance::default()
    };
    for v in &profile.nodes {
        instance.nodes.push(Node {
            name: Some(v.description.clone()),
            parameter_bytes: v.parameters,
            color_class: training.then_some(v.id),
            ..node(v, v.id, v.forward)
        });
        if let Some(&id) = gradients.get(&v.id) {
            instance.nodes.push(Node {
                name: Some(format!("{} grad", v.description)),
                backward: true,
                color_class: Some(v.id),
                ..node(v, id, v.backward)
            });
        }
    }
    for edge in &profile.edges {
        instance.edges.push(*edge);
        if let (Some(&source), Some(&target)) = (gradients.get(&edge.source), gradients.get(&edge.target)) {
            instance.edges.push(Edge { source, target });
        }
    }
    instance
}

/// The id of each node's backward node.
fn gradient_ids(profile: &Profile, problems: &mut Problems) -> HashMap<u64, u64> {
    let largest = profile.nodes.iter().map(|v| v.id).max().unwrap_or_default();
    if largest.checked_add(profile.nodes.len() as u64).is_none() {
        problems.add(format!("node {largest}"), "its id leaves none for the backward nodes", "use smaller ids");
        return HashMap::new();
    }
    profile.nodes.iter().zip(largest + 1..).map(|(v, id)| (v.id, id)).collect()
}
