//! What one complete split is worth, or that it does not count.

use std::collections::BTreeMap;

use super::enumeration::Stage;
use crate::cost::{max_of_pieces, replicated_load, ring_all_reduce};
use crate::graph::order_graph::{Groups, OrderGraph};
use crate::graph::{NodeId, NodeSet};
use crate::problem::{Objective, Problem, Scope, Sharding, fits};

/// Ancestors and descendants of one node of the order graph, as masks of colour groups.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Between {
    group: usize,
    above: u32,
    below: u32,
}

/// Evaluates splits of one problem. Sets of colour groups are masks.
pub(super) struct Evaluation<'a> {
    problem: &'a Problem,
    /// The nodes of each group.
    group_nodes: Vec<NodeSet>,
    /// Groups with an order edge to each group.
    predecessors: Vec<u32>,
    between: Vec<Between>,
    /// The groups of the order graph's nodes along the line, in a linearized scope.
    line: Vec<usize>,
    has_backward: bool,
}

impl<'a> Evaluation<'a> {
    pub fn new(problem: &'a Problem, groups: &Groups) -> Self {
        let order = problem.order_graph(groups);
        let mut predecessors = vec![0; groups.len()];
        for &(u, v) in &order.edges {
            predecessors[order.group_of[v]] |= 1 << order.group_of[u];
        }
        let n = problem.node_count();
        Self {
            problem,
            group_nodes: groups.members.iter().map(|nodes| NodeSet::from_nodes(n, nodes.iter().copied())).collect(),
            predecessors,
            between: between(&order),
            line: line(problem, groups, &order),
            has_backward: problem.backward.contains(&true),
        }
    }

    /// The objective value of a split, or `None` when it is infeasible or outside the scope.
    pub fn evaluate(&self, stages: &[Stage]) -> Option<f64> {
        if !self.is_in_scope(stages) {
            return None;
        }
        let sets: Vec<NodeSet> = stages.iter().map(|stage| self.nodes(stage.mask)).collect();
        if let Objective::Sharding(sharding) = self.problem.spec.objective {
            let fits = stages.iter().zip(&sets).all(|(stage, set)| self.fits(stage, set) == Some(true));
            return fits.then(|| self.sharding_cost(sharding, stages, &sets));
        }
        let (mut largest, mut sum) = ([0.0f64; 2], 0.0);
        for (stage, set) in stages.iter().zip(&sets) {
            if !self.fits(stage, set)? {
                return None;
            }
            let far = self.far_transfers(stages, &sets, stage);
            for (largest, load) in largest.iter_mut().zip(self.loads(stage, set, &far)?) {
                *largest = largest.max(load);
                sum += load;
            }
        }
        match self.problem.spec.objective {
            Objective::Step { microbatches } => Some(sum + (microbatches as f64 - 1.0) * largest[0]),
            _ => Some(largest[0] + largest[1]),
        }
    }

    fn sharding_cost(&self, sharding: Sharding, stages: &[Stage], sets: &[NodeSet]) -> f64 {
        let Problem { graph, shard_weights, spec, .. } = self.problem;
        let devices: usize = self.problem.device_kinds().into_iter().map(|kind| self.problem.device_count(kind)).sum();
        let mean = shard_weights.iter().sum::<f64>() / devices as f64;
        let weights = sets.iter().map(|set| set.iter().map(|v| shard_weights[v]).sum::<f64>());
        let squares: f64 = weights.map(|weight| (weight - mean).powi(2)).sum();
        let unused = (devices - stages.len()) as f64 * mean.powi(2);
        let stage_of = |v: NodeId| sets.iter().position(|set| set.contains(v));
        let price = |(u, v): (NodeId, NodeId)| {
            let (from, to) = (stage_of(u).map(|s| &stages[s]), stage_of(v).map(|s| &stages[s]));
            let server = |stage: Option<&Stage>| stage.and_then(|stage| stage.server);
            match spec.interconnect {
                _ if from == to => 0.0,
                Some(interconnect) if server(from).is_none() || server(from) != server(to) => {
                    sharding.edge * interconnect.between_factor
                }
                _ => sharding.edge,
            }
        };
        sharding.variance * (squares + unused) + graph.edges().map(price).sum::<f64>()
    }

