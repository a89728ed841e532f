//! Rounds: in each of them every operation runs once, for the microbatch whose turn it is (Tarnawski 2020, section
//! 5.2).

use super::template::{Operation, Template, Work};
use crate::graph::{Graph, topological};

/// How many rounds each operation of a template is behind the first, and its place within a round.
///
/// In round k an operation of level l is done for microbatch k − l. Operations that wait for others on the same track
/// are in the same round or later; those that wait for other tracks are in a later one. A round can be as short as
/// the busiest track's work per microbatch, so that so long is the time per microbatch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rounds {
    levels: Vec<u32>,
    places: Vec<u32>,
}

impl Rounds {
    /// The least levels, as far as they matter for so many microbatches; `graph` is what waits for what. O(n + m log
    /// m).
    pub(super) fn new(template: &Template, graph: &Graph, microbatches: usize) -> Self {
        let operations = &template.operations;
        let exclusive = template.tracks.iter().zip(template.busy()).filter(|(track, _)| track.exclusive);
        let round = exclusive.map(|(_, busy)| busy).fold(0.0, f64::max);
        let later = |a: &Operation, b: &Operation| match template.tracks[a.track].exclusive {
            true => u32::from(a.track != b.track),
            // What shares its track with none may take longer than a round.
            false if round > 0.0 => (a.duration / round).ceil().clamp(1.0, microbatches.max(1) as f64) as u32,
            false => 1,
        };
        let mut rounds = Self { levels: vec![0; operations.len()], places: vec![0; operations.len()] };
        for (place, a) in topological::smallest_first(graph).into_iter().enumerate() {
            rounds.places[a] = place as u32;
            for &b in graph.successors(a) {
                let level = rounds.levels[a] + later(&operations[a], &operations[b as usize]);
                rounds.levels[b as usize] = rounds.levels[b as usize].max(level);
            }
        }
        // Activations are computed again in the round that needs them, and not as early as they could be.
        for &(a, b) in template.dependencies.iter().filter(|&&(a, _)| operations[a].work == Work::Recompute) {
            rounds.levels[a] = rounds.levels[b];
        }
        rounds
    }

    /// The round of `operation` for `microbatch`, and its place in it: the order of a track's work.
    pub fn turn(&self, operation: usize, microbatch: usize) -> (usize, u32) {
        (microbatch + self.levels[operation] as usize, self.places[operation])
    }
}
