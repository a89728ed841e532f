//! Which decision parts the splits of a node of branch and price.

use super::covering::{Column, Decision, Devices, weights};
use super::gains::{Gains, Side};

/// A fractional cover.
pub struct Fractions<'p> {
    /// Columns with weights above zero, the largest first.
    columns: Vec<(&'p Column, f64)>,
}

/// What a fractional cover leads to.
#[derive(Debug, Clone, PartialEq)]
pub enum Branching {
    /// Every split obeys one of the two; the first is the more promising.
    Decide(Decision, Decision),
    /// The cover is a split: the units of each device with its kind.
    Split(Vec<(usize, Vec<usize>)>),
    /// The cover is not known, or shows nothing to decide.
    Nothing,
}

impl<'p> Fractions<'p> {
    /// The cover of the fewest rounds by these columns; `None` where there is none or it is not found.
    pub fn new(devices: &Devices, columns: &[&'p Column]) -> Option<Self> {
        let weights = weights(devices.setting().unit_count(), &devices.counts, columns)?;
        Some(Self::of(columns.iter().copied().zip(weights)))
    }

    /// A cover by columns of these weights.
    pub fn of(columns: impl Iterator<Item = (&'p Column, f64)>) -> Self {
        let mut columns: Vec<(&Column, f64)> = columns.filter(|&(_, weight)| weight > TINY).collect();
        columns.sort_by(|a, b| b.1.total_cmp(&a.1));
        Self { columns }
    }

    /// Columns that share no unit, the largest weights first, no more of a kind than there are devices.
    pub fn disjoint(&self, devices: &Devices) -> Vec<(usize, Vec<usize>)> {
        let mut left = devices.counts.clone();
        let mut taken = vec![false; devices.setting().unit_count()];
        let mut chosen = Vec::new();
        for (column, _) in &self.columns {
            if left[column.kind] > 0 && !column.units.iter().any(|&u| taken[u]) {
                left[column.kind] -= 1;
                column.units.iter().for_each(|&u| taken[u] = true);
                chosen.push((column.kind, column.units.clone()));
            }
        }
        chosen
    }

    /// What to do next.
    ///
    /// Kinds are decided before pairs, pairs that share a net before others (they keep the graph as narrow as it is),
    /// heavy units before light ones, and what is closest to one half before what is nearly decided.
    pub fn branching(&self, devices: &Devices) -> Branching {
        if let Some((u, kind)) = self.kind(devices) {
            return Branching::Decide(Decision::On(u, kind), Decision::NotOn(u, kind));
        }
        if let Some((u, v)) = self.pair(devices) {
            return Branching::Decide(Decision::Together(u, v), Decision::Apart(u, v));
        }
        let chosen = self.disjoint(devices);
        let covered: usize = chosen.iter().map(|(_, units)| units.len()).sum();
        if covered == devices.setting().unit_count() { Branching::Split(chosen) } else { Branching::Nothing }
    }

    /// So many decisions, whether a source and a sink of a net share a device, by which both answers are expected to gain most, the
    /// best one first.
    pub fn promising_pairs(&self, devices: &Devices, gains: &Gains, count: usize) -> Vec<[Side; 2]> {
        let (units, work) = (&devices.setting().unordered.units, devices.work());
        let mut all: Vec<(f64, [Side; 2])> = Vec::new();
        for (e, net) in units.nets.iter().enumerate() {
            let transfer = units.kinds.iter().map(|kind| kind.transfers[e]).fold(0.0, f64::max);
            let source = net.source as usize;
            for sink in net.pins.iter().map(|&u| u as usize).filter(|&u| u != source) {
                let Some(together) = self.share_together(source, sink) else { continue };
                let cost = transfer + PART_OF_WORK * (work[source] + work[sink]) + f64::MIN_POSITIVE;
                let side = |is_apart| {
                    let distance = if is_apart { together } else { 1.0 - together };
                    Side { pair: (source, sink), is_apart, distance, cost }
                };
                let sides = [side(false), side(true)];
                all.push((sides.iter().map(|side| gains.expected(side).max(TINY)).product(), sides));
            }
        }
        all.sort_by(|a, b| b.0.total_cmp(&a.0));
        all.into_iter().take(count).map(|(_, sides)| sides).collect()
    }

    /// By which part two units are together; `None` where that is decided.
    fn share_together(&self, u: usize, v: usize) -> Option<f64> {
        let (both, one) = self.weights_of(u, v);
        (both > DECIDED && one > DECIDED).then(|| both / (both + 0.5 * one))
    }

    /// The unit and kind that are least decided.
    fn kind(&self, devices: &Devices) -> Option<(usize, usize)> {
        let work = devices.work();
        let mut best: Option<(f64, usize, usize)> = None;
        for kind in 0..devices.counts.len() {
            let mut share = vec![0.0; work.len()];
            for (column, weight) in self.columns.iter().filter(|(column, _)| column.kind == kind) {
                column.units.iter().for_each(|&u| share[u] += weight);
            }
            for u in (0..work.len()).filter(|&u| self.is_split_over_kinds(u, kind, share[u])) {
                let score = indecision(share[u]) * (work[u] + f64::MIN_POSITIVE);
                if best.is_none_or(|(known, ..)| score > known) {
                    best = Some((score, u, kind));
                }
            }
        }
        best.map(|(_, u, kind)| (u, kind))
    }

    /// Whether `unit` has a share of this kind, and another one elsewhere.
    fn is_split_over_kinds(&self, unit: usize, kind: usize, share: f64) -> bool {
        share > TINY && self.columns.iter().any(|(column, _)| column.kind != kind && column.holds(unit))
    }

    /// The pair of units that is least decided: some columns hold both, others one of them.
    fn pair(&self, devices: &Devices) -> Option<(usize, usize)> {
        let setting = devices.setting();
        let work = devices.work();
        let score = |u: usize, v: usize| {
            let (both, one) = self.weights_of(u, v);
            (both > TINY && one > TINY)
                .then(|| indecision(both / (both + one)) * (work[u] + work[v] + f64::MIN_POSITIVE))
        };
        let best = |pairs: &mut dyn Iterator<Item = (usize, usize)>| {
            let scored = pairs.filter_map(|(u, v)| Some((score(u, v)?, u, v)));
            scored.fold(None, |best: Option<(f64, usize, usize)>, next| match best {
                Some(known) if known.0 >= next.0 => Some(known),
                _ => Some(next),
            })
        };
        let nets = &setting.unordered.units.nets;
        let mut adjacent = nets.iter().flat_map(|net| {
            let others = net.pins.iter().filter(|&&v| v != net.source);
            others.map(|&v| (net.source.min(v) as usize, net.source.max(v) as usize))
        });
        let pair = best(&mut adjacent).or_else(|| {
            // Only units of columns that are taken in part can be undecided.
            let mut open: Vec<usize> = self.partial().flat_map(|column| column.units.iter().copied()).collect();
            open.sort_unstable();
            open.dedup();
            open.sort_by(|&a, &b| work[b].total_cmp(&work[a]));
            best(&mut open.iter().enumerate().flat_map(|(i, &u)| open[..i].iter().map(move |&v| (u.min(v), u.max(v)))))
        });
        pair.map(|(_, u, v)| (u, v))
    }

    /// The weights of the columns that hold both units, and of those that hold one of them.
    fn weights_of(&self, u: usize, v: usize) -> (f64, f64) {
        let both = self.weight(|column| column.holds(u) && column.holds(v));
        let one = self.weight(|column| column.holds(u) != column.holds(v));
        (both, one)
    }

    fn weight(&self, holds: impl Fn(&Column) -> bool) -> f64 {
        self.columns.iter().filter(|(column, _)| holds(column)).map(|(_, weight)| weight).sum()
    }

    /// Columns that overlap others or are taken in part.
    fn partial(&self) -> impl Iterator<Item = &Column> {
        let overlaps = |a: &Column| self.columns.iter().any(|(b, _)| *b != a && b.units.iter().any(|&u| a.holds(u)));
        self.columns.iter().map(|(column, _)| *column).filter(move |column| overlaps(column))
    }
}

/// Largest at one half.
fn indecision(share: f64) -> f64 {
    0.5 - (0.5 - share.min(1.0)).abs() + TINY
}

/// What parting two units costs besides the net between them, as a part of their work.
const PART_OF_WORK: f64 = 0.05;

/// It is decided whether two units are together where less than this part of a cover says otherwise.
const DECIDED: f64 = 1e-3;

/// Weights below this are the rounding of the linear program.
const TINY: f64 = 1e-6;
