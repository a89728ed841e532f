//! Branch and price along lines: a tree whose leaves are refuted at a target that rises.

use std::slice;

use super::assignment::Assignment;
use super::branching::{Branching, Fractions};
use super::covering::{Column, Decision, Devices, Verdict, along};
use super::enumeration::{self, Effort, Found};
use super::gains::{Gains, Side};
use super::pricing::{LinePricer, ROOM};
use super::root::{Resolution, effort, rough};
use super::tree::{Ending, as_assignment};
use crate::problem::fits;
use crate::solve::SearchContext;
use crate::solve::bundle::Bundle;

/// The leaves of the tree: every split obeys the decisions of one.
pub struct Leaves<'a> {
    devices: &'a Devices<'a>,
    manner: Manner,
    work: Vec<f64>,
    /// The next ones last.
    open: Vec<Leaf>,
    /// Those that have no split below the last target.
    refuted: Vec<Leaf>,
    gains: Gains,
    /// How many times a leaf was priced.
    pub nodes: usize,
    /// The largest part of what sets may fall short by that was enumerated for a leaf at the last target.
    pub enumerated: f64,
}

/// How leaves are priced.
#[derive(Debug, Clone, Copy)]
struct Manner {
    /// In which cells, one after another as sets show that do not fit: the first ones of these that are quick at the beginning.
    cells: &'static [&'static [Resolution]],
    /// Leaves of fewer decisions than this are parted by the one of [`CANDIDATES`] that a few rounds show to be the best.
    strong: usize,
    /// How many times the gain of the last few rounds has to refute the target for others to follow.
    lookahead: f64,
    /// How many times the effort of pricing a leaf the enumeration of its splits may take.
    times: usize,
    /// As many times that for the leaf of all splits: what is found there serves every leaf.
    times_for_root: usize,
    /// As many times the part of it that enumerates where all sets that count are within reach.
    times_for_all: usize,
}

impl Manner {
    const BY_LOAD: Self = Self {
        cells: &[&[Resolution::MIDDLE, Resolution::FINE]],
        strong: 0,
        lookahead: 6.0,
        times: 1,
        times_for_root: 4,
        times_for_all: 1,
    };

    /// Far below the best split targets are refuted in rough cells, and the first decisions count for all that are to come.
    const FAR_BELOW: Self =
        Self { cells: &[&[Resolution::ROUGH, Resolution::MIDDLE, Resolution::FINE]], strong: 3, ..Self::BY_LOAD };

    /// The profits of the last target are far from those of the next one, and of the root's sets a small part is within reach. A set
    /// that cells let in above the target is one more that parts have to keep out, and the first decisions count for them all.
    const WITH_MEMORY: Self = Self {
        cells: &[&[Resolution::of(4_000.0)], &[Resolution::of(2_000.0)], &[Resolution::WITH_MEMORY]],
        strong: 3,
        lookahead: 60.0,
        times: 1,
        times_for_root: 1,
        times_for_all: 8,
    };
}

/// A part of the splits, and what is known of it.
#[derive(Debug, Clone)]
struct Leaf {
    /// What its splits obey.
    decisions: Vec<Decision>,
    /// The last decision, with how much the profits before it missed.
    last: Option<(Side, f64)>,
    /// The best profits.
    profit: Vec<f64>,
    /// The sets that those rest on, with their kinds.
    sets: Vec<(usize, Vec<usize>)>,
    /// In which cells it is priced, and finer ones after them; none before the first time.
    cells: &'static [Resolution],
}

/// What pricing says of a leaf.
struct Priced {
    becomes: Becomes,
    /// A split that it has.
    found: Option<Assignment>,
    /// What its last decision gained.
    gain: Option<(Side, f64)>,
    /// Which part of what sets may fall short by was enumerated.
    enumerated: f64,
    /// The effort of it.
    sums: usize,
}

/// What becomes of a leaf.
enum Becomes {
    /// It has no split below the target.
    Refuted(Leaf),
    /// These parts of it may have one.
    Open(Vec<Leaf>),
    /// Nothing is left to decide, or lines are too wide.
    Undecided(Leaf),
}

