//! The cost model of a profiled instance: its node costs under one of the published load shapes.

use super::{CostModel, NodeCost, Piece, Synchronisation};
use crate::graph::NodeId;
use crate::instance::Instance;
use crate::problem::{CostKind, DeviceKind};

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
    memory: Vec<f64>,
    transfer: Vec<f64>,
}

impl ProfiledCost {
    /// The costs of `instance` under the load shape `kind`.
    pub fn new(instance: &Instance, kind: CostKind) -> Self {
        Self {
            kind,
            accelerator_times: instance.nodes.iter().map(|v| v.accelerator_times.clone()).collect(),
            cpu_times: instance.nodes.iter().map(|v| v.cpu_time).collect(),
            memory: instance.nodes.iter().map(|v| v.memory).collect(),
            transfer: instance.nodes.iter().map(|v| v.transfer_time).collect(),
        }
    }
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

    fn synchronisation(&self) -> Synchronisation {
        match self.kind {
            CostKind::Additive => Synchronisation::Added,
            CostKind::Overlap | CostKind::Duplex => Synchronisation::Overlapped,
        }
    }
}
