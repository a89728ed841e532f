//! Every method by name: what it takes, what it promises, where it comes from.
//!
//! `docs/methods.md` and `dagsplit methods` are generated from this table. A new solver is one entry of
//! `METHODS`.

use super::brute_force::BruteForce;
use super::certify::{Annealing, Certify};
use super::dp::{IdealDp, LinearizedDp};
use super::heuristic::{Greedy, LocalSearch};
#[cfg(feature = "highs")]
use super::ip::IntegerProgram;
use super::latency::LatencyDp;
use super::{Guarantee, Solver};
use crate::problem::Problem;

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
    make: fn() -> Box<dyn Solver>,
}

impl Method {
    /// A solver of this method with its default settings.
    pub fn solver(&self) -> Box<dyn Solver> {
        (self.make)()
    }
}

/// Every method, in the order in which [`automatic`] prefers them.
const METHODS: &[Method] = &[
    Method {
        name: "dp",
        summary: "dynamic program over ideals, guided by a relaxation of stage boundaries",
        scopes: &["acyclic"],
        objectives: &["throughput", "gpipe"],
        exact: true,
        anytime: true,
        limits: "proofs need a narrow graph (4 million frontier states, 30,000 units); all costs, replication, servers",
        source: "Tarnawski 2020, section 5.1.1",
        make: || Box::new(IdealDp::default()),
    },
    Method {
        name: "certify",
        summary: "branch and price: column generation over the sets that a device can hold, priced by tree decomposition",
        scopes: &["arbitrary", "convex"],
        objectives: &["throughput"],
        exact: true,
        anytime: true,
        limits: "proofs need a graph of small treewidth; all costs, memory, classes; no replication, no servers",
        source: "set partitioning, docs/certify.md",
        make: || Box::new(Certify),
    },
    Method {
        name: "latency-dp",
        summary: "dynamic program over ideals with labels of ready times",
        scopes: &["arbitrary", "convex", "acyclic"],
        objectives: &["latency"],
        exact: true,
        anytime: true,
        limits: "one subgraph per accelerator, 4 accelerator classes; proofs need a narrow graph (400,000 ideals)",
        source: "docs/latency.md; problem of Tarnawski 2020, section 4",
        make: || Box::new(LatencyDp::default()),
    },
    Method {
        name: "dpl",
        summary: "linearized DP: the best intervals of several topological orders",
        scopes: &["acyclic"],
        objectives: &["throughput", "gpipe"],
        exact: false,
        anytime: true,
        limits: "tens of thousands of nodes; all costs, replication, servers",
        source: "Tarnawski 2020, section 5.1.2",
        make: || Box::new(LinearizedDp::default()),
    },
    #[cfg(feature = "highs")]
    Method {
        name: "ip:strong",
        summary: "integer program with numbered devices, merged producers, bounds and a start; HiGHS",
        scopes: &["arbitrary", "convex"],
        objectives: &["throughput", "gpipe", "latency"],
        exact: true,
        anytime: true,
        limits: "proofs within minutes on some hundred nodes; all costs, several CPUs and classes, every scope of the latency",
        source: "Tarnawski 2020, sections 4 and 5.1.3",
        make: || Box::new(IntegerProgram::strong()),
    },
    #[cfg(feature = "highs")]
    Method {
        name: "ip:published",
        summary: "integer program as published; HiGHS",
        scopes: &["arbitrary", "convex"],
        objectives: &["throughput", "gpipe", "latency"],
        exact: true,
        anytime: true,
        limits: "proofs within minutes on a hundred nodes; all costs, several CPUs and classes, every scope of the latency",
        source: "Tarnawski 2020, sections 4 and 5.1.3",
        make: || Box::new(IntegerProgram::published()),
    },
    Method {
        name: "annealing",
        summary: "multilevel simulated annealing on the communication hypergraph",
        scopes: &["arbitrary", "convex"],
        objectives: &["throughput", "gpipe"],
        exact: false,
        anytime: true,
        limits: "thousands of nodes (convex: 16,384); all costs, no replication, no servers",
        source: "multilevel hypergraph partitioning, here with loads as the objective",
        make: || Box::new(Annealing::default()),
    },
    Method {
        name: "brute-force",
        summary: "looks at every split: the oracle that other methods are tested against",
        scopes: &["arbitrary", "convex", "acyclic", "linearized"],
        objectives: &["throughput", "gpipe", "latency"],
        exact: true,
        anytime: true,
        limits: "12 colour groups; all costs, replication, servers",
        source: "exhaustive search",
        make: || Box::new(BruteForce),
    },
    Method {
        name: "local-search",
        summary: "simulated annealing over the subgraphs of colour classes, with restarts",
        scopes: &["arbitrary", "convex", "acyclic"],
        objectives: &["latency"],
        exact: false,
        anytime: true,
        limits: "thousands of nodes; all costs",
        source: "ours; its kind is the baseline of Tarnawski 2020",
        make: || Box::new(LocalSearch::default()),
    },
    Method {
        name: "greedy",
        summary: "fills one accelerator after another along a depth-first topological order",
        scopes: &["arbitrary", "convex", "acyclic"],
        objectives: &["latency"],
        exact: false,
        anytime: true,
        limits: "any size; all costs",
        source: "Tarnawski 2020, appendix F",
        make: || Box::new(Greedy),
    },
];

/// Every method, in the order in which [`automatic`] prefers them.
pub fn methods() -> &'static [Method] {
    METHODS
}

/// No method has the name asked for.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("there is no method `{name}`; there are {}", known.join(", "))]
pub struct UnknownMethod {
    /// The name asked for.
    pub name: String,
    /// The names there are.
    pub known: Vec<&'static str>,
}

/// The solver that `spec` names.
///
/// # Errors
/// [`UnknownMethod`] lists the names there are.
pub fn solver(spec: &str) -> Result<Box<dyn Solver>, UnknownMethod> {
    match methods().iter().find(|method| method.name == spec) {
        Some(method) => Ok(method.solver()),
        None => Err(UnknownMethod { name: spec.into(), known: methods().iter().map(|m| m.name).collect() }),
    }
}

/// No method takes the problem.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("no method takes this problem:{}", reasons.iter().map(|r| format!("\n  {r}")).collect::<String>())]
pub struct NoMethod {
    /// Why each of them does not.
    pub reasons: Vec<String>,
}

/// The first method that takes `problem`, exact ones before heuristics.
///
/// # Errors
/// [`NoMethod`] gives each method's reason.
pub fn automatic(problem: &Problem) -> Result<Box<dyn Solver>, NoMethod> {
    let mut reasons = Vec::new();
    let mut heuristic = None;
    for solver in methods().iter().map(Method::solver) {
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
    use crate::problem::{Objective, ProblemSpec, Scope};

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
        for method in methods() {
            let solver = method.solver();
            assert_eq!(solver.name(), method.name);
            assert_eq!(solver.guarantee() == Guarantee::Exact, method.exact, "{}", method.name);
            for scope in &scopes {
                for objective in [Objective::Throughput, Objective::GPipe, Objective::Latency { subgraphs: 1 }] {
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

    #[test]
    fn an_unknown_name_is_answered_with_the_known_ones() {
        let Err(unknown) = solver("nonesuch") else { panic!("there is no such method") };
        assert_eq!(unknown.known.len(), methods().len());
    }
}
