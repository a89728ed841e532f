//! Compaction: what coarsening could not join, joins its neighbours in topological order (RaNNC 2021, section III-B).

use super::uncoarsening::Partition;
use crate::solve::heuristic::groups::Demand;

/// Joins neighbours in the order of the groups until `k` are left, none fits or `stop` says so: the block of each unit,
/// in that order.
///
/// Neighbours in a topological order can always be joined. O(g²) for g groups.
pub fn compact(partition: Partition, k: usize, limits: &[Option<f64>], stop: &dyn Fn() -> bool) -> Vec<usize> {
    let Partition { group_of, order, demands } = partition;
    let block = |group: usize| Block { demand: demands[group].clone(), groups: vec![group], is_stuck: false };
    let mut line: Vec<Block> = order.into_iter().map(block).collect();
    while line.len() > k && !stop() {
        let free = (0..line.len()).filter(|&i| !line[i].is_stuck);
        let Some(i) = free.min_by(|&a, &b| line[a].time().total_cmp(&line[b].time())) else { break };
        let joined = faster_neighbour(&line, i).map(|j| (i.min(j), i.max(j), line[i].demand.with(&line[j].demand)));
        let Some((low, high, demand)) = joined.filter(|(_, _, demand)| demand.is_met(limits)) else {
            line[i].is_stuck = true;
            continue;
        };
        let gone = line.remove(high);
        line[low].demand = demand;
        line[low].groups.extend(gone.groups);
        // Their faster neighbour may be another one now.
        let end = line.len().min(low + 2);
        line[low.saturating_sub(1)..end].iter_mut().for_each(|block| block.is_stuck = false);
    }
    let mut block_of = vec![0; demands.len()];
    for (number, block) in line.iter().enumerate() {
        block.groups.iter().for_each(|&group| block_of[group] = number);
    }
    group_of.into_iter().map(|group| block_of[group]).collect()
}

struct Block {
    demand: Demand,
    groups: Vec<usize>,
    /// Whether it does not fit with the faster one of its neighbours.
    is_stuck: bool,
}

impl Block {
    fn time(&self) -> f64 {
        self.demand.compute
    }
}

/// The faster one of the two neighbours in line, the one before if they are equal.
fn faster_neighbour(line: &[Block], i: usize) -> Option<usize> {
    let neighbours = [i.checked_sub(1), Some(i + 1).filter(|&j| j < line.len())];
    neighbours.into_iter().flatten().min_by(|&a, &b| line[a].time().total_cmp(&line[b].time()))
}
