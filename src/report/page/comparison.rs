//! The page of a comparison.

use std::collections::{BTreeMap, BTreeSet};

use super::{Page, Section, drawn};
use crate::report::comparison::{Measured, Table, methods, table};
use crate::report::plot::{Plot, WIDTH, plot};

/// With more runs than this, bars of each are no figure that anybody can read: a box stands for those of a method.
const MOST_BARS: usize = 400;

/// The page of a comparison: what each method did, and every run with all that is kept of it.
///
/// # Errors
/// A record cannot be written as JSON.
pub fn comparison(runs: &[Measured<'_>]) -> serde_json::Result<String> {
    let kind = if runs.len() > MOST_BARS { Plot::Boxes } else { Plot::Gaps };
    let gaps = Section { heading: "Gaps", content: drawn("plot", &plot(runs, kind, WIDTH)) };
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
