//! The ledger: for each workload and question the best split and the best bound that are known, each with the file that
//! anybody can check, and who found it. What is no better, or not proven, does not get in.

use std::path::{Path, PathBuf};

use dagsplit_check::{Error, check, hash, split_value};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::formats::{ReadError, read_text, write_atomically};
use crate::text;

/// Version of the file.
pub const LEDGER_SCHEMA: &str = "dagsplit-ledger/1";

/// The fields of a proof's first line that are no part of its question.
const NO_QUESTION: [&str; 4] = ["format", "instance", "claim", "order"];

/// A ledger, whose files are named relative to its own folder.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Ledger {
    schema: String,
    /// One for each workload and question.
    pub entries: Vec<Entry>,
}

/// What is known of a workload and a question.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Entry {
    /// The workload's file.
    pub workload: PathBuf,
    /// The hash of its bytes, as in proofs.
    pub hash: String,
    /// The first line of its proofs, without hash, order and claim: values count units of 10^-`digits`.
    pub question: Map<String, Value>,
    /// The highest bound: no split has a load below its value.
    pub bound: Held,
    /// The best split, where one was given.
    pub split: Option<Held>,
}

/// A file that shows a value, and who found it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Held {
    /// In units of the question.
    pub value: i128,
    /// The proof or split.
    pub file: PathBuf,
    /// Who found it, and with what.
    pub by: String,
}

impl Entry {
    /// Whether no split can be better than the one that is known.
    pub fn is_closed(&self) -> bool {
        self.split.as_ref().is_some_and(|split| split.value == self.bound.value)
    }
}

/// What is to be added to a ledger.
#[derive(Debug, Clone, Copy)]
pub struct Addition<'a> {
    /// The workload's file.
    pub workload: &'a Path,
    /// The proof's file.
    pub proof: &'a Path,
    /// The split's file.
    pub split: Option<&'a Path>,
    /// Who found them.
    pub by: &'a str,
}

/// What was better than before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Better {
    /// The bound.
    pub bound: bool,
    /// The split.
    pub split: bool,
}

/// Why a ledger cannot be read, or takes nothing in.
#[derive(Debug, thiserror::Error)]
pub enum LedgerError {
    /// A file cannot be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// The ledger is not of this format.
    #[error("{}: it is no ledger: {cause}", text::path(path))]
    NoLedger {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        cause: String,
    },
    /// The checker does not accept what is to be added.
    #[error(transparent)]
    Checked(#[from] Error),
    /// The proof is about how far a split can be from the best one.
    #[error("a proof of stability bounds no load")]
    NoBound,
    /// Neither bound nor split are better.
    #[error("nothing is better: the ledger has a bound of {bound} and {}", .split.map_or("no split".into(), |split| format!("a split of {split}")))]
    NoBetter {
        /// The bound it has.
        bound: i128,
        /// The split it has.
        split: Option<i128>,
    },
    /// A file cannot be written.
    #[error("{}: it cannot be written: {cause}", text::path(path))]
    Write {
        /// The file.
        path: PathBuf,
        /// What the system says.
        cause: std::io::Error,
    },
}

impl Ledger {
    /// Reads a ledger; an empty one where there is no such file.
    ///
    /// # Errors
    /// The file cannot be read, or is none.
    pub fn read(path: &Path) -> Result<Self, LedgerError> {
        if !path.exists() {
            return Ok(Self { schema: LEDGER_SCHEMA.into(), entries: Vec::new() });
        }
        let no_ledger = |cause: String| LedgerError::NoLedger { path: path.into(), cause };
        let ledger: Self = serde_json::from_str(&read_text(path)?).map_err(|error| no_ledger(error.to_string()))?;
        match ledger.schema.as_str() {
            LEDGER_SCHEMA => Ok(ledger),
            other => Err(no_ledger(format!("its schema is `{other}`, and this dagsplit reads `{LEDGER_SCHEMA}`"))),
        }
    }

    /// Checks every file: the entries of which one does not show what the ledger says, with the reason.
    pub fn faults<'a>(&'a self, folder: &'a Path) -> impl Iterator<Item = (&'a Entry, String)> {
        self.entries.iter().filter_map(move |entry| Some((entry, entry.fault(folder).err()?)))
    }

