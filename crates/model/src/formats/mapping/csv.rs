//! Topologies as comma-separated values: a matrix of bandwidths, and one of latencies.
//!
//! ```text
//! GB/s, gpu0, gpu1
//! gpu0,     , 48.4
//! gpu1, 48.4,
//!
//! us,   gpu0, gpu1
//! gpu0,     ,  1.9
//! gpu1,  1.9,
//! ```

use super::matrix::{self, Entry, Quantity};
use crate::instance::Problems;
use crate::instance::validate::shorten;
use crate::mapping::{Device, Topology};

/// What stands in the corner of a matrix, and what it means.
fn quantity(corner: &str) -> Option<Quantity> {
    let bandwidth = |factor| Some(Quantity::bandwidth(corner, factor));
    match corner {
        "GB/s" => bandwidth(1e6),
        "MB/s" => bandwidth(1e3),
        "GiB/s" => bandwidth(1_073_741.824),
        "MiB/s" => bandwidth(1_048.576),
        "bytes/ms" => bandwidth(1.0),
        "us" => Some(Quantity::latency("us", 1e-3)),
        "ms" => Some(Quantity::latency("ms", 1.0)),
        _ => None,
    }
}

/// Whether the first matrix of a file has a unit in its corner, as no other file has.
pub(super) fn begins_with_unit(text: &str) -> bool {
    tables(text).first().is_some_and(|table| quantity(table.corner).is_some())
}

/// A matrix as the file has it.
struct Table<'a> {
    corner: &'a str,
    /// Number of the header's line, from 1.
    line: usize,
    devices: Vec<&'a str>,
    /// Line number and cells of each row, the first of which is the device's name.
    rows: Vec<(usize, Vec<&'a str>)>,
}

pub(super) fn parse(text: &str, problems: &mut Problems) -> Topology {
    let tables = tables(text);
    let mut matrices: [Option<(Vec<&str>, Vec<f64>)>; 2] = [None, None];
    for table in &tables {
        let Some(quantity) = quantity(table.corner) else {
            let cause = format!("the corner of the matrix is {:?}", shorten(table.corner, 40));
            let cure =
                "give the unit there: GB/s, MB/s, GiB/s, MiB/s or bytes/ms for bandwidths, us or ms for latencies";
            problems.add(format!("line {}", table.line), cause, cure);
            continue;
        };
        let name = quantity.name;
        let values = table.values(&quantity, problems);
        if matrices[usize::from(name == "latency")].replace((table.devices.clone(), values)).is_some() {
            problems.add(format!("line {}", table.line), format!("this is a second {name} matrix"), "keep one of them");
        }
    }
    let [bandwidth, latency] = matrices;
    let Some((names, bandwidth)) = bandwidth else {
        if problems.issues.is_empty() {
            problems.add("file", "there is no bandwidth matrix", "add one whose corner is a unit such as GB/s");
        }
        return Topology::default();
    };
    let size = names.len();
    if bandwidth.len() != size * size {
        // It names no device or too many, which is told.
        return Topology::default();
    }
    let name = |(d, &name): (usize, &&str)| if name.is_empty() { format!("gpu{d}") } else { name.to_owned() };
    let devices = names.iter().enumerate().map(name).map(Device::new).collect();
    let topology = Topology::new("", "CSV matrix", devices, |a, b| bandwidth[a * size + b]);
    match latency {
        Some((others, latency)) if others == names => topology.with_latency(|a, b| latency[a * size + b]),
        Some(_) => {
            let cause = "its devices are not those of the bandwidth matrix";
            problems.add("latency matrix", cause, "name the same devices in the same order");
            topology
        }
        None => topology,
    }
}

/// The matrices of a file: blank lines stand between them, and lines that begin with `#` are remarks.
fn tables(text: &str) -> Vec<Table<'_>> {
    let mut tables: Vec<Table<'_>> = Vec::new();
    let mut open = false;
    for (line, content) in text.lines().enumerate().filter(|(_, content)| !content.trim_start().starts_with('#')) {
        if content.trim().is_empty() {
            open = false;
            continue;
        }
        let mut cells: Vec<&str> = content.split(',').map(|cell| cell.trim().trim_matches('"')).collect();
        match tables.last_mut().filter(|_| open) {
            Some(table) => table.rows.push((line + 1, cells)),
            None => {
                let corner = cells.remove(0);
                tables.push(Table { corner, line: line + 1, devices: cells, rows: Vec::new() });
                open = true;
            }
        }
    }
    tables
}

impl Table<'_> {
    fn values(&self, quantity: &Quantity, problems: &mut Problems) -> Vec<f64> {
        if self.devices.is_empty() || self.devices.len() > Topology::MAX_DEVICES {
            let cure = format!("name 1 to {} devices", Topology::MAX_DEVICES);
            problems.add(format!("line {}", self.line), format!("it names {} devices", self.devices.len()), cure);
            return Vec::new();
        }
        for ((line, cells), device) in self.rows.iter().zip(&self.devices) {
            if cells.first() != Some(device) {
                let found = shorten(cells.first().unwrap_or(&""), 40);
                let cause = format!("the row of {:?} begins with {found:?}", shorten(device, 40));
                problems.add(format!("line {line}"), cause, "give the rows in the order of the columns");
            }
        }
        let rows: Vec<Vec<Entry>> = self
            .rows
            .iter()
            .map(|(_, cells)| cells.iter().skip(1).map(|cell| Entry::of_text(cell)).collect())
            .collect();
        let lines: Vec<usize> = self.rows.iter().map(|(line, _)| *line).collect();
        let place = matrix::place_in_text(self.line, &lines);
        matrix::values(&rows, self.devices.len(), quantity, &place, problems)
    }
}
