//! What can be wrong with a split.

use std::fmt;
use std::ops::Range;

use super::StageFault;
use dagsplit_model::instance::Problems;
use dagsplit_model::problem::DeviceKind;

/// One thing wrong with a split. Devices are counted from 0 in the order of the split; nodes are named by id.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Violation {
    /// The instance, or what is asked of it, is itself invalid, so that no split of it can be judged.
    #[error("the instance or the request is invalid: {0}")]
    InvalidInstance(Problems),
    /// A device holds an id that the instance does not have.
    #[error("device {device} holds node {node}, which the instance does not have; remove it or correct its id")]
    UnknownNode {
        /// The device.
        device: usize,
        /// The id.
        node: u64,
    },
    /// A node is assigned twice.
    #[error("node {node} is on device {first} and again on device {second}; keep one of them")]
    DuplicatedNode {
        /// The node.
        node: u64,
        /// The device that holds it first.
        first: usize,
        /// The device that holds it again; the same one where a device lists a node twice.
        second: usize,
    },
    /// A node is assigned to no device.
    #[error("node {node} is on no device; assign it to one")]
    MissingNode {
        /// The node.
        node: u64,
    },
    /// A device names an accelerator class that the platform does not have.
    #[error("device {device} is of accelerator class {class}, but the classes are 0..{classes}; correct the class")]
    UnknownClass {
        /// The device.
        device: usize,
        /// The class it names.
        class: usize,
        /// How many classes there are.
        classes: usize,
    },
    /// The split uses more devices of a kind than there are, replicas counted.
    #[error("{used} devices of kind {} are used, but there are {available}; use fewer or ask for more", Kind(*.kind))]
    TooManyDevices {
        /// The kind.
        kind: DeviceKind,
        /// How many are used.
        used: usize,
        /// How many there are.
        available: usize,
    },
    /// A device holds a node that its kind cannot run.
    #[error("device {device} is of kind {}, which cannot run node {node}; move the node", Kind(*.kind))]
    UnsupportedNode {
        /// The device.
        device: usize,
        /// Its kind.
        kind: DeviceKind,
        /// The node.
        node: u64,
    },
    /// The nodes of an accelerator need more memory than it has.
    #[error("device {device} needs {used} bytes but has {limit}; move nodes to other devices")]
    MemoryExceeded {
        /// The device.
        device: usize,
        /// Bytes that each of its accelerators needs.
        used: f64,
        /// Bytes it has.
        limit: f64,
    },
    /// Two nodes of one colour class are on different devices, or in different stages where devices hold several.
    #[error(
        "nodes {} and {} share colour class {color} but are on devices {} and {}; put the class on one device",
        .first.0, .second.0, .first.1, .second.1
    )]
    SplitColorClass {
        /// The class.
        color: u64,
        /// Its first node, and the device that holds it.
        first: (u64, usize),
        /// Its first node elsewhere, and the device that holds it.
        second: (u64, usize),
    },
    /// Two nodes that are to be kept together are on different devices.
    #[error(
        "nodes {} and {} are to be kept together but are on devices {} and {}; put them on one device",
        .first.0, .second.0, .first.1, .second.1
    )]
    Parted {
        /// The first of these nodes, and the device that holds it.
        first: (u64, usize),
        /// The first of them elsewhere, and the device that holds it.
        second: (u64, usize),
    },
    /// A device that holds nodes is said to have no replica.
    #[error("device {device} holds nodes but has 0 replicas; say 1 where a stage is not replicated")]
    NoReplica {
        /// The device.
        device: usize,
    },
    /// A stage has more replicas than allowed; without replication one is.
    #[error("device {device} has {replicas} replicas, but at most {allowed} are allowed; use fewer or allow more")]
    TooManyReplicas {
        /// The device.
        device: usize,
        /// How many it has.
        replicas: usize,
        /// How many are allowed.
        allowed: usize,
    },
    /// A CPU is said to have replicas.
    #[error("device {device} is a CPU with {replicas} replicas; only accelerators are replicated")]
    ReplicatedCpu {
        /// The device.
        device: usize,
        /// How many it has.
        replicas: usize,
    },
    /// The degrees or options of a stage are not allowed.
    #[error("device {device} {fault}")]
    Stage {
        /// The device.
        device: usize,
        /// What is wrong with it.
        fault: StageFault,
    },
    /// The stages take more microbatches at once than a batch has.
    #[error("the data degrees add up to {used}, but a batch has {microbatches} microbatches; use smaller ones")]
    TooManyParts {
        /// The sum of the data degrees.
        used: usize,
        /// Microbatches in a batch.
        microbatches: usize,
    },
    /// Stages with degrees, or those of devices that hold several, are not in pipeline order.
    #[error(
        "edge {} → {} leads from stage {} back to stage {}; put the stages in pipeline order",
        .edge.0, .edge.1, .stages.0, .stages.1
    )]
    OutOfOrder {
        /// The edge.
        edge: (u64, u64),
        /// The stages of its source and of its target, which are devices where each holds one.
        stages: (usize, usize),
    },
    /// A device does not hold the stages of a pipeline that are asked for.
    #[error(
        "device {device} does not state {count} chunks, none of them empty, which hold each of its nodes once; list those"
    )]
    NotInChunks {
        /// The device.
        device: usize,
        /// How many it has to have.
        count: usize,
    },
    /// Interleaved 1F1B, which says what is in flight, does not run on so many devices.
    #[error(
        "interleaved 1F1B takes a microbatch for each of {devices} devices at a time, which {microbatches} are no multiple of; use a number of devices that divides them"
    )]
    NotInGroups {
        /// How many devices hold chunks.
        devices: usize,
        /// Microbatches of a step.
        microbatches: usize,
    },
    /// An accelerator sits in no server though the interconnect has servers.
    #[error("device {device} sits in no server; name one")]
    MissingServer {
        /// The device.
        device: usize,
    },
    /// An accelerator sits in a server that does not exist or is of another class.
    #[error(
        "device {device} sits in server {server}, but the servers of its class are {}..{}; name one of them",
        .servers.start, .servers.end
    )]
    UnknownServer {
        /// The device.
        device: usize,
        /// The server it names.
        server: usize,
        /// The servers that hold accelerators of its class.
        servers: Range<usize>,
    },
    /// A server holds more accelerators than it has, replicas counted.
    #[error("server {server} is to hold {used} accelerators but has {size}; move stages to other servers")]
    OverfullServer {
        /// The server.
        server: usize,
        /// How many it is to hold.
        used: usize,
        /// How many it has.
        size: usize,
    },
    /// A path leaves a device and returns to it.
    #[error("device {device} is not contiguous: the path {} leaves it and returns; move the nodes between to it", Path(.path))]
    NotConvex {
        /// The device.
        device: usize,
        /// A shortest such path in the order graph; a stand-in shows as the first node of its orphan. The first and last
        /// node are on the device, the others are not.
        path: Vec<u64>,
    },
    /// Devices, or servers and CPUs, need each other's outputs in a cycle, so that none can come first.
    #[error("the split is not acyclic: {}; merge or reorder these stages", Steps(.steps))]
    Cyclic {
        /// The cycle, step by step; the last leads back to the first.
        steps: Vec<CycleStep>,
    },
    /// A subgraph of a device names a node that the device does not hold.
    #[error("a subgraph of device {device} names node {node}, which the device does not hold; remove it")]
    ForeignInSubgraph {
        /// The device.
        device: usize,
        /// The node.
        node: u64,
    },
    /// A node is in none or in several of its device's stated subgraphs.
    #[error("node {node} is in {times} of the subgraphs of device {device}; put it in one")]
    NotInOneSubgraph {
        /// The device.
        device: usize,
        /// The node.
        node: u64,
        /// How many subgraphs hold it, repeats counted.
        times: usize,
    },
    /// An accelerator's nodes are stated to run, or can only be cut to run, in more subgraphs than allowed.
    #[error("device {device} runs in more than {allowed} subgraphs; move nodes, state fewer, or allow more")]
    TooManySubgraphs {
        /// The device.
        device: usize,
        /// How many are allowed.
        allowed: usize,
    },
    /// A path leaves a subgraph and returns to it, so that it cannot run as a whole.
    #[error(
        "subgraph {subgraph} of device {device} is not contiguous: the path {} leaves it and returns; \
         move the nodes between to it or cut it",
        Path(.path)
    )]
    NotContiguous {
        /// The device.
        device: usize,
        /// The subgraph, counted from 0 in the order in which the device runs them.
        subgraph: usize,
        /// A shortest such path. The first and last node are in the subgraph, the others are not.
        path: Vec<u64>,
    },
    /// Subgraphs wait for each other, so that none of them can start.
    #[error("the split cannot run: {}; cut or reorder these subgraphs", Waits(.steps))]
    Deadlock {
        /// The cycle, step by step; the last leads back to the first.
        steps: Vec<DeadlockStep>,
    },
    /// A device's nodes do not follow one another in the linearized order.
    #[error("device {device} holds nodes {} and {} but not {between}, which the order puts between; exchange nodes", .ends.0, .ends.1)]
    NotAnInterval {
        /// The device.
        device: usize,
        /// Two of its nodes.
        ends: (u64, u64),
        /// A node of another device between them.
        between: u64,
    },
    /// The objective that the split claims is not the one it has.
    #[error("the split claims the objective {claimed} but has {recomputed}; correct the claim")]
    WrongObjective {
        /// What it claims.
        claimed: f64,
        /// What it has.
        recomputed: f64,
    },
}

