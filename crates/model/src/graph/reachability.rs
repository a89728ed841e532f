//! Reachability between nodes, and what contiguity needs of it.

use super::{Graph, NodeId, NodeSet, topological};

/// For every node the set of nodes reachable from it, itself included. O(n·m/64) time, n²/8 bytes.
pub fn descendants(graph: &Graph) -> Vec<NodeSet> {
    gathered(graph, topological::smallest_first(graph).into_iter().rev(), |v| graph.successors(v))
}

/// For every node the set of nodes that reach it, itself included. O(n·m/64) time, n²/8 bytes.
pub fn ancestors(graph: &Graph) -> Vec<NodeSet> {
    gathered(graph, topological::smallest_first(graph).into_iter(), |v| graph.predecessors(v))
}

/// For every node itself and the sets of its neighbours, which come before it in the order.
fn gathered<'a>(
    graph: &Graph,
    order: impl Iterator<Item = NodeId>,
    neighbours: impl Fn(NodeId) -> &'a [u32],
) -> Vec<NodeSet> {
    let n = graph.node_count();
    let mut sets: Vec<NodeSet> = (0..n).map(|v| NodeSet::from_nodes(n, [v])).collect();
    for u in order {
        let mut own = std::mem::replace(&mut sets[u], NodeSet::new(0));
        for &v in neighbours(u) {
            own.union_with(&sets[v as usize]);
        }
        sets[u] = own;
    }
    sets
}

/// A path that leaves `set` and returns to it, with its first and last node in `set` and all others
/// outside, or `None` when the set is convex (Tarnawski 2020, Definition 3.1). O(n + m).
pub fn escaping_path(graph: &Graph, set: &NodeSet) -> Option<Vec<NodeId>> {
    let mut parent: Vec<Option<NodeId>> = vec![None; graph.node_count()];
    for u in topological::smallest_first(graph) {
        // Outside nodes that a member reaches carry the way back to it.
        let carries = set.contains(u) || parent[u].is_some();
        if !carries {
            continue;
        }
        for &v in graph.successors(u) {
            let v = v as usize;
            if set.contains(v) && !set.contains(u) {
                let mut path = vec![v, u];
                while let Some(p) = path.last().and_then(|&w| parent[w].filter(|_| !set.contains(w))) {
                    path.push(p);
                }
                path.reverse();
                return Some(path);
            }
            if !set.contains(v) && parent[v].is_none() {
                parent[v] = Some(u);
            }
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_that_returns_is_found() {
        let graph = Graph::new(5, &[(0, 1), (1, 2), (2, 3), (0, 4), (4, 3)]).unwrap();
        let set = NodeSet::from_nodes(5, [0, 3, 4]);
        assert_eq!(escaping_path(&graph, &set), Some(vec![0, 1, 2, 3]));
        assert_eq!(escaping_path(&graph, &NodeSet::from_nodes(5, [0, 1, 4])), None);
        assert_eq!(descendants(&graph)[1].iter().collect::<Vec<_>>(), [1, 2, 3]);
        assert_eq!(ancestors(&graph)[2].iter().collect::<Vec<_>>(), [0, 1, 2]);
    }
}
