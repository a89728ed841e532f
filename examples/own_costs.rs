//! A cost model of one's own: accelerators whose copies share an uplink with the neighbour's, and slow computing down.
//!
//! Every exact method solves it, the verifier checks the splits by the same data, all methods are compared, and the
//! conformance suite tries one of them on problems that it draws. `cargo run --example own_costs`

use std::path::Path;
use std::sync::Arc;

use dagsplit::conformance::Suite;
use dagsplit::cost::{CostModel, Costs, Piece, ProfiledCost};
use dagsplit::formats::{ReadOptions, read_instance};
use dagsplit::instance::Instance;
use dagsplit::problem::{Problem, ProblemSpec, Scope};
use dagsplit::registry;
use dagsplit::solve::IdealDp;
use dagsplit::solve::SearchContext;
use dagsplit::verify;

/// Transfers run beside computing, over an uplink that two accelerators share, and take a fifth of the compute units.
#[derive(Debug)]
struct SharedUplink;

impl CostModel for SharedUplink {
    fn costs(&self, instance: &Instance, spec: &ProblemSpec) -> Costs {
        let mut costs = ProfiledCost.costs(instance, spec);
        // Each accelerator has half of the link; CPUs, the last kind, pay no transfers.
        let accelerators = costs.kinds.len() - 1;
        for kind in &mut costs.kinds[..accelerators] {
            kind.pieces = vec![Piece::new(1.0, 0.2, 0.2), Piece::new(0.0, 2.0, 2.0)];
        }
        costs
    }
}

/// Whether everything went well.
pub fn run() -> Result<bool, Box<dyn std::error::Error>> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("instances/bert12_inference.json");
    let instance = read_instance(&path, &ReadOptions::default())?;
    println!("{:12} {:>14} {:>10}  status", "method", "ms per sample", "bound");
    for scope in [Scope::Acyclic, Scope::Arbitrary] {
        let spec = ProblemSpec { scope, ..ProblemSpec::of(&instance) };
        let problem = Problem::with_costs(&instance, spec.clone(), &SharedUplink)?;
        for method in registry::methods().iter().filter(|method| !method.needs_more()) {
            let solver = method.solver();
            if solver.supports(&problem).is_err() {
                continue;
            }
            let mut cx = SearchContext::new().with_time_limit(std::time::Duration::from_secs(2));
            let outcome = solver.solve(&problem, &mut cx)?.outcome;
            let Some(split) = outcome.solution() else { continue };
            let verified =
                verify::check_with(&instance, &spec, &problem.costs, split).map_err(|found| found[0].clone())?;
            let bound = outcome.bound().map_or(0.0, |bound| bound.value);
            println!("{:12} {:14.4} {bound:10.4}  {}", method.name, verified.objective(), outcome.status());
        }
    }
    let suite = Suite { cases: 40, costs: Some(Arc::new(SharedUplink)), ..Suite::default() };
    let report = suite.run(&IdealDp::default());
    println!("\n{report}");
    Ok(report.passed)
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    std::process::exit(i32::from(!run()?));
}
