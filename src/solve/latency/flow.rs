//! Flows: paths of the graph, with weights that add up to 1.
//!
//! A split ends no earlier than the last block of any path, hence not before the mean of what the blocks of paths take,
//! whatever the weights. A path enters a block once, since blocks are convex. So the split takes at least the sum, over
//! its blocks, of what the block takes times the flow that enters it: costs that add up, which a program over ideals with
//! one number for each minimises. The best flow is found as a player of a matrix game finds it: the other one answers each
//! flow with its cheapest split, and paths gain weight with what the splits so far take along them (Freund and Schapire
//! 1999, "Adaptive game playing using multiplicative weights"; over paths: Takimoto and Warmuth 2003).

use super::lattice::Lattice;
use super::model::Model;
use super::trace::{Block, duration};
use crate::graph::{NodeId, topological};
use crate::problem::DeviceKind;

/// The paths that pass all cuts, as the nodes and arcs that lie on one.
#[derive(Debug)]
pub(super) struct Paths {
    /// Nodes on a path, in topological order.
    order: Vec<NodeId>,
    /// For each node the arcs that leave it.
    leaving: Vec<Vec<usize>>,
    /// Tail and head of each arc.
    arcs: Vec<(NodeId, NodeId)>,
    /// Nodes at which a path begins.
    starts: Vec<NodeId>,
}

/// One number for each node, each arc and each start of paths: times that they take, or flow that passes them.
#[derive(Debug, Clone)]
pub(super) struct Along {
    /// By node.
    pub nodes: Vec<f64>,
    /// By arc.
    pub arcs: Vec<f64>,
    /// By start: what enters there.
    pub starts: Vec<f64>,
}

impl Along {
    /// The greatest number.
    pub fn most(&self) -> f64 {
        [&self.nodes, &self.arcs, &self.starts].into_iter().flatten().copied().fold(0.0, f64::max)
    }

    /// Adds the numbers of another.
    pub fn add(&mut self, other: &Self) {
        let add = |to: &mut [f64], from: &[f64]| to.iter_mut().zip(from).for_each(|(sum, more)| *sum += more);
        add(&mut self.nodes, &other.nodes);
        add(&mut self.arcs, &other.arcs);
        add(&mut self.starts, &other.starts);
    }
}

impl Paths {
    /// The paths of `model` past the cuts of a lattice; there may be none. O(n · cuts + m).
    pub fn new(model: &Model, lattice: &Lattice) -> Self {
        let graph = &model.problem.graph;
        let segment = segments(model, lattice);
        let last = lattice.cuts.len().saturating_sub(2);
        let in_unit = |neighbours: &[u32]| -> Vec<NodeId> {
            neighbours.iter().map(|&v| v as usize).filter(|&v| segment[v].is_some()).collect()
        };
        let (mut comes, mut goes) = (vec![false; graph.node_count()], vec![false; graph.node_count()]);
        let order = topological::smallest_first(graph);
        for &v in &order {
            let before = in_unit(graph.predecessors(v));
            comes[v] = if before.is_empty() { segment[v] == Some(0) } else { before.iter().any(|&u| comes[u]) };
        }
        for &v in order.iter().rev() {
            let after = in_unit(graph.successors(v));
            goes[v] = if after.is_empty() { segment[v] == Some(last) } else { after.iter().any(|&w| goes[w]) };
        }
        let order: Vec<NodeId> = order.into_iter().filter(|&v| comes[v] && goes[v]).collect();
        let (mut leaving, mut arcs) = (vec![Vec::new(); graph.node_count()], Vec::new());
        for &v in &order {
            for w in in_unit(graph.successors(v)).into_iter().filter(|&w| goes[w]) {
                leaving[v].push(arcs.len());
                arcs.push((v, w));
            }
        }
        let starts = order.iter().copied().filter(|&v| in_unit(graph.predecessors(v)).is_empty()).collect();
        Self { order, leaving, arcs, starts }
    }

    /// Whether there is no path.
    pub fn is_empty(&self) -> bool {
        self.starts.is_empty()
    }

