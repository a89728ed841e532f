//! What devices with several chunks keep: the passes of a device one after another, and what is in flight between them.

use std::iter::repeat_n;

use super::split::Split;
use dagsplit_model::problem::{Chunks, ChunksInFlight, DeviceKind, MemoryParts, Placement};

/// A device when it needs the most.
pub(super) struct Peak {
    /// Bytes.
    pub memory: MemoryParts,
    /// Microbatches in flight of each chunk.
    pub in_flight: Vec<usize>,
}

/// A pass of a chunk over the next microbatch: whether it is the forward one, from which on the chunk keeps its activations; else
/// the one after which it does not.
type Pass = (usize, bool);

/// The peak of each device of the split, whose devices state chunks, in as many microbatches; none for devices without nodes.
pub(super) fn peaks(split: &Split, chunks: Chunks, asked: ChunksInFlight, microbatches: usize) -> Vec<Option<Peak>> {
    let mut peaks: Vec<Option<Peak>> = split.devices.iter().map(|_| None).collect();
    let used: Vec<usize> = split.used().map(|(device, _)| device).collect();
    for (place, &device) in used.iter().enumerate() {
        let assignment = &split.devices[device];
        let of_node = |id: &u64| {
            let (cost, v) = (split.costs.kind(assignment.kind), split.index[id]);
            (cost.nodes[v].map_or(0.0, |node| node.memory), cost.kept_bytes(v))
        };
        let kept: Vec<f64> = assignment.chunks.iter().map(|chunk| chunk.iter().map(|id| of_node(id).1).sum()).collect();
        let other = assignment.nodes.iter().map(|id| of_node(id).0 - of_node(id).1).sum();
        let (in_flight, activations) = most_kept((place, used.len()), chunks, asked, microbatches, &kept);
        let memory = MemoryParts { activations, other, ..MemoryParts::default() };
        let is_counted = assignment.kind != DeviceKind::Cpu;
        peaks[device] = is_counted.then_some(Peak { memory, in_flight });
    }
    peaks
}

/// What is in flight on the device at `place` of so many when its chunks, which keep so much of each microbatch, keep the most, and
/// how many bytes that is.
pub(super) fn most_kept(
    (place, devices): (usize, usize),
    chunks: Chunks,
    asked: ChunksInFlight,
    microbatches: usize,
    kept: &[f64],
) -> (Vec<usize>, f64) {
    let passes = match (asked, chunks.placement) {
        (ChunksInFlight::Constant(count), _) => all_at_once(chunks.count, count),
        (ChunksInFlight::GPipe, _) => all_at_once(chunks.count, microbatches),
        (ChunksInFlight::OfPlacement, Placement::Interleaved) => {
            interleaved(place, devices, chunks.count, microbatches)
        }
        (ChunksInFlight::OfPlacement, Placement::VShape) => zb_v(place, devices, microbatches),
    };
    let in_flight = most_in_flight(&passes, kept);
    let most = bytes(&in_flight, kept);
    (in_flight, most)
}

fn bytes(in_flight: &[usize], kept: &[f64]) -> f64 {
    in_flight.iter().zip(kept).map(|(&count, kept)| count as f64 * kept).sum()
}

/// What is in flight when that takes the most bytes, and of such moments the most microbatches.
fn most_in_flight(passes: &[(usize, Pass)], kept: &[f64]) -> Vec<usize> {
    let key = |counts: &[usize]| (bytes(counts, kept), counts.iter().sum::<usize>());
    let (mut now, mut most) = (vec![0; kept.len()], vec![0; kept.len()]);
    for &(times, (chunk, is_forward)) in passes {
        if is_forward {
            now[chunk] += times;
            if key(&now) > key(&most) {
                most.clone_from(&now);
            }
        } else {
            now[chunk] -= times;
        }
    }
    most
}

/// So many microbatches in flight in every chunk.
fn all_at_once(chunks: usize, count: usize) -> Vec<(usize, Pass)> {
    (0..chunks).map(|chunk| (count, (chunk, true))).collect()
}

/// Interleaved 1F1B (Narayanan et al. 2021, section 2.2.2): forward passes go through the chunks with p microbatches at a time,
/// and backward passes from the last chunk to the first one. With one chunk it is 1F1B, and one device takes each
/// microbatch there and back. Once the pipeline is full all comes again.
fn interleaved(device: usize, p: usize, chunks: usize, microbatches: usize) -> Vec<(usize, Pass)> {
    let groups = (microbatches / p).min(4);
    let (microbatches, group) = if chunks == 1 { (microbatches.min(4 * p), 1) } else { (groups * p, p) };
    let round: Vec<usize> = (0..chunks).flat_map(|chunk| repeat_n(chunk, group)).collect();
    let forward: Vec<usize> = repeat_n(round, microbatches / group).flatten().collect();
    let ahead = match (chunks, p) {
        (1, _) => p - device - 1,
        (_, 1) => {
            let there = (0..chunks).map(|chunk| (1, (chunk, true)));
            return there.chain((0..chunks).map(|chunk| (1, (chunks - 1 - chunk, false)))).collect();
        }
        _ => 2 * (p - device - 1) + (chunks - 1) * p,
    };
    let mut passes = Vec::new();
    for turn in 0..forward.len() + ahead {
        passes.extend(forward.get(turn).map(|&chunk| (1, (chunk, true))));
        let back = turn.checked_sub(ahead).and_then(|turn| forward.get(turn));
        passes.extend(back.map(|&chunk| (1, (chunks - 1 - chunk, false))));
    }
    passes
}

/// ZB-V (Qi et al. 2024, section 6), where a chunk keeps its activations until it has the gradients of the weights. Of fewer
/// than 2p − 1 microbatches those that there are take their places; more than one turn of both chunks with all of their passes
/// is the same turn again.
fn zb_v(device: usize, p: usize, microbatches: usize) -> Vec<(usize, Pass)> {
    const DOWN: [Pass; 2] = [(0, true), (0, false)];
    const UP: [Pass; 2] = [(1, true), (1, false)];
    let microbatches = microbatches.min(2 * p + 1);
    let after = p - 1 - device;
    let turns = microbatches.max(2 * p - 1) - p - after;
    let order: [(usize, &[Pass]); 8] = [
        (2 * after + 1, &DOWN[..1]),
        (device, &[UP[0], DOWN[0]]),
        (after + 1, &UP),
        (turns, &[DOWN[0], DOWN[1], UP[0], UP[1]]),
        (after, &[DOWN[1], UP[0], UP[1]]),
        (after + 1, &DOWN[1..]),
        (device, &UP[1..]),
        (device, &DOWN[1..]),
    ];
    let mut taken = [[0; 2]; 2];
    let mut passes = Vec::new();
    for (chunk, is_forward) in order.into_iter().flat_map(|(times, row)| repeat_n(row, times).flatten().copied()) {
        let taken = &mut taken[chunk][usize::from(is_forward)];
        *taken += 1;
        if *taken <= microbatches {
            passes.push((1, (chunk, is_forward)));
        }
    }
    passes
}
