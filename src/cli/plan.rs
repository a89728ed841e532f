//! `dagsplit plan`

use std::path::PathBuf;
use std::time::{Duration, Instant};

use crate::formats::write_split;
use crate::formats::{write_mapping, write_stages};
use crate::mapping::{Counted, Topology};
use crate::plan::{Factoring, Plan, PlanError, PlanOptions, plan};
use crate::registry::split_list;
use crate::report::plan::PlanRecord;
use crate::report::record::MEMORY_LIMIT_NOTE;
use crate::report::{InstanceRecord, table};
use crate::simulate::{Links, Schedule, schedule};
use clap::ValueEnum;

use super::export_args::ExportArgs;
use super::mapping_args::{TopologyArgs, refuse_topology};
use super::question::{Watch, exit};
use super::reading_args::{ReadingArgs, Workload};
use super::search_args::SearchArgs;
use super::values::{self, Memory};
use super::{Exit, Failure, bug, print, print_json, progress, write_out};

const EXAMPLES: &str = "\
Examples:
  dagsplit plan swin.json dgx1.json
  dagsplit plan bert.json torus.json --microbatches 4,8,16 --schedule 1f1b --threads 0
  dagsplit plan bert.json nodes.csv --stages 4,8 --mapper branch-and-bound,parmesan --json
  dagsplit plan swin.json dgx1.json --output split.json --output-mapping mapping.json

Every factoring S x R of the devices is split, mapped and simulated; the best simulated throughput \
that fits in memory is the plan. Ctrl-C keeps the best so far. docs/plan.md tells more.";

/// Choose stages, replicas and devices: partition, map and simulate every way to use an interconnect.
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

    /// The method that splits, as `dagsplit solve --method` takes it.
    #[arg(long, value_name = "SPEC", default_value_t = PlanOptions::default().partitioner, help_heading = "Search")]
    partitioner: String,

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
    /// Numbers of stages S [default: every divisor of the number of devices].
    #[arg(long, value_name = "S,...", value_delimiter = ',', value_parser = values::count::<usize>())]
    stages: Vec<usize>,

    /// Numbers of replicas R of each stage [default: as many as the devices allow].
    #[arg(long, value_name = "R,...", value_delimiter = ',', value_parser = values::count::<usize>())]
    replicas: Vec<usize>,

    /// Numbers of microbatches that pass through each pipeline before the weights are updated.
    #[arg(long, value_name = "MB,...", value_delimiter = ',', default_value = "4", value_parser = values::whole::<usize>(1..=10_000))]
    microbatches: Vec<usize>,
}

/// How the pipeline runs.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Simulation")]
struct PipelineArgs {
    /// The schedule, by its name.
    #[arg(long, value_name = "NAME", default_value = "gpipe", value_parser = schedule_of)]
    schedule: ScheduleArg,

    /// How messages between stages are paid for.
    #[arg(long, value_enum, default_value = "blocking")]
    links: LinksArg,

    /// Keep activations in place of computing them once more.
    #[arg(long)]
    keep_activations: bool,

    /// Bytes that a stage of the split may occupy, such as `16GiB`; whether a pipeline fits on its devices is for the
    /// simulation to say [default: unlimited].
    #[arg(long, value_name = "BYTES", value_parser = values::memory)]
    stage_memory: Option<Memory>,
}

/// What is written.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Output")]
struct OutputArgs {
    /// Print one JSON object (schema `dagsplit-plan/1`) in place of the table.
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

/// A schedule by name.
#[derive(Clone, Copy)]
struct ScheduleArg(&'static dyn Schedule);

impl std::fmt::Debug for ScheduleArg {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.0.name())
    }
}

fn schedule_of(name: &str) -> Result<ScheduleArg, String> {
    let found = schedule::all().into_iter().find(|schedule| schedule.name() == name);
    found.map(ScheduleArg).ok_or_else(|| {
        let names = schedule::all().map(Schedule::name);
        format!("name one of {}", names.join(", "))
    })
}

