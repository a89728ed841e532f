//! `dagsplit reproduce`

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::formats::{OutputFormat, ReadOptions, read_instance, write_instance, write_topology};
use crate::generate::topology::{TopologyRecipe, generate as generate_topology};
use crate::generate::{Recipe, generate};
use crate::registry;
use crate::report::comparison::Record;
use crate::report::sheet::Sheet;
use crate::report::table;
use crate::reproduce::{self, Answer, OWN_PARTITIONER, Outcome, Plan, Ran, Run, Study, Workload, outcomes, studies};
use crate::text;
use clap::Parser;
use serde::Serialize;
use serde_json::json;

use super::problem_args::ProblemArgs;
use super::reading_args::ReadingOptions;
use super::runs_args::RunsArgs;
use super::search_args::SearchArgs;
use super::task::{PlanTask, Question, Task};
use super::verbatim::Verbatim;
use super::{Exit, Failure, OrFail, print, write_out};

const EXAMPLES: &str = "\
Examples:
  dagsplit reproduce                              # what there is
  dagsplit reproduce table1                       # in a clone, where instances/profiled is
  dagsplit reproduce table1 --workloads ~/dnn-partitioning    # the authors' repository
  dagsplit reproduce table1 --only GNMT --time-limit 600 --results table1.jsonl --resume
  dagsplit reproduce chen-hierarchy --export-latex hierarchy.tex

Each method runs in a process of its own, as in `dagsplit compare`.";

/// What stands for the folder of published workloads in a spec string.
const FOLDER: &str = "{workloads}/";

/// How long each method may take where nothing else is said.
const TIME_LIMIT: Duration = Duration::from_secs(60);

#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    #[command(flatten)]
    wanted: StudyArgs,

    #[command(flatten)]
    runs: RunsArgs,
}

/// What to make again, and where its workloads are.
#[derive(Debug, clap::Args)]
pub struct StudyArgs {
    /// The table or figure; without one, those that there are.
    #[arg(value_name = "STUDY")]
    study: Option<String>,

    /// The folder with the published workloads, laid out as `instances/profiled` or a clone of the authors' repository
    /// [default: $DAGSPLIT_WORKLOADS, else instances/profiled where that is].
    #[arg(long, value_name = "DIR")]
    workloads: Option<PathBuf>,

    /// Only rows whose name holds this.
    #[arg(long, value_name = "TEXT", default_value = "")]
    only: String,

    /// Only columns whose name holds one of these.
    #[arg(long, value_name = "TEXT,...", value_delimiter = ',')]
    columns: Vec<String>,
}

/// The options of a run.
#[derive(Debug, Parser)]
#[command(no_binary_name = true)]
struct RunOptions {
    #[command(flatten)]
    reading: Verbatim<ReadingOptions>,

    #[command(flatten)]
    problem: Verbatim<ProblemArgs>,
}

/// What `--export-json` writes.
#[derive(Serialize)]
pub struct Reproduction {
    schema: &'static str,
    study: &'static str,
    source: &'static str,
    figures: Vec<Outcome>,
    runs: Vec<RunRecord>,
}

#[derive(Serialize)]
struct RunRecord {
    workload: String,
    method: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    topology: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    answer: Option<Answer>,
    options: Vec<String>,
    result: Ran,
}

/// What came of a study.
pub struct Reproduced {
    /// All that is known of it.
    pub record: Reproduction,
    /// The table for people.
    pub table: Sheet,
    /// One line per figure, for programs.
    pub data: Sheet,
}

/// Runs a task; `None` once Ctrl-C came.
pub type Runner<'a> = dyn FnMut(&Task) -> Result<Option<Record>, Failure> + 'a;

/// Where the published workloads stand in a clone of this project.
const IN_CLONE: &str = "instances/profiled";

/// Where workloads are: those published, and those made here.
struct Shelf {
    published: Option<PathBuf>,
    made: tempfile::TempDir,
    files: BTreeMap<String, PathBuf>,
}

impl Args {
    pub fn run(mut self) -> Result<Exit, Failure> {
        if self.wanted.study.is_none() {
            print(&listing())?;
            return Ok(Exit::Done);
        }
        let mut asked = self.wanted.asked()?;
        asked.certify = self.runs.certify;
        let mut tasks = Vec::new();
        asked.made(&mut self.runs.search, &mut |task| {
            tasks.push(task.clone());
            Ok(None)
        })?;
        if self.runs.series.lists() && asked.makes_files() {
            let cause = "--list-tasks: files of this study are made for its runs, so that no command could run later; \
                         make parts of it by --shard";
            return Err(Failure::message(Exit::Usage, cause));
        }
        let Some(made) = self.runs.series.make(tasks)? else { return Ok(Exit::Done) };
        let is_done = self.runs.series.is_part() && !made.is_interrupted;
        let any = made.records.iter().flatten().any(|record| record.ending.objective.is_some());
        let mut records = made.records.into_iter();
        let reproduced = asked.made(&mut self.runs.search, &mut |_| Ok(records.next().flatten()))?;
        print(&table::sheet(&reproduced.table))?;
        self.runs.export.write(&reproduced.record, &reproduced.data, &reproduced.table)?;
        Ok(if any || is_done { Exit::Done } else { Exit::NothingFound })
    }
}

