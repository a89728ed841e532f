//! Tree decompositions by greedy elimination.
//!
//! Eliminating a vertex joins all its neighbours to each other and takes it away. The neighbours at that time are its
//! *separator*, and it and they are a *bag*: the bags form a tree decomposition, each below the bag of the separator's
//! vertex that is eliminated next. The largest separator is the width. Finding the least width is NP-hard; taking the
//! vertex that adds the fewest edges (min-fill) is close to it on sparse graphs (Bodlaender and Koster, *Treewidth
//! computations I: upper bounds*, 2010).

use std::collections::BTreeSet;

/// An elimination order of a graph's vertices and the tree decomposition that it gives.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TreeDecomposition {
    /// The vertices in the order of their elimination.
    pub order: Vec<usize>,
    /// For each vertex its neighbours at its elimination, in the order of their own elimination.
    pub separators: Vec<Vec<usize>>,
}

impl TreeDecomposition {
    /// Decomposes the graph on `n` vertices in which each of `cliques` is complete; `None` where this greedy order is
    /// wider than `max_width`, or `stop` says to stop.
    ///
    /// Ties go to the vertex of lower degree, then of lower index. O(n · w³ log n) on graphs of bounded degree.
    pub fn min_fill<'a>(
        n: usize,
        cliques: impl IntoIterator<Item = &'a [usize]>,
        max_width: usize,
        stop: &dyn Fn() -> bool,
    ) -> Option<TreeDecomposition> {
        let mut graph = vec![BTreeSet::new(); n];
        for clique in cliques {
            if clique.len() > max_width + 1 {
                return None;
            }
            join(&mut graph, clique);
        }
        if stop() {
            return None;
        }
        let mut scores: Vec<Score> = (0..n).map(|v| score(&graph, v)).collect();
        let mut queue: BTreeSet<Score> = scores.iter().copied().collect();
        let mut order = Vec::with_capacity(n);
        let mut separators = vec![Vec::new(); n];
        while let Some((_, degree, v)) = queue.pop_first() {
            if degree > max_width || order.len() % PATIENCE == PATIENCE - 1 && stop() {
                return None;
            }
            order.push(v);
            separators[v] = std::mem::take(&mut graph[v]).into_iter().collect();
            for &u in &separators[v] {
                graph[u].remove(&v);
            }
            join(&mut graph, &separators[v]);
            let around = separators[v].iter().flat_map(|&u| graph[u].iter().chain([&u]).copied().collect::<Vec<_>>());
            for u in around.collect::<BTreeSet<usize>>() {
                queue.remove(&scores[u]);
                scores[u] = score(&graph, u);
                queue.insert(scores[u]);
            }
        }
        let mut rank = vec![0; n];
        order.iter().enumerate().for_each(|(i, &v)| rank[v] = i);
        separators.iter_mut().for_each(|separator| separator.sort_unstable_by_key(|&u| rank[u]));
        Some(Self { order, separators })
    }

    /// The size of the largest bag less one: an upper bound on the treewidth.
    pub fn width(&self) -> usize {
        self.separators.iter().map(Vec::len).max().unwrap_or(0)
    }

    /// The vertex whose bag is above the bag of `v`; `None` at a root.
    pub fn parent(&self, v: usize) -> Option<usize> {
        self.separators[v].first().copied()
    }
}

/// Vertices that are eliminated between two looks at whether to stop.
const PATIENCE: usize = 256;

/// Fill edges, degree and index of a vertex: the least is eliminated next.
type Score = (usize, usize, usize);

fn score(graph: &[BTreeSet<usize>], v: usize) -> Score {
    let around: Vec<usize> = graph[v].iter().copied().collect();
    let missing = |i: usize| around[..i].iter().filter(|u| !graph[around[i]].contains(u)).count();
    ((0..around.len()).map(missing).sum(), around.len(), v)
}

fn join(graph: &mut [BTreeSet<usize>], clique: &[usize]) {
    for &u in clique {
        graph[u].extend(clique.iter().filter(|&&w| w != u));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn decompose(n: usize, edges: &[[usize; 2]]) -> TreeDecomposition {
        TreeDecomposition::min_fill(n, edges.iter().map(|e| e.as_slice()), n, &|| false).unwrap()
    }

    #[test]
    fn known_widths() {
        let path: Vec<[usize; 2]> = (1..9).map(|v| [v - 1, v]).collect();
        assert_eq!(decompose(9, &path).width(), 1);
        let cycle: Vec<[usize; 2]> = (0..9).map(|v| [v, (v + 1) % 9]).collect();
        assert_eq!(decompose(9, &cycle).width(), 2);
        let complete: Vec<[usize; 2]> = (0..6).flat_map(|v| (0..v).map(move |u| [u, v])).collect();
        assert_eq!(decompose(6, &complete).width(), 5);
        assert_eq!(TreeDecomposition::min_fill(6, complete.iter().map(|e| e.as_slice()), 4, &|| false), None);
        let grid = |i: usize, j: usize| 3 * i + j;
        let rows = (0..3).flat_map(|i| (1..3).map(move |j| [grid(i, j - 1), grid(i, j)]));
        let columns = (1..3).flat_map(|i| (0..3).map(move |j| [grid(i - 1, j), grid(i, j)]));
        assert_eq!(decompose(9, &rows.chain(columns).collect::<Vec<_>>()).width(), 3);
    }

    proptest! {
        #[test]
        fn bags_decompose_the_graph(n in 1..12usize, pairs in prop::collection::vec((0..12usize, 0..12usize), 0..30)) {
            let edges: Vec<[usize; 2]> = pairs.iter().map(|&(u, v)| [u % n, v % n]).filter(|[u, v]| u != v).collect();
            let tree = decompose(n, &edges);
            let mut sorted = tree.order.clone();
            sorted.sort_unstable();
            prop_assert!(sorted.into_iter().eq(0..n));
            let in_bag = |v: usize, u: usize| u == v || tree.separators[v].contains(&u);
            for [u, v] in edges {
                prop_assert!((0..n).any(|bag| in_bag(bag, u) && in_bag(bag, v)), "edge {u} - {v} is in no bag");
            }
            // What a bag shares with anything beyond its parent, the parent holds.
            for v in 0..n {
                if let Some(parent) = tree.parent(v) {
                    prop_assert!(tree.separators[v].iter().all(|&u| in_bag(parent, u)));
                }
            }
        }
    }
}
