//! Linear bounds of a load on a grid, where sums are exact.

use crate::cost::{Piece, Synchronisation, ring_all_reduce};
use crate::preprocess::{KindCosts, Reduced, joint};
use crate::problem::{DeviceKind, Problem, fits};

/// Costs add up to less than two to this power on the grid, where double precision holds every integer.
const GRID_BITS: i32 = 52;

/// Sums of floating-point loads may be off by this part.
pub const ROUNDING: f64 = 1e-12;

/// What each of `replicas` devices of one kind that hold a set of units pays at least: weights of the units and prices
/// of the nets that the set crosses, rounded down to a grid.
#[derive(Debug, Clone, PartialEq)]
pub struct LinearLoad {
    /// Weight of each unit; `None` where no such device can hold it.
    pub weight: Vec<Option<u64>>,
    /// Price of each net whose source is inside and another pin outside.
    pub outward: Vec<u64>,
    /// Price of each net whose source is outside and another pin inside.
    pub inward: Vec<u64>,
    /// Steps of the grid in one unit of time: a power of two.
    pub steps: f64,
}

impl LinearLoad {
    /// The bounds of loads of `replicas` devices of kind `kind`: one for each piece, and their mean.
    pub fn all(problem: &Problem, reduced: &Reduced, kind: usize, replicas: usize) -> Vec<Self> {
        let pieces = &reduced.kinds[kind].pieces;
        let mean = (pieces.len() > 1).then(|| mean(pieces));
        pieces.iter().copied().chain(mean).map(|piece| Self::new(problem, reduced, kind, replicas, piece)).collect()
    }

    fn new(problem: &Problem, reduced: &Reduced, kind: usize, replicas: usize, piece: Piece) -> Self {
        let costs = &reduced.kinds[kind];
        let r = replicas as f64;
        let weight: Vec<Option<f64>> = (0..reduced.unit_count())
            .map(|u| Some(own(costs, u, piece, replicas)? / r + synchronisation(problem, reduced, u, replicas)))
            .collect();
        let priced = |coefficient: f64| costs.transfers.iter().map(|c| coefficient * c / r).collect::<Vec<f64>>();
        let (outward, inward) = (priced(piece.comm_out), priced(piece.comm_in));
        let total: f64 = weight.iter().flatten().chain(&outward).chain(&inward).sum();
        let steps = steps_for(total);
        let down = |cost: &f64| (cost * steps) as u64;
        Self {
            weight: weight.iter().map(|w| w.as_ref().map(down)).collect(),
            outward: outward.iter().map(down).collect(),
            inward: inward.iter().map(down).collect(),
            steps,
        }
    }

    /// A time on the grid: a sum above it exceeds the time by more than the rounding of any sum of loads.
    pub fn steps_in(&self, time: f64) -> u64 {
        (time * (1.0 + ROUNDING) * self.steps) as u64
    }

    /// The time of a sum of costs.
    pub fn time(&self, steps: u64) -> f64 {
        steps as f64 / self.steps
    }
}

fn own(costs: &KindCosts, u: usize, piece: Piece, replicas: usize) -> Option<f64> {
    let terms = costs.terms(u)?;
    fits(costs.memory[u], costs.capacity(replicas)).then(|| piece.value(&joint(&terms)))
}

/// What a unit adds to the load of its replicas by the all-reduce of its weights.
fn synchronisation(problem: &Problem, reduced: &Reduced, u: usize, replicas: usize) -> f64 {
    match (problem.spec.replication, problem.costs.synchronisation) {
        (Some(r), Synchronisation::Added) if replicas > 1 => {
            ring_all_reduce(reduced.parameter_bytes[u], replicas, r.bandwidth)
        }
        _ => 0.0,
    }
}

/// The most replicas that a stage on devices of this kind can have.
pub fn most_replicas(problem: &Problem, kind: &KindCosts) -> usize {
    let server = problem.spec.interconnect.map_or(usize::MAX, |i| i.server_size);
    match kind.kind {
        DeviceKind::Cpu => 1,
        DeviceKind::Accelerator(_) => problem.spec.most_replicas().min(kind.count).min(server),
    }
}

fn steps_for(total: f64) -> f64 {
    let bits = if total > 0.0 { total.log2().ceil() as i32 } else { 0 };
    2f64.powi((GRID_BITS - bits).clamp(-1000, 1000))
}

fn mean(pieces: &[Piece]) -> Piece {
    let n = pieces.len() as f64;
    let sum = |of: fn(&Piece) -> f64| pieces.iter().map(of).sum::<f64>() / n;
    Piece::new(sum(|p| p.compute), sum(|p| p.comm_in), sum(|p| p.comm_out))
}
