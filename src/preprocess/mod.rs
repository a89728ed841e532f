//! From a problem on operators to a smaller one on *units* that every acyclic split keeps whole, and back.
//!
//! Colour classes are contracted, strongly connected units fused, and free leaves joined to their only
//! neighbour. Costs stay those of the original nodes and edges: communication becomes a hypergraph whose nets
//! are the producers with their consumers (Tarnawski 2020, section 5.3; orphaned backward nodes as in
//! [`crate::graph::order_graph`]).

mod boundary;
mod leaves;
mod nets;
mod target;
mod units;
mod unordered;

pub use boundary::Boundary;
pub use nets::Net;
pub use units::atomic_units;
pub use unordered::Unordered;

use std::sync::{Arc, OnceLock};

use crate::cost::{Piece, Terms, stage_capacity};
use crate::graph::{Csr, Graph, NodeId, Precedence};
use crate::problem::{DeviceKind, Problem, fits};

/// Compute time of a unit on one device kind, by pass.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct UnitTime {
    /// Time of its forward nodes.
    pub forward: f64,
    /// Time of its backward nodes.
    pub backward: f64,
}

impl UnitTime {
    /// Time of both passes.
    #[inline]
    pub fn total(&self) -> f64 {
        self.forward + self.backward
    }
}

/// Sums the terms of the two passes.
pub fn joint(terms: &[Terms; 2]) -> Terms {
    let mut sum = terms[0];
    sum.add(&terms[1]);
    sum
}

/// What the units cost on one device kind.
#[derive(Debug, Clone, PartialEq)]
pub struct KindCosts {
    /// The device kind.
    pub kind: DeviceKind,
    /// How many devices of the kind there are.
    pub count: usize,
    /// Memory of each in bytes; `None` is unlimited.
    pub memory_limit: Option<f64>,
    /// Whether replicas of a stage share its memory.
    pub shares_memory: bool,
    /// Compute time of each unit; `None` where the kind cannot run it.
    pub times: Vec<Option<UnitTime>>,
    /// Bytes of each unit by itself: see [`Self::boundary`].
    pub memory: Vec<f64>,
    /// What a device keeps beside its units' own memory for the edges that it cuts.
    pub boundary: Boundary,
    /// Communication of each unit by pass that its device pays wherever the other units are.
    pub fixed: Vec<[Terms; 2]>,
    /// The pieces of a load.
    pub pieces: Vec<Piece>,
    /// Time to move each net's data onto or off a device of this kind.
    pub transfers: Vec<f64>,
}

/// A problem on units. Unit `u` stands for the original nodes `members[u]`.
#[derive(Debug, Clone)]
pub struct Reduced {
    /// Original nodes of each unit.
    pub members: Vec<Vec<NodeId>>,
    /// Which units come before which: the contiguity constraint.
    pub order: Graph,
    /// Producers with their consumers, over units.
    pub nets: Vec<Net>,
    /// For each unit the nets that touch it.
    pub nets_of: Csr,
    /// For each net how many times its transfer time it costs where it leaves the server of the device that pays.
    pub between: Vec<f64>,
    /// Costs by device kind, as in [`Problem::device_kinds`].
    pub kinds: Vec<KindCosts>,
    /// Parameter bytes of each unit.
    pub parameter_bytes: Vec<f64>,
    /// Whether any original node belongs to the backward pass.
    pub training: bool,
    /// The closure of `order`, once it has been asked for; copies share it.
    closure: Arc<OnceLock<Arc<Precedence>>>,
}

/// The closure of larger graphs takes too much memory: n²/8 bytes.
const CLOSURE_LIMIT: usize = 30_000;

impl Reduced {
    /// Contracts and reduces `problem`. O(n log n + m log m).
    pub fn new(problem: &Problem) -> Self {
        let contracted = units::contract(problem);
        leaves::join(problem, contracted)
    }

    /// Contracts `problem` only as far as every acyclic split demands, without the lossless reductions.
    pub fn contracted_only(problem: &Problem) -> Self {
        units::contract(problem)
    }

    /// Reduces further for splits of which no device's load exceeds `target`: others may be lost.
    #[must_use]
    pub fn below(self, problem: &Problem, target: f64) -> Self {
        target::reduce(problem, self, target)
    }

    /// How many units there are.
    pub fn unit_count(&self) -> usize {
        self.members.len()
    }

