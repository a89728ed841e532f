//! Longest paths in a graph whose nodes have lengths that are not negative.

use super::{Graph, NodeId};

/// The longest path that ends with each node, the node included; `order` is topological. O(n + m).
pub fn longest_to(graph: &Graph, order: &[NodeId], lengths: &[f64]) -> Vec<f64> {
    let mut longest = lengths.to_vec();
    for &v in order {
        longest[v] += furthest(graph.predecessors(v), &longest);
    }
    longest
}

/// The longest path that begins with each node, the node included; `order` is topological. O(n + m).
pub fn longest_from(graph: &Graph, order: &[NodeId], lengths: &[f64]) -> Vec<f64> {
    let mut longest = lengths.to_vec();
    for &v in order.iter().rev() {
        longest[v] += furthest(graph.successors(v), &longest);
    }
    longest
}

/// The largest value of these nodes; 0 where there are none.
pub fn furthest(nodes: &[u32], values: &[f64]) -> f64 {
    nodes.iter().map(|&v| values[v as usize]).fold(0.0, f64::max)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::topological;

    #[test]
    fn both_ways_through_a_diamond() {
        let graph = Graph::new(4, &[(0, 1), (0, 2), (1, 3), (2, 3)]).unwrap();
        let (order, lengths) = (topological::smallest_first(&graph), [1.0, 5.0, 2.0, 4.0]);
        assert_eq!(longest_to(&graph, &order, &lengths), [1.0, 6.0, 3.0, 10.0]);
        assert_eq!(longest_from(&graph, &order, &lengths), [10.0, 9.0, 6.0, 4.0]);
    }
}
