//! The published search (Liu et al. 2024, section V): bisection outside, depth-first search inside.

mod bounds;
mod scheme;
mod search;

use std::time::Duration;

use rand::SeedableRng;
use rand::rngs::Xoshiro256PlusPlus;
use rayon::prelude::*;

use super::heuristic::{Consecutive, PointToPoint, RandomMapping, best_of};
use super::local::LocalCost;
use super::{Mapper, Mapping, MappingOutcome, MappingProblem, MappingRun};
use crate::search::{OPTIMALITY_TOLERANCE, Race, SearchContext, Stats, Verdict, in_pool, is_proven};
use scheme::Scheme;
use search::Inner;

/// The search of the paper, Algorithms 1 and 2, as it is given there.
///
/// The interval between the bounds of equations 10 and 11 and the better of a random and a rule's mapping is bisected;
/// with several threads it is divided evenly by as many targets, searched at once. A depth-first search places the
/// copies in a fixed order and checks the copies whose times a placement has settled. For c^m the order is pipeline by
/// pipeline, for c^AR and for the full time stage by stage, which the paper leaves open.
///
/// A search that runs into the timeout counts as not found, as in the paper; the bound returned is that of finished
/// searches only, so it holds. O(D!) at worst.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Parmesan2024 {
    /// How long each inner search may take; the paper names no figure.
    pub timeout: Duration,
}

impl Default for Parmesan2024 {
    fn default() -> Self {
        Self { timeout: Duration::from_secs(60) }
    }
}

impl Mapper for Parmesan2024 {
    fn name(&self) -> &str {
        "parmesan"
    }

    fn map(&self, problem: &MappingProblem, cx: &SearchContext) -> MappingRun {
        if problem.copies() > problem.topology.len() {
            return MappingRun { outcome: MappingOutcome::Infeasible, stats: Stats::default() };
        }
        let cost = LocalCost::new(problem);
        let scheme = Scheme::new(&cost);
        let mut outer = Outer::new(&cost, cx);
        while !outer.is_done() && !cx.should_stop() {
            outer.batch(&scheme, self.timeout, cx);
        }
        outer.finish()
    }
}

/// How the search for a first mapping ended in vain.
#[derive(PartialEq)]
enum Ended {
    Infeasible,
    TimedOut,
}

/// Algorithm 1: the interval in which the least time lies.
struct Outer<'a> {
    problem: &'a MappingProblem,
    cost: &'a LocalCost<'a>,
    /// The paper's t_r is the time of its best mapping.
    race: Race<'a, Mapping, ()>,
    /// The paper's t_l, which timeouts raise, too.
    low: f64,
    /// A search for any mapping at all found none, or ran out of time.
    ended: Option<Ended>,
    searches: u64,
    placements: u64,
    timeouts: u64,
}

impl<'a> Outer<'a> {
    fn new(cost: &'a LocalCost<'a>, cx: &'a SearchContext) -> Self {
        let problem = cost.problem;
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(cx.seed);
        let starts =
            [RandomMapping::draw(problem, &mut rng), Consecutive::place(problem), PointToPoint::place(problem)];
        let mut race = Race::new(0.0, (), cx);
        if let Some(mapping) = best_of(problem, starts.into_iter().flatten()) {
            race.offer(problem.objective(&mapping), mapping);
        }
        race.raise(bounds::initial(cost), ());
        let low = race.bound();
        Self { problem, cost, race, low, ended: None, searches: 0, placements: 0, timeouts: 0 }
    }

    fn is_done(&self) -> bool {
        let is_narrow = self.race.objective().is_some_and(|high| is_proven(high, self.low));
        self.ended.is_some() || is_narrow || self.race.is_within(self.race.cx.gap.max(OPTIMALITY_TOLERANCE))
    }

    /// The targets of one batch, ascending: they divide the interval evenly. Without any mapping yet there is one
    /// target, which every mapping meets.
    fn targets(&self, count: usize) -> Vec<f64> {
        let Some(high) = self.race.objective() else { return vec![f64::MAX] };
        let step = (high - self.low) / (count + 1) as f64;
        (1..=count).map(|i| self.low + i as f64 * step).collect()
    }

