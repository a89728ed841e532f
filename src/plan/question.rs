//! What is asked of the solvers for a candidate, and what their answers say of its step.

use std::borrow::Cow;

use rustc_hash::FxHashMap;

use super::blocks::Blocks;
use super::groups::Rates;
use super::{PlanError, Shape};
use crate::cost::{CostModel, Costs, ProfiledCost, StageCosts};
use crate::graph::NodeId;
use crate::instance::{AcceleratorClass, Instance, Node, Parallelism, Platform, Problems};
use crate::mapping::{Counted, JointProblem, StageCost, Topology, UnitGraph};
use crate::problem::{Degrees, InFlight, Objective, Problem, ProblemSpec, Scope, StageMemory};
use crate::simulate::schedule::Schedule;
use crate::simulate::{Collective, Links};
use crate::solve::SearchContext;
use crate::solve::degrees::least_in_line;

/// Units to be split and placed together, and the nodes of each.
pub type Joint = (JointProblem, Vec<Vec<u64>>);

/// Split and placed together are no more units than these, on no more devices.
const MOST_JOINT_UNITS: usize = 32;
const MOST_JOINT_DEVICES: usize = 16;

/// A workload on devices that are shared out in one way.
pub struct Question<'a> {
    /// The workload with microbatches of the size that is looked at.
    pub instance: &'a Instance,
    /// The devices, those of a copy as one.
    pub topology: Cow<'a, Topology>,
    pub shape: Shape,
    /// Samples of a microbatch.
    pub microbatch_size: usize,
    /// Microbatches of each pipeline.
    pub microbatches: usize,
    /// Chunks of the pipeline on each device.
    pub chunks: usize,
    pub schedule: &'static dyn Schedule,
    /// Whether whole stages compute their activations once more.
    pub recompute: bool,
    pub links: Links,
    pub all_reduce: Collective,
    /// What stages keep.
    pub memory: StageMemory,
    /// Sets of nodes of which each is kept on one stage.
    pub together: &'a [Vec<NodeId>],
}

/// The costs of stages with degrees on links of one bandwidth, as pipelines pay for them that are simulated.
#[derive(Debug)]
struct OnLinks {
    rates: Rates,
    replicas: f64,
    /// Of the devices: what they compute and exchange takes less time where they are fast.
    speed: f64,
}

impl CostModel for OnLinks {
    fn costs(&self, instance: &Instance, spec: &ProblemSpec) -> Costs {
        let mut costs = ProfiledCost.costs(instance, spec);
        if let Some(stages) = &mut costs.stages {
            stages.bandwidth = self.rates.bandwidth;
            // PipeDream's planner counts 4 (R - 1) / R of the bytes on such links.
            let counted = 4.0 * (self.replicas - 1.0) / self.replicas / self.rates.bandwidth;
            let share = if counted > 0.0 { self.rates.all_reduce / counted } else { 0.0 };
            for option in stages.options.iter_mut().flatten() {
                option.parameters *= share;
                option.compute /= self.speed;
                option.exchanged.iter_mut().for_each(|(_, bytes)| *bytes /= self.speed);
            }
        }
        costs
    }
}

