//! Readers and writers of topologies, stage graphs and mappings, one module per format. See `docs/mapping.md`.
//!
//! ```
//! use dagsplit::formats::{TopologyOptions, parse_topology, write_topology};
//!
//! let topology = parse_topology("GB/s, a, b\na, , 10\nb, 10,", &TopologyOptions::default())?;
//! // 10 GB/s are 10^7 bytes per millisecond.
//! assert_eq!(topology.message_time(0, 1, 2e7), 2.0);
//! assert_eq!(parse_topology(&write_topology(&topology), &TopologyOptions::default())?, topology);
//! # Ok::<(), dagsplit::formats::ReadError>(())
//! ```

mod claimed;
mod csv;
mod cuda;
mod matrix;
mod native;
mod nvidia_smi;
mod stages;

pub use claimed::MAPPING_SCHEMA;
pub use native::TOPOLOGY_SCHEMA;
pub use nvidia_smi::LinkBandwidths;
pub use stages::STAGES_SCHEMA;

use std::collections::HashMap;
use std::path::Path;

use serde::Deserialize;

use crate::formats::{ReadCause, ReadError, file, json};
use crate::instance::Problems;
use crate::instance::validate::shorten;
use crate::mapping::{ClaimedMapping, StageGraph, Topology};

/// Where the formats are described.
const DOCUMENT: &str = "docs/mapping.md";

/// What every JSON file of these formats begins with.
#[derive(Deserialize)]
struct Header {
    schema: String,
}

/// The formats of topologies that can be read; they are told apart by their content.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum TopologyFormat {
    /// dagsplit's own JSON, which holds everything.
    Native,
    /// A matrix of bandwidths, and one of latencies, as comma-separated values.
    Csv,
    /// What `nvidia-smi topo -m` prints: the kind of link of every pair.
    NvidiaSmi,
    /// What the CUDA sample `p2pBandwidthLatencyTest` prints.
    Cuda,
}

/// How to read a topology.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct TopologyOptions {
    /// The bandwidth of each kind of link, which `nvidia-smi topo -m` does not tell.
    pub links: LinkBandwidths,
}

/// Reads and validates the topology at `path`; its name defaults to the file's, without the extension.
///
/// # Errors
/// A [`ReadError`] that names the file and lists everything that is wrong with it.
pub fn read_topology(path: &Path, options: &TopologyOptions) -> Result<Topology, ReadError> {
    let read = file::text(path).and_then(|text| topology_of(&text, options));
    let mut topology = read.map_err(ReadError::at(path))?;
    name_after(path, &mut topology.name);
    Ok(topology)
}

/// Reads and validates a topology from text.
///
/// # Errors
/// A [`ReadError`] that lists everything that is wrong with the text.
pub fn parse_topology(text: &str, options: &TopologyOptions) -> Result<Topology, ReadError> {
    Ok(topology_of(text, options)?)
}

fn topology_of(text: &str, options: &TopologyOptions) -> Result<Topology, ReadCause> {
    let text = without_mark(text);
    let mut problems = Problems::default();
    let topology = match detect(text).ok_or(ReadCause::UnknownTopology(
        "JSON begins with `{`, CSV with a unit such as `GB/s,`, and the texts of `nvidia-smi topo -m` and \
         p2pBandwidthLatencyTest are known by their headers",
    ))? {
        TopologyFormat::Native => native::parse(text, &mut problems)?,
        TopologyFormat::Csv => csv::parse(text, &mut problems),
        TopologyFormat::NvidiaSmi => nvidia_smi::parse(text, &options.links, &mut problems),
        TopologyFormat::Cuda => cuda::parse(text, &mut problems),
    };
    check_names(&topology, &mut problems);
    problems.into_result()?;
    Ok(topology)
}

/// Mappings, tables and pictures tell devices apart by their names.
fn check_names(topology: &Topology, problems: &mut Problems) {
    let mut first = HashMap::new();
    for (d, device) in topology.devices.iter().enumerate() {
        if let Some(other) = first.insert(device.name.as_str(), d) {
            let cause = format!("its name {:?} is that of device {other}, too", shorten(&device.name, 40));
            problems.add(format!("device {d}"), cause, "give each device a name of its own");
        }
    }
}

