//! Relaxations on grids from coarse to fine, each within the windows of the one before.
//!
//! What a coarse relaxation proves says about where the bound of the finer ones lies, so that these keep only labels that
//! matter for targets up to there, however far away the incumbent is. Targets beyond need the finer grids once more.

use super::Setting;
use super::frontier::Frontier;
use super::guide::Guide;
use super::stage::Bounds;
use crate::solve::SearchContext;

/// Relaxations under the same linear bound of loads.
pub struct CoarseToFine<'a> {
    setting: &'a Setting<'a>,
    frontier: &'a Frontier,
    exact: Bounds,
    max_labels: usize,
    /// The grid of the first level.
    coarsest: f64,
    grids: Vec<Grid>,
    /// A grid reaches so many times the error of the one before above what that proves.
    caution: f64,
    /// Levels from here on have too many labels.
    too_fine: usize,
}

/// A relaxation that holds for targets up to a reach.
struct Grid {
    guide: Guide,
    /// How fine it is, up to [`EXACT`].
    level: usize,
    reach: f64,
    /// The least target that it does not refute.
    low: f64,
    /// Whether that is more than was known before.
    is_news: bool,
}

impl<'a> CoarseToFine<'a> {
    /// No grid yet, for targets up to `upper`; each table may have `max_labels`.
    pub fn new(setting: &'a Setting<'a>, frontier: &'a Frontier, exact: Bounds, upper: f64, max_labels: usize) -> Self {
        let coarsest = (upper * COARSEST_GRID).log2().floor().exp2();
        Self {
            setting,
            frontier,
            exact,
            max_labels,
            coarsest,
            grids: Vec::new(),
            caution: CAUTION,
            too_fine: EXACT + 1,
        }
    }

    /// The finest relaxation so far.
    pub fn top(&self) -> Option<&Guide> {
        self.grids.last().map(|grid| &grid.guide)
    }

    /// The largest target that the finest relaxation holds for.
    pub fn reach(&self) -> f64 {
        self.grids.last().map_or(0.0, |grid| grid.reach)
    }

    /// Leaves the grids that do not hold for targets up to `reach`.
    pub fn coarsen(&mut self, reach: f64) {
        self.grids.retain(|grid| grid.reach >= reach);
    }

    /// Adds a finer relaxation for targets up to `reach` at least: the least target that it does not refute. `None` when
    /// no finer one fits, or a limit comes first. All targets of interest lie between `bound` and `upper`.
    pub fn refine(&mut self, bound: f64, upper: f64, reach: f64, cx: &SearchContext) -> Option<f64> {
        let level = self.next_level()?;
        let reach = self.next_reach(bound, upper).max(reach).min(upper);
        let windows = self.grids.last().map(|grid| {
            let relaxation = grid.guide.relaxation(self.setting);
            grid.guide.true_windows(&relaxation, &relaxation.windows(reach))
        });
        let grid = (level < EXACT).then(|| self.coarsest / FINER.powi(level as i32));
        let Ok(guide) = Guide::new(self.setting, self.frontier, &self.exact, grid, windows, self.max_labels, cx) else {
            self.too_fine = level;
            return None;
        };
        let low = guide.relaxation(self.setting).least_target(bound, reach, cx);
        self.grids.push(Grid { guide, level, reach, low, is_news: low > bound });
        if reach < upper && low >= reach * (1.0 - NOTHING_LEFT) {
            // Too bold: whatever comes next has to reach further, and so do its windows.
            self.caution *= MORE_CAUTION;
            self.coarsen(low * (1.0 + NOTHING_LEFT));
        }
        Some(low)
    }

    /// How fine the next grid is.
    fn next_level(&self) -> Option<usize> {
        let next = self.grids.last().map_or(0, |grid| grid.level + 1);
        let is_promising = next < EXACT || self.expected() <= HOPEFUL * self.max_labels as f64;
        match self.is_fine() && EXACT < self.too_fine {
            true => Some(EXACT),
            false => Some(next).filter(|&next| next < self.too_fine && is_promising),
        }
    }

    /// Whether the last grid tells labels apart so well that finer ones save little.
    fn is_fine(&self) -> bool {
        let [.., coarser, last] = &self.grids[..] else { return false };
        let labels = last.guide.label_count();
        last.level < EXACT
            && last.is_news
            && labels < SLOW_GROWTH * coarser.guide.label_count()
            && labels < self.max_labels
    }

    /// The labels of the largest table if it grew as it did last.
    fn expected(&self) -> f64 {
        let [.., coarser, last] = &self.grids[..] else { return 0.0 };
        let [coarser, last] = [coarser, last].map(|grid| grid.guide.largest() as f64);
        last * last / coarser.max(1.0)
    }

    /// The targets that may still matter to the next grid, as far as the last one tells.
    fn next_reach(&self, bound: f64, upper: f64) -> f64 {
        let Some(last) = self.grids.last() else { return upper };
        let likely = (last.low + self.caution * last.guide.error()).max(bound * JUST_ABOVE);
        likely.min(last.reach)
    }
}

/// The coarsest grid of the relaxation, as a part of the incumbent.
const COARSEST_GRID: f64 = 1.0 / 32.0;

/// How many times finer the grid of the next level is.
const FINER: f64 = 8.0;

/// The level without a grid.
const EXACT: usize = 4;

/// A grid with less than this times the labels of the one before tells most of them apart: finer ones save little.
const SLOW_GROWTH: usize = 3;

/// Exact tables are not tried where they would have so many times the labels allowed if they grew as the last grid did.
const HOPEFUL: f64 = 2.0;

/// Least targets are mostly off by half of their largest error.
const CAUTION: f64 = 0.7;

/// The search begins at targets this much above the bound.
const JUST_ABOVE: f64 = 1.001;

/// A least target so near the reach is none.
const NOTHING_LEFT: f64 = 1e-9;

/// How much more the reach of a grid is above what the one before proves, after one that was too bold.
const MORE_CAUTION: f64 = 4.0;
