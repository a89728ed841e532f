//! Topologies as dagsplit's own JSON, which states its version and units.

use serde::{Deserialize, Serialize};

use super::matrix::{self, Entry, Quantity};
use crate::formats::ReadCause;
use crate::formats::json::{self, List, Object};
use crate::instance::Problems;
use crate::mapping::{Channel, Device, Topology};

/// The version of topology files that this program reads and writes.
pub const TOPOLOGY_SCHEMA: &str = "dagsplit-topology/1";

/// The units of a file, stated for its readers; no others are allowed.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Units {
    time: String,
    memory: String,
    bandwidth: String,
}

impl Units {
    fn standard() -> Self {
        Self { time: "ms".into(), memory: "bytes".into(), bandwidth: "bytes/ms".into() }
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    #[serde(rename = "schema")]
    _schema: String,
    #[serde(default = "Units::standard")]
    units: Units,
    #[serde(default)]
    name: String,
    #[serde(default)]
    source: String,
    devices: List<DeviceEntry>,
    bandwidth: Vec<Vec<Entry>>,
    latency: Option<Vec<Vec<Entry>>>,
    channels: Option<List<ChannelEntry>>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct ChannelEntry {
    #[serde(default)]
    name: String,
    devices: Vec<usize>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    inside: Option<Vec<usize>>,
    bandwidth: f64,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct DeviceEntry {
    #[serde(default)]
    name: String,
    #[serde(default = "one", skip_serializing_if = "is_one")]
    speed: f64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    memory: Option<f64>,
}

fn one() -> f64 {
    1.0
}

fn is_one(speed: &f64) -> bool {
    *speed == 1.0
}

pub(super) fn parse(text: &str, problems: &mut Problems) -> Result<Topology, ReadCause> {
    super::check_schema(text, TOPOLOGY_SCHEMA)?;
    let file: File = json::parse(text)?;
    if file.units != Units::standard() {
        let Units { time, memory, bandwidth } = &file.units;
        let cause = format!("time is in {time:?}, memory in {memory:?} and bandwidth in {bandwidth:?}");
        problems.add("units", cause, "convert to \"ms\", \"bytes\" and \"bytes/ms\"");
    }
    let devices = devices(file.devices.take_as("devices", super::DOCUMENT, problems), problems);
    // Where device entries are missing the matrix cannot be held against them.
    problems.clone().into_result()?;
    let size = devices.len();
    let place = |name: &'static str| {
        move |a: usize, b: Option<usize>| b.map_or_else(|| format!("{name}[{a}]"), |b| format!("{name}[{a}][{b}]"))
    };
    let bandwidths = Quantity::bandwidth("bytes/ms", 1.0);
    let bandwidth = matrix::values(&file.bandwidth, size, &bandwidths, &place("bandwidth"), problems);
    let mut topology = Topology::new(file.name, file.source, devices, |a, b| bandwidth[a * size + b]);
    if let Some(entries) = file.channels {
        topology.channels = channels(entries.take_as("channels", super::DOCUMENT, problems), size, problems);
    }
    let Some(rows) = file.latency else { return Ok(topology) };
    let latency = matrix::values(&rows, size, &Quantity::latency("ms", 1.0), &place("latency"), problems);
    Ok(topology.with_latency(|a, b| latency[a * size + b]))
}

fn devices(entries: Vec<DeviceEntry>, problems: &mut Problems) -> Vec<Device> {
    if entries.is_empty() || entries.len() > Topology::MAX_DEVICES {
        let cure = format!("list 1 to {} devices", Topology::MAX_DEVICES);
        problems.add("devices", format!("there are {}", entries.len()), cure);
    }
    let device = |(d, entry): (usize, DeviceEntry)| {
        if !(1e-6..=1e6).contains(&entry.speed) {
            problems.add(format!("devices[{d}]"), format!("its speed is {}", entry.speed), "give 1e-6 to 1e6");
        }
        if let Some(memory) = entry.memory.filter(|memory| !memory.is_finite() || *memory < 0.0) {
            let cure = "give a finite number of bytes that is at least 0, or leave it out";
            problems.add(format!("devices[{d}]"), format!("its memory is {memory}"), cure);
        }
        let name = if entry.name.is_empty() { format!("gpu{d}") } else { entry.name };
        Device { name, speed: entry.speed, memory: entry.memory }
    };
    entries.into_iter().enumerate().map(device).collect()
}

fn channels(entries: Vec<ChannelEntry>, size: usize, problems: &mut Problems) -> Vec<Channel> {
    let channel = |(c, entry): (usize, ChannelEntry)| {
        let ChannelEntry { name, mut devices, inside, bandwidth } = entry;
        devices.sort_unstable();
        let mut inside = inside.unwrap_or_else(|| devices.clone());
        inside.sort_unstable();
        inside.dedup();
        let mut problem = |cause: String, cure: &str| problems.add(format!("channels[{c}]"), cause, cure);
        if devices.is_empty() {
            problem("it has no devices".into(), "list those that share it");
        }
        if let Some(device) = devices.iter().chain(&inside).find(|&&device| device >= size) {
            problem(format!("it names device {device} of {size}"), "count devices from 0");
        }
        if let Some(device) = devices.iter().find(|device| inside.binary_search(device).is_err()) {
            problem(format!("device {device} is not among those inside"), "list all devices of the host inside");
        }
        if !(1e-3..=1e15).contains(&bandwidth) {
            problem(format!("its bandwidth is {bandwidth}"), "give 1e-3 to 1e15 bytes/ms");
        }
        let name = if name.is_empty() { format!("channel {c}") } else { name };
        Channel { name, devices, inside, bandwidth }
    };
    entries.into_iter().enumerate().map(channel).collect()
}

pub(super) fn write(topology: &Topology) -> String {
    let size = topology.len();
    let rows = |value: &dyn Fn(usize, usize) -> f64| -> Vec<Vec<Option<f64>>> {
        let entry = |a: usize, b: usize| (a != b).then(|| value(a, b));
        (0..size).map(|a| (0..size).map(|b| entry(a, b)).collect()).collect()
    };
    let devices = topology.devices.iter().map(|device| DeviceEntry {
        name: device.name.clone(),
        speed: device.speed,
        memory: device.memory,
    });
    let object = Object::begin()
        .field("schema", &TOPOLOGY_SCHEMA)
        .field("units", &Units::standard())
        .field("name", &topology.name)
        .field("source", &topology.source)
        .list("devices", devices)
        .list("bandwidth", rows(&|a, b| topology.bandwidth(a, b)));
    let latencies = rows(&|a, b| topology.latency(a, b));
    let any = latencies.iter().flatten().flatten().any(|&latency| latency > 0.0);
    let object = if any { object.list("latency", latencies) } else { object };
    let channels = topology.channels.iter().map(|channel| ChannelEntry {
        name: channel.name.clone(),
        devices: channel.devices.clone(),
        inside: Some(&channel.inside).filter(|inside| **inside != channel.devices).cloned(),
        bandwidth: channel.bandwidth,
    });
    if topology.channels.is_empty() { object.finish() } else { object.list("channels", channels).finish() }
}
