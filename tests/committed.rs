//! The committed workloads: each is read without a remark, says where it comes from, and has the optimum in the tables of
//! `instances/README.md`.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::time::Duration;

use assert_cmd::Command;
use dagsplit::formats::{ReadOptions, read_instance};
use dagsplit::instance::Provenance;
use dagsplit::problem::{Objective, Problem, ProblemSpec};
use dagsplit::registry::solver;
use dagsplit::solve::{Outcome, SearchContext};
use dagsplit::verify;

/// More than any of these takes, so that a test that would run for hours fails.
const LIMIT: Duration = Duration::from_secs(300);

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("instances")
}

/// The workloads of `folder()/place`, by their file's name without the extension.
fn files(place: &str) -> BTreeMap<String, PathBuf> {
    let entries = std::fs::read_dir(folder().join(place)).unwrap().map(|entry| entry.unwrap().path());
    let workloads = entries.filter(|path| path.extension().is_some_and(|extension| extension == "json"));
    let workloads = workloads.filter(|path| !["ledger.json", "runs.json"].iter().any(|other| path.ends_with(other)));
    workloads.map(|path| (path.file_stem().unwrap().to_str().unwrap().to_owned(), path)).collect()
}

/// The workloads at `place` by their place in `folder()`, without the extension.
fn below(place: &str) -> BTreeMap<String, PathBuf> {
    files(place).into_iter().map(|(name, path)| (format!("{place}/{name}"), path)).collect()
}

/// The published workloads by their place in `folder()`, without the extension.
fn profiled() -> BTreeMap<String, PathBuf> {
    let papers = ["pipedream2019", "piper2021", "tarnawski2020"].map(|paper| format!("profiled/{paper}"));
    let kinds = ["throughput", "latency"].into_iter().flat_map(|kind| ["layer", "operator"].map(|part| [kind, part]));
    let parts = kinds.map(|[kind, part]| format!("{}/{kind}/{part}", papers[2]));
    let places = papers[..2].iter().cloned().chain(parts);
    places.flat_map(|place| below(&place)).collect()
}

fn all() -> BTreeMap<String, PathBuf> {
    files(".").into_iter().chain(files("traced")).chain(below("measured")).chain(profiled()).collect()
}

/// What the tables of the README say of the workload in each row: whether they speak of its latency, and the optimum.
fn table() -> BTreeMap<String, (bool, String)> {
    let page = std::fs::read_to_string(folder().join("README.md")).unwrap();
    let cells = |row: &str| -> Vec<String> { row.split('|').map(|cell| cell.trim().to_owned()).collect() };
    let (mut found, mut column, mut of_latency) = (BTreeMap::new(), None, false);
    for row in page.lines().map(cells) {
        if row.get(1).is_some_and(|cell| cell.starts_with("file")) {
            column = row.iter().position(|cell| ["optimum (ms)", "latency (ms)"].contains(&cell.as_str()));
            of_latency = row.iter().any(|cell| cell == "latency (ms)");
        }
        if let (Some(file), Some(optimum)) = (row.get(1), column.and_then(|column| row.get(column)))
            && let Some(file) = file.strip_prefix('`').and_then(|file| file.strip_suffix('`'))
        {
            found.insert(file.trim_end_matches(".json").to_owned(), (of_latency, optimum.clone()));
        }
    }
    found
}

/// Checks that the optimum of the workload at `path`, proven and verified, is `printed`, to every printed digit.
fn check_optimum(name: &str, path: &Path, of_latency: bool, printed: &str) {
    let instance = read_instance(path, &ReadOptions::default()).unwrap_or_else(|error| panic!("{error}"));
    let mut spec = ProblemSpec::of(&instance);
    if of_latency {
        spec.objective = Objective::Latency { subgraphs: 1 };
    }
    let method = if of_latency { "latency-dp" } else { "dp" };
    let problem = Problem::new(&instance, spec.clone()).unwrap_or_else(|problems| panic!("{name}: {problems}"));
    let mut cx = SearchContext::new().with_time_limit(LIMIT);
    let outcome =
        solver(method).unwrap().solve(&problem, &mut cx).unwrap_or_else(|error| panic!("{name}: {error}")).outcome;
    let Outcome::Optimal { solution, .. } = outcome else { panic!("{name} is not proven optimal: {outcome:?}") };
    let verified =
        verify::check(&instance, &spec, &solution).unwrap_or_else(|violations| panic!("{name}: {violations:?}"));
    let decimals = printed.split_once('.').map_or(0, |(_, decimals)| decimals.len());
    assert_eq!(format!("{:.decimals$}", verified.objective()), printed, "{name}");
}

#[test]
fn every_workload_stands_in_the_tables() {
    let files: BTreeSet<String> = all().into_keys().collect();
    assert_eq!(files, table().into_keys().collect());
}

#[test]
fn every_optimum_in_the_tables_is_proven() {
    let files = all();
    let proven = table().into_iter().filter(|(_, (_, optimum))| optimum != "open");
    proven.for_each(|(name, (of_latency, optimum))| check_optimum(&name, &files[&name], of_latency, &optimum));
}

#[test]
fn workloads_are_read_without_a_remark() {
    for (name, path) in all() {
        let told = Command::new(assert_cmd::cargo::cargo_bin!("dagsplit")).arg("info").arg(path).assert().success();
        assert_eq!(String::from_utf8_lossy(&told.get_output().stderr), "", "{name}");
    }
}

/// Workloads of traced models cannot be made again without PyTorch, or a device, so this is what keeps them readable.
#[test]
fn workloads_of_traced_models_say_where_they_come_from() {
    for (place, provenance) in [("traced", Provenance::Modelled), ("measured", Provenance::Profiled)] {
        for path in files(place).values() {
            let metadata = read_instance(path, &ReadOptions::default()).unwrap().metadata;
            assert!(std::fs::metadata(path).unwrap().len() < 1_000_000, "{}", path.display());
            assert_eq!(metadata.provenance, Some(provenance), "{}", path.display());
            assert!(metadata.source.unwrap().starts_with("dagsplit-profile "), "{}", path.display());
            assert!(metadata.date.is_some() && !metadata.settings.is_empty(), "{}", path.display());
        }
    }
}
