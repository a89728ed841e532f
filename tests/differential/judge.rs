//! Holds what methods say of a case against its true optimum.

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::{Duration, Instant};

use dagsplit::problem::{Problem, Solution};
use dagsplit::registry;
use dagsplit::solve::{Guarantee, Outcome, SearchContext, SolveError, Solver};
use dagsplit::verify;
use num_bigint::BigInt;

use super::generator::Case;
use super::oracle::{Answer, Oracle};

/// Methods with a proof, which are also the default ones of what they take.
pub const EXACT: &[&str] = &["portfolio", "dp", "dp:plain", "certify", "latency-dp", "sharding-bb"];

/// The default method of what is left, exhaustive search, and methods without proof, cut short so that a case takes
/// little time.
pub const OTHERS: &[&str] = &[
    "auto",
    "brute-force",
    "dpl",
    "dp:positions",
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
const PATIENCE: Duration = Duration::from_secs(120);

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

/// How often each method answered what, and for how many microseconds it thought.
#[derive(Debug, Default)]
pub struct Tally(BTreeMap<(&'static str, String), u64>);

impl Tally {
    /// Counts one answer.
    pub fn count(&mut self, method: &'static str, what: impl Into<String>) {
        *self.0.entry((method, what.into())).or_default() += 1;
    }

    fn time(&mut self, method: &'static str, since: Instant) {
        *self.0.entry((method, "µs".into())).or_default() += since.elapsed().as_micros() as u64;
    }

    /// Adds what another counted.
    pub fn add(&mut self, other: Self) {
        other.0.into_iter().for_each(|(key, count)| *self.0.entry(key).or_default() += count);
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
    let Some(mut reference) = Reference::new(case, tally) else { return Vec::new() };
    let problem = Problem::new(&case.instance, case.spec.clone()).expect("generated problems are valid");
    let mut failures = Vec::new();
    for method in methods {
        if let Err((wrong, message)) = one(method, &problem, &mut reference, seed, tally) {
            tally.count(method, format!("WRONG {wrong:?}"));
            failures.push(Failure { method, wrong, message });
        }
    }
    failures
}

/// The method, where it takes the problem and this is built with it; the default one only where it is none of [`EXACT`].
fn solver(method: &str, problem: &Problem) -> Option<Box<dyn Solver>> {
    let solver = match method {
        "auto" => registry::automatic(problem).ok().filter(|solver| !EXACT.contains(&solver.name())),
        _ => registry::solver(method).ok(),
    };
    solver.filter(|solver| solver.supports(problem).is_ok())
}

fn one(
    method: &'static str,
    problem: &Problem,
    reference: &mut Reference,
    seed: u64,
    tally: &mut Tally,
) -> Result<(), (Wrong, String)> {
    let Some(solver) = solver(method, problem) else { return Ok(()) };
    let started = Instant::now();
    let run = catch_unwind(AssertUnwindSafe(|| {
        let mut cx = SearchContext::new().with_time_limit(PATIENCE);
        (cx.seed, cx.threads) = (seed, if seed.is_multiple_of(16) { 2 } else { 1 });
        solver.solve(problem, &mut cx)
    }));
    tally.time(method, started);
    let outcome = match run {
        Ok(Ok(run)) => run.outcome,
        Ok(Err(SolveError::Unsupported(_))) => return Ok(()),
        Ok(Err(error)) => return Err((Wrong::Error, error.to_string())),
        Err(panic) => return Err((Wrong::Panic, said(panic.as_ref()))),
    };
    tally.count(method, outcome.status().name());
    let asked = &problem.spec.scope;
    if let Some(bound) = outcome.bound().filter(|bound| bound.scope.covers(asked)) {
        reference.bound(bound.value)?;
    }
    if let Some(solution) = outcome.solution() {
        reference.split(solution)?;
    }
    match &outcome {
        Outcome::Optimal { solution, .. } => reference.optimal(solution.objective.unwrap_or(f64::NAN)),
        Outcome::Infeasible => reference.infeasible(),
        _ if solver.guarantee() == Guarantee::Heuristic => Ok(()),
        _ => {
            let objective = outcome.solution().and_then(|split| split.objective);
            match reference.proves(objective, outcome.bound().map(|bound| bound.value)) {
                true => Ok(()),
                false => Err((Wrong::Unproven, format!("{outcome:?}"))),
            }
        }
    }
}

/// The true optimum of a case, and what it says about answers.
pub struct Reference<'a> {
    case: &'a Case,
    oracle: Oracle<'a>,
    optimum: Option<BigInt>,
}

impl<'a> Reference<'a> {
    /// Looks at every split; `None` where whether some fits in memory depends on roundings.
    pub fn new(case: &'a Case, tally: &mut Tally) -> Option<Self> {
        let mut oracle = Oracle::new(&case.instance, &case.spec);
        let started = Instant::now();
        let answer = oracle.solve();
        tally.time("oracle", started);
        tally.count("objective", case.spec.objective.name());
        tally.count("scope", case.spec.scope.name());
        let (what, optimum) = match answer {
            Answer::Optimum(value) => ("feasible", Some(value)),
            Answer::Infeasible => ("infeasible", None),
            Answer::TooClose => ("skipped", None),
        };
        tally.count("oracle", what);
        (what != "skipped").then_some(Self { case, oracle, optimum })
    }

    /// No bound is above the optimum.
    pub fn bound(&self, bound: f64) -> Result<(), (Wrong, String)> {
        let Some(optimum) = &self.optimum else { return Ok(()) };
        let is_low = bound.is_finite() && self.oracle.number(bound) <= optimum + self.tolerance(optimum);
        if is_low { Ok(()) } else { Err((Wrong::Bound, format!("bound {bound:e}, optimum {}", self.shown()))) }
    }

    /// The verifier passes the split with its claim, and both say what it has in exact numbers.
    fn split(&mut self, solution: &Solution) -> Result<(), (Wrong, String)> {
        let Some(claimed) = solution.objective else { return Err((Wrong::Rejected, "it claims nothing".into())) };
        let verified = verify::check(&self.case.instance, &self.case.spec, solution).map_err(|violations| {
            let listed: Vec<String> = violations.iter().map(ToString::to_string).collect();
            (Wrong::Rejected, format!("{}; {solution:?}", listed.join("; ")))
        })?;
        self.objective(claimed, Some(solution))?;
        self.objective(verified.objective(), Some(solution))
    }

    /// The objective of a split is that of `split` in exact numbers, where it is known, and none is below the optimum.
    pub fn objective(&mut self, value: f64, split: Option<&Solution>) -> Result<(), (Wrong, String)> {
        let Some(optimum) = self.optimum.clone() else {
            return Err((
                Wrong::Feasibility,
                format!("there is no split, but {split:?} of {value:e} is said to be one"),
            ));
        };
        let number = self.oracle.number(value);
        let exact = split.and_then(|split| self.oracle.value_of(split)).unwrap_or_else(|| number.clone());
        let is_below = number < optimum && self.differ(&number, &optimum);
        if is_below || self.differ(&number, &exact) {
            return Err((
                Wrong::Value,
                format!("{split:?} is said to have {value:e}, the optimum is {}", self.shown()),
            ));
        }
        Ok(())
    }

    /// An optimum is the optimum.
    pub fn optimal(&self, value: f64) -> Result<(), (Wrong, String)> {
        match &self.optimum {
            Some(optimum) if self.differ(&self.oracle.number(value), optimum) => {
                Err((Wrong::Optimum, format!("{value:e} is called optimal, the optimum is {}", self.shown())))
            }
            _ => Ok(()),
        }
    }

    /// Whether bound and objective meet but for roundings, those of squares included.
    pub fn proves(&self, objective: Option<f64>, bound: Option<f64>) -> bool {
        let both = objective.zip(bound).map(|(objective, bound)| [objective, bound].map(|x| self.oracle.number(x)));
        both.is_some_and(|[objective, bound]| !self.differ(&objective, &bound))
    }

    /// There is no split.
    pub fn infeasible(&self) -> Result<(), (Wrong, String)> {
        match self.optimum {
            None => Ok(()),
            Some(_) => Err((Wrong::Feasibility, format!("no split is said to exist; the optimum is {}", self.shown()))),
        }
    }

    /// Whether two objectives are further apart than a part of 1e-9 of the larger, and what roundings allow: those of the
    /// oracle, and that of an objective to a double.
    fn differ(&self, a: &BigInt, b: &BigInt) -> bool {
        let distance = if a > b { a - b } else { b - a };
        distance > self.tolerance(a.max(b))
    }

    fn tolerance(&self, value: &BigInt) -> BigInt {
        value / 10u64.pow(9) + value / 2u64.pow(52) + self.oracle.rounding()
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