    /// Takes in a bound with its proof, and a split, as far as they are better than what is known, and writes the ledger.
    ///
    /// # Errors
    /// The checker refuses the proof or the split, neither is better, or a file cannot be read or written.
    pub fn add(&mut self, path: &Path, addition: Addition) -> Result<Better, LedgerError> {
        let folder = path.parent().unwrap_or(Path::new(""));
        let (instance, proof) = (read_text(addition.workload)?, read_text(addition.proof)?);
        let claim = bound(&instance, &proof)?;
        let first_line = proof.lines().next().unwrap_or_default();
        let split = addition.split.map(read_text).transpose()?;
        let value = split.as_ref().map(|split| split_value(&instance, first_line, split)).transpose()?;
        let (hash, question) = (hash(instance.as_bytes()), question(first_line));
        let known = self.entries.iter().position(|entry| entry.hash == hash && entry.question == question);
        let old = known.map(|at| &self.entries[at]);
        let old_split = old.and_then(|entry| entry.split.as_ref()).map(|split| split.value);
        let better = Better {
            bound: old.is_none_or(|entry| claim > entry.bound.value),
            split: value.is_some_and(|value| old_split.is_none_or(|old| value < old)),
        };
        if let Some(entry) = old.filter(|_| !better.bound && !better.split) {
            return Err(LedgerError::NoBetter { bound: entry.bound.value, split: old_split });
        }
        let stem = self.stem(known.unwrap_or(self.entries.len()), addition.workload, &question);
        let hold = |value: i128, ending: &str, text: &str| {
            let file = PathBuf::from("ledger").join(format!("{stem}.{ending}"));
            let to = folder.join(&file);
            let written =
                std::fs::create_dir_all(folder.join("ledger")).and_then(|()| write_atomically(&to, text.as_bytes()));
            written.map_err(|cause| LedgerError::Write { path: to, cause })?;
            Ok::<_, LedgerError>(Held { value, file, by: addition.by.into() })
        };
        let bound = if better.bound { Some(hold(claim, "proof", &proof)?) } else { None };
        let split = match (better.split, value, &split) {
            (true, Some(value), Some(text)) => Some(hold(value, "split.json", text)?),
            _ => None,
        };
        match (known, bound) {
            (Some(at), bound) => {
                let entry = &mut self.entries[at];
                entry.bound = bound.unwrap_or_else(|| entry.bound.clone());
                entry.split = split.or_else(|| entry.split.take());
            }
            (None, Some(bound)) => {
                let workload = addition.workload.strip_prefix(folder).unwrap_or(addition.workload).into();
                self.entries.push(Entry { workload, hash, question, bound, split });
            }
            (None, None) => {}
        }
        let no_ledger =
            |error: serde_json::Error| LedgerError::NoLedger { path: path.into(), cause: error.to_string() };
        let text = serde_json::to_string_pretty(self).map_err(no_ledger)?;
        write_atomically(path, (text + "\n").as_bytes())
            .map_err(|cause| LedgerError::Write { path: path.into(), cause })?;
        Ok(better)
    }

    /// What the files of an entry are called: after workload and scope, with a number where several are.
    fn stem(&self, at: usize, workload: &Path, question: &Map<String, Value>) -> String {
        let name = workload.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let scope = question.get("scope").and_then(Value::as_str).unwrap_or_default();
        let is_taken = |stem: &str| {
            self.entries
                .iter()
                .enumerate()
                .any(|(i, entry)| i != at && entry.bound.file.file_stem().is_some_and(|taken| taken == stem))
        };
        let numbered =
            |number: usize| if number == 1 { format!("{name}-{scope}") } else { format!("{name}-{scope}-{number}") };
        (1..).map(numbered).find(|stem| !is_taken(stem)).unwrap_or_default()
    }
}

impl Entry {
    fn fault(&self, folder: &Path) -> Result<(), String> {
        let read = |file: &Path| read_text(&folder.join(file)).map_err(|error| error.to_string());
        let (instance, proof) = (read(&self.workload)?, read(&self.bound.file)?);
        let claim = bound(&instance, &proof).map_err(|error| error.to_string())?;
        let first_line = proof.lines().next().unwrap_or_default();
        if (claim, hash(instance.as_bytes()), question(first_line))
            != (self.bound.value, self.hash.clone(), self.question.clone())
        {
            return Err("the proof is about another question, or claims another bound".into());
        }
        let Some(split) = &self.split else { return Ok(()) };
        let value = split_value(&instance, first_line, &read(&split.file)?).map_err(|error| error.to_string())?;
        if value == split.value { Ok(()) } else { Err(format!("the split has a load of {value}, not {}", split.value)) }
    }
}

/// What an accepted proof bounds all loads by.
fn bound(instance: &str, proof: &str) -> Result<i128, LedgerError> {
    let accepted = check(instance, proof, None)?;
    if accepted.is_stability { Err(LedgerError::NoBound) } else { Ok(accepted.claim) }
}

/// The question of a proof's first line.
fn question(first_line: &str) -> Map<String, Value> {
    let mut fields: Map<String, Value> = serde_json::from_str(first_line).unwrap_or_default();
    fields.retain(|name, _| !NO_QUESTION.contains(&name.as_str()));
    fields
}
