//! `dagsplit check`

use std::path::PathBuf;
use std::time::Instant;

use dagsplit_check::{Accepted, Error};
use serde::Serialize;

use crate::formats::read_text;
use crate::proof;
use crate::units::{bytes, seconds};

use super::{Exit, Failure, OrFail, print, print_json};

const EXAMPLES: &str = "\
Examples:
  dagsplit check bert.json bert.proof
  dagsplit check bert.json bert.proof split.json --json

It is the checker of the program `dagsplit-check`, which builds alone and shares no code with the solvers.";

#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// The workload: the very file that the proof is about.
    #[arg(value_name = "FILE")]
    instance: PathBuf,

    /// The proof (`dagsplit-proof/1`).
    #[arg(value_name = "PROOF")]
    proof: PathBuf,

    /// A split in the published shape that is to have a load of no more than the claim, and so to be optimal.
    #[arg(value_name = "SPLIT")]
    split: Option<PathBuf>,

    /// Print one JSON object (schema `dagsplit-check/1`) in place of the text.
    #[arg(long)]
    json: bool,
}

/// What is said of a proof that was checked.
#[derive(Serialize)]
struct CheckRecord {
    schema: &'static str,
    accepted: bool,
    /// No split has a load below this many units of 10^-digits of the workload's time unit; or, of a proof of stability,
    /// its split is never further above the best one.
    #[serde(skip_serializing_if = "Option::is_none")]
    claim: Option<i128>,
    #[serde(skip_serializing_if = "Option::is_none")]
    digits: Option<u32>,
    /// The claim as a time: a bound of all loads.
    #[serde(skip_serializing_if = "Option::is_none")]
    lower_bound: Option<f64>,
    /// The claim as a time: how far above the best one a split can be.
    #[serde(skip_serializing_if = "Option::is_none")]
    regret: Option<f64>,
    /// The line of the proof that does not hold, and why.
    #[serde(skip_serializing_if = "Option::is_none")]
    line: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cause: Option<String>,
    proof_bytes: usize,
    seconds: f64,
}

impl Args {
    pub fn run(self) -> Result<Exit, Failure> {
        let (instance, proof) = (read_text(&self.instance), read_text(&self.proof));
        let (instance, proof) = (instance.or_fail(Exit::BadInput)?, proof.or_fail(Exit::BadInput)?);
        let split = self.split.as_deref().map(read_text).transpose().or_fail(Exit::BadInput)?;
        let begun = Instant::now();
        let checked = match dagsplit_check::check(&instance, &proof, split.as_deref()) {
            Ok(accepted) => Ok(accepted),
            Err(Error::Refused { line, cause }) => Err((line, cause)),
            Err(unreadable) => return Err(unreadable).or_fail(Exit::BadInput),
        };
        let record = CheckRecord::new(checked, proof.len(), begun.elapsed().as_secs_f64());
        if self.json {
            print_json(&record)?
        } else {
            print(&record.text(split.is_some()))?
        }
        Ok(if record.accepted { Exit::Done } else { Exit::InvalidSplit })
    }
}

impl CheckRecord {
    fn new(checked: Result<Accepted, (usize, String)>, proof_bytes: usize, seconds: f64) -> Self {
        let accepted = checked.as_ref().ok();
        let (line, cause) = checked.as_ref().err().cloned().unzip();
        let time = |accepted: &Accepted| proof::time(accepted.claim, accepted.digits);
        Self {
            schema: "dagsplit-check/1",
            accepted: accepted.is_some(),
            claim: accepted.map(|accepted| accepted.claim),
            digits: accepted.map(|accepted| accepted.digits),
            lower_bound: accepted.filter(|accepted| !accepted.is_stability).map(time),
            regret: accepted.filter(|accepted| accepted.is_stability).map(time),
            line,
            cause,
            proof_bytes,
            seconds,
        }
    }

    fn text(&self, has_split: bool) -> String {
        let took = format!("proof       {}, checked in {}\n", bytes(self.proof_bytes as f64), seconds(self.seconds));
        match (self.lower_bound, self.regret, self.line.zip(self.cause.as_ref())) {
            (Some(bound), ..) => {
                let optimal = if has_split { "optimal     yes, the split has no more\n" } else { "" };
                format!("accepted    every split has a load of at least {bound}\n{optimal}{took}")
            }
            (_, Some(regret), _) => {
                format!("accepted    while times move so, the split is above the best one by at most {regret}\n{took}")
            }
            (.., Some((line, cause))) => format!("refused     line {line}: {cause}\n{took}"),
            _ => took,
        }
    }
}
