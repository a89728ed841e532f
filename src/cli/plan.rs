//! `dagsplit plan`

use std::path::PathBuf;
use std::time::{Duration, Instant};

use crate::formats::write_split;
use crate::formats::{write_mapping, write_stages, write_topology};
use crate::instance::Instance;
use crate::mapping::{Counted, Topology};
use crate::plan::{Partition, Plan, PlanError, PlanOptions, plan};
use crate::problem::Solution;
use crate::registry::split_list;
use crate::report::framework::{Degrees, Framework, Launch, ranks};
use crate::report::plan::{PlanRecord, plot};
use crate::report::record::MEMORY_LIMIT_NOTE;
use crate::report::simulation::{gantt as gantt_chart, trace as trace_events};
use crate::report::{InstanceRecord, table};
use crate::simulate::Links;
use crate::simulate::schedule::{GPipe, Inference, OneForwardOneBackward, Schedule, ZbH1, ZbH2};
use clap::ValueEnum;

use super::export::settings;
use super::export_args::ExportArgs;
use super::mapping_args::{TopologyArgs, refuse_topology};
use super::question::{Watch, exit};
use super::reading_args::{ReadingArgs, Workload};
use super::search_args::SearchArgs;
use super::stage_memory_args::TrainingArgs;
use super::together_args::TogetherArgs;
use super::values;
use super::{Exit, Failure, bug, print, print_json, progress, write_out};

const EXAMPLES: &str = "\
Examples:
  dagsplit plan llama.json servers.json --batch 512 --optimizer adam --precision bf16 --zero 1 --threads 2
  dagsplit plan bert.json torus.json --batch 64 --schedule 1f1b,zb-h1 --microbatch-sizes 1,2
  dagsplit plan bert.json nodes.csv --stages 4,8 --mapper branch-and-bound,parmesan --json
  dagsplit plan swin.json dgx1.json --output split.json --output-mapping mapping.json --gantt step.svg

Every way to share out the devices among stages and replicas is split, mapped and simulated for the same batch; the \
shortest step that fits in memory is the plan, and no other is shorter than the bound. Ctrl-C keeps the best so far. \
docs/plan.md tells more.";

/// Choose stages, replicas, tensor degree and devices for a batch: split, map and simulate every way to use an interconnect.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    #[command(flatten)]
    question: PlanQuestion,

    #[command(flatten)]
    output: OutputArgs,

    #[command(flatten)]
    export: ExportArgs,
}

/// What to use, and how.
#[derive(Debug, clap::Args)]
pub struct PlanQuestion {
    #[command(flatten)]
    pub reading: ReadingArgs,

    #[command(flatten)]
    pub topology: TopologyArgs,

    #[command(flatten)]
    pub planning: PlanningArgs,
}

/// How to use an interconnect, and how to search.
#[derive(Debug, clap::Args)]
pub struct PlanningArgs {
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

    #[command(flatten)]
    search: SearchArgs,
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
}

/// How the pipeline runs.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Simulation")]
struct PipelineArgs {
    /// The schedules, by name [default: 1f1b, or inference where there is no backward pass].
    #[arg(long, value_enum, value_name = "NAME,...", value_delimiter = ',')]
    schedule: Vec<ScheduleArg>,

    /// How messages between stages are paid for.
    #[arg(long, value_enum, default_value = "blocking")]
    links: LinksArg,

    /// Whether stages compute their activations once more in place of keeping them; where the file's options say what that
    /// takes, it is chosen for each node.
    #[arg(long, value_enum, default_value = "either")]
    recompute: RecomputeArg,
}

/// What is written.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Output")]
struct OutputArgs {
    /// Print one JSON object (schema `dagsplit-plan/2`) in place of the table.
    #[arg(long)]
    json: bool,

    /// Write the best split to this file, in the published shape.
    #[arg(long, value_name = "SPLIT")]
    output: Option<PathBuf>,

    /// Write the best split's stages to this file (schema `dagsplit-stages/1`).
    #[arg(long, value_name = "STAGES")]
    output_stages: Option<PathBuf>,

    /// Write the best mapping to this file (schema `dagsplit-mapping/1`).
    #[arg(long, value_name = "MAPPING")]
    output_mapping: Option<PathBuf>,

