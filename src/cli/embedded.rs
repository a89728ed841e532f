//! The verbs within another program, of which the Python package is made: options are words, workloads and splits are
//! values, answers are records.
//!
//! A word is an option as it stands on the command line, such as `--scope=convex`, and is read and refused by the same
//! code. Nothing here is part of the library's interface.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use clap::{Args, Command};

use crate::conformance::{Partitioner, Report};
use crate::cost::Costs;
use crate::formats::{OutputFormat, write_instance};
use crate::instance::Instance;
use crate::mapping::Topology;
use crate::problem::{CostKind, ProblemSpec, Solution};
use crate::registry;
use crate::report::comparison::{self, COMPARE_SCHEMA, Ending, Machine, Record, Trial, Versions};
use crate::report::facts::Facts;
use crate::report::method::MethodRecord;
use crate::report::page::{self, RunPage};
use crate::report::record::{InstanceRecord, RunRecord};
use crate::report::simulation::{SimulationRecord, gantt};
use crate::reproduce::studies as studies_of_papers;
use crate::solve::{Outcome, Program, Run, Stats, Status};
use crate::verify::{Verified, Violation};

use super::any_split;
use super::conform::SuiteArgs;
use super::convert::FormatArg;
use super::draw::{self, ColourArgs};
use super::exit::status;
use super::export::TargetArgs;
use super::generate;
use super::info;
use super::map::{Mapped, PlacingArgs};
use super::mapping_args::{LinkArgs, stages_of};
use super::model_args::ModelArgs;
use super::plan::{PlanQuestion, Planned, PlanningArgs};
use super::problem_args::ProblemArgs;
use super::question::{Answer, Question, Watch};
use super::reading_args::{PlatformArgs, ReadingArgs, ReadingOptions, Workload, graph_of};
use super::reproduce::{Reproduced, StudyArgs};
use super::search_args::SearchArgs;
use super::simulate::SimulationArgs;
use super::task::Task;
use super::{Exit, Failure, OrFail};

/// What errors call a split that is no file.
const SPLIT: &str = "the split";

/// What is asked: words, and the costs of splits where they are given as data.
#[derive(Debug, Clone)]
pub struct Asked {
    /// The words.
    pub words: Vec<String>,
    /// The costs, in place of those of the model that the words name.
    pub costs: Option<Costs>,
}

/// Options that say what is asked of a workload.
trait OfProblem {
    fn problem(&mut self) -> &mut ProblemArgs;
}

impl OfProblem for ProblemArgs {
    fn problem(&mut self) -> &mut ProblemArgs {
        self
    }
}

impl OfProblem for Question {
    fn problem(&mut self) -> &mut ProblemArgs {
        &mut self.problem
    }
}

impl OfProblem for TrialArgs {
    fn problem(&mut self) -> &mut ProblemArgs {
        &mut self.problem
    }
}

/// Options of which `T` has some, and devices in place of those of the workload.
#[derive(Debug, Args)]
struct On<T: Args> {
    #[command(flatten)]
    devices: PlatformArgs,

    #[command(flatten)]
    asked: T,
}

/// No options.
#[derive(Debug, Args)]
struct Nothing {}

/// How a file is read.
#[derive(Debug, Args)]
struct FileArgs {
    #[command(flatten)]
    reading: ReadingOptions,

    #[command(flatten)]
    model: ModelArgs,
}

/// The format of what is written.
#[derive(Debug, Args)]
struct WritingArgs {
    #[arg(long, value_enum, default_value = "native")]
    to: FormatArg,
}

/// A published table, and the limits of each of its runs.
#[derive(Debug, Args)]
struct ReproduceArgs {
    #[command(flatten)]
    wanted: StudyArgs,

    #[command(flatten)]
    search: SearchArgs,
}

/// What the words of a task that solves say.
#[derive(Debug, Args)]
struct Solving {
    #[command(flatten)]
    reading: ReadingArgs,

    #[command(flatten)]
    question: Question,
}

/// What is asked of a split, and under which limits others look for one.
#[derive(Debug, Args)]
struct TrialArgs {
    #[command(flatten)]
    problem: ProblemArgs,

    #[command(flatten)]
    search: SearchArgs,
}

