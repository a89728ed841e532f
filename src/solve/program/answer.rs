//! What a program says.

use serde::Deserialize;

use crate::formats::parse_split;
use crate::instance::Instance;
use crate::problem::Scope;
use crate::solve::{BoundSource, LowerBound, Outcome};

/// What may stand beside a split.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Beside {
    #[serde(default)]
    status: Status,
    lower_bound: Option<f64>,
}

#[derive(Default, Clone, Copy, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Status {
    #[default]
    Feasible,
    Optimal,
    Infeasible,
    Unknown,
}

/// The outcome that a program's output states.
///
/// # Errors
/// What cannot be read.
pub(super) fn parse(output: &str, instance: &Instance, scope: &Scope) -> Result<Outcome, String> {
    if output.trim().is_empty() {
        return Err("it printed nothing".into());
    }
    let Beside { status, lower_bound } = serde_json::from_str(output).map_err(|error| error.to_string())?;
    let bound = |value| LowerBound { value, scope: scope.clone(), source: BoundSource::Stated };
    let split = || parse_split(output, instance).map_err(|error| error.to_string());
    match status {
        Status::Infeasible => Ok(Outcome::Infeasible),
        Status::Unknown => Ok(Outcome::Unknown { bound: lower_bound.map(bound) }),
        Status::Feasible => Ok(Outcome::Feasible { solution: split()?, bound: lower_bound.map(bound) }),
        Status::Optimal => {
            let solution = split()?;
            let value = lower_bound.or(solution.objective);
            let value = value.ok_or("it says `optimal` without `maxLoad` or `lowerBound`")?;
            Ok(Outcome::Optimal { solution, bound: bound(value) })
        }
    }
}
