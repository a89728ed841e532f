//! What comparisons keep of runs, and what they make of them.

use dagsplit::embedded::{self, report};
use dagsplit::solve::Status;
use pyo3::prelude::*;
use report::comparison::{self, Answer, Ending, Measured, Record, contradiction, measured};
use report::export::{csv::csv, latex::latex, markdown::markdown};
use report::plot::plot;
use report::table;
use serde_json::{Value, json};

use crate::costs::Question;
use crate::errors::{InternalError, InvalidOption, mismatch, raised};
use crate::workloads::Instance;

/// The record of a run: `answer` is what `solve` answered, `refusal` why it did not, with the run's status.
#[pyfunction]
#[pyo3(signature = (instance, question, method, answer, refusal))]
pub fn record(
    instance: &Instance,
    question: Question,
    method: &str,
    answer: Option<&str>,
    refusal: Option<(String, String)>,
) -> PyResult<String> {
    let ending = match (answer, refusal) {
        (Some(answer), _) => {
            serde_json::from_str::<Answer>(answer).map(Answer::into_ending).map_err(|error| mismatch(&error))?
        }
        (None, Some((status, message))) => Ending::without_result(named(&status)?, message),
        (None, None) => Ending::without_result(Status::Unknown, "it was not run".into()),
    };
    let record = embedded::record(&instance.0, &question.about(&instance.0), method, ending)
        .map_err(|failure| raised(&failure))?;
    serde_json::to_string(&record).map_err(|error| mismatch(&error))
}

fn named(status: &str) -> PyResult<Status> {
    serde_json::from_value(Value::from(status)).map_err(|error| mismatch(&error))
}

/// Several records as `rows` (JSON), `text`, `markdown`, `latex`, `csv` or `plot` (SVG).
#[pyfunction]
pub fn compared(records: Vec<String>, form: &str) -> PyResult<String> {
    let records: Result<Vec<Record>, _> = records.iter().map(|record| serde_json::from_str(record)).collect();
    let records = records.map_err(|error| mismatch(&error))?;
    if let Some(contradiction) = contradiction(&records) {
        return Err(InternalError::new_err(contradiction.to_string()));
    }
    let runs = measured(&records);
    let sheet = || comparison::sheet(&runs);
    match form {
        "rows" => serde_json::to_string(&runs.iter().map(row).collect::<Vec<_>>()).map_err(|error| mismatch(&error)),
        "text" => Ok(table::sheet(&sheet())),
        "markdown" => Ok(markdown(&sheet())),
        "latex" => Ok(latex(&sheet())),
        "csv" => Ok(csv(&sheet())),
        "plot" => plot(&runs).map_err(|error| InternalError::new_err(error.to_string())),
        _ => Err(InvalidOption::new_err(format!("there is no form {form:?}; name one of text, markdown, latex, csv"))),
    }
}

fn row(run: &Measured<'_>) -> Value {
    let (trial, ending) = (&run.record.trial, &run.record.ending);
    json!({
        "workload": run.workload,
        "method": trial.method,
        "scope": trial.problem.scope.name(),
        "status": ending.status,
        "objective": ending.objective,
        "lower_bound": ending.lower_bound,
        "reference": run.reference.map(|reference| reference.value),
        "reference_is_optimum": run.reference.map(|reference| reference.is_optimum),
        "gap": run.gap,
        "seconds": ending.seconds,
        "message": ending.message,
    })
}
