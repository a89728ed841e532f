//! Minimum cuts between chosen vertices and a sink that most vertices drain to.

/// A capacity that no cut of interest pays; sums of a few of them do not overflow.
pub const UNBOUNDED: u64 = 1 << 60;

const UNSEEN: u32 = u32::MAX;

/// One direction of a connection; the other direction is `arcs[reverse]`.
#[derive(Debug, Clone)]
struct Arc {
    to: u32,
    reverse: u32,
    /// What it could still carry in the run under way.
    left: u64,
    capacity: u64,
}

/// How much further than to the nearest vertex that drains a phase looks: it ends after so many times as many vertices.
///
/// Networks are nearly paths, on which a phase for each distance would take quadratic time.
const BEYOND: usize = 4;

/// A flow network with an implicit sink, cut again and again from different sources.
///
/// Dinic's algorithm, whose phases look beyond the nearest vertex that drains: what leads away from the sources by levels
/// never brings a vertex nearer to them. As vertices drain to the sink near the sources, a run looks only at the
/// surroundings of the set that it cuts off; what it changed is undone by the next.
#[derive(Debug, Clone)]
pub struct Network {
    /// The arcs of vertex `u` are `arcs[first[u]..first[u + 1]]`.
    first: Vec<u32>,
    arcs: Vec<Arc>,
    drain: Vec<u64>,
    drain_left: Vec<u64>,
    level: Vec<u32>,
    next: Vec<u32>,
    /// Vertices with a level, in the order in which they were reached.
    reached: Vec<u32>,
    touched_arcs: Vec<u32>,
    touched_drains: Vec<u32>,
    /// Scratch space of [`Self::send`].
    path: Vec<Step>,
}

/// A vertex on the way of some flow: how much arrived, and how much of it went on.
#[derive(Debug, Clone, Copy)]
struct Step {
    vertex: usize,
    flow: u64,
    sent: u64,
}

impl Network {
    /// A network of connections (a, b, capacity from a to b, capacity from b to a) whose vertices drain as `drain` says.
    pub fn new(drain: Vec<u64>, connections: &[(usize, usize, u64, u64)]) -> Self {
        let n = drain.len();
        let mut first = vec![0u32; n + 1];
        for &(a, b, ..) in connections {
            first[a + 1] += 1;
            first[b + 1] += 1;
        }
        for u in 0..n {
            first[u + 1] += first[u];
        }
        let mut next = first.clone();
        let mut arcs = vec![Arc { to: 0, reverse: 0, left: 0, capacity: 0 }; 2 * connections.len()];
        for &(a, b, forth, back) in connections {
            let (i, j) = (next[a], next[b]);
            arcs[i as usize] = Arc { to: b as u32, reverse: j, left: forth, capacity: forth };
            arcs[j as usize] = Arc { to: a as u32, reverse: i, left: back, capacity: back };
            next[a] += 1;
            next[b] += 1;
        }
        Self {
            first,
            arcs,
            drain_left: drain.clone(),
            drain,
            level: vec![UNSEEN; n],
            next,
            reached: Vec::new(),
            touched_arcs: Vec::new(),
            touched_drains: Vec::new(),
            path: Vec::new(),
        }
    }

    /// Changes what vertex `u` drains.
    pub fn set_drain(&mut self, u: usize, capacity: u64) {
        (self.drain[u], self.drain_left[u]) = (capacity, capacity);
    }

    /// The largest flow from `supplies` (distinct vertices and what each supplies) to the sink: the capacity of the
    /// cheapest cut. Stops once it exceeds `limit`, with some flow above it.
    pub fn cut(&mut self, supplies: &[(usize, u64)], limit: u64) -> u64 {
        self.reset();
        let mut supplies = supplies.to_vec();
        let mut flow = 0;
        while flow <= limit && self.find_levels(&supplies) {
            for (source, supply) in &mut supplies {
                let sent = self.send(*source, (*supply).min((limit - flow).saturating_add(1)));
                *supply -= sent;
                flow += sent;
                if flow > limit {
                    break;
                }
            }
        }
        flow
    }

