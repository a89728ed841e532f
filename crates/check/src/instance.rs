//! Workloads as their files state them: dagsplit's own format and that of Tarnawski et al. 2020 (`docs/format.md`).

use std::collections::{BTreeSet, HashMap};

use crate::Result;
use crate::decimal::{Decimal, places};
use crate::json::{Object, read};

/// A node as far as a split's cost goes.
#[derive(Clone, Default)]
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
    pub fn parse(text: &str) -> Result<Self> {
        let file: Object = read(text)?;
        let (nodes, edges): (Vec<Object>, Vec<Object>) = (file.get("nodes")?, file.get("edges")?);
        if !file.has("schema") {
            let costs = costs(&edges)?;
            let nodes = nodes.iter().map(|node| published(node, &costs)).collect::<Result<_>>()?;
            return Self::new(nodes, &edges, ["sourceId", "destId"], 1);
        }
        let schema: String = file.get("schema")?;
        ensure!(schema == "dagsplit-instance/1", "the schema {schema:?} is unknown");
        let classes = file.get::<Object>("platform")?.get::<Vec<Object>>("accelerators")?.len();
        Self::new(nodes.iter().map(native).collect::<Result<_>>()?, &edges, ["source", "target"], classes)
    }

    fn new(nodes: Vec<Node>, edges: &[Object], ends: [&str; 2], classes: usize) -> Result<Self> {
        let position: HashMap<u64, usize> = nodes.iter().enumerate().map(|(v, node)| (node.id, v)).collect();
        ensure!(position.len() == nodes.len() && !nodes.is_empty(), "there is no node, or two nodes have one id");
        let are_timed = nodes.iter().all(|node| node.times.len() == classes + 1);
        ensure!(are_timed, "a node has no time for each of {classes} classes");
        let end = |edge: &Object, name: &str| {
            let id = edge.get(name)?;
            position.get(&id).copied().ok_or_else(|| format!("an edge names {id}, which is no node"))
        };
        let edges = edges.iter().map(|edge| Ok((end(edge, ends[0])?, end(edge, ends[1])?)));
        let edges: BTreeSet<(usize, usize)> = edges.collect::<Result<_>>()?;
        Ok(Self { nodes, edges: edges.into_iter().collect(), classes })
    }

    /// The most decimals of times, and of transfer times times a `scale`.
    pub fn digits(&self, scale: &str) -> Result<u32> {
        let scale = Decimal::parse(scale)?;
        let moved = self.nodes.iter().map(|node| node.transfer.times(scale)).collect::<Result<Vec<_>>>()?;
        Ok(places(self.nodes.iter().flat_map(|node| node.times.iter().flatten()).chain(&moved).copied()))
    }
}

fn native(node: &Object) -> Result<Node> {
    let mut times: Vec<Option<Decimal>> = node.get("accelerator_times")?;
    times.push(node.get("cpu_time")?);
    let decimal = |name: &str| Ok::<_, String>(node.get::<Option<Decimal>>(name)?.unwrap_or_default());
    Ok(Node {
        id: node.get("id")?,
        times,
        spread: decimal("time_spread")?,
        memory: decimal("memory")?,
        transfer: decimal("transfer_time")?,
        parameters: decimal("parameter_bytes")?,
        backward: node.flag("backward")?.unwrap_or_default(),
        color: node.get("color_class")?,
    })
}

/// A node of Tarnawski et al., where the edges that leave a node say what it takes to move its output.
fn published(node: &Object, costs: &HashMap<u64, Decimal>) -> Result<Node> {
    let (id, on_accelerator) = (node.get("id")?, Some(node.get("fpgaLatency")?));
    let is_supported = node.flag("supportedOnFpga")?.ok_or("supportedOnFpga is missing")?;
    Ok(Node {
        id,
        times: vec![on_accelerator.filter(|_| is_supported), Some(node.get("cpuLatency")?)],
        memory: node.get("size")?,
        transfer: costs.get(&id).copied().unwrap_or_default(),
        backward: node.flag("isBackwardNode")?.unwrap_or_default(),
        color: node.get("colorClass")?,
        ..Node::default()
    })
}

/// What the edges that leave each node cost, all the same.
fn costs(edges: &[Object]) -> Result<HashMap<u64, Decimal>> {
    let mut costs = HashMap::new();
    for edge in edges {
        let (source, cost): (u64, Decimal) = (edge.get("sourceId")?, edge.get("cost")?);
        let known = *costs.entry(source).or_insert(cost);
        ensure!(known == cost, "node {source}: the edges that leave it do not cost the same");
    }
    Ok(costs)
}
