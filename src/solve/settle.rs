//! How every solver is run: on costs whose sums are exact, and judged by the costs as they are given.

use super::dp::secondary::{self, Refined};
use super::grid::on_grid;
use super::objective::{Held, fits_on, held, objective};
use super::{Guarantee, LowerBound, Outcome, Run, SearchContext, SolveError, found};
use crate::bound::{least_objective, work_bound};
use crate::preprocess::Unordered;
use crate::problem::{DeviceAssignment, DeviceKind, Objective, Problem, Solution};

/// Costs on a grid are too coarse for a split whose objective there is off by more than this part of it: what a tenth of
/// [`super::OPTIMALITY_TOLERANCE`] is.
const ROUGH: f64 = 1e-10;

/// The figure of a run that says how many devices any split as good as its own has at least.
pub(crate) const FEWEST_DEVICES: &str = "fewest_devices";

/// Runs `search` on `problem` with its costs on a grid; again on a finer one, where the split that it finds shows that the
/// first was too coarse.
///
/// A grid is as fine as the costs allow that the best split known so far could pay. At first that is the best one of a
/// single device, and where none holds all nodes, nothing is known. Whatever is found then has a value, and dearer costs
/// no longer count: the next grid is finer by the ratio of the two.
pub(super) fn solve(
    search: &dyn Fn(&Problem, &mut SearchContext) -> Result<Run, SolveError>,
    guarantee: Guarantee,
    problem: &Problem,
    cx: &mut SearchContext,
) -> Result<Run, SolveError> {
    let first = of_one_device(problem);
    let mut upper = first.as_ref().and_then(|split| split.objective);
    let mut known: Option<Run> = None;
    loop {
        let rounded = on_grid(problem, upper);
        let Run { outcome, stats } = search(&rounded, cx)?;
        let held = outcome.solution().and_then(|split| held(problem, split));
        let value = held.as_ref().and_then(|held| objective(problem, held));
        let rounded_value = held.as_ref().and_then(|held| objective(&rounded, held));
        // Whether rounding to the grid hides more of the split's objective than a search may leave open.
        let is_rough = value.zip(rounded_value).is_some_and(|(value, rounded)| value - rounded > ROUGH * value);
        let mut outcome = settled(problem, outcome, value);
        if let Some(before) = known.take() {
            outcome = better(problem, &before.outcome, outcome);
        }
        if let Some(first) = first.as_ref().filter(|_| is_rough && guarantee == Guarantee::Exact) {
            // Where a device holds all nodes at no cost, nothing is cut off, and the grid may hide what others cost.
            outcome = better(problem, &Outcome::Feasible { solution: first.clone(), bound: None }, outcome);
        }
        let value = outcome.solution().and_then(|split| split.objective);
        let run = Run { outcome, stats };
        let is_lower = value.is_some_and(|value| upper.is_none_or(|upper| value < 0.5 * upper));
        if matches!(run.outcome, Outcome::Optimal { .. }) || !is_rough || !is_lower || cx.should_stop() {
            return Ok(if guarantee == Guarantee::Exact { refined(problem, &rounded, run, cx) } else { run });
        }
        (upper, known) = (value, Some(run));
    }
}

/// The run with a split as good as its own that has fewer devices, less traffic or more even loads, where one is found.
fn refined(problem: &Problem, rounded: &Problem, mut run: Run, cx: &SearchContext) -> Run {
    let (Some(split), Objective::Throughput) = (run.outcome.solution(), problem.spec.objective) else { return run };
    let Some(value) = split.objective else { return run };
    let value_of =
        |problem: &Problem, split: &Solution| held(problem, split).and_then(|held| objective(problem, &held));
    let on_grid = value_of(rounded, split);
    let Refined { better, fewest_devices } = secondary::refined(rounded, split, (on_grid, value), cx);
    if let Some(mut better) = better {
        better.objective = value_of(problem, &better).filter(|&new| new <= value * (1.0 + secondary::SLACK));
        let bound = run.outcome.bound().cloned();
        let status = run.outcome.status();
        let outcome = better.objective.map(|_| judged(problem, better, bound));
        if let Some(outcome) = outcome.filter(|outcome| outcome.status() == status) {
            run.outcome = outcome;
        }
    }
    run.stats.set(FEWEST_DEVICES, fewest_devices as f64);
    run
}

/// The best of the splits that put all nodes on one device: they belong to every scope.
fn of_one_device(problem: &Problem) -> Option<Solution> {
    let all: Vec<usize> = (0..problem.node_count()).collect();
    let split = |kind| {
        let held = Held::new(kind, vec![all.clone()]);
        fits_on(problem, &held).filter(|&fits| fits)?;
        let objective = objective(problem, &[held])?;
        let is_accelerator = kind != DeviceKind::Cpu;
        let has_subgraphs = is_accelerator && matches!(problem.spec.objective, Objective::Latency { .. });
        let device = DeviceAssignment {
            server: problem.spec.interconnect.filter(|_| is_accelerator).map(|_| 0),
            subgraphs: if has_subgraphs { vec![problem.ids.clone()] } else { Vec::new() },
            ..DeviceAssignment::new(kind, problem.ids.clone())
        };
        Some((objective, Solution { devices: vec![device], objective: Some(objective) }))
    };
    let splits = problem.device_kinds().into_iter().filter_map(split);
    splits.min_by(|a, b| a.0.total_cmp(&b.0)).map(|(_, split)| split)
}

