//! Downhill search from random placements (Chen 2024, section 2.3).

use rand::rngs::Xoshiro256PlusPlus;
use rand::seq::SliceRandom;
use rand::{RngExt, SeedableRng};
use rayon::prelude::*;

use super::{Model, Placement};
use crate::problem::fits;
use crate::solve::SearchContext;

/// How far a descent went.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Effort {
    /// Moves looked at.
    pub tried: u64,
    /// Moves made.
    pub made: u64,
}

/// Moves units to other parts while that lowers the cost, for at most `sweeps` sweeps.
///
/// A sweep goes through all ordered pairs of parts and makes, for each, the first move from one to the other that lowers
/// the cost. Where none is left, whole parts change places if that saves edges (the paper reassigns parts after every
/// move). O(n · k) for each sweep, O(k³) for each reassignment.
pub fn descend(placement: &mut Placement, sweeps: usize, cx: &SearchContext) -> Effort {
    let model = placement.model();
    let mut effort = Effort::default();
    let mut members = vec![Vec::new(); model.part_count()];
    placement.part_of().iter().enumerate().for_each(|(u, &d)| members[d as usize].push(u));
    for _ in 0..sweeps {
        let before = effort.made;
        sweep(placement, &mut members, &mut effort);
        if cx.should_stop() {
            break;
        }
        if effort.made == before {
            let Some(part_of) = reassigned(model, placement.part_of()) else { break };
            *placement = Placement::new(model, part_of);
            members.iter_mut().for_each(Vec::clear);
            placement.part_of().iter().enumerate().for_each(|(u, &d)| members[d as usize].push(u));
        }
    }
    effort
}

fn sweep(placement: &mut Placement, members: &mut [Vec<usize>], effort: &mut Effort) {
    let least_gain = -placement.model().rounding();
    for from in 0..members.len() {
        for to in (0..members.len()).filter(|&to| to != from) {
            let lowers = |&u: &usize| placement.rise(u, to) < least_gain && placement.admits(u, to);
            let found = members[from].iter().position(lowers);
            effort.tried += found.map_or(members[from].len(), |i| i + 1) as u64;
            if let Some(i) = found {
                let u = members[from].remove(i);
                placement.apply(u, to);
                members[to].push(u);
                effort.made += 1;
            }
        }
    }
}

/// The placement with whole parts exchanged as long as that saves edges; `None` where nothing is to be saved.
fn reassigned(model: &Model, part_of: &[u32]) -> Option<Vec<u32>> {
    let k = model.part_count();
    if (1..k).all(|a| (0..a).all(|b| model.price(a, b) == model.price(0, 1))) {
        return None;
    }
    let mut traffic = vec![0.0; k * k];
    for (u, links) in model.links.iter().enumerate() {
        links.iter().for_each(|&(v, edges)| traffic[part_of[u] as usize * k + part_of[v as usize] as usize] += edges);
    }
    // Which part's units each part gets.
    let mut content: Vec<usize> = (0..k).collect();
    let mut improved = false;
    let mut goes_on = true;
    while std::mem::take(&mut goes_on) {
        for a in 0..k {
            for b in (0..a).filter(|&b| model.parts[a] == model.parts[b]) {
                let (of_a, of_b) = (&traffic[content[a] * k..][..k], &traffic[content[b] * k..][..k]);
                let others = (0..k).filter(|&c| c != a && c != b);
                let rise: f64 = others
                    .map(|c| (of_b[content[c]] - of_a[content[c]]) * (model.price(a, c) - model.price(b, c)))
                    .sum();
                if rise < -model.rounding() {
                    content.swap(a, b);
                    (improved, goes_on) = (true, true);
                }
            }
        }
    }
    let mut place = vec![0; k];
    content.iter().enumerate().for_each(|(d, &old)| place[old] = d as u32);
    improved.then(|| part_of.iter().map(|&d| place[d as usize]).collect())
}

/// Placements drawn at random before one that fits is given up on.
const TRIES: usize = 16;

/// A random placement that fits: each unit on any part that can hold it. In later tries the units that need most
/// memory come first, to the part with the least room that is enough.
pub fn random_placement(model: &Model, rng: &mut impl RngExt) -> Option<Vec<u32>> {
    (0..TRIES).find_map(|i| fill(model, i > TRIES / 4, rng))
}

fn fill(model: &Model, is_tight: bool, rng: &mut impl RngExt) -> Option<Vec<u32>> {
    let mut order: Vec<usize> = (0..model.unit_count()).collect();
    order.shuffle(rng);
    if is_tight {
        let most = |u: usize| model.needs.iter().filter_map(|needs| needs[u]).fold(0.0, f64::max);
        order.sort_by(|&u, &v| most(v).total_cmp(&most(u)));
    }
    let mut used = vec![0.0; model.part_count()];
    let mut part_of = vec![0; model.unit_count()];
    let mut choices = Vec::new();
    for u in order {
        let room_left = |d: usize| {
            let need = model.need(u, d)?;
            let room = model.parts[d].limit.map_or(f64::MAX, |limit| limit - used[d] - need);
            fits(used[d] + need, model.parts[d].limit).then_some((d, room))
        };
        choices.clear();
        choices.extend((0..model.part_count()).filter_map(room_left));
        let (d, _) = if is_tight && rng.random_bool(0.8) {
            choices.iter().copied().min_by(|(_, a), (_, b)| a.total_cmp(b))?
        } else {
            *choices.get(rng.random_range(0..choices.len().max(1)))?
        };
        used[d] += model.need(u, d).unwrap_or(0.0);
        part_of[u] = d as u32;
    }
    Some(part_of)
}

/// The best of `starts` descents from random placements, with its cost; `None` where no placement that fits was found.
///
/// Starts run in parallel, with the same answer on any number of threads. Once a limit comes the rest are left out.
pub fn best_of_starts(
    model: &Model,
    starts: usize,
    sweeps: usize,
    seed: u64,
    cx: &SearchContext,
) -> Option<(f64, Vec<u32>)> {
    let run = |i: usize| {
        if i > 0 && cx.should_stop() {
            return None;
        }
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed.wrapping_add(i as u64));
        let mut placement = Placement::new(model, random_placement(model, &mut rng)?);
        descend(&mut placement, sweeps, cx);
        Some((model.cost(placement.part_of()), placement.into_parts()))
    };
    let found: Vec<Option<(f64, Vec<u32>)>> = (0..starts).into_par_iter().map(run).collect();
    // The first of equals.
    found.into_iter().flatten().min_by(|(a, _), (b, _)| a.total_cmp(b))
}
