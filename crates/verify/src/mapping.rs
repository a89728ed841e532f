//! Mappings, checked against their problem by the plainest code there is.

use super::CLAIM_TOLERANCE;
use dagsplit_model::cost::Synchronisation;
use dagsplit_model::mapping::{ClaimedMapping, Counted, MappingProblem};
use dagsplit_model::text::escaped;

/// What is wrong with a mapping.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum MappingViolation {
    /// A copy of a stage is nowhere.
    #[error("copy {replica} of stage {stage} is on no device; place it")]
    MissingCopy {
        /// The stage.
        stage: usize,
        /// The number of the copy.
        replica: usize,
    },
    /// A copy of a stage is in two places.
    #[error("copy {replica} of stage {stage} is placed twice, on devices {} and {}; keep one", .devices.0, .devices.1)]
    RepeatedCopy {
        /// The stage.
        stage: usize,
        /// The number of the copy.
        replica: usize,
        /// Where it is said to be.
        devices: (usize, usize),
    },
    /// There is no such copy.
    #[error("there is no copy {replica} of stage {stage}: there are {stages} stages in {replicas} copies; remove it")]
    UnknownCopy {
        /// The stage named.
        stage: usize,
        /// The number of the copy named.
        replica: usize,
        /// How many stages there are.
        stages: usize,
        /// How many copies of each.
        replicas: usize,
    },
    /// There is no such device.
    #[error("copy {replica} of stage {stage} is on device {device}, but there are {devices}; name one of them")]
    UnknownDevice {
        /// The stage.
        stage: usize,
        /// The number of the copy.
        replica: usize,
        /// The device named.
        device: usize,
        /// How many devices there are.
        devices: usize,
    },
    /// The mapping is of other stages.
    #[error("stage {stage} is called {} here but {} in the mapping; map these stages", escaped(.found), escaped(.claimed))]
    OtherStage {
        /// The stage.
        stage: usize,
        /// Its name.
        found: String,
        /// Its name in the mapping.
        claimed: String,
    },
    /// The mapping is onto another topology.
    #[error("device {device} is called {} here but {} in the mapping; map onto this topology", escaped(.found), escaped(.claimed))]
    OtherDevice {
        /// The device.
        device: usize,
        /// Its name.
        found: String,
        /// Its name in the mapping.
        claimed: String,
    },
    /// A device holds two copies.
    #[error(
        "device {device} holds copy {} of stage {} and copy {} of stage {}; move one of them",
        .first.1, .first.0, .second.1, .second.0
    )]
    SharedDevice {
        /// The device.
        device: usize,
        /// Stage and number of one copy.
        first: (usize, usize),
        /// Stage and number of another.
        second: (usize, usize),
    },
    /// A copy does not fit in its device's memory.
    #[error("copy {replica} of stage {stage} needs {needed} bytes, but device {device} has {limit}; move it")]
    MemoryExceeded {
        /// The stage.
        stage: usize,
        /// The number of the copy.
        replica: usize,
        /// The device.
        device: usize,
        /// Bytes that the copy needs.
        needed: f64,
        /// Bytes that the device has.
        limit: f64,
    },
    /// A copy does not take the time claimed.
    #[error("copy {replica} of stage {stage} is said to take {claimed} but takes {recomputed}; correct the claim")]
    WrongTime {
        /// The stage.
        stage: usize,
        /// The number of the copy.
        replica: usize,
        /// What is claimed.
        claimed: f64,
        /// What it takes.
        recomputed: f64,
    },
    /// The slowest copy does not take the time claimed.
    #[error("the mapping claims the objective {claimed} but has {recomputed}; correct the claim")]
    WrongObjective {
        /// What is claimed.
        claimed: f64,
        /// What it has.
        recomputed: f64,
    },
}

/// A copy of a stage and the time it takes.
#[derive(Debug, Clone, PartialEq)]
pub struct VerifiedCopy {
    /// Index of the stage.
    pub stage: usize,
    /// Number of the copy.
    pub replica: usize,
    /// Index of the device.
    pub device: usize,
    /// Time to compute both passes.
    pub compute: f64,
    /// Time of the messages it receives and sends.
    pub messages: f64,
    /// Time of its stage's all-reduce.
    pub all_reduce: f64,
    /// Its time under the problem's cost.
    pub time: f64,
}

