//! Pareto fronts of boundary values over all ideals, by a pass from the last unit to the first: for every state of the
//! automaton what the undecided units can still add.
//!
//! The fronts of a position need those of the next one alone, so that the front over all ideals takes little memory. The
//! fronts of all positions guide an enumeration; they are kept, or made when they are asked for.

use std::sync::Arc;

use rayon::prelude::*;

use super::frontier::{FORBIDDEN, Frontier, Transition};
use super::pareto_fronts::{Label, Shifted, increment, merge, pareto};
use super::stage::Potential;
use crate::preprocess::Reduced;
use crate::solve::SearchContext;

/// States whose fronts are made together, side by side with others, have about so many labels.
const LABELS_PER_PART: usize = 1 << 11;

/// Steps between two looks at the limits, a state being worth one and so many labels another: a layer may have hundreds of
/// times as many, and a turn be over in the middle of a table.
const PATIENCE: usize = 1 << 12;
const LABELS_PER_STEP: usize = 16;

/// The most that the next layer may take, beside the one after it, as so many times that: twice as many labels, in lists
/// that double, and a copy.
const GROWTH: usize = 6;

/// So many parts of the memory that is left before a table is made, one is left after it.
const SPARE: usize = 3;

/// What no decision adds.
const NOTHING: Label = Label { x: 0.0, y: 0.0 };

/// The fronts of the states at one position, in parts of equally many states.
#[derive(Default)]
struct Layer {
    /// A part holds 2 to the power of this many states.
    shift: u32,
    /// Parts beyond those of the states are left from positions with more.
    parts: Vec<Part>,
    used: usize,
}

/// The fronts of successive states.
#[derive(Default, Clone)]
struct Part {
    labels: Vec<Label>,
    /// The front of state s of the part is `starts[s]..starts[s + 1]`.
    starts: Vec<u32>,
}

impl Layer {
    /// The layer after the last unit, whose only state has nothing to add.
    fn last() -> Self {
        let part = Part { labels: vec![NOTHING], starts: vec![0, 1] };
        Self { shift: 0, parts: vec![part], used: 1 }
    }

    #[inline]
    fn front(&self, state: u32) -> &[Label] {
        let part = &self.parts[(state >> self.shift) as usize];
        let state = (state & ((1 << self.shift) - 1)) as usize;
        &part.labels[part.starts[state] as usize..part.starts[state + 1] as usize]
    }

    /// Makes room for at most so many parts of `states` states.
    fn divide(&mut self, states: usize, parts: usize) {
        let parts = parts.clamp(1, states);
        self.shift = states.div_ceil(parts).next_power_of_two().ilog2();
        self.used = states.div_ceil(1 << self.shift);
        if self.parts.len() < self.used {
            self.parts.resize_with(self.used, Part::default);
        }
    }

    fn label_count(&self) -> usize {
        self.parts[..self.used].iter().map(|part| part.labels.len()).sum()
    }

    /// A copy that takes no more memory than it needs.
    fn exact(&self) -> Self {
        Self { shift: self.shift, parts: self.parts[..self.used].par_iter().cloned().collect(), used: self.used }
    }
}

/// Where useful boundaries lie: some pair of (least x, largest y) admits each of them.
pub struct Room {
    /// The pairs that none surpasses, `y` being the least x and `x` the largest y; both ascend.
    pairs: Vec<Label>,
}

impl Room {
    /// The room of pairs in true values, for labels whose x is off by at most `x_error` and y by at least `y_error`.
    pub fn new(pairs: &[(f64, f64)], x_error: f64, y_error: f64) -> Self {
        let pairs = pairs.iter().map(|&(need, most)| Label { x: most - y_error, y: need - x_error });
        Self { pairs: pareto(pairs.collect()) }
    }

    /// Whether boundaries may be useful: asked of one after another with ascending x, which is at most, and a least y.
    fn admission(&self) -> impl FnMut(f64, f64) -> bool {
        let mut most = f64::NEG_INFINITY;
        let mut pairs = self.pairs.iter().peekable();
        move |x, y| {
            while let Some(pair) = pairs.next_if(|pair| pair.y <= x) {
                most = pair.x;
            }
            y <= most
        }
    }
}

/// There would be more labels than allowed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TooMany;

/// A boundary between stages of potential `below` and `above`.
pub struct Suffixes<'a> {
    reduced: &'a Reduced,
    frontier: &'a Frontier,
    below: &'a Potential,
    above: &'a Potential,
    room: Option<Room>,
    labels_per_part: usize,
    /// For each state before each position the largest x and the least y of a prefix that leads to it; only with a room.
    prefixes: Vec<Vec<Label>>,
}

/// The fronts of a boundary.
pub struct Fronts {
    root: Vec<Label>,
    labels: usize,
    table: Option<Arc<FrontTable>>,
}

