//! Splits put together from sets that have been enumerated (Baldacci, Christofides and Mingozzi 2008).
//!
//! Let profits π miss a target by m = Σ n_d · z_d − Σ π, where no set that a device of kind d can hold within the target earns
//! more than z_d. A set S on such a device falls short of that by δ(S) = z_d − π(S) ≥ 0, and as a split leaves no unit out, all
//! of its sets together fall short by m: none of them by more. Near a tie few sets do not. They are enumerated, and what is
//! left is an exact cover whose sets fall short by no more than m together ([`search`](mod@search)).
//!
//! One device of a kind that pays for no nets, as CPUs do, need not be enumerated: it holds what the others leave, and what that
//! can earn is a knapsack ([`rest`]).

mod rest;
mod search;

use super::assignment::Assignment;
use super::covering::{Decision, Devices};
use super::pricing::{LinePricer, Nearby, NearbySet};
use crate::small_set::Set;
use crate::solve::SearchContext;
use crate::solve::bundle::surplus;
use rest::Rest;
use search::Search;

/// What is to be searched: the splits within `target` that obey the decisions, for one below `upper`.
pub struct Query<'a> {
    /// The kinds of devices.
    pub devices: &'a Devices<'a>,
    /// What splits obey.
    pub decisions: &'a [Decision],
    /// Profits that miss the target by little.
    pub profit: &'a [f64],
    /// The most load of a device.
    pub target: f64,
    /// Splits have to be below this.
    pub upper: f64,
}

/// What it may take.
#[derive(Debug, Clone, Copy)]
pub struct Effort {
    /// Partial sets of the walks along lines.
    pub ways: usize,
    /// Nodes of the search, where that is a proof.
    pub nodes: usize,
    /// How many times as many ways where all sets are within reach.
    pub times_for_all: usize,
}

impl Effort {
    /// About as much as so many sums of pricing along lines, and so many times as many ways where all sets are within reach.
    pub fn of(sums: usize, times_for_all: usize) -> Self {
        Self { ways: sums / SUMS_PER_WAY, nodes: sums / SUMS_PER_NODE, times_for_all }
    }
}

/// What it finds.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Found {
    /// The best split below `upper`, of those looked at.
    pub best: Option<Assignment>,
    /// Whether nothing within the target is below that, or below `upper` where there is none.
    pub is_complete: bool,
    /// Up to which part of what they may fall short by sets were enumerated.
    pub part: f64,
}

/// A set that some device may hold.
#[derive(Debug, Clone, PartialEq)]
struct Candidate<const W: usize> {
    kind: usize,
    units: Set<W>,
    /// By how much it falls short.
    missing: f64,
    load: f64,
}

/// Searches the splits of sets that fall short by little, as many as may be enumerated; `None` where these are none, or units are
/// too many. Lines have to be quick.
pub fn search(query: &Query, lines: &mut [LinePricer], effort: Effort, cx: &SearchContext) -> Option<Found> {
    match query.profit.len().div_ceil(64) {
        0..=3 => searched::<3>(query, lines, effort, cx),
        4..=6 => searched::<6>(query, lines, effort, cx),
        7..=12 => searched::<12>(query, lines, effort, cx),
        _ => None,
    }
}

fn searched<const W: usize>(
    query: &Query,
    lines: &mut [LinePricer],
    effort: Effort,
    cx: &SearchContext,
) -> Option<Found> {
    let Query { devices, profit, target, .. } = *query;
    let most: Vec<f64> = lines.iter_mut().map(|line| line.price(profit, target).upper).collect();
    let missing = (-surplus(profit, &devices.counts, &most)).max(0.0);
    let rest = Rest::new(query, &most);
    let (candidates, part) = candidates(query, lines, (&most, missing), (&rest, effort), cx)?;
    let mut search = Search::<W>::new(query, candidates, missing, rest);
    let nodes = if part < 1.0 { effort.nodes / LESS_FOR_A_PART } else { effort.nodes };
    let has_ended = search.run(nodes, cx);
    Some(Found { best: search.into_best(), is_complete: part >= 1.0 && has_ended, part })
}

