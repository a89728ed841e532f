//! What a load is: the [`CostModel`] that every solver shares.
//!
//! A load is a *maximum of linear pieces* in (compute, communication in, communication out). Dynamic programs
//! evaluate it, integer programs write one row per piece and device, branch and bound relaxes it, and one
//! definition serves them all.

mod profiled;

pub use profiled::ProfiledCost;

use crate::graph::{Graph, NodeId, NodeSet};
use crate::spec::{DeviceKind, MemoryModel};

/// What one node costs on one kind of device.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct NodeCost {
    /// Time to process the node.
    pub compute: f64,
    /// Bytes it occupies, whatever the other nodes of its device, if the whole colour class is there.
    pub memory: f64,
    /// Time to move its output onto or off the device, paid once per device and direction.
    pub transfer: f64,
}

/// Compute and communication of a set of nodes on a device, in time units.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Terms {
    /// Time to process the nodes.
    pub compute: f64,
    /// Transfer times of outside producers with a consumer inside.
    pub comm_in: f64,
    /// Transfer times of inside producers with a consumer outside.
    pub comm_out: f64,
}

impl Terms {
    /// Adds other terms.
    #[inline]
    pub fn add(&mut self, other: &Self) {
        self.compute += other.compute;
        self.comm_in += other.comm_in;
        self.comm_out += other.comm_out;
    }
}

/// Coefficients of one linear piece of a load; all are finite and at least zero.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Piece {
    /// Coefficient of the compute time.
    pub compute: f64,
    /// Coefficient of the communication in.
    pub comm_in: f64,
    /// Coefficient of the communication out.
    pub comm_out: f64,
}

impl Piece {
    /// The piece with these coefficients.
    pub const fn new(compute: f64, comm_in: f64, comm_out: f64) -> Self {
        Self { compute, comm_in, comm_out }
    }

    /// The piece's value.
    #[inline]
    pub fn value(&self, t: &Terms) -> f64 {
        self.compute * t.compute + self.comm_in * t.comm_in + self.comm_out * t.comm_out
    }
}

/// How the weight synchronisation of replicas combines with the rest of a load.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Synchronisation {
    /// Its time is added.
    Added,
    /// It runs beside the rest: the larger of the two counts.
    Overlapped,
}

/// Node costs and the shape of a load. Nodes are indexed as in [`crate::problem::Problem`].
pub trait CostModel: Send + Sync {
    /// What node `v` costs on a device of this kind; `None` where that kind cannot run it.
    ///
    /// A transfer cost is asked for on the device that pays it, whether or not that device could run `v`.
    fn node(&self, v: NodeId, on: DeviceKind) -> Option<NodeCost>;

    /// Time to move `v`'s output onto or off a device of this kind.
    fn transfer(&self, v: NodeId, on: DeviceKind) -> f64;

    /// The pieces whose maximum is the load.
    fn pieces(&self, on: DeviceKind) -> &[Piece];

    /// How replicas' weight synchronisation combines with the pieces.
    fn synchronisation(&self) -> Synchronisation;

    /// What a stage needs memory for.
    fn memory_model(&self) -> MemoryModel;

    /// Bytes that an accelerator keeps for each edge from `v` that enters or leaves it; 0 where only the nodes themselves
    /// take memory, and on a CPU.
    fn boundary_bytes(&self, v: NodeId, on: DeviceKind) -> f64;

    /// Bytes that a stage of kind `on` that holds `set` needs, all its replicas together where they share them. `set`
    /// holds whole colour classes. `None` when the device kind cannot run a node of it. O(n + m).
    fn memory(&self, g: &Graph, set: &NodeSet, on: DeviceKind) -> Option<f64> {
        let own = set.iter().map(|v| Some(self.node(v, on)?.memory)).sum::<Option<f64>>()?;
        let crossing = g.edges().filter(|&(u, v)| set.contains(u) != set.contains(v));
        Some(own + crossing.map(|(u, _)| self.boundary_bytes(u, on)).sum::<f64>())
    }

    /// Compute and communication of `set`, counting only what `part` selects: nodes for compute, producers for
    /// communication. `None` when the device kind cannot run a node of the set. O(n + m).
    fn terms(&self, g: &Graph, set: &NodeSet, on: DeviceKind, part: &dyn Fn(NodeId) -> bool) -> Option<Terms> {
        let mut terms = Terms::default();
        for v in 0..g.node_count() {
            if set.contains(v) {
                let cost = self.node(v, on)?;
                if part(v) {
                    terms.compute += cost.compute;
                }
            }
            if !part(v) {
                continue;
            }
            let inside = set.contains(v);
            if g.successors(v).iter().any(|&w| set.contains(w as usize) != inside) {
                let side = if inside { &mut terms.comm_out } else { &mut terms.comm_in };
                *side += self.transfer(v, on);
            }
        }
        Some(terms)
    }

    /// The load of a device of kind `on` that holds `set`; `None` when it cannot run a node of it. O(n + m).
    fn load(&self, g: &Graph, set: &NodeSet, on: DeviceKind) -> Option<f64> {
        let terms = self.terms(g, set, on, &|_| true)?;
        Some(max_of_pieces(self.pieces(on), &terms))
    }
}

/// The largest of the pieces' values: the load of a device with these terms.
#[inline]
pub fn max_of_pieces(pieces: &[Piece], terms: &Terms) -> f64 {
    pieces.iter().map(|piece| piece.value(terms)).fold(0.0, f64::max)
}

/// The load of a device that computes for this time and moves no data.
#[inline]
pub fn compute_load(pieces: &[Piece], compute: f64) -> f64 {
    max_of_pieces(pieces, &Terms { compute, ..Terms::default() })
}

/// Time of a ring all-reduce of `bytes` over `replicas` at `bandwidth` bytes per time unit: 2(r−1)/r · bytes / bandwidth.
pub fn ring_all_reduce(bytes: f64, replicas: usize, bandwidth: f64) -> f64 {
    let r = replicas as f64;
    2.0 * (r - 1.0) / r * bytes / bandwidth
}

/// The load of one of `replicas` devices that share a stage: the load over r, and the weights' synchronisation.
pub fn replicated_load(load: f64, replicas: usize, all_reduce: f64, how: Synchronisation) -> f64 {
    if replicas == 1 {
        return load;
    }
    let share = load / replicas as f64;
    match how {
        Synchronisation::Added => share + all_reduce,
        Synchronisation::Overlapped => share.max(all_reduce),
    }
}
