//! All that can find a split or prove one, by turns: what is asked where no method is named.

use super::certify::Certify;
use super::dp::{IdealDp, PlainDp};
use super::{
    BoundSource, Guarantee, LowerBound, Outcome, Run, SearchContext, SolveError, Solver, Stats, Unsupported,
};
use crate::problem::{Problem, ProblemSpec, Scope};
use crate::search::{Ending, Entrant, by_turns};

/// The ideal DP, the plain one, and branch and price, which take turns and share their splits and bounds.
///
/// Which of them is the one to ask depends on the graph: how many ideals it has, how wide it is, how far memory reaches. A
/// turn is a number of looks at the limits, so that the answer does not depend on the machine; with more threads more of
/// them are awake at a time. [`Stats::techniques`] says what each has found.
///
/// Branch and price covers the graph by convex sets, so that its bounds hold for splits into successive ideals, too; of the
/// splits that it meets, it then keeps those. Splits into successive ideals are, in turn, splits of all scopes.
///
/// ```
/// use dagsplit::instance::{Edge, Instance, Node, Platform};
/// use dagsplit::problem::{Problem, ProblemSpec};
/// use dagsplit::solve::{Outcome, Portfolio, SearchContext, Solver};
///
/// let layer = |id| Node { accelerator_times: vec![Some(3.0)], transfer_time: 1.0, ..Node::new(id) };
/// let instance = Instance {
///     platform: Platform::uniform(2, None, 0),
///     nodes: (0..4).map(layer).collect(),
///     edges: (0..3).map(|id| Edge { source: id, target: id + 1 }).collect(),
///     ..Instance::default()
/// };
/// let problem = Problem::new(&instance, ProblemSpec::of(&instance))?;
/// let run = Portfolio.solve(&problem, &mut SearchContext::new())?;
/// let Outcome::Optimal { solution, .. } = run.outcome else { panic!("so small a problem is solved") };
/// assert_eq!(solution.objective, Some(7.0));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Portfolio;

/// A row of the table.
struct Row {
    name: &'static str,
    solver: fn() -> Box<dyn Solver>,
    /// Looks at the limits in a turn: about a fifth of a second, whoever it is.
    looks: u64,
    /// Whether its own splits are into successive ideals, whatever is asked for.
    is_acyclic: bool,
    /// Whether its splits are worth their time where wider scopes are asked for.
    is_widely_good: bool,
}

/// Who takes part, in the order of their turns. Problems of every day end in the first one's first turn.
const ROWS: [Row; 3] = [
    Row { name: "dp", solver: || Box::new(IdealDp::default()), looks: 512, is_acyclic: true, is_widely_good: true },
    Row { name: "dp:plain", solver: || Box::new(PlainDp::default()), looks: 128, is_acyclic: true, is_widely_good: false },
    Row { name: "certify", solver: || Box::new(Certify), looks: 16_384, is_acyclic: false, is_widely_good: true },
];

impl Row {
    /// Why it does not take part, if it does not.
    fn supports(&self, problem: &Problem) -> Result<(), Unsupported> {
        let is_convex = !self.is_acyclic && problem.spec.scope == Scope::Acyclic;
        let scope = if is_convex { Scope::Convex } else { self.scope(problem) };
        let asked = Problem { spec: ProblemSpec { scope, ..problem.spec.clone() }, ..problem.clone() };
        (self.solver)().supports(&asked)
    }

    /// The scope of the splits that it looks at.
    fn scope(&self, problem: &Problem) -> Scope {
        if self.is_acyclic { Scope::Acyclic } else { problem.spec.scope.clone() }
    }

    /// Whether it looks at all splits that are asked for.
    fn looks_at_all(&self, problem: &Problem) -> bool {
        self.scope(problem).covers(&problem.spec.scope)
    }

