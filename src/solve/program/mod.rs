//! Programs of one's own, in any language, as methods.
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

use std::process::ExitStatus;
use std::time::Duration;

use super::{Guarantee, Outcome, Run, SearchContext, SolveError, Solver, Stats, Unsupported};
use crate::cost::{CostModel, ProfiledCost};
use crate::formats::{OutputFormat, write_instance};
use crate::graph::NodeId;
use crate::instance::Instance;
use crate::problem::{MemoryModel, Objective, Problem, ProblemSpec, Scope, Sharding};
use crate::process::Exited;
use process::Ended;

/// The figure of a run that tells the most memory that its program held.
pub(crate) const PROGRAM_PEAK_BYTES: &str = "program_peak_bytes";

/// Why a program gave no answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ProgramError {
    /// No program is named.
    #[error("exec needs a program; give it as `exec:python3 split.py`")]
    NoProgram,
    /// It cannot be started.
    #[error("cannot start `{program}`: {reason}")]
    NotStarted {
        /// The program.
        program: String,
        /// What the system says.
        reason: String,
    },
    /// The instance could not be written, or the system lost sight of the program.
    #[error("`{program}` could not be run: {reason}")]
    System {
        /// The program.
        program: String,
        /// What is wrong.
        reason: String,
    },
    /// It ended with a failure or by a signal.
    #[error("`{program}` ended with {status}{last_words}")]
    Failed {
        /// The program.
        program: String,
        /// How it ended.
        status: ExitStatus,
        /// The last line that it wrote to standard error, after a colon.
        last_words: String,
    },
    /// What it printed is no split.
    #[error("the output of `{program}` cannot be read: {reason}")]
    Unreadable {
        /// The program.
        program: String,
        /// What is wrong with it.
        reason: String,
    },
}

/// A program that splits instances.
///
/// It sees the instance as it is written, on the devices that are asked for. It is killed, with all that it has started,
/// [a while](SearchContext::grace) after the time limit of the run, and at once when that is cancelled; then it has found
/// nothing. What it answers is returned as it stands: whoever runs it has to verify its split, and decides what its claims count.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Program {
    line: String,
    words: Vec<String>,
}

impl Program {
    /// The program that `line` runs: its words are separated by blanks and may be quoted, but no shell reads them. `None`
    /// where a quotation mark is open.
    pub fn new(line: &str) -> Option<Self> {
        Some(Self { line: line.into(), words: shlex::split(line)? })
    }

    /// Starts the program, and ends it at once.
    ///
    /// # Errors
    /// It cannot be started.
    pub fn try_to_start(&self) -> Result<(), ProgramError> {
        let (program, arguments) = self.words.split_first().ok_or(ProgramError::NoProgram)?;
        process::try_to_start(program, arguments).map_err(|error| not_started(program, &error))
    }

    /// The outcome that a program's `output` states for an instance and a scope. O(length).
    ///
    /// # Errors
    /// What cannot be read.
    pub fn outcome(output: &str, instance: &Instance, scope: &Scope) -> Result<Outcome, String> {
        answer::parse(output, instance, scope)
    }

    /// What the program is told besides the instance, as environment variables: `DAGSPLIT_SCOPE`,
    /// `DAGSPLIT_OBJECTIVE` and `DAGSPLIT_COST` as on the command line, `DAGSPLIT_SUBGRAPHS` for the latency,
    /// `DAGSPLIT_MICROBATCHES` for a step and for stages with degrees, `DAGSPLIT_SHARD_WEIGHT`, `DAGSPLIT_VARIANCE_WEIGHT` and `DAGSPLIT_EDGE_COST` for
    /// the sharding cost, `DAGSPLIT_REPLICAS` and `DAGSPLIT_SYNC_BANDWIDTH` where stages may be replicated, `DAGSPLIT_SERVER_SIZE` and
    /// `DAGSPLIT_BETWEEN_FACTOR` where there are servers, `DAGSPLIT_RECOMPUTATION` (the microbatches of a batch) where memory
    /// is that of training with recomputation, `DAGSPLIT_TOGETHER` (indices of nodes, sets separated by blanks) where nodes
    /// are kept together, `DAGSPLIT_SEED`, and `DAGSPLIT_TIME_LIMIT` in seconds
    /// where there is one.
    pub fn environment(spec: &ProblemSpec, seed: u64, time_limit: Option<Duration>) -> Vec<(&'static str, String)> {
        let mut variables = vec![
            ("DAGSPLIT_SCOPE", spec.scope.name().to_owned()),
            ("DAGSPLIT_OBJECTIVE", spec.objective.name().to_owned()),
            ("DAGSPLIT_COST", spec.cost.name().to_owned()),
        ];
        if let Objective::Latency { subgraphs } = spec.objective {
            variables.push(("DAGSPLIT_SUBGRAPHS", subgraphs.to_string()));
        }
        let of_batch = spec.degrees.as_ref().map(|degrees| degrees.microbatches);
        if let Some(microbatches) = spec.objective.microbatches().or(of_batch) {
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
        if !spec.together.is_empty() {
            let set = |nodes: &Vec<NodeId>| nodes.iter().map(NodeId::to_string).collect::<Vec<_>>().join(",");
            variables.push(("DAGSPLIT_TOGETHER", spec.together.iter().map(set).collect::<Vec<_>>().join(" ")));
        }
        variables.push(("DAGSPLIT_SEED", seed.to_string()));
        variables.extend(time_limit.map(|limit| ("DAGSPLIT_TIME_LIMIT", limit.as_secs_f64().to_string())));
        variables
    }
}

impl Solver for Program {
    fn name(&self) -> &str {
        "exec"
    }