    /// Which units precede which, unless there are too many of them. O(n·m/64) the first time, n²/8 bytes.
    pub fn precedence(&self) -> Option<Arc<Precedence>> {
        let closure = || Arc::clone(self.closure.get_or_init(|| Arc::new(Precedence::new(&self.order))));
        (self.unit_count() <= CLOSURE_LIMIT).then(closure)
    }

    /// The original nodes of a set of units, ascending.
    pub fn lift(&self, units: impl IntoIterator<Item = usize>) -> Vec<NodeId> {
        let mut nodes: Vec<NodeId> = units.into_iter().flat_map(|u| self.members[u].iter().copied()).collect();
        nodes.sort_unstable();
        nodes
    }

    /// Whether a device of every kind can hold the whole graph, so that memory never matters.
    pub fn memory_is_slack(&self) -> bool {
        self.kinds.iter().all(|k| fits(k.memory.iter().sum::<f64>() + k.boundary.total(), k.memory_limit))
    }

    /// Builds the reduced problem whose unit of each original node is `unit_of`, with these order edges.
    fn assemble(problem: &Problem, unit_of: &[usize], unit_count: usize, order: Graph) -> Self {
        let mut members = vec![Vec::new(); unit_count];
        for (v, &u) in unit_of.iter().enumerate() {
            members[u].push(v);
        }
        let (nets, transfers) = nets::merge(nets::of_transfers(problem, unit_of));
        let kinds = problem
            .device_kinds()
            .into_iter()
            .map(|kind| KindCosts::new(problem, kind, (unit_of, &members), &transfers))
            .collect();
        let parameter_bytes =
            members.iter().map(|nodes| nodes.iter().map(|&v| problem.parameter_bytes[v]).sum()).collect();
        let training = problem.backward.contains(&true);
        let nets_of = Csr::default();
        // Where factors differ, the least one belongs to a transfer that costs too much with any.
        let price =
            |of: &Vec<usize>| of.iter().map(|&t| problem.costs.transfers[t].between).fold(f64::INFINITY, f64::min);
        let between = transfers.iter().map(price).collect();
        let closure = Arc::default();
        let mut reduced = Self { members, order, nets, nets_of, between, kinds, parameter_bytes, training, closure };
        reduced.index_nets();
        reduced
    }

    /// Finds the nets of each unit anew.
    fn index_nets(&mut self) {
        let pins = |(e, net): (usize, &Net)| net.pins.iter().map(move |&u| (u as usize, e)).collect::<Vec<_>>();
        self.nets_of = Csr::new(self.unit_count(), self.nets.iter().enumerate().flat_map(pins));
    }
}

impl KindCosts {
    fn new(
        problem: &Problem,
        kind: DeviceKind,
        (unit_of, members): (&[usize], &[Vec<NodeId>]),
        transfers: &[Vec<usize>],
    ) -> Self {
        let costs = problem.costs.kind(kind);
        let unit_time = |nodes: &Vec<NodeId>| {
            nodes.iter().try_fold(UnitTime::default(), |mut time, &v| {
                let compute = costs.nodes[v]?.compute;
                if problem.backward[v] {
                    time.backward += compute;
                } else {
                    time.forward += compute;
                }
                Some(time)
            })
        };
        let unit_memory = |nodes: &Vec<NodeId>| nodes.iter().filter_map(|&v| costs.nodes[v]).map(|c| c.memory).sum();
        Self {
            kind,
            count: problem.device_count(kind),
            memory_limit: problem.memory_limit(kind),
            shares_memory: problem.costs.memory.is_shared,
            times: members.iter().map(unit_time).collect(),
            memory: members.iter().map(unit_memory).collect(),
            boundary: Boundary::new(&problem.graph, costs, unit_of, members.len()),
            fixed: vec![[Terms::default(); 2]; members.len()],
            pieces: costs.pieces.clone(),
            transfers: transfers.iter().map(|of| of.iter().map(|&t| costs.transfers[t]).sum()).collect(),
        }
    }

    /// Bytes that this many devices of the kind have for a stage that they share; `None` is unlimited.
    #[inline]
    pub fn capacity(&self, replicas: usize) -> Option<f64> {
        stage_capacity(self.memory_limit, replicas, self.shares_memory)
    }

    /// Compute and fixed communication of a unit by pass; `None` where the kind cannot run it.
    #[inline]
    pub fn terms(&self, unit: usize) -> Option<[Terms; 2]> {
        let time = self.times[unit]?;
        let mut terms = self.fixed[unit];
        terms[0].compute += time.forward;
        terms[1].compute += time.backward;
        Some(terms)
    }
}
