//! What a picture shows: boxes and arrows, at some detail.

use petgraph::unionfind::UnionFind;
use rustc_hash::FxHashMap;

use super::Detail;
use crate::graph::{Graph, NodeId, topological};
use crate::instance::Instance;
use crate::report::DeviceRecord;
use crate::report::table::counted;
use crate::text::escaped;
use crate::units::{bytes, number};

/// How many segments a big graph without a split is cut into.
const SEGMENTS: usize = 24;
/// The longest label on a box, in characters.
const LABEL: usize = 22;

/// A graph to draw, with its split.
pub struct Subject<'a> {
    pub instance: &'a Instance,
    pub graph: &'a Graph,
    pub split: Option<&'a [DeviceRecord]>,
    /// What each device of the split is called.
    pub labels: Vec<String>,
    /// The device of each node.
    device: Vec<Option<usize>>,
    /// The chunk of its device that each node is in, where devices have several.
    chunk: Vec<Option<usize>>,
}

/// A box that stands for one or more nodes.
pub struct Shape {
    /// What is written in it, line by line.
    pub lines: Vec<String>,
    /// What is shown when the pointer rests on it.
    pub tooltip: String,
    /// The device that holds its nodes.
    pub device: Option<usize>,
    /// Whether its nodes belong to the backward pass.
    pub backward: bool,
    /// The nodes it stands for.
    pub nodes: Vec<NodeId>,
}

/// Data that flows from one box to another.
pub struct Arrow {
    pub from: usize,
    pub to: usize,
    /// Transfer times of the producers in `from` with a consumer in `to`, each counted once.
    pub traffic: f64,
    /// Whether the boxes lie on different devices.
    pub crosses: bool,
    /// Whether the layout has to turn it round, because it closes a cycle.
    pub against: bool,
}

pub struct Scene {
    pub detail: Detail,
    pub boxes: Vec<Shape>,
    pub arrows: Vec<Arrow>,
    /// How many arrows of little traffic are not drawn.
    pub left_out: usize,
}

impl<'a> Subject<'a> {
    pub fn new(instance: &'a Instance, graph: &'a Graph, split: Option<&'a [DeviceRecord]>) -> Self {
        let holder: FxHashMap<u64, usize> = split
            .into_iter()
            .flatten()
            .enumerate()
            .flat_map(|(i, device)| device.nodes.iter().map(move |&id| (id, i)))
            .collect();
        let device = instance.nodes.iter().map(|v| holder.get(&v.id).copied()).collect();
        let labels = DeviceRecord::labels(split.unwrap_or_default());
        Self { instance, graph, split, labels, device, chunk: chunks(instance, split.unwrap_or_default()) }
    }

    /// The devices that hold nodes, by position in the split.
    pub fn used_devices(&self) -> Vec<usize> {
        let devices = self.split.unwrap_or_default();
        (0..devices.len()).filter(|&i| !devices[i].nodes.is_empty()).collect()
    }

    pub fn scene(&self, detail: Detail) -> Scene {
        let groups = match detail {
            Detail::Nodes => (0..self.graph.node_count()).map(|v| vec![v]).collect(),
            Detail::Chains => self.chains(),
            Detail::Stages if self.split.is_some() => self.stages(),
            Detail::Stages => self.segments(),
        };
        let boxes = groups.iter().map(|group| self.shape(group, detail)).collect();
        let mut scene = Scene { detail, boxes, arrows: self.arrows(&groups), left_out: 0 };
        scene.mark_back_arrows();
        scene
    }

    /// Contracts every edge between two nodes of one device that closes no cycle for sure: its ends have no
    /// other neighbour on that side.
    fn chains(&self) -> Vec<Vec<NodeId>> {
        let mut joined = UnionFind::new(self.graph.node_count());
        for (u, v) in self.graph.edges() {
            let only_way_out = self.graph.successors(u).len() == 1;
            let only_way_in = self.graph.predecessors(v).len() == 1;
            let chain = only_way_out && only_way_in;
            let constant = only_way_out && self.graph.predecessors(u).is_empty();
            let dead_end = only_way_in && self.graph.successors(v).is_empty();
            if self.place(u) == self.place(v) && (chain || constant || dead_end) {
                joined.union(u, v);
            }
        }
        let order = topological::smallest_first(self.graph);
        collect_groups(order.into_iter().map(|v| (joined.find(v), v)))
    }

    /// One group per device and pass, or per chunk of a device and pass.
    fn stages(&self) -> Vec<Vec<NodeId>> {
        let order = topological::smallest_first(self.graph);
        collect_groups(order.into_iter().map(|v| (self.place(v), v)))
    }

