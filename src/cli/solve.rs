//! `dagsplit solve`

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use dagsplit::instance::formats::write_split;
use dagsplit::problem::{Problem, ProblemSpec};
use dagsplit::report::record::{self, MethodRecord};
use dagsplit::report::{InstanceRecord, RunRecord, table};
use dagsplit::solve::{SearchContext, Solver, Stats, registry};
use dagsplit::verify::{self, Verified, Violation};

use super::problem_args::ProblemArgs;
use super::reading_args::{ReadingArgs, Workload};
use super::{Exit, Failure, OrFail, listed, print, print_json, progress, values, write_out};

const EXAMPLES: &str = "\
Examples:
  dagsplit solve bert.json
  dagsplit solve bert.json --accelerators 4 --memory 16GiB --json
  dagsplit solve bert.json --method dp,dpl              # compare methods
  dagsplit solve gnmt.txt --training --bandwidth 10GB --time-limit 60 --output split.json

`dagsplit methods` lists the methods. Ctrl-C stops the search: the best split so far is still \
verified, printed and written.";

/// Find the best split of a workload, with a proof of how good it is.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    #[command(flatten)]
    reading: ReadingArgs,

    #[command(flatten)]
    problem: ProblemArgs,

    /// How to search: `auto` takes the first exact method that takes the problem. Several names, separated by commas,
    /// run one after the other and are compared.
    #[arg(long, default_value = "auto", value_delimiter = ',', help_heading = "Search")]
    method: Vec<String>,

    /// Stop each method after this time and keep its best split and bound.
    #[arg(long, value_name = "SECONDS", value_parser = values::seconds, help_heading = "Search")]
    time_limit: Option<Duration>,

    /// Stop at this relative gap; 0 asks for a proof of optimality.
    #[arg(long, value_name = "REL", default_value = "0", value_parser = values::not_negative, help_heading = "Search")]
    gap: f64,

    /// How many threads to use; 0 takes all cores. The same input, seed and number of threads give the same split.
    #[arg(long, value_name = "N", default_value = "1", help_heading = "Search")]
    threads: usize,

    /// Seed of everything random.
    #[arg(long, value_name = "S", default_value = "0", help_heading = "Search")]
    seed: u64,

    /// Print one JSON object (schema `dagsplit-run/1`) in place of the table.
    #[arg(long, help_heading = "Output")]
    json: bool,

    /// Write the split to this file, in the published shape.
    #[arg(long, value_name = "SPLIT", help_heading = "Output")]
    output: Option<PathBuf>,

    /// Show no progress line.
    #[arg(long, help_heading = "Output")]
    quiet: bool,
}

/// What one method did.
struct Attempt {
    record: MethodRecord,
    stats: Stats,
    verified: Option<Verified>,
}

impl Args {
    pub fn run(self) -> Result<Exit, Failure> {
        let workload = self.reading.read()?;
        let spec = self.problem.spec(&workload)?;
        let problem = Problem::new(&workload.instance, spec.clone()).or_fail(Exit::Usage)?;
        let solvers = self.solvers(&problem)?;
        let cancelled = progress::interrupt_flag()?;
        let mut attempts = Vec::with_capacity(solvers.len());
        for solver in &solvers {
            attempts.push(self.attempt(solver.as_ref(), &workload, &problem, &cancelled)?);
        }
        self.report(&workload, &spec, problem.graph.edge_count(), attempts)
    }

    fn solvers(&self, problem: &Problem) -> Result<Vec<Box<dyn Solver>>, Failure> {
        let solver = |name: &String| -> Result<Box<dyn Solver>, Failure> {
            if name == "auto" {
                return registry::automatic(problem).or_fail(Exit::Usage);
            }
            let solver = registry::solver(name).or_fail(Exit::Usage)?;
            solver.supports(problem).or_fail(Exit::Usage)?;
            Ok(solver)
        };
        self.method.iter().map(solver).collect()
    }

