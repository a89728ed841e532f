//! `dagsplit plan`

use std::path::PathBuf;
use std::time::Instant;

use crate::formats::write_split;
use crate::formats::{write_mapping, write_stages, write_topology};
use crate::instance::Instance;
use crate::mapping::Topology;
use crate::plan::{Partition, Plan, PlanError, plan};
use crate::problem::Solution;
use crate::report::framework::{Degrees, Framework, Launch, ranks};
use crate::report::page::{self, PlanPage};
use crate::report::plan::{PlanRecord, plot};
use crate::report::record::MEMORY_LIMIT_NOTE;
use crate::report::simulation::{gantt as gantt_chart, trace as trace_events};
use crate::report::{InstanceRecord, table};

use super::export::settings;
use super::export_args::ExportArgs;
use super::mapping_args::{TopologyArgs, refuse_topology};
use super::plan_args::HowArgs;
use super::plans::PlansArgs;
use super::question::{Watch, exit};
use super::reading_args::{ReadingArgs, Workload, graph_of};
use super::search_args::SearchArgs;
use super::verbatim::Verbatim;
use super::{Exit, Failure, OrFail, bug, command_line, invocation, print, print_json, progress, write_out};

const EXAMPLES: &str = "\
Examples:
  dagsplit plan llama.json servers.json --batch 512 --optimizer adam --precision bf16 --zero 1 --threads 2
  dagsplit plan bert.json torus.json --batch 64 --schedule 1f1b,zb-h1 --microbatch-sizes 1,2
  dagsplit plan bert.json nodes.csv --stages 4,8 --mapper branch-and-bound,parmesan --json
  dagsplit plan swin.json dgx1.json --output split.json --output-mapping mapping.json --gantt step.svg
  dagsplit plan llama.json servers.json --batch 512 --html plan.html    # a page to look at
  dagsplit plan served.json server.json --batch 64 --cache-tokens 1000000    # throughput, latency and tokens
  dagsplit plan llama.json servers.json --topologies-from list --jobs 4 --results plans/    # docs/sweeps.md

Every way to share out the devices among stages and replicas is split, mapped and simulated for the same batch; the \
shortest step that fits in memory is the plan, and no other is shorter than the bound. Ctrl-C keeps the best so far. \
docs/plan.md tells more.";

#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    #[command(flatten)]
    question: Verbatim<PlanQuestion>,

    #[command(flatten)]
    output: Verbatim<OutputArgs>,

    #[command(flatten)]
    plans: PlansArgs,

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

/// How to use an interconnect, and when to stop.
#[derive(Debug, clap::Args)]
pub struct PlanningArgs {
    #[command(flatten)]
    pub how: HowArgs,

    #[command(flatten)]
    pub search: SearchArgs,
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

    /// Plot time against memory of all plans; of plans that serve, latency and tokens against throughput.
    #[arg(long, value_name = "OUT.SVG")]
    plot: Option<PathBuf>,

