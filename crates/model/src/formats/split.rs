//! Split files in the published shape: which device holds which nodes.
//!
//! ```json
//! {"maxLoad": 12.5, "cpus": [{"load": -1, "nodes": [3]}], "fpgas": [{"load": -1, "nodes": [1, 2]}]}
//! ```
//!
//! `maxLoad` is what the split's maker claims. A load of −1 stands for "not computed"; loads are written so, and
//! not read, for the verifier computes them. An entry of `fpgas` may also state `class` (index of its accelerator
//! class, else 0), `replicas` (else 1), `tensor_degree` (devices of each replica, else 1), `options` (the name of each
//! node's option, in the order of `nodes`), `server`, `subgraphs` (lists of nodes that run one after another, for the
//! latency) and `chunks` (lists of the nodes of each stage that it holds), which the published programs do not know. Claims
//! are also read from `totalLatency`.

use std::collections::HashMap;
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::json::{self, Object};
use super::{ReadCause, ReadError, file};
use crate::instance::Instance;
use crate::problem::{DeviceAssignment, DeviceKind, Problem, Solution};

#[derive(Deserialize)]
struct File {
    #[serde(rename = "maxLoad", alias = "totalLatency")]
    max_load: Option<f64>,
    cpus: Option<Vec<Device>>,
    fpgas: Option<Vec<Device>>,
}

#[derive(Serialize, Deserialize)]
struct Device {
    #[serde(default, skip_deserializing)]
    load: i8,
    #[serde(default, skip_serializing_if = "is_default")]
    class: usize,
    #[serde(default = "one", skip_serializing_if = "is_one")]
    replicas: usize,
    #[serde(default = "one", skip_serializing_if = "is_one")]
    tensor_degree: usize,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    server: Option<usize>,
    nodes: Vec<u64>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    options: Vec<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    subgraphs: Vec<Vec<u64>>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    chunks: Vec<Vec<u64>>,
}

fn one() -> usize {
    1
}

fn is_one(count: &usize) -> bool {
    *count == 1
}

fn is_default(class: &usize) -> bool {
    *class == 0
}

/// A node as far as its place in a split goes: id, colour class, and whether it is a backward node.
type Node = (u64, Option<u64>, bool);

/// Reads a split of `instance` in the published shape. Backward nodes that it does not list join their colour
/// class. Nothing else is checked: that is the verifier's part.
///
/// # Errors
/// A [`ReadError`] when the file cannot be read or is no split.
pub fn read_split(path: &Path, instance: &Instance) -> Result<Solution, ReadError> {
    file::text(path).and_then(|text| parse(&text, &nodes(instance))).map_err(ReadError::at(path))
}

/// [`read_split`] for a problem that has been made of the instance.
///
/// # Errors
/// A [`ReadError`] when the file cannot be read or is no split.
pub fn read_split_of(path: &Path, problem: &Problem) -> Result<Solution, ReadError> {
    let node = |v: usize| (problem.ids[v], problem.color_class[v], problem.backward[v]);
    let nodes: Vec<Node> = (0..problem.node_count()).map(node).collect();
    file::text(path).and_then(|text| parse(&text, &nodes)).map_err(ReadError::at(path))
}

fn nodes(instance: &Instance) -> Vec<Node> {
    instance.nodes.iter().map(|node| (node.id, node.color_class, node.backward)).collect()
}

/// [`read_split`] from text.
///
/// # Errors
/// A [`ReadError`] when the text is no split.
pub fn parse_split(text: &str, instance: &Instance) -> Result<Solution, ReadError> {
    Ok(parse(text, &nodes(instance))?)
}

/// The split in `text`, of a graph with these nodes.
fn parse(text: &str, nodes: &[Node]) -> Result<Solution, ReadCause> {
    let file: File = json::parse(text)?;
    if file.cpus.is_none() && file.fpgas.is_none() {
        return Err(ReadCause::Json("this is no split: it has neither `fpgas` nor `cpus`".to_owned()));
    }
    let assign = |kind, device: Device| DeviceAssignment {
        kind,
        replicas: device.replicas,
        tensor_degree: device.tensor_degree,
        options: device.options,
        server: device.server,
        nodes: device.nodes,
        subgraphs: device.subgraphs,
        chunks: device.chunks,
    };
    let accelerators = file.fpgas.into_iter().flatten().map(|d| assign(DeviceKind::Accelerator(d.class), d));
    let cpus = file.cpus.into_iter().flatten().map(|d| assign(DeviceKind::Cpu, d));
    let mut solution =
        Solution { devices: accelerators.chain(cpus).collect(), objective: file.max_load.filter(|&load| load >= 0.0) };
    complete_backward_nodes(&mut solution, nodes);
    Ok(solution)
}

/// Puts each backward node that no device lists where the first listed node of its colour class is.
fn complete_backward_nodes(solution: &mut Solution, nodes: &[Node]) {
    let mut device_of: HashMap<u64, usize> = HashMap::new();
    for (d, device) in solution.devices.iter().enumerate() {
        for &id in &device.nodes {
            device_of.entry(id).or_insert(d);
        }
    }
    let mut first_of_class: HashMap<u64, (usize, u64)> = HashMap::new();
    for (id, class, _) in nodes {
        if let (Some(class), Some(&d)) = (class, device_of.get(id)) {
            first_of_class.entry(*class).or_insert((d, *id));
        }
    }
    for (id, class, _) in nodes.iter().filter(|(id, _, backward)| *backward && !device_of.contains_key(id)) {
        if let Some(&(d, first)) = class.and_then(|class| first_of_class.get(&class)) {
            let device = &mut solution.devices[d];
            device.nodes.push(*id);
            device.chunks.iter_mut().filter(|chunk| chunk.contains(&first)).for_each(|chunk| chunk.push(*id));
        }
    }
}

/// The text of a split of `instance` in the published shape. Devices keep their order within each of the two
/// lists; nodes come in the instance's order.
pub fn write_split(instance: &Instance, solution: &Solution) -> String {
    let position: HashMap<u64, usize> = instance.nodes.iter().enumerate().map(|(v, node)| (node.id, v)).collect();
    let place = |id: &u64| position.get(id).copied().unwrap_or(usize::MAX);
    let sorted = |mut nodes: Vec<u64>| {
        nodes.sort_by_key(place);
        nodes
    };
    let devices = |wanted: fn(DeviceKind) -> bool| {
        solution.devices.iter().filter(move |device| wanted(device.kind)).map(|device| Device {
            load: -1,
            class: match device.kind {
                DeviceKind::Accelerator(class) => class,
                DeviceKind::Cpu => 0,
            },
            replicas: device.replicas,
            tensor_degree: device.tensor_degree,
            server: device.server,
            nodes: sorted(device.nodes.clone()),
            options: sorted_options(device, place),
            subgraphs: device.subgraphs.iter().cloned().map(sorted).collect(),
            chunks: device.chunks.iter().cloned().map(sorted).collect(),
        })
    };
    let mut object = Object::begin();
    if let Some(objective) = solution.objective {
        object = object.field("maxLoad", &objective);
    }
    object
        .list("cpus", devices(|kind| kind == DeviceKind::Cpu))
        .list("fpgas", devices(|kind| kind != DeviceKind::Cpu))
        .finish()
}

/// The options of a device in the order of its nodes' places.
fn sorted_options(device: &DeviceAssignment, place: impl Fn(&u64) -> usize) -> Vec<String> {
    let mut options: Vec<(&u64, &String)> = device.nodes.iter().zip(&device.options).collect();
    options.sort_by_key(|(id, _)| place(id));
    options.into_iter().map(|(_, option)| option.clone()).collect()
}
