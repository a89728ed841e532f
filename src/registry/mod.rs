//! Every solver, clustering, refinement, mapper and cost model by name: what it takes, what it promises, where it comes
//! from.
//!
//! `docs/methods.md` and `dagsplit methods` are generated from these tables. A new solver of this crate is one entry of
//! `methods.rs`, a clustering or a refinement one of `steps.rs`, a mapper one of `mappers.rs`. What comes from outside is
//! registered: then the library, `--method`, `compare` and `conform` know it by its name.
//!
//! ```
//! use dagsplit::registry::{self, Method, Registry};
//! use dagsplit::solve::LinearizedDp;
//!
//! let one = Method::new("one-order", "linearized DP of a single order", |_| Ok(Box::new(LinearizedDp { orders: 1 })));
//! let registry = Registry::default().with_method(one);
//! assert_eq!(registry.solver("one-order:seed=3").unwrap().name(), "one-order:seed=3");
//! // From now on it is known everywhere in this program, where it is begun with `dagsplit::run_program`, too.
//! registry::install(registry).unwrap();
//! assert!(registry::solver("cluster:k=8+one-order+refine").is_ok());
//! ```

mod error;
mod kinds;
mod mappers;
mod methods;
mod named;
mod parameters;
mod settings;
mod shared;
mod spec;
mod steps;

pub use error::SpecError;
pub use kinds::{CostModelEntry, MapperKind, Method, StepKind};
pub(crate) use parameters::parts;
pub use parameters::{Parameter, Parameters, Values};
pub use settings::{StepSettings, settings};
pub use spec::split_list;

use std::sync::{Arc, OnceLock};

use crate::cost::{CostModel, PerEdge, ProfiledCost};
use crate::mapping::Mapper;
use crate::problem::Problem;
use crate::solve::{BruteForce, Clustering, Guarantee, Refinement, Solver};

/// Solvers, clusterings, refinements, mappers and cost models by name.
#[derive(Debug, Clone)]
pub struct Registry {
    methods: Vec<Method>,
    clusterings: Vec<StepKind<dyn Clustering>>,
    refinements: Vec<StepKind<dyn Refinement>>,
    mappers: Vec<MapperKind>,
    cost_models: Vec<CostModelEntry>,
}

impl Default for Registry {
    /// All of this crate's own.
    fn default() -> Self {
        let cost_model = |name, summary, model: Arc<dyn CostModel>| CostModelEntry { name, summary, model };
        Self {
            methods: methods::METHODS.to_vec(),
            clusterings: steps::CLUSTERINGS.to_vec(),
            refinements: steps::REFINEMENTS.to_vec(),
            mappers: mappers::MAPPERS.to_vec(),
            cost_models: vec![
                cost_model("profiled", "an output is paid for once by each device", Arc::new(ProfiledCost)),
                cost_model("per-edge", "an output is paid for once for each edge", Arc::new(PerEdge(ProfiledCost))),
            ],
        }
    }
}

/// Puts an entry in the place of the one of its name, or at the end.
fn put<T>(entries: &mut Vec<T>, name: impl Fn(&T) -> &'static str, entry: T) {
    match entries.iter().position(|known| name(known) == name(&entry)) {
        Some(place) => entries[place] = entry,
        None => entries.push(entry),
    }
}

impl Registry {
    /// The same with this method, in the place of one of its name.
    #[must_use]
    pub fn with_method(mut self, method: Method) -> Self {
        put(&mut self.methods, |known| known.name, method);
        self
    }

    /// The same with this clustering, in the place of one of its name.
    #[must_use]
    pub fn with_clustering(mut self, clustering: StepKind<dyn Clustering>) -> Self {
        put(&mut self.clusterings, |known| known.name, clustering);
        self
    }

    /// The same with this refinement, in the place of one of its name.
    #[must_use]
    pub fn with_refinement(mut self, refinement: StepKind<dyn Refinement>) -> Self {
        put(&mut self.refinements, |known| known.name, refinement);
        self
    }

