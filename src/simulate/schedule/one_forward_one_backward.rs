//! 1F1B with a flush after each step.

use super::{Order, Schedule, Setting, Synchronise, lines};
use crate::simulate::error::Unsuitable;

/// One forward, one backward: PipeDream-flush (Narayanan et al. 2021, "Memory-efficient pipeline-parallel DNN
/// training", section 3.2) and DAPPLE.
///
/// Stage i of p begins with p − i − 1 forward passes, so that it keeps the activations of p − i microbatches at most.
/// The bubble is GPipe's.
#[derive(Debug, Clone, Copy, Default)]
pub struct OneForwardOneBackward;

impl Schedule for OneForwardOneBackward {
    fn name(&self) -> &'static str {
        "1f1b"
    }

    fn synchronise(&self) -> Synchronise {
        Synchronise::AtTheEnd
    }

    fn order(&self, setting: &Setting) -> Result<Order, Unsuitable> {
        let depth = setting.pipeline.depth();
        lines::one_forward_one_backward(setting, |rank| depth - rank - 1, |_| 0)
    }
}
