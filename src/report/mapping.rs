//! Records and tables of mappings.

use comfy_table::{Cell, CellAlignment};
use serde::Serialize;

use super::record::{ROUNDING, as_object};
use super::table::{listed, memory_limit, plain_table};
use super::units::{bar, number, percent, seconds};
use crate::mapping::{MappingOutcome, MappingProblem, MappingRun};
use crate::solve::{OPTIMALITY_TOLERANCE, Stats};
use crate::text::escaped;
use crate::verify::mapping::{VerifiedCopy, VerifiedMapping};

/// Version of [`MapRecord`]: it changes when a field changes its meaning or goes.
pub const MAP_SCHEMA: &str = "dagsplit-map/1";

/// Width of a time bar, in terminal cells.
const BAR: usize = 24;

/// The relative gap; 0 where it is that at which a search may call its mapping the best, or less by rounding.
fn gap(objective: f64, bound: f64) -> Option<f64> {
    super::record::gap(objective, bound).map(|gap| if gap <= 2.0 * OPTIMALITY_TOLERANCE { 0.0 } else { gap })
}

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

/// How one of several mappers did.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct MapMethodRecord {
    /// The mapper, as it was asked for.
    pub method: String,
    /// `optimal`, `feasible`, `infeasible` or `unknown`.
    pub status: &'static str,
    /// The verified time of the slowest copy.
    pub objective: Option<f64>,
    /// No mapping is faster, where the mapper proved a bound.
    pub lower_bound: Option<f64>,
    /// (objective − lower bound) / objective.
    pub gap: Option<f64>,
    /// Wall-clock seconds.
    pub seconds: f64,
}

impl MapMethodRecord {
    /// The record of `run`, whose mapping the verifier has passed as `verified`.
    pub fn new(method: &str, run: &MappingRun, verified: Option<&VerifiedMapping>, seconds: f64) -> Self {
        let objective = verified.map(VerifiedMapping::objective);
        let lower_bound =
            Some(run.bound).filter(|bound| *bound > 0.0 || matches!(run.outcome, MappingOutcome::Optimal(_)));
        let gap = objective.zip(lower_bound).and_then(|(objective, bound)| gap(objective, bound));
        let status = match run.outcome {
            // The bound is the proof, whatever the mapper calls it.
            MappingOutcome::Optimal(_) | MappingOutcome::Feasible(_) if gap == Some(0.0) => "optimal",
            MappingOutcome::Optimal(_) | MappingOutcome::Feasible(_) => "feasible",
            MappingOutcome::Infeasible => "infeasible",
            MappingOutcome::Unknown => "unknown",
        };
        Self { method: method.into(), status, objective, lower_bound, gap, seconds }
    }

    /// Position of the best record: least objective, then highest bound, then first; a mapping beats none, and a proof
    /// that there is none beats not knowing.
    pub fn best(records: &[Self]) -> usize {
        let key = |record: &Self| {
            let objective = record.objective.unwrap_or(f64::INFINITY);
            (objective, record.status == "unknown", -record.lower_bound.unwrap_or(0.0))
        };
        let better = |a: &Self, b: &Self| {
            let (a, b) = (key(a), key(b));
            a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)).then(a.2.total_cmp(&b.2))
        };
        (0..records.len()).min_by(|&i, &j| better(&records[i], &records[j])).unwrap_or(0)
    }

    /// Two claims that cannot both be true, in words.
    pub fn contradiction(records: &[Self]) -> Option<String> {
        records.iter().find_map(|found| {
            let objective = found.objective?;
            let claim = records.iter().find(|claim| {
                let exceeded = claim.lower_bound.is_some_and(|bound| bound - objective > ROUNDING * objective);
                exceeded || claim.status == "infeasible"
            })?;
            let what =
                claim.lower_bound.map_or_else(|| "that there is none".into(), |bound| format!("a bound of {bound}"));
            Some(format!("{} found a mapping of {objective}, but {} claims {what}", found.method, claim.method))
        })
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
    pub outcome: MapMethodRecord,
    /// The verified mapping; empty where none was found.
    pub copies: Vec<CopyRecord>,
    /// What the mapper counted.
    #[serde(serialize_with = "as_object")]
    pub stats: Stats,
    /// Whether the independent verifier has passed the mapping; false only where there is none.
    pub verified: bool,
    /// Why there is no mapping, where memory alone allows none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Every mapper, where more than one ran; the record itself is that of the best.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub compared: Vec<MapMethodRecord>,
}

impl MapRecord {
    /// The record of a run of one mapper on `problem`.
    pub fn new(
        problem: &MappingProblem,
        outcome: MapMethodRecord,
        stats: &[(&'static str, u64)],
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
            stats: Stats(stats.iter().map(|&(name, count)| (name, count as f64)).collect()),
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
            ("status", outcome.status.to_owned()),
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
fn comparison(methods: &[MapMethodRecord]) -> String {
    let best_bound = methods.iter().filter_map(|method| method.lower_bound).max_by(f64::total_cmp);
    let mut table = plain_table();
    table.set_header(["method", "status", "objective", "lower bound", "gap", "time"]);
    for method in methods {
        let gap = method.objective.zip(best_bound).and_then(|(objective, bound)| gap(objective, bound));
        let optional = |value: Option<f64>, shown: fn(f64) -> String| right(value.map_or_else(|| "–".into(), shown));
        let mut row = vec![Cell::new(&method.method), Cell::new(method.status)];
        row.extend([optional(method.objective, number), optional(method.lower_bound, number), optional(gap, percent)]);
        row.push(right(seconds(method.seconds)));
        table.add_row(row);
    }
    format!("{table}\n")
}

fn right(content: impl ToString) -> Cell {
    Cell::new(content.to_string()).set_alignment(CellAlignment::Right)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(method: &str, status: &'static str, objective: Option<f64>, bound: Option<f64>) -> MapMethodRecord {
        MapMethodRecord { method: method.into(), status, objective, lower_bound: bound, gap: None, seconds: 0.0 }
    }

    #[test]
    fn what_a_search_proves_counts_as_proven() {
        assert_eq!((gap(1.0, 1.0 - 1.001e-9), gap(0.0, 0.0)), (Some(0.0), Some(0.0)));
        assert!(gap(1.0, 1.0 - 1e-8) > Some(0.0));
    }

    #[test]
    fn the_best_record_has_the_least_objective_then_the_most_proof() {
        let unknown = record("a", "unknown", None, Some(1.0));
        let plain = record("b", "feasible", Some(5.0), None);
        let proven = record("c", "optimal", Some(5.0), Some(5.0));
        assert_eq!(MapMethodRecord::best(&[unknown.clone(), plain.clone(), proven]), 2);
        assert_eq!(MapMethodRecord::best(&[unknown.clone(), record("d", "infeasible", None, None)]), 1);
        assert_eq!(MapMethodRecord::best(&[unknown, plain]), 1);
    }

    #[test]
    fn contradictions_are_found() {
        let found = record("a", "feasible", Some(5.0), Some(4.0));
        let claim = |status, bound| MapMethodRecord::contradiction(&[found.clone(), record("b", status, None, bound)]);
        assert_eq!(claim("unknown", Some(5.0)), None);
        assert_eq!(claim("unknown", Some(6.0)).as_deref(), Some("a found a mapping of 5, but b claims a bound of 6"));
        assert_eq!(
            claim("infeasible", None).as_deref(),
            Some("a found a mapping of 5, but b claims that there is none")
        );
    }
}