impl<'a> Leaves<'a> {
    /// One leaf of all splits, with profits to start from; for targets that are far below the best split, or not.
    pub fn new(devices: &'a Devices<'a>, profit: Vec<f64>, is_far_below: bool) -> Self {
        let root = Leaf { decisions: Vec::new(), last: None, profit, sets: Vec::new(), cells: &[] };
        let (work, gains) = (devices.work(), Gains::default());
        let manner = match (devices.limit_memory(), is_far_below) {
            (true, _) => Manner::WITH_MEMORY,
            (false, true) => Manner::FAR_BELOW,
            (false, false) => Manner::BY_LOAD,
        };
        Self { devices, manner, work, open: vec![root], refuted: Vec::new(), gains, nodes: 0, enumerated: 0.0 }
    }

    /// Refutes a target, or finds a split below `upper`, pricing about so many leaves at most; several at once where there are
    /// threads. `beside`, which runs beside that, is told how many sums pricing took since, and says whether to go on.
    pub fn refute(
        &mut self,
        (target, upper): (f64, f64),
        most_nodes: usize,
        beside: &mut (dyn FnMut(usize) -> bool + Send),
        cx: &SearchContext,
    ) -> Ending {
        let last = self.nodes.saturating_add(most_nodes);
        self.enumerated = 0.0;
        self.open.extend(self.refuted.drain(..).rev());
        let mut sums = 0;
        while !self.open.is_empty() {
            if cx.should_stop() || self.nodes >= last {
                return Ending::Limit;
            }
            let batch = self.open.split_off(self.open.len().saturating_sub(cx.most_lanes()));
            let price = || cx.map(batch, |leaf| self.price(leaf, (target, upper), cx));
            let (priced, goes_on) = cx.join(price, || beside(sums));
            self.nodes += priced.len();
            self.enumerated = priced.iter().map(|priced| priced.enumerated).fold(self.enumerated, f64::max);
            sums = priced.iter().map(|priced| priced.sums).sum();
            let (mut found, mut is_undecided) = (None, false);
            for priced in priced {
                priced.gain.iter().for_each(|(side, gain)| self.gains.learn(side, *gain));
                found = found.or(priced.found);
                match priced.becomes {
                    Becomes::Refuted(leaf) => self.refuted.push(leaf),
                    Becomes::Open(parts) => self.open.extend(parts),
                    Becomes::Undecided(leaf) => {
                        self.open.push(leaf);
                        is_undecided = true;
                    }
                }
            }
            match found {
                Some(split) => return Ending::Found(split),
                None if is_undecided => return Ending::Undecided,
                None if !goes_on => return Ending::Limit,
                None => {}
            }
        }
        Ending::Refuted
    }

    /// Prices a leaf by the bundle method, and parts it where that does not refute the target.
    fn price(&self, mut leaf: Leaf, (target, upper): (f64, f64), cx: &SearchContext) -> Priced {
        let Some((cells, mut lines)) = self.lines(&leaf, target, cx) else {
            return Priced { becomes: Becomes::Undecided(leaf), found: None, gain: None, enumerated: 0.0, sums: 0 };
        };
        leaf.cells = cells;
        let mut bundle = self.bundle(&leaf, &mut lines, target);
        let verdict = ascend(&mut bundle, self.manner.lookahead, cx);
        let surplus = bundle.surplus();
        let columns = self.columns(&bundle);
        let gain = leaf.last.take().map(|(side, before)| (side, surplus.min(0.0) - before));
        leaf.sets = columns.iter().map(|(column, _)| (column.kind, column.units.clone())).collect();
        leaf.profit = bundle.center().to_vec();
        drop(bundle);
        let sums = lines.iter().map(LinePricer::sums).sum();
        let is_refuted = verdict == Verdict::Refuted;
        let enumerated = (!is_refuted).then(|| self.enumerate(&leaf, (&mut lines, sums), (target, upper), cx));
        let Found { best, is_complete, part } = enumerated.flatten().unwrap_or_default();
        let (becomes, found) = if best.is_some() {
            (Becomes::Open(vec![leaf]), best)
        } else if is_refuted || is_complete {
            (Becomes::Refuted(leaf), None)
        } else if cx.should_stop() {
            (Becomes::Open(vec![leaf]), None)
        } else {
            let is_open = verdict == Verdict::Open || surplus > -NEARLY_OPEN * self.work.iter().sum::<f64>();
            let does_not_fit = is_open && self.broken(&columns, target) > MOST_BROKEN;
            self.look_into(leaf, &columns, (does_not_fit, surplus), (target, upper), cx)
        };
        Priced { becomes, found, gain, enumerated: part, sums }
    }