impl StudyArgs {
    /// The rows and columns asked for, and where their workloads are.
    pub fn asked(self) -> Result<Asked, Failure> {
        let name = self.study.unwrap_or_default();
        let study = studies().find(|study| study.name == name).ok_or_else(|| {
            Failure::message(Exit::Usage, format!("there is no study `{name}`; there are:\n{}", listing()))
        })?;
        let mut plan = (study.plan)();
        let asked = |column: &str| self.columns.is_empty() || self.columns.iter().any(|text| column.contains(text));
        plan.figures.retain(|figure| figure.row.contains(&self.only) && asked(&figure.column));
        match plan.figures.is_empty() {
            true => Err(Failure::message(Exit::Usage, "no row and column has such a name")),
            false => Ok(Asked { study, plan, shelf: Shelf::new(self.workloads)?, certify: false }),
        }
    }
}

/// Rows and columns of a study.
pub struct Asked {
    study: &'static Study,
    plan: Plan,
    shelf: Shelf,
    /// Whether a checker has to accept a proof of what is optimal.
    pub certify: bool,
}

impl Asked {
    /// Whether some of their files are made, and go afterwards.
    fn makes_files(&self) -> bool {
        !self.shelf.files.is_empty()
    }

    /// How many runs they come of.
    pub fn count(&self) -> usize {
        (0..self.plan.runs.len()).filter(|&run| self.plan.uses(run)).count()
    }

    /// The figures, of runs within the limits of `search`.
    pub fn made(&mut self, search: &mut SearchArgs, runner: &mut Runner) -> Result<Reproduced, Failure> {
        search.default_time_limit(TIME_LIMIT);
        let runs = self.plan.runs.iter().enumerate().map(|(index, run)| match self.plan.uses(index) {
            true => result(run, &mut self.shelf, (search, self.certify), runner),
            false => Ok(Ran::Skipped),
        });
        let ran = runs.collect::<Result<_, _>>()?;
        Ok(self.reproduced(ran))
    }

    fn reproduced(&self, ran: Vec<Ran>) -> Reproduced {
        let Self { study, plan, .. } = self;
        let figures = outcomes(plan, &ran);
        let (table, data) = (reproduce::sheet(study, plan, &figures), reproduce::data(study, &figures));
        let runs = plan.runs.iter().zip(ran).map(|(run, result)| RunRecord {
            workload: place(&run.workload),
            method: run.method.clone(),
            topology: run.topology.as_ref().map(|recipe| recipe.command_line()),
            answer: run.answer.clone(),
            options: run.options.clone(),
            result,
        });
        let (schema, runs) = ("dagsplit-reproduce/1", runs.collect());
        let record = Reproduction { schema, study: study.name, source: study.source, figures, runs };
        Reproduced { record, table, data }
    }
}

fn result(
    run: &Run,
    shelf: &mut Shelf,
    (search, certify): (&SearchArgs, bool),
    runner: &mut Runner,
) -> Result<Ran, Failure> {
    let Some(file) = shelf.file(&run.workload)? else { return Ok(Ran::Missing(place(&run.workload))) };
    let method = match shelf.method(run)? {
        Ok(method) => method,
        Err(none) => return Ok(none),
    };
    if let Err(error) = registry::solver(&method)
        && method != OWN_PARTITIONER
    {
        return Ok(Ran::Unavailable(cause(&error.to_string())));
    }
    if let Some(recipe) = &run.topology {
        let record = runner(&planning(run, (&file, &shelf.topology(recipe)?), (&method, recipe), search)?)?;
        return Ok(record.map_or(Ran::Skipped, |record| Ran::Record(Box::new(record))));
    }
    let options = match RunOptions::try_parse_from(&run.options) {
        Ok(options) => options,
        Err(error) => return Ok(Ran::Unavailable(cause(&error.to_string()))),
    };
    let question =
        Question { reading: &options.reading, problem: &options.problem, search, seeds: &[search.seed], certify };
    let mut tasks = question.tasks(&file, &[method])?;
    if let (Some(task), Some(Answer::Stages(stages))) = (tasks.first_mut(), &run.answer) {
        // The file that holds them is another one each time.
        task.trial.method = format!("{} {}", run.method, json!(stages));
    }
    let record = tasks.first().map(runner).transpose()?.flatten();
    Ok(record.map_or(Ran::Skipped, |record| Ran::Record(Box::new(record))))
}

