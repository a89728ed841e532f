//! `dagsplit solve`

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Instant;

use crate::formats::write_split;
use crate::problem::Problem;
use crate::registry;
use crate::report::method::{self, MethodRecord};
use crate::report::record::MEMORY_LIMIT_REACHED;
use crate::report::{InstanceRecord, RunRecord, table};
use crate::solve::{Solver, Stats, Status};
use crate::verify::{Verified, Violation};

use super::problem_args::ProblemArgs;
use super::reading_args::{ReadingArgs, Workload};
use super::search_args::SearchArgs;
use super::{Exit, Failure, OrFail, bug, listed, print, print_json, progress, started, write_out};

const EXAMPLES: &str = "\
Examples:
  dagsplit solve bert.json
  dagsplit solve bert.json --accelerators 4 --memory 16GiB --json
  dagsplit solve bert.json --method dp,dpl              # compare methods
  dagsplit solve bert.json --scope acyclic,arbitrary    # what contiguity costs, with proofs
  dagsplit solve bert.json --objective latency          # one sample, no pipeline
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

    /// How to search: `auto` takes the first exact method that takes the problem, or else the first heuristic. Several
    /// specs, separated by commas, run one after the other and are compared. A spec is a name, with parameters after a
    /// colon (`annealing:patience=50,seed=2`); `dagsplit methods` lists both.
    #[arg(long, value_name = "SPEC,...", default_value = "auto", help_heading = "Search")]
    method: String,

    #[command(flatten)]
    search: SearchArgs,

    /// Print one JSON object (schema `dagsplit-run/1`) in place of the table.
    #[arg(long, help_heading = "Output")]
    json: bool,

    /// Write the split to this file, in the published shape; the best of the first scope, where several are compared.
    #[arg(long, value_name = "SPLIT", help_heading = "Output")]
    output: Option<PathBuf>,

    /// Show no progress line.
    #[arg(long, help_heading = "Output")]
    quiet: bool,
}

/// A problem, and a method that takes it.
type Pair<'a> = (&'a Problem, Box<dyn Solver>);

/// What one method did.
struct Attempt {
    record: MethodRecord,
    stats: Stats,
    verified: Option<Verified>,
    /// What is wrong with its split, where the verifier rejects it: a bug, which is told beside what others found.
    rejection: Option<String>,
}

impl Args {
    pub fn run(self) -> Result<Exit, Failure> {
        let workload = self.reading.read()?;
        let specs = self.problem.specs(&workload)?;
        let problems =
            specs.into_iter().map(|spec| self.problem.problem(&workload, spec)).collect::<Result<Vec<_>, _>>()?;
        let pairs = self.pairs(&problems)?;
        let cancelled = progress::interrupt_flag()?;
        let mut attempts = Vec::with_capacity(pairs.len());
        let mut begun = started();
        for (problem, solver) in &pairs {
            attempts.push(self.attempt(solver.as_ref(), &workload, problem, (&cancelled, begun))?);
            begun = Instant::now();
        }
        tell_rejections(&attempts)?;
        self.report(&workload, &problems[0], attempts)
    }

