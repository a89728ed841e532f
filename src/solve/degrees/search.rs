//! Targets between the bound and the best split: first over a few orders of the nodes, then over all ideals.

use rayon::prelude::*;

use super::front::SplitRace;
use super::model::Model;
use super::reach;
use super::relaxation;
use super::rest::Rest;
use super::stage::Chooser;
use super::target::{FIRST_TARGETS, LOOSE, Sets, split_within};
use super::{DegreeDp, furthest};
use crate::cost::StageCosts;
use crate::graph::{Graph, topological};
use crate::preprocess::Reduced;
use crate::problem::Problem;
use crate::search::{SearchContext, Stats, Stopped};
use crate::solve::BoundSource;
use crate::solve::dp::lattice::Lattice;
use crate::solve::dp::orders::depth_first;

/// Sets that may lie at the end of the pipeline, with what their units cost.
struct Family<'a> {
    sets: Sets,
    model: Model<'a>,
    /// How near one that has not all such sets brings its own bound to its best split; `None` where it has.
    near: Option<f64>,
}

/// Families of one order each.
pub struct Orders<'a> {
    pub problem: &'a Problem,
    pub units: &'a Reduced,
    pub costs: &'a StageCosts,
    /// How near each brings its own bound to its best split.
    pub near: f64,
    /// After so many in a row that bring no better split no other is tried.
    pub patience: usize,
}

/// Bound and split this near to each other are likely to meet: then the last target is tried.
const NEAR: f64 = 1e-3;

/// Targets that are searched at the same time.
const MOST_AT_ONCE: usize = 8;

/// Where a split is known, the first targets are in steps of this part of it below, and then of twice as much.
const FIRST_STEP: f64 = 0.02;

/// Along the first order of a large graph stages first begin at the so many places where they move least.
const FEW_ENDS: usize = 128;

/// The bound by memory alone has one part of so many of the time.
const PART_OF_REACH: u32 = 10;

/// How near families of one order come to their best split before that of all sets.
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
    (units, costs): (&Reduced, &StageCosts),
    limits: &DegreeDp,
    race: &mut SplitRace,
    stats: &mut Stats,
) -> bool {
    let (order, count) = (&units.order, units.unit_count());
    let all = all_filters(units, limits.max_ideals, race.cx)
        .map(|lattice| Family::new(lattice, Model::new(problem, costs, units.members.clone()), None, race.cx));
    stats.set("ideals", all.as_ref().map_or(0.0, |family| family.sets.lattice.count() as f64));
    if let Some(family) = &all
        && family.raise(race)
    {
        return true;
    }
    let is_narrow = |family: &Family| family.sets.lattice.count() <= 8 * count;
    let (orders, mut targets) = (Orders { problem, units, costs, near: COARSE, patience: usize::MAX }, 0);
    orders.begin(race, &mut targets);
    let is_large = count >= limits.furthest_from;
    if let Some(family) = all.as_ref().filter(|family| is_large && is_narrow(family))
        && furthest::run(&family.sets, &family.model, race, &mut targets) == Ok(true)
    {
        return true;
    }
    if !all.as_ref().is_some_and(is_narrow) {
        let both = [topological::smallest_first(order), depth_first(order, |unit| unit)];
        orders.run(both.into_iter(), race, &mut targets);
    }
    let is_infeasible = all.is_some_and(|family| family.run(race, &mut targets) == Ok(true));
    stats.set("targets", targets as f64);
    is_infeasible
}

impl<'a> Orders<'a> {
    /// Splits a large graph along its first order where the least moves: what is searched next begins with that split.
    pub fn begin(&self, race: &mut SplitRace, targets: &mut usize) {
        if self.units.unit_count() > 2 * FEW_ENDS
            && let Some(mut few) = self.family(&topological::smallest_first(&self.units.order), race)
        {
            few.sets.ends = few.least_moving();
            let _ = few.run(race, targets);
        }
    }

    /// Splits along each of the orders, as long as they bring better splits and no limit comes first.
    pub fn run(&self, orders: impl Iterator<Item = Vec<usize>>, race: &mut SplitRace, targets: &mut usize) {
        let mut idle = 0;
        for order in orders {
            let before = race.objective();
            let Some(family) = self.family(&order, race) else { break };
            // What is infeasible along one order need not be so along others.
            let _ = family.run(race, targets);
            idle = if race.objective() == before { idle + 1 } else { 0 };
            if idle == self.patience {
                break;
            }
        }
    }

    fn family(&self, order: &[usize], race: &SplitRace) -> Option<Family<'a>> {
        let members = order.iter().rev().map(|&unit| self.units.members[unit].clone()).collect();
        Family::of_order(Model::new(self.problem, self.costs, members), self.near, race)
    }
}

impl<'a> Family<'a> {
    fn new(lattice: Lattice, model: Model<'a>, near: Option<f64>, cx: &SearchContext) -> Self {
        let (rests, counts) = (Rest::of_sets(&lattice, &model), relaxation::counts(&model, &lattice, cx));
        Self { sets: Sets { lattice, ends: Vec::new(), rests, counts }, model, near }
    }

