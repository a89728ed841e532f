//! The exact dynamic program: the front of all sets that fit, pruned by what the Lagrangian says of the rest.

use std::sync::atomic::{AtomicUsize, Ordering};

use rayon::prelude::*;

use super::elimination::{Child, Plan};
use super::lagrangian::{Inward, Outward};
use super::network::INSIDE;
use super::pareto_fronts::{Label, Rounding, Window, combine, front};
use crate::solve::SearchContext;

/// The fronts below every bucket, by the joint value of its separator.
pub struct Fronts<'a, const D: usize> {
    plan: &'a Plan<D>,
    window: Window<'a, D>,
    rounding: Rounding,
    inward: &'a Inward,
    outward: &'a Outward,
    fronts: Vec<Vec<Vec<Label<D>>>>,
    /// How many labels may still be kept.
    room: AtomicUsize,
    cx: &'a SearchContext,
}

impl<'a, const D: usize> Fronts<'a, D> {
    /// Runs over all buckets; `None` once there are more than `max_labels`, or too many sums of them, or `cx` says to
    /// stop.
    pub fn new(
        plan: &'a Plan<D>,
        window: Window<'a, D>,
        (inward, outward): (&'a Inward, &'a Outward),
        rounding: Rounding,
        max_labels: usize,
        cx: &'a SearchContext,
    ) -> Option<Self> {
        let mut all = Self {
            plan,
            window,
            rounding,
            inward,
            outward,
            fronts: Vec::new(),
            room: AtomicUsize::new(max_labels),
            cx,
        };
        for (b, bucket) in plan.buckets.iter().enumerate() {
            let rows = (0..bucket.rows).into_par_iter().map(|row| all.row(b, row)).collect::<Option<Vec<_>>>()?;
            all.fronts.push(rows);
        }
        Some(all)
    }

    /// The front at one row of a bucket's table; `None` where it takes too many labels, or sums of them, or too long.
    fn row(&self, b: usize, row: usize) -> Option<Vec<Label<D>>> {
        let mut labels: Vec<Label<D>> = Vec::new();
        for value in 0..self.plan.buckets[b].values {
            labels.extend(self.partial(b, row, value)?.pop().into_iter().flatten());
        }
        let labels = front(labels, &self.window.prices, self.rounding);
        // The rows of a bucket share the room side by side: it runs out for all orders of them or for none.
        let take = |room: usize| room.checked_sub(labels.len());
        self.room.fetch_update(Ordering::Relaxed, Ordering::Relaxed, take).ok()?;
        Some(labels)
    }

    /// The front at one entry of a bucket's table: first without children, then with each child more. `None` where it
    /// takes too many sums of labels, or too long.
    fn partial(&self, b: usize, row: usize, value: usize) -> Option<Vec<Vec<Label<D>>>> {
        let bucket = &self.plan.buckets[b];
        let at = row * bucket.values + value;
        let Some(base) = bucket.base[at] else { return Some(Vec::new()) };
        let below = |child: &Child| self.inward.best[child.bucket][child.rows[at] as usize];
        let mut rest = self.outward.best[b][row] + bucket.children.iter().map(below).sum::<f64>();
        if rest == f64::NEG_INFINITY {
            return Some(Vec::new());
        }
        let own = Label { used: base, profit: self.window.prices.profit_of(bucket, value) };
        let mut partial = vec![Vec::from_iter(self.window.admits(&own, self.window.floor(rest)).then_some(own))];
        for child in &bucket.children {
            rest -= below(child);
            let front = &self.fronts[child.bucket][child.rows[at] as usize];
            let last = &partial[partial.len() - 1];
            let pairs = last.len().saturating_mul(front.len());
            if pairs > MAX_PAIRS || self.cx.should_stop_after(pairs) {
                return None;
            }
            partial.push(combine(last, front, &self.window, self.window.floor(rest), self.rounding));
        }
        Some(partial)
    }

    /// The labels of whole sets, loads ascending.
    pub fn complete(&self) -> &[Label<D>] {
        self.fronts.last().map_or(&[], |root| &root[0])
    }

    /// The units inside a set of [`complete`](Self::complete); `None` where rounding made the label up.
    pub fn units(&self, label: Label<D>) -> Option<Vec<usize>> {
        let mut wanted = vec![None; self.plan.buckets.len()];
        *wanted.last_mut()? = Some((0, label));
        let mut inside = Vec::new();
        for (b, bucket) in self.plan.buckets.iter().enumerate().rev() {
            let (row, label) = wanted[b]?;
            let (value, parts) = self.parts(b, row, label)?;
            if let Some(v) = bucket.variable
                && v < self.plan.units
                && value == usize::from(INSIDE)
            {
                inside.push(v);
            }
            let at = row * bucket.values + value;
            for (child, part) in bucket.children.iter().zip(parts) {
                wanted[child.bucket] = Some((child.rows[at] as usize, part));
            }
        }
        inside.sort_unstable();
        Some(inside)
    }

    /// The value of a bucket's variable and its children's labels that make up `label`.
    fn parts(&self, b: usize, row: usize, label: Label<D>) -> Option<(usize, Vec<Label<D>>)> {
        let bucket = &self.plan.buckets[b];
        (0..bucket.values).find_map(|value| {
            let partial = self.partial(b, row, value)?;
            let at = row * bucket.values + value;
            let mut label = label;
            let mut parts = vec![label; bucket.children.len()];
            for (i, child) in bucket.children.iter().enumerate().rev() {
                let front = &self.fronts[child.bucket][child.rows[at] as usize];
                let pair = |a: &Label<D>| front.iter().find(|c| a.plus(c) == label).map(|c| (*a, *c));
                let (before, part) = partial.get(i)?.iter().find_map(pair)?;
                parts[i] = part;
                label = before;
            }
            (partial.first()?.first() == Some(&label)).then_some((value, parts))
        })
    }
}

/// The most sums of the labels of two fronts.
const MAX_PAIRS: usize = 20_000_000;
