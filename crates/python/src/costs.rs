//! Costs as `dagsplit.Costs` has them.

use std::collections::HashMap;

use dagsplit::cost::{self, MemoryLaw, NodeCost, Synchronisation};
use dagsplit::embedded::{self, Asked};
use pyo3::prelude::*;

use crate::errors::raised;
use crate::workloads::Instance;

/// Words, and costs given as data.
#[derive(FromPyObject)]
pub struct Question(Vec<String>, Option<Costs>);

/// What splits cost.
#[derive(FromPyObject, IntoPyObject)]
pub struct Costs {
    accelerators: Vec<KindCost>,
    cpu: Vec<Option<f64>>,
    transfers: Vec<Transfer>,
    shared_memory: bool,
    overlapped_synchronisation: bool,
}

/// What accelerators of a class take.
#[derive(FromPyObject, IntoPyObject)]
struct KindCost {
    compute: Vec<Option<f64>>,
    memory: Vec<f64>,
    transfers: Vec<f64>,
    pieces: Vec<Piece>,
    boundary: Vec<f64>,
}

#[derive(FromPyObject, IntoPyObject)]
struct Piece {
    compute: f64,
    incoming: f64,
    outgoing: f64,
}

#[derive(FromPyObject, IntoPyObject)]
struct Transfer {
    source: u64,
    consumers: Vec<u64>,
    between: f64,
    bytes: Option<f64>,
}

impl Question {
    /// The question as the library takes it, about this workload.
    pub fn about(self, instance: &dagsplit::Instance) -> Asked {
        Asked { words: self.0, costs: self.1.map(|costs| costs.of_nodes(instance)) }
    }
}

impl Costs {
    /// Costs of nodes by index. What is no node has an index beyond all, which is found when costs are validated.
    fn of_nodes(self, instance: &dagsplit::Instance) -> cost::Costs {
        let indices: HashMap<u64, usize> = instance.nodes.iter().enumerate().map(|(v, node)| (node.id, v)).collect();
        let index = |id: &u64| indices.get(id).copied().unwrap_or(usize::MAX);
        let transfers: Vec<cost::Transfer> = self.transfers.iter().map(|transfer| transfer.of_nodes(index)).collect();
        let cpu = self.cpu.into_iter().map(|time| Some(NodeCost::new(time?, 0.0))).collect();
        let cpu = cost::KindCost::new(cpu, vec![0.0; transfers.len()], vec![cost::Piece::COMPUTE]);
        let kinds = self.accelerators.into_iter().map(KindCost::of_nodes).chain([cpu]).collect();
        let memory = if self.shared_memory { MemoryLaw::shared() } else { MemoryLaw::default() };
        let synchronisation =
            if self.overlapped_synchronisation { Synchronisation::Overlapped } else { Synchronisation::Added };
        cost::Costs::new(kinds, transfers, memory, synchronisation)
    }

    fn from_nodes(costs: cost::Costs, instance: &dagsplit::Instance) -> Self {
        let mut kinds = costs.kinds;
        let cpu = kinds.pop().unwrap_or_default();
        Self {
            accelerators: kinds.into_iter().map(KindCost::from_nodes).collect(),
            cpu: cpu.nodes.iter().map(|node| Some(node.as_ref()?.compute)).collect(),
            transfers: costs.transfers.into_iter().map(|transfer| Transfer::from_nodes(transfer, instance)).collect(),
            shared_memory: costs.memory.is_shared,
            overlapped_synchronisation: costs.synchronisation == Synchronisation::Overlapped,
        }
    }
}

impl KindCost {
    /// A list that is too short makes numbers that are found when costs are validated.
    fn of_nodes(self) -> cost::KindCost {
        let bytes = |v: usize| self.memory.get(v).copied().unwrap_or(f64::NAN);
        let time = |v: usize| self.compute.get(v).copied().unwrap_or(Some(f64::NAN));
        let count = self.compute.len().max(self.memory.len());
        let nodes = (0..count).map(|v| Some(NodeCost::new(time(v)?, bytes(v)))).collect();
        let pieces = self.pieces.iter().map(|piece| cost::Piece::new(piece.compute, piece.incoming, piece.outgoing));
        cost::KindCost::new(nodes, self.transfers, pieces.collect()).keeping(self.boundary)
    }

    fn from_nodes(kind: cost::KindCost) -> Self {
        let piece =
            |piece: &cost::Piece| Piece { compute: piece.compute, incoming: piece.comm_in, outgoing: piece.comm_out };
        Self {
            compute: kind.nodes.iter().map(|node| Some(node.as_ref()?.compute)).collect(),
            memory: kind.nodes.iter().map(|node| node.map_or(0.0, |node| node.memory)).collect(),
            transfers: kind.transfers,
            pieces: kind.pieces.iter().map(piece).collect(),
            boundary: kind.boundary,
        }
    }
}

impl Transfer {
    fn of_nodes(&self, index: impl Fn(&u64) -> usize) -> cost::Transfer {
        let mut consumers: Vec<usize> = self.consumers.iter().map(&index).collect();
        consumers.sort_unstable();
        let mut transfer = cost::Transfer::new(index(&self.source), consumers);
        (transfer.between, transfer.bytes) = (self.between, self.bytes);
        transfer
    }

    fn from_nodes(transfer: cost::Transfer, instance: &dagsplit::Instance) -> Self {
        let id = |v: usize| instance.nodes[v].id;
        Self {
            source: id(transfer.source),
            consumers: transfer.consumers.iter().map(|&v| id(v)).collect(),
            between: transfer.between,
            bytes: transfer.bytes,
        }
    }
}

/// What splits cost by the model that is asked for.
#[pyfunction]
pub fn costs(instance: &Instance, words: Vec<String>) -> PyResult<Costs> {
    let costs = embedded::costs(&instance.0, &words).map_err(|failure| raised(&failure))?;
    Ok(Costs::from_nodes(costs, &instance.0))
}
