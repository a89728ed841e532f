//! ChainCuts: units of one chain of the order, which tell where an ideal ends.

use crate::graph::Precedence;
use crate::preprocess::Reduced;

/// A chain v₁ < v₂ < … of the order. The *class* of an ideal is how many of them it holds, which are the first ones.
pub struct ChainCuts {
    units: Vec<usize>,
}

impl ChainCuts {
    /// At most `count` units of a longest chain, spaced evenly by the work that comes before them: as much work lies
    /// between two cuts near dear units as near cheap ones. O(m + n log n).
    pub fn new(reduced: &Reduced, topological: &[usize], precedence: &Precedence, count: usize) -> Self {
        let chain = longest_chain(reduced, topological);
        let mut added = vec![0.0; chain.len()];
        for u in 0..reduced.unit_count() {
            // What u precedes, it precedes with all of the chain that follows.
            let first = chain.partition_point(|&v| !precedence.precedes(u, v));
            if let Some(work) = added.get_mut(first) {
                *work += least_time(reduced, u);
            }
        }
        let total: f64 = (0..reduced.unit_count()).map(|u| least_time(reduced, u)).sum();
        let stride = total / (count + 1) as f64;
        let mut since = 0.0;
        let mut is_next = |work: f64| {
            since += work;
            let is_far = since > 0.0 && since >= stride;
            if is_far {
                since = 0.0;
            }
            is_far
        };
        let units =
            chain.into_iter().zip(added).filter(|&(_, work)| is_next(work)).map(|(u, _)| u).take(count).collect();
        Self { units }
    }

    /// How many cuts there are.
    pub fn count(&self) -> usize {
        self.units.len()
    }

    /// For each unit whether all ideals of `class` hold it (`Some(true)`), or none (`Some(false)`).
    pub fn decided(&self, class: usize, precedence: &Precedence) -> Vec<Option<bool>> {
        let last = class.checked_sub(1).map(|i| self.units[i]);
        let next = self.units.get(class);
        let decide = |u: usize| match (last, next) {
            (Some(v), _) if precedence.precedes(u, v) => Some(true),
            (_, Some(&v)) if precedence.precedes(v, u) => Some(false),
            _ => None,
        };
        (0..precedence.order().len()).map(decide).collect()
    }

    /// For each net whether a stage that holds the cuts of `range` can lie beside it: after one of its pins and
    /// before another, so that both its boundaries cut the net.
    pub fn bypassed(&self, range: std::ops::Range<usize>, reduced: &Reduced, precedence: &Precedence) -> Vec<bool> {
        let beside = |pins: &[u32], v: usize| {
            pins.iter().any(|&w| !precedence.precedes(v, w as usize))
                && pins.iter().any(|&w| !precedence.precedes(w as usize, v))
        };
        let cuts = &self.units[range];
        reduced.nets.iter().map(|net| cuts.iter().all(|&v| beside(&net.pins, v))).collect()
    }
}

/// The time of a unit on the kind that is quickest at it.
fn least_time(reduced: &Reduced, u: usize) -> f64 {
    reduced.kinds.iter().filter_map(|kind| kind.times[u]).map(|time| time.total()).reduce(f64::min).unwrap_or(0.0)
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

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::instance::{Edge, Instance, Node, Platform};
    use crate::problem::{Problem, ProblemSpec};

    /// A path of operators with these times.
    fn path(times: &[u8]) -> Problem {
        let node = |(id, &time): (usize, &u8)| Node {
            accelerator_times: vec![Some(f64::from(time))],
            cpu_time: Some(f64::from(time)),
            ..Node::new(id as u64)
        };
        let nodes: Vec<Node> = times.iter().enumerate().map(node).collect();
        let edges = (1..times.len() as u64).map(|target| Edge { source: target - 1, target }).collect();
        let instance = Instance { platform: Platform::uniform(2, None, 1), nodes, edges, ..Instance::default() };
        Problem::new(&instance, ProblemSpec::of(&instance)).unwrap()
    }

    proptest! {
        #[test]
        fn cuts_share_the_work_evenly(times in prop::collection::vec(1..200u8, 2..60), count in 1..20usize) {
            let problem = path(&times);
            let reduced = Reduced::contracted_only(&problem);
            let precedence = Precedence::new(&reduced.order);
            let topological: Vec<usize> = (0..times.len()).collect();
            let cuts = ChainCuts::new(&reduced, &topological, &precedence, count);
            prop_assert!(cuts.count() <= count);
            let total: f64 = times.iter().copied().map(f64::from).sum();
            let stride = total / (count + 1) as f64;
            let mut from = 0;
            for &cut in &cuts.units {
                let between: f64 = times[from..cut].iter().copied().map(f64::from).sum();
                prop_assert!(between < stride && between + f64::from(times[cut]) >= stride);
                from = cut + 1;
            }
        }
    }
}
