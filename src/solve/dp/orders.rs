//! Topological orders: narrow ones for the frontier automaton, varied ones for linearized DP.

use crate::graph::{Graph, topological};
use crate::preprocess::Reduced;
use crate::solve::SearchContext;

/// Orders with a narrow frontier: a greedy one, depth first, and by index.
pub const NARROW: [fn(&Reduced, &SearchContext) -> Vec<usize>; 3] = [
    greedy_frontier,
    |reduced, _| depth_first(&reduced.order, |v| v),
    |reduced, _| topological::smallest_first(&reduced.order),
];

/// Always takes the ready unit that leaves the smallest frontier, the latest made ready among equals.
///
/// O(n · ready · degree); the ready units looked at in one step are the 64 latest. Where a limit comes first, units come
/// by index.
pub fn greedy_frontier(reduced: &Reduced, cx: &SearchContext) -> Vec<usize> {
    let graph = &reduced.order;
    let n = graph.node_count();
    let mut missing: Vec<usize> = (0..n).map(|v| graph.predecessors(v).len()).collect();
    let mut open_successors: Vec<usize> = (0..n).map(|v| graph.successors(v).len()).collect();
    let mut open_pins: Vec<usize> = reduced.nets.iter().map(|net| net.pins.len()).collect();
    let mut ready: Vec<usize> = (0..n).rev().filter(|&v| missing[v] == 0).collect();
    let mut order = Vec::with_capacity(n);
    while !ready.is_empty() {
        if order.len() % PATIENCE == PATIENCE - 1 && cx.should_stop() {
            return topological::smallest_first(graph);
        }
        let growth = |u: usize| {
            let closed = graph.predecessors(u).iter().filter(|&&p| open_successors[p as usize] == 1).count() as i64;
            let opened = i64::from(!graph.successors(u).is_empty());
            let nets = reduced.nets_of.row(u).iter().map(|&e| {
                let e = e as usize;
                i64::from(open_pins[e] == reduced.nets[e].pins.len()) - i64::from(open_pins[e] == 1)
            });
            2 * (opened - closed) + nets.sum::<i64>()
        };
        let from = ready.len().saturating_sub(LOOKED_AT);
        let best = (from..ready.len()).rev().min_by_key(|&i| growth(ready[i])).unwrap_or(from);
        let u = ready.remove(best);
        order.push(u);
        graph.predecessors(u).iter().for_each(|&p| open_successors[p as usize] -= 1);
        reduced.nets_of.row(u).iter().for_each(|&e| open_pins[e as usize] -= 1);
        for &v in graph.successors(u).iter().rev() {
            let v = v as usize;
            missing[v] -= 1;
            if missing[v] == 0 {
                ready.push(v);
            }
        }
    }
    order
}

/// Units between two looks at the limits.
const PATIENCE: usize = 1 << 14;

/// How many of the ready units [`greedy_frontier`] compares in one step.
const LOOKED_AT: usize = 64;

/// The depth-first topological order: after a unit come its descendants as soon as they are ready, children by
/// ascending `key`. O((n + m) log n).
pub fn depth_first<K: Ord>(graph: &Graph, key: impl Fn(usize) -> K) -> Vec<usize> {
    let all: Vec<usize> = (0..graph.node_count()).collect();
    depth_first_within(graph, &all, key)
}

/// The depth-first topological order of some of the units, as [`depth_first`].
pub fn depth_first_within<K: Ord>(graph: &Graph, units: &[usize], key: impl Fn(usize) -> K) -> Vec<usize> {
    const OUTSIDE: u32 = u32::MAX;
    let mut missing = vec![OUTSIDE; graph.node_count()];
    units.iter().for_each(|&v| missing[v] = 0);
    for &v in units {
        missing[v] = graph.predecessors(v).iter().filter(|&&p| missing[p as usize] != OUTSIDE).count() as u32;
    }
    let mut stack: Vec<usize> = units.iter().copied().filter(|&v| missing[v] == 0).collect();
    stack.sort_by_key(|&v| std::cmp::Reverse(key(v)));
    let mut order = Vec::with_capacity(units.len());
    let mut children = Vec::new();
    while let Some(u) = stack.pop() {
        order.push(u);
        children.clear();
        for &v in graph.successors(u) {
            let v = v as usize;
            if missing[v] == OUTSIDE {
                continue;
            }
            missing[v] -= 1;
            if missing[v] == 0 {
                children.push(v);
            }
        }
        children.sort_by_key(|&v| std::cmp::Reverse(key(v)));
        stack.extend(&children);
    }
    order
}

/// A reproducible stream of random numbers (SplitMix64).
pub struct Random(u64);

impl Random {
    /// The stream of a seed.
    pub fn new(seed: u64) -> Self {
        Self(scramble(seed))
    }

    /// The next number.
    pub fn draw(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        scramble(self.0)
    }

    /// A number below `n`, which is at least 1.
    pub fn below(&mut self, n: usize) -> usize {
        (self.draw() % n as u64) as usize
    }
}

/// Order number `i` of an endless series: the narrow ones first, then depth-first ones with random children.
pub fn numbered(reduced: &Reduced, i: usize, seed: u64, cx: &SearchContext) -> Vec<usize> {
    match i {
        0 => depth_first(&reduced.order, |v| v),
        1 => greedy_frontier(reduced, cx),
        2 => topological::smallest_first(&reduced.order),
        _ => depth_first(&reduced.order, |v| scramble(seed ^ scramble(i as u64) ^ scramble(!(v as u64)))),
    }
}

/// A well-mixed function of `x` (the finaliser of SplitMix64).
pub fn scramble(x: u64) -> u64 {
    let x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}
