//! The command line: one file per verb.

mod all_reduce_args;
mod any_split;
mod asked;
mod check;
mod compare;
#[cfg(feature = "conformance")]
mod conform;
mod convert;
mod draw;
#[cfg(feature = "conformance")]
pub mod embedded;
mod exit;
mod export;
mod export_args;
#[cfg(feature = "highs")]
mod formulate;
mod generate;
mod generate_topology;
mod hosts_args;
#[cfg(feature = "highs")]
mod import_solution;
mod info;
mod invocation;
mod ledger;
mod map;
mod mapping_args;
mod memory;
mod methods;
mod model_args;
mod plan;
mod plan_args;
mod plans;
mod plot_args;
mod problem_args;
mod progress;
mod question;
mod reading_args;
mod reproduce;
mod runs_args;
mod search_args;
mod series;
mod simulate;
mod solve;
mod stage_memory_args;
mod supervised;
mod task;
mod together_args;
#[cfg(feature = "conformance")]
mod tried_cases;
mod values;
mod verbatim;
mod verify;

use std::borrow::Cow;
use std::ffi::OsString;
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::{LazyLock, OnceLock};
use std::time::Instant;

use crate::report::comparison::Versions;
use crate::text::{self, escaped_json, escaped_lines};
use clap::{Parser, Subcommand};

use asked::Asked;
pub use exit::{Exit, Failure, OrFail};
pub use question::{Answer, Watch};
pub use reproduce::Reproduced;

const AFTER_HELP: &str = "\
Exit codes:
  0  solved, or the split is valid        4  no split or mapping exists (infeasible)
  1  a split, law or proof does not hold  5  nothing found within the limit
  2  usage                               70  a bug in dagsplit: please report it
  3  an input file is bad                74  output cannot be written

Ctrl-C stops a search, which still tells its best result. A second Ctrl-C, a
second or more later, ends the program at once; sooner, only a third one does.

A first session:
  dagsplit info bert.json
  dagsplit solve bert.json --accelerators 4 --memory 16GiB --output split.json
  dagsplit verify bert.json split.json
  dagsplit draw bert.json --split split.json --output split.svg";

/// What `--version` tells.
static VERSIONS: LazyLock<String> = LazyLock::new(|| Versions::of_this_program().to_string());

/// Split a deep network's computation graph over devices with proven optimality.
#[derive(Debug, Parser)]
#[command(name = "dagsplit", version = VERSIONS.as_str(), about, after_help = AFTER_HELP, max_term_width = 100)]
struct CommandLine {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, Subcommand)]
enum Verb {
    /// Find the best split of a workload, with a proof of how good it is.
    Solve(Asked<solve::Args>),
    /// Place the stages of a pipeline, each in several copies, on the devices of an interconnect.
    Map(Asked<map::Args>),
    /// Choose stages, replicas, tensor degree and devices for a batch: split, map and simulate every way to use an interconnect.
    Plan(Asked<Box<plan::Args>>),
    /// Run several methods on several workloads and show how far each is from the optimum.
    Compare(Asked<Box<compare::Args>>),
    /// Make a published table again and show our figures beside the published ones.
    Reproduce(Asked<reproduce::Args>),
    /// Check a split against its workload and recompute its loads; every violation is listed.
    Verify(Asked<verify::Args>),
    /// Check a proof that no split of a workload is better, whoever wrote it.
    Check(Asked<check::Args>),
    /// Show the best splits and bounds that are known of workloads, and take in better ones with their proofs.
    Ledger(Asked<ledger::Args>),
    /// Tell the size, the costs, the devices and lower bounds of a workload.
    Info(Asked<info::Args>),
    /// Translate a workload to another format.
    Convert(Asked<convert::Args>),
    /// Make a workload (a model graph with modelled costs, or a seeded random DAG) or an interconnect to map it onto.
    Generate(Asked<generate::Args>),
    /// Draw a workload as SVG, coloured by the devices of a split, or a topology, coloured by the stages mapped onto it.
    Draw(Asked<draw::Args>),
    /// Simulate the pipeline of a split, or of mapped stages: time, bubble, memory, timeline.
    Simulate(Asked<Box<simulate::Args>>),
    /// Write a split as the settings of a framework that runs pipelines.
    Export(Asked<export::Args>),
    /// Hold a partitioner of your own to the laws: valid splits, honest claims, in time.
    ///
    /// It is tried on small problems of many families, whose optimum is known, and on some of a few hundred nodes. For each
    /// law that it breaks the smallest problem found is written to a file.
    #[cfg(feature = "conformance")]
    Conform(Asked<conform::Args>),
    /// Write the integer program of a workload for Gurobi, CPLEX, SCIP, CBC or HiGHS.
    #[cfg(feature = "highs")]
    Formulate(Asked<formulate::Args>),
    /// Read another solver's solution of a program that `formulate` wrote, and check the split.
    #[cfg(feature = "highs")]
    ImportSolution(Asked<import_solution::Args>),
    /// List the methods, the steps of chains, and their parameters.
    Methods(Asked<methods::Args>),
}

/// Parses the command line, runs its verb, and tells how it went. This is the whole program `dagsplit`; `allocated` tells
/// how many bytes its allocator has given out, by which searches keep their limit of memory.
pub fn run(allocated: fn() -> usize) -> ExitCode {
    memory::ALLOCATED.get_or_init(|| allocated);
    answer().into()
}

/// The same for a launcher, such as a script of Python: `program` is the launcher's own file, which begins it once more
/// where runs are made in processes of their own, and `words` are those after its name. Returns the exit code. Limits of
/// memory are kept by what is resident.
pub fn run_for(program: PathBuf, words: Vec<OsString>) -> i32 {
    invocation::begin(program, words);
    answer() as i32
}