/// A mapping that the verifier has passed; nothing else makes one.
#[derive(Debug, Clone, PartialEq)]
pub struct VerifiedMapping {
    copies: Vec<VerifiedCopy>,
}

impl VerifiedMapping {
    /// The copies: copy r of stage s stands at s · replicas + r.
    pub fn copies(&self) -> &[VerifiedCopy] {
        &self.copies
    }

    /// The time of the slowest copy.
    pub fn objective(&self) -> f64 {
        self.copies.iter().map(|copy| copy.time).fold(0.0, f64::max)
    }
}

/// Checks a mapping and recomputes its times from stages and topology. O(copies · messages).
///
/// # Errors
/// Every violation found. Times are checked where every copy has a device of its own.
pub fn check(problem: &MappingProblem, claim: &ClaimedMapping) -> Result<VerifiedMapping, Vec<MappingViolation>> {
    let mut violations = Vec::new();
    let device_of = places(problem, claim, &mut violations);
    check_devices(problem, &device_of, &mut violations);
    check_names(problem, claim, &mut violations);
    if !violations.is_empty() {
        return Err(violations);
    }
    let devices: Vec<usize> = device_of.into_iter().flatten().collect();
    let verified =
        VerifiedMapping { copies: (0..devices.len()).map(|copy| copy_of(problem, &devices, copy)).collect() };
    check_claims(problem, claim, &verified, &mut violations);
    if violations.is_empty() { Ok(verified) } else { Err(violations) }
}

/// The device of each copy, as far as the claim names one that exists.
fn places(
    problem: &MappingProblem,
    claim: &ClaimedMapping,
    violations: &mut Vec<MappingViolation>,
) -> Vec<Option<usize>> {
    let (stages, replicas) = (problem.stages.stages.len(), problem.replicas);
    let devices = problem.topology.devices.len();
    let mut device_of: Vec<Option<usize>> = vec![None; stages * replicas];
    let mut named = vec![false; stages * replicas];
    for copy in &claim.copies {
        let (stage, replica, device) = (copy.stage, copy.replica, copy.device);
        if stage >= stages || replica >= replicas {
            violations.push(MappingViolation::UnknownCopy { stage, replica, stages, replicas });
            continue;
        }
        let index = stage * replicas + replica;
        named[index] = true;
        if device >= devices {
            violations.push(MappingViolation::UnknownDevice { stage, replica, device, devices });
        } else if let Some(first) = device_of[index] {
            violations.push(MappingViolation::RepeatedCopy { stage, replica, devices: (first, device) });
        } else {
            device_of[index] = Some(device);
        }
    }
    for index in (0..named.len()).filter(|&index| !named[index]) {
        violations.push(MappingViolation::MissingCopy { stage: index / replicas, replica: index % replicas });
    }
    device_of
}

/// Stages and devices are those that the mapping names, as far as it names any that there are.
fn check_names(problem: &MappingProblem, claim: &ClaimedMapping, violations: &mut Vec<MappingViolation>) {
    for (stage, claimed) in &claim.names.stages {
        if let Some(other) = problem.stages.stages.get(*stage).filter(|stage| stage.name != *claimed) {
            let (found, claimed) = (other.name.clone(), claimed.clone());
            violations.push(MappingViolation::OtherStage { stage: *stage, found, claimed });
        }
    }
    for (device, claimed) in &claim.names.devices {
        if let Some(other) = problem.topology.devices.get(*device).filter(|device| device.name != *claimed) {
            let (found, claimed) = (other.name.clone(), claimed.clone());
            violations.push(MappingViolation::OtherDevice { device: *device, found, claimed });
        }
    }
}

