//! Pages, made when they are asked for.

use dagsplit::embedded::Failure;
use pyo3::prelude::*;

use crate::errors::raised;

/// A page of HTML that is yet to be made.
#[pyclass(frozen, module = "dagsplit._native")]
pub struct Page(Box<dyn Fn() -> Result<String, Failure> + Send + Sync>);

impl Page {
    /// The page that `make` makes.
    pub fn new(make: impl Fn() -> Result<String, Failure> + Send + Sync + 'static) -> Self {
        Self(Box::new(make))
    }
}

#[pymethods]
impl Page {
    /// Its text.
    fn html(&self, py: Python<'_>) -> PyResult<String> {
        py.detach(|| self.0()).map_err(|failure| raised(&failure))
    }
}