/// For each state the Pareto front of what the undecided units can still add to (x, y). Both ascend in a front.
pub struct FrontTable {
    /// By position; the extra last layer holds the empty suffix.
    layers: Vec<Layer>,
}

impl<'a> Suffixes<'a> {
    /// The boundary between stages of potentials `below` and `above`; of its labels only those in `room` matter.
    pub fn new(
        reduced: &'a Reduced,
        frontier: &'a Frontier,
        (below, above): (&'a Potential, &'a Potential),
        room: Option<Room>,
    ) -> Self {
        let mut suffixes =
            Self { reduced, frontier, below, above, room, labels_per_part: LABELS_PER_PART, prefixes: Vec::new() };
        if suffixes.room.is_some() {
            suffixes.prefixes = suffixes.best_prefixes();
        }
        suffixes
    }

    /// The front over all ideals, with the table behind it if that is to be kept. O(labels).
    ///
    /// # Errors
    /// [`TooMany`] when there would be more than `max_labels`, or a limit comes first.
    pub fn fronts(&self, max_labels: usize, is_kept: bool, cx: &SearchContext) -> Result<Fronts, TooMany> {
        let mut kept = is_kept.then(|| vec![Layer::last()]);
        let mut labels = 1;
        let root = self.each_layer(cx, |layer| {
            labels += layer.label_count();
            if labels > max_labels.min(u32::MAX as usize) {
                return Err(TooMany);
            }
            kept.iter_mut().for_each(|kept| kept.push(layer.exact()));
            Ok(())
        })?;
        Ok(Fronts { root, labels, table: kept.map(FrontTable::reversed).map(Arc::new) })
    }

    /// The table, whatever its size. O(labels).
    ///
    /// # Errors
    /// [`TooMany`] when a limit comes first.
    pub fn table(&self, cx: &SearchContext) -> Result<FrontTable, TooMany> {
        let mut layers = vec![Layer::last()];
        self.each_layer(cx, |layer| {
            layers.push(layer.exact());
            Ok(())
        })?;
        Ok(FrontTable::reversed(layers))
    }

    /// Makes one layer after another from the last to the first, whose only front it returns.
    fn each_layer(
        &self,
        cx: &SearchContext,
        mut seen: impl FnMut(&Layer) -> Result<(), TooMany>,
    ) -> Result<Vec<Label>, TooMany> {
        let (mut later, mut layer) = (Layer::last(), Layer::default());
        let (mut unlooked, spare) = (0, cx.memory_left() / SPARE);
        for depth in (0..self.frontier.order.len()).rev() {
            // A layer may be made anew, twice as large, and kept as well.
            let labels = later.label_count();
            unlooked += labels / LABELS_PER_STEP + self.frontier.layers[depth].transitions.len();
            let size = labels * size_of::<Label>();
            if unlooked >= PATIENCE
                && (cx.is_over_after(std::mem::take(&mut unlooked)) || !cx.admits(spare + GROWTH * size))
            {
                return Err(TooMany);
            }
            self.fill(depth, &later, &mut layer);
            seen(&layer)?;
            std::mem::swap(&mut layer, &mut later);
        }
        Ok(later.front(0).to_vec())
    }

    /// Makes the fronts before `depth` from the `later` ones. Its parts are independent.
    fn fill(&self, depth: usize, later: &Layer, layer: &mut Layer) {
        let transitions = &self.frontier.layers[depth].transitions;
        let follow = |t: &Transition| if t.next == FORBIDDEN { &[] } else { later.front(t.next) };
        let most: usize = transitions.iter().flatten().map(|t| follow(t).len()).sum();
        layer.divide(transitions.len(), most / self.labels_per_part);
        let per_part = 1 << layer.shift;
        let parts = layer.parts[..layer.used].par_iter_mut().zip(transitions.par_chunks(per_part));
        parts.enumerate().for_each(|(index, (part, transitions))| {
            part.labels.clear();
            part.starts.clear();
            for (state, decisions) in (index * per_part..).zip(transitions) {
                part.starts.push(part.labels.len() as u32);
                let [out, into] = [0, 1].map(|i| self.shifted(depth, follow(&decisions[i]), decisions[i], i == 1));
                if out.front.is_empty() && into.front.is_empty() {
                    continue;
                }
                match &self.room {
                    Some(room) => {
                        let prefix = self.prefixes[depth][state];
                        let mut admits = room.admission();
                        merge(&mut part.labels, out, into, |l| admits(prefix.x + l.x, prefix.y + l.y));
                    }
                    None => merge(&mut part.labels, out, into, |_| true),
                }
            }
            part.starts.push(part.labels.len() as u32);
        });
    }

