//! Pipelines whose stages stand in a line, each with an uninterrupted forward and backward pass.

use super::{Setting, Turn};
use crate::simulate::error::Unsuitable;
use crate::simulate::pipeline::Pass;

/// A stage's block of each pass, where it has one.
#[derive(Debug, Clone, Copy)]
pub(super) struct Passes {
    forward: Option<usize>,
    backward: Option<usize>,
    /// The place of the stage among all of its pipeline, from 0.
    pub rank: usize,
}

impl Passes {
    /// The turn of the stage's `pass` for `microbatch`.
    pub fn turn(&self, pass: Pass, microbatch: usize) -> Option<Turn> {
        let block = match pass {
            Pass::Forward => self.forward,
            Pass::Backward => self.backward,
        };
        block.map(|block| Turn { block, microbatch })
    }
}

/// The stages of each device, by rank.
pub(super) fn of_devices(setting: &Setting) -> Result<Vec<Vec<Passes>>, Unsuitable> {
    let pipeline = setting.pipeline;
    let forward = pipeline.blocks_by_stage(Pass::Forward);
    let backward = pipeline.blocks_by_stage(Pass::Backward);
    let passes = |stage: usize| {
        if forward[stage].len().max(backward[stage].len()) > 1 {
            let device = pipeline.devices[pipeline.stages[stage].device].clone();
            return Err(Unsuitable::Interrupted { stage: pipeline.stages[stage].name.clone(), device });
        }
        let (forward, backward) = (forward[stage].first().copied(), backward[stage].first().copied());
        Ok(Passes { forward, backward, rank: pipeline.stages[stage].rank })
    };
    pipeline.stages_by_device().into_iter().map(|stages| stages.into_iter().map(passes).collect()).collect()
}

/// The only stage of each device that has any.
pub(super) fn one_each(setting: &Setting) -> Result<Vec<Option<Passes>>, Unsuitable> {
    let devices = of_devices(setting)?.into_iter().zip(&setting.pipeline.devices);
    let one = |(stages, device): (Vec<Passes>, &String)| match stages[..] {
        [] => Ok(None),
        [only] => Ok(Some(only)),
        _ => Err(Unsuitable::SeveralStages { device: device.clone(), stages: stages.len() }),
    };
    devices.map(one).collect()
}

/// `warm_up` forward passes, then forward and backward passes by turns, then the rest of the backward passes. The
/// `count` passes of each kind are numbered from 0, and `forward` and `backward` say what they are.
pub(super) fn alternating(
    count: usize,
    warm_up: usize,
    forward: impl Fn(usize) -> Option<Turn>,
    backward: impl Fn(usize) -> Option<Turn>,
) -> Vec<Turn> {
    let warm_up = warm_up.min(count);
    let steady = (warm_up..count).flat_map(|k| [forward(k), backward(k - warm_up)]);
    let cool_down = (count - warm_up..count).map(&backward);
    (0..warm_up).map(&forward).chain(steady).chain(cool_down).flatten().collect()
}
