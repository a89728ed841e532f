//! Random heavy-edge coarsening: vertices join the neighbour with which they share the costliest nets.

use rand::RngExt;
use rand::seq::SliceRandom;

use super::Rng;
use super::level::Level;

/// Nets of more pins say little about who belongs together, and looking at them costs time.
const WIDE: u32 = 64;

/// How much chance there is in a choice: scores vary by up to this factor.
const CHANCE: f64 = 3.0;

/// How much more a net counts that costs more than the target: its pins should not be parted.
const DEAR: f64 = 1e3;

/// What is allowed to join.
#[derive(Debug, Clone, Copy)]
pub struct Bounds<'a> {
    /// The target of the search. A net that costs more is not cut if that can be helped.
    pub target: f64,
    /// What joined vertices may weigh, relative to the target.
    pub share: f64,
    /// Only vertices on the same device may join, where a split is to be kept.
    pub device_of: Option<&'a [u32]>,
}

/// One round of joins: the label of each vertex, and how many labels there are. O(pins · degree).
pub fn join<const R: usize>(level: &Level<R>, bounds: Bounds, rng: &mut Rng) -> (Vec<u32>, usize) {
    let n = level.vertex_count;
    let price: Vec<f64> = (0..level.nets.len()).map(|e| price(level, e)).collect();
    // Each cluster is known by the vertex it began with.
    let mut cluster: Vec<u32> = (0..n as u32).collect();
    let mut weight: Vec<f64> = (0..n).map(|v| heft(level, v)).collect();
    let mut is_joined = vec![false; n];
    let mut score = vec![0.0; n];
    let mut seen: Vec<u32> = Vec::new();
    let mut order: Vec<u32> = (0..n as u32).collect();
    order.shuffle(rng);
    for &v in &order {
        let v = v as usize;
        if is_joined[v] {
            continue;
        }
        score_neighbours(level, v, &price, bounds.target, &cluster, (&mut score, &mut seen));
        let mut best = (0.0, v);
        for c in seen.drain(..) {
            let c = c as usize;
            let score = std::mem::take(&mut score[c]);
            let limit = if score > DEAR * bounds.target { 1.0 } else { bounds.share };
            let same = bounds.device_of.is_none_or(|device_of| device_of[c] == device_of[v]);
            if c == v || !same || weight[c] + weight[v] > limit * bounds.target || !share_kind(level, c, v) {
                continue;
            }
            let score = score * CHANCE.powf(rng.random::<f64>());
            if score > best.0 {
                best = (score, c);
            }
        }
        if best.1 != v {
            let c = best.1;
            cluster[v] = c as u32;
            weight[c] += weight[v];
            (is_joined[v], is_joined[c]) = (true, true);
        }
    }
    number(&cluster)
}

/// Scores the clusters that share nets with `v`, itself included; `seen` lists them.
fn score_neighbours<const R: usize>(
    level: &Level<R>,
    v: usize,
    price: &[f64],
    target: f64,
    cluster: &[u32],
    (score, seen): (&mut [f64], &mut Vec<u32>),
) {
    for &e in level.nets_of.row(v) {
        let e = e as usize;
        let size = level.nets[e].size;
        let is_dear = price[e] > target;
        if size > WIDE && !is_dear {
            continue;
        }
        let share = if is_dear { DEAR } else { 1.0 } * price[e] / f64::from(size - 1) + f64::MIN_POSITIVE;
        for &u in level.pins.row(e) {
            let c = cluster[u as usize];
            if score[c as usize] == 0.0 {
                seen.push(c);
            }
            score[c as usize] += share;
        }
    }
}

/// Numbers the clusters from 0.
fn number(cluster: &[u32]) -> (Vec<u32>, usize) {
    let mut label = vec![u32::MAX; cluster.len()];
    let mut count = 0;
    for &c in cluster {
        if label[c as usize] == u32::MAX {
            label[c as usize] = count;
            count += 1;
        }
    }
    (cluster.iter().map(|&c| label[c as usize]).collect(), count as usize)
}

/// The most a device pays for cutting a net.
fn price<const R: usize>(level: &Level<R>, e: usize) -> f64 {
    let of_kind = level.cuts.iter().skip(e).step_by(level.nets.len());
    of_kind.flat_map(|cut| cut.inward.iter().chain(&cut.outward)).copied().fold(0.0, f64::max)
}

/// The least that a vertex weighs on a device that can run it.
fn heft<const R: usize>(level: &Level<R>, v: usize) -> f64 {
    let of_kind = |values: usize| values * level.vertex_count + v;
    let kinds = level.weights.len() / level.vertex_count;
    let supported = (0..kinds).map(of_kind).filter(|&i| level.is_supported[i]);
    supported.map(|i| level.weights[i].iter().copied().fold(0.0, f64::max)).min_by(f64::total_cmp).unwrap_or(0.0)
}

/// Whether some kind can run both vertices.
fn share_kind<const R: usize>(level: &Level<R>, u: usize, v: usize) -> bool {
    let kinds = level.weights.len() / level.vertex_count;
    (0..kinds).any(|i| level.is_supported[i * level.vertex_count + u] && level.is_supported[i * level.vertex_count + v])
}
