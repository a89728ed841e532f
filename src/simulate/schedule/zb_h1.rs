//! Zero bubble with the memory of 1F1B.

use super::{Order, Schedule, Setting, Synchronise, lines};
use crate::simulate::error::Unsuitable;

/// ZB-H1 (Qi et al. 2024, "Zero bubble pipeline parallelism", section 2.1 and figure 3): 1F1B whose weight gradients
/// fill what would be bubbles.
///
/// Stage i of p begins with p − i − 1 forward passes as in 1F1B, but its weight gradients are i microbatches late, so
/// that each stage keeps the activations of p microbatches, and none more than the first stage under 1F1B. With equal
/// stages and free transfers the makespan of m ≥ p microbatches is m (F + B + W) + (p − 1) max(F, B, F + B − W): for W
/// ≤ min(F, B) the paper's bubble, (p − 1)(F + B − W). With more than p microbatches no schedule in this memory is
/// shorter.
#[derive(Debug, Clone, Copy, Default)]
pub struct ZbH1;

impl Schedule for ZbH1 {
    fn name(&self) -> &'static str {
        "zb-h1"
    }

    fn synchronise(&self) -> Synchronise {
        Synchronise::AtTheEnd
    }

    fn splits_backward(&self) -> bool {
        true
    }

    fn order(&self, setting: &Setting) -> Result<Order, Unsuitable> {
        let depth = setting.pipeline.depth();
        lines::one_forward_one_backward(setting, |rank| depth - rank - 1, |rank| rank)
    }
}
