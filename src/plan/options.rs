//! What is planned, and how.

use std::time::Duration;

use crate::graph::NodeId;
use crate::mapping::Counted;
use crate::problem::{InFlight, StageMemory};
use crate::simulate::schedule::{GPipe, Inference, OneForwardOneBackward, Schedule, ZbH1, ZbH2};
use crate::simulate::{Collective, Links};

/// How the devices are shared out among stages; with several chunks on each device a stage is what a device holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Shape {
    /// How many stages there are at most: S in the paper.
    pub stages: usize,
    /// How many copies of each: R in the paper, the data degree.
    pub replicas: usize,
    /// How many devices share the operators of each copy.
    pub tensor: usize,
}

/// Whether splits and mappings are also decided together, by [`JointSearch`](crate::mapping::JointSearch), which bounds steps on the
/// links that there are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Joint {
    /// Where the workload and the devices are small enough for some seconds.
    #[default]
    Auto,
    /// Always, with ten times the labels; what is too large is an error.
    Always,
    /// Never.
    Never,
}

/// How to plan.
#[derive(Clone)]
pub struct PlanOptions {
    /// Samples of a step, over all pipelines; a sample is what the workload's times are for. `None` takes four for each
    /// device.
    pub batch: Option<usize>,
    /// The samples of a microbatch to look at: everything but the parameters is taken so many times.
    pub microbatch_sizes: Vec<usize>,
    /// The numbers of stages to look at; none takes as many as the devices allow.
    pub stages: Vec<usize>,
    /// The numbers of replicas to look at; none takes all that share out the microbatches.
    pub replicas: Vec<usize>,
    /// The tensor degrees to look at; none takes those of the workload's options.
    pub tensor_degrees: Vec<usize>,
    /// The schedules to look at, of [`Self::schedules`] or [`Interleaved`](crate::simulate::schedule::Interleaved) or
    /// [`ZbV`](crate::simulate::schedule::ZbV); none takes 1F1B, and interleaved 1F1B for what chunks are looked at; or [`Inference`] without a backward pass, as of options that keep
    /// keys and values.
    pub schedules: Vec<&'static dyn Schedule>,
    /// How many chunks of the pipeline each device holds: what to look at, more than one under interleaved 1F1B, and two under
    /// ZB-V, for chains of layers with both passes. Other workloads are planned with one.
    pub chunks: Vec<usize>,
    /// Whether activations are computed once more instead of kept: what to look at. Workloads whose options say what that takes
    /// choose it for each node.
    pub recompute: Vec<bool>,
    /// What training keeps of the parameters, and for how many tokens each pipeline has to have room; the schedule says what is in
    /// flight.
    pub memory: StageMemory,
    /// The method that splits, as a spec string of [`crate::registry`]; `None` takes the exact ones.
    pub partitioner: Option<String>,
    /// Whether splits and mappings are also decided together, where one stage is on each device and no partitioner is named.
    pub joint: Joint,
    /// The mappers, as spec strings of [`crate::registry`]; the best by simulation counts.
    pub mappers: Vec<String>,
    /// What the mappers count; the best by simulation counts.
    pub counted: Vec<Counted>,
    /// How messages are paid for.
    pub links: Links,
    /// How all-reduces are done. Mappers count rings.
    pub all_reduce: Collective,
    /// In how many parts all-reduces are done that pass beside the compute
    /// ([`Pipeline::buckets`](crate::simulate::Pipeline::buckets)).
    pub buckets: usize,
    /// The longest time of one mapper under one cost.
    pub mapping_time: Duration,
    /// Sets of nodes, by their indices, of which each is kept on one stage.
    pub together: Vec<Vec<NodeId>>,
}

impl PlanOptions {
    /// The schedules that run one stage on each device and empty the pipeline after each step, and what they have in
    /// flight.
    pub fn schedules() -> [(&'static dyn Schedule, InFlight); 5] {
        [
            (&GPipe, InFlight::GPipe),
            (&OneForwardOneBackward, InFlight::OneForwardOneBackward),
            (&ZbH1, InFlight::ZbH1),
            (&ZbH2, InFlight::ZbH2),
            (&Inference, InFlight::Constant(1)),
        ]
    }
}

impl Default for PlanOptions {
    fn default() -> Self {
        Self {
            batch: None,
            microbatch_sizes: vec![1],
            stages: Vec::new(),
            replicas: Vec::new(),
            tensor_degrees: Vec::new(),
            schedules: Vec::new(),
            chunks: vec![1, 2, 4],
            recompute: vec![false, true],
            memory: StageMemory::default(),
            partitioner: None,
            joint: Joint::default(),
            mappers: ["consecutive", "p2p", "branch-and-bound"].map(String::from).to_vec(),
            counted: vec![Counted::Both, Counted::Messages, Counted::AllReduce],
            links: Links::Blocking,
            all_reduce: Collective::Ring,
            buckets: 1,
            mapping_time: Duration::from_secs(10),
            together: Vec::new(),
        }
    }
}