    /// The vertices on the sources' side of the cut that [`Self::cut`] found without reaching its limit: the smallest
    /// such side.
    pub fn side(&self) -> impl Iterator<Item = usize> + '_ {
        self.reached.iter().map(|&u| u as usize)
    }

    fn reset(&mut self) {
        for &i in &self.touched_arcs {
            let arc = &mut self.arcs[i as usize];
            arc.left = arc.capacity;
        }
        for &u in &self.touched_drains {
            self.drain_left[u as usize] = self.drain[u as usize];
        }
        self.touched_arcs.clear();
        self.touched_drains.clear();
    }

    /// Distances from the supplies in the residual network, some way beyond the nearest vertex that can still drain;
    /// whether there is one.
    fn find_levels(&mut self, supplies: &[(usize, u64)]) -> bool {
        for &u in &self.reached {
            self.level[u as usize] = UNSEEN;
        }
        self.reached.clear();
        for &(u, _) in supplies.iter().filter(|supply| supply.1 > 0) {
            self.reach(u, 0);
        }
        let mut enough = None;
        let mut head = 0;
        while head < self.reached.len() && enough.is_none_or(|enough| head < enough) {
            let u = self.reached[head] as usize;
            head += 1;
            if self.drain_left[u] > 0 {
                enough = enough.or(Some(BEYOND * head));
            }
            for i in self.first[u]..self.first[u + 1] {
                let Arc { to, left, .. } = self.arcs[i as usize];
                if left > 0 && self.level[to as usize] == UNSEEN {
                    self.reach(to as usize, self.level[u] + 1);
                }
            }
        }
        enough.is_some()
    }

    fn reach(&mut self, u: usize, level: u32) {
        self.level[u] = level;
        self.next[u] = self.first[u];
        self.reached.push(u as u32);
    }

    /// Sends as much of `supply` from `source` to the sink as the levels still let through; how much that is.
    fn send(&mut self, source: usize, supply: u64) -> u64 {
        let mut path = std::mem::take(&mut self.path);
        path.push(Step { vertex: source, flow: supply, sent: 0 });
        let sent = loop {
            let Some(step) = path.last_mut() else { break 0 };
            step.sent += self.drain_from(step.vertex, step.flow - step.sent);
            let Step { vertex, flow, sent } = *step;
            if sent < flow
                && let Some(i) = self.advance(vertex)
            {
                let arc = &self.arcs[i as usize];
                path.push(Step { vertex: arc.to as usize, flow: arc.left.min(flow - sent), sent: 0 });
                continue;
            }
            path.pop();
            let Some(before) = path.last_mut() else { break sent };
            let i = self.next[before.vertex];
            self.carry(i, sent);
            before.sent += sent;
            if sent < flow {
                // A dead end: the arc that led here is passed over.
                self.next[before.vertex] += 1;
            }
        };
        self.path = path;
        sent
    }

    /// Drains at most `flow` from vertex `u`; how much.
    fn drain_from(&mut self, u: usize, flow: u64) -> u64 {
        let amount = flow.min(self.drain_left[u]);
        if amount > 0 {
            self.drain_left[u] -= amount;
            self.touched_drains.push(u as u32);
        }
        amount
    }

    /// Sends `amount` along arc `i`.
    fn carry(&mut self, i: u32, amount: u64) {
        if amount > 0 {
            let reverse = self.arcs[i as usize].reverse;
            self.arcs[i as usize].left -= amount;
            self.arcs[reverse as usize].left += amount;
            self.touched_arcs.extend([i, reverse]);
        }
    }

    /// The next arc of `u` that leads one level further.
    fn advance(&mut self, u: usize) -> Option<u32> {
        while self.next[u] < self.first[u + 1] {
            let arc = &self.arcs[self.next[u] as usize];
            if arc.left > 0 && self.level[arc.to as usize] == self.level[u] + 1 {
                return Some(self.next[u]);
            }
            self.next[u] += 1;
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::collection::vec;
    use proptest::prelude::*;

    /// The cheapest cut by looking at every set of vertices.
    fn cheapest(drain: &[u64], connections: &[(usize, usize, u64, u64)], supplies: &[(usize, u64)]) -> u64 {
        let cost = |set: u32| {
            let inside = |u: usize| set >> u & 1 == 1;
            let drained: u64 = (0..drain.len()).filter(|&u| inside(u)).map(|u| drain[u]).sum();
            let unmet: u64 = supplies.iter().filter(|s| !inside(s.0)).map(|s| s.1).sum();
            let crossed = connections.iter().map(|&(a, b, forth, back)| match (inside(a), inside(b)) {
                (true, false) => forth,
                (false, true) => back,
                _ => 0,
            });
            drained + unmet + crossed.sum::<u64>()
        };
        (0..1 << drain.len()).map(cost).min().unwrap_or(0)
    }

    proptest! {
        #[test]
        fn cuts_are_the_cheapest(
            drain in vec(prop_oneof![Just(0), 0..9u64], 6),
            ends in vec((0..6usize, 0..6usize, 0..9u64, 0..9u64), 0..12),
            supplies in vec(vec(0..9u64, 6), 1..4),
        ) {
            let connections: Vec<_> = ends.into_iter().filter(|(a, b, ..)| a != b).collect();
            let mut network = Network::new(drain.clone(), &connections);
            for supply in supplies {
                let supplies: Vec<(usize, u64)> = supply.into_iter().enumerate().collect();
                let least = cheapest(&drain, &connections, &supplies);
                prop_assert_eq!(network.cut(&supplies, UNBOUNDED), least);
                prop_assert!(least == 0 || network.cut(&supplies, least - 1) == least);
            }
        }
    }
}
