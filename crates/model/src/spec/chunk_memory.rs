//! What devices with several chunks keep.

use serde::{Deserialize, Serialize};

use super::stage_memory::validate_count;
use super::{CostKind, ProblemSpec, Training};
use crate::instance::{Instance, Problems};

/// What devices with several chunks keep, where that depends on their place and on the schedule.
///
/// What a forward node's memory holds beyond its parameters is kept for each microbatch in flight
/// ([`Node::lasting`](crate::instance::Node::lasting)), all else lasts. With k microbatches of chunk c in flight at a
/// moment, a device needs
///
/// > Σ what lasts + the largest, over all moments, of Σ k · (what chunk c keeps for one microbatch)
///
/// bytes. [`Chunks::in_flight`](super::Chunks::in_flight) has the moments.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct ChunkMemory {
    /// Microbatches in flight.
    pub in_flight: ChunksInFlight,
    /// How the model is trained: weights, gradients and optimizer state then follow from the parameters' bytes, in the
    /// place of what lasts by the file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub training: Option<Training>,
}

/// How many microbatches are in flight in the chunks of a device.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ChunksInFlight {
    /// As the schedule of the placement has it: interleaved 1F1B (Narayanan et al. 2021), which takes the microbatches in
    /// groups of p, or ZB-V (Qi et al. 2024).
    #[default]
    OfPlacement,
    /// All of them in every chunk (GPipe, Huang et al. 2019).
    #[serde(rename = "gpipe")]
    GPipe,
    /// So many in every chunk, whatever the batch.
    Constant(usize),
}

impl ChunkMemory {
    /// Adds what keeps `instance` from being asked this to `found`.
    pub(super) fn validate(&self, instance: &Instance, spec: &ProblemSpec, found: &mut Problems) {
        if let ChunksInFlight::Constant(count) = self.in_flight {
            validate_count(count, found);
        }
        if self.training.is_some() && !instance.knows_parameters() {
            let cause = "no node states parameters, from which weights, gradients and optimizer state follow";
            found.add("training", cause, "leave optimizer and precision out, or state `parameter_bytes`");
        }
        let is_other_load = spec.platform.accelerators.iter().any(|class| class.load.is_some());
        if spec.cost != CostKind::Additive || is_other_load {
            let cause = "beside transfers that overlap with compute the next microbatch comes before the last one goes";
            found.add("cost", cause, "ask for the additive cost, or for memory that does not depend on the place");
        }
    }
}
