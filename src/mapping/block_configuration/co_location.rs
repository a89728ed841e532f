//! Which stages' rings can lie where, from what messages leave undecided.
//!
//! A message that takes too long between blocks holds two stages of every pipeline together. So stages whose rings lead over
//! several blocks pull others with them, up to whole parts of pipelines that few blocks have room for; and the rings that
//! cannot lead over several blocks need room in one each.

use super::groups::{Groups, Tie, bits};
use crate::mapping::MappingProblem;

/// Where rings can lie within a target.
pub struct CoLocation {
    replicas: usize,
    /// By kind: how many blocks there are, and of how many devices each.
    blocks: Vec<(usize, usize)>,
    /// By stage: the neighbours, as bits, that are in the same block as its copies where its ring is in no block alone.
    across: Vec<u64>,
    /// By kind of block and stage: the same where its ring is in a block of this kind.
    inside: Vec<Vec<u64>>,
}

impl CoLocation {
    /// What is known before any ring is decided about. O(kinds · messages).
    pub fn new(problem: &MappingProblem, groups: &Groups, limit: f64) -> Self {
        Self {
            replicas: problem.replicas,
            blocks: groups.kinds.iter().map(|kind| (kind.blocks.len(), kind.size())).collect(),
            across: groups.co_located(problem, Tie::Across, limit),
            inside: (0..groups.kinds.len()).map(|kind| groups.co_located(problem, Tie::Inside(kind), limit)).collect(),
        }
    }

    /// Whether the ring of a stage may lie there as far as others are decided.
    pub fn allows(&self, stage: usize, tie: Tie, ties: &[Tie]) -> bool {
        let co_located = match tie {
            Tie::Anywhere => return true,
            Tie::Across => &self.across,
            Tie::Inside(kind) => &self.inside[kind],
        };
        let together = closure(co_located, stage);
        let agrees = |other: usize| other == stage || [Tie::Anywhere, tie].contains(&ties[other]);
        bits(together).all(agrees) && self.has_room(together.count_ones() as usize, tie)
    }

    /// Whether so many stages that are together in every pipeline find room where their rings lie.
    fn has_room(&self, stages: usize, tie: Tie) -> bool {
        match tie {
            Tie::Anywhere => true,
            Tie::Across => self.rooms(stages) >= self.replicas,
            Tie::Inside(kind) => self.blocks[kind].1 >= stages * self.replicas,
        }
    }

    /// How many sets of so many devices blocks have room for.
    fn rooms(&self, devices: usize) -> usize {
        self.blocks.iter().map(|(count, size)| count * (size / devices)).sum()
    }

    /// Whether these decisions leave no place for some rings.
    pub fn refute(&self, ties: &[Tie]) -> bool {
        let is_inside = |&stage: &usize| match ties[stage] {
            Tie::Anywhere => !self.allows(stage, Tie::Across, ties),
            Tie::Across => false,
            Tie::Inside(_) => true,
        };
        let contradicts = |stage: usize| !self.allows(stage, ties[stage], ties);
        (0..ties.len()).any(contradicts) || (0..ties.len()).filter(is_inside).count() > self.rooms(self.replicas)
    }
}

/// The stages that are held together with one, directly or through others.
fn closure(co_located: &[u64], stage: usize) -> u64 {
    let (mut reached, mut waiting) = (1_u64 << stage, 1_u64 << stage);
    while waiting != 0 {
        let next = co_located[waiting.trailing_zeros() as usize] & !reached;
        waiting &= waiting - 1;
        reached |= next;
        waiting |= next;
    }
    reached
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mapping::{Counted, Exhaustive, Mapper, Mapping, StageCost, samples};
    use crate::solve::SearchContext;

    /// Where the rings of a mapping lie.
    fn ties(problem: &MappingProblem, groups: &Groups, mapping: &Mapping) -> Vec<Tie> {
        let holds = |ring: &[usize], kind: usize| {
            groups.kinds[kind].blocks.iter().any(|block| ring.iter().all(|device| block.contains(device)))
        };
        let tie =
            |ring: &[usize]| (0..groups.kinds.len()).find(|&kind| holds(ring, kind)).map_or(Tie::Across, Tie::Inside);
        mapping.devices.chunks(problem.replicas).map(tie).collect()
    }

    #[test]
    fn nothing_that_a_mapping_keeps_to_is_refuted_and_some_targets_below_the_optimum_are() {
        let cx = SearchContext::new();
        let (mut looked, mut refuted) = (0, 0);
        for seed in 0..400 {
            let mut problem = MappingProblem { cost: StageCost::additive(Counted::Both), ..samples::problem(seed) };
            if problem.replicas == 1 {
                continue;
            }
            problem.stages.stages.iter_mut().for_each(|stage| stage.parameter_bytes = 30.0 + (seed % 4) as f64);
            let run = Exhaustive.map(&problem, &cx);
            let Some(optimal) = run.outcome.solution() else { continue };
            let devices: Vec<usize> = (0..problem.topology.len()).collect();
            let blocks: Vec<Vec<usize>> = devices.chunks(1 + seed as usize % 4).map(<[usize]>::to_vec).collect();
            let groups = Groups::new(&problem, &blocks).expect("there are few");
            let (optimum, open) = (problem.objective(optimal), vec![Tie::Anywhere; problem.stages.stages.len()]);
            let co_location = CoLocation::new(&problem, &groups, optimum * (1.0 + 1e-12));
            assert!(!co_location.refute(&open), "the optimum of seed {seed} is refuted");
            assert!(
                !co_location.refute(&ties(&problem, &groups, optimal)),
                "the optimal mapping of seed {seed} is refuted"
            );
            looked += 1;
            refuted += usize::from(CoLocation::new(&problem, &groups, 0.9 * optimum).refute(&open));
        }
        assert!(looked > 50 && 20 * refuted > looked, "{refuted} of {looked} are refuted");
    }
}
