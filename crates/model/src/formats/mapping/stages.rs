//! Stage graphs as dagsplit's own JSON.

use std::collections::HashSet;

use serde::{Deserialize, Serialize};

use crate::formats::json::{self, List, Object};
use crate::formats::{ReadCause, Units};
use crate::instance::{Problems, is_zero};
use crate::mapping::{Message, Stage, StageGraph, Topology};

/// The version of stage files that this program reads and writes.
pub const STAGES_SCHEMA: &str = "dagsplit-stages/1";

/// The largest time or number of bytes that is taken, so that no sum overflows.
const MOST: f64 = 1e18;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    #[serde(rename = "schema")]
    _schema: String,
    #[serde(default = "Units::standard")]
    units: Units,
    #[serde(default)]
    name: String,
    stages: List<StageEntry>,
    messages: List<MessageEntry>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct StageEntry {
    #[serde(default)]
    name: String,
    forward: f64,
    #[serde(default)]
    backward: f64,
    #[serde(default)]
    parameter_bytes: f64,
    #[serde(default)]
    memory: f64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    lasting_bytes: Option<f64>,
    #[serde(default, skip_serializing_if = "is_zero")]
    working_bytes: f64,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct MessageEntry {
    source: usize,
    target: usize,
    bytes: f64,
}

pub(super) fn parse(text: &str) -> Result<StageGraph, ReadCause> {
    let text = super::without_mark(text);
    super::check_schema(text, STAGES_SCHEMA)?;
    let file: File = json::parse(text)?;
    let mut problems = Problems::default();
    file.units.check(&mut problems);
    let stages = stages(file.stages.take_as("stages", super::DOCUMENT, &mut problems), &mut problems);
    let complete = problems.issues.is_empty();
    let entries = file.messages.take_as("messages", super::DOCUMENT, &mut problems);
    let messages = messages(entries, complete.then_some(stages.len()), &mut problems);
    problems.into_result()?;
    Ok(StageGraph { name: file.name, stages, messages })
}

fn stages(entries: Vec<StageEntry>, problems: &mut Problems) -> Vec<Stage> {
    if entries.is_empty() || entries.len() > Topology::MAX_DEVICES {
        let cure = format!("list 1 to {} stages", Topology::MAX_DEVICES);
        problems.add("stages", format!("there are {}", entries.len()), cure);
    }
    let stage = |(s, entry): (usize, StageEntry)| {
        let StageEntry { name, forward, backward, parameter_bytes, memory, lasting_bytes, working_bytes } = entry;
        let amounts = [
            ("forward", forward, "ms"),
            ("backward", backward, "ms"),
            ("parameter_bytes", parameter_bytes, "bytes"),
            ("memory", memory, "bytes"),
            ("lasting_bytes", lasting_bytes.unwrap_or(0.0), "bytes"),
            ("working_bytes", working_bytes, "bytes"),
        ];
        for (field, value, unit) in amounts {
            check_amount(&format!("stages[{s}]"), field, value, unit, problems);
        }
        let name = if name.is_empty() { format!("stage {s}") } else { name };
        Stage { name, forward, backward, parameter_bytes, memory, lasting_bytes, working_bytes }
    };
    entries.into_iter().enumerate().map(stage).collect()
}

/// The messages. Their ends are checked where the number of stages is known.
fn messages(entries: Vec<MessageEntry>, stages: Option<usize>, problems: &mut Problems) -> Vec<Message> {
    let mut pairs = HashSet::new();
    let message = |(m, entry): (usize, MessageEntry)| {
        let MessageEntry { source, target, bytes } = entry;
        let place = format!("messages[{m}]");
        check_amount(&place, "bytes", bytes, "bytes", problems);
        for (end, stage) in [("source", source), ("target", target)] {
            if stages.is_some_and(|count| stage >= count) {
                let cause = format!("its {end} {stage} is no stage");
                problems.add(&place, cause, "name a stage by its place in the list, from 0");
            }
        }
        if source == target {
            problems.add(&place, "a stage cannot send to itself", "drop the message");
        }
        if !pairs.insert((source, target)) {
            let cause = format!("stage {source} sends to stage {target} in an entry before");
            problems.add(&place, cause, "add the bytes up in one entry");
        }
        Message { source, target, bytes }
    };
    entries.into_iter().enumerate().map(message).collect()
}

fn check_amount(place: &str, field: &str, value: f64, unit: &str, problems: &mut Problems) {
    if !(0.0..=MOST).contains(&value) {
        problems.add(place, format!("`{field}` is {value}"), format!("give 0 to {MOST:e} {unit}"));
    }
}

pub(super) fn write(graph: &StageGraph) -> String {
    let stage = |stage: &Stage| StageEntry {
        name: stage.name.clone(),
        forward: stage.forward,
        backward: stage.backward,
        parameter_bytes: stage.parameter_bytes,
        memory: stage.memory,
        lasting_bytes: stage.lasting_bytes,
        working_bytes: stage.working_bytes,
    };
    let message =
        |message: &Message| MessageEntry { source: message.source, target: message.target, bytes: message.bytes };
    Object::begin()
        .field("schema", &STAGES_SCHEMA)
        .field("units", &Units::standard())
        .field("name", &graph.name)
        .list("stages", graph.stages.iter().map(stage))
        .list("messages", graph.messages.iter().map(message))
        .finish()
}
