//! Schedules: in which order each device works on its blocks. One file per schedule.

mod asynchronous;
mod dual_pipe;
mod gpipe;
mod inference;
mod interleaved;
mod lines;
mod one_forward_one_backward;
mod pairs;
mod virtual_devices;
mod zb_h1;
mod zb_h2;
mod zb_v;

pub use asynchronous::Asynchronous;
pub use dual_pipe::DualPipe;
pub use gpipe::GPipe;
pub use inference::Inference;
pub use interleaved::Interleaved;
pub use one_forward_one_backward::OneForwardOneBackward;
pub use virtual_devices::VirtualDevices;
pub use zb_h1::ZbH1;
pub use zb_h2::ZbH2;
pub use zb_v::ZbV;

use super::error::Unsuitable;
use super::pipeline::Pipeline;
use super::rounds::Rounds;

/// One block for one microbatch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Turn {
    /// The block.
    pub block: usize,
    /// The microbatch, from 0.
    pub microbatch: usize,
}

/// In which order the work of a resource is done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Order {
    /// By rounds, on devices and on whatever else moves data (Tarnawski 2020, section 5.2).
    Rounds,
    /// By the turns of each device, which hold each of its blocks once for each microbatch. What moves data beside the
    /// devices serves by readiness.
    Turns(Vec<Vec<Turn>>),
}

/// When the copies of a stage bring their gradients together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Synchronise {
    /// They have none.
    Never,
    /// After each microbatch.
    EachMicrobatch,
    /// After all microbatches, which are one step of the training.
    AtTheEnd,
}

/// What a schedule orders.
#[derive(Debug)]
pub struct Setting<'a> {
    /// The pipeline.
    pub pipeline: &'a Pipeline,
    /// How many microbatches there are.
    pub microbatches: usize,
    pub(super) rounds: &'a Rounds,
    /// The operation that computes each block.
    pub(super) computes: &'a [Option<usize>],
}

impl Setting<'_> {
    /// The round in which `block` is computed for `microbatch`, and its place in the round: what comes before what
    /// where every operation runs once in each round.
    pub fn round(&self, block: usize, microbatch: usize) -> (usize, u32) {
        self.computes[block].map_or((0, 0), |operation| self.rounds.turn(operation, microbatch))
    }
}

/// Orders the work on microbatches.
pub trait Schedule: Sync {
    /// Its name on the command line and in records.
    fn name(&self) -> &'static str;

    /// Whether it runs the backward pass, where there is one.
    fn has_backward(&self) -> bool {
        true
    }

    /// Whether the gradients of the weights are work of their own, apart from the backward pass.
    fn splits_backward(&self) -> bool {
        false
    }

    /// When the copies of a stage bring their gradients together.
    fn synchronise(&self) -> Synchronise;

    /// Whether a device keeps the weights that each microbatch in flight began with.
    fn stashes_weights(&self) -> bool {
        false
    }

    /// The order of the work.
    ///
    /// # Errors
    /// [`Unsuitable`] where it cannot run such a pipeline.
    fn order(&self, setting: &Setting) -> Result<Order, Unsuitable>;
}

/// Every schedule.
pub fn all() -> [&'static dyn Schedule; 10] {
    [
        &GPipe,
        &OneForwardOneBackward,
        &Asynchronous,
        &Interleaved,
        &ZbH1,
        &ZbH2,
        &ZbV,
        &DualPipe,
        &Inference,
        &VirtualDevices,
    ]
}
