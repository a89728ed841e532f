//! Solve, verify, print: `cargo run --example solve -- instances/bert12_inference.json`

use dagsplit::formats::{ReadOptions, read_instance};
use dagsplit::{Problem, ProblemSpec, SearchContext, registry, verify};

/// The time per sample of the best split.
pub fn run(file: &str) -> Result<f64, Box<dyn std::error::Error>> {
    let instance = read_instance(file.as_ref(), &ReadOptions::default())?;
    let spec = ProblemSpec::of(&instance);
    let problem = Problem::new(&instance, spec.clone())?;
    let run = registry::automatic(&problem)?.solve(&problem, &mut SearchContext::new())?;
    let split = run.outcome.solution().ok_or("there is no split")?;
    let verified = verify::check(&instance, &spec, split).map_err(|violations| violations[0].clone())?;
    println!("{} at {} ms per sample", run.outcome.status(), verified.objective());
    Ok(verified.objective())
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    run(&std::env::args().nth(1).unwrap_or("instances/bert12_inference.json".into())).map(|_| ())
}
