//! Two pipelines through the same devices, one from each end.

use super::{Order, Schedule, Setting, Synchronise, pairs};
use crate::simulate::error::Unsuitable;
use crate::simulate::pipeline::Pass::{Backward, Forward, WeightGradient};

/// DualPipe (DeepSeek-AI 2024, "DeepSeek-V3 technical report", section 3.2.1 and figure 5): of p devices, an even
/// number, device i holds stage i of one replica and stage p − 1 − i of another one, whose microbatches go the other
/// way.
///
/// A device keeps two stages' weights and the activations of p + 1 microbatches, and works on one pass at a time: the
/// report's overlap of a forward with a backward pass, which hides transfers, is `--overlap`. Gradients of the inputs
/// are handed on before those of the weights are computed. With equal stages of W ≤ B ≤ F ≤ B + W, free transfers and m
/// ≥ p microbatches each way the makespan is 2 m (F + B + W) + (p / 2 − 1)(F + B − W). The report, whose passes do not
/// hand on before their end, has a bubble of (p / 2 − 1)(F + 2 B − W) in these terms without overlap. The order is made
/// for at least p microbatches each way; of fewer, those that there are take their places in it.
#[derive(Debug, Clone, Copy, Default)]
pub struct DualPipe;

impl Schedule for DualPipe {
    fn name(&self) -> &'static str {
        "dualpipe"
    }

    fn synchronise(&self) -> Synchronise {
        Synchronise::AtTheEnd
    }

    fn splits_backward(&self) -> bool {
        true
    }

    fn order(&self, setting: &Setting) -> Result<Order, Unsuitable> {
        let devices = setting.pipeline.depth();
        let count = setting.microbatches.max(devices);
        pairs::order(setting, false, &Unsuitable::NotBothWays, |pair, rank| {
            let [near, far] = [0, 1].map(|stage| [(Forward, stage), (Backward, stage), (WeightGradient, stage)]);
            let after = devices / 2 - 1 - rank;
            pair.repeat(2 * after, &near[..1]);
            pair.repeat(rank + 1, &[near[0], far[0]]);
            pair.repeat(after, &[far[1], far[2], far[0]]);
            pair.repeat(count - devices + rank + 1, &[near[0], far[1], far[2], far[0], near[1], near[2]]);
            pair.repeat(after, &[far[1], far[2], far[0], near[1], near[2]]);
            // The backward passes that are left come from both sides by turns, half of them with weight gradients at once.
            let side = |i: usize| [far, near][i % 2];
            (0..=rank).for_each(|i| pair.repeat(1, &side(i)[1..]));
            let late = rank + 1..2 * (rank + 1);
            late.clone().for_each(|i| pair.repeat(1, &side(i)[1..2]));
            let mut late = late.map(side).chain(std::iter::repeat_n(near, after)).map(|of_side| of_side[2]);
            late.by_ref().take(after).for_each(|weights| pair.repeat(1, &[weights, near[1]]));
            late.for_each(|weights| pair.repeat(1, &[weights]));
        })
    }
}
