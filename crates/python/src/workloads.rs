//! Workloads.

use std::path::PathBuf;
use std::sync::Arc;

use dagsplit::embedded;
use dagsplit::formats::content_hash;
use dagsplit::registry;
use pyo3::prelude::*;

use crate::errors::{mismatch, raised};

/// A workload that was read and found valid.
#[pyclass(frozen, module = "dagsplit._native")]
pub struct Instance(pub Arc<dagsplit::Instance>);

impl Instance {
    fn of(instance: Result<dagsplit::Instance, embedded::Failure>) -> PyResult<Self> {
        instance.map(|instance| Self(Arc::new(instance))).map_err(|failure| raised(&failure))
    }
}

#[pymethods]
impl Instance {
    /// The workload in a file.
    #[staticmethod]
    fn load(py: Python<'_>, path: PathBuf, words: Vec<String>) -> PyResult<Self> {
        Self::of(py.detach(|| embedded::load(&path, &words)))
    }

    /// The workload in a text.
    #[staticmethod]
    fn parse(py: Python<'_>, text: &str, words: Vec<String>) -> PyResult<Self> {
        Self::of(py.detach(|| embedded::parse(text, &words)))
    }

    /// The same workload on other devices.
    fn with_devices(&self, words: Vec<String>) -> PyResult<Self> {
        Self::of(embedded::with_devices(&self.0, &words))
    }

    /// The workload as text.
    fn write(&self, words: Vec<String>) -> PyResult<String> {
        embedded::write(&self.0, &words).map_err(|failure| raised(&failure))
    }

    /// Hash of what it states, its metadata aside.
    #[getter]
    fn hash(&self) -> String {
        content_hash(&self.0)
    }

    /// What can be told of it, as JSON.
    fn facts(&self, py: Python<'_>, words: Vec<String>) -> PyResult<String> {
        let facts = py.detach(|| embedded::facts(&self.0, &words)).map_err(|failure| raised(&failure))?;
        serde_json::to_string(&facts).map_err(|error| mismatch(&error))
    }
}

/// The text of a generated workload or topology.
#[pyfunction]
pub fn generated(words: Vec<String>) -> PyResult<String> {
    embedded::generated(&words).map_err(|failure| raised(&failure))
}

/// A method: name, summary, scopes, objectives, whether it is exact.
type Method = (&'static str, &'static str, Vec<&'static str>, Vec<&'static str>, bool);

/// The methods in the order in which `auto` prefers them.
#[pyfunction]
pub fn methods() -> Vec<Method> {
    let listed = registry::methods().iter();
    listed.map(|m| (m.name, m.summary, m.scopes.to_vec(), m.objectives.to_vec(), m.exact)).collect()
}
