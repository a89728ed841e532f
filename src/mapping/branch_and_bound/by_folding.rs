//! Searches among the mappings that symmetries take to themselves.
//!
//! Of a folding's few pipelines each stage takes a device of an orbit of its own. There are far fewer of these mappings than
//! of all, and propagation sees what annealing cannot: which devices the stages with many neighbours have to have.

use super::classes::Classes;
use super::model::Model;
use super::search::{Knowledge, Order, Search, Verdict};
use super::set::Set;
use super::{LEAST_STEP, Proof};
use crate::mapping::tiling::Folding;
use crate::mapping::{Mapping, MappingProblem};
use crate::solve::SearchContext;

/// A folding, and what is known of its mappings.
pub struct Folded<'p> {
    folding: Folding<'p>,
    /// No mapping of its own is within this.
    refuted: f64,
}

impl<'p> Folded<'p> {
    /// All foldings of a problem.
    pub fn all(problem: &'p MappingProblem, cx: &SearchContext) -> Vec<Self> {
        let foldings = Folding::all(problem, cx).into_iter();
        foldings.map(|folding| Self { folding, refuted: 0.0 }).collect()
    }

    /// Searches for a mapping within a target, and returns how many decisions that took, too.
    fn search<const W: usize>(
        &mut self,
        model: &Model<W>,
        target: f64,
        decisions: u64,
        cx: &SearchContext,
    ) -> (Option<Mapping>, u64) {
        let placed = self.folding.placed();
        let quotient = MappingProblem { replicas: placed, ..model.problem.clone() };
        let model = model.quotient(&quotient, Classes::new(self.folding.orbits()));
        let mut knowledge = Knowledge::none(&model);
        let search = Search::new(&mut knowledge, target, decisions, Order::Fresh, cx);
        // An image of a pipeline is as good as the pipeline itself.
        let stage = (0..model.stages.len()).max_by_key(|&stage| model.stages[stage].neighbours.len()).unwrap_or(0);
        let first = self.folding.orbits().iter().copied().collect::<Set<W>>();
        let search = (stage * placed..(stage + 1) * placed).fold(search, |search, copy| search.within(copy, &first));
        let found = match search.run() {
            Verdict::Found(mapping) => Some(self.folding.unfolded(&mapping)),
            Verdict::Refuted => {
                self.refuted = self.refuted.max(target);
                None
            }
            Verdict::Unknown => None,
        };
        (found, knowledge.nodes)
    }
}

impl<const W: usize> Proof<'_, W> {
    /// Searches by so many decisions for each folding, first for a mapping that reaches the bound, then for a better one.
    pub(super) fn search_foldings(&mut self, decisions: u64) {
        let problem = self.knowledge.model.problem;
        if self.is_done() || !self.has_levels_alone() || problem.cost.counted.all_reduce() {
            return;
        }
        let cx = self.cx;
        let mut foldings = self.foldings.take().unwrap_or_else(|| Folded::all(problem, cx));
        for reaches in [true, false] {
            for folded in &mut foldings {
                let target = if reaches { self.bound * (1.0 + LEAST_STEP) } else { self.better() };
                if target > folded.refuted && !self.is_done() {
                    let (found, nodes) = folded.search(self.knowledge.model, target, decisions, cx);
                    self.knowledge.nodes += nodes;
                    found.iter().for_each(|mapping| self.annealer.offer(mapping));
                    self.tell("folding");
                }
            }
        }
        self.foldings = Some(foldings);
    }
}

#[cfg(test)]
mod tests {
    use rand::rngs::Xoshiro256PlusPlus;
    use rand::{RngExt, SeedableRng};

    use super::*;
    use crate::mapping::samples::{grid, is_mapping, torus};
    use crate::mapping::{Counted, Message, Stage, StageCost, StageGraph};

    /// Stages that send messages to any others, as many copies as a small grid has devices.
    fn problem(seed: u64) -> MappingProblem {
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
        let (stages, replicas) = [(4, 2), (2, 4), (3, 2)][rng.random_range(0..3)];
        let columns = stages * replicas / 2;
        let topology = if rng.random_bool(0.5) { grid(2, columns) } else { torus(2, columns) };
        let stage = |rng: &mut Xoshiro256PlusPlus| Stage { forward: rng.random_range(1..9).into(), ..Stage::default() };
        let mut messages = Vec::new();
        for (source, target) in (0..stages).flat_map(|a| (0..stages).map(move |b| (a, b))).filter(|(a, b)| a != b) {
            if rng.random_bool(0.5) {
                messages.push(Message { source, target, bytes: rng.random_range(1..9).into() });
            }
        }
        let stages = (0..stages).map(|_| stage(&mut rng)).collect();
        let stages = StageGraph { name: "random".into(), stages, messages };
        MappingProblem { stages, replicas, topology, cost: StageCost::additive(Counted::Messages) }
    }

    /// The least objective with `missing` more copies on devices of other orbits.
    fn least(folding: &Folding, devices: &mut Vec<usize>, missing: usize) -> f64 {
        if missing == 0 {
            return folding.objective(&Mapping { devices: devices.clone() });
        }
        let mut best = f64::INFINITY;
        for device in 0..folding.orbits().len() {
            if devices.iter().all(|&other| folding.orbits()[other] != folding.orbits()[device]) {
                devices.push(device);
                best = best.min(least(folding, devices, missing - 1));
                devices.pop();
            }
        }
        best
    }

    #[test]
    fn foldings_are_searched_to_their_optimum() {
        let (cx, mut looked) = (SearchContext::new(), 0);
        for seed in 0..60 {
            let problem = problem(seed);
            let model = Model::<1>::new(&problem);
            for mut folded in Folded::all(&problem, &cx) {
                let copies = problem.stages.stages.len() * folded.folding.placed();
                let optimum = least(&folded.folding, &mut Vec::new(), copies);
                let (found, _) = folded.search(&model, optimum, 10_000, &cx);
                let mapping = found.unwrap_or_else(|| panic!("no mapping of seed {seed}"));
                assert!(is_mapping(&problem, &mapping));
                assert_eq!(problem.objective(&mapping), optimum, "seed {seed}");
                let target = optimum * (1.0 - 1e-9);
                assert_eq!(folded.search(&model, target, 10_000, &cx).0, None, "seed {seed}");
                assert_eq!(folded.refuted, target);
                looked += 1;
            }
        }
        assert!(looked > 100, "{looked} foldings");
    }
}