    /// The arcs that leave a node: each with its head.
    pub fn leaving(&self, v: NodeId) -> impl Iterator<Item = (usize, NodeId)> {
        self.leaving[v].iter().map(|&arc| (arc, self.arcs[arc].1))
    }

    /// The starts: each with its node.
    pub fn starts(&self) -> impl Iterator<Item = (usize, NodeId)> {
        self.starts.iter().copied().enumerate()
    }

    /// 0 everywhere.
    pub fn zeros(&self) -> Along {
        let of = |count: usize| vec![0.0; count];
        Along { nodes: of(self.leaving.len()), arcs: of(self.arcs.len()), starts: of(self.starts.len()) }
    }

    /// The flow in which each path weighs e to the power of `sharpness` times what it takes. O(n + m).
    pub fn softmax(&self, times: &Along, sharpness: f64) -> Along {
        // The logarithm of what the paths from each node on weigh.
        let mut mass = vec![0.0f64; self.leaving.len()];
        let through = |mass: &[f64], arc: usize| sharpness * times.arcs[arc] + mass[self.arcs[arc].1];
        for &v in self.order.iter().rev() {
            let after = log_sum(self.leaving[v].iter().map(|&arc| through(&mass, arc)));
            mass[v] = sharpness * times.nodes[v] + if self.leaving[v].is_empty() { 0.0 } else { after };
        }
        let begins = |s: usize| sharpness * times.starts[s] + mass[self.starts[s]];
        let all = log_sum((0..self.starts.len()).map(begins));
        let mut flow = self.zeros();
        for (s, &v) in self.starts.iter().enumerate() {
            flow.starts[s] = (begins(s) - all).exp();
            flow.nodes[v] += flow.starts[s];
        }
        for &v in &self.order {
            let after = mass[v] - sharpness * times.nodes[v];
            for &arc in &self.leaving[v] {
                flow.arcs[arc] = flow.nodes[v] * (through(&mass, arc) - after).exp();
                flow.nodes[self.arcs[arc].1] += flow.arcs[arc];
            }
        }
        flow
    }

    /// What the blocks of a split take along paths: on the CPU each node, on an accelerator the arc that enters it. 0 without
    /// blocks.
    pub fn times(&self, model: &Model, blocks: &[Block]) -> Along {
        if blocks.is_empty() {
            return self.zeros();
        }
        let mut block_of = vec![0; model.unit_count()];
        for (b, block) in blocks.iter().enumerate() {
            block.units.iter().for_each(|&u| block_of[u] = b);
        }
        let durations: Vec<Option<f64>> =
            blocks.iter().map(|block| block.class.map(|class| duration(model, class, &block.units))).collect();
        let block = |v: NodeId| model.units.of_node[v].map(|u| block_of[u]);
        let entered = |v: NodeId| block(v).and_then(|b| durations[b]).unwrap_or(0.0);
        let mut times = self.zeros();
        for &v in &self.order {
            if block(v).is_some_and(|b| durations[b].is_none()) {
                times.nodes[v] = model.problem.costs.node(v, DeviceKind::Cpu).map_or(0.0, |cost| cost.compute);
            }
        }
        for (time, &(u, v)) in times.arcs.iter_mut().zip(&self.arcs) {
            *time = if block(u) == block(v) { 0.0 } else { entered(v) };
        }
        times.starts.iter_mut().zip(&self.starts).for_each(|(time, &v)| *time = entered(v));
        times
    }
}

/// ln Σ e^x.
fn log_sum(values: impl Iterator<Item = f64> + Clone) -> f64 {
    let most = values.clone().fold(f64::NEG_INFINITY, f64::max);
    most + values.map(|x| (x - most).exp()).sum::<f64>().ln()
}

/// The index of the last cut before each node; `None` for nodes of no unit.
fn segments(model: &Model, lattice: &Lattice) -> Vec<Option<usize>> {
    let segment = |unit: usize| lattice.cuts.partition_point(|&cut| !lattice.contains(cut, unit)) - 1;
    model.units.of_node.iter().map(|unit| unit.map(segment)).collect()
}
