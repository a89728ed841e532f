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
    /// By position; the extra last layer holds the empty suffix.
    layers: Vec<FrontLayer>,
    labels: usize,
}

/// The fronts of the states at one position.
struct FrontLayer {
    labels: Vec<Label>,
    /// The front of state s is `starts[s]..starts[s + 1]`.
    starts: Vec<u32>,
}

impl FrontLayer {
    #[inline]
    fn front(&self, state: u32) -> &[Label] {
        let state = state as usize;
        &self.labels[self.starts[state] as usize..self.starts[state + 1] as usize]
    }
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

    /// Whether boundaries may be useful: asked of one after another with ascending x, which is at most, and a least y.
    fn admission(&self) -> impl FnMut(f64, f64) -> bool {
        let mut most = f64::NEG_INFINITY;
        let mut pairs = self.pairs.iter().peekable();
        move |x, y| {
            while let Some(pair) = pairs.next_if(|pair| pair.x <= x) {
                most = pair.y;
            }
            y <= most
        }
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
        let mut layers = vec![FrontLayer { labels: vec![Label { x: 0.0, y: 0.0 }], starts: vec![0, 1] }];
        let mut count = 1;
        let mut labels = Vec::new();
        for (depth, (layer, &unit)) in frontier.layers.iter().zip(&frontier.order).enumerate().rev() {
            let later = &layers[layers.len() - 1];
            let mut starts = Vec::with_capacity(layer.transitions.len() + 1);
            labels.clear();
            for (state, [out, into]) in layer.transitions.iter().enumerate() {
                starts.push(labels.len() as u32);
                let shifted = |t: &Transition, is_in: bool| {
                    let front = if t.next == FORBIDDEN { &[] } else { later.front(t.next) };
                    let x = increment(reduced, above, unit, is_in, *t).x;
                    Shifted { front, by: Label { x, y: increment(reduced, below, unit, is_in, *t).y } }
                };
                let (out, into) = (shifted(out, false), shifted(into, true));
                match (room, &prefixes) {
                    (Some(room), Some(prefixes)) => {
                        let prefix = prefixes[depth][state];
                        let mut admits = room.admission();
                        merge(&mut labels, out, into, |l| admits(prefix.x + l.x, prefix.y + l.y));
                    }
                    _ => merge(&mut labels, out, into, |_| true),
                }
            }
            starts.push(labels.len() as u32);
            count += labels.len();
            if count > max_labels.min(u32::MAX as usize) {
                return Err(TooMany);
            }
            layers.push(FrontLayer { labels: labels.clone(), starts });
        }
        layers.reverse();
        Ok(Self { layers, labels: count })
    }

    /// The front of `state` at `layer`.
    #[inline]
    pub fn front(&self, layer: usize, state: u32) -> &[Label] {
        self.layers[layer].front(state)
    }

    /// The front over all ideals.
    pub fn root(&self) -> &[Label] {
        self.front(0, 0)
    }

    /// How many labels the table holds.
    pub fn label_count(&self) -> usize {
        self.labels
    }
}

/// A front whose labels are all moved by the same amount.
#[derive(Clone, Copy)]
struct Shifted<'a> {
    front: &'a [Label],
    by: Label,
}

impl Shifted<'_> {
    /// The first label, unless there is none.
    #[inline]
    fn first(&self) -> Option<Label> {
        self.front.first().map(|l| Label { x: l.x + self.by.x, y: l.y + self.by.y })
    }

    #[inline]
    fn advance(&mut self) {
        self.front = &self.front[1..];
    }
}

/// Appends those labels of the Pareto front of two fronts that pass `keep`.
fn merge<'a>(labels: &mut Vec<Label>, mut a: Shifted<'a>, mut b: Shifted<'a>, mut keep: impl FnMut(&Label) -> bool) {
    let mut best = f64::NEG_INFINITY;
    loop {
        let (label, from) = match (a.first(), b.first()) {
            (Some(p), Some(q)) if p.y < q.y || p.y == q.y && p.x >= q.x => (p, &mut a),
            (Some(p), None) => (p, &mut a),
            (_, Some(q)) => (q, &mut b),
            (None, None) => return,
        };
        from.advance();
        if label.x > best {
            best = label.x;
            if keep(&label) {
                labels.push(label);
            }
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