    /// Its place at the table.
    fn entrant(&self, problem: &Problem) -> Entrant<'static, Result<Run, SolveError>> {
        let mut own = problem.clone();
        own.spec.scope = self.scope(problem);
        let solver = (self.solver)();
        Entrant {
            name: self.name,
            looks_at_all: self.looks_at_all(problem),
            looks: self.looks,
            first_looks: self.looks,
            run: Box::new(move |cx| solver.search(&own, cx)),
        }
    }
}

impl Solver for Portfolio {
    fn name(&self) -> &str {
        "portfolio"
    }

    fn guarantee(&self) -> Guarantee {
        Guarantee::Exact
    }

    fn supports(&self, problem: &Problem) -> Result<(), Unsupported> {
        let refusal = |reason| Unsupported { solver: self.name().into(), reason };
        if let Scope::Linearized(_) = problem.spec.scope {
            return Err(refusal("it does not take one given order; ask for the scope `acyclic`".into()));
        }
        let exact = ROWS.iter().filter(|row| row.looks_at_all(problem));
        let mut refusals = Vec::new();
        for row in exact {
            match row.supports(problem) {
                Ok(()) => return Ok(()),
                Err(unsupported) => refusals.push(unsupported.reason),
            }
        }
        Err(refusal(refusals.swap_remove(0)))
    }

    fn search(&self, problem: &Problem, cx: &mut SearchContext) -> Result<Run, SolveError> {
        let takes_part = |row: &&Row| (row.looks_at_all(problem) || row.is_widely_good) && row.supports(problem).is_ok();
        let mut rows: Vec<&Row> = ROWS.iter().filter(takes_part).collect();
        rows.sort_by_key(|row| !row.looks_at_all(problem));
        if let [row] = rows[..] {
            return (row.solver)().search(problem, cx);
        }
        let mut entrants: Vec<_> = rows.iter().map(|row| row.entrant(problem)).collect();
        entrants[0].first_looks *= FIRST_TURN;
        let ending = by_turns(cx, entrants);
        let mut runs = Vec::new();
        for (row, run) in rows.iter().zip(ending.results) {
            runs.extend(run.transpose()?.map(|run| (row.looks_at_all(problem), run)));
        }
        let mut stats = Stats { techniques: ending.techniques, ..Stats::default() };
        for (name, value) in runs.iter().flat_map(|(_, run)| &run.stats.figures) {
            if stats.get(name).is_none() {
                stats.set(name, *value);
            }
        }
        Ok(Run { outcome: joined(problem, runs, ending.known.bound), stats })
    }
}

/// How many turns the first one's first turn is worth: what it alone is good for mostly ends there.
const FIRST_TURN: u64 = 8;

/// What the runs say together, each with whether it looked at all splits that are asked for, beside the bound that they share.
fn joined(problem: &Problem, runs: Vec<(bool, Run)>, known: f64) -> Outcome {
    let is_infeasible = runs.iter().any(|(looks_at_all, run)| *looks_at_all && run.outcome == Outcome::Infeasible);
    let bounds = runs.iter().filter(|(looks_at_all, _)| *looks_at_all).filter_map(|(_, run)| run.outcome.bound());
    let best = bounds.max_by(|a, b| a.value.total_cmp(&b.value)).cloned();
    let scope = problem.spec.scope.clone();
    let source = best.as_ref().map_or(BoundSource::Refuted, |bound| bound.source);
    let value = best.map_or(known, |bound| bound.value.max(known));
    let bound = (value > 0.0).then_some(LowerBound { value, scope, source });
    let value = |run: &Run| run.outcome.solution().and_then(|split| split.objective).unwrap_or(f64::INFINITY);
    let best = runs.into_iter().map(|(_, run)| run).min_by(|a, b| value(a).total_cmp(&value(b)));
    match best.map(|run| run.outcome) {
        Some(Outcome::Optimal { solution, .. } | Outcome::Feasible { solution, .. }) => match bound {
            Some(bound) => super::found(solution, bound),
            None => Outcome::Feasible { solution, bound },
        },
        _ if is_infeasible => Outcome::Infeasible,
        _ => Outcome::Unknown { bound },
    }
}
