//! The initial lower bound: equations 10 and 11, and their sum for the full time.

use crate::cost::{Piece, Synchronisation, Terms};
use crate::mapping::local::LocalCost;

/// Takes rounding off a bound.
const SAFE: f64 = 1.0 - 1e-12;

/// No mapping's slowest copy is faster: each copy on its best device, with its partners on the devices best joined to
/// that one. By sorting, O(stages · devices² log devices).
pub(super) fn initial(cost: &LocalCost) -> f64 {
    let stages = 0..cost.problem.stages.stages.len();
    stages.map(|stage| of_stage(cost, stage)).fold(0.0, f64::max) * SAFE
}

fn of_stage(cost: &LocalCost, stage: usize) -> f64 {
    let problem = cost.problem;
    let devices = (0..problem.topology.len()).filter(|&device| problem.fits(stage, device));
    let times = devices.map(|device| {
        let pieces = problem.cost.pieces.iter().map(|piece| least_load(cost, stage, device, piece));
        let (load, all_reduce) = (pieces.fold(0.0, f64::max), least_all_reduce(cost, stage, device));
        match problem.cost.synchronisation {
            Synchronisation::Added => load + all_reduce,
            Synchronisation::Overlapped => load.max(all_reduce),
        }
    });
    // A stage that fits nowhere bounds nothing: the search finds out.
    times.min_by(f64::total_cmp).unwrap_or(0.0)
}

/// The least value of a piece on `device` (equation 10): the most bytes go over the best link, and so on. With
/// latencies, the most messages go over the shortest, which is a bound still.
fn least_load(cost: &LocalCost, stage: usize, device: usize, piece: &Piece) -> f64 {
    let (problem, topology) = (cost.problem, &cost.problem.topology);
    let compute = problem.stages.stages[stage].compute() / topology.devices[device].speed;
    let traffic = cost.traffic(stage);
    let mut bytes: Vec<f64> = traffic.iter().map(|t| piece.comm_out * t.out + piece.comm_in * t.back).collect();
    let sent = |coefficient: f64, bytes: f64| if bytes > 0.0 { coefficient } else { 0.0 };
    let mut messages: Vec<f64> =
        traffic.iter().map(|t| sent(piece.comm_out, t.out) + sent(piece.comm_in, t.back)).collect();
    let others = || (0..topology.len()).filter(|&other| other != device);
    let mut links: Vec<f64> =
        others().map(|other| topology.bandwidth(device, other).max(topology.bandwidth(other, device))).collect();
    let mut latencies: Vec<f64> =
        others().map(|other| topology.latency(device, other).min(topology.latency(other, device))).collect();
    for values in [&mut bytes, &mut messages, &mut links] {
        values.sort_by(|a, b| b.total_cmp(a));
    }
    latencies.sort_by(f64::total_cmp);
    let transfers: f64 = bytes.iter().zip(&links).map(|(bytes, link)| bytes / link).sum();
    let starts: f64 = messages.iter().zip(&latencies).map(|(messages, latency)| messages * latency).sum();
    piece.value(&Terms { compute, ..Terms::default() }) + transfers + starts
}

/// The least all-reduce of a copy on `device` (equation 11): over the links to its two neighbours of the ring, or to
/// the only other one.
fn least_all_reduce(cost: &LocalCost, stage: usize, device: usize) -> f64 {
    if !cost.has_rings() {
        return 0.0;
    }
    let problem = cost.problem;
    let others = (0..problem.topology.len()).filter(|&other| other != device && problem.fits(stage, other));
    let either_way =
        |other| problem.all_reduce_time(stage, device, other).min(problem.all_reduce_time(stage, other, device));
    let mut times: Vec<f64> = others.map(either_way).collect();
    times.sort_by(f64::total_cmp);
    let neighbours = (problem.replicas - 1).min(2);
    times.get(neighbours - 1).copied().unwrap_or(0.0)
}
