//! Compaction: what coarsening could not join, joins its neighbours in topological order (RaNNC 2021, section III-B).

use super::uncoarsening::Partition;
use crate::solve::heuristic::groups::Demand;

/// Joins neighbours in the order of the groups until `k` are left or none fits: the block of each unit, in that order.
///
/// Neighbours in a topological order can always be joined. O(g²) for g groups.
pub fn compact(partition: Partition, k: usize, limits: &[Option<f64>]) -> Vec<usize> {
    let Partition { group_of, order, demands } = partition;
    let mut line: Vec<(Demand, Vec<usize>)> =
        order.into_iter().map(|group| (demands[group].clone(), vec![group])).collect();
    while line.len() > k {
        let fits = |i: usize| {
            Some((i, faster_neighbour(&line, i)?)).filter(|&(i, j)| line[i].0.with(&line[j].0).is_met(limits))
        };
        let time = |i: usize| line[i].0.compute;
        let Some((i, j)) = (0..line.len()).filter_map(fits).min_by(|a, b| time(a.0).total_cmp(&time(b.0))) else {
            break;
        };
        let (low, high) = (i.min(j), i.max(j));
        let (demand, groups) = line.remove(high);
        line[low].0 = line[low].0.with(&demand);
        line[low].1.extend(groups);
    }
    let mut block_of = vec![0; demands.len()];
    for (block, (_, groups)) in line.iter().enumerate() {
        groups.iter().for_each(|&group| block_of[group] = block);
    }
    group_of.into_iter().map(|group| block_of[group]).collect()
}

/// The faster one of the two neighbours in line, the one before if they are equal.
fn faster_neighbour(line: &[(Demand, Vec<usize>)], i: usize) -> Option<usize> {
    let neighbours = [i.checked_sub(1), Some(i + 1).filter(|&j| j < line.len())];
    neighbours.into_iter().flatten().min_by(|&a, &b| line[a].0.compute.total_cmp(&line[b].0.compute))
}
