//! `dagsplit reproduce`

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use crate::formats::write_topology;
use crate::formats::{OutputFormat, write_instance};
use crate::generate::topology::{TopologyRecipe, generate as generate_topology};
use crate::generate::{Recipe, generate};
use crate::registry;
use crate::report::table;
use crate::reproduce::{self, Outcome, Plan, Ran, Run, Study, Workload, outcomes, studies};
use crate::text;
use clap::Parser;
use serde::Serialize;

use super::problem_args::ProblemArgs;
use super::reading_args::ReadingOptions;
use super::runs_args::RunsArgs;
use super::series::Series;
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

/// Make a published table again and show our figures beside the published ones.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
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

    #[command(flatten)]
    runs: RunsArgs,
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
struct Reproduction<'a> {
    schema: &'static str,
    study: &'static str,
    source: &'static str,
    figures: &'a [Outcome],
    runs: Vec<RunRecord<'a>>,
}

#[derive(Serialize)]
struct RunRecord<'a> {
    workload: String,
    method: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    topology: Option<String>,
    options: &'a [String],
    result: &'a Ran,
}

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
        let Some(name) = &self.study else {
            print(&listing())?;
            return Ok(Exit::Done);
        };
        let study = studies().find(|study| study.name == name).ok_or_else(|| {
            Failure::message(Exit::Usage, format!("there is no study `{name}`; there are:\n{}", listing()))
        })?;
        self.runs.search.default_time_limit(TIME_LIMIT);
        let plan = self.selected((study.plan)())?;
        let ran = self.ran(&plan)?;
        self.report(study, &plan, &ran)
    }

    /// The rows and columns asked for.
    fn selected(&self, mut plan: Plan) -> Result<Plan, Failure> {
        let asked = |column: &str| self.columns.is_empty() || self.columns.iter().any(|text| column.contains(text));
        plan.figures.retain(|figure| figure.row.contains(&self.only) && asked(&figure.column));
        match plan.figures.is_empty() {
            true => Err(Failure::message(Exit::Usage, "no row and column has such a name")),
            false => Ok(plan),
        }
    }

    fn ran(&self, plan: &Plan) -> Result<Vec<Ran>, Failure> {
        let needed: Vec<bool> = (0..plan.runs.len()).map(|run| plan.uses(run)).collect();
        let mut shelf = Shelf::new(self.workloads.clone())?;
        let mut series = self.runs.series.start(needed.iter().filter(|needed| **needed).count())?;
        let ran = plan.runs.iter().zip(needed).map(|(run, needed)| match needed {
            true => self.result(run, &mut shelf, &mut series),
            false => Ok(Ran::Skipped),
        });
        ran.collect()
    }

    fn result(&self, run: &Run, shelf: &mut Shelf, series: &mut Series) -> Result<Ran, Failure> {
        let Some(file) = shelf.file(&run.workload)? else { return Ok(Ran::Missing(place(&run.workload))) };
        let method = match shelf.method(run) {
            Ok(method) => method,
            Err(place) => return Ok(Ran::Missing(place)),
        };
        if let Err(error) = registry::solver(&method) {
            return Ok(Ran::Unavailable(cause(&error.to_string())));
        }
        if let Some(recipe) = &run.topology {
            let topology = shelf.topology(recipe)?;
            let task = PlanTask { file: &file, topology: &topology, name: &recipe.command_line(), method: &method };
            let record = series.run(&task.task(&run.options, &self.runs.search)?)?;
            return Ok(record.map_or(Ran::Skipped, |record| Ran::Record(Box::new(record))));
        }
        let options = match RunOptions::try_parse_from(&run.options) {
            Ok(options) => options,
            Err(error) => return Ok(Ran::Unavailable(cause(&error.to_string()))),
        };
        let question = Question {
            reading: &options.reading,
            problem: &options.problem,
            search: &self.runs.search,
            certify: self.runs.certify,
        };
        let tasks: Vec<Task> = question.tasks(&file, &[method])?;
        let record = tasks.first().map(|task| series.run(task)).transpose()?.flatten();
        Ok(record.map_or(Ran::Skipped, |record| Ran::Record(Box::new(record))))
    }

    fn report(&self, study: &'static Study, plan: &Plan, ran: &[Ran]) -> Result<Exit, Failure> {
        let figures = outcomes(plan, ran);
        let sheet = reproduce::sheet(study, plan, &figures);
        print(&table::sheet(&sheet))?;
        let runs = plan.runs.iter().zip(ran).map(|(run, result)| RunRecord {
            workload: place(&run.workload),
            method: &run.method,
            topology: run.topology.as_ref().map(|recipe| recipe.command_line()),
            options: &run.options,
            result,
        });
        let record = Reproduction {
            schema: "dagsplit-reproduce/1",
            study: study.name,
            source: study.source,
            figures: &figures,
            runs: runs.collect(),
        };
        self.runs.export.write(&record, &reproduce::data(study, &figures), &sheet)?;
        let any = figures.iter().any(|figure| figure.ours.is_some());
        Ok(if any { Exit::Done } else { Exit::NothingFound })
    }
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
        let command = recipe.command_line();
        if let Some(file) = self.files.get(&command) {
            return Ok(file.clone());
        }
        let instance = generate(recipe).or_fail(Exit::Bug)?;
        let file = self.made.path().join(format!("{}.json", self.files.len()));
        write_out(Some(&file), &write_instance(&instance, OutputFormat::Native).or_fail(Exit::Bug)?)?;
        self.files.insert(command, file.clone());
        Ok(file)
    }

    /// The topology's file.
    fn topology(&mut self, recipe: &TopologyRecipe) -> Result<PathBuf, Failure> {
        let command = recipe.command_line();
        if let Some(file) = self.files.get(&command) {
            return Ok(file.clone());
        }
        let topology = generate_topology(recipe).or_fail(Exit::Bug)?;
        let file = self.made.path().join(format!("topology{}.json", self.files.len()));
        write_out(Some(&file), &write_topology(&topology))?;
        self.files.insert(command, file.clone());
        Ok(file)
    }

    /// The method's spec string, or the place of a file that it names and that is not at hand.
    fn method(&self, run: &Run) -> Result<String, String> {
        let (Some((method, path)), Workload::Published { origin, .. }) = (run.method.split_once(FOLDER), &run.workload)
        else {
            return Ok(run.method.clone());
        };
        let file = self.published(path).ok_or_else(|| format!("{path}, from {origin}"))?;
        Ok(format!("{method}{}", file.display()))
    }
}
