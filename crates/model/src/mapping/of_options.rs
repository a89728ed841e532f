//! The stage graph of a split whose nodes run in options.

use std::collections::BTreeMap;

use super::{Message, Stage, StageGraph};
use crate::cost::{OptionCost, StageBytes, StageCosts};
use crate::problem::{DeviceAssignment, DeviceKind, Problem, Solution, first_together};

/// The share of the forward pass in the time of an option, which states that of both passes: the backward pass computes two
/// products for each of the forward pass.
const FORWARD_SHARE: f64 = 1.0 / 3.0;

/// How options turn into the stages of a pipeline.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct OfOptions {
    /// Bytes that the devices of a replica exchange in a time unit.
    pub bandwidth: f64,
    /// Replicas of each stage, which share out what ZeRO says.
    pub replicas: usize,
    /// Whether all that options and edges state is for the forward pass, as in serving.
    pub is_inference: bool,
}

impl StageGraph {
    /// The stages of a valid split of `problem` into stages with options, which `costs` are those of: one for each device that
    /// holds nodes, in its order, or for each of its chunks, in pipeline order. A copy is the devices of a replica; it takes a microbatch's
    /// time, and edges send what they move once in each pass. O(options + edges).
    pub fn of_options(problem: &Problem, costs: &StageCosts, split: &Solution, how: OfOptions) -> Self {
        let devices: Vec<&DeviceAssignment> = split.devices.iter().filter(|device| !device.nodes.is_empty()).collect();
        let homes = problem.spec.homes(devices.len());
        let first = first_together(&homes);
        let index = problem.index_of_ids();
        let mut stage_of = vec![0; problem.node_count()];
        let mut chosen: Vec<Option<&OptionCost>> = vec![None; problem.node_count()];
        let mut sums = vec![Sum::default(); homes.len()];
        for (home, device) in devices.iter().enumerate() {
            let DeviceKind::Accelerator(class) = device.kind else { continue };
            let chunks =
                if device.chunks.is_empty() { std::slice::from_ref(&device.nodes) } else { &device.chunks[..] };
            let held = (0..homes.len()).filter(|&stage| homes[stage] == home);
            for (stage, ids) in held.zip(chunks) {
                ids.iter().for_each(|id| stage_of[index[id]] = stage);
            }
            for (id, name) in device.nodes.iter().zip(&device.options) {
                let v = index[id];
                let is_chosen = |o: &&OptionCost| o.name == *name && o.is_of(class, device.tensor_degree);
                chosen[v] = costs.options[v].iter().find(is_chosen);
                chosen[v].iter().for_each(|option| sums[stage_of[v]].add(costs, option));
            }
        }
        let mut sent: BTreeMap<(usize, usize), f64> = BTreeMap::new();
        for (e, edge) in costs.edges.iter().enumerate() {
            let (source, target) = (stage_of[edge.source], stage_of[edge.target]);
            if source == target {
                continue;
            }
            let both = [(source, target), (target, source)];
            match how.is_inference {
                true => *sent.entry(both[0]).or_default() += 2.0 * edge.bytes,
                false => both.iter().for_each(|&way| *sent.entry(way).or_default() += edge.bytes),
            }
            // Nothing is exchanged for what does not leave the device.
            if first[source] == first[target] {
                continue;
            }
            for v in [edge.source, edge.target] {
                sums[stage_of[v]].exchanged += chosen[v].map_or(0.0, |option| option.exchanged_for(e));
            }
        }
        let stage = |(i, sum): (usize, &Sum)| Stage { name: format!("stage {i}"), ..sum.stage(how) };
        Self {
            name: problem.instance.metadata.name.clone().unwrap_or_default(),
            stages: sums.iter().enumerate().map(stage).collect(),
            messages: sent.into_iter().map(|((source, target), bytes)| Message { source, target, bytes }).collect(),
        }
    }
}

/// What the options of a stage add up to.
#[derive(Debug, Clone, Default)]
struct Sum {
    compute: f64,
    /// Bytes that the devices of a copy exchange in each pass.
    exchanged: f64,
    parameters: f64,
    bytes: StageBytes,
    working: f64,
}

impl Sum {
    fn add(&mut self, costs: &StageCosts, option: &OptionCost) {
        self.compute += option.compute;
        self.parameters += option.parameters;
        // Schedules that keep several versions count them by themselves.
        self.bytes = self.bytes.plus(&costs.bytes_of_one_version(option));
        self.working = self.working.max(option.working);
    }

    fn stage(&self, how: OfOptions) -> Stage {
        let exchange = self.exchanged / how.bandwidth;
        let (forward, backward) = match how.is_inference {
            true => (self.compute + 2.0 * exchange, 0.0),
            false => (FORWARD_SHARE * self.compute + exchange, (1.0 - FORWARD_SHARE) * self.compute + exchange),
        };
        let lasting = self.bytes.of(0, how.replicas) + self.working;
        Stage {
            forward,
            backward,
            parameter_bytes: self.parameters,
            memory: lasting + self.bytes.per_microbatch,
            lasting_bytes: Some(lasting),
            working_bytes: self.working,
            ..Stage::default()
        }
    }
}
