//! Exit codes, and failures that carry one.

use std::fmt;
use std::process::ExitCode;

use crate::solve::Status;

/// How the program ends. The numbers are a contract: see the README.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    /// Solved, valid, done.
    Done = 0,
    /// The split breaks a rule, or the partitioner a law.
    InvalidSplit = 1,
    /// The command line makes no sense.
    Usage = 2,
    /// An input file is bad.
    BadInput = 3,
    /// There is no split.
    Infeasible = 4,
    /// No split was found within the limit.
    NothingFound = 5,
    /// dagsplit contradicts itself.
    Bug = 70,
    /// Output cannot be written.
    Output = 74,
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        ExitCode::from(exit as u8)
    }
}

/// The status of a run that ended without an answer, by its exit code; a signal has none.
pub fn status(code: Option<i32>) -> Status {
    const REJECTED: i32 = Exit::InvalidSplit as i32;
    const UNSUPPORTED: i32 = Exit::Usage as i32;
    match code {
        Some(REJECTED) => Status::Rejected,
        Some(UNSUPPORTED) => Status::Unsupported,
        _ => Status::Crashed,
    }
}

/// Why a verb could not do its work.
#[derive(Debug)]
pub struct Failure {
    /// How the program ends.
    pub exit: Exit,
    error: anyhow::Error,
}

impl Failure {
    /// A failure that ends the program with `exit`.
    pub fn new(exit: Exit, error: anyhow::Error) -> Self {
        Self { exit, error }
    }

    /// A failure with a message of its own.
    pub fn message(exit: Exit, message: impl Into<String>) -> Self {
        Self::new(exit, anyhow::anyhow!(message.into()))
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.error)
    }
}

/// Gives an error the exit code it ends the program with.
pub trait OrFail<T> {
    /// The value, or a [`Failure`] with `exit`.
    fn or_fail(self, exit: Exit) -> Result<T, Failure>;
}

impl<T, E: Into<anyhow::Error>> OrFail<T> for Result<T, E> {
    fn or_fail(self, exit: Exit) -> Result<T, Failure> {
        self.map_err(|error| Failure::new(exit, error.into()))
    }
}
