//! Tables for people.

use std::collections::BTreeMap;

use comfy_table::{Cell, CellAlignment, ContentArrangement, LineStyle, Table, TableStyle};

use super::method::{MethodRecord, gap};
use super::record::{DeviceRecord, MEMORY_LIMIT_NOTE, MEMORY_LIMIT_REACHED, RunRecord};
use super::sheet::Sheet;
use crate::solve::{FEWEST_DEVICES, Stats};
use crate::text::escaped;
use crate::units::{bar, bar_between, bytes, number, percent, seconds};

/// No frame, and one line below the header.
const STYLE: TableStyle = TableStyle::new().header_separator(LineStyle::none().fill('─').junction('─'));

/// Width of a load bar, in terminal cells.
const BAR: usize = 24;

/// Tables with much text are not squeezed below this width, in terminal cells.
const NARROWEST: u16 = 100;

/// A run: one row per device, then the objective and what is known of the optimum.
pub fn run(record: &RunRecord) -> String {
    let mut out = String::new();
    if !record.devices.is_empty() {
        out += &devices(&record.devices);
    }
    out += &listed(&facts(record));
    if !record.compared.is_empty() {
        out += &format!("\n{}", comparison(&record.compared));
    }
    out
}

/// The objective and what is known of the optimum, by name.
pub(super) fn facts(record: &RunRecord) -> Vec<(&'static str, String)> {
    let optional = |value: Option<f64>, shown: fn(f64) -> String| value.map_or_else(|| "none known".into(), shown);
    let unit =
        record.time_unit.filter(|_| record.objective.is_some()).map_or_else(String::new, |unit| format!(" {unit}"));
    let of = record.microbatches.map_or_else(String::new, |count| format!(" of {count} microbatches"));
    let chunks = record.chunks.map_or_else(String::new, |chunks| {
        format!(", {} {} chunks on each device", chunks.count, chunks.placement.name())
    });
    let together = record.together.map_or_else(String::new, |sets| format!(", {sets} sets of nodes kept together"));
    let mut facts = vec![
        (
            "objective",
            format!(
                "{}{unit} ({}{of}, {} splits{chunks}{together})",
                optional(record.objective, number),
                record.objective_kind,
                record.scope
            ),
        ),
        ("lower bound", optional(record.lower_bound, number)),
        ("gap", optional(record.gap, percent)),
        ("status", record.status.to_string()),
        ("time", seconds(record.seconds)),
        ("method", with_shares(record)),
    ];
    facts.extend(memory_limit(&record.stats));
    facts.extend(device_count(record));
    facts.extend(idle_devices(record));
    if record.verified {
        facts.push(("verified", "yes, from the original file".into()));
    }
    if let Some(proof) = record.proof {
        let (size, checked) = (bytes(proof.bytes as f64), seconds(proof.check_seconds));
        facts.push(("proof", format!("{size}, found in {}, checked in {checked}", seconds(proof.seconds))));
    }
    if let Some(stability) = &record.stability {
        let relative = stability.relative.map_or_else(|| number(stability.regret), percent);
        let proven = if stability.certified { ", certified" } else { "" };
        let moves = stability.spread.map_or_else(|| "what was measured".into(), percent);
        facts.push(("stable", format!("at most {relative} above the best split while times move by {moves}{proven}")));
    }
    facts
}

/// The method, with who of a portfolio found what.
fn with_shares(record: &RunRecord) -> String {
    match (record.split_by, record.bound_by) {
        (Some(split), Some(bound)) if split == bound => format!("{}, by {split}", record.method),
        (Some(split), Some(bound)) => format!("{}: split by {split}, bound by {bound}", record.method),
        _ => record.method.clone(),
    }
}

/// How many devices hold something, and whether a split as good could do with fewer.
fn device_count(record: &RunRecord) -> Option<(&'static str, String)> {
    let fewest = record.stats.get(FEWEST_DEVICES)?;
    let used: usize = record.devices.iter().filter(|d| !d.nodes.is_empty()).map(|d| d.replicas.unwrap_or(1)).sum();
    let proof =
        if used as f64 <= fewest { ", the fewest for this objective".into() } else { format!(", at least {fewest}") };
    Some(("devices", format!("{used} used{proof}")))
}

