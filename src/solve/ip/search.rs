//! A run of HiGHS on a program: what it found, checked, and what it proved.

use std::cell::Cell;

use super::attended::{Attended, Exchange, attend};
use super::highs::{Fault, Mip, MipLimits, MipResult, MipStatus, Sighting};
use super::layout::Layout;
use super::memory::MemoryRows;
use super::{Asked, Bounds, IntegerProgram, program};
use crate::problem::{Problem, Scope, Solution};
use crate::solve::{BoundSource, LowerBound, Outcome, Progress, Run, SearchContext, SolveError, Stats, found};

/// HiGHS' bound holds up to its tolerances: 1e-9 on sums that [`scale`] makes about a thousand. What is reported is
/// lower by this part.
const BOUND_MARGIN: f64 = 5e-10;

/// The largest time that HiGHS is given. It refuses a program with a number of 1e15, and has called programs with one of
/// 1e12 infeasible that are not.
const MOST: f64 = 1e6;

/// Solves the program of `method`, where a split may be `known`, in a thread of its own. Where that does not end soon after
/// the limits of `cx`, it is left behind, and goes on until HiGHS looks up or the process ends.
pub(super) fn run(
    problem: &Problem,
    method: &IntegerProgram,
    known: Option<Solution>,
    cx: &SearchContext,
) -> Result<Run, SolveError> {
    let start = known.clone().filter(|_| method.starts_from_known());
    let lower = method.lower_bound;
    let work = {
        let (problem, method, cx) = (problem.clone(), method.clone(), cx.silent());
        move |exchange: &Exchange| solve(&problem, &method, known, exchange, &cx)
    };
    let known = start.as_ref().map(value);
    let last = Cell::new((known, lower));
    let tell = |(incumbent, bound)| cx.report(&Progress { phase: "integer program", incumbent, bound });
    tell(last.get());
    let attended = attend(work, |sighting| {
        let best = sighting.incumbent.into_iter().chain(known).min_by(f64::total_cmp);
        let seen = (best, sighting.bound.into_iter().chain(lower).max_by(f64::total_cmp));
        if last.replace(seen) != seen {
            tell(seen);
        }
        !cx.should_stop()
    });
    match attended {
        Attended::Ended(run) => run,
        Attended::Left => {
            Ok(Run { outcome: outcome(&problem.spec.scope, start, last.get().1, false), stats: Stats::default() })
        }
        Attended::Failed => Err(Fault { call: "Highs_run", detail: Some("its thread failed".into()) }.into()),
    }
}

/// Solves the program within the limits of `cx`, and tells how far it is.
fn solve(
    problem: &Problem,
    method: &IntegerProgram,
    known: Option<Solution>,
    exchange: &Exchange,
    cx: &SearchContext,
) -> Result<Run, SolveError> {
    let known_value = known.as_ref().map(value);
    if known_value == Some(0.0) {
        // Nothing costs less, and beside it every time is too large to be scaled.
        return Ok(Run { outcome: outcome(&problem.spec.scope, known, known_value, false), stats: Stats::default() });
    }
    let start = known.filter(|_| method.starts_from_known());
    let mut bounds = method.bounds(start.as_ref(), known_value);
    let scale = scale(problem, known_value, bounds.limit);
    let layout = Layout::new(problem);
    if !cx.admits(layout.bytes()) {
        let outcome = outcome(&problem.spec.scope, start, bounds.lower, false);
        return Ok(Run { outcome, stats: Stats::default() });
    }
    let mut asked = Asked { layout: &layout, form: method.form, bounds, scale, memory: MemoryRows::loose() };
    let (mut result, mut stats) = answer(&mut asked, start.as_ref(), exchange, cx)?;
    if errs(&result, bounds, known_value) {
        // Bounds that are met exactly leave no room for the rounding of sums.
        bounds = Bounds { lower: bounds.lower, ..Bounds::default() };
        asked.bounds = bounds;
        (result, stats) = answer(&mut asked, start.as_ref(), exchange, cx)?;
        if result.status == MipStatus::Optimal {
            // Presolve may leave so little that nothing is bounded.
            result.dual_bound = result.dual_bound.or(result.objective);
        }
    }
    let found = result.values.as_ref().and_then(|values| layout.split(values));
    let best = best([start, found].into_iter().flatten());
    let proven = proven(&result, bounds, known_value, scale);
    let is_infeasible = result.status == MipStatus::Infeasible && known_value.is_none() && bounds.upper.is_none();
    Ok(Run { outcome: outcome(&problem.spec.scope, best, proven, is_infeasible), stats })
}

/// Runs HiGHS until all devices have room for what they are given, or a limit comes.
fn answer(
    asked: &mut Asked,
    start: Option<&Solution>,
    exchange: &Exchange,
    cx: &SearchContext,
) -> Result<(MipResult, Stats), SolveError> {
    let mut nodes = 0;
    loop {
        let (mut mip, _) = program(asked).into_mip()?;
        if let Some(values) = start.and_then(|split| asked.layout.start_values(split)) {
            mip.set_start(&values)?;
        }
        let result = search(&mut mip, asked, exchange, cx)?;
        nodes += result.nodes;
        let units_of = result.values.as_ref().map(|values| asked.layout.units_of(values));
        let has_learned = units_of.is_some_and(|units_of| asked.memory.learn(asked.layout, &units_of));
        if !has_learned || cx.should_stop() {
            let size = [("columns", mip.column_count()), ("rows", mip.row_count()), ("nodes", nodes as usize)];
            let figures = size.map(|(name, count)| (name, count as f64));
            return Ok((result, Stats::of(figures)));
        }
    }
}