    /// Successive parts of one topological order, of about equal compute time.
    fn segments(&self) -> Vec<Vec<NodeId>> {
        let order = topological::smallest_first(self.graph);
        let total: f64 = order.iter().map(|&v| self.time(v)).sum();
        let mut before = 0.0;
        collect_groups(order.iter().enumerate().map(|(i, &v)| {
            let share = if total > 0.0 { before / total } else { i as f64 / order.len() as f64 };
            before += self.time(v);
            (((share * SEGMENTS as f64) as usize).min(SEGMENTS - 1), v)
        }))
    }

    /// The device, its chunk, and whether the node belongs to the backward pass.
    fn place(&self, v: NodeId) -> (Option<usize>, Option<usize>, bool) {
        (self.device[v], self.chunk[v], self.instance.nodes[v].backward)
    }

    /// What a device of the split is called, with one of its chunks.
    fn holder(&self, device: usize, chunk: Option<usize>) -> String {
        let label = &self.labels[device];
        chunk.map_or_else(|| label.clone(), |chunk| format!("{label}, chunk {chunk}"))
    }

    /// Compute time of a node, on the first device kind that runs it.
    fn time(&self, v: NodeId) -> f64 {
        let node = &self.instance.nodes[v];
        node.accelerator_times.iter().copied().flatten().next().or(node.cpu_time).unwrap_or(0.0)
    }

    fn shape(&self, group: &[NodeId], detail: Detail) -> Shape {
        let first = group[0];
        let (device, _, backward) = self.place(first);
        let lines = match detail {
            Detail::Nodes => vec![self.label(first)],
            Detail::Chains => {
                let more = if group.len() > 1 { format!(" ×{}", group.len()) } else { String::new() };
                vec![self.label(self.heaviest(group)) + &more]
            }
            Detail::Stages => self.stage_lines(group),
        };
        Shape { lines, tooltip: self.tooltip(group), device, backward, nodes: group.to_vec() }
    }

    fn stage_lines(&self, group: &[NodeId]) -> Vec<String> {
        let (device, chunk, backward) = self.place(group[0]);
        let nodes = format!("{} nodes", group.len());
        match device.zip(self.split) {
            Some((i, _)) if backward => vec![format!("{}, backward", self.holder(i, chunk)), nodes],
            // Load and memory are the device's, of all its chunks.
            Some((i, _)) if chunk.is_some() => {
                vec![self.holder(i, chunk), nodes, format!("time {}", number(self.total_time(group)))]
            }
            Some((i, split)) => {
                let (load, memory) = (number(split[i].load), bytes(split[i].memory));
                let mut lines = vec![self.labels[i].clone(), nodes];
                lines.extend(degree_lines(&split[i]));
                lines.extend([format!("load {load}"), memory]);
                lines
            }
            None => vec![self.label(group[0]), nodes, format!("time {}", number(self.total_time(group)))],
        }
    }

    fn tooltip(&self, group: &[NodeId]) -> String {
        let names: Vec<String> = group.iter().take(12).map(|&v| self.label(v)).collect();
        let more =
            if group.len() > names.len() { format!("\n… {} more", group.len() - names.len()) } else { String::new() };
        let memory: f64 = group.iter().map(|&v| self.instance.nodes[v].memory).sum();
        let (device, chunk, _) = self.place(group[0]);
        let stage = device.zip(self.split).map_or_else(String::new, |(device, split)| stage_note(&split[device]));
        let held = device
            .zip(chunk)
            .map_or_else(String::new, |(device, chunk)| format!("\n{}", self.holder(device, Some(chunk))));
        let (names, time) = (names.join("\n"), number(self.total_time(group)));
        format!("{names}{more}{held}\ntime {time}, memory {}{stage}", bytes(memory))
    }

    fn total_time(&self, group: &[NodeId]) -> f64 {
        group.iter().map(|&v| self.time(v)).sum()
    }

    fn heaviest(&self, group: &[NodeId]) -> NodeId {
        group.iter().copied().reduce(|a, b| if self.time(b) > self.time(a) { b } else { a }).unwrap_or(0)
    }

    /// A node's name, or its id; control characters, which XML forbids, are left out.
    fn label(&self, v: NodeId) -> String {
        let node = &self.instance.nodes[v];
        let name = node.name.clone().unwrap_or_else(|| node.id.to_string());
        let printable: Vec<char> = escaped(&name).chars().collect();
        if printable.len() <= LABEL {
            return printable.into_iter().collect();
        }
        let (head, tail) = (&printable[..LABEL / 3], &printable[printable.len() - (LABEL - LABEL / 3 - 1)..]);
        head.iter().chain(&['…']).chain(tail).collect()
    }

