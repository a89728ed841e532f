//! Several chunks of a chain of layers on each device, under interleaved 1F1B or ZB-V.

use std::collections::{BTreeMap, BTreeSet};

use super::groups::Rates;
use super::question::Question;
use crate::cost::{CostModel, Costs, ProfiledCost};
use crate::graph::NodeId;
use crate::instance::{Edge, Instance, Problems};
use crate::problem::{ChunkMemory, Chunks, Objective, Placement, Problem, ProblemSpec};
use crate::simulate::schedule::{Schedule, ZbV};
use crate::solve::SearchContext;
use crate::solve::degrees::least_in_chunks;

/// Which stages a device holds under a schedule.
pub fn placement(schedule: &dyn Schedule) -> Placement {
    if schedule.name() == ZbV.name() { Placement::VShape } else { Placement::Interleaved }
}

/// How many layers a chain of layers has; `None` for other graphs.
///
/// A layer is a colour class with nodes of both passes. In their order each sends to the next one in the forward pass; data
/// goes to no other layer, but back to the one before in the backward pass. Where options state both passes a layer is a node.
/// O((n + m) log n).
pub fn layers(instance: &Instance) -> Option<usize> {
    if instance.parallelism.is_some() {
        return chain_of_nodes(instance);
    }
    let mut passes: BTreeMap<u64, [bool; 2]> = BTreeMap::new();
    for node in &instance.nodes {
        passes.entry(node.color_class?).or_default()[usize::from(node.backward)] = true;
    }
    let node: BTreeMap<u64, _> = instance.nodes.iter().map(|node| (node.id, node)).collect();
    let mut next: BTreeMap<u64, u64> = BTreeMap::new();
    let mut edges = Vec::new();
    for edge in &instance.edges {
        let (source, target) = (node.get(&edge.source)?, node.get(&edge.target)?);
        let (from, to) = (source.color_class?, target.color_class?);
        match (source.backward, target.backward) {
            _ if from == to => {}
            (false, false) if *next.entry(from).or_insert(to) != to => return None,
            (false, _) => edges.push((from, to)),
            (true, true) => edges.push((to, from)),
            (true, false) => return None,
        }
    }
    let fed: BTreeSet<u64> = next.values().copied().collect();
    let first = passes.keys().find(|&class| !fed.contains(class))?;
    let chain = std::iter::successors(Some(*first), |class| next.get(class).copied()).take(passes.len() + 1).count();
    let is_chain = chain == passes.len() && edges.iter().all(|(from, to)| next.get(from) == Some(to));
    (is_chain && passes.values().all(|&has| has == [true; 2])).then_some(passes.len())
}

/// How many nodes there are, where each sends to the next one alone.
fn chain_of_nodes(instance: &Instance) -> Option<usize> {
    let index: BTreeMap<u64, NodeId> = instance.nodes.iter().enumerate().map(|(v, node)| (node.id, v)).collect();
    let ends = |edge: &Edge| Some((*index.get(&edge.source)?, *index.get(&edge.target)?));
    let mut edges = instance.edges.iter().map(ends).collect::<Option<Vec<_>>>()?;
    edges.sort_unstable();
    edges.dedup();
    let (sources, targets): (BTreeSet<NodeId>, BTreeSet<NodeId>) = edges.iter().copied().unzip();
    let count = instance.nodes.len();
    // As many edges as a tree has, none of which shares an end with another: a path, for there are no cycles.
    (edges.len() + 1 == count && sources.len() == edges.len() && targets.len() == edges.len()).then_some(count)
}

/// The costs of nodes of which each microbatch in flight keeps so many bytes.
#[derive(Debug)]
struct Kept(Vec<f64>);

impl CostModel for Kept {
    fn costs(&self, instance: &Instance, spec: &ProblemSpec) -> Costs {
        let mut costs = ProfiledCost.costs(instance, spec);
        costs.kinds.iter_mut().for_each(|kind| kind.kept.clone_from(&self.0));
        costs
    }
}

