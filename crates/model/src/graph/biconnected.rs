//! Biconnected components: the edges of an undirected graph, told apart by the vertices that hold the graph together.

/// The biconnected component of each of `edges`, which join vertices below `n`: two edges are in one component exactly
/// if they lie on a common simple cycle. Components are numbered from 0 as they are found. O(n + m).
///
/// Depth-first search with a stack of edges (Hopcroft and Tarjan 1973), without recursion: layer graphs are long paths.
pub fn components(n: usize, edges: &[(usize, usize)]) -> Vec<usize> {
    let mut search = Search::new(n, edges);
    (0..n).for_each(|root| search.run(root));
    search.component
}

/// Stands for a vertex that has not been entered, and for the edge by which a root was entered.
const NONE: usize = usize::MAX;

struct Search {
    /// The edges at each vertex, with the vertex at their other end.
    around: Vec<Vec<(usize, usize)>>,
    /// When each vertex was entered.
    entered: Vec<usize>,
    /// The earliest entry that can be reached from below each vertex.
    low: Vec<usize>,
    clock: usize,
    /// Edges that have no component yet.
    open: Vec<usize>,
    component: Vec<usize>,
    count: usize,
}

/// A vertex on the path from the root, the edge to it, and how many edges at it have been followed.
struct Step {
    vertex: usize,
    edge: usize,
    followed: usize,
}

impl Search {
    fn new(n: usize, edges: &[(usize, usize)]) -> Self {
        let mut around = vec![Vec::new(); n];
        for (e, &(u, v)) in edges.iter().enumerate() {
            around[u].push((v, e));
            around[v].push((u, e));
        }
        let component = vec![NONE; edges.len()];
        Self { around, entered: vec![NONE; n], low: vec![0; n], clock: 0, open: Vec::new(), component, count: 0 }
    }

    fn run(&mut self, root: usize) {
        if self.entered[root] != NONE {
            return;
        }
        let mut path = vec![self.enter(root, NONE)];
        while let Some(step) = path.last_mut() {
            let (v, by) = (step.vertex, step.edge);
            let Some(&(w, e)) = self.around[v].get(step.followed) else {
                path.pop();
                if let Some(parent) = path.last() {
                    self.leave(v, by, parent.vertex);
                }
                continue;
            };
            step.followed += 1;
            if e == by {
                continue;
            }
            if self.entered[w] == NONE {
                self.open.push(e);
                path.push(self.enter(w, e));
            } else if self.entered[w] < self.entered[v] {
                self.open.push(e);
                self.low[v] = self.low[v].min(self.entered[w]);
            }
        }
    }

    fn enter(&mut self, vertex: usize, edge: usize) -> Step {
        self.entered[vertex] = self.clock;
        self.low[vertex] = self.clock;
        self.clock += 1;
        Step { vertex, edge, followed: 0 }
    }

    /// Goes back from `v` along the edge `by`; a component ends where nothing below reaches above `parent`.
    fn leave(&mut self, v: usize, by: usize, parent: usize) {
        self.low[parent] = self.low[parent].min(self.low[v]);
        if self.low[v] < self.entered[parent] {
            return;
        }
        while let Some(e) = self.open.pop() {
            self.component[e] = self.count;
            if e == by {
                break;
            }
        }
        self.count += 1;
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_diamond_between_two_bridges() {
        let found = components(6, &[(0, 1), (1, 2), (1, 3), (2, 4), (3, 4), (4, 5)]);
        assert_eq!(found[1..5], [found[1]; 4]);
        assert!(found[0] != found[1] && found[5] != found[1] && found[0] != found[5]);
    }

    #[test]
    fn long_paths_do_not_overflow_the_stack() {
        let n = 200_000;
        let path: Vec<(usize, usize)> = (1..n).map(|v| (v - 1, v)).collect();
        let mut found = components(n, &path);
        found.sort_unstable();
        assert!(found.into_iter().eq(0..n - 1));
    }

    /// Whether `to` can be reached from `from` without the vertex `without`.
    fn reaches(edges: &[(usize, usize)], from: usize, to: usize, without: usize) -> bool {
        let mut seen = vec![from];
        let mut next = 0;
        while next < seen.len() {
            let v = seen[next];
            next += 1;
            for (_, w) in edges.iter().flat_map(|&(a, b)| [(a, b), (b, a)]).filter(|&(end, _)| end == v) {
                if w != without && !seen.contains(&w) {
                    seen.push(w);
                }
            }
        }
        seen.contains(&to)
    }

    proptest! {
        /// Two edges that share a vertex are in one component exactly if their other ends are joined without it.
        #[test]
        fn edges_at_a_vertex_share_a_component_if_joined_elsewhere(pairs in prop::collection::btree_set((0..8usize, 0..8usize), 0..14)) {
            let edges: Vec<(usize, usize)> = pairs.into_iter().filter(|(u, v)| u < v).collect();
            let found = components(8, &edges);
            let ends = |e: usize| [edges[e], (edges[e].1, edges[e].0)];
            for (e, f) in (0..edges.len()).flat_map(|e| (0..e).map(move |f| (e, f))) {
                for ((v, x), (w, y)) in ends(e).into_iter().flat_map(|end| ends(f).map(|other| (end, other))) {
                    if v == w {
                        prop_assert_eq!(found[e] == found[f], reaches(&edges, x, y, v));
                    }
                }
            }
        }
    }
}