    /// The same with this mapper, in the place of one of its name.
    #[must_use]
    pub fn with_mapper(mut self, mapper: MapperKind) -> Self {
        put(&mut self.mappers, |known| known.name, mapper);
        self
    }

    /// The same with this cost model, in the place of one of its name.
    #[must_use]
    pub fn with_cost_model(mut self, name: &'static str, summary: &'static str, model: Arc<dyn CostModel>) -> Self {
        put(&mut self.cost_models, |known| known.name, CostModelEntry { name, summary, model });
        self
    }

    /// Every method, in the order in which [`automatic`](Self::automatic) prefers them.
    pub fn methods(&self) -> &[Method] {
        &self.methods
    }

    /// Every clustering that a chain can begin with.
    pub fn clusterings(&self) -> &[StepKind<dyn Clustering>] {
        &self.clusterings
    }

    /// Every refinement that a chain can end with.
    pub fn refinements(&self) -> &[StepKind<dyn Refinement>] {
        &self.refinements
    }

    /// Every mapper; the first is the one to take where none is named.
    pub fn mappers(&self) -> &[MapperKind] {
        &self.mappers
    }

    /// Every cost model; the first is the one to take where none is named.
    pub fn cost_models(&self) -> &[CostModelEntry] {
        &self.cost_models
    }

    /// The solver that `spec` names, or the one that [`automatic`](Self::automatic) picks for `auto`; else why it does not
    /// take the problem.
    ///
    /// # Errors
    /// [`SpecError`] says what is wrong with the spec string.
    pub fn solver_for(&self, spec: &str, problem: &Problem) -> Result<Result<Box<dyn Solver>, String>, SpecError> {
        if spec == "auto" {
            return Ok(self.automatic(problem).map_err(|none| none.to_string()));
        }
        let solver = self.solver(spec)?;
        Ok(match solver.takes(problem) {
            Ok(()) => Ok(solver),
            Err(unsupported) => Err(unsupported.to_string()),
        })
    }

    /// The first method that takes `problem`, exact ones before heuristics. Those that need a file or a program of their own
    /// are left out, and integer programs, which know numbers up to HiGHS' tolerances, where exhaustive search is quick.
    ///
    /// # Errors
    /// [`NoMethod`] gives each method's reason.
    pub fn automatic(&self, problem: &Problem) -> Result<Box<dyn Solver>, NoMethod> {
        let mut reasons = Vec::new();
        let mut heuristic = None;
        for solver in self.methods.iter().filter(|method| !method.needs_more()).map(Method::solver) {
            match solver.takes(problem) {
                Ok(()) if solver.guarantee() == Guarantee::Exact => {
                    let is_program = solver.name().starts_with("ip:");
                    return Ok(if is_program && BruteForce::is_quick(problem) { Box::new(BruteForce) } else { solver });
                }
                Ok(()) => heuristic = heuristic.or(Some(solver)),
                Err(unsupported) => reasons.push(unsupported.to_string()),
            }
        }
        heuristic.ok_or(NoMethod { reasons })
    }
}

static INSTALLED: OnceLock<Registry> = OnceLock::new();

/// Makes a registry the one of this program, before anything asks for it.
///
/// # Errors
/// Gives the registry back where there is one already.
pub fn install(registry: Registry) -> Result<(), Box<Registry>> {
    INSTALLED.set(registry).map_err(Box::new)
}

/// The registry of this program: the one that was [installed](install), else this crate's own.
pub fn current() -> &'static Registry {
    INSTALLED.get_or_init(Registry::default)
}

/// [`Registry::methods`] of the [current] one.
pub fn methods() -> &'static [Method] {
    current().methods()
}

/// [`Registry::clusterings`] of the [current] one.
pub fn clusterings() -> &'static [StepKind<dyn Clustering>] {
    current().clusterings()
}

/// [`Registry::refinements`] of the [current] one.
pub fn refinements() -> &'static [StepKind<dyn Refinement>] {
    current().refinements()
}

/// [`Registry::mappers`] of the [current] one.
pub fn mappers() -> &'static [MapperKind] {
    current().mappers()
}

