//! Why nothing is planned.

use crate::instance::Problems;
use crate::registry::SpecError;
use crate::solve::SolveError;
use crate::verify::Violation;

/// Why nothing is planned.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum PlanError {
    /// A spec string names no method or no mapper.
    #[error(transparent)]
    Spec(#[from] SpecError),
    /// The instance cannot be split like this.
    #[error(transparent)]
    Problem(#[from] Problems),
    /// The partitioner does not take the instance, or failed.
    #[error(transparent)]
    Solve(#[from] SolveError),
    /// No way to use the devices is asked for.
    #[error(
        "there is nothing to look at: of {devices} devices no S x R x tensor degree asked for can share out the microbatches \
         of a batch of {batch} evenly, with two devices and layers enough where several chunks are asked for, and two of them under zb-v; ask for others, \
         or for a batch with more divisors"
    )]
    NoCandidate {
        /// Samples of a step.
        batch: usize,
        /// How many devices there are.
        devices: usize,
    },
    /// A schedule without a backward pass, and a workload with one, or schedules of both kinds for options of nodes.
    #[error(
        "the schedule `inference` runs no backward pass, and the workload has one, or another schedule is asked for that needs it; \
         plan the workload without it, under `inference` alone"
    )]
    BackwardPass,
    /// Tokens are to be kept, and nothing states what they take.
    #[error(
        "--cache-tokens: no option of the workload states what keys and values of a token take, as those of \
         `generate llm --serving` do; leave it out"
    )]
    NoCache,
    /// Several chunks on each device alone, or their schedule, and a question that has none.
    #[error(
        "several chunks on a device, as under the schedule `interleaved`, are not planned here: {0}; leave one chunk in"
    )]
    NoChunks(&'static str),
    /// Splitting and placing together is asked for, and not possible.
    #[error("splits and mappings cannot be decided together: {0}; leave it to `--joint auto`")]
    NoJoint(String),
    /// The verifier rejects a split.
    #[error("the split into {stages} stages that {method} found is invalid: {}", first(.violations))]
    Split {
        /// The partitioner.
        method: String,
        /// How many stages were asked for.
        stages: usize,
        /// What is wrong.
        violations: Vec<Violation>,
        /// Whether the partitioner is a program of the user's, and this no bug.
        is_program: bool,
    },
    /// The verifier rejects a mapping.
    #[error("the mapping that {mapper} found is invalid: {violation}")]
    Mapping {
        /// The mapper.
        mapper: String,
        /// What is wrong.
        violation: String,
    },
}

fn first(violations: &[Violation]) -> String {
    violations.first().map(ToString::to_string).unwrap_or_default()
}