    /// What prices a leaf, and the cells of that with finer ones after them; `None` where lines are not quick. Sets are expected
    /// that are as good as those known.
    fn lines(&self, leaf: &Leaf, target: f64, cx: &SearchContext) -> Option<(&'static [Resolution], Vec<LinePricer>)> {
        let exact = self.devices.lines(&leaf.decisions, cx)?;
        let in_cells = |cells: &'static [Resolution]| {
            let lines = rough(&exact, target, *cells.first()?);
            effort(&lines, target).map(|_| (cells, lines))
        };
        let known = slice::from_ref(&leaf.cells);
        let choices = if leaf.cells.is_empty() { self.manner.cells } else { known };
        let (cells, mut lines) = choices.iter().find_map(|cells| in_cells(cells))?;
        for (number, line) in lines.iter_mut().enumerate() {
            line.expect(leaf.sets.iter().filter(|(kind, _)| *kind == number).map(|(_, units)| units.clone()));
        }
        Some((cells, lines))
    }

    /// The search for profits of a leaf that refute the target, from those known on.
    fn bundle<'l>(&'l self, leaf: &Leaf, lines: &'l mut [LinePricer], target: f64) -> Bundle<'l> {
        let mut bundle = along(&self.devices.counts, lines, target, (&self.work, &leaf.profit));
        leaf.sets.iter().for_each(|(kind, units)| bundle.know(*kind, units));
        bundle
    }

    /// Puts splits of a leaf together from enumerated sets, where its pricing took so many sums.
    fn enumerate(
        &self,
        leaf: &Leaf,
        (lines, sums): (&mut [LinePricer], usize),
        (target, upper): (f64, f64),
        cx: &SearchContext,
    ) -> Option<Found> {
        let (devices, decisions, profit) = (self.devices, &leaf.decisions[..], &leaf.profit[..]);
        let query = enumeration::Query { devices, decisions, profit, target, upper };
        let Manner { times, times_for_root, times_for_all, .. } = self.manner;
        let times = if decisions.is_empty() { times * times_for_root } else { times };
        enumeration::search(&query, lines, Effort::of(sums.saturating_mul(times), times_for_all), cx)
    }

    /// What becomes of a leaf whose profits miss the target by `surplus`, and a split below `upper` that its columns make up; in
    /// finer cells where these do not fit.
    fn look_into(
        &self,
        leaf: Leaf,
        columns: &[(Column, f64)],
        (does_not_fit, surplus): (bool, f64),
        (target, upper): (f64, f64),
        cx: &SearchContext,
    ) -> (Becomes, Option<Assignment>) {
        let setting = self.devices.setting();
        let fractions = Fractions::of(columns.iter().map(|(column, weight)| (column, *weight)));
        let split = as_assignment(setting, &fractions.disjoint(self.devices));
        let found = split.filter(|split| setting.objective(split).is_some_and(|value| value < upper));
        let becomes = if found.is_some() {
            Becomes::Open(vec![leaf])
        } else if does_not_fit && leaf.cells.len() > 1 {
            Becomes::Open(vec![leaf.finer()])
        } else {
            self.part(leaf, &fractions, (target, surplus), cx)
        };
        (becomes, found)
    }

    /// The sets that the profits rest on, with their weights.
    fn columns(&self, bundle: &Bundle) -> Vec<(Column, f64)> {
        let column = |(kind, units, weight): (usize, &[usize], f64)| {
            let load = self.devices.load(kind, units);
            (Column { kind, units: units.to_vec(), load }, weight)
        };
        bundle.cover().map(column).collect()
    }

    /// The weight of the sets that do not fit, but for what cells round off.
    fn broken(&self, columns: &[(Column, f64)], target: f64) -> f64 {
        let kinds = &self.devices.setting().unordered.units.kinds;
        let does_fit = |column: &Column| {
            let kind = &kinds[column.kind];
            let bytes = column.units.iter().map(|&u| kind.memory[u]).sum();
            column.load <= target * ROOM && fits(bytes, kind.memory_limit)
        };
        columns.iter().filter(|(column, _)| !does_fit(column)).map(|(_, weight)| weight).sum()
    }

    /// The parts of a leaf whose profits miss the target by `surplus`.
    fn part(&self, leaf: Leaf, fractions: &Fractions, (target, surplus): (f64, f64), cx: &SearchContext) -> Becomes {
        if let Some(sides) = self.sides(&leaf, fractions, (target, surplus), cx) {
            let part = |side: Side| Leaf { last: Some((side, surplus)), ..leaf.with(side.decision()) };
            let [together, apart] = sides.map(part);
            return Becomes::Open(vec![apart, together]);
        }
        match fractions.branching(self.devices) {
            Branching::Decide(first, second) => Becomes::Open(vec![leaf.with(second), leaf.with(first)]),
            Branching::Split(_) | Branching::Nothing if leaf.cells.len() > 1 => Becomes::Open(vec![leaf.finer()]),
            Branching::Split(_) | Branching::Nothing => Becomes::Undecided(leaf),
        }
    }

    /// The decision by which both answers are expected to gain most; near the root, where it counts for the whole tree, the one by
    /// which they do within a few rounds (strong branching, Applegate, Bixby, Chvátal and Cook 1995).
    fn sides(
        &self,
        leaf: &Leaf,
        fractions: &Fractions,
        (target, surplus): (f64, f64),
        cx: &SearchContext,
    ) -> Option<[Side; 2]> {
        let count = if leaf.decisions.len() < self.manner.strong { CANDIDATES } else { 1 };
        let pairs = fractions.promising_pairs(self.devices, &self.gains, count);
        if pairs.len() < 2 {
            return pairs.into_iter().next();
        }
        let missing = (-surplus).max(0.0);
        let gain = |side: &Side| {
            let gain = self.surplus_of(&leaf.with(side.decision()), target, cx) - surplus;
            gain.clamp(0.0, missing) + LEAST_GAIN * missing
        };
        let scored: Vec<(f64, [Side; 2])> = cx.map(pairs, |sides| (sides.iter().map(gain).product(), sides));
        scored.into_iter().max_by(|a, b| a.0.total_cmp(&b.0)).map(|(_, sides)| sides)
    }

    /// By how much the profits of a leaf miss the target, less than zero, after a few rounds.
    fn surplus_of(&self, leaf: &Leaf, target: f64, cx: &SearchContext) -> f64 {
        let Some((_, mut lines)) = self.lines(leaf, target, cx) else { return f64::MIN };
        let mut bundle = self.bundle(leaf, &mut lines, target);
        bundle.ascend(ROUNDS_AT_ONCE, &mut || (), cx);
        bundle.surplus()
    }
}

