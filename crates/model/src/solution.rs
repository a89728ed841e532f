//! Splits: which device holds which nodes.

use crate::spec::DeviceKind;

/// One device, or one group of replicas, and its nodes.
#[derive(Debug, Clone, PartialEq)]
pub struct DeviceAssignment {
    /// The kind of device.
    pub kind: DeviceKind,
    /// How many devices, or tensor-parallel groups of them, share this set as replicas of one stage; 1 without replication.
    pub replicas: usize,
    /// How many devices make up each replica, and share each of its operators; 1 where stages have no degrees.
    pub tensor_degree: usize,
    /// Where nodes have options: the name of that of each of `nodes`; else none.
    pub options: Vec<String>,
    /// The server the accelerator sits in, where the interconnect has two levels.
    pub server: Option<usize>,
    /// Ids of the nodes, as in the instance's file.
    pub nodes: Vec<u64>,
    /// For the latency objective: the subgraphs that an accelerator runs one after another, in this order; together
    /// they hold each of its nodes once. Empty where the split does not say. Other objectives and CPUs have no use
    /// for them.
    pub subgraphs: Vec<Vec<u64>>,
    /// Where devices hold several stages of a pipeline: the nodes of each, in pipeline order. Else none.
    pub chunks: Vec<Vec<u64>>,
}

impl DeviceAssignment {
    /// One device with these nodes, without replicas, options, server, stated subgraphs or chunks.
    pub fn new(kind: DeviceKind, nodes: Vec<u64>) -> Self {
        Self {
            kind,
            replicas: 1,
            tensor_degree: 1,
            options: Vec::new(),
            server: None,
            nodes,
            subgraphs: Vec::new(),
            chunks: Vec::new(),
        }
    }
}

/// A split of an instance over devices. Devices without nodes may be left out.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Solution {
    /// The devices, in pipeline order where the split has one.
    pub devices: Vec<DeviceAssignment>,
    /// The value its maker claims, in the unit of the objective.
    pub objective: Option<f64>,
}