/// Whether HiGHS calls a program infeasible that holds the split of this `known` value, or a solution optimal by no bound.
fn errs(result: &MipResult, bounds: Bounds, known: Option<f64>) -> bool {
    match result.status {
        MipStatus::Infeasible => known.is_some_and(|known| bounds.upper.is_none_or(|upper| known <= upper)),
        MipStatus::Optimal => result.dual_bound.is_none(),
        MipStatus::TimeLimit | MipStatus::Interrupted | MipStatus::Stopped => false,
    }
}

/// What no split is below, in the instance's time.
///
/// That there is no split up to a cutoff proves the cutoff. Where HiGHS errs it proves nothing.
fn proven(result: &MipResult, bounds: Bounds, known: Option<f64>, scale: f64) -> Option<f64> {
    let most = bounds.upper.unwrap_or(f64::INFINITY);
    let dual = match result.status {
        MipStatus::Infeasible => bounds.upper.filter(|_| !errs(result, bounds, known)),
        _ => result.dual_bound.map(|bound| (bound * scale).min(most)),
    };
    dual.map(|bound| bound * (1.0 - BOUND_MARGIN)).into_iter().chain(bounds.lower).max_by(f64::total_cmp)
}

fn outcome(scope: &Scope, best: Option<Solution>, proven: Option<f64>, is_infeasible: bool) -> Outcome {
    let bound = |value| LowerBound { value, scope: scope.clone(), source: BoundSource::IntegerProgram };
    let Some(solution) = best else {
        return match proven {
            _ if is_infeasible => Outcome::Infeasible,
            proven => Outcome::Unknown { bound: proven.map(bound) },
        };
    };
    match proven.map(|proven| bound(proven.min(value(&solution)))) {
        Some(bound) => found(solution, bound),
        None => Outcome::Feasible { solution, bound: None },
    }
}

/// The split of the least value.
pub(super) fn best(splits: impl IntoIterator<Item = Solution>) -> Option<Solution> {
    splits.into_iter().min_by(|a, b| value(a).total_cmp(&value(b)))
}

fn value(split: &Solution) -> f64 {
    split.objective.unwrap_or(f64::INFINITY)
}

/// Runs HiGHS within the limits of `cx`, and tells how far it is, in the instance's time.
fn search(mip: &mut Mip, asked: &Asked, exchange: &Exchange, cx: &SearchContext) -> Result<MipResult, Fault> {
    let limits = MipLimits { time: cx.remaining(), gap: cx.gap, threads: cx.threads, seed: cx.seed };
    let watch = |sighting: &Sighting| {
        let incumbent = sighting.incumbent.map(|value| value * asked.scale);
        let most = incumbent.into_iter().chain(asked.bounds.upper).fold(f64::INFINITY, f64::min);
        let bound = sighting.bound.map(|bound| (bound * asked.scale * (1.0 - BOUND_MARGIN)).min(most));
        exchange.tell(Sighting { incumbent, bound })
    };
    mip.solve(&limits, &watch)
}

/// The power of two by which times are divided, so that the objective is about a thousand: HiGHS' tolerances are
/// absolute. It is told from the value of a `known` split, or else from the work for each device. Where that leaves numbers
/// too large for HiGHS it is more; what is found then is known in a run that follows. Times above the `limit` are not given.
fn scale(problem: &Problem, known: Option<f64>, limit: Option<f64>) -> f64 {
    let typical = known.filter(|&value| value > 0.0).unwrap_or_else(|| work_per_device(problem));
    let least = if typical > 0.0 { (typical.log2().floor() - 9.0).exp2() } else { 1.0 };
    let largest = largest_number(problem).min(limit.unwrap_or(f64::INFINITY));
    least.max((largest / MOST).log2().ceil().exp2())
}

/// The largest time, as often as some piece of a load counts it.
fn largest_number(problem: &Problem) -> f64 {
    let kinds = problem.device_kinds();
    let pieces = kinds.iter().flat_map(|&kind| problem.costs.pieces(kind));
    let weight = pieces.map(|piece| piece.compute.max(piece.comm_in).max(piece.comm_out)).fold(1.0, f64::max);
    let nodes =
        (0..problem.node_count()).flat_map(|v| kinds.iter().filter_map(move |&kind| problem.costs.node(v, kind)));
    let transfers = (0..problem.costs.transfers.len()).map(|t| problem.costs.longest_transfer(t, &kinds));
    weight * nodes.map(|cost| cost.compute).chain(transfers).fold(0.0, f64::max)
}

/// The least compute time over all devices, for each of them; the largest transfer where there is none.
fn work_per_device(problem: &Problem) -> f64 {
    let kinds = problem.device_kinds();
    let least = |v: usize| {
        let times = kinds.iter().filter_map(|&kind| problem.costs.node(v, kind));
        times.map(|cost| cost.compute).min_by(f64::total_cmp).unwrap_or(0.0)
    };
    let devices: usize = kinds.iter().map(|&kind| problem.device_count(kind)).sum();
    let transfers = (0..problem.costs.transfers.len()).map(|t| problem.costs.longest_transfer(t, &kinds));
    let compute: f64 = (0..problem.node_count()).map(least).sum::<f64>() / devices as f64;
    if compute > 0.0 { compute } else { transfers.fold(0.0, f64::max) }
}
