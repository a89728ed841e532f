//! Relaxations of one problem from coarse to fine: each narrows the windows in which the next one keeps labels.

use rayon::prelude::*;

use super::Setting;
use super::enumerate::Enumerator;
use super::frontier::Frontier;
use super::fronts::{FrontTable, Room, TooMany};
use super::quantise::{Error, quantise};
use super::relaxation::{Front, Ratio, Relaxation, Windows};
use super::stage::Bounds;

/// The bounds of a relaxation with the tables behind its fronts.
pub struct Guide {
    bounds: Bounds,
    errors: Vec<Error>,
    tables: Vec<Option<FrontTable>>,
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
        let table = |i: usize| {
            let (below, above) = (&bounds.potentials[i / p], &bounds.potentials[i % p]);
            if !below.is_charged() && !above.is_charged() {
                return Ok(None);
            }
            let room = windows.map(|w| Room::new(&w.0[i], errors[i % p].lower.1, errors[i / p].upper.0));
            FrontTable::new(setting.reduced, frontier, below, above, room.as_ref(), max_labels).map(Some)
        };
        let tables = (0..p * p).into_par_iter().map(table).collect::<Result<Vec<_>, TooMany>>()?;
        Ok(Self { bounds, errors, tables })
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
                let Some(before) = consumption.take(used, relaxation.stage(below)) else { continue };
                let Some(from) = windows.reach(before, below) else { continue };
                let upper_error = self.errors[self.bounds.variants[below].potential].upper.1;
                let most = from + relaxation.allowance(below, windows.target) + upper_error;
                for above in 0..relaxation.variant_count() {
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
        self.tables.iter().flatten().map(FrontTable::label_count).sum()
    }
}
