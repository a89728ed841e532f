//! `torch.distributed.pipelining`.

use std::collections::BTreeMap;

use serde::Serialize;

use super::names;
use super::pipeline::{Pipeline, Stage};
use crate::formats::content_hash;
use crate::instance::{Instance, Node};
use crate::problem::DeviceKind;
use crate::verify::Verified;

/// Version of the file that tells the stages: it changes when a field changes its meaning or goes.
pub const STAGES_SCHEMA: &str = "dagsplit-pytorch-stages/1";

#[derive(Serialize)]
struct File<'a> {
    schema: &'static str,
    instance: InstanceName<'a>,
    /// Time per sample, in the instance's unit.
    objective: f64,
    /// The argument of `torch.distributed.pipelining.pipeline`, where a module begins at every boundary.
    split_spec: Option<BTreeMap<&'a str, &'static str>>,
    /// Why there is no `split_spec`.
    #[serde(skip_serializing_if = "Option::is_none")]
    no_split_spec: Option<String>,
    stages: Vec<StageRecord<'a>>,
}

#[derive(Serialize)]
struct InstanceName<'a> {
    name: Option<&'a str>,
    model: Option<&'a str>,
    hash: String,
}

#[derive(Serialize)]
struct StageRecord<'a> {
    device: &'static str,
    load: f64,
    memory: f64,
    /// The nodes' names, or their ids where they have none.
    nodes: Vec<NodeName<'a>>,
}

#[derive(Serialize)]
#[serde(untagged)]
enum NodeName<'a> {
    Name(&'a str),
    Id(u64),
}

/// The stages as JSON.
pub(super) fn text(instance: &Instance, verified: &Verified, pipeline: &Pipeline) -> String {
    let (split_spec, no_split_spec) = match split_spec(instance, pipeline) {
        Ok(spec) => (Some(spec), None),
        Err(cause) => (None, Some(cause)),
    };
    let metadata = &instance.metadata;
    let file = File {
        schema: STAGES_SCHEMA,
        instance: InstanceName {
            name: metadata.name.as_deref(),
            model: metadata.model.as_deref(),
            hash: content_hash(instance),
        },
        objective: verified.objective(),
        split_spec,
        no_split_spec,
        stages: pipeline.stages.iter().map(|stage| record(instance, stage)).collect(),
    };
    let json =
        serde_json::to_string_pretty(&file).unwrap_or_else(|error| unreachable!("plain data serialises: {error}"));
    json + "\n"
}

fn record<'a>(instance: &'a Instance, stage: &Stage) -> StageRecord<'a> {
    let name = |node: &'a Node| node.name.as_deref().map_or(NodeName::Id(node.id), NodeName::Name);
    StageRecord {
        device: match stage.kind {
            DeviceKind::Accelerator(_) => "accelerator",
            DeviceKind::Cpu => "cpu",
        },
        load: stage.load,
        memory: stage.memory,
        nodes: stage.nodes.iter().map(|&v| name(&instance.nodes[v])).collect(),
    }
}

/// The module at which each stage but the first begins.
///
/// A split point cuts the order in which the model runs, which is that of the instance's nodes, where a module begins:
/// at each of its calls, so that only modules that are called once will do.
fn split_spec<'a>(instance: &'a Instance, pipeline: &Pipeline) -> Result<BTreeMap<&'a str, &'static str>, String> {
    if let Some(stage) = pipeline.idle(instance).next() {
        return Err(format!("nothing on stage {stage} costs anything, so no module begins there"));
    }
    let costly = instance.nodes.iter().enumerate().filter(|(_, node)| names::costs(node));
    let mut spec: BTreeMap<&str, &str> = BTreeMap::new();
    let (mut reached, mut seen, mut last): (usize, Vec<&str>, Option<&str>) = (0, Vec::new(), None);
    for (v, node) in costly {
        let Some(stage) = pipeline.stage_of[v] else { continue };
        let shown = || node.name.clone().unwrap_or_else(|| node.id.to_string());
        if stage < reached {
            return Err(format!("stage {stage} holds {}, which runs after a node of stage {reached}", shown()));
        }
        if let Some(part) = spec.keys().copied().find(|part| is_called_again(node, last, part)) {
            return Err(format!("module {part} is called again at {}, and a split point cuts every call", shown()));
        }
        let module = names::module(node);
        if stage > reached {
            let begins = |part: &&str| !seen.iter().any(|earlier| names::is_within(earlier, part));
            let part = module.and_then(|module| names::ancestors(module).find(begins));
            let part =
                part.ok_or_else(|| format!("no module begins at {}, the first node of stage {stage}", shown()))?;
            spec.insert(part, "BEGINNING");
            reached = stage;
        }
        if let Some(module) = module
            && seen.last() != Some(&module)
        {
            seen.push(module);
        }
        last = module;
    }
    Ok(spec)
}

/// Whether the node belongs to another call of the module `part` than the node before it, whose module is `last`.
fn is_called_again(node: &Node, last: Option<&str>, part: &str) -> bool {
    let module = names::module(node);
    let is_within = |module: Option<&str>| module.is_some_and(|module| names::is_within(module, part));
    is_within(module) && (!is_within(last) || module == Some(part) && names::is_later_call(node))
}