/// The sets that fall short by no more than a part of `missing`, those that do so least first, and that part: as large as may be.
fn candidates<const W: usize>(
    query: &Query,
    lines: &[LinePricer],
    (most, missing): (&[f64], f64),
    (rest, effort): (&Rest<W>, Effort),
    cx: &SearchContext,
) -> Option<(Vec<Candidate<W>>, f64)> {
    let mut nearby = Vec::new();
    for (kind, line) in lines.iter().enumerate().filter(|(kind, _)| rest.others(query.devices, *kind) > 0) {
        nearby.push((kind, line.nearby(query.profit, query.target)?));
    }
    let mut within = |part: f64, ways: usize| enumerated(&mut nearby, (most, missing * part), ways, cx);
    let mut part = FIRST_PART;
    let (mut candidates, mut taken) = within(part, effort.ways / FIRST_WAYS)?;
    let ways_of_all = effort.ways.saturating_mul(effort.times_for_all);
    let mut growth = FIRST_GROWTH;
    // As many more ways as at the last step have to be within the limit, which is larger where all are within reach.
    while part < 1.0 {
        let steps = (1.0 / part).log(GROWTH);
        let [next, all] = [1.0, steps].map(|steps| taken as f64 * growth.powf(steps));
        let limit = if all <= ways_of_all as f64 { ways_of_all } else { effort.ways };
        if next > limit as f64 {
            break;
        }
        let larger = (part * GROWTH).min(1.0);
        let Some((more, ways)) = within(larger, limit) else { break };
        growth = ways as f64 / taken.max(1) as f64;
        (candidates, taken, part) = (more, ways, larger);
    }
    // Of the same set the ways of least load come first: others pay for more than it needs.
    candidates.sort_by(|a, b| {
        let by_units = || (a.kind, a.units).cmp(&(b.kind, b.units));
        a.missing.total_cmp(&b.missing).then_with(by_units).then_with(|| a.load.total_cmp(&b.load))
    });
    candidates.dedup_by(|a, b| (a.kind, a.units) == (b.kind, b.units));
    Some((candidates, part))
}

/// The sets of these kinds that fall short of `most` by no more than `missing`, and how many partial ones that took; `None` where it
/// takes more than so many.
fn enumerated<const W: usize>(
    nearby: &mut [(usize, Nearby)],
    (most, missing): (&[f64], f64),
    ways: usize,
    cx: &SearchContext,
) -> Option<(Vec<Candidate<W>>, usize)> {
    let mut candidates = Vec::new();
    let mut left = ways;
    for (kind, nearby) in nearby {
        let (kind, most) = (*kind, most[*kind]);
        let mut keep = |set: NearbySet| {
            let NearbySet { units, profit, load } = set;
            candidates.push(Candidate { kind, missing: most - profit, load, units: units.into_iter().collect() });
            candidates.len() < MOST_CANDIDATES
        };
        nearby.earning(most - missing, &mut left, cx, &mut keep)?;
    }
    Some((candidates, ways - left))
}

/// The most sets of a search.
const MOST_CANDIDATES: usize = 2_000_000;

/// How many sums along a line take as long as a way, and as a node.
const SUMS_PER_WAY: usize = 100;
const SUMS_PER_NODE: usize = 2_000;

/// By how much a search is shorter that only looks for splits, among a part of the sets.
const LESS_FOR_A_PART: usize = 32;

/// Which part of what sets may fall short by is enumerated first, and how it grows.
const FIRST_PART: f64 = 0.06;

/// One in so many of all ways may be taken by that.
const FIRST_WAYS: usize = 16;
const GROWTH: f64 = 1.6;

/// How many times as many ways the second part is expected to take.
const FIRST_GROWTH: f64 = 2.0;

#[cfg(test)]
mod tests {
    use super::super::assignment::Setting;
    use super::super::covering::along;
    use super::super::root::effort;
    use super::super::samples;
    use super::*;
    use crate::instance::Instance;
    use crate::preprocess::Unordered;
    use proptest::prelude::*;

    /// What searches said.
    struct Tally {
        refuted: usize,
        found: usize,
        cut_short: usize,
    }

