//! What many runs come to, as tables.

use super::changes::{Change, NOISE, mean_time_ratio, time_ratio};
use super::classes::{classes, is_same_question};
use super::gaps::Measured;
use super::groups::{methods, scopes};
use super::prices::prices;
use super::sheet::sheet;
use super::summary::{Summary, summaries};
use crate::report::sheet::{Cell, Column, Sheet};
use crate::statistics::geometric_mean;

/// What a table shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, clap::ValueEnum)]
pub enum Table {
    /// One row for each run
    #[default]
    Runs,
    /// One row for each method and scope: gaps, wins, proofs and times over all workloads
    Methods,
    /// objective / reference, as papers print it: one row for each workload, one column for each method
    Ratios,
    /// What narrower splits cost more than wider ones
    Contiguity,
    /// What is worse or better than before
    Changes,
}

/// A table of a comparison, of which `changes` are from an earlier one.
pub fn table(runs: &[Measured<'_>], changes: &[Change<'_, '_>], table: Table) -> Sheet {
    match table {
        Table::Runs => sheet(runs),
        Table::Methods => by_method(&summaries(runs)),
        Table::Ratios => ratios(runs),
        Table::Contiguity => contiguity(runs),
        Table::Changes => changed(changes, runs.len()),
    }
}

fn columns(words: &[&str], figures: &[&str]) -> Vec<Column> {
    words.iter().copied().map(Column::words).chain(figures.iter().copied().map(Column::figures)).collect()
}

fn by_method(summaries: &[Summary]) -> Sheet {
    let has_spread = summaries.iter().any(|summary| summary.spread.is_some());
    let figures =
        ["runs", "splits found", "proven", "wins", "mean gap", "median gap", "worst gap", "mean ratio", "time"];
    let mut titles = columns(&["method", "splits"], &figures);
    titles.extend(has_spread.then(|| Column::figures("spread")));
    let row = |summary: &Summary| {
        let mut row = vec![Cell::code(summary.method.as_str()), summary.scope.into(), summary.runs.into()];
        row.extend([summary.found.into(), summary.proven.into(), summary.wins.into()]);
        row.extend([summary.mean_gap, summary.median_gap, summary.worst_gap].map(|gap| Cell::of(Cell::Ratio, gap)));
        row.push(Cell::of(Cell::Factor, summary.mean_ratio));
        row.push(Cell::of(Cell::Seconds, summary.seconds));
        row.extend(has_spread.then(|| Cell::of(Cell::Ratio, summary.spread)));
        row
    };
    let at_most = summaries.iter().filter(|summary| summary.to_bounds > 0).map(|summary| {
        let Summary { method, scope, to_bounds, .. } = summary;
        format!("{method}, {scope}: {to_bounds} of its gaps are to a bound, and at most as large as told")
    });
    Sheet { columns: titles, rows: summaries.iter().map(row).collect(), notes: at_most.collect(), ..Sheet::default() }
}

/// The last row of each scope is the geometric mean, of methods that have a ratio in each row.
fn ratios(runs: &[Measured<'_>]) -> Sheet {
    let methods = methods(runs);
    let workloads = classes(runs, |run| run.record, is_same_question);
    let mut titles = columns(&["workload", "splits"], &["reference"]);
    titles.push(Column::words("which is"));
    titles.extend(methods.iter().copied().map(Column::figures));
    let mut rows = Vec::new();
    for scope in scopes(runs) {
        let in_scope = workloads.iter().filter(|runs| runs[0].record.trial.problem.scope.name() == scope);
        let of_scope: Vec<(&Measured<'_>, Vec<Option<f64>>)> =
            in_scope.map(|runs| (runs[0], methods.iter().map(|method| ratio(runs, method)).collect())).collect();
        let cells =
            |ratios: &[Option<f64>]| ratios.iter().map(|&ratio| Cell::of(Cell::Factor, ratio)).collect::<Vec<_>>();
        rows.extend(of_scope.iter().map(|(run, ratios)| {
            let which = run.reference.map_or(Cell::Empty, |known| known.name().into());
            let value = Cell::of(Cell::Number, run.reference.map(|known| known.value));
            [vec![run.workload.into(), scope.into(), value, which], cells(ratios)].concat()
        }));
        let column = |place| of_scope.iter().map(|(_, ratios)| ratios[place]).collect::<Option<Vec<f64>>>();
        let means: Vec<Option<f64>> = (0..methods.len()).map(|place| geometric_mean(&column(place)?, 0.0)).collect();
        rows.push([vec!["geometric mean".into(), scope.into(), Cell::Empty, Cell::Empty], cells(&means)].concat());
    }
    Sheet { columns: titles, rows, ..Sheet::default() }
}

/// The geometric mean of a method's ratios over the seeds, where each run has one.
fn ratio(runs: &[&Measured<'_>], method: &str) -> Option<f64> {
    let own = runs.iter().filter(|run| run.record.trial.method == method);
    geometric_mean(&own.map(|run| run.ratio()).collect::<Option<Vec<f64>>>()?, 0.0)
}

fn contiguity(runs: &[Measured<'_>]) -> Sheet {
    let rows = prices(runs).into_iter().map(|price| {
        vec![
            price.workload.into(),
            price.narrow.into(),
            Cell::of(Cell::Number, price.narrow_best),
            price.wide.into(),
            Cell::of(Cell::Number, price.wide_best),
            Cell::Factor(price.at_least),
            Cell::of(Cell::Factor, price.at_most),
        ]
    });
    let mut titles = columns(&["workload", "splits"], &["best"]);
    titles.push(Column::words("against"));
    titles.extend(["best", "price at least", "price at most"].map(Column::figures));
    let rows: Vec<Vec<Cell>> = rows.collect();
    let one_scope = rows.is_empty().then(|| "there is one scope alone: ask for several".into());
    Sheet { columns: titles, rows, notes: one_scope.into_iter().collect(), ..Sheet::default() }
}

/// What is worse or better than before, the worse first; `count` is of the runs that were asked for.
fn changed(changes: &[Change<'_, '_>], count: usize) -> Sheet {
    let mut titles = columns(&["workload", "method", "splits", "change"], &["seed", "objective before", "now"]);
    titles.extend(["status before", "now"].map(Column::words));
    titles.extend(["time before", "now", "ratio"].map(Column::figures));
    let is_worse = |change: &&Change<'_, '_>| !change.worse.is_empty();
    let is_better = |change: &&Change<'_, '_>| change.worse.is_empty() && !change.better.is_empty();
    let shown = changes.iter().filter(is_worse).chain(changes.iter().filter(is_better));
    let (worse, better) = (changes.iter().filter(is_worse).count(), changes.iter().filter(is_better).count());
    let same = changes.len() - worse - better;
    let mut notes = vec![format!("{worse} runs are worse than before, {better} better, {same} the same")];
    notes.extend((count > changes.len()).then(|| format!("{} runs have no counterpart", count - changes.len())));
    notes.extend(mean_time_ratio(changes).map(|ratio| {
        let least = format!("below {NOISE} s they count as {NOISE} s");
        format!("times with a proof are {ratio:.3} times those before (geometric mean; {least})")
    }));
    let is_elsewhere = changes.iter().any(|change| change.now.record.machine != change.before.machine);
    notes.extend(is_elsewhere.then(|| "runs of different machines: their times are not compared".into()));
    Sheet { columns: titles, rows: shown.map(row).collect(), notes, ..Sheet::default() }
}

fn row(change: &Change<'_, '_>) -> Vec<Cell> {
    let (now, before) = (change.now.record, change.before);
    let trial = &now.trial;
    let mut row =
        vec![change.now.workload.into(), Cell::code(trial.method.as_str()), trial.problem.scope.name().into()];
    row.extend([change.to_string().into(), trial.seed.to_string().into()]);
    row.extend([before, now].map(|run| Cell::of(Cell::Number, run.ending.objective)));
    row.extend([before, now].map(|run| Cell::from(run.ending.status.name())));
    row.extend([before, now].map(|run| Cell::Seconds(run.seconds())));
    row.push(Cell::of(Cell::Factor, time_ratio(before, now)));
    row
}
