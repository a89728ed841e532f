//! Many plans as a table.

use super::in_chunks;
use crate::report::comparison::Record;
use crate::report::sheet::{Cell, Column, Sheet};
use crate::search::gap;
use serde_json::Value;

/// One row for each plan, with the name of its topology.
pub fn many(plans: &[(String, Record)]) -> Sheet {
    let words = ["workload", "topology"].map(Column::words);
    let shape = ["S", "R", "T", "MB"].map(Column::figures);
    let figures = ["step", "bound", "gap", "per second", "memory", "time"].map(Column::figures);
    let ends = ["schedule", "status", ""].map(Column::words);
    Sheet {
        caption: "The best plan of each workload on each topology. Times in ms.".into(),
        columns: words.into_iter().chain(shape).chain(figures).chain(ends).collect(),
        rows: plans.iter().map(|(topology, record)| row(topology, record)).collect(),
        ..Sheet::default()
    }
}

fn row(topology: &str, record: &Record) -> Vec<Cell> {
    let ending = &record.ending;
    let best = |field: &str| ending.plan.as_ref().and_then(|best| best.get(field));
    let figure = |kind: fn(f64) -> Cell, field: &str| Cell::of(kind, best(field).and_then(Value::as_f64));
    let shape = ["stages", "replicas", "tensor_degree", "microbatches"].map(|field| figure(Cell::Number, field));
    let (objective, bound) = (ending.objective, ending.lower_bound);
    let gap = objective.zip(bound).and_then(|(objective, bound)| gap(objective, bound));
    let figures = [
        Cell::of(Cell::Number, objective),
        Cell::of(Cell::Number, bound),
        Cell::of(Cell::Ratio, gap),
        figure(|rate| Cell::Number((100.0 * rate).round() / 100.0), "throughput"),
        figure(Cell::Bytes, "peak_memory"),
        Cell::Seconds(record.seconds()),
    ];
    let chunks =
        best("chunks").and_then(Value::as_u64).map_or_else(String::new, |count| in_chunks(count as usize, ", "));
    let again = if best("recompute") == Some(&Value::Bool(true)) { ", recomputed" } else { "" };
    let schedule =
        best("schedule").and_then(Value::as_str).map(|name| format!("{name}{chunks}{again}")).unwrap_or_default();
    let message = ending.message.clone().unwrap_or_default();
    let names = [record.trial.instance.name.as_str(), topology].map(Cell::from);
    let ends = [schedule.into(), ending.status.name().into(), message.into()];
    names.into_iter().chain(shape).chain(figures).chain(ends).collect()
}
