//! A bound without a search, by what stages have memory for, where all of them have one tensor and one data degree.
//!
//! Let the i-th stage from the end of the pipeline have y microbatches in flight, and take the time T at most within the
//! memory M. For each price λ ≥ 0 the options of its nodes then satisfy Σ (time + λ · bytes for y) ≤ T + λ · M, and so do
//! the least of these terms, node by node: the Lagrangian relaxation of the multiple-choice knapsack. With P(X) the sum
//! of these over a set X, i stages can hold only sets with P(X) ≤ max P(Y) + T + λ · M, over the sets Y that i − 1 stages
//! can hold: for every price, and for an infinite one, by bytes alone. What stages cut, and what nodes need while they
//! run, is left out.
//!
//! Where a pipeline of m microbatches runs *in line*, a stage begins after the first forward passes of those before it that hold
//! what comes before or after everything else, and these run their last backward passes after its own: with F for their time,
//! m times its own is m T − F at most. Let Z be what lies before it, on n stages, and P'(Z) the sum of the least terms for one
//! stage more. One of these stages holds no more of it than its time and λ · M, or, where nobody waits for it, than the heaviest
//! block B: F ≥ P'(Z) − n · max(B, λ · M).

use super::kinds::Amounts;
use super::knapsack::{Item, hull, steps};
use super::model::Model;
use crate::cost::StageBytes;
use crate::search::{SearchContext, Stopped};
use crate::solve::dp::lattice::Lattice;

/// What sums of floats may be off by, as a part of them.
pub const ROUNDING: f64 = 1e-9;

/// How near the bound comes to the least time that is not refuted.
pub const PRECISION: f64 = 3e-4;

/// Times that are tried at most.
const MOST_TIMES: usize = 64;

/// Sets of each stage that are looked at, at each price and time: some seconds.
const MOST_SETS: usize = 1 << 22;

/// Prices of memory for each number of microbatches in flight.
const MOST_PRICES: usize = 16;

/// The options of a node: time for each sample, and bytes.
pub type Options = Vec<(f64, StageBytes)>;

/// What time and bytes are multiplied by.
#[derive(Clone, Copy)]
pub struct Price {
    pub time: f64,
    pub bytes: f64,
    /// What a stage for which those behind it need not wait can hold at most of nodes that are priced so.
    block: f64,
}

/// The most that a stage which holds nothing in line can have of what each node weighs.
pub type Heaviest<'a> = &'a dyn Fn(&[f64]) -> f64;

/// A stage, as it is counted from the last one on.
struct Place {
    /// Microbatches in flight.
    in_flight: usize,
    /// The prices of memory that count for these.
    prices: Vec<Price>,
    /// By set that it and the stages after it hold: what the stages before it take for one microbatch at least, for each of those
    /// of a pipeline. Empty where it does not wait for them.
    waits: Vec<f64>,
}

/// The sets that stages can hold.
struct Held {
    /// Sets have so many units at least that are looked at. There is one of this size, and all larger ones contain it.
    base: usize,
    sets: Vec<bool>,
    /// From this one on there are none.
    end: usize,
}

struct Reach<'a> {
    lattice: &'a Lattice,
    /// By number of units: the first set that has so many, and at the end how many sets there are.
    levels: Vec<usize>,
    /// The different options of nodes.
    kinds: Vec<Options>,
    /// The nodes of each unit.
    units: &'a [Vec<usize>],
    /// The kind of each node.
    kind_of: &'a [usize],
    memory: f64,
    replicas: usize,
    stages: Vec<Place>,
}

/// A time that no slowest stage is below, of a pipeline in line where the `heaviest` blocks are told: infinite where memory allows
/// no split, and at least `known`, of which that is known. `None` where stages may have several degrees, memory has no limit, or
/// sets and stages are too many to be looked at so often. The lattice is that of all sets that may lie at the end of the pipeline.
/// Where the limits of `cx` come first it is lower. O(stages · prices · (options + sets)) for each of some dozens of times; of a
/// lattice that is narrow everywhere, a stage looks at the sets alone that it may come to.
pub fn least(
    lattice: &Lattice,
    model: &Model,
    known: f64,
    heaviest: Option<Heaviest>,
    cx: &SearchContext,
) -> Option<f64> {
    let ([shape], &[data]) = (&model.shapes[..], &model.costs.data_degrees[..]) else { return None };
    if shape.memory.is_infinite() {
        return None;
    }
    let stages = (model.devices / (shape.tensor * data)).min(model.parts / data).min(model.members.len());
    if stages.saturating_mul(lattice.count()) > MOST_SETS {
        return None;
    }
    let mut reach = Reach::new(lattice, model, data, stages);
    if let Some(heaviest) = heaviest {
        reach.run_in_line(heaviest, model.costs.microbatches / data);
    }
    Some(least_held(known, reach.longest().max(known), |time| reach.holds_all(time, cx)))
}