    /// The sets of the first units of a model, which are the last ones of an order.
    fn of_order(model: Model<'a>, near: f64, race: &SplitRace) -> Option<Self> {
        let count = model.members.len();
        let path: Vec<(usize, usize)> = (1..count).map(|i| (i - 1, i)).collect();
        let Ok(path) = Graph::new(count, &path) else { unreachable!("a path is acyclic") };
        let lattice = Lattice::new(&path, count + 1, race.cx).ok().flatten()?;
        Some(Self::new(lattice, model, Some(near), race.cx))
    }

    /// Raises the bound to what the memory of stages says by itself; whether that allows no split. Steps begin with the search
    /// for the throughput, which has said so.
    fn raise(&self, race: &mut SplitRace) -> bool {
        if self.model.is_step {
            return false;
        }
        let part = race.cx.part(race.cx.remaining().map(|left| left / PART_OF_REACH));
        let least = reach::least(&self.sets.lattice, &self.model, race.bound(), None, &part);
        if let Some(least) = least.filter(|least| least.is_finite()) {
            race.raise(least, BoundSource::Refuted);
        }
        least == Some(f64::INFINITY)
    }

    /// For the sets behind the positions of an order, whether they are among the few that move least, or the whole.
    fn least_moving(&self) -> Vec<bool> {
        let count = self.sets.lattice.count();
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

    /// Meets or refutes targets until bound and split meet, as many at once as there are threads; whether there is no split
    /// into these sets.
    ///
    /// # Errors
    /// A limit came first.
    fn run(&self, race: &mut SplitRace, targets: &mut usize) -> Result<bool, Stopped> {
        let mut choosers: Vec<Chooser> = (0..race.cx.threads.clamp(1, MOST_AT_ONCE))
            .map(|_| Chooser::new(&self.model, self.sets.counts.as_deref()))
            .collect();
        let mut course = Course::new(race.bound());
        while !race.is_settled() {
            let is_near = |near: f64| race.objective().is_some_and(|best| best - course.lower <= near * best);
            if self.near.is_some_and(is_near) {
                break;
            }
            let next = course.targets(race, choosers.len());
            if next.is_empty() {
                return Ok(true);
            }
            if race.cx.should_stop() {
                return Err(Stopped);
            }
            *targets += next.len();
            let search = |(chooser, &target): (&mut Chooser, &f64)| split_within(&self.sets, chooser, target, race.cx);
            let answers: Vec<_> = choosers.par_iter_mut().zip(&next).map(search).collect();
            let (mut has_news, mut is_beyond) = (false, false);
            let has_stopped = answers.iter().any(Result::is_err);
            for (&target, answer) in next.iter().zip(answers) {
                let Ok(answer) = answer else { continue };
                let Some(stages) = answer else {
                    if self.near.is_none() {
                        race.raise(target, BoundSource::Refuted);
                    }
                    course.lower = course.lower.max(target);
                    has_news = true;
                    continue;
                };
                let value = self.model.objective(&stages);
                is_beyond |= value > target * (1.0 + LOOSE);
                has_news |= race.offer(value, stages);
            }
            if has_stopped {
                return Err(Stopped);
            }
            if is_beyond && choosers[0].is_lenient {
                choosers.iter_mut().for_each(|chooser| chooser.is_lenient = false);
            } else if !has_news && std::mem::replace(&mut course.was_idle, true) {
                return Err(Stopped); // Rounding tells of better ones than there are.
            }
            course.was_idle &= !has_news;
            race.report("degrees");
        }
        Ok(false)
    }
}

/// Which targets come next.
struct Course {
    /// What is refuted, or known otherwise.
    lower: f64,
    /// What was known at first.
    begin: f64,
    /// How many of the first targets were tried, without a split.
    tried: usize,
    tried_last: bool,
    was_idle: bool,
    /// The part of the best split between two of the first targets below it.
    step: f64,
}

impl Course {
    fn new(lower: f64) -> Self {
        Self { lower, begin: lower, tried: 0, tried_last: false, was_idle: false, step: FIRST_STEP }
    }

    /// So many targets, ascending; none where no target is left.
    fn targets(&mut self, race: &SplitRace, count: usize) -> Vec<f64> {
        let Some(best) = race.objective() else {
            let left = &FIRST_TARGETS[self.tried..];
            // The last one, at which nothing is cut off, is for itself.
            let now = left.len().min(count).min(left.len().saturating_sub(1).max(1));
            self.tried += now;
            return left[..now].iter().map(|factor| factor * self.begin.max(f64::MIN_POSITIVE)).collect();
        };
        if best - self.lower <= NEAR * best && !std::mem::replace(&mut self.tried_last, true) {
            return vec![race.last_target(best)];
        }
        self.tried_last = false;
        let parts = (count + 1) as f64;
        let even = (best - self.lower) / parts;
        // Nothing refuted yet, the best split says more than the bound of where the optimum is.
        let step = if self.lower > self.begin { even } else { even.min(self.step * best) };
        self.step *= 2.0;
        (1..=count).rev().map(|i| best - i as f64 * step).collect()
    }
}
