//! Several chunks of the pipeline on each device.

use serde::{Deserialize, Serialize};

use super::{ChunkMemory, Degrees, InFlight, MemoryModel, Objective, ProblemSpec, Scope};
use crate::instance::{Instance, Problems};

/// Each of p devices holds this many stages of a pipeline, its chunks, and a step goes through all of them.
///
/// With J = count · p the stages hold successive ideals, none of them empty. A device's load L is the sum over its chunks,
/// each paying its own transfers; chunks that follow one another on one device pay as one. With m microbatches a step takes
///
/// > ( Σ L + (w · m − 1) · max L ) / w,
///
/// which is m · L + (p − 1) · L / w on balanced devices: the bubble is p − 1 of the w parts of a microbatch's work that a
/// device waits for. Where schedules find other stages they differ from it, and simulation says how far.
///
/// Where stages have degrees ([`Degrees`]) these are one tensor degree and one data degree d for all: what holds
/// the chunks is d replicas of so many devices, L is what one of them takes for a microbatch, d times what its chunks take as stages
/// for each sample, and m is the N / d microbatches of a replica.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Chunks {
    /// Chunks of each device, at least 1; called v.
    pub count: usize,
    /// Which stages a device holds.
    pub placement: Placement,
    /// What they keep by place and schedule; `None` counts the memory of all nodes of a device once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory: Option<ChunkMemory>,
}

/// For each stage the first of those that follow one another on its device, where these are the devices of all: nothing moves
/// between them.
pub fn first_together(homes: &[usize]) -> Vec<usize> {
    let mut first: Vec<usize> = (0..homes.len()).collect();
    for stage in (1..homes.len()).filter(|&stage| homes[stage] == homes[stage - 1]) {
        first[stage] = first[stage - 1];
    }
    first
}

/// Which stages the devices of a pipeline with chunks hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Placement {
    /// Stage j is on device j mod p, and w is the number of chunks: interleaved 1F1B (Narayanan et al. 2021, section 2.2.2).
    #[default]
    Interleaved,
    /// Of two chunks each, device i holds the stages i and 2p − 1 − i, and w = 6: ZB-V (Qi et al. 2024, section 6), where
    /// forward pass, gradients of inputs and gradients of weights take as long as each other.
    VShape,
}

impl Placement {
    /// The placement's name on the command line and in JSON.
    pub fn name(&self) -> &'static str {
        match self {
            Placement::Interleaved => "interleaved",
            Placement::VShape => "v-shape",
        }
    }
}

impl Chunks {
    /// So many chunks of each device, whose nodes' memory counts once.
    pub const fn new(count: usize, placement: Placement) -> Self {
        Self { count, placement, memory: None }
    }

    /// The parts of a microbatch's work on a device, one of which the bubble has for each other device; called w.
    pub fn parts(&self) -> usize {
        match self.placement {
            Placement::Interleaved => self.count,
            Placement::VShape => 6,
        }
    }

    /// The device, of `devices`, that holds `stage`.
    pub fn device_of(&self, stage: usize, devices: usize) -> usize {
        match self.placement {
            Placement::VShape if stage >= devices => 2 * devices - 1 - stage,
            _ => stage % devices,
        }
    }

    /// The device of each stage, in pipeline order, over so many devices.
    pub fn homes(&self, devices: usize) -> Vec<usize> {
        (0..self.count * devices).map(|stage| self.device_of(stage, devices)).collect()
    }

    /// Adds what is wrong with it, and what else is asked for that does not go with it, to `found`.
    pub(super) fn validate(&self, instance: &Instance, spec: &ProblemSpec, found: &mut Problems) {
        if self.count == 0 {
            found.add("chunks", "a device has none", "ask for at least one chunk on each device");
        }
        if self.placement == Placement::VShape && self.count != 2 {
            let cause = format!("{} chunks make no V: the pipeline goes down the devices and up again", self.count);
            found.add("chunks", cause, "ask for two chunks, or for interleaved ones");
        }
        let microbatches = spec.objective.microbatches().unwrap_or(1);
        if self.count.max(self.parts()).checked_mul(microbatches).is_none() {
            let cause = format!("{} of each of {microbatches} microbatches are more than can be counted", self.count);
            found.add("chunks", cause, "ask for fewer");
        }
        if let Some(memory) = &self.memory {
            memory.validate(instance, spec, found);
        }
        if let Some(degrees) = &spec.degrees {
            self.validate_degrees(degrees, found);
        }
        let kinds = spec.platform.accelerators.iter().filter(|class| class.count > 0).count();
        let is_step = matches!(spec.objective, Objective::Step { .. });
        let wrong = [
            (kinds != 1 || spec.platform.cpus > 0, "devices", "ask for accelerators of one class, and for no CPU"),
            (!is_step, "objective", "ask for the time of a step"),
            (matches!(spec.scope, Scope::Linearized(_)), "scope", "ask for the scope `acyclic`"),
            (spec.replication.is_some(), "replicas", "ask for one device for each stage"),
            (spec.interconnect.is_some(), "interconnect", "ask for one without servers"),
            (spec.memory != MemoryModel::Additive, "memory model", "ask for the memory of the nodes alone"),
            (!spec.together.is_empty(), "nodes kept together", "ask for none"),
        ];
        for (_, place, cure) in wrong.into_iter().filter(|&(is_wrong, ..)| is_wrong) {
            found.add(place, "it does not go with several chunks on a device", cure);
        }
    }

    /// All devices have the same degrees, and what is in flight is said by the chunks alone.
    fn validate_degrees(&self, degrees: &Degrees, found: &mut Problems) {
        let is_one = |list: &Option<Vec<usize>>| list.as_ref().is_some_and(|list| list.len() == 1);
        if !is_one(&degrees.tensor) || !is_one(&degrees.data) {
            let cause = "all devices with several chunks have the same ones";
            found.add("degrees", cause, "ask for one tensor degree and for one data degree");
        }
        if degrees.memory.in_flight != InFlight::default() {
            let cause = "of several chunks on a device these are what the chunks' schedule has";
            found.add("in flight", cause, "ask for it by the memory of the chunks");
        }
        if self.memory.is_none_or(|memory| memory.training.is_some()) {
            let cause = "options are kept for each microbatch in flight, and their degrees say how they are trained";
            found.add("chunks", cause, "state what is in flight in each chunk, and nothing else");
        }
    }
}
