//! The independent checker: recomputes a split from the original instance and names everything wrong with it.
//!
//! It shares no code with any solver, with the preprocessing, or with the cost model: its formulas are its own and
//! the plainest there are. Whatever reports a split shows a [`Verified`] one, which only [`check`] can make.
//!
//! # What a load is
//! An accelerator pays, for each node it holds, the compute time on its class; and the transfer time of each producer
//! whose output comes in (made elsewhere, consumed here) or goes out (made here, consumed elsewhere), once per
//! producer and direction (Tarnawski 2020, section 5.1.1). [`CostKind`](dagsplit_model::problem::CostKind) says how the three
//! sums combine. A CPU pays compute alone.
//! - *Passes.* A node's compute and its output's transfers belong to the node's own pass. [`Objective::GPipe`] combines
//!   the sums of each pass by themselves and adds the largest forward load and the largest backward load.
//! - *Replicas.* Over r > 1 devices the load is divided by r and the ring all-reduce of the parameters,
//!   2(r−1)/r · bytes / bandwidth, is added (`Additive`) or taken as a further piece of the maximum (`Overlap`,
//!   `Duplex`). Between passes it is charged in full to the backward pass where the instance has a backward node, and
//!   to the forward pass otherwise. Each replica holds the stage's whole memory.
//! - *Servers.* A transfer costs `between_factor` times as much when the producer or any of its consumers lies outside
//!   the server of the accelerator that pays; CPUs are outside every server. Servers are numbered class by class, each
//!   with `server_size` accelerators of one class.
//!
//! # What memory is
//! [`MemoryModel`](dagsplit_model::problem::MemoryModel) says what an accelerator needs for the nodes it holds: their memory
//! added up, or their peaks with recomputation and the outputs that cross its boundary. Replicas share the latter.
//!
//! # What contiguous means
//! Contiguity is about the *order graph*. Its nodes are the forward nodes, and one stand-in for each *orphan*: a colour
//! class without forward nodes, or a backward node without colour class. Its edges are the instance's edges between
//! forward nodes, and for each edge a → b between backward nodes of two groups of which one is an orphan, f(b) → f(a),
//! where f(·) are the forward nodes of the group or its stand-in. Other backward nodes go where their colour class goes.
//! - `Convex`: no path leaves a device and returns to it.
//! - `Acyclic`: the order graph's quotient by device has no cycle, nor has its quotient by server and CPU. The order
//!   graph itself may have cycles through different groups; each then has to lie on one device.
//! - `Linearized`: acyclic, and the order graph's nodes on each device follow one another in the order. The stand-in of
//!   an orphan takes the place of the orphan's first node.
//!
//! # What the latency is
//! An accelerator runs its nodes as subgraphs, one after another (Tarnawski 2020, section 4). A subgraph costs what a
//! device of its own would cost: what passes between two subgraphs of one accelerator goes through the host's memory
//! and is paid twice. It starts once every producer outside it is ready and the subgraph before it on its accelerator
//! is finished, and all its outputs are ready when it has taken its load. A node on a CPU starts once its producers
//! are ready, and takes its CPU time; CPU nodes do not wait for each other, however many CPUs there are. The latency
//! is the time of the last finish.
//! - *Contiguity.* Subgraphs that wait for themselves or for each other in a cycle cannot run. Nothing more is asked
//!   of them, in any scope: what can run is convex and has an acyclic quotient by subgraphs and single CPU nodes.
//! - *Training.* This holds on all nodes alike, forward and backward: no order graph, no stand-ins. A colour class
//!   shares a device, not a subgraph.
//! - *Splits that state no subgraphs.* Each device's set runs as a whole where that is possible; else it is cut at the
//!   places where paths enter it anew, and once more where devices would still wait for each other.
//!
//! # What stages with degrees are
//! [`Degrees`](dagsplit_model::problem::Degrees) states what a stage takes and keeps, and what may be chosen. A split lists
//! them in pipeline order, which says how many microbatches each has in flight; every node states its option.
//!
//! # What several chunks on a device are
//! [`Chunks`] states it. The devices that hold nodes are numbered in the order of the split,
//! and say which of their nodes each of their stages has. Where memory depends on the place
//! ([`ChunkMemory`](dagsplit_model::problem::ChunkMemory)), the passes of a device are gone through in their order.
//!
//! # What the sharding cost is
//! [`Sharding`](dagsplit_model::problem::Sharding) states it: squared deviations of the devices' weights from their mean over
//! the whole platform, and a price for each distinct edge between two devices. Scopes bind such splits like any other.

