//! The time of one copy under a mapping that may be incomplete.

use super::MappingProblem;
use crate::cost::Terms;

/// Marks a copy without a device, where devices are given by copy.
pub(super) const UNPLACED: usize = usize::MAX;

/// Bytes between a stage and one it shares messages with.
#[derive(Debug, Clone, Copy)]
pub(super) struct Traffic {
    /// The other stage.
    pub stage: usize,
    /// Bytes to it.
    pub out: f64,
    /// Bytes from it.
    pub back: f64,
}

/// Times of single copies, by what they depend on.
pub(super) struct LocalCost<'a> {
    pub problem: &'a MappingProblem,
    /// By stage: what it sends and receives, as far as that counts.
    traffic: Vec<Vec<Traffic>>,
    /// Whether copies of a stage wait for each other.
    has_rings: bool,
}

impl<'a> LocalCost<'a> {
    /// O(messages · p) where a stage exchanges messages with p others at most.
    pub fn new(problem: &'a MappingProblem) -> Self {
        let mut traffic: Vec<Vec<Traffic>> = vec![Vec::new(); problem.stages.stages.len()];
        let mut add = |stage: usize, entry: Traffic| {
            match traffic[stage].iter_mut().find(|known| known.stage == entry.stage) {
                Some(known) => {
                    known.out += entry.out;
                    known.back += entry.back;
                }
                None => traffic[stage].push(entry),
            };
        };
        let counted = problem.cost.counted.messages();
        for message in problem.stages.messages.iter().filter(|message| counted && message.bytes > 0.0) {
            add(message.source, Traffic { stage: message.target, out: message.bytes, back: 0.0 });
            add(message.target, Traffic { stage: message.source, out: 0.0, back: message.bytes });
        }
        Self { problem, traffic, has_rings: problem.cost.counted.all_reduce() && problem.replicas > 1 }
    }

    /// What `stage` sends and receives, as far as it counts.
    pub fn traffic(&self, stage: usize) -> &[Traffic] {
        &self.traffic[stage]
    }

    /// Whether an all-reduce among the copies of a stage counts.
    pub fn has_rings(&self) -> bool {
        self.has_rings
    }

    /// The copies whose places the time of `copy` depends on, itself among them.
    pub fn dependencies(&self, copy: usize) -> impl Iterator<Item = usize> + '_ {
        let replicas = self.problem.replicas;
        let (stage, replica) = (copy / replicas, copy % replicas);
        let ring = if self.has_rings { stage * replicas..(stage + 1) * replicas } else { copy..copy + 1 };
        ring.chain(self.traffic[stage].iter().map(move |traffic| traffic.stage * replicas + replica))
    }

    /// The times of `copies`, which have devices, as far as the others are placed: never more than under a completion.
    /// Copies of one stage that follow one another share the work of their ring.
    pub fn times<'b>(&'b self, copies: &'b [usize], devices: &'b [usize]) -> impl Iterator<Item = f64> + 'b {
        let mut ring = (None, 0.0);
        copies.iter().map(move |&copy| {
            let stage = copy / self.problem.replicas;
            if self.has_rings && ring.0 != Some(stage) {
                ring = (Some(stage), self.ring_time(stage, devices));
            }
            self.problem.time(&self.terms(copy, devices), ring.1)
        })
    }

    fn terms(&self, copy: usize, devices: &[usize]) -> Terms {
        let (problem, device) = (self.problem, devices[copy]);
        let (stage, replica) = (copy / problem.replicas, copy % problem.replicas);
        let topology = &problem.topology;
        let compute = problem.stages.stages[stage].compute() / topology.devices[device].speed;
        let mut terms = Terms { compute, ..Terms::default() };
        for traffic in &self.traffic[stage] {
            let there = devices[traffic.stage * problem.replicas + replica];
            if there != UNPLACED {
                terms.comm_out += topology.message_time(device, there, traffic.out);
                terms.comm_in += topology.message_time(there, device, traffic.back);
            }
        }
        terms
    }

    /// The all-reduce of `stage` over the links between copies that are placed.
    fn ring_time(&self, stage: usize, devices: &[usize]) -> f64 {
        let ring = &devices[stage * self.problem.replicas..][..self.problem.replicas];
        let links = ring.iter().zip(ring.iter().cycle().skip(1));
        let placed = links.filter(|&(&a, &b)| a != UNPLACED && b != UNPLACED);
        placed.map(|(&a, &b)| self.problem.all_reduce_time(stage, a, b)).fold(0.0, f64::max)
    }
}
