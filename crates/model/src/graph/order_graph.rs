//! The graph that contiguity is about: forward nodes, and stand-ins for backward nodes without a forward partner.
//!
//! Contiguity binds the forward pass; a backward node goes where its colour class goes (Tarnawski 2020,
//! section 5.3). A *group* is one colour class, forward and backward nodes together, or one uncoloured node. A
//! group without forward nodes is an *orphan*: one artificial forward node stands for it. Each backward edge a → b
//! that touches an orphan orders f(b) before f(a), where f(·) are the forward nodes of a group or the artificial one.
//! Edges between the passes order nothing.

use rustc_hash::FxHashMap;

use super::{Graph, NodeId};

/// The nodes that must share a device, group by group.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Groups {
    /// Group of each node. Groups are numbered by their first node.
    pub of_node: Vec<usize>,
    /// Nodes of each group, ascending.
    pub members: Vec<Vec<NodeId>>,
}

impl Groups {
    /// One group for each colour class and each uncoloured node. O(n).
    pub fn new(color_class: &[Option<u64>]) -> Self {
        let mut of_color = FxHashMap::default();
        let mut members: Vec<Vec<NodeId>> = Vec::new();
        let mut of_node = Vec::with_capacity(color_class.len());
        for (v, color) in color_class.iter().enumerate() {
            let fresh = members.len();
            let group = color.map_or(fresh, |color| *of_color.entry(color).or_insert(fresh));
            if group == fresh {
                members.push(Vec::new());
            }
            members[group].push(v);
            of_node.push(group);
        }
        Self { of_node, members }
    }

    /// How many groups there are.
    pub fn len(&self) -> usize {
        self.members.len()
    }

    /// Whether there is no group.
    pub fn is_empty(&self) -> bool {
        self.members.is_empty()
    }
}

/// The graph that contiguity is about. It may hold cycles through different groups: nodes on one cycle share a
/// device in every acyclic split.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OrderGraph {
    /// How many nodes there are: the forward nodes first, in their order, then an artificial one for each orphan group.
    pub node_count: usize,
    /// Ordering edges, sorted, without repeats and self-loops.
    pub edges: Vec<(usize, usize)>,
    /// Colour group of each order node.
    pub group_of: Vec<usize>,
    /// The graph's node behind each order node: a forward node, or the first node of an orphan group.
    pub nodes: Vec<NodeId>,
}

impl OrderGraph {
    /// Builds the order graph of `graph`, whose `backward` nodes lie in the backward pass.
    ///
    /// O(n + m log m) where each group has a bounded number of forward nodes.
    pub fn new(graph: &Graph, backward: &[bool], groups: &Groups) -> Self {
        let mut nodes: Vec<NodeId> = (0..graph.node_count()).filter(|&v| !backward[v]).collect();
        let mut group_of: Vec<usize> = nodes.iter().map(|&v| groups.of_node[v]).collect();
        let mut order_node = vec![usize::MAX; graph.node_count()];
        // The order nodes f(·) of each group.
        let mut stand_ins: Vec<Vec<usize>> = vec![Vec::new(); groups.len()];
        for (i, &v) in nodes.iter().enumerate() {
            order_node[v] = i;
            stand_ins[group_of[i]].push(i);
        }
        let orphan: Vec<bool> = stand_ins.iter().map(Vec::is_empty).collect();
        for group in (0..groups.len()).filter(|&group| orphan[group]) {
            stand_ins[group].push(group_of.len());
            group_of.push(group);
            nodes.push(groups.members[group][0]);
        }

        let mut edges = Vec::new();
        for (a, b) in graph.edges() {
            let (from, to) = (groups.of_node[a], groups.of_node[b]);
            if !backward[a] && !backward[b] {
                edges.push((order_node[a], order_node[b]));
            } else if backward[a] && backward[b] && from != to && (orphan[from] || orphan[to]) {
                edges.extend(stand_ins[to].iter().flat_map(|&u| stand_ins[from].iter().map(move |&v| (u, v))));
            }
        }
        edges.sort_unstable();
        edges.dedup();
        Self { node_count: group_of.len(), edges, group_of, nodes }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_orphan_is_ordered_against_the_backward_edges() {
        // Forward 0 → 1; backward 2 → 3 → 4, where 2 mirrors 1, 4 mirrors 0 and 3 is an orphan.
        let graph = Graph::new(5, &[(0, 1), (1, 2), (2, 3), (3, 4)]).unwrap();
        let groups = Groups::new(&[Some(7), Some(9), Some(9), None, Some(7)]);
        assert_eq!(groups.of_node, [0, 1, 1, 2, 0]);
        assert_eq!(groups.members, [vec![0, 4], vec![1, 2], vec![3]]);
        let order = OrderGraph::new(&graph, &[false, false, true, true, true], &groups);
        assert_eq!(order.node_count, 3);
        assert_eq!(order.edges, [(0, 1), (0, 2), (2, 1)]);
        assert_eq!((order.group_of, order.nodes), (vec![0, 1, 2], vec![0, 1, 3]));
    }

    #[test]
    fn backward_edges_between_mirrored_nodes_order_nothing() {
        let graph = Graph::new(4, &[(0, 1), (1, 3), (3, 2)]).unwrap();
        let groups = Groups::new(&[Some(0), Some(1), Some(0), Some(1)]);
        let order = OrderGraph::new(&graph, &[false, false, true, true], &groups);
        assert_eq!(order.edges, [(0, 1)]);
    }
}