    /// Searches for mappings under the targets of one batch and narrows the interval.
    fn batch(&mut self, scheme: &Scheme, timeout: Duration, cx: &SearchContext) {
        let targets = self.targets(cx.threads.max(1));
        let cost = self.cost;
        let search = |&target: &f64| Inner::new(cost, scheme, target, timeout, cx).run();
        let searched: Vec<(Verdict<Mapping>, u64)> = in_pool(cx, || targets.par_iter().map(search).collect());
        self.searches += searched.len() as u64;
        self.placements += searched.iter().map(|(_, placements)| placements).sum::<u64>();
        let verdicts = searched.into_iter().map(|(verdict, _)| verdict);
        self.narrow(targets.into_iter().zip(verdicts).collect());
        self.race.report("bisecting");
    }

    /// Narrows the interval by what the searches for each target found.
    fn narrow(&mut self, verdicts: Vec<(f64, Verdict<Mapping>)>) {
        let (mut refuted, mut unsettled) = (Vec::new(), Vec::new());
        for (target, verdict) in verdicts {
            match verdict {
                Verdict::Found(mapping) => self.keep(mapping),
                Verdict::Refuted => refuted.push(target),
                Verdict::Unknown => unsettled.push(target),
            }
        }
        for target in refuted {
            match target == f64::MAX {
                true => self.ended = Some(Ended::Infeasible),
                false => {
                    self.low = self.low.max(target);
                    self.race.raise(target, ());
                }
            }
        }
        for target in unsettled {
            if target == f64::MAX {
                self.ended = Some(Ended::TimedOut);
                continue;
            }
            self.timeouts += 1;
            // Another search may have found a mapping faster than what this one looked for.
            if self.race.objective().is_none_or(|high| target < high) {
                self.low = self.low.max(target);
            }
        }
    }

    fn keep(&mut self, mapping: Mapping) {
        self.race.offer(self.problem.objective(&mapping), mapping);
    }

    fn finish(self) -> MappingRun {
        let stats = [("searches", self.searches), ("placements", self.placements), ("timeouts", self.timeouts)];
        let (best, bound, ()) = self.race.finish();
        let outcome = match best {
            Some((time, mapping)) => MappingOutcome::found(mapping, time, bound),
            None if self.ended == Some(Ended::Infeasible) => MappingOutcome::Infeasible,
            None => MappingOutcome::Unknown { bound: Some(bound) },
        };
        MappingRun { outcome, stats: Stats::of(stats.map(|(name, count)| (name, count as f64))) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mapping::{Counted, Device, Stage, StageCost, StageGraph, Topology};

    #[test]
    fn a_timeout_above_what_was_found_leaves_the_interval_open() {
        let stage = |forward| Stage { forward, ..Stage::default() };
        let device = |speed| Device { speed, ..Device::new("") };
        let stages = StageGraph { stages: vec![stage(1.0), stage(9.0)], ..StageGraph::default() };
        let topology = Topology::new("", "", vec![device(1.0), device(3.0)], |_, _| 1.0);
        let problem = MappingProblem { stages, replicas: 1, topology, cost: StageCost::additive(Counted::Both) };
        let (cost, cx) = (LocalCost::new(&problem), SearchContext::new());
        let mut outer = Outer::new(&cost, &cx);
        (outer.race, outer.low) = (Race::new(1.0, (), &cx), 1.0);
        outer.race.offer(9.0, Mapping { devices: vec![1, 0] });
        // Of the targets 5 and 7 the first is met by a mapping that takes 3.
        let found = Verdict::Found(Mapping { devices: vec![0, 1] });
        outer.narrow(vec![(5.0, found), (7.0, Verdict::Unknown)]);
        assert_eq!((outer.low, outer.race.objective(), outer.timeouts), (1.0, Some(3.0), 1));
        assert!(!outer.is_done());
        // One below does count.
        outer.narrow(vec![(2.0, Verdict::Unknown)]);
        assert_eq!((outer.low, outer.race.bound()), (2.0, 1.0));
    }
}
