//! One answer before the laws about what it says.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::partitioner::Case;
use super::reference::{Reference, below};
use super::{Breach, Law};
use crate::problem::Solution;
use crate::solve::{LowerBound, Outcome};
use crate::units::number;
use crate::verify::Violation;

/// How many violations of a split a report tells of.
const VIOLATIONS_SHOWN: usize = 3;

/// The laws that an answer was held to, those that it broke, and how good it is.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Judged {
    pub checked: BTreeSet<Law>,
    pub breaches: Vec<Breach>,
    /// The verified objective value, where there is a split.
    pub objective: Option<f64>,
    pub reference: Reference,
}

impl Judged {
    /// Nothing judged yet, with what is known of the case.
    pub fn against(reference: Reference) -> Self {
        Self { reference, ..Self::default() }
    }

    /// Records that `law` was looked at, and how it was broken, if it was.
    pub fn check(&mut self, law: Law, breach: Option<String>) {
        self.checked.insert(law);
        self.breaches.extend(breach.map(|detail| Breach { law, detail }));
    }

    /// Holds `outcome` to the laws about its content; whether each split `must_claim` its objective value.
    pub fn answer(&mut self, case: &Case, outcome: &Outcome, must_claim: bool) {
        self.objective = outcome.solution().and_then(|split| self.split(case, split, must_claim));
        let bound = outcome.bound().filter(|bound| bound.scope.covers(&case.spec.scope));
        match outcome {
            Outcome::Optimal { .. } => {
                if let Some(objective) = self.objective {
                    self.check(Law::Optimal, self.not_optimal(objective, bound));
                }
            }
            Outcome::Infeasible => {
                let split = self.reference.upper;
                let wrong = split.map(|value| format!("there is a split, with objective {}", number(value)));
                self.check(Law::Infeasible, wrong);
            }
            Outcome::Feasible { .. } | Outcome::Unknown { .. } => {
                if let (Some(bound), Some(best)) = (bound, self.best_split()) {
                    let wrong = !bound.value.is_finite() || below(best, bound.value);
                    let detail = || format!("its bound is {}, but a split has {}", bound.value, number(best));
                    self.check(Law::Bound, wrong.then(detail));
                }
            }
        }
    }

    /// The value of the best split known.
    fn best_split(&self) -> Option<f64> {
        self.objective.into_iter().chain(self.reference.upper).min_by(f64::total_cmp)
    }

    fn not_optimal(&self, objective: f64, bound: Option<&LowerBound>) -> Option<String> {
        let objective_shown = number(objective);
        if let Some(better) = self.reference.upper.filter(|&best| below(best, objective)) {
            return Some(format!("it calls {objective_shown} optimal, but a split has {}", number(better)));
        }
        match bound {
            None => Some(format!("it calls {objective_shown} optimal by a bound for other splits")),
            Some(bound) if !agree(bound.value, objective) => {
                Some(format!("it calls {objective_shown} optimal by the bound {}", bound.value))
            }
            Some(_) => None,
        }
    }

    /// The verified objective value of a split.
    fn split(&mut self, case: &Case, split: &Solution, must_claim: bool) -> Option<f64> {
        let (objective, claim_is_right) = match case.verify(split) {
            Ok(verified) => (verified.objective(), true),
            Err(violations) => match violations[..] {
                [Violation::WrongObjective { recomputed, .. }] => (recomputed, false),
                _ => {
                    self.check(Law::Feasible, Some(listed(&violations)));
                    return None;
                }
            },
        };
        self.check(Law::Feasible, None);
        match (split.objective, self.reference.lower) {
            (Some(claim), Some(lower)) if below(claim, lower) => {
                let detail = format!("it claims {claim}, but no split is below {}", number(lower));
                self.check(Law::NotBelowOptimum, Some(detail));
            }
            (Some(claim), lower) => {
                if lower.is_some() {
                    self.check(Law::NotBelowOptimum, None);
                }
                let detail = || format!("it claims {claim}, but its split has {}", number(objective));
                self.check(Law::Claim, (!claim_is_right).then(detail));
            }
            (None, _) if must_claim => self.check(Law::Claim, Some("its split claims no objective value".into())),
            (None, _) => {}
        }
        Some(objective)
    }
}

/// Whether two values are the same but for the rounding of sums.
fn agree(a: f64, b: f64) -> bool {
    a.is_finite() && b.is_finite() && !below(a, b) && !below(b, a)
}

fn listed(violations: &[Violation]) -> String {
    let shown: Vec<String> = violations.iter().take(VIOLATIONS_SHOWN).map(Violation::to_string).collect();
    let more = violations.len().saturating_sub(VIOLATIONS_SHOWN);
    let rest = if more > 0 { format!("; and {more} more") } else { String::new() };
    shown.join("; ") + &rest
}
