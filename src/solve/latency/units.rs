//! Units: what a step of the dynamic program takes as a whole.
//!
//! A *feasible* split has an order of its blocks (accelerator subgraphs, and CPU nodes one by one) in which each block
//! comes after those that feed it. Contracting a colour class keeps every feasible split when, inside the class, every
//! node with a predecessor outside reaches every node with a successor outside. For suppose a class on the CPU were one
//! block, and this block lay on a cycle of blocks: the cycle enters the class at a node that reaches the one at which it
//! leaves, so it is a cycle of the feasible split itself. Classes without this property stay apart, node by node; an
//! accelerator then takes all of a class in one step or none of it, and a class that is begun otherwise is on the CPU.
//!
//! Two reductions are lossless. A node that comes at no cost on the CPU and after no other node, and whose output
//! moves at no cost, is ready there at time 0. And a unit that costs nothing and hangs at one other unit joins it:
//! no duration rises, and nothing becomes ready later.

use petgraph::unionfind::UnionFind;

use crate::graph::order_graph::Groups;
use crate::graph::{Graph, NodeId, reachability, topological};
use crate::problem::{DeviceKind, Problem};

/// Above this size reachability, which needs n²/8 bytes, is not known: colour classes stay apart.
pub(super) const REACHABILITY_LIMIT: usize = 16_384;

/// The units of a problem, in topological order.
#[derive(Debug, Clone)]
pub(super) struct Units {
    /// Nodes of each unit, in topological order.
    pub members: Vec<Vec<NodeId>>,
    /// Unit of each node; `None` for those ready at time 0.
    pub of_node: Vec<Option<usize>>,
    /// Which units feed which.
    pub order: Graph,
    /// The colour classes that stay apart: the one of each unit, where there is one.
    pub class: Vec<Option<usize>>,
    /// The units of each of these classes, ascending.
    pub class_members: Vec<Vec<usize>>,
    /// Whether the memory of leaves is counted that take no time.
    pub leaf_memory: bool,
    /// Which nodes are leaves whose memory is not counted.
    pub ignores_memory: Vec<bool>,
}

impl Units {
    /// Contracts and reduces `problem` without the nodes `left_out`, which feed no other ones; with the memory of leaves,
    /// or without it.
    pub fn new(problem: &Problem, leaf_memory: bool, left_out: &[bool]) -> Self {
        let groups = Groups::new(&problem.color_class);
        let mut ready = ready_at_once(problem, &groups);
        ready.iter_mut().zip(left_out).for_each(|(ready, left_out)| *ready |= left_out);
        let apart = stay_apart(&problem.graph, &groups);
        let mut joined = UnionFind::new(problem.node_count());
        for (g, nodes) in groups.members.iter().enumerate().filter(|&(g, _)| !apart[g]) {
            nodes.iter().for_each(|&v| {
                joined.union(groups.members[g][0], v);
            });
        }
        let mut ignores_memory = vec![false; problem.node_count()];
        loop {
            let mut units = Self::assemble(problem, &ready, &groups, &apart, &joined);
            let leaves = units.free_leaves(problem, leaf_memory);
            if leaves.is_empty() {
                units.ignores_memory = ignores_memory;
                units.leaf_memory = leaf_memory;
                return units;
            }
            for (leaf, neighbour) in leaves {
                for &v in &units.members[leaf] {
                    ignores_memory[v] = !is_free(problem, v, true);
                }
                joined.union(units.members[leaf][0], units.members[neighbour][0]);
            }
        }
    }

    fn assemble(problem: &Problem, ready: &[bool], groups: &Groups, apart: &[bool], joined: &UnionFind<usize>) -> Self {
        let n = problem.node_count();
        let mut index = vec![usize::MAX; n];
        let mut count = 0;
        let mut of_node = vec![None; n];
        for v in (0..n).filter(|&v| !ready[v]) {
            let root = joined.find(v);
            if index[root] == usize::MAX {
                index[root] = count;
                count += 1;
            }
            of_node[v] = Some(index[root]);
        }
        let between = problem.graph.edges().filter_map(|(u, v)| Some((of_node[u]?, of_node[v]?)));
        let edges: Vec<(usize, usize)> = between.filter(|(a, b)| a != b).collect();
        let rank = ranks(count, &edges);
        of_node.iter_mut().flatten().for_each(|u| *u = rank[*u]);
        let renumbered: Vec<(usize, usize)> = edges.iter().map(|&(a, b)| (rank[a], rank[b])).collect();

        let mut members = vec![Vec::new(); count];
        for v in topological::smallest_first(&problem.graph) {
            if let Some(u) = of_node[v] {
                members[u].push(v);
            }
        }
        let mut class = vec![None; count];
        let mut class_members = Vec::new();
        for (_, nodes) in groups.members.iter().enumerate().filter(|&(g, _)| apart[g]) {
            let mut units: Vec<usize> = nodes.iter().filter_map(|&v| of_node[v]).collect();
            units.sort_unstable();
            units.dedup();
            units.iter().for_each(|&u| class[u] = Some(class_members.len()));
            class_members.push(units);
        }
        let (leaf_memory, ignores_memory) = (true, Vec::new());
        Self { members, of_node, order: acyclic(count, &renumbered), class, class_members, leaf_memory, ignores_memory }
    }

