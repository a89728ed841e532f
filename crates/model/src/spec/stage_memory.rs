//! What the devices of stages with degrees keep: by the schedule of the pipeline, and by how they are trained.

use serde::{Deserialize, Serialize};

use crate::instance::Problems;

/// How many microbatches are in flight in a stage, whose activations it keeps.
///
/// Of N microbatches in a batch each of d replicas takes N / d, and never keeps more. With D the sum of the data
/// degrees from a stage to the last one, and A that of all stages, the counts of [`Self::count`] are those of the
/// schedules of equal degrees with i, p and N / d for the stage, the stages and the microbatches: ⌈D / d⌉ is p − i, and
/// ⌈A / d⌉ is p.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum InFlight {
    /// All of them (Huang et al. 2019).
    #[serde(rename = "gpipe")]
    GPipe,
    /// ⌈D / d⌉: a forward pass for each that comes back (Narayanan et al. 2021; Piper, Tarnawski et al. 2021).
    #[default]
    #[serde(rename = "1f1b")]
    OneForwardOneBackward,
    /// As many, and the parameters once for each (PipeDream, Narayanan et al. 2019).
    #[serde(rename = "async-1f1b")]
    Asynchronous,
    /// ⌈A / d⌉: weight gradients wait (Qi et al. 2024, section 2.1).
    ZbH1,
    /// ⌈2 A / d⌉ − 1 (Qi et al. 2024, section 2.2).
    ZbH2,
    /// So many, whatever the batch: requests that are served at once.
    Constant(usize),
}

impl InFlight {
    /// Microbatches in flight of a stage of data degree `d`, where the data degrees from it to the last stage add up to
    /// `behind` and those of all stages to `all`. Less where `d` is larger, and where the others are smaller.
    #[inline]
    pub fn count(self, d: usize, behind: usize, all: usize, microbatches: usize) -> usize {
        let kept = match self {
            Self::Constant(count) => return count,
            Self::GPipe => microbatches,
            Self::OneForwardOneBackward | Self::Asynchronous => behind.div_ceil(d),
            Self::ZbH1 => all.div_ceil(d),
            Self::ZbH2 => (2 * all).div_ceil(d) - 1,
        };
        // A product tells that there are no more sooner than a quotient does.
        if kept.saturating_mul(d) <= microbatches { kept } else { kept.min(microbatches.div_ceil(d)) }
    }

    /// Whether the stages before a stage matter, too.
    pub fn depends_on_all(self) -> bool {
        matches!(self, Self::ZbH1 | Self::ZbH2)
    }
}

/// What updates the weights.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Optimizer {
    /// Nothing: inference, without gradients.
    None,
    /// Gradients alone.
    Sgd,
    /// Gradients and one moment.
    Momentum,
    /// Gradients and two moments.
    Adam,
}

/// What one number of the weights takes, as parameters' bytes in the file count.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Precision {
    /// Four bytes.
    Fp32,
    /// Two bytes, and for the optimizer a copy of four.
    Bf16,
    /// As bf16.
    Fp16,
}

/// How a model is trained, which says what its parameters take.
///
/// With w bytes of parameters, gradients take w. Moments are of four bytes for each number, and so is the copy of the
/// weights that an optimizer keeps of two bytes: Adam takes 2 w beside w + w in fp32, and 6 w in mixed precision, 16
/// bytes for each number either way (Rajbhandari et al. 2020, section 3.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Training {
    /// What updates the weights.
    pub optimizer: Optimizer,
    /// What parameters are stored in.
    pub precision: Precision,
}

impl Training {
    /// Bytes of gradients for each byte of parameters.
    pub fn gradients(self) -> f64 {
        if self.optimizer == Optimizer::None { 0.0 } else { 1.0 }
    }

    /// Bytes that the optimizer keeps for each byte of parameters.
    pub fn optimizer_state(self) -> f64 {
        let moments = match self.optimizer {
            Optimizer::None => return 0.0,
            Optimizer::Sgd => 0.0,
            Optimizer::Momentum => 1.0,
            Optimizer::Adam => 2.0,
        };
        if self.precision == Precision::Fp32 { moments } else { 2.0 * (moments + 1.0) }
    }
}

/// The most microbatches that can be asked to be in flight: more than any machine room has.
pub const MOST_IN_FLIGHT: usize = 1_000_000;

/// Adds what is wrong with so many microbatches in flight to `found`.
pub(super) fn validate_count(count: usize, found: &mut Problems) {
    if count == 0 {
        found.add("in flight", "no microbatch is in flight", "ask for at least one");
    } else if count > MOST_IN_FLIGHT {
        let cause = format!("{count} microbatches are more than anyone has in flight");
        found.add("in flight", cause, format!("ask for {MOST_IN_FLIGHT} at most"));
    }
}

/// What the devices of a stage keep, where that depends on its place, its degrees and what is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct StageMemory {
    /// Microbatches in flight.
    #[serde(default)]
    pub in_flight: InFlight,
    /// How the model is trained: weights, gradients and optimizer state then follow from the parameters' bytes, in the
    /// place of what options state of them and of other lasting memory. `None` leaves what they state.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub training: Option<Training>,
    /// What replicas share out among them in place of each keeping all of it (ZeRO): from 1 on the optimizer state,
    /// from 2 on the gradients, from 3 on the weights.
    #[serde(default)]
    pub zero: usize,
    /// Tokens of which stages keep keys and values.
    #[serde(default)]
    pub cache_tokens: usize,
}

/// Bytes on each device of a stage, by what they are for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub struct MemoryParts {
    /// What is kept of the microbatches in flight.
    pub activations: f64,
    /// Weights, in all their versions.
    pub weights: f64,
    /// Gradients.
    pub gradients: f64,
    /// The state of the optimizer.
    pub optimizer: f64,
    /// What else lasts, and all that files do not state apart; caches among it.
    pub other: f64,
    /// The most that a node needs besides while it runs.
    pub working: f64,
}

impl MemoryParts {
    /// All of them.
    pub fn total(&self) -> f64 {
        self.activations + self.weights + self.gradients + self.optimizer + self.other + self.working
    }

    /// Each of them, by the name of its field.
    pub fn by_name(&self) -> [(&'static str, f64); 6] {
        [
            ("activations", self.activations),
            ("weights", self.weights),
            ("gradients", self.gradients),
            ("optimizer", self.optimizer),
            ("other", self.other),
            ("working", self.working),
        ]
    }
}
