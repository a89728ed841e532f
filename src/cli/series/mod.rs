//! Many runs: several at a time, parts for several processes, saving after each, resuming, Ctrl-C.

mod shard;
mod tally;

use std::io::{self, Read, Seek};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::process::{Order, in_own_group, watch};
use crate::report::comparison::{Ending, Journal, Machine, Record, Versions};
use crate::report::lines::{JournalError, Lines};
use crate::text::{self, escaped_json};
use dagsplit_check::hash;
use serde_json::json;
pub use shard::Shard;
pub use tally::Tally;

use super::supervised::{self, Supervision};
use super::task::Task;
use super::{Exit, Failure, invocation, memory, note, print_raw, progress, values};

/// Which runs are made, how many at a time, and where their results are kept.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Runs")]
pub struct SeriesArgs {
    /// Save each result as soon as it is there, one JSON object (schema `dagsplit-compare/1`) a line. In a folder (which ends
    /// with `/` where it is not there yet) every process has a file of its own, and what any of them holds is not run again.
    #[arg(long, value_name = "FILE|FOLDER")]
    results: Option<PathBuf>,

    /// Go on with the results file: what it holds already (same workload, problem, costs, method, seed, limits and version) is
    /// not run again.
    #[arg(long, requires = "results")]
    resume: bool,

    /// Take results of other versions of dagsplit, too, where there are none of this one.
    #[arg(long, requires = "results")]
    any_version: bool,

    /// How many runs are made at a time, each with its share of the memory there is as its limit; 0 is as many as there are
    /// cores for their threads. Runs beside each other take longer.
    #[arg(long, value_name = "N", default_value = "1", value_parser = values::whole::<usize>(0..=values::COUNT))]
    jobs: usize,

    /// Make one part of the runs, such as `2/8` (from 1). `slurm` is the part of a task of `sbatch --array`.
    #[arg(long, value_name = "PART/COUNT", requires = "results")]
    shard: Option<Shard>,

    /// List the runs in place of making them, one JSON object a line.
    #[arg(long)]
    list_tasks: bool,

    /// How long after its time limit a process that does not stop by itself is ended.
    #[arg(long, value_name = "SECONDS", default_value = "30", value_parser = values::seconds)]
    grace: Duration,

    /// The dagsplit that runs the methods, such as another version [default: this one].
    #[arg(long, value_name = "PROGRAM")]
    program: Option<PathBuf>,

    /// Show no progress.
    #[arg(long)]
    quiet: bool,
}

/// What came of a list of tasks.
pub struct Made {
    /// The record of each; `None` where it is of another part, or Ctrl-C came before it.
    pub records: Vec<Option<Record>>,
    /// Whether Ctrl-C came.
    pub is_interrupted: bool,
}

/// Runs tasks and keeps their records.
struct Series<'a> {
    arguments: &'a SeriesArgs,
    program: &'a Path,
    jobs: usize,
    journal: Mutex<Journal>,
    interrupted: Arc<AtomicBool>,
    tally: Tally,
    machine: Machine,
    versions: Versions,
}

impl SeriesArgs {
    /// Makes the runs that are asked for; where they are to be listed, `None`.
    ///
    /// # Errors
    /// Results cannot be read or written.
    pub fn make(&self, mut tasks: Vec<Task>) -> Result<Option<Made>, Failure> {
        let jobs = self.jobs(&tasks);
        if let Some(memory) = memory::default_limit().filter(|_| jobs > 1) {
            tasks.iter_mut().for_each(|task| task.limit_memory(memory / jobs as u64));
        }
        let own: Vec<usize> =
            (0..tasks.len()).filter(|&task| self.shard.is_none_or(|shard| shard.holds(task))).collect();
        if self.list_tasks {
            let lines: String = own.iter().map(|&place| format!("{}\n", listed(place, &tasks[place]))).collect();
            print_raw(&lines)?;
            return Ok(None);
        }
        let series = self.series(own.len(), jobs)?;
        let mut records = vec![None; tasks.len()];
        for (place, record) in own.iter().zip(series.run(&tasks, &own)?) {
            records[*place] = record;
        }
        Ok(Some(Made { records, is_interrupted: series.is_interrupted() }))
    }

    /// Whether anything is asked of runs but to show no progress.
    pub fn are_asked(&self) -> bool {
        self.results.is_some() || self.program.is_some() || self.list_tasks || self.jobs != 1
    }

    /// Whether no progress is shown.
    pub fn is_quiet(&self) -> bool {
        self.quiet
    }

    /// Whether only a part of the runs is made.
    pub fn is_part(&self) -> bool {
        self.shard.is_some()
    }

    /// Whether the runs are only listed.
    pub fn lists(&self) -> bool {
        self.list_tasks
    }

    fn series(&self, count: usize, jobs: usize) -> Result<Series<'_>, Failure> {
        let journal = match &self.results {
            None => Ok(Lines::default()),
            Some(path) if path.is_dir() || ends_with_separator(path) => Lines::folder(path),
            Some(_) if self.is_part() => {
                let cause =
                    "the parts of a list need a folder for their results; give --results a name that ends with /";
                return Err(Failure::message(Exit::Usage, cause));
            }
            Some(_) if self.any_version && !self.resume => {
                let cause = "--any-version takes results from a file with --resume alone";
                return Err(Failure::message(Exit::Usage, cause));
            }
            Some(path) if self.resume => Lines::resume(path),
            Some(path) => Lines::create(path),
        };
        Ok(Series {
            arguments: self,
            program: self.program.as_deref().unwrap_or(invocation::program()),
            jobs,
            journal: Mutex::new(journal.map_err(journal_failure)?.into()),
            interrupted: progress::interrupt_flag()?,
            tally: Tally::new(count, "runs", self.quiet),
            machine: Machine::here(),
            versions: self.program.as_deref().map_or_else(|| Ok(Versions::of_this_program()), versions_of)?,
        })
    }

    /// How many runs are made at a time, of all parts the same.
    fn jobs(&self, tasks: &[Task]) -> usize {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let threads = tasks.iter().map(|task| task.trial.limits.threads).max().unwrap_or(1);
        if self.jobs == 0 {
            return (cores / threads).clamp(1, tasks.len().max(1));
        }
        if self.jobs > 1 && self.jobs * threads > cores {
            note(&format!(
                "--jobs {} with {threads} threads each: there are {cores} cores; times will be longer",
                self.jobs
            ));
        }
        self.jobs.min(tasks.len())
    }
}

