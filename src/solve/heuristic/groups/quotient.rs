//! The quotient of a graph of units by groups, kept acyclic while groups are joined and units move.

use std::collections::BTreeMap;

use super::order_list::OrderList;
use crate::graph::{Graph, topological};

/// Groups of units with the edges between them, and an order of the groups that every edge follows.
///
/// A step that would close a cycle is refused. Whether it would is searched from both ends at once, between the places
/// of the two groups in the order; the search ends with its smaller side, so that groups that lie close to each other
/// in the order, as in most networks, cost little, and a group with consumers all over the graph costs no more.
pub struct Quotient {
    /// For each group how many edges lead to each other group.
    successors: Vec<BTreeMap<u32, u32>>,
    /// For each group how many edges come from each other group.
    predecessors: Vec<BTreeMap<u32, u32>>,
    order: OrderList,
    /// The search that last reached a group, upward and downward.
    reached: [Vec<u32>; 2],
    searches: u32,
}

/// How many edges lead from some units to each group, and from each group to them.
#[derive(Debug, Clone, Default)]
pub struct Links {
    successors: BTreeMap<u32, u32>,
    predecessors: BTreeMap<u32, u32>,
}

impl Links {
    /// The edges of `graph` between `units`, which are those `inside`, and the groups of the others.
    pub fn new(
        graph: &Graph,
        units: &[usize],
        inside: impl Fn(usize) -> bool,
        group_of: impl Fn(usize) -> usize,
    ) -> Self {
        let mut links = Self::default();
        for &u in units {
            for &v in graph.successors(u).iter().filter(|&&v| !inside(v as usize)) {
                *links.successors.entry(group_of(v as usize) as u32).or_default() += 1;
            }
            for &v in graph.predecessors(u).iter().filter(|&&v| !inside(v as usize)) {
                *links.predecessors.entry(group_of(v as usize) as u32).or_default() += 1;
            }
        }
        links
    }
}

/// What one side of a search found: all groups above the lower end, or all below the upper one.
enum Side {
    Above(Vec<u32>),
    Below(Vec<u32>),
}

impl Quotient {
    /// The quotient of `graph` by `count` groups; `None` where it has a cycle. O(n + m log m).
    pub fn new(graph: &Graph, group_of: &[usize], count: usize) -> Option<Self> {
        // One group more, for units that are about to move.
        let mut successors = vec![BTreeMap::new(); count + 1];
        let mut predecessors = vec![BTreeMap::new(); count + 1];
        let crossing = graph.edges().map(|(u, v)| (group_of[u], group_of[v])).filter(|(a, b)| a != b);
        let crossing: Vec<(usize, usize)> = crossing.collect();
        for &(a, b) in &crossing {
            *successors[a].entry(b as u32).or_default() += 1;
            *predecessors[b].entry(a as u32).or_default() += 1;
        }
        let order = topological::smallest_first(&Graph::new(count, &crossing).ok()?);
        let order = OrderList::new(&order, count + 1);
        Some(Self { successors, predecessors, order, reached: [vec![0; count + 1], vec![0; count + 1]], searches: 0 })
    }

