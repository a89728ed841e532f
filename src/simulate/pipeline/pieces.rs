//! Virtual devices: a device's nodes cut into pieces that can run one after another (Tarnawski 2020, section 5.2).

use std::cmp::Reverse;

use crate::graph::{Graph, NodeId};

/// Nodes of one part that run without interruption.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Piece {
    /// The part that they belong to.
    pub part: usize,
    /// The nodes, in an order in which they can run.
    pub nodes: Vec<NodeId>,
}

/// Cuts the parts of a graph, `part_of` each node, into pieces of which none waits for a later one.
///
/// The next piece is all that can run of some part: of the first one that can be completed, else of the first one with
/// the most nodes that can run. Parts with an acyclic quotient stay whole.
/// O((n + m) · pieces) at worst.
pub(super) fn cut(graph: &Graph, part_of: &[usize]) -> Vec<Piece> {
    let parts = part_of.iter().max().map_or(0, |last| last + 1);
    let mut cutter = Cutter::new(graph, part_of, parts);
    let mut pieces = Vec::new();
    while let Some(part) = cutter.next_part() {
        pieces.push(Piece { part, nodes: cutter.take(part) });
    }
    pieces
}

struct Cutter<'a> {
    graph: &'a Graph,
    part_of: &'a [usize],
    /// How many predecessors of each node have not run.
    missing: Vec<u32>,
    /// How many nodes of each part have not run.
    left: Vec<usize>,
    /// The nodes of each part that can run now.
    ready: Vec<Vec<NodeId>>,
    /// All that each part can run now, in order; `None` where it is to be found again.
    runnable: Vec<Option<Vec<NodeId>>>,
}

impl<'a> Cutter<'a> {
    fn new(graph: &'a Graph, part_of: &'a [usize], parts: usize) -> Self {
        let missing: Vec<u32> = (0..part_of.len()).map(|v| graph.predecessors(v).len() as u32).collect();
        let (mut left, mut ready) = (vec![0; parts], vec![Vec::new(); parts]);
        for (v, &part) in part_of.iter().enumerate() {
            left[part] += 1;
            if missing[v] == 0 {
                ready[part].push(v);
            }
        }
        Self { graph, part_of, missing, left, ready, runnable: vec![None; parts] }
    }

    /// The part that the next piece is of; `None` when all has run.
    fn next_part(&mut self) -> Option<usize> {
        for part in 0..self.left.len() {
            if self.runnable[part].is_none() {
                self.runnable[part] = Some(self.closure(part));
            }
        }
        let length = |part: usize| self.runnable[part].as_ref().map_or(0, Vec::len);
        let open = (0..self.left.len()).filter(|&part| length(part) > 0);
        let completes = |part: usize| length(part) == self.left[part];
        open.max_by_key(|&part| (completes(part), if completes(part) { 0 } else { length(part) }, Reverse(part)))
    }

    /// All that can run of `part` before any other part goes on.
    fn closure(&mut self, part: usize) -> Vec<NodeId> {
        let mut nodes = self.ready[part].clone();
        let mut next = 0;
        while let Some(&u) = nodes.get(next) {
            next += 1;
            for &v in self.graph.successors(u) {
                let v = v as usize;
                if self.part_of[v] == part {
                    self.missing[v] -= 1;
                    if self.missing[v] == 0 {
                        nodes.push(v);
                    }
                }
            }
        }
        // It was a trial: the counts are as they were.
        for &u in &nodes {
            let inside = self.graph.successors(u).iter().filter(|&&v| self.part_of[v as usize] == part);
            inside.for_each(|&v| self.missing[v as usize] += 1);
        }
        nodes
    }

    fn take(&mut self, part: usize) -> Vec<NodeId> {
        let nodes = self.runnable[part].take().unwrap_or_default();
        self.left[part] -= nodes.len();
        self.ready[part].clear();
        for &u in &nodes {
            for &v in self.graph.successors(u) {
                let v = v as usize;
                self.missing[v] -= 1;
                let other = self.part_of[v];
                if other != part {
                    self.runnable[other] = None;
                    if self.missing[v] == 0 {
                        self.ready[other].push(v);
                    }
                }
            }
        }
        nodes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parts_in_turn(edges: &[(usize, usize)], part_of: &[usize]) -> Vec<(usize, Vec<usize>)> {
        let graph = Graph::new(part_of.len(), edges).unwrap();
        cut(&graph, part_of).into_iter().map(|piece| (piece.part, piece.nodes)).collect()
    }

    #[test]
    fn parts_that_need_not_be_cut_stay_whole() {
        let chain = [(0, 1), (1, 2), (2, 3)];
        assert_eq!(parts_in_turn(&chain, &[1, 1, 0, 0]), [(1, vec![0, 1]), (0, vec![2, 3])]);
        // Part 0 could run node 0 at once, but would have to be cut.
        assert_eq!(parts_in_turn(&[(1, 2)], &[0, 1, 0]), [(1, vec![1]), (0, vec![0, 2])]);
    }

    #[test]
    fn parts_that_wait_for_each_other_are_cut() {
        let chain = [(0, 1), (1, 2), (2, 3)];
        let pieces = [(0, vec![0]), (1, vec![1]), (0, vec![2]), (1, vec![3])];
        assert_eq!(parts_in_turn(&chain, &[0, 1, 0, 1]), pieces);
    }
}
