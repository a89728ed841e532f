//! Splits: devices as JSON, files, pictures, settings of frameworks.

use dagsplit::embedded;
use dagsplit::formats;
use dagsplit::problem::{DeviceAssignment, DeviceKind, Solution};
use dagsplit::verify::{Verified, VerifiedDevice};
use pyo3::prelude::*;
use serde::{Deserialize, Serialize};

use crate::errors::{InvalidInstance, mismatch, raised};
use crate::workloads::Instance;

/// A device of a split, as `dagsplit.Device` has it.
#[derive(Serialize, Deserialize)]
struct Device {
    kind: Kind,
    class_: usize,
    replicas: usize,
    tensor_degree: usize,
    server: Option<usize>,
    nodes: Vec<u64>,
    options: Vec<String>,
    subgraphs: Vec<Vec<u64>>,
    chunks: Vec<Vec<u64>>,
    #[serde(skip_deserializing)]
    load: Option<f64>,
    #[serde(skip_deserializing)]
    memory: Option<f64>,
    #[serde(skip_deserializing)]
    start: Option<f64>,
    #[serde(skip_deserializing)]
    finish: Option<f64>,
    #[serde(skip_deserializing)]
    in_flight: Option<usize>,
    #[serde(skip_deserializing)]
    chunks_in_flight: Vec<usize>,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Kind {
    Accelerator,
    Cpu,
}

impl Device {
    fn of(device: &DeviceAssignment) -> Self {
        let (kind, class_) = match device.kind {
            DeviceKind::Accelerator(class) => (Kind::Accelerator, class),
            DeviceKind::Cpu => (Kind::Cpu, 0),
        };
        let DeviceAssignment { replicas, tensor_degree, server, nodes, options, subgraphs, chunks, .. } =
            device.clone();
        Self {
            kind,
            class_,
            replicas,
            tensor_degree,
            server,
            nodes,
            options,
            subgraphs,
            chunks,
            load: None,
            memory: None,
            start: None,
            finish: None,
            in_flight: None,
            chunks_in_flight: Vec::new(),
        }
    }

    fn verified(device: &VerifiedDevice, assignment: &DeviceAssignment) -> Self {
        let span = device.span();
        Self {
            subgraphs: device.subgraphs().iter().map(|subgraph| subgraph.nodes.clone()).collect(),
            load: Some(device.load()),
            memory: Some(device.memory()),
            start: span.map(|(start, _)| start),
            finish: span.map(|(_, finish)| finish),
            in_flight: device.in_flight(),
            chunks_in_flight: device.chunks_in_flight().to_vec(),
            ..Self::of(assignment)
        }
    }

    fn assignment(self) -> DeviceAssignment {
        let kind = match self.kind {
            Kind::Accelerator => DeviceKind::Accelerator(self.class_),
            Kind::Cpu => DeviceKind::Cpu,
        };
        let Self { replicas, tensor_degree, server, nodes, options, subgraphs, chunks, .. } = self;
        DeviceAssignment { kind, replicas, tensor_degree, server, nodes, options, subgraphs, chunks }
    }
}

/// The split in JSON, which claims no objective.
pub fn split(devices: &str) -> PyResult<Solution> {
    let devices: Vec<Device> = serde_json::from_str(devices).map_err(|error| mismatch(&error))?;
    let devices = devices.into_iter().map(Device::assignment).collect();
    Ok(Solution { devices, objective: None })
}

/// A verified split as JSON, with its loads.
pub fn devices(verified: &Verified) -> PyResult<String> {
    let split = verified.to_solution();
    let pairs = verified.devices().iter().zip(&split.devices);
    let devices: Vec<Device> = pairs.map(|(device, assignment)| Device::verified(device, assignment)).collect();
    serde_json::to_string(&devices).map_err(|error| mismatch(&error))
}

/// The devices of a split in the published shape, and the objective that it claims.
#[pyfunction]
pub fn parse_split(instance: &Instance, text: &str) -> PyResult<(String, Option<f64>)> {
    let split = formats::parse_split(text, &instance.0).map_err(|error| InvalidInstance::new_err(error.to_string()))?;
    let devices: Vec<Device> = split.devices.iter().map(Device::of).collect();
    Ok((serde_json::to_string(&devices).map_err(|error| mismatch(&error))?, split.objective))
}

/// A split in the published shape.
#[pyfunction]
#[pyo3(signature = (instance, devices, objective))]
pub fn write_split(instance: &Instance, devices: &str, objective: Option<f64>) -> PyResult<String> {
    Ok(formats::write_split(&instance.0, &Solution { objective, ..split(devices)? }))
}

/// A split as the settings of a framework.
#[pyfunction]
pub fn export(instance: &Instance, devices: &str, words: Vec<String>) -> PyResult<String> {
    embedded::export(&instance.0, &split(devices)?, &words).map_err(|failure| raised(&failure))
}

/// A picture of a workload, in the colours of a split where there is one, as SVG.
#[pyfunction]
#[pyo3(signature = (instance, devices, words))]
pub fn draw(py: Python<'_>, instance: &Instance, devices: Option<&str>, words: Vec<String>) -> PyResult<String> {
    let split = devices.map(split).transpose()?;
    py.detach(|| embedded::draw(&instance.0, split, &words)).map_err(|failure| raised(&failure))
}
