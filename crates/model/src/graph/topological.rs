//! Topological orders and cycles.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use super::{Graph, NodeId};

/// The topological order that always takes the smallest index ready (Kahn). O((n + m) log n).
pub fn smallest_first(graph: &Graph) -> Vec<NodeId> {
    by_priority(graph, |v| v)
}

/// The topological order that always takes the ready node of least `priority`, ties by index.
pub fn by_priority<K: Ord>(graph: &Graph, priority: impl Fn(NodeId) -> K) -> Vec<NodeId> {
    let n = graph.node_count();
    let mut missing: Vec<usize> = (0..n).map(|v| graph.predecessors(v).len()).collect();
    let mut ready: BinaryHeap<Reverse<(K, NodeId)>> =
        (0..n).filter(|&v| missing[v] == 0).map(|v| Reverse((priority(v), v))).collect();
    let mut order = Vec::with_capacity(n);
    while let Some(Reverse((_, u))) = ready.pop() {
        order.push(u);
        for &v in graph.successors(u) {
            let v = v as usize;
            missing[v] -= 1;
            if missing[v] == 0 {
                ready.push(Reverse((priority(v), v)));
            }
        }
    }
    order
}

/// A cycle of the graph, as its nodes in order, or `None` when it is acyclic. O((n + m) log n).
///
/// The cycle is a shortest one through the first node that lies on any, so that people can read it.
pub fn find_cycle(graph: &Graph) -> Option<Vec<NodeId>> {
    // Mostly there is none, and an order is several times as quick to find as the components are.
    if smallest_first(graph).len() == graph.node_count() {
        return None;
    }
    // Kosaraju's algorithm is the iterative one: petgraph's Tarjan overflows the stack on long paths.
    let on_cycle = petgraph::algo::kosaraju_scc(graph.as_petgraph())
        .into_iter()
        .find(|scc| scc.len() > 1 || graph.successors(scc[0].index()).contains(&(scc[0].index() as u32)))?;
    let start = on_cycle.iter().map(|v| v.index()).min()?;
    let mut parent = vec![usize::MAX; graph.node_count()];
    let mut queue = VecDeque::from([start]);
    while let Some(u) = queue.pop_front() {
        for &v in graph.successors(u) {
            let v = v as usize;
            if v == start {
                let mut cycle = vec![u];
                while *cycle.last()? != start {
                    cycle.push(parent[*cycle.last()?]);
                }
                cycle.reverse();
                return Some(cycle);
            }
            if parent[v] == usize::MAX {
                parent[v] = u;
                queue.push_back(v);
            }
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn orders_respect_edges_and_cycles_are_paths() {
        let graph = Graph::new(4, &[(3, 1), (1, 0), (3, 2), (2, 0)]).unwrap();
        assert_eq!(smallest_first(&graph), [3, 1, 2, 0]);
        let error = Graph::new(4, &[(0, 1), (1, 2), (2, 3), (3, 1), (2, 1)]).unwrap_err();
        assert_eq!(error.0, [1, 2]);
        assert_eq!(Graph::new(1, &[(0, 0)]).unwrap_err().0, [0]);
    }
}