    fn attempt(
        &self,
        solver: &dyn Solver,
        workload: &Workload,
        problem: &Problem,
        cancelled: &Arc<AtomicBool>,
    ) -> Result<Attempt, Failure> {
        let started = Instant::now();
        let mut context = self.context(cancelled);
        let run = solver.solve(problem, &mut context).or_fail(Exit::Usage)?;
        drop(context);
        let seconds = started.elapsed().as_secs_f64();
        let verified = match run.outcome.solution() {
            None => None,
            Some(solution) => Some(
                verify::check(&workload.instance, &problem.spec, solution)
                    .map_err(|violations| rejected(solver.name(), &violations))?,
            ),
        };
        let record = MethodRecord::new(solver.name(), &problem.spec.scope, &run, verified.as_ref(), seconds);
        Ok(Attempt { record, stats: run.stats, verified })
    }

    fn context(&self, cancelled: &Arc<AtomicBool>) -> SearchContext {
        let mut context = SearchContext::new().with_cancellation(Arc::clone(cancelled));
        if let Some(limit) = self.time_limit {
            context = context.with_time_limit(limit);
        }
        context.gap = self.gap;
        context.threads = match self.threads {
            0 => std::thread::available_parallelism().map_or(1, usize::from),
            threads => threads,
        };
        context.seed = self.seed;
        progress::with_progress_line(context, self.quiet)
    }

    fn report(
        &self,
        workload: &Workload,
        spec: &ProblemSpec,
        edges: usize,
        mut attempts: Vec<Attempt>,
    ) -> Result<Exit, Failure> {
        let records: Vec<MethodRecord> = attempts.iter().map(|attempt| attempt.record.clone()).collect();
        record::consistent(&records).map_err(|contradiction| bug(&contradiction.to_string()))?;
        let best = attempts.swap_remove(MethodRecord::best(&records));
        let instance = InstanceRecord::new(&workload.instance, edges);
        let mut record = RunRecord::new(instance, spec, best.record, best.stats, best.verified.as_ref());
        if records.len() > 1 {
            record.compared = records;
        }
        if let (Some(path), Some(verified)) = (&self.output, &best.verified) {
            write_out(Some(path), &write_split(&workload.instance, &verified.to_solution()))?;
        }
        if self.json {
            print_json(&record)?
        } else {
            print(&table::run(&record))?
        }
        Ok(match record.status {
            "infeasible" => Exit::Infeasible,
            "unknown" => Exit::NothingFound,
            _ => Exit::Done,
        })
    }
}

/// A split that its solver takes for good and the verifier does not.
fn rejected(method: &str, violations: &[Violation]) -> Failure {
    bug(&format!("the split that method {method} found is invalid:{}", listed(violations)))
}

fn bug(what: &str) -> Failure {
    let cure = "this is a bug in dagsplit; please report it with the workload and the command line";
    Failure::message(Exit::Bug, format!("{what}\n{cure}"))
}

#[cfg(test)]
mod tests {
    use clap::Parser;
    use dagsplit::problem::Solution;
    use dagsplit::solve::{Guarantee, Outcome, Run, SolveError, Unsupported};

    use super::*;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        args: Args,
    }

    /// A method that claims to have split the workload, and has not.
    struct Liar;

    impl Solver for Liar {
        fn name(&self) -> &'static str {
            "liar"
        }

        fn guarantee(&self) -> Guarantee {
            Guarantee::Heuristic
        }

        fn supports(&self, _: &Problem) -> Result<(), Unsupported> {
            Ok(())
        }

        fn solve(&self, _: &Problem, _: &mut SearchContext) -> Result<Run, SolveError> {
            let solution = Solution { devices: Vec::new(), objective: Some(1.0) };
            Ok(Run { outcome: Outcome::Feasible { solution, bound: None }, stats: Stats::default() })
        }
    }

    #[test]
    fn a_split_that_the_verifier_rejects_ends_the_run_as_a_bug() {
        let file = concat!(env!("CARGO_MANIFEST_DIR"), "/instances/resnet50_inference.json");
        let Line { args } = Line::parse_from(["solve", file, "--quiet"]);
        let workload = args.reading.read().unwrap_or_else(|failure| panic!("{failure}"));
        let spec = args.problem.spec(&workload).unwrap_or_else(|failure| panic!("{failure}"));
        let problem = Problem::new(&workload.instance, spec).unwrap();
        let Err(failure) = args.attempt(&Liar, &workload, &problem, &Arc::default()) else { panic!("a lie passed") };
        assert_eq!(failure.exit as u8, 70);
        let message = failure.to_string();
        assert!(message.contains("liar") && message.contains("bug in dagsplit"), "{message}");
    }
}