/// The options that `words` give.
fn read<T: Args>(words: &[String]) -> Result<T, Failure> {
    let command = T::augment_args(Command::new("").no_binary_name(true).disable_help_flag(true));
    let read = command.try_get_matches_from(words).and_then(|matches| T::from_arg_matches(&matches));
    read.map_err(|error| told(&error))
}

/// What clap says of a word, without what it says of a command line.
fn told(error: &clap::Error) -> Failure {
    let text = error.render().to_string();
    let text = text.split("\n\nUsage:").next().unwrap_or_default();
    let text = text.split("\n\nFor more information").next().unwrap_or_default();
    Failure::message(Exit::Usage, text.trim().trim_start_matches("error: "))
}

impl<T: Args> On<T> {
    /// A workload with the devices asked for, and what else is asked.
    fn read(instance: &Instance, words: &[String]) -> Result<(Workload, T), Failure> {
        let Self { devices, asked } = read(words)?;
        let platform = devices.applied_to(&instance.platform)?;
        Ok((Workload { instance: instance.clone(), platform }, asked))
    }
}

impl<T: Args + OfProblem> On<T> {
    /// The same, where costs may be given.
    fn asked(instance: &Instance, asked: &Asked) -> Result<(Workload, T), Failure> {
        let (workload, mut options) = Self::read(instance, &asked.words)?;
        if let Some(costs) = &asked.costs {
            options.problem().count(costs.clone());
        }
        Ok((workload, options))
    }
}

/// The workload in a file of any format that is read, with the devices asked for.
pub fn load(file: &Path, words: &[String]) -> Result<Instance, Failure> {
    let FileArgs { reading, model } = read(words)?;
    model.read(file, &reading).map(on_its_platform)
}

/// The workload in a text, with the devices asked for.
pub fn parse(text: &str, words: &[String]) -> Result<Instance, Failure> {
    read::<ReadingOptions>(words)?.parse(text).map(on_its_platform)
}

/// The same workload with the devices asked for.
pub fn with_devices(instance: &Instance, words: &[String]) -> Result<Instance, Failure> {
    let (workload, Nothing {}) = On::read(instance, words)?;
    Ok(on_its_platform(workload))
}

fn on_its_platform(workload: Workload) -> Instance {
    Instance { platform: workload.platform, ..workload.instance }
}

/// The text of a workload in the format asked for.
pub fn write(instance: &Instance, words: &[String]) -> Result<String, Failure> {
    write_instance(instance, OutputFormat::from(read::<WritingArgs>(words)?.to)).or_fail(Exit::Usage)
}

/// What `generate` writes; the words begin with the family.
pub fn generated(words: &[String]) -> Result<String, Failure> {
    Ok(read::<generate::Args>(words)?.made()?.text)
}

/// What `info` tells of a workload.
pub fn facts(instance: &Instance, words: &[String]) -> Result<Facts, Failure> {
    let (workload, Nothing {}) = On::read(instance, words)?;
    info::facts(&workload)
}

/// What `solve` answers.
pub fn solve(instance: &Instance, asked: &Asked, watch: Watch) -> Result<Answer, Failure> {
    let begun = Instant::now();
    let (workload, question) = On::<Question>::asked(instance, asked)?;
    question.answer(&workload, begun, watch)
}

/// The page of a run that was answered so.
pub fn page_of_run(instance: &Instance, Answer { record, verified }: &Answer) -> Result<String, Failure> {
    let graph = &graph_of(instance)?;
    let page = RunPage { record, verified: verified.as_ref(), instance, graph, proof: None, commands: &[] };
    page::run(&page).or_fail(Exit::Bug)
}

/// Why the method does not take the problem; `None` where it does.
pub fn refusal_of(instance: &Instance, asked: &Asked, method: &str) -> Result<Option<String>, Failure> {
    let (workload, TrialArgs { problem, .. }) = On::asked(instance, asked)?;
    let problem = problem.problem(&workload, problem.spec(&workload)?)?;
    Ok(registry::solver_for(method, &problem).or_fail(Exit::Usage)?.err())
}

