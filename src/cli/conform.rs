//! `dagsplit conform`

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::atomic::Ordering;
use std::time::Duration;

use crate::conformance::{FAMILIES, Family, Finding, Law, Place, Report, Suite};
use crate::instance::{Instance, Platform};
use crate::registry;
use crate::report::comparison::Versions;
use crate::solve::Program;
use dagsplit_check::hash;

use super::problem_args::ProblemArgs;
use super::reading_args::Workload;
use super::series::Tally;
use super::tried_cases::CasesArgs;
use super::{Exit, Failure, OrFail, print, print_json, progress, values};

const HELP: &str = "\
A program reads an instance (dagsplit's own JSON) on its standard input and writes a split \
({\"cpus\": [{\"nodes\": [..]}], \"fpgas\": [{\"nodes\": [..]}]}) to its standard output. \
DAGSPLIT_SCOPE, DAGSPLIT_OBJECTIVE, DAGSPLIT_COST, DAGSPLIT_SEED and DAGSPLIT_TIME_LIMIT (seconds) \
say what is asked. docs/your-partitioner.md is the guide.

Exit codes:
  0  it obeys every law         3  results cannot be read
  1  it breaks a law            5  interrupted before a law was broken
  2  usage: also a program     74  an instance or results cannot be written
     that cannot be started

Examples:
  dagsplit conform --exec \"python3 my_partitioner.py\"
  dagsplit conform --exec ./split --scope arbitrary --objective latency --cases 1000 --seed 7
  dagsplit conform --method dpl --scope acyclic --json
  dagsplit conform --exec ./split --cases 100000 --jobs 0 --results tried/ --shard 1/4    # then without --shard";

#[derive(Debug, clap::Args)]
#[command(after_help = HELP, group = clap::ArgGroup::new("partitioner").required(true))]
pub struct Args {
    /// The program to try, with its arguments; no shell reads them.
    #[arg(long, value_name = "COMMAND", group = "partitioner")]
    exec: Option<String>,

    /// Try a method of dagsplit instead; `exec:COMMAND` is a program, too.
    #[arg(long, value_name = "SPEC", group = "partitioner")]
    method: Option<String>,

    #[command(flatten)]
    suite: SuiteArgs,

    #[command(flatten)]
    cases: CasesArgs,

    /// Print one JSON object (schema `dagsplit-conformance/1`) in place of the table.
    #[arg(long, help_heading = "Output")]
    json: bool,

    /// Write the instances that break a law to this directory.
    #[arg(long, value_name = "DIRECTORY", default_value = "conform-failures", help_heading = "Output")]
    failures: PathBuf,
}

/// What a partitioner is tried on, and held to.
#[derive(Debug, clap::Args)]
pub struct SuiteArgs {
    #[command(flatten)]
    problem: ProblemArgs,

    /// How many cases to try, besides one large graph for every ten of them.
    #[arg(long, value_name = "N", default_value_t = Suite::default().cases, value_parser = values::count::<u32>(), help_heading = "Cases")]
    cases: u32,

    /// Equal seeds give equal cases.
    #[arg(long, value_name = "S", default_value_t = Suite::default().seed, value_parser = values::whole::<u64>(0..=u64::MAX), help_heading = "Cases")]
    seed: u64,

    /// Draw from these families alone.
    #[arg(long, value_name = "NAME,...", value_delimiter = ',', value_parser = family, help_heading = "Cases")]
    families: Vec<Family>,

    /// The time for one case; large graphs get half a second at most.
    #[arg(long, value_name = "SECONDS", value_parser = values::seconds, default_value = "10", help_heading = "Laws")]
    time_limit: Duration,

    /// The time beyond the limit after which a program is killed; what takes long to start needs more.
    #[arg(long, value_name = "SECONDS", value_parser = values::seconds, default_value = "2", help_heading = "Laws")]
    grace: Duration,

    /// Do not hold it to these laws.
    #[arg(long, value_enum, value_name = "LAW,...", value_delimiter = ',', help_heading = "Laws")]
    waive: Vec<Law>,

    /// Hold it to the law `renumbering`, too, as exact methods are.
    #[arg(long, help_heading = "Laws")]
    renumbering: bool,
}

fn family(name: &str) -> Result<Family, String> {
    let names = || FAMILIES.iter().map(|family| family.name).collect::<Vec<_>>().join(", ");
    Family::named(name).ok_or_else(|| format!("there are the families {}", names()))
}

