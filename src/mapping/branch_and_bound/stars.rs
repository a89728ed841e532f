//! Stars: a copy of one stage and its neighbours in the same pipeline.
//!
//! Where a stage has many neighbours and no two links are alike, few sets of devices hold a copy of it with all its neighbours
//! within a target. As many of these sets as there are replicas have to be disjoint. Where no such sets are left, the target
//! is refuted; otherwise a search that is given them has little left to decide.

use rand::rngs::Xoshiro256PlusPlus;
use rand::{RngExt, SeedableRng};
use rustc_hash::FxHashMap;

use super::by_packing::LABELS;
use super::model::Model;
use super::search::{Knowledge, Order, Search, Verdict};
use super::set::Set;
use super::state::State;
use crate::mapping::Mapping;
use crate::mapping::packing::Packing;
use crate::solve::SearchContext;

/// A stage with fewer neighbours leaves too many sets of devices.
const FEWEST_NEIGHBOURS: usize = 3;

/// The most stars under one target.
const MOST_STARS: usize = 200_000;

/// Decisions of the first search for disjoint stars; each later one takes twice as many, in another order.
const FIRST_DECISIONS: u64 = 200;

/// Decisions about the copies that stars leave open.
const REST: u64 = 200;

/// So many sets compared take as long as a label of packing.
const COMPARED: u64 = 32;

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
            let mut times: Vec<f64> = (0..model.devices()).map(|device| stars.least(model, device)).collect();
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

    /// What a copy takes on a device at least.
    fn least(&self, model: &Model<W>, device: usize) -> f64 {
        let nearest = model.relations[self.relation].nearest(device, Set::below(model.devices()));
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
        if state.propagate().is_err() {
            return Packing::Refuted;
        }
        let Some(stars) = self.within(&state, effort) else { return Packing::Crowded };
        let mut choice = Choice {
            knowledge,
            stage: self.stage,
            target,
            decisions: FIRST_DECISIONS,
            effort,
            impossible: &mut self.impossible,
            rng: &mut self.rng,
            cx,
            chosen: Vec::new(),
            conflict: usize::MAX,
            is_open: false,
        };
        loop {
            choice.chosen.clear();
            let decisions = choice.decisions;
            match choice.explore(stars.clone()) {
                Some(Some(mapping)) => return Packing::Found(mapping),
                Some(None) if !choice.is_open => return Packing::Refuted,
                Some(None) => return Packing::Unknown(None),
                None if choice.is_at_end() => return Packing::Unknown(None),
                None => choice.decisions = 2 * decisions,
            }
        }
    }

    /// All stars within the state's limit; `None` where there are too many.
    fn within(&self, state: &State<W>, effort: &mut u64) -> Option<Vec<Spokes<W>>> {
        let (model, first) = (state.model, self.stage * state.model.replicas());
        let ring = state.domains.least_ring[first..first + model.replicas()].iter().copied().fold(0.0, f64::max);
        let limit = if model.adds_ring() { state.limit - ring } else { state.limit };
        let (mut stars, mut left) = (Vec::new(), MOST_STARS);
        for device in state.domains.devices[first].iter() {
            let nearest = model.relations[self.relation].nearest(device, Set::below(model.devices()));
            let nearest: Vec<(f64, usize)> = nearest.collect();
            let mut enumeration =
                Enumeration { scales: &self.scales, nearest: &nearest, limit, sets: Vec::new(), left };
            enumeration.extend(0, 0, model.stages[self.stage].pieces[0].compute[device], Set::EMPTY)?;
            left = enumeration.left;
            stars.push((device, enumeration.sets));
        }
        *effort = effort.saturating_sub((MOST_STARS - left) as u64);
        stars.retain(|(_, sets): &Spokes<W>| !sets.is_empty());
        Some(stars)
    }
}

/// The sets of devices that the neighbours of one copy may have.
struct Enumeration<'e, const W: usize> {
    scales: &'e [f64],
    /// The other devices with their costs, from the least on.
    nearest: &'e [(f64, usize)],
    limit: f64,
    sets: Vec<Set<W>>,
    /// How many more sets there may be.
    left: usize,
}

impl<const W: usize> Enumeration<'_, W> {
    /// Chooses the devices of the links from `link` on among those from `first` on: the links with the most bytes have the
    /// cheapest of a set. `None` where there are too many sets.
    fn extend(&mut self, link: usize, first: usize, time: f64, set: Set<W>) -> Option<()> {
        let rest = &self.scales[link..];
        if rest.is_empty() {
            self.left = self.left.checked_sub(1)?;
            self.sets.push(set);
            return Some(());
        }
        for place in first..=self.nearest.len().saturating_sub(rest.len()) {
            let next = &self.nearest[place..];
            let least: f64 = rest.iter().zip(next).map(|(scale, (cost, _))| scale * cost).sum();
            if next.len() < rest.len() || time + least > self.limit {
                break;
            }
            let (cost, device) = next[0];
            self.extend(link + 1, place + 1, time + rest[0] * cost, set | Set::only(device))?;
        }
        Some(())
    }
}

/// A search for disjoint stars under one target.
struct Choice<'s, 'a, const W: usize> {
    knowledge: &'s mut Knowledge<'a, W>,
    stage: usize,
    target: f64,
    decisions: u64,
    effort: &'s mut u64,
    impossible: &'s mut FxHashMap<Star<W>, f64>,
    rng: &'s mut Xoshiro256PlusPlus,
    cx: &'s SearchContext,
    chosen: Vec<Star<W>>,
    /// How many of the first stars chosen leave the rest no place.
    conflict: usize,
    /// Whether there are disjoint stars of which it is not known what becomes of the rest.
    is_open: bool,
}