    /// Write the topology that the mapping is for: devices that share the operators of a copy are one.
    #[arg(long, value_name = "TOPOLOGY")]
    output_topology: Option<PathBuf>,

    /// The framework that --output-settings is for.
    #[arg(long, value_enum, value_name = "FRAMEWORK", requires = "output_settings")]
    to: Option<Framework>,

    /// The module list that holds the layers, such as `model.layers` [default: the longest one].
    #[arg(long, value_name = "LIST", requires = "to")]
    layers: Option<String>,

    /// Write the best plan as the settings of a framework.
    #[arg(long, value_name = "SETTINGS", requires = "to")]
    output_settings: Option<PathBuf>,

    /// Write the host of each rank and the number of its device there, in the order in which Megatron-LM counts ranks.
    #[arg(long, value_name = "RANKS")]
    output_ranks: Option<PathBuf>,

    /// Draw the step of the best plan as a Gantt chart.
    #[arg(long, value_name = "OUT.SVG")]
    gantt: Option<PathBuf>,

    /// Write the step of the best plan in the Trace Event Format.
    #[arg(long, value_name = "OUT.JSON")]
    trace: Option<PathBuf>,

    /// Plot time against memory of all plans.
    #[arg(long, value_name = "OUT.SVG")]
    plot: Option<PathBuf>,

    /// Show no progress line.
    #[arg(long)]
    quiet: bool,
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

#[derive(Debug, Clone, Copy, ValueEnum)]
enum LinksArg {
    /// Both ends of a message are busy with it.
    Blocking,
    /// Messages pass beside the compute.
    Overlapped,
    /// Messages pass beside the compute, those between two devices one after another.
    Contended,
}

/// The schedules of [`PlanOptions::schedules`].
#[derive(Debug, Clone, Copy, ValueEnum)]
enum ScheduleArg {
    /// All forward passes, then all backward passes.
    Gpipe,
    /// One forward, one backward.
    #[value(name = "1f1b")]
    OneForwardOneBackward,
    /// 1F1B whose weight gradients fill the bubbles, with its memory.
    #[value(name = "zb-h1")]
    ZbH1,
    /// As few bubbles as twice that memory allows.
    #[value(name = "zb-h2")]
    ZbH2,
    /// Forward passes alone.
    Inference,
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

/// What came of planning.
pub struct Planned {
    /// The record of all candidates.
    pub record: PlanRecord,
    /// The candidates.
    pub plan: Plan,
}

impl Args {
    pub fn run(self) -> Result<Exit, Failure> {
        let PlanQuestion { reading, topology, planning } = &self.question;
        refuse_topology(reading.file())?;
        let workload = reading.read()?;
        let topology = topology.read()?;
        let cancelled = progress::interrupt_flag()?;
        let watched = |context| progress::with_progress_line(context, self.output.quiet);
        let watch = Watch { cancelled: &cancelled, watched: &watched };
        let Planned { record, plan } = planning.plan(&workload, topology.clone(), super::started(), watch)?;
        self.write(&workload, &topology, &plan)?;
        if let Some(path) = &self.output.plot {
            write_out(Some(path), &plot(&plan))?;
        }
        let sheet = record.sheet();
        self.export.write(&record, &sheet, &sheet)?;
        if self.output.json {
            print_json(&record)?;
        } else {
            print(&table::sheet(&sheet))?;
        }
        Ok(if plan.best().is_some() { Exit::Done } else { Exit::NothingFound })
    }

