//! `dagsplit compare`

use std::path::PathBuf;

use crate::registry;
use crate::report::comparison::{self, Measured, Record, Status, contradiction, measured};
use crate::report::plot::plot;
use crate::report::table;

use super::problem_args::ProblemArgs;
use super::reading_args::ReadingOptions;
use super::runs_args::RunsArgs;
use super::task::{Question, Task};
use super::verbatim::Verbatim;
use super::{Exit, Failure, OrFail, print, write_out};

const EXAMPLES: &str = "\
Examples:
  dagsplit compare bert.json gnmt.json --methods dp,dpl
  dagsplit compare bert.json --methods dp,certify,annealing:patience=50 --scope acyclic,arbitrary
  dagsplit compare *.json --methods dp,dpl --time-limit 60 --results runs.jsonl --resume --plot gaps.svg

Each method runs in a process of its own: one that dies, or does not stop, is a row of the table. Its split is \
checked by the independent verifier in that process, as `dagsplit solve` does. Ctrl-C keeps what is done.";

/// Run several methods on several workloads and show how far each is from the optimum.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// The workloads, in any format that `solve` reads.
    #[arg(value_name = "FILE", required = true)]
    files: Vec<PathBuf>,

    /// The methods, as spec strings separated by commas (`dp,annealing:patience=50,seed=2`); `dagsplit methods` lists
    /// them. A method runs in those of the scopes that it takes.
    #[arg(long, value_name = "SPEC,...", help_heading = "Search")]
    methods: String,

    #[command(flatten)]
    reading: Verbatim<ReadingOptions>,

    #[command(flatten)]
    problem: Verbatim<ProblemArgs>,

    #[command(flatten)]
    runs: RunsArgs,

    /// Draw gap against time, and the gaps by workload, as SVG.
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    plot: Option<PathBuf>,
}

impl Args {
    pub fn run(self) -> Result<Exit, Failure> {
        let tasks = self.tasks()?;
        let mut series = self.runs.series.start(tasks.len())?;
        let mut records = Vec::with_capacity(tasks.len());
        for task in &tasks {
            records.extend(series.run(task)?);
        }
        drop(series);
        self.report(&records, tasks.len())
    }

    fn tasks(&self) -> Result<Vec<Task>, Failure> {
        let methods = registry::split_list(&self.methods);
        let question = Question { reading: &self.reading, problem: &self.problem, search: &self.runs.search };
        let tasks = self.files.iter().map(|file| question.tasks(file, &methods));
        Ok(tasks.collect::<Result<Vec<_>, _>>()?.into_iter().flatten().collect())
    }

    fn report(&self, records: &[Record], tasks: usize) -> Result<Exit, Failure> {
        let runs = measured(records);
        let sheet = comparison::sheet(&runs);
        print(&table::sheet(&sheet))?;
        self.runs.export.write(&records, &sheet, &sheet)?;
        if let Some(path) = &self.plot {
            write_out(Some(path), &plot(&runs).or_fail(Exit::Bug)?)?;
        }
        match contradiction(records) {
            Some(contradiction) => Err(Failure::new(Exit::Bug, contradiction.into())),
            None if records.len() < tasks => Ok(Exit::NothingFound),
            None => Ok(exit(&runs)),
        }
    }
}

/// As for `solve`: done where each workload has a split in each scope, infeasible where none of them can have one.
fn exit(runs: &[Measured<'_>]) -> Exit {
    let of_problem =
        |run: &Measured<'_>| (run.record.trial.instance.hash.clone(), run.record.trial.problem.scope.clone());
    let any = |of: &Measured<'_>, holds: fn(&Measured<'_>) -> bool| {
        runs.iter().any(|run| of_problem(run) == of_problem(of) && holds(run))
    };
    let is_split = |run: &Measured<'_>| run.record.ending.objective.is_some();
    let is_infeasible = |run: &Measured<'_>| run.record.ending.status == Status::Infeasible;
    if !runs.is_empty() && runs.iter().all(|run| any(run, is_split)) {
        Exit::Done
    } else if !runs.is_empty() && runs.iter().all(|run| any(run, is_infeasible)) {
        Exit::Infeasible
    } else {
        Exit::NothingFound
    }
}
