//! Pipelines whose stages stand in a line, each with an uninterrupted forward and backward pass.

use super::{Order, Setting, Turn};
use crate::simulate::error::Unsuitable;
use crate::simulate::pipeline::{Pass, Stage};

/// A stage's block of each pass, where it has one.
#[derive(Debug, Clone, Copy)]
pub(super) struct Passes {
    forward: Option<usize>,
    backward: Option<usize>,
    weights: Option<usize>,
    /// The place of the stage among all of its pipeline, from 0.
    pub rank: usize,
    /// The pipeline that the stage belongs to.
    pub replica: usize,
}

impl Passes {
    /// The turn of the stage's `pass` for `microbatch`.
    pub fn turn(&self, pass: Pass, microbatch: usize) -> Option<Turn> {
        let block = match pass {
            Pass::Forward => self.forward,
            Pass::Backward => self.backward,
            Pass::WeightGradient => self.weights,
        };
        block.map(|block| Turn { block, microbatch })
    }

    /// The turns of the whole backward pass for `microbatch`.
    pub fn backward(&self, microbatch: usize) -> impl Iterator<Item = Turn> {
        [Pass::Backward, Pass::WeightGradient].map(|pass| self.turn(pass, microbatch)).into_iter().flatten()
    }
}

/// The stages of each device, by rank.
pub(super) fn of_devices(setting: &Setting) -> Result<Vec<Vec<Passes>>, Unsuitable> {
    let pipeline = setting.pipeline;
    let [forward, backward, weights] =
        [Pass::Forward, Pass::Backward, Pass::WeightGradient].map(|pass| pipeline.blocks_by_stage(pass));
    let passes = |stage: usize| {
        if forward[stage].len().max(backward[stage].len()) > 1 {
            let device = pipeline.devices[pipeline.stages[stage].device].clone();
            return Err(Unsuitable::Interrupted { stage: pipeline.stages[stage].name.clone(), device });
        }
        let [forward, backward, weights] = [&forward, &backward, &weights].map(|blocks| blocks[stage].first().copied());
        let Stage { rank, replica, .. } = pipeline.stages[stage];
        Ok(Passes { forward, backward, weights, rank, replica })
    };
    pipeline.stages_by_device().into_iter().map(|stages| stages.into_iter().map(passes).collect()).collect()
}

/// 1F1B with one stage on each device: `warm_up` forward passes of a stage of this rank, then forward and backward
/// passes by turns, then the rest of the backward passes. Weight gradients, where they are apart, follow the backward
/// pass of the microbatch `delay` behind theirs.
pub(super) fn one_forward_one_backward(
    setting: &Setting,
    warm_up: impl Fn(usize) -> usize,
    delay: impl Fn(usize) -> usize,
) -> Result<Order, Unsuitable> {
    let count = setting.microbatches;
    let turns = |stage: Passes| {
        let delay = delay(stage.rank);
        let weights = |k: usize| stage.turn(Pass::WeightGradient, k);
        let backward = |k: usize| [stage.turn(Pass::Backward, k), k.checked_sub(delay).and_then(weights)];
        let mut turns = alternating(
            count,
            warm_up(stage.rank),
            |k| stage.turn(Pass::Forward, k),
            |k| backward(k).into_iter().flatten(),
        );
        turns.extend((count.saturating_sub(delay)..count).filter_map(weights));
        turns
    };
    Ok(Order::Turns(one_each(setting)?.into_iter().map(|stage| stage.map(turns).unwrap_or_default()).collect()))
}

/// The only stage of each device that has any.
fn one_each(setting: &Setting) -> Result<Vec<Option<Passes>>, Unsuitable> {
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
pub(super) fn alternating<B: IntoIterator<Item = Turn>>(
    count: usize,
    warm_up: usize,
    forward: impl Fn(usize) -> Option<Turn>,
    backward: impl Fn(usize) -> B,
) -> Vec<Turn> {
    let mut turns: Vec<Turn> = (0..warm_up.min(count)).filter_map(&forward).collect();
    for k in 0..count {
        turns.extend(Some(k + warm_up).filter(|&ahead| ahead < count).and_then(&forward));
        turns.extend(backward(k));
    }
    turns
}
