//! The file that keeps the records of a comparison while it runs: JSON lines.

use std::path::{Path, PathBuf};

use super::record::{COMPARE_SCHEMA, Record, Trial};
use crate::formats::{ReadCause, file, write_atomically};
use crate::solve::Status;
use crate::text::{self, escaped_json};

/// Why a file of results cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum JournalError {
    /// It cannot be read.
    #[error("{}: it cannot be read: {cause}", text::path(path))]
    Read {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        cause: ReadCause,
    },
    /// It cannot be written.
    #[error("{}: it cannot be written: {cause}", text::path(path))]
    Write {
        /// The file.
        path: PathBuf,
        /// What the system says.
        cause: std::io::Error,
    },
    /// A line is no record.
    #[error("{}, line {line}: it is no record of a comparison: {cause}", text::path(path))]
    NoRecord {
        /// The file.
        path: PathBuf,
        /// The line's number, from 1.
        line: usize,
        /// What is wrong with it.
        cause: String,
    },
    /// There are results in the file already.
    #[error("{}: the file exists; resume it with --resume, or give another one", text::path(.0))]
    Exists(PathBuf),
}

/// Records, and the file that they are saved to after each run.
#[derive(Debug, Default)]
pub struct Journal {
    path: Option<PathBuf>,
    records: Vec<Record>,
}

impl Journal {
    /// A journal in a new file; without a path it is kept in memory alone.
    ///
    /// # Errors
    /// The file exists.
    pub fn create(path: Option<&Path>) -> Result<Self, JournalError> {
        match path {
            Some(path) if path.exists() => Err(JournalError::Exists(path.into())),
            path => Ok(Self { path: path.map(Into::into), records: Vec::new() }),
        }
    }

    /// Goes on with the journal in `path`, or begins it where there is no such file.
    ///
    /// # Errors
    /// The file cannot be read, is larger than files may be, or holds something else.
    pub fn resume(path: &Path) -> Result<Self, JournalError> {
        let text = match file::text(path) {
            Ok(text) => text,
            Err(ReadCause::Io(cause)) if cause.kind() == std::io::ErrorKind::NotFound => String::new(),
            Err(cause) => return Err(JournalError::Read { path: path.into(), cause }),
        };
        Self::parse(path, &text)
    }

    /// The journal that `text` is, to be gone on with in `path`. O(length).
    ///
    /// # Errors
    /// A line is no record.
    pub fn parse(path: &Path, text: &str) -> Result<Self, JournalError> {
        let lines = text.lines().zip(1..).filter(|(line, _)| !line.trim().is_empty());
        let read = |(line, number): (&str, usize)| {
            parse(line).map_err(|cause| JournalError::NoRecord { path: path.into(), line: number, cause })
        };
        Ok(Self { path: Some(path.into()), records: lines.map(read).collect::<Result<_, _>>()? })
    }

    /// The records in the order of their runs.
    pub fn records(&self) -> &[Record] {
        &self.records
    }

    /// The record of an equal trial that went to its end; one that Ctrl-C ended is to be run again.
    pub fn find(&self, trial: &Trial) -> Option<&Record> {
        let ended = self.records.iter().filter(|record| record.ending.status != Status::Interrupted);
        ended.rev().find(|record| record.trial.equals(trial))
    }

    /// Adds a record, in place of one of an equal trial, and saves the file: a reader sees all of it or none.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn add(&mut self, record: Record) -> Result<(), JournalError> {
        self.records.retain(|old| !old.trial.equals(&record.trial));
        self.records.push(record);
        let Some(path) = &self.path else { return Ok(()) };
        let line = |record| serde_json::to_string(record).map(|json| format!("{}\n", escaped_json(&json)));
        let lines: Result<String, _> = self.records.iter().map(line).collect();
        let written = lines.map_err(Into::into).and_then(|lines| write_atomically(path, lines.as_bytes()));
        written.map_err(|cause| JournalError::Write { path: path.clone(), cause })
    }
}

fn parse(line: &str) -> Result<Record, String> {
    let record: Record = serde_json::from_str(line).map_err(|error| error.to_string())?;
    match record.schema.as_str() {
        COMPARE_SCHEMA => Ok(record),
        other => Err(format!("its schema is `{other}`, and this dagsplit reads `{COMPARE_SCHEMA}`")),
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::record;
    use super::*;

    #[test]
    fn records_come_back_as_they_were() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("results.jsonl");
        let mut journal = Journal::create(Some(&path)).unwrap();
        let (mut first, second) = (record("dp", Some(0.1 + 0.2)), record("dpl", None));
        first.ending.status = Status::Interrupted;
        journal.add(first.clone()).unwrap();
        journal.add(second.clone()).unwrap();
        assert!(matches!(Journal::create(Some(&path)), Err(JournalError::Exists(_))));

        let mut resumed = Journal::resume(&path).unwrap();
        assert_eq!(resumed.find(&second.trial), Some(&second));
        assert_eq!(resumed.find(&first.trial), None, "an interrupted run is run again");
        first.ending.status = Status::Feasible;
        resumed.add(first.clone()).unwrap();
        let resumed = Journal::resume(&path).unwrap();
        assert_eq!((resumed.find(&first.trial), resumed.records.len()), (Some(&first), 2));
        let other = Trial { seed: 1, ..first.trial };
        assert_eq!(resumed.find(&other), None);
    }

    #[test]
    fn a_line_that_is_no_record_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("results.jsonl");
        let line = serde_json::to_string(&record("dp", None)).unwrap();
        std::fs::write(&path, format!("{line}\n{}\n", line.replace("compare/1", "compare/9"))).unwrap();
        let error = Journal::resume(&path).unwrap_err().to_string();
        assert!(error.contains("line 2") && error.contains("dagsplit-compare/9"), "{error}");
    }
}
