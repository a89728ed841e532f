//! Pareto fronts of boundary values.

use super::frontier::Transition;
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

/// A front whose labels are all moved by the same amount.
#[derive(Clone, Copy)]
pub(super) struct Shifted<'a> {
    /// The labels before they are moved.
    pub front: &'a [Label],
    /// What they are moved by.
    pub by: Label,
}

impl<'a> Shifted<'a> {
    /// The labels, moved.
    #[inline]
    fn labels(self) -> impl Iterator<Item = Label> + 'a {
        self.front.iter().map(move |l| Label { x: l.x + self.by.x, y: l.y + self.by.y })
    }
}

/// Appends those labels of the Pareto front of two fronts that pass `keep`.
#[inline]
pub(super) fn merge(labels: &mut Vec<Label>, a: Shifted, b: Shifted, mut keep: impl FnMut(&Label) -> bool) {
    let mut best = f64::NEG_INFINITY;
    let mut take = |label: Label| {
        if label.x > best {
            best = label.x;
            if keep(&label) {
                labels.push(label);
            }
        }
    };
    let (mut a, mut b) = (a.labels(), b.labels());
    let (mut first, mut second) = (a.next(), b.next());
    // Of the two labels that are next, only the one taken is made anew.
    while let (Some(p), Some(q)) = (first, second) {
        if p.y < q.y || p.y == q.y && p.x >= q.x {
            take(p);
            first = a.next();
        } else {
            take(q);
            second = b.next();
        }
    }
    first.into_iter().chain(a).for_each(&mut take);
    second.into_iter().chain(b).for_each(&mut take);
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
