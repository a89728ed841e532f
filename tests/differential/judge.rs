//! Holds what methods say of a case against its true optimum.

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

use dagsplit::problem::Problem;
use dagsplit::solve::{Guarantee, Outcome, SearchContext, SolveError, registry};
use dagsplit::verify;
use num_bigint::BigInt;

use super::generator::Case;
use super::oracle::{Answer, Oracle};

/// Methods with a proof. `auto` is one of them.
pub const EXACT: &[&str] = &["dp", "certify", "latency-dp", "sharding-bb", "brute-force"];

/// Methods without, cut short so that a case takes little time.
pub const HEURISTIC: &[&str] = &[
    "dpl",
    "greedy",
    "parmesan",
    "pipedream",
    "local-search:restarts=2,steps=200",
    "uniform",
    "single-device",
    "max-load",
    "rannc",
    "slicegraph:population=4,generations=2",
    "annealing:patience=2",
    "kernighan-lin:starts=2",
    "hierarchical:starts=2",
];

/// Integer programs, which take much longer than all others.
pub const PROGRAMS: &[&str] = &["ip:strong", "ip:published"];

/// Far more than any method needs for so little.
const PATIENCE: Duration = Duration::from_secs(20);

/// What is wrong with an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Wrong {
    Panic,
    Error,
    /// The verifier does not pass the split with its claim.
    Rejected,
    /// The objective is not what the split has in exact numbers.
    Value,
    /// An optimum that is none.
    Optimum,
    /// A bound above the optimum.
    Bound,
    /// There is a split, or there is none.
    Feasibility,
    /// An exact method without a proof, though it had the time.
    Unproven,
}

/// One wrong answer.
#[derive(Debug, Clone)]
pub struct Failure {
    pub method: &'static str,
    pub wrong: Wrong,
    pub message: String,
}

