//! The moments at which a device with several chunks can need the most memory.

use super::{Chunks, ChunksInFlight, Placement};

impl Chunks {
    /// Whether the schedule that says what is in flight runs so many microbatches on so many devices.
    pub fn runs(&self, devices: usize, microbatches: usize) -> bool {
        let is_scheduled = self.memory.is_some_and(|memory| memory.in_flight == ChunksInFlight::OfPlacement);
        let in_groups = is_scheduled && self.placement == Placement::Interleaved && self.count > 1;
        !in_groups || microbatches.is_multiple_of(devices)
    }

    /// The most of so many devices on which that schedule runs so many microbatches; the others have nothing to do. O(devices).
    pub fn most_devices(&self, devices: usize, microbatches: usize) -> usize {
        (1..=devices).rev().find(|&count| self.runs(count, microbatches)).unwrap_or(0)
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
    /// With no more than w passes in all, every chunk has all microbatches in flight.
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