mod chunk_memory;
mod chunks;
mod contiguity;
mod cut;
mod devices;
mod loads;
pub mod mapping;
mod memory;
mod profiled;
mod schedule;
mod sharding;
mod split;
mod stage_fault;
mod stages;
mod subgraphs;
mod violation;

pub use schedule::ScheduledSubgraph;
pub use stage_fault::StageFault;
pub use violation::{CycleStep, DeadlockStep, Part, Violation};

use chunk_memory::Peak;
use dagsplit_model::cost::{Costs, StageCosts};
use dagsplit_model::instance::{Instance, Problems};
use dagsplit_model::problem::{Chunks, DeviceAssignment, DeviceKind, MemoryParts, Objective, ProblemSpec, Solution};
use loads::Load;
use schedule::Schedule;
use split::{Split, validate_all};

/// How far a claimed objective may be from the recomputed one, relative to the larger: sums of the same
/// floating-point numbers in another order differ by less, anything else by more.
pub const CLAIM_TOLERANCE: f64 = 1e-9;

/// A split that passed [`check`], with everything recomputed.
#[derive(Debug, Clone, PartialEq)]
pub struct Verified {
    devices: Vec<VerifiedDevice>,
    objective: f64,
    /// How far the objective can be off by rounding, beyond [`CLAIM_TOLERANCE`].
    rounding: f64,
}

impl Verified {
    /// The devices, in the order of the split; those without nodes included.
    pub fn devices(&self) -> &[VerifiedDevice] {
        &self.devices
    }

    /// The value, in the unit of the objective.
    pub fn objective(&self) -> f64 {
        self.objective
    }

    /// The split with the recomputed objective as its claim.
    pub fn to_solution(&self) -> Solution {
        let devices = self.devices.iter().map(|device| device.assignment.clone()).collect();
        Solution { devices, objective: Some(self.objective) }
    }
}

/// One device, or one group of replicas, of a [`Verified`] split.
#[derive(Debug, Clone, PartialEq)]
pub struct VerifiedDevice {
    assignment: DeviceAssignment,
    load: f64,
    passes: Load,
    memory: f64,
    subgraphs: Vec<ScheduledSubgraph>,
    span: Option<(f64, f64)>,
    in_flight: Option<usize>,
    chunks_in_flight: Vec<usize>,
    parts: Option<MemoryParts>,
}

impl VerifiedDevice {
    /// Its share of the time per sample, replication counted: compute and transfers of both passes together, or the sum
    /// of [`forward_load`](Self::forward_load) and [`backward_load`](Self::backward_load) under [`Objective::GPipe`].
    /// Under [`Objective::Latency`] the time that it works on one sample: the sum over its subgraphs or CPU nodes.
    /// [`Objective::Sharding`] does not count it.
    pub fn load(&self) -> f64 {
        self.load
    }

    /// The load of its forward nodes and their outputs.
    pub fn forward_load(&self) -> f64 {
        self.passes.forward
    }

    /// The load of its backward nodes and their outputs.
    pub fn backward_load(&self) -> f64 {
        self.passes.backward
    }

    /// Bytes needed on each accelerator of the group; 0 on a CPU, whose memory is not counted.
    pub fn memory(&self) -> f64 {
        self.memory
    }

    /// The kind of device.
    pub fn kind(&self) -> DeviceKind {
        self.assignment.kind
    }

    /// How many devices share the nodes as replicas.
    pub fn replicas(&self) -> usize {
        self.assignment.replicas
    }

    /// How many devices share each operator; 1 where stages have no degrees.
    pub fn tensor_degree(&self) -> usize {
        self.assignment.tensor_degree
    }

    /// Whether it has degrees, and its nodes options.
    pub fn has_degrees(&self) -> bool {
        !self.assignment.options.is_empty()
    }

    /// The option of each of its nodes; none where nodes have no options.
    pub fn options(&self) -> &[String] {
        &self.assignment.options
    }

