//! The devices of a split as stages that follow one another.

use std::collections::HashMap;

use super::names;
use crate::graph::{Graph, topological};
use crate::instance::{Instance, Problems};
use crate::problem::{Chunks, DeviceKind, Placement};
use crate::verify::{Verified, VerifiedDevice};

/// One device of a pipeline, or one of the chunks that it holds.
#[derive(Debug, Clone, PartialEq)]
pub struct Stage {
    /// Accelerator or CPU.
    pub kind: DeviceKind,
    /// Its forward nodes, by their index in the instance, ascending.
    pub nodes: Vec<usize>,
    /// Its device's share of the time per sample, in the instance's unit.
    pub load: f64,
    /// Bytes that its device's nodes occupy.
    pub memory: f64,
}

/// A contiguous split without replicas: data flows from earlier stages to later ones.
#[derive(Debug, Clone, PartialEq)]
pub struct Pipeline {
    /// The stages that hold forward nodes, in the order in which data passes them.
    pub stages: Vec<Stage>,
    /// The stage of each node of the instance; `None` for backward nodes, which run where their forward nodes do.
    pub stage_of: Vec<Option<usize>>,
    /// Whether each node's option computes its activations once more.
    pub recomputes: Vec<bool>,
    /// The degrees of the stages, where they have any.
    pub degrees: Option<Degrees>,
    /// Which of the stages each device holds, where it holds several.
    pub chunks: Option<Chunks>,
}

/// The degrees that all stages share.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Degrees {
    /// Devices that share the operators of a copy.
    pub tensor: usize,
    /// Copies of each stage.
    pub data: usize,
}

impl Pipeline {
    /// The stages of `verified`, a split of `instance`. Where data leaves their order open, the stage whose first node
    /// comes first in the instance goes first. Chunks of a device are stages of their own, in the order of their `placement`.
    /// O(n + m) and sorting.
    ///
    /// An option computes activations once more if its name says so, as `recompute` does, and Piper's `activation
    /// recomp`.
    ///
    /// # Errors
    /// The split has replicas, degrees that differ, or a device with backward nodes alone, or data flows in a circle between its devices.
    pub fn new(instance: &Instance, verified: &Verified, placement: Placement) -> Result<Self, Problems> {
        let mut found = Problems::default();
        let index: HashMap<u64, usize> = instance.nodes.iter().enumerate().map(|(v, node)| (node.id, v)).collect();
        let mut stages: Vec<Stage> = Vec::new();
        let (chunks, parts) = parts(verified, placement);
        for (d, nodes) in parts {
            let device = &verified.devices()[d];
            let has_degrees = device.has_degrees();
            let degrees = |device: &VerifiedDevice| (device.tensor_degree(), device.replicas());
            if has_degrees && degrees(device) != degrees(&verified.devices()[0]) {
                let cure = "split with one tensor and one data degree for all stages, as `plan` does";
                found.add(
                    format!("device {d}"),
                    "its degrees are not those of device 0, and frameworks have one",
                    cure,
                );
            }
            if !has_degrees && device.replicas() > 1 {
                let cure = "split without --replicas, and let the framework add data parallelism";
                found.add(format!("device {d}"), format!("it stands for {} replicas", device.replicas()), cure);
            }
            let stage = stage(instance, &index, device, nodes);
            if !stage.nodes.is_empty() {
                stages.push(stage);
            } else if !nodes.is_empty() {
                let cure = "solve with colour classes that keep backward nodes with their forward nodes";
                found.add(format!("device {d}"), "it holds backward nodes alone, so it is no stage", cure);
            }
        }
        if stages.is_empty() && found.issues.is_empty() {
            found.add("the split", "no device holds a node", "solve an instance that has nodes");
        }
        if chunks.is_none() {
            in_order(instance, &index, &mut stages, &mut found);
        }
        found.into_result()?;
        let stage_of = stage_of(instance.nodes.len(), &stages);
        let mut recomputes = vec![false; instance.nodes.len()];
        for (id, option) in verified.devices().iter().flat_map(|device| device.nodes().iter().zip(device.options())) {
            recomputes[index[id]] = option.contains("recomp");
        }
        let stated = verified.devices().iter().find(|device| device.has_degrees());
        let degrees = stated.map(|device| Degrees { tensor: device.tensor_degree(), data: device.replicas() });
        Ok(Self { stages, stage_of, recomputes, degrees, chunks })
    }

