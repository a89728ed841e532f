//! The table of a comparison.

use super::gaps::Measured;
use crate::report::sheet::{Cell, Column, Sheet};

/// One row per run, in their order; runs without a result say why below the table.
pub fn sheet(runs: &[Measured<'_>]) -> Sheet {
    let words = ["workload", "method", "splits"];
    let figures = ["objective", "reference", "gap"];
    // What they all share is not told.
    let has_seeds = runs.iter().any(|run| run.record.trial.seed != runs[0].record.trial.seed);
    let mut columns: Vec<Column> = words.into_iter().map(Column::words).collect();
    columns.extend(has_seeds.then(|| Column::words("seed")));
    columns.push(Column::words("status"));
    columns.extend(figures.into_iter().map(Column::figures));
    columns.push(Column::words("gap to"));
    columns.extend(["time", "memory"].into_iter().map(Column::figures));
    let notes = runs.iter().filter_map(|run| {
        let (trial, ending) = (&run.record.trial, &run.record.ending);
        let message = ending.message.as_ref()?;
        Some(format!("{}, {}: {}: {message}", run.workload, trial.method, ending.status.name()))
    });
    let is_elsewhere = runs.iter().any(|run| run.record.machine != runs[0].record.machine);
    let machines = is_elsewhere.then(|| "the runs are of different machines: their times are not comparable".into());
    Sheet {
        caption: String::new(),
        columns,
        rows: runs.iter().map(|run| row(run, has_seeds)).collect(),
        notes: notes.chain(machines).collect(),
    }
}

fn row(run: &Measured<'_>, has_seeds: bool) -> Vec<Cell> {
    let (trial, ending) = (&run.record.trial, &run.record.ending);
    let mut row = vec![run.workload.into(), Cell::code(trial.method.as_str()), trial.problem.scope.name().into()];
    row.extend(has_seeds.then(|| trial.seed.to_string().into()));
    row.extend([
        ending.status.name().into(),
        Cell::of(Cell::Number, ending.objective),
        Cell::of(Cell::Number, run.reference.map(|reference| reference.value)),
        Cell::of(Cell::Ratio, run.gap),
        run.reference.map_or(Cell::Empty, |known| known.name().into()),
        Cell::Seconds(run.record.seconds()),
        Cell::of(Cell::Bytes, ending.peak_bytes.map(|bytes| bytes as f64)),
    ]);
    row
}

#[cfg(test)]
mod tests {
    use super::super::{measured, tests::record};
    use super::*;

    #[test]
    fn different_machines_are_told() {
        let mut records = [record("dp", Some(1.0)), record("dpl", Some(1.0))];
        assert!(sheet(&measured(&records)).notes.is_empty());
        records[1].machine.cores += 1;
        assert!(sheet(&measured(&records)).notes[0].contains("different machines"));
    }
}
