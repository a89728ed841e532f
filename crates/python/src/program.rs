//! The program `dagsplit` as a script of Python's.

use std::ffi::OsString;
use std::path::PathBuf;

use dagsplit::embedded;
use pyo3::prelude::*;

/// Runs the program with `words`, and returns its exit code. `program` is the file of the script that runs it.
#[pyfunction]
pub fn run_program(py: Python<'_>, program: PathBuf, words: Vec<OsString>) -> i32 {
    py.detach(|| embedded::run_for(program, words))
}
