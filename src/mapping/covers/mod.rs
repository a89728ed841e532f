//! Exact covers whose pipelines follow one another in rings.
//!
//! Where an all-reduce counts and each device gets a copy, a mapping is an exact cover of the devices by pipelines, and an
//! order of these in which every stage's copies, one after the other, make a ring that is fast enough. Pipelines are those
//! within the target where every ring takes the least it can. Covers are drawn at random among them, and each is put in the
//! order of rings that fit.

mod enumeration;
mod exact_cover;
mod plan;

use rand::SeedableRng;
use rand::rngs::Xoshiro256PlusPlus;

use super::ring_order::RingOrder;
use super::{Counted, Mapping, MappingProblem, ROUNDING};
use crate::search::{SearchContext, Verdict};
use enumeration::Pipelines;
use exact_cover::draw;
use plan::Plan;

/// So many extensions of a way are a step.
const EXTENDED: u64 = 4;

/// Enumerating pipelines takes at most one of so many parts of the effort.
const ENUMERATED: u64 = 4;

/// Covers by pipelines in the order of rings.
pub struct RingCover<'a> {
    problem: &'a MappingProblem,
    orders: RingOrder<'a>,
    /// How pipelines are enumerated: each stage's ring takes the least it can.
    plan: Plan,
    rng: Xoshiro256PlusPlus,
    /// Covers drawn so far.
    pub nodes: u64,
}

impl<'a> RingCover<'a> {
    /// `None` where messages or rings do not count, devices are left over or many, or loads have several pieces.
    /// O(stages · D²).
    pub fn new(problem: &'a MappingProblem, seed: u64) -> Option<Self> {
        if problem.stages.stages.len() < 2 || problem.replicas < 2 || problem.cost.counted != Counted::Both {
            return None;
        }
        let devices = problem.topology.len();
        if problem.copies() != devices || devices > Pipelines::MOST_DEVICES {
            return None;
        }
        let mut plan = Plan::new(problem)?;
        if problem.cost.adds_all_reduce() {
            for step in &mut plan.steps {
                let least = least_ring(problem, step.stage);
                step.base.iter_mut().for_each(|time| *time += least);
            }
        }
        let orders = RingOrder::new(problem)?;
        Some(Self { problem, orders, plan, rng: Xoshiro256PlusPlus::seed_from_u64(seed), nodes: 0 })
    }

    /// Searches for a mapping within a target in so many steps.
    pub fn search(&mut self, target: f64, mut effort: u64, cx: &SearchContext) -> Verdict<Mapping> {
        let limit = target * (1.0 + ROUNDING);
        let mut left = effort / ENUMERATED;
        effort -= left;
        let Some(pipelines) = Pipelines::within(&self.plan, limit, &mut left, cx) else {
            return Verdict::Unknown;
        };
        effort += left;
        let all = Pipelines::all_devices(self.problem.topology.len());
        while effort > 0 && !cx.should_stop() {
            self.nodes += 1;
            match draw(&pipelines.sets, all, &mut effort, &mut self.rng, cx) {
                Verdict::Refuted => return Verdict::Refuted,
                Verdict::Found(sets) => {
                    let cover = sets.iter().filter_map(|&set| pipelines.on(set));
                    let (mapping, extensions) = self.orders.within(&cover.collect::<Vec<_>>(), limit);
                    effort = effort.saturating_sub((extensions / EXTENDED).max(1));
                    if let Some(mapping) = mapping {
                        return Verdict::Found(mapping);
                    }
                }
                Verdict::Unknown => (),
            }
        }
        Verdict::Unknown
    }
}

/// The least that the all-reduce of a stage takes.
fn least_ring(problem: &MappingProblem, stage: usize) -> f64 {
    let devices = problem.topology.len();
    let pairs = (0..devices).flat_map(|a| (0..devices).map(move |b| (a, b))).filter(|(a, b)| a != b);
    pairs.map(|(a, b)| problem.all_reduce_time(stage, a, b)).fold(f64::INFINITY, f64::min)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cost::Synchronisation;
    use crate::mapping::{Exhaustive, Mapper, StageCost, samples};

    #[test]
    fn covers_reach_optima_and_refute_nothing_else() {
        let cx = SearchContext::new();
        let (mut looked, mut found, mut refuted) = (0, 0, 0);
        for seed in 0..2000 {
            let mut problem = samples::problem(seed);
            let synchronisation = if seed % 3 == 0 { Synchronisation::Overlapped } else { Synchronisation::Added };
            problem.cost = StageCost { synchronisation, ..StageCost::additive(Counted::Both) };
            for (index, stage) in problem.stages.stages.iter_mut().enumerate() {
                stage.parameter_bytes = 3.0 * (seed as usize % 4 + index) as f64;
            }
            let Some(mut rings) = RingCover::new(&problem, seed) else { continue };
            let run = Exhaustive.map(&problem, &cx);
            let Some(optimum) = run.outcome.solution().map(|mapping| problem.objective(mapping)) else { continue };
            looked += 1;
            match rings.search(optimum, 20_000, &cx) {
                Verdict::Found(mapping) => {
                    let mut devices = mapping.devices.clone();
                    devices.sort_unstable();
                    assert!(devices.into_iter().eq(0..problem.topology.len()), "devices of seed {seed} are shared");
                    assert!(problem.objective(&mapping) <= optimum * (1.0 + 1e-9), "seed {seed}");
                    found += 1;
                }
                Verdict::Refuted => panic!("the optimum of seed {seed} is refuted"),
                Verdict::Unknown => (),
            }
            match rings.search(optimum * (1.0 - 1e-6), 20_000, &cx) {
                Verdict::Found(_) => panic!("something is below the optimum of seed {seed}"),
                Verdict::Refuted => refuted += 1,
                Verdict::Unknown => (),
            }
        }
        assert!(looked > 60 && 2 * found > looked && refuted > 0, "{found} found, {refuted} refuted of {looked}");
    }
}