    /// Microbatches in flight, where stages have degrees and it holds one of them.
    pub fn in_flight(&self) -> Option<usize> {
        self.in_flight
    }

    /// Microbatches in flight of each of its chunks when it needs the most memory, where that depends on the place; else
    /// none.
    pub fn chunks_in_flight(&self) -> &[usize] {
        &self.chunks_in_flight
    }

    /// What its memory is for, where it depends on the place; of devices with several chunks only where no optimizer is
    /// asked for, of which they state the sum.
    pub fn memory_parts(&self) -> Option<MemoryParts> {
        self.parts
    }

    /// The server the accelerators sit in, where the split names one.
    pub fn server(&self) -> Option<usize> {
        self.assignment.server
    }

    /// Ids of the nodes, as in the instance's file.
    pub fn nodes(&self) -> &[u64] {
        &self.assignment.nodes
    }

    /// The nodes of each of its stages, in pipeline order, where it was asked for several; else none.
    pub fn chunks(&self) -> &[Vec<u64>] {
        &self.assignment.chunks
    }

    /// Under [`Objective::Latency`] the subgraphs of an accelerator, in the order in which it runs them; else none.
    pub fn subgraphs(&self) -> &[ScheduledSubgraph] {
        &self.subgraphs
    }

    /// Under [`Objective::Latency`] when it starts its first and finishes its last work; `None` where it has none.
    pub fn span(&self) -> Option<(f64, f64)> {
        self.span
    }
}

/// Checks `solution` against `instance` and `spec`, and recomputes its loads and objective.
///
/// Devices without nodes count for nothing. Once every node is known to be on one device, all that is wrong with the
/// devices and with contiguity is listed together; the claimed objective, where there is one, is compared last.
/// O(n + m) time, times the number of devices in [`Scope::Convex`](dagsplit_model::problem::Scope::Convex).
///
/// # Errors
/// Every violation found, each with the ids concerned and the cure.
pub fn check(instance: &Instance, spec: &ProblemSpec, solution: &Solution) -> Result<Verified, Vec<Violation>> {
    validate_all(instance, spec, None).map_err(invalid)?;
    check_split(instance, spec, &profiled::costs(instance, spec), solution)
}

/// [`check`] by the data of another cost model than that of profiled instances, which the verifier puts together itself.
///
/// # Errors
/// Every violation found; what is wrong with the data is one of them.
pub fn check_with(
    instance: &Instance,
    spec: &ProblemSpec,
    costs: &Costs,
    solution: &Solution,
) -> Result<Verified, Vec<Violation>> {
    validate_all(instance, spec, Some(costs)).map_err(invalid)?;
    check_split(instance, spec, costs, solution)
}

fn invalid(problems: Problems) -> Vec<Violation> {
    vec![Violation::InvalidInstance(problems)]
}

fn check_split(
    instance: &Instance,
    spec: &ProblemSpec,
    costs: &Costs,
    solution: &Solution,
) -> Result<Verified, Vec<Violation>> {
    let split = Split::resolve(instance, spec, costs, solution)?;
    let verified = match &costs.stages {
        Some(stages) => of_stages(&split, stages)?,
        None => of_devices(&split)?,
    };
    match solution.objective.filter(|&claimed| !agree(claimed, &verified)) {
        Some(claimed) => Err(vec![Violation::WrongObjective { claimed, recomputed: verified.objective }]),
        None => Ok(verified),
    }
}

fn of_stages(split: &Split, costs: &StageCosts) -> Result<Verified, Vec<Violation>> {
    let mut violations = Vec::new();
    devices::device_counts(split, &mut violations);
    devices::chunks(split, &mut violations);
    let of_devices = |found: &mut Vec<Violation>| match split.spec.chunks {
        Some(chunks) => chunks::stages(split, costs, chunks, found),
        None => stages::successive(split, costs, found),
    };
    let stages = stages::check(split, costs, of_devices).map_err(|found| violations.extend(found));
    let Some(stages) = stages.ok().filter(|_| violations.is_empty()) else { return Err(violations) };
    let parts = split.spec.chunks.as_ref().map_or(1, Chunks::parts);
    let objective = stages::time(split, costs, &stages, parts);
    let devices = stages.into_iter().zip(split.devices).map(|(stage, assignment)| VerifiedDevice {
        assignment: assignment.clone(),
        load: stage.load,
        passes: Load { forward: stage.load, backward: 0.0, together: stage.load },
        memory: stage.memory.total(),
        subgraphs: Vec::new(),
        span: None,
        in_flight: stage.in_flight,
        chunks_in_flight: stage.chunks_in_flight,
        parts: (!assignment.nodes.is_empty()).then_some(stage.memory),
    });
    Ok(Verified { devices: devices.collect(), objective, rounding: 0.0 })
}

