//! The order in which copies are placed, and what each placement settles.

use crate::mapping::local::LocalCost;
use crate::mapping::orders::{by_pipeline, by_stage};

/// The mapping order and the checking scheme of the paper. They depend on who exchanges bytes with whom, not on
/// devices.
pub(super) struct Scheme {
    /// The copies in the order in which they are placed.
    pub order: Vec<usize>,
    /// For each place in the order: the copies whose times it settles.
    pub settled: Vec<Vec<usize>>,
}

impl Scheme {
    /// O(copies · dependencies).
    pub fn new(cost: &LocalCost) -> Self {
        let problem = cost.problem;
        let order = if cost.has_rings() { by_stage(problem) } else { by_pipeline(problem) };
        let mut place = vec![0; order.len()];
        order.iter().enumerate().for_each(|(i, &copy)| place[copy] = i);
        let mut settled = vec![Vec::new(); order.len()];
        for copy in 0..order.len() {
            let last = cost.dependencies(copy).map(|other| place[other]).max().unwrap_or(place[copy]);
            settled[last].push(copy);
        }
        Self { order, settled }
    }
}
