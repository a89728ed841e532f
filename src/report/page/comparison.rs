//! The page of a comparison.

use std::collections::{BTreeMap, BTreeSet};

use super::{Page, Section};
use crate::report::comparison::{Measured, Table, methods, table};
use crate::report::plot::{Plot, WIDTH, plot};

/// The page of a comparison: what each method did, and every run with all that is kept of it.
///
/// # Errors
/// A record cannot be written as JSON.
pub fn comparison(runs: &[Measured<'_>]) -> serde_json::Result<String> {
    let figure = plot(runs, Plot::Gaps, WIDTH);
    let gaps = Section { heading: "Gaps", content: format!("<figure class=\"plot\">\n{figure}</figure>\n") };
    let sections = [
        Section::table("Methods", &table(runs, &[], Table::Methods), None),
        Section::table("Runs", &table(runs, &[], Table::Runs), Some("records")),
        Some(gaps),
    ];
    let sections = sections.into_iter().flatten().collect();
    let workloads: BTreeSet<&str> = runs.iter().map(|run| run.workload).collect();
    let proven = runs.iter().filter(|run| run.record.ending.status.is_proven()).count();
    let facts = [
        ("runs", runs.len().to_string()),
        ("workloads", workloads.len().to_string()),
        ("methods", methods(runs).len().to_string()),
        ("proven", proven.to_string()),
    ];
    let records: Vec<_> = runs.iter().map(|run| run.record).collect();
    let data = BTreeMap::from([("records", records)]);
    Page { title: "Comparison of methods", facts: &facts, sections }.html(&data)
}
