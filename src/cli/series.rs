//! Many runs, one after another: progress, saving after each, resuming, Ctrl-C.

use std::io::{self, Read, Seek};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use crate::process::{Order, in_own_group, watch};
use crate::report::comparison::{Ending, Journal, JournalError, Machine, Record, Versions};
use crate::text::escaped;
use indicatif::{ProgressBar, ProgressStyle};

use super::supervised::{self, Supervision};
use super::task::Task;
use super::{Exit, Failure, OrFail, progress, values};

/// Where results are kept while methods run.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Runs")]
pub struct SeriesArgs {
    /// Save each result to this file as soon as it is there, one JSON object (schema `dagsplit-compare/1`) a line.
    #[arg(long, value_name = "FILE")]
    results: Option<PathBuf>,

    /// Go on with the results file: what it holds already (same workload, problem, method, seed and limits) is not run
    /// again.
    #[arg(long, requires = "results")]
    resume: bool,

    /// How long after its time limit a process that does not stop by itself is ended.
    #[arg(long, value_name = "SECONDS", default_value = "30", value_parser = values::seconds)]
    grace: Duration,

    /// The dagsplit that runs the methods, such as another version [default: this one].
    #[arg(long, value_name = "PROGRAM")]
    program: Option<PathBuf>,

    /// Show no progress bar.
    #[arg(long)]
    quiet: bool,
}

/// Runs tasks and keeps their records.
pub struct Series {
    program: PathBuf,
    grace: Duration,
    journal: Journal,
    interrupted: Arc<AtomicBool>,
    bar: ProgressBar,
    machine: Machine,
    versions: Versions,
}

impl SeriesArgs {
    /// Makes everything ready for `count` runs.
    pub fn start(&self, count: usize) -> Result<Series, Failure> {
        let journal = match &self.results {
            Some(path) if self.resume => Journal::resume(path),
            path => Journal::create(path.as_deref()),
        };
        Ok(Series {
            program: self.program.clone().map_or_else(std::env::current_exe, Ok).or_fail(Exit::Bug)?,
            grace: self.grace,
            journal: journal.map_err(journal_failure)?,
            interrupted: progress::interrupt_flag()?,
            bar: if self.quiet { ProgressBar::hidden() } else { progress_bar(count) },
            machine: Machine::here(),
            versions: self.program.as_deref().map_or_else(Versions::of_this_program, versions_of),
        })
    }
}

impl Series {
    /// Whether Ctrl-C came.
    pub fn is_interrupted(&self) -> bool {
        self.interrupted.load(Ordering::Relaxed)
    }

    /// The task's record: that of the results file, or that of a run. `None` once Ctrl-C came.
    ///
    /// # Errors
    /// The results file cannot be written.
    pub fn run(&mut self, task: &Task) -> Result<Option<Record>, Failure> {
        self.bar.set_message(escaped(&format!("{}: {}", task.trial.instance.name, task.trial.method)).into_owned());
        let known = self.journal.find(&task.trial).cloned();
        let record = match known {
            Some(known) => Some(known),
            None if self.is_interrupted() => None,
            None => {
                let record = self.record(task);
                self.journal.add(record.clone()).map_err(journal_failure)?;
                Some(record)
            }
        };
        self.bar.inc(1);
        Ok(record)
    }

    fn record(&self, task: &Task) -> Record {
        let ending = task.refused().unwrap_or_else(|| self.ending(task));
        task.record(ending, self.machine.clone(), self.versions.clone())
    }

    fn ending(&self, task: &Task) -> Ending {
        let limit = task.trial.limits.time_limit.and_then(|limit| Duration::try_from_secs_f64(limit).ok());
        // A proof has the same time again.
        let searches = if task.trial.limits.certify { 2 } else { 1 };
        let supervision = Supervision {
            patience: limit.and_then(|limit| limit.checked_mul(searches)?.checked_add(self.grace)),
            interrupted: &self.interrupted,
        };
        let mut arguments = task.arguments.clone();
        arguments.extend(["--json".to_owned(), "--quiet".to_owned()]);
        supervised::run(&self.program, &arguments, &supervision)
    }
}

impl Drop for Series {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}

fn journal_failure(error: JournalError) -> Failure {
    let exit = match &error {
        JournalError::Exists(_) => Exit::Usage,
        JournalError::NoRecord { .. } | JournalError::Read { .. } => Exit::BadInput,
        JournalError::Write { .. } => Exit::Output,
    };
    Failure::new(exit, error.into())
}

/// What another program says of its version.
fn versions_of(program: &Path) -> Versions {
    let said = version_said(program).unwrap_or_default();
    let version = said.trim().strip_prefix("dagsplit ").unwrap_or("unknown");
    Versions { dagsplit: version.into(), highs: None }
}

/// What it says, as far as it does so soon and in few words.
fn version_said(program: &Path) -> io::Result<String> {
    const PATIENCE: Duration = Duration::from_secs(10);
    const LONGEST: u64 = 1000;
    let mut answer = tempfile::tempfile()?;
    let mut command = Command::new(program);
    command.arg("--version").stdin(Stdio::null()).stdout(answer.try_clone()?).stderr(Stdio::null());
    let order = |elapsed| Ok(if elapsed < PATIENCE { Order::GoOn } else { Order::End });
    watch(in_own_group(&mut command).spawn()?, order)?;
    answer.rewind()?;
    let mut said = String::new();
    answer.take(LONGEST).read_to_string(&mut said).map(|_| said)
}

/// A bar on standard error; indicatif hides it where that is no terminal.
fn progress_bar(count: usize) -> ProgressBar {
    let style = ProgressStyle::with_template("{bar:24} {pos}/{len} {elapsed_precise} {msg}");
    let bar = ProgressBar::new(count as u64);
    bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
    bar.enable_steady_tick(Duration::from_millis(200));
    bar
}