/// The outcome with its split's objective by the costs of `problem`, which is `value`, and optimal where its bound meets that;
/// that of work alone where its maker has none.
///
/// A latency is kept as it is claimed where a device's nodes have yet to be cut into subgraphs. A sharding cost is no sum
/// of the costs that were rounded.
fn settled(problem: &Problem, outcome: Outcome, value: Option<f64>) -> Outcome {
    if let Objective::Sharding(_) = problem.spec.objective {
        return outcome;
    }
    let (mut solution, bound) = match outcome {
        Outcome::Optimal { solution, bound } => (solution, Some(bound)),
        Outcome::Feasible { solution, bound } => (solution, bound),
        Outcome::Infeasible | Outcome::Unknown { .. } => return outcome,
    };
    solution.objective = value.or(solution.objective);
    let is_of_loads = !matches!(problem.spec.objective, Objective::Latency { .. });
    let bound = bound.or_else(|| is_of_loads.then(|| of_work(problem)));
    judged(problem, solution, bound)
}

/// What the work alone says of the objective.
fn of_work(problem: &Problem) -> LowerBound {
    let unordered = Unordered::new(problem);
    let bound = work_bound(&unordered);
    LowerBound { value: least_objective(problem, &unordered.units, bound.value), ..bound }
}

/// What a split and a bound say together of the scope that is asked for.
fn judged(problem: &Problem, solution: Solution, bound: Option<LowerBound>) -> Outcome {
    match bound {
        Some(bound) if bound.scope.covers(&problem.spec.scope) => found(solution, bound),
        bound => Outcome::Feasible { solution, bound },
    }
}

/// The better split and the higher bound of two runs, of which the first one found a split.
fn better(problem: &Problem, before: &Outcome, after: Outcome) -> Outcome {
    let value = |outcome: &Outcome| outcome.solution().and_then(|split| split.objective).unwrap_or(f64::INFINITY);
    let split = if value(&after) <= value(before) { after.solution() } else { before.solution() };
    let holds = |bound: &&LowerBound| bound.scope.covers(&problem.spec.scope);
    let bounds = [before.bound(), after.bound()].into_iter().flatten().filter(holds);
    let bound = bounds.max_by(|a, b| a.value.total_cmp(&b.value)).cloned();
    match split.cloned() {
        Some(split) => judged(problem, split, bound),
        None => after,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::instance::{Edge, Instance, Node, Platform};
    use crate::problem::ProblemSpec;
    use crate::solve::brute_force::BruteForce;
    use crate::solve::dp::IdealDp;
    use crate::solve::{LinearizedDp, Solver, Status};

    /// A chain of nodes with these times on an accelerator and on a CPU, of which there is one each.
    fn chain(times: &[(f64, f64)], memory: Option<f64>) -> Problem {
        let node = |(id, &(accelerator, cpu)): (usize, &(f64, f64))| Node {
            accelerator_times: vec![Some(accelerator)],
            cpu_time: Some(cpu),
            memory: 1.0,
            ..Node::new(id as u64)
        };
        let instance = Instance {
            platform: Platform::uniform(1, memory, 1),
            nodes: times.iter().enumerate().map(node).collect(),
            edges: (1..times.len() as u64).map(|id| Edge { source: id - 1, target: id }).collect(),
            ..Instance::default()
        };
        Problem::new(&instance, ProblemSpec::of(&instance)).unwrap()
    }

    #[test]
    fn a_huge_time_hides_no_small_ones() {
        for huge in [1e7, 1e9, 1e15, 1e300] {
            let problem = chain(&[(0.1, huge), (5.0, 0.3), (5.0, 0.4)], None);
            let run = IdealDp::default().solve(&problem, &mut SearchContext::new()).unwrap();
            assert_eq!(run.outcome.status(), Status::Optimal);
            assert_eq!(run.outcome.solution().unwrap().objective, Some(0.7));
            let run = LinearizedDp::default().solve(&problem, &mut SearchContext::new()).unwrap();
            assert_eq!(run.outcome.solution().unwrap().objective, Some(0.7));
        }
    }

    #[test]
    fn a_grid_that_was_too_coarse_is_refined() {
        // No device holds all nodes alone below the huge times: the first split that is found says what counts.
        let problem = chain(&[(0.1, 1e18), (1e18, 0.3), (1e18, 0.4)], Some(1.0));
        assert!(of_one_device(&problem).and_then(|split| split.objective).is_some_and(|value| value >= 1e18));
        let run = IdealDp::default().solve(&problem, &mut SearchContext::new()).unwrap();
        assert_eq!((run.outcome.status(), run.outcome.solution().unwrap().objective), (Status::Optimal, Some(0.7)));
    }

    #[test]
    fn nothing_is_better_than_a_device_that_takes_no_time() {
        let problem = chain(&[(6e-8, 0.0), (1e8, 0.0)], None);
        let run = BruteForce.solve(&problem, &mut SearchContext::new()).unwrap();
        assert_eq!((run.outcome.status(), run.outcome.solution().unwrap().objective), (Status::Optimal, Some(0.0)));
    }

    #[test]
    fn the_better_split_and_the_higher_bound_of_two_runs_count() {
        let problem = chain(&[(1.0, 1.0)], None);
        let bound = |value| {
            let source = crate::solve::BoundSource::Work;
            Some(LowerBound { value, scope: problem.spec.scope.clone(), source })
        };
        let split = |objective| Solution { devices: Vec::new(), objective: Some(objective) };
        let feasible = |objective, value| Outcome::Feasible { solution: split(objective), bound: bound(value) };
        let both = better(&problem, &feasible(5.0, 4.0), feasible(6.0, 5.0));
        assert_eq!((both.status(), both.solution().unwrap().objective), (Status::Optimal, Some(5.0)));
        let limited = better(&problem, &feasible(5.0, 4.0), Outcome::Unknown { bound: bound(4.5) });
        assert_eq!((limited.status(), limited.bound().unwrap().value), (Status::Feasible, 4.5));
    }
}
