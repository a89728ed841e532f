//! A bound without a search, by what stages have memory for, where all of them have one tensor and one data degree.
//!
//! Let the i-th stage from the end of the pipeline have y microbatches in flight, and take the time T at most within the
//! memory M. For each price λ ≥ 0 the options of its nodes then satisfy Σ (time + λ · bytes for y) ≤ T + λ · M, and so do
//! the least of these terms, node by node: the Lagrangian relaxation of the multiple-choice knapsack. With P(X) the sum
//! of these over a set X, i stages can hold only sets with P(X) ≤ max P(Y) + T + λ · M, over the sets Y that i − 1 stages
//! can hold: for every price, and for an infinite one, by bytes alone. What stages cut, and what nodes need while they
//! run, is left out.

use super::kinds::Amounts;
use super::knapsack::{Item, hull, slope};
use super::model::Model;
use crate::cost::StageBytes;
use crate::search::{SearchContext, Stopped};
use crate::solve::dp::lattice::Lattice;

/// What sums of floats may be off by, as a part of them.
const ROUNDING: f64 = 1e-9;

/// How near the bound comes to the least time that is not refuted.
const PRECISION: f64 = 3e-4;

/// Times that are tried at most.
const MOST_TIMES: usize = 64;

/// Sets of each stage that are looked at, at each price and time: some seconds.
const MOST_SETS: usize = 1 << 22;

/// Prices of memory for each number of microbatches in flight.
const MOST_PRICES: usize = 16;

/// The options of a node: time for each sample, and bytes.
type Options = Vec<(f64, StageBytes)>;

/// What time and bytes are multiplied by.
#[derive(Clone, Copy)]
struct Price {
    time: f64,
    bytes: f64,
}

struct Reach<'a> {
    lattice: &'a Lattice,
    /// The different options of nodes.
    kinds: Vec<Options>,
    /// The kind of each node of each unit.
    units: &'a [Vec<usize>],
    memory: f64,
    replicas: usize,
    /// Microbatches in flight of each stage, from the last one on, and the prices of memory that count for these.
    stages: Vec<(usize, Vec<Price>)>,
}

/// A time that no slowest stage is below: infinite where memory allows no split, and at least `known`, of which that is known.
/// `None` where stages may have several degrees, memory has no limit, or sets and stages are too many to be looked at so often.
/// The lattice is that of all sets that may lie at the end of the pipeline. Where the limits of `cx` come first it is lower.
/// O(stages · prices · (options + sets)) for each of some dozens of times.
pub fn least(lattice: &Lattice, model: &Model, known: f64, cx: &SearchContext) -> Option<f64> {
    let ([tensor], &[data]) = (&model.degrees[..], &model.costs.data_degrees[..]) else { return None };
    if model.memory.is_infinite() {
        return None;
    }
    let stages = (model.devices / (tensor.degree * data)).min(model.parts / data).min(model.members.len());
    if stages.saturating_mul(lattice.count()) > MOST_SETS {
        return None;
    }
    let reach = Reach::new(lattice, model, data, stages);
    let (mut refuted, mut open) = (known, reach.longest().max(known));
    match reach.holds_all(open, cx) {
        Ok(true) => {}
        Ok(false) => return Some(f64::INFINITY),
        Err(Stopped) => return Some(known),
    }
    for _ in 0..MOST_TIMES {
        if open - refuted <= PRECISION * open {
            break;
        }
        let middle = f64::midpoint(refuted, open);
        match reach.holds_all(middle, cx) {
            Ok(true) => open = middle,
            Ok(false) => refuted = middle,
            Err(Stopped) => break,
        }
    }
    Some(refuted)
}