fn answer() -> Exit {
    started();
    let words = std::iter::once("dagsplit".into()).chain(invocation::words().iter().cloned());
    let line = CommandLine::try_parse_from(words).unwrap_or_else(|error| refuse(&error));
    let result = match line.verb {
        Verb::Solve(args) => args.0.run(),
        Verb::Map(args) => args.0.run(),
        Verb::Plan(args) => args.0.run(),
        Verb::Compare(args) => args.0.run(),
        Verb::Reproduce(args) => args.0.run(),
        Verb::Verify(args) => args.0.run(),
        Verb::Check(args) => args.0.run(),
        Verb::Ledger(args) => args.0.run(),
        Verb::Info(args) => args.0.run(),
        Verb::Convert(args) => args.0.run(),
        Verb::Generate(args) => args.0.run(),
        Verb::Draw(args) => args.0.run(),
        Verb::Simulate(args) => args.0.run(),
        Verb::Export(args) => args.0.run(),
        #[cfg(feature = "conformance")]
        Verb::Conform(args) => args.0.run(),
        #[cfg(feature = "highs")]
        Verb::Formulate(args) => args.0.run(),
        #[cfg(feature = "highs")]
        Verb::ImportSolution(args) => args.0.run(),
        Verb::Methods(args) => args.0.run(),
    };
    result.unwrap_or_else(|failure| {
        tell("error", &failure.to_string());
        tell_program(&failure.to_string(), failure.exit as i32);
        failure.exit
    })
}

/// The schema of an error as JSON.
const ERROR_SCHEMA: &str = "dagsplit-error/1";

/// Tells on standard output why there is no answer, where JSON was asked for.
fn tell_program(error: &str, exit_code: i32) {
    if invocation::words().iter().any(|word| word == "--json") {
        let object = serde_json::json!({"schema": ERROR_SCHEMA, "error": error, "exit_code": exit_code});
        // The exit code says the same to whoever does not read it.
        let _ = writeln!(std::io::stdout(), "{object:#}");
    }
}

/// Ends the program with what clap says of the command line. Its colours go where a word holds what a terminal acts on.
fn refuse(error: &clap::Error) -> ! {
    let plain = error.render().to_string();
    if error.use_stderr() {
        tell_program(plain.strip_prefix("error: ").unwrap_or(&plain).trim_end(), error.exit_code());
    }
    if let shown @ Cow::Owned(_) = escaped_lines(&plain) {
        let _ = write!(std::io::stderr(), "{shown}");
        std::process::exit(error.exit_code());
    }
    error.exit()
}

/// Tells on standard error what does not end the program.
fn note(message: &str) {
    tell("note", message);
}

fn tell(what: &str, message: &str) {
    // Where even standard error is gone there is nobody left to tell.
    let _ = writeln!(std::io::stderr(), "{what}: {}", escaped_lines(message));
}

/// When the program began.
fn started() -> Instant {
    static STARTED: OnceLock<Instant> = OnceLock::new();
    *STARTED.get_or_init(Instant::now)
}

/// Writes text for people to standard output.
fn print(text: &str) -> Result<(), Failure> {
    print_raw(&escaped_lines(text))
}

/// Writes `text` to standard output. Whoever closes the pipe early has seen enough: that is no failure.
fn print_raw(text: &str) -> Result<(), Failure> {
    let mut out = std::io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => Err(Failure::new(Exit::Output, error.into())),
        _ => Ok(()),
    }
}

/// Prints `value` as JSON.
fn print_json(value: &impl serde::Serialize) -> Result<(), Failure> {
    let json = serde_json::to_string_pretty(value).or_fail(Exit::Bug)?;
    print_raw(&(escaped_json(&json) + "\n"))
}

/// Writes `contents` to a file, or to standard output where there is none.
fn write_out(path: Option<&Path>, contents: &str) -> Result<(), Failure> {
    match path {
        None => print_raw(contents),
        Some(path) => write_file(path, contents.as_bytes()),
    }
}

fn write_file(path: &Path, contents: &[u8]) -> Result<(), Failure> {
    crate::formats::write_atomically(path, contents).map_err(|error| unwritten(path, &error)).or_fail(Exit::Output)
}

fn unwritten(path: &Path, error: &dyn std::fmt::Display) -> anyhow::Error {
    anyhow::anyhow!("{}: cannot write the file: {error}", text::path(path))
}

/// A command line, as a shell takes it.
fn command_line(program: &str, words: impl Iterator<Item = String>) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_=.,:/+%".contains(c);
    let quoted = |word: String| match shlex::try_quote(&word) {
        Ok(quoted) if !word.chars().all(is_plain) => quoted.into_owned(),
        _ => word,
    };
    std::iter::once(program.to_owned()).chain(words.map(quoted)).collect::<Vec<_>>().join(" ")
}

/// A contradiction of dagsplit with itself.
fn bug(what: &str) -> Failure {
    let cure = "this is a bug in dagsplit; please report it with the workload and the command line";
    Failure::message(Exit::Bug, format!("{what}\n{cure}"))
}

/// One violation a line, indented, each line begun by a line break.
fn listed<V: std::fmt::Display>(violations: &[V]) -> String {
    violations.iter().map(|violation| format!("\n  {violation}")).collect()
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    /// Options are built for the verb that is asked for alone: here for all.
    #[test]
    fn the_options_of_no_verb_contradict_each_other() {
        CommandLine::command().debug_assert();
    }
}
