//! Devices, objective, scope and options of a problem, as plain data.

mod chunk_memory;
mod chunk_moments;
mod chunks;
mod degrees;
mod memory;
mod sharding;
mod stage_memory;

pub use chunk_memory::{ChunkMemory, ChunksInFlight};
pub use chunks::{Chunks, Placement, first_together};
pub use degrees::Degrees;
pub use memory::{MemoryModel, fits, most_bytes};
pub use sharding::{NodeWeight, Sharding};
pub use stage_memory::{InFlight, MOST_IN_FLIGHT, MemoryParts, Optimizer, Precision, StageMemory, Training};

use serde::{Deserialize, Serialize};

use crate::graph::NodeId;
use crate::instance::{Instance, Platform, Problems};
use crate::load::wrong_pieces;

/// A kind of device.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum DeviceKind {
    /// An accelerator of the class with this index in the platform.
    Accelerator(usize),
    /// A CPU.
    Cpu,
}

/// Which splits count. Each scope is narrower than the one before it.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Scope {
    /// Any assignment of nodes to devices.
    Arbitrary,
    /// Each device's set of forward nodes is convex (Tarnawski 2020, Definition 3.1).
    Convex,
    /// The devices can be ordered so that each prefix holds an ideal of the forward graph.
    #[default]
    Acyclic,
    /// Each device holds an interval of this order of the nodes' indices (Tarnawski 2020, section 5.1.2).
    Linearized(Vec<NodeId>),
}

impl Scope {
    /// The scope's name on the command line and in JSON.
    pub fn name(&self) -> &'static str {
        match self {
            Scope::Arbitrary => "arbitrary",
            Scope::Convex => "convex",
            Scope::Acyclic => "acyclic",
            Scope::Linearized(_) => "linearized",
        }
    }

    /// Whether what holds for every split of this scope holds for every split of the scope `asked`.
    pub fn covers(&self, asked: &Self) -> bool {
        self == asked || Self::width(self.name()) > Self::width(asked.name())
    }

    /// How many splits the scope of this name holds, from few to many.
    pub fn width(name: &str) -> Option<usize> {
        ["linearized", "acyclic", "convex", "arbitrary"].iter().position(|&scope| scope == name)
    }
}

/// What is minimised.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Objective {
    /// The largest device load: the time per sample of a pipeline (1F1B in training).
    #[default]
    Throughput,
    /// The largest forward load plus the largest backward load: GPipe's schedule.
    ///
    /// A node's compute and the transfers of its output belong to the pass of that node.
    GPipe,
    /// The time of one step of a pipeline that is emptied after each: with T the load of a stage for one microbatch,
    /// Σ T + (microbatches − 1) · max T.
    ///
    /// GPipe takes as long where all stages' forward and backward passes are in one ratio and messages are free;
    /// elsewhere it is an estimate. It asks for stages that follow one another, so for the scopes [`Scope::Acyclic`] and
    /// [`Scope::Linearized`]. [`Degrees`] say what it is of stages that have data degrees, [`Chunks`] of devices that hold
    /// several stages.
    Step {
        /// Microbatches of a step, called m; at least 1.
        microbatches: usize,
    },
    /// The time until one sample has passed, with no pipelining (Tarnawski 2020, section 4).
    ///
    /// An accelerator holds at most `subgraphs` contiguous subgraphs, which run one after another and share its
    /// memory. Each is atomic: it starts once all its producers are ready, takes its load, and its outputs are ready
    /// when it ends. CPU nodes run as soon as their inputs are ready, any number in parallel. Colour classes share a
    /// device, not a subgraph, and backward nodes are nodes like any other: a device that takes part in both passes
    /// of a training graph needs two subgraphs.
    ///
    /// That the subgraphs can run at all is what contiguity asks of them, so that the scopes other than
    /// [`Scope::Linearized`] do not differ.
    Latency {
        /// The most subgraphs of one accelerator, called q in the paper; at least 1.
        subgraphs: usize,
    },
    /// How unevenly weights lie on the devices, and what edges between them cost (Chen 2024, section 2.1).
    Sharding(Sharding),
}

impl Objective {
    /// The microbatches of a step, where its time is minimised.
    pub fn microbatches(&self) -> Option<usize> {
        match *self {
            Objective::Step { microbatches } => Some(microbatches),
            _ => None,
        }
    }

    /// The objective's name on the command line and in JSON.
    pub fn name(&self) -> &'static str {
        match self {
            Objective::Throughput => "throughput",
            Objective::GPipe => "gpipe",
            Objective::Step { .. } => "step",
            Objective::Latency { .. } => "latency",
            Objective::Sharding(_) => "sharding",
        }
    }
}

