//! What `solve` is asked: a problem, methods, limits; and its answer.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Instant;

use crate::formats;
use crate::problem::Problem;
use crate::proof::{Asked, Proof, Scenario, Spread, Stability, Unproven};
use crate::registry;
use crate::report::method::{self, MethodRecord};
use crate::report::{Attempt, InstanceRecord, RunRecord};
use crate::solve::{ProgramError, SearchContext, SolveError, Solver, Status};
use crate::verify::Verified;

use super::problem_args::ProblemArgs;
use super::reading_args::{ReadingArgs, Workload};
use super::search_args::SearchArgs;
use super::{Exit, Failure, OrFail, bug, listed};

/// What is asked of a workload, and how to search.
#[derive(Debug, clap::Args)]
pub struct Question {
    #[command(flatten)]
    pub problem: ProblemArgs,

    /// How to search: `auto` takes the first exact method that takes the problem, or else the first heuristic. Several
    /// specs, separated by commas, run one after the other and are compared. A spec is a name, with parameters after a
    /// colon (`annealing:patience=50,seed=2`); `dagsplit methods` lists both.
    #[arg(long, value_name = "SPEC,...", default_value = "auto", help_heading = "Search")]
    method: String,

    #[command(flatten)]
    search: SearchArgs,
}

/// How a run is ended and watched.
#[derive(Clone, Copy)]
pub struct Watch<'a> {
    /// Ends it once set.
    pub cancelled: &'a Arc<AtomicBool>,
    /// Gives its context whoever is told how far it is.
    pub watched: &'a dyn Fn(SearchContext) -> SearchContext,
}

/// What came of it.
pub struct Answer {
    /// The best run of the first scope, and how all runs compare.
    pub record: RunRecord,
    /// Its split, where there is one.
    pub verified: Option<Verified>,
}

/// How far a split can be from the best one while times move.
pub struct Stable {
    /// The most that its load is above the best one, in the instance's time unit.
    pub regret: f64,
    /// The same in parts of that best load, where something is known of it.
    pub relative: Option<f64>,
    /// A proof of that.
    pub proof: Result<Proof, Unproven>,
}

/// A problem, and a method that takes it.
type Pair<'a> = (&'a Problem, Box<dyn Solver>);

impl Question {
    /// Runs every method in every scope. The time of the first run counts from `begun`.
    pub fn answer(&self, workload: &Workload, mut begun: Instant, watch: Watch) -> Result<Answer, Failure> {
        let specs = self.problem.specs(workload)?;
        let problems =
            specs.into_iter().map(|spec| self.problem.problem(workload, spec)).collect::<Result<Vec<_>, _>>()?;
        let pairs = self.pairs(&problems)?;
        let mut attempts = Vec::with_capacity(pairs.len());
        for (problem, solver) in &pairs {
            attempts.push(self.attempt(solver.as_ref(), workload, problem, (begun, watch))?);
            begun = Instant::now();
        }
        tell_rejections(&attempts)?;
        best(workload, &problems[0], attempts)
    }

    /// A proof that no split of the first scope is better than the verified one, as the checker has accepted it.
    ///
    /// # Errors
    /// Why there is none; or the workload's file cannot be read again.
    pub fn prove(
        &self,
        reading: &ReadingArgs,
        workload: &Workload,
        verified: &Verified,
        watch: Watch,
    ) -> Result<Result<Proof, Unproven>, Failure> {
        self.with_asked(reading, workload, |asked| {
            let context = (watch.watched)(self.search.context(watch.cancelled, Instant::now()));
            Ok(asked.prove(&verified.to_solution(), &context))
        })
    }

    /// How far the verified split of a record can be from the best one while times move, as its method finds; and a proof, or why
    /// there is none. Each scenario has the time limit again, and so have the proofs.
    ///
    /// # Errors
    /// Why nothing is known; or the workload's file cannot be read again.
    pub fn stability(
        &self,
        reading: &ReadingArgs,
        workload: &Workload,
        (record, verified): (&RunRecord, &Verified),
        spread: Spread,
        watch: Watch,
    ) -> Result<Result<Stable, Unproven>, Failure> {
        self.with_asked(reading, workload, |asked| {
            let split = verified.to_solution();
            let stability = match Stability::new(asked, &split, spread) {
                Ok(stability) => stability,
                Err(unproven) => return Ok(Err(unproven)),
            };
            let mut bounds = Vec::with_capacity(stability.scenarios.len());
            for Scenario { instance, problem, .. } in &stability.scenarios {
                let solver = registry::solver_for(&record.method, problem).or_fail(Exit::Usage)?;
                let solver = solver.map_err(|refusal| Failure::message(Exit::Usage, refusal))?;
                let context = (watch.watched)(self.search.context(watch.cancelled, Instant::now()));
                let run = Attempt::of(solver.as_ref(), instance, problem, None, context).or_fail(Exit::Usage)?.record;
                // Bounds are rounded down; that of an optimum is the optimum.
                let bound = if run.status == Status::Optimal { run.objective } else { run.lower_bound };
                bounds.push(bound.unwrap_or_default());
            }
            let regret = stability.regret(&bounds);
            let context = (watch.watched)(self.search.context(watch.cancelled, Instant::now()));
            let proof = stability.prove(regret, &context);
            let relative = record.lower_bound.and_then(|bound| stability.relative(regret, bound));
            Ok(Ok(Stable { regret, relative, proof }))
        })
    }