/// The least time that is not refuted, between one that nothing is below and one that leaves more than can be taken: infinite where
/// not all is held in that. What is known when a limit comes.
pub fn least_held(known: f64, longest: f64, holds_all: impl Fn(f64) -> Result<bool, Stopped>) -> f64 {
    let (mut refuted, mut open) = (known, longest);
    match holds_all(open) {
        Ok(true) => {}
        Ok(false) => return f64::INFINITY,
        Err(Stopped) => return known,
    }
    for _ in 0..MOST_TIMES {
        if open - refuted <= PRECISION * open {
            break;
        }
        let middle = f64::midpoint(refuted, open);
        match holds_all(middle) {
            Ok(true) => open = middle,
            Ok(false) => refuted = middle,
            Err(Stopped) => break,
        }
    }
    refuted
}

impl<'a> Reach<'a> {
    fn new(lattice: &'a Lattice, model: &'a Model, replicas: usize, stages: usize) -> Self {
        let option = |option: &Amounts| (model.time(option.compute, 0.0, option.parameters, replicas), option.bytes);
        let kinds: Vec<Options> =
            model.kinds.options.iter().map(|of_shape| of_shape[0].iter().map(option).collect()).collect();
        // As many as where no stages come before: schedules have no fewer where some do.
        let in_flight = |stage: usize| {
            let parts = stage * replicas;
            model.costs.in_flight.count(replicas, parts, parts, model.costs.microbatches)
        };
        let place = |in_flight| Place { in_flight, prices: prices(&kinds, in_flight, replicas), waits: Vec::new() };
        let stages = (1..=stages).map(in_flight).map(place).collect();
        let levels = lattice.levels();
        let (units, kind_of) = (&model.members[..], &model.kinds.of_node[..]);
        Self { lattice, levels, kinds, units, kind_of, memory: model.shapes[0].memory, replicas, stages }
    }

    /// Lets stages wait for those before them, where a pipeline has so many microbatches.
    fn run_in_line(&mut self, heaviest: Heaviest, microbatches: usize) {
        for place in 0..self.stages.len() {
            for i in 0..self.stages[place].prices.len() {
                let Place { in_flight, prices, .. } = &self.stages[place];
                let of_kind = self.priced(*in_flight, prices[i]);
                let weights: Vec<f64> = self.kind_of.iter().map(|&kind| of_kind[kind]).collect();
                self.stages[place].prices[i].block = heaviest(&weights);
            }
        }
        for place in 0..self.stages.len() {
            self.stages[place].waits = self.waits(place, microbatches as f64);
        }
    }

    /// What the stages before this one take for a microbatch at least, for each of so many, by the set that lies behind them.
    fn waits(&self, place: usize, microbatches: f64) -> Vec<f64> {
        let mut waits = vec![0.0_f64; self.lattice.count()];
        let Some(Place { in_flight, prices, .. }) = self.stages.get(place + 1) else { return waits };
        let stages = (self.stages.len() - 1 - place) as f64;
        for &price in prices.iter().filter(|price| price.time > 0.0) {
            let sums = self.sums(*in_flight, price);
            let (all, held) =
                (sums.last().copied().unwrap_or(0.0), stages * price.block.max(price.bytes * self.memory));
            let before = |sum: f64| (all - sum - held) / microbatches * (1.0 - ROUNDING);
            waits.iter_mut().zip(&sums).for_each(|(waits, &sum)| *waits = waits.max(before(sum)));
        }
        waits
    }

    /// A time that leaves all stages more than they can take, their transfers aside, and in line what they wait for.
    fn longest(&self) -> f64 {
        let slowest = |options: &Options| options.iter().map(|&(time, _)| time).fold(0.0, f64::max);
        2.0 * self.kind_of.iter().map(|&kind| slowest(&self.kinds[kind])).sum::<f64>()
    }