/// What has to come before or after what: acyclic splits order devices, schedules order subgraphs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Part {
    /// One device, or one group of replicas.
    Device(usize),
    /// All devices of one server.
    Server(usize),
    /// One subgraph of an accelerator, by device and position.
    Subgraph(usize, usize),
    /// One node on a CPU, by id.
    CpuNode(u64),
}

impl fmt::Display for Part {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Part::Device(d) => write!(f, "device {d}"),
            Part::Server(s) => write!(f, "server {s}"),
            Part::Subgraph(device, subgraph) => write!(f, "subgraph {subgraph} of device {device}"),
            Part::CpuNode(node) => write!(f, "node {node}"),
        }
    }
}

/// One step of a cycle: an edge of the order graph that leads from a part to the next.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CycleStep {
    /// The part that holds the edge's source.
    pub part: Part,
    /// The edge; a stand-in shows as the first node of its orphan.
    pub edge: (u64, u64),
}

/// One step of a deadlock: a part that the next one waits for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeadlockStep {
    /// The part that has to run first.
    pub part: Part,
    /// The edge over which it feeds the next part; `None` where both are subgraphs of one accelerator and it is stated
    /// to run first.
    pub edge: Option<(u64, u64)>,
}

struct Kind(DeviceKind);

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            DeviceKind::Accelerator(class) => write!(f, "accelerator class {class}"),
            DeviceKind::Cpu => write!(f, "CPU"),
        }
    }
}

struct Path<'a>(&'a [u64]);

impl fmt::Display for Path<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, node) in self.0.iter().enumerate() {
            write!(f, "{}{node}", if i == 0 { "" } else { " → " })?;
        }
        Ok(())
    }
}

struct Steps<'a>(&'a [CycleStep]);

impl fmt::Display for Steps<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, CycleStep { part, edge: (source, target) }) in self.0.iter().enumerate() {
            let next = self.0[(i + 1) % self.0.len()].part;
            write!(f, "{}{part} feeds {next} ({source} → {target})", if i == 0 { "" } else { ", " })?;
        }
        Ok(())
    }
}

struct Waits<'a>(&'a [DeadlockStep]);

impl fmt::Display for Waits<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, DeadlockStep { part, edge }) in self.0.iter().enumerate() {
            let next = self.0[(i + 1) % self.0.len()].part;
            let separator = if i == 0 { "" } else { ", " };
            match edge {
                Some((source, target)) => write!(f, "{separator}{part} feeds {next} ({source} → {target})")?,
                None => write!(f, "{separator}{part} is to run before {next}")?,
            }
        }
        Ok(())
    }
}