/// What is asked, as a [program](Program) is told it.
pub fn environment(instance: &Instance, words: &[String]) -> Result<Vec<(&'static str, String)>, Failure> {
    let (workload, TrialArgs { problem, search }) = On::read(instance, words)?;
    let spec = problem.spec(&workload)?;
    let limit = search.limits().time_limit.map(Duration::from_secs_f64);
    Ok(Program::environment(&spec, search.seed, limit))
}

/// What splits cost by the model that is asked for.
pub fn costs(instance: &Instance, words: &[String]) -> Result<Costs, Failure> {
    let (workload, problem) = On::<ProblemArgs>::read(instance, words)?;
    Ok(Arc::unwrap_or_clone(problem.problem(&workload, problem.spec(&workload)?)?.costs))
}

/// What the verifier says of a split, and by what it judges.
pub fn verify(
    instance: &Instance,
    split: &Solution,
    asked: &Asked,
) -> Result<(ProblemSpec, Result<Verified, Vec<Violation>>), Failure> {
    let (workload, problem) = On::<ProblemArgs>::asked(instance, asked)?;
    let spec = problem.problem(&workload, problem.spec(&workload)?)?.spec;
    let result = problem.check(&workload, &spec, split);
    Ok((spec, result))
}

/// What `solve` would answer if a method called `method` had found this split, or none, in so many seconds; else what is
/// wrong with it.
pub fn run_of(
    instance: &Instance,
    split: Option<Solution>,
    asked: &Asked,
    (method, seconds): (&str, f64),
) -> Result<Result<Answer, Vec<Violation>>, Failure> {
    let (workload, TrialArgs { problem, .. }) = On::asked(instance, asked)?;
    let problem_of = problem.problem(&workload, problem.spec(&workload)?)?;
    let spec = &problem_of.spec;
    let verified = match split.as_ref().map(|split| problem.check(&workload, spec, split)).transpose() {
        Ok(verified) => verified,
        Err(violations) => return Ok(Err(violations)),
    };
    let outcome = match split {
        Some(solution) => Outcome::Feasible { solution, bound: None },
        None => Outcome::Unknown { bound: None },
    };
    let run = Run { outcome, stats: Stats::default() };
    let outcome = MethodRecord::new(method, &spec.scope, &run, verified.as_ref(), seconds);
    let about = InstanceRecord::new(instance, problem_of.graph.edge_count());
    let record = RunRecord::new(about, spec, outcome, run.stats, verified.as_ref());
    Ok(Ok(Answer { record, verified }))
}

/// What `compare` keeps of a method that was run with these words.
pub fn record(instance: &Instance, asked: &Asked, method: &str, ending: Ending) -> Result<Record, Failure> {
    let (workload, TrialArgs { problem, search }) = On::asked(instance, asked)?;
    let problem_of = problem.problem(&workload, problem.spec(&workload)?)?;
    let about = InstanceRecord::new(instance, problem_of.graph.edge_count());
    let costs = problem.costs_key(&problem_of);
    Ok(Record {
        schema: COMPARE_SCHEMA.into(),
        file: about.name.clone(),
        trial: Trial {
            instance: about,
            costs,
            problem: problem_of.spec,
            method: method.into(),
            seed: search.seed,
            limits: search.limits(),
        },
        steps: registry::settings(method).unwrap_or_default(),
        ending,
        command: Vec::new(),
        machine: Machine::here(),
        versions: Versions::of_this_program(),
    })
}

/// What `reproduce` makes, each run in this process. `tell` hears what runs, how many runs were before it, and how many
/// there are.
pub fn reproduce(
    words: &[String],
    watch: Watch,
    mut tell: impl FnMut(String, usize, usize),
) -> Result<Reproduced, Failure> {
    let ReproduceArgs { wanted, mut search } = read(words)?;
    let mut asked = wanted.asked()?;
    let (mut before, count) = (0, asked.count());
    asked.made(&mut search, &mut |task| {
        if watch.cancelled.load(Ordering::Relaxed) {
            return Ok(None);
        }
        tell(format!("{}: {}", task.trial.instance.name, task.trial.method), before, count);
        before += 1;
        let ending = task.refused().unwrap_or_else(|| ending(task, watch));
        Ok(Some(task.record(ending, Machine::here(), Versions::of_this_program())))
    })
}

