//! Maximum flows in whole numbers: Dinic's algorithm, without recursion.

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

    /// Whether a flow above `most` goes from `source` to `sink`. O(V² E) at worst.
    pub fn exceeds(mut self, source: usize, sink: usize, most: i128) -> bool {
        let mut total = 0;
        while total <= most {
            let level = self.levels(source);
            if level[sink] == usize::MAX {
                return false;
            }
            let mut next = vec![0; self.out.len()];
            while total <= most {
                match self.augment(source, sink, &level, &mut next) {
                    0 => break,
                    more => total += more,
                }
            }
        }
        true
    }

    /// How many arcs each vertex is from the source.
    fn levels(&self, source: usize) -> Vec<usize> {
        let mut level = vec![usize::MAX; self.out.len()];
        level[source] = 0;
        let mut queue = std::collections::VecDeque::from([source]);
        while let Some(v) = queue.pop_front() {
            for &arc in &self.out[v] {
                let (to, rest) = self.arcs[arc];
                if rest > 0 && level[to] == usize::MAX {
                    level[to] = level[v] + 1;
                    queue.push_back(to);
                }
            }
        }
        level
    }

    /// Sends as much as goes along one shortest path; 0 where there is none left.
    fn augment(&mut self, source: usize, sink: usize, level: &[usize], next: &mut [usize]) -> i128 {
        let (mut path, mut v) = (Vec::new(), source);
        while v != sink {
            let arc = self.out[v].get(next[v]).copied();
            match arc {
                Some(arc) if self.arcs[arc].1 > 0 && level[self.arcs[arc].0] == level[v] + 1 => {
                    path.push(arc);
                    v = self.arcs[arc].0;
                }
                Some(_) => next[v] += 1,
                None => {
                    let Some(arc) = path.pop() else { return 0 };
                    v = self.arcs[arc ^ 1].0;
                    next[v] += 1;
                }
            }
        }
        let sent = path.iter().map(|&arc| self.arcs[arc].1).min().unwrap_or_default();
        for arc in path {
            self.arcs[arc].1 -= sent;
            self.arcs[arc ^ 1].1 += sent;
        }
        sent
    }
}
