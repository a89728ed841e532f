//! Costs on a grid, so that every sum of them is exact.
//!
//! Searches take differences of sums: an interval's load is the difference of two prefix sums, a move adds and takes away.
//! Beside one huge cost, the usual way to say "not on this device", such a difference would keep nothing of the small
//! ones. So costs are prepared once, before any search:
//!
//! - *Cut off.* Where a split of value U is known, a cost that alone makes a load much larger than U counts as the next
//!   power of ten that still makes it larger than 2 U: no split that uses it is as good as the known one. So is what
//!   a transfer counts between servers. A transfer that nobody waits for is none.
//! - *Rounded down to a grid*, the whole multiples of a power of two, for each kind of device so coarse that its times of
//!   computing all together are fewer than 2⁵⁰ steps, and on one of their own its times of moving. Sums and differences of
//!   each are then exact in any order, with three bits to spare (but for what crosses servers, whose sums are off by a part
//!   of 2⁵⁰ of all); a load adds the two, and takes nothing away.
//!   A kind whose sums could not be off by a part of 10¹⁰ of any split's objective keeps its costs as they are: times
//!   that are measured to a few decimals stay such, which [`super::certify`] makes use of.
//!
//! Both lower costs: whatever is a bound on the grid bounds the costs themselves. What a split costs on the grid is less
//! than what it costs by no more than a step for each addend. Bytes of memory are rounded up instead, on a grid of each
//! kind's own, so that what fits on the grid fits; whole bytes are kept as they are.

use std::sync::Arc;

use crate::cost::{Costs, KindCost, Piece, Transfer};
use crate::graph::NodeId;
use crate::problem::{DeviceKind, Objective, Problem};

/// The steps that all times of a kind of device come to at most: sums of them leave three bits of a float.
const TIME_STEPS: f64 = (1u64 << 50) as f64;

/// The steps that all bytes of a kind of device come to at most: they are added and subtracted only.
const BYTE_STEPS: f64 = (1u64 << 52) as f64;

/// How many times what a known split has an amount that exceeds that counts as, at least.
const CUT_OFF: f64 = 2.0;

/// Sums that are off by no more than this part of the least objective need no grid.
const HARMLESS: f64 = 1e-10;

/// Amounts up to `most`, in whole multiples of `step`.
#[derive(Debug, Clone, Copy)]
struct Grid {
    step: f64,
    most: f64,
}

impl Grid {
    /// No grid: amounts up to `most`, as they are.
    fn none(most: f64) -> Self {
        Self { step: 0.0, most }
    }

    /// The grid on which amounts of this `total`, each at most `most`, take up to `steps` steps; none finer than all
    /// floats are.
    fn new(total: f64, most: f64, steps: f64) -> Self {
        let step = if total > 0.0 { total.log2().ceil().exp2() / steps } else { 0.0 };
        Self { step, most }
    }

    fn down(self, amount: f64) -> f64 {
        let amount = amount.min(self.most);
        if self.step > 0.0 { (amount / self.step).floor() * self.step } else { amount }
    }

    fn up(self, amount: f64) -> f64 {
        let amount = amount.min(self.most);
        if self.step > 0.0 { (amount / self.step).ceil() * self.step } else { amount }
    }
}

/// `problem` with its costs on a grid, cut off above `upper`, the value of a split that is known. O((n + m) · kinds).
///
/// Whatever is proven of the least value of its splits holds for `problem`, and its splits are valid there.
pub(super) fn on_grid(problem: &Problem, upper: Option<f64>) -> Problem {
    // Nothing is cut off above a split that costs nothing.
    let upper = upper.filter(|&upper| upper > 0.0);
    let mut rounded = problem.clone();
    if problem.spec.interconnect.is_some() {
        let between = between(problem, upper);
        let transfers = &mut Arc::make_mut(&mut rounded.costs).transfers;
        transfers.iter_mut().zip(between).for_each(|(transfer, between)| transfer.between = between);
    }
    rounded.parameter_bytes = parameter_bytes(problem, upper);
    rounded.costs = Arc::new(costs(&rounded, upper));
    rounded
}

/// The largest transfer time that tells splits apart, on a kind of device: one that is paid counts at least as a time.
fn most_transfer(problem: &Problem, kind: DeviceKind, upper: Option<f64>) -> f64 {
    let pieces = problem.costs.pieces(kind);
    // A transfer is paid on its way in, on its way out, or both.
    let least = [largest(pieces, |piece| piece.comm_in), largest(pieces, |piece| piece.comm_out)];
    least.map(|coefficient| most(problem, upper, coefficient)).into_iter().fold(0.0, f64::max)
}

