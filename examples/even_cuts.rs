//! A partitioner of one's own, held to the laws by one line: `cargo run --example even_cuts`.

use dagsplit::conformance::Suite;
use dagsplit::internals::graph::topological;
use dagsplit::problem::NodeSet;
use dagsplit::problem::{DeviceAssignment, DeviceKind, Objective, Problem, Solution};
use dagsplit::solve::{Guarantee, Outcome, Run, SearchContext, SolveError, Solver, Stats, Unsupported};

/// Cuts a topological order into runs of about equal work, one for each accelerator.
#[derive(Debug, Clone, Copy, Default)]
pub struct EvenCuts;

/// The only devices it uses.
const DEVICE: DeviceKind = DeviceKind::Accelerator(0);

impl Solver for EvenCuts {
    fn name(&self) -> &str {
        "even-cuts"
    }

    fn guarantee(&self) -> Guarantee {
        Guarantee::Heuristic
    }

    /// What it does not take it says, and is never asked.
    fn supports(&self, problem: &Problem) -> Result<(), Unsupported> {
        let refuse = |reason: &str| Err(Unsupported { solver: self.name().into(), reason: reason.into() });
        let spec = &problem.spec;
        if problem.color_class.iter().any(Option::is_some) || problem.backward.contains(&true) {
            return refuse("it knows no colour classes and no backward pass");
        }
        if spec.objective != Objective::Throughput || spec.scope.name() == "linearized" {
            return refuse("it minimises the largest load over runs of an order of its own");
        }
        if spec.replication.is_some() || spec.interconnect.is_some() {
            return refuse("it knows no replicas and no servers");
        }
        Ok(())
    }

    fn search(&self, problem: &Problem, cx: &mut SearchContext) -> Result<Run, SolveError> {
        let order = topological::smallest_first(&problem.graph);
        let mut best: Option<(f64, Vec<NodeSet>)> = None;
        for parts in 1..=problem.device_count(DEVICE).min(order.len()) {
            if cx.should_stop() {
                break;
            }
            let runs = cut(problem, &order, parts);
            let load = largest_load(problem, &runs).filter(|load| best.as_ref().is_none_or(|(least, _)| load < least));
            best = load.map(|load| (load, runs)).or(best);
        }
        let outcome = match best {
            None => Outcome::Unknown { bound: None },
            Some((load, runs)) => {
                let ids = |run: &NodeSet| run.iter().map(|v| problem.ids[v]).collect();
                let devices = runs.iter().map(|run| DeviceAssignment::new(DEVICE, ids(run))).collect();
                Outcome::Feasible { solution: Solution { devices, objective: Some(load) }, bound: None }
            }
        };
        Ok(Run { outcome, stats: Stats::default() })
    }
}

/// Runs of `order` that hold about one part of the work each.
fn cut(problem: &Problem, order: &[usize], parts: usize) -> Vec<NodeSet> {
    let time = |v: usize| problem.costs.node(v, DEVICE).map_or(0.0, |cost| cost.compute);
    let total: f64 = order.iter().map(|&v| time(v)).sum();
    let mut runs = vec![NodeSet::new(order.len()); parts];
    let mut before = 0.0;
    for &v in order {
        let middle = before + time(v) / 2.0;
        let part = if total > 0.0 { (middle / total * parts as f64) as usize } else { 0 };
        runs[part.min(parts - 1)].insert(v);
        before += time(v);
    }
    runs
}

/// The largest load; `None` where a run does not fit, or holds a node that the accelerators cannot run.
fn largest_load(problem: &Problem, runs: &[NodeSet]) -> Option<f64> {
    let memory = |run: &NodeSet| run.iter().filter_map(|v| problem.costs.node(v, DEVICE)).map(|cost| cost.memory).sum();
    let fits = runs.iter().all(|run| dagsplit::problem::fits(memory(run), problem.memory_limit(DEVICE)));
    let loads = runs.iter().map(|run| problem.costs.load(run, DEVICE));
    loads.collect::<Option<Vec<f64>>>().filter(|_| fits).map(|loads| loads.into_iter().fold(0.0, f64::max))
}

fn main() {
    let report = Suite::default().run(&EvenCuts);
    println!("{report}");
    // In a test of yours one line does: `Suite::default().check(&EvenCuts);`
    std::process::exit(i32::from(!report.passed));
}
