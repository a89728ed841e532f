//! Relaxations of one problem from coarse to fine: each narrows the windows in which the next one keeps labels.

use std::sync::Arc;

use rayon::prelude::*;

use super::Setting;
use super::frontier::Frontier;
use super::quantise::{Error, quantise};
use super::relaxation::{Front, Ratio, Relaxation, Windows};
use super::stage::{Bounds, Potential, Variant};
use super::suffixes::{FrontTable, Fronts, Room, Suffixes, TooMany};
use crate::solve::SearchContext;

/// The bounds of a relaxation with its fronts.
pub struct Guide {
    bounds: Bounds,
    errors: Vec<Error>,
    windows: Option<TrueWindows>,
    /// By potential below · potentials + potential above, the first pair with the same front.
    same: Vec<Option<usize>>,
    /// By the first pair of each front; `None` where only a ratio is known.
    fronts: Vec<Option<Fronts>>,
}

/// What windows of one relaxation mean for the true values of boundaries: by pair of potentials, pairs of (least
/// lower value, largest upper value), one of which every useful boundary meets.
pub struct TrueWindows {
    pairs: Vec<Vec<(f64, f64)>>,
    /// How many labels the fronts of the relaxation have, which finer ones have about, too.
    labels: Vec<usize>,
}

impl Guide {
    /// The relaxation with potentials rounded to `grid` (exact without one), keeping labels within `windows`.
    ///
    /// # Errors
    /// [`TooMany`] when a table would hold more than `max_labels`, or a limit comes first.
    pub fn new(
        setting: &Setting,
        frontier: &Frontier,
        exact: &Bounds,
        grid: Option<f64>,
        windows: Option<TrueWindows>,
        max_labels: usize,
        cx: &SearchContext,
    ) -> Result<Self, TooMany> {
        let (bounds, errors) = match grid {
            Some(grid) => quantise(setting.reduced, frontier, exact, grid),
            None => (exact.clone(), vec![Error::default(); exact.potentials.len()]),
        };
        let same = same_fronts(setting, exact);
        let mut guide = Self { bounds, errors, windows, same, fronts: Vec::new() };
        // Nothing finer follows exact fronts, so that their tables are what a search asks for.
        let is_kept = grid.is_none();
        let sizes = guide.windows.as_ref().map_or(vec![0; guide.same.len()], |windows| windows.labels.clone());
        guide.fronts = largest_first(&sizes, |i| {
            guide.suffixes(i, setting, frontier).map(|suffixes| suffixes.fronts(max_labels, is_kept, cx)).transpose()
        })?;
        Ok(guide)
    }

