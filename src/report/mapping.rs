//! Records and tables of mappings.

use comfy_table::{Cell, CellAlignment};
use serde::Serialize;

use super::method::{MethodRecord, gap};
use super::record::as_object;
use super::table::{listed, memory_limit, plain_table};
use crate::mapping::MappingProblem;
use crate::search::Technique;
use crate::solve::Stats;
use crate::text::escaped;
use crate::units::{bar, number, percent, seconds};
use crate::verify::mapping::{VerifiedCopy, VerifiedMapping};

/// Version of [`MapRecord`]: it changes when a field changes its meaning or goes.
pub const MAP_SCHEMA: &str = "dagsplit-map/1";

/// Width of a time bar, in terminal cells.
const BAR: usize = 24;

/// A copy of a stage on its device.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CopyRecord {
    /// Index of the stage.
    pub stage: usize,
    /// Its name.
    pub stage_name: String,
    /// Number of the copy.
    pub replica: usize,
    /// Index of the device.
    pub device: usize,
    /// Its name.
    pub device_name: String,
    /// Time of the copy, in milliseconds as all times.
    pub time: f64,
    /// Time to compute both passes over a microbatch.
    pub compute: f64,
    /// Time of its messages, as far as they count.
    pub messages: f64,
    /// Time of its stage's all-reduce, as far as it counts.
    pub all_reduce: f64,
}

impl CopyRecord {
    /// The copies of a verified mapping.
    pub fn all(problem: &MappingProblem, verified: &VerifiedMapping) -> Vec<Self> {
        let copy = |copy: &VerifiedCopy| Self {
            stage: copy.stage,
            stage_name: problem.stages.stages[copy.stage].name.clone(),
            replica: copy.replica,
            device: copy.device,
            device_name: problem.topology.devices[copy.device].name.clone(),
            time: copy.time,
            compute: copy.compute,
            messages: copy.messages,
            all_reduce: copy.all_reduce,
        };
        verified.copies().iter().map(copy).collect()
    }
}

/// Stages or devices, as a record names them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Named {
    /// The name.
    pub name: String,
    /// How many there are.
    pub count: usize,
}

/// A run of a mapper, ready to be printed as JSON.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct MapRecord {
    /// [`MAP_SCHEMA`].
    pub schema: &'static str,
    /// The stage graph.
    pub stages: Named,
    /// The topology.
    pub topology: Named,
    /// Copies of each stage.
    pub replicas: usize,
    /// `messages`, `all-reduce` or `both`.
    pub cost: &'static str,
    /// The mapper, its status and its figures.
    #[serde(flatten)]
    pub outcome: MethodRecord,
    /// The verified mapping; empty where none was found.
    pub copies: Vec<CopyRecord>,
    /// What the mapper counted.
    #[serde(serialize_with = "as_object")]
    pub stats: Stats,
    /// What each of its techniques did, in the order they first ran.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub techniques: Vec<Technique>,
    /// Whether the independent verifier has passed the mapping; false only where there is none.
    pub verified: bool,
    /// Why there is no mapping, where memory alone allows none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Every mapper, where more than one ran; the record itself is that of the best.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub compared: Vec<MethodRecord>,
}

impl MapRecord {
    /// The record of a run of one mapper on `problem`.
    pub fn new(
        problem: &MappingProblem,
        outcome: MethodRecord,
        stats: Stats,
        verified: Option<&VerifiedMapping>,
    ) -> Self {
        let named = |name: &str, count| Named { name: if name.is_empty() { "unnamed" } else { name }.into(), count };
        Self {
            schema: MAP_SCHEMA,
            stages: named(&problem.stages.name, problem.stages.stages.len()),
            topology: named(&problem.topology.name, problem.topology.len()),
            replicas: problem.replicas,
            cost: problem.cost.counted.name(),
            outcome,
            copies: verified.map(|verified| CopyRecord::all(problem, verified)).unwrap_or_default(),
            techniques: stats.techniques.clone(),
            stats,
            verified: verified.is_some(),
            reason: problem.memory_shortage().map(|shortage| shortage.to_string()),
            compared: Vec::new(),
        }
    }

    /// As people read it: one row per copy, then the objective and what is known of the optimum.
    pub fn text(&self) -> String {
        let mut out = copies(&self.copies);
        let optional = |value: Option<f64>, shown: fn(f64) -> String| value.map_or_else(|| "none known".into(), shown);
        let outcome = &self.outcome;
        let mut facts = vec![
            ("objective", format!("{} ms ({})", optional(outcome.objective, number), counted(self.cost))),
            ("lower bound", optional(outcome.lower_bound, number)),
            ("gap", optional(outcome.gap, percent)),
            ("status", outcome.status.to_string()),
            ("time", seconds(outcome.seconds)),
            ("method", outcome.method.clone()),
        ];
        facts.extend(self.reason.iter().map(|reason| ("reason", reason.clone())));
        facts.extend(memory_limit(&self.stats));
        if self.verified {
            facts.push(("verified", "yes, from stages and topology".into()));
        }
        out += &listed(&facts);
        if !self.compared.is_empty() {
            out += &format!("\n{}", comparison(&self.compared));
        }
        out
    }
}

fn counted(cost: &str) -> &'static str {
    match cost {
        "messages" => "compute and messages",
        "all-reduce" => "compute and all-reduce",
        _ => "compute, messages and all-reduce",
    }
}

/// One row per copy; nothing where there are none.
pub fn copies(copies: &[CopyRecord]) -> String {
    if copies.is_empty() {
        return String::new();
    }
    let slowest = copies.iter().map(|copy| copy.time).fold(f64::MIN_POSITIVE, f64::max);
    let mut table = plain_table();
    table.set_header(["stage", "copy", "device", "compute", "messages", "all-reduce", "time", ""]);
    for copy in copies {
        let mut row =
            vec![Cell::new(escaped(&copy.stage_name)), right(copy.replica), Cell::new(escaped(&copy.device_name))];
        row.extend([copy.compute, copy.messages, copy.all_reduce, copy.time].map(|time| right(number(time))));
        row.push(Cell::new(bar(copy.time / slowest, BAR)));
        table.add_row(row);
    }
    format!("{table}\n")
}

/// One row per mapper, its gap measured against the best bound of any.
fn comparison(methods: &[MethodRecord]) -> String {
    let best_bound = methods.iter().filter_map(|method| method.lower_bound).max_by(f64::total_cmp);
    let mut table = plain_table();
    table.set_header(["method", "status", "objective", "lower bound", "gap", "time"]);
    for method in methods {
        let gap = method.objective.zip(best_bound).and_then(|(objective, bound)| gap(objective, bound));
        let optional = |value: Option<f64>, shown: fn(f64) -> String| right(value.map_or_else(|| "–".into(), shown));
        let mut row = vec![Cell::new(&method.method), Cell::new(method.status.name())];
        row.extend([optional(method.objective, number), optional(method.lower_bound, number), optional(gap, percent)]);
        row.push(right(seconds(method.seconds)));
        table.add_row(row);
    }
    format!("{table}\n")
}

fn right(content: impl ToString) -> Cell {
    Cell::new(content.to_string()).set_alignment(CellAlignment::Right)
}
