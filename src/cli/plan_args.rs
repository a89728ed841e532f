//! How `plan` uses an interconnect.

use std::time::Duration;

use crate::instance::Instance;
use crate::mapping::Counted;
use crate::plan::{Joint, PlanOptions};
use crate::problem::StageMemory;
use crate::registry::split_list;
use crate::simulate::Links;
use crate::simulate::schedule::{GPipe, Inference, Interleaved, OneForwardOneBackward, Schedule, ZbH1, ZbH2, ZbV};
use clap::ValueEnum;

use super::all_reduce_args::AllReduceArg;
use super::stage_memory_args::TrainingArgs;
use super::together_args::TogetherArgs;
use super::{Exit, Failure, values};

/// How to use an interconnect.
#[derive(Debug, clap::Args)]
pub struct HowArgs {
    #[command(flatten)]
    candidates: CandidateArgs,

    #[command(flatten)]
    pipeline: PipelineArgs,

    #[command(flatten)]
    training: TrainingArgs,

    #[command(flatten)]
    together: TogetherArgs,

    /// The method that splits, as `dagsplit solve --method` takes it [default: the exact ones, and clusters where they find
    /// nothing in time].
    #[arg(long, value_name = "SPEC", help_heading = "Search")]
    partitioner: Option<String>,

    /// Whether splits and mappings are also decided together, which bounds steps on the links that there are: of up to 32 units
    /// on up to 16 devices, without options of nodes, with blocking links.
    #[arg(
        long,
        value_enum,
        value_name = "WHEN",
        default_value = "auto",
        conflicts_with = "partitioner",
        help_heading = "Search"
    )]
    joint: JointArg,

    /// The mappers, as `dagsplit map --method` takes them; the best mapping by simulation counts.
    #[arg(long, value_name = "SPEC,...", default_value_t = PlanOptions::default().mappers.join(","), help_heading = "Search")]
    mapper: String,

    /// What the mappers count beside compute; the best mapping by simulation counts.
    #[arg(
        long,
        value_enum,
        value_name = "COST,...",
        value_delimiter = ',',
        default_value = "both,messages,all-reduce",
        help_heading = "Search"
    )]
    cost: Vec<CostArg>,

    /// The longest time of one mapper under one cost.
    #[arg(long, value_name = "SECONDS", value_parser = values::seconds, default_value = "10", help_heading = "Search")]
    mapping_time: Duration,
}

/// Which ways to use the devices are looked at.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Candidates")]
struct CandidateArgs {
    /// Samples of a step, over all pipelines; a sample is what the file's times are for [default: four for each device].
    #[arg(id = "microbatches", long = "batch", value_name = "N", value_parser = values::whole::<usize>(1..=100_000))]
    batch: Option<usize>,

    /// Samples of a microbatch: all but the parameters is taken so many times.
    #[arg(long, value_name = "B,...", value_delimiter = ',', default_value = "1", value_parser = values::whole::<usize>(1..=10_000))]
    microbatch_sizes: Vec<usize>,

    /// Numbers of stages S, at most [default: as many as the devices allow].
    #[arg(long, value_name = "S,...", value_delimiter = ',', value_parser = values::count::<usize>())]
    stages: Vec<usize>,

    /// Numbers of replicas R of each stage [default: all that share out the batch; with --stages those that fill the devices].
    #[arg(long, value_name = "R,...", value_delimiter = ',', value_parser = values::count::<usize>())]
    replicas: Vec<usize>,

    /// How many devices share the operators of each copy [default: the degrees of the file's options, or 1].
    #[arg(long, value_name = "T,...", value_delimiter = ',', value_parser = values::count::<usize>())]
    tensor_degrees: Vec<usize>,

    /// How many chunks of the pipeline each device holds. Several run under interleaved 1F1B, where the workload is a chain of
    /// layers with both passes, and two under zb-v; S is then the number of devices that hold a pipeline.
    #[arg(long, value_name = "V,...", value_delimiter = ',', default_value = "1,2,4", value_parser = values::count::<usize>())]
    chunks: Vec<usize>,
}

/// How the pipeline runs.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Simulation")]
struct PipelineArgs {
    /// The schedules, by name [default: 1f1b, and interleaved for several --chunks; or inference where there is no backward
    /// pass, and where options of nodes are those of serving].
    #[arg(long, value_enum, value_name = "NAME,...", value_delimiter = ',')]
    schedule: Vec<ScheduleArg>,

    /// How messages between stages are paid for.
    #[arg(long, value_enum, default_value = "blocking")]
    links: LinksArg,

    /// How the copies of a stage bring their gradients together; mappers count rings.
    #[arg(long, value_enum, value_name = "WAY", default_value = "ring")]
    all_reduce: AllReduceArg,

    /// Do each all-reduce in so many parts, each as soon as the last backward pass has computed its gradients; not with blocking
    /// links, with which all-reduces hide behind nothing.
    #[arg(long, value_name = "COUNT", default_value = "1", value_parser = values::whole::<u32>(1..=10_000))]
    buckets: u32,

    /// Whether stages compute their activations once more in place of keeping them; where the file's options say what that
    /// takes, it is chosen for each node.
    #[arg(long, value_enum, default_value = "either")]
    recompute: RecomputeArg,
}