    /// The stages in pipeline order where there is one, else as they are.
    pub fn in_pipeline_order(&self, stages: Vec<Stage>) -> Vec<Stage> {
        let masks: Vec<u32> = stages.iter().map(|stage| stage.mask).collect();
        match self.topological_order(&masks) {
            Some(order) => order.into_iter().map(|i| stages[i].clone()).collect(),
            None => stages,
        }
    }

    fn nodes(&self, mask: u32) -> NodeSet {
        let mut set = NodeSet::new(self.problem.node_count());
        let groups = self.group_nodes.iter().enumerate().filter(|(g, _)| mask >> g & 1 == 1);
        groups.for_each(|(_, nodes)| set.union_with(nodes));
        set
    }

    /// Whether the nodes fit in memory; `None` when the kind cannot run one of them.
    fn fits(&self, stage: &Stage, set: &NodeSet) -> Option<bool> {
        let Problem { graph, costs, .. } = self.problem;
        let limit = self.problem.memory_limit(stage.kind);
        let used = costs.memory_of(graph, set, stage.kind)?;
        Some(fits(used, costs.memory.capacity(limit, stage.replicas)))
    }

    /// The transfers whose data is made or consumed outside the server of `stage`. None are far without servers.
    fn far_transfers(&self, stages: &[Stage], sets: &[NodeSet], stage: &Stage) -> NodeSet {
        let (n, transfers) = (self.problem.node_count(), &self.problem.costs.transfers);
        let Some(server) = stage.server else { return NodeSet::new(transfers.len()) };
        let mut near = NodeSet::new(n);
        for (_, set) in stages.iter().zip(sets).filter(|(other, _)| other.server == Some(server)) {
            near.union_with(set);
        }
        let is_near = |&t: &usize| {
            let transfer = &transfers[t];
            near.contains(transfer.source) && transfer.consumers.iter().all(|&v| near.contains(v))
        };
        NodeSet::from_nodes(transfers.len(), (0..transfers.len()).filter(|t| !is_near(t)))
    }

    /// The load by pass under GPipe; all of it in the first place otherwise.
    fn loads(&self, stage: &Stage, set: &NodeSet, far: &NodeSet) -> Option<[f64; 2]> {
        let backward = &self.problem.backward;
        match self.problem.spec.objective {
            Objective::Throughput | Objective::Step { .. } | Objective::Latency { .. } | Objective::Sharding(_) => {
                Some([self.load(stage, set, far, &|_| true, self.all_reduce(stage, set))?, 0.0])
            }
            Objective::GPipe => {
                let all_reduce = self.all_reduce(stage, set);
                let (first, second) = if self.has_backward { (0.0, all_reduce) } else { (all_reduce, 0.0) };
                Some([
                    self.load(stage, set, far, &|v| !backward[v], first)?,
                    self.load(stage, set, far, &|v| backward[v], second)?,
                ])
            }
        }
    }

    fn load(
        &self,
        stage: &Stage,
        set: &NodeSet,
        far: &NodeSet,
        part: &dyn Fn(NodeId) -> bool,
        all_reduce: f64,
    ) -> Option<f64> {
        let costs = &self.problem.costs;
        let mut terms = costs.terms(set, stage.kind, part)?;
        for t in far.iter() {
            let transfer = &costs.transfers[t];
            if part(transfer.source) && transfer.is_cut(|v| set.contains(v)) {
                let time = costs.kind(stage.kind).transfers[t];
                *terms.side(set.contains(transfer.source)) += (transfer.between - 1.0) * time;
            }
        }
        let load = max_of_pieces(costs.pieces(stage.kind), &terms);
        Some(replicated_load(load, stage.replicas, all_reduce, costs.synchronisation))
    }

    fn all_reduce(&self, stage: &Stage, set: &NodeSet) -> f64 {
        let bytes = set.iter().map(|v| self.problem.parameter_bytes[v]).sum();
        self.problem
            .spec
            .replication
            .map_or(0.0, |replication| ring_all_reduce(bytes, stage.replicas, replication.bandwidth))
    }

