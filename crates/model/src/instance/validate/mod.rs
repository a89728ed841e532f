//! Every problem of an instance at once.

mod parallelism;

use std::collections::{BTreeMap, HashMap};
use std::fmt;

use super::{Edge, Instance, Metadata, Node, Platform, Setting};
use crate::graph::{CycleError, Graph};
use crate::load::wrong_pieces;

/// One thing wrong with a file or a request: where, what, and the cure.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Issue {
    /// The node, edge or field concerned.
    pub place: String,
    /// What is wrong with it.
    pub cause: String,
    /// What to do about it.
    pub cure: String,
}

/// Everything that is wrong with a file or a request.
#[derive(Debug, Clone, PartialEq, Eq, Default, thiserror::Error)]
pub struct Problems {
    /// The issues in the order they were found; at most [`Problems::SHOWN`] of them.
    pub issues: Vec<Issue>,
    /// How many more there are.
    pub more: usize,
}

impl Problems {
    /// How many issues are kept; the rest are only counted, so that no file can flood the terminal or memory.
    pub const SHOWN: usize = 100;

    /// Adds an issue.
    pub fn add(&mut self, place: impl Into<String>, cause: impl Into<String>, cure: impl Into<String>) {
        if self.issues.len() < Self::SHOWN {
            self.issues.push(Issue { place: place.into(), cause: cause.into(), cure: cure.into() });
        } else {
            self.more += 1;
        }
    }

    /// `Ok` when nothing was found.
    ///
    /// # Errors
    /// The problems themselves.
    pub fn into_result(self) -> Result<(), Self> {
        if self.issues.is_empty() { Ok(()) } else { Err(self) }
    }
}

impl fmt::Display for Problems {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let total = self.issues.len() + self.more;
        write!(f, "{total} problem{} found", if total == 1 { "" } else { "s" })?;
        for issue in &self.issues {
            write!(f, "\n  {}: {}; {}", issue.place, issue.cause, issue.cure)?;
        }
        if self.more > 0 {
            write!(f, "\n  … and {} more", self.more)?;
        }
        Ok(())
    }
}

/// More devices than any machine room holds; a larger number is a slip, and could exhaust memory.
const MAX_DEVICES: usize = 1_000_000;

/// Checks an instance: its numbers, ids, edges, colour classes, and that its graph is acyclic.
///
/// Edges given twice are allowed and count once. O(n + m).
///
/// # Errors
/// Every problem found, each with the node or edge, the cause and the cure.
pub fn validate(instance: &Instance) -> Result<(), Problems> {
    let mut found = Problems::default();
    check(instance, &mut found);
    found.into_result()
}

/// Adds the problems of `instance` to `found`. When something was found before, parts of the file may be
/// missing from the instance, and what only a complete one can tell is left unchecked.
pub fn check(instance: &Instance, found: &mut Problems) {
    let complete = found.issues.is_empty();
    check_metadata(&instance.metadata, found);
    check_platform(&instance.platform, found);
    if complete && instance.nodes.is_empty() {
        found.add("nodes", "there are none", "list at least one node");
    }
    check_nodes(instance, found);
    check_totals(instance, found);
    check_color_classes(&instance.nodes, found);
    let index = check_ids(&instance.nodes, found);
    if complete && check_size(instance.nodes.len(), instance.edges.len(), found) {
        check_edges(instance, &index, found);
        parallelism::check(instance, &index, found);
    }
}

/// How a node is shown: its id and the start of its name.
pub fn node_place(node: &Node) -> String {
    match &node.name {
        Some(name) => format!("node {} ({:?})", node.id, shorten(name, 40)),
        None => format!("node {}", node.id),
    }
}

