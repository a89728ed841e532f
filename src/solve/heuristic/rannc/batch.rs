//! The time of a batch of a synchronous pipeline.

use crate::solve::dp::loads::{SetLoads, Value, objective, worse};
use crate::solve::dp::stage::StageKind;

/// What the time of a batch is called among the figures of a run.
pub const BATCH_TIME: &str = "batch_time";

/// The stages of a synchronous pipeline: it fills and drains with each batch, after which weights are synchronised.
#[derive(Debug, Clone, Default)]
pub struct Synchronous {
    /// The replicas of each stage, and its value for one sample on one of them.
    stages: Vec<(usize, Value)>,
    /// The longest time in which a stage synchronises its weights.
    synchronisation: f64,
}

impl Synchronous {
    /// Adds the stage that holds `set`; `None` when it is unsupported.
    pub fn add(&mut self, loads: &mut SetLoads, stage: StageKind, set: &[u64]) -> Option<()> {
        let (value, synchronisation) = loads.of_one_sample(stage, set)?;
        self.stages.push((stage.replicas, value));
        self.synchronisation = self.synchronisation.max(synchronisation);
        Some(())
    }

    /// The time of a batch of `samples` in so many microbatches, both at least 1: (microbatches + stages − 1) times that
    /// of a microbatch, which its slowest stage takes, and one synchronisation. The replicas of a stage share the samples
    /// of a microbatch whole. O(stages).
    pub fn batch_time(&self, samples: usize, microbatches: usize) -> f64 {
        let samples = samples.div_ceil(microbatches);
        let share = |&(replicas, value): &(usize, Value)| value.map(|time| time * samples.div_ceil(replicas) as f64);
        let slowest = self.stages.iter().map(share).fold([0.0; 2], worse);
        objective(slowest) * (microbatches + self.stages.len() - 1) as f64 + self.synchronisation
    }
}