/// That the microbatches of a step keep devices idle, where they do.
fn idle_devices(record: &RunRecord) -> Option<(&'static str, String)> {
    let (idle, microbatches) = (record.idle_devices?, record.microbatches?);
    let devices = if idle == 1 { "1 device stays idle".to_owned() } else { format!("{idle} devices stay idle") };
    let reason = "interleaved 1F1B takes microbatches in groups, one for each device";
    let cure = "a multiple of the devices uses all of them";
    let replicas = record.devices.iter().find_map(|device| device.data_degree).unwrap_or(1);
    let of_each = if replicas > 1 { " of each replica" } else { "" };
    let count = format!("{} microbatches{of_each}", microbatches / replicas);
    Some(("note", format!("{devices}: {reason}, and {count} make no groups for more; {cure}")))
}

/// That memory ended or narrowed a search, where it did.
pub(super) fn memory_limit(stats: &Stats) -> Option<(&'static str, String)> {
    stats.get(MEMORY_LIMIT_REACHED).map(|_| ("note", MEMORY_LIMIT_NOTE.into()))
}

/// Facts as people read them: a line for each, its name before its value.
pub(super) fn listed(facts: &[(&str, String)]) -> String {
    facts.iter().map(|(name, value)| format!("{name:<12} {}\n", escaped(value))).collect()
}

/// One row per device; under the latency objective, with the time at which each works.
pub fn devices(devices: &[DeviceRecord]) -> String {
    if devices.iter().any(|device| device.finish.is_some()) {
        return schedule(devices);
    }
    if devices.iter().any(|device| device.in_flight.is_some()) {
        return stages(devices);
    }
    let largest = devices.iter().map(|d| d.load).fold(f64::MIN_POSITIVE, f64::max);
    let replicated = devices.iter().any(|d| d.replicas.is_some());
    let served = devices.iter().any(|d| d.server.is_some());
    let chunked = devices.iter().any(|d| !d.chunks.is_empty());
    let in_flight = devices.iter().any(|d| !d.chunks_in_flight.is_empty());
    let mut table = plain_table();
    let mut header = vec!["device"];
    header.extend(replicated.then_some("replicas"));
    header.extend(served.then_some("server"));
    header.push("nodes");
    header.extend(chunked.then_some("by chunk"));
    header.extend(in_flight.then_some("in flight"));
    header.extend(["memory", "load", ""]);
    table.set_header(header);
    for (device, label) in devices.iter().zip(DeviceRecord::labels(devices)) {
        let mut row = vec![Cell::new(label)];
        row.extend(replicated.then(|| right(device.replicas.unwrap_or(1))));
        row.extend(served.then(|| right(device.server.map_or_else(String::new, |s| s.to_string()))));
        row.push(right(device.nodes.len()));
        row.extend(chunked.then(|| Cell::new(sum_of(device.chunks.iter().map(Vec::len)))));
        row.extend(in_flight.then(|| Cell::new(sum_of(device.chunks_in_flight.iter().copied()))));
        row.extend([right(bytes(device.memory)), right(number(device.load))]);
        row.push(Cell::new(bar(device.load / largest, BAR)));
        table.add_row(row);
    }
    format!("{table}\n")
}

fn sum_of(counts: impl Iterator<Item = usize>) -> String {
    counts.map(|count| count.to_string()).collect::<Vec<_>>().join(" + ")
}

/// One row per stage with degrees: how many devices it has and how, and how many of its nodes run in each option. Below them
/// what their memory is for.
fn stages(stages: &[DeviceRecord]) -> String {
    let largest = stages.iter().map(|stage| stage.load).fold(f64::MIN_POSITIVE, f64::max);
    let mut table = plain_table();
    table.set_header(["stage", "tensor", "data", "in flight", "nodes", "options", "memory", "load", ""]);
    for (i, stage) in stages.iter().enumerate() {
        let class = stage.class.as_deref().map_or_else(String::new, |class| format!(" ({})", escaped(class)));
        let mut row = vec![Cell::new(format!("{i}{class}"))];
        let degrees = [stage.tensor_degree, stage.data_degree, stage.in_flight];
        row.extend(degrees.map(|degree| right(degree.map_or_else(String::new, |degree| degree.to_string()))));
        row.extend([right(stage.nodes.len()), Cell::new(escaped(&counted(&stage.options)))]);
        row.extend([right(bytes(stage.memory)), right(number(stage.load))]);
        row.push(Cell::new(bar(stage.load / largest, BAR)));
        table.add_row(row);
    }
    format!("{table}\n{}", memory_by_part(stages))
}

