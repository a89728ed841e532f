//! Pipelined inference.

use super::{Order, Schedule, Setting, Synchronise};
use crate::simulate::error::Unsuitable;

/// Forward passes alone, by rounds (Tarnawski 2020, section 5.1 and figure 3), of a contiguous split or any other. The
/// time per microbatch comes to be the largest forward load of a device.
#[derive(Debug, Clone, Copy, Default)]
pub struct Inference;

impl Schedule for Inference {
    fn name(&self) -> &'static str {
        "inference"
    }

    fn has_backward(&self) -> bool {
        false
    }

    fn synchronise(&self) -> Synchronise {
        Synchronise::Never
    }

    fn order(&self, _: &Setting) -> Result<Order, Unsuitable> {
        Ok(Order::Rounds)
    }
}
