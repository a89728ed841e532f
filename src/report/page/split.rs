//! A split on a page: the graph in its colours, its devices, and what they send each other.

use std::collections::BTreeMap;

use rustc_hash::FxHashMap;
use serde::Serialize;

use super::{Section, sheets, zoomed};
use crate::graph::Graph;
use crate::instance::{Instance, Node};
use crate::problem::DeviceKind;
use crate::report::DeviceRecord;
use crate::report::picture::draw;
use crate::report::sheet::{Cell, Column, Sheet};
use crate::verify::Verified;

/// What a page shows of a split, and gives its script.
#[derive(Serialize)]
pub struct SplitOnPage<'a> {
    #[serde(skip)]
    picture: String,
    devices: &'a [DeviceRecord],
    /// What each device is called.
    labels: Vec<String>,
    /// The nodes of each box of the picture.
    boxes: Vec<Vec<u64>>,
    nodes: BTreeMap<u64, NodeData<'a>>,
    transfers: Vec<Transfer>,
}

/// A node on its device.
#[derive(Serialize)]
struct NodeData<'a> {
    name: Option<&'a str>,
    /// Its time on its device's kind; none where it depends on the options of a stage.
    time: Option<f64>,
    memory: f64,
    transfer: f64,
}

/// What one device sends another.
#[derive(Serialize)]
struct Transfer {
    from: usize,
    to: usize,
    /// Transfer times of the nodes sent, each once.
    time: f64,
    nodes: usize,
}

impl<'a> SplitOnPage<'a> {
    /// A split of a workload over `devices`, which has passed the verifier, or the workload alone.
    pub fn new(
        instance: &'a Instance,
        graph: &Graph,
        devices: &'a [DeviceRecord],
        verified: Option<&Verified>,
    ) -> Self {
        let picture = draw(instance, graph, verified.map(|_| devices), None);
        Self {
            picture: picture.svg,
            devices,
            labels: DeviceRecord::labels(devices),
            boxes: picture.boxes,
            nodes: nodes(instance, verified),
            transfers: transfers(instance, graph, devices),
        }
    }

    /// The parts of the page that show it, whose devices are called so.
    pub fn sections(&self, devices: &'static str) -> [Option<Section>; 3] {
        [
            Some(Section { heading: "The graph", content: figure(&self.picture) }),
            Section::table(devices, &sheets::devices(self.devices, &self.labels), Some("devices")),
            Section::table("Transfers", &sent(&self.transfers, &self.labels), None),
        ]
    }
}

/// The picture, with room for what is chosen in it.
fn figure(svg: &str) -> String {
    format!(
        "<div class=\"graph\">\n{}<aside class=\"chosen\" aria-live=\"polite\" aria-label=\"What is chosen\"></aside>\n\
         </div>\n",
        zoomed("boxes", "The graph, coloured by device", svg)
    )
}

/// The nodes by id, with their times on the devices that hold them.
fn nodes<'a>(instance: &'a Instance, verified: Option<&Verified>) -> BTreeMap<u64, NodeData<'a>> {
    let devices = verified.into_iter().flat_map(Verified::devices);
    let fixed = devices.filter(|device| !device.has_degrees());
    let kinds: FxHashMap<u64, DeviceKind> =
        fixed.flat_map(|device| device.nodes().iter().map(|&id| (id, device.kind()))).collect();
    let time = |node: &Node| match kinds.get(&node.id)? {
        DeviceKind::Accelerator(class) => node.accelerator_times.get(*class).copied().flatten(),
        DeviceKind::Cpu => node.cpu_time,
    };
    let data = |node: &'a Node| NodeData {
        name: node.name.as_deref(),
        time: time(node),
        memory: node.memory,
        transfer: node.transfer_time,
    };
    instance.nodes.iter().map(|node| (node.id, data(node))).collect()
}

/// What devices send each other, in their order.
fn transfers(instance: &Instance, graph: &Graph, devices: &[DeviceRecord]) -> Vec<Transfer> {
    let holders: FxHashMap<u64, usize> = devices
        .iter()
        .enumerate()
        .flat_map(|(device, record)| record.nodes.iter().map(move |&id| (id, device)))
        .collect();
    let holder = |v: usize| holders.get(&instance.nodes[v].id).copied();
    let mut sums: BTreeMap<(usize, usize), (f64, usize)> = BTreeMap::new();
    for (v, node) in instance.nodes.iter().enumerate() {
        let Some(from) = holder(v) else { continue };
        let mut to: Vec<usize> = graph.successors(v).iter().filter_map(|&w| holder(w as usize)).collect();
        to.sort_unstable();
        to.dedup();
        for to in to.into_iter().filter(|&to| to != from) {
            let (time, nodes) = sums.entry((from, to)).or_default();
            *time += node.transfer_time;
            *nodes += 1;
        }
    }
    sums.into_iter().map(|((from, to), (time, nodes))| Transfer { from, to, time, nodes }).collect()
}

fn sent(transfers: &[Transfer], labels: &[String]) -> Sheet {
    let row = |transfer: &Transfer| {
        let ends = [transfer.from, transfer.to].map(|device| Cell::from(labels[device].as_str()));
        ends.into_iter().chain([Cell::Number(transfer.nodes as f64), Cell::Number(transfer.time)]).collect()
    };
    Sheet {
        columns: vec![
            Column::words("from"),
            Column::words("to"),
            Column::figures("nodes sent"),
            Column::figures("transfer time"),
        ],
        rows: transfers.iter().map(row).collect(),
        ..Sheet::default()
    }
}
