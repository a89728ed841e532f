//! Targets between the bound and the best split: first over a few orders of the nodes, then over all ideals.

use super::front::Found;
use super::model::Model;
use super::reach;
use super::stage::Chooser;
use super::target::split_within;
use crate::cost::StageCosts;
use crate::graph::{Graph, topological};
use crate::preprocess::Reduced;
use crate::problem::Problem;
use crate::search::{Race, SearchContext, Stats, Stopped};
use crate::solve::BoundSource;
use crate::solve::dp::lattice::Lattice;
use crate::solve::dp::orders::depth_first;

/// The sets that may lie at the end of the pipeline, with what their units cost.
struct Family<'a> {
    lattice: Lattice,
    model: Model<'a>,
    /// Whether it has all such sets.
    is_all: bool,
    /// Whether a stage may begin at each set; empty where it may at all of them.
    ends: Vec<bool>,
}

/// The race of a search for splits.
pub type SplitRace<'a> = Race<'a, Vec<Found>, BoundSource>;

/// The first targets, as multiples of the bound: optima mostly lie near it, and low targets are quickly decided.
const FIRST_TARGETS: [f64; 6] = [1.1, 1.3, 2.0, 4.0, 32.0, f64::INFINITY];

/// Bound and split this near to each other are likely to meet: then the last target is tried.
const NEAR: f64 = 1e-3;

/// Along the first order of a large graph stages first begin at the so many places where they move least.
const FEW_ENDS: usize = 128;

/// The bound by memory alone has one part of so many of the time.
const PART_OF_REACH: u32 = 10;

/// How near a family of few sets brings its own bound to its best split.
const COARSE: f64 = 1e-3;

/// All sets that may lie at the end of the pipeline; `None` where there are too many, or a limit came first.
pub fn all_filters(units: &Reduced, max_ideals: usize, cx: &SearchContext) -> Option<Lattice> {
    let count = units.unit_count();
    let backwards: Vec<(usize, usize)> = units.order.edges().map(|(u, v)| (v, u)).collect();
    let Ok(reversed) = Graph::new(count, &backwards) else { unreachable!("a turned acyclic graph is acyclic") };
    let bytes = count.div_ceil(64) * 8 + 64;
    let most = max_ideals.min(cx.memory_left() / 4 / bytes);
    Lattice::new(&reversed, most, cx).ok().flatten()
}

/// Runs the race; whether there is no split at all.
pub fn run(
    problem: &Problem,
    units: &Reduced,
    costs: &StageCosts,
    max_ideals: usize,
    race: &mut SplitRace,
    stats: &mut Stats,
) -> bool {
    let (order, count) = (&units.order, units.unit_count());
    let all = all_filters(units, max_ideals, race.cx).map(|lattice| Family {
        lattice,
        model: Model::new(problem, costs, units.members.clone()),
        is_all: true,
        ends: Vec::new(),
    });
    stats.set("ideals", all.as_ref().map_or(0.0, |family| family.lattice.count() as f64));
    if let Some(family) = &all
        && family.raise(race)
    {
        return true;
    }
    let is_narrow = |family: &Family| family.lattice.count() <= 8 * count;
    let mut targets = 0;
    let of_order = |order: Vec<usize>, race: &SplitRace| {
        let members = order.iter().rev().map(|&unit| units.members[unit].clone()).collect();
        Family::of_order(Model::new(problem, costs, members), race)
    };
    if count > 2 * FEW_ENDS
        && let Some(mut few) = of_order(topological::smallest_first(order), race)
    {
        few.ends = few.least_moving();
        let _ = few.run(race, &mut targets);
    }
    if !all.as_ref().is_some_and(is_narrow) {
        for order in [topological::smallest_first(order), depth_first(order, |unit| unit)] {
            let Some(family) = of_order(order, race) else { break };
            // What is infeasible along one order need not be so along others.
            let _ = family.run(race, &mut targets);
        }
    }
    let is_infeasible = all.is_some_and(|family| family.run(race, &mut targets) == Ok(true));
    stats.set("targets", targets as f64);
    is_infeasible
}