impl Leaf {
    /// The part that obeys one decision more.
    fn with(&self, decision: Decision) -> Self {
        let sets = self.sets.iter().filter(|(kind, units)| decision.allows(*kind, units)).cloned().collect();
        Self {
            decisions: self.decisions.iter().copied().chain([decision]).collect(),
            last: None,
            profit: self.profit.clone(),
            sets,
            cells: self.cells,
        }
    }

    /// The same in finer cells, in which some of its sets may not fit.
    fn finer(self) -> Self {
        Self { cells: &self.cells[1..], sets: Vec::new(), ..self }
    }
}

/// Goes on until the target is refuted, or does not seem to be within reach: so many times the gain of the last few rounds do not
/// refute it.
fn ascend(bundle: &mut Bundle, lookahead: f64, cx: &SearchContext) -> Verdict {
    let mut rounds = 0;
    loop {
        let before = bundle.surplus();
        let verdict = bundle.ascend(ROUNDS_AT_ONCE, &mut || (), cx);
        rounds += ROUNDS_AT_ONCE;
        let expected = bundle.surplus() + lookahead * (bundle.surplus() - before);
        let is_hopeless = rounds > ROUNDS_AT_ONCE && expected < 0.0;
        if verdict != Verdict::Limit || is_hopeless || rounds >= MOST_ROUNDS || cx.should_stop() {
            return verdict;
        }
    }
}

