//! Stars: a copy of one stage and its neighbours in the same pipeline.
//!
//! Where a stage has many neighbours and no two links are alike, few sets of devices hold a copy of it with all its neighbours
//! within a target. As many of these sets as there are replicas have to be disjoint. Where no such sets are left, the target
//! is refuted; otherwise a search that is given them has little left to decide.

mod choice;
mod draft;
mod enumeration;
#[cfg(test)]
mod tests;

use rand::SeedableRng;
use rand::rngs::Xoshiro256PlusPlus;
use rustc_hash::FxHashMap;

use super::model::Model;
use super::search::Knowledge;
use super::set::Set;
use super::state::State;
use crate::mapping::packing::Packing;
use crate::solve::SearchContext;
use choice::Choice;
use enumeration::Enumeration;

/// A stage with fewer neighbours leaves too many sets of devices.
const FEWEST_NEIGHBOURS: usize = 3;

/// The most stars under one target, for each 64 devices.
const MOST_STARS: usize = 200_000;

/// Decisions of the first search for disjoint stars; each later one takes twice as many, in another order.
const FIRST_DECISIONS: u64 = 200;

/// One search takes one of so many parts of the effort that is left.
const PARTS: u64 = 4;

/// The stage in the middle of stars.
#[derive(Debug)]
pub struct Stars<const W: usize> {
    stage: usize,
    /// The relation that all its links share.
    relation: usize,
    /// What the costs of its links are multiplied by, from the largest on.
    scales: Vec<f64>,
    /// Stars that leave the rest of a pipeline no place, with the largest target for which that is known.
    impossible: FxHashMap<Star<W>, f64>,
    rng: Xoshiro256PlusPlus,
}

/// A device for the stage in the middle, and those of its neighbours.
type Star<const W: usize> = (usize, Set<W>);

/// A device for the stage in the middle, and the sets of devices that its neighbours may have then.
type Spokes<const W: usize> = (usize, Vec<Set<W>>);

impl<const W: usize> Stars<W> {
    /// The stage whose copies take the most with the cheapest links on the devices where that is least; `None` where it has
    /// few neighbours, or where not all its links order the devices alike. O(stages · D log D).
    pub fn new(model: &Model<W>, seed: u64) -> Option<Self> {
        let stars = (0..model.stages.len()).filter_map(|stage| Self::of(model, stage, seed));
        let least = |stars: &Self| {
            let all = Set::below(model.devices());
            let mut times: Vec<f64> = (0..model.devices()).map(|device| stars.least(model, device, all)).collect();
            times.sort_unstable_by(f64::total_cmp);
            times[model.replicas() - 1]
        };
        let slowest = stars.max_by(|a, b| least(a).total_cmp(&least(b)))?;
        Some(slowest).filter(|stars| stars.scales.len() >= FEWEST_NEIGHBOURS)
    }

    fn of(model: &Model<W>, stage: usize, seed: u64) -> Option<Self> {
        let [piece] = model.stages[stage].pieces.as_slice() else { return None };
        let relation = piece.links.first()?.1.relation;
        let mut scales: Vec<f64> = piece.links.iter().map(|(_, link)| link.scale).collect();
        scales.sort_unstable_by(|a, b| b.total_cmp(a));
        let is_one = piece.links.iter().all(|(_, link)| link.relation == relation);
        is_one.then(|| Self {
            stage,
            relation,
            scales,
            impossible: FxHashMap::default(),
            rng: Xoshiro256PlusPlus::seed_from_u64(seed),
        })
    }

    /// What a copy takes at least on a device when its neighbours are on others of these.
    fn least(&self, model: &Model<W>, device: usize, others: Set<W>) -> f64 {
        let nearest = model.relations[self.relation].nearest(device, others);
        let links: f64 = nearest.zip(&self.scales).map(|((cost, _), scale)| cost * scale).sum();
        model.stages[self.stage].pieces[0].compute[device] + links
    }

    /// Searches for a mapping within a target, or a proof that there is none, with a part of what is left of an effort.
    pub fn search(
        &mut self,
        knowledge: &mut Knowledge<W>,
        target: f64,
        effort: &mut u64,
        cx: &SearchContext,
    ) -> Packing {
        let part = effort.div_ceil(PARTS);
        let mut left = part;
        let packing = self.search_with(knowledge, target, &mut left, cx);
        *effort -= part - left;
        packing
    }

    fn search_with(
        &mut self,
        knowledge: &mut Knowledge<W>,
        target: f64,
        effort: &mut u64,
        cx: &SearchContext,
    ) -> Packing {
        let mut state = State::new(knowledge.model, target);
        if state.propagate(cx).is_err() {
            return Packing::Refuted;
        }
        let Some(stars) = self.within(&state, effort) else {
            return Packing::Unknown(self.draft(knowledge.model, target));
        };
        let mut choice = Choice::new(knowledge, target, self, effort, cx);
        let mut decisions = FIRST_DECISIONS;
        loop {
            match choice.search(&stars, decisions) {
                Some(Some(mapping)) => return Packing::Found(mapping),
                Some(None) if !choice.is_open => return Packing::Refuted,
                Some(None) => return Packing::Unknown(None),
                None if choice.is_at_end() => return Packing::Unknown(None),
                None => decisions *= 2,
            }
        }
    }

    /// All stars within the state's limit; `None` where there are too many.
    fn within(&self, state: &State<W>, effort: &mut u64) -> Option<Vec<Spokes<W>>> {
        let (model, first) = (state.model, self.stage * state.model.replicas());
        let ring = state.domains.least_ring[first..first + model.replicas()].iter().copied().fold(0.0, f64::max);
        let limit = if model.adds_ring() { state.limit - ring } else { state.limit };
        let (mut stars, most) = (Vec::new(), MOST_STARS / W);
        let mut left = most;
        for device in state.domains.devices[first].iter() {
            let nearest = model.relations[self.relation].nearest(device, Set::below(model.devices()));
            let nearest: Vec<(f64, usize)> = nearest.collect();
            let mut enumeration =
                Enumeration { scales: &self.scales, nearest: &nearest, limit, sets: Vec::new(), left };
            enumeration.extend(0, 0, model.stages[self.stage].pieces[0].compute[device], Set::EMPTY)?;
            left = enumeration.left;
            if !enumeration.sets.is_empty() {
                stars.push((device, enumeration.sets));
            }
        }
        *effort = effort.saturating_sub((most - left) as u64);
        Some(stars)
    }
}
