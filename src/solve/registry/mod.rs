//! Every method by name: what it takes, what it promises, where it comes from.
//!
//! `docs/methods.md` and `dagsplit methods` are generated from this table. A new solver is one entry of
//! `methods.rs`, a clustering or a refinement one of `steps.rs`.

mod error;
mod methods;
mod named;
mod parameters;
mod settings;
mod shared;
mod spec;
mod steps;

pub use error::SpecError;
pub(crate) use parameters::parts;
pub use parameters::{Parameter, Parameters, Values};
pub use settings::{StepSettings, settings};
pub(crate) use shared::COUNT;
pub use spec::{solver, split_list};

use super::{Clustering, Guarantee, Refinement, Solver};
use crate::problem::Problem;
use methods::METHODS;
use steps::{CLUSTERINGS, REFINEMENTS};

/// A method and what it can do.
#[derive(Debug, Clone, Copy)]
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
    make: fn(&Parameters) -> Result<Box<dyn Solver>, SpecError>,
}

impl Method {
    /// Whether it needs something from outside, a file or a program: a parameter without a default says which.
    pub fn needs_more(&self) -> bool {
        self.parameters.iter().any(|parameter| parameter.default.is_empty())
    }

    /// A solver of this method with its default settings.
    pub fn solver(&self) -> Box<dyn Solver> {
        let defaults = Parameters::new(self.name, self.parameters, Vec::new());
        let solver = defaults.and_then(|defaults| (self.make)(&defaults));
        solver.unwrap_or_else(|error| unreachable!("defaults are values: {error}"))
    }
}

/// Every method, in the order in which [`automatic`] prefers them.
pub fn methods() -> &'static [Method] {
    METHODS
}

/// A step of a chain beside its method: a clustering before it, or a refinement after it.
#[derive(Debug, Clone, Copy)]
pub struct StepKind<T: ?Sized> {
    /// The name it is asked for by.
    pub name: &'static str,
    /// What it does, in one line.
    pub summary: &'static str,
    /// What can be given in a spec string.
    pub parameters: &'static [Parameter],
    /// The paper or the section that describes it.
    pub source: &'static str,
    make: fn(&Parameters) -> Result<Box<T>, SpecError>,
}

/// Every clustering that a chain can begin with.
pub fn clusterings() -> &'static [StepKind<dyn Clustering>] {
    CLUSTERINGS
}

/// Every refinement that a chain can end with.
pub fn refinements() -> &'static [StepKind<dyn Refinement>] {
    REFINEMENTS
}

/// No method takes the problem.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("no method takes this problem:{}", reasons.iter().map(|r| format!("\n  {r}")).collect::<String>())]
pub struct NoMethod {
    /// Why each of them does not.
    pub reasons: Vec<String>,
}

/// The first method that takes `problem`, exact ones before heuristics. Those that need a file or a program of their own
/// are left out.
///
/// # Errors
/// [`NoMethod`] gives each method's reason.
pub fn automatic(problem: &Problem) -> Result<Box<dyn Solver>, NoMethod> {
    let mut reasons = Vec::new();
    let mut heuristic = None;
    for solver in methods().iter().filter(|method| !method.needs_more()).map(Method::solver) {
        match solver.supports(problem) {
            Ok(()) if solver.guarantee() == Guarantee::Exact => return Ok(solver),
            Ok(()) => heuristic = heuristic.or(Some(solver)),
            Err(unsupported) => reasons.push(unsupported.to_string()),
        }
    }
    heuristic.ok_or(NoMethod { reasons })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::instance::{Edge, Instance, Node, Platform};
    use crate::problem::{Objective, ProblemSpec, Scope, Sharding};

    /// Two nodes and an edge, for one accelerator.
    fn pair(scope: Scope, objective: Objective) -> Problem {
        let instance = Instance {
            platform: Platform::uniform(1, None, 0),
            nodes: vec![Node::new(0), Node::new(1)],
            edges: vec![Edge { source: 0, target: 1 }],
            ..Instance::default()
        };
        let spec = ProblemSpec { scope, objective, ..ProblemSpec::of(&instance) };
        Problem::new(&instance, spec).unwrap()
    }

    #[test]
    fn the_table_says_what_the_solvers_say() {
        let scopes = [Scope::Arbitrary, Scope::Convex, Scope::Acyclic, Scope::Linearized(vec![0, 1])];
        let sharding = Objective::Sharding(Sharding::default());
        let objectives = [Objective::Throughput, Objective::GPipe, Objective::Latency { subgraphs: 1 }, sharding];
        for method in methods() {
            let solver = method.solver();
            assert_eq!(solver.name(), method.name);
            assert_eq!(solver.guarantee() == Guarantee::Exact, method.exact, "{}", method.name);
            for scope in &scopes {
                for objective in objectives {
                    if objective.name() == "latency" && scope.name() == "linearized" {
                        continue; // No such problem exists.
                    }
                    // The scopes of the latency do not differ.
                    let takes_scope = objective.name() == "latency" || method.scopes.contains(&scope.name());
                    let listed = takes_scope && method.objectives.contains(&objective.name());
                    let supported = solver.supports(&pair(scope.clone(), objective)).is_ok();
                    assert_eq!(supported, listed, "{}: {} {}", method.name, scope.name(), objective.name());
                }
            }
        }
    }
}
