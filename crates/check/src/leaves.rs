//! Leaves that cost nothing: some best split has each on its neighbour's device.

use std::collections::BTreeSet;

use crate::problem::Problem;

/// For each unit the one whose device it may share: itself, or, for a leaf, the one at which that hangs. Once a leaf is gone
/// its neighbour may be one. O(kinds · units + nets · sinks · log units).
pub fn hosts(problem: &Problem) -> Vec<usize> {
    // The units that each one is ordered with, or shares a net with as maker and reader.
    let mut neighbours = vec![BTreeSet::new(); problem.order.units];
    let of_nets = problem.nets.iter().flat_map(|net| net.sinks.iter().map(|&sink| (net.source, sink)));
    for (a, b) in problem.order.between_units().chain(of_nets) {
        neighbours[a].insert(b);
        neighbours[b].insert(a);
    }
    let is_free = |u: usize| {
        let takes_no_time = problem.present().all(|(_, kind)| kind.time(u) == Some(0));
        let is_roomy = problem.kinds.iter().all(|kind| kind.capacity.is_none());
        takes_no_time && problem.parameters[u] == 0 && (is_roomy || problem.memory[u] == 0)
    };
    let mut open: Vec<usize> = (0..problem.order.units).collect();
    let mut host = open.clone();
    while let Some(leaf) = open.pop() {
        if neighbours[leaf].len() == 1
            && is_free(leaf)
            && let Some(neighbour) = neighbours[leaf].pop_first()
        {
            host[leaf] = neighbour;
            neighbours[neighbour].remove(&leaf);
            open.push(neighbour);
        }
    }
    let last = |unit: usize| std::iter::successors(Some(unit), |&u| Some(host[u]).filter(|&v| v != u)).last();
    (0..problem.order.units).filter_map(last).collect()
}
