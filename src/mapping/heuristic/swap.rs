//! Swap local search.

use rand::SeedableRng;
use rand::rngs::Xoshiro256PlusPlus;

use super::{Consecutive, GreedyMapping, PointToPoint, RandomMapping, found};
use crate::mapping::local::{LocalCost, UNPLACED};
use crate::mapping::orders::by_stage;
use crate::mapping::{Mapper, Mapping, MappingProblem, MappingRun};
use crate::search::{Progress, SearchContext, Stats};

/// Swaps the contents of two devices, one of which holds the slowest copy or one that its time depends on, as long as
/// that makes the slowest copy faster, or else the sum of all times less. It starts from the consecutive, the
/// point-to-point and the greedy mapping and from random ones, and keeps the best.
/// O(dependencies · devices · copies) for each round of swaps.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SwapSearch {
    /// How many random mappings it starts from, besides the other three.
    pub restarts: usize,
}

/// How many mappings by rule it starts from.
const RULES: usize = 3;

impl Default for SwapSearch {
    fn default() -> Self {
        Self { restarts: 8 }
    }
}

impl Mapper for SwapSearch {
    fn name(&self) -> &str {
        "swap"
    }

    fn map(&self, problem: &MappingProblem, cx: &SearchContext) -> MappingRun {
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(cx.seed);
        let mut best: Option<(Mapping, f64)> = None;
        let mut swaps = 0;
        for start in 0..RULES + self.restarts {
            if start > 0 && cx.should_stop() {
                break;
            }
            let mapping = match start {
                0 => Consecutive::place(problem),
                1 => PointToPoint::place(problem),
                2 => GreedyMapping::place(problem, cx),
                _ => RandomMapping::draw(problem, &mut rng),
            };
            let Some(mapping) = mapping else { continue };
            let mut descent = Descent::new(problem, &mapping);
            while descent.improve(cx) {
                swaps += 1;
            }
            // What is less to search by may be more by rounding.
            for mapping in [Mapping { devices: descent.devices }, mapping] {
                let objective = problem.objective(&mapping);
                if best.as_ref().is_none_or(|(_, least)| objective < *least) {
                    best = Some((mapping, objective));
                    cx.report(&Progress { phase: "swapping", incumbent: Some(objective), bound: None });
                }
            }
        }
        found(problem, best.map(|(mapping, _)| mapping), Stats::of([("swaps", swaps as f64)]))
    }
}

/// A complete mapping on its way down.
struct Descent<'a> {
    cost: LocalCost<'a>,
    /// By copy.
    devices: Vec<usize>,
    /// By device: its copy, or [`UNPLACED`].
    copies: Vec<usize>,
    /// By copy.
    times: Vec<f64>,
}

/// The largest and the sum of all times; less is better, beyond rounding.
#[derive(Clone, Copy)]
struct Height {
    most: f64,
    sum: f64,
}

impl Height {
    fn is_below(self, other: Self) -> bool {
        let less = |a: f64, b: f64| a < b * (1.0 - 1e-12);
        less(self.most, other.most) || !less(other.most, self.most) && less(self.sum, other.sum)
    }
}

impl<'a> Descent<'a> {
    fn new(problem: &'a MappingProblem, mapping: &Mapping) -> Self {
        let cost = LocalCost::new(problem);
        let devices = mapping.devices.clone();
        let mut copies = vec![UNPLACED; problem.topology.len()];
        devices.iter().enumerate().for_each(|(copy, &device)| copies[device] = copy);
        let times = cost.times(&by_stage(problem), &devices).collect();
        Self { cost, devices, copies, times }
    }

    fn height(&self) -> Height {
        Height { most: self.times.iter().copied().fold(0.0, f64::max), sum: self.times.iter().sum() }
    }

    /// Makes the best swap there is; false where none helps, or a limit comes first.
    fn improve(&mut self, cx: &SearchContext) -> bool {
        let mut best = self.height();
        let mut swap = None;
        let slowest = (0..self.times.len()).max_by(|&a, &b| self.times[a].total_cmp(&self.times[b]));
        let involved: Vec<usize> = slowest.into_iter().flat_map(|copy| self.cost.dependencies(copy)).collect();
        for copy in involved {
            if cx.should_stop() {
                return false;
            }
            for device in 0..self.copies.len() {
                if let Some(height) = self.height_after(copy, device).filter(|height| height.is_below(best)) {
                    (best, swap) = (height, Some((copy, device)));
                }
            }
        }
        if let Some((copy, device)) = swap {
            let from = self.devices[copy];
            self.swap(copy, device);
            self.evaluate(&self.affected(copy, from));
        }
        swap.is_some()
    }

