//! The lattice of ideals: every set of units that is closed under predecessors.

use std::ops::Range;

use rustc_hash::FxHashMap;

use super::model::Model;
use crate::solve::SearchContext;

/// Words of bits that the ideals of a lattice may take: 512 MB.
const MAX_WORDS: usize = 1 << 26;

/// What a word of an ideal takes while the list of them doubles and a layer is indexed, in bytes.
const BYTES_PER_WORD: usize = 32;

/// Ideals between two looks at the clock.
const STRIDE: usize = 1024;

/// A step of the lattice: a unit, and the ideal with it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Step {
    /// The unit that joins.
    pub unit: u32,
    /// The ideal that results.
    pub next: u32,
}

/// All ideals of the units' order, smallest first: each comes before those that hold it.
#[derive(Debug)]
pub(super) struct Lattice {
    words_per_ideal: usize,
    words: Vec<u64>,
    steps: Vec<Step>,
    first_step: Vec<usize>,
    live: Vec<u32>,
    first_live: Vec<usize>,
    /// The ideals I ∪ {u} such that I and I ∪ {u} are the only ones of their sizes and the outputs of u alone are live;
    /// and the empty and the full ideal. Every chain of ideals passes them, and every subgraph with units
    /// on both sides holds u.
    pub cuts: Vec<usize>,
    /// Whether no ideal is left out.
    pub is_whole: bool,
}

/// The lattice has more ideals than allowed, or a limit came.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct TooWide;

impl Lattice {
    /// Enumerates the ideals of `model`, layer by layer, up to `max_ideals`.
    ///
    /// With a `window` only those in which no unit comes before one that is so many places earlier in the order of
    /// units: the narrower, the fewer.
    pub fn new(model: &Model, window: Option<usize>, max_ideals: usize, cx: &SearchContext) -> Result<Self, TooWide> {
        let words_per_ideal = model.unit_count().div_ceil(64);
        let mut lattice = Self {
            words_per_ideal,
            words: vec![0; words_per_ideal],
            steps: Vec::new(),
            first_step: vec![0],
            live: Vec::new(),
            first_live: vec![0, 0],
            cuts: vec![0],
            is_whole: window.is_none(),
        };
        let mut layer = 0..1;
        for _ in 0..model.unit_count() {
            let before = layer.clone();
            lattice.add_layer(model, window, layer, max_ideals, cx)?;
            layer = before.end..lattice.len();
            if before.len() == 1 && layer.len() == 1 && lattice.leads_to_cut(model) {
                lattice.cuts.push(layer.start);
            }
        }
        if lattice.cuts.last() != Some(&(lattice.len() - 1)) {
            lattice.cuts.push(lattice.len() - 1);
        }
        // The full ideal has no steps.
        lattice.first_step.extend([lattice.steps.len(); 2]);
        Ok(lattice)
    }

    /// How many ideals there are.
    pub fn len(&self) -> usize {
        self.first_live.len() - 1
    }

    /// The ideal of the next cut where a set may be open there, too: it is not the full one.
    pub fn next_open(&self, cut: usize) -> Option<usize> {
        let next = self.cuts.get(cut + 1).copied();
        next.filter(|&next| next + 1 < self.len())
    }

    /// The state of the set of `class` that is open at the cut with this index; those of ideals come before.
    pub fn open_state(&self, model: &Model, cut: usize, class: usize) -> usize {
        self.len() + cut * model.classes.len() + class
    }

    /// The units of ideal `i`, as words of bits.
    #[inline]
    pub fn words(&self, i: usize) -> &[u64] {
        &self.words[i * self.words_per_ideal..(i + 1) * self.words_per_ideal]
    }

    /// Whether ideal `i` holds a unit.
    #[inline]
    pub fn contains(&self, i: usize, unit: usize) -> bool {
        self.words(i)[unit / 64] >> (unit % 64) & 1 == 1
    }

    /// The units that may join ideal `i`.
    #[inline]
    pub fn steps(&self, i: usize) -> &[Step] {
        &self.steps[self.first_step[i]..self.first_step[i + 1]]
    }

