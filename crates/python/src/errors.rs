//! Failures as exceptions.

use dagsplit::embedded::{Exit, Failure};
use pyo3::exceptions::PyException;
use pyo3::{PyErr, create_exception};

create_exception!(
    dagsplit,
    Error,
    PyException,
    "Whatever dagsplit refuses or cannot do. The message says what, where, and the cure."
);
create_exception!(
    dagsplit,
    InvalidInstance,
    Error,
    "A file or a value that is no valid workload, split or topology: everything that is wrong with it is listed."
);
create_exception!(
    dagsplit,
    InvalidOption,
    Error,
    "An option that does not exist, has no such value, or does not fit the workload; or a method that does not take the \
     problem."
);
create_exception!(
    dagsplit,
    InvalidSplit,
    Error,
    "A split that breaks a rule, where only a valid one will do. `verify` lists violations without raising."
);
create_exception!(dagsplit, InternalError, Error, "dagsplit contradicts itself: a bug, please report it.");
create_exception!(dagsplit, OutputError, Error, "A file cannot be written.");

/// The exception that a failure is, in the words of keywords.
pub fn raised(failure: &Failure) -> PyErr {
    let message = failure.to_string();
    match failure.exit {
        Exit::Usage => InvalidOption::new_err(as_keywords(&message)),
        Exit::BadInput => InvalidInstance::new_err(message),
        Exit::InvalidSplit => InvalidSplit::new_err(message),
        Exit::Bug => InternalError::new_err(message),
        Exit::Output => OutputError::new_err(message),
        Exit::Done | Exit::Infeasible | Exit::NothingFound => Error::new_err(message),
    }
}

/// What JSON there is cannot be made or read: the Python sources and this module disagree.
pub fn mismatch(error: &serde_json::Error) -> PyErr {
    InternalError::new_err(error.to_string())
}

/// The message with `--two-words` as `two_words`.
fn as_keywords(message: &str) -> String {
    let mut parts = message.split("--");
    let mut text = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let end = part.find(|c: char| !c.is_ascii_alphanumeric() && c != '-').unwrap_or(part.len());
        text += &part[..end].replace('-', "_");
        text += &part[end..];
    }
    text
}
