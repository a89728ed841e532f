//! Maximum flows in whole numbers, along shortest paths (Edmonds and Karp 1972).

use std::collections::VecDeque;

/// Stands for capacities without limit; sums of all others are smaller.
pub const UNLIMITED: i128 = 1 << 124;

/// A network with capacities.
#[derive(Debug, Clone)]
pub struct Flow {
    /// Head and rest of the capacity; an arc and its reverse are neighbours.
    arcs: Vec<(usize, i128)>,
    out: Vec<Vec<usize>>,
}

impl Flow {
    /// A network of so many vertices.
    pub fn new(vertices: usize) -> Self {
        Self { arcs: Vec::new(), out: vec![Vec::new(); vertices] }
    }

    /// Adds a vertex.
    pub fn add_vertex(&mut self) -> usize {
        self.out.push(Vec::new());
        self.out.len() - 1
    }

    /// Adds an arc.
    pub fn add(&mut self, from: usize, to: usize, capacity: i128) {
        for (from, to, capacity) in [(from, to, capacity), (to, from, 0)] {
            self.out[from].push(self.arcs.len());
            self.arcs.push((to, capacity));
        }
    }

    /// Whether a flow above `most` goes from `source` to `sink`. O(V E²).
    pub fn exceeds(mut self, source: usize, sink: usize, most: i128) -> bool {
        let mut total = 0;
        while total <= most {
            let Some(path) = self.shortest_path(source, sink) else { return false };
            let sent = path.iter().map(|&arc| self.arcs[arc].1).min().unwrap_or_default();
            for arc in path {
                self.arcs[arc].1 -= sent;
                self.arcs[arc ^ 1].1 += sent;
            }
            total += sent;
        }
        true
    }

    /// The arcs, last one first, of a shortest path with capacity left.
    fn shortest_path(&self, source: usize, sink: usize) -> Option<Vec<usize>> {
        let mut into = vec![usize::MAX; self.out.len()];
        let mut queue = VecDeque::from([source]);
        while let Some(v) = queue.pop_front().filter(|_| into[sink] == usize::MAX) {
            for &arc in &self.out[v] {
                let (to, rest) = self.arcs[arc];
                if rest > 0 && to != source && into[to] == usize::MAX {
                    into[to] = arc;
                    queue.push_back(to);
                }
            }
        }
        let back = |arc: &usize| Some(into[self.arcs[arc ^ 1].0]).filter(|&before| before != usize::MAX);
        (into[sink] != usize::MAX).then(|| std::iter::successors(Some(into[sink]), back).collect())
    }
}