impl<'a> Family<'a> {
    /// The sets of the first units of a model, which are the last ones of an order.
    fn of_order(model: Model<'a>, race: &SplitRace) -> Option<Self> {
        let count = model.members.len();
        let path: Vec<(usize, usize)> = (1..count).map(|i| (i - 1, i)).collect();
        let Ok(path) = Graph::new(count, &path) else { unreachable!("a path is acyclic") };
        let lattice = Lattice::new(&path, count + 1, race.cx).ok().flatten()?;
        Some(Self { lattice, model, is_all: false, ends: Vec::new() })
    }

    /// Raises the bound to what the memory of stages says by itself; whether that allows no split. Steps begin with the search
    /// for the throughput, which has said so.
    fn raise(&self, race: &mut SplitRace) -> bool {
        if self.model.is_step {
            return false;
        }
        let part = race.cx.part(race.cx.remaining().map(|left| left / PART_OF_REACH));
        let least = reach::least(&self.lattice, &self.model, race.bound(), None, &part);
        if let Some(least) = least.filter(|least| least.is_finite()) {
            race.raise(least, BoundSource::Refuted);
        }
        least == Some(f64::INFINITY)
    }

    /// For the sets behind the positions of an order, whether they are among the few that move least, or the whole.
    fn least_moving(&self) -> Vec<bool> {
        let count = self.lattice.count();
        let mut change = vec![0.0; count];
        for (unit, incident) in self.model.incident.iter().enumerate() {
            for at in incident.iter().filter(|at| at.leaves) {
                let bytes = self.model.costs.edges[at.edge].bytes;
                change[unit.min(at.other) + 1] += bytes;
                change[unit.max(at.other) + 1] -= bytes;
            }
        }
        let sum = |moved: &mut f64, change: f64| {
            *moved += change;
            Some(*moved)
        };
        let moved: Vec<f64> = change.into_iter().scan(0.0, sum).collect();
        let mut sorted = moved[1..count - 1].to_vec();
        sorted.sort_by(f64::total_cmp);
        let most = sorted[FEW_ENDS.min(sorted.len()) - 1];
        let least: Vec<usize> = (1..count - 1).filter(|&set| moved[set] <= most).collect();
        let mut ends = vec![false; count];
        least.iter().step_by(least.len().div_ceil(FEW_ENDS)).for_each(|&set| ends[set] = true);
        ends[count - 1] = true;
        ends
    }

    /// Meets or refutes targets until bound and split meet; whether there is no split into these sets.
    ///
    /// # Errors
    /// A limit came first.
    fn run(&self, race: &mut SplitRace, targets: &mut usize) -> Result<bool, Stopped> {
        let mut chooser = Chooser::new(&self.model);
        let mut lower = race.bound();
        let begin = lower.max(f64::MIN_POSITIVE);
        let mut first = FIRST_TARGETS.iter().map(|factor| factor * begin);
        let (mut tried_last, mut was_idle) = (false, false);
        while !race.is_settled() {
            let target = match race.objective() {
                Some(best) if !self.is_all && best - lower <= COARSE * best => break,
                Some(best) if best - lower <= NEAR * best && !tried_last => {
                    tried_last = true;
                    race.last_target(best)
                }
                Some(best) => {
                    tried_last = false;
                    f64::midpoint(lower, best)
                }
                None => match first.next() {
                    Some(target) => target,
                    None => return Ok(true),
                },
            };
            if race.cx.should_stop() {
                return Err(Stopped);
            }
            *targets += 1;
            match split_within(&self.lattice, &self.ends, &mut chooser, target, race.cx)? {
                Some(stages) => {
                    let is_better = race.offer(self.model.objective(&stages), stages);
                    if !is_better && was_idle {
                        return Err(Stopped); // Rounding tells of better ones than there are.
                    }
                    was_idle = !is_better;
                }
                None => {
                    if self.is_all {
                        race.raise(target, BoundSource::Refuted);
                    }
                    (lower, was_idle) = (target, false);
                }
            }
            race.report("degrees");
        }
        Ok(false)
    }
}
