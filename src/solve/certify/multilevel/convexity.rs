//! Which moves keep every device's set convex in the order graph.
//!
//! A set S of order nodes is convex exactly when above(S) ∩ below(S) ⊆ S, where above(S) and below(S) are all proper
//! ancestors and descendants of its nodes. Adding a vertex unites these closures. Taking one from a convex set leaves a
//! convex one unless one of its nodes has both an ancestor and a descendant in the rest.

use crate::graph::Csr;
use crate::graph::order_graph::OrderGraph;
use crate::solve::dp::loads::ones;

/// Ancestors and descendants of every node of an order graph, as bit rows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reach {
    /// Words of a row.
    words: usize,
    above: Vec<u64>,
    below: Vec<u64>,
    /// The order nodes of each unit.
    nodes_of_unit: Vec<Vec<u32>>,
}

impl Reach {
    /// The most order nodes for which this is affordable: it needs n²/4 bytes.
    pub const LIMIT: usize = 16_384;

    /// The closures of `order`, whose groups are `units` units; `None` above [`Self::LIMIT`]. O(n · m).
    pub fn new(order: &OrderGraph, units: usize) -> Option<Self> {
        let n = order.node_count;
        if n > Self::LIMIT {
            return None;
        }
        let words = n.div_ceil(64);
        let successors = Csr::new(n, order.edges.iter().copied());
        let predecessors = Csr::new(n, order.edges.iter().map(|&(a, b)| (b, a)));
        let mut nodes_of_unit = vec![Vec::new(); units];
        order.group_of.iter().enumerate().for_each(|(x, &u)| nodes_of_unit[u].push(x as u32));
        Some(Self { words, above: closure(&predecessors, words), below: closure(&successors, words), nodes_of_unit })
    }

    fn above(&self, x: usize) -> &[u64] {
        &self.above[x * self.words..(x + 1) * self.words]
    }

    fn below(&self, x: usize) -> &[u64] {
        &self.below[x * self.words..(x + 1) * self.words]
    }
}

/// Everything reachable from each node by at least one edge; the graph may have cycles.
fn closure(next: &Csr, words: usize) -> Vec<u64> {
    let mut rows = vec![0; next.len() * words];
    let mut stack: Vec<u32> = Vec::new();
    for x in 0..next.len() {
        let row = &mut rows[x * words..(x + 1) * words];
        stack.extend(next.row(x));
        while let Some(y) = stack.pop() {
            let (word, bit) = (y as usize / 64, 1 << (y % 64));
            if row[word] & bit == 0 {
                row[word] |= bit;
                stack.extend(next.row(y as usize));
            }
        }
    }
    rows
}

/// A set of order nodes with its closures.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Closed {
    inside: Box<[u64]>,
    above: Box<[u64]>,
    below: Box<[u64]>,
}

impl Closed {
    fn new(words: usize) -> Self {
        let empty = || vec![0; words].into_boxed_slice();
        Self { inside: empty(), above: empty(), below: empty() }
    }

    fn unite(&mut self, other: &Self) {
        unite(&mut self.inside, &other.inside);
        unite(&mut self.above, &other.above);
        unite(&mut self.below, &other.below);
    }
}

fn unite(set: &mut [u64], more: &[u64]) {
    set.iter_mut().zip(more).for_each(|(a, b)| *a |= b);
}

/// The closures of a level's vertices and of the devices' sets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Convexity<'a> {
    reach: &'a Reach,
    vertices: Vec<Closed>,
    devices: Vec<Closed>,
}

impl<'a> Convexity<'a> {
    /// The closures for a level whose vertex of each unit is `vertex_of`, split by `device_of` vertices.
    pub fn new(reach: &'a Reach, vertex_of: &[u32], device_of: &[u32], devices: usize) -> Self {
        let mut vertices = vec![Closed::new(reach.words); device_of.len()];
        for (&v, nodes) in vertex_of.iter().zip(&reach.nodes_of_unit) {
            let vertex = &mut vertices[v as usize];
            for &x in nodes {
                vertex.inside[x as usize / 64] |= 1 << (x % 64);
                unite(&mut vertex.above, reach.above(x as usize));
                unite(&mut vertex.below, reach.below(x as usize));
            }
        }
        let mut sets = vec![Closed::new(reach.words); devices];
        vertices.iter().zip(device_of).for_each(|(vertex, &d)| sets[d as usize].unite(vertex));
        Self { reach, vertices, devices: sets }
    }

