//! Workload instances as they are written in files: nodes, edges and the platform they were made for.
//!
//! An [`Instance`] is raw data. [`validate()`] finds every problem of one at once; [`formats`](crate::formats) reads and
//! writes it in the published formats and in dagsplit's own. Times are in the instance's own unit
//! (milliseconds in every published workload), memory is in bytes.

mod metadata;
mod parallelism;
pub mod validate;

pub use metadata::{Metadata, Provenance, Setting};
pub(crate) use parallelism::is_zero;
pub use parallelism::{EdgeBytes, NodeOption, PLAIN, Parallelism, TimeUnit};
pub use validate::{Problems, validate};

use serde::{Deserialize, Serialize};

use crate::load::Piece;

/// One class of interchangeable accelerators.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AcceleratorClass {
    /// A name to show, such as `V100`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// How many accelerators of this class there are.
    pub count: usize,
    /// Memory of each of them, in bytes; `None` is unlimited.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory: Option<f64>,
    /// The linear pieces of their load where these are no common ones; `None` takes those that are asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub load: Option<Vec<Piece>>,
}

/// The devices a workload is to be split over.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Platform {
    /// The accelerator classes; [`Node::accelerator_times`] has one entry for each.
    pub accelerators: Vec<AcceleratorClass>,
    /// How many CPUs there are. A CPU has no memory limit here and pays no communication.
    pub cpus: usize,
    /// Link bandwidth in bytes per time unit, where the workload states one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bandwidth: Option<f64>,
}

impl Platform {
    /// A platform of `count` equal accelerators with `memory` bytes each, and `cpus` CPUs.
    pub fn uniform(count: usize, memory: Option<f64>, cpus: usize) -> Self {
        let class = AcceleratorClass { count, memory, ..AcceleratorClass::default() };
        Self { accelerators: vec![class], cpus, bandwidth: None }
    }
}

/// One operator or layer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Node {
    /// The node's id in its file; unique, not necessarily dense.
    pub id: u64,
    /// A name to show.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Time on an accelerator of each class; `None` where that class cannot run the node.
    pub accelerator_times: Vec<Option<f64>>,
    /// Time on a CPU; `None` where no CPU can run the node.
    pub cpu_time: Option<f64>,
    /// Bytes the node occupies on an accelerator (weights and activations).
    #[serde(default)]
    pub memory: f64,
    /// Time to move the node's output between an accelerator and host memory.
    #[serde(default)]
    pub transfer_time: f64,
    /// Bytes of the node's output, where known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output_bytes: Option<f64>,
    /// Bytes of the node's parameters, which replicas of a stage must all-reduce.
    #[serde(default)]
    pub parameter_bytes: f64,
    /// Whether the node belongs to the backward pass of a training graph.
    #[serde(default)]
    pub backward: bool,
    /// Nodes of one colour class must share a device.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub color_class: Option<u64>,
    /// The layer an operator belongs to; shown, never a constraint.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub layer: Option<u64>,
    /// How far repeated measurements of the accelerator time lay apart: their interquartile range; informative.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub time_spread: Option<f64>,
}

impl Node {
    /// A forward node with id `id`, no costs, and support on one accelerator class and on CPUs.
    pub fn new(id: u64) -> Self {
        Self {
            id,
            name: None,
            accelerator_times: vec![Some(0.0)],
            cpu_time: Some(0.0),
            memory: 0.0,
            transfer_time: 0.0,
            output_bytes: None,
            parameter_bytes: 0.0,
            backward: false,
            color_class: None,
            layer: None,
            time_spread: None,
        }
    }

    /// Bytes of the node's output, as stated or as its transfer time stands for over a link of this bandwidth; `None` where
    /// neither tells, or a number beyond all.
    pub fn output(&self, bandwidth: Option<f64>) -> Option<f64> {
        let nothing = (self.transfer_time == 0.0).then_some(0.0);
        let by_time = || bandwidth.map(|bandwidth| self.transfer_time * bandwidth).filter(|bytes| bytes.is_finite());
        self.output_bytes.or_else(by_time).or(nothing)
    }

    /// Of `memory` bytes that the node takes, those that lie there once, however many microbatches are in flight.
    ///
    /// A forward node's parameters do, and all that a backward node takes: gradients of parameters and the optimizer's
    /// state last, and gradients of activations live while one microbatch passes back. What a forward node takes beside
    /// its parameters is kept for each microbatch, until that passes back. Where no node of the instance states any
    /// parameters all of it lasts.
    pub fn lasting(&self, memory: f64, knows_parameters: bool) -> f64 {
        if self.backward || !knows_parameters { memory } else { self.parameter_bytes.min(memory) }
    }
}

/// A data dependency: `target` consumes the output of `source`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Edge {
    /// Id of the producer.
    pub source: u64,
    /// Id of the consumer.
    pub target: u64,
}

/// A workload as written in its file. Nothing is checked yet: see [`validate()`].
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Instance {
    /// Where the workload comes from.
    #[serde(default)]
    pub metadata: Metadata,
    /// The devices it was made for.
    pub platform: Platform,
    /// Operators or layers.
    pub nodes: Vec<Node>,
    /// Data dependencies.
    pub edges: Vec<Edge>,
    /// What nodes cost at degrees of tensor parallelism, where the workload says so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parallelism: Option<Parallelism>,
}

impl Instance {
    /// Whether any node states what parameters it has. O(n).
    pub fn knows_parameters(&self) -> bool {
        self.nodes.iter().any(|node| node.parameter_bytes > 0.0)
    }
}
