//! Readers and writers of workloads, one module per format; they are told apart by their content.

mod cost_graph;
mod dot;
mod hyperdag;
pub mod metis;
mod native;
mod pipedream;
mod piper;
mod protobuf_text;
pub mod scotch;
mod tarnawski;
pub mod undirected;
mod unplaced;

pub use native::{SCHEMA, Units, content_hash};
pub use pipedream::{Pass, PipeDreamOptions};
pub use piper::PiperOptions;

use std::path::Path;

use super::{ReadCause, ReadError, WriteError, file, json};
use crate::instance::{Instance, Problems, validate};
use undirected::Undirected;

/// The workload formats that can be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Format {
    /// dagsplit's own JSON; see `docs/format.md`.
    Native,
    /// The JSON of Tarnawski et al. 2020, throughput and latency.
    Tarnawski,
    /// PipeDream's text profiles.
    PipeDream,
    /// Piper's JSON; its nodes' own costs are those of tensor-parallel degree 1.
    Piper,
    /// TensorFlow's `CostGraphDef` as text.
    CostGraph,
    /// HyperDAG files.
    HyperDag,
}

/// How to read a workload.
#[derive(Debug, Clone, PartialEq)]
pub struct ReadOptions {
    /// The format; `None` tells it from the content.
    pub format: Option<Format>,
    /// What a PipeDream profile leaves open, and other files that name no devices: cost graphs and HyperDAG files.
    pub pipedream: PipeDreamOptions,
    /// What a Piper file leaves open.
    pub piper: PiperOptions,
    /// Multiplies every transfer time. 1000 cures the unit slip of the published throughput layer graphs, whose
    /// transfer times are in seconds beside compute times in milliseconds.
    pub transfer_scale: f64,
}

impl Default for ReadOptions {
    fn default() -> Self {
        Self {
            format: None,
            pipedream: PipeDreamOptions::default(),
            piper: PiperOptions::default(),
            transfer_scale: 1.0,
        }
    }
}

/// Reads and validates the workload at `path`; its name defaults to the file's, without the extension.
///
/// # Errors
/// A [`ReadError`] that names the file and lists everything that is wrong with it.
pub fn read_instance(path: &Path, options: &ReadOptions) -> Result<Instance, ReadError> {
    let mut instance = file::text(path).and_then(|text| parse(&text, options)).map_err(ReadError::at(path))?;
    if instance.metadata.name.is_none() {
        instance.metadata.name = path.file_stem().map(|stem| stem.to_string_lossy().into_owned());
    }
    Ok(instance)
}

/// Reads and validates a workload from text.
///
/// # Errors
/// A [`ReadError`] that lists everything that is wrong with the text.
pub fn parse_instance(text: &str, options: &ReadOptions) -> Result<Instance, ReadError> {
    Ok(parse(text, options)?)
}

fn parse(text: &str, options: &ReadOptions) -> Result<Instance, ReadCause> {
    // Some editors begin a file with a byte order mark.
    let text = text.trim_start_matches('\u{feff}');
    let mut problems = Problems::default();
    let format = options.format.map_or_else(|| detect(text), Ok)?;
    let mut instance = match format {
        Format::Native => native::parse(text, &mut problems)?,
        Format::Tarnawski => tarnawski::parse(text, &mut problems)?,
        Format::PipeDream => pipedream::parse(text, &options.pipedream, &mut problems),
        Format::Piper => piper::parse(text, &options.piper, &mut problems)?,
        Format::CostGraph => cost_graph::parse(text, &options.pipedream, &mut problems),
        Format::HyperDag => hyperdag::parse(text, &options.pipedream, &mut problems),
    };
    let scale = options.transfer_scale;
    if scale.is_finite() && scale >= 0.0 {
        instance.nodes.iter_mut().for_each(|node| node.transfer_time *= scale);
        instance.parallelism.iter_mut().for_each(|parallelism| parallelism.scale_transfers(scale));
    } else {
        problems.add("transfer scale", format!("it is {scale}"), "give a finite number that is at least 0");
    }
    validate::check(&instance, &mut problems);
    problems.into_result()?;
    Ok(instance)
}

fn detect(text: &str) -> Result<Format, ReadCause> {
    if !text.trim_start().starts_with('{') {
        let is_profile = || text.lines().any(|line| line.trim_start().starts_with("node") && line.contains(" -- "));
        return match text {
            text if cost_graph::is_one(text) => Ok(Format::CostGraph),
            text if hyperdag::is_one(text) => Ok(Format::HyperDag),
            _ if is_profile() => Ok(Format::PipeDream),
            _ => Err(ReadCause::UnknownFormat(
                "JSON begins with `{`, a PipeDream profile has lines such as `node1 -- node2`, a cost graph begins with \
                 `node {` and a HyperDAG file with three counts",
            )),
        };
    }
    let format = |field: &str| match field {
        "schema" => Some(Format::Native),
        "maxDevices" => Some(Format::Piper),
        "maxFPGAs" => Some(Format::Tarnawski),
        _ => None,
    };
    json::first_telling(text, format)?.ok_or(ReadCause::UnknownFormat(
        "the JSON has neither `schema` (dagsplit) nor `maxFPGAs` (Tarnawski) nor `maxDevices` (Piper)",
    ))
}

/// The workload formats that can be written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum OutputFormat {
    /// dagsplit's own JSON, which holds everything.
    Native,
    /// The JSON of Tarnawski et al. 2020; metadata, bandwidth and parameter bytes are left out.
    Tarnawski,
    /// Graphviz DOT, for pictures.
    Dot,
    /// METIS graph file: undirected, times as integer weights.
    Metis,
    /// Scotch source graph: undirected, times as integer weights.
    Scotch,
}

/// The text of `instance` in `format`.
///
/// # Errors
/// [`WriteError`] when the instance is not valid, or states something that the format has no words for.
pub fn write_instance(instance: &Instance, format: OutputFormat) -> Result<String, WriteError> {
    validate(instance).map_err(WriteError::Invalid)?;
    match format {
        OutputFormat::Native => Ok(native::write(instance)),
        OutputFormat::Tarnawski => tarnawski::write(instance),
        OutputFormat::Dot => Ok(dot::write(instance)),
        OutputFormat::Metis => Ok(metis::write(&Undirected::of_instance(instance))),
        OutputFormat::Scotch => Ok(scotch::write(&Undirected::of_instance(instance))),
    }
}
