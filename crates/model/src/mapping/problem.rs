//! What is asked of a mapping, and what a mapping costs.

use super::{Stage, StageGraph, Topology};
use crate::cost::{Piece, Synchronisation, Terms, max_of_pieces};
use crate::instance::Problems;
use crate::problem::{DeviceKind, Problem};
use crate::text::escaped;

/// Which communication a stage's time counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Counted {
    /// Messages between stages: c^m (equations 6 and 8).
    Messages,
    /// The all-reduce among a stage's replicas: c^AR (equations 7 and 9).
    AllReduce,
    /// Both, which the paper leaves out for its cost (section V-B).
    #[default]
    Both,
}

impl Counted {
    /// What the paper counts of this stage graph (section V-B): the all-reduce where it sends more bytes than all
    /// messages together, else the messages. The all-reduce of a stage sends 2(R−1)/R of its weights from each replica.
    pub fn dominant(stages: &StageGraph, replicas: usize) -> Self {
        let share = 2.0 * (1.0 - 1.0 / replicas.max(1) as f64);
        let all_reduce: f64 = stages.stages.iter().map(|stage| share * stage.parameter_bytes).sum();
        let messages: f64 = stages.messages.iter().map(|message| message.bytes).sum();
        if all_reduce > messages { Self::AllReduce } else { Self::Messages }
    }

    /// What it is called on the command line and in records.
    pub fn name(self) -> &'static str {
        match self {
            Self::Messages => "messages",
            Self::AllReduce => "all-reduce",
            Self::Both => "both",
        }
    }

    /// Whether messages between stages count.
    pub fn messages(self) -> bool {
        self != Counted::AllReduce
    }

    /// Whether the all-reduce among replicas counts.
    pub fn all_reduce(self) -> bool {
        self != Counted::Messages
    }
}

/// How compute, messages and all-reduce make the time of a stage.
#[derive(Debug, Clone, PartialEq)]
pub struct StageCost {
    /// Which communication counts.
    pub counted: Counted,
    /// The pieces whose maximum is the time without the all-reduce, as in [`KindCost::pieces`](crate::cost::KindCost::pieces).
    pub pieces: Vec<Piece>,
    /// Whether the all-reduce's time is added or hides behind the rest.
    pub synchronisation: Synchronisation,
}

impl StageCost {
    /// The paper's stage times: compute, messages and all-reduce are added.
    pub fn additive(counted: Counted) -> Self {
        Self { counted, pieces: vec![Piece::ADDITIVE], synchronisation: Synchronisation::Added }
    }

    /// The stage times of pipelines of `problem`: what its costs say of its accelerators' loads.
    ///
    /// # Errors
    /// Classes of accelerators whose loads differ: any copy may stand on any device.
    pub fn of(problem: &Problem, counted: Counted) -> Result<Self, Problems> {
        let accelerators = problem.device_kinds().into_iter().filter(|&kind| kind != DeviceKind::Cpu);
        let mut loads = accelerators.map(|kind| problem.costs.pieces(kind));
        let pieces = loads.next().unwrap_or(&[Piece::ADDITIVE]);
        if loads.any(|other| other != pieces) {
            let mut problems = Problems::default();
            let cure = "map splits of an instance whose classes all state the same load, or none";
            problems.add(
                "platform",
                "its classes of accelerators differ in their loads, as no devices of a topology do",
                cure,
            );
            return Err(problems);
        }
        Ok(Self { counted, pieces: pieces.to_vec(), synchronisation: problem.costs.synchronisation })
    }

    /// Whether the all-reduce's time is added, rather than hidden behind the rest.
    pub fn adds_all_reduce(&self) -> bool {
        self.synchronisation == Synchronisation::Added
    }

    /// A copy's time from its terms and its stage's all-reduce time.
    #[inline]
    pub fn time(&self, terms: &Terms, all_reduce: f64) -> f64 {
        let load = max_of_pieces(&self.pieces, terms);
        match self.synchronisation {
            Synchronisation::Added => load + all_reduce,
            Synchronisation::Overlapped => load.max(all_reduce),
        }
    }
}

/// Time that the link from device `a` to device `b` adds to the ring all-reduce of `bytes` among `replicas`.
#[inline]
pub fn ring_link_time(topology: &Topology, replicas: usize, bytes: f64, a: usize, b: usize) -> f64 {
    let (r, steps) = (replicas as f64, 2.0 * (replicas - 1) as f64);
    steps * topology.message_time(a, b, bytes / r)
}

/// A device for each copy of each stage: copy r of stage s stands at s · replicas + r.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mapping {
    /// The devices' indices, all different.
    pub devices: Vec<usize>,
}

/// Too little memory for any mapping.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error(
    "stage {stage} ({}) needs {needed} bytes on each of its devices; {copies} copies need as much, but {devices} of {among} \
     devices have it, and the largest has {largest} bytes; split into more stages, or take fewer replicas or larger devices",
    escaped(name)
)]
pub struct MemoryShortage {
    /// The stage with the most memory that lacks devices.
    pub stage: usize,
    /// Its name.
    pub name: String,
    /// Bytes that each of its copies needs.
    pub needed: f64,
    /// How many copies need as much, those of other stages included.
    pub copies: usize,
    /// How many devices have as much.
    pub devices: usize,
    /// Of how many devices.
    pub among: usize,
    /// Bytes of the largest device.
    pub largest: f64,
}

