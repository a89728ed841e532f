//! Pareto fronts of boundary values over all ideals, with a suffix table for every state of the automaton.

use super::frontier::{FORBIDDEN, Frontier, Transition};
use super::stage::Potential;
use crate::preprocess::Reduced;

/// What an ideal gives to the stage above it (`x`, to be large) and asks of the stage below it (`y`, to be small).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Label {
    /// Lower value of the next stage's potential.
    pub x: f64,
    /// Upper value of the previous stage's potential.
    pub y: f64,
}

/// For each state the Pareto front of what the undecided units can still add to (x, y). Both ascend in a front.
pub struct FrontTable {
    labels: Vec<Label>,
    /// Fronts of layer i are `starts[i][s]..starts[i][s + 1]`; the extra last layer holds the empty suffix.
    starts: Vec<Vec<usize>>,
}

/// Where useful boundaries lie: some pair of (least x, largest y) admits each of them.
pub struct Room {
    /// Pairs with both coordinates ascending.
    pairs: Vec<Label>,
}

impl Room {
    /// The room of pairs in true values, for labels whose x is off by at most `x_error` and y by at least `y_error`.
    pub fn new(pairs: &[(f64, f64)], x_error: f64, y_error: f64) -> Self {
        let mut sorted: Vec<Label> =
            pairs.iter().map(|&(need, most)| Label { x: need - x_error, y: most - y_error }).collect();
        sorted.sort_unstable_by(|a, b| a.x.total_cmp(&b.x).then(b.y.total_cmp(&a.y)));
        let mut highest = f64::NEG_INFINITY;
        sorted.retain(|pair| {
            let keep = pair.y > highest;
            highest = highest.max(pair.y);
            keep
        });
        Self { pairs: sorted }
    }

    /// Whether a boundary with at most this x and at least this y may be useful.
    #[inline]
    fn admits(&self, x: f64, y: f64) -> bool {
        let met = self.pairs.partition_point(|pair| pair.x <= x);
        met > 0 && y <= self.pairs[met - 1].y
    }
}

/// For each state before each position the largest x and the least y of a prefix that leads to it.
fn best_prefixes(reduced: &Reduced, frontier: &Frontier, below: &Potential, above: &Potential) -> Vec<Vec<Label>> {
    let unreached = Label { x: f64::NEG_INFINITY, y: f64::INFINITY };
    let mut prefixes = vec![vec![Label { x: 0.0, y: 0.0 }]];
    for (depth, (layer, &unit)) in frontier.layers.iter().zip(&frontier.order).enumerate() {
        let mut next = vec![unreached; frontier.layers.get(depth + 1).map_or(1, |l| l.transitions.len())];
        for (prefix, decisions) in prefixes[depth].iter().zip(&layer.transitions) {
            for (into, t) in [false, true].into_iter().zip(decisions).filter(|(_, t)| t.next != FORBIDDEN) {
                let to = &mut next[t.next as usize];
                to.x = to.x.max(prefix.x + increment(reduced, above, unit, into, *t).x);
                to.y = to.y.min(prefix.y + increment(reduced, below, unit, into, *t).y);
            }
        }
        prefixes.push(next);
    }
    prefixes
}

/// Drops the labels from index `first` on that fail `keep`.
fn keep_from(labels: &mut Vec<Label>, first: usize, keep: impl Fn(&Label) -> bool) {
    let mut end = first;
    for i in first..labels.len() {
        if keep(&labels[i]) {
            labels[end] = labels[i];
            end += 1;
        }
    }
    labels.truncate(end);
}

/// The tables would hold more labels than allowed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TooMany;

/// What deciding `unit` (`into`: in the ideal) along `transition` adds to the lower value (`x`) and to the upper
/// value (`y`) of `potential`.
#[inline]
pub fn increment(reduced: &Reduced, potential: &Potential, unit: usize, into: bool, transition: Transition) -> Label {
    let weight = if into { potential.weight[unit] } else { 0.0 };
    let mut label = Label { x: weight, y: weight };
    if potential.is_charged() {
        let nets = reduced.nets_of.row(unit);
        let mut cut = transition.cut;
        while cut != 0 {
            let e = nets[cut.trailing_zeros() as usize] as usize;
            label.x -= potential.lower[e];
            label.y += potential.upper[e];
            cut &= cut - 1;
        }
    }
    label
}