    /// Moves `v` if both devices stay convex; whether they do.
    pub fn try_move(&mut self, v: usize, from: usize, to: usize) -> bool {
        let is_admitted = self.admits(v, from, to);
        if is_admitted {
            self.apply(v, from, to);
        }
        is_admitted
    }

    /// Has `v` of the first device and `u` of the second change places if both stay convex, once `v` has moved and again once
    /// `u` has; whether they do.
    pub fn try_exchange(&mut self, (v, u): (usize, usize), (from, to): (usize, usize)) -> bool {
        if !self.try_move(v, from, to) {
            return false;
        }
        let is_admitted = self.try_move(u, to, from);
        if !is_admitted {
            self.apply(v, to, from);
        }
        is_admitted
    }

    /// Whether both devices stay convex, as they are, when `v` moves. O(n / 64), times the nodes of `v` at worst.
    fn admits(&self, v: usize, from: usize, to: usize) -> bool {
        self.can_join(&self.vertices[v], &self.devices[to]) && self.can_leave(&self.vertices[v], &self.devices[from])
    }

    fn can_join(&self, vertex: &Closed, set: &Closed) -> bool {
        (0..self.reach.words).all(|w| {
            let between = (vertex.above[w] | set.above[w]) & (vertex.below[w] | set.below[w]);
            between & !(vertex.inside[w] | set.inside[w]) == 0
        })
    }

    fn can_leave(&self, vertex: &Closed, set: &Closed) -> bool {
        let meets_rest = |row: &[u64]| (0..self.reach.words).any(|w| row[w] & set.inside[w] & !vertex.inside[w] != 0);
        if !meets_rest(&vertex.above) || !meets_rest(&vertex.below) {
            return true;
        }
        !ones(&vertex.inside).any(|x| meets_rest(self.reach.above(x)) && meets_rest(self.reach.below(x)))
    }

    /// Moves `v`. O(nodes of `from` · n / 64).
    fn apply(&mut self, v: usize, from: usize, to: usize) {
        self.devices[to].unite(&self.vertices[v]);
        let set = &mut self.devices[from];
        set.inside.iter_mut().zip(&self.vertices[v].inside).for_each(|(a, b)| *a &= !b);
        set.above.fill(0);
        set.below.fill(0);
        for x in ones(&set.inside) {
            unite(&mut set.above, self.reach.above(x));
            unite(&mut set.below, self.reach.below(x));
        }
    }
}

#[cfg(test)]
mod tests {
    use rand::{RngExt, SeedableRng};

    use super::super::{Assignment, Rng, Setting};
    use super::*;
    use crate::generate::{Dnn, RandomDag, RandomFamily, Recipe, generate};
    use crate::preprocess::Unordered;
    use crate::problem::{Problem, ProblemSpec, Scope};

    #[test]
    fn exactly_the_moves_that_keep_both_sets_convex_are_admitted() {
        let family = RandomFamily::Dnn(Dnn { nodes: 40, ..Dnn::default() });
        let instance = generate(&Recipe { training: true, ..Recipe::new(RandomDag::new(family, 1)) }).unwrap();
        let spec = ProblemSpec { scope: Scope::Convex, ..ProblemSpec::of(&instance) };
        let problem = Problem::new(&instance, spec).unwrap();
        let unordered = Unordered::new(&problem);
        let setting = Setting::new(&problem, &unordered);
        let n = setting.unit_count();
        let reach = Reach::new(unordered.order.as_ref().unwrap(), n).unwrap();
        let vertex_of: Vec<u32> = (0..n as u32).collect();
        let mut split = Assignment { device_of: vec![0; n] };
        let mut convexity = Convexity::new(&reach, &vertex_of, &split.device_of, setting.device_count());
        let mut rng = Rng::seed_from_u64(3);
        let mut answers = [0; 2];
        for _ in 0..2000 {
            let (v, to) = (rng.random_range(0..n), rng.random_range(0..3));
            let from = split.device_of[v] as usize;
            if to == from {
                continue;
            }
            split.device_of[v] = to as u32;
            let stays_convex = setting.is_convex(&split, from) && setting.is_convex(&split, to);
            assert_eq!(convexity.admits(v, from, to), stays_convex);
            answers[usize::from(stays_convex)] += 1;
            if stays_convex {
                convexity.apply(v, from, to);
                let anew = Convexity::new(&reach, &vertex_of, &split.device_of, setting.device_count());
                assert_eq!(convexity.devices, anew.devices);
            } else {
                split.device_of[v] = from as u32;
            }
        }
        assert!(answers.iter().all(|&count| count > 100), "{answers:?}");
    }
}
