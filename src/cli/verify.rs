//! `dagsplit verify`

use std::path::PathBuf;

use crate::formats::read_split;
use crate::problem::ProblemSpec;
use crate::report::{DeviceRecord, table};
use crate::units::number;
use crate::verify::{self, Verified, Violation};
use serde::Serialize;

use super::problem_args::ProblemArgs;
use super::reading_args::ReadingArgs;
use super::{Exit, Failure, OrFail, print, print_json};

const EXAMPLES: &str = "\
Examples:
  dagsplit verify bert.json split.json
  dagsplit verify bert.json expert.json --scope arbitrary --json";

#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    #[command(flatten)]
    reading: ReadingArgs,

    /// The split, in the published shape.
    #[arg(value_name = "SPLIT")]
    split: PathBuf,

    #[command(flatten)]
    problem: ProblemArgs,

    /// Print one JSON object (schema `dagsplit-verify/1`) in place of the table.
    #[arg(long)]
    json: bool,
}

/// What is said of a split that was checked.
#[derive(Serialize)]
pub struct VerifyRecord {
    schema: &'static str,
    valid: bool,
    scope: &'static str,
    objective_kind: &'static str,
    objective: Option<f64>,
    devices: Vec<DeviceRecord>,
    violations: Vec<String>,
}

impl Args {
    pub fn run(self) -> Result<Exit, Failure> {
        let workload = self.reading.read()?;
        let spec = self.problem.spec(&workload)?;
        spec.validate(&workload.instance).or_fail(Exit::Usage)?;
        let split = read_split(&self.split, &workload.instance).or_fail(Exit::BadInput)?;
        judge(self.problem.check(&workload, &spec, &split), &spec, self.json)
    }
}

/// Prints what there is to say of a split that was checked.
pub(super) fn judge(result: Result<Verified, Vec<Violation>>, spec: &ProblemSpec, json: bool) -> Result<Exit, Failure> {
    let record = VerifyRecord::new(&result, spec);
    if json {
        print_json(&record)?
    } else {
        print(&record.text())?
    }
    Ok(if record.valid { Exit::Done } else { Exit::InvalidSplit })
}

impl VerifyRecord {
    /// The record of what the verifier says of a split by `spec`.
    pub fn new(result: &Result<Verified, Vec<Violation>>, spec: &ProblemSpec) -> Self {
        let verified = result.as_ref().ok();
        Self {
            schema: "dagsplit-verify/1",
            valid: verified.is_some(),
            scope: spec.scope.name(),
            objective_kind: spec.objective.name(),
            objective: verified.map(verify::Verified::objective),
            devices: verified.map(|v| DeviceRecord::all(v, spec)).unwrap_or_default(),
            violations: result.as_ref().err().into_iter().flatten().map(Violation::to_string).collect(),
        }
    }

    fn text(&self) -> String {
        match self.objective {
            Some(objective) => {
                let table = table::devices(&self.devices);
                let (kind, scope) = (self.objective_kind, self.scope);
                format!("{table}objective    {} ({kind})\nvalid        yes ({scope} splits)\n", number(objective))
            }
            None => {
                let count = self.violations.len();
                let plural = if count == 1 { "" } else { "s" };
                let list: String = self.violations.iter().map(|violation| format!("  {violation}\n")).collect();
                format!("the split is invalid: {count} violation{plural}\n{list}")
            }
        }
    }
}
