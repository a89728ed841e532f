//! Local search over topological orders: linearized DP finds the best split of an order, this finds better orders.

use rayon::prelude::*;

use super::linearized::best_intervals;
use super::orders::{Random, depth_first_within};
use super::{Incumbent, Setting};
use crate::graph::Graph;
use crate::search::{SEARCH_TOLERANCE, SearchContext};

/// Candidates of one round; a fixed number, so that the answer does not depend on the number of threads.
const CANDIDATES: usize = 8;

/// A walk over orders that keeps the best split found.
pub struct Reordering {
    order: Vec<usize>,
    random: Random,
}

impl Reordering {
    /// Starts at an order whose intervals include the stages of `incumbent`.
    pub fn new(setting: &Setting, incumbent: &Incumbent, seed: u64) -> Self {
        let mut unit_of = vec![0; setting.problem.node_count()];
        for (u, nodes) in setting.reduced.members.iter().enumerate() {
            nodes.iter().for_each(|&v| unit_of[v] = u);
        }
        let mut stage_of = vec![0; setting.reduced.unit_count()];
        for (s, (nodes, _)) in incumbent.stages.iter().enumerate() {
            nodes.iter().for_each(|&v| stage_of[unit_of[v]] = s);
        }
        let order = crate::graph::topological::by_priority(&setting.reduced.order, |u| stage_of[u]);
        Self { order, random: Random::new(seed) }
    }

    /// One round: re-linearises a random window of the order in several ways and moves to the best split among them,
    /// also to an equal one. Returns a split better than `upper`.
    pub fn round(&mut self, setting: &Setting, upper: f64, cx: &SearchContext) -> Option<Incumbent> {
        let n = self.order.len();
        let candidates: Vec<Vec<usize>> = (0..CANDIDATES)
            .map(|_| {
                let length = 2 + self.random.below((n / 4).clamp(8, 400));
                let from = self.random.below(n.saturating_sub(length).max(1));
                relinearise(&setting.reduced.order, &self.order, from..(from + length).min(n), &mut self.random)
            })
            .collect();
        // Slightly above `upper`, so that orders with an equal split are found too and plateaus can be crossed.
        let reach = upper * (1.0 + 1e-12) + f64::MIN_POSITIVE;
        // An order is about half a millisecond: a look for each, as in the rest of the search.
        let split = |order: Vec<usize>| {
            let is_asked = !cx.should_stop();
            is_asked.then(|| best_intervals(setting, &order, reach, cx)).flatten().map(|split| (split, order))
        };
        let splits: Vec<(Incumbent, Vec<usize>)> = candidates.into_par_iter().filter_map(split).collect();
        let best = splits.into_iter().min_by(|a, b| a.0.objective().total_cmp(&b.0.objective()));
        let (split, order) = best?;
        self.order = order;
        (split.objective() < upper * (1.0 - SEARCH_TOLERANCE)).then_some(split)
    }
}

/// The order with the units of `window` in a random depth-first order of their own.
fn relinearise(graph: &Graph, order: &[usize], window: std::ops::Range<usize>, random: &mut Random) -> Vec<usize> {
    let mut new = order.to_vec();
    let salt = random.draw();
    let inner = depth_first_within(graph, &order[window.clone()], |u| super::orders::scramble(salt ^ u as u64));
    new[window].copy_from_slice(&inner);
    new
}
