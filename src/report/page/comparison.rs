//! The page of a comparison.

use std::collections::{BTreeMap, BTreeSet};

use super::{Page, Section};
use crate::report::comparison::{Measured, sheet};
use crate::report::plot::plot;
use crate::report::sheet::{Cell, Column, Sheet};

/// The page of a comparison: what each method did, and every run with all that is kept of it.
///
/// # Errors
/// The plot cannot be drawn, or a record cannot be written as JSON.
pub fn comparison(runs: &[Measured<'_>]) -> Result<String, Box<dyn std::error::Error + Send + Sync>> {
    let gaps = Section { heading: "Gaps", content: format!("<figure class=\"plot\">\n{}\n</figure>\n", plot(runs)?) };
    let sections = [
        Section::table("Methods", &by_method(runs), None),
        Section::table("Runs", &sheet(runs), Some("records")),
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
    Ok(Page { title: "Comparison of methods", facts: &facts, sections }.html(&data)?)
}

/// The methods in the order of their first run.
fn methods<'a>(runs: &[Measured<'a>]) -> Vec<&'a str> {
    let mut seen = BTreeSet::new();
    runs.iter().map(|run| run.record.trial.method.as_str()).filter(|method| seen.insert(*method)).collect()
}

/// One row per method: how many of its runs found and proved something, its gaps, and its time in all.
fn by_method(runs: &[Measured<'_>]) -> Sheet {
    let row = |method: &str| {
        let of_method = || runs.iter().filter(|run| run.record.trial.method == method);
        let count =
            |holds: fn(&Measured<'_>) -> bool| Cell::Number(of_method().filter(|run| holds(run)).count() as f64);
        let gaps: Vec<f64> = of_method().filter_map(|run| run.gap).collect();
        let mean = (!gaps.is_empty()).then(|| gaps.iter().sum::<f64>() / gaps.len() as f64);
        let seconds = of_method().map(|run| run.record.ending.seconds.unwrap_or(run.record.ending.process_seconds));
        vec![
            Cell::code(method),
            count(|_| true),
            count(|run| run.record.ending.objective.is_some()),
            count(|run| run.record.ending.status.is_proven()),
            Cell::of(Cell::Ratio, mean),
            Cell::of(Cell::Ratio, gaps.into_iter().max_by(f64::total_cmp)),
            Cell::Seconds(seconds.sum()),
        ]
    };
    let figures = ["runs", "splits", "proven", "mean gap", "largest gap", "time in all"];
    Sheet {
        columns: std::iter::once(Column::words("method")).chain(figures.map(Column::figures)).collect(),
        rows: methods(runs).into_iter().map(row).collect(),
        ..Sheet::default()
    }
}