    /// Units that cost nothing and hang at one other unit, each with it. No unit both joins and is joined.
    fn free_leaves(&self, problem: &Problem, leaf_memory: bool) -> Vec<(usize, usize)> {
        let mut leaves = Vec::new();
        let (mut joins, mut is_joined) = (vec![false; self.members.len()], vec![false; self.members.len()]);
        for u in (0..self.members.len()).filter(|&u| self.class[u].is_none()) {
            let mut around = self.order.predecessors(u).iter().chain(self.order.successors(u)).map(|&v| v as usize);
            let (Some(v), None) = (around.next(), around.next()) else { continue };
            if !is_joined[u] && !joins[v] && self.members[u].iter().all(|&node| is_free(problem, node, leaf_memory)) {
                (joins[u], is_joined[v]) = (true, true);
                leaves.push((u, v));
            }
        }
        leaves
    }
}

/// Which nodes are ready on the CPU at time 0, and cost nothing to fetch from there.
fn ready_at_once(problem: &Problem, groups: &Groups) -> Vec<bool> {
    let mut ready = vec![false; problem.node_count()];
    if problem.spec.platform.cpus == 0 {
        return ready;
    }
    let kinds = problem.device_kinds();
    for v in topological::smallest_first(&problem.graph) {
        let is_free = problem.costs.node(v, DeviceKind::Cpu).is_some_and(|cost| cost.compute == 0.0)
            && problem.costs.transfers_from(v).all(|t| problem.costs.longest_transfer(t, &kinds) == 0.0);
        let follows_ready = problem.graph.predecessors(v).iter().all(|&u| ready[u as usize]);
        ready[v] = groups.members[groups.of_node[v]].len() == 1 && is_free && follows_ready;
    }
    ready
}

/// Whether a node takes no time and, where that counts, no memory on any kind of device.
fn is_free(problem: &Problem, v: NodeId, memory: bool) -> bool {
    problem.device_kinds().into_iter().all(|kind| {
        let cost = problem.costs.node(v, kind);
        cost.is_some_and(|cost| cost.compute == 0.0 && (!memory || kind == DeviceKind::Cpu || cost.memory == 0.0))
    })
}

/// Which groups do not contract: some node with a predecessor outside does not reach one with a successor outside.
fn stay_apart(graph: &Graph, groups: &Groups) -> Vec<bool> {
    if groups.len() == graph.node_count() {
        return vec![false; groups.len()];
    }
    if graph.node_count() > REACHABILITY_LIMIT {
        return groups.members.iter().map(|nodes| nodes.len() > 1).collect();
    }
    let descendants = reachability::descendants(graph);
    let outside = |g: usize, neighbours: &[u32]| neighbours.iter().any(|&w| groups.of_node[w as usize] != g);
    let contracts = |(g, nodes): (usize, &Vec<NodeId>)| {
        let entries = nodes.iter().filter(|&&v| outside(g, graph.predecessors(v)));
        let exits: Vec<NodeId> = nodes.iter().copied().filter(|&v| outside(g, graph.successors(v))).collect();
        entries.into_iter().all(|&a| exits.iter().all(|&b| descendants[a].contains(b)))
    };
    groups.members.iter().enumerate().map(|group| !contracts(group)).collect()
}

/// The place of each of `n` units in a topological order.
fn ranks(n: usize, edges: &[(usize, usize)]) -> Vec<usize> {
    let mut rank = vec![0; n];
    for (i, u) in topological::smallest_first(&acyclic(n, edges)).into_iter().enumerate() {
        rank[u] = i;
    }
    rank
}

fn acyclic(n: usize, edges: &[(usize, usize)]) -> Graph {
    Graph::new(n, edges).unwrap_or_else(|e| unreachable!("contractions keep the graph acyclic: {e}"))
}