/// What the memory of each stage is for: a column for each part that some stage has; nothing where there is one alone.
fn memory_by_part(stages: &[DeviceRecord]) -> String {
    let parts: Vec<_> = stages.iter().filter_map(|stage| Some(stage.memory_parts?.by_name())).collect();
    let is_there = |&part: &usize| parts.iter().any(|parts| parts[part].1 > 0.0);
    let shown: Vec<usize> = (0..parts.first().map_or(0, |parts| parts.len())).filter(is_there).collect();
    if shown.len() < 2 {
        return String::new();
    }
    let mut table = plain_table();
    table.set_header(std::iter::once("memory of").chain(shown.iter().map(|&part| parts[0][part].0)));
    for (i, parts) in parts.iter().enumerate() {
        let amounts = shown.iter().map(|&part| right(bytes(parts[part].1)));
        table.add_row(std::iter::once(Cell::new(i)).chain(amounts));
    }
    format!("{table}\n")
}

/// Each option with the number of nodes that run in it.
pub(super) fn counted(options: &[String]) -> String {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    options.iter().for_each(|option| *counts.entry(option).or_default() += 1);
    counts.iter().map(|(option, count)| format!("{count} {option}")).collect::<Vec<_>>().join(", ")
}

/// One row per device, and below it one for each of its subgraphs where it has several: their work and its place in
/// time.
fn schedule(devices: &[DeviceRecord]) -> String {
    let latency = devices.iter().filter_map(|d| d.finish).fold(f64::MIN_POSITIVE, f64::max);
    let mut table = plain_table();
    table.set_header(["device", "nodes", "memory", "load", "start", "finish", ""]);
    for (device, label) in devices.iter().zip(DeviceRecord::labels(devices)) {
        let (start, finish) = (device.start.unwrap_or(0.0), device.finish.unwrap_or(0.0));
        let mut row = |label: String, nodes: usize, memory: String, load: f64, start: f64, finish: f64| {
            let mut cells = vec![Cell::new(label), right(nodes), right(memory)];
            cells.extend([load, start, finish].map(|time| right(number(time))));
            cells.push(Cell::new(bar_between(start / latency, finish / latency, BAR)));
            table.add_row(cells);
        };
        row(label, device.nodes.len(), bytes(device.memory), device.load, start, finish);
        if device.subgraphs.len() > 1 {
            for (i, part) in device.subgraphs.iter().enumerate() {
                let label = format!("  subgraph {i}");
                row(label, part.nodes.len(), String::new(), part.finish - part.start, part.start, part.finish);
            }
        }
    }
    format!("{table}\n")
}

/// One row per method and scope, its gap measured against the best bound that holds for the scope.
pub fn comparison(methods: &[MethodRecord]) -> String {
    let several = methods.iter().any(|m| m.scope != methods[0].scope);
    let mut table = plain_table();
    let mut header = vec!["method"];
    header.extend(several.then_some("splits"));
    header.extend(["status", "objective", "best bound", "gap", "time"]);
    table.set_header(header);
    for method in methods {
        let bounds = methods.iter().filter(|claim| claim.covers(method)).filter_map(|claim| claim.lower_bound);
        let best_bound = bounds.max_by(f64::total_cmp);
        let gap = method.objective.zip(best_bound).and_then(|(objective, bound)| gap(objective, bound));
        let optional = |value: Option<f64>, shown: fn(f64) -> String| right(value.map_or_else(|| "–".into(), shown));
        let mut row = vec![Cell::new(&method.method)];
        row.extend(several.then(|| Cell::new(method.scope.unwrap_or_default())));
        row.extend([Cell::new(method.status.name()), optional(method.objective, number), optional(best_bound, number)]);
        row.extend([optional(gap, percent), right(seconds(method.seconds))]);
        table.add_row(row);
    }
    format!("{table}\n")
}

/// Any table, with its caption above and its notes below.
pub fn sheet(sheet: &Sheet) -> String {
    let mut table = plain_table();
    table.set_content_arrangement(ContentArrangement::Dynamic);
    if table.width().is_some_and(|width| width < NARROWEST) {
        table.set_width(NARROWEST);
    }
    table.set_header(sheet.columns.iter().map(|column| &column.title));
    for row in &sheet.rows {
        let cells = row.iter().map(super::sheet::Cell::shown).zip(&sheet.columns);
        table.add_row(cells.map(|(text, column)| if column.figures { right(text) } else { Cell::new(text) }));
    }
    let caption = if sheet.caption.is_empty() { String::new() } else { format!("{}\n\n", sheet.caption) };
    let before = if sheet.notes.is_empty() { "" } else { "\n" };
    let notes: String = sheet.notes.iter().map(|note| format!("{note}\n")).collect();
    format!("{caption}{table}\n{before}{notes}")
}

/// An empty table that is as wide as its content.
pub(super) fn plain_table() -> Table {
    let mut table = Table::new();
    table.load_style(STYLE);
    table
}

fn right(content: impl ToString) -> Cell {
    Cell::new(content.to_string()).set_alignment(CellAlignment::Right)
}