    /// How many devices hold a pipeline.
    pub(super) fn depth(&self) -> usize {
        self.stages.len() / self.chunks.map_or(1, |chunks| chunks.count)
    }

    /// The stages on which nothing costs anything, by their place.
    pub(super) fn idle(&self, instance: &Instance) -> impl Iterator<Item = usize> {
        let is_idle = |stage: &Stage| !stage.nodes.iter().any(|&v| names::costs(&instance.nodes[v]));
        self.stages.iter().enumerate().filter(move |(_, stage)| is_idle(stage)).map(|(s, _)| s)
    }
}

/// The devices, each with its nodes; where these are several chunks, each chunk with its device, in pipeline order.
fn parts(verified: &Verified, placement: Placement) -> (Option<Chunks>, Vec<(usize, &[u64])>) {
    let devices = verified.devices();
    let used: Vec<usize> = (0..devices.len()).filter(|&d| !devices[d].chunks().is_empty()).collect();
    let Some(&first) = used.first() else {
        return (None, devices.iter().map(VerifiedDevice::nodes).enumerate().collect());
    };
    let chunks = Chunks::new(devices[first].chunks().len(), placement);
    let mut held: Vec<_> = devices.iter().map(|device| device.chunks().iter()).collect();
    let homes = chunks.homes(used.len()).into_iter().map(|home| used[home]);
    (Some(chunks), homes.filter_map(|d| Some((d, held[d].next()?.as_slice()))).collect())
}

/// Brings the stages into the order in which data passes them.
fn in_order(instance: &Instance, index: &HashMap<u64, usize>, stages: &mut Vec<Stage>, found: &mut Problems) {
    stages.sort_by_key(|stage| {
        let first = stage.nodes.iter().find(|&&v| names::costs(&instance.nodes[v]));
        (first.is_none(), first.copied().unwrap_or(stage.nodes[0]))
    });
    match order(instance, index, stages) {
        Ok(order) => *stages = order.into_iter().map(|s| stages[s].clone()).collect(),
        Err(cycle) => found.add(
            "the split",
            format!("data flows in a circle between {cycle} of its devices, so they form no pipeline"),
            "solve with --scope acyclic",
        ),
    }
}

/// The stage of a device that holds these of its nodes.
fn stage(instance: &Instance, index: &HashMap<u64, usize>, device: &VerifiedDevice, nodes: &[u64]) -> Stage {
    let nodes = nodes.iter().filter_map(|id| index.get(id).copied());
    let mut nodes: Vec<usize> = nodes.filter(|&v| !instance.nodes[v].backward).collect();
    nodes.sort_unstable();
    Stage { kind: device.kind(), nodes, load: device.load(), memory: device.memory() }
}

fn stage_of(n: usize, stages: &[Stage]) -> Vec<Option<usize>> {
    let mut stage_of = vec![None; n];
    for (s, stage) in stages.iter().enumerate() {
        stage.nodes.iter().for_each(|&v| stage_of[v] = Some(s));
    }
    stage_of
}

/// The order in which data passes the stages, or how many of them lie on a circle.
fn order(instance: &Instance, index: &HashMap<u64, usize>, stages: &[Stage]) -> Result<Vec<usize>, usize> {
    let stage_of = stage_of(instance.nodes.len(), stages);
    let end = |id: u64| index.get(&id).and_then(|&v| stage_of[v]);
    let links = instance.edges.iter().filter_map(|edge| Some((end(edge.source)?, end(edge.target)?)));
    let links: Vec<(usize, usize)> = links.filter(|(a, b)| a != b).collect();
    match Graph::new(stages.len(), &links) {
        Ok(graph) => Ok(topological::smallest_first(&graph)),
        Err(cycle) => Err(cycle.0.len()),
    }
}