    /// The front `later`, before the unit at `depth` is decided along `transition`.
    #[inline]
    fn shifted<'b>(&self, depth: usize, later: &'b [Label], transition: Transition, into: bool) -> Shifted<'b> {
        // Most fronts are empty where windows are narrow.
        let by = if later.is_empty() { NOTHING } else { self.increment(depth, transition, into) };
        Shifted { front: later, by }
    }

    fn increment(&self, depth: usize, transition: Transition, into: bool) -> Label {
        let unit = self.frontier.order[depth];
        Label {
            x: increment(self.reduced, self.above, unit, into, transition).x,
            y: increment(self.reduced, self.below, unit, into, transition).y,
        }
    }

    fn best_prefixes(&self) -> Vec<Vec<Label>> {
        let unreached = Label { x: f64::NEG_INFINITY, y: f64::INFINITY };
        let layers = &self.frontier.layers;
        let mut prefixes = vec![vec![NOTHING]];
        for (depth, layer) in layers.iter().enumerate() {
            let mut next = vec![unreached; layers.get(depth + 1).map_or(1, |l| l.transitions.len())];
            for (prefix, decisions) in prefixes[depth].iter().zip(&layer.transitions) {
                for (into, t) in [false, true].into_iter().zip(decisions).filter(|(_, t)| t.next != FORBIDDEN) {
                    let by = self.increment(depth, *t, into);
                    let to = &mut next[t.next as usize];
                    to.x = to.x.max(prefix.x + by.x);
                    to.y = to.y.min(prefix.y + by.y);
                }
            }
            prefixes.push(next);
        }
        prefixes
    }
}

impl Fronts {
    /// The front over all ideals.
    pub fn root(&self) -> &[Label] {
        &self.root
    }

    /// How many labels the fronts of all states hold.
    pub fn label_count(&self) -> usize {
        self.labels
    }

    /// The fronts of all states, if they were kept.
    pub fn table(&self) -> Option<&Arc<FrontTable>> {
        self.table.as_ref()
    }
}

impl FrontTable {
    fn reversed(mut layers: Vec<Layer>) -> Self {
        layers.reverse();
        Self { layers }
    }

    /// The front of `state` at `layer`.
    #[inline]
    pub fn front(&self, layer: usize, state: u32) -> &[Label] {
        self.layers[layer].front(state)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::generate::{Dnn, RandomDag, RandomFamily, Recipe, generate};
    use crate::problem::{Problem, ProblemSpec};

    /// A boundary of a generated network, on which charges are no integers and fronts are long.
    fn check(seed: u64, mut test: impl FnMut(Suffixes)) {
        let family = RandomFamily::Dnn(Dnn { nodes: 60, ..Dnn::default() });
        let instance = generate(&Recipe::new(RandomDag::new(family, seed))).unwrap();
        let problem = Problem::new(&instance, ProblemSpec::of(&instance)).unwrap();
        let reduced = Reduced::new(&problem);
        let frontier = Frontier::smallest(&reduced, usize::MAX, &SearchContext::new()).unwrap();
        let costs = &reduced.kinds[0];
        let weight: Vec<f64> = costs.times.iter().map(|time| time.map_or(0.0, |time| time.total())).collect();
        let potential = Potential { weight, upper: costs.transfers.clone(), lower: costs.transfers.clone() };
        test(Suffixes::new(&reduced, &frontier, (&potential, &potential), None));
        let middle = 0.5 * potential.total();
        let room = Room::new(&[(0.8 * middle, 1.2 * middle)], 0.0, 0.0);
        test(Suffixes::new(&reduced, &frontier, (&potential, &potential), Some(room)));
    }

    #[test]
    fn parts_of_any_size_have_the_same_fronts() {
        let cx = SearchContext::new();
        for seed in 0..20 {
            let mut most_parts = 0;
            check(seed, |mut suffixes| {
                let whole = suffixes.fronts(usize::MAX, false, &cx).unwrap();
                suffixes.labels_per_part = 1;
                let parted = suffixes.fronts(usize::MAX, true, &cx).unwrap();
                assert!(whole.table().is_none());
                assert_eq!((whole.root(), whole.label_count()), (parted.root(), parted.label_count()));
                let (kept, table) = (parted.table().unwrap(), suffixes.table(&cx).unwrap());
                most_parts = most_parts.max(table.layers.iter().map(|layer| layer.used).max().unwrap());
                for (depth, layer) in suffixes.frontier.layers.iter().enumerate() {
                    for state in 0..layer.transitions.len() as u32 {
                        assert_eq!(kept.front(depth, state), table.front(depth, state));
                    }
                }
                let labels: usize = table.layers.iter().map(Layer::label_count).sum();
                assert_eq!(labels, whole.label_count());
                assert!(suffixes.fronts(labels - 1, false, &cx).is_err());
            });
            assert!(most_parts > 1, "seed {seed}");
        }
    }
}
