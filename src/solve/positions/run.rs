//! A run: look after look at all chains, each of which tells more ideals apart.

use std::borrow::Cow;

use super::course::Course;
use super::level::{Level, Link, Shown};
use super::marks::between;
use super::measure::Measure;
use super::sides::{EARLIER, INSIDE};
use super::steps::Steps;
use super::table::Program;
use super::windows::{Hop, Windows, by_work, hops};
use crate::bound::Shares;
use crate::preprocess::Unordered;
use crate::search::{Race, SearchContext, Stats, Stopped};
use crate::solve::BoundSource;
use crate::solve::dp::{Incumbent, Setting, linearized};

/// What a run looks at.
pub struct Frame<'a> {
    setting: &'a Setting<'a>,
    hops: Vec<Hop>,
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
        has_work.then_some(Self { setting, hops: hops(setting), steps, shares, work })
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

    /// Raises the bound and looks for splits, until the best chain is one of ideals, or to tell more apart takes too much.
    pub fn run(&self, race: &mut Race<Incumbent, BoundSource>, stats: &mut Stats) {
        let mut course = Course::new(self.work.len(), Windows::any(self.hops.len(), self.work.iter().sum()));
        while !race.is_done() {
            let look = match self.look(&course, race) {
                Ok(look) => look,
                Err(Ended::TooMuch) if course.takes_less() => continue,
                Err(_) => return,
            };
            stats.set("cells", course.cells as f64);
            stats.set("marks", course.marks.count() as f64);
            race.raise(look.bound, BoundSource::Refuted);
            self.offer(&look.sides, race);
            race.report("positions");
            let next = between(&look.sides, self.setting.reduced, &self.work);
            let is_done = next.is_empty() && !look.sides.is_empty();
            if is_done || look.is_none || !course.goes_on(look.bound, look.windows, next) {
                return;
            }
        }
    }

    /// Looks at all chains.
    fn look(&self, course: &Course, race: &Race<Incumbent, BoundSource>) -> Result<Look, Ended> {
        let target = race.last_target(race.objective().unwrap_or(self.setting.ceiling));
        let measure = Measure::new(&self.work, &self.steps[0], course.cells);
        let marked = self.marked(course, race.cx)?;
        let programs: Vec<_> = marked.iter().map(|steps| Program::new(steps, &measure, target)).collect();
        let uses =
            by_work(&self.hops, self.setting.consumption.count(), self.work.iter().sum(), &self.most_work(target));
        let (stages, windows) = ((&programs[..], course.marks.all()), (&course.windows, &uses[..]));
        let level = Level::new((self.setting, &self.hops), &measure, stages, windows, target);
        let effort = level.effort(race.cx)?;
        if effort.sums > MOST_SUMS || effort.bytes() > MOST_BYTES || !race.cx.admits(effort.bytes()) {
            return Err(Ended::TooMuch);
        }
        let Shown { least, windows, chain } = level.run(race.cx)?;
        let sides = |link: &Link| level.program(link.stage).sides(link.state, link.ends, race.cx);
        let sides: Option<Vec<_>> = chain.iter().map(sides).collect::<Result<_, _>>()?;
        let bound = least.unwrap_or(target);
        Ok(Look { bound, is_none: least.is_none(), windows, sides: sides.unwrap_or_default() })
    }

    /// The steps to the stages of each kind, told apart by where the marked units lie.
    fn marked(&self, course: &Course, cx: &SearchContext) -> Result<Cow<'_, [Steps]>, Ended> {
        if course.marks.count() == 0 {
            return Ok(Cow::Borrowed(&self.steps));
        }
        let of_kind = |(kind, steps): (usize, &Steps)| {
            let is_of_kind = |hop: usize| self.setting.stages[self.hops[hop].stage].kind == kind;
            steps.marked(&course.marks, &course.windows.open(is_of_kind), cx)?.ok_or(Ended::TooMuch)
        };
        self.steps.iter().enumerate().map(of_kind).collect()
    }

    /// Offers the best split along the order in which a chain has the units, given where they lie beside each of its stages.
    fn offer(&self, sides: &[Vec<u8>], race: &mut Race<Incumbent, BoundSource>) {
        let mut rank = vec![0; self.work.len()];
        for sides in sides {
            let later = |side: &u8| i32::from(*side > INSIDE) - i32::from(*side == EARLIER);
            rank.iter_mut().zip(sides).for_each(|(rank, side)| *rank += later(side));
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

/// What a look at all chains showed.
struct Look {
    bound: f64,
    /// Whether there is no chain within the target.
    is_none: bool,
    windows: Windows,
    /// Where the units lie beside each stage of the best chain; empty where there is none.
    sides: Vec<Vec<u8>>,
}

/// Why there was no look.
enum Ended {
    Stopped,
    TooMuch,
}

impl From<Stopped> for Ended {
    fn from(_: Stopped) -> Self {
        Self::Stopped
    }
}

/// What a look may take: sums of an entry and an arc, and bytes.
const MOST_SUMS: usize = 30_000_000_000;
const MOST_BYTES: usize = 1 << 31;
