//! Rings laid one after the other, those first that have the least time for their links.
//!
//! Where no two links are alike, the stage with the most weights, as often the last one, has time for few of them, and
//! the other stages for many. Whether there is a cycle of these few is soon told; the rings of the others are laid on what
//! it leaves.

use super::budgets::BudgetAnnealer;
use super::cycles::{Cycle, cycle};
use super::set::Set;
use super::state::State;
use super::{OPEN, Proof};
use crate::mapping::{Counted, Mapping};
use crate::search::{SEARCH_TOLERANCE, SearchContext};

/// What laying rings under a target came to.
#[derive(Debug, Clone, PartialEq)]
enum Laid {
    /// A stage has no ring within the target.
    Refuted,
    /// The tightest stage has one, and the others do as far as they were found.
    Rings {
        /// Where they are.
        mapping: Mapping,
        /// The stage with the least time for its links.
        tightest: usize,
    },
    /// A limit came first.
    Unknown,
}

/// Steps of the search for one ring: many times as many as it takes near the least time.
const EFFORT: u64 = 1 << 18;

/// Moves of annealing for each copy of a mapping of which the tightest ring is laid.
const REFINING: u64 = 1000;

impl<const W: usize> Proof<'_, W> {
    /// Bisects between bound and best mapping by laying rings one after the other, where no two links are alike. Keeps a
    /// mapping to go on from once others were annealed: where much is left to better, annealing that begins with one laid
    /// ring finds less than without.
    pub(super) fn lay_rings(&mut self) {
        let (mut high, mut draft) = (self.objective(), None);
        while high - self.bound() > SEARCH_TOLERANCE * high && !self.is_done() {
            let target = f64::midpoint(self.bound(), high);
            match State::new(self.knowledge.model, target).lay_rings(self.cx) {
                Laid::Refuted => self.raise(target),
                Laid::Rings { mapping, tightest } => {
                    // Messages take far too long yet.
                    if self.knowledge.model.problem.cost.counted == Counted::AllReduce {
                        self.offer(&mapping);
                    }
                    (high, draft) = (target, Some((mapping, tightest)));
                }
                Laid::Unknown => high = target,
            }
            self.tell("laying rings");
        }
        let Some((draft, tightest)) = draft.filter(|_| !self.is_done()) else { return };
        let moves = REFINING * draft.devices.len() as u64;
        let mut annealer = BudgetAnnealer::new(self.knowledge.model, self.cx.seed);
        let mapping = annealer.refine(&draft, tightest, self.bound(), moves, self.cx);
        if self.knowledge.model.problem.objective(&mapping) * (1.0 - OPEN) <= self.bound() {
            self.offer(&mapping);
        }
        self.laid = Some(mapping);
        self.tell("laying rings");
    }

    /// Offers the mapping that was kept.
    pub(super) fn offer_laid(&mut self) {
        self.laid.take().iter().for_each(|mapping| self.offer(mapping));
    }
}

impl<const W: usize> State<'_, W> {
    /// Lays rings of links that the target leaves time for. Nothing may have been decided.
    fn lay_rings(&mut self, cx: &SearchContext) -> Laid {
        if self.propagate(cx).is_err() {
            return Laid::Refuted;
        }
        let replicas = self.model.replicas();
        let mut order: Vec<(f64, usize)> =
            (0..self.model.stages.len()).map(|stage| (self.room(stage), stage)).collect();
        order.sort_by(|a, b| a.0.total_cmp(&b.0));
        let (mut free, mut devices) = (Set::below(self.model.devices()), vec![0; self.model.copies()]);
        for (index, &(_, stage)) in order.iter().enumerate() {
            if cx.should_stop() {
                return Laid::Unknown;
            }
            let all = self.domains.devices[stage * replicas] & free;
            let ring = match self.lay(stage, &all) {
                Cycle::Through(ring) => ring,
                Cycle::None if index == 0 => return Laid::Refuted,
                Cycle::Unknown if index == 0 => return Laid::Unknown,
                _ => all.iter().take(replicas).collect(),
            };
            if ring.len() < replicas {
                return Laid::Unknown;
            }
            free = free.minus(&ring.iter().copied().collect());
            devices[stage * replicas..][..replicas].copy_from_slice(&ring);
        }
        let tightest = order.first().map_or(0, |&(_, stage)| stage);
        Laid::Rings { mapping: Mapping { devices }, tightest }
    }

    /// The time that is left for the links of a stage, for what they carry.
    fn room(&self, stage: usize) -> f64 {
        self.model.stages[stage].ring.map_or(f64::MAX, |ring| self.longest_link(stage) / ring.next.scale)
    }

    /// A ring of `stage` on some of these devices.
    fn lay(&self, stage: usize, all: &Set<W>) -> Cycle {
        let Some(ring) = self.model.stages[stage].ring else { return Cycle::Unknown };
        let relation = &self.model.relations[ring.next.relation];
        let room = self.room(stage);
        cycle(all, self.model.replicas(), |device| relation.within(device, room), EFFORT)
    }
}

#[cfg(test)]
mod tests {
    use rand::rngs::Xoshiro256PlusPlus;
    use rand::{RngExt, SeedableRng};

    use super::super::model::Model;
    use super::*;
    use crate::mapping::{Counted, Device, Exhaustive, Mapper, MappingProblem, Stage, StageCost, StageGraph, Topology};

    #[test]
    fn what_the_tightest_ring_cannot_keep_is_refuted_and_nothing_else() {
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(0);
        for _ in 0..60 {
            let (count, replicas) = (rng.random_range(1..3), rng.random_range(2..5));
            let bytes = (0..count).map(|_| f64::from(rng.random_range(1..9)));
            let stages = bytes.map(|parameter_bytes| Stage { parameter_bytes, ..Stage::default() }).collect();
            let devices = (0..8).map(|index| Device::new(index.to_string())).collect();
            let rates: Vec<f64> = (0..64).map(|_| rng.random_range(1.0..9.0)).collect();
            let problem = MappingProblem {
                stages: StageGraph { name: "rings".into(), stages, messages: Vec::new() },
                replicas,
                topology: Topology::new("random", "", devices, |a, b| rates[8 * a + b]),
                cost: StageCost::additive(Counted::AllReduce),
            };
            let run = Exhaustive.map(&problem, &SearchContext::new());
            let optimum = run.outcome.solution().map(|mapping| problem.objective(mapping)).expect("all devices fit");
            let model = Model::<1>::new(&problem, &SearchContext::new()).unwrap();
            let lay = |target: f64| State::new(&model, target).lay_rings(&SearchContext::new());
            let Laid::Rings { mapping, tightest } = lay(optimum) else { panic!("{problem:?} at {optimum}") };
            assert!(problem.ring_time(&mapping, tightest) <= optimum * (1.0 + 1e-12));
            if count == 1 {
                assert_eq!(lay(optimum * (1.0 - 1e-9)), Laid::Refuted, "{problem:?} below {optimum}");
            }
        }
    }
}