/// How compute and communication of an accelerator combine to its load.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum CostKind {
    /// compute + in + out (Tarnawski 2020, section 5.1.1).
    #[default]
    Additive,
    /// max(compute, in + out): transfers overlap with compute and share one link.
    Overlap,
    /// max(compute, in, out): transfers overlap with compute, and the link is duplex.
    Duplex,
}

impl CostKind {
    /// The kind's name on the command line and in JSON.
    pub fn name(&self) -> &'static str {
        match self {
            CostKind::Additive => "additive",
            CostKind::Overlap => "overlap",
            CostKind::Duplex => "duplex",
        }
    }
}

/// A stage may be replicated over several accelerators of one class, which share its samples.
///
/// Over r replicas compute and communication are divided by r, and weights are synchronised by a ring
/// all-reduce that takes 2(r−1)/r · parameter bytes / bandwidth. The additive model adds that time, the
/// overlap models hide it behind the rest. Each replica holds the stage's whole memory.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Replication {
    /// The most replicas of one stage.
    pub max_replicas: usize,
    /// Bandwidth of the all-reduce ring, in bytes per time unit.
    pub bandwidth: f64,
}

/// Two-level interconnect: servers of accelerators, one bandwidth inside and another between.
///
/// The instance's transfer times hold inside a server. A producer whose output is needed (or made) anywhere
/// outside the server of the device that pays costs `between_factor` times as much. A stage lies in one server,
/// and servers hold successive ideals.
///
/// Where stages have degrees ([`Degrees`]) the factor is 1, and what lies in one server are the devices that share a replica's
/// operators: tensor degrees divide the server's size, and each other, so that every number of such groups finds room.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Interconnect {
    /// Accelerators in one server. The number of servers is the number of accelerators divided by it.
    pub server_size: usize,
    /// Transfer time between servers relative to transfer time inside one; at least 1.
    pub between_factor: f64,
}

/// What is asked of an instance.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct ProblemSpec {
    /// The devices.
    pub platform: Platform,
    /// Which splits count.
    pub scope: Scope,
    /// What is minimised.
    pub objective: Objective,
    /// How compute and communication combine.
    pub cost: CostKind,
    /// Whether stages may be replicated.
    pub replication: Option<Replication>,
    /// Whether accelerators sit in servers.
    pub interconnect: Option<Interconnect>,
    /// What a stage needs memory for; the nodes' own where a record of an earlier version does not say.
    #[serde(default)]
    pub memory: MemoryModel,
    /// What may be chosen where stages have tensor and data degrees; `None` asks for splits without.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub degrees: Option<Degrees>,
    /// Sets of nodes, by their indices, of which each is kept on one device, besides colour classes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub together: Vec<Vec<NodeId>>,
    /// Whether devices hold several stages of the pipeline.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub chunks: Option<Chunks>,
}

impl ProblemSpec {
    /// The instance's own platform, contiguous splits (`Acyclic`), largest load, additive costs.
    pub fn of(instance: &Instance) -> Self {
        Self { platform: instance.platform.clone(), ..Self::default() }
    }

    /// Whether the devices of a replica find room in a server, where there are servers. Its tensor degree is at least 1.
    pub fn has_servers_for(&self, tensor_degree: usize) -> bool {
        self.interconnect.is_none_or(|servers| servers.server_size.is_multiple_of(tensor_degree))
    }

    /// The device of each stage of a pipeline, by their number, over so many devices.
    pub fn homes(&self, devices: usize) -> Vec<usize> {
        match self.chunks {
            Some(chunks) => chunks.homes(devices),
            None => (0..devices).collect(),
        }
    }

    /// How many accelerators may share a stage; 1 without replication.
    pub fn most_replicas(&self) -> usize {
        self.replication.map_or(1, |replication| replication.max_replicas)
    }