impl Question<'_> {
    /// The problem of the shortest step with several chunks on each device, under memory by place, with links of these rates
    /// and all devices as fast as the fastest.
    ///
    /// # Errors
    /// The instance cannot be split like this.
    pub fn by_chunks(&self, rates: Rates) -> Result<Problem, Problems> {
        if self.has_options() {
            return self.with_degrees(Objective::Step { microbatches: self.all_microbatches() }, rates);
        }
        let (mut instance, platform) = self.on_devices(self.paid(rates), &[(self.fastest(), self.shape.stages)]);
        let options = self.stage_costs();
        let bytes = |v: usize| {
            let of_node = |in_flight| {
                options.options[v].iter().map(|option| options.bytes(option).of(in_flight, self.shape.replicas)).sum()
            };
            // What is computed once more is there for one chunk at a time, and no more is known of it.
            let lasting: f64 = of_node(0);
            (lasting, if self.recompute { 0.0 } else { of_node(1) - lasting })
        };
        let (lasting, kept): (Vec<f64>, Vec<f64>) = (0..instance.nodes.len()).map(bytes).unzip();
        for (node, (lasting, kept)) in instance.nodes.iter_mut().zip(lasting.iter().zip(&kept)) {
            node.memory = lasting + kept;
        }
        let spec = ProblemSpec { objective: self.step(), chunks: Some(self.chunks_by_place()), ..self.on(platform) };
        Problem::with_costs(&instance, spec, &Kept(kept))
    }

    /// A time that no step of this problem of chunks is below, whose devices have memory for so much alone; infinite where they
    /// cannot hold all. Nothing is known of nodes without options.
    pub fn least_in_memory(&self, by_chunks: &Problem, cx: &SearchContext) -> f64 {
        let known = by_chunks.spec.chunks.and_then(|chunks| least_in_chunks(by_chunks, chunks, cx));
        known.map_or(0.0, |largest| self.microbatches as f64 * largest)
    }

    /// A step of the microbatches of a pipeline.
    pub fn step(&self) -> Objective {
        Objective::Step { microbatches: self.microbatches }
    }

    /// The chunks of each device, of whose memory nothing is said.
    pub fn chunks_of_devices(&self) -> Chunks {
        Chunks::new(self.chunks, placement(self.schedule))
    }

    /// The same with what the schedule has in flight.
    pub(super) fn chunks_by_place(&self) -> Chunks {
        Chunks { memory: Some(ChunkMemory::default()), ..self.chunks_of_devices() }
    }

    /// A time that no step is below where none of [`Self::by_chunks`] with the fastest links is below `step`.
    ///
    /// A device is busy with all microbatches for m · L, where L is its load. The loads of p devices add up to p times the
    /// largest at most, so that `step`, (Σ L + (w · m − 1) · max L) / w at most, leaves a largest one of w · step / (w · m + p − 1)
    /// at least.
    pub fn least_by_chunks(&self, step: f64) -> f64 {
        let (m, w) = (self.microbatches as f64, self.chunks_of_devices().parts() as f64);
        m * (w * step / (w * m + self.shape.stages as f64 - 1.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::instance::Node;

    /// Layers for training with these edges between the forward nodes, and back between the others.
    fn training(count: u64, edges: &[(u64, u64)]) -> Instance {
        let node = |id: u64| Node { color_class: Some(id % count), backward: id >= count, ..Node::new(id) };
        let both = edges.iter().flat_map(|&(u, v)| [(u, v), (count + v, count + u)]);
        let own = (0..count).map(|v| (v, count + v));
        Instance {
            nodes: (0..2 * count).map(node).collect(),
            edges: both.chain(own).map(|(source, target)| Edge { source, target }).collect(),
            ..Instance::default()
        }
    }

    #[test]
    fn chains_have_layers_and_other_graphs_none() {
        assert_eq!(layers(&training(1, &[])), Some(1));
        assert_eq!(layers(&training(3, &[(0, 1), (1, 2)])), Some(3));
        assert_eq!(layers(&training(3, &[(2, 0), (0, 1)])), Some(3));
        assert_eq!(layers(&training(3, &[(0, 1), (1, 2), (0, 2)])), None, "a skip");
        assert_eq!(layers(&training(3, &[(0, 1), (0, 2)])), None, "a branch");
        assert_eq!(layers(&training(3, &[(0, 2), (1, 2)])), None, "a join");
        assert_eq!(layers(&training(2, &[])), None, "two ends");
        let mut chain = training(3, &[(0, 1), (1, 2)]);
        chain.edges.push(Edge { source: 0, target: 4 });
        assert_eq!(layers(&chain), Some(3), "what the next layer's gradients need");
        chain.edges.push(Edge { source: 0, target: 5 });
        assert_eq!(layers(&chain), None, "what the gradients of the next but one need");
        let mut inference = training(2, &[(0, 1)]);
        inference.nodes.truncate(2);
        inference.edges.retain(|edge| edge.target < 2);
        assert_eq!(layers(&inference), None);
    }
}
