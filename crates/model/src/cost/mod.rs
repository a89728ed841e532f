//! What a split costs, as data: a [`CostModel`] gives [`Costs`], and every solver, the verifier and the simulator work
//! loads out from them and from nothing else.
//!
//! A load is a *maximum of linear pieces* in (compute, communication in, communication out). Dynamic programs
//! evaluate it, integer programs write one row per piece and device, branch and bound relaxes it, and one
//! definition serves them all.
//!
//! Communication is a hypergraph. A [`Transfer`] is data that its producer makes and that some consumers need: a device that
//! holds some of these nodes but not all pays for it once, on its way out where it holds the producer, else on its way in.
//! One transfer for each producer is the published model ([`ProfiledCost`]), one for each edge is [`PerEdge`].

mod options;
mod per_edge;
mod profiled;

pub use crate::load::{
    MAX_COEFFICIENT, MAX_PIECES, Piece, Synchronisation, Terms, compute_load, max_of_pieces, replicated_load,
    ring_all_reduce,
};
pub use options::{EdgeCost, OptionCost, StageBytes, StageCosts};
pub use per_edge::PerEdge;
pub use profiled::ProfiledCost;

use crate::graph::{Graph, NodeId, NodeSet};
use crate::instance::{Instance, Problems};
use crate::load::wrong_pieces;
use crate::spec::{DeviceKind, Objective, ProblemSpec};

/// What one node costs on one kind of device.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
#[non_exhaustive]
pub struct NodeCost {
    /// Time to process the node.
    pub compute: f64,
    /// Bytes it occupies, whatever the other nodes of its device, if the whole colour class is there.
    pub memory: f64,
}

impl NodeCost {
    /// A node that takes this time and occupies so many bytes.
    pub const fn new(compute: f64, memory: f64) -> Self {
        Self { compute, memory }
    }
}

/// Data that moves between devices as a whole.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Transfer {
    /// The node that makes it.
    pub source: NodeId,
    /// The nodes that need it, ascending: some or all of the successors of its source.
    pub consumers: Vec<NodeId>,
    /// How many times its time it costs a device from whose server it goes, or into which it comes; at least 1.
    pub between: f64,
    /// How many bytes it has, which is what it costs on the links of a topology; `None` where nobody says.
    pub bytes: Option<f64>,
}

impl Transfer {
    /// Data of unknown size that costs no more between servers than within one.
    pub fn new(source: NodeId, consumers: Vec<NodeId>) -> Self {
        Self { source, consumers, between: 1.0, bytes: None }
    }

    /// Whether `v` needs it. O(log consumers).
    #[inline]
    pub fn reaches(&self, v: NodeId) -> bool {
        self.consumers.binary_search(&v).is_ok()
    }

    /// Whether a device pays for it that holds just the nodes for which `is_inside` holds.
    #[inline]
    pub fn is_cut(&self, is_inside: impl Fn(NodeId) -> bool) -> bool {
        let inside = is_inside(self.source);
        self.consumers.iter().any(|&v| is_inside(v) != inside)
    }
}

/// What one kind of device takes for nodes and transfers, and how that makes a load.
#[derive(Debug, Clone, PartialEq, Default)]
#[non_exhaustive]
pub struct KindCost {
    /// What each node costs; `None` where the kind cannot run it.
    pub nodes: Vec<Option<NodeCost>>,
    /// Time to move each of [`Costs::transfers`] onto or off a device, whether or not the kind can run its nodes.
    pub transfers: Vec<f64>,
    /// The linear pieces whose maximum is the load; at least one.
    pub pieces: Vec<Piece>,
    /// Bytes that a device keeps for each edge from a node that enters or leaves it, by node; empty where only the nodes
    /// themselves take memory.
    pub boundary: Vec<f64>,
    /// Bytes of each node's memory that its device keeps for each microbatch in flight, by node; empty where memory does not
    /// depend on what is in flight.
    pub kept: Vec<f64>,
}

impl KindCost {
    /// A kind that takes this for each node and each transfer, under the load that the pieces make.
    pub fn new(nodes: Vec<Option<NodeCost>>, transfers: Vec<f64>, pieces: Vec<Piece>) -> Self {
        Self { nodes, transfers, pieces, boundary: Vec::new(), kept: Vec::new() }
    }