impl<'a> Reach<'a> {
    fn new(lattice: &'a Lattice, model: &'a Model, replicas: usize, stages: usize) -> Self {
        let option =
            |option: &Amounts| (model.time(option.compute, 0.0, option.parameters, replicas), option.bytes);
        let kinds: Vec<Options> =
            model.kinds.options.iter().map(|of_degree| of_degree[0].iter().map(option).collect()).collect();
        // As many as where no stages come before: schedules have no fewer where some do.
        let in_flight = |stage: usize| {
            let parts = stage * replicas;
            model.costs.in_flight.count(replicas, parts, parts, model.costs.microbatches)
        };
        let priced = |in_flight| (in_flight, prices(&kinds, in_flight, replicas));
        let stages = (1..=stages).map(in_flight).map(priced).collect();
        Self { lattice, kinds, units: &model.kinds.units, memory: model.memory, replicas, stages }
    }

    /// A time that leaves all stages more than they can take, their transfers aside.
    fn longest(&self) -> f64 {
        let slowest = |options: &Options| options.iter().map(|&(time, _)| time).fold(0.0, f64::max);
        self.units.iter().flatten().map(|&kind| slowest(&self.kinds[kind])).sum()
    }

    /// Whether the relaxation lets stages hold all units within this time.
    fn holds_all(&self, time: f64, cx: &SearchContext) -> Result<bool, Stopped> {
        let mut held = vec![false; self.lattice.count()];
        held[0] = true;
        for &(in_flight, ref prices) in &self.stages {
            let mut may = vec![true; held.len()];
            for &price in prices {
                if cx.should_stop() {
                    return Err(Stopped);
                }
                let sums = self.sums(in_flight, price);
                let most = largest(&sums, &held) + price.time * time + price.bytes * self.memory;
                may.iter_mut().zip(&sums).for_each(|(may, &sum)| *may &= sum <= most * (1.0 + ROUNDING));
            }
            held = may;
            if held.last() == Some(&true) {
                return Ok(true);
            }
        }
        Ok(self.units.is_empty())
    }

    /// The least priced sum of each set.
    fn sums(&self, in_flight: usize, price: Price) -> Vec<f64> {
        let priced =
            |&(time, bytes): &(f64, StageBytes)| price.time * time + price.bytes * bytes.of(in_flight, self.replicas);
        let least = |options: &Options| options.iter().map(priced).fold(f64::INFINITY, f64::min);
        let of_kind: Vec<f64> = self.kinds.iter().map(least).collect();
        let of_unit: Vec<f64> = self.units.iter().map(|kinds| kinds.iter().map(|&kind| of_kind[kind]).sum()).collect();
        let mut sums = vec![0.0; self.lattice.count()];
        for set in 0..sums.len() {
            for &(unit, larger) in self.lattice.above(set) {
                sums[larger as usize] = sums[set] + of_unit[unit as usize];
            }
        }
        sums
    }
}

/// The price of nothing, those at which some node changes its option, and the infinite one.
fn prices(kinds: &[Options], in_flight: usize, replicas: usize) -> Vec<Price> {
    let of_kind = |options: &Options| {
        let item = |&(value, bytes): &(f64, StageBytes)| Item { value, weight: bytes.of(in_flight, replicas) };
        let items: Vec<Item> = options.iter().map(item).collect();
        hull(&items).windows(2).map(|pair| slope(&items, pair[0], pair[1])).collect::<Vec<f64>>()
    };
    let mut slopes: Vec<f64> = kinds.iter().flat_map(of_kind).filter(|slope| slope.is_finite()).collect();
    slopes.sort_by(f64::total_cmp);
    slopes.dedup_by(|a, b| *a <= *b * (1.0 + 1e-3));
    let step = slopes.len().div_ceil(MOST_PRICES).max(1);
    let finite = std::iter::once(0.0).chain(slopes.into_iter().step_by(step));
    let infinite = Price { time: 0.0, bytes: 1.0 };
    finite.map(|bytes| Price { time: 1.0, bytes }).chain([infinite]).collect()
}

/// The largest sum of the sets that are held.
fn largest(sums: &[f64], held: &[bool]) -> f64 {
    sums.iter().zip(held).filter(|(_, held)| **held).map(|(sum, _)| *sum).fold(0.0, f64::max)
}