fn of_devices(split: &Split) -> Result<Verified, Vec<Violation>> {
    let peaks = split.spec.chunks.and_then(|chunks| chunks::peaks(split, chunks)).unwrap_or_default();
    let mut memory = memory::of_devices(split);
    for (bytes, peak) in memory.iter_mut().zip(&peaks) {
        *bytes = peak.as_ref().map_or(0.0, |peak| peak.memory.total());
    }
    let mut violations = devices::violations(split, &memory);
    let verified = match split.spec.objective {
        Objective::Latency { subgraphs } => match schedule::run(split, subgraphs) {
            Ok(schedule) => Some(of_schedule(split, schedule, &memory)),
            Err(found) => {
                violations.extend(found);
                None
            }
        },
        Objective::Throughput | Objective::GPipe | Objective::Step { .. } | Objective::Sharding(_) => {
            let loads = match split.spec.chunks {
                Some(chunks) => chunks::loads(split, chunks, &mut violations),
                None => {
                    violations.extend(contiguity::violations(split));
                    violations.is_empty().then(|| loads::of_devices(split))
                }
            };
            loads.map(|loads| of_pipeline(split, loads, &memory, &peaks))
        }
    };
    verified.filter(|_| violations.is_empty()).ok_or(violations)
}

fn of_pipeline(split: &Split, loads: Vec<Load>, memory: &[f64], peaks: &[Option<Peak>]) -> Verified {
    let parts = split.spec.chunks.as_ref().map_or(1, Chunks::parts);
    let (objective, rounding) = match &split.spec.objective {
        Objective::Sharding(sharding) => {
            let cost = sharding::cost(split, sharding);
            (cost.value, cost.rounding)
        }
        objective => (loads::time(&loads, *objective, parts), 0.0),
    };
    let peak = |d: usize| peaks.get(d).and_then(Option::as_ref);
    // Weights, gradients and optimizer state are one figure of a node then.
    let is_one = split.spec.chunks.and_then(|chunks| chunks.memory?.training).is_some();
    let devices = loads.into_iter().enumerate().map(|(d, passes)| VerifiedDevice {
        assignment: split.devices[d].clone(),
        load: match split.spec.objective {
            Objective::GPipe => passes.forward + passes.backward,
            _ => passes.together,
        },
        passes,
        memory: memory[d],
        subgraphs: Vec::new(),
        span: None,
        in_flight: None,
        chunks_in_flight: peak(d).map_or_else(Vec::new, |peak| peak.in_flight.clone()),
        parts: peak(d).filter(|_| !is_one).map(|peak| peak.memory),
    });
    Verified { devices: devices.collect(), objective, rounding }
}

fn of_schedule(split: &Split, schedule: Schedule, memory: &[f64]) -> Verified {
    let Schedule { subgraphs, loads, spans, latency } = schedule;
    let parts = loads.into_iter().zip(subgraphs).zip(spans).enumerate();
    let devices = parts.map(|(d, ((passes, subgraphs), span))| VerifiedDevice {
        assignment: split.devices[d].clone(),
        load: passes.together,
        passes,
        memory: memory[d],
        subgraphs,
        span,
        in_flight: None,
        chunks_in_flight: Vec::new(),
        parts: None,
    });
    Verified { devices: devices.collect(), objective: latency, rounding: 0.0 }
}

fn agree(claimed: f64, verified: &Verified) -> bool {
    let recomputed = verified.objective;
    let tolerance = CLAIM_TOLERANCE * claimed.abs().max(recomputed.abs()) + verified.rounding;
    claimed == recomputed || (claimed - recomputed).abs() <= tolerance
}
