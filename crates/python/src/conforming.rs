//! A callable of Python held to the laws.

use std::sync::Arc;
use std::time::Instant;

use dagsplit::conformance::{Answer, Fault, Partitioner, Report, Request};
use dagsplit::embedded::{self, Failure};
use dagsplit::problem::Problem;
use dagsplit::solve::{Guarantee, Program, Solver, Unsupported};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::errors::{InvalidOption, mismatch, raised};
use crate::running::{Line, run};
use crate::solving::keyword;
use crate::workloads::Instance;

/// A callable that takes an instance and what is asked of it, and returns a split in the published shape.
struct Callable {
    name: String,
    function: Py<PyAny>,
}

impl Callable {
    fn call(&self, request: &Request<'_>) -> Result<String, Fault> {
        let environment = Program::environment(&request.case.spec, request.seed, Some(request.time_limit));
        Python::attach(|py| {
            let asked = PyDict::new(py);
            for (name, value) in environment {
                asked.set_item(keyword(name), value)?;
            }
            let instance = Instance(Arc::new(request.case.instance.clone()));
            self.function.call1(py, (instance, asked))?.extract::<String>(py)
        })
        .map_err(|error: PyErr| Fault::Failed(format!("it raised {error}")))
    }
}

impl Partitioner for Callable {
    fn name(&self) -> &str {
        &self.name
    }

    fn guarantee(&self) -> Guarantee {
        Guarantee::Heuristic
    }

    /// Like a program it only ends by itself, and need not say what its splits are worth.
    fn is_program(&self) -> bool {
        true
    }

    fn supports(&self, _: &Problem) -> Result<(), Unsupported> {
        Ok(())
    }

    fn split(&self, request: &Request<'_>) -> Result<Answer, Fault> {
        let started = Instant::now();
        let text = self.call(request)?;
        let elapsed = started.elapsed();
        let outcome = Program::outcome(&text, &request.case.instance, &request.case.spec.scope);
        Ok(Answer { outcome: outcome.map_err(Fault::Unreadable)?, elapsed })
    }
}

/// Holds a callable, or the method called `name`, to the laws: the report as JSON and as text, the instance of each finding,
/// and whether Ctrl-C ended it early.
#[pyfunction]
#[pyo3(signature = (name, function, words, progress))]
pub fn conform(
    py: Python<'_>,
    name: String,
    function: Option<Py<PyAny>>,
    words: Vec<String>,
    progress: Option<Py<PyAny>>,
) -> PyResult<(String, String, Vec<Instance>, bool)> {
    let (report, interrupted) = match function {
        Some(function) => {
            let callable = Callable { name, function };
            run(py, progress, move |line| tried(&callable, &words, line))?
        }
        None => {
            let solver =
                dagsplit::registry::solver(&name).map_err(|error| InvalidOption::new_err(error.to_string()))?;
            run(py, progress, move |line| tried(&(&*solver as &dyn Solver), &words, line))?
        }
    };
    let report = report.map_err(|failure| raised(&failure))?;
    let record = serde_json::to_string(&report).map_err(|error| mismatch(&error))?;
    let found = report.findings.iter().map(|finding| Instance(Arc::new(finding.case.instance.clone())));
    Ok((record, report.to_string(), found.collect(), interrupted))
}

type Tried = Result<Report, Failure>;

fn tried(partitioner: &dyn Partitioner, words: &[String], line: &Line<Tried>) -> Tried {
    let tell = |done: u32, of: u32| line.tell(("cases".into(), Some(done.into()), Some(of.into())));
    embedded::conform(partitioner, words, &line.cancelled, tell)
}