    /// What `answer` makes of the first scope's question as proofs state it.
    fn with_asked<T>(
        &self,
        reading: &ReadingArgs,
        workload: &Workload,
        answer: impl FnOnce(&Asked) -> Result<Result<T, Unproven>, Failure>,
    ) -> Result<Result<T, Unproven>, Failure> {
        if self.problem.other_costs().is_some() {
            return Ok(Err(Unproven::Inexpressible("other cost models than that of profiled workloads")));
        }
        let spec = self.problem.specs(workload)?.swap_remove(0);
        let problem = self.problem.problem(workload, spec)?;
        let text = formats::read_text(reading.file()).or_fail(Exit::BadInput)?;
        let transfer_scale = reading.options().transfer_scale();
        answer(&Asked { instance: &workload.instance, text: &text, transfer_scale, problem: &problem })
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
                match registry::solver_for(name, problem).or_fail(Exit::Usage)? {
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
        (begun, watch): (Instant, Watch),
    ) -> Result<Attempt, Failure> {
        let context = (watch.watched)(self.search.context(watch.cancelled, begun));
        let model = self.problem.other_costs().map(AsRef::as_ref);
        Attempt::of(solver, &workload.instance, problem, model, context)
            .map_err(|error| Failure::new(exit(&error), error.into()))
    }
}

/// How a fault ends the program. That of a program of the user's is a law that it breaks, or nothing found.
pub fn exit(error: &SolveError) -> Exit {
    match error {
        SolveError::Exec(ProgramError::Unreadable { .. }) => Exit::InvalidSplit,
        SolveError::Exec(ProgramError::Failed { .. } | ProgramError::System { .. }) => Exit::NothingFound,
        _ => Exit::Usage,
    }
}

/// The best of the first scope, whose `problem` is given, and how the methods compare.
fn best(workload: &Workload, problem: &Problem, mut attempts: Vec<Attempt>) -> Result<Answer, Failure> {
    let records: Vec<MethodRecord> = attempts.iter().map(|attempt| attempt.record.clone()).collect();
    method::consistent(&records).map_err(|contradiction| bug(&contradiction.to_string()))?;
    let scope = Some(problem.spec.scope.name());
    let in_first = records.iter().take_while(|record| record.scope == scope).count();
    let best = attempts.swap_remove(MethodRecord::best(&records[..in_first]));
    let instance = InstanceRecord::new(&workload.instance, problem.graph.edge_count());
    let mut record = RunRecord::new(instance, &problem.spec, best.record, best.stats, best.verified.as_ref());
    record.trace = best.trace;
    if problem.spec.degrees.is_some() {
        record.time_unit = workload.instance.parallelism.as_ref().map(|parallelism| parallelism.time.symbol());
    }
    if records.len() > 1 {
        record.compared = records;
    }
    Ok(Answer { record, verified: best.verified })
}

/// A split that its solver takes for good and the verifier does not: a bug, but for programs of the user's.
fn rejection(attempt: &Attempt) -> Option<Failure> {
    let (method, violations) = (&attempt.record.method, &attempt.violations);
    let rejection = || {
        const SHOWN: usize = 5;
        let (shown, others) = violations.split_at(violations.len().min(SHOWN));
        let others = if others.is_empty() { String::new() } else { format!("\n  and {} more", others.len()) };
        let what = format!("the split that method {method} found is invalid:{}{others}", listed(shown));
        if attempt.is_program { Failure::message(Exit::InvalidSplit, what) } else { bug(&what) }
    };
    (!violations.is_empty()).then(rejection)
}

/// Tells of the splits that the verifier rejects. They fail the run where nothing else stands.
fn tell_rejections(attempts: &[Attempt]) -> Result<(), Failure> {
    let mut rejections: Vec<Failure> = attempts.iter().filter_map(rejection).collect();
    let last = if rejections.len() == attempts.len() { rejections.pop() } else { None };
    rejections.iter().for_each(|rejection| eprintln!("{rejection}"));
    last.map_or(Ok(()), Err)
}

#[cfg(test)]
mod tests {
    use crate::problem::Solution;
    use crate::solve::dp::IdealDp;
    use crate::solve::{Guarantee, Outcome, Run, Stats, Unsupported};
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        reading: ReadingArgs,
        #[command(flatten)]
        question: Question,
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
        let Line { reading, question } = Line::parse_from(["solve", file]);
        let workload = reading.read().unwrap_or_else(|failure| panic!("{failure}"));
        let spec = question.problem.spec(&workload).unwrap_or_else(|failure| panic!("{failure}"));
        let problem = Problem::new(&workload.instance, spec).unwrap();
        let watch = Watch { cancelled: &Arc::default(), watched: &|context| context };
        let attempt =
            |solver: &dyn Solver| question.attempt(solver, &workload, &problem, (Instant::now(), watch)).unwrap();
        let lie = attempt(&Liar);
        assert_eq!(
            (lie.record.status, lie.record.objective, lie.verified.is_some()),
            (crate::solve::Status::Rejected, None, false)
        );
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
