//! What comparisons keep of runs, and what they make of them.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::path::PathBuf;
use std::sync::{LazyLock, Mutex, PoisonError};

use dagsplit::embedded::{self, report};
use dagsplit::solve::Status;
use pyo3::prelude::*;
use report::comparison::{self, Answer, Ending, Journal, JournalError, Measured, Record, contradiction, measured};
use report::export::{csv::csv, latex::latex, markdown::markdown};
use report::page;
use report::plot::plot;
use report::table;
use serde_json::{Value, json};

use crate::costs::Question;
use crate::errors::{InternalError, InvalidInstance, InvalidOption, OutputError, mismatch, raised};
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

/// The record of each of these trials, which are records of runs that were not made, in the journals of a folder: one by
/// this version, if not by any.
#[pyfunction]
pub fn kept(folder: PathBuf, trials: Vec<String>, any_version: bool) -> PyResult<Vec<Option<String>>> {
    let journal = Journal::folder(&folder).map_err(|error| not_kept(&error))?;
    let record = |trial: &String| {
        let Record { file, trial, command, versions, .. } = serde_json::from_str(trial)?;
        let known = journal.find(&trial, &versions, any_version).cloned();
        known.map(|known| serde_json::to_string(&known.of(file, trial, command))).transpose()
    };
    trials.iter().map(record).collect::<serde_json::Result<_>>().map_err(|error| mismatch(&error))
}

/// Appends a record to this process' journal in a folder.
#[pyfunction]
pub fn keep(folder: PathBuf, record: &str) -> PyResult<()> {
    // A process that was forked has a journal of its own, too.
    static JOURNALS: LazyLock<Mutex<HashMap<(u32, PathBuf), Journal>>> = LazyLock::new(Mutex::default);
    let record = serde_json::from_str(record).map_err(|error| mismatch(&error))?;
    let mut journals = JOURNALS.lock().unwrap_or_else(PoisonError::into_inner);
    let kept = match journals.entry((std::process::id(), folder)) {
        Entry::Occupied(journal) => journal.into_mut().add(record),
        Entry::Vacant(place) => Journal::beside(&place.key().1).and_then(|journal| place.insert(journal).add(record)),
    };
    kept.map_err(|error| not_kept(&error))
}

fn not_kept(error: &JournalError) -> PyErr {
    match error {
        JournalError::Write { .. } => OutputError::new_err(error.to_string()),
        _ => InvalidInstance::new_err(error.to_string()),
    }
}

/// Several records as `rows` (JSON), `text`, `markdown`, `latex`, `csv`, `plot` (SVG) or `page` (HTML).
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
        "page" => page::comparison(&runs).map_err(|error| InternalError::new_err(error.to_string())),
        _ => Err(InvalidOption::new_err(format!("there is no form {form:?}; name one of text, markdown, latex, csv"))),
    }
}

fn row(run: &Measured<'_>) -> Value {
    let (trial, ending) = (&run.record.trial, &run.record.ending);
    json!({
        "workload": run.workload,
        "method": trial.method,
        "scope": trial.problem.scope.name(),
        "seed": trial.seed,
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
