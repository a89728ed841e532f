//! `dagsplit simulate`

use std::path::{Path, PathBuf};

use crate::formats::{read_mapping, read_split, read_stages};
use crate::mapping::{ClaimedMapping, Counted, MappingProblem, StageCost};
use crate::problem::{CostKind, Degrees, InFlight, Placement, Problem, Solution, StageMemory};
use crate::report::simulation::{SimulationRecord, gantt, trace};
use crate::simulate::schedule::{
    Asynchronous, DualPipe, GPipe, Inference, Interleaved, OneForwardOneBackward, Schedule, VirtualDevices, ZbH1, ZbH2,
    ZbV,
};
use crate::simulate::{Communication, Links, Options, Pipeline, SimulateError, Simulation, WEIGHT_GRADIENT, simulate};
use crate::text;
use crate::verify::mapping::{MappingViolation, check};
use clap::ValueEnum;

use super::all_reduce_args::AllReduceArg;
use super::any_split::{self, AnySplit};
use super::mapping_args::{LinkArgs, refuse_topology};
use super::reading_args::{ReadingOptions, Workload};
use super::stage_memory_args::TrainingArgs;
use super::{Exit, Failure, OrFail, bug, listed, note, print, print_json, values, write_out};

const EXAMPLES: &str = "\
Examples:
  dagsplit simulate bert.json split.json --microbatches 64 --gantt bert.svg
  dagsplit simulate bert.json split.json --schedule gpipe --recompute --trace bert-trace.json
  dagsplit simulate stages.json dgx1.json mapping.json --schedule 1f1b --overlap --contention --json

A trace opens in https://ui.perfetto.dev and in Chrome's about:tracing.";

#[derive(Debug, clap::Args)]
#[command(
    after_help = EXAMPLES,
    override_usage = "dagsplit simulate [OPTIONS] <INSTANCE> <SPLIT>\n       \
                      dagsplit simulate [OPTIONS] <STAGES> <TOPOLOGY> <MAPPING>"
)]
pub struct Args {
    /// A workload and a split of it, contiguous or not; or stages, a topology, and a mapping of the stages to its
    /// devices.
    #[arg(value_name = "FILES", num_args = 2..=3, required = true)]
    files: Vec<PathBuf>,

    #[command(flatten)]
    reading: ReadingOptions,

    #[command(flatten)]
    links: LinkArgs,

    #[command(flatten)]
    simulation: SimulationArgs,

    /// Draw the timeline as a Gantt chart.
    #[arg(long, value_name = "OUT.SVG", help_heading = "Output")]
    gantt: Option<PathBuf>,

    /// Write the timeline in the Trace Event Format.
    #[arg(long, value_name = "OUT.JSON", help_heading = "Output")]
    trace: Option<PathBuf>,

    /// Print one JSON object (schema `dagsplit-simulate/1`) in place of the table.
    #[arg(long, help_heading = "Output")]
    json: bool,

    /// Print nothing.
    #[arg(long, short, conflicts_with = "json", help_heading = "Output")]
    quiet: bool,
}

/// What is simulated.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Simulation")]
pub struct SimulationArgs {
    /// In which order devices work [default: virtual-devices for a split, 1f1b or that of its chunks for one with degrees and for mapped stages].
    #[arg(long, value_enum)]
    schedule: Option<ScheduleArg>,

    /// How many microbatches pass through each pipeline.
    #[arg(long, value_name = "MB", default_value = "32", value_parser = values::whole::<u32>(1..=100_000))]
    microbatches: u32,

    /// Compute activations once more for the backward pass, in place of keeping them.
    #[arg(long)]
    recompute: bool,

    /// The share of a backward pass that the gradients of the weights take, under schedules with those apart.
    #[arg(long, value_name = "SHARE", default_value_t = WEIGHT_GRADIENT, value_parser = values::number(0.0..=1.0))]
    weight_gradient: f64,

    /// Let transfers and all-reduces pass beside the compute.
    #[arg(long)]
    overlap: bool,