    /// The height when `copy` changes places with what `device` holds; `None` where memory forbids it.
    fn height_after(&mut self, copy: usize, device: usize) -> Option<Height> {
        let (from, other, problem) = (self.devices[copy], self.copies[device], self.cost.problem);
        let fits = |copy: usize, device: usize| copy == UNPLACED || problem.fits(copy / problem.replicas, device);
        if from == device || !fits(copy, device) || !fits(other, from) {
            return None;
        }
        self.swap(copy, device);
        let affected = self.affected(copy, from);
        let before: Vec<f64> = affected.iter().map(|&copy| self.times[copy]).collect();
        self.evaluate(&affected);
        let height = self.height();
        affected.iter().zip(before).for_each(|(&copy, before)| self.times[copy] = before);
        self.swap(copy, from);
        Some(height)
    }

    fn evaluate(&mut self, copies: &[usize]) {
        for (&copy, time) in copies.iter().zip(self.cost.times(copies, &self.devices)) {
            self.times[copy] = time;
        }
    }

    fn swap(&mut self, copy: usize, device: usize) {
        let from = self.devices[copy];
        self.copies.swap(from, device);
        for device in [from, device] {
            if self.copies[device] != UNPLACED {
                self.devices[self.copies[device]] = device;
            }
        }
    }

    /// The copies whose times depend on `copy` or on what `device` holds.
    fn affected(&self, copy: usize, device: usize) -> Vec<usize> {
        let moved = [copy, self.copies[device]].into_iter().filter(|&copy| copy != UNPLACED);
        // What a time depends on is mutual: partners exchange messages, and copies of one stage form a ring.
        let mut affected: Vec<usize> = moved.flat_map(|copy| self.cost.dependencies(copy)).collect();
        affected.sort_unstable();
        affected.dedup();
        affected
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cost::Piece;
    use crate::mapping::{Counted, Device, Message, Stage, StageCost, StageGraph, Topology};

    #[test]
    fn swaps_that_help_but_for_rounding_do_not_make_it_worse() {
        let bandwidth = [
            [1.0, 1.0, 3.0, 4.0, 4.0],
            [4.0, 1.0, 5.0, 3.0, 1.0],
            [3.0, 3.0, 1.0, 1.0, 1.0],
            [1.0, 4.0, 1.0, 1.0, 1.0],
            [3.0, 3.0, 1.0, 1.0, 1.0],
        ];
        let latency = [
            [0.0, 3.0, 2.0, 0.0, 2.0],
            [0.0, 0.0, 2.0, 3.0, 2.0],
            [2.0, 4.0, 0.0, 0.0, 0.0],
            [3.0, 2.0, 0.0, 0.0, 0.0],
            [3.0, 0.0, 0.0, 0.0, 0.0],
        ];
        let stage = |memory: f64| Stage { forward: 1.0, memory, ..Stage::default() };
        let message = |(source, target, bytes): (usize, usize, f64)| Message { source, target, bytes };
        let messages = [(0, 1, 11.0), (0, 3, 14.0), (0, 4, 14.0), (2, 0, 15.0), (4, 0, 2.0)];
        let device = |index: usize| Device { memory: (index == 1).then_some(4.0), ..Device::new(index.to_string()) };
        let devices = (0..5).map(device).collect();
        let piece = |(compute, comm_in, comm_out): (f64, f64, f64)| Piece { compute, comm_in, comm_out };
        let pieces = [(1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.5, 2.0)].map(piece).to_vec();
        let problem = MappingProblem {
            stages: StageGraph {
                name: "one sum in two orders".into(),
                stages: [0.0, 5.0, 0.0, 0.0, 0.0].map(stage).to_vec(),
                messages: messages.map(message).to_vec(),
            },
            replicas: 1,
            topology: Topology::new("", "", devices, |a, b| bandwidth[a][b]).with_latency(|a, b| latency[a][b]),
            cost: StageCost { pieces, ..StageCost::additive(Counted::Messages) },
        };
        let run = SwapSearch { restarts: 0 }.map(&problem, &SearchContext::new());
        let swapped = run.outcome.solution().map(|mapping| problem.objective(mapping));
        let consecutive = Consecutive::place(&problem).map(|mapping| problem.objective(&mapping));
        assert!(consecutive.is_some() && swapped <= consecutive, "{swapped:?} after {consecutive:?}");
    }
}
