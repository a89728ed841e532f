//! What comparisons keep of runs, and what they make of them.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::path::PathBuf;
use std::sync::{LazyLock, Mutex, PoisonError};

use dagsplit::embedded::{self, report};
use dagsplit::solve::Status;
use pyo3::prelude::*;
use report::comparison::{
    self, Answer, Change, Curve, Ending, Journal, Measured, Performance, Record, Table, changes, contradiction,
    gaps_over_time, measured, prices, profiles, summaries,
};
use report::export::{csv::csv, latex::latex, markdown::markdown};
use report::image::Format;
use report::lines::{JournalError, Lines};
use report::page;
use report::plot::{Plot, WIDTHS};
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
    let journal = Journal::from(Lines::folder(&folder).map_err(|error| not_kept(&error))?);
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
    type Journals = HashMap<(u32, PathBuf), Lines<Record>>;
    static JOURNALS: LazyLock<Mutex<Journals>> = LazyLock::new(Mutex::default);
    let record = serde_json::from_str(record).map_err(|error| mismatch(&error))?;
    let mut journals = JOURNALS.lock().unwrap_or_else(PoisonError::into_inner);
    let kept = match journals.entry((std::process::id(), folder)) {
        Entry::Occupied(journal) => journal.into_mut().add(record),
        Entry::Vacant(place) => Lines::beside(&place.key().1).and_then(|lines| place.insert(lines).add(record)),
    };
    kept.map_err(|error| not_kept(&error))
}

fn not_kept(error: &JournalError) -> PyErr {
    match error {
        JournalError::Write { .. } => OutputError::new_err(error.to_string()),
        _ => InvalidInstance::new_err(error.to_string()),
    }
}

/// The record of each run in a file or folder of results.
#[pyfunction]
pub fn records(path: PathBuf) -> PyResult<Vec<String>> {
    let journal = Journal::read(&path).map_err(|error| not_kept(&error))?;
    journal.runs().map(serde_json::to_string).collect::<serde_json::Result<_>>().map_err(|error| mismatch(&error))
}

/// Records that do not contradict each other.
fn read(records: &[String]) -> PyResult<Vec<Record>> {
    let records: Result<Vec<Record>, _> = records.iter().map(|record| serde_json::from_str(record)).collect();
    let records = records.map_err(|error| mismatch(&error))?;
    match contradiction(&records) {
        Some(contradiction) => Err(InternalError::new_err(contradiction.to_string())),
        None => Ok(records),
    }
}

/// What records come to, as JSON: `rows`, `summaries` or `prices`.
#[pyfunction]
pub fn told(records: Vec<String>, what: &str) -> PyResult<String> {
    let records = read(&records)?;
    let runs = measured(&records);
    let told = match what {
        "summaries" => json!(summaries(&runs)),
        "prices" => json!(prices(&runs)),
        _ => Value::from_iter(runs.iter().map(row)),
    };
    Ok(told.to_string())
}

/// The steps of the curves of records, as JSON: `profile`, `proof-time` or `progress`.
#[pyfunction]
pub fn curves(records: Vec<String>, kind: &str) -> PyResult<String> {
    let records = read(&records)?;
    let runs = measured(&records);
    let curves = match kind {
        "profile" => profiles(&runs, Performance::Objective),
        "proof-time" => profiles(&runs, Performance::ProofTime),
        "progress" => gaps_over_time(&runs),
        _ => return Err(refused(format!("there is no curve {kind:?}; name one of profile, proof-time, progress"))),
    };
    Ok(Value::from_iter(curves.iter().flat_map(steps)).to_string())
}

fn refused(cause: String) -> PyErr {
    InvalidOption::new_err(cause)
}

fn steps<'a>(curve: &'a Curve<'_>) -> impl Iterator<Item = Value> + use<'a> {
    let Curve { method, scope, steps } = curve;
    steps.iter().map(move |(x, y)| json!({"method": method, "scope": scope, "x": x, "y": y}))
}

/// A table of records in a form: `text`, `markdown`, `latex` or `csv`.
#[pyfunction]
pub fn tabled(records: Vec<String>, table: &str, form: &str) -> PyResult<String> {
    let records = read(&records)?;
    let runs = measured(&records);
    let kind = report::named::<Table>(table).map_err(refused)?;
    if kind == Table::Changes {
        return Err(refused("`changes` are those from other results: ask `against` for them".into()));
    }
    let sheet = comparison::table(&runs, &[], kind);
    match form {
        "text" => Ok(table::sheet(&sheet)),
        "markdown" => Ok(markdown(&sheet)),
        "latex" => Ok(latex(&sheet)),
        "csv" => Ok(csv(&sheet)),
        _ => Err(refused(format!("there is no form {form:?}; name one of text, markdown, latex, csv"))),
    }
}

/// Records as a page of HTML.
#[pyfunction]
pub fn paged(records: Vec<String>) -> PyResult<String> {
    page::comparison(&measured(&read(&records)?)).map_err(|error| InternalError::new_err(error.to_string()))
}

/// A figure of records as SVG.
#[pyfunction]
pub fn plotted(records: Vec<String>, kind: &str, width: f64) -> PyResult<String> {
    let records = read(&records)?;
    let plot = report::named::<Plot>(kind).map_err(refused)?;
    if !WIDTHS.contains(&width) {
        return Err(refused(format!("width: {width} mm is not from {} to {}", WIDTHS.start(), WIDTHS.end())));
    }
    Ok(report::plot::plot(&measured(&records), plot, width))
}

/// What is worse and what is better than before, run by run, as JSON.
#[pyfunction]
pub fn changed(records: Vec<String>, before: Vec<String>, slower_by: f64) -> PyResult<String> {
    if !(1.0..=1e6).contains(&slower_by) {
        return Err(refused(format!("slower_by: {slower_by} is not from 1 to 1e6")));
    }
    let (records, before) = (read(&records)?, Journal::from(Lines::from(read(&before)?)));
    let runs = measured(&records);
    let changes = changes(&runs, &before, slower_by);
    if let Some(contradiction) = contradiction(records.iter().chain(changes.iter().map(|change| change.before))) {
        return Err(InternalError::new_err(contradiction.to_string()));
    }
    let change = |change: &Change<'_, '_>| {
        let (trial, before) = (&change.now.record.trial, &change.before.ending);
        json!({
            "workload": change.now.workload,
            "method": trial.method,
            "scope": trial.problem.scope.name(),
            "seed": trial.seed,
            "worse": change.worse,
            "better": change.better,
            "objective_before": before.objective,
            "objective": change.now.record.ending.objective,
            "status_before": before.status,
            "status": change.now.record.ending.status,
            "seconds_before": change.before.seconds(),
            "seconds": change.now.record.seconds(),
        })
    };
    Ok(Value::from_iter(changes.iter().map(change)).to_string())
}

/// A picture in the format that the end of a file's name says.
#[pyfunction]
pub fn encoded(svg: String, path: PathBuf) -> PyResult<Vec<u8>> {
    let format = Format::of(&path).map_err(|error| refused(error.to_string()))?;
    format.encode(svg).map_err(|error| OutputError::new_err(error.to_string()))
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