    /// Let transfers share what carries them: the messages from one device to another their link, the transfers of a
    /// split's device in both directions one engine.
    #[arg(long, requires = "overlap")]
    contention: bool,

    /// How the copies of a stage bring their gradients together; those of a split are all alike, in a ring.
    #[arg(long, value_enum, value_name = "WAY", default_value = "ring")]
    all_reduce: AllReduceArg,

    /// Do each all-reduce in so many parts, each as soon as the last backward pass has computed its gradients.
    #[arg(long, value_name = "COUNT", default_value = "1", value_parser = values::whole::<u32>(1..=10_000))]
    buckets: u32,

    /// Bandwidth of the all-reduce ring of a split with replicas, in bytes per time unit of the file [default: the
    /// file's link bandwidth].
    #[arg(long, value_name = "BYTES", value_parser = values::bandwidth)]
    sync_bandwidth: Option<f64>,

    #[command(flatten)]
    training: TrainingArgs,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
pub enum ScheduleArg {
    /// All forward passes, then all backward passes.
    Gpipe,
    /// One forward, one backward, and a flush after each step (PipeDream-flush, DAPPLE).
    #[value(name = "1f1b")]
    OneForwardOneBackward,
    /// One forward, one backward, without end (PipeDream); a device keeps a version of its weights for each microbatch
    /// in flight.
    #[value(name = "async-1f1b")]
    Asynchronous,
    /// 1F1B with several stages on each device, which take turns on them (Megatron-LM).
    Interleaved,
    /// 1F1B whose weight gradients fill the bubbles, with its memory (Zero bubble).
    #[value(name = "zb-h1")]
    ZbH1,
    /// As few bubbles as twice that memory allows (Zero bubble).
    #[value(name = "zb-h2")]
    ZbH2,
    /// Two stages on each device, down the devices and up again, without bubbles (Zero bubble).
    ZbV,
    /// Two replicas through the same devices from both ends (DeepSeek-V3).
    #[value(name = "dualpipe")]
    DualPipe,
    /// Forward passes alone.
    Inference,
    /// Each device in as many virtual ones as its split needs, all of them working in each round (Tarnawski 2020).
    VirtualDevices,
}

impl ScheduleArg {
    fn schedule(self) -> &'static dyn Schedule {
        match self {
            ScheduleArg::Gpipe => &GPipe,
            ScheduleArg::OneForwardOneBackward => &OneForwardOneBackward,
            ScheduleArg::Asynchronous => &Asynchronous,
            ScheduleArg::Interleaved => &Interleaved,
            ScheduleArg::ZbH1 => &ZbH1,
            ScheduleArg::ZbH2 => &ZbH2,
            ScheduleArg::ZbV => &ZbV,
            ScheduleArg::DualPipe => &DualPipe,
            ScheduleArg::Inference => &Inference,
            ScheduleArg::VirtualDevices => &VirtualDevices,
        }
    }
}

impl ScheduleArg {
    /// The microbatches that stages with degrees have in flight; the fewest where their memory does not say.
    fn in_flight(self) -> InFlight {
        match self {
            ScheduleArg::Gpipe => InFlight::GPipe,
            ScheduleArg::OneForwardOneBackward => InFlight::OneForwardOneBackward,
            ScheduleArg::Asynchronous => InFlight::Asynchronous,
            ScheduleArg::ZbH1 => InFlight::ZbH1,
            ScheduleArg::ZbH2 => InFlight::ZbH2,
            ScheduleArg::Interleaved
            | ScheduleArg::ZbV
            | ScheduleArg::DualPipe
            | ScheduleArg::Inference
            | ScheduleArg::VirtualDevices => InFlight::Constant(1),
        }
    }
}

