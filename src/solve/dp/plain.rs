//! The dynamic program over pairs of ideals as a solver: the plainest exact method, and the oracle of the others.

use super::chain::differences;
use super::lattice::Lattice;
use super::linearized;
use super::pairs::Pairs;
use super::{Incumbent, Setting};
use crate::bound;
use crate::preprocess::Reduced;
use crate::problem::{Problem, Scope};
use crate::search::{Race, SearchContext, Stats, Verdict};
use crate::solve::{BoundSource, Guarantee, LowerBound, Outcome, Run, SolveError, Solver, Unsupported};

/// The plain DP over pairs of ideals (Tarnawski 2020, section 5.1.1), for [`Scope::Acyclic`] on graphs of few ideals.
///
/// It looks at all pairs of ideals whose stage may be within a target: first one near the bound, then ever larger ones, up to
/// the best split of linearized DP. The first one within which there is a chain has the optimum. Time grows with the number
/// of such pairs, memory with that of ideals. On graphs of more ideals it returns the split it began with.
#[derive(Debug, Clone, PartialEq)]
pub struct PlainDp {
    /// The most ideals that it lists.
    pub max_ideals: usize,
}

impl Default for PlainDp {
    fn default() -> Self {
        Self { max_ideals: 1_000_000 }
    }
}

impl Solver for PlainDp {
    fn name(&self) -> &str {
        "dp:plain"
    }

    fn guarantee(&self) -> Guarantee {
        Guarantee::Exact
    }

    fn supports(&self, problem: &Problem) -> Result<(), Unsupported> {
        super::supports(self.name(), problem)?;
        if problem.spec.interconnect.is_some() {
            let reason = "it knows no servers; use the ideal DP (dp)".into();
            return Err(Unsupported { solver: self.name().into(), reason });
        }
        Ok(())
    }

    fn search(&self, problem: &Problem, cx: &mut SearchContext) -> Result<Run, SolveError> {
        let reduced = Reduced::new(problem);
        let setting = Setting::new(problem, &reduced);
        let mut race = Race::new(bound::work(&reduced), BoundSource::Work, cx);
        let mut stats = Stats::default();
        stats.set("units", reduced.unit_count() as f64);
        let is_infeasible = self.run(&setting, &mut race, &mut stats);
        let (best, value, source) = race.finish();
        let bound = LowerBound { value, scope: Scope::Acyclic, source };
        let outcome = match best {
            Some((objective, split)) => Outcome::found(setting.lift(&split, objective), objective, bound),
            None if is_infeasible => Outcome::Infeasible,
            None => Outcome::Unknown { bound: Some(bound) },
        };
        Ok(Run { outcome, stats })
    }
}

impl PlainDp {
    /// Runs to the end or to a limit; whether no split exists.
    fn run(&self, setting: &Setting, race: &mut Race<Incumbent, BoundSource>, stats: &mut Stats) -> bool {
        if let Some(first) = linearized::best_of_orders(setting, ORDERS, ORDERS, race.bound(), race.cx) {
            race.offer(first.objective(), first);
        }
        let Ok(Some(lattice)) = Lattice::new(&setting.reduced.order, self.max_ideals, race.cx) else { return false };
        stats.set("ideals", lattice.len() as f64);
        let (program, mut looked) = (Pairs::new(setting, &lattice), 0);
        let mut part = FIRST_PART;
        let mut is_infeasible = false;
        while !race.is_done() && !is_infeasible {
            let upper = race.objective().unwrap_or(setting.ceiling);
            let last = race.last_target(upper);
            let target = if part < 1.0 { race.bound() + part * (last - race.bound()) } else { last };
            part = (part * WIDER).min(1.0);
            match program.best(target, race.cx, &mut looked) {
                Verdict::Found((chain, value)) => {
                    let split = Incumbent { value, stages: differences(setting.reduced, &chain) };
                    race.raise(split.objective(), BoundSource::Refuted);
                    race.offer(split.objective(), split);
                }
                Verdict::Refuted => {
                    race.raise(target, BoundSource::Refuted);
                    is_infeasible = target >= last && race.objective().is_none();
                }
                Verdict::Unknown => break,
            }
            race.report("pairs of ideals");
        }
        stats.set("pairs", looked as f64);
        is_infeasible
    }
}

/// Orders of linearized DP for the first split.
const ORDERS: usize = 4;

/// How far from the bound to the best split the first target lies, and how much farther each later one does.
const FIRST_PART: f64 = 1.0 / 16.0;
const WIDER: f64 = 2.0;
