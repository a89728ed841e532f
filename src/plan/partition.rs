//! The stages of a split, ready to be placed.

use std::collections::BTreeMap;

use rustc_hash::FxHashMap;

use super::PlanError;
use super::question::{CLASS, Question};
use crate::cost::{StageBytes, StageCosts};
use crate::instance::Instance;
use crate::mapping::{ClaimedMapping, Counted, Message, OfOptions, PlacedCopy, Stage, StageCost, StageGraph};
use crate::problem::{DeviceAssignment, DeviceKind, Problem, ProblemSpec, Solution};
use crate::verify::{self, Verified};

/// A verified split into stages.
#[derive(Debug, Clone)]
pub struct Partition {
    /// The split.
    pub verified: Verified,
    /// Its stages; fewer than allowed where the devices are better left empty.
    pub stages: StageGraph,
    /// The device of each of them, by its place among those that hold a pipeline.
    pub homes: Vec<usize>,
    /// What a copy's time is, with messages and all-reduce.
    pub cost: StageCost,
    /// The bytes of keys and values that each device of a stage keeps of a token; none where nodes have no options.
    pub cache_bytes: Vec<f64>,
}

impl Partition {
    /// The stages of a split that a method of this name found, be it a program of the user's; `options` is the problem with the
    /// options of all nodes.
    pub(super) fn of(
        question: &Question,
        options: &Problem,
        method: (&str, bool),
        split: &Solution,
    ) -> Result<Self, PlanError> {
        if !question.has_options() {
            return Self::of_nodes(question, method, split);
        }
        let Some(costs) = &StageCosts::of(question.instance, &options.spec) else {
            unreachable!("it was asked with degrees")
        };
        let split = given(split, true);
        Ok(Self {
            verified: verified(question, &options.spec, method, &split)?,
            stages: of_options(question, costs, options, &split),
            cost: StageCost::additive(Counted::Both),
            cache_bytes: cache_bytes(question.instance, &split),
            homes: options.spec.homes(split.devices.len()),
        })
    }

    /// The same of nodes without options.
    pub(super) fn of_nodes(question: &Question, method: (&str, bool), split: &Solution) -> Result<Self, PlanError> {
        let plain = question.as_it_stands()?;
        let split = given(split, question.chunks > 1);
        let homes = plain.spec.homes(split.devices.len());
        Ok(Self {
            verified: verified(question, &plain.spec, method, &split)?,
            stages: of_nodes(question, &question.stage_costs(), &one_by_one(&split, &homes))?,
            cost: StageCost::of(&plain, Counted::Both)?,
            cache_bytes: Vec::new(),
            homes,
        })
    }

    /// What each device holds as one stage, to be placed. It needs room for the largest of its stages at least.
    pub fn on_devices(&self) -> StageGraph {
        let StageGraph { name, stages, messages } = &self.stages;
        // The first stages are on a device each.
        let devices = self.devices();
        let mut held = stages[..devices].to_vec();
        for (stage, &home) in stages.iter().zip(&self.homes).skip(devices) {
            held[home] = both(&held[home], stage);
        }
        let mut sent: BTreeMap<(usize, usize), f64> = BTreeMap::new();
        for message in messages {
            let (source, target) = (self.homes[message.source], self.homes[message.target]);
            if source != target {
                *sent.entry((source, target)).or_default() += message.bytes;
            }
        }
        let messages = sent.into_iter().map(|((source, target), bytes)| Message { source, target, bytes }).collect();
        StageGraph { name: name.clone(), stages: held, messages }
    }

    /// The places of all stages, where those of [`Self::on_devices`] are placed like this.
    pub fn spread(&self, placed: &ClaimedMapping) -> ClaimedMapping {
        if self.devices() == self.homes.len() {
            return placed.clone();
        }
        let of_copy = |copy: &PlacedCopy| {
            let copy = PlacedCopy { time: None, ..copy.clone() };
            let held = (0..self.homes.len()).filter(move |&stage| self.homes[stage] == copy.stage);
            held.map(move |stage| PlacedCopy { stage, ..copy.clone() })
        };
        ClaimedMapping { copies: placed.copies.iter().flat_map(of_copy).collect(), ..ClaimedMapping::default() }
    }

    /// How many devices hold a pipeline.
    pub fn devices(&self) -> usize {
        self.homes.iter().max().map_or(0, |last| last + 1)
    }
}

