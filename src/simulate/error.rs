//! Why a pipeline cannot be simulated.

use super::engine::Deadlock;
use crate::graph::CycleError;

/// A pipeline cannot be simulated.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SimulateError {
    /// There is nothing to simulate.
    #[error("no microbatch is to be simulated")]
    NoMicrobatch,
    /// There are more tasks than fit in memory.
    #[error("{microbatches} microbatches of {operations} operations each are too many")]
    TooManyTasks {
        /// How many microbatches there are.
        microbatches: usize,
        /// What is done for each.
        operations: usize,
    },
    /// The schedule is not made for such a pipeline.
    #[error(transparent)]
    Unsuitable(#[from] Unsuitable),
    /// The schedule's turns leave something out, or have something twice or where it does not belong.
    #[error(
        "the schedule {} block {block} for microbatch {microbatch}",
        if *.is_missing { "leaves out" } else { "repeats, misplaces or invents" }
    )]
    WrongOrder {
        /// The block.
        block: usize,
        /// The microbatch.
        microbatch: usize,
        /// Whether it is left out.
        is_missing: bool,
    },
    /// Data goes back to an earlier stage, as only gradients do, and there are none.
    #[error(
        "stage {from} sends to stage {to} before it, but no stage has a backward pass; order the stages so that data \
         goes forward"
    )]
    SentBack {
        /// The stage that sends.
        from: usize,
        /// The stage that receives.
        to: usize,
    },
    /// Accelerators whose loads are not made of computing and of engines that move data.
    #[error(
        "only the loads additive, overlap and duplex can be simulated, the same for all accelerators; put the others aside"
    )]
    UnknownLoad,
    /// Stages of a split have several data degrees, so that no pipeline is one replica of each.
    #[error(
        "stages have the data degrees {one} and {other}; simulate splits of one (`solve --data-degrees {one}`), or take what \
         `verify --objective step` says: with several a step takes at most a microbatch of a stage longer"
    )]
    UnequalDegrees {
        /// That of the first stage.
        one: usize,
        /// That of another one.
        other: usize,
    },
    /// The blocks of the pipeline wait for each other.
    #[error("the stages wait for each other: {0}")]
    Cycle(#[from] CycleError),
    /// The schedule's orders and the pipeline's flows contradict each other.
    #[error("the schedule does not fit the pipeline: {0}")]
    Deadlock(#[from] Deadlock),
}

/// A schedule does not fit a pipeline.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Unsuitable {
    /// A pass of a stage has to be interrupted.
    #[error("{stage} on {device} has to wait in the middle of a pass; the schedule `virtual-devices` allows that")]
    Interrupted {
        /// The stage's name.
        stage: String,
        /// The device's name.
        device: String,
    },
    /// A device holds several stages.
    #[error("{device} holds {stages} stages; the schedules `interleaved`, `zb-v` and `virtual-devices` allow that")]
    SeveralStages {
        /// The device's name.
        device: String,
        /// How many stages it holds.
        stages: usize,
    },
    /// The stages do not take turns on the devices.
    #[error("the stages do not go round the devices in turns; the schedule `virtual-devices` needs no such order")]
    NotInTurns,
    /// The stages do not go down the devices and up again.
    #[error("no V: each of p devices has to hold stages i and 2p - 1 - i of one pipeline")]
    NotInV,
    /// The stages of two pipelines do not go through the devices in opposite directions.
    #[error("not both ways: each of p devices, an even number, has to hold stages i and p - 1 - i of two replicas")]
    NotBothWays,
    /// The microbatches do not fill the groups that go round the devices.
    #[error("{microbatches} microbatches are no multiple of the {devices} devices of a pipeline")]
    NotAMultiple {
        /// How many microbatches there are.
        microbatches: usize,
        /// How many devices a pipeline has.
        devices: usize,
    },
}