impl<const W: usize> Choice<'_, '_, W> {
    fn is_at_end(&self) -> bool {
        *self.effort == 0 || self.cx.should_stop()
    }

    /// Charges so many labels of packing; `None` where that is all there was.
    fn charge(&mut self, labels: u64) -> Option<()> {
        *self.effort = self.effort.saturating_sub(labels);
        (!self.is_at_end()).then_some(())
    }

    /// A mapping with the stars chosen and some of these, if there is one; `None` where a limit came first.
    fn explore(&mut self, mut stars: Vec<Spokes<W>>) -> Option<Option<Mapping>> {
        let missing = self.knowledge.model.replicas() - self.chosen.len();
        if missing == 0 {
            return Some(self.complete());
        }
        while stars.len() >= missing {
            let rarest = (0..stars.len()).min_by_key(|&index| stars[index].1.len())?;
            let (middle, sets) = stars.swap_remove(rarest);
            for set in self.ordered(sets, &stars) {
                self.decisions = self.decisions.checked_sub(1)?;
                let compared: usize = stars.iter().map(|(_, sets)| sets.len()).sum();
                self.charge(1 + compared as u64 / COMPARED)?;
                if self.impossible.get(&(middle, set)).is_some_and(|&target| target >= self.target) {
                    continue;
                }
                self.chosen.push((middle, set));
                let found = self.explore(without(&stars, middle, &set))?;
                self.chosen.pop();
                if found.is_some() || self.chosen.len() >= self.conflict {
                    return Some(found);
                }
                self.conflict = usize::MAX;
            }
        }
        Some(None)
    }

    /// Sets, by chance, and before those that take few other stars' devices.
    fn ordered(&mut self, sets: Vec<Set<W>>, others: &[Spokes<W>]) -> Vec<Set<W>> {
        let mut uses = vec![0.0; self.knowledge.model.devices()];
        for (middle, sets) in others {
            let share = 1.0 / sets.len() as f64;
            uses[*middle] += 1.0;
            sets.iter().flat_map(|set| set.iter()).for_each(|device| uses[device] += share);
        }
        let weight = |set: &Set<W>| set.iter().map(|device| uses[device]).sum::<f64>();
        let mut ranked: Vec<(f64, Set<W>)> =
            sets.into_iter().map(|set| (weight(&set) * self.rng.random_range(0.75..1.25), set)).collect();
        ranked.sort_by(|a, b| a.0.total_cmp(&b.0));
        ranked.into_iter().map(|(_, set)| set).collect()
    }

    /// A mapping with the stars chosen; failing that, notes how many of them are too many.
    fn complete(&mut self) -> Option<Mapping> {
        // Which star is next to which in the rings is open.
        if self.knowledge.model.stages[self.stage].ring.is_some() {
            self.is_open = true;
            return None;
        }
        match self.place(self.chosen.len(), REST) {
            Verdict::Found(mapping) => return Some(mapping),
            Verdict::Unknown => self.is_open = true,
            Verdict::Refuted => {
                let (mut possible, mut conflict) = (0, self.chosen.len());
                while possible + 1 < conflict {
                    let count = (possible + conflict) / 2;
                    let is_refuted = self.place(count, 0) == Verdict::Refuted;
                    *(if is_refuted { &mut conflict } else { &mut possible }) = count;
                }
                self.conflict = conflict;
                if conflict == 1 {
                    self.impossible.insert(self.chosen[0], self.target);
                }
            }
        }
        None
    }

    /// Looks for a mapping with the first `count` of the stars chosen.
    fn place(&mut self, count: usize, decisions: u64) -> Verdict {
        let (model, before) = (self.knowledge.model, self.knowledge.nodes);
        let stars = self.chosen[..count].iter().enumerate();
        let domains: Vec<_> = stars.flat_map(|(replica, &star)| domains(model, self.stage, replica, star)).collect();
        let verdict = Search::new(self.knowledge, self.target, decisions, Order::Fresh, self.cx).given(&domains);
        let decisions = 1 + 8 * (self.knowledge.nodes - before);
        *self.effort = self.effort.saturating_sub(decisions * LABELS * model.devices() as u64 / 16);
        verdict
    }
}

/// What is left of stars when some devices are taken.
fn without<const W: usize>(stars: &[Spokes<W>], middle: usize, set: &Set<W>) -> Vec<Spokes<W>> {
    let taken = *set | Set::only(middle);
    let apart = |sets: &[Set<W>]| sets.iter().copied().filter(|set| !set.meets(&taken)).collect::<Vec<_>>();
    let stars = stars.iter().filter(|(middle, _)| !taken.contains(*middle));
    stars.map(|(middle, sets)| (*middle, apart(sets))).filter(|(_, sets)| !sets.is_empty()).collect()
}

/// What a star leaves the copies of one replica.
fn domains<const W: usize>(model: &Model<W>, stage: usize, replica: usize, star: Star<W>) -> Vec<(usize, Set<W>)> {
    let copy = |stage: usize| stage * model.replicas() + replica;
    let neighbours = model.stages[stage].neighbours.iter().map(|&stage| (copy(stage), star.1));
    std::iter::once((copy(stage), Set::only(star.0))).chain(neighbours).collect()
}
