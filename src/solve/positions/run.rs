//! A run: level after level, each of smaller cells.

use super::level::{Level, Link, Windows, by_work, meet};
use super::measure::Measure;
use super::steps::{EARLIER, INSIDE, Steps};
use super::table::Program;
use crate::bound::Shares;
use crate::preprocess::Unordered;
use crate::search::{Race, SearchContext, Stats};
use crate::solve::BoundSource;
use crate::solve::dp::{Incumbent, Setting, linearized};

/// What a run looks at.
pub struct Frame<'a> {
    setting: &'a Setting<'a>,
    /// The steps to the stages of each kind of device.
    steps: Vec<Steps>,
    /// The least load of each unit on each kind of device, by the same piece of it.
    shares: Shares,
    /// The same on any kind.
    work: Vec<f64>,
}

impl<'a> Frame<'a> {
    /// The steps to the stages of each kind; `None` where the graph is too wide or does no work, or `cx` says to stop.
    pub fn new(setting: &'a Setting<'a>, cx: &SearchContext) -> Option<Self> {
        let units = Unordered::in_order(setting.reduced.clone());
        let kinds = 0..setting.reduced.kinds.len();
        let steps = kinds.map(|kind| Steps::new(&units, kind, cx)).collect::<Option<_>>()?;
        let shares = Shares::new(setting.reduced);
        let work: Vec<f64> = (0..shares.unit_count()).map(|u| shares.least(u).unwrap_or_default()).collect();
        let has_work = work.iter().sum::<f64>().is_normal();
        has_work.then_some(Self { setting, steps, shares, work })
    }

    /// The most work that a stage of each kind can hold within a load.
    fn most_work(&self, load: f64) -> Vec<f64> {
        let part = |kind: usize| {
            let shares = self.shares.kinds[kind].of.iter().zip(&self.work);
            let parts = shares.filter_map(|(share, work)| share.filter(|&share| share > 0.0).map(|share| work / share));
            parts.fold(0.0, f64::max) * load
        };
        self.setting.stages.iter().map(|stage| part(stage.kind)).collect()
    }

    /// Raises the bound and looks for splits, until smaller cells show no more, or are too many.
    pub fn run(&self, race: &mut Race<Incumbent, BoundSource>, stats: &mut Stats) {
        let total = self.work.iter().sum();
        let mut windows: Windows = vec![Some([0.0, total]); self.setting.consumption.count()];
        let (mut cells, mut last) = (FIRST_CELLS, 0.0);
        while !race.is_done() && cells <= MOST_CELLS {
            let target = race.last_target(race.objective().unwrap_or(self.setting.ceiling));
            let measure = Measure::new(&self.work, &self.steps[0], cells);
            let programs = self.steps.iter().map(|steps| Program::new(steps, &measure, target)).collect();
            windows = meet(&windows, &by_work(self.setting, total, &self.most_work(target)));
            let level = Level::new(self.setting, &measure, (programs, target), &windows);
            let Ok(effort) = level.effort(race.cx) else { return };
            if effort.sums > MOST_SUMS || effort.bytes > MOST_BYTES || !race.cx.admits(effort.bytes) {
                return;
            }
            let Ok(shown) = level.run(race.cx) else { return };
            stats.set("cells", cells as f64);
            let bound = shown.least.unwrap_or(target);
            let narrower = meet(&windows, &shown.windows);
            race.raise(bound, BoundSource::Refuted);
            self.offer(&level, &shown.chain, race);
            race.report("positions");
            let is_alike = bound < last * (1.0 + LEAST_RISE) && size(&narrower) > size(&windows) * (1.0 - LEAST_CUT);
            let is_fine = cells >= CELLS_PER_UNIT * self.work.len();
            if shown.least.is_none() || is_alike && is_fine {
                return;
            }
            (windows, last) = (narrower, bound);
            cells *= 2;
        }
    }

    /// Offers the best split along the order in which a chain of positions has the units.
    fn offer(&self, level: &Level, chain: &[Link], race: &mut Race<Incumbent, BoundSource>) {
        let mut rank = vec![0; self.work.len()];
        for link in chain {
            let Ok(Some(sides)) = level.program(link.stage).sides(link.ends, race.cx) else { return };
            let later = |side: &u8| i32::from(*side > INSIDE) - i32::from(*side == EARLIER);
            rank.iter_mut().zip(&sides).for_each(|(rank, side)| *rank += later(side));
        }
        // No stage has a unit earlier than one that it needs, and units are in topological order.
        let mut order: Vec<usize> = (0..rank.len()).collect();
        order.sort_by_key(|&u| rank[u]);
        let upper = race.objective().unwrap_or(self.setting.ceiling);
        if let Some(split) = linearized::best_intervals(self.setting, &order, upper, race.cx) {
            race.offer(split.objective(), split);
        }
    }
}

/// How much work the windows span together.
fn size(windows: &Windows) -> f64 {
    windows.iter().flatten().map(|[least, most]| most - least).sum()
}

/// Positions of the first level, and the most; each has twice as many as the one before.
const FIRST_CELLS: usize = 64;
const MOST_CELLS: usize = 1 << 17;

/// What a level may take: sums of an entry and an arc, and bytes.
const MOST_SUMS: usize = 30_000_000_000;
const MOST_BYTES: usize = 1 << 30;

/// A level that raises the bound of the one before by less than this part of it, and cuts off less than so much of the windows, is the
/// last, once it has so many cells for each unit that most ideals are told apart.
const LEAST_RISE: f64 = 1e-5;
const LEAST_CUT: f64 = 0.05;
const CELLS_PER_UNIT: usize = 16;
