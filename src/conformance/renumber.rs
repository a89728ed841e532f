//! The same case under other names.

use std::collections::BTreeMap;

use crate::instance::{Edge, EdgeBytes, Instance, Node, NodeOption, Parallelism};
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
    let parallelism = instance.parallelism.as_ref().map(|parallelism| renumbered_options(parallelism, new_id));
    let instance = Instance { nodes: nodes.collect(), edges: edges.collect(), parallelism, ..instance.clone() };
    Some(Case { instance, spec: spec.clone(), costs: costs.clone() })
}

/// Options and what edges move, in the opposite order, under new ids.
fn renumbered_options(parallelism: &Parallelism, new_id: impl Fn(u64) -> u64) -> Parallelism {
    let renamed = |bytes: &BTreeMap<u64, f64>| bytes.iter().map(|(&id, &bytes)| (new_id(id), bytes)).collect();
    let options = parallelism.options.iter().rev().map(|option| NodeOption {
        node: new_id(option.node),
        sync_in: renamed(&option.sync_in),
        sync_out: renamed(&option.sync_out),
        ..option.clone()
    });
    let edges = parallelism.edges.iter().rev().map(|edge| EdgeBytes {
        source: new_id(edge.source),
        target: new_id(edge.target),
        bytes: edge.bytes,
    });
    Parallelism { options: options.collect(), edges: edges.collect(), ..*parallelism }
}
