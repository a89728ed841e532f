//! A search for disjoint stars.

use rand::RngExt;

use super::super::by_packing::LABELS;
use super::super::model::Model;
use super::super::search::{Knowledge, Order, Search};
use super::super::set::Set;
use super::{Spokes, Star, Stars};
use crate::mapping::Mapping;
use crate::search::{SearchContext, Verdict};

/// Decisions about the copies that stars leave open.
const REST: u64 = 200;

/// So many sets of 64 devices compared take as long as a label of packing.
const COMPARED: u64 = 32;

/// A decision about stars takes so many times as long as a search that ends at once.
const DECISION: u64 = 8;

/// A search for disjoint stars under one target.
pub struct Choice<'s, 'a, const W: usize> {
    knowledge: &'s mut Knowledge<'a, W>,
    target: f64,
    stars: &'s mut Stars<W>,
    effort: &'s mut u64,
    cx: &'s SearchContext,
    /// How many more decisions may be taken.
    decisions: u64,
    chosen: Vec<Star<W>>,
    /// How many of the first stars chosen leave the rest no place.
    conflict: usize,
    /// Whether there are disjoint stars of which it is not known what becomes of the rest.
    pub is_open: bool,
}

impl<'s, 'a, const W: usize> Choice<'s, 'a, W> {
    /// A search not yet begun.
    pub fn new(
        knowledge: &'s mut Knowledge<'a, W>,
        target: f64,
        stars: &'s mut Stars<W>,
        effort: &'s mut u64,
        cx: &'s SearchContext,
    ) -> Self {
        Self {
            knowledge,
            target,
            stars,
            effort,
            cx,
            decisions: 0,
            chosen: Vec::new(),
            conflict: usize::MAX,
            is_open: false,
        }
    }

    /// A mapping with some of these stars, if there is one; `None` where a limit came first.
    pub fn search(&mut self, stars: &[Spokes<W>], decisions: u64) -> Option<Option<Mapping>> {
        (self.decisions, self.conflict) = (decisions, usize::MAX);
        self.chosen.clear();
        self.explore(stars.to_vec())
    }

    /// Whether there is no effort left, or another limit has come.
    pub fn is_at_end(&self) -> bool {
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
                self.charge(1 + (compared * W) as u64 / COMPARED)?;
                if self.stars.impossible.get(&(middle, set)).is_some_and(|&target| target >= self.target) {
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
            sets.into_iter().map(|set| (weight(&set) * self.stars.rng.random_range(0.75..1.25), set)).collect();
        ranked.sort_by(|a, b| a.0.total_cmp(&b.0));
        ranked.into_iter().map(|(_, set)| set).collect()
    }

    /// A mapping with the stars chosen; failing that, notes how many of them are too many.
    fn complete(&mut self) -> Option<Mapping> {
        // Which star is next to which in the rings is open.
        if self.knowledge.model.stages[self.stars.stage].ring.is_some() {
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
                    self.stars.impossible.insert(self.chosen[0], self.target);
                }
            }
        }
        None
    }

    /// Looks for a mapping with the first `count` of the stars chosen.
    fn place(&mut self, count: usize, decisions: u64) -> Verdict<Mapping> {
        let (model, before) = (self.knowledge.model, self.knowledge.nodes);
        let stars = self.chosen[..count].iter().enumerate();
        let domains: Vec<_> =
            stars.flat_map(|(replica, &star)| domains(model, self.stars.stage, replica, star)).collect();
        let verdict = Search::new(self.knowledge, self.target, decisions, Order::Fresh, self.cx).given(&domains);
        let decisions = 1 + DECISION * (self.knowledge.nodes - before);
        *self.effort = self.effort.saturating_sub(decisions * LABELS * model.devices() as u64 / (2 * DECISION));
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
    let row = &model.stages[stage];
    // Links that cost nothing are none of a star's.
    let neighbours = row.pieces[0].links.iter().map(|&(index, _)| (copy(row.neighbours[index]), star.1));
    std::iter::once((copy(stage), Set::only(star.0))).chain(neighbours).collect()
}