/// The largest amount that tells splits apart where so much of it is added to a load.
fn most(problem: &Problem, upper: Option<f64>, coefficient: f64) -> f64 {
    let replicas = problem.spec.most_replicas() as f64;
    match upper {
        Some(upper) if coefficient > 0.0 => cut_off(upper * replicas / coefficient),
        _ => f64::INFINITY,
    }
}

/// What each transfer's time between servers is multiplied by: no more than makes it exceed what is known.
fn between(problem: &Problem, upper: Option<f64>) -> Vec<f64> {
    let most: Vec<(&KindCost, f64)> = (problem.device_kinds().into_iter())
        .map(|kind| (problem.costs.kind(kind), most_transfer(problem, kind, upper)))
        .collect();
    let enough = |(t, transfer): (usize, &Transfer)| {
        let factors = most.iter().map(|&(kind, most)| (most, kind.transfers[t]));
        let factors = factors.filter(|&(_, time)| time > 0.0).map(|(most, time)| most / time.min(most));
        factors.fold(1.0, f64::max).min(transfer.between)
    };
    problem.costs.transfers.iter().enumerate().map(enough).collect()
}

/// The least power of ten that is at least `CUT_OFF` times `amount`: among decimals it stays one.
fn cut_off(amount: f64) -> f64 {
    10f64.powf((CUT_OFF * amount).log10().ceil()).max(CUT_OFF * amount)
}

/// What no split is below: the dearest node where it is cheapest, and for a pipeline the work shared by all devices.
fn least_objective(problem: &Problem) -> f64 {
    let kinds = problem.device_kinds();
    let slopes = kinds.iter().map(|&kind| largest(problem.costs.pieces(kind), |piece| piece.compute));
    let kinds: Vec<(DeviceKind, f64)> = kinds.iter().copied().zip(slopes).collect();
    let least = |v: NodeId| {
        let loads = kinds.iter().filter_map(|&(kind, slope)| Some(slope * problem.costs.node(v, kind)?.compute));
        loads.min_by(f64::total_cmp).unwrap_or(0.0)
    };
    let replicas = problem.spec.most_replicas() as f64;
    let dearest = (0..problem.node_count()).map(least).fold(0.0, f64::max) / replicas;
    match problem.spec.objective {
        Objective::Throughput | Objective::GPipe | Objective::Step { .. } => {
            let devices: usize = kinds.iter().map(|&(kind, _)| problem.device_count(kind)).sum();
            f64::max(dearest, (0..problem.node_count()).map(least).sum::<f64>() / devices as f64)
        }
        Objective::Latency { .. } | Objective::Sharding(_) => dearest,
    }
}

/// What replicas synchronise, on a grid. Two of them take bytes / bandwidth, more take longer.
fn parameter_bytes(problem: &Problem, upper: Option<f64>) -> Vec<f64> {
    let Some(replication) = problem.spec.replication else { return problem.parameter_bytes.clone() };
    let most = upper.map_or(f64::INFINITY, |upper| cut_off(upper * replication.bandwidth));
    let total = problem.parameter_bytes.iter().map(|bytes| bytes.min(most)).sum();
    let grid = Grid::new(total, most, TIME_STEPS);
    problem.parameter_bytes.iter().map(|&bytes| grid.down(bytes)).collect()
}

/// The costs on their grids.
fn costs(problem: &Problem, upper: Option<f64>) -> Costs {
    let classes = problem.spec.platform.accelerators.len();
    let kinds: Vec<DeviceKind> = (0..classes).map(DeviceKind::Accelerator).chain([DeviceKind::Cpu]).collect();
    let known = (upper, least_objective(problem));
    let mut costs = (*problem.costs).clone();
    costs.kinds = kinds.iter().map(|&kind| kind_cost(problem, kind, known)).collect();
    costs
}

