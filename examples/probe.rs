//! probe
use dagsplit::instance::Instance;
use dagsplit::problem::{Problem, ProblemSpec};
fn main() {
    let args: Vec<String> = std::env::args().collect();
    let instance: Instance = serde_json::from_str(&std::fs::read_to_string(&args[1]).unwrap()).unwrap();
    let mut spec = ProblemSpec::of(&instance);
    let theta: f64 = args[2].parse().unwrap();
    if let Some(k) = args.get(4) {
        spec.platform.accelerators[0].count = k.parse().unwrap();
    }
    let problem = Problem::new(&instance, spec).unwrap();
    dagsplit::solve::dp::ideal::probe(&problem, theta, args[3].parse().unwrap());
}
