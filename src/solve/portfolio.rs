//! All that can find a split or prove one, by turns: what is asked where no method is named.

use super::certify::{self, Certify};
use super::dp::{self, IdealDp, PlainDp};
use super::positions::{self, PositionDp};
use super::{
    BoundSource, Guarantee, LowerBound, Outcome, Run, SearchContext, SolveError, Solver, Stats, Unsupported, found,
};
use crate::problem::{Objective, Problem, Scope};
use crate::search::{Entrant, by_turns};

/// The ideal DP, the plain one, that over positions, and branch and price, which take turns and share their splits and bounds.
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
/// let run = Portfolio::default().solve(&problem, &mut SearchContext::new())?;
/// let Outcome::Optimal { solution, .. } = run.outcome else { panic!("so small a problem is solved") };
/// assert_eq!(solution.objective, Some(7.0));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Portfolio {
    /// Looks at the limits in a turn; where `None`, about a fifth of a second's, and more in the first turn of the first one.
    pub looks: Option<u64>,
}

/// A row of the table.
struct Row {
    name: &'static str,
    solver: fn() -> Box<dyn Solver>,
    /// Why it does not take part, if it does not, whatever the scope.
    takes: fn(&Problem) -> Result<(), Unsupported>,
    /// Looks at the limits in a turn: about a fifth of a second, whoever it is.
    looks: u64,
    /// Whether it raises the bound in long steps, for each of which it needs many turns.
    is_steady: bool,
    /// Whether its own splits are into successive ideals, whatever is asked for.
    is_acyclic: bool,
    /// Whether its splits are worth their time where wider scopes are asked for.
    is_widely_good: bool,
    /// More nodes than these are no use to it where splits into successive ideals are asked for.
    most_nodes: usize,
}

/// Who takes part, in the order of their turns.
const ROWS: [Row; 4] = [
    Row {
        name: "dp",
        solver: || Box::new(IdealDp::default()),
        takes: |problem| dp::takes("dp", problem),
        looks: 384,
        is_steady: false,
        is_acyclic: true,
        is_widely_good: true,
        most_nodes: usize::MAX,
    },
    Row {
        name: "dp:plain",
        solver: || Box::new(PlainDp::default()),
        takes: |problem| dp::takes("dp:plain", problem).and_then(|()| dp::plain::takes(problem)),
        looks: 256,
        is_steady: true,
        is_acyclic: true,
        is_widely_good: false,
        most_nodes: 10_000,
    },
    Row {
        name: "dp:positions",
        solver: || Box::new(PositionDp),
        takes: |problem| dp::takes("dp:positions", problem).and_then(|()| positions::takes(problem)),
        looks: 384,
        is_steady: true,
        is_acyclic: true,
        is_widely_good: false,
        most_nodes: 10_000,
    },
    Row {
        name: "certify",
        solver: || Box::new(Certify),
        takes: certify::takes,
        looks: 8_192,
        is_steady: false,
        is_acyclic: false,
        is_widely_good: true,
        most_nodes: 10_000,
    },
];

impl Row {
    /// The scope of the splits that it looks at.
    fn scope<'a>(&self, asked: &'a Scope) -> &'a Scope {
        if self.is_acyclic { &Scope::Acyclic } else { asked }
    }

    /// Whether it looks at all splits of the scope that is asked for.
    fn looks_at_all(&self, asked: &Scope) -> bool {
        self.scope(asked) == asked
    }

    /// Whether it minimises what is asked for, and not the largest load in its place.
    fn minimises(&self, objective: Objective) -> bool {
        objective.microbatches().is_none() || (self.solver)().knows_steps()
    }

    /// Its place at the table.
    fn entrant<'a>(&self, problem: &'a Problem) -> Entrant<'a, Result<Run, SolveError>> {
        let (solver, looks_at_all) = ((self.solver)(), self.looks_at_all(&problem.spec.scope));
        let scope = self.scope(&problem.spec.scope).clone();
        let run = move |cx: &mut SearchContext| match looks_at_all {
            true => solver.search(problem, cx),
            false => {
                let mut own = problem.clone();
                own.spec.scope = scope;
                solver.search(&own, cx)
            }
        };
        let Self { name, looks, is_steady, .. } = *self;
        Entrant { name, looks_at_all, is_steady, looks, first_looks: looks, run: Box::new(run) }
    }
}

impl Solver for Portfolio {
    fn name(&self) -> &str {
        "portfolio"
    }