/// [`Registry::solver`] of the [current] one.
///
/// # Errors
/// [`SpecError`] says what is wrong and what there is.
pub fn solver(spec: &str) -> Result<Box<dyn Solver>, SpecError> {
    current().solver(spec)
}

/// [`Registry::mapper`] of the [current] one.
///
/// # Errors
/// [`SpecError`] says what is wrong and what there is.
pub fn mapper(spec: &str) -> Result<Box<dyn Mapper>, SpecError> {
    current().mapper(spec)
}

/// [`Registry::automatic`] of the [current] one.
///
/// # Errors
/// [`NoMethod`] gives each method's reason.
pub fn automatic(problem: &Problem) -> Result<Box<dyn Solver>, NoMethod> {
    current().automatic(problem)
}

/// [`Registry::solver_for`] of the [current] one.
///
/// # Errors
/// [`SpecError`] says what is wrong with the spec string.
pub fn solver_for(spec: &str, problem: &Problem) -> Result<Result<Box<dyn Solver>, String>, SpecError> {
    current().solver_for(spec, problem)
}

/// No method takes the problem.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("no method takes this problem:{}", reasons.iter().map(|r| format!("\n  {r}")).collect::<String>())]
pub struct NoMethod {
    /// Why each of them does not.
    pub reasons: Vec<String>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::instance::{Edge, EdgeBytes, Instance, Node, NodeOption, Parallelism, Platform};
    use crate::problem::{Degrees, Objective, ProblemSpec, Scope, Sharding};

    /// Two nodes and an edge, for one accelerator; `None` where nobody can be asked for degrees of this scope and objective.
    fn pair(scope: Scope, objective: Objective, has_degrees: bool) -> Option<Problem> {
        let option =
            |node| NodeOption { node, tensor_degree: 1, name: "vanilla".into(), time: 1.0, ..NodeOption::default() };
        let parallelism = Parallelism {
            bandwidth: 1.0,
            options: vec![option(0), option(1)],
            edges: vec![EdgeBytes { source: 0, target: 1, bytes: 1.0 }],
            ..Parallelism::default()
        };
        let instance = Instance {
            platform: Platform::uniform(1, None, 0),
            nodes: vec![Node::new(0), Node::new(1)],
            edges: vec![Edge { source: 0, target: 1 }],
            parallelism: Some(parallelism),
            ..Instance::default()
        };
        let degrees = has_degrees.then(|| Degrees::any(2));
        let problem = Problem::new(&instance, ProblemSpec { scope, objective, degrees, ..ProblemSpec::of(&instance) });
        assert!(has_degrees || problem.is_ok());
        problem.ok()
    }

    #[test]
    fn the_table_says_what_the_solvers_say() {
        let scopes = [Scope::Arbitrary, Scope::Convex, Scope::Acyclic, Scope::Linearized(vec![0, 1])];
        let sharding = Objective::Sharding(Sharding::default());
        let objectives = [
            Objective::Throughput,
            Objective::GPipe,
            Objective::Step { microbatches: 2 },
            Objective::Latency { subgraphs: 1 },
            sharding,
        ];
        for method in methods() {
            let solver = method.solver();
            assert_eq!(solver.name(), method.name);
            assert_eq!(solver.guarantee() == Guarantee::Exact, method.exact, "{}", method.name);
            for scope in &scopes {
                for objective in objectives {
                    let is_wide = matches!(scope, Scope::Arbitrary | Scope::Convex);
                    if objective.name() == "latency" && scope.name() == "linearized"
                        || objective.name() == "step" && is_wide
                    {
                        continue; // No such problem exists.
                    }
                    // The scopes of the latency do not differ.
                    let takes_scope = objective.name() == "latency" || method.scopes.contains(&scope.name());
                    let listed = takes_scope && method.objectives.contains(&objective.name());
                    let takes = |has_degrees| {
                        let problem = pair(scope.clone(), objective, has_degrees);
                        problem.is_some_and(|problem| solver.takes(&problem).is_ok())
                    };
                    let supported = [false, true].into_iter().any(takes);
                    assert_eq!(supported, listed, "{}: {} {}", method.name, scope.name(), objective.name());
                }
            }
        }
    }
}
