//! One case before all laws: the partitioner runs on it, again, under other names, and cancelled.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::Law;
use super::judge::Judged;
use super::partitioner::{Answer, Case, Fault, Partitioner, Request};
use super::reference::{Reference, is_enumerated};
use super::renumber::renumbered;
use crate::problem::Problem;
use crate::solve::Outcome;
use crate::units::number;
use crate::verify;

/// The conditions under which a partitioner is tried.
#[derive(Clone)]
pub(super) struct Trial<'a> {
    pub partitioner: &'a dyn Partitioner,
    /// The laws that it is held to.
    pub laws: BTreeSet<Law>,
    pub seed: u64,
    pub time_limit: Duration,
    pub grace: Duration,
    /// Whether exact methods say what the answers should be.
    pub with_reference: bool,
    /// Ends the trial.
    pub stop: &'a Arc<AtomicBool>,
}

/// What came of a case.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Tried {
    /// Nothing: it is no valid problem, or the trial was stopped.
    Nothing,
    /// The partitioner does not take it, and why.
    Refused(String),
    /// The partitioner was held to the laws.
    Judged(Judged),
}

impl Trial<'_> {
    /// The same conditions with these laws alone.
    pub fn with_laws(&self, laws: impl IntoIterator<Item = Law>) -> Self {
        Self { laws: laws.into_iter().collect(), ..self.clone() }
    }

    /// Tries `case`. Only the laws that the partitioner is held to are judged.
    pub fn run(&self, case: &Case) -> Tried {
        let Some(problem) = case.problem() else { return Tried::Nothing };
        if case.costs.is_some() && self.partitioner.is_program() {
            return Tried::Refused("programs know the costs of profiled instances alone".into());
        }
        if let Err(unsupported) = self.partitioner.supports(&problem) {
            return Tried::Refused(unsupported.reason);
        }
        let mut judged = match self.split(case, &problem, self.stop) {
            Err(fault) => {
                let mut judged = Judged::default();
                judged.check(fault.law(), Some(fault.to_string()));
                judged
            }
            Ok(answer) => self.judge(case, &problem, &answer),
        };
        if self.stop.load(Ordering::Relaxed) {
            return Tried::Nothing;
        }
        judged.checked.retain(|law| self.laws.contains(law));
        judged.breaches.retain(|breach| self.laws.contains(&breach.law));
        Tried::Judged(judged)
    }

    fn split(&self, case: &Case, problem: &Problem, stop: &Arc<AtomicBool>) -> Result<Answer, Fault> {
        let (seed, time_limit, grace, stop) = (self.seed, self.time_limit, self.grace, Arc::clone(stop));
        self.partitioner.split(&Request { case, problem, seed, time_limit, grace, stop })
    }

    fn judge(&self, case: &Case, problem: &Problem, answer: &Answer) -> Judged {
        let name = self.partitioner.name();
        let reference = if self.with_reference { Reference::of(case, problem, name) } else { Reference::default() };
        let mut judged = Judged::against(reference);
        judged.check(Law::Runs, None);
        judged.check(Law::Readable, None);
        judged.check(Law::Limits, late(answer, self.time_limit, self.grace));
        judged.answer(case, &answer.outcome, !self.partitioner.is_program());
        if self.had_time(answer) {
            self.proof(problem, answer, &mut judged);
            self.determinism(case, problem, answer, &mut judged);
            self.renumbering(case, answer, &mut judged);
        }
        self.cancellation(case, problem, &mut judged);
        judged
    }

    /// Whether the time limit had no part in the answer.
    fn had_time(&self, answer: &Answer) -> bool {
        answer.elapsed < self.time_limit / 2
    }

    fn proof(&self, problem: &Problem, answer: &Answer, judged: &mut Judged) {
        if is_enumerated(problem) {
            let gave_up = matches!(answer.outcome, Outcome::Feasible { .. } | Outcome::Unknown { .. });
            let status = answer.outcome.status();
            judged.check(Law::Proof, gave_up.then(|| format!("it ended without a limit and says `{status}`")));
        }
    }

    fn determinism(&self, case: &Case, problem: &Problem, first: &Answer, judged: &mut Judged) {
        if !self.laws.contains(&Law::Deterministic) {
            return;
        }
        let breach = match self.split(case, problem, self.stop) {
            Err(fault) => Some(format!("it answered, but the second time {fault}")),
            Ok(second) if !self.had_time(&second) || second.outcome == first.outcome => None,
            Ok(second) => {
                let shown = |answer: &Answer| format!("{} {}", answer.outcome.status(), objective(answer));
                let (first, second) = (shown(first), shown(&second));
                let same = if first == second { ", but another split" } else { "" };
                Some(format!("the first answer is {first}, the second {second}{same}"))
            }
        };
        judged.check(Law::Deterministic, breach);
    }

    fn renumbering(&self, case: &Case, first: &Answer, judged: &mut Judged) {
        if !self.laws.contains(&Law::Renumbering) {
            return;
        }
        let Some(case) = renumbered(case) else { return };
        let Some(problem) = case.problem() else { return };
        let breach = match self.split(&case, &problem, self.stop) {
            Err(fault) => Some(format!("under other numbers {fault}")),
            Ok(second) => {
                let values = [first, &second].map(|answer| answer.outcome.solution().and_then(|s| s.objective));
                let agree = match values {
                    [Some(a), Some(b)] => (a - b).abs() <= verify::CLAIM_TOLERANCE * a.abs().max(b.abs()),
                    [a, b] => a.is_none() && b.is_none(),
                };
                let (before, after) = (objective(first), objective(&second));
                (!agree && self.had_time(&second)).then(|| format!("{before} turns to {after} under other numbers"))
            }
        };
        judged.check(Law::Renumbering, breach);
    }

    fn cancellation(&self, case: &Case, problem: &Problem, judged: &mut Judged) {
        if !self.laws.contains(&Law::Cancellation) {
            return;
        }
        let breach = match self.split(case, problem, &Arc::new(AtomicBool::new(true))) {
            Err(fault) => Some(fault.to_string()),
            Ok(answer) => {
                let mut cancelled = Judged::against(judged.reference.clone());
                cancelled.answer(case, &answer.outcome, true);
                // What is wrong without cancellation, too, is another law's affair.
                let wrong = cancelled.breaches.into_iter().find(|_| judged.breaches.is_empty());
                wrong.map(|breach| breach.detail).or_else(|| late(&answer, Duration::ZERO, self.grace))
            }
        };
        judged.check(Law::Cancellation, breach);
    }
}

fn late(answer: &Answer, limit: Duration, grace: Duration) -> Option<String> {
    let elapsed = answer.elapsed;
    (elapsed > limit.saturating_add(grace)).then(|| format!("it took {elapsed:.1?} where {limit:.1?} were allowed"))
}

/// What an answer claims.
fn objective(answer: &Answer) -> String {
    let solution = answer.outcome.solution();
    solution.and_then(|split| split.objective).map_or_else(|| "without objective".into(), number)
}