/// A leaf is parted after so many rounds.
const MOST_ROUNDS: usize = 40;
const ROUNDS_AT_ONCE: usize = 5;

/// Of so many decisions the best one is chosen near the root, where a side that gains nothing counts as if it gained this part of
/// what is missing.
const CANDIDATES: usize = 8;
const LEAST_GAIN: f64 = 2e-4;

/// Finer cells are asked where the target is open up to this part of all work, by more than so many sets that do not fit.
const NEARLY_OPEN: f64 = 1e-5;
const MOST_BROKEN: f64 = 0.5;

#[cfg(test)]
mod tests {
    use super::super::assignment::Setting;
    use super::super::samples;
    use super::*;
    use crate::conformance::strategies::odd_cycles;
    use crate::instance::Instance;
    use crate::preprocess::Unordered;
    use crate::solve::Solver;
    use crate::solve::brute_force::BruteForce;

    /// How often targets that rise to the optimum and beyond were refuted with parts, and met by a split.
    fn check(
        mut instance: Instance,
        is_convex: bool,
        limit: Option<f64>,
        (times, is_far): (usize, bool),
    ) -> [usize; 2] {
        samples::limit_memory(&mut instance, limit);
        let problem = samples::problem(&instance, is_convex);
        let (unordered, cx) = (Unordered::new(&problem), SearchContext::new());
        let setting = Setting::new(&problem, &unordered);
        let devices = Devices::new(&setting, &cx).expect("a narrow graph");
        let run = BruteForce.solve(&problem, &mut SearchContext::new()).unwrap();
        let Some(optimum) = run.outcome.solution().and_then(|split| split.objective) else { return [0; 2] };
        let mut leaves = Leaves::new(&devices, devices.work(), is_far);
        leaves.manner.times = times;
        let mut ends = [0; 2];
        for part in [0.5, 0.9, 0.99, 1.0, 1.01] {
            let target = optimum * part;
            match leaves.refute((target, f64::INFINITY), usize::MAX, &mut |_| true, &cx) {
                Ending::Refuted => {
                    assert!(target < optimum, "{target} refuted, optimum {optimum}: {instance:?}");
                    ends[0] += usize::from(leaves.refuted.len() > 1);
                }
                Ending::Found(split) => {
                    let value = setting.objective(&split).expect("what is found is valid");
                    assert!(value >= optimum * (1.0 - 1e-9), "{value} below {optimum}: {instance:?}");
                    ends[1] += usize::from(value <= optimum * (1.0 + 1e-9));
                }
                Ending::Undecided => {}
                Ending::Limit => unreachable!("there is none"),
            }
        }
        ends
    }

    #[test]
    fn rising_targets_are_refuted_up_to_the_optimum() {
        let mut ends = [0; 2];
        let mut count = |instance: Instance, number: usize| {
            let limit = [None, Some(14.0), Some(25.0)][number % 3];
            // Small graphs need no tree where their splits are enumerated.
            for how in [(0, false), (1, false), (0, true), (1, true)] {
                let more = check(instance.clone(), number.is_multiple_of(2), limit, how);
                ends.iter_mut().zip(more).for_each(|(sum, more)| *sum += more);
            }
        };
        samples::drawn(odd_cycles(2), 24).enumerate().for_each(|(number, instance)| count(instance, number));
        samples::drawn(samples::instances(), 24).enumerate().for_each(|(number, instance)| count(instance, number));
        assert!(ends[0] >= 8 && ends[1] >= 48, "{ends:?} targets refuted in parts, and met");
    }
}
