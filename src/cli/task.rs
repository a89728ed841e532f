//! A method to run on a workload, as the command line of `dagsplit solve` that does it.

use std::path::Path;

use crate::instance::{Instance, Platform};
use crate::problem::{Problem, ProblemSpec};
use crate::registry::{self, StepSettings};
use crate::report::InstanceRecord;
use crate::report::comparison::{COMPARE_SCHEMA, Ending, Limits, Machine, Record, Trial, Versions};
use crate::solve::Status;

use super::problem_args::ProblemArgs;
use super::reading_args::ReadingOptions;
use super::search_args::SearchArgs;
use super::verbatim::Verbatim;
use super::{Exit, Failure, OrFail};

/// What to run, and how.
#[derive(Debug, Clone)]
pub struct Task {
    /// What is run.
    pub trial: Trial,
    /// The steps of the method that the trial names, perhaps by what its files hold.
    pub steps: Vec<StepSettings>,
    /// The workload's file.
    pub file: String,
    /// The words after `dagsplit` that run it.
    pub arguments: Vec<String>,
    /// Why the method does not take the problem; then there is nothing to run.
    pub refusal: Option<String>,
}

impl Task {
    /// The record of how it ended, here or elsewhere.
    pub fn record(&self, ending: Ending, machine: Machine, versions: Versions) -> Record {
        Record {
            schema: COMPARE_SCHEMA.into(),
            file: self.file.clone(),
            trial: self.trial.clone(),
            steps: self.steps.clone(),
            ending,
            command: self.command(),
            machine,
            versions,
        }
    }

    /// The command line that runs it.
    pub fn command(&self) -> Vec<String> {
        std::iter::once("dagsplit".to_owned()).chain(self.arguments.iter().cloned()).collect()
    }

    /// Whether the verb is `plan`; else it is `solve`.
    pub fn is_plan(&self) -> bool {
        self.arguments.first().is_some_and(|verb| verb == "plan")
    }

    /// The words after the verb.
    pub fn words(&self) -> &[String] {
        self.arguments.get(1..).unwrap_or_default()
    }

    /// Has it use no more memory than so many bytes, where nothing else was said.
    pub fn limit_memory(&mut self, bytes: u64) {
        if self.trial.limits.memory_limit.is_none() {
            self.trial.limits.memory_limit = Some(bytes);
            self.arguments.push(memory_word(bytes));
        }
    }

    /// Why it is not run.
    pub fn refused(&self) -> Option<Ending> {
        self.refusal.clone().map(|refusal| Ending::without_result(Status::Unsupported, refusal))
    }
}

/// What is asked of each workload.
pub struct Question<'a> {
    /// How to read it.
    pub reading: &'a Verbatim<ReadingOptions>,
    /// What is asked of it, in one scope or in several.
    pub problem: &'a Verbatim<ProblemArgs>,
    /// When to stop.
    pub search: &'a SearchArgs,
    /// The seeds that each method runs with.
    pub seeds: &'a [u64],
    /// Whether optima are to be certified.
    pub certify: bool,
}

