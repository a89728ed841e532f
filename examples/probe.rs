//! probe
use dagsplit::instance::Instance;
use dagsplit::problem::{Problem, ProblemSpec};
use dagsplit::solve::{SearchContext, Solver};
fn main() {
    let args: Vec<String> = std::env::args().collect();
    let t = std::time::Instant::now();
    let instance: Instance = serde_json::from_str(&std::fs::read_to_string(&args[1]).unwrap()).unwrap();
    let mut spec = ProblemSpec::of(&instance);
    if let Some(k) = args.get(2) {
        spec.platform.accelerators[0].count = k.parse().unwrap();
    }
    let limit: f64 = args.get(3).map_or(60.0, |x| x.parse().unwrap());
    let threads: usize = args.get(4).map_or(1, |x| x.parse().unwrap());
    let problem = Problem::new(&instance, spec).unwrap();
    let mut cx = SearchContext::new().with_time_limit(std::time::Duration::from_secs_f64(limit));
    cx.threads = threads;
    let t0 = std::time::Instant::now();
    if std::env::var("V").is_ok() {
        cx = cx.with_report(move |p| eprintln!("{:?} {p:?}", t0.elapsed()));
    }
    let run = dagsplit::solve::dp::IdealDp::default().solve(&problem, &mut cx).unwrap();
    println!(
        "{} {:?} {:?} {:?} {:?}",
        run.outcome.status(),
        run.outcome.solution().map(|s| s.objective.unwrap()),
        run.outcome.bound().map(|b| b.value),
        t.elapsed(),
        run.stats.0
    );
}