    /// Each problem with each method that takes it; every method has to take one, and every problem needs one.
    fn pairs<'a>(&self, problems: &'a [Problem]) -> Result<Vec<Pair<'a>>, Failure> {
        let specs = registry::split_list(&self.method);
        let mut refused = vec![None; specs.len()];
        let mut pairs = Vec::new();
        for problem in problems {
            let before = pairs.len();
            let mut last = None;
            for (name, refused) in specs.iter().zip(&mut refused) {
                match method(name, problem)? {
                    Ok(solver) => pairs.push((problem, solver)),
                    Err(refusal) => last = Some(refused.insert(refusal).clone()),
                }
            }
            if let Some(refusal) = last.filter(|_| pairs.len() == before) {
                return Err(Failure::message(Exit::Usage, refusal));
            }
        }
        let taken = |name: &str| name == "auto" || pairs.iter().any(|(_, solver)| solver.name() == name);
        let idle = specs.iter().zip(refused).find(|(name, _)| !taken(name));
        match idle.and_then(|(_, refusal)| refusal) {
            Some(refusal) => Err(Failure::message(Exit::Usage, refusal)),
            None => Ok(pairs),
        }
    }

    fn attempt(
        &self,
        solver: &dyn Solver,
        workload: &Workload,
        problem: &Problem,
        (cancelled, begun): (&Arc<AtomicBool>, Instant),
    ) -> Result<Attempt, Failure> {
        let started = Instant::now();
        let mut context = progress::with_progress_line(self.search.context(cancelled, begun), self.quiet);
        let mut run = solver.solve(problem, &mut context).or_fail(Exit::Usage)?;
        if context.was_short_of_memory() {
            run.stats.set(MEMORY_LIMIT_REACHED, 1.0);
        }
        drop(context);
        let seconds = started.elapsed().as_secs_f64();
        let checked = run.outcome.solution().map(|split| self.problem.check(workload, &problem.spec, split));
        let (verified, rejection) = match checked.transpose() {
            Ok(verified) => (verified, None),
            Err(violations) => (None, Some(rejected(solver.name(), &violations))),
        };
        let record = match rejection {
            None => MethodRecord::new(solver.name(), &problem.spec.scope, &run, verified.as_ref(), seconds),
            Some(_) => MethodRecord::rejected(solver.name(), &problem.spec.scope, seconds),
        };
        Ok(Attempt { record, stats: run.stats, verified, rejection })
    }

    /// Reports the best split of the first scope, and how the methods compare.
    fn report(&self, workload: &Workload, problem: &Problem, mut attempts: Vec<Attempt>) -> Result<Exit, Failure> {
        let records: Vec<MethodRecord> = attempts.iter().map(|attempt| attempt.record.clone()).collect();
        method::consistent(&records).map_err(|contradiction| bug(&contradiction.to_string()))?;
        let scope = Some(problem.spec.scope.name());
        let in_first = records.iter().take_while(|record| record.scope == scope).count();
        let best = attempts.swap_remove(MethodRecord::best(&records[..in_first]));
        let instance = InstanceRecord::new(&workload.instance, problem.graph.edge_count());
        let mut record = RunRecord::new(instance, &problem.spec, best.record, best.stats, best.verified.as_ref());
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
            Status::Infeasible => Exit::Infeasible,
            Status::Unknown => Exit::NothingFound,
            _ => Exit::Done,
        })
    }
}

/// The method of this name, or why it does not take `problem`.
pub(super) fn method(name: &str, problem: &Problem) -> Result<Result<Box<dyn Solver>, String>, Failure> {
    if name == "auto" {
        return Ok(registry::automatic(problem).map_err(|none| none.to_string()));
    }
    let solver = registry::solver(name).or_fail(Exit::Usage)?;
    Ok(match solver.supports(problem) {
        Ok(()) => Ok(solver),
        Err(unsupported) => Err(unsupported.to_string()),
    })
}

/// A split that its solver takes for good and the verifier does not.
fn rejected(method: &str, violations: &[Violation]) -> String {
    format!("the split that method {method} found is invalid:{}", listed(violations))
}

/// Tells of the splits that the verifier rejects. They fail the run where nothing else stands.
fn tell_rejections(attempts: &[Attempt]) -> Result<(), Failure> {
    let rejections: Vec<&str> = attempts.iter().filter_map(|attempt| attempt.rejection.as_deref()).collect();
    if !rejections.is_empty() && rejections.len() == attempts.len() {
        return Err(bug(&rejections.join("\n")));
    }
    rejections.iter().for_each(|rejection| eprintln!("{}", bug(rejection)));
    Ok(())
}

#[cfg(test)]
mod tests {
    use crate::problem::Solution;
    use crate::solve::dp::IdealDp;
    use crate::solve::{Guarantee, Outcome, Run, SearchContext, SolveError, Unsupported};
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        args: Args,
    }

    /// A method that claims to have split the workload, and has not.
    struct Liar;

    impl Solver for Liar {
        fn name(&self) -> &str {
            "liar"
        }

        fn guarantee(&self) -> Guarantee {
            Guarantee::Heuristic
        }

        fn supports(&self, _: &Problem) -> Result<(), Unsupported> {
            Ok(())
        }

        fn search(&self, _: &Problem, _: &mut SearchContext) -> Result<Run, SolveError> {
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
        let attempt =
            |solver: &dyn Solver| args.attempt(solver, &workload, &problem, (&Arc::default(), started())).unwrap();
        let lie = attempt(&Liar);
        assert_eq!((lie.record.status, lie.record.objective, lie.verified.is_some()), (Status::Rejected, None, false));
        let Err(failure) = tell_rejections(&[lie]) else { panic!("a lie passed") };
        assert_eq!(failure.exit as u8, 70);
        let message = failure.to_string();
        assert!(message.contains("liar") && message.contains("bug in dagsplit"), "{message}");
        // What others found still stands.
        let attempts = [attempt(&Liar), attempt(&IdealDp::default())];
        assert!(tell_rejections(&attempts).is_ok());
        let records = attempts.map(|attempt| attempt.record);
        assert_eq!(MethodRecord::best(&records), 1);
    }
}