impl FrontTable {
    /// The table of a boundary between stages of potential `below` and `above`. O(labels).
    ///
    /// # Errors
    /// [`TooMany`] when there would be more than `max_labels`.
    pub fn new(
        reduced: &Reduced,
        frontier: &Frontier,
        below: &Potential,
        above: &Potential,
        room: Option<&Room>,
        max_labels: usize,
    ) -> Result<Self, TooMany> {
        let prefixes = room.map(|_| best_prefixes(reduced, frontier, below, above));
        let mut labels = vec![Label { x: 0.0, y: 0.0 }];
        let mut starts = vec![vec![0, 1]];
        for (depth, (layer, &unit)) in frontier.layers.iter().zip(&frontier.order).enumerate().rev() {
            let later = &starts[starts.len() - 1];
            let mut own = Vec::with_capacity(layer.transitions.len() + 1);
            for (state, [out, into]) in layer.transitions.iter().enumerate() {
                own.push(labels.len());
                let shifted = |t: &Transition, is_in: bool| {
                    let range = match t.next {
                        FORBIDDEN => 0..0,
                        s => later[s as usize]..later[s as usize + 1],
                    };
                    let x = increment(reduced, above, unit, is_in, *t).x;
                    (range, Label { x, y: increment(reduced, below, unit, is_in, *t).y })
                };
                let first = labels.len();
                merge(&mut labels, shifted(out, false), shifted(into, true));
                if let (Some(room), Some(prefixes)) = (room, &prefixes) {
                    let prefix = prefixes[depth][state];
                    keep_from(&mut labels, first, |l| room.admits(prefix.x + l.x, prefix.y + l.y));
                }
            }
            own.push(labels.len());
            starts.push(own);
            if labels.len() > max_labels {
                return Err(TooMany);
            }
        }
        starts.reverse();
        Ok(Self { labels, starts })
    }

    /// The front of `state` at `layer`.
    #[inline]
    pub fn front(&self, layer: usize, state: u32) -> &[Label] {
        let starts = &self.starts[layer];
        &self.labels[starts[state as usize]..starts[state as usize + 1]]
    }

    /// The front over all ideals.
    pub fn root(&self) -> &[Label] {
        self.front(0, 0)
    }

    /// How many labels the table holds.
    pub fn label_count(&self) -> usize {
        self.labels.len()
    }
}

/// Appends the Pareto front of two shifted ranges of `labels`.
fn merge(labels: &mut Vec<Label>, a: (std::ops::Range<usize>, Label), b: (std::ops::Range<usize>, Label)) {
    let at = |labels: &[Label], i: usize, by: Label| Label { x: labels[i].x + by.x, y: labels[i].y + by.y };
    let (mut i, mut j) = (a.0.start, b.0.start);
    let mut best = f64::NEG_INFINITY;
    while i < a.0.end || j < b.0.end {
        let from_a = i < a.0.end;
        let from_b = j < b.0.end;
        let take_a = from_a
            && (!from_b || {
                let (p, q) = (at(labels, i, a.1), at(labels, j, b.1));
                p.y < q.y || p.y == q.y && p.x >= q.x
            });
        let label = if take_a { at(labels, i, a.1) } else { at(labels, j, b.1) };
        if take_a {
            i += 1
        } else {
            j += 1
        }
        if label.x > best {
            best = label.x;
            labels.push(label);
        }
    }
}

/// The largest x among labels with y ≤ `limit`.
#[inline]
pub fn largest_x(front: &[Label], limit: f64) -> Option<f64> {
    front[..front.partition_point(|l| l.y <= limit)].last().map(|l| l.x)
}

/// The smallest y among labels with x ≥ `need`.
#[inline]
pub fn smallest_y(front: &[Label], need: f64) -> Option<f64> {
    front.get(front.partition_point(|l| l.x < need)).map(|l| l.y)
}

/// The Pareto front of arbitrary labels.
pub fn pareto(mut labels: Vec<Label>) -> Vec<Label> {
    labels.sort_unstable_by(|a, b| a.y.total_cmp(&b.y).then(b.x.total_cmp(&a.x)));
    let mut best = f64::NEG_INFINITY;
    labels.retain(|label| {
        let keep = label.x > best;
        best = best.max(label.x);
        keep
    });
    labels
}
