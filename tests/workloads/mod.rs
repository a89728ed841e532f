//! Finds the published workloads.
//!
//! They are looked for in `$DAGSPLIT_WORKLOADS`, else in `../shared/instances`, else in `instances/profiled`, which has all
//! of them but the texts of PipeDream's profiles. A test that does without one says so aloud: the message goes past the
//! test harness, which would hide it.

#![allow(dead_code, reason = "each test file uses some of these")]

use std::io::Write;
use std::path::{Path, PathBuf};

/// The folder with the published workloads, if there is one.
pub fn root() -> Option<PathBuf> {
    let clone = Path::new(env!("CARGO_MANIFEST_DIR"));
    let beside = || ["../shared/instances", "instances/profiled"].map(|folder| clone.join(folder)).into();
    let folders = std::env::var_os("DAGSPLIT_WORKLOADS").map_or_else(beside, |folder| vec![PathBuf::from(folder)]);
    folders.into_iter().find(|folder| folder.is_dir())
}

/// The workload at `relative`, such as `tarnawski2020/throughput/layer/gnmt_inference.json`; says aloud when it
/// is not there.
pub fn find(relative: &str) -> Option<PathBuf> {
    let path = root().map(|root| root.join(relative)).filter(|path| path.is_file());
    if path.is_none() {
        say_skipped(relative);
    }
    path
}

/// Every file under `folder` with this extension, in the order of their paths; says aloud when there is none.
pub fn all(folder: &str, extension: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    if let Some(root) = root() {
        collect(&root.join(folder), extension, &mut found);
    }
    found.sort();
    if found.is_empty() {
        say_skipped(&format!("{folder}/**/*.{extension}"));
    }
    found
}

/// Every published workload: Tarnawski, PipeDream and Piper.
pub fn all_workloads() -> Vec<PathBuf> {
    let mut found = all("tarnawski2020/throughput", "json");
    found.extend(all("tarnawski2020/latency", "json"));
    found.extend(all("pipedream2019", "txt").into_iter().filter(|path| !path.ends_with("LICENSE.txt")));
    found.extend(all("piper2021", "json"));
    found
}

fn collect(folder: &Path, extension: &str, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            collect(&path, extension, found);
        } else if path.extension().is_some_and(|e| e == extension) {
            found.push(path);
        }
    }
}

fn say_skipped(what: &str) {
    // Standard error itself is not captured by the harness, as `eprintln!` would be.
    let _ = writeln!(
        std::io::stderr(),
        "SKIPPED: {what} is not at hand; set DAGSPLIT_WORKLOADS to the folder with the published workloads"
    );
}
