//! What lies side by side in a workload, so that stages of it need not wait for each other.

use std::collections::BTreeMap;

use crate::graph::{Graph, topological};
use crate::instance::{Instance, Node};

/// The most that stages can hold which need not wait for all others: the largest block's sum of `weight`.
///
/// A node is *in line* if it comes before or after every other one; in training, a colour class is whose nodes of both
/// passes are. A stage that holds what is in line lies before all later stages, and their gradients before its own. Other
/// stages lie in a block, between what is in line. Backward nodes without a forward one may lie in any. O(n log n + m).
pub fn largest(instance: &Instance, weight: impl Fn(&Node) -> f64) -> f64 {
    let nodes = &instance.nodes;
    let number: BTreeMap<u64, usize> = nodes.iter().enumerate().map(|(v, node)| (node.id, v)).collect();
    let edges: Vec<(usize, usize)> =
        instance.edges.iter().filter_map(|e| Some((*number.get(&e.source)?, *number.get(&e.target)?))).collect();
    let all = || nodes.iter().map(&weight).sum();
    let Ok(graph) = Graph::new(nodes.len(), &edges) else { return all() };
    let order = topological::smallest_first(&graph);
    let in_line = in_line(&graph, &order);
    let class = |v: usize| nodes[v].color_class.map_or((false, v as u64), |class| (true, class));
    let mut classes: BTreeMap<(bool, u64), Class> = BTreeMap::new();
    for (v, node) in nodes.iter().enumerate() {
        let class = classes.entry(class(v)).or_insert(Class { in_line: true, weight: 0.0, passes: [false; 2] });
        class.in_line &= in_line[v];
        class.weight += weight(node);
        class.passes[usize::from(node.backward)] = true;
    }
    let trains = nodes.iter().any(|node| node.backward);
    let is_in_line = |class: &Class| class.in_line && (!trains || class.passes == [true; 2]);
    let (mut most, mut block): (f64, f64) = (0.0, 0.0);
    for &v in order.iter().filter(|&&v| !nodes[v].backward) {
        let Some(class) = classes.get_mut(&class(v)) else { continue };
        // A class counts in the first block that has a node of it: no stage without what is in line holds two blocks.
        block = if is_in_line(class) { 0.0 } else { block + std::mem::take(&mut class.weight) };
        most = most.max(block);
    }
    most + classes.values().filter(|class| !class.passes[0]).map(|class| class.weight).sum::<f64>()
}

struct Class {
    in_line: bool,
    weight: f64,
    /// Whether it has forward and backward nodes.
    passes: [bool; 2],
}

/// Whether each node comes before or after every other one: all before it in an order reach it, and it reaches all after it.
fn in_line(graph: &Graph, order: &[usize]) -> Vec<bool> {
    let n = order.len();
    let mut place = vec![0; n];
    order.iter().enumerate().for_each(|(p, &v)| place[v] = p);
    // At each place, how many nodes up to it lead to none up to it, and how many from it on follow none from it on.
    let (mut ends, mut begins) = (vec![0_isize; n + 1], vec![0_isize; n + 1]);
    for v in 0..n {
        let next = graph.successors(v).iter().map(|&w| place[w as usize]).min().unwrap_or(n);
        let last = graph.predecessors(v).iter().map(|&u| place[u as usize] + 1).max().unwrap_or(0);
        ends[place[v]] += 1;
        ends[next] -= 1;
        begins[last] += 1;
        begins[place[v] + 1] -= 1;
    }
    let (mut open, mut in_line) = ([0, 0], vec![false; n]);
    for (p, &v) in order.iter().enumerate() {
        open = [open[0] + ends[p], open[1] + begins[p]];
        in_line[v] = open == [1, 1];
    }
    in_line
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::instance::Edge;

    fn instance(edges: &[(u64, u64)], nodes: u64) -> Instance {
        let edge = |&(source, target): &(u64, u64)| Edge { source, target };
        let nodes = (0..nodes).map(|id| Node { accelerator_times: vec![Some((id + 1) as f64)], ..Node::new(id) });
        Instance { nodes: nodes.collect(), edges: edges.iter().map(edge).collect(), ..Instance::default() }
    }

    #[test]
    fn branches_are_blocks_and_skips_are_none() {
        let time = |node: &Node| node.accelerator_times[0].unwrap();
        let of = |edges: &[(u64, u64)], nodes| largest(&instance(edges, nodes), time);
        assert_eq!(of(&[(0, 1), (1, 2), (0, 2)], 3), 0.0, "a chain with a skip");
        assert_eq!(of(&[(0, 1), (0, 2), (1, 3), (2, 3)], 4), 2.0 + 3.0, "a diamond");
        assert_eq!(of(&[(0, 3), (1, 3), (2, 3)], 4), 1.0 + 2.0 + 3.0);
        assert_eq!(of(&[], 3), 6.0);
    }

    #[test]
    fn classes_are_in_line_with_both_passes() {
        let mut chain = instance(&[(0, 1), (1, 2), (2, 3)], 4);
        for (node, (backward, class)) in chain.nodes.iter_mut().zip([(false, 0), (false, 1), (true, 1), (true, 0)]) {
            (node.backward, node.color_class) = (backward, Some(class));
        }
        let time = |node: &Node| node.accelerator_times[0].unwrap();
        assert_eq!(largest(&chain, time), 0.0);
        // The gradients of the first class are no longer after those of the second.
        chain.edges[2].source = 1;
        assert_eq!(largest(&chain, time), 10.0);
    }
}
