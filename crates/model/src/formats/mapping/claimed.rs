//! Mappings as dagsplit's own JSON.

use serde::{Deserialize, Serialize};

use crate::formats::ReadCause;
use crate::formats::json::{self, List, Object};
use crate::instance::Problems;
use crate::mapping::{ClaimedMapping, ClaimedNames, PlacedCopy, StageGraph, Topology};

/// The version of mapping files that this program reads and writes.
pub const MAPPING_SCHEMA: &str = "dagsplit-mapping/1";

#[derive(Deserialize)]
struct File {
    topology: Option<String>,
    objective: Option<f64>,
    copies: List<CopyEntry>,
}

#[derive(Serialize, Deserialize)]
struct CopyEntry {
    stage: usize,
    replica: usize,
    device: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    time: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    stage_name: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    device_name: Option<String>,
}

pub(super) fn parse(text: &str) -> Result<ClaimedMapping, ReadCause> {
    let text = super::without_mark(text);
    super::check_schema(text, MAPPING_SCHEMA)?;
    let file: File = json::parse(text)?;
    let mut problems = Problems::default();
    let copies = file.copies.take_as("copies", super::DOCUMENT, &mut problems);
    problems.into_result()?;
    let mut names = ClaimedNames { topology: file.topology, ..ClaimedNames::default() };
    let copy = |CopyEntry { stage, replica, device, time, stage_name, device_name }| {
        names.stages.extend(stage_name.map(|name| (stage, name)));
        names.devices.extend(device_name.map(|name| (device, name)));
        PlacedCopy { stage, replica, device, time }
    };
    let copies = copies.into_iter().map(copy).collect();
    Ok(ClaimedMapping { copies, objective: file.objective, names })
}

pub(super) fn write(graph: &StageGraph, topology: &Topology, mapping: &ClaimedMapping) -> String {
    let copy = |copy: &PlacedCopy| CopyEntry {
        stage: copy.stage,
        replica: copy.replica,
        device: copy.device,
        time: copy.time,
        stage_name: graph.stages.get(copy.stage).map(|stage| stage.name.clone()),
        device_name: topology.devices.get(copy.device).map(|device| device.name.clone()),
    };
    Object::begin()
        .field("schema", &MAPPING_SCHEMA)
        .field("stages", &graph.name)
        .field("topology", &topology.name)
        .field("objective", &mapping.objective)
        .list("copies", mapping.copies.iter().map(copy))
        .finish()
}