    /// The same, with so many bytes kept for each edge that enters or leaves a device, by the edge's source.
    #[must_use]
    pub fn keeping(self, boundary: Vec<f64>) -> Self {
        Self { boundary, ..self }
    }

    /// The same, with so many bytes of each node's memory kept for each microbatch in flight.
    #[must_use]
    pub fn in_flight(self, kept: Vec<f64>) -> Self {
        Self { kept, ..self }
    }

    /// Bytes of `v`'s memory that a device keeps for each microbatch in flight.
    #[inline]
    pub fn kept_bytes(&self, v: NodeId) -> f64 {
        self.kept.get(v).copied().unwrap_or(0.0)
    }

    /// Bytes that a device keeps for each edge from `v` that enters or leaves it.
    #[inline]
    pub fn boundary_bytes(&self, v: NodeId) -> f64 {
        self.boundary.get(v).copied().unwrap_or(0.0)
    }
}

/// How the memory of a stage adds up beside that of its nodes.
#[derive(Debug, Clone, PartialEq, Default)]
#[non_exhaustive]
pub struct MemoryLaw {
    /// Whether replicas share what their stage needs; else each of them needs all of it.
    pub is_shared: bool,
}

/// What `replicas` devices with this much memory each have for the stage that they hold, each of them all of it or, where
/// it is shared, all of them together.
#[inline]
pub fn stage_capacity(of_one: Option<f64>, replicas: usize, is_shared: bool) -> Option<f64> {
    if is_shared { of_one.map(|bytes| bytes * replicas as f64) } else { of_one }
}

impl MemoryLaw {
    /// Memory that is shared by the replicas of a stage.
    pub fn shared() -> Self {
        Self { is_shared: true }
    }

    /// What `replicas` devices with this much memory each have for the stage that they share.
    #[inline]
    pub fn capacity(&self, of_one: Option<f64>, replicas: usize) -> Option<f64> {
        stage_capacity(of_one, replicas, self.is_shared)
    }
}

/// What nodes, transfers and memory cost. Nodes are indexed as in the instance's file. CPUs have no limit of memory.
///
/// It and its parts are made by functions, so that they can grow.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Costs {
    /// By accelerator class of the platform, then for CPUs.
    pub kinds: Vec<KindCost>,
    /// What moves between devices, by source.
    pub transfers: Vec<Transfer>,
    /// How memory adds up.
    pub memory: MemoryLaw,
    /// How replicas' weight synchronisation combines with the pieces.
    pub synchronisation: Synchronisation,
    /// What nodes cost in each of their options, where stages have degrees: then this counts and nothing else.
    pub stages: Option<StageCosts>,
}

/// A model of what splits cost. It gives data, so that nobody can work with another cost than everybody else.
///
/// ```
/// use dagsplit::cost::{CostModel, Costs, Piece, ProfiledCost};
/// use dagsplit::instance::{Edge, Instance, Node, Platform};
/// use dagsplit::problem::{Problem, ProblemSpec};
/// use dagsplit::solve::{IdealDp, SearchContext, Solver};
///
/// /// Half of what an accelerator receives keeps it from computing.
/// #[derive(Debug)]
/// struct Contention;
///
/// impl CostModel for Contention {
///     fn costs(&self, instance: &Instance, spec: &ProblemSpec) -> Costs {
///         let mut costs = ProfiledCost.costs(instance, spec);
///         costs.kinds[0].pieces = vec![Piece::new(1.0, 0.5, 0.0), Piece::new(0.0, 1.0, 1.0)];
///         costs
///     }
/// }
///
/// let layer = |id| Node { accelerator_times: vec![Some(3.0)], cpu_time: None, transfer_time: 1.0, ..Node::new(id) };
/// let instance = Instance {
///     platform: Platform::uniform(2, None, 0),
///     nodes: (0..4).map(layer).collect(),
///     edges: (0..3).map(|id| Edge { source: id, target: id + 1 }).collect(),
///     ..Instance::default()
/// };
/// let problem = Problem::with_costs(&instance, ProblemSpec::of(&instance), &Contention)?;
/// let run = IdealDp::default().solve(&problem, &mut SearchContext::new())?;
/// assert_eq!(run.outcome.solution().and_then(|split| split.objective), Some(6.5));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub trait CostModel: std::fmt::Debug + Send + Sync {
    /// What a valid `instance` costs on the platform of a valid `spec`.
    fn costs(&self, instance: &Instance, spec: &ProblemSpec) -> Costs;
}

