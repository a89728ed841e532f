//! The hypergraph of communication: one net per producer, over the units of it and its consumers.

use crate::graph::NodeId;
use crate::problem::Problem;

/// A producer's unit with the units of its consumers. A device that holds some of the pins but not all pays.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Net {
    /// Source and consumers, ascending, at least two.
    pub pins: Vec<u32>,
    /// The unit that produces.
    pub source: u32,
    /// Whether the producer belongs to the backward pass.
    pub backward: bool,
}

/// The nets of the original producers, each with its producer; those inside one unit are left out.
pub(super) fn producers(problem: &Problem, unit_of: &[usize]) -> Vec<(Net, NodeId)> {
    let net = |v: NodeId| {
        let source = unit_of[v] as u32;
        let consumers = problem.graph.successors(v).iter().map(|&w| unit_of[w as usize] as u32);
        let mut pins: Vec<u32> = consumers.chain([source]).collect();
        pins.sort_unstable();
        pins.dedup();
        (Net { pins, source, backward: problem.backward[v] }, v)
    };
    let kinds = problem.device_kinds();
    let pays = |v: NodeId| kinds.iter().any(|&kind| problem.cost.transfer(v, kind) > 0.0);
    (0..problem.node_count()).filter(|&v| pays(v)).map(net).filter(|(net, _)| net.pins.len() > 1).collect()
}

/// Merges equal nets: their transfer times add up. Returns the nets and the producers of each.
pub(super) fn merge(mut producers: Vec<(Net, NodeId)>) -> (Vec<Net>, Vec<Vec<NodeId>>) {
    producers.sort_unstable();
    let mut nets: Vec<Net> = Vec::new();
    let mut owners: Vec<Vec<NodeId>> = Vec::new();
    for (net, v) in producers {
        if nets.last() == Some(&net) {
            owners[nets.len() - 1].push(v);
        } else {
            nets.push(net);
            owners.push(vec![v]);
        }
    }
    (nets, owners)
}