    /// The boundary of the `i`-th pair of potentials, if it is the first one with its front and nets are charged.
    fn suffixes<'a>(&'a self, i: usize, setting: &Setting<'a>, frontier: &'a Frontier) -> Option<Suffixes<'a>> {
        let p = self.bounds.potentials.len();
        let (below, above) = (&self.bounds.potentials[i / p], &self.bounds.potentials[i % p]);
        if self.same[i] != Some(i) || !below.is_charged() && !above.is_charged() {
            return None;
        }
        let equal = || self.same.iter().enumerate().filter(|(_, s)| **s == Some(i)).map(|(j, _)| j);
        let room = self
            .windows
            .as_ref()
            .map(|windows| Room::new(&windows.of_all(equal()), self.errors[i % p].lower.1, self.errors[i / p].upper.0));
        Some(Suffixes::new(setting.reduced, frontier, (below, above), room))
    }

    /// The tables behind the fronts, by pair of potentials; shared where fronts are equal.
    ///
    /// # Errors
    /// [`TooMany`] when a limit comes first.
    pub fn tables(
        &self,
        setting: &Setting,
        frontier: &Frontier,
        cx: &SearchContext,
    ) -> Result<Vec<Option<Arc<FrontTable>>>, TooMany> {
        let made = |i: usize| match self.fronts[i].as_ref().map(Fronts::table) {
            None => Ok(None),
            Some(Some(kept)) => Ok(Some(Arc::clone(kept))),
            Some(None) => {
                let suffixes = self.suffixes(i, setting, frontier);
                suffixes.map(|suffixes| suffixes.table(cx).map(Arc::new)).transpose()
            }
        };
        let tables = largest_first(&self.label_counts(), made)?;
        Ok(self.same.iter().map(|first| tables[(*first)?].clone()).collect())
    }

    /// The relaxation.
    pub fn relaxation<'a>(&'a self, setting: &'a Setting) -> Relaxation<'a> {
        let p = self.bounds.potentials.len();
        let front = |i: usize| match self.same[i].and_then(|first| self.fronts[first].as_ref()) {
            Some(fronts) => Front::Labels(fronts.root()),
            None => Front::Ratio(Ratio::new(&self.bounds.potentials[i / p], &self.bounds.potentials[i % p])),
        };
        let slack: Vec<f64> = self.errors.iter().map(Error::slack).collect();
        Relaxation::new(&setting.stages, &self.bounds, &setting.consumption, (0..p * p).map(front).collect(), &slack)
    }

    /// How far the least target may be below that of the exact relaxation, in all likelihood.
    pub fn error(&self) -> f64 {
        let error = |v: &Variant| v.factor * self.errors[v.potential].width();
        self.bounds.variants.iter().map(error).fold(0.0, f64::max)
    }

    /// The windows of the relaxation in true values.
    pub fn true_windows(&self, relaxation: &Relaxation, windows: &Windows) -> TrueWindows {
        let p = self.bounds.potentials.len();
        let mut of_pairs = vec![Vec::new(); p * p];
        let consumption = relaxation.consumption;
        for used in consumption.all() {
            for below in 0..relaxation.variant_count() {
                let before = consumption.before(used, relaxation.stage(below));
                let Some(from) = before.filter_map(|before| windows.reach(before, below)).reduce(f64::max) else {
                    continue;
                };
                let upper_error = self.errors[self.bounds.variants[below].potential].upper.1;
                let most = from + relaxation.allowance(below, windows.target) + upper_error;
                for above in (0..relaxation.variant_count()).filter(|&above| relaxation.meet(below, above)) {
                    let Some(need) = windows.need(consumption.full() - used, above) else { continue };
                    let lower_error = self.errors[self.bounds.variants[above].potential].lower.0;
                    of_pairs[relaxation.front_index(below, above)].push((need + lower_error, most));
                }
            }
        }
        TrueWindows { pairs: of_pairs, labels: self.label_counts() }
    }

    /// How many labels the tables hold.
    pub fn label_count(&self) -> usize {
        self.label_counts().into_iter().sum()
    }

    /// How many labels the largest table holds.
    pub fn largest(&self) -> usize {
        self.label_counts().into_iter().max().unwrap_or(0)
    }

    fn label_counts(&self) -> Vec<usize> {
        self.fronts.iter().map(|fronts| fronts.as_ref().map_or(0, Fronts::label_count)).collect()
    }
}

impl TrueWindows {
    /// The windows of several pairs of potentials together.
    fn of_all(&self, pairs: impl Iterator<Item = usize>) -> Vec<(f64, f64)> {
        pairs.flat_map(|i| self.pairs[i].iter().copied()).collect()
    }
}

/// What `make` makes of each index, side by side. The largest are begun first, so that all threads end together.
fn largest_first<T: Send, E: Send>(sizes: &[usize], make: impl Fn(usize) -> Result<T, E> + Sync) -> Result<Vec<T>, E> {
    let mut queue: Vec<usize> = (0..sizes.len()).collect();
    queue.sort_by_key(|&i| std::cmp::Reverse(sizes[i]));
    let mut made = queue.into_iter().par_bridge().map(|i| Ok((i, make(i)?))).collect::<Result<Vec<(usize, T)>, E>>()?;
    made.sort_unstable_by_key(|&(i, _)| i);
    Ok(made.into_iter().map(|(_, made)| made).collect())
}

/// For each pair of potentials, below · potentials + above, the first pair with the same front: of the one below only
/// the upper charges matter, of the one above only the lower ones. `None` where no stages of them meet.
fn same_fronts(setting: &Setting, bounds: &Bounds) -> Vec<Option<usize>> {
    let p = bounds.potentials.len();
    let stages = |potential: usize| {
        bounds.variants.iter().filter(move |v| v.potential == potential).map(|v| setting.stages[v.stage])
    };
    let meet = |below: usize, above: usize| stages(below).any(|b| stages(above).any(|a| b.meets(&a)));
    let first = |i: usize, charges: fn(&Potential) -> &Vec<f64>| {
        let own = &bounds.potentials[i];
        let same = |other: &Potential| other.weight == own.weight && charges(other) == charges(own);
        bounds.potentials.iter().position(same).unwrap_or(i)
    };
    let below: Vec<usize> = (0..p).map(|i| first(i, |q| &q.upper)).collect();
    let above: Vec<usize> = (0..p).map(|i| first(i, |q| &q.lower)).collect();
    let met: Vec<bool> = (0..p * p).map(|i| meet(i / p, i % p)).collect();
    let canonical = |i: usize| below[i / p] * p + above[i % p];
    // The first pair that is met stands for all pairs with its front.
    (0..p * p).map(|i| (0..=i).find(|&j| met[i] && met[j] && canonical(j) == canonical(i))).collect()
}
