//! Proofs that others can check: why no split is better than the one that was found, as a file of the format
//! `dagsplit-proof/1` (`docs/proofs.md`), which the crate `dagsplit-check` has accepted before anybody sees it.
//!
//! Nothing here has to be right for a proof to hold: what the checker does not accept is no proof.

pub mod ledger;
mod reasons;
mod stability;
mod statement;

use std::time::{Duration, Instant};

use dagsplit_check::{Error, check, split_value};

use crate::formats::write_split;
use crate::instance::Instance;
use crate::problem::{Problem, Scope, Solution};
use crate::search::SearchContext;

pub use stability::{Scenario, Spread, Stability};

use statement::Statement;

/// A proof that the checker has accepted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Proof {
    /// The file's text.
    pub text: String,
    /// What the checker took to accept it.
    pub checked_in: Duration,
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
        let accepts = |statement: &Statement, reason: &str| self.checked(statement, reason, &split);
        let target = statement.claim as f64 * 0.1_f64.powi(statement.digits as i32);
        sought(self.problem, &mut statement, target, cx, accepts)
    }

    /// The lower bound that a proof shows, whoever wrote it, and the scope in which it holds; `None` where it is about
    /// another workload, other devices or other costs.
    ///
    /// # Errors
    /// The checker does not accept it.
    pub fn bound(&self, proof: &str) -> Result<Option<(f64, Scope)>, Error> {
        let first_line = proof.lines().next().unwrap_or_default();
        let scope = Statement::new(self).ok().and_then(|statement| statement.scope_of_same(first_line));
        scope
            .map(|scope| check(self.text, proof, None).map(|accepted| (time(accepted.claim, accepted.digits), scope)))
            .transpose()
    }

    /// The proof of one reason, where the checker accepts it.
    fn checked(&self, statement: &Statement, reason: &str, split: &str) -> Result<Proof, Error> {
        let text = format!("{}\n{reason}\n", statement.line());
        let begun = Instant::now();
        check(self.text, &text, Some(split)).map(|_| Proof { text, checked_in: begun.elapsed() })
    }
}

/// What `accepts` makes of the first of the reasons why no split of a problem has a load below a target, in the instance's time
/// unit, that it accepts. Tries the cheapest ones first.
fn sought<T>(
    problem: &Problem,
    statement: &mut Statement,
    target: f64,
    cx: &SearchContext,
    accepts: impl Fn(&Statement, &str) -> Result<T, Error>,
) -> Result<T, Unproven> {
    let mut last = None;
    for reason in reasons::without_search(problem) {
        match accepts(statement, &reason) {
            Ok(found) => return Ok(found),
            Err(error) => last = Some(error),
        }
    }
    if let Some((order, reason)) = reasons::profits(problem, statement.digits, target, cx) {
        statement.order = order;
        match accepts(statement, &reason) {
            Ok(found) => return Ok(found),
            Err(error) => last = Some(error),
        }
    }
    Err(last.map_or(Unproven::Inexpressible("this question"), Unproven::NoReason))
}

/// So many units of 10^-`digits` in the instance's time unit: the floating-point number next to it.
pub fn time(units: i128, digits: u32) -> f64 {
    format!("{units}e-{digits}").parse().unwrap_or(f64::NEG_INFINITY)
}
