//! Zero bubble with two stages on each device.

use super::{Order, Schedule, Setting, Synchronise, pairs};
use crate::simulate::error::Unsuitable;
use crate::simulate::pipeline::Pass::{Backward, Forward, WeightGradient};

/// ZB-V (Qi et al. 2024, "Zero bubble pipeline parallelism", section 6): of p devices, device i holds the stages i and
/// 2 p − 1 − i, so that a microbatch comes back to where it began, and its first gradients are there at once.
///
/// A device keeps the activations of 2 p microbatches of one of its stages, as much as 1F1B's first device with stages
/// twice as long. With stages of F = B = W, free transfers and m ≥ 2 p − 1 microbatches no device is idle between its
/// first and its last work, and the makespan is 6 m F + (p − 1) F, which no schedule is below. The order is made for at
/// least 2 p − 1 microbatches; of fewer, those that there are take their places in it.
#[derive(Debug, Clone, Copy, Default)]
pub struct ZbV;

impl Schedule for ZbV {
    fn name(&self) -> &'static str {
        "zb-v"
    }

    fn synchronise(&self) -> Synchronise {
        Synchronise::AtTheEnd
    }

    fn splits_backward(&self) -> bool {
        true
    }

    fn order(&self, setting: &Setting) -> Result<Order, Unsuitable> {
        let devices = setting.pipeline.depth() / 2;
        let count = setting.microbatches.max((2 * devices).saturating_sub(1));
        pairs::order(setting, true, &Unsuitable::NotInV, |pair, rank| {
            let [down, up] = [0, 1].map(|stage| [(Forward, stage), (Backward, stage), (WeightGradient, stage)]);
            let after = devices - 1 - rank;
            pair.repeat(2 * after + 1, &down[..1]);
            pair.repeat(rank, &[up[0], down[0]]);
            pair.repeat(after + 1, &up);
            pair.repeat(count - devices - after, &[down, up].concat());
            pair.repeat(after, &[down[1], down[2], up[0], up[1], up[2]]);
            pair.repeat(rank, &[down[1], up[1]]);
            pair.repeat(after + 1, &down[1..]);
            pair.repeat(rank, &up[2..]);
            pair.repeat(rank, &down[2..]);
        })
    }
}