    /// The ports of ideal `i` that a unit outside waits for, ascending.
    #[inline]
    pub fn live(&self, i: usize) -> &[u32] {
        &self.live[self.first_live[i]..self.first_live[i + 1]]
    }

    /// The units of ideal `j` that ideal `i` lacks, ascending.
    pub fn difference(&self, j: usize, i: usize) -> Vec<usize> {
        let mut units = Vec::new();
        self.each_of_difference(j, i, |unit| units.push(unit));
        units
    }

    /// Calls `visit` with each unit of ideal `j` that ideal `i` lacks, ascending.
    #[inline]
    pub fn each_of_difference(&self, j: usize, i: usize, mut visit: impl FnMut(usize)) {
        for (w, (with, without)) in self.words(j).iter().zip(self.words(i)).enumerate() {
            let mut rest = with & !without;
            while rest != 0 {
                visit(w * 64 + rest.trailing_zeros() as usize);
                rest &= rest - 1;
            }
        }
    }

    fn add_layer(
        &mut self,
        model: &Model,
        window: Option<usize>,
        layer: Range<usize>,
        max_ideals: usize,
        cx: &SearchContext,
    ) -> Result<(), TooWide> {
        let mut index: FxHashMap<Box<[u64]>, u32> = FxHashMap::default();
        let most_words = MAX_WORDS.min(self.words.len() + cx.memory_left() / BYTES_PER_WORD);
        for (place, i) in layer.enumerate() {
            if place.is_multiple_of(STRIDE) && cx.should_stop() {
                return Err(TooWide);
            }
            if i > 0 {
                self.first_step.push(self.steps.len());
            }
            for unit in self.available(model, window, i) {
                let mut words: Box<[u64]> = self.words(i).into();
                words[unit / 64] |= 1 << (unit % 64);
                let next = match index.get(&words) {
                    Some(&next) => next,
                    None => {
                        let next = self.add(model, i, unit, &words);
                        index.insert(words, next);
                        next
                    }
                };
                self.steps.push(Step { unit: unit as u32, next });
            }
            if self.len() > max_ideals || self.words.len() > most_words {
                return Err(TooWide);
            }
        }
        Ok(())
    }

    /// Adds the ideal `words`, which is ideal `i` and `unit`; returns its index.
    fn add(&mut self, model: &Model, i: usize, unit: usize, words: &[u64]) -> u32 {
        let next = self.len();
        self.words.extend_from_slice(words);
        let range = self.first_live[i]..self.first_live[i + 1];
        let is_live = |p: &u32| model.ports[*p as usize].units.iter().any(|&w| words[w / 64] >> (w % 64) & 1 == 0);
        let mut live: Vec<u32> = self.live[range].iter().copied().filter(is_live).collect();
        live.extend_from_slice(model.outputs.row(unit));
        live.sort_unstable();
        self.live.extend(live);
        self.first_live.push(self.live.len());
        next as u32
    }

    /// Units outside ideal `i` whose predecessors it holds, ascending.
    fn available(&self, model: &Model, window: Option<usize>, i: usize) -> Vec<usize> {
        let order = &model.units.order;
        let first = (0..model.unit_count()).find(|&u| !self.contains(i, u)).unwrap_or(0);
        let end = window.map_or(model.unit_count(), |window| (first + window).min(model.unit_count()));
        let ready = |&u: &usize| order.predecessors(u).iter().all(|&p| self.contains(i, p as usize));
        (first..end).filter(|&u| !self.contains(i, u)).filter(ready).collect()
    }

    /// Whether the last step leads to an ideal that leaves the outputs of the step's unit alone live and parts no
    /// colour class.
    fn leads_to_cut(&self, model: &Model) -> bool {
        let Some(&Step { unit, next }) = self.steps.last() else { return false };
        let (unit, next) = (unit as usize, next as usize);
        let parts = |class: &Vec<usize>| class.iter().any(|&u| self.contains(next, u) != self.contains(next, class[0]));
        self.live(next).iter().all(|&p| model.ports[p as usize].unit == unit)
            && !model.units.class_members.iter().any(parts)
    }
}
