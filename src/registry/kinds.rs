//! What can be registered, with all that is told of it.

use std::fmt;
use std::sync::Arc;

use super::{Parameter, Parameters, SpecError};
use crate::cost::CostModel;
use crate::mapping::Mapper;
use crate::solve::Solver;

/// What is made, or why the parameters are wrong.
type Made<T> = Result<Box<T>, SpecError>;

/// What makes it of parameters.
type Maker<T> = dyn Fn(&Parameters) -> Made<T> + Send + Sync;

/// How something is made of the parameters that a spec string gives.
pub(super) enum Make<T: ?Sized> {
    /// One of this crate's own.
    Built(fn(&Parameters) -> Made<T>),
    /// One from outside.
    Given(Arc<Maker<T>>),
}

impl<T: ?Sized> Make<T> {
    fn given(make: impl Fn(&Parameters) -> Made<T> + Send + Sync + 'static) -> Self {
        Self::Given(Arc::new(make))
    }

    /// Makes it of the values `given` for the parameters that the entry of this name declares.
    fn call(&self, name: &'static str, declared: &'static [Parameter], given: Vec<(&str, &str)>) -> Made<T> {
        let parameters = Parameters::new(name, declared, given)?;
        match self {
            Self::Built(make) => make(&parameters),
            Self::Given(make) => make(&parameters),
        }
    }
}

impl<T: ?Sized> Clone for Make<T> {
    fn clone(&self) -> Self {
        match self {
            Self::Built(make) => Self::Built(*make),
            Self::Given(make) => Self::Given(Arc::clone(make)),
        }
    }
}

impl<T: ?Sized> fmt::Debug for Make<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if matches!(self, Self::Built(_)) { "Built" } else { "Given" })
    }
}

/// A method and what it can do.
#[derive(Debug, Clone)]
pub struct Method {
    /// The name it is asked for by.
    pub name: &'static str,
    /// What it does, in one line.
    pub summary: &'static str,
    /// The scopes it takes, by name; those of the latency do not differ.
    pub scopes: &'static [&'static str],
    /// The objectives it takes, by name.
    pub objectives: &'static [&'static str],
    /// Whether it proves optimality given time, in every scope it takes.
    pub exact: bool,
    /// Whether it gives its best split and bound when a limit comes.
    pub anytime: bool,
    /// What it cannot take, and how far it goes.
    pub limits: &'static str,
    /// The paper or the section that describes it.
    pub source: &'static str,
    /// What can be given in a spec string, besides the seed.
    pub parameters: &'static [Parameter],
    pub(super) make: Make<dyn Solver>,
}

impl Method {
    /// A method of one's own, a heuristic for the throughput of any scope until more is said of it. `make` makes its solver
    /// of the declared parameters.
    pub fn new(
        name: &'static str,
        summary: &'static str,
        make: impl Fn(&Parameters) -> Result<Box<dyn Solver>, SpecError> + Send + Sync + 'static,
    ) -> Self {
        Self {
            name,
            summary,
            scopes: &["acyclic", "convex", "arbitrary"],
            objectives: &["throughput"],
            exact: false,
            anytime: false,
            limits: "",
            source: "",
            parameters: &[],
            make: Make::given(make),
        }
    }

    /// Whether it needs something from outside, a file or a program: a parameter without a default says which.
    pub fn needs_more(&self) -> bool {
        self.parameters.iter().any(|parameter| parameter.default.is_empty())
    }

    /// A solver of this method with its default settings.
    ///
    /// # Panics
    /// A default is no value of its parameter.
    pub fn solver(&self) -> Box<dyn Solver> {
        let solver = self.solver_with(Vec::new());
        solver.unwrap_or_else(|error| panic!("defaults are values: {error}"))
    }

    pub(super) fn solver_with(&self, given: Vec<(&str, &str)>) -> Result<Box<dyn Solver>, SpecError> {
        self.make.call(self.name, self.parameters, given)
    }
}

/// A step of a chain beside its method: a clustering before it, or a refinement after it.
pub struct StepKind<T: ?Sized> {
    /// The name it is asked for by.
    pub name: &'static str,
    /// What it does, in one line.
    pub summary: &'static str,
    /// What can be given in a spec string.
    pub parameters: &'static [Parameter],
    /// The paper or the section that describes it.
    pub source: &'static str,
    pub(super) make: Make<T>,
}

impl<T: ?Sized> fmt::Debug for StepKind<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StepKind").field("name", &self.name).field("parameters", &self.parameters).finish()
    }
}

impl<T: ?Sized> Clone for StepKind<T> {
    fn clone(&self) -> Self {
        Self { make: self.make.clone(), ..*self }
    }
}

impl<T: ?Sized> StepKind<T> {
    /// A step of one's own, without parameters until some are declared.
    pub fn new(
        name: &'static str,
        summary: &'static str,
        make: impl Fn(&Parameters) -> Result<Box<T>, SpecError> + Send + Sync + 'static,
    ) -> Self {
        Self { name, summary, parameters: &[], source: "", make: Make::given(make) }
    }

    pub(super) fn step(&self, given: Vec<(&str, &str)>) -> Result<Box<T>, SpecError> {
        self.make.call(self.name, self.parameters, given)
    }
}

/// A mapper and what it can do.
#[derive(Debug, Clone)]
pub struct MapperKind {
    /// The name it is asked for by.
    pub name: &'static str,
    /// What it does, in one line.
    pub summary: &'static str,
    /// Whether it proves optimality given time.
    pub exact: bool,
    /// The paper or the section that describes it.
    pub source: &'static str,
    /// What can be given in a spec string.
    pub parameters: &'static [Parameter],
    pub(super) make: Make<dyn Mapper>,
}

impl MapperKind {
    /// A mapper of one's own, a heuristic without parameters until more is said of it.
    pub fn new(
        name: &'static str,
        summary: &'static str,
        make: impl Fn(&Parameters) -> Result<Box<dyn Mapper>, SpecError> + Send + Sync + 'static,
    ) -> Self {
        Self { name, summary, exact: false, source: "", parameters: &[], make: Make::given(make) }
    }

    pub(super) fn mapper(&self, given: Vec<(&str, &str)>) -> Result<Box<dyn Mapper>, SpecError> {
        self.make.call(self.name, self.parameters, given)
    }
}

/// A cost model by name.
#[derive(Debug, Clone)]
pub struct CostModelEntry {
    /// The name it is asked for by.
    pub name: &'static str,
    /// What splits cost by it, in one line.
    pub summary: &'static str,
    /// The model.
    pub model: Arc<dyn CostModel>,
}