impl Costs {
    /// Costs of these kinds and transfers.
    pub fn new(
        kinds: Vec<KindCost>,
        transfers: Vec<Transfer>,
        memory: MemoryLaw,
        synchronisation: Synchronisation,
    ) -> Self {
        Self { kinds, transfers, memory, synchronisation, stages: None }
    }

    /// What one kind of device takes.
    #[inline]
    pub fn kind(&self, on: DeviceKind) -> &KindCost {
        match on {
            DeviceKind::Accelerator(class) => &self.kinds[class],
            DeviceKind::Cpu => &self.kinds[self.kinds.len() - 1],
        }
    }

    /// What node `v` costs on a device of this kind; `None` where that kind cannot run it.
    #[inline]
    pub fn node(&self, v: NodeId, on: DeviceKind) -> Option<NodeCost> {
        self.kind(on).nodes[v]
    }

    /// The pieces whose maximum is the load.
    #[inline]
    pub fn pieces(&self, on: DeviceKind) -> &[Piece] {
        &self.kind(on).pieces
    }

    /// The transfers from `v`, by index.
    #[inline]
    pub fn transfers_from(&self, v: NodeId) -> std::ops::Range<usize> {
        let first = self.transfers.partition_point(|transfer| transfer.source < v);
        let count = self.transfers[first..].iter().take_while(|transfer| transfer.source == v).count();
        first..first + count
    }

    /// The longest that moving a transfer takes on any of these kinds of device.
    pub fn longest_transfer(&self, t: usize, on: &[DeviceKind]) -> f64 {
        on.iter().map(|&kind| self.kind(kind).transfers[t]).fold(0.0, f64::max)
    }

    /// Whether memory is the sum over nodes, and each replica needs all of it.
    pub fn has_additive_memory(&self) -> bool {
        !self.memory.is_shared && self.kinds.iter().flat_map(|kind| &kind.boundary).all(|&bytes| bytes == 0.0)
    }

    /// Bytes that a stage of kind `on` that holds `set` needs, all its replicas together where they share them. `set`
    /// holds whole colour classes. `None` when the device kind cannot run a node of it. O(n + m).
    pub fn memory_of(&self, g: &Graph, set: &NodeSet, on: DeviceKind) -> Option<f64> {
        let own = set.iter().map(|v| Some(self.node(v, on)?.memory)).sum::<Option<f64>>()?;
        let kind = self.kind(on);
        if kind.boundary.is_empty() {
            return Some(own);
        }
        let crossing = g.edges().filter(|&(u, v)| set.contains(u) != set.contains(v));
        Some(own + crossing.map(|(u, _)| kind.boundary_bytes(u)).sum::<f64>())
    }

    /// Compute and communication of `set`, counting only what `part` selects: nodes for compute, producers for
    /// communication. `None` when the device kind cannot run a node of the set. O(n + pins).
    pub fn terms(&self, set: &NodeSet, on: DeviceKind, part: impl Fn(NodeId) -> bool) -> Option<Terms> {
        let mut terms = Terms::default();
        for v in set.iter() {
            let cost = self.node(v, on)?;
            if part(v) {
                terms.compute += cost.compute;
            }
        }
        for (transfer, time) in self.transfers.iter().zip(&self.kind(on).transfers) {
            if part(transfer.source) && transfer.is_cut(|v| set.contains(v)) {
                *terms.side(set.contains(transfer.source)) += time;
            }
        }
        Some(terms)
    }

    /// The load of a device of kind `on` that holds `set`; `None` when it cannot run a node of it. O(n + pins).
    pub fn load(&self, set: &NodeSet, on: DeviceKind) -> Option<f64> {
        Some(max_of_pieces(self.pieces(on), &self.terms(set, on, |_| true)?))
    }