impl Question<'_> {
    /// Each of the `methods` in each scope that it takes, with each seed. A method that takes no scope is refused in the first one.
    ///
    /// # Errors
    /// The file cannot be read, the options do not fit it, or there is no such method.
    pub fn tasks(&self, file: &Path, methods: &[String]) -> Result<Vec<Task>, Failure> {
        let workload = self.reading.options.read(file)?;
        let specs = self.problem.options.specs(&workload)?;
        let problems = specs.into_iter().map(|spec| self.problem.options.problem(&workload, spec));
        let problems = problems.collect::<Result<Vec<Problem>, Failure>>()?;
        let edges = problems.first().map_or(0, |problem| problem.graph.edge_count());
        let instance = InstanceRecord::new(&workload.instance, edges);
        let mut tasks = Vec::new();
        for method in methods {
            let before = tasks.len();
            let mut first_refusal = None;
            let task =
                |problem, method: &str, seed, refusal| self.task(file, &instance, (problem, method, seed), refusal);
            for problem in &problems {
                match registry::solver_for(method, problem).or_fail(Exit::Usage)? {
                    Ok(solver) => tasks.extend(self.seeds.iter().map(|&seed| task(problem, solver.name(), seed, None))),
                    Err(refusal) => {
                        first_refusal.get_or_insert_with(|| task(problem, method, self.seeds[0], Some(refusal)));
                    }
                }
            }
            tasks.extend(first_refusal.filter(|_| tasks.len() == before));
        }
        Ok(tasks)
    }

    fn task(
        &self,
        file: &Path,
        instance: &InstanceRecord,
        (problem, method, seed): (&Problem, &str, u64),
        refusal: Option<String>,
    ) -> Task {
        let limits = Limits { certify: self.certify, ..self.search.limits() };
        let file = file.to_string_lossy().into_owned();
        let mut arguments = vec!["solve".to_owned(), file.clone()];
        arguments.extend(self.reading.words_without(""));
        arguments.extend(self.problem.words_without("scope"));
        arguments.push(format!("--scope={}", problem.spec.scope.name()));
        arguments.push(format!("--method={method}"));
        arguments.extend(limit_words(&limits));
        arguments.push(format!("--seed={seed}"));
        let trial = Trial {
            instance: instance.clone(),
            problem: problem.spec.clone(),
            costs: self.problem.options.costs_key(problem),
            method: method.into(),
            seed,
            limits,
        };
        Task { steps: steps(method), trial, file, arguments, refusal }
    }
}

/// A workload that is to be planned on a topology.
pub struct PlanTask<'a> {
    /// The workload's file.
    pub file: &'a Path,
    /// The topology's file.
    pub topology: &'a Path,
    /// What records call it: topology and options, which no problem holds.
    pub method: String,
    /// The partitioner, where one is named.
    pub partitioner: Option<&'a str>,
}

impl PlanTask<'_> {
    /// The plan with these options of what the file holds, which has the devices of `platform`.
    pub fn task(
        &self,
        (instance, platform): (&Instance, &Platform),
        options: impl IntoIterator<Item = String>,
        search: &SearchArgs,
    ) -> Task {
        let (limits, seed) = (search.limits(), search.seed);
        let file = self.file.to_string_lossy().into_owned();
        let mut arguments = vec!["plan".to_owned(), file.clone(), self.topology.to_string_lossy().into_owned()];
        arguments.extend(self.partitioner.map(|method| format!("--partitioner={method}")));
        arguments.extend(options);
        arguments.extend(limit_words(&limits));
        arguments.push(format!("--seed={seed}"));
        let trial = Trial {
            instance: InstanceRecord::new(instance, instance.edges.len()),
            problem: ProblemSpec { platform: platform.clone(), ..ProblemSpec::default() },
            costs: None,
            method: self.method.clone(),
            seed,
            limits,
        };
        Task { steps: self.partitioner.map(steps).unwrap_or_default(), trial, file, arguments, refusal: None }
    }
}

/// The steps of a spec string; none of `auto`, which stands for no method where none takes the problem.
fn steps(method: &str) -> Vec<StepSettings> {
    registry::settings(method).unwrap_or_default()
}

fn memory_word(bytes: u64) -> String {
    format!("--memory-limit={bytes}")
}

fn limit_words(limits: &Limits) -> Vec<String> {
    let time_limit = limits.time_limit.map(|seconds| format!("--time-limit={seconds}"));
    let memory_limit = limits.memory_limit.map(memory_word);
    let others = [format!("--gap={}", limits.gap), format!("--threads={}", limits.threads)];
    let certify = limits.certify.then(|| "--certify".to_owned());
    time_limit.into_iter().chain(memory_limit).chain(others).chain(certify).collect()
}
