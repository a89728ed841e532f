//! Every method obeys the laws, and so do the partitioners that `examples/` shows.

#[path = "../examples/even_cuts.rs"]
#[allow(dead_code)]
mod even_cuts;

use std::time::Duration;

use dagsplit::conformance::{FAMILIES, Law, Report, Suite};
use dagsplit::problem::{MemoryModel, NodeWeight, Objective, ProblemSpec, Scope, Sharding};
use dagsplit::registry;
use dagsplit::registry::{Method, Parameter};
use dagsplit::solve::{Program, Solver};

/// Settings under which methods that take their time answer sooner.
const QUICK: &[(&str, &str)] =
    &[("annealing", "annealing:patience=20"), ("local-search", "local-search:restarts=2,steps=5000")];

/// The methods that can run on an instance alone.
fn methods() -> impl Iterator<Item = &'static Method> {
    registry::methods().iter().filter(|method| !method.needs_more())
}

/// What the table says that `method` takes.
fn requests(method: &Method) -> Vec<ProblemSpec> {
    let scopes = || method.scopes.iter().filter_map(|name| scope(name));
    let objectives = method.objectives.iter().filter_map(|name| objective(name));
    let with_scopes = objectives
        .flat_map(|objective| scopes().map(move |scope| ProblemSpec { objective, scope, ..ProblemSpec::default() }));
    // Those that add the memory of nodes up refuse these.
    let memory = MemoryModel::Recomputation { microbatches: 1 };
    let with_recomputation = scopes().map(|scope| ProblemSpec { memory, scope, ..ProblemSpec::default() });
    with_scopes.chain(with_recomputation).collect()
}

fn objective(name: &str) -> Option<Objective> {
    let sharding = Objective::Sharding(Sharding { weight: NodeWeight::Memory, ..Sharding::default() });
    let step = Objective::Step { microbatches: 3 };
    let known = [Objective::Throughput, Objective::GPipe, step, Objective::Latency { subgraphs: 1 }, sharding];
    known.into_iter().find(|objective| objective.name() == name)
}

fn scope(name: &str) -> Option<Scope> {
    [Scope::Arbitrary, Scope::Convex, Scope::Acyclic].into_iter().find(|scope| scope.name() == name)
}

/// A suite for a loaded machine.
fn suite(cases: u32, requests: Vec<ProblemSpec>) -> Suite {
    Suite { cases, requests, grace: Duration::from_secs(30), time_limit: Duration::from_secs(60), ..Suite::default() }
}

/// Holds the solver of this spec to the laws.
#[track_caller]
fn obeys(spec: &str, suite: &Suite) {
    let solver = registry::solver(spec).unwrap_or_else(|error| panic!("{error}"));
    passes(&suite.run(solver.as_ref()));
}

#[track_caller]
fn passes(report: &Report) {
    let instances: Vec<_> = report.findings.iter().map(|finding| &finding.case).collect();
    assert!(report.passed, "{report}\n{instances:#?}");
}

#[test]
fn every_method_obeys_the_laws() {
    for method in methods() {
        let quick = QUICK.iter().find(|(name, _)| *name == method.name);
        obeys(quick.map_or(method.name, |(_, spec)| spec), &suite(26, requests(method)));
    }
}

#[test]
#[ignore = "takes minutes"]
fn every_method_obeys_the_laws_on_many_cases() {
    for method in methods() {
        obeys(method.name, &suite(390, requests(method)));
    }
}

#[test]
fn chains_obey_the_laws() {
    // So that there is something to join in small graphs.
    let few = |parameters: &[Parameter]| if parameters.iter().any(|p| p.name == "k") { ":k=3" } else { "" };
    let clusterings = registry::clusterings().iter().map(|step| format!("{}{}+dpl", step.name, few(step.parameters)));
    let refinements = registry::refinements().iter().map(|step| format!("dpl+{}", step.name));
    for spec in clusterings.chain(refinements) {
        obeys(&spec, &suite(26, vec![ProblemSpec::default()]));
    }
}

#[test]
fn every_law_is_looked_at() {
    let solver = registry::solver("dp").unwrap();
    let report = suite(39, vec![ProblemSpec::default()]).run(solver.as_ref());
    let looked_at: Vec<Law> = report.laws.iter().filter(|law| law.checked > 0).map(|law| law.law).collect();
    let concerning: Vec<Law> = Law::ALL.into_iter().filter(|law| *law != Law::Readable).collect();
    assert_eq!(looked_at, concerning, "{report}");
}

#[test]
fn the_guide_names_every_law_and_family() {
    let guide = include_str!("../docs/your-partitioner.md");
    let laws = Law::ALL.into_iter().map(|law| (law.name(), law.statement()));
    let families = FAMILIES.iter().map(|family| (family.name, family.summary));
    for (name, summary) in laws.chain(families) {
        assert!(guide.contains(&format!("| `{name}` | {summary} |")), "{name}");
    }
}

#[test]
fn the_examples_obey_the_laws() {
    Suite { cases: 65, ..Suite::default() }.check(&even_cuts::EvenCuts);
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/examples/my_partitioner.py");
    let program = Program::new(&format!("python3 \"{script}\"")).unwrap();
    program.try_to_start().expect("the example in Python needs python3");
    let program: &dyn Solver = &program;
    for request in Suite::default().requests {
        passes(&suite(13, vec![request]).run_until(&program, &Default::default(), |_| ()));
    }
}
