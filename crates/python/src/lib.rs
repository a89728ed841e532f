//! The native module of the Python package `dagsplit`: its verbs on values of Python.
//!
//! The Python sources in `python/dagsplit` are the interface; this module hands words and JSON to the library's
//! `embedded` verbs, runs searches without the interpreter's lock, and turns failures into exceptions.

mod comparing;
mod conforming;
mod costs;
mod errors;
mod pages;
mod pipelines;
mod program;
mod reproducing;
mod running;
mod solving;
mod splits;
mod violations;
mod workloads;

/// What `import dagsplit._native` loads.
#[pyo3::pymodule]
mod _native {
    #[pymodule_export]
    use super::comparing::{changed, curves, encoded, keep, kept, paged, plotted, record, records, tabled, told};
    #[pymodule_export]
    use super::conforming::conform;
    #[pymodule_export]
    use super::costs::costs;
    #[pymodule_export]
    use super::errors::{Error, InternalError, InvalidInstance, InvalidOption, InvalidSplit, OutputError};
    #[pymodule_export]
    use super::pages::Page;
    #[pymodule_export]
    use super::pipelines::{Topology, map, plan, simulate};
    #[pymodule_export]
    use super::program::run_program;
    #[pymodule_export]
    use super::reproducing::{reproduce, studies};
    #[pymodule_export]
    use super::solving::{asked, refusal_of, run_of, solve, verify};
    #[pymodule_export]
    use super::splits::{draw, export, parse_split, write_split};
    #[pymodule_export]
    use super::workloads::{Instance, generated, methods};
    use pyo3::prelude::*;

    /// Says which version this is.
    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        module.add("__version__", env!("CARGO_PKG_VERSION"))
    }
}
