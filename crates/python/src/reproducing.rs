//! Published tables made again.

use dagsplit::embedded::{self, Failure, Reproduced, Watch, report};
use pyo3::prelude::*;
use report::export::{csv::csv, latex::latex, markdown::markdown};
use report::table;

use crate::errors::{mismatch, raised};
use crate::running::{Line, run};

/// The studies that there are: name, paper, and what it shows.
#[pyfunction]
pub fn studies() -> Vec<(&'static str, &'static str, &'static str)> {
    embedded::studies().collect()
}

/// A table in forms by name.
type Forms = [(&'static str, String); 4];

/// Makes a table again: its record, its forms by name, and whether Ctrl-C ended it early.
#[pyfunction]
#[pyo3(signature = (words, progress))]
pub fn reproduce(py: Python<'_>, words: Vec<String>, progress: Option<Py<PyAny>>) -> PyResult<(String, Forms, bool)> {
    let work = move |line: &Line<Result<Reproduced, Failure>>| {
        let tell = |step, before: usize, of: usize| line.tell((step, Some(before as f64), Some(of as f64)));
        embedded::reproduce(&words, Watch { cancelled: &line.cancelled, watched: &|context| context }, tell)
    };
    let (reproduced, interrupted) = run(py, progress, work)?;
    let Reproduced { record, table: sheet, data } = reproduced.map_err(|failure| raised(&failure))?;
    let forms =
        [("text", table::sheet(&sheet)), ("markdown", markdown(&sheet)), ("latex", latex(&sheet)), ("csv", csv(&data))];
    Ok((serde_json::to_string(&record).map_err(|error| mismatch(&error))?, forms, interrupted))
}