    fn arrows(&self, groups: &[Vec<NodeId>]) -> Vec<Arrow> {
        let mut group_of = vec![0; self.graph.node_count()];
        for (g, group) in groups.iter().enumerate() {
            group.iter().for_each(|&v| group_of[v] = g);
        }
        let mut traffic: FxHashMap<(usize, usize), f64> = FxHashMap::default();
        for u in 0..self.graph.node_count() {
            let mut targets: Vec<usize> = self.graph.successors(u).iter().map(|&v| group_of[v as usize]).collect();
            targets.sort_unstable();
            targets.dedup();
            for to in targets.into_iter().filter(|&to| to != group_of[u]) {
                *traffic.entry((group_of[u], to)).or_default() += self.instance.nodes[u].transfer_time;
            }
        }
        let mut pairs: Vec<_> = traffic.into_iter().collect();
        pairs.sort_unstable_by_key(|&(pair, _)| pair);
        let device = |g: usize| self.device[groups[g][0]];
        pairs
            .into_iter()
            .map(|((from, to), traffic)| Arrow {
                from,
                to,
                traffic,
                crosses: device(from) != device(to),
                against: false,
            })
            .collect()
    }
}

impl Scene {
    /// Finds arrows to turn round so that the rest is acyclic. Boxes are numbered by their first node in a
    /// topological order, so an acyclic scene keeps all its arrows.
    fn mark_back_arrows(&mut self) {
        let edges = self.arrows.iter().map(|a| (a.from as u32, a.to as u32));
        let quotient = petgraph::graph::DiGraph::<(), ()>::from_edges(edges);
        if !petgraph::algo::is_cyclic_directed(&quotient) {
            return;
        }
        self.arrows.iter_mut().for_each(|arrow| arrow.against = arrow.to < arrow.from);
    }

    /// The layer of each box, as the library has it: right behind the last of the boxes that point to it.
    pub fn layers(&self) -> Vec<usize> {
        let forward: Vec<(usize, usize)> = self.arrows.iter().map(Arrow::ends_for_layout).collect();
        let Ok(graph) = Graph::new(self.boxes.len(), &forward) else { return vec![0; self.boxes.len()] };
        let mut layer = vec![0; self.boxes.len()];
        for u in topological::smallest_first(&graph) {
            for &v in graph.successors(u) {
                layer[v as usize] = layer[v as usize].max(layer[u] + 1);
            }
        }
        layer
    }

    pub fn layer_count(&self) -> usize {
        self.layers().into_iter().max().map_or(0, |last| last + 1)
    }
}

impl Arrow {
    /// From and to, turned round where the arrow closes a cycle.
    pub fn ends_for_layout(&self) -> (usize, usize) {
        if self.against { (self.to, self.from) } else { (self.from, self.to) }
    }
}

/// The degrees of a stage and how many of its nodes run in each option, where it has degrees.
fn degree_lines(stage: &DeviceRecord) -> Vec<String> {
    let Some((tensor, data)) = stage.tensor_degree.zip(stage.data_degree) else { return Vec::new() };
    vec![counted(&stage.options), format!("tensor {tensor}, data {data}")]
}

/// What the memory of a stage with degrees is for.
fn stage_note(stage: &DeviceRecord) -> String {
    let Some((in_flight, parts)) = stage.in_flight.zip(stage.memory_parts) else { return String::new() };
    let part = |(name, amount): (&str, f64)| (amount > 0.0).then(|| format!("{name} {}", bytes(amount)));
    let parts: Vec<String> = parts.by_name().into_iter().filter_map(part).collect();
    format!("\nits stage: {in_flight} in flight, {}", parts.join(", "))
}

/// The chunk of its device that each node is in.
fn chunks(instance: &Instance, split: &[DeviceRecord]) -> Vec<Option<usize>> {
    let of_device = |device: &'_ DeviceRecord| -> Vec<(u64, usize)> {
        let chunks = device.chunks.iter().enumerate();
        chunks.flat_map(|(chunk, nodes)| nodes.iter().map(move |&id| (id, chunk))).collect()
    };
    let chunk_of: FxHashMap<u64, usize> = split.iter().flat_map(of_device).collect();
    instance.nodes.iter().map(|node| chunk_of.get(&node.id).copied()).collect()
}

/// Groups of nodes with the same key, in the order in which the keys first come.
fn collect_groups<K: std::hash::Hash + Eq>(keyed: impl Iterator<Item = (K, NodeId)>) -> Vec<Vec<NodeId>> {
    let mut index: FxHashMap<K, usize> = FxHashMap::default();
    let mut groups: Vec<Vec<NodeId>> = Vec::new();
    for (key, v) in keyed {
        let g = *index.entry(key).or_insert_with(|| {
            groups.push(Vec::new());
            groups.len() - 1
        });
        groups[g].push(v);
    }
    groups
}
