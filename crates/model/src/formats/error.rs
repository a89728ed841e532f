//! What can be wrong when a file is read or written.

use std::fmt;
use std::path::{Path, PathBuf};

use crate::instance::Problems;
use crate::text;

/// A file or text that could not be read, with its path where there is one.
#[derive(Debug, thiserror::Error)]
pub struct ReadError {
    /// The file; `None` for text that came from elsewhere.
    pub path: Option<PathBuf>,
    /// What is wrong with it.
    #[source]
    pub cause: ReadCause,
}

impl fmt::Display for ReadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.path {
            Some(path) => write!(f, "{}: {}", text::path(path), self.cause),
            None => write!(f, "{}", self.cause),
        }
    }
}

impl ReadError {
    /// Says of a cause in which file it is.
    pub fn at(path: &Path) -> impl Fn(ReadCause) -> Self {
        move |cause| Self { path: Some(path.to_path_buf()), cause }
    }
}

impl From<ReadCause> for ReadError {
    fn from(cause: ReadCause) -> Self {
        Self { path: None, cause }
    }
}

/// Why a file could not be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReadCause {
    /// The system could not read it.
    #[error("{0}")]
    Io(#[from] std::io::Error),
    /// It is larger than files of its kind may be.
    #[error("the file holds {size} bytes; at most {most} are read")]
    TooLarge {
        /// Its bytes, or as many as were read.
        size: u64,
        /// How many there may be: [`super::MAX_FILE_BYTES`], or what was asked for.
        most: u64,
    },
    /// It is not text.
    #[error("byte {0} is not UTF-8; save the file as UTF-8 text")]
    NotUtf8(usize),
    /// It is in none of the known formats.
    #[error("this is no known workload format: {0}")]
    UnknownFormat(&'static str),
    /// It is in none of the formats of a topology.
    #[error("this is no known topology format: {0}")]
    UnknownTopology(&'static str),
    /// It is not JSON, or not the JSON that the format asks for.
    #[error("{0}")]
    Json(String),
    /// It can be read but makes no sense.
    #[error("{0}")]
    Invalid(#[from] Problems),
}

/// Why an instance could not be written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum WriteError {
    /// The instance itself is wrong.
    #[error("the instance is not valid: {0}")]
    Invalid(Problems),
    /// The format has no words for something that the instance states.
    #[error("the {format} format cannot express this instance: {problems}")]
    Inexpressible {
        /// The format's name.
        format: &'static str,
        /// What it cannot express, each with the cure.
        problems: Problems,
    },
}