    /// Checks the spec against its instance.
    ///
    /// # Errors
    /// Every problem found, each with its cure.
    pub fn validate(&self, instance: &Instance) -> Result<(), Problems> {
        let mut found = Problems::default();
        if self.platform.accelerators.len() != instance.platform.accelerators.len() {
            found.add(
                "platform",
                format!(
                    "{} accelerator classes are asked for, but the nodes have times for {}",
                    self.platform.accelerators.len(),
                    instance.platform.accelerators.len()
                ),
                "keep the instance's classes and change their count and memory",
            );
        }
        if self.platform.cpus + self.platform.accelerators.iter().map(|c| c.count).sum::<usize>() == 0 {
            found.add("platform", "there is no device", "ask for at least one accelerator or CPU");
        }
        for (i, memory) in self.platform.accelerators.iter().enumerate().filter_map(|(i, c)| Some((i, c.memory?))) {
            if !memory.is_finite() || memory < 0.0 {
                found.add(
                    format!("accelerator class {i}"),
                    format!("its memory is {memory}"),
                    "give a finite number of bytes, or none for unlimited memory",
                );
            }
        }
        let loads = self.platform.accelerators.iter().enumerate();
        for (i, (cause, cure)) in loads.filter_map(|(i, class)| Some((i, wrong_pieces(class.load.as_deref()?)?))) {
            found.add(format!("accelerator class {i}"), cause, cure);
        }
        if let Scope::Linearized(order) = &self.scope
            && !is_permutation(order, instance.nodes.len())
        {
            found.add(
                "linearized scope",
                "its order does not hold the index of each node once",
                "give a permutation of the nodes' indices",
            );
        }
        for v in self.together.iter().flatten().filter(|&&v| v >= instance.nodes.len()) {
            let cause = format!("there is no node of index {v}");
            found.add("nodes kept together", cause, format!("give indices below {}", instance.nodes.len()));
        }
        if let Some(r) = self.replication
            && (r.max_replicas == 0 || !r.bandwidth.is_finite() || r.bandwidth <= 0.0)
        {
            found.add(
                "replication",
                format!("{} replicas at bandwidth {}", r.max_replicas, r.bandwidth),
                "allow at least one replica and give a positive bandwidth in bytes per time unit",
            );
        }
        match self.objective {
            Objective::Latency { subgraphs } => self.validate_latency(subgraphs, &mut found),
            Objective::Sharding(sharding) => {
                sharding.validate(instance, self.interconnect, &mut found);
                if self.replication.is_some() {
                    let cure = "ask for the sharding cost without replicas";
                    found.add("replication", "the sharding cost is not defined for replicas", cure);
                }
            }
            Objective::Step { microbatches } => self.validate_step(microbatches, &mut found),
            Objective::Throughput | Objective::GPipe => {}
        }
        self.memory.validate(instance, &mut found);
        if let Some(degrees) = &self.degrees {
            degrees.validate(instance, self, &mut found);
        }
        if let Some(chunks) = &self.chunks {
            chunks.validate(instance, self, &mut found);
        }
        if self.memory != MemoryModel::Additive
            && matches!(self.objective, Objective::Latency { .. } | Objective::Sharding(_))
        {
            let cure = "ask for the memory model `additive`, or for a pipeline's objective";
            found.add("memory model", "recomputation is about the stages of a pipeline", cure);
        }
        if let Some(i) = self.interconnect {
            if i.server_size == 0 || !i.between_factor.is_finite() || i.between_factor < 1.0 {
                found.add(
                    "interconnect",
                    format!("servers of {} accelerators, factor {}", i.server_size, i.between_factor),
                    "give at least one accelerator per server and a finite factor of at least 1",
                );
            }
            if self.platform.accelerators.iter().any(|c| i.server_size > 0 && c.count % i.server_size != 0) {
                found.add(
                    "interconnect",
                    format!("the accelerators do not fill servers of {}", i.server_size),
                    "make the number of accelerators of each class a multiple of the server size",
                );
            }
        }
        found.into_result()
    }

    fn validate_step(&self, microbatches: usize, found: &mut Problems) {
        if microbatches == 0 {
            found.add("objective", "a step of no microbatches", "ask for at least one microbatch");
        }
        if matches!(self.scope, Scope::Arbitrary | Scope::Convex) {
            let wrong = format!(
                "a step's microbatches pass stages one after another, which {} splits need not have",
                self.scope.name()
            );
            found.add("scope", wrong, "ask for the scope `acyclic`");
        }
    }

    fn validate_latency(&self, subgraphs: usize, found: &mut Problems) {
        if subgraphs == 0 {
            found.add("subgraphs", "an accelerator may hold none", "allow at least one subgraph per accelerator");
        }
        if self.replication.is_some() {
            let cure = "ask for the latency without replicas";
            found.add("replication", "replicas share samples, but the latency is that of one sample", cure);
        }
        if self.interconnect.is_some() {
            let cure = "ask for the latency without servers";
            found.add("interconnect", "the latency is not defined for servers", cure);
        }
        if matches!(self.scope, Scope::Linearized(_)) {
            let cure = "ask for acyclic splits";
            found.add("scope", "the latency is not defined for intervals of a linear order", cure);
        }
    }
}

fn is_permutation(order: &[NodeId], n: usize) -> bool {
    let mut sorted = order.to_vec();
    sorted.sort_unstable();
    sorted.into_iter().eq(0..n)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_holds_for_narrower_splits_need_not_hold_for_wider_ones() {
        let order = |nodes: &[usize]| Scope::Linearized(nodes.to_vec());
        assert!(Scope::Arbitrary.covers(&Scope::Acyclic) && Scope::Acyclic.covers(&order(&[0, 1])));
        assert!(!Scope::Acyclic.covers(&Scope::Convex) && !order(&[0, 1]).covers(&order(&[1, 0])));
    }
}