impl SimulationArgs {
    /// The pipeline of a split, which errors call by `name`, and its schedule where none is asked for.
    pub fn pipeline(
        &self,
        workload: &Workload,
        split: Solution,
        name: &str,
    ) -> Result<(Pipeline, ScheduleArg), Failure> {
        if self.all_reduce != AllReduceArg::Ring {
            let cause =
                "--all-reduce: the replicas of a split have one bandwidth and no hosts; map its stages to a topology";
            return Err(Failure::message(Exit::Usage, cause));
        }
        let has_options = split.devices.iter().any(|device| !device.options.is_empty());
        if has_options && workload.instance.parallelism.is_some() {
            return self.of_degrees(workload, split, name);
        }
        if self.training.is_given() {
            let cause = "--optimizer, --zero, --cache-tokens: what lasts of nodes without options is what the file states; leave them out";
            return Err(Failure::message(Exit::Usage, cause));
        }
        let cost = match (self.overlap, self.contention) {
            (false, _) => CostKind::Additive,
            (true, true) => CostKind::Overlap,
            (true, false) => CostKind::Duplex,
        };
        let AnySplit { spec, verified } = any_split::verified(split, name, workload, cost, self.sync_bandwidth)?;
        let problem = Problem::new(&workload.instance, spec).or_fail(Exit::Usage)?;
        let pipeline = Pipeline::of_split(&workload.instance, &problem, &verified).or_fail(Exit::Usage)?;
        Ok((pipeline, ScheduleArg::VirtualDevices))
    }

    /// The pipelines of a split into stages with degrees, through each of which pass as many microbatches as are asked for,
    /// and their schedule where none is asked for.
    fn of_degrees(&self, workload: &Workload, split: Solution, name: &str) -> Result<(Pipeline, ScheduleArg), Failure> {
        let given = [
            (self.recompute, "--recompute: the options of nodes say what is computed again; leave it out"),
            (
                self.sync_bandwidth.is_some(),
                "--sync-bandwidth: replicas synchronise at the file's bandwidth; leave it out",
            ),
        ];
        if let Some((_, cause)) = given.into_iter().find(|(is_given, _)| *is_given) {
            return Err(Failure::message(Exit::Usage, cause));
        }
        let schedule = self.schedule.unwrap_or(ScheduleArg::OneForwardOneBackward);
        let replicas = split.devices.iter().map(|device| device.replicas).max().unwrap_or(1);
        let memory = StageMemory { in_flight: schedule.in_flight(), ..self.training.asked() };
        let degrees = Degrees { memory, ..Degrees::any(self.microbatches as usize * replicas) };
        let AnySplit { spec, verified } = any_split::verified_with_degrees(split, name, workload, degrees)?;
        let problem = Problem::new(&workload.instance, spec).or_fail(Exit::Usage)?;
        let is_inference = !schedule.schedule().has_backward();
        let pipeline = Pipeline::of_degrees(&problem, &verified, self.links(), is_inference).or_fail(Exit::Usage)?;
        let usual = match problem.spec.chunks.map(|chunks| chunks.placement) {
            None => ScheduleArg::OneForwardOneBackward,
            Some(Placement::Interleaved) => ScheduleArg::Interleaved,
            Some(Placement::VShape) => ScheduleArg::ZbV,
        };
        Ok((pipeline, usual))
    }

    /// How messages between stages are paid for.
    fn links(&self) -> Links {
        match (self.overlap, self.contention) {
            (false, _) => Links::Blocking,
            (true, false) => Links::Overlapped,
            (true, true) => Links::Contended,
        }
    }

    /// Runs a pipeline, under the schedule `usual` where none is asked for.
    pub fn simulate(
        &self,
        mut pipeline: Pipeline,
        usual: ScheduleArg,
    ) -> Result<(Simulation, SimulationRecord), Failure> {
        if self.buckets > 1 && !self.overlap {
            return Err(Failure::message(
                Exit::Usage,
                "--buckets: all-reduces pass beside the compute with --overlap alone",
            ));
        }
        (pipeline.weight_gradient, pipeline.buckets) = (self.weight_gradient, self.buckets as usize);
        let schedule = self.schedule.unwrap_or(usual).schedule();
        let options = Options { microbatches: self.microbatches as usize, recompute: self.recompute };
        let simulation = simulate(&pipeline, schedule, options).or_fail(Exit::Usage)?;
        let steady_time = match simulation.steady_time(schedule) {
            // What can be simulated once may be too long to be simulated twice as long.
            Err(SimulateError::TooManyTasks { .. }) => None,
            steady_time => Some(steady_time.or_fail(Exit::Bug)?),
        };
        let record = SimulationRecord::new(&simulation, steady_time);
        Ok((simulation, record))
    }
}