    fn write(&self, workload: &Workload, topology: &Topology, plan: &Plan) -> Result<(), Failure> {
        let Some((best, pipeline)) = plan.best().and_then(|best| Some((best, best.pipeline()?))) else { return Ok(()) };
        let Partition { verified, stages, .. } = &pipeline.partition;
        // What it is worth depends on links that no split's question has.
        let split = Solution { objective: None, ..verified.to_solution() };
        let OutputArgs { output, output_stages, output_mapping, output_topology, gantt, trace, .. } = &self.output;
        let placed_on = &pipeline.problem.topology;
        let files: [(&Option<PathBuf>, &dyn Fn() -> String); 7] = [
            (output, &|| write_split(&workload.instance, &split)),
            (output_stages, &|| write_stages(stages)),
            (output_mapping, &|| write_mapping(stages, placed_on, &pipeline.mapping)),
            (output_topology, &|| write_topology(placed_on)),
            (&self.output.output_ranks, &|| ranks(&pipeline.mapping, topology, best.shape.tensor)),
            (gantt, &|| gantt_chart(&pipeline.simulation)),
            (trace, &|| trace_events(&pipeline.simulation)),
        ];
        for (path, text) in files.into_iter().filter(|(path, _)| path.is_some()) {
            write_out(path.as_deref(), &text())?;
        }
        let Some(to) = self.output.to else { return Ok(()) };
        let launch = Launch {
            layers: self.output.layers.as_deref(),
            batch: Some((plan.batch, best.microbatch_size)),
            degrees: Some(Degrees { tensor: best.shape.tensor, data: best.shape.replicas }),
            zero: self.question.planning.training.asked().zero,
            recompute: best.recompute,
        };
        let settings = settings(to, &workload.instance, verified, &launch, "the plan")?;
        write_out(self.output.output_settings.as_deref(), &settings)
    }
}

impl PlanningArgs {
    /// Plans a workload on a topology. Its time counts from `begun`.
    pub fn plan(
        &self,
        workload: &Workload,
        topology: Topology,
        begun: Instant,
        watch: Watch,
    ) -> Result<Planned, Failure> {
        let topology = with_memory(topology, workload);
        let options = self.options(&workload.instance)?;
        let context = (watch.watched)(self.search.context(watch.cancelled, begun));
        let started = Instant::now();
        let plan = plan(&workload.instance, &topology, &options, &context).map_err(failure)?;
        let was_short_of_memory = context.was_short_of_memory();
        drop(context);
        let instance = InstanceRecord::new(&workload.instance, workload.instance.edges.len());
        let mut record = PlanRecord::new(instance, &topology, &options, &plan, started.elapsed().as_secs_f64());
        record.reasons.extend(was_short_of_memory.then(|| MEMORY_LIMIT_NOTE.to_owned()));
        Ok(Planned { record, plan })
    }

    fn options(&self, instance: &Instance) -> Result<PlanOptions, Failure> {
        let CandidateArgs { batch, microbatch_sizes, stages, replicas, tensor_degrees } = &self.candidates;
        let PipelineArgs { schedule, links, recompute } = &self.pipeline;
        Ok(PlanOptions {
            batch: *batch,
            microbatch_sizes: microbatch_sizes.clone(),
            stages: stages.clone(),
            replicas: replicas.clone(),
            tensor_degrees: tensor_degrees.clone(),
            schedules: schedule.iter().map(|schedule| schedule.schedule()).collect(),
            recompute: match recompute {
                RecomputeArg::Never => vec![false],
                RecomputeArg::Always => vec![true],
                RecomputeArg::Either => vec![false, true],
            },
            memory: self.training.asked(),
            partitioner: self.partitioner.clone(),
            mappers: split_list(&self.mapper),
            counted: self.cost.iter().map(|cost| cost.counted()).collect(),
            links: links.links(),
            mapping_time: self.mapping_time,
            together: self.together.sets(instance)?,
        })
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
}

/// Devices whose memory the topology does not know have that of the workload's accelerators.
fn with_memory(mut topology: Topology, workload: &Workload) -> Topology {
    let memory = workload.platform.accelerators.first().and_then(|class| class.memory);
    topology.devices.iter_mut().for_each(|device| device.memory = device.memory.or(memory));
    topology
}

fn failure(error: PlanError) -> Failure {
    match error {
        PlanError::Split { is_program: true, .. } => Failure::new(Exit::InvalidSplit, error.into()),
        PlanError::Split { .. } | PlanError::Mapping { .. } => bug(&error.to_string()),
        PlanError::Solve(ref solve) => Failure::new(exit(solve), error.into()),
        PlanError::Spec(_) | PlanError::NoCandidate { .. } | PlanError::BackwardPass => {
            Failure::new(Exit::Usage, error.into())
        }
        PlanError::Problem(_) => Failure::new(Exit::BadInput, error.into()),
    }
}