    fn is_in_scope(&self, stages: &[Stage]) -> bool {
        match self.problem.spec.scope {
            Scope::Arbitrary => true,
            Scope::Convex => stages.iter().all(|stage| self.is_convex(stage.mask)),
            Scope::Acyclic => self.is_acyclic(stages),
            Scope::Linearized(_) => self.is_acyclic(stages) && self.is_linear(stages),
        }
    }

    fn is_convex(&self, mask: u32) -> bool {
        let returns = |node: &Between| node.above & mask != 0 && node.below & mask != 0;
        !self.between.iter().any(|node| mask >> node.group & 1 == 0 && returns(node))
    }

    fn is_acyclic(&self, stages: &[Stage]) -> bool {
        let devices: Vec<u32> = stages.iter().map(|stage| stage.mask).collect();
        if self.topological_order(&devices).is_none() {
            return false;
        }
        let mut servers: BTreeMap<usize, u32> = BTreeMap::new();
        let mut parts = Vec::new();
        for stage in stages {
            match stage.server {
                Some(server) => *servers.entry(server).or_default() |= stage.mask,
                None => parts.push(stage.mask),
            }
        }
        parts.extend(servers.values());
        self.topological_order(&parts).is_some()
    }

    /// An order in which every part comes after those that feed it.
    fn topological_order(&self, parts: &[u32]) -> Option<Vec<usize>> {
        let feeders = |part: u32| {
            let fed = self.predecessors.iter().enumerate().filter(|(g, _)| part >> g & 1 == 1);
            fed.fold(0, |mask, (_, feeders)| mask | feeders) & !part
        };
        let feeders: Vec<u32> = parts.iter().map(|&part| feeders(part)).collect();
        let mut order = Vec::with_capacity(parts.len());
        let mut missing = parts.iter().fold(0, |mask, part| mask | part);
        let mut waiting: Vec<usize> = (0..parts.len()).collect();
        while !waiting.is_empty() {
            let next = waiting.iter().position(|&i| feeders[i] & missing == 0)?;
            let part = waiting.remove(next);
            missing &= !parts[part];
            order.push(part);
        }
        Some(order)
    }

    fn is_linear(&self, stages: &[Stage]) -> bool {
        let mut left = 0;
        let mut current = 0;
        for &group in &self.line {
            if current >> group & 1 == 1 {
                continue;
            }
            left |= current;
            current = stages.iter().map(|stage| stage.mask).find(|mask| mask >> group & 1 == 1).unwrap_or(0);
            if left & current != 0 {
                return false;
            }
        }
        true
    }
}

/// What lies above and below each node of the order graph, each distinct case once.
fn between(order: &OrderGraph) -> Vec<Between> {
    let mut forwards = vec![Vec::new(); order.node_count];
    let mut backwards = vec![Vec::new(); order.node_count];
    for &(u, v) in &order.edges {
        forwards[u].push(v);
        backwards[v].push(u);
    }
    let mut cases: Vec<Between> = (0..order.node_count)
        .map(|v| Between {
            group: order.group_of[v],
            above: reachable_groups(order, &backwards, v),
            below: reachable_groups(order, &forwards, v),
        })
        .collect();
    cases.sort_unstable();
    cases.dedup();
    cases
}

fn reachable_groups(order: &OrderGraph, neighbours: &[Vec<usize>], start: usize) -> u32 {
    let mut seen = vec![false; order.node_count];
    let mut stack = vec![start];
    let mut groups = 0;
    while let Some(u) = stack.pop() {
        for &v in &neighbours[u] {
            if !std::mem::replace(&mut seen[v], true) {
                groups |= 1 << order.group_of[v];
                stack.push(v);
            }
        }
    }
    groups
}

/// The groups of forward nodes and orphans along the order of a linearized scope; an orphan group stands at its
/// first node.
fn line(problem: &Problem, groups: &Groups, order: &OrderGraph) -> Vec<usize> {
    let Scope::Linearized(line) = &problem.spec.scope else { return Vec::new() };
    let takes_part = NodeSet::from_nodes(problem.node_count(), order.nodes.iter().copied());
    line.iter().filter(|&&v| takes_part.contains(v)).map(|&v| groups.of_node[v]).collect()
}