/// Stages, each in equally many copies, to be placed on distinct devices so that the slowest copy is fastest
/// (equation 5). Copies with the same number form a pipeline of their own; a stage's copies form a ring in the order
/// of their numbers. There may be more devices than copies.
#[derive(Debug, Clone, PartialEq)]
pub struct MappingProblem {
    /// The stages.
    pub stages: StageGraph,
    /// How many copies of each stage: R in the paper; at least 1.
    pub replicas: usize,
    /// The devices.
    pub topology: Topology,
    /// What a stage's time is.
    pub cost: StageCost,
}

impl MappingProblem {
    /// Number of copies to be placed: stages times replicas.
    pub fn copies(&self) -> usize {
        self.stages.stages.len() * self.replicas
    }

    /// Whether a copy of stage `stage` fits in the memory of device `device`.
    pub fn fits(&self, stage: usize, device: usize) -> bool {
        self.topology.devices[device].memory.is_none_or(|limit| self.stages.stages[stage].memory <= limit)
    }

    /// What memory lacks, where it alone allows no mapping. A device that has room for a copy has room for any smaller one,
    /// so that copies find devices if and only if, for each stage, those at least as large find enough devices as large.
    /// O(stages · (stages + devices)).
    pub fn memory_shortage(&self) -> Option<MemoryShortage> {
        let (stages, among) = (&self.stages.stages, self.topology.len());
        let memory = self.topology.devices.iter().map(|device| device.memory.unwrap_or(f64::INFINITY));
        let largest = memory.fold(0.0, f64::max);
        let shortage = |(stage, Stage { name, memory: needed, .. }): (usize, &Stage)| {
            let copies = self.replicas * stages.iter().filter(|other| other.memory >= *needed).count();
            let devices = (0..among).filter(|&device| self.fits(stage, device)).count();
            let (name, needed) = (name.clone(), *needed);
            (devices < copies).then_some(MemoryShortage { stage, name, needed, copies, devices, among, largest })
        };
        let shortages = stages.iter().enumerate().filter_map(shortage);
        shortages.max_by(|a, b| a.needed.total_cmp(&b.needed))
    }

    /// Whether all copies fit in the memory of these devices, given by copy.
    pub fn all_fit(&self, devices: &[usize]) -> bool {
        devices.iter().enumerate().all(|(copy, &device)| self.fits(copy / self.replicas, device))
    }

    /// Time that the link from device `a` to device `b` adds to the all-reduce of `stage`: a ring all-reduce sends
    /// 2(R−1) messages of 1/R of the weights over each of its links.
    #[inline]
    pub fn all_reduce_time(&self, stage: usize, a: usize, b: usize) -> f64 {
        ring_link_time(&self.topology, self.replicas, self.stages.stages[stage].parameter_bytes, a, b)
    }

    /// The time of every copy under a complete mapping, by copy. O(copies + replicas · messages).
    pub fn times(&self, mapping: &Mapping) -> Vec<f64> {
        let ring = |copy: usize| match self.cost.counted.all_reduce() {
            true => self.ring_time(mapping, copy / self.replicas),
            false => 0.0,
        };
        self.terms(mapping).iter().enumerate().map(|(copy, terms)| self.time(terms, ring(copy))).collect()
    }

    /// The objective: the largest time of any copy.
    pub fn objective(&self, mapping: &Mapping) -> f64 {
        self.times(mapping).into_iter().fold(0.0, f64::max)
    }

    /// A copy's time from its terms and its stage's all-reduce time.
    #[inline]
    pub fn time(&self, terms: &Terms, all_reduce: f64) -> f64 {
        self.cost.time(terms, all_reduce)
    }

    fn terms(&self, mapping: &Mapping) -> Vec<Terms> {
        let compute = |copy: usize| {
            self.stages.stages[copy / self.replicas].compute() / self.topology.devices[mapping.devices[copy]].speed
        };
        let mut terms: Vec<Terms> =
            (0..self.copies()).map(|copy| Terms { compute: compute(copy), ..Terms::default() }).collect();
        if !self.cost.counted.messages() {
            return terms;
        }
        for message in &self.stages.messages {
            for replica in 0..self.replicas {
                let (source, target) =
                    (message.source * self.replicas + replica, message.target * self.replicas + replica);
                let (from, to) = (mapping.devices[source], mapping.devices[target]);
                let time = self.topology.message_time(from, to, message.bytes);
                terms[source].comm_out += time;
                terms[target].comm_in += time;
            }
        }
        terms
    }

    /// Time of the all-reduce of `stage` under a complete mapping, whether it counts or not: its slowest link's.
    pub fn ring_time(&self, mapping: &Mapping, stage: usize) -> f64 {
        let ring = &mapping.devices[stage * self.replicas..][..self.replicas];
        let next = ring.iter().cycle().skip(1);
        ring.iter().zip(next).map(|(&a, &b)| self.all_reduce_time(stage, a, b)).fold(0.0, f64::max)
    }
}
