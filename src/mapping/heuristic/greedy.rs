//! One copy after another where it does the least harm.

use super::found;
use crate::mapping::local::{LocalCost, UNPLACED};
use crate::mapping::{Mapper, Mapping, MappingProblem, MappingRun};
use crate::search::{SearchContext, Stats};

/// Places the copy that exchanges the most bytes with those already placed on the free device where the slowest copy it
/// touches is fastest, as far as their partners are placed; ties go to the device of least total time, then to the
/// first. The first copy is the one with the most bytes of all.
/// O(copies · (copies + devices · (partners + replicas))).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct GreedyMapping;

impl Mapper for GreedyMapping {
    fn name(&self) -> &str {
        "greedy"
    }

    fn map(&self, problem: &MappingProblem, cx: &SearchContext) -> MappingRun {
        found(problem, Self::place(problem, cx), Stats::default())
    }
}

impl GreedyMapping {
    /// The mapping; `None` where a copy finds no free device with enough memory, or a limit of the context comes first.
    pub fn place(problem: &MappingProblem, cx: &SearchContext) -> Option<Mapping> {
        let mut state = State::new(problem);
        while let Some(copy) = state.next_copy() {
            if cx.should_stop() {
                return None;
            }
            let device = state.best_device(copy)?;
            state.place(copy, device);
        }
        Some(Mapping { devices: state.devices })
    }
}

struct State<'a> {
    cost: LocalCost<'a>,
    /// By copy.
    devices: Vec<usize>,
    /// By device.
    taken: Vec<bool>,
    /// By copy: bytes it exchanges with copies that are placed, and with any.
    bytes: Vec<(f64, f64)>,
}

impl<'a> State<'a> {
    fn new(problem: &'a MappingProblem) -> Self {
        let cost = LocalCost::new(problem);
        let copies = problem.copies();
        let mut state = Self {
            cost,
            devices: vec![UNPLACED; copies],
            taken: vec![false; problem.topology.len()],
            bytes: Vec::new(),
        };
        let of_all = |copy: usize| state.partners(copy).iter().map(|&(_, bytes)| bytes).sum();
        state.bytes = (0..copies).map(|copy| (0.0, of_all(copy))).collect();
        state
    }

    /// The copies that `copy` exchanges bytes with, and how many.
    fn partners(&self, copy: usize) -> Vec<(usize, f64)> {
        let problem = self.cost.problem;
        let (stage, replica) = (copy / problem.replicas, copy % problem.replicas);
        let traffic = self.cost.traffic(stage).iter();
        let mut partners: Vec<(usize, f64)> =
            traffic.map(|t| (t.stage * problem.replicas + replica, t.out + t.back)).collect();
        if self.cost.has_rings() {
            let share = 2.0 * (1.0 - 1.0 / problem.replicas as f64);
            let bytes = share * problem.stages.stages[stage].parameter_bytes;
            let ring = stage * problem.replicas..(stage + 1) * problem.replicas;
            partners.extend(ring.filter(|&other| other != copy).map(|other| (other, bytes)));
        }
        partners
    }

    fn next_copy(&self) -> Option<usize> {
        let unplaced = (0..self.devices.len()).rev().filter(|&copy| self.devices[copy] == UNPLACED);
        let key = |copy: usize| self.bytes[copy];
        unplaced.max_by(|&a, &b| key(a).0.total_cmp(&key(b).0).then(key(a).1.total_cmp(&key(b).1)))
    }

    fn best_device(&mut self, copy: usize) -> Option<usize> {
        let stage = copy / self.cost.problem.replicas;
        let is_placed = |&other: &usize| other == copy || self.devices[other] != UNPLACED;
        let touched: Vec<usize> = self.cost.dependencies(copy).filter(is_placed).collect();
        let mut best: Option<(usize, (f64, f64))> = None;
        for device in 0..self.taken.len() {
            if self.taken[device] || !self.cost.problem.fits(stage, device) {
                continue;
            }
            self.devices[copy] = device;
            let times = self.cost.times(&touched, &self.devices);
            let harm = times.fold((0.0_f64, 0.0), |(most, sum), time| (most.max(time), sum + time));
            if best.is_none_or(|(_, least)| harm < least) {
                best = Some((device, harm));
            }
        }
        self.devices[copy] = UNPLACED;
        best.map(|(device, _)| device)
    }

    fn place(&mut self, copy: usize, device: usize) {
        self.devices[copy] = device;
        self.taken[device] = true;
        for (other, bytes) in self.partners(copy) {
            self.bytes[other].0 += bytes;
        }
    }
}
