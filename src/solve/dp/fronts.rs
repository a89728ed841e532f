//! Pareto fronts of boundary values over all ideals, with a suffix table for every state of the automaton.

use super::frontier::{FORBIDDEN, Frontier, Transition};
use super::stage::Variant;
use crate::preprocess::Reduced;

/// What an ideal gives to the stage above it (`x`, to be large) and asks of the stage below it (`y`, to be small).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Label {
    /// Lower value of the next stage's variant: [`Variant`]'s lower(I).
    pub x: f64,
    /// Upper value of the previous stage's variant: [`Variant`]'s upper(I).
    pub y: f64,
}

/// For each state the Pareto front of what the undecided units can still add to (x, y). Both ascend in a front.
pub struct FrontTable {
    labels: Vec<Label>,
    /// Fronts of layer i are `starts[i][s]..starts[i][s + 1]`; the extra last layer holds the empty suffix.
    starts: Vec<Vec<usize>>,
}

/// The tables would hold more labels than allowed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TooMany;

/// What one transition adds to (x, y).
#[derive(Debug, Clone, Copy)]
pub struct Increment<'a> {
    reduced: &'a Reduced,
    below: &'a Variant,
    above: &'a Variant,
}

impl<'a> Increment<'a> {
    /// The increments at a boundary between a stage of variant `below` and one of variant `above`.
    pub fn new(reduced: &'a Reduced, below: &'a Variant, above: &'a Variant) -> Self {
        Self { reduced, below, above }
    }

    /// What deciding `unit` (`into`: in the ideal) along `transition` adds.
    #[inline]
    pub fn of(&self, unit: usize, into: bool, transition: Transition) -> Label {
        let mut label = if into {
            Label { x: self.above.weight[unit], y: self.below.weight[unit] }
        } else {
            Label { x: 0.0, y: 0.0 }
        };
        let mut cut = transition.cut;
        if cut == 0 {
            return label;
        }
        let nets = self.reduced.nets_of.row(unit);
        while cut != 0 {
            let e = nets[cut.trailing_zeros() as usize] as usize;
            if self.above.is_charged() {
                label.x -= self.above.lower[e];
            }
            if self.below.is_charged() {
                label.y += self.below.upper[e];
            }
            cut &= cut - 1;
        }
        label
    }
}

impl FrontTable {
    /// The table of a boundary. O(labels).
    ///
    /// # Errors
    /// [`TooMany`] when there would be more than `max_labels`.
    pub fn new(frontier: &Frontier, increment: Increment, max_labels: usize) -> Result<Self, TooMany> {
        let mut labels = vec![Label { x: 0.0, y: 0.0 }];
        let mut starts = vec![vec![0, 1]];
        for (layer, &unit) in frontier.layers.iter().zip(&frontier.order).rev() {
            let above = starts.last().map_or(&[][..], Vec::as_slice).to_vec();
            let mut own = Vec::with_capacity(layer.transitions.len() + 1);
            for [out, into] in &layer.transitions {
                own.push(labels.len());
                let shifted = |t: &Transition, is_in: bool| {
                    let range = match t.next {
                        FORBIDDEN => 0..0,
                        s => above[s as usize]..above[s as usize + 1],
                    };
                    (range, increment.of(unit, is_in, *t))
                };
                merge(&mut labels, shifted(out, false), shifted(into, true));
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
