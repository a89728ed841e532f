//! What both dynamic programs share: the reduced problem, its stages, and splits found on it.

use super::consumption::Consumption;
use super::loads::{Loads, Value, objective};
use super::stage::{Boundary, StageKind, stage_kinds};
use crate::cost::Piece;
use crate::graph::NodeId;
use crate::preprocess::{KindCosts, Reduced};
use crate::problem::{DeviceAssignment, DeviceKind, Problem, Solution};

/// A problem prepared for dynamic programming.
pub struct Setting<'a> {
    /// The problem on the original nodes.
    pub problem: &'a Problem,
    /// The problem on units.
    pub reduced: &'a Reduced,
    /// Loads of stages.
    pub loads: Loads<'a>,
    /// Who can hold a stage.
    pub stages: Vec<StageKind>,
    /// The uses of devices.
    pub consumption: Consumption,
    /// No split's objective exceeds this.
    pub ceiling: f64,
}

/// A split of the original nodes into a chain of stages.
#[derive(Debug, Clone, PartialEq)]
pub struct Incumbent {
    /// Its worst value.
    pub value: Value,
    /// Original nodes of each stage, ascending, and the index of its stage kind.
    pub stages: Vec<(Vec<NodeId>, usize)>,
}

impl Incumbent {
    /// The objective of the split.
    pub fn objective(&self) -> f64 {
        objective(self.value)
    }
}

impl<'a> Setting<'a> {
    /// Prepares `problem`, reduced to `reduced`.
    pub fn new(problem: &'a Problem, reduced: &'a Reduced) -> Self {
        let stages = stage_kinds(problem, reduced);
        let consumption = Consumption::new(problem, reduced, &stages);
        let loads = Loads::new(problem, reduced);
        let ceiling = ceiling(problem, reduced) * most_loads(problem, reduced);
        Self { problem, reduced, loads, stages, consumption, ceiling }
    }

    /// How many replicas a stage has at most.
    pub fn most_replicas(&self) -> usize {
        self.stages.iter().map(|stage| stage.replicas).max().unwrap_or(1)
    }

    /// The split on original nodes, with `objective` as its claim.
    pub fn lift(&self, incumbent: &Incumbent, objective: f64) -> Solution {
        let servers = self.servers(incumbent.stages.iter().map(|&(_, stage)| stage));
        let device = |((nodes, stage), server): (&(Vec<NodeId>, usize), Option<usize>)| {
            let stage = self.stages[*stage];
            let ids = nodes.iter().map(|&v| self.problem.ids[v]).collect();
            DeviceAssignment {
                replicas: stage.replicas,
                server,
                ..DeviceAssignment::new(self.reduced.kinds[stage.kind].kind, ids)
            }
        };
        Solution { devices: incumbent.stages.iter().zip(servers).map(device).collect(), objective: Some(objective) }
    }

    /// The server of each stage of a chain. Servers are numbered class by class.
    fn servers(&self, chain: impl Iterator<Item = usize>) -> Vec<Option<usize>> {
        let Some(interconnect) = self.problem.spec.interconnect else { return chain.map(|_| None).collect() };
        let mut next = Vec::new();
        let mut first = 0;
        for class in &self.problem.spec.platform.accelerators {
            next.push(first);
            first += class.count / interconnect.server_size;
        }
        let number = |stage: usize| {
            let stage = self.stages[stage];
            let DeviceKind::Accelerator(class) = self.reduced.kinds[stage.kind].kind else { return None };
            next[class] += usize::from(stage.lower == Boundary::Between);
            Some(next[class] - 1)
        };
        chain.map(number).collect()
    }
}

/// How many times the largest load of a split its objective is at most: a step has it for each stage that a microbatch passes,
/// and for each other microbatch.
fn most_loads(problem: &Problem, reduced: &Reduced) -> f64 {
    let Some(microbatches) = problem.spec.objective.microbatches() else { return 1.0 };
    let devices: usize = reduced.kinds.iter().map(|kind| kind.count).sum();
    (microbatches - 1 + devices.min(reduced.unit_count())) as f64
}

/// A value that no split's largest loads exceed: each pass of all units on the kind slowest at it, every net cut, and all
/// weights synchronised. The worst passes of a split may lie on different kinds.
fn ceiling(problem: &Problem, reduced: &Reduced) -> f64 {
    let worst = |pass: usize| reduced.kinds.iter().map(|kind| most(reduced, kind, pass)).fold(0.0, f64::max);
    let all_reduce =
        problem.spec.replication.map_or(0.0, |r| 2.0 * reduced.parameter_bytes.iter().sum::<f64>() / r.bandwidth);
    let between = problem.costs.transfers.iter().map(|transfer| transfer.between).fold(1.0, f64::max);
    ((worst(0) + worst(1)) * between + all_reduce) * (1.0 + 1e-9) + f64::MIN_POSITIVE
}

/// Compute and communication of one pass of all units that `kind` can run, with every net cut, as much as any piece of the
/// load counts them.
fn most(reduced: &Reduced, kind: &KindCosts, pass: usize) -> f64 {
    let largest = |coefficient: fn(&Piece) -> f64| kind.pieces.iter().map(coefficient).fold(0.0, f64::max);
    let all = Piece::new(largest(|p| p.compute), largest(|p| p.comm_in), largest(|p| p.comm_out));
    let units = (0..reduced.unit_count()).filter_map(|u| kind.terms(u));
    let own = units.map(|terms| all.value(&terms[pass]));
    let nets = reduced.nets.iter().zip(&kind.transfers).filter(|(net, _)| usize::from(net.backward) == pass);
    let moved: f64 = nets.map(|(_, transfer)| transfer).sum();
    own.sum::<f64>() + all.comm_in.max(all.comm_out) * moved
}
