//! Multilevel simulated annealing as a solver of its own.

use super::Setting;
use super::multilevel::Multilevel;
use crate::preprocess::{Unordered, joint};
use crate::problem::{Objective, Problem, Scope};
use crate::solve::{
    BoundSource, Guarantee, LowerBound, Outcome, Progress, Run, SearchContext, SolveError, Solver, Stats, Unsupported,
};
use crate::solve::{in_pool, refuse_recomputation, refuse_sharding};

/// Rounds of multilevel annealing (`Multilevel`) until none has helped for a while, or a limit comes.
///
/// A heuristic for [`Scope::Arbitrary`] and [`Scope::Convex`]. Its bound is total work over the number of devices.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Annealing {
    /// It stops after this many rounds in a row without a better split; at least 1.
    pub patience: u64,
}

impl Default for Annealing {
    fn default() -> Self {
        Self { patience: 200 }
    }
}

impl Solver for Annealing {
    fn name(&self) -> &str {
        "annealing"
    }

    fn guarantee(&self) -> Guarantee {
        Guarantee::Heuristic
    }

    fn supports(&self, problem: &Problem) -> Result<(), Unsupported> {
        refuse_sharding(self.name(), problem)?;
        refuse_recomputation(self.name(), problem)?;
        let spec = &problem.spec;
        let reason = match spec.scope {
            _ if matches!(spec.objective, Objective::Latency { .. }) => "it minimises loads, not latency",
            Scope::Acyclic => "it does not order devices; use the ideal DP (dp), or ask for the scope `convex`",
            Scope::Linearized(_) => "it does not take one given order; ask for the scope `convex` or `arbitrary`",
            _ if spec.replication.is_some() => "it does not replicate stages; leave out the replication",
            _ if spec.interconnect.is_some() => "it does not place devices in servers; leave out the interconnect",
            Scope::Arbitrary | Scope::Convex => return Ok(()),
        };
        Err(Unsupported { solver: self.name().into(), reason: reason.into() })
    }

    fn search(&self, problem: &Problem, cx: &mut SearchContext) -> Result<Run, SolveError> {
        let unordered = Unordered::new(problem);
        let setting = Setting::new(problem, &unordered);
        let bound =
            LowerBound { value: work_bound(&setting), scope: problem.spec.scope.clone(), source: BoundSource::Work };
        let mut search = Multilevel::new(&setting, cx.seed);
        let cx = &*cx;
        in_pool(cx, || self.search(&mut search, bound.value, cx));
        let mut stats = Stats::default();
        stats.set("units", setting.unit_count() as f64);
        stats.set("rounds", search.rounds() as f64);
        let outcome = match search.best() {
            Some((_, split)) => Outcome::Feasible { solution: setting.to_solution(split), bound: Some(bound) },
            None => Outcome::Unknown { bound: Some(bound) },
        };
        Ok(Run { outcome, stats })
    }
}

impl Annealing {
    /// Runs rounds until a limit, the gap asked for, or the end of patience.
    fn search(&self, search: &mut Multilevel, bound: f64, cx: &SearchContext) {
        let mut helped = 0;
        while search.rounds() < helped + self.patience.max(1) {
            if search.advance(cx) {
                helped = search.rounds();
            }
            let incumbent = search.best().map(|(value, _)| value);
            cx.report(&Progress { phase: "annealing", incumbent, bound: Some(bound) });
            if cx.should_stop() || incumbent.is_some_and(|value| value <= bound / (1.0 - cx.gap.clamp(0.0, 0.5))) {
                break;
            }
        }
    }
}

/// Total work over the number of devices, each unit on the kind that is quickest at it.
fn work_bound(setting: &Setting) -> f64 {
    let units = &setting.unordered.units;
    let least = |u: usize| {
        let compute = units.kinds.iter().filter_map(|kind| {
            let compute = joint(&kind.terms(u)?).compute;
            Some(kind.pieces.iter().map(|piece| piece.compute * compute).fold(0.0, f64::max))
        });
        compute.min_by(f64::total_cmp).unwrap_or(0.0)
    };
    let work: f64 = (0..units.unit_count()).map(least).sum();
    work / setting.device_count() as f64 * (1.0 - 1e-9)
}
