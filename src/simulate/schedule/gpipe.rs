//! GPipe's schedule.

use super::{Order, Schedule, Setting, Synchronise, Turn};
use crate::simulate::error::Unsuitable;
use crate::simulate::pipeline::Pass;

/// All forward passes, then all backward passes, last microbatch first (Huang et al. 2019, section 2.3 and figure 2).
///
/// Each device keeps the activations of all microbatches. On p balanced stages and m microbatches the bubble is
/// (p − 1) / (m + p − 1) of the time. Splits that are not contiguous run each of the two halves by rounds.
#[derive(Debug, Clone, Copy, Default)]
pub struct GPipe;

impl Schedule for GPipe {
    fn name(&self) -> &'static str {
        "gpipe"
    }

    fn synchronise(&self) -> Synchronise {
        Synchronise::AtTheEnd
    }

    fn order(&self, setting: &Setting) -> Result<Order, Unsuitable> {
        let pipeline = setting.pipeline;
        let mut turns = vec![Vec::new(); pipeline.devices.len()];
        for (i, block) in pipeline.blocks.iter().enumerate() {
            for place in 0..setting.microbatches {
                let microbatch = match block.pass {
                    Pass::Forward => place,
                    Pass::Backward | Pass::WeightGradient => setting.microbatches - 1 - place,
                };
                let turn = Turn { block: i, microbatch };
                turns[pipeline.device_of(i)].push((block.pass, setting.round(i, place), turn));
            }
        }
        turns.iter_mut().for_each(|turns| turns.sort_unstable_by_key(|&(pass, round, _)| (pass, round)));
        let turns = turns.into_iter().map(|turns| turns.into_iter().map(|(_, _, turn)| turn).collect());
        Ok(Order::Turns(turns.collect()))
    }
}
