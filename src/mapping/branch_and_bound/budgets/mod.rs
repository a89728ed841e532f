//! Annealing with a budget for each stage.
//!
//! What a copy takes is its load and the slowest link of its stage's ring. Both are maxima over many copies, and which of
//! them matter changes with every move. So each stage has a budget for the links of its ring, and what that leaves of the
//! target is for its loads: the energy is a sum of what single loads and single links take beyond their budgets, and a
//! move changes few of them. Now and then each stage gets the budget with the least energy, which is a median.
//!
//! Where no two links are alike, good partners are few. Most moves take a copy that is late, or a neighbour of one, near a
//! neighbour.

mod moves;
mod placement;

use rand::rngs::Xoshiro256PlusPlus;
use rand::{RngExt, SeedableRng};

use super::model::Model;
use crate::mapping::{Mapping, MappingProblem};
use crate::solve::SearchContext;
use moves::Picker;
use placement::{FREE, Placement};

/// The first temperature of a round, as a part of its target.
const HOT: f64 = 0.03;

/// The same where one ring stays as it is: what is best near it is all that is looked for.
const MILD: f64 = 0.0005;

/// Moves of the first round for each copy. Rounds get longer once they better nothing.
const LENGTH: u64 = 1000;

/// Targets lie this part of the way from the best mapping to the bound, or half of it after each round for nothing, down
/// to the least.
const DEPTH: f64 = 0.5;
const LEAST_DEPTH: f64 = 0.05;

/// Annealing with budgets of mappings of one problem.
pub struct BudgetAnnealer<'a, const W: usize> {
    problem: &'a MappingProblem,
    placement: Placement<'a, W>,
    picker: Picker,
    rng: Xoshiro256PlusPlus,
    /// A stage whose copies stay where they are.
    fixed: Option<usize>,
    /// Moves of a round.
    length: u64,
    depth: f64,
    /// Moves tried so far.
    pub moves: u64,
}

impl<'a, const W: usize> BudgetAnnealer<'a, W> {
    /// Annealing of the model's problem, not yet begun. O(D² log D).
    pub fn new(model: &'a Model<'a, W>, seed: u64) -> Self {
        Self {
            problem: model.problem,
            placement: Placement::new(model),
            picker: Picker::new(model),
            rng: Xoshiro256PlusPlus::seed_from_u64(seed),
            fixed: None,
            length: LENGTH * model.copies() as u64,
            depth: DEPTH,
            moves: 0,
        }
    }

    /// Anneals from `best` on for about so many moves, until it is no longer than `bound`, or a limit comes.
    pub fn anneal(&mut self, best: &mut Mapping, bound: f64, moves: u64, cx: &SearchContext) {
        let end = self.moves + moves;
        let mut objective = self.problem.objective(best);
        while self.moves < end && objective > bound && !cx.should_stop() {
            // Near the best, aim at anything better.
            let target = (objective - self.depth * (objective - bound)).min(objective * (1.0 - 1e-9));
            self.cool(best, target, HOT, self.length.min(end - self.moves), cx);
            let mapping = self.placement.mapping();
            let reached = self.problem.objective(&mapping);
            let is_within = reached <= target;
            if reached < objective {
                (*best, objective) = (mapping, reached);
            }
            self.adapt(is_within);
        }
    }

    /// Anneals `draft` for about so many moves, but for the copies of the stage `fixed`, which stay where they are.
    pub fn refine(&mut self, draft: &Mapping, fixed: usize, target: f64, moves: u64, cx: &SearchContext) -> Mapping {
        self.fixed = Some(fixed);
        self.cool(draft, target, MILD, moves, cx);
        self.fixed = None;
        self.placement.mapping()
    }

    fn adapt(&mut self, is_within: bool) {
        self.depth = if is_within { DEPTH } else { 0.5 * self.depth };
        if self.depth < LEAST_DEPTH {
            self.depth = DEPTH;
            self.length *= 2;
        }
    }

    fn is_fixed(&self, device: usize) -> bool {
        let copy = self.placement.copies[device];
        copy != FREE && self.fixed == Some(copy / self.problem.replicas)
    }

    /// One cooling under a target, which ends where everything is within it.
    fn cool(&mut self, first: &Mapping, target: f64, hot: f64, moves: u64, cx: &SearchContext) {
        self.placement.restart(first, target);
        let (copies, mut energy) = (first.devices.len() as u64, self.placement.energy());
        let mut swaps = Vec::new();
        for step in 0..moves {
            if step % 1024 == 0 && cx.should_stop() {
                return;
            }
            if step % copies == 0 {
                self.placement.divide();
                energy = self.placement.energy();
            }
            let temperature = hot * target * (1.0 - step as f64 / moves as f64).powi(3);
            self.moves += 1;
            self.picker.pick(&self.placement, &mut self.rng, &mut swaps);
            if swaps.is_empty() || swaps.iter().any(|&(a, b)| self.is_fixed(a) || self.is_fixed(b)) {
                continue;
            }
            let growth = self.placement.swap(&swaps);
            if growth > 0.0 && self.rng.random::<f64>() >= (-growth / temperature).exp() {
                self.placement.take_back(&swaps);
                continue;
            }
            energy += growth;
            if energy < 1e-9 * target {
                energy = self.placement.energy();
                if energy <= 0.0 {
                    return;
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mapping::samples::{is_mapping, problem};
    use crate::mapping::{Counted, Exhaustive, Mapper};

    #[test]
    fn annealing_finds_most_optima_of_small_problems_and_nothing_below() {
        let cx = SearchContext::new();
        let (mut looked, mut reached) = (0, 0);
        for seed in 0..120 {
            let mut problem = problem(seed);
            problem.cost.counted = [Counted::Messages, Counted::AllReduce, Counted::Both][seed as usize % 3];
            problem
                .stages
                .stages
                .iter_mut()
                .enumerate()
                .for_each(|(index, stage)| stage.parameter_bytes = 3.0 * index as f64);
            let run = Exhaustive.map(&problem, &cx);
            let Some(optimum) = run.outcome.solution().map(|mapping| problem.objective(mapping)) else { continue };
            let model = Model::<1>::new(&problem, &SearchContext::new()).unwrap();
            let first = Mapping { devices: (0..problem.copies()).collect() };
            if !is_mapping(&problem, &first) {
                continue;
            }
            let mut best = first;
            BudgetAnnealer::new(&model, seed).anneal(&mut best, optimum, 200_000, &cx);
            assert!(is_mapping(&problem, &best), "no mapping of seed {seed}");
            let objective = problem.objective(&best);
            assert!(objective >= optimum * (1.0 - 1e-12), "{objective} is below {optimum} of seed {seed}");
            looked += 1;
            reached += u32::from(objective <= optimum * (1.0 + 1e-12));
        }
        assert!(looked > 60 && reached * 10 >= looked * 9, "{reached} of {looked} optima");
    }
}