fn kind_cost(problem: &Problem, kind: DeviceKind, (upper, least_objective): (Option<f64>, f64)) -> KindCost {
    let (costs, given) = (&problem.costs, problem.costs.kind(kind));
    let most_compute = most(problem, upper, largest(&given.pieces, |piece| piece.compute));
    let most_transfer = most_transfer(problem, kind, upper);
    let compute: f64 = given.nodes.iter().flatten().map(|cost| cost.compute.min(most_compute)).sum();
    let moved = given.transfers.iter().zip(&costs.transfers);
    let communication = 2.0 * moved.map(|(time, transfer)| time.min(most_transfer) * transfer.between).sum::<f64>();
    let addends = (problem.node_count() + costs.transfers.len()) as f64;
    let is_harmless = addends * (compute + communication) * f64::EPSILON <= HARMLESS * least_objective;
    let grid = |total, most, steps| if is_harmless { Grid::none(most) } else { Grid::new(total, most, steps) };
    // What a time is multiplied by multiplies what rounding takes off it.
    let far = costs.transfers.iter().map(|transfer| transfer.between).fold(1.0, f64::max);
    let on_compute = grid(compute, most_compute, TIME_STEPS);
    let on_transfer = grid(communication, most_transfer, TIME_STEPS * far);
    let bytes = bytes_of(problem, kind).unwrap_or(Grid::none(f64::INFINITY));
    let mut on_grid = given.clone();
    for cost in on_grid.nodes.iter_mut().flatten() {
        cost.compute = on_compute.down(cost.compute);
        cost.memory = bytes.up(cost.memory);
    }
    on_grid.boundary.iter_mut().for_each(|kept| *kept = bytes.up(*kept));
    on_grid.transfers.iter_mut().for_each(|time| *time = on_transfer.down(*time));
    on_grid
}

fn largest(pieces: &[Piece], coefficient: impl Fn(&Piece) -> f64) -> f64 {
    pieces.iter().map(coefficient).fold(0.0, f64::max)
}

/// The grid of the bytes on a kind of device: what its memory cannot hold is as much as any more, and where it holds
/// nothing, one byte is. `None` where memory is unlimited.
fn bytes_of(problem: &Problem, kind: DeviceKind) -> Option<Grid> {
    let limit = problem.memory_limit(kind)?;
    let replicas = problem.spec.most_replicas();
    let capacity = problem.costs.memory.capacity(Some(limit), replicas)?;
    let most = if capacity > 0.0 { cut_off(capacity) } else { 1.0 };
    let own = (0..problem.node_count()).filter_map(|v| problem.costs.node(v, kind)).map(|cost| cost.memory.min(most));
    let costs = problem.costs.kind(kind);
    let crossing = problem.graph.edges().map(|(u, _)| costs.boundary_bytes(u).min(most));
    Some(Grid::new(own.sum::<f64>() + 2.0 * crossing.sum::<f64>(), most, BYTE_STEPS))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_on_a_grid_are_exact_in_any_order() {
        let amounts = [0.1, 5.0, 5.3, 1e-3, 7.7];
        let total = amounts.iter().sum();
        let grid = Grid::new(total, f64::INFINITY, TIME_STEPS);
        let down = amounts.map(|amount| grid.down(amount));
        let forward: f64 = down.iter().sum();
        assert_eq!(forward, down.iter().rev().sum::<f64>());
        assert_eq!(forward - down[4] - down[1] - down[2] - down[3], down[0]);
        for (amount, down) in amounts.iter().zip(down) {
            assert!(down <= *amount && amount - down < total * 4.0 / TIME_STEPS);
        }
    }

    #[test]
    fn what_exceeds_the_most_counts_as_the_most_and_bytes_are_never_fewer() {
        let grid = Grid::new(40.0, 20.0, TIME_STEPS);
        assert_eq!((grid.down(1e15), grid.down(20.0), grid.down(0.0)), (20.0, 20.0, 0.0));
        let bytes = Grid::new(100.0, 64.0, BYTE_STEPS);
        assert_eq!((bytes.up(17.0), bytes.up(1e30)), (17.0, 64.0));
        assert!(bytes.up(0.1) >= 0.1 && bytes.up(1e-20) > 0.0);
    }

    #[test]
    fn what_is_cut_off_is_a_power_of_ten_beyond_twice_the_known() {
        assert_eq!((cut_off(5.0), cut_off(6.0), cut_off(0.04)), (10.0, 100.0, 0.1));
        assert!(cut_off(1e308).is_infinite() && cut_off(1e-310) >= 2e-310);
    }

    #[test]
    fn amounts_too_small_for_a_grid_are_kept() {
        let grid = Grid::new(1e-320, f64::INFINITY, TIME_STEPS);
        assert_eq!(grid.down(1e-320), 1e-320);
    }
}