fn ends_with_separator(path: &Path) -> bool {
    path.to_string_lossy().ends_with(std::path::is_separator)
}

/// A task for programs that hand them out.
fn listed(place: usize, task: &Task) -> String {
    let trial = &task.trial;
    let object = json!({
        "task": place + 1,
        "workload": trial.instance.name,
        "file": task.file,
        "hash": trial.instance.hash,
        "method": trial.method,
        "scope": trial.problem.scope.name(),
        "seed": trial.seed,
        "command": task.command(),
        "refusal": task.refusal,
    });
    escaped_json(&object.to_string()).into_owned()
}

impl Series<'_> {
    fn is_interrupted(&self) -> bool {
        self.interrupted.load(Ordering::Relaxed)
    }

    fn journal(&self) -> MutexGuard<'_, Journal> {
        self.journal.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The records of the tasks at `places`, in that order.
    fn run(&self, tasks: &[Task], places: &[usize]) -> Result<Vec<Option<Record>>, Failure> {
        let next = AtomicUsize::new(0);
        let worker = || -> Result<Vec<(usize, Option<Record>)>, Failure> {
            let mut made = Vec::new();
            loop {
                let turn = next.fetch_add(1, Ordering::Relaxed);
                let Some(&place) = places.get(turn) else { return Ok(made) };
                made.push((turn, self.record(&tasks[place])?));
            }
        };
        let mut made = together(self.jobs.min(places.len()), worker)?;
        made.sort_by_key(|(turn, _)| *turn);
        Ok(made.into_iter().map(|(_, record)| record).collect())
    }

    /// The task's record: what came of an equal one, or that of a run. `None` once Ctrl-C came.
    fn record(&self, task: &Task) -> Result<Option<Record>, Failure> {
        let run = format!("{}: {}", task.trial.instance.name, task.trial.method);
        self.tally.begin(&run);
        let known = self.journal().find(&task.trial, &self.versions, self.arguments.any_version).cloned();
        let record = match known {
            Some(known) => Some(known.of(task.file.clone(), task.trial.clone(), task.command())),
            None if self.is_interrupted() => None,
            None => {
                let ending = task.refused().unwrap_or_else(|| self.ending(task));
                let record = task.record(ending, self.machine.clone(), self.versions.clone());
                self.journal().add(record.clone()).map_err(journal_failure)?;
                Some(record)
            }
        };
        if record.is_some() {
            self.tally.done(&run);
        }
        Ok(record)
    }

    fn ending(&self, task: &Task) -> Ending {
        let limits = &task.trial.limits;
        let limit = limits.time_limit.and_then(|limit| Duration::try_from_secs_f64(limit).ok());
        // A proof has the same time again.
        let searches = if limits.certify { 2 } else { 1 };
        let supervision = Supervision {
            patience: limit.and_then(|limit| limit.checked_mul(searches)?.checked_add(self.arguments.grace)),
            interrupted: &self.interrupted,
        };
        let mut arguments = task.arguments.clone();
        arguments.extend(["--json".to_owned(), "--quiet".to_owned()]);
        supervised::run(self.program, &arguments, &supervision)
    }
}

/// What so many threads make, each of which is a `worker`.
///
/// # Errors
/// That of the first worker that fails.
pub fn together<T: Send>(count: usize, worker: impl Fn() -> Result<Vec<T>, Failure> + Sync) -> Result<Vec<T>, Failure> {
    let made = std::thread::scope(|scope| {
        let workers: Vec<_> = (0..count).map(|_| scope.spawn(&worker)).collect();
        let joined =
            workers.into_iter().map(|worker| worker.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
        joined.collect::<Result<Vec<_>, _>>()
    })?;
    Ok(made.into_iter().flatten().collect())
}

/// The failure of results that cannot be read or written.
pub fn journal_failure(error: JournalError) -> Failure {
    let exit = match &error {
        JournalError::Exists(_) => Exit::Usage,
        JournalError::NoRecord { .. } | JournalError::Read { .. } | JournalError::Versions(_) => Exit::BadInput,
        JournalError::Write { .. } => Exit::Output,
    };
    Failure::new(exit, error.into())
}

/// What another program says of its version, and which build it is.
fn versions_of(program: &Path) -> Result<Versions, Failure> {
    let bytes = std::fs::read(found(program));
    let bytes = bytes.map_err(|error| {
        Failure::message(Exit::Usage, format!("--program {}: it cannot be read: {error}", text::path(program)))
    })?;
    Ok(Versions::told(&version_said(program).unwrap_or_default(), hash(&bytes)))
}

/// The file of a program, which the system looks for in `PATH` where its name is no path.
fn found(program: &Path) -> PathBuf {
    let folders = std::env::var_os("PATH").filter(|_| program.components().count() == 1);
    let mut files = folders.iter().flat_map(std::env::split_paths).map(|folder| folder.join(program));
    files.find(|file| file.is_file()).unwrap_or_else(|| program.into())
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
