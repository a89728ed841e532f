//! Problems without degrees in the place of one that asks for them.

use std::sync::Arc;

use crate::cost::{Costs, KindCost, MemoryLaw, NodeCost, Piece, StageCosts, Synchronisation, Transfer};
use crate::problem::{Objective, Problem, ProblemSpec};

/// What nodes and edges take on a device that stands for a replica.
pub struct Plain {
    /// What each node takes; `None` where it cannot run.
    pub nodes: Vec<Option<NodeCost>>,
    /// Bytes of each node that are kept for each microbatch in flight; none where that is not asked.
    pub kept: Vec<f64>,
    /// Time to move each edge's data onto or off a device.
    pub edges: Vec<f64>,
}

/// The devices, of one class.
pub struct Devices {
    /// The class, by its index in the platform.
    pub class: usize,
    pub count: usize,
    /// Bytes of one.
    pub memory: Option<f64>,
    /// Replicas that each of them stands for one of, which share out the microbatches of a step.
    pub data: usize,
}

impl Plain {
    /// The problem whose nodes and edges take this on these devices. `problem`, of which `costs` are, asks for degrees.
    pub fn problem(self, problem: &Problem, costs: &StageCosts, devices: &Devices) -> Problem {
        let Self { nodes, kept, edges } = self;
        let cpu = KindCost::new(vec![None; nodes.len()], vec![0.0; edges.len()], vec![Piece::COMPUTE]);
        let accelerator = KindCost::new(nodes, edges, vec![Piece::ADDITIVE]).in_flight(kept);
        let mut spec = ProblemSpec { degrees: None, interconnect: None, ..problem.spec.clone() };
        for (index, class) in spec.platform.accelerators.iter_mut().enumerate() {
            let is_theirs = index == devices.class;
            (class.count, class.memory) = (if is_theirs { devices.count } else { 0 }, devices.memory);
        }
        if let Objective::Step { microbatches } = &mut spec.objective {
            *microbatches /= devices.data;
        }
        let mut kinds = vec![accelerator; spec.platform.accelerators.len()];
        kinds.push(cpu);
        let transfers = costs.edges.iter().map(|edge| Transfer::new(edge.source, vec![edge.target])).collect();
        let costs = Costs::new(kinds, transfers, MemoryLaw::default(), Synchronisation::Added);
        Problem { costs: Arc::new(costs), spec, ..problem.clone() }
    }
}
