//! The cost model of a profiled instance: its node costs under one of the published load shapes.

use rustc_hash::FxHashMap;

use super::{CostModel, NodeCost, Piece, Synchronisation};
use crate::graph::NodeId;
use crate::instance::Instance;
use crate::spec::{CostKind, DeviceKind, MemoryModel};

const CPU: [Piece; 1] = [Piece::new(1.0, 0.0, 0.0)];
const ADDITIVE: [Piece; 1] = [Piece::new(1.0, 1.0, 1.0)];
const OVERLAP: [Piece; 2] = [Piece::new(1.0, 0.0, 0.0), Piece::new(0.0, 1.0, 1.0)];
const DUPLEX: [Piece; 3] = [Piece::new(1.0, 0.0, 0.0), Piece::new(0.0, 1.0, 0.0), Piece::new(0.0, 0.0, 1.0)];

/// Times, memory and transfer times as an instance states them. CPUs pay compute alone.
#[derive(Debug, Clone)]
pub struct ProfiledCost {
    kind: CostKind,
    accelerator_times: Vec<Vec<Option<f64>>>,
    cpu_times: Vec<Option<f64>>,
    memory_model: MemoryModel,
    memory: Vec<f64>,
    /// Bytes of each node's output where boundaries take memory, else empty.
    boundary: Vec<f64>,
    transfer: Vec<f64>,
}

impl ProfiledCost {
    /// The costs of `instance` under the load shape `kind` and this model of memory.
    pub fn new(instance: &Instance, kind: CostKind, memory_model: MemoryModel) -> Self {
        let (memory, boundary) = match memory_model {
            MemoryModel::Additive => (instance.nodes.iter().map(|v| v.memory).collect(), Vec::new()),
            MemoryModel::Recomputation { microbatches } => {
                let share = 1.0 / microbatches as f64;
                let outputs = instance.nodes.iter().map(|v| v.output_bytes.unwrap_or(0.0) * share);
                (peaks(instance).into_iter().map(|bytes| bytes * share).collect(), outputs.collect())
            }
        };
        Self {
            kind,
            accelerator_times: instance.nodes.iter().map(|v| v.accelerator_times.clone()).collect(),
            cpu_times: instance.nodes.iter().map(|v| v.cpu_time).collect(),
            memory_model,
            memory,
            boundary,
            transfer: instance.nodes.iter().map(|v| v.transfer_time).collect(),
        }
    }
}

/// The larger of the bytes of the two passes of each colour class, at the first of its nodes; 0 at the others.
fn peaks(instance: &Instance) -> Vec<f64> {
    let mut first_of = FxHashMap::default();
    let mut passes = vec![[0.0; 2]; instance.nodes.len()];
    for (v, node) in instance.nodes.iter().enumerate() {
        let first = node.color_class.map_or(v, |class| *first_of.entry(class).or_insert(v));
        passes[first][usize::from(node.backward)] += node.memory;
    }
    passes.into_iter().map(|[forward, backward]| f64::max(forward, backward)).collect()
}

impl CostModel for ProfiledCost {
    fn node(&self, v: NodeId, on: DeviceKind) -> Option<NodeCost> {
        match on {
            DeviceKind::Accelerator(class) => self.accelerator_times[v][class].map(|compute| NodeCost {
                compute,
                memory: self.memory[v],
                transfer: self.transfer[v],
            }),
            DeviceKind::Cpu => self.cpu_times[v].map(|compute| NodeCost { compute, memory: 0.0, transfer: 0.0 }),
        }
    }

    fn transfer(&self, v: NodeId, on: DeviceKind) -> f64 {
        match on {
            DeviceKind::Accelerator(_) => self.transfer[v],
            DeviceKind::Cpu => 0.0,
        }
    }

    fn pieces(&self, on: DeviceKind) -> &[Piece] {
        match (on, self.kind) {
            (DeviceKind::Cpu, _) => &CPU,
            (_, CostKind::Additive) => &ADDITIVE,
            (_, CostKind::Overlap) => &OVERLAP,
            (_, CostKind::Duplex) => &DUPLEX,
        }
    }

    fn memory_model(&self) -> MemoryModel {
        self.memory_model
    }

    fn boundary_bytes(&self, v: NodeId, on: DeviceKind) -> f64 {
        match on {
            DeviceKind::Accelerator(_) => self.boundary.get(v).copied().unwrap_or(0.0),
            DeviceKind::Cpu => 0.0,
        }
    }

    fn synchronisation(&self) -> Synchronisation {
        match self.kind {
            CostKind::Additive => Synchronisation::Added,
            CostKind::Overlap | CostKind::Duplex => Synchronisation::Overlapped,
        }
    }
}
