//! Downhill search from random placements (Chen 2024, section 2.3).

use std::collections::BTreeMap;

use rand::RngExt;
use rand::seq::SliceRandom;

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

/// How a search goes downhill.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Descent {
    /// The most sweeps over all pairs of parts: N in the paper.
    pub sweeps: usize,
    /// The most passes of Kernighan and Lin once no single move helps; 0 in the paper.
    pub passes: usize,
}

impl Descent {
    /// Moves units of `placement` to other parts while that lowers the cost.
    ///
    /// A sweep goes through all ordered pairs of parts and makes, for each, the first move from one to the other that
    /// lowers the cost. Where none is left, whole parts change places if that saves edges (the paper reassigns parts
    /// after every move); then come passes, each of which moves every unit once, whichever move is best next, and
    /// keeps the best placement on the way. O(n · k) for each sweep, O(k² · degree) for each reassignment, O(n² · k) for
    /// each pass.
    pub fn run(self, placement: &mut Placement, cx: &SearchContext) -> Effort {
        let mut effort = Effort::default();
        let mut members = members(placement);
        let least_gains = placement.model().least_gains();
        let mut passes = 0;
        for _ in 0..self.sweeps {
            let before = effort.made;
            sweep(placement, &mut members, &least_gains, &mut effort);
            if cx.should_stop() {
                break;
            }
            if effort.made > before {
                continue;
            }
            if let Some(part_of) = reassigned(placement.model(), placement.part_of()) {
                *placement = Placement::new(placement.model(), part_of);
            } else if passes == self.passes || !pass(placement, &least_gains, &mut effort, cx) {
                break;
            } else {
                passes += 1;
            }
            members = self::members(placement);
        }
        effort
    }
}

/// The units on each part.
fn members(placement: &Placement) -> Vec<Vec<usize>> {
    let mut members = vec![Vec::new(); placement.model().part_count()];
    placement.part_of().iter().enumerate().for_each(|(u, &d)| members[d as usize].push(u));
    members
}

fn sweep(placement: &mut Placement, members: &mut [Vec<usize>], least_gains: &[f64], effort: &mut Effort) {
    for from in 0..members.len() {
        for to in (0..members.len()).filter(|&to| to != from) {
            let lowers = |&u: &usize| placement.rise(u, to) < -least_gains[u] && placement.admits(u, to);
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

/// Moves every unit once, the best move first even where the cost rises, and goes back to the best placement on the
/// way; whether that is better than the first.
fn pass(placement: &mut Placement, least_gains: &[f64], effort: &mut Effort, cx: &SearchContext) -> bool {
    let k = placement.model().part_count();
    let mut free: Vec<usize> = (0..placement.model().unit_count()).collect();
    let mut moves: Vec<(usize, usize)> = Vec::with_capacity(free.len());
    let (mut rise, mut least, mut least_gain, mut kept) = (0.0, 0.0, 0.0f64, 0);
    while !cx.should_stop() {
        let mut best: Option<(f64, usize, usize)> = None;
        for (i, &u) in free.iter().enumerate() {
            for to in (0..k).filter(|&to| to != placement.part_of()[u] as usize) {
                let next = placement.rise(u, to);
                if best.is_none_or(|(best, ..)| next < best) && placement.admits(u, to) {
                    best = Some((next, i, to));
                }
            }
        }
        effort.tried += (free.len() * k.saturating_sub(1)) as u64;
        let Some((next, i, to)) = best else { break };
        let u = free.remove(i);
        moves.push((u, placement.part_of()[u] as usize));
        placement.apply(u, to);
        rise += next;
        least_gain = least_gain.max(least_gains[u]);
        if rise < least - least_gain {
            (least, kept) = (rise, moves.len());
        }
    }
    moves[kept..].iter().rev().for_each(|&(u, from)| placement.apply(u, from));
    effort.made += kept as u64;
    kept > 0
}

/// The placement with whole parts exchanged as long as that saves edges; `None` where nothing is to be saved.
fn reassigned(model: &Model, part_of: &[u32]) -> Option<Vec<u32>> {
    let k = model.part_count();
    if (1..k).all(|a| (0..a).all(|b| model.price(a, b) == model.price(0, 1))) {
        return None;
    }
    let traffic = traffic(model, part_of);
    let edges = |d: usize| traffic[d].iter().map(|&(_, edges)| edges).sum::<f64>();
    let least_gain = model.least_gain_of_edges() * (0..k).map(edges).sum::<f64>();
    // Which part's units each part gets, and the other way round.
    let mut content: Vec<usize> = (0..k).collect();
    let mut place = content.clone();
    let (mut improved, mut goes_on) = (false, true);
    while std::mem::take(&mut goes_on) {
        for a in 0..k {
            for b in (0..a).filter(|&b| model.parts[a] == model.parts[b]) {
                let moved = |from: usize, to: usize| -> f64 {
                    let others = traffic[content[from]].iter().map(|&(other, edges)| (place[other], edges));
                    let others = others.filter(|&(c, _)| c != a && c != b);
                    others.map(|(c, edges)| edges * (model.price(to, c) - model.price(from, c))).sum()
                };
                if moved(a, b) + moved(b, a) < -least_gain {
                    content.swap(a, b);
                    place.swap(content[a], content[b]);
                    (improved, goes_on) = (true, true);
                }
            }
        }
    }
    improved.then(|| part_of.iter().map(|&d| place[d as usize] as u32).collect())
}

/// The parts that each part shares edges with, and how many.
fn traffic(model: &Model, part_of: &[u32]) -> Vec<Vec<(usize, f64)>> {
    let mut traffic = vec![BTreeMap::new(); model.part_count()];
    for (u, links) in model.links.iter().enumerate() {
        for &(v, edges) in links {
            *traffic[part_of[u] as usize].entry(part_of[v as usize] as usize).or_insert(0.0) += edges;
        }
    }
    traffic.into_iter().map(|row| row.into_iter().collect()).collect()
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

/// The placement that cuts `order` into one slice of even weight for each part; `None` where it does not fit.
pub(super) fn slices(model: &Model, order: &[usize]) -> Option<Vec<u32>> {
    let last = model.part_count() - 1;
    let even = model.total() / model.part_count() as f64;
    let (mut before, mut used, mut part_of) = (0.0, vec![0.0; last + 1], vec![0; order.len()]);
    for &u in order {
        let middle = before + model.weights[u] / 2.0;
        let d = if even > 0.0 { ((middle / even) as usize).min(last) } else { 0 };
        before += model.weights[u];
        used[d] += model.need(u, d)?;
        part_of[u] = d as u32;
    }
    let is_full = |d: usize| !fits(used[d], model.parts[d].limit);
    (!(0..=last).any(is_full)).then_some(part_of)
}