    /// The groups that share an edge with `group`.
    pub fn neighbours(&self, group: usize) -> impl Iterator<Item = usize> + '_ {
        self.successors[group].keys().chain(self.predecessors[group].keys()).map(|&g| g as usize)
    }

    /// The groups in an order that every edge follows; groups without units among them.
    pub fn order(&self) -> impl Iterator<Item = usize> + '_ {
        self.order.iter()
    }

    /// Joins `other` to `group`, unless a path leads from one to the other through a third.
    pub fn join(&mut self, group: usize, other: usize) -> bool {
        let (low, high) = if self.order.precedes(group, other) { (group, other) } else { (other, group) };
        let place = match self.search(low, high) {
            None => return false,
            // What follows the lower one has to follow both.
            Some(Side::Above(mut above)) => {
                self.order.sort(&mut above);
                for &g in above.iter().rev() {
                    self.order.remove(g as usize);
                    self.order.insert_after(high, g as usize);
                }
                high
            }
            // What precedes the upper one has to precede both.
            Some(Side::Below(mut below)) => {
                self.order.sort(&mut below);
                for &g in &below {
                    self.order.remove(g as usize);
                    self.order.insert_before(low, g as usize);
                }
                low
            }
        };
        if place == other {
            self.order.remove(group);
            self.order.insert_after(other, group);
        }
        self.absorb(group, other);
        true
    }

    /// Moves units with these `links` from group `from` to group `to`, unless that closes a cycle.
    pub fn relocate(&mut self, links: &Links, from: usize, to: usize) -> bool {
        let spare = self.successors.len() - 1;
        if !self.split(links, from, spare) {
            return false;
        }
        let joined = self.join(to, spare);
        if !joined {
            self.absorb(from, spare);
        }
        joined
    }

    /// Makes units of `from` with these links the group `spare`; refused where both would need each other.
    fn split(&mut self, links: &Links, from: usize, spare: usize) -> bool {
        let feeds = links.successors.contains_key(&(from as u32));
        if feeds && links.predecessors.contains_key(&(from as u32)) {
            return false;
        }
        for (&g, &count) in &links.successors {
            if g as usize != from {
                take(&mut self.successors[from], g, count);
                take(&mut self.predecessors[g as usize], from as u32, count);
            }
            self.successors[spare].insert(g, count);
            self.predecessors[g as usize].insert(spare as u32, count);
        }
        for (&g, &count) in &links.predecessors {
            if g as usize != from {
                take(&mut self.predecessors[from], g, count);
                take(&mut self.successors[g as usize], from as u32, count);
            }
            self.predecessors[spare].insert(g, count);
            self.successors[g as usize].insert(spare as u32, count);
        }
        if feeds {
            self.order.insert_before(from, spare);
        } else {
            self.order.insert_after(from, spare);
        }
        true
    }

    /// Gives all edges of `other` to `group`, and takes `other` out of the order.
    fn absorb(&mut self, group: usize, other: usize) {
        let (into, gone) = (group as u32, other as u32);
        for (g, count) in std::mem::take(&mut self.successors[other]) {
            self.predecessors[g as usize].remove(&gone);
            if g != into {
                *self.successors[group].entry(g).or_default() += count;
                *self.predecessors[g as usize].entry(into).or_default() += count;
            }
        }
        for (g, count) in std::mem::take(&mut self.predecessors[other]) {
            self.successors[g as usize].remove(&gone);
            if g != into {
                *self.predecessors[group].entry(g).or_default() += count;
                *self.successors[g as usize].entry(into).or_default() += count;
            }
        }
        self.order.remove(other);
    }

    /// The groups between `low` and `high` in the order that follow the one, or that precede the other, whichever are
    /// found first; `None` where a path leads from `low` to `high` through a third group.
    fn search(&mut self, low: usize, high: usize) -> Option<Side> {
        self.searches += 1;
        let (mut above, mut below) = (vec![low as u32], vec![high as u32]);
        for i in 0.. {
            if i == above.len() {
                return Some(Side::Above(above.split_off(1)));
            }
            if i == below.len() {
                return Some(Side::Below(below.split_off(1)));
            }
            self.expand(i, &mut above, high, true)?;
            self.expand(i, &mut below, low, false)?;
        }
        None
    }

    /// Adds to `side` what its entry `i` leads to before `end`; `None` where that meets the other side.
    fn expand(&mut self, i: usize, side: &mut Vec<u32>, end: usize, upward: bool) -> Option<()> {
        let Self { successors, predecessors, order, reached, searches } = self;
        let group = side[i] as usize;
        for &g in if upward { &successors[group] } else { &predecessors[group] }.keys() {
            let (g, own) = (g as usize, usize::from(upward));
            if g == end {
                if i > 0 {
                    return None;
                }
                continue;
            }
            let is_within = if upward { order.precedes(g, end) } else { order.precedes(end, g) };
            if !is_within || reached[own][g] == *searches {
                continue;
            }
            if reached[1 - own][g] == *searches {
                return None;
            }
            reached[own][g] = *searches;
            side.push(g as u32);
        }
        Some(())
    }
}

/// Takes `count` edges to `group` away.
fn take(edges: &mut BTreeMap<u32, u32>, group: u32, count: u32) {
    if let Some(left) = edges.get_mut(&group) {
        *left -= count;
        if *left == 0 {
            edges.remove(&group);
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The places of groups in the order, unless an edge does not follow it.
    fn is_ordered(quotient: &Quotient, graph: &Graph, group_of: &[usize]) -> bool {
        let order: Vec<usize> = quotient.order().collect();
        let place = |group: usize| order.iter().position(|&g| g == group);
        graph.edges().all(|(u, v)| group_of[u] == group_of[v] || place(group_of[u]) < place(group_of[v]))
    }

    proptest! {
        /// A step is refused exactly when it would close a cycle.
        #[test]
        fn steps_keep_it_acyclic(
            n in 2..9usize,
            pairs in prop::collection::vec((0..9usize, 0..9usize), 0..16),
            steps in prop::collection::vec((0..9usize, 0..9usize, any::<bool>()), 1..24),
        ) {
            let edges: Vec<(usize, usize)> =
                pairs.into_iter().map(|(u, v)| (u % n, v % n)).filter(|(u, v)| u < v).collect();
            let graph = Graph::new(n, &edges).expect("edges ascend");
            let mut group_of: Vec<usize> = (0..n).collect();
            let mut quotient = Quotient::new(&graph, &group_of, n).expect("single units are acyclic");
            for (u, v, joins) in steps.into_iter().map(|(u, v, joins)| (u % n, v % n, joins)) {
                let (from, to) = (group_of[u], group_of[v]);
                if from == to {
                    continue;
                }
                let moves = |w: usize| if joins { group_of[w] == from } else { w == u };
                let wanted: Vec<usize> = (0..n).map(|w| if moves(w) { to } else { group_of[w] }).collect();
                let is_acyclic = Quotient::new(&graph, &wanted, n).is_some();
                let links = Links::new(&graph, &[u], |w| w == u, |w| group_of[w]);
                let done = if joins { quotient.join(to, from) } else { quotient.relocate(&links, from, to) };
                prop_assert_eq!(done, is_acyclic, "{:?} to {:?}", group_of, wanted);
                if done {
                    group_of = wanted;
                }
                prop_assert!(is_ordered(&quotient, &graph, &group_of));
                let beside: Vec<usize> = quotient.neighbours(to).collect();
                prop_assert!(beside.iter().all(|&g| group_of.contains(&g)));
            }
        }
    }
}
