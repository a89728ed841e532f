//! Readers and writers of topologies, stage graphs and mappings, one module per format. See `docs/mapping.md`.
//!
//! ```
//! use dagsplit::mapping::formats::{TopologyOptions, parse_topology, write_topology};
//!
//! let text = r#"{"schema": "dagsplit-topology/1", "devices": [{}, {}], "bandwidth": [[null, 1e7], [1e7, null]]}"#;
//! let topology = parse_topology(text, &TopologyOptions::default())?;
//! assert_eq!(topology.message_time(0, 1, 2e7), 2.0);
//! assert_eq!(parse_topology(&write_topology(&topology), &TopologyOptions::default())?, topology);
//! # Ok::<(), dagsplit::instance::formats::ReadError>(())
//! ```

mod matrix;
mod native;

pub use native::TOPOLOGY_SCHEMA;

use std::path::Path;

use super::Topology;
use crate::instance::Problems;
use crate::instance::formats::{ReadCause, ReadError, file};

/// Where the formats are described.
const DOCUMENT: &str = "docs/mapping.md";

/// How to read a topology.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct TopologyOptions {}

/// Reads and validates the topology at `path`; its name defaults to the file's, without the extension.
///
/// # Errors
/// A [`ReadError`] that names the file and lists everything that is wrong with it.
pub fn read_topology(path: &Path, options: &TopologyOptions) -> Result<Topology, ReadError> {
    let read = file::read_text(path).and_then(|text| topology_of(&text, options));
    let mut topology = read.map_err(ReadError::at(path))?;
    if topology.name.is_empty() {
        topology.name = path.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
    }
    Ok(topology)
}

/// Reads and validates a topology from text.
///
/// # Errors
/// A [`ReadError`] that lists everything that is wrong with the text.
pub fn parse_topology(text: &str, options: &TopologyOptions) -> Result<Topology, ReadError> {
    Ok(topology_of(text, options)?)
}

fn topology_of(text: &str, _options: &TopologyOptions) -> Result<Topology, ReadCause> {
    // Some editors begin a file with a byte order mark.
    let text = text.trim_start_matches('\u{feff}');
    let mut problems = Problems::default();
    let topology = native::parse(text, &mut problems)?;
    problems.into_result()?;
    Ok(topology)
}

/// The text of a topology in the native format, which holds everything.
pub fn write_topology(topology: &Topology) -> String {
    native::write(topology)
}
