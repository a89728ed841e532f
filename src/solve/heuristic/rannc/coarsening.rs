//! Coarsening: groups join the fastest group beside them, level by level (RaNNC 2021, section III-B).

use crate::preprocess::Reduced;
use crate::solve::heuristic::groups::{Demand, Quotient};

/// The groups of every level. Those of level 0 are single units.
pub struct Hierarchy {
    /// For each level but the last, the group of the next level that each of its groups lies in.
    pub parents: Vec<Vec<usize>>,
    /// How many groups each level has.
    pub counts: Vec<usize>,
}

impl Hierarchy {
    /// Joins groups until `k` are left, no two can be joined, or `stop` says so.
    pub fn new(reduced: &Reduced, units: &[Demand], limits: &[Option<f64>], k: usize, stop: &dyn Fn() -> bool) -> Self {
        let mut hierarchy = Self { parents: Vec::new(), counts: vec![units.len()] };
        let mut demands = units.to_vec();
        let mut group_of: Vec<usize> = (0..units.len()).collect();
        while demands.len() > k && !stop() {
            let quotient = Quotient::new(&reduced.order, &group_of, demands.len());
            let quotient = quotient.unwrap_or_else(|| unreachable!("groups stay acyclic"));
            let parents = level(quotient, &mut demands, limits, k);
            if demands.len() == parents.len() {
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
