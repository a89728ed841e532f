//! The stage graph of a split.

use petgraph::algo::toposort;
use petgraph::graph::{DiGraph, NodeIndex};
use rustc_hash::FxHashMap;

use super::{Message, Stage, StageGraph};
use crate::instance::validate::node_place;
use crate::instance::{Instance, Node, Problems};
use crate::problem::{DeviceKind, Solution};

impl StageGraph {
    /// The stages of a split: one for each device that holds nodes, in pipeline order. A stage computes as long as its nodes on their accelerator class, and sends the output of
    /// each node once to every stage that consumes it. Replicas that the split states are left aside. O(n + m log m).
    ///
    /// # Errors
    /// Nodes that the split leaves out, that a CPU runs or an accelerator class without a time for them, or whose output
    /// has no size: a node's size is its output's bytes where the instance states them, else its transfer time times
    /// the platform's bandwidth. And forward passes in which devices wait for each other: stages run one after another.
    pub fn of(instance: &Instance, split: &Solution) -> Result<Self, Problems> {
        let mut problems = Problems::default();
        let parts: Vec<_> = split.devices.iter().filter(|device| !device.nodes.is_empty()).collect();
        let mut part_of: FxHashMap<u64, usize> = FxHashMap::default();
        for (part, device) in parts.iter().enumerate() {
            if device.kind == DeviceKind::Cpu {
                let cure = "map splits without CPUs, as of `dagsplit solve --cpus 0`";
                problems.add(format!("device {part}"), "it is a CPU, which no topology has", cure);
            }
            part_of.extend(device.nodes.iter().map(|&id| (id, part)));
        }
        for node in instance.nodes.iter().filter(|node| !part_of.contains_key(&node.id)) {
            problems.add(node_place(node), "it is on no device", "give a whole split");
        }
        problems.clone().into_result()?;
        let Some(place) = places(instance, &part_of, parts.len()) else {
            let cure = "map splits that are contiguous, as of `dagsplit solve`";
            problems.add("split", "devices wait for each other within the forward pass, as no stages do", cure);
            return Err(problems);
        };
        let mut stages = vec![Stage::default(); parts.len()];
        for node in &instance.nodes {
            let part = part_of[&node.id];
            let time = match parts[part].kind {
                DeviceKind::Accelerator(class) => node.accelerator_times.get(class).copied().flatten(),
                DeviceKind::Cpu => None,
            };
            if time.is_none() {
                let cure = "put it on a device that has a time for it";
                problems.add(node_place(node), format!("device {part} cannot run it"), cure);
            }
            add_node(&mut stages[place[part]], node, time.unwrap_or_default());
        }
        stages.iter_mut().enumerate().for_each(|(i, stage)| stage.name = format!("stage {i}"));
        let stage_of = |id: u64| place[part_of[&id]];
        let messages = messages(instance, &stage_of, &mut problems);
        problems.into_result()?;
        Ok(Self { name: instance.metadata.name.clone().unwrap_or_default(), stages, messages })
    }
}

fn add_node(stage: &mut Stage, node: &Node, time: f64) {
    if node.backward {
        stage.backward += time;
    } else {
        stage.forward += time;
    }
    stage.parameter_bytes += node.parameter_bytes;
    stage.memory += node.memory;
}

/// The stage that each part is: its place in a topological order of the forward pass; `None` where there is none.
fn places(instance: &Instance, part_of: &FxHashMap<u64, usize>, parts: usize) -> Option<Vec<usize>> {
    let backward: FxHashMap<u64, bool> = instance.nodes.iter().map(|node| (node.id, node.backward)).collect();
    let mut quotient = DiGraph::<(), ()>::new();
    // toposort puts later nodes first where it may, so they are added last to first.
    let nodes: Vec<NodeIndex> = (0..parts).map(|_| quotient.add_node(())).collect();
    let node_of = |part: usize| nodes[parts - 1 - part];
    for edge in instance.edges.iter().filter(|edge| !backward[&edge.source] && !backward[&edge.target]) {
        let (source, target) = (part_of[&edge.source], part_of[&edge.target]);
        if source != target {
            quotient.update_edge(node_of(source), node_of(target), ());
        }
    }
    let mut place: Vec<usize> = (0..parts).collect();
    let order = toposort(&quotient, None).ok()?;
    order.into_iter().enumerate().for_each(|(i, node)| place[parts - 1 - node.index()] = i);
    Some(place)
}

fn messages(instance: &Instance, stage_of: &dyn Fn(u64) -> usize, problems: &mut Problems) -> Vec<Message> {
    let node_of: FxHashMap<u64, &Node> = instance.nodes.iter().map(|node| (node.id, node)).collect();
    // Each output once for each stage that consumes it.
    let ends = instance.edges.iter().map(|edge| (edge.source, stage_of(edge.target)));
    let mut outputs: Vec<(u64, usize)> = ends.filter(|&(source, target)| stage_of(source) != target).collect();
    outputs.sort_unstable();
    outputs.dedup();
    let mut sent: std::collections::BTreeMap<(usize, usize), f64> = std::collections::BTreeMap::new();
    let mut unknown = None;
    for (source, target) in outputs {
        match output_bytes(node_of[&source], instance.platform.bandwidth) {
            Some(bytes) => *sent.entry((stage_of(source), target)).or_default() += bytes,
            // A node that feeds several stages is named once.
            None if unknown == Some(source) => {}
            None => {
                unknown = Some(source);
                let cause = "its output goes to another stage and has no size";
                problems.add(
                    node_place(node_of[&source]),
                    cause,
                    "state its `output_bytes`, or the platform's `bandwidth`",
                );
            }
        }
    }
    sent.into_iter().map(|((source, target), bytes)| Message { source, target, bytes }).collect()
}

/// Bytes of the node's output, as stated or by its transfer time; `None` where neither tells.
pub fn output_bytes(node: &Node, bandwidth: Option<f64>) -> Option<f64> {
    let nothing = (node.transfer_time == 0.0).then_some(0.0);
    node.output_bytes.or_else(|| Some(node.transfer_time * bandwidth?)).or(nothing)
}