/// The plan of a run: its workload's and its topology's file, the partitioner, and where the topology is from.
fn planning(
    run: &Run,
    (file, topology): (&Path, &Path),
    (partitioner, recipe): (&str, &TopologyRecipe),
    search: &SearchArgs,
) -> Result<Task, Failure> {
    let instance = read_instance(file, &ReadOptions::default()).or_fail(Exit::BadInput)?;
    let method = format!("{partitioner} {} on {}", run.options.join(" "), recipe.command_line());
    let options = std::iter::once("--memory=unlimited".to_owned()).chain(run.options.iter().cloned());
    let plan =
        PlanTask { file, topology, method, partitioner: Some(partitioner).filter(|name| *name != OWN_PARTITIONER) };
    Ok(plan.task((&instance, &instance.platform), options, search))
}

fn listing() -> String {
    let width = studies().map(|study| study.name.len()).max().unwrap_or(0);
    studies().map(|study| format!("{:<width$}  {}: {}\n", study.name, study.source, study.title)).collect()
}

/// What is wrong, without what there is in its place.
fn cause(message: &str) -> String {
    let first = message.lines().next().unwrap_or_default();
    first.split(';').next().unwrap_or_default().trim_start_matches("error: ").into()
}

/// Where a workload comes from, in words.
fn place(workload: &Workload) -> String {
    match workload {
        Workload::Published { path, origin } => format!("{path}, from {origin}"),
        Workload::Generated(recipe) => recipe.command_line(),
    }
}

impl Shelf {
    fn new(published: Option<PathBuf>) -> Result<Self, Failure> {
        let published = published.or_else(|| std::env::var_os("DAGSPLIT_WORKLOADS").map(PathBuf::from));
        if let Some(missing) = published.as_ref().filter(|folder| !folder.is_dir()) {
            return Err(Failure::message(Exit::BadInput, format!("{}: there is no such folder", text::path(missing))));
        }
        let published = published.or_else(|| Some(PathBuf::from(IN_CLONE)).filter(|folder| folder.is_dir()));
        Ok(Self { published, made: tempfile::tempdir().or_fail(Exit::Output)?, files: BTreeMap::new() })
    }

    /// The workload's file, if it is at hand.
    fn file(&mut self, workload: &Workload) -> Result<Option<PathBuf>, Failure> {
        match workload {
            Workload::Published { path, .. } => Ok(self.published(path)),
            Workload::Generated(recipe) => self.make(recipe).map(Some),
        }
    }

    /// The published file that stands at this place of `instances/profiled`.
    fn published(&self, path: &str) -> Option<PathBuf> {
        let folder = self.published.as_ref()?;
        let places = [Some(path.to_owned()), reproduce::place_at_authors(path)];
        places.into_iter().flatten().map(|path| folder.join(path)).find(|file| file.is_file())
    }

    fn make(&mut self, recipe: &Recipe) -> Result<PathBuf, Failure> {
        self.keep(recipe.command_line(), || {
            let instance = generate(recipe).or_fail(Exit::Bug)?;
            write_instance(&instance, OutputFormat::Native).or_fail(Exit::Bug)
        })
    }

    /// The topology's file.
    fn topology(&mut self, recipe: &TopologyRecipe) -> Result<PathBuf, Failure> {
        self.keep(recipe.command_line(), || Ok(write_topology(&generate_topology(recipe).or_fail(Exit::Bug)?)))
    }

    /// The file of what has this key, which is written where there is none yet.
    fn keep(&mut self, key: String, text: impl FnOnce() -> Result<String, Failure>) -> Result<PathBuf, Failure> {
        if let Some(file) = self.files.get(&key) {
            return Ok(file.clone());
        }
        let file = self.made.path().join(format!("{}.json", self.files.len()));
        write_out(Some(&file), &text()?)?;
        self.files.insert(key, file.clone());
        Ok(file)
    }

    /// The method's spec string, or what becomes of the run where the split that it takes is not there.
    fn method(&mut self, run: &Run) -> Result<Result<String, Ran>, Failure> {
        match &run.answer {
            Some(Answer::Stages(stages)) => {
                let file = self.keep(format!("{stages:?}"), || Ok(split_file(stages)))?;
                Ok(Ok(format!("{}:file={}", run.method, file.display())))
            }
            Some(Answer::Refusal(reason)) => Ok(Err(Ran::Refused(reason.clone()))),
            None => Ok(self.with_file(run).map_err(Ran::Missing)),
        }
    }

    /// The spec string of a method of the study, or the place of a file that it names and that is not at hand.
    fn with_file(&self, run: &Run) -> Result<String, String> {
        let (Some((method, path)), Workload::Published { origin, .. }) = (run.method.split_once(FOLDER), &run.workload)
        else {
            return Ok(run.method.clone());
        };
        let file = self.published(path).ok_or_else(|| format!("{path}, from {origin}"))?;
        Ok(format!("{method}{}", file.display()))
    }
}

/// A split file of stages, of each of which the first and the last node are given.
fn split_file(stages: &[[u64; 2]]) -> String {
    let nodes = |&[first, last]: &[u64; 2]| json!({"nodes": (first..=last).collect::<Vec<_>>()});
    json!({"fpgas": stages.iter().map(nodes).collect::<Vec<_>>()}).to_string()
}
