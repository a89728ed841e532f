//! Targets between the bound and the best split, which are met or refuted by depth-first search.

use super::NAME;
use super::columns::Columns;
use super::dive::Dive;
use super::family::{self, Family};
use super::loads::{ROUNDING, Sums};
use super::pipeline::{Pipeline, Step};
use crate::bound::Shares;
use crate::graph::topological;
use crate::preprocess::Reduced;
use crate::problem::{Chunks, Problem};
use crate::search::{Race, Stats, Stopped, Verdict};
use crate::solve::BoundSource;
use crate::solve::dp::lattice::Lattice;
use crate::solve::dp::orders::depth_first;

/// The race of a search for splits: the units of each stage.
pub type SplitRace<'a> = Race<'a, Vec<Vec<usize>>, BoundSource>;

/// Stages looked at by a dive, for a target that may be met soon, and for the last one.
const FEW_LOOKS: u64 = 1 << 15;
const SOME_LOOKS: u64 = 1 << 20;
const MOST_LOOKS: u64 = 1 << 28;

/// By which part of it the first chunks of a device are to take more than their share of its load; later ones make up for it.
const TILTS: [f64; 5] = [0.0, 0.25, -0.25, 0.5, -0.5];

/// Bound and split this near to each other are not told apart by targets between them.
const NEAR: f64 = 1e-4;

/// Along one order stages begin and end at the so many places where the least moves, and at more where there are many stages.
const FEW_ENDS: usize = 128;
const MOST_ENDS: usize = 512;

/// Runs the race; whether there is no split at all.
pub fn run(
    problem: &Problem,
    units: &Reduced,
    chunks: Chunks,
    max_ideals: usize,
    race: &mut SplitRace,
    stats: &mut Stats,
) -> bool {
    let lattice = Lattice::new(&units.order, max_ideals, race.cx).ok().flatten();
    stats.set("ideals", lattice.as_ref().map_or(0.0, |lattice| lattice.count() as f64));
    let devices = problem.device_count(problem.device_kinds()[0]).min(units.unit_count() / chunks.count);
    if devices == 0 {
        return true;
    }
    let shares = Shares::new(units);
    let work = (0..units.unit_count()).filter_map(|unit| shares.least(unit)).sum::<f64>() * (1.0 - ROUNDING);
    let search = Search { problem, units, chunks, devices, work };
    match lattice.map(|lattice| Family::of_lattice(problem, units, &lattice, race.cx)) {
        Some(Ok(family)) => search.all(&family, race, stats),
        Some(Err(Stopped)) => false,
        None => {
            for order in [topological::smallest_first(&units.order), depth_first(&units.order, |unit| unit)] {
                let positions = search.least_moving(&order);
                let Ok(family) = Family::of_order(problem, units, &order, &positions, race.cx) else { break };
                search.first_splits(&family, race, stats);
            }
            false
        }
    }
}

/// What is asked.
struct Search<'a> {
    problem: &'a Problem,
    units: &'a Reduced,
    chunks: Chunks,
    /// The most devices that can have all of their chunks.
    devices: usize,
    /// What all loads of any split add up to at least.
    work: f64,
}