/// The first `limit` characters of `text`.
pub fn shorten(text: &str, limit: usize) -> String {
    match text.char_indices().nth(limit) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

fn check_metadata(metadata: &Metadata, found: &mut Problems) {
    for (name, setting) in &metadata.settings {
        if let Setting::Number(number) = setting
            && !number.is_finite()
        {
            let place = format!("setting {:?}", shorten(name, 40));
            found.add(place, format!("it is {number}"), "give a finite number, or text");
        }
    }
}

fn check_platform(platform: &Platform, found: &mut Problems) {
    let devices = platform.accelerators.iter().fold(platform.cpus, |sum, class| sum.saturating_add(class.count));
    if devices > MAX_DEVICES {
        found.add("platform", format!("it has more than {MAX_DEVICES} devices"), "correct the counts");
    }
    for (i, class) in platform.accelerators.iter().enumerate() {
        if let Some(memory) = class.memory {
            check_amount(|| format!("accelerator class {i}"), "memory", "bytes", memory, found);
        }
        if let Some((cause, cure)) = class.load.as_deref().and_then(wrong_pieces) {
            found.add(format!("accelerator class {i}"), cause, cure);
        }
    }
    if let Some(bandwidth) = platform.bandwidth.filter(|b| !b.is_finite() || *b <= 0.0) {
        found.add(
            "platform",
            format!("its bandwidth is {bandwidth}"),
            "give a positive finite number of bytes per time unit, or leave it out",
        );
    }
}

/// Reports `value` unless it is finite and at least zero.
fn check_amount(place: impl Fn() -> String, what: &str, unit: &str, value: f64, found: &mut Problems) {
    if !value.is_finite() || value < 0.0 {
        found.add(
            place(),
            format!("its {what} is {value}"),
            format!("give a finite number of {unit} that is at least 0"),
        );
    }
}

fn check_nodes(instance: &Instance, found: &mut Problems) {
    let classes = instance.platform.accelerators.len();
    for node in &instance.nodes {
        let place = || node_place(node);
        let mut amount = |what: &str, unit, value| check_amount(place, what, unit, value, found);
        for (i, time) in node.accelerator_times.iter().enumerate() {
            time.iter().for_each(|&t| amount(&format!("time on accelerator class {i}"), "time units", t));
        }
        node.cpu_time.iter().for_each(|&t| amount("CPU time", "time units", t));
        amount("memory", "bytes", node.memory);
        amount("transfer time", "time units", node.transfer_time);
        node.output_bytes.iter().for_each(|&b| amount("output size", "bytes", b));
        amount("parameter size", "bytes", node.parameter_bytes);
        node.time_spread.iter().for_each(|&t| amount("time spread", "time units", t));
        if node.accelerator_times.len() != classes {
            found.add(
                place(),
                format!("it has {} accelerator times for {classes} classes", node.accelerator_times.len()),
                "give one time, or null, for each accelerator class of the platform",
            );
        } else if node.cpu_time.is_none() && node.accelerator_times.iter().all(Option::is_none) {
            found.add(place(), "no device can run it", "give it a time on an accelerator class or on a CPU");
        }
    }
}

/// Sums over all nodes must stay finite, or loads would not.
fn check_totals(instance: &Instance, found: &mut Problems) {
    let mut total = |what: &str, value: fn(&Node) -> f64| {
        let values = || instance.nodes.iter().map(value);
        if values().all(f64::is_finite) && !values().sum::<f64>().is_finite() {
            found.add("nodes", format!("their {what} add up to infinity"), "choose a larger unit");
        }
    };
    total("times", |v| v.accelerator_times.iter().flatten().sum::<f64>() + v.cpu_time.unwrap_or_default());
    total("transfer times", |v| v.transfer_time);
    total("memory sizes", |v| v.memory);
    total("parameter sizes", |v| v.parameter_bytes);
}

/// Every colour class needs a device kind that can run all its nodes.
fn check_color_classes(nodes: &[Node], found: &mut Problems) {
    let mut classes: BTreeMap<u64, Vec<&Node>> = BTreeMap::new();
    for node in nodes {
        node.color_class.iter().for_each(|&class| classes.entry(class).or_default().push(node));
    }
    for (class, members) in classes {
        let runs = |node: &Node, kind: usize| match node.accelerator_times.get(kind) {
            Some(time) => time.is_some(),
            None => node.cpu_time.is_some(),
        };
        let kinds = members.iter().map(|v| v.accelerator_times.len()).max().unwrap_or_default();
        let alone = members.iter().any(|v| (0..=kinds).all(|kind| !runs(v, kind)));
        if !alone && !(0..=kinds).any(|kind| members.iter().all(|v| runs(v, kind))) {
            let ids: Vec<String> = members.iter().take(8).map(|v| v.id.to_string()).collect();
            found.add(
                format!("colour class {class}"),
                format!("no kind of device can run all its nodes ({}{})", ids.join(", "), more(members.len(), 8)),
                "give its nodes a kind of device in common, or take them apart",
            );
        }
    }
}

/// `, …` when there are more than `shown`.
fn more(count: usize, shown: usize) -> &'static str {
    if count > shown { ", …" } else { "" }
}

