//! The text of the CUDA sample `p2pBandwidthLatencyTest`: measured bandwidths and latencies of one host.

use super::matrix::{self, Entry, Quantity};
use crate::instance::Problems;
use crate::instance::validate::shorten;
use crate::mapping::{Device, Topology};

/// Whether a line is the title of one of the sample's matrices.
pub(super) fn is_title(line: &str) -> bool {
    line.contains("Matrix (GB/s)") || line.contains("Matrix (us)")
}

/// A matrix: the line number of its header, and those and the cells of its rows.
struct Table<'a> {
    line: usize,
    devices: Vec<&'a str>,
    rows: Vec<(usize, Vec<&'a str>)>,
}

/// The matrix with this corner below the first title that holds all `words`.
fn table<'a>(text: &'a str, words: &[&str], corner: &str) -> Option<Table<'a>> {
    let lines = || text.lines().enumerate();
    let (title, _) = lines().find(|(_, line)| is_title(line) && words.iter().all(|word| line.contains(word)))?;
    let below = || lines().skip(title + 1).take_while(|(_, line)| !is_title(line));
    let (header, line) = below().find(|(_, line)| line.split_whitespace().next() == Some(corner))?;
    let cells = |line: &'a str| line.split_whitespace().collect::<Vec<_>>();
    let is_row = |line: &str| line.split_whitespace().next().is_some_and(|word| word.parse::<u32>().is_ok());
    let rows = below().skip_while(|(i, _)| *i <= header).take_while(|(_, line)| is_row(line));
    Some(Table {
        line: header + 1,
        devices: cells(line).split_off(1),
        rows: rows.map(|(i, line)| (i + 1, cells(line))).collect(),
    })
}

pub(super) fn parse(text: &str, problems: &mut Problems) -> Topology {
    let bandwidths = ["P2P=Enabled", "P2P=Disabled"]
        .into_iter()
        .find_map(|peer| Some((peer, table(text, &["Unidirectional", peer, "(GB/s)"], "D\\D")?)));
    let Some((peer, bandwidths)) = bandwidths else {
        let cure = "give the whole output of p2pBandwidthLatencyTest";
        problems.add("text", "there is no matrix of unidirectional bandwidths", cure);
        return Topology::default();
    };
    let size = bandwidths.devices.len();
    if size == 0 || size > Topology::MAX_DEVICES {
        let cure = format!("give 1 to {}", Topology::MAX_DEVICES);
        problems.add(format!("line {}", bandwidths.line), format!("it names {size} devices"), cure);
        return Topology::default();
    }
    let bandwidth = bandwidths.values(size, &Quantity::bandwidth("GB/s", 1e6), problems);
    let devices = bandwidths.devices.iter().map(|index| Device::new(name(text, index))).collect();
    let source = format!("p2pBandwidthLatencyTest, unidirectional, {peer}");
    let topology = Topology::new("", source, devices, |a, b| bandwidth[a * size + b]);
    let Some(latencies) = table(text, &[peer, "(us)"], "GPU") else { return topology };
    let latency = latencies.values(size, &Quantity::latency("us", 1e-3), problems);
    topology.with_latency(|a, b| latency[a * size + b])
}

/// What a device is called: `GPU 0 (Tesla V100)`, from the line `Device: 0, Tesla V100, pciBusID: …`.
fn name(text: &str, index: &str) -> String {
    let description = text.lines().find_map(|line| line.strip_prefix(&format!("Device: {index}, ")));
    match description.and_then(|description| description.split(',').next()) {
        Some(model) => format!("GPU {index} ({})", shorten(model.trim(), 60)),
        None => format!("GPU {}", shorten(index, 20)),
    }
}

impl Table<'_> {
    fn values(&self, size: usize, quantity: &Quantity, problems: &mut Problems) -> Vec<f64> {
        let entries = |cells: &Vec<&str>| cells.iter().skip(1).map(|cell| Entry::of_text(cell)).collect();
        let rows: Vec<Vec<Entry>> = self.rows.iter().map(|(_, cells)| entries(cells)).collect();
        let lines: Vec<usize> = self.rows.iter().map(|(line, _)| *line).collect();
        let place = matrix::place_in_text(self.line, &lines);
        matrix::values(&rows, size, quantity, &place, problems)
    }
}