/// How often each method answered what.
#[derive(Debug, Default)]
pub struct Tally(pub BTreeMap<(&'static str, String), u64>);

impl Tally {
    fn count(&mut self, method: &'static str, what: impl Into<String>) {
        *self.0.entry((method, what.into())).or_default() += 1;
    }

    /// Both together.
    pub fn plus(mut self, other: Self) -> Self {
        other.0.into_iter().for_each(|(key, count)| *self.0.entry(key).or_default() += count);
        self
    }

    /// One line for each method.
    pub fn show(&self) -> String {
        let mut lines: BTreeMap<&str, String> = BTreeMap::new();
        for ((method, what), count) in &self.0 {
            lines.entry(method).or_insert_with(|| format!("{method:40}")).push_str(&format!(" {what} {count}"));
        }
        lines.into_values().collect::<Vec<_>>().join("\n")
    }
}

/// Asks each of the `methods` that takes the case.
pub fn judge(case: &Case, methods: &[&'static str], seed: u64, tally: &mut Tally) -> Vec<Failure> {
    let mut oracle = Oracle::new(&case.instance, &case.spec);
    let optimum = match oracle.solve() {
        Answer::Optimum(value) => Some(value),
        Answer::Infeasible => None,
        Answer::TooClose => {
            tally.count("oracle", "skipped");
            return Vec::new();
        }
    };
    tally.count("oracle", if optimum.is_some() { "feasible" } else { "infeasible" });
    tally.count("objective", case.spec.objective.name());
    tally.count("scope", case.spec.scope.name());
    let problem = Problem::new(&case.instance, case.spec.clone()).expect("generated problems are valid");
    let mut judge = Judge { case, problem, oracle, optimum, seed };
    let mut failures = Vec::new();
    for method in methods {
        match judge.one(method, tally) {
            Ok(()) => {}
            Err((wrong, message)) => {
                tally.count(method, format!("WRONG {wrong:?}"));
                failures.push(Failure { method, wrong, message });
            }
        }
    }
    failures
}

struct Judge<'a> {
    case: &'a Case,
    problem: Problem,
    oracle: Oracle<'a>,
    optimum: Option<BigInt>,
    seed: u64,
}

impl Judge<'_> {
    fn one(&mut self, method: &'static str, tally: &mut Tally) -> Result<(), (Wrong, String)> {
        let Ok(solver) = registry::solver(method) else { return Ok(()) }; // Built without it.
        if solver.supports(&self.problem).is_err() {
            return Ok(());
        }
        let run = catch_unwind(AssertUnwindSafe(|| {
            let mut cx = SearchContext::new().with_time_limit(PATIENCE);
            cx.seed = self.seed;
            solver.solve(&self.problem, &mut cx)
        }));
        let outcome = match run {
            Ok(Ok(run)) => run.outcome,
            Ok(Err(SolveError::Unsupported(_))) => return Ok(()),
            Ok(Err(error)) => return Err((Wrong::Error, error.to_string())),
            Err(panic) => return Err((Wrong::Panic, said(panic.as_ref()))),
        };
        tally.count(method, outcome.status());
        self.bound(&outcome)?;
        self.split(&outcome)?;
        match outcome {
            Outcome::Infeasible(scope) if self.optimum.is_some() && scope.covers(&self.problem.spec.scope) => {
                Err((Wrong::Feasibility, format!("no split is said to exist; the optimum is {}", self.shown())))
            }
            Outcome::Feasible { .. } | Outcome::Unknown { .. } if solver.guarantee() == Guarantee::Exact => {
                Err((Wrong::Unproven, format!("{outcome:?}")))
            }
            _ => Ok(()),
        }
    }

    fn bound(&self, outcome: &Outcome) -> Result<(), (Wrong, String)> {
        let Some(bound) = outcome.bound().filter(|bound| bound.scope.covers(&self.problem.spec.scope)) else {
            return Ok(());
        };
        let Some(optimum) = &self.optimum else { return Ok(()) };
        let is_low = bound.value.is_finite() && self.oracle.number(bound.value) <= optimum + self.tolerance(optimum);
        if is_low { Ok(()) } else { Err((Wrong::Bound, format!("bound {bound:?}, optimum {}", self.shown()))) }
    }

    fn split(&mut self, outcome: &Outcome) -> Result<(), (Wrong, String)> {
        let Some(solution) = outcome.solution() else { return Ok(()) };
        let Some(claimed) = solution.objective else { return Err((Wrong::Rejected, "it claims nothing".into())) };
        let verified = verify::check(&self.case.instance, &self.case.spec, solution).map_err(|violations| {
            let listed: Vec<String> = violations.iter().map(ToString::to_string).collect();
            (Wrong::Rejected, format!("{}; {solution:?}", listed.join("; ")))
        })?;
        let Some(optimum) = self.optimum.clone() else {
            return Err((Wrong::Feasibility, format!("there is no split, but the verifier passes {solution:?}")));
        };
        for value in [claimed, verified.objective()] {
            let exact = self.oracle.value_of(solution).unwrap_or_else(|| self.oracle.number(value));
            let number = self.oracle.number(value);
            if self.differ(&number, &exact) || (number < exact && self.differ(&number, &optimum) && number < optimum) {
                return Err((Wrong::Value, format!("claim or verifier say {value}, optimum {}", self.shown())));
            }
        }
        let is_optimal = matches!(outcome, Outcome::Optimal { .. });
        if is_optimal && self.differ(&self.oracle.number(claimed), &optimum) {
            return Err((Wrong::Optimum, format!("{claimed:e} is called optimal, the optimum is {}", self.shown())));
        }
        Ok(())
    }

    /// Whether two objectives are further apart than a part of 1e-9 of the larger, and what roundings allow.
    fn differ(&self, a: &BigInt, b: &BigInt) -> bool {
        let distance = if a > b { a - b } else { b - a };
        distance > self.tolerance(a.max(b))
    }

    fn tolerance(&self, value: &BigInt) -> BigInt {
        value / 10u64.pow(9) + self.oracle.rounding()
    }

    fn shown(&self) -> String {
        self.optimum.as_ref().map_or_else(|| "none".into(), |optimum| self.oracle.shown(optimum))
    }
}

/// What a panic said.
fn said(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().cloned();
    text.or_else(|| panic.downcast_ref::<&str>().map(ToString::to_string)).unwrap_or_else(|| "a panic".into())
}