/// What the verifier says of the split that a method found.
fn verified(
    question: &Question,
    spec: &ProblemSpec,
    (method, is_program): (&str, bool),
    split: &Solution,
) -> Result<Verified, PlanError> {
    verify::check(question.instance, spec, split).map_err(|violations| PlanError::Split {
        method: method.into(),
        stages: question.shape.stages,
        violations,
        is_program,
    })
}

/// Two stages of one device, which works on one of them at a time.
fn both(one: &Stage, other: &Stage) -> Stage {
    let ((one_lasts, one_keeps), (other_lasts, other_keeps)) = (one.kept(), other.kept());
    let working = one.working_bytes.max(other.working_bytes);
    let lasting = one_lasts + other_lasts - one.working_bytes.min(other.working_bytes);
    Stage {
        name: one.name.clone(),
        forward: one.forward + other.forward,
        backward: one.backward + other.backward,
        parameter_bytes: one.parameter_bytes + other.parameter_bytes,
        memory: lasting + f64::max(one_keeps, other_keeps),
        lasting_bytes: Some(lasting),
        working_bytes: working,
    }
}

/// The split with each of the chunks as a device of its own, in pipeline order; these are on the devices of `homes`.
fn one_by_one(split: &Solution, homes: &[usize]) -> Solution {
    if homes.len() == split.devices.len() {
        return split.clone();
    }
    let mut left: Vec<_> = split.devices.iter().map(|device| (device.kind, device.chunks.iter())).collect();
    let stages = homes.iter().filter_map(|&home| Some((left[home].0, left[home].1.next()?)));
    Solution {
        devices: stages.map(|(kind, nodes)| DeviceAssignment::new(kind, nodes.clone())).collect(),
        objective: None,
    }
}

/// The split as it is verified and written: without the classes of devices that it was asked for, and with all that devices
/// state only where options have degrees, or devices chunks.
fn given(split: &Solution, is_whole: bool) -> Solution {
    let held = split.devices.iter().filter(|device| !device.nodes.is_empty());
    let device = |device: &DeviceAssignment| match is_whole {
        true => device.clone(),
        false => DeviceAssignment::new(DeviceKind::Accelerator(0), device.nodes.clone()),
    };
    Solution { devices: held.map(device).collect(), objective: None }
}

/// The stages of nodes without options, in pipeline order.
fn of_nodes(question: &Question, costs: &StageCosts, split: &Solution) -> Result<StageGraph, PlanError> {
    let stages_with = |bytes: fn(StageBytes, usize) -> f64| {
        let mut instance = question.instance.clone();
        for (node, options) in instance.nodes.iter_mut().zip(&costs.options) {
            node.memory = options.iter().map(|option| bytes(costs.bytes(option), question.shape.replicas)).sum();
        }
        let problem =
            Question { instance: &instance, topology: question.topology.clone(), ..*question }.as_it_stands()?;
        Ok::<StageGraph, PlanError>(StageGraph::of(&instance, &problem, split)?)
    };
    let lasting = stages_with(|bytes, replicas| bytes.of(0, replicas))?;
    let mut graph = stages_with(|bytes, replicas| bytes.of(1, replicas))?;
    for (stage, lasting) in graph.stages.iter_mut().zip(lasting.stages) {
        stage.lasting_bytes = Some(lasting.memory);
    }
    Ok(graph)
}

/// The stages of options, in the order of the split.
fn of_options(question: &Question, costs: &StageCosts, options: &Problem, split: &Solution) -> StageGraph {
    let (bandwidth, replicas) = (question.fastest_links().bandwidth, question.shape.replicas);
    StageGraph::of_options(
        options,
        costs,
        split,
        OfOptions { bandwidth, replicas, is_inference: !question.is_training() },
    )
}

/// What each device of each stage keeps of a token, in the order of the split.
fn cache_bytes(instance: &Instance, split: &Solution) -> Vec<f64> {
    let stated = instance.parallelism.iter().flat_map(|stated| &stated.options);
    let bytes: FxHashMap<(u64, usize, &str), f64> = stated
        .filter(|option| option.class.is_none_or(|class| class == CLASS))
        .map(|option| ((option.node, option.tensor_degree, &*option.name), option.cache_bytes_per_token))
        .collect();
    let of_stage = |stage: &DeviceAssignment| {
        let nodes = stage.nodes.iter().zip(&stage.options);
        nodes.filter_map(|(&id, name)| bytes.get(&(id, stage.tensor_degree, &**name))).sum()
    };
    split.devices.iter().map(of_stage).collect()
}
