//! The page of a plan.

use serde::Serialize;

use super::{Page, Section, SplitOnPage, drawn, escaped, zoomed};
use crate::graph::Graph;
use crate::instance::Instance;
use crate::plan::{Candidate, Plan};
use crate::problem::ProblemSpec;
use crate::report::DeviceRecord;
use crate::report::mapping::CopyRecord;
use crate::report::plan::{PlanRecord, breakdown, plot};
use crate::report::sheet::{Cell, Column, Sheet};
use crate::report::simulation::gantt;
use crate::units::{bytes, number, percent, seconds};

/// What the page of a plan shows.
pub struct PlanPage<'a> {
    /// All that is known of it.
    pub record: &'a PlanRecord,
    /// The candidates.
    pub plan: &'a Plan,
    /// What was planned.
    pub instance: &'a Instance,
    /// The instance's graph by node index.
    pub graph: &'a Graph,
    /// Command lines that plan again and check what came of it, each with what it does.
    pub commands: &'a [(&'a str, String)],
}

/// What the page's script is given.
#[derive(Serialize)]
struct Data<'a> {
    record: &'a PlanRecord,
    #[serde(flatten)]
    split: Option<SplitOnPage<'a>>,
}

/// The page of a plan.
///
/// # Errors
/// The record cannot be written as JSON.
pub fn plan(page: &PlanPage<'_>) -> serde_json::Result<String> {
    let PlanPage { record, plan, instance, graph, .. } = *page;
    let best = plan.best().and_then(Candidate::pipeline);
    let verified = best.map(|best| &best.partition.verified);
    // The classes of its devices are those of the topology, whose names stand with the copies.
    let devices = verified.map(|verified| DeviceRecord::all(verified, &ProblemSpec::default())).unwrap_or_default();
    let split = verified.map(|_| SplitOnPage::new(instance, graph, &devices, verified));
    let section = |heading, content| Some(Section { heading, content });
    let of_step = |svg: String| section("The step", zoomed("paper", "The step of the best plan", &svg));
    let sections = [
        section("Why", record.reasons.iter().map(|reason| format!("<p>{}</p>\n", escaped(reason))).collect()),
        Section::table("Plans", &record.all(), Some("candidates")),
        section(if record.serves() { "What plans serve" } else { "Time against memory" }, drawn("points", &plot(plan))),
        section("Where the time goes", drawn("plot", &breakdown(plan))),
        best.and_then(|best| of_step(gantt(&best.simulation))),
    ];
    let of_split = split.iter().flat_map(|split| split.sections("Stages"));
    let last = [Section::table("Copies", &copies(&record.copies), None), Section::commands(page.commands)];
    let sections = sections.into_iter().chain(of_split).chain(last).flatten().collect();
    let title = format!("{} on {}", record.instance.name, record.topology.name);
    Page { title: &title, facts: &facts(record), sections }.html(&Data { record, split })
}

/// The plan and what is known of the shortest step.
fn facts(record: &PlanRecord) -> Vec<(&'static str, String)> {
    let known = |value: Option<f64>, shown: fn(f64) -> String| value.map_or_else(|| "none known".into(), shown);
    let milliseconds = |time| format!("{} ms", number(time));
    let mut facts = vec![
        ("step", known(record.objective, milliseconds)),
        ("lower bound", known(record.lower_bound, milliseconds)),
        ("gap", known(record.gap, percent)),
        ("status", record.status.into()),
        ("samples of a step", record.batch.to_string()),
        ("devices", record.topology.count.to_string()),
        ("messages", record.links.into()),
        ("time", seconds(record.seconds)),
    ];
    if let Some(best) = record.best() {
        let size =
            if best.microbatch_size > 1 { format!(" of {} samples", best.microbatch_size) } else { String::new() };
        facts.extend([
            ("stages", best.stages.to_string()),
            ("replicas of each", best.replicas.to_string()),
            ("devices of each replica", best.tensor_degree.to_string()),
            ("microbatches", format!("{}{size}", best.microbatches)),
            ("samples a second", known(best.throughput, |rate| format!("{rate:.2}"))),
            ("memory, at most", known(best.peak_memory, bytes)),
        ]);
    }
    facts
}

/// One row per copy, with the device that it is on.
fn copies(copies: &[CopyRecord]) -> Sheet {
    let words = ["stage", "device"].map(Column::words);
    let figures = ["copy", "compute", "messages", "all-reduce", "time"].map(Column::figures);
    let row = |copy: &CopyRecord| {
        let times = [copy.compute, copy.messages, copy.all_reduce, copy.time].map(Cell::Number);
        let names = [copy.stage_name.as_str(), copy.device_name.as_str()].map(Cell::from);
        names.into_iter().chain([copy.replica.into()]).chain(times).collect()
    };
    Sheet {
        columns: words.into_iter().chain(figures).collect(),
        rows: copies.iter().map(row).collect(),
        ..Sheet::default()
    }
}