#[derive(Debug, Clone, Copy, PartialEq, ValueEnum)]
enum CostArg {
    /// Messages between stages.
    Messages,
    /// The all-reduce among a stage's copies.
    AllReduce,
    /// Both.
    Both,
}

#[derive(Debug, Clone, Copy, PartialEq, ValueEnum)]
enum LinksArg {
    /// Both ends of a message are busy with it.
    Blocking,
    /// Messages pass beside the compute.
    Overlapped,
    /// Messages pass beside the compute, those between two devices one after another.
    Contended,
}

/// The schedules of [`PlanOptions::schedules`], and those of several chunks on a device.
#[derive(Debug, Clone, Copy, ValueEnum)]
enum ScheduleArg {
    /// All forward passes, then all backward passes.
    Gpipe,
    /// One forward, one backward.
    #[value(name = "1f1b")]
    OneForwardOneBackward,
    /// 1F1B with several --chunks on each device, which take turns on them.
    Interleaved,
    /// 1F1B whose weight gradients fill the bubbles, with its memory.
    #[value(name = "zb-h1")]
    ZbH1,
    /// As few bubbles as twice that memory allows.
    #[value(name = "zb-h2")]
    ZbH2,
    /// Two chunks on each device, down the devices and up again, without bubbles.
    ZbV,
    /// Forward passes alone.
    Inference,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum JointArg {
    /// Where that is possible, with 200,000 partial pipelines for each number of stages.
    Auto,
    /// In any case, with 2,000,000 of them; what is too large for it is refused.
    Always,
    /// Not at all.
    Never,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum RecomputeArg {
    /// All are kept.
    Never,
    /// All are computed once more.
    Always,
    /// Both are looked at.
    Either,
}

impl HowArgs {
    /// The same for the library, on a workload.
    ///
    /// # Errors
    /// Patterns that match no node.
    pub fn options(&self, instance: &Instance) -> Result<PlanOptions, Failure> {
        let CandidateArgs { batch, microbatch_sizes, stages, replicas, tensor_degrees, chunks } = &self.candidates;
        let PipelineArgs { schedule, links, all_reduce, buckets, recompute } = &self.pipeline;
        if *buckets > 1 && *links == LinksArg::Blocking {
            let cause = "--buckets: all-reduces pass beside the compute with --links overlapped or contended alone";
            return Err(Failure::message(Exit::Usage, cause));
        }
        Ok(PlanOptions {
            batch: *batch,
            microbatch_sizes: microbatch_sizes.clone(),
            stages: stages.clone(),
            replicas: replicas.clone(),
            tensor_degrees: tensor_degrees.clone(),
            schedules: schedule.iter().map(|schedule| schedule.schedule()).collect(),
            chunks: chunks.clone(),
            recompute: match recompute {
                RecomputeArg::Never => vec![false],
                RecomputeArg::Always => vec![true],
                RecomputeArg::Either => vec![false, true],
            },
            memory: self.memory(),
            partitioner: self.partitioner.clone(),
            joint: match self.joint {
                JointArg::Auto => Joint::Auto,
                JointArg::Always => Joint::Always,
                JointArg::Never => Joint::Never,
            },
            mappers: split_list(&self.mapper),
            counted: self.cost.iter().map(|cost| cost.counted()).collect(),
            links: links.links(),
            all_reduce: all_reduce.collective(),
            buckets: *buckets as usize,
            mapping_time: self.mapping_time,
            together: self.together.sets(instance)?,
        })
    }

    /// What is kept beside activations.
    pub fn memory(&self) -> StageMemory {
        self.training.asked()
    }

    /// The options of `simulate` that pay for messages and all-reduces in the same way.
    pub fn link_words(&self) -> Vec<String> {
        let PipelineArgs { links, all_reduce, buckets, .. } = &self.pipeline;
        let way =
            (*all_reduce != AllReduceArg::Ring).then(|| format!("--all-reduce={}", all_reduce.collective().name()));
        let buckets = (*buckets > 1).then(|| ["--buckets".into(), buckets.to_string()]);
        links.words().iter().map(|&word| word.into()).chain(way).chain(buckets.into_iter().flatten()).collect()
    }
}

impl CostArg {
    fn counted(self) -> Counted {
        match self {
            Self::Messages => Counted::Messages,
            Self::AllReduce => Counted::AllReduce,
            Self::Both => Counted::Both,
        }
    }
}

impl ScheduleArg {
    fn schedule(self) -> &'static dyn Schedule {
        match self {
            Self::Gpipe => &GPipe,
            Self::OneForwardOneBackward => &OneForwardOneBackward,
            Self::Interleaved => &Interleaved,
            Self::ZbV => &ZbV,
            Self::ZbH1 => &ZbH1,
            Self::ZbH2 => &ZbH2,
            Self::Inference => &Inference,
        }
    }
}

impl LinksArg {
    fn links(self) -> Links {
        match self {
            Self::Blocking => Links::Blocking,
            Self::Overlapped => Links::Overlapped,
            Self::Contended => Links::Contended,
        }
    }

    /// The options of `simulate` that say the same.
    fn words(self) -> &'static [&'static str] {
        match self {
            Self::Blocking => &[],
            Self::Overlapped => &["--overlap"],
            Self::Contended => &["--overlap", "--contention"],
        }
    }
}