/// What came of planning.
pub struct Planned {
    /// The record of all candidates.
    pub record: PlanRecord,
    /// The candidates.
    pub plan: Plan,
    /// The topology, with the memory of its devices.
    pub topology: Topology,
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
        let Planned { record, plan, topology } = planning.plan(&workload, topology, super::started(), watch)?;
        self.write(&workload, &topology, &plan)?;
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
        let Some(best) = plan.best() else { return Ok(()) };
        let (partition, Some(pipeline)) = (&plan.partitions[&best.factoring.stages], best.pipeline()) else {
            return Ok(());
        };
        let OutputArgs { output, output_stages, output_mapping, .. } = &self.output;
        if let Some(path) = output {
            write_out(Some(path), &write_split(&workload.instance, &partition.verified.to_solution()))?;
        }
        if let Some(path) = output_stages {
            write_out(Some(path), &write_stages(&partition.stages))?;
        }
        if let Some(path) = output_mapping {
            write_out(Some(path), &write_mapping(&partition.stages, topology, &pipeline.mapping))?;
        }
        Ok(())
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
        let options = self.options(&topology)?;
        let context = (watch.watched)(self.search.context(watch.cancelled, begun));
        let started = Instant::now();
        let plan = plan(&workload.instance, &topology, &options, &context).map_err(failure)?;
        let was_short_of_memory = context.was_short_of_memory();
        drop(context);
        let instance = InstanceRecord::new(&workload.instance, workload.instance.edges.len());
        let mut record = PlanRecord::new(instance, &topology, &options, &plan, started.elapsed().as_secs_f64());
        record.reasons.extend(was_short_of_memory.then(|| MEMORY_LIMIT_NOTE.to_owned()));
        Ok(Planned { record, plan, topology })
    }

    fn options(&self, topology: &Topology) -> Result<PlanOptions, Failure> {
        let PipelineArgs { schedule, links, keep_activations, stage_memory } = &self.pipeline;
        Ok(PlanOptions {
            factorings: Some(self.candidates.factorings(topology.len())?),
            microbatches: self.candidates.microbatches.clone(),
            partitioner: self.partitioner.clone(),
            mappers: split_list(&self.mapper),
            counted: self.cost.iter().map(|cost| cost.counted()).collect(),
            schedule: schedule.0,
            links: links.links(),
            recompute: !keep_activations,
            memory: stage_memory.and_then(|memory| memory.0),
            mapping_time: self.mapping_time,
        })
    }
}

impl CandidateArgs {
    /// The factorings asked for that the devices allow.
    fn factorings(&self, devices: usize) -> Result<Vec<Factoring>, Failure> {
        let refuse = |what: String| Err(Failure::message(Exit::Usage, what));
        let given = self.stages.iter().map(|count| ("--stages", count));
        for (option, &count) in given.chain(self.replicas.iter().map(|count| ("--replicas", count))) {
            if count > devices {
                return refuse(format!("{option} {count}: there are {devices} devices; give 1 to {devices}"));
            }
        }
        let factorings: Vec<Factoring> = match (self.stages.as_slice(), self.replicas.as_slice()) {
            ([], []) => Factoring::all(devices),
            (stages, []) => stages.iter().map(|&stages| Factoring { stages, replicas: devices / stages }).collect(),
            ([], replicas) => {
                replicas.iter().map(|&replicas| Factoring { stages: devices / replicas, replicas }).collect()
            }
            (stages, replicas) => {
                let pairs = stages.iter().flat_map(|&s| replicas.iter().map(move |&r| (s, r)));
                let fitting = pairs.filter(|&(s, r)| s.saturating_mul(r) <= devices);
                fitting.map(|(stages, replicas)| Factoring { stages, replicas }).collect()
            }
        };
        match factorings.is_empty() {
            true => refuse(format!("no S x R asked for is at most {devices} devices; ask for fewer")),
            false => Ok(factorings),
        }
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
        PlanError::Spec(_) => Failure::new(Exit::Usage, error.into()),
        PlanError::Problem(_) => Failure::new(Exit::BadInput, error.into()),
    }
}
