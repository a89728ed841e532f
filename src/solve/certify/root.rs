//! The root of the tree: what pricing shows of a target with nothing decided.

use super::covering::{Center, Devices, Generation, Pricers, Query, Verdict, along, refuted_by};
use super::crowding;
use super::pricing::LinePricer;
use crate::solve::SearchContext;
use crate::solve::bundle::surplus;

/// In about how many cells a device's load is counted along a line: the fewer, the quicker rounds are, and the more is rounded
/// off.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Resolution(f64);

impl Resolution {
    /// As many as there are: times are multiples of those of load.
    pub const FINE: Self = Self::of(f64::INFINITY);

    /// So few that rounds are quick, and bounds a part in a thousand too low.
    pub const ROUGH: Self = Self::of(4_000.0);

    /// More, for bounds that are close.
    pub const MIDDLE: Self = Self::of(32_000.0);

    /// Still fewer, for lines that count memory beside.
    pub const WITH_MEMORY: Self = Self::of(1_000.0);

    /// So many.
    pub const fn of(loads: f64) -> Self {
        Self(loads)
    }
}

/// What pricing along a line is good for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reach {
    /// There is no line, or the graph is so small that other ways are as quick.
    None,
    /// Rounds in fine cells are over at once, and so is the linear program.
    Quick,
    /// Rounds in fine cells take so many sums, and are quicker than the linear program's.
    Large(usize),
    /// Only rough cells are quick.
    Rough,
    /// Memory is limited, and counted in cells beside loads.
    Memory,
}

/// The root of the tree: no decisions.
pub struct Root<'a> {
    /// What prices sets, and the columns.
    pub generation: Generation<'a>,
    pricers: Pricers,
    /// What prices along a line, where the graph is nearly one.
    lines: Option<Vec<LinePricer>>,
    /// The best profits.
    pub center: Center,
    /// The least time of each unit.
    work: Vec<f64>,
}

impl<'a> Root<'a> {
    /// The root over these devices; `None` where the graph is too wide for pricing.
    pub fn new(devices: &'a Devices<'a>, cx: &'a SearchContext) -> Option<Self> {
        let work = devices.work();
        let center = Center { profit: work.clone() };
        let generation = Generation::new(devices, cx);
        Some(Self { generation, pricers: devices.pricers(&[], cx)?, lines: devices.lines(&[], cx), center, work })
    }

    /// Whether no split is below `target`, as far as so many rounds show; `beside` runs in each of them.
    pub fn refute(&mut self, target: f64, max_rounds: usize, beside: &mut (dyn FnMut() -> bool + Send)) -> Verdict {
        let query = Query { target, decisions: &[], max_rounds };
        self.generation.refute(query, &mut self.pricers, &mut self.center, beside)
    }

    /// Whether crowding refutes `target`, which costs less than a round of pricing.
    pub fn is_crowded(&self, target: f64) -> bool {
        crowding::refutes(self.generation.devices.setting(), &self.work, target)
    }

    /// What crowding, and then so many rounds at most, say of `target`.
    pub fn settle(&mut self, target: f64, max_rounds: usize, beside: &mut (dyn FnMut() -> bool + Send)) -> Verdict {
        if self.is_crowded(target) { Verdict::Refuted } else { self.refute(target, max_rounds, beside) }
    }

    /// What some device has at least: that which holds the unit that asks for most.
    pub fn least(&self) -> f64 {
        let count = self.work.len();
        let loads: Vec<Vec<f64>> = self.lines.iter().flatten().map(|line| line.least_loads(count)).collect();
        let of_unit = |u: usize| loads.iter().map(|kind| kind[u]).reduce(f64::min).unwrap_or_default();
        (0..count).map(of_unit).fold(0.0, f64::max)
    }

    /// In which cells devices of this load are priced along a line quickly.
    pub fn reach(&self, target: f64) -> Reach {
        let Some(lines) = &self.lines else { return Reach::None };
        if lines.iter().any(LinePricer::counts_memory) {
            let is_quick = effort(&rough(lines, target, Resolution::WITH_MEMORY), target).is_some();
            return if is_quick { Reach::Memory } else { Reach::None };
        }
        match effort(lines, target) {
            Some(sums) if sums < LARGE => Reach::Quick,
            Some(sums) => Reach::Large(sums),
            None if effort(&rough(lines, target, Resolution::ROUGH), target).is_some_and(|sums| sums >= LARGE) => {
                Reach::Rough
            }
            None => Reach::None,
        }
    }

    /// The same as [`Self::refute`] by a bundle method, and the largest target between `bound`, below which no split is, and
    /// `most` that its profits refute; `None` where nothing prices devices of this load along a line quickly. `beside` is
    /// told how many sums each round takes.
    pub fn ascend(
        &mut self,
        (bound, target, most): (f64, f64, f64),
        (cells, most_rounds): (Resolution, usize),
        beside: &mut (dyn FnMut(usize) + Send),
        cx: &SearchContext,
    ) -> Option<(Verdict, f64)> {
        let counts = &self.generation.devices.counts;
        let fine = self.lines.as_mut()?;
        let mut in_rough_cells;
        let lines = match cells {
            Resolution::FINE => fine,
            _ => {
                in_rough_cells = rough(fine, most, cells);
                &mut in_rough_cells
            }
        };
        let sums = effort(lines, most)?;
        let start = std::mem::take(&mut self.center.profit);
        let mut bundle = along(counts, lines, target, (&self.work, &start));
        let rounds = (MOST_BUNDLE_SUMS / sums.max(1)).clamp(LEAST_BUNDLE_ROUNDS, MOST_BUNDLE_ROUNDS);
        let verdict = bundle.ascend(rounds.min(most_rounds), &mut || beside(sums), cx);
        let best = bundle.center().to_vec();
        drop(bundle);
        let least = if verdict == Verdict::Refuted { target.max(bound) } else { bound };
        let shown = refuted_by(counts, lines, &best, (least, most));
        self.center.profit = best.into_iter().map(|profit| profit.max(0.0)).collect();
        Some((verdict, shown))
    }