/// One copy on each device, and room for it.
fn check_devices(problem: &MappingProblem, device_of: &[Option<usize>], violations: &mut Vec<MappingViolation>) {
    let replicas = problem.replicas;
    let mut holds: Vec<Option<usize>> = vec![None; problem.topology.devices.len()];
    for (index, device) in device_of.iter().enumerate() {
        let Some(device) = *device else { continue };
        let (stage, replica) = (index / replicas, index % replicas);
        if let Some(other) = holds[device] {
            let (first, second) = ((other / replicas, other % replicas), (stage, replica));
            violations.push(MappingViolation::SharedDevice { device, first, second });
        }
        holds[device] = Some(index);
        let needed = problem.stages.stages[stage].memory;
        if let Some(limit) = problem.topology.devices[device].memory.filter(|&limit| needed > limit) {
            violations.push(MappingViolation::MemoryExceeded { stage, replica, device, needed, limit });
        }
    }
}

fn check_claims(
    problem: &MappingProblem,
    claim: &ClaimedMapping,
    verified: &VerifiedMapping,
    violations: &mut Vec<MappingViolation>,
) {
    let differs = |claimed: f64, recomputed: f64| {
        let error = (claimed - recomputed).abs();
        !error.is_finite() || error > CLAIM_TOLERANCE * recomputed.abs()
    };
    for copy in &claim.copies {
        let (stage, replica) = (copy.stage, copy.replica);
        let recomputed = verified.copies[stage * problem.replicas + replica].time;
        if let Some(claimed) = copy.time.filter(|&claimed| differs(claimed, recomputed)) {
            violations.push(MappingViolation::WrongTime { stage, replica, claimed, recomputed });
        }
    }
    let recomputed = verified.objective();
    if let Some(claimed) = claim.objective.filter(|&claimed| differs(claimed, recomputed)) {
        violations.push(MappingViolation::WrongObjective { claimed, recomputed });
    }
}

/// One copy and its time, from the definition.
fn copy_of(problem: &MappingProblem, devices: &[usize], index: usize) -> VerifiedCopy {
    let replicas = problem.replicas;
    let (stage, replica, device) = (index / replicas, index % replicas, devices[index]);
    let work = &problem.stages.stages[stage];
    let compute = (work.forward + work.backward) / problem.topology.devices[device].speed;
    let (mut received, mut sent) = (0.0, 0.0);
    if matches!(problem.cost.counted, Counted::Messages | Counted::Both) {
        for message in &problem.stages.messages {
            let place = |stage: usize| devices[stage * replicas + replica];
            let time = send_time(problem, place(message.source), place(message.target), message.bytes);
            if message.target == stage {
                received += time;
            }
            if message.source == stage {
                sent += time;
            }
        }
    }
    let ring = &devices[stage * replicas..(stage + 1) * replicas];
    let all_reduce = match problem.cost.counted {
        Counted::Messages => 0.0,
        Counted::AllReduce | Counted::Both => ring_time(problem, work.parameter_bytes, ring),
    };
    let mut load: f64 = 0.0;
    for piece in &problem.cost.pieces {
        load = load.max(piece.compute * compute + piece.comm_in * received + piece.comm_out * sent);
    }
    let time = match problem.cost.synchronisation {
        Synchronisation::Added => load + all_reduce,
        Synchronisation::Overlapped => load.max(all_reduce),
    };
    VerifiedCopy { stage, replica, device, compute, messages: received + sent, all_reduce, time }
}

/// Time of a message in the postal model.
fn send_time(problem: &MappingProblem, from: usize, to: usize, bytes: f64) -> f64 {
    if bytes == 0.0 {
        return 0.0;
    }
    problem.topology.latency(from, to) + bytes / problem.topology.bandwidth(from, to)
}

/// The slowest link of a ring all-reduce: 2(R − 1) messages of a share of the weights.
fn ring_time(problem: &MappingProblem, bytes: f64, ring: &[usize]) -> f64 {
    let count = ring.len();
    if count == 1 {
        return 0.0;
    }
    let mut slowest: f64 = 0.0;
    for position in 0..count {
        let (from, to) = (ring[position], ring[(position + 1) % count]);
        let step = send_time(problem, from, to, bytes / count as f64);
        slowest = slowest.max(2.0 * (count - 1) as f64 * step);
    }
    slowest
}