impl Args {
    pub fn run(self) -> Result<Exit, Failure> {
        let suite = self.suite.suite()?;
        let stop = progress::interrupt_flag()?;
        let count = suite.places().count();
        let tally = Tally::new(count, "cases", false);
        let watch = |place: Place| {
            let kind = if place.is_large { "large graph" } else { "case" };
            tally.done(&format!("{kind} {}", place.index + 1));
        };
        let solver = registry::solver(&self.spec()).or_fail(Exit::Usage)?;
        if let Some(program) = self.line().and_then(Program::new) {
            program.try_to_start().or_fail(Exit::Usage)?;
        }
        let partitioner = solver.as_ref();
        let session = suite.session(&partitioner, &stop);
        let tried = self.cases.try_all(&session, suite.places(), &self.asked(&suite), (&stop, &watch))?;
        drop(tally);
        if self.cases.is_part() {
            print(&format!("{} of {count} cases are tried; the report is made without --shard\n", tried.len()))?;
            return Ok(if stop.load(Ordering::Relaxed) { Exit::NothingFound } else { Exit::Done });
        }
        let mut report = session.report(tried);
        report.save(&self.failures).or_fail(Exit::Output)?;
        for finding in &mut report.findings {
            finding.again = self.again(finding);
        }
        if stop.load(Ordering::Relaxed) && report.quality.cases == 0 {
            return Err(Failure::message(Exit::NothingFound, "interrupted before any case was tried"));
        }
        self.show(&report)?;
        match (report.passed, stop.load(Ordering::Relaxed)) {
            (false, _) => Ok(Exit::InvalidSplit),
            (true, false) => Ok(Exit::Done),
            (true, true) => Err(Failure::message(Exit::NothingFound, "interrupted before all cases were tried")),
        }
    }

    /// What tells results from those of another question: partitioner, version, and the suite but for its size.
    fn asked(&self, suite: &Suite) -> String {
        let suite = Suite { cases: 0, ..suite.clone() };
        hash(format!("{} {} {suite:?}", self.spec(), Versions::of_this_program()).as_bytes())
    }

    /// The spec string of what is tried.
    fn spec(&self) -> String {
        let program = self.exec.as_ref().map(|line| format!("exec:{line}"));
        program.or_else(|| self.method.clone()).unwrap_or_default()
    }

    /// The command line of a program, however it is given.
    fn line(&self) -> Option<&str> {
        self.exec.as_deref().or_else(|| self.method.as_deref()?.strip_prefix("exec:"))
    }

    fn show(&self, report: &Report) -> Result<(), Failure> {
        if report.quality.cases == 0 {
            let why = report.refusal.as_ref().map_or_else(String::new, |reason| format!(": {reason}"));
            return Err(Failure::message(Exit::Usage, format!("no case was tried{why}")));
        }
        if self.json { print_json(report) } else { print(&report.to_string()) }
    }

    /// The command line that tries the case of a finding again.
    fn again(&self, finding: &Finding) -> Option<String> {
        let file = finding.file.as_ref()?.display().to_string();
        let file = shlex::try_quote(&file).ok()?;
        let is_large = finding.family == "large";
        let limit =
            if is_large { self.suite.time_limit.min(Suite::default().short_time_limit) } else { self.suite.time_limit };
        let environment = Program::environment(&finding.case.spec, self.suite.seed, Some(limit));
        let words: String = environment.iter().map(|(name, value)| self.word(name, value)).collect();
        Some(match self.line() {
            Some(line) => format!("{words}{line} < {file}"),
            None => format!("dagsplit solve {file} {words}--method {}", self.spec()),
        })
    }

    /// A variable of a program's environment, or the option of `solve` that says the same.
    fn word(&self, name: &str, value: &str) -> String {
        match name.strip_prefix("DAGSPLIT_").filter(|_| self.line().is_none()) {
            Some(name) => format!("--{} {value} ", name.to_lowercase().replace('_', "-")),
            None => format!("{name}={value} "),
        }
    }
}

impl SuiteArgs {
    /// The suite asked for.
    pub fn suite(&self) -> Result<Suite, Failure> {
        if self.problem.keeps_together() {
            let cause = "--together names nodes of one file, and conform makes instances of its own; leave it out";
            return Err(Failure::message(Exit::Usage, cause));
        }
        // What is asked goes for the devices of each instance.
        let any = Workload { instance: Instance::default(), platform: Platform::default() };
        let default = Suite::default();
        Ok(Suite {
            cases: self.cases,
            seed: self.seed,
            families: if self.families.is_empty() { default.families.clone() } else { self.families.clone() },
            requests: self.problem.specs(&any)?,
            waived: self.waive.iter().copied().collect::<BTreeSet<Law>>(),
            promises_renumbering: self.renumbering,
            time_limit: self.time_limit,
            short_time_limit: default.short_time_limit.min(self.time_limit),
            grace: self.grace,
            costs: self.problem.other_costs().cloned(),
            ..default
        })
    }
}