    /// Write a page to look at: the plan and why, all candidates to sort and filter, time against memory, where the time
    /// goes, the step, and the graph by stages. One file, which loads nothing.
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
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
        if self.plans.are_asked() {
            return self.plans.make(&self.question, &self.output.words_without(""), &self.export);
        }
        let PlanQuestion { reading, topology, planning } = &self.question.options;
        refuse_topology(reading.file())?;
        let workload = reading.read()?;
        let topology = topology.read()?;
        let cancelled = progress::interrupt_flag()?;
        let watched = |context| progress::with_progress_line(context, self.plans.series.is_quiet());
        let watch = Watch { cancelled: &cancelled, watched: &watched };
        let planned = planning.plan(&workload, topology.clone(), super::started(), watch)?;
        self.show(&workload, &planned)?;
        self.write(&workload, &topology, &planned.plan)?;
        Ok(if planned.plan.best().is_some() { Exit::Done } else { Exit::NothingFound })
    }

    /// The table, and what else was asked for that tells of all candidates.
    fn show(&self, workload: &Workload, planned: &Planned) -> Result<(), Failure> {
        let OutputArgs { json, plot: drawing, html, .. } = &self.output.options;
        let Planned { record, plan } = planned;
        if let Some(path) = drawing {
            write_out(Some(path), &plot(plan))?;
        }
        if let Some(path) = html {
            write_out(Some(path), &planned.page(&workload.instance, &self.commands(plan))?)?;
        }
        let sheet = record.sheet();
        self.export.write(record, &sheet, &sheet)?;
        if *json { print_json(record) } else { print(&table::sheet(&sheet)) }
    }

    /// The command lines that plan again and simulate the files that were written, each with what it does.
    fn commands(&self, plan: &Plan) -> Vec<(&'static str, String)> {
        let again = invocation::words().iter().map(|word| word.to_string_lossy().into_owned());
        let mut commands = vec![("This plan:", command_line("dagsplit", again))];
        let OutputArgs { output_stages: stages, output_topology: topology, output_mapping: mapping, .. } =
            &self.output.options;
        let (best, files) = (plan.best(), [stages, topology, mapping].map(Option::as_deref));
        if let (Some(best), [Some(stages), Some(topology), Some(mapping)]) = (best, files) {
            let files = [stages, topology, mapping].map(|file| file.to_string_lossy().into_owned());
            let links = self.question.options.planning.how.link_words();
            let run = [format!("--schedule={}", best.schedule.name()), format!("--microbatches={}", best.microbatches)];
            let again = best.recompute.then(|| "--recompute".to_owned());
            let words = ["simulate".to_owned()].into_iter().chain(files).chain(run).chain(again);
            let words = words.chain(links);
            commands.push(("The simulator's word on the step:", command_line("dagsplit", words)));
        }
        commands
    }

    fn write(&self, workload: &Workload, topology: &Topology, plan: &Plan) -> Result<(), Failure> {
        let Some((best, pipeline)) = plan.best().and_then(|best| Some((best, best.pipeline()?))) else { return Ok(()) };
        let Partition { verified, stages, .. } = &pipeline.partition;
        // What it is worth depends on links that no split's question has.
        let split = Solution { objective: None, ..verified.to_solution() };
        let options = &self.output.options;
        let OutputArgs { output, output_stages, output_mapping, output_topology, output_ranks, gantt, trace, .. } =
            options;
        let placed_on = &pipeline.problem.topology;
        let files: [(&Option<PathBuf>, &dyn Fn() -> String); 7] = [
            (output, &|| write_split(&workload.instance, &split)),
            (output_stages, &|| write_stages(stages)),
            (output_mapping, &|| write_mapping(stages, placed_on, &pipeline.places())),
            (output_topology, &|| write_topology(placed_on)),
            (output_ranks, &|| ranks(&pipeline.mapping, topology, best.shape.tensor)),
            (gantt, &|| gantt_chart(&pipeline.simulation)),
            (trace, &|| trace_events(&pipeline.simulation)),
        ];
        for (path, text) in files.into_iter().filter(|(path, _)| path.is_some()) {
            write_out(path.as_deref(), &text())?;
        }
        let Some(to) = options.to else { return Ok(()) };
        let memory = self.question.options.planning.how.memory();
        let launch = Launch {
            layers: options.layers.as_deref(),
            batch: Some((plan.batch, best.microbatch_size)),
            degrees: Some(Degrees { tensor: best.shape.tensor, data: best.shape.replicas }),
            training: memory.training,
            zero: memory.zero,
            schedule: Some(best.schedule.name()),
            recompute: best.recompute,
            placement: best.placement(),
        };
        let settings = settings(to, &workload.instance, verified, &launch, "the plan")?;
        write_out(options.output_settings.as_deref(), &settings)
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
        let options = self.how.options(&workload.instance)?;
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
}

impl Planned {
    /// A page that shows it, with command lines that do it again.
    pub fn page(&self, instance: &Instance, commands: &[(&str, String)]) -> Result<String, Failure> {
        let Self { record, plan } = self;
        page::plan(&PlanPage { record, plan, instance, graph: &graph_of(instance)?, commands }).or_fail(Exit::Bug)
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
        PlanError::Spec(_)
        | PlanError::NoCandidate { .. }
        | PlanError::NoChunks(_)
        | PlanError::NoJoint(_)
        | PlanError::BackwardPass
        | PlanError::NoCache => Failure::new(Exit::Usage, error.into()),
        PlanError::Problem(_) => Failure::new(Exit::BadInput, error.into()),
    }
}
