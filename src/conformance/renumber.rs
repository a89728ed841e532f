//! The same case under other names.

use crate::instance::{Edge, Instance, Node};
use crate::problem::Scope;

use super::partitioner::Case;

/// The case with its nodes and edges in the opposite order and new ids, which are unique for fewer than 10,007 nodes.
/// `None` for linearized splits, whose request names nodes by their place.
pub(super) fn renumbered(case: &Case) -> Option<Case> {
    if matches!(case.spec.scope, Scope::Linearized(_)) {
        return None;
    }
    let Case { instance, spec, costs } = case;
    let position = |id: u64| instance.nodes.iter().position(|node| node.id == id).map_or(id, |v| v as u64);
    // Unlike any old order: multiples of one prime modulo another.
    let new_id = |id: u64| 1000 + position(id) * 7919 % 10_007;
    let nodes = instance.nodes.iter().rev().map(|node| Node { id: new_id(node.id), ..node.clone() });
    let edges = instance.edges.iter().rev().map(|edge| {
        let (source, target) = (new_id(edge.source), new_id(edge.target));
        Edge { source, target }
    });
    let instance = Instance { nodes: nodes.collect(), edges: edges.collect(), ..instance.clone() };
    Some(Case { instance, spec: spec.clone(), costs: costs.clone() })
}
