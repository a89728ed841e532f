//! Zero bubble with twice the memory of 1F1B.

use super::{Order, Schedule, Setting, Synchronise, lines};
use crate::simulate::error::Unsuitable;

/// ZB-H2 (Qi et al. 2024, "Zero bubble pipeline parallelism", section 2.2 and figure 3): more forward passes fill the
/// wait for the first gradients, and more weight gradients the wait for the last ones.
///
/// Stage i of p begins with 2 (p − i − 1) forward passes, and its weight gradients are 2 i microbatches late, so that
/// each stage keeps the activations of 2 p − 1 microbatches. With equal stages, free transfers and m ≥ 2 p − 1
/// microbatches a device is idle for (p − 1) max(0, F + B − 2 W, B − F) between its first and its last work: for W ≤
/// min(F, B) the paper's bubble. The makespan, m (F + B + W) + (p − 1) max(F, F + B − 2 W, B − F), also counts the (p −
/// 1) F until the last device has work, which the paper leaves to the step before.
#[derive(Debug, Clone, Copy, Default)]
pub struct ZbH2;

impl Schedule for ZbH2 {
    fn name(&self) -> &'static str {
        "zb-h2"
    }

    fn synchronise(&self) -> Synchronise {
        Synchronise::AtTheEnd
    }

    fn splits_backward(&self) -> bool {
        true
    }

    fn order(&self, setting: &Setting) -> Result<Order, Unsuitable> {
        let depth = setting.pipeline.depth();
        lines::one_forward_one_backward(setting, |rank| 2 * (depth - rank - 1), |rank| 2 * rank)
    }
}
