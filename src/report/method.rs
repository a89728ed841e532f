//! What one of several methods made of a problem, whatever it looked for, and whether all of them can be right.

use serde::Serialize;

use crate::mapping::MappingRun;
use crate::problem::Scope;
pub use crate::search::gap;
use crate::search::{Bound, OPTIMALITY_TOLERANCE, Outcome};
use crate::solve::{Run, Status};
use crate::verify::Verified;
use crate::verify::mapping::VerifiedMapping;

/// How one of several methods did.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct MethodRecord {
    /// The method, as it was asked for.
    pub method: String,
    /// `arbitrary`, `convex` or `acyclic`, where splits are looked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scope: Option<&'static str>,
    /// How it ended.
    pub status: Status,
    /// The verified objective value.
    pub objective: Option<f64>,
    /// The method's own lower bound.
    pub lower_bound: Option<f64>,
    /// The gap between its objective and its own bound: (objective − lower bound) / objective.
    pub gap: Option<f64>,
    /// Wall-clock seconds.
    pub seconds: f64,
}

impl MethodRecord {
    /// The record of `run`, whose split the verifier has passed as `verified`. A bound, and with it a proof, counts only
    /// where it holds for every split of the scope that was asked for.
    pub fn new(method: &str, scope: &Scope, run: &Run, verified: Option<&Verified>, seconds: f64) -> Self {
        let bound = run.outcome.bound().filter(|bound| bound.scope.covers(scope)).map(Bound::value);
        let record = Self::of(method, &run.outcome, verified.map(Verified::objective), bound, seconds);
        Self { scope: Some(scope.name()), ..record }
    }

    /// The record of a mapper's `run`, whose mapping the verifier has passed as `verified`.
    pub fn of_mapping(method: &str, run: &MappingRun, verified: Option<&VerifiedMapping>, seconds: f64) -> Self {
        let is_proven = matches!(run.outcome, Outcome::Optimal { .. });
        let bound = run.outcome.bound().copied().filter(|&bound| bound > 0.0 || is_proven);
        Self::of(method, &run.outcome, verified.map(VerifiedMapping::objective), bound, seconds)
    }

    /// Where the bound leaves no gap the solution is optimal, and nowhere else, whatever the method calls it.
    fn of<S, B>(
        method: &str,
        outcome: &Outcome<S, B>,
        objective: Option<f64>,
        lower_bound: Option<f64>,
        seconds: f64,
    ) -> Self {
        let gap = objective.zip(lower_bound).and_then(|(objective, bound)| gap(objective, bound));
        let status = match outcome.status() {
            Status::Optimal | Status::Feasible if gap == Some(0.0) => Status::Optimal,
            Status::Optimal => Status::Feasible,
            status => status,
        };
        Self { method: method.into(), scope: None, status, objective, lower_bound, gap, seconds }
    }

    /// The record of a method whose split the verifier rejects: nothing it says counts.
    pub fn rejected(method: &str, scope: &Scope, seconds: f64) -> Self {
        let (objective, lower_bound, gap) = (None, None, None);
        let (method, scope, status) = (method.into(), Some(scope.name()), Status::Rejected);
        Self { method, scope, status, objective, lower_bound, gap, seconds }
    }

    /// Whether a bound of this record holds for what `other` is about.
    pub fn covers(&self, other: &Self) -> bool {
        self.scope == other.scope || self.scope.and_then(Scope::width) > other.scope.and_then(Scope::width)
    }

    /// Position of the best record: least objective, then highest bound, then first; a solution beats none, and a proof
    /// that there is none beats not knowing.
    pub fn best(records: &[Self]) -> usize {
        let key = |record: &Self| {
            let knows_nothing = matches!(record.status, Status::Unknown | Status::Rejected);
            (record.objective.unwrap_or(f64::INFINITY), knows_nothing, -record.lower_bound.unwrap_or(f64::NEG_INFINITY))
        };
        let better = |a: &Self, b: &Self| {
            let (a, b) = (key(a), key(b));
            a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)).then(a.2.total_cmp(&b.2))
        };
        (0..records.len()).min_by(|&i, &j| better(&records[i], &records[j])).unwrap_or(0)
    }
}

/// Two things that cannot both be true: a bug in a method.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum Contradiction {
    /// A verified solution is better than a lower bound allows.
    #[error("method {finder} found a valid {} of {objective}, but method {prover} claims a lower bound of {bound}", noun(*.is_split))]
    BoundExceeded {
        /// Whose solution it is.
        finder: String,
        /// The solution's verified objective.
        objective: f64,
        /// Whose bound it is.
        prover: String,
        /// The bound.
        bound: f64,
        /// Whether it is a split, or else a mapping.
        is_split: bool,
    },
    /// A solution was found where there is said to be none.
    #[error("method {finder} found a valid {}, but method {prover} claims that there is none", noun(*.is_split))]
    NotInfeasible {
        /// Whose solution it is.
        finder: String,
        /// Who claims that there is none.
        prover: String,
        /// Whether it is a split, or else a mapping.
        is_split: bool,
    },
}

