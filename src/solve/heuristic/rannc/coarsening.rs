//! Coarsening: groups join the fastest group beside them, level by level (RaNNC 2021, section III-B).

use crate::preprocess::Reduced;
use crate::solve::heuristic::groups::{Demand, Quotient};

/// A level that joins less than one in this many of its groups is not worth the passes over the graph that each takes.
const LEAST_JOINED: usize = 100;

/// The groups of every level. Those of level 0 are single units.
pub struct Hierarchy {
    /// For each level but the last, the group of the next level that each of its groups lies in.
    pub parents: Vec<Vec<usize>>,
    /// How many groups each level has.
    pub counts: Vec<usize>,
}

impl Hierarchy {
    /// Joins groups until `k` are left, a level could join less than 1 % of its groups, or `stop` says so.
    ///
    /// So there are O(log(n / k)) levels, where a star would have one for each of its leaves.
    pub fn new(reduced: &Reduced, units: &[Demand], limits: &[Option<f64>], k: usize, stop: &dyn Fn() -> bool) -> Self {
        let mut hierarchy = Self { parents: Vec::new(), counts: vec![units.len()] };
        let mut demands = units.to_vec();
        let mut group_of: Vec<usize> = (0..units.len()).collect();
        while demands.len() > k && !stop() {
            let quotient = Quotient::new(&reduced.order, &group_of, demands.len());
            let quotient = quotient.unwrap_or_else(|| unreachable!("groups stay acyclic"));
            let parents = level(quotient, &mut demands, limits, k);
            let joined = parents.len() - demands.len();
            if joined * LEAST_JOINED < parents.len() {
                break;
            }
            group_of.iter_mut().for_each(|group| *group = parents[*group]);
            hierarchy.counts.push(demands.len());
            hierarchy.parents.push(parents);
        }
        hierarchy
    }

    /// The group at `level` of each unit.
    pub fn groups_at(&self, level: usize) -> Vec<usize> {
        let mut group_of: Vec<usize> = (0..self.counts[0]).collect();
        for parents in &self.parents[..level] {
            group_of.iter_mut().for_each(|group| *group = parents[*group]);
        }
        group_of
    }
}

/// Joins pairs of groups, whose `demands` become those of the next level: the next level's group of each.
fn level(mut quotient: Quotient, demands: &mut Vec<Demand>, limits: &[Option<f64>], k: usize) -> Vec<usize> {
    let count = demands.len();
    let by_time = |&a: &usize, &b: &usize| demands[a].compute.total_cmp(&demands[b].compute).then(a.cmp(&b));
    let mut fastest: Vec<usize> = (0..count).collect();
    fastest.sort_unstable_by(by_time);
    let mut partner: Vec<Option<usize>> = vec![None; count];
    let mut left = count;
    for v in fastest {
        if left == k {
            break;
        }
        if partner[v].is_some() {
            continue;
        }
        let mut beside: Vec<usize> = quotient.neighbours(v).filter(|&w| partner[w].is_none()).collect();
        beside.sort_unstable_by(by_time);
        let joined = beside.into_iter().find(|&w| demands[v].with(&demands[w]).is_met(limits) && quotient.join(v, w));
        if let Some(w) = joined {
            (partner[v], partner[w]) = (Some(w), Some(v));
            left -= 1;
        }
    }
    let mut parents = vec![0; count];
    let mut next = Vec::with_capacity(left);
    for v in 0..count {
        match partner[v] {
            Some(w) if w < v => parents[v] = parents[w],
            other => {
                parents[v] = next.len();
                next.push(other.map_or_else(|| demands[v].clone(), |w| demands[v].with(&demands[w])));
            }
        }
    }
    *demands = next;
    parents
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::instance::{Edge, Instance, Node, Platform};
    use crate::problem::{Problem, ProblemSpec};

    /// How many groups each level has, of nodes of equal times and these edges.
    fn counts(n: u64, edges: impl Iterator<Item = (u64, u64)>) -> Vec<usize> {
        let instance = Instance {
            platform: Platform::uniform(1, None, 0),
            nodes: (0..n).map(|id| Node { accelerator_times: vec![Some(1.0)], ..Node::new(id) }).collect(),
            edges: edges.map(|(source, target)| Edge { source, target }).collect(),
            ..Instance::default()
        };
        let problem = Problem::new(&instance, ProblemSpec::of(&instance)).expect("valid");
        let reduced = Reduced::contracted_only(&problem);
        Hierarchy::new(&reduced, &Demand::of_units(&reduced, &[0]), &[None], 2, &|| false).counts
    }

    #[test]
    fn it_ends_where_next_to_nothing_can_be_joined() {
        assert_eq!(counts(8, (1..8).map(|v| (v - 1, v))), [8, 4, 2]);
        // Each level joins one leaf of a star, which is enough while they are few.
        assert_eq!(counts(5, (1..5).map(|v| (0, v))), [5, 4, 3, 2]);
        assert_eq!(counts(201, (1..201).map(|v| (0, v))), [201]);
    }
}
