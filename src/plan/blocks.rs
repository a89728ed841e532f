//! What lies side by side in a workload, so that stages of it need not wait for each other.

use std::collections::BTreeMap;

use crate::graph::{Graph, topological};
use crate::instance::Instance;

/// What stages can hold that need not wait for all others: nodes by their indices.
///
/// A node is *in line* if it comes before or after every other one; in training, a colour class is whose nodes of both
/// passes are. A stage that holds what is in line lies before all later stages, and their gradients before its own. Other
/// stages lie in a block, between what is in line. Backward nodes without a forward one may lie in any.
pub struct Blocks {
    blocks: Vec<Vec<usize>>,
    anywhere: Vec<usize>,
}

impl Blocks {
    /// The blocks of a workload. O(n log n + m).
    pub fn of(instance: &Instance) -> Self {
        let nodes = &instance.nodes;
        let number: BTreeMap<u64, usize> = nodes.iter().enumerate().map(|(v, node)| (node.id, v)).collect();
        let edges: Vec<(usize, usize)> =
            instance.edges.iter().filter_map(|e| Some((*number.get(&e.source)?, *number.get(&e.target)?))).collect();
        let Ok(graph) = Graph::new(nodes.len(), &edges) else {
            return Self { blocks: vec![(0..nodes.len()).collect()], anywhere: Vec::new() };
        };
        let order = topological::smallest_first(&graph);
        let in_line = in_line(&graph, &order);
        let class = |v: usize| nodes[v].color_class.map_or((false, v as u64), |class| (true, class));
        let mut classes: BTreeMap<(bool, u64), Class> = BTreeMap::new();
        for (v, node) in nodes.iter().enumerate() {
            let class =
                classes.entry(class(v)).or_insert(Class { in_line: true, nodes: Vec::new(), passes: [false; 2] });
            class.in_line &= in_line[v];
            class.nodes.push(v);
            class.passes[usize::from(node.backward)] = true;
        }
        let trains = nodes.iter().any(|node| node.backward);
        let is_in_line = |class: &Class| class.in_line && (!trains || class.passes == [true; 2]);
        let (mut blocks, mut block) = (Vec::new(), Vec::new());
        for &v in order.iter().filter(|&&v| !nodes[v].backward) {
            let Some(class) = classes.get_mut(&class(v)) else { continue };
            if is_in_line(class) {
                blocks.push(std::mem::take(&mut block));
            } else {
                // A class counts in the first block that has a node of it: no stage without what is in line holds two blocks.
                block.append(&mut class.nodes);
            }
        }
        blocks.push(block);
        blocks.retain(|block| !block.is_empty());
        let anywhere = classes.into_values().filter(|class| !class.passes[0]).flat_map(|class| class.nodes).collect();
        Self { blocks, anywhere }
    }

    /// The most that a stage which holds nothing in line can have of what each node weighs. O(n).
    pub fn heaviest(&self, weights: &[f64]) -> f64 {
        let sum = |nodes: &[usize]| nodes.iter().map(|&v| weights[v]).sum::<f64>();
        self.blocks.iter().map(|block| sum(block)).fold(0.0, f64::max) + sum(&self.anywhere)
    }
}

struct Class {
    in_line: bool,
    nodes: Vec<usize>,
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
    use crate::instance::{Edge, Node};

    fn instance(edges: &[(u64, u64)], nodes: u64) -> Instance {
        let edge = |&(source, target): &(u64, u64)| Edge { source, target };
        Instance {
            nodes: (0..nodes).map(Node::new).collect(),
            edges: edges.iter().map(edge).collect(),
            ..Instance::default()
        }
    }

    /// The heaviest block where nodes weigh 1, 2, 3 and so on.
    fn heaviest(instance: &Instance) -> f64 {
        let weights: Vec<f64> = (1..=instance.nodes.len()).map(|weight| weight as f64).collect();
        Blocks::of(instance).heaviest(&weights)
    }

    #[test]
    fn branches_are_blocks_and_skips_are_none() {
        let of = |edges: &[(u64, u64)], nodes| heaviest(&instance(edges, nodes));
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
        assert_eq!(heaviest(&chain), 0.0);
        // The gradients of the first class are no longer after those of the second.
        chain.edges[2].source = 1;
        assert_eq!(heaviest(&chain), 10.0);
    }
}