impl Args {
    pub fn run(self) -> Result<Exit, Failure> {
        let (pipeline, usual) = match &self.files[..] {
            [instance, split] => self.of_split(instance, split)?,
            [stages, topology, mapping] => {
                (self.of_mapping(stages, topology, mapping)?, ScheduleArg::OneForwardOneBackward)
            }
            _ => return Err(Failure::message(Exit::Usage, "give two files or three")),
        };
        let (simulation, record) = self.simulation.simulate(pipeline, usual)?;
        if let Some(path) = &self.gantt {
            write_out(Some(path), &gantt(&simulation))?;
        }
        if let Some(path) = &self.trace {
            write_out(Some(path), &trace(&simulation))?;
        }
        if self.quiet {
            return Ok(Exit::Done);
        }
        if self.json {
            print_json(&record)?
        } else {
            print(&record.text())?
        }
        Ok(Exit::Done)
    }

    fn of_split(&self, instance: &Path, split: &Path) -> Result<(Pipeline, ScheduleArg), Failure> {
        self.links.refuse()?;
        let workload = self.reading.read(instance)?;
        let solution = read_split(split, &workload.instance).or_fail(Exit::BadInput)?;
        self.simulation.pipeline(&workload, solution, &text::path(split))
    }

    fn of_mapping(&self, stages: &Path, topology: &Path, mapping: &Path) -> Result<Pipeline, Failure> {
        if self.simulation.sync_bandwidth.is_some() {
            let cause = "mapped stages all-reduce over the topology's links; leave --sync-bandwidth out";
            return Err(Failure::message(Exit::Usage, cause));
        }
        refuse_topology(stages)?;
        let claim = read_mapping(mapping).or_fail(Exit::BadInput)?;
        let topology = self.links.read(topology)?;
        let replicas = claim.replicas();
        if replicas > topology.len() {
            let message = format!("{}: more copies of a stage than the topology has devices", text::path(mapping));
            return Err(Failure::message(Exit::InvalidSplit, message));
        }
        let stages = read_stages(stages).or_fail(Exit::BadInput)?;
        if let Some(other) = claim.names.topology.as_ref().filter(|name| **name != topology.name) {
            note(&format!(
                "the mapping is said to be onto the topology {other:?}, and this one is {:?}",
                topology.name
            ));
        }
        let problem = MappingProblem { stages, replicas, topology, cost: StageCost::additive(Counted::Both) };
        let violations = violations(&problem, &claim);
        if !violations.is_empty() {
            let message = format!("{}: the mapping is invalid:{}", text::path(mapping), listed(&violations));
            return Err(Failure::message(Exit::InvalidSplit, message));
        }
        let placed = claim.to_mapping(&problem).ok_or_else(|| bug("a valid mapping places each copy once"))?;
        let all_reduce = self.simulation.all_reduce.collective();
        let communication = Communication { links: self.simulation.links(), all_reduce };
        Pipeline::of_mapping(&problem, &placed, communication).or_fail(Exit::Usage)
    }
}

/// What is wrong with a mapping, whatever time it claims. A device may hold several stages: schedules say whether they
/// can run them.
fn violations(problem: &MappingProblem, claim: &ClaimedMapping) -> Vec<MappingViolation> {
    let mut violations = check(problem, &claim.clone().without_times()).err().unwrap_or_default();
    violations.retain(|violation| !matches!(violation, MappingViolation::SharedDevice { .. }));
    violations
}
