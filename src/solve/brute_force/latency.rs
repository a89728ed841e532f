//! The least latency of a split over every division of its accelerators' nodes into subgraphs, and every order of them.

use rustc_hash::FxHashMap;

use super::enumeration::Stage;
use crate::graph::order_graph::Groups;
use crate::graph::{NodeId, NodeSet};
use crate::problem::{DeviceKind, Problem, fits};

/// The subgraphs of one stage in their order, as masks of nodes; a CPU has one for each of its nodes.
type Division = Vec<u64>;

/// Evaluates the latency of splits of one problem.
pub(super) struct LatencyEvaluation<'a> {
    problem: &'a Problem,
    groups: &'a Groups,
    /// The most subgraphs of an accelerator.
    allowed: usize,
    /// Producers of each node.
    producers: Vec<u64>,
    /// Times of subgraphs looked at before.
    times: FxHashMap<(DeviceKind, u64), Option<f64>>,
}

impl<'a> LatencyEvaluation<'a> {
    /// The most nodes it takes.
    pub const MAX_NODES: usize = u64::BITS as usize;

    pub fn new(problem: &'a Problem, groups: &'a Groups, allowed: usize) -> Self {
        let graph = &problem.graph;
        let producers = |v: NodeId| graph.predecessors(v).iter().fold(0, |mask, &u| mask | 1 << u);
        let producers = (0..graph.node_count()).map(producers).collect();
        Self { problem, groups, allowed, producers, times: FxHashMap::default() }
    }

    /// The least latency of the split with the division of each stage, or `None` when it is infeasible.
    pub fn evaluate(&mut self, stages: &[Stage]) -> Option<(f64, Vec<Division>)> {
        let nodes: Vec<Vec<NodeId>> = stages.iter().map(|stage| self.nodes(stage)).collect();
        let choices: Vec<Vec<Division>> =
            stages.iter().zip(&nodes).map(|(stage, nodes)| self.divisions(stage.kind, nodes)).collect();
        if !stages.iter().zip(&nodes).all(|(stage, nodes)| self.is_feasible(stage.kind, nodes)) {
            return None;
        }
        let mut best: Option<(f64, Vec<Division>)> = None;
        let mut chosen = vec![0; stages.len()];
        loop {
            let divisions: Vec<&Division> = chosen.iter().zip(&choices).map(|(&i, choices)| &choices[i]).collect();
            let latency = self.latency(stages, &divisions);
            if let Some(latency) = latency.filter(|latency| best.as_ref().is_none_or(|(least, _)| latency < least)) {
                best = Some((latency, divisions.into_iter().cloned().collect()));
            }
            let Some(turn) = (0..stages.len()).find(|&i| chosen[i] + 1 < choices[i].len()) else { return best };
            chosen[..turn].fill(0);
            chosen[turn] += 1;
        }
    }

    fn nodes(&self, stage: &Stage) -> Vec<NodeId> {
        stage.groups().flat_map(|group| self.groups.members[group].iter().copied()).collect()
    }

    /// Whether the kind can run every node, and they fit in its memory.
    fn is_feasible(&self, kind: DeviceKind, nodes: &[NodeId]) -> bool {
        let memory: Option<f64> = nodes.iter().map(|&v| Some(self.problem.costs.node(v, kind)?.memory)).sum();
        memory.is_some_and(|used| fits(used, self.problem.memory_limit(kind)))
    }

    /// Every way to divide the nodes of a stage into subgraphs that run in order.
    fn divisions(&self, kind: DeviceKind, nodes: &[NodeId]) -> Vec<Division> {
        if kind == DeviceKind::Cpu {
            return vec![nodes.iter().map(|v| 1 << v).collect()];
        }
        let mut found: Vec<Division> = vec![vec![0; self.allowed]];
        for v in nodes {
            let placed = |division: &Division| {
                let place = |i: usize| {
                    let mut division = division.clone();
                    division[i] |= 1 << v;
                    division
                };
                (0..self.allowed).map(place).collect::<Vec<_>>()
            };
            found = found.iter().flat_map(placed).collect();
        }
        // Empty subgraphs come last, so that each division is looked at once.
        found.retain(|division| division.windows(2).all(|pair| pair[0] != 0 || pair[1] == 0));
        found.iter_mut().for_each(|division| division.retain(|&subgraph| subgraph != 0));
        found
    }

    /// When the last subgraph is finished, or `None` where they wait for each other.
    fn latency(&mut self, stages: &[Stage], divisions: &[&Division]) -> Option<f64> {
        let mut done = 0u64;
        let mut ready_at = vec![0.0f64; self.producers.len()];
        let mut waiting: Vec<Vec<u64>> = divisions.iter().map(|division| division.to_vec()).collect();
        let mut free_at = vec![0.0f64; stages.len()];
        while waiting.iter().any(|subgraphs| !subgraphs.is_empty()) {
            let (stage, position) = self.next(stages, &waiting, done)?;
            let subgraph = waiting[stage].remove(position);
            let kind = stages[stage].kind;
            let feeding = members(subgraph).fold(0, |mask, v| mask | self.producers[v]) & !subgraph;
            let mut start = members(feeding).map(|u| ready_at[u]).fold(0.0, f64::max);
            if kind != DeviceKind::Cpu {
                start = start.max(free_at[stage]);
            }
            let finish = start + self.time(kind, subgraph)?;
            free_at[stage] = finish;
            members(subgraph).for_each(|v| ready_at[v] = finish);
            done |= subgraph;
        }
        Some(ready_at.into_iter().fold(0.0, f64::max))
    }

    /// A stage and the position of a subgraph of it whose producers are all done: the first of an accelerator's, or any
    /// of a CPU's.
    fn next(&self, stages: &[Stage], waiting: &[Vec<u64>], done: u64) -> Option<(usize, usize)> {
        let is_ready = |subgraph: u64| members(subgraph).all(|v| self.producers[v] & !(done | subgraph) == 0);
        waiting.iter().enumerate().find_map(|(stage, subgraphs)| {
            let candidates = if stages[stage].kind == DeviceKind::Cpu { subgraphs.len() } else { 1 };
            let position = subgraphs.iter().take(candidates).position(|&subgraph| is_ready(subgraph))?;
            Some((stage, position))
        })
    }

    fn time(&mut self, kind: DeviceKind, subgraph: u64) -> Option<f64> {
        let problem = self.problem;
        let set = || NodeSet::from_nodes(problem.node_count(), members(subgraph));
        *self.times.entry((kind, subgraph)).or_insert_with(|| problem.costs.load(&set(), kind))
    }
}

/// The nodes of a mask, ascending.
pub(super) fn members(mask: u64) -> impl Iterator<Item = NodeId> {
    (0..u64::BITS as usize).filter(move |v| mask >> v & 1 == 1)
}