fn detect(text: &str) -> Option<TopologyFormat> {
    let first = text.lines().find(|line| !line.trim().is_empty() && !line.trim_start().starts_with('#'))?.trim_start();
    if first.starts_with('{') {
        Some(TopologyFormat::Native)
    } else if first.contains(',') && csv::begins_with_unit(text) {
        // Names and remarks in it may read like anything.
        Some(TopologyFormat::Csv)
    } else if text.lines().any(cuda::is_title) {
        Some(TopologyFormat::Cuda)
    } else if text.lines().any(nvidia_smi::is_header) {
        Some(TopologyFormat::NvidiaSmi)
    } else {
        first.contains(',').then_some(TopologyFormat::Csv)
    }
}

/// The text of a topology in the native format, which holds everything.
pub fn write_topology(topology: &Topology) -> String {
    native::write(topology)
}

/// Reads and validates the stage graph at `path`; its name defaults to the file's, without the extension.
///
/// # Errors
/// A [`ReadError`] that names the file and lists everything that is wrong with it.
pub fn read_stages(path: &Path) -> Result<StageGraph, ReadError> {
    let mut graph = file::text(path).and_then(|text| stages::parse(&text)).map_err(ReadError::at(path))?;
    name_after(path, &mut graph.name);
    Ok(graph)
}

/// Reads and validates a stage graph from text.
///
/// # Errors
/// A [`ReadError`] that lists everything that is wrong with the text.
pub fn parse_stages(text: &str) -> Result<StageGraph, ReadError> {
    Ok(stages::parse(text)?)
}

/// The text of a stage graph.
pub fn write_stages(graph: &StageGraph) -> String {
    stages::write(graph)
}

/// Whether the file at `path` says that it is a stage graph, and not, say, a workload. A file that cannot be read says
/// nothing.
pub fn is_stage_file(path: &Path) -> bool {
    let header = file::text(path).and_then(|text| json::parse::<Header>(without_mark(&text)));
    header.is_ok_and(|header| header.schema.starts_with("dagsplit-stages/"))
}

/// The format of the topology at `path`, by its content; `None` where the file cannot be read or is none.
pub fn topology_format(path: &Path) -> Option<TopologyFormat> {
    detect(without_mark(&file::text(path).ok()?))
}

/// Whether the file at `path` looks like a topology, and not, say, a workload. A file that cannot be read does not.
pub fn is_topology_file(path: &Path) -> bool {
    let Ok(text) = file::text(path) else { return false };
    let text = without_mark(&text);
    match detect(text) {
        Some(TopologyFormat::Native) => {
            json::parse::<Header>(text).is_ok_and(|header| header.schema.starts_with("dagsplit-topology/"))
        }
        Some(TopologyFormat::Csv) => csv::begins_with_unit(text),
        Some(TopologyFormat::NvidiaSmi | TopologyFormat::Cuda) => true,
        None => false,
    }
}

/// Reads the mapping at `path`. Whether it makes sense is for the verifier to say.
///
/// # Errors
/// A [`ReadError`] that names the file, where it is no mapping.
pub fn read_mapping(path: &Path) -> Result<ClaimedMapping, ReadError> {
    file::text(path).and_then(|text| claimed::parse(&text)).map_err(ReadError::at(path))
}

/// Reads a mapping from text.
///
/// # Errors
/// A [`ReadError`] where it is no mapping.
pub fn parse_mapping(text: &str) -> Result<ClaimedMapping, ReadError> {
    Ok(claimed::parse(text)?)
}

/// The text of a mapping of the stages of `graph` onto `topology`; copies of stages and devices that these do not have
/// are written without a name.
pub fn write_mapping(graph: &StageGraph, topology: &Topology, mapping: &ClaimedMapping) -> String {
    claimed::write(graph, topology, mapping)
}

/// Some editors begin a file with a byte order mark.
fn without_mark(text: &str) -> &str {
    text.trim_start_matches('\u{feff}')
}

fn name_after(path: &Path, name: &mut String) {
    if name.is_empty() {
        *name = path.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
    }
}

/// Checks that `text` is of the version `schema`, which comes first: a later one may have any other shape.
fn check_schema(text: &str, schema: &str) -> Result<(), ReadCause> {
    let Header { schema: found } = json::parse(text)?;
    if found == schema {
        return Ok(());
    }
    Err(ReadCause::Json(format!("the schema is {:?}; here {schema:?} is read", shorten(&found, 40))))
}
