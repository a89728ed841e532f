//! The dynamic program over positions: ideals are told apart by how much work is in them, and by nothing else.
//!
//! A split into successive ideals is a chain of stages, each of which begins at the ideal where the one before it ends. There are
//! too many ideals to list on graphs with many parallel branches; but a stage is a set of units whose load is a sum of local
//! costs, and a program along a narrow order of the units ([`steps`]) finds the least load of all stages that begin and end
//! at given *positions*, whole numbers about in proportion to the work of an ideal ([`measure`], [`table`]). Chains of positions
//! ([`level`]) then bound the largest load from below: what is lost is that a stage may begin at another ideal of the same position
//! than that at which the one before it ended. Smaller cells tell more ideals apart, and so do marked units ([`marks`]), of which chains say
//! whether they are in an ideal; only where chains below the target go ([`windows`], [`reach`]) they are looked at. Once the
//! stages of the best chain fit, it is a split, and the best one.
//!
//! This is the state-space relaxation of Christofides, Mingozzi and Toth (1981) for the program over ideals of Tarnawski 2020,
//! section 5.1.1, made finer where it has to be, as by Righini and Salani (2008).

mod course;
mod level;
mod marks;
mod measure;
mod reach;
mod run;
mod sides;
mod steps;
mod table;
mod windows;

use run::Frame;

use crate::bound;
use crate::preprocess::Reduced;
use crate::problem::{Objective, Problem, Scope};
use crate::search::{Race, SearchContext, Stats};
use crate::solve::dp::{self, Incumbent, Setting, linearized};
use crate::solve::{
    BoundSource, Guarantee, LowerBound, Outcome, Run, SolveError, Solver, Unsupported, in_pool_of,
    refuse_replicas_and_servers,
};

const NAME: &str = "dp:positions";

/// The dynamic program over positions, for [`Scope::Acyclic`] and the throughput, on narrow graphs of however many ideals.
///
/// Its bound knows no memory limits. Each look at all chains tells more ideals apart, by smaller cells or by marked units, and takes as long
/// as there are pairs of positions, and states by marks, where chains below the best split can be. It ends once the best chain
/// is a split, or looks take too much. Splits are the best ones along the orders in which its chains have the units.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct PositionDp;

impl Solver for PositionDp {
    fn name(&self) -> &str {
        NAME
    }

    fn guarantee(&self) -> Guarantee {
        Guarantee::Heuristic
    }

    fn supports(&self, problem: &Problem) -> Result<(), Unsupported> {
        dp::supports(NAME, problem)?;
        takes(problem)
    }

    fn search(&self, problem: &Problem, cx: &mut SearchContext) -> Result<Run, SolveError> {
        let reduced = Reduced::new(problem);
        let setting = Setting::new(problem, &reduced);
        let mut race = Race::new(bound::work(&reduced), BoundSource::Work, cx);
        let mut stats = Stats::default();
        stats.set("units", reduced.unit_count() as f64);
        in_pool_of(race.cx.most_lanes(), || self.run(&setting, &mut race, &mut stats));
        let (best, value, source) = race.finish();
        let bound = LowerBound { value, scope: Scope::Acyclic, source };
        let outcome = match best {
            Some((objective, split)) => Outcome::found(setting.lift(&split, objective), objective, bound),
            None => Outcome::Unknown { bound: Some(bound) },
        };
        Ok(Run { outcome, stats })
    }
}

impl PositionDp {
    fn run(&self, setting: &Setting, race: &mut Race<Incumbent, BoundSource>, stats: &mut Stats) {
        linearized::offer_first(setting, race);
        if let Some(frame) = Frame::new(setting, race.cx).filter(|_| !race.is_done()) {
            frame.run(race, stats);
        }
    }
}

/// Whether it takes a problem that the ideal DP takes.
pub fn takes(problem: &Problem) -> Result<(), Unsupported> {
    if problem.spec.objective != Objective::Throughput {
        let reason = "it minimises the largest load alone; use dp, or objective throughput".into();
        return Err(Unsupported { solver: NAME.into(), reason });
    }
    refuse_replicas_and_servers(NAME, problem)
}
