//! Devices with two stages each: one in the first half of its pipeline, and its mirror image in the last half.

use super::{Order, Setting, Turn, lines};
use crate::simulate::error::Unsuitable;
use crate::simulate::pipeline::Pass;

/// A device's stages, and its turns so far.
pub(super) struct Pair {
    stages: [lines::Passes; 2],
    /// How many microbatches had each pass of each stage.
    done: [[usize; 3]; 2],
    microbatches: usize,
    turns: Vec<Turn>,
}

impl Pair {
    /// These passes of the next microbatch of the pair's first stage (0) or second one (1), `times` times. Microbatches
    /// that there are not are left out.
    pub fn repeat(&mut self, times: usize, passes: &[(Pass, usize)]) {
        for &(pass, stage) in std::iter::repeat_n(passes, times).flatten() {
            let next = &mut self.done[stage][pass as usize];
            if *next < self.microbatches {
                self.turns.extend(self.stages[stage].turn(pass, *next));
            }
            *next += 1;
        }
    }
}

/// The turns that `play` takes on each device for its pair, whose first stage has the given rank.
///
/// # Errors
/// `otherwise` where a device with stages has no such pair, of one replica of the pipeline or of two.
pub(super) fn order(
    setting: &Setting,
    of_one_replica: bool,
    otherwise: &Unsuitable,
    play: impl Fn(&mut Pair, usize),
) -> Result<Order, Unsuitable> {
    let (depth, microbatches) = (setting.pipeline.depth(), setting.microbatches);
    let turns = |stages: Vec<lines::Passes>| match stages[..] {
        [] => Ok(Vec::new()),
        [first, second]
            if first.rank != second.rank
                && first.rank + second.rank + 1 == depth
                && (first.replica == second.replica) == of_one_replica =>
        {
            let mut pair = Pair { stages: [first, second], done: [[0; 3]; 2], microbatches, turns: Vec::new() };
            play(&mut pair, first.rank);
            Ok(pair.turns)
        }
        _ => Err(otherwise.clone()),
    };
    let turns: Result<Vec<_>, _> = lines::of_devices(setting)?.into_iter().map(turns).collect();
    Ok(Order::Turns(turns?))
}
