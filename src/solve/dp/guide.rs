//! Relaxations of one problem from coarse to fine: each narrows the windows in which the next one keeps labels.

use std::sync::Arc;

use rayon::prelude::*;

use super::Setting;
use super::enumerate::Enumerator;
use super::frontier::Frontier;
use super::fronts::{FrontTable, Room, TooMany};
use super::quantise::{Error, quantise};
use super::relaxation::{Front, Ratio, Relaxation, Windows};
use super::stage::{Bounds, Potential};

/// The bounds of a relaxation with the tables behind its fronts.
pub struct Guide {
    bounds: Bounds,
    errors: Vec<Error>,
    /// By potential below · potentials + potential above; shared where fronts are equal.
    tables: Vec<Option<Arc<FrontTable>>>,
    labels: usize,
}

/// What windows of one relaxation mean for the true values of boundaries: by pair of potentials, pairs of (least
/// lower value, largest upper value), one of which every useful boundary meets.
pub struct TrueWindows(Vec<Vec<(f64, f64)>>);

impl Guide {
    /// The relaxation with potentials rounded to `grid` (exact without one), keeping labels within `windows`.
    ///
    /// # Errors
    /// [`TooMany`] when a table would hold more than `max_labels`.
    pub fn new(
        setting: &Setting,
        frontier: &Frontier,
        exact: &Bounds,
        grid: Option<f64>,
        windows: Option<&TrueWindows>,
        max_labels: usize,
    ) -> Result<Self, TooMany> {
        let (bounds, errors) = match grid {
            Some(grid) => quantise(setting.reduced, frontier, exact, grid),
            None => (exact.clone(), vec![Error::default(); exact.potentials.len()]),
        };
        let p = bounds.potentials.len();
        let same = same_fronts(setting, exact);
        let table = |i: usize| {
            let (below, above) = (&bounds.potentials[i / p], &bounds.potentials[i % p]);
            if same[i] != Some(i) || !below.is_charged() && !above.is_charged() {
                return Ok(None);
            }
            let pairs =
                windows.map(|w| w.of_all(same.iter().enumerate().filter(|(_, s)| **s == Some(i)).map(|(j, _)| j)));
            let room = pairs.map(|pairs| Room::new(&pairs, errors[i % p].lower.1, errors[i / p].upper.0));
            FrontTable::new(setting.reduced, frontier, below, above, room.as_ref(), max_labels).map(Some)
        };
        let distinct = (0..p * p).into_par_iter().map(table).collect::<Result<Vec<_>, TooMany>>()?;
        let labels = distinct.iter().flatten().map(FrontTable::label_count).sum();
        let distinct: Vec<Option<Arc<FrontTable>>> = distinct.into_iter().map(|table| table.map(Arc::new)).collect();
        let tables = same.into_iter().map(|first| distinct[first?].clone()).collect();
        Ok(Self { bounds, errors, tables, labels })
    }

    /// The relaxation.
    pub fn relaxation<'a>(&'a self, setting: &'a Setting) -> Relaxation<'a> {
        let p = self.bounds.potentials.len();
        let front = |i: usize| match &self.tables[i] {
            Some(table) => Front::Labels(table.root()),
            None => Front::Ratio(Ratio::new(&self.bounds.potentials[i / p], &self.bounds.potentials[i % p])),
        };
        let slack: Vec<f64> = self.errors.iter().map(Error::slack).collect();
        Relaxation::new(&setting.stages, &self.bounds, &setting.consumption, (0..p * p).map(front).collect(), &slack)
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
        TrueWindows(of_pairs)
    }

    /// Enumerates ideals under `relaxation`, which is this guide's.
    pub fn enumerator<'a>(
        &'a self,
        setting: &Setting<'a>,
        frontier: &'a Frontier,
        relaxation: &'a Relaxation<'a>,
    ) -> Enumerator<'a> {
        Enumerator { reduced: setting.reduced, frontier, relaxation, tables: &self.tables }
    }

    /// How many labels the tables hold.
    pub fn label_count(&self) -> usize {
        self.labels
    }
}

impl TrueWindows {
    /// The windows of several pairs of potentials together.
    fn of_all(&self, pairs: impl Iterator<Item = usize>) -> Vec<(f64, f64)> {
        pairs.flat_map(|i| self.0[i].iter().copied()).collect()
    }
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
