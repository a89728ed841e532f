//! The page of a run.

use std::collections::BTreeMap;

use rustc_hash::FxHashMap;
use serde::Serialize;

use super::{Page, Section, escaped, proof, sheets, trace};
use crate::graph::Graph;
use crate::instance::{Instance, Node};
use crate::problem::DeviceKind;
use crate::report::picture::draw;
use crate::report::sheet::{Cell, Column, Sheet};
use crate::report::trace::Trace;
use crate::report::{DeviceRecord, RunRecord, table};
use crate::verify::Verified;

/// What the page of a run shows.
pub struct RunPage<'a> {
    /// The run.
    pub record: &'a RunRecord,
    /// Its split, where it has one.
    pub verified: Option<&'a Verified>,
    /// What was split.
    pub instance: &'a Instance,
    /// The instance's graph by node index.
    pub graph: &'a Graph,
    /// The text of the proof that no split is better, where there is one.
    pub proof: Option<&'a str>,
    /// Command lines that do the run again and check what came of it, each with what it does.
    pub commands: &'a [(&'a str, String)],
}

/// What the page's script is given.
#[derive(Serialize)]
struct Data<'a> {
    record: &'a RunRecord,
    /// What each device is called.
    labels: &'a [String],
    /// The nodes of each box of the picture.
    boxes: &'a [Vec<u64>],
    nodes: BTreeMap<u64, NodeData<'a>>,
    transfers: &'a [Transfer],
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

/// The page of a run.
///
/// # Errors
/// The record cannot be written as JSON.
pub fn run(page: &RunPage<'_>) -> serde_json::Result<String> {
    let RunPage { record, instance, graph, .. } = page;
    let devices = &record.devices;
    let labels = DeviceRecord::labels(devices);
    let transfers = transfers(instance, graph, devices);
    let picture = draw(instance, graph, page.verified.map(|_| devices.as_slice()), None);
    let part = |heading, content: Option<String>| content.map(|content| Section { heading, content });
    let sections = [
        part("The graph", Some(figure(&picture.svg))),
        Section::table("Devices", &sheets::devices(devices, &labels), Some("devices")),
        Section::table("Transfers", &sent(&transfers, &labels), None),
        part("Proof", page.proof.map(|text| proof::told(text, instance))),
        part("Bound over time", trace::curve(&record.trace, record.seconds).map(|svg| over_time(&svg, &record.trace))),
        Section::table("Methods", &sheets::methods(&record.compared), None),
        part("Do it again", Some(commands(page.commands))),
    ];
    let sections = sections.into_iter().flatten().collect();
    let data = Data { record, labels: &labels, boxes: &picture.boxes, nodes: nodes(page), transfers: &transfers };
    Page { title: &record.instance.name, facts: &table::facts(record), sections }.html(&data)
}

/// The picture, which the script makes to zoom, with room for what is chosen in it.
fn figure(svg: &str) -> String {
    format!(
        "<div class=\"graph\">\n<figure class=\"picture\" tabindex=\"0\" aria-label=\"The graph, coloured by device\">\n{svg}\
         </figure>\n<aside class=\"chosen\" aria-live=\"polite\" aria-label=\"What is chosen\"></aside>\n</div>\n"
    )
}

fn over_time(svg: &str, trace: &Trace) -> String {
    let titles = ["time", "best split", "bound"].map(Column::figures);
    let rows = trace.0.iter().map(|known| {
        vec![Cell::Seconds(known.seconds), Cell::of(Cell::Number, known.incumbent), Cell::of(Cell::Number, known.bound)]
    });
    let sheet = Sheet { columns: titles.into(), rows: rows.collect(), ..Sheet::default() };
    let table = sheets::table("Best split and bound over time", &sheet, None);
    format!("<figure class=\"curve\">\n{svg}\n</figure>\n<details><summary>As a table</summary>\n{table}</details>\n")
}

fn commands(commands: &[(&str, String)]) -> String {
    let command = |(what, line): &(&str, String)| {
        format!("<p>{}</p>\n<pre tabindex=\"0\"><code>{}</code></pre>\n", escaped(what), escaped(line))
    };
    commands.iter().map(command).collect()
}

/// The nodes by id, with their times on the devices that hold them.
fn nodes<'a>(page: &RunPage<'a>) -> BTreeMap<u64, NodeData<'a>> {
    let devices = page.verified.into_iter().flat_map(Verified::devices);
    let fixed = devices.filter(|device| device.in_flight().is_none());
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
    page.instance.nodes.iter().map(|node| (node.id, data(node))).collect()
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