/// How a task ends that is run in this process, as it would in one of its own.
fn ending(task: &Task, watch: Watch) -> Ending {
    let ending = answer(task, watch)
        .map(comparison::Answer::into_ending)
        .unwrap_or_else(|failure| Ending::without_result(status(Some(failure.exit as i32)), failure.to_string()));
    let interrupted = watch.cancelled.load(Ordering::Relaxed);
    Ending { status: if interrupted { Status::Interrupted } else { ending.status }, ..ending }
}

fn answer(task: &Task, watch: Watch) -> Result<comparison::Answer, Failure> {
    let (begun, words) = (Instant::now(), task.words());
    let record = if task.is_plan() {
        let PlanQuestion { reading, topology, planning } = read(words)?;
        serde_json::to_value(planning.plan(&reading.read()?, topology.read()?, begun, watch)?.record)
    } else {
        let Solving { reading, question } = read(words)?;
        serde_json::to_value(question.answer(&reading.read()?, begun, watch)?.record)
    };
    record.and_then(serde_json::from_value).or_fail(Exit::Bug)
}

/// The tables and figures that `reproduce` makes again: name, paper, and what it shows.
pub fn studies() -> impl Iterator<Item = (&'static str, &'static str, &'static str)> {
    studies_of_papers().map(|study| (study.name, study.source, study.title))
}

/// What `export` writes.
pub fn export(instance: &Instance, split: &Solution, words: &[String]) -> Result<String, Failure> {
    let (workload, target) = On::<TargetArgs>::read(instance, words)?;
    target.settings(&workload, split, SPLIT)
}

/// What `draw` draws of a workload.
pub fn draw(instance: &Instance, split: Option<Solution>, words: &[String]) -> Result<String, Failure> {
    let (workload, colours) = On::<ColourArgs>::read(instance, words)?;
    let split = split.map(|split| colours.verified(split, SPLIT, &workload)).transpose()?;
    draw::draw_workload(workload, split, colours.detail)
}

/// What `conform` finds. `tell` hears how many of how many cases are done.
pub fn conform(
    partitioner: &dyn Partitioner,
    words: &[String],
    stop: &Arc<AtomicBool>,
    mut tell: impl FnMut(u32, u32),
) -> Result<Report, Failure> {
    let suite = read::<SuiteArgs>(words)?.suite()?;
    Ok(suite.run_until(partitioner, stop, |done| tell(done, suite.cases)))
}

/// The topology in a file.
pub fn load_topology(file: &Path, words: &[String]) -> Result<Topology, Failure> {
    read::<LinkArgs>(words)?.read(file)
}

/// What `map` answers for the stages of a split.
pub fn map(
    instance: &Instance,
    split: Solution,
    topology: &Topology,
    words: &[String],
    watch: Watch,
) -> Result<Mapped, Failure> {
    let begun = Instant::now();
    let (workload, placing) = On::<PlacingArgs>::read(instance, words)?;
    let split = any_split::verified(split, SPLIT, &workload, CostKind::default(), Some(1.0))?;
    let (stages, cost) = stages_of(workload, split)?;
    placing.map(&stages, cost, topology.clone(), (begun, watch))
}

/// What `plan` answers.
pub fn plan(instance: &Instance, topology: &Topology, words: &[String], watch: Watch) -> Result<Planned, Failure> {
    let begun = Instant::now();
    let (workload, planning) = On::<PlanningArgs>::read(instance, words)?;
    planning.plan(&workload, topology.clone(), begun, watch)
}

/// The page of a plan.
pub fn page_of_plan(instance: &Instance, planned: &Planned) -> Result<String, Failure> {
    planned.page(instance, &[])
}

/// What `simulate` answers for the pipeline of a split, and its Gantt chart as SVG.
pub fn simulate(instance: &Instance, split: Solution, words: &[String]) -> Result<(SimulationRecord, String), Failure> {
    let (workload, simulation) = On::<SimulationArgs>::read(instance, words)?;
    let (pipeline, usual) = simulation.pipeline(&workload, split, SPLIT)?;
    let (simulated, record) = simulation.simulate(pipeline, usual)?;
    Ok((record, gantt(&simulated)))
}
