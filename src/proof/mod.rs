//! Proofs that others can check: why no split is better than the one that was found, as a file of the format
//! `dagsplit-proof/1` (`docs/proofs.md`), which the crate `dagsplit-check` has accepted before anybody sees it.
//!
//! Nothing here has to be right for a proof to hold: what the checker does not accept is no proof.

mod reasons;
mod statement;

use dagsplit_check::{Error, check, split_value};

use crate::formats::write_split;
use crate::instance::Instance;
use crate::problem::{Problem, Solution};
use crate::search::SearchContext;

use statement::Statement;

/// A proof that the checker has accepted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Proof {
    /// The file's text.
    pub text: String,
}

/// Why there is no proof.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Unproven {
    /// The format has no words for the question.
    #[error("proofs know nothing of {0}")]
    Inexpressible(&'static str),
    /// The checker reads no such instance, or cannot count exactly in it.
    #[error("the checker cannot count in this workload: {0}")]
    Unreadable(Error),
    /// No reason suffices.
    #[error("no known reason suffices; the last one tried was {0}")]
    NoReason(Error),
}

/// Whose split is to be proven best.
pub struct Asked<'a> {
    /// The instance.
    pub instance: &'a Instance,
    /// The text of its file, which the proof is about.
    pub text: &'a str,
    /// By what its transfer times were multiplied after reading.
    pub transfer_scale: f64,
    /// The problem made of it.
    pub problem: &'a Problem,
}

impl Asked<'_> {
    /// A proof that no split is better than this one, which the verifier has passed. Tries the cheapest reasons first.
    ///
    /// # Errors
    /// Why there is none.
    pub fn prove(&self, split: &Solution, cx: &SearchContext) -> Result<Proof, Unproven> {
        let mut statement = Statement::new(self)?;
        let split = write_split(self.instance, split);
        statement.claim = split_value(self.text, &statement.line(), &split).map_err(Unproven::Unreadable)?;
        let mut last = None;
        for reason in reasons::without_search(self.problem) {
            match self.checked(&statement, &reason, &split) {
                Ok(proof) => return Ok(proof),
                Err(error) => last = Some(error),
            }
        }
        if let Some((order, reason)) = reasons::profits(self.problem, &statement, cx) {
            statement.order = order;
            match self.checked(&statement, &reason, &split) {
                Ok(proof) => return Ok(proof),
                Err(error) => last = Some(error),
            }
        }
        Err(last.map_or(Unproven::Inexpressible("this question"), Unproven::NoReason))
    }

    /// The proof of one reason, where the checker accepts it.
    fn checked(&self, statement: &Statement, reason: &str, split: &str) -> Result<Proof, Error> {
        let text = format!("{}\n{reason}\n", statement.line());
        check(self.text, &text, Some(split)).map(|_| Proof { text })
    }
}
