//! Searches and checks.

use std::collections::BTreeMap;
use std::sync::Arc;

use dagsplit::embedded::{self, Answer, Failure, Watch};
use dagsplit::problem::Solution;
use dagsplit::verify::Violation;
use pyo3::prelude::*;

use crate::costs::Question;
use crate::errors::{mismatch, raised};
use crate::pages::Page;
use crate::running::{Line, run};
use crate::splits::{devices, split};
use crate::violations;
use crate::workloads::Instance;

/// A run's record and its split's devices, as JSON, and its page.
type RunTexts = (String, Option<String>, Page);

fn texts(instance: &Instance, answer: Answer) -> PyResult<RunTexts> {
    let record = serde_json::to_string(&answer.record).map_err(|error| mismatch(&error))?;
    let devices = answer.verified.as_ref().map(devices).transpose()?;
    let instance = Arc::clone(&instance.0);
    Ok((record, devices, Page::new(move || embedded::page_of_run(&instance, &answer))))
}

/// Solves, and says whether Ctrl-C ended it early.
#[pyfunction]
#[pyo3(signature = (instance, question, progress))]
pub fn solve(
    py: Python<'_>,
    instance: &Instance,
    question: Question,
    progress: Option<Py<PyAny>>,
) -> PyResult<(String, Option<String>, Page, bool)> {
    let (workload, asked) = (Arc::clone(&instance.0), question.about(&instance.0));
    let work = move |line: &Line<Result<Answer, Failure>>| {
        let watched = |context| line.watched(context);
        embedded::solve(&workload, &asked, Watch { cancelled: &line.cancelled, watched: &watched })
    };
    let (answer, interrupted) = run(py, progress, work)?;
    let (record, devices, page) = texts(instance, answer.map_err(|failure| raised(&failure))?)?;
    Ok((record, devices, page, interrupted))
}

/// Why a method does not take what is asked; `None` where it does.
#[pyfunction]
pub fn refusal_of(instance: &Instance, question: Question, method: &str) -> PyResult<Option<String>> {
    embedded::refusal_of(&instance.0, &question.about(&instance.0), method).map_err(|failure| raised(&failure))
}

/// What is asked, in the words that partitioners are told it.
#[pyfunction]
pub fn asked(instance: &Instance, words: Vec<String>) -> PyResult<BTreeMap<String, String>> {
    let environment = embedded::environment(&instance.0, &words).map_err(|failure| raised(&failure))?;
    Ok(environment.into_iter().map(|(name, value)| (keyword(name), value)).collect())
}

/// The keyword that says what a variable of a program's environment says.
pub fn keyword(variable: &str) -> String {
    variable.trim_start_matches("DAGSPLIT_").to_lowercase()
}

/// A run's record, devices and page, and the split's violations.
type Judged = (Option<RunTexts>, Vec<String>);

/// The run of a method that found this split (devices, and the objective claimed), or what is wrong with the split.
#[pyfunction]
#[pyo3(signature = (instance, split, question, method, seconds))]
pub fn run_of(
    py: Python<'_>,
    instance: &Instance,
    split: Option<(String, Option<f64>)>,
    question: Question,
    method: &str,
    seconds: f64,
) -> PyResult<Judged> {
    let split = split.map(|(devices, objective)| claimed(&devices, objective)).transpose()?;
    let asked = question.about(&instance.0);
    let judged = py.detach(|| embedded::run_of(&instance.0, split, &asked, (method, seconds)));
    match judged.map_err(|failure| raised(&failure))? {
        Ok(answer) => Ok((Some(texts(instance, answer)?), Vec::new())),
        Err(violations) => Ok((None, listed(&violations)?)),
    }
}

/// The objective and devices of a valid split, and the violations of another.
type Checked = (Option<(f64, String)>, Vec<String>);

/// What the verifier says of a split: its objective and devices, and what is wrong with it.
#[pyfunction]
#[pyo3(signature = (instance, devices, objective, question))]
pub fn verify(
    py: Python<'_>,
    instance: &Instance,
    devices: &str,
    objective: Option<f64>,
    question: Question,
) -> PyResult<Checked> {
    let (split, asked) = (claimed(devices, objective)?, question.about(&instance.0));
    let judged = py.detach(|| embedded::verify(&instance.0, &split, &asked));
    match judged.map_err(|failure| raised(&failure))?.1 {
        Ok(verified) => Ok((Some((verified.objective(), crate::splits::devices(&verified)?)), Vec::new())),
        Err(violations) => Ok((None, listed(&violations)?)),
    }
}

fn claimed(devices: &str, objective: Option<f64>) -> PyResult<Solution> {
    Ok(Solution { objective, ..split(devices)? })
}

fn listed(violations: &[Violation]) -> PyResult<Vec<String>> {
    violations.iter().map(|violation| violations::json(violation).map_err(|error| mismatch(&error))).collect()
}
