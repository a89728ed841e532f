//! 1F1B without a flush.

use super::{OneForwardOneBackward, Order, Schedule, Setting, Synchronise};
use crate::simulate::error::Unsuitable;

/// PipeDream (Narayanan et al. 2019, section 3.2): 1F1B without an end, each microbatch a step of its own.
///
/// A stage updates its weights after each backward pass and keeps a version of them for each microbatch in flight. Its
/// copies bring their gradients together after each microbatch. Where devices pay for transfers themselves the time
/// per microbatch of a pipeline comes to be the largest load of a device: a cycle of passes that wait for each other
/// holds as many forward as backward passes of each stage, and on average half a microbatch goes by with each pass.
#[derive(Debug, Clone, Copy, Default)]
pub struct Asynchronous;

impl Schedule for Asynchronous {
    fn name(&self) -> &'static str {
        "async-1f1b"
    }

    fn synchronise(&self) -> Synchronise {
        Synchronise::EachMicrobatch
    }

    fn stashes_weights(&self) -> bool {
        true
    }

    fn order(&self, setting: &Setting) -> Result<Order, Unsuitable> {
        OneForwardOneBackward.order(setting)
    }
}