impl Search<'_> {
    fn microbatches(&self) -> usize {
        self.problem.spec.objective.microbatches().unwrap_or(1)
    }

    /// Looks at all splits between the sets of a family of all ideals, as far as limits allow; whether there is none.
    fn all(&self, family: &Family, race: &mut SplitRace, stats: &mut Stats) -> bool {
        let mut pipelines = self.first_splits(family, race, stats);
        let shortest = pipelines.last().map_or(usize::MAX, |shortest| shortest.devices);
        let others = self.least(self.lengths().find(|&devices| devices < shortest).unwrap_or(0));
        let raise = |race: &mut SplitRace, pipelines: &[Pipeline]| {
            let least = pipelines.iter().map(|pipeline| pipeline.bound).fold(others, f64::min);
            race.raise(least, BoundSource::Refuted);
            least
        };
        pipelines.sort_by(|a, b| a.bound.total_cmp(&b.bound));
        let mut least = raise(race, &pipelines);
        for at in 0..pipelines.len() {
            while !race.is_settled() {
                let target = race.objective().map_or(f64::INFINITY, |best| race.last_target(best));
                if pipelines[at].bound >= target {
                    break;
                }
                if self.aim(&mut pipelines[at], target, MOST_LOOKS, race, stats).is_err() {
                    break;
                }
                least = raise(race, &pipelines);
            }
        }
        least == f64::INFINITY
    }

    /// The numbers of devices that pipelines may have, from the largest on.
    fn lengths(&self) -> impl Iterator<Item = usize> {
        let (chunks, microbatches) = (self.chunks, self.microbatches());
        (1..=self.devices).rev().filter(move |&devices| chunks.runs(devices, microbatches))
    }

    /// What no step over so many devices is below, whatever moves; infinite for none.
    fn least(&self, devices: usize) -> f64 {
        let step = Step::new(self.chunks, self.microbatches());
        if devices == 0 { f64::INFINITY } else { step.time(self.work, self.work / devices as f64) }
    }

    /// The pipelines that can be better than the best split, from the longest on, after little effort for each.
    fn first_splits<'f>(&self, family: &'f Family, race: &mut SplitRace, stats: &mut Stats) -> Vec<Pipeline<'f>> {
        let mut pipelines = Vec::new();
        for devices in self.lengths() {
            let is_hopeless = race.objective().is_some_and(|best| self.least(devices) >= race.last_target(best));
            if is_hopeless || race.cx.should_stop() {
                break;
            }
            let mut pipeline = Pipeline::new(family, self.chunks, self.microbatches(), devices);
            self.first_split(&mut pipeline, race, stats);
            pipelines.push(pipeline);
        }
        pipelines
    }

    /// Meets the targets that little effort meets.
    fn first_split(&self, pipeline: &mut Pipeline, race: &mut SplitRace, stats: &mut Stats) {
        if race.objective().is_none() && pipeline.bound.is_finite() {
            let _ = self.aim(pipeline, f64::INFINITY, SOME_LOOKS, race, stats);
        }
        let Some(best) = race.objective() else { return };
        Sums::within(pipeline, best);
        let mut low = pipeline.bound;
        let mut target = low * (1.0 + ROUNDING);
        while let Some(best) = race.objective().filter(|&best| best - low > NEAR * best && !race.is_done()) {
            let _ = self.aim(pipeline, target.min(race.last_target(best)), SOME_LOOKS, race, stats);
            let is_met = race.objective().is_some_and(|now| now < best);
            low = if is_met { low.max(pipeline.bound) } else { target };
            target = f64::midpoint(low, race.objective().unwrap_or(best));
        }
    }

    /// Looks for a split within a target, which is offered; where there is none, the pipeline's bound is raised to it. Short
    /// dives come first, then so many looks.
    ///
    /// # Errors
    /// They did not tell.
    fn aim(
        &self,
        pipeline: &mut Pipeline,
        target: f64,
        looks: u64,
        race: &mut SplitRace,
        stats: &mut Stats,
    ) -> Result<(), Stopped> {
        let memory = self.problem.memory_limit(self.problem.device_kinds()[0]);
        let sums = target.is_finite().then(|| Sums::within(pipeline, target)).flatten();
        let mut verdict = Verdict::Unknown;
        for tilt in TILTS.into_iter().filter(|_| pipeline.bound < target) {
            verdict = Dive::new(pipeline, memory, (target, tilt), sums.as_ref(), race.cx).run(FEW_LOOKS);
            if verdict != Verdict::Unknown {
                break;
            }
        }
        if verdict == Verdict::Unknown && pipeline.bound < target {
            verdict = match Columns::new(pipeline, memory, target, sums.as_ref(), race.cx) {
                Some(mut columns) => columns.run(looks),
                None => Dive::new(pipeline, memory, (target, TILTS[0]), sums.as_ref(), race.cx).run(looks),
            };
        }
        stats.set("targets", stats.get("targets").unwrap_or(0.0) + 1.0);
        match verdict {
            Verdict::Found((objective, path)) => {
                race.offer(objective, self.stages(pipeline, &path));
                race.report(NAME);
            }
            Verdict::Refuted => pipeline.bound = pipeline.bound.max(target),
            Verdict::Unknown if pipeline.bound < target => return Err(Stopped),
            Verdict::Unknown => {}
        }
        Ok(())
    }

    /// The units of each stage of a pipeline whose visits end at these sets. Where a device has several stages in a row, each takes
    /// its part of their units, but that two of them leave what keeps the most to the second one.
    fn stages(&self, pipeline: &Pipeline, path: &[usize]) -> Vec<Vec<usize>> {
        let mut place = vec![0; self.units.unit_count()];
        topological::smallest_first(&self.units.order).into_iter().enumerate().for_each(|(at, unit)| place[unit] = at);
        let begins = [0].into_iter().chain(path.iter().copied());
        let mut stages = Vec::new();
        for ((begin, &end), visit) in begins.zip(path).zip(&pipeline.visits) {
            let mut units = pipeline.family.between(begin, end);
            let first = family::first(self.problem, self.units, &units).map(|(unit, _)| unit);
            units.sort_by_key(|&unit| (Some(unit) != first, place[unit]));
            let end = |stage: usize| match (stage, visit.stages) {
                (1, 2) => self.half_of_kept(&units),
                (_, count) => stage * units.len() / count,
            };
            stages.extend((0..visit.stages).map(|stage| units[end(stage)..end(stage + 1)].to_vec()));
        }
        stages
    }

    /// How many units from the first on, at least one of them and half of them at most, keep half of what all do at most.
    fn half_of_kept(&self, units: &[usize]) -> usize {
        let cost = self.problem.costs.kind(self.problem.device_kinds()[0]);
        let kept = |unit: &usize| self.units.members[*unit].iter().map(|&v| cost.kept_bytes(v)).sum::<f64>();
        let half = units.iter().map(kept).sum::<f64>() / 2.0;
        let so_far = units.iter().scan(0.0, |sum, unit| {
            *sum += kept(unit);
            Some(*sum)
        });
        so_far.take(units.len() / 2).take_while(|&sum| sum <= half).count().max(1)
    }

    /// The positions of an order where stages may begin and end: its ends, and those where the least moves.
    fn least_moving(&self, order: &[usize]) -> Vec<usize> {
        let mut place = vec![0; order.len()];
        order.iter().enumerate().for_each(|(at, &unit)| place[unit] = at);
        let mut moved = vec![0.0; order.len() + 1];
        for (net, time) in self.units.nets.iter().zip(&self.units.kinds[0].transfers) {
            let places = || net.pins.iter().map(|&unit| place[unit as usize]);
            let (first, last) = (places().min().unwrap_or(0), places().max().unwrap_or(0));
            moved[first + 1..=last].iter_mut().for_each(|moved| *moved += time);
        }
        let most = (4 * self.chunks.count * self.devices).clamp(FEW_ENDS, MOST_ENDS);
        let mut sorted = moved[1..order.len()].to_vec();
        sorted.sort_by(f64::total_cmp);
        let least = sorted.get(most).copied().unwrap_or(f64::INFINITY);
        let inner: Vec<usize> = (1..order.len()).filter(|&position| moved[position] <= least).collect();
        let chosen = inner.iter().step_by(inner.len().div_ceil(most).max(1)).copied();
        [0].into_iter().chain(chosen).chain([order.len()]).collect()
    }
}