fn noun(is_split: bool) -> &'static str {
    if is_split { "split" } else { "mapping" }
}

/// Checks that what several methods claim of one problem, each for its scope, can all be true.
///
/// # Errors
/// The first [`Contradiction`] found.
pub fn consistent(records: &[MethodRecord]) -> Result<(), Contradiction> {
    for found in records {
        let (finder, Some(objective)) = (found.method.clone(), found.objective) else { continue };
        let is_split = found.scope.is_some();
        for claim in records.iter().filter(|claim| claim.covers(found)) {
            let prover = claim.method.clone();
            if claim.status == Status::Infeasible {
                return Err(Contradiction::NotInfeasible { finder, prover, is_split });
            }
            if let Some(bound) = claim.lower_bound.filter(|&bound| bound - objective > OPTIMALITY_TOLERANCE * objective)
            {
                return Err(Contradiction::BoundExceeded { finder, objective, prover, bound, is_split });
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::instance::Instance;
    use crate::instance::{Node, Platform};
    use crate::problem::{DeviceAssignment, Solution};
    use crate::problem::{DeviceKind, ProblemSpec};
    use crate::solve::Stats;
    use crate::solve::{BoundSource, LowerBound, Outcome};
    use crate::units::percent;

    #[test]
    fn a_bound_without_a_gap_is_a_proof() {
        let node = |id| Node { accelerator_times: vec![Some(3.0)], ..Node::new(id) };
        let (platform, nodes) = (Platform::uniform(1, None, 0), vec![node(0), node(1)]);
        let instance = Instance { platform, nodes, ..Instance::default() };
        let spec = ProblemSpec::of(&instance);
        let devices = vec![DeviceAssignment::new(DeviceKind::Accelerator(0), vec![0, 1])];
        let solution = Solution { devices, objective: None };
        let verified = crate::verify::check(&instance, &spec, &solution).unwrap();
        let status = |value: f64, scope: Scope| {
            let bound = Some(LowerBound { value, scope, source: BoundSource::Refuted });
            let run = Run { outcome: Outcome::Feasible { solution: solution.clone(), bound }, stats: Stats::default() };
            let record = MethodRecord::new("m", &spec.scope, &run, Some(&verified), 0.0);
            (record.status, record.gap.map(percent))
        };
        let shown = |text: &str| Some(text.to_owned());
        assert_eq!(status(6.0, Scope::Acyclic), (Status::Optimal, shown("0 %")));
        assert_eq!(status(6.0 * (1.0 - 0.5e-9), Scope::Arbitrary), (Status::Optimal, shown("0 %")));
        assert_eq!(status(6.0 * (1.0 - 5.4e-7), Scope::Acyclic), (Status::Feasible, shown("5.4e-5 %")));
        assert_eq!(status(3.0, Scope::Acyclic), (Status::Feasible, shown("50.00 %")));
        // A bound for fewer splits than were asked for proves nothing.
        assert_eq!(status(6.0, Scope::Linearized(vec![0, 1])), (Status::Feasible, None));
    }

    fn record(status: Status, objective: Option<f64>, lower_bound: Option<f64>) -> MethodRecord {
        MethodRecord {
            method: "m".into(),
            scope: Some("acyclic"),
            status,
            objective,
            lower_bound,
            gap: None,
            seconds: 0.0,
        }
    }

    #[test]
    fn contradictions_are_found() {
        let proven = record(Status::Optimal, Some(5.0), Some(5.0));
        assert_eq!(consistent(&[proven.clone(), record(Status::Feasible, Some(6.0), None)]), Ok(()));
        let better = record(Status::Feasible, Some(4.0), None);
        assert!(matches!(consistent(&[better, proven.clone()]), Err(Contradiction::BoundExceeded { .. })));
        let none = record(Status::Infeasible, None, None);
        assert!(matches!(consistent(&[none.clone(), proven]), Err(Contradiction::NotInfeasible { .. })));
        assert_eq!(consistent(&[none.clone(), none]), Ok(()));
    }

    #[test]
    fn the_best_record_has_the_least_objective_then_the_most_proof() {
        let unknown = record(Status::Unknown, None, Some(1.0));
        let (plain, proven) =
            (record(Status::Feasible, Some(5.0), None), record(Status::Optimal, Some(5.0), Some(5.0)));
        assert_eq!(MethodRecord::best(&[unknown.clone(), plain.clone(), proven]), 2);
        assert_eq!(MethodRecord::best(&[plain.clone(), plain]), 0);
        assert_eq!(MethodRecord::best(&[unknown, record(Status::Infeasible, None, None)]), 1);
    }
}
