//! Which nodes precede which.

use super::{Graph, NodeId, NodeSet, ones, topological};

/// The transitive closure of an order, by the positions of a topological order.
///
/// In graphs that are long and narrow almost all that comes later follows. So what is asked of them is mostly what does
/// not, which words of 64 positions tell at once.
#[derive(Debug)]
pub struct Precedence {
    order: Vec<NodeId>,
    position: Vec<usize>,
    /// By position: the positions of the node there and of all that follow it.
    after: Vec<NodeSet>,
}

impl Precedence {
    /// The closure of `graph`. O(n·m/64) time, n²/8 bytes.
    pub fn new(graph: &Graph) -> Self {
        let order = topological::smallest_first(graph);
        let n = order.len();
        let mut position = vec![0; n];
        order.iter().enumerate().for_each(|(i, &v)| position[v] = i);
        let mut after: Vec<NodeSet> = (0..n).map(|i| NodeSet::from_nodes(n, [i])).collect();
        for (i, &u) in order.iter().enumerate().rev() {
            let mut own = std::mem::replace(&mut after[i], NodeSet::new(0));
            for &v in graph.successors(u) {
                own.union_with(&after[position[v as usize]]);
            }
            after[i] = own;
        }
        Self { order, position, after }
    }

    /// The nodes in a topological order.
    pub fn order(&self) -> &[NodeId] {
        &self.order
    }

    /// Whether there is a path from `u` to `v`, which may be the same node.
    #[inline]
    pub fn precedes(&self, u: NodeId, v: NodeId) -> bool {
        self.after[self.position[u]].contains(self.position[v])
    }

    /// The nodes on paths from any of `pins` to any of them, themselves included.
    pub fn spanned<'a>(&'a self, pins: &'a [u32]) -> impl Iterator<Item = NodeId> + Clone + 'a {
        let positions = || pins.iter().map(|&pin| self.position[pin as usize]);
        let last = positions().max().map_or(0, |last| last + 1);
        let within = &self.order[positions().min().unwrap_or(0)..last];
        let is_spanned = |&w: &NodeId| {
            pins.iter().any(|&u| self.precedes(u as NodeId, w)) && pins.iter().any(|&v| self.precedes(w, v as NodeId))
        };
        within.iter().copied().filter(is_spanned)
    }

    /// All pairs of nodes neither of which precedes the other; the one that comes first in the order comes first.
    /// O(n²/64) beside the pairs.
    pub fn incomparable(&self) -> impl Iterator<Item = (NodeId, NodeId)> + '_ {
        let n = self.order.len();
        self.after.iter().enumerate().flat_map(move |(i, after)| {
            let first = i / 64;
            let others = ones(after.words()[first..].iter().map(|word| !word)).map(move |j| 64 * first + j);
            others.skip_while(move |&j| j < i).take_while(move |&j| j < n).map(move |j| (self.order[i], self.order[j]))
        })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::graph::reachability;

    proptest! {
        #[test]
        fn it_agrees_with_reachability(
            n in 1..150_usize,
            edges in prop::collection::vec((0..150_usize, 0..150_usize), 0..300),
            pins in prop::collection::vec(0..150_u32, 1..4),
        ) {
            // Downwards, so that the order of the indices is not topological.
            let edges: Vec<(usize, usize)> = edges.into_iter().filter(|&(a, b)| b < a && a < n).collect();
            let pins: Vec<u32> = pins.into_iter().map(|pin| pin % n as u32).collect();
            let graph = Graph::new(n, &edges).unwrap();
            let below = reachability::descendants(&graph);
            let precedence = Precedence::new(&graph);
            let mut apart = Vec::new();
            for (u, below) in below.iter().enumerate() {
                for v in 0..n {
                    prop_assert_eq!(precedence.precedes(u, v), below.contains(v));
                    let comes_first = precedence.position[u] < precedence.position[v];
                    apart.extend(Some((u, v)).filter(|_| comes_first && !below.contains(v)));
                }
            }
            let mut pairs: Vec<(usize, usize)> = precedence.incomparable().collect();
            pairs.sort_unstable();
            prop_assert_eq!(pairs, apart);
            let mut spanned: Vec<usize> = precedence.spanned(&pins).collect();
            spanned.sort_unstable();
            let is_spanned = |&w: &usize| {
                pins.iter().any(|&u| below[u as usize].contains(w)) && pins.iter().any(|&v| below[w].contains(v as usize))
            };
            prop_assert_eq!(spanned, (0..n).filter(is_spanned).collect::<Vec<_>>());
        }
    }
}
