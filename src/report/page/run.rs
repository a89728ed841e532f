//! The page of a run.

use serde::Serialize;

use super::{Page, Section, SplitOnPage, drawn, proof, sheets};
use crate::graph::Graph;
use crate::instance::Instance;
use crate::report::plot::known_over_time;
use crate::report::sheet::{Cell, Column, Sheet};
use crate::report::{RunRecord, table};
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
    #[serde(flatten)]
    split: SplitOnPage<'a>,
}

/// The page of a run.
///
/// # Errors
/// The record cannot be written as JSON.
pub fn run(page: &RunPage<'_>) -> serde_json::Result<String> {
    let RunPage { record, instance, graph, .. } = page;
    let split = SplitOnPage::new(instance, graph, &record.devices, page.verified);
    let part = |heading, content: Option<String>| content.map(|content| Section { heading, content });
    let sections = split.sections("Devices").into_iter().chain([
        part("Proof", page.proof.map(|text| proof::told(text, instance))),
        part("Bound over time", over_time(record)),
        Section::table("Methods", &sheets::methods(&record.compared), None),
        Section::commands(page.commands),
    ]);
    let sections = sections.flatten().collect();
    let (title, facts) = (&record.instance.name, &table::facts(record));
    Page { title, facts, sections }.html(&Data { record, split })
}

/// What was known when, as a curve and as a table.
fn over_time(record: &RunRecord) -> Option<String> {
    let svg = known_over_time(&record.trace, record.seconds)?;
    let titles = ["time", "best split", "bound"].map(Column::figures);
    let rows = record.trace.0.iter().map(|known| {
        vec![Cell::Seconds(known.seconds), Cell::of(Cell::Number, known.incumbent), Cell::of(Cell::Number, known.bound)]
    });
    let sheet = Sheet { columns: titles.into(), rows: rows.collect(), ..Sheet::default() };
    let table = sheets::table("Best split and bound over time", &sheet, None);
    Some(format!("{}<details><summary>As a table</summary>\n{table}</details>\n", drawn("curve", &svg)))
}
