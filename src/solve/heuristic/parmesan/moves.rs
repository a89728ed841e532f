//! A split while units move between its stages, and what a move gains.

use std::cmp::Ordering;

use super::reconvergence::Neighbourhood;
use crate::preprocess::Reduced;
use crate::problem::{Problem, Solution};
use crate::solve::dp::loads::{Loads, SetLoads, Value, objective, worse};
use crate::solve::dp::stage::{Boundary, StageKind};
use crate::solve::heuristic::groups::{Links, Quotient};

/// A unit that is to go to another stage.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Move {
    pub unit: usize,
    pub to: usize,
}

/// What a move gains by the three published measures; the first that differs decides.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Gain {
    /// How much nearer to a reconverging operator the boundary comes, in edges.
    pub nearness: i64,
    /// How much less time the transfers between stages take in all.
    pub transfers: f64,
    /// By how much the longest compute time of a stage falls.
    pub compute: f64,
}

impl Gain {
    /// No gain at all.
    pub const NONE: Self = Self { nearness: 0, transfers: 0.0, compute: 0.0 };

    /// Compares by the first measure that differs.
    pub fn compare(&self, other: &Self) -> Ordering {
        let transfers = || self.transfers.total_cmp(&other.transfers);
        let compute = || self.compute.total_cmp(&other.compute);
        self.nearness.cmp(&other.nearness).then_with(transfers).then_with(compute)
    }
}

/// A split under refinement.
pub struct Split<'a> {
    reduced: &'a Reduced,
    neighbourhood: &'a Neighbourhood,
    sets: SetLoads<'a>,
    quotient: Quotient,
    stages: Vec<StageKind>,
    stage_of: Vec<usize>,
    /// Units of each stage, as words of a bit set.
    held: Vec<Vec<u64>>,
    values: Vec<Value>,
    /// Compute time of each stage on one of its replicas.
    compute: Vec<f64>,
}

impl<'a> Split<'a> {
    /// `solution` over the units of `reduced`; `None` where it is no split of them whose stages have an order.
    pub fn new(
        problem: &Problem,
        loads: &'a Loads<'a>,
        neighbourhood: &'a Neighbourhood,
        solution: &Solution,
        unit_of: &[usize],
    ) -> Option<Self> {
        let reduced = loads.reduced;
        let index = problem.index_of_ids();
        let mut stage_of = vec![usize::MAX; reduced.unit_count()];
        let mut held = vec![vec![0; reduced.unit_count().div_ceil(64)]; solution.devices.len()];
        let mut stages = Vec::with_capacity(held.len());
        for (stage, device) in solution.devices.iter().enumerate() {
            let kind = reduced.kinds.iter().position(|kind| kind.kind == device.kind)?;
            let (lower, upper) = (Boundary::Between, Boundary::Between);
            stages.push(StageKind { kind, replicas: device.replicas, lower, upper });
            for id in &device.nodes {
                let unit = unit_of[*index.get(id)?];
                stage_of[unit] = stage;
                held[stage][unit / 64] |= 1 << (unit % 64);
            }
        }
        if stage_of.contains(&usize::MAX) {
            return None;
        }
        let quotient = Quotient::new(&reduced.order, &stage_of, stages.len())?;
        let mut sets = SetLoads::new(loads);
        let values = stages.iter().zip(&held).map(|(&stage, set)| sets.value(stage, set)).collect::<Option<_>>()?;
        let mut split = Self {
            reduced,
            neighbourhood,
            sets,
            quotient,
            compute: vec![0.0; stages.len()],
            stages,
            stage_of,
            held,
            values,
        };
        for unit in 0..reduced.unit_count() {
            let stage = split.stage_of[unit];
            split.compute[stage] += split.time(unit, stage)?;
        }
        Some(split)
    }

    /// The objective of the split.
    pub fn objective(&self) -> f64 {
        objective(self.values.iter().copied().fold([0.0; 2], worse))
    }

    /// The stage of each unit.
    pub fn stage_of(&self) -> &[usize] {
        &self.stage_of
    }

    /// The stages in an order that every edge follows.
    pub fn order(&self) -> Vec<usize> {
        self.quotient.order().collect()
    }