    fn guarantee(&self) -> Guarantee {
        Guarantee::Exact
    }

    fn knows_steps(&self) -> bool {
        true
    }

    fn supports(&self, problem: &Problem) -> Result<(), Unsupported> {
        let refusal = |reason| Unsupported { solver: self.name().into(), reason };
        match (&problem.spec.scope, problem.spec.objective) {
            (Scope::Linearized(_), _) => {
                return Err(refusal("it does not take one given order; ask for the scope `acyclic`".into()));
            }
            (_, Objective::GPipe) => return Err(refusal("it minimises the largest load alone; use dp".into())),
            _ => {}
        }
        let spec = &problem.spec;
        let exact = ROWS.iter().filter(|row| row.looks_at_all(&spec.scope) && row.minimises(spec.objective));
        let takes = exact.map(|row| (row.takes)(problem));
        let first_reason = takes.reduce(|first, next| first.or_else(|reason| next.map_err(|_| reason)));
        first_reason.unwrap_or(Ok(())).map_err(|unsupported| refusal(unsupported.reason))
    }

    fn search(&self, problem: &Problem, cx: &mut SearchContext) -> Result<Run, SolveError> {
        let asked = &problem.spec.scope;
        let objective = problem.spec.objective;
        let is_of_use = |row: &Row| match asked {
            // There is no other for a step.
            Scope::Acyclic => problem.node_count() <= row.most_nodes || objective.microbatches().is_some(),
            _ => row.looks_at_all(asked) || row.is_widely_good,
        };
        let takes_part = |row: &&Row| is_of_use(row) && row.minimises(objective) && (row.takes)(problem).is_ok();
        let mut rows: Vec<&Row> = ROWS.iter().filter(takes_part).collect();
        rows.sort_by_key(|row| !row.looks_at_all(asked));
        if cx.memory_left() < LEAST_MEMORY {
            rows.truncate(1);
        }
        if let [row] = rows[..] {
            return (row.solver)().search(problem, cx);
        }
        let mut entrants: Vec<_> = rows.iter().map(|row| row.entrant(problem)).collect();
        entrants[0].first_looks *= FIRST_TURN;
        if let Some(looks) = self.looks {
            entrants.iter_mut().for_each(|entrant| (entrant.looks, entrant.first_looks) = (looks.max(1), looks.max(1)));
        }
        let closes = |run: &Result<Run, SolveError>| run.as_ref().is_ok_and(|run| run.outcome == Outcome::Infeasible);
        let (standing, results) = by_turns(cx, entrants, closes);
        let name = |index: usize| rows[index].name;
        let (solution_by, bound_by) = (standing.best.map(name), standing.bound_by.map(name));
        let mut stats = Stats { techniques: standing.techniques, solution_by, bound_by, ..Stats::default() };
        let (mut split, mut source, mut is_infeasible) = (None, BoundSource::Refuted, false);
        for (index, (row, run)) in rows.iter().zip(results).enumerate() {
            let Some(Run { outcome, stats: own }) = run.transpose()? else { continue };
            // How far those came who were sent away depends on the machine.
            let was_sent_away = standing.settled_by.is_some_and(|last| index > last);
            for (name, value) in own.figures {
                if stats.get(name).is_none() && !was_sent_away {
                    stats.set(name, value);
                }
            }
            is_infeasible |= row.looks_at_all(asked) && outcome == Outcome::Infeasible;
            if standing.bound_by == Some(index) {
                source = outcome.bound().map_or(source, |bound| bound.source);
            }
            if standing.best == Some(index) {
                split = outcome.solution().cloned();
            }
        }
        let known = standing.known;
        let bound = LowerBound { value: known.bound, scope: asked.clone(), source };
        let is_known = bound.value > 0.0 || known.objective == 0.0;
        let outcome = match (split, Some(bound).filter(|_| is_known)) {
            (Some(solution), Some(bound)) => found(solution, bound),
            (Some(solution), None) => Outcome::Feasible { solution, bound: None },
            (None, _) if is_infeasible => Outcome::Infeasible,
            (None, bound) => Outcome::Unknown { bound },
        };
        Ok(Run { outcome, stats })
    }
}

/// With less memory than this, in bytes, they would be in each other's way: the threads alone take a good part of it.
const LEAST_MEMORY: usize = 512 << 20;

/// How many turns the first one's first turn is worth: what it alone is good for mostly ends there.
const FIRST_TURN: u64 = 10;