impl Question<'_> {
    /// Whether nodes have options, which state what both passes take.
    pub fn has_options(&self) -> bool {
        self.instance.parallelism.is_some()
    }

    /// Whether there is a backward pass: options state one under schedules that run it.
    pub fn is_training(&self) -> bool {
        self.has_options() && self.schedule.has_backward() || self.instance.nodes.iter().any(|node| node.backward)
    }

    /// Microbatches of all pipelines.
    pub(super) fn all_microbatches(&self) -> usize {
        self.microbatches * self.shape.replicas
    }

    /// The speed of the slowest copy of each stage, at best: the fastest devices make one stage, the next ones another.
    fn speeds(&self) -> Vec<f64> {
        let mut speeds: Vec<f64> = self.topology.devices.iter().map(|device| device.speed).collect();
        speeds.sort_by(|a, b| b.total_cmp(a));
        speeds
            .chunks_exact(self.shape.replicas)
            .take(self.shape.stages)
            .map(|copies| copies[copies.len() - 1])
            .collect()
    }

    pub(super) fn fastest(&self) -> f64 {
        self.speeds().first().copied().unwrap_or(1.0)
    }

    /// The memory of the largest device; `None` where one sets no limit.
    pub(super) fn most_memory(&self) -> Option<f64> {
        let limits: Option<Vec<f64>> = self.topology.devices.iter().map(|device| device.memory).collect();
        limits?.into_iter().max_by(f64::total_cmp)
    }

    /// What no message is faster than, and no all-reduce.
    pub(super) fn fastest_links(&self) -> Rates {
        let rates = Rates::fastest(&self.topology, self.shape.replicas, self.all_reduce);
        if self.is_training() { rates } else { Rates { all_reduce: 0.0, ..rates } }
    }

    /// What messages take that keep devices waiting, where links are like `rates`.
    pub(super) fn paid(&self, rates: Rates) -> Rates {
        if self.links == Links::Blocking { rates } else { Rates::FREE }
    }

    /// A time that no step is below, whatever the split: the devices of the stages at its ends wait for the others.
    ///
    /// Stages in line (`blocks.rs`) wait for each other: the i-th of them, of times T, begins after T's forward part of those
    /// before it, and after its last backward pass these run theirs, so that a step of m microbatches takes
    /// Σ_{j < i} T_j + m · T_i at least. The largest of these is least where all are equal: W / (1 − (1 − 1 / m)^S), for all
    /// work W on S stages. Of all stages e may not be in line, with a block's work each at most. Where gradients of weights may
    /// wait, none need to be, and the work is shared out evenly; so it is where devices hold several chunks, the first of which
    /// may take next to nothing.
    pub fn least_by_work(&self) -> f64 {
        let times = self.least_times();
        let of = |node: &Node| times.get(&node.id).copied().unwrap_or(0.0) / self.fastest();
        let works: Vec<f64> = self.instance.nodes.iter().map(of).collect();
        let (work, m) = (works.iter().sum::<f64>(), self.microbatches as f64);
        let stages = self.shape.stages.min(self.instance.nodes.len());
        let evenly = m * work / stages as f64;
        if !self.runs_in_line() {
            return evenly;
        }
        let block = Blocks::of(self.instance).heaviest(&works);
        let beside = |e: usize| {
            let in_line = (stages - e) as i32;
            let left = (work - e as f64 * block).max(0.0);
            match in_line {
                // Such stages alone have to hold all of it, but for rounding.
                0 => {
                    if left > 1e-9 * work {
                        f64::INFINITY
                    } else {
                        0.0
                    }
                }
                _ => left / (1.0 - (1.0 - 1.0 / m).powi(in_line)),
            }
        };
        evenly.max((0..=stages).map(beside).fold(f64::INFINITY, f64::min))
    }

    /// Whether stages in line run their passes one after another, as no schedule needs that puts off gradients of weights, nor
    /// several chunks on a device.
    pub fn runs_in_line(&self) -> bool {
        !self.schedule.splits_backward() && self.chunks == 1
    }

    /// The least time of each node at speed 1, without recomputation of whole stages.
    fn least_times(&self) -> FxHashMap<u64, f64> {
        let mut least = FxHashMap::default();
        let Some(stated) = &self.instance.parallelism else {
            let time = |node: &Node| Some((node.id, node.accelerator_times[0]?));
            return self.instance.nodes.iter().filter_map(time).collect();
        };
        for option in stated.options.iter().filter(|option| option.tensor_degree == self.shape.tensor) {
            let time = least.entry(option.node).or_insert(f64::INFINITY);
            *time = option.time.min(*time);
        }
        least
    }

    /// A time that no step is below where no slowest stage of [`Self::by_load`] is below `load`: its devices are busy with all
    /// microbatches.
    pub fn least_by_load(&self, load: f64) -> f64 {
        // With degrees, loads are for each microbatch of all pipelines.
        let each = if self.has_options() { self.all_microbatches() } else { self.microbatches };
        each as f64 * load
    }

    /// A time that no step is below where stages wait for each other in line and have memory by place, at least `known`: what
    /// they compute on the fastest devices, without messages and all-reduces. Infinite where no stages have the memory; `None`
    /// where nothing is known, within the limits of `cx`.
    ///
    /// # Errors
    /// The instance cannot be split like this.
    pub fn least_in_line(&self, known: f64, cx: &SearchContext) -> Result<Option<f64>, Problems> {
        if !self.runs_in_line() || self.shape.stages > self.microbatches {
            return Ok(None);
        }
        // The all-reduce of a stage passes while those before it run their last backward pass.
        let rates = Rates { all_reduce: 0.0, ..self.fastest_links() };
        let (problem, blocks) = (self.with_degrees(Objective::Throughput, rates)?, Blocks::of(self.instance));
        let microbatches = self.all_microbatches() as f64;
        let heaviest = |weights: &[f64]| blocks.heaviest(weights);
        let share = known / microbatches;
        let least = least_in_line(&problem, &heaviest, share, cx);
        Ok(least.map(|load| if load > share { microbatches * load } else { known }))
    }

    /// The problem whose optimum no slowest stage of a pipeline is below: every link is the fastest one. `None` where there may
    /// be more stages than it allows.
    ///
    /// # Errors
    /// The instance cannot be split like this.
    pub fn by_load(&self) -> Result<Option<Problem>, Problems> {
        let rates = self.fastest_links();
        if !self.has_options() {
            return self.on_classes(self.paid(rates)).map(Some);
        }
        match self.shape.stages <= self.microbatches {
            true => self.with_degrees(Objective::Throughput, rates).map(Some),
            false => Ok(None),
        }
    }

    /// The problem of the shortest step under memory by place, with links like the mean. All-reduces do not count: those of all
    /// stages but the first one run while the devices wait for the others.
    ///
    /// # Errors
    /// The instance cannot be split like this.
    pub fn by_step(&self) -> Result<Problem, Problems> {
        let objective = Objective::Step { microbatches: self.all_microbatches() };
        self.with_degrees(objective, Rates::mean(&self.topology))
    }

    /// Stages of these degrees on the fastest devices.
    pub(super) fn with_degrees(&self, objective: Objective, rates: Rates) -> Result<Problem, Problems> {
        let Shape { stages, replicas, tensor } = self.shape;
        let (rates, degrees) = (self.paid(rates), Some(self.degrees()));
        let (instance, platform) = self.with_links(rates);
        let mut platform = of_class(platform, stages * replicas * tensor, self.most_memory());
        platform.accelerators.iter_mut().for_each(|class| class.load = None);
        let chunks = (self.chunks > 1).then(|| self.chunks_by_place());
        let spec = ProblemSpec { objective, degrees, chunks, ..self.on(platform) };
        let costs = OnLinks { rates, replicas: replicas as f64, speed: self.fastest() };
        Problem::with_costs(&instance, spec, &costs)
    }

    /// What is asked of splits on these devices.
    pub(super) fn on(&self, platform: Platform) -> ProblemSpec {
        ProblemSpec { platform, scope: Scope::Acyclic, together: self.together.to_vec(), ..ProblemSpec::default() }
    }

    fn degrees(&self) -> Degrees {
        // What is in flight in several chunks is said by these.
        let in_flight = if self.chunks > 1 { InFlight::default() } else { self.memory.in_flight };
        Degrees {
            tensor: Some(vec![self.shape.tensor]),
            data: Some(vec![self.shape.replicas]),
            memory: StageMemory { in_flight, ..self.memory },
            ..Degrees::any(self.all_microbatches())
        }
    }

    /// The workload with transfers by links of these rates, of the bytes that it states or that its transfer times stand for.
    fn with_links(&self, rates: Rates) -> (Instance, Platform) {
        let mut instance = self.instance.clone();
        for node in &mut instance.nodes {
            let sent = |bytes: f64| if bytes > 0.0 { rates.latency + bytes / rates.bandwidth } else { 0.0 };
            node.transfer_time = node.output(self.instance.platform.bandwidth).map_or(node.transfer_time, sent);
        }
        let platform = Platform { bandwidth: Some(rates.bandwidth), ..self.instance.platform.clone() };
        (instance, platform)
    }

    /// Stages on classes of devices of one speed each; a stage bears each microbatch's share of its all-reduce.
    fn on_classes(&self, rates: Rates) -> Result<Problem, Problems> {
        let mut classes: Vec<(f64, usize)> = Vec::new();
        for speed in self.speeds() {
            match classes.last_mut() {
                Some((known, count)) if *known == speed => *count += 1,
                _ => classes.push((speed, 1)),
            }
        }
        let (instance, platform) = self.on_devices(rates, &classes);
        Problem::new(&instance, self.on(platform))
    }

    /// What nodes take and keep, were they stages without options: degrees are asked for.
    pub(super) fn stage_costs(&self) -> StageCosts {
        let platform = of_class(self.instance.platform.clone(), self.shape.stages, None);
        let asked = ProblemSpec { degrees: Some(self.degrees()), ..self.on(platform) };
        StageCosts::of(self.instance, &asked).unwrap_or_else(|| unreachable!("degrees are asked for"))
    }

    /// The workload on devices of these speeds, so many of each, where links are like `rates`: with what a stage bears of its
    /// all-reduce for each microbatch, and with what it has to hold of one.
    pub(super) fn on_devices(&self, rates: Rates, classes: &[(f64, usize)]) -> (Instance, Platform) {
        let (mut instance, mut platform) = self.with_links(rates);
        let costs = self.stage_costs();
        for (node, options) in instance.nodes.iter_mut().zip(&costs.options) {
            // What replicas share out no one has to hold; each stage keeps one microbatch at least.
            node.memory = options.iter().map(|option| costs.bytes(option).of(1, self.shape.replicas)).sum();
            let times = if self.recompute && self.is_training() && !node.backward { 2.0 } else { 1.0 };
            let share = rates.all_reduce * node.parameter_bytes / self.microbatches as f64;
            let on = |&(speed, _): &(f64, usize)| Some(node.accelerator_times[0]? * times / speed + share);
            node.accelerator_times = classes.iter().map(on).collect();
        }
        let class =
            |&(_, count): &(f64, usize)| AcceleratorClass { count, memory: self.most_memory(), ..Default::default() };
        platform.accelerators = classes.iter().map(class).collect();
        platform.cpus = 0;
        instance.platform = platform.clone();
        (instance, platform)
    }

    /// The workload as it stands on one device of speed 1 for each stage, or for its chunks.
    ///
    /// # Errors
    /// The instance cannot be split.
    pub fn as_it_stands(&self) -> Result<Problem, PlanError> {
        let platform = of_class(self.instance.platform.clone(), self.shape.stages, None);
        let asked = self.on(platform);
        let asked = if self.chunks > 1 {
            ProblemSpec { chunks: Some(self.chunks_of_devices()), objective: self.step(), ..asked }
        } else {
            asked
        };
        Ok(Problem::new(self.instance, asked)?)
    }

    /// The workload's units to be split and placed together, and the nodes of each; a unit bears each microbatch's share of its
    /// all-reduce, and messages take no latency.
    ///
    /// # Errors
    /// The instance cannot be split, and [`PlanError::NoJoint`] where there is no such question.
    pub fn joint(&self) -> Result<Joint, PlanError> {
        let devices = self.topology.len();
        if self.has_options() {
            return Err(PlanError::NoJoint("nodes have options".into()));
        }
        if self.links != Links::Blocking {
            let cause = "messages pass beside the compute, and it is the one of blocking links";
            return Err(PlanError::NoJoint(cause.into()));
        }
        if devices > MOST_JOINT_DEVICES {
            let cause = format!("there are {devices} devices, more than {MOST_JOINT_DEVICES}");
            return Err(PlanError::NoJoint(cause));
        }
        let (mut units, members) = UnitGraph::new(self.instance, &self.as_it_stands()?)?;
        if members.len() > MOST_JOINT_UNITS {
            let cause =
                format!("the workload has {} units that no split parts, more than {MOST_JOINT_UNITS}", members.len());
            return Err(PlanError::NoJoint(cause));
        }
        // It knows rings alone.
        let counts_rings = self.is_training() && self.all_reduce == Collective::Ring;
        for unit in &mut units.units {
            unit.parameter_bytes *= if counts_rings { 1.0 / self.microbatches as f64 } else { 0.0 };
            unit.backward += if self.recompute { unit.forward } else { 0.0 };
        }
        let Shape { stages, replicas, .. } = self.shape;
        // What several units send can go as one message, so that latencies do not count.
        let topology = self.topology.clone().into_owned().with_latency(|_, _| 0.0);
        let cost = StageCost::additive(Counted::Both);
        Ok((JointProblem { units, stages, replicas, topology, cost }, members))
    }
}

/// The class of accelerators that a workload's times and options are taken for; devices differ by the topology's speeds.
pub(super) const CLASS: usize = 0;

/// `count` accelerators of that class, and no other device.
fn of_class(mut platform: Platform, count: usize, memory: Option<f64>) -> Platform {
    for (class, accelerators) in platform.accelerators.iter_mut().enumerate() {
        accelerators.count = if class == CLASS { count } else { 0 };
        accelerators.memory = memory;
    }
    platform.cpus = 0;
    platform
}

/// The tensor degrees of an instance's options.
pub fn tensor_degrees(instance: &Instance) -> Vec<usize> {
    let of_options = |stated: &Parallelism| stated.options.iter().map(|option| option.tensor_degree).collect();
    let mut degrees: Vec<usize> = instance.parallelism.as_ref().map_or(vec![1], of_options);
    degrees.sort_unstable();
    degrees.dedup();
    degrees
}

/// Whether the options of a workload keep keys and values, which those of training do not.
pub fn keeps_tokens(instance: &Instance) -> bool {
    instance.parallelism.iter().flat_map(|stated| &stated.options).any(|option| option.cache_bytes_per_token > 0.0)
}
