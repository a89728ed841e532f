//! 1F1B with several stages on each device.

use super::lines::{self, Passes};
use super::{Order, Schedule, Setting, Synchronise};
use crate::simulate::error::Unsuitable;
use crate::simulate::pipeline::Pass;

/// Interleaved 1F1B of Megatron-LM (Narayanan et al. 2021, "Efficient large-scale language model training on GPU
/// clusters using Megatron-LM", section 2.2.2).
///
/// Of p devices with v stages each, device i holds the stages i, p + i, 2p + i and so on, and works on p microbatches
/// with one stage before it takes the next one. The bubble on balanced stages is (p − 1) / v microbatches' time:
/// (p − 1) / (v m + p − 1) of the whole. With one stage on each device it is [`super::OneForwardOneBackward`]; one device
/// takes each microbatch through all of its stages and back.
#[derive(Debug, Clone, Copy, Default)]
pub struct Interleaved;

impl Schedule for Interleaved {
    fn name(&self) -> &'static str {
        "interleaved"
    }

    fn synchronise(&self) -> Synchronise {
        Synchronise::AtTheEnd
    }

    fn order(&self, setting: &Setting) -> Result<Order, Unsuitable> {
        let devices = lines::of_devices(setting)?;
        let chunks = devices.iter().map(Vec::len).max().unwrap_or(0).max(1);
        if chunks == 1 {
            return super::OneForwardOneBackward.order(setting);
        }
        let (depth, microbatches) = (setting.pipeline.depth(), setting.microbatches);
        let across = depth / chunks;
        let in_turns = |stages: &Vec<Passes>| {
            stages.len() == chunks && (0..chunks).all(|chunk| stages[chunk].rank == chunk * across + stages[0].rank)
        };
        if depth % chunks != 0 || !devices.iter().filter(|stages| !stages.is_empty()).all(in_turns) {
            return Err(Unsuitable::NotInTurns);
        }
        if microbatches % across != 0 {
            return Err(Unsuitable::NotAMultiple { microbatches, devices: across });
        }
        let turns = |stages: Vec<Passes>| {
            let Some(first) = stages.first() else { return Vec::new() };
            let warm_up = 2 * (across - first.rank - 1) + (chunks - 1) * across;
            // Pass k is of this chunk and microbatch, where each chunk takes `across` microbatches at a time.
            let chunk = |k: usize| k / across % chunks;
            let microbatch = |k: usize| k / (across * chunks) * across + k % across;
            let forward = |k: usize| stages[chunk(k)].turn(Pass::Forward, microbatch(k));
            let backward = |k: usize| stages[chunks - 1 - chunk(k)].backward(microbatch(k));
            if across == 1 {
                let passes = |microbatch: usize| microbatch * chunks..(microbatch + 1) * chunks;
                let there_and_back =
                    |k: usize| passes(k).filter_map(forward).chain(passes(k).flat_map(backward)).collect::<Vec<_>>();
                return (0..microbatches).flat_map(there_and_back).collect();
            }
            lines::alternating(chunks * microbatches, warm_up, forward, backward)
        };
        Ok(Order::Turns(devices.into_iter().map(turns).collect()))
    }
}