    /// Whether the relaxation lets stages hold all units within this time.
    fn holds_all(&self, time: f64, cx: &SearchContext) -> Result<bool, Stopped> {
        let mut held = Held { base: 0, sets: vec![false; self.lattice.count()], end: 1 };
        held.sets[0] = true;
        let mut sums = vec![0.0; held.sets.len()];
        for place in &self.stages {
            let (first, mut end) = (self.levels[held.base], held.sets.len());
            let mut may = vec![false; end];
            may[first..].fill(true);
            for &price in &place.prices {
                if cx.should_stop() {
                    return Err(Stopped);
                }
                end = self.keep((place, price), time, &held, &mut sums, &mut may[..end]);
            }
            may[end..].fill(false);
            let is_held = |&level: &usize| self.levels[level + 1] == self.levels[level] + 1 && may[self.levels[level]];
            let reached = (held.base..self.levels.len() - 1).take_while(|&level| self.levels[level] < end);
            let base = reached.filter(is_held).last().unwrap_or(held.base);
            held = Held { base, sets: may, end };
            if held.sets.last() == Some(&true) {
                return Ok(true);
            }
        }
        Ok(self.units.is_empty())
    }

    /// Takes away from the sets that a stage `may` hold, and those behind it, what is above the most at this price, and tells from
    /// which set on there is none. Sums leave out the held set that all of these contain.
    fn keep(
        &self,
        (place, price): (&Place, Price),
        time: f64,
        held: &Held,
        sums: &mut [f64],
        may: &mut [bool],
    ) -> usize {
        let of_kind = self.priced(place.in_flight, price);
        let of_unit = |unit: u32| self.units[unit as usize].iter().map(|&v| of_kind[self.kind_of[v]]).sum::<f64>();
        let grow = |sums: &mut [f64], set: usize| {
            for &(unit, larger) in self.lattice.above(set) {
                sums[larger as usize] = sums[set] + of_unit(unit);
            }
        };
        let (first, mut largest) = (self.levels[held.base], 0.0_f64);
        sums[first] = 0.0;
        for set in first..held.end {
            largest = if held.sets[set] { largest.max(sums[set]) } else { largest };
            grow(sums, set);
        }
        let most = (largest + price.time * time + price.bytes * self.memory) * (1.0 + ROUNDING);
        for level in self.levels[held.base..].windows(2) {
            let mut is_any_within = false;
            for set in level[0]..level[1].min(may.len()) {
                let waits = price.time * place.waits.get(set).unwrap_or(&0.0);
                may[set] &= sums[set] + waits <= most;
                is_any_within |= sums[set] <= most;
                if set >= held.end {
                    grow(sums, set);
                }
            }
            if !is_any_within {
                return level[0].min(may.len());
            }
        }
        may.len()
    }

    /// The least that each kind of node takes at this price.
    fn priced(&self, in_flight: usize, price: Price) -> Vec<f64> {
        self.kinds.iter().map(|options| priced(options, (in_flight, self.replicas), price)).collect()
    }

    /// The least priced sum of each set.
    fn sums(&self, in_flight: usize, price: Price) -> Vec<f64> {
        let of_kind = self.priced(in_flight, price);
        let of_unit = |nodes: &Vec<usize>| nodes.iter().map(|&v| of_kind[self.kind_of[v]]).sum();
        let of_unit: Vec<f64> = self.units.iter().map(of_unit).collect();
        let mut sums = vec![0.0; self.lattice.count()];
        for set in 0..sums.len() {
            for &(unit, larger) in self.lattice.above(set) {
                sums[larger as usize] = sums[set] + of_unit[unit as usize];
            }
        }
        sums
    }
}

/// The least that a node with these options takes at a price, with so many microbatches in flight on so many replicas.
pub fn priced(options: &Options, (in_flight, replicas): (usize, usize), price: Price) -> f64 {
    let taken = |&(time, bytes): &(f64, StageBytes)| price.time * time + price.bytes * bytes.of(in_flight, replicas);
    options.iter().map(taken).fold(f64::INFINITY, f64::min)
}

/// The price of nothing, those at which some node changes its option, and the infinite one.
pub fn prices(kinds: &[Options], in_flight: usize, replicas: usize) -> Vec<Price> {
    let of_kind = |options: &Options| {
        let item = |&(value, bytes): &(f64, StageBytes)| Item { value, weight: bytes.of(in_flight, replicas) };
        let items: Vec<Item> = options.iter().map(item).collect();
        steps(0, &items, &hull(&items)).map(|step| step.slope).collect::<Vec<f64>>()
    };
    let mut slopes: Vec<f64> = kinds.iter().flat_map(of_kind).filter(|slope| slope.is_finite()).collect();
    slopes.sort_by(f64::total_cmp);
    slopes.dedup_by(|a, b| *a <= *b * (1.0 + 1e-3));
    let step = slopes.len().div_ceil(MOST_PRICES).max(1);
    let finite = std::iter::once(0.0).chain(slopes.into_iter().step_by(step));
    let price = |time: f64, bytes: f64| Price { time, bytes, block: 0.0 };
    finite.map(|bytes| price(1.0, bytes)).chain([price(0.0, 1.0)]).collect()
}