    fn guarantee(&self) -> Guarantee {
        Guarantee::Heuristic
    }

    fn is_program(&self) -> bool {
        true
    }

    fn knows_steps(&self) -> bool {
        true
    }

    fn supports(&self, problem: &Problem) -> Result<(), Unsupported> {
        let refused = |reason: &str| Err(Unsupported { solver: self.name().into(), reason: reason.into() });
        if matches!(problem.spec.scope, Scope::Linearized(_)) {
            return refused("programs are told no order of nodes");
        }
        if *problem.costs != ProfiledCost.costs(&problem.instance, &problem.spec) {
            return refused("programs know the costs of profiled instances alone");
        }
        Ok(())
    }

    fn search(&self, problem: &Problem, cx: &mut SearchContext) -> Result<Run, SolveError> {
        let (program, arguments) = self.words.split_first().ok_or(ProgramError::NoProgram)?;
        let system = |reason: String| ProgramError::System { program: program.clone(), reason };
        let instance = Instance { platform: problem.spec.platform.clone(), ..problem.instance.as_ref().clone() };
        let input = write_instance(&instance, OutputFormat::Native).map_err(|error| system(error.to_string()))?;
        let environment = Self::environment(&problem.spec, cx.seed, cx.time_limit());
        let limit = cx.remaining().map(|left| left.saturating_add(cx.grace));
        let is_over = |elapsed| cx.is_cancelled() || limit.is_some_and(|limit| elapsed > limit);
        let child = process::start(program, arguments, &environment, &input);
        let child = child.map_err(|error| not_started(program, &error))?;
        let (exited, ended) = child.wait(is_over).map_err(|error| system(error.to_string()))?;
        let unreadable = |reason| ProgramError::Unreadable { program: program.clone(), reason };
        let outcome = match ended {
            Ended::ByItself { output } => Self::outcome(&output, &instance, &problem.spec.scope).map_err(unreadable)?,
            Ended::Killed => Outcome::Unknown { bound: None },
            Ended::Flooded => return Err(unreadable("there is too much of it".into()).into()),
            Ended::Failed { errors } => {
                let (program, status) = (program.clone(), exited.status);
                return Err(ProgramError::Failed { program, status, last_words: last_words(&errors) }.into());
            }
        };
        Ok(Run { outcome, stats: stats(&exited) })
    }
}

fn not_started(program: &str, error: &std::io::Error) -> ProgramError {
    ProgramError::NotStarted { program: program.into(), reason: error.to_string() }
}

/// What the program took.
fn stats(exited: &Exited) -> Stats {
    let mut stats = Stats::of([("program_seconds", exited.elapsed.as_secs_f64())]);
    exited.cpu_seconds.into_iter().for_each(|seconds| stats.set("program_cpu_seconds", seconds));
    exited.peak_bytes.into_iter().for_each(|bytes| stats.set(PROGRAM_PEAK_BYTES, bytes as f64));
    stats
}

/// The last line that a program wrote to its standard error, for a message.
fn last_words(errors: &str) -> String {
    errors.lines().rfind(|line| !line.trim().is_empty()).map_or_else(String::new, |line| format!(": {}", line.trim()))
}
