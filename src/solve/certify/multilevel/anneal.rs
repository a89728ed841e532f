//! Simulated annealing of one level: single vertices move while the overload above a falling target shrinks.

use rand::RngExt;

use super::Rng;
use super::convexity::Convexity;
use super::level::Rows;
use super::state::{State, overload};
use crate::solve::SearchContext;
use crate::solve::dp::loads::{Value, objective};

/// How hot a level is annealed, and for how long.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Plan {
    /// First temperature relative to the target.
    pub hot: f64,
    /// Last temperature relative to the target.
    pub cold: f64,
    /// Moves tried per vertex.
    pub sweeps: usize,
}

/// The value to get below; falls with each split that does.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Target {
    /// No device shall exceed this.
    pub value: Value,
    /// By how much, relative to a split found, the next one shall be better.
    pub step: f64,
}

/// A little of every load counts besides overload, lest devices with room fill up with transfers.
const ECONOMY: f64 = 0.02;

/// Anneals `state`; returns the best split that met the target, if one did, and leaves the last in `state`.
///
/// The target falls to just below each split that meets it. O(sweeps · pins), without allocation between new bests.
pub fn anneal<const R: usize>(
    state: &mut State<R>,
    mut convexity: Option<&mut Convexity>,
    rows: &Rows,
    target: &mut Target,
    plan: Plan,
    rng: &mut Rng,
    cx: &SearchContext,
) -> Option<Vec<u32>> {
    let n = state.level.vertex_count;
    let devices = state.device_count();
    let mut best: Option<Vec<u32>> = None;
    let mut limits = rows.limits(target.value);
    let mut over: Vec<f64> = vec![0.0; devices];
    let mut total = price_all(state, &limits, &mut over);
    let scale = objective(target.value);
    let cooling = (plan.cold / plan.hot).powf(1.0 / plan.sweeps.max(2) as f64);
    let mut temperature = plan.hot * scale;
    let count = rows.count();
    for _ in 0..plan.sweeps {
        if cx.should_stop() {
            break;
        }
        for _ in 0..n {
            let v = rng.random_range(0..n as u32) as usize;
            let from = state.device_of[v] as usize;
            let to = proposal(state, v, rng);
            if to == from || !state.supports(v, to) {
                continue;
            }
            let shift = state.shift(v, to);
            let (over_from, over_to) = (overload(&shift.from, &limits), overload(&shift.to, &limits));
            let mut economy = 0.0;
            for r in 0..count {
                economy += shift.from[r] + shift.to[r] - state.rows[from][r] - state.rows[to][r];
            }
            let change = over_from + over_to - over[from] - over[to];
            let delta = change + ECONOMY * economy;
            if delta > 0.0 && (delta > 30.0 * temperature || delta > -temperature * rng.random::<f64>().ln()) {
                continue;
            }
            if let Some(convexity) = convexity.as_deref_mut() {
                if !convexity.admits(v, from, to) {
                    continue;
                }
                convexity.apply(v, from, to);
            }
            state.apply(v, to, &shift);
            (over[from], over[to]) = (over_from, over_to);
            total += change;
            if total <= 1e-12 * scale {
                // Sums drift: look again before believing it.
                state.recount();
                total = price_all(state, &limits, &mut over);
                if total <= 0.0 {
                    let found = state.value(rows);
                    match &mut best {
                        Some(best) => best.copy_from_slice(&state.device_of),
                        None => best = Some(state.device_of.clone()),
                    }
                    target.value = found.map(|v| v * (1.0 - target.step));
                    limits = rows.limits(target.value);
                    total = price_all(state, &limits, &mut over);
                }
            }
        }
        temperature *= cooling;
    }
    best
}

/// The overload of each device, and their sum.
fn price_all<const R: usize>(state: &State<R>, limits: &[f64; R], over: &mut [f64]) -> f64 {
    for (over, rows) in over.iter_mut().zip(&state.rows) {
        *over = overload(rows, limits);
    }
    over.iter().sum()
}

/// A device for `v`: mostly that of a vertex with which it shares a net.
#[inline]
fn proposal<const R: usize>(state: &State<R>, v: usize, rng: &mut Rng) -> usize {
    let nets = state.level.nets_of.row(v);
    if !nets.is_empty() && rng.random::<bool>() {
        let pins = state.level.pins.row(nets[rng.random_range(0..nets.len() as u32) as usize] as usize);
        return state.device_of[pins[rng.random_range(0..pins.len() as u32) as usize] as usize] as usize;
    }
    rng.random_range(0..state.device_count() as u32) as usize
}
