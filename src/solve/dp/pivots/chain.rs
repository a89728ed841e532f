//! Pivots: units of one chain of the order, which tell where an ideal ends.

use crate::graph::NodeSet;
use crate::preprocess::Reduced;

/// A chain v₁ < v₂ < … of the order. The *class* of an ideal is how many of them it holds, which are the first ones.
pub struct Pivots {
    units: Vec<usize>,
}

impl Pivots {
    /// About `count` units of a longest chain, evenly spaced. O(n + m).
    pub fn new(reduced: &Reduced, topological: &[usize], count: usize) -> Self {
        let chain = longest_chain(reduced, topological);
        let stride = chain.len().div_ceil(count + 1).max(1);
        Self { units: chain.into_iter().skip(stride - 1).step_by(stride).collect() }
    }

    /// How many pivots there are.
    pub fn count(&self) -> usize {
        self.units.len()
    }

    /// For each unit whether all ideals of `class` hold it (`Some(true)`), or none (`Some(false)`).
    pub fn decided(&self, class: usize, descendants: &[NodeSet]) -> Vec<Option<bool>> {
        let last = class.checked_sub(1).map(|i| self.units[i]);
        let next = self.units.get(class);
        let decide = |u: usize| match (last, next) {
            (Some(v), _) if descendants[u].contains(v) => Some(true),
            (_, Some(&v)) if descendants[v].contains(u) => Some(false),
            _ => None,
        };
        (0..descendants.len()).map(decide).collect()
    }

    /// For each net whether a stage that holds the pivots of `range` can lie beside it: after one of its pins and
    /// before another, so that both its boundaries cut the net.
    pub fn bypassed(&self, range: std::ops::Range<usize>, reduced: &Reduced, descendants: &[NodeSet]) -> Vec<bool> {
        let beside = |pins: &[u32], v: usize| {
            pins.iter().any(|&w| !descendants[v].contains(w as usize))
                && pins.iter().any(|&w| !descendants[w as usize].contains(v))
        };
        let pivots = &self.units[range];
        reduced.nets.iter().map(|net| pivots.iter().all(|&v| beside(&net.pins, v))).collect()
    }
}

/// The units of a path of most units.
fn longest_chain(reduced: &Reduced, topological: &[usize]) -> Vec<usize> {
    let n = reduced.unit_count();
    let mut length = vec![1usize; n];
    let mut next = vec![None; n];
    for &u in topological.iter().rev() {
        for &v in reduced.order.successors(u) {
            let v = v as usize;
            if length[v] + 1 > length[u] {
                length[u] = length[v] + 1;
                next[u] = Some(v);
            }
        }
    }
    let first = topological.iter().copied().max_by_key(|&u| (length[u], std::cmp::Reverse(u)));
    std::iter::successors(first, |&u| next[u]).collect()
}
