//! Whatever is held to the laws: a solver of this crate's trait, or a program.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use super::Law;
use crate::checked::checked;
use crate::cost::{CostModel, ProfiledCost};
use crate::instance::Instance;
use crate::problem::{Problem, ProblemSpec, Solution};
use crate::solve::{Guarantee, Outcome, ProgramError, SearchContext, SolveError, Solver, Unsupported};
use crate::verify::{Verified, Violation};

/// An instance and what is asked of it.
#[derive(Debug, Clone)]
pub struct Case {
    /// The instance.
    pub instance: Instance,
    /// What is asked; its platform is that of the instance.
    pub spec: ProblemSpec,
    /// What splits cost, where that is not what profiled instances do.
    pub costs: Option<Arc<dyn CostModel>>,
}

/// Cost models are the same where they are one.
impl PartialEq for Case {
    fn eq(&self, other: &Self) -> bool {
        let same_costs = match (&self.costs, &other.costs) {
            (None, None) => true,
            (Some(a), Some(b)) => Arc::ptr_eq(a, b),
            _ => false,
        };
        same_costs && self.instance == other.instance && self.spec == other.spec
    }
}

impl Case {
    /// `instance` with what `request` asks, on the instance's own platform, by the costs of profiled instances.
    pub fn new(instance: Instance, request: &ProblemSpec) -> Self {
        let spec = ProblemSpec { platform: instance.platform.clone(), ..request.clone() };
        Self { instance, spec, costs: None }
    }

    /// The case compiled; `None` where it is invalid, as when the accelerators do not fill the servers asked for.
    pub fn problem(&self) -> Option<Problem> {
        let model: &dyn CostModel = self.costs.as_deref().unwrap_or(&ProfiledCost);
        Problem::with_costs(&self.instance, self.spec.clone(), model).ok()
    }

    /// What the verifier says of a split.
    ///
    /// # Errors
    /// Every violation found.
    pub fn verify(&self, split: &Solution) -> Result<Verified, Vec<Violation>> {
        checked(&self.instance, &self.spec, self.costs.as_deref(), split)
    }
}

/// A case that is to be split, and the conditions.
#[derive(Clone)]
pub struct Request<'a> {
    /// The instance and what is asked of it.
    pub case: &'a Case,
    /// The compiled case.
    pub problem: &'a Problem,
    /// Seed of everything random.
    pub seed: u64,
    /// The time it may take.
    pub time_limit: Duration,
    /// The time beyond the limit after which a program is killed.
    pub grace: Duration,
    /// Asks it to stop once set.
    pub stop: Arc<AtomicBool>,
}

/// What a partitioner returned.
#[derive(Debug, Clone, PartialEq)]
pub struct Answer {
    /// How the run ended.
    pub outcome: Outcome,
    /// How long it took.
    pub elapsed: Duration,
}

/// A run that returned nothing to judge.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Fault {
    /// It panicked.
    #[error("it panicked: {0}")]
    Panicked(String),
    /// It returned an error, or ended with a failure.
    #[error("{0}")]
    Failed(String),
    /// It printed something that is no split.
    #[error("its output cannot be read: {0}")]
    Unreadable(String),
}

impl Fault {
    /// The law that it breaks.
    pub fn law(&self) -> Law {
        match self {
            Fault::Panicked(_) | Fault::Failed(_) => Law::Runs,
            Fault::Unreadable(_) => Law::Readable,
        }
    }
}

/// Whatever splits instances: a [`Solver`], or a function of another language.
pub trait Partitioner: Sync {
    /// Its name in reports.
    fn name(&self) -> &str;

    /// What it promises of its answers.
    fn guarantee(&self) -> Guarantee;

    /// Whether it is foreign, as a program is, whose splits may come without objective value and which only ends by itself.
    fn is_program(&self) -> bool;

    /// Whether it chooses degrees of stages and options of nodes: then it is asked for them, too.
    fn chooses_degrees(&self) -> bool {
        false
    }

    /// Whether it takes `problem`.
    ///
    /// # Errors
    /// What it cannot take.
    fn supports(&self, problem: &Problem) -> Result<(), Unsupported>;

    /// Splits the case that is asked for.
    ///
    /// # Errors
    /// A [`Fault`] where it returned nothing to judge.
    fn split(&self, request: &Request) -> Result<Answer, Fault>;
}

/// Panics are caught. A solver cannot be killed, but for a program: one that never ends hangs the suite.
impl Partitioner for &dyn Solver {
    fn name(&self) -> &str {
        Solver::name(*self)
    }

    fn guarantee(&self) -> Guarantee {
        Solver::guarantee(*self)
    }

    fn is_program(&self) -> bool {
        Solver::is_program(*self)
    }

    fn supports(&self, problem: &Problem) -> Result<(), Unsupported> {
        Solver::takes(*self, problem)
    }

    fn chooses_degrees(&self) -> bool {
        Solver::chooses_degrees(*self)
    }

    fn split(&self, request: &Request) -> Result<Answer, Fault> {
        let stop = Arc::clone(&request.stop);
        let mut cx = SearchContext::new().with_cancellation(stop).with_time_limit(request.time_limit);
        (cx.seed, cx.grace) = (request.seed, request.grace);
        let started = Instant::now();
        let run = catch_unwind(AssertUnwindSafe(|| self.solve(request.problem, &mut cx)))
            .map_err(|panic| Fault::Panicked(message(panic.as_ref())))?
            .map_err(|error| fault(&error))?;
        Ok(Answer { outcome: run.outcome, elapsed: started.elapsed() })
    }
}

/// What an error is of those that are looked for.
fn fault(error: &SolveError) -> Fault {
    match error {
        SolveError::Exec(ProgramError::Unreadable { reason, .. }) => Fault::Unreadable(reason.clone()),
        SolveError::Exec(error) => Fault::Failed(error.to_string()),
        error => Fault::Failed(format!("it returned an error: {error}")),
    }
}

/// What a panic said.
fn message(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_else(|| "without a message".into())
}
