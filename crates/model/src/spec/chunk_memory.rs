//! What devices with several chunks keep, moment by moment.

use serde::{Deserialize, Serialize};

use super::{Chunks, Placement, ProblemSpec, Training};
use crate::instance::{Instance, Problems};

/// What devices with several chunks keep, where that depends on their place and on the schedule.
///
/// What a forward node's memory holds beyond its parameters is kept for each microbatch in flight
/// ([`Node::lasting`](crate::instance::Node::lasting)), all else lasts. With k microbatches of chunk c in flight at a
/// moment, a device needs
///
/// > Σ what lasts + the largest, over all moments, of Σ k · (what chunk c keeps for one microbatch)
///
/// bytes. [`Chunks::in_flight`] has the moments.
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

impl Chunks {
    /// Whether the schedule that says what is in flight runs so many microbatches on so many devices.
    pub fn runs(&self, devices: usize, microbatches: usize) -> bool {
        let is_scheduled = self.memory.is_some_and(|memory| memory.in_flight == ChunksInFlight::OfPlacement);
        let in_groups = is_scheduled && self.placement == Placement::Interleaved && self.count > 1;
        !in_groups || microbatches.is_multiple_of(devices)
    }

    /// How many microbatches each chunk of `device` has in flight, of `devices` and so many microbatches, at each moment
    /// that can be the one of the largest memory: whatever chunks keep, it is one of these. In the first one each chunk
    /// has a microbatch at least. Where memory does not depend on the place, what a chunk keeps counts once. O(chunks²).
    ///
    /// Of interleaved 1F1B, with device i of p, v chunks and w = 2 (p − i − 1) + (v − 1) p, a moment is that after w + 1 + j
    /// forward and j backward passes. Of n passes f(n, c) = ⌊n / pv⌋ p + min(p, max(0, n mod pv − c p)) are of chunk c, in
    /// forward passes, and of chunk v − 1 − c in backward ones. Between two moments at which either goes on to another
    /// chunk what is kept grows or falls evenly, so that it is the most at one of these; from j = pv on all comes again.
    ///
    /// Of ZB-V device i has 2p − 1 − i and i + 1 microbatches in flight when its second chunk begins, and 2p − i and i once
    /// forward passes of both are taken by turns; no more than there are.
    pub fn in_flight(&self, device: usize, devices: usize, microbatches: usize) -> Vec<Vec<usize>> {
        let (p, v, m) = (devices, self.count, microbatches);
        match (self.memory.map(|memory| memory.in_flight), self.placement) {
            (None, _) => vec![vec![1; v]],
            (Some(ChunksInFlight::Constant(count)), _) => vec![vec![count; v]],
            (Some(ChunksInFlight::GPipe), _) => vec![vec![m; v]],
            (Some(ChunksInFlight::OfPlacement), Placement::VShape) => {
                let first = vec![m.min(2 * p - 1 - device), m.min(device + 1)];
                let turns = (m >= 2 * p - device).then(|| vec![2 * p - device, device]);
                [first].into_iter().chain(turns).collect()
            }
            (Some(ChunksInFlight::OfPlacement), Placement::Interleaved) if v == 1 => vec![vec![m.min(p - device)]],
            (Some(ChunksInFlight::OfPlacement), Placement::Interleaved) if p == 1 => vec![vec![1; v]],
            (Some(ChunksInFlight::OfPlacement), Placement::Interleaved) => interleaved(device, p, v, m),
        }
    }
}

fn interleaved(device: usize, p: usize, v: usize, m: usize) -> Vec<Vec<usize>> {
    let first = 2 * (p - device - 1) + (v - 1) * p + 1;
    let Some(last) = (m * v).checked_sub(first) else { return vec![vec![m; v]] };
    let of_chunk = |n: usize, c: usize| n / (p * v) * p + (n % (p * v)).saturating_sub(c * p).min(p);
    let after = |j: usize| (0..v).map(|c| of_chunk(first + j, c) - of_chunk(j, v - 1 - c)).collect();
    let to_next = first.next_multiple_of(p) - first;
    let moments = (0..v).flat_map(|group| [group * p, group * p + to_next]).filter(|&j| j <= last);
    moments.map(after).collect()
}

impl ChunkMemory {
    /// Adds what keeps `instance` from being asked this to `found`.
    pub(super) fn validate(&self, instance: &Instance, spec: &ProblemSpec, found: &mut Problems) {
        if self.in_flight == ChunksInFlight::Constant(0) {
            found.add("in flight", "no microbatch is in flight", "ask for at least one");
        }
        if self.training.is_some() && !instance.knows_parameters() {
            let cause = "no node states parameters, from which weights, gradients and optimizer state follow";
            found.add("training", cause, "leave optimizer and precision out, or state `parameter_bytes`");
        }
        let is_other_load = spec.platform.accelerators.iter().any(|class| class.load.is_some());
        if spec.cost != super::CostKind::Additive || is_other_load {
            let cause = "beside transfers that overlap with compute the next microbatch comes before the last one goes";
            found.add("cost", cause, "ask for the additive cost, or for memory that does not depend on the place");
        }
    }
}
