//! Work where memory is scarce: what an accelerator cannot hold has to lie elsewhere.

use super::linear::ROUNDING;
use super::prices::improved;
use super::shares::Shares;
use crate::preprocess::Reduced;
use crate::problem::most_bytes;

/// Graphs with more units have their bytes priced once, for prices of the devices that know no memory.
const MOST_UNITS: usize = 20_000;

/// A kind of device that cannot hold all units that it can run.
struct Scarce {
    kind: usize,
    /// Bytes that fit on all its devices together, rounding included.
    capacity: f64,
}

/// A bound on the objective of any split, by total work over total speed with units in parts, of which no kind of device
/// holds more than its memory; 0 where no memory is scarce.
///
/// By duality, a price for each byte beside those of the devices (`prices`, Σ count · price = 1) bounds it by Σ over units of
/// the least price · time + bytes at their price, less the price of all bytes there are. For given prices of devices, the best
/// one of a kind's bytes is where the units that gain most by them for each byte fill it: a fractional knapsack. The prices
/// of devices are improved one kind at a time, from none at all for the others to nothing for this one: what fills the
/// memory of the fast may make the slow ones all that counts. O(kinds² · n log n · steps).
pub fn work_within_memory(reduced: &Reduced, shares: &Shares, prices: &[f64]) -> f64 {
    let scarce: Vec<Scarce> = (0..reduced.kinds.len()).filter_map(|kind| Scarce::new(reduced, shares, kind)).collect();
    if scarce.is_empty() {
        return 0.0;
    }
    let at = |prices: &[f64]| priced(reduced, shares, &scarce, prices);
    let bound =
        if reduced.unit_count() > MOST_UNITS { at(prices) } else { at(&improved(shares, prices.to_vec(), &at)) };
    // Where nothing fits, prices go up without end; a search takes no bound above what any split costs.
    bound.min(shares.kinds.iter().map(|kind| kind.of.iter().flatten().sum()).fold(0.0, f64::max))
}

impl Scarce {
    fn new(reduced: &Reduced, shares: &Shares, kind: usize) -> Option<Self> {
        let costs = &reduced.kinds[kind];
        let capacity = most_bytes(costs.memory_limit?) * costs.count as f64 * (1.0 + ROUNDING);
        let can_run = |u: &usize| shares.kinds[kind].of[*u].is_some();
        let all: f64 = (0..reduced.unit_count()).filter(can_run).map(|u| costs.memory[u]).sum();
        (all > capacity).then_some(Self { kind, capacity })
    }
}

/// What all units cost at these prices of devices and the best ones of bytes, one kind after the other.
fn priced(reduced: &Reduced, shares: &Shares, scarce: &[Scarce], prices: &[f64]) -> f64 {
    let mut of_byte = vec![0.0; prices.len()];
    for Scarce { kind, capacity } in scarce {
        of_byte[*kind] = best_of_byte(reduced, shares, prices, &of_byte, *kind, *capacity);
    }
    let units = (0..reduced.unit_count()).filter_map(|u| cheapest(reduced, shares, prices, &of_byte, u, None));
    let held: f64 = scarce.iter().map(|scarce| of_byte[scarce.kind] * scarce.capacity).sum();
    units.sum::<f64>() * (1.0 - ROUNDING) - held * (1.0 + ROUNDING)
}

/// The price of a byte of `kind` at which the units that are cheaper there just fill it.
fn best_of_byte(
    reduced: &Reduced,
    shares: &Shares,
    prices: &[f64],
    of_byte: &[f64],
    kind: usize,
    capacity: f64,
) -> f64 {
    let (mut gains, mut left) = (Vec::new(), capacity);
    for (u, share) in shares.kinds[kind].of.iter().enumerate() {
        let (Some(share), bytes) = (share, reduced.kinds[kind].memory[u]) else { continue };
        match cheapest(reduced, shares, prices, of_byte, u, Some(kind)) {
            Some(elsewhere) if bytes > 0.0 => gains.push(((elsewhere - prices[kind] * share) / bytes, bytes)),
            Some(_) => {}
            None => left -= bytes,
        }
    }
    gains.sort_by(|a, b| b.0.total_cmp(&a.0));
    let filled = gains.iter().find(|(_, bytes)| {
        left -= bytes;
        left < 0.0
    });
    filled.map_or(0.0, |&(gain, _)| gain.max(0.0))
}

/// The least that a unit costs with its bytes, on any kind that can hold it but one.
fn cheapest(
    reduced: &Reduced,
    shares: &Shares,
    prices: &[f64],
    of_byte: &[f64],
    u: usize,
    without: Option<usize>,
) -> Option<f64> {
    let kinds = (0..prices.len()).filter(|&kind| Some(kind) != without);
    let cost =
        |kind: usize| Some(prices[kind] * shares.kinds[kind].of[u]? + of_byte[kind] * reduced.kinds[kind].memory[u]);
    kinds.filter_map(cost).min_by(f64::total_cmp)
}

#[cfg(test)]
mod tests {
    use crate::bound;
    use crate::instance::{Instance, Node, Platform};
    use crate::preprocess::Unordered;
    use crate::problem::{Problem, ProblemSpec};
    use crate::solve::{IdealDp, SearchContext, Solver, Status};

    /// Two accelerators with this memory each and a CPU, for units of 1 byte with these times on either.
    fn bound(memory: f64, times: &[(f64, f64)]) -> f64 {
        let node = |(id, &(accelerator, cpu)): (usize, &(f64, f64))| Node {
            accelerator_times: vec![Some(accelerator)],
            cpu_time: Some(cpu),
            memory: 1.0,
            ..Node::new(id as u64)
        };
        let instance = Instance {
            platform: Platform::uniform(2, Some(memory), 1),
            nodes: times.iter().enumerate().map(node).collect(),
            ..Instance::default()
        };
        let problem = Problem::new(&instance, ProblemSpec::of(&instance)).unwrap();
        bound::work(&Unordered::new(&problem).units)
    }

    fn near(a: f64, b: f64) -> bool {
        (a - b).abs() < 1e-6 * b
    }

    #[test]
    fn what_the_accelerators_cannot_hold_counts_elsewhere() {
        let times = [(1.0, 10.0), (1.0, 20.0), (1.0, 30.0), (1.0, 40.0)];
        assert!(near(bound(1.0, &times), 30.0), "the CPU has the two that it is best at: {}", bound(1.0, &times));
        assert!(bound(2.0, &times) < 2.0, "all fit");
    }

    #[test]
    fn nothing_fits() {
        let node = Node { accelerator_times: vec![Some(1.0)], memory: 1.0, ..Node::new(0) };
        let nodes = (0..3).map(|id| Node { id, ..node.clone() }).collect();
        let instance = Instance { platform: Platform::uniform(2, Some(1.0), 0), nodes, ..Instance::default() };
        let problem = Problem::new(&instance, ProblemSpec::of(&instance)).unwrap();
        assert!(bound::work(&Unordered::new(&problem).units) <= 3.0);
        let run = IdealDp::default().solve(&problem, &mut SearchContext::new()).unwrap();
        assert_eq!(run.outcome.status(), Status::Infeasible);
    }

    #[test]
    fn what_fits_but_for_rounding_is_held() {
        let memory = 1.0 - 0.9e-9;
        assert!(bound(memory, &[(1.0, 1e15), (1.0, 1e15)]) <= 1.0);
    }

    #[test]
    fn what_fits_nowhere_else_counts_there() {
        assert!(near(bound(0.5, &[(1.0, 10.0), (1.0, 20.0)]), 30.0));
    }
}
