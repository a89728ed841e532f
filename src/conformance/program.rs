//! Partitioners that are programs of their own.
//!
//! A program reads an instance in dagsplit's own format (`docs/format.md`) on its standard input and writes a split in
//! the published shape to its standard output. What is asked of it stands in its environment
//! ([`Program::environment`]). Besides `maxLoad`, the objective value that it claims, it may say more:
//!
//! - `"status"`: `"feasible"` (what a split alone says), `"optimal"`, `"infeasible"` or `"unknown"`; the last two need
//!   no devices;
//! - `"lowerBound"`: a value that no split of the scope asked for is below.

mod answer;
mod process;

use std::time::Duration;

use super::partitioner::{Answer, Case, Fault, Partitioner, Request};
use crate::formats::{OutputFormat, write_instance};
use crate::problem::{MemoryModel, Objective, Problem, Sharding};
use crate::solve::{Guarantee, Outcome, Unsupported};
use process::Ended;

/// Why there is no program to run.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ProgramError {
    /// The command line has an open quotation mark, or no word.
    #[error("`{0}` is no command line; give a program and its arguments, quoted as in a shell")]
    NoCommand(String),
    /// The program cannot be started.
    #[error("cannot start `{program}`: {error}")]
    NotStarted {
        /// The program.
        program: String,
        /// What the system says.
        error: std::io::Error,
    },
}

/// A program that splits instances.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Program {
    line: String,
    words: Vec<String>,
}

impl Program {
    /// The program that `line` runs: its words are separated by blanks and may be quoted, but no shell reads them.
    ///
    /// # Errors
    /// It cannot be started.
    pub fn new(line: &str) -> Result<Self, ProgramError> {
        let words = shlex::split(line).filter(|words| !words.is_empty());
        let words = words.ok_or_else(|| ProgramError::NoCommand(line.into()))?;
        process::try_to_start(&words).map_err(|error| ProgramError::NotStarted { program: words[0].clone(), error })?;
        Ok(Self { line: line.into(), words })
    }

    /// The outcome that a program's `output` states for `case`. O(length).
    ///
    /// # Errors
    /// What cannot be read.
    pub fn outcome(output: &str, case: &Case) -> Result<Outcome, String> {
        answer::parse(output, case)
    }

    /// What the program is told about `case` besides the instance, as environment variables: `DAGSPLIT_SCOPE`,
    /// `DAGSPLIT_OBJECTIVE` and `DAGSPLIT_COST` as on the command line, `DAGSPLIT_SUBGRAPHS` for the latency,
    /// `DAGSPLIT_MICROBATCHES` for a step, `DAGSPLIT_SHARD_WEIGHT`, `DAGSPLIT_VARIANCE_WEIGHT` and `DAGSPLIT_EDGE_COST` for
    /// the sharding cost, `DAGSPLIT_REPLICAS` and `DAGSPLIT_SYNC_BANDWIDTH` where stages may be replicated, `DAGSPLIT_SERVER_SIZE` and
    /// `DAGSPLIT_BETWEEN_FACTOR` where there are servers, `DAGSPLIT_RECOMPUTATION` (the microbatches of a batch) where memory
    /// is that of training with recomputation, `DAGSPLIT_SEED`, and `DAGSPLIT_TIME_LIMIT` in seconds.
    pub fn environment(case: &Case, seed: u64, time_limit: Duration) -> Vec<(&'static str, String)> {
        let spec = &case.spec;
        let mut variables = vec![
            ("DAGSPLIT_SCOPE", spec.scope.name().to_owned()),
            ("DAGSPLIT_OBJECTIVE", spec.objective.name().to_owned()),
            ("DAGSPLIT_COST", spec.cost.name().to_owned()),
        ];
        if let Objective::Latency { subgraphs } = spec.objective {
            variables.push(("DAGSPLIT_SUBGRAPHS", subgraphs.to_string()));
        }
        if let Objective::Step { microbatches } = spec.objective {
            variables.push(("DAGSPLIT_MICROBATCHES", microbatches.to_string()));
        }
        if let Objective::Sharding(Sharding { weight, variance, edge }) = spec.objective {
            variables.push(("DAGSPLIT_SHARD_WEIGHT", weight.name().to_owned()));
            variables.push(("DAGSPLIT_VARIANCE_WEIGHT", variance.to_string()));
            variables.push(("DAGSPLIT_EDGE_COST", edge.to_string()));
        }
        if let Some(replication) = spec.replication {
            variables.push(("DAGSPLIT_REPLICAS", replication.max_replicas.to_string()));
            variables.push(("DAGSPLIT_SYNC_BANDWIDTH", replication.bandwidth.to_string()));
        }
        if let Some(interconnect) = spec.interconnect {
            variables.push(("DAGSPLIT_SERVER_SIZE", interconnect.server_size.to_string()));
            variables.push(("DAGSPLIT_BETWEEN_FACTOR", interconnect.between_factor.to_string()));
        }
        if let MemoryModel::Recomputation { microbatches } = spec.memory {
            variables.push(("DAGSPLIT_RECOMPUTATION", microbatches.to_string()));
        }
        variables.push(("DAGSPLIT_SEED", seed.to_string()));
        variables.push(("DAGSPLIT_TIME_LIMIT", time_limit.as_secs_f64().to_string()));
        variables
    }
}

impl Partitioner for Program {
    fn name(&self) -> &str {
        &self.line
    }

    fn guarantee(&self) -> Guarantee {
        Guarantee::Heuristic
    }

    fn is_program(&self) -> bool {
        true
    }

    fn supports(&self, problem: &Problem) -> Result<(), Unsupported> {
        if problem.spec.degrees.is_none() {
            return Ok(());
        }
        let reason = "programs are not told which degrees and options they may choose".into();
        Err(Unsupported { solver: self.name().into(), reason })
    }

    fn split(&self, request: &Request) -> Result<Answer, Fault> {
        let failed = |error: &dyn std::error::Error| Fault::Failed(format!("it could not be run: {error}"));
        let input = write_instance(&request.case.instance, OutputFormat::Native).map_err(|error| failed(&error))?;
        let environment = Self::environment(request.case, request.seed, request.time_limit);
        let limit = request.time_limit.saturating_add(request.grace);
        let ended = process::run(&self.words, &environment, &input, limit, &request.stop);
        match ended.map_err(|error| failed(&error))? {
            Ended::ByItself { output, elapsed } => {
                let outcome = Self::outcome(&output, request.case).map_err(Fault::Unreadable)?;
                Ok(Answer { outcome, elapsed })
            }
            Ended::Failed { how, errors } => Err(Fault::Failed(format!("it ended with {how}{}", last_words(&errors)))),
            Ended::Killed { elapsed } => Err(Fault::Killed(elapsed)),
            Ended::Flooded => Err(Fault::Unreadable("there is too much of it".into())),
        }
    }
}

/// The last line that a program wrote to its standard error, for a message.
fn last_words(errors: &str) -> String {
    errors.lines().rfind(|line| !line.trim().is_empty()).map_or_else(String::new, |line| format!(": {}", line.trim()))
}