    /// The moves of units to stages that they share an edge with, each with its gain, those that gain most first.
    pub fn moves(&self) -> Vec<(Gain, Move)> {
        let mut moves = Vec::new();
        for unit in 0..self.stage_of.len() {
            let stages = self.neighbourhood.of[unit].iter().map(|&v| self.stage_of[v]);
            let mut targets: Vec<usize> = stages.filter(|&stage| stage != self.stage_of[unit]).collect();
            targets.sort_unstable();
            targets.dedup();
            let gains =
                targets.into_iter().map(|to| Move { unit, to }).filter_map(|step| Some((self.gain(step)?, step)));
            moves.extend(gains);
        }
        moves.sort_unstable_by(|(a, step), (b, other)| b.compare(a).then_with(|| step.cmp(other)));
        moves
    }

    /// Makes a move; `false`, and nothing changes, where it closes a cycle or does not fit.
    pub fn make(&mut self, step: Move) -> bool {
        let Move { unit, to } = step;
        let from = self.stage_of[unit];
        let Some(time) = self.time(unit, to) else { return false };
        self.put(unit, to);
        let values = self.value(from).zip(self.value(to));
        let links = Links::new(&self.reduced.order, &[unit], |u| u == unit, |u| self.stage_of[u]);
        match values.filter(|_| self.quotient.relocate(&links, from, to)) {
            None => {
                self.put(unit, from);
                false
            }
            Some((left, reached)) => {
                (self.values[from], self.values[to]) = (left, reached);
                self.compute[from] -= self.time(unit, from).unwrap_or(0.0);
                self.compute[to] += time;
                true
            }
        }
    }

    fn value(&mut self, stage: usize) -> Option<Value> {
        self.sets.value(self.stages[stage], &self.held[stage])
    }

    fn put(&mut self, unit: usize, to: usize) {
        self.held[self.stage_of[unit]][unit / 64] &= !(1 << (unit % 64));
        self.held[to][unit / 64] |= 1 << (unit % 64);
        self.stage_of[unit] = to;
    }

    /// Compute time of a unit on one replica of a stage; `None` where it cannot run it.
    fn time(&self, unit: usize, stage: usize) -> Option<f64> {
        let StageKind { kind, replicas, .. } = self.stages[stage];
        Some(self.reduced.kinds[kind].times[unit]?.total() / replicas as f64)
    }

    /// What a move gains; `None` where the stage cannot run the unit.
    fn gain(&self, step: Move) -> Option<Gain> {
        let Move { unit, to } = step;
        let from = self.stage_of[unit];
        let time = self.time(unit, to)?;
        let longest = |of: &dyn Fn(usize) -> f64| (0..self.compute.len()).map(of).fold(0.0, f64::max);
        let after = longest(&|stage| match stage {
            _ if stage == from => self.compute[stage] - self.time(unit, stage).unwrap_or(0.0),
            _ if stage == to => self.compute[stage] + time,
            _ => self.compute[stage],
        });
        let compute = longest(&|stage| self.compute[stage]) - after;
        Some(Gain { nearness: self.nearness(unit), transfers: self.transfers(step), compute })
    }

    /// How much nearer to a reconverging operator the boundary comes where it moves from `unit` to what is left of its
    /// stage beside it.
    fn nearness(&self, unit: usize) -> i64 {
        let Neighbourhood { of, distance } = self.neighbourhood;
        let left = of[unit].iter().filter(|&&v| self.stage_of[v] == self.stage_of[unit]);
        left.map(|&v| distance[unit] as i64 - distance[v] as i64).max().unwrap_or(0)
    }

    /// How much less time transfers take after a move: each producer's once for every further stage with a consumer.
    fn transfers(&self, step: Move) -> f64 {
        let from = self.stage_of[step.unit];
        let saved = |&e: &u32| {
            let others = || self.reduced.nets[e as usize].pins.iter().filter(|&&p| p as usize != step.unit);
            let holds = |stage: usize| others().any(|&p| self.stage_of[p as usize] == stage);
            let time = self.reduced.kinds[self.stages[step.to].kind].transfers[e as usize];
            (f64::from(u8::from(holds(step.to))) - f64::from(u8::from(holds(from)))) * time
        };
        self.reduced.nets_of.row(step.unit).iter().map(saved).sum()
    }
}