/// The index of each id; ids that occur again are reported.
fn check_ids(nodes: &[Node], found: &mut Problems) -> HashMap<u64, usize> {
    let mut index = HashMap::with_capacity(nodes.len());
    for (v, node) in nodes.iter().enumerate() {
        let first = *index.entry(node.id).or_insert(v);
        if first != v {
            found.add(
                node_place(node),
                format!("entries {} and {} of the node list have this id", first + 1, v + 1),
                "give every node an id of its own",
            );
        }
    }
    index
}

/// Node and edge indices are 32-bit numbers. Returns whether they are large enough.
fn check_size(nodes: usize, edges: usize, found: &mut Problems) -> bool {
    let before = found.issues.len();
    for (what, count) in [("nodes", nodes), ("edges", edges)] {
        if count >= u32::MAX as usize {
            found.add(what, format!("there are {count}"), format!("keep below {}", u32::MAX));
        }
    }
    found.issues.len() == before
}

fn check_edges(instance: &Instance, index: &HashMap<u64, usize>, found: &mut Problems) {
    let mut edges = Vec::with_capacity(instance.edges.len());
    for edge in &instance.edges {
        let ends = (index.get(&edge.source), index.get(&edge.target));
        if let (Some(&u), Some(&v)) = ends {
            check_direction(edge, &instance.nodes[u], &instance.nodes[v], found);
            // A node's edge to itself is reported above; left here it would hide longer cycles.
            if u != v {
                edges.push((u, v));
            }
            continue;
        }
        for (end, id, known) in [("source", edge.source, ends.0), ("target", edge.target, ends.1)] {
            if known.is_none() {
                found.add(edge_place(edge), format!("its {end} {id} is no node"), "add the node or drop the edge");
            }
        }
    }
    if let Err(CycleError(cycle)) = Graph::new(instance.nodes.len(), &edges) {
        found.add("edges", format!("they form the cycle {}", show_cycle(instance, &cycle)), "drop one of its edges");
    }
}

fn edge_place(edge: &Edge) -> String {
    format!("edge {} → {}", edge.source, edge.target)
}

fn check_direction(edge: &Edge, source: &Node, target: &Node, found: &mut Problems) {
    if edge.source == edge.target {
        found.add(edge_place(edge), "a node cannot consume its own output", "drop the edge");
    }
    if source.backward && !target.backward {
        found.add(
            edge_place(edge),
            "it leads from a backward node to a forward node",
            "turn the edge, or correct the nodes' backward flags",
        );
    }
}

/// The ids along a cycle, with the middle of a long one left out.
fn show_cycle(instance: &Instance, cycle: &[usize]) -> String {
    const ENDS: usize = 10;
    let mut steps: Vec<String> = cycle.iter().map(|&v| instance.nodes[v].id.to_string()).collect();
    steps.extend(steps.first().cloned());
    if steps.len() > 2 * ENDS + 1 {
        let middle = ENDS..steps.len() - ENDS;
        let note = format!("({} more)", middle.len());
        steps.splice(middle, [note]);
    }
    steps.join(" → ")
}
