//! What a microbatch passes through: the passes of stages on devices, and the data that flows between them.

mod degrees;
mod mapped;
mod pieces;
mod split;
mod weight_gradients;

pub use mapped::{Communication, Links};
pub use weight_gradients::WEIGHT_GRADIENT;

use super::collective::Phase;
use crate::mapping::{Channel, MessageTime};

/// What is computed of a stage.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Pass {
    /// From the inputs to the loss.
    Forward,
    /// From the loss to the inputs: all gradients, or those of the inputs where those of the weights are apart.
    Backward,
    /// The gradients of the weights, for which no other stage waits.
    WeightGradient,
}

impl Pass {
    /// The pass's name in JSON and in traces.
    pub fn name(self) -> &'static str {
        match self {
            Pass::Forward => "forward",
            Pass::Backward => "backward",
            Pass::WeightGradient => "weight-gradient",
        }
    }
}

/// One copy of a stage: what holds weights, and keeps activations from a microbatch's forward to its backward pass.
#[derive(Debug, Clone, PartialEq)]
pub struct Stage {
    /// Its name, as it is shown.
    pub name: String,
    /// Its place among the stages of its pipeline, from 0.
    pub rank: usize,
    /// Which of the parallel pipelines it belongs to, from 0.
    pub replica: usize,
    /// The device that holds it.
    pub device: usize,
    /// Bytes that it occupies whatever is in flight.
    pub fixed: f64,
    /// Bytes that it occupies besides while it works; of the stages on a device the largest counts.
    pub working: f64,
    /// Bytes of parameters, of which asynchronous schedules keep a version for each microbatch in flight.
    pub parameters: f64,
    /// Bytes that it keeps for each microbatch in flight.
    pub activations: f64,
    /// Bytes of these that came from other stages: all that it keeps where activations are recomputed.
    pub boundary: f64,
}

/// What a device does for a microbatch without interruption. Several blocks make the pass of a stage where its nodes
/// have to wait for other devices in between.
#[derive(Debug, Clone, PartialEq)]
pub struct Block {
    /// The stage that it belongs to.
    pub stage: usize,
    /// The pass that it belongs to.
    pub pass: Pass,
    /// Time to fetch its inputs before it computes, where devices themselves pay for transfers.
    pub input: f64,
    /// Time to compute it.
    pub compute: f64,
    /// Time to hand on its outputs after it has computed, where devices themselves pay for transfers.
    pub output: f64,
}

/// Why a block waits for another one, for the same microbatch.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Way {
    /// Both are on one device: it waits for the other's compute.
    Kept,
    /// The data comes from another device: it fetches its inputs once the other has handed on its outputs, and the
    /// link between the devices has carried them for this time.
    Sent(f64),
    /// Both are on one device, and the other has fetched inputs that this one computes with, too.
    Shared,
}

/// A block waits for another one, for the same microbatch.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Flow {
    /// The block that is waited for.
    pub source: usize,
    /// The block that waits.
    pub target: usize,
    /// For what it waits.
    pub way: Way,
}

/// The copies of a stage bring their gradients together.
#[derive(Debug, Clone, PartialEq)]
pub struct AllReduce {
    /// The block of each copy after which its gradients are complete; each on a device of its own.
    pub after: Vec<usize>,
    /// The ways to do it, of which the quickest is taken: phases that follow one another.
    pub ways: Vec<Vec<Phase>>,
}

impl AllReduce {
    /// One that takes so long, without latencies.
    pub fn lasting(after: Vec<usize>, time: f64) -> Self {
        let all = MessageTime { latency: 0.0, transfer: time };
        Self { after, ways: vec![vec![Phase { steps: 1, links: vec![all] }]] }
    }

    /// How long each of so many equal parts takes: its messages wait for their first bytes as those of the whole do.
    pub fn time(&self, parts: usize) -> f64 {
        let time = |phases: &Vec<Phase>| phases.iter().map(|phase| phase.time(parts)).sum::<f64>();
        self.ways.iter().map(time).min_by(f64::total_cmp).unwrap_or(0.0)
    }
}

/// Which resource pays for transfers and all-reduces.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Transfers {
    /// The device, which computes nothing meanwhile: compute + in + out.
    OnDevice,
    /// An engine beside each device, which fetches and hands on: max(compute, in + out).
    Engine,
    /// Two engines beside each device, one for each direction: max(compute, in, out).
    TwoEngines,
    /// The links between the devices. On a contended link messages go one after another, else side by side.
    Links {
        /// Whether the messages over one link, or one channel, share what carries them.
        contended: bool,
    },
}

/// A pipeline of stages on devices, ready to be simulated under any schedule. Times are in the unit of its source.
#[derive(Debug, Clone, PartialEq)]
pub struct Pipeline {
    /// What it is called.
    pub name: String,
    /// The names of the devices.
    pub devices: Vec<String>,
    /// The bytes that each device has; `None` where it sets no limit.
    pub memory: Vec<Option<f64>>,
    /// The stages.
    pub stages: Vec<Stage>,
    /// The blocks, in an order in which they can run.
    pub blocks: Vec<Block>,
    /// What the devices share on the way out of their hosts.
    pub channels: Vec<Channel>,
    /// What waits for what.
    pub flows: Vec<Flow>,
    /// The stages that have copies.
    pub all_reduces: Vec<AllReduce>,
    /// Who pays for transfers.
    pub transfers: Transfers,
    /// How many microbatches a microbatch of this simulation stands for: the number of parallel pipelines.
    pub replicas: usize,
    /// The share of a backward pass's compute that the gradients of the weights take, from 0 to 1.
    pub weight_gradient: f64,
    /// In how many parts all-reduces are done that pass beside the compute, each as soon as its gradients are there; 1 is as a
    /// whole.
    pub buckets: usize,
}

impl Pipeline {
    /// The device that runs `block`.
    pub fn device_of(&self, block: usize) -> usize {
        self.stages[self.blocks[block].stage].device
    }

    /// In how many parts each all-reduce is done: a device that pays for it itself does it as a whole.
    pub(super) fn parts(&self) -> usize {
        if self.transfers == Transfers::OnDevice { 1 } else { self.buckets.max(1) }
    }

    /// How many stages each microbatch passes.
    pub fn depth(&self) -> usize {
        self.stages.iter().map(|stage| stage.rank + 1).max().unwrap_or(0)
    }

    /// The stages of each device, by rank.
    pub fn stages_by_device(&self) -> Vec<Vec<usize>> {
        let mut by_rank: Vec<usize> = (0..self.stages.len()).collect();
        by_rank.sort_by_key(|&stage| self.stages[stage].rank);
        let mut stages = vec![Vec::new(); self.devices.len()];
        by_rank.into_iter().for_each(|stage| stages[self.stages[stage].device].push(stage));
        stages
    }

    /// The blocks of each stage in one pass, in the order in which they can run.
    pub fn blocks_by_stage(&self, pass: Pass) -> Vec<Vec<usize>> {
        let mut blocks = vec![Vec::new(); self.stages.len()];
        for (i, block) in self.blocks.iter().enumerate().filter(|(_, block)| block.pass == pass) {
            blocks[block.stage].push(i);
        }
        blocks
    }
}
