//! Workloads as their files state them: dagsplit's own format and that of Tarnawski et al. 2020 (`docs/format.md`).

use std::collections::HashMap;

use crate::decimal::Decimal;
use crate::json::{self, Object, Value};

/// A node as far as a split's cost goes.
#[derive(Clone)]
pub struct Node {
    pub id: u64,
    /// Time on each class of accelerators, then on a CPU; `None` where that cannot run it.
    pub times: Vec<Option<Decimal>>,
    /// How far measurements of its time on an accelerator lie apart.
    pub spread: Decimal,
    /// Bytes on an accelerator.
    pub memory: Decimal,
    /// Time to move its output.
    pub transfer: Decimal,
    /// Bytes that replicas synchronise.
    pub parameters: Decimal,
    pub backward: bool,
    /// Nodes of one class share a device.
    pub color: Option<u64>,
}

/// A workload.
#[derive(Clone)]
pub struct Instance {
    /// The nodes in the order of the file.
    pub nodes: Vec<Node>,
    /// Producer and consumer of each edge, as positions in `nodes`; each once, ascending.
    pub edges: Vec<(usize, usize)>,
    /// How many classes of accelerators there are.
    pub classes: usize,
}

impl Instance {
    /// Reads a file's text. O(n + m log m).
    pub fn parse(text: &str) -> Result<Self, String> {
        let file = Object::parse(text)?;
        if !file.has("schema") {
            return published(&file);
        }
        match file.get("schema", json::text)?.as_str() {
            "dagsplit-instance/1" => native(&file),
            other => Err(format!("the schema is {other:?}; known is \"dagsplit-instance/1\"")),
        }
    }

    fn new(nodes: Vec<Node>, edges: impl Iterator<Item = (u64, u64)>, classes: usize) -> Result<Self, String> {
        let position: HashMap<u64, usize> = nodes.iter().enumerate().map(|(v, node)| (node.id, v)).collect();
        if position.len() < nodes.len() || nodes.is_empty() {
            return Err("there is no node, or two nodes have one id".into());
        }
        if let Some(node) = nodes.iter().find(|node| node.times.len() != classes + 1) {
            return Err(format!("node {}: it has no time for each of {classes} classes", node.id));
        }
        let of = |id: u64| position.get(&id).copied().ok_or_else(|| format!("an edge names {id}, which is no node"));
        let mut edges = edges.map(|(a, b)| Ok((of(a)?, of(b)?))).collect::<Result<Vec<_>, String>>()?;
        edges.sort_unstable();
        edges.dedup();
        Ok(Self { nodes, edges, classes })
    }
}

fn native(file: &Object) -> Result<Instance, String> {
    let classes = file.get("platform", |value| Object::parse(value.get())?.get("accelerators", json::list(Ok)))?.len();
    let node = |value: Value| {
        let node = Object::parse(value.get())?;
        let number = |name| Ok::<_, String>(node.optional(name, json::decimal)?.unwrap_or(Decimal::ZERO));
        let time = |value: Value| if value.get() == "null" { Ok(None) } else { json::decimal(value).map(Some) };
        let mut times = node.get("accelerator_times", json::list(time))?;
        times.push(node.optional("cpu_time", json::decimal)?);
        Ok(Node {
            id: node.get("id", json::whole)?,
            times,
            spread: number("time_spread")?,
            memory: number("memory")?,
            transfer: number("transfer_time")?,
            parameters: number("parameter_bytes")?,
            backward: node.optional("backward", json::flag)?.unwrap_or(false),
            color: node.optional("color_class", json::whole)?,
        })
    };
    let edge = |value: Value| {
        let edge = Object::parse(value.get())?;
        Ok((edge.get("source", json::whole)?, edge.get("target", json::whole)?))
    };
    let edges = file.get("edges", json::list(edge))?;
    Instance::new(file.get("nodes", json::list(node))?, edges.into_iter(), classes)
}

/// The format of Tarnawski et al., where the edges that leave a node say what it takes to move its output.
fn published(file: &Object) -> Result<Instance, String> {
    let edge = |value: Value| {
        let edge = Object::parse(value.get())?;
        Ok((edge.get("sourceId", json::whole)?, edge.get("destId", json::whole)?, edge.get("cost", json::decimal)?))
    };
    let edges: Vec<(u64, u64, Decimal)> = file.get("edges", json::list(edge))?;
    let mut transfers: HashMap<u64, Decimal> = HashMap::new();
    for &(source, _, cost) in &edges {
        if *transfers.entry(source).or_insert(cost) != cost {
            return Err(format!("node {source}: the edges that leave it do not cost the same"));
        }
    }
    let node = |value: Value| {
        let node = Object::parse(value.get())?;
        let id = node.get("id", json::whole)?;
        let on_accelerator = node.get("fpgaLatency", json::decimal)?;
        let supported = node.get("supportedOnFpga", json::flag)?;
        Ok(Node {
            id,
            times: vec![supported.then_some(on_accelerator), Some(node.get("cpuLatency", json::decimal)?)],
            spread: Decimal::ZERO,
            memory: node.get("size", json::decimal)?,
            transfer: transfers.get(&id).copied().unwrap_or(Decimal::ZERO),
            parameters: Decimal::ZERO,
            backward: node.optional("isBackwardNode", json::flag)?.unwrap_or(false),
            color: node.optional("colorClass", json::whole)?,
        })
    };
    Instance::new(file.get("nodes", json::list(node))?, edges.iter().map(|&(source, target, _)| (source, target)), 1)
}