    /// Whether loads alone see to it that what splits below `target` put on a device has room there, if a device has as much as
    /// in `limited`.
    ///
    /// Where profits π miss the target by ε, each set S of such a split has π(S) ≥ z − ε, as all others have z at most. So its
    /// bytes are within max (bytes(S) + μ·π(S)) − μ·(z − ε) over all sets of at most that load, for any price μ ≥ 0.
    pub fn is_roomy(&mut self, limited: &Devices, target: f64) -> bool {
        let (counts, profit) = (&self.generation.devices.counts, &self.center.profit);
        let lines = self.lines.as_ref().map(|lines| rough(lines, target, Resolution::ROUGH));
        let mut lines = lines.filter(|lines| effort(lines, target).is_some());
        let pricers = &mut self.pricers;
        let mut most_of = |kind: usize, profit: &[f64]| match &mut lines {
            Some(lines) => lines[kind].price(profit, target).upper,
            None => pricers[kind].relax(profit, target).upper,
        };
        let most: Vec<f64> = (0..counts.len()).map(|kind| most_of(kind, profit)).collect();
        let missing = (-surplus(profit, counts, &most)).max(0.0);
        let total: f64 = profit.iter().sum();
        (0..counts.len()).all(|kind| {
            let Some((bytes, room)) = limited.memory(kind) else { return true };
            let scale = bytes.iter().sum::<f64>() / total;
            PRICES_OF_PROFIT.iter().any(|price| {
                let price = price * scale;
                let worth: Vec<f64> = bytes.iter().zip(profit).map(|(bytes, profit)| bytes + price * profit).collect();
                most_of(kind, &worth) - price * (most[kind] - missing) <= room
            })
        })
    }

    /// A target between two that the best profits so far refute; `low` is refuted.
    pub fn refuted_by_profits(&mut self, low: f64, high: f64) -> f64 {
        self.generation.refuted_by(&self.center, (low, high), &mut self.pricers)
    }
}

/// What profit is worth in bytes, as a part of all bytes for all profit.
const PRICES_OF_PROFIT: [f64; 4] = [0.0, 1.0, 4.0, 16.0];

/// Pricers along the same lines in rough cells, where devices have this load.
pub(super) fn rough(lines: &[LinePricer], target: f64, cells: Resolution) -> Vec<LinePricer> {
    lines.iter().map(|line| line.rough(target, cells.0)).collect()
}

/// How many sums it takes to price devices of all kinds; `None` where that is not quick.
pub(super) fn effort(lines: &[LinePricer], target: f64) -> Option<usize> {
    lines.iter().map(|line| line.effort(target)).sum()
}

/// Rounds of fewer sums than this are over at once.
const LARGE: usize = 10_000_000;

/// The most rounds of the bundle method for one target: as many as make so many sums, within these.
const MOST_BUNDLE_SUMS: usize = 4_000_000_000;
const LEAST_BUNDLE_ROUNDS: usize = 40;
const MOST_BUNDLE_ROUNDS: usize = 240;

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::super::assignment::{Assignment, Setting};
    use super::super::samples;
    use super::*;
    use crate::instance::Instance;
    use crate::preprocess::Unordered;
    use crate::problem::fits;

    /// Whether devices are roomy at this part of the largest load that a device can have, and whether no split within that
    /// breaks a limit; `None` where no limit counts.
    fn roomy((mut instance, is_convex): (Instance, bool), profit: &[f64], part: f64) -> Option<[bool; 2]> {
        samples::limit_memory(&mut instance, Some(14.0));
        let problem = samples::problem(&instance, is_convex);
        let (unordered, cx) = (Unordered::new(&problem), SearchContext::new());
        let setting = Setting::new(&problem, &unordered);
        let limited = Devices::new(&setting, &cx)?;
        let free = limited.without_limits(&cx)?;
        let mut root = Root::new(&free, &cx)?;
        let target = free.ceiling().min(80.0) * part;
        root.center.profit = profit[..setting.unit_count()].to_vec();
        let breaks = |split: &Assignment| {
            let is_within = setting.loads(split).is_some_and(|loads| loads.iter().all(|load| load[0] <= target));
            let has_sets = (0..setting.device_count()).all(|device| setting.is_convex(split, device));
            let has_room = |(d, bytes): (usize, &f64)| fits(*bytes, setting.kind(d).memory_limit);
            is_within && has_sets && !setting.memory(split).iter().enumerate().all(has_room)
        };
        let fit = !samples::splits(&setting).any(|split| breaks(&split));
        Some([root.is_roomy(&limited, target), fit])
    }

    #[test]
    fn devices_are_roomy_only_where_no_split_breaks_a_limit() {
        let drawn = (samples::instances(), any::<bool>(), vec(0..9i32, 6), 0.02..0.8f64);
        let (mut roomy_ones, mut others) = (0, 0);
        for (instance, is_convex, profit, part) in samples::drawn(drawn, 2000) {
            let profit: Vec<f64> = profit.into_iter().map(f64::from).collect();
            let text = format!("{instance:?}, {is_convex}, {profit:?}, {part}");
            let Some([is_roomy, all_fit]) = roomy((instance, is_convex), &profit, part) else { continue };
            assert!(all_fit || !is_roomy, "{text}");
            roomy_ones += usize::from(is_roomy);
            others += usize::from(!all_fit);
        }
        assert!(roomy_ones > 100 && others > 100, "{roomy_ones} roomy ones, {others} that are not");
    }
}
