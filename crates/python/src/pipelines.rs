//! Interconnects, and pipelines on them.

use std::path::PathBuf;
use std::sync::Arc;

use dagsplit::embedded::{self, Watch, report};
use dagsplit::formats::{TopologyOptions, parse_topology, write_mapping, write_topology};
use pyo3::prelude::*;
use report::picture::draw_topology;

use crate::errors::{InvalidInstance, mismatch, raised};
use crate::pages::Page;
use crate::running::run;
use crate::splits::{devices, split};
use crate::workloads::Instance;

/// Devices, and the bandwidth between every two of them.
#[pyclass(frozen, module = "dagsplit._native")]
pub struct Topology(Arc<dagsplit::Topology>);

#[pymethods]
impl Topology {
    /// The topology in a file.
    #[staticmethod]
    fn load(py: Python<'_>, path: PathBuf, words: Vec<String>) -> PyResult<Self> {
        let topology = py.detach(|| embedded::load_topology(&path, &words)).map_err(|failure| raised(&failure))?;
        Ok(Self(Arc::new(topology)))
    }

    /// The topology in a text.
    #[staticmethod]
    fn parse(text: &str) -> PyResult<Self> {
        let topology = parse_topology(text, &TopologyOptions::default());
        topology.map(|topology| Self(Arc::new(topology))).map_err(|error| InvalidInstance::new_err(error.to_string()))
    }

    /// Its name.
    #[getter]
    fn name(&self) -> &str {
        &self.0.name
    }

    /// The names of its devices.
    #[getter]
    fn devices(&self) -> Vec<String> {
        self.0.devices.iter().map(|device| device.name.clone()).collect()
    }

    /// Its text in dagsplit's own format.
    fn write(&self) -> String {
        write_topology(&self.0)
    }
}

/// Maps the stages of a split: the record, the mapping's file and its picture, and whether Ctrl-C ended it early.
#[pyfunction]
#[pyo3(signature = (instance, devices, topology, words, progress))]
pub fn map(
    py: Python<'_>,
    instance: &Instance,
    devices: &str,
    topology: &Topology,
    words: Vec<String>,
    progress: Option<Py<PyAny>>,
) -> PyResult<(String, Option<String>, String, bool)> {
    let (instance, topology, split) = (Arc::clone(&instance.0), Arc::clone(&topology.0), split(devices)?);
    let (mapped, interrupted) = run(py, progress, move |line| {
        let watched = |context| line.watched(context);
        embedded::map(&instance, split, &topology, &words, Watch { cancelled: &line.cancelled, watched: &watched })
    })?;
    let mapped = mapped.map_err(|failure| raised(&failure))?;
    let record = serde_json::to_string(&mapped.record).map_err(|error| mismatch(&error))?;
    let problem = &mapped.problem;
    let file = mapped.claim.map(|claim| write_mapping(&problem.stages, &problem.topology, &claim));
    Ok((record, file, draw_topology(&problem.topology, &mapped.record.copies), interrupted))
}

/// Plans a workload on a topology: the record, the best split's devices, the page, and whether Ctrl-C ended it early.
#[pyfunction]
#[pyo3(signature = (instance, topology, words, progress))]
pub fn plan(
    py: Python<'_>,
    instance: &Instance,
    topology: &Topology,
    words: Vec<String>,
    progress: Option<Py<PyAny>>,
) -> PyResult<(String, Option<String>, Page, bool)> {
    let (workload, topology) = (Arc::clone(&instance.0), Arc::clone(&topology.0));
    let (planned, interrupted) = run(py, progress, move |line| {
        let watched = |context| line.watched(context);
        embedded::plan(&workload, &topology, &words, Watch { cancelled: &line.cancelled, watched: &watched })
    })?;
    let planned = planned.map_err(|failure| raised(&failure))?;
    let record = serde_json::to_string(&planned.record).map_err(|error| mismatch(&error))?;
    let best = planned.plan.best().and_then(dagsplit::plan::Candidate::pipeline);
    let devices = best.map(|best| devices(&best.partition.verified)).transpose()?;
    let instance = Arc::clone(&instance.0);
    Ok((record, devices, Page::new(move || embedded::page_of_plan(&instance, &planned)), interrupted))
}

/// Simulates the pipeline of a split: the record, and its Gantt chart as SVG.
#[pyfunction]
pub fn simulate(py: Python<'_>, instance: &Instance, devices: &str, words: Vec<String>) -> PyResult<(String, String)> {
    let split = split(devices)?;
    let simulated = py.detach(|| embedded::simulate(&instance.0, split, &words));
    let (record, chart) = simulated.map_err(|failure| raised(&failure))?;
    Ok((serde_json::to_string(&record).map_err(|error| mismatch(&error))?, chart))
}