    /// Checks that this is data of `graph` for what `spec` asks.
    ///
    /// # Errors
    /// Everything that is wrong with it.
    pub fn validate(&self, graph: &Graph, spec: &ProblemSpec) -> Result<(), Problems> {
        let mut found = Problems::default();
        let (n, classes) = (graph.node_count(), spec.platform.accelerators.len());
        if self.kinds.len() != classes + 1 {
            let cause = format!("there are {} kinds of device", self.kinds.len());
            found.add(
                "costs",
                cause,
                format!("give one for each of {classes} classes of accelerators, then one for CPUs"),
            );
        }
        let is_amount = |amount: f64| amount.is_finite() && amount >= 0.0;
        for (k, kind) in self.kinds.iter().enumerate() {
            let place = format!("costs of kind {k}");
            if kind.nodes.len() != n || kind.transfers.len() != self.transfers.len() {
                let cause = format!("they are of {} nodes and {} transfers", kind.nodes.len(), kind.transfers.len());
                found.add(place, cause, format!("give them for {n} nodes and {} transfers", self.transfers.len()));
                continue;
            }
            let amounts = kind.nodes.iter().flatten().flat_map(|cost| [cost.compute, cost.memory]);
            if let Some(wrong) = amounts.chain(kind.transfers.iter().copied()).find(|&amount| !is_amount(amount)) {
                found.add(place.as_str(), format!("one of them is {wrong}"), "give finite numbers that are at least 0");
            }
            let is_one_for_each = kind.boundary.is_empty() || kind.boundary.len() == n;
            if !is_one_for_each || !kind.boundary.iter().all(|&bytes| is_amount(bytes)) {
                let cause = "the bytes of boundaries are not one number that is at least 0 for each node";
                found.add(place.as_str(), cause, "give one for each node, or none");
            }
            let asks = spec.chunks.is_some_and(|chunks| chunks.memory.is_some()) && k < classes;
            let is_part = |(&kept, node): (&f64, &Option<NodeCost>)| {
                is_amount(kept) && node.is_none_or(|cost| kept <= cost.memory)
            };
            let is_known = kind.kept.len() == n && kind.kept.iter().zip(&kind.nodes).all(is_part);
            if asks && !is_known {
                let cause = "they do not say which part of each node's memory is kept for each microbatch in flight";
                found.add(place.as_str(), cause, "take a cost model that does, such as `profiled`");
            }
            if let Some((cause, cure)) = wrong_pieces(&kind.pieces) {
                found.add(place, cause, cure);
            }
        }
        if let Some(cpu) = self.kinds.last()
            && (cpu.pieces != [Piece::COMPUTE]
                || cpu.transfers.iter().chain(&cpu.boundary).any(|&amount| amount != 0.0))
        {
            let cure =
                "give CPUs one piece, compute time alone, transfers that take no time, and no bytes of boundaries";
            found.add("costs of CPUs", "they count more than compute time", cure);
        }
        if matches!(spec.objective, Objective::Latency { .. } | Objective::Sharding(_)) && !self.has_additive_memory() {
            let cure = "ask for a pipeline's objective, or for memory that is the nodes' own";
            found.add(
                "costs",
                "memory for boundaries and memory that is shared are about the stages of a pipeline",
                cure,
            );
        }
        match &self.stages {
            Some(stages) => stages.validate(n, spec.degrees.as_ref(), &mut found),
            None if spec.degrees.is_some() => {
                let cure = "take a cost model that gives options, such as `profiled`";
                found.add("costs", "they say nothing of degrees of stages", cure);
            }
            None => {}
        }
        if !self.transfers.is_sorted_by_key(|transfer| transfer.source) {
            found.add("transfers", "they are not in the order of their sources", "sort them by source");
        }
        for (t, transfer) in self.transfers.iter().enumerate() {
            let is_known = transfer.source < n
                && !transfer.consumers.is_empty()
                && transfer.consumers.is_sorted_by(|a, b| a < b)
                && transfer
                    .consumers
                    .iter()
                    .all(|&v| graph.successors(transfer.source).binary_search(&(v as u32)).is_ok());
            if !is_known {
                let cause = "its consumers are not successors of its source, once each and ascending";
                found.add(format!("transfer {t}"), cause, "list some or all successors of the source");
            }
            if let Some(bytes) = transfer.bytes.filter(|&bytes| !is_amount(bytes)) {
                found.add(
                    format!("transfer {t}"),
                    format!("it has {bytes} bytes"),
                    "give a finite number of at least 0",
                );
            }
            if !transfer.between.is_finite() || transfer.between < 1.0 {
                let cause = format!("it costs {} times its time between servers", transfer.between);
                found.add(format!("transfer {t}"), cause, "give a finite factor of at least 1");
            }
        }
        found.into_result()
    }
}