    fn decision((kind, u, v): (usize, usize, usize), units: usize, kinds: usize) -> Option<Decision> {
        let (u, v, on) = (u % units, v % units, v % kinds);
        match kind {
            0 if u != v => Some(Decision::Together(u, v)),
            1 if u != v => Some(Decision::Apart(u, v)),
            2 => Some(Decision::On(u, on)),
            3 => Some(Decision::NotOn(u, on)),
            _ => None,
        }
    }

    /// Compares a search of the splits that obey a decision with the enumeration of all.
    fn check(
        (instance, is_convex): (Instance, bool),
        drawn: (usize, usize, usize),
        (part, rounds, nodes): (f64, usize, usize),
        tally: &mut Tally,
    ) {
        let problem = samples::problem(&instance, is_convex);
        let (unordered, cx) = (Unordered::new(&problem), SearchContext::new());
        let setting = Setting::new(&problem, &unordered);
        let devices = Devices::new(&setting, &cx).expect("a narrow graph");
        let decisions: Vec<Decision> =
            decision(drawn, setting.unit_count(), devices.counts.len()).into_iter().collect();
        let obeys = |split: &Assignment| {
            let of_device = |device: usize| {
                (0..setting.unit_count()).filter(|&u| split.device_of[u] == device as u32).collect::<Vec<_>>()
            };
            (0..setting.device_count()).all(|device| {
                decisions.iter().all(|decision| decision.allows(setting.kind_of[device], &of_device(device)))
            })
        };
        let values = samples::splits(&setting).filter(obeys).filter_map(|split| setting.objective(&split));
        let optimum = values.fold(f64::INFINITY, f64::min);
        let target = if optimum.is_finite() { (optimum * part).min(1e4) } else { 20.0 };
        let lines = devices.lines(&decisions, &cx);
        let Some(mut lines) = lines.filter(|lines| effort(lines, target).is_some()) else { return };
        let work = devices.work();
        let mut bundle = along(&devices.counts, &mut lines, target, (&work, &work));
        bundle.ascend(rounds, &mut || (), &cx);
        let profit = bundle.center().to_vec();
        drop(bundle);
        let query = Query { devices: &devices, decisions: &decisions, profit: &profit, target, upper: f64::INFINITY };
        let Some(found) = search(&query, &mut lines, Effort { ways: 1_000_000, nodes, times_for_all: 1 }, &cx) else {
            return;
        };
        let value = found.best.as_ref().map(|split| setting.objective(split).expect("what is found is valid"));
        let text = format!("{value:?} for {optimum} with {decisions:?} below {target}: {instance:?}");
        if found.is_complete && optimum <= target {
            // What breaks the decision may be better still.
            assert!(value.is_some_and(|value| value <= optimum * (1.0 + 1e-9)), "{text}");
            tally.found += 1;
        }
        if decisions.is_empty() {
            assert!(value.is_none_or(|value| value >= optimum * (1.0 - 1e-9)), "{text}");
        }
        tally.refuted += usize::from(found.is_complete && value.is_none());
        tally.cut_short += usize::from(!found.is_complete);
    }

    #[test]
    fn splits_put_together_are_the_best_of_all() {
        let mut tally = Tally { refuted: 0, found: 0, cut_short: 0 };
        let limit = prop_oneof![Just(None), (3..30u32).prop_map(Some)];
        let parts = prop_oneof![Just(0.9), Just(0.9999), Just(1.0), Just(1.01), Just(1.5)];
        let effort = (parts, 0..30usize, prop_oneof![3 => Just(100_000), 1 => 1..8usize]);
        let drawn = (samples::instances(), any::<bool>(), limit, (0..6usize, 0..6usize, 0..6usize), effort);
        for (mut instance, is_convex, limit, decision, effort) in samples::drawn(drawn, 3000) {
            samples::limit_memory(&mut instance, limit.map(f64::from));
            check((instance, is_convex), decision, effort, &mut tally);
        }
        let Tally { refuted, found, cut_short } = tally;
        let text = format!("{refuted} refuted, {found} found, {cut_short} cut short");
        assert!(refuted > 300 && found > 300 && cut_short > 30, "{text}");
    }
}
