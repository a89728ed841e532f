//! A bound without a search for devices that hold several chunks each: what they have memory for, in whatever order.
//!
//! At some moment a device has y microbatches in flight in each of its chunks at least. As for a single stage ([`super::reach`]) its
//! nodes then satisfy Σ min (time + λ · bytes for y) ≤ T + λ · M for its time T and its memory M, at each price λ ≥ 0. Let nodes be
//! worth something: a device holds no more of that than the fractional knapsack of these terms does, at any price, and all devices
//! together have to hold the worth of all nodes, whatever it is. What chunks cut is left out.

use std::collections::BTreeMap;

use super::kinds::Amounts;
use super::model::Model;
use super::reach::{Options, PRECISION, Price, ROUNDING, least_held, priced, prices};
use crate::problem::Chunks;
use crate::search::{SearchContext, Stopped};

/// Of nodes of more kinds only one worth is looked at, which is their least time: of layers some few are alike.
const MOST_KINDS: usize = 32;

/// Nodes of some kinds, and devices that have memory for them.
struct Room {
    /// The options of each kind, and how many nodes it has.
    kinds: Vec<Options>,
    counts: Vec<f64>,
    /// Bytes of a device, less what its nodes need while they run.
    memory: f64,
    data: usize,
    /// What nodes of each kind are worth, in several ways.
    worths: Vec<Vec<f64>>,
    /// By microbatches in flight what nodes of each kind take on a device, at each price.
    devices: BTreeMap<usize, Vec<(Price, Vec<f64>)>>,
    /// How many devices of a pipeline have so many microbatches in flight, for each length that it may have.
    pipelines: Vec<BTreeMap<usize, usize>>,
}

/// A time of a replica's device for a microbatch that the largest one of no split is below, whose devices have the shape of this
/// index and `data` replicas; infinite where no split has the memory. What is known when a limit comes. O(devices² · chunks) for the
/// pipelines, and O(prices · worths · kinds · log kinds) for each number in flight and each of some dozen times.
pub fn least(model: &Model, chunks: Chunks, (shape, data): (usize, usize), cx: &SearchContext) -> f64 {
    let Some(room) = Room::new(model, chunks, (shape, data)) else { return f64::INFINITY };
    let most = room.pipelines.iter().map(|pipeline| pipeline.values().sum::<usize>()).max().unwrap_or(1);
    let known = room.work() / most as f64 * (1.0 - ROUNDING);
    if room.memory.is_infinite() || room.holds_all(known * (1.0 + PRECISION), cx) != Ok(false) {
        return known;
    }
    least_held(known, room.longest(), |time| room.holds_all(time, cx))
}

impl Room {
    /// `None` where no pipeline of any length has a layer for each chunk.
    fn new(model: &Model, chunks: Chunks, (shape, data): (usize, usize)) -> Option<Self> {
        let time = |o: &Amounts| data as f64 * model.time(o.compute, 0.0, o.parameters, data);
        let options = |of: &Vec<Amounts>| of.iter().map(|option| (time(option), option.bytes)).collect();
        let kinds: Vec<Options> = model.kinds.options.iter().map(|of_shapes| options(&of_shapes[shape])).collect();
        let mut counts = vec![0.0; kinds.len()];
        model.kinds.of_node.iter().for_each(|&kind| counts[kind] += 1.0);
        let microbatches = model.costs.microbatches / data;
        let shape = &model.shapes[shape];
        let most = (model.devices / (shape.tensor * data)).min(model.members.len() / chunks.count);
        let lengths = (1..=most).filter(|&devices| chunks.runs(devices, microbatches));
        let pipelines: Vec<BTreeMap<usize, usize>> =
            lengths.map(|devices| in_flight(chunks, devices, microbatches)).collect();
        let longest = pipelines.last()?;
        let middle = *longest.keys().nth(longest.len() / 2)?;
        let worths = prices(&kinds, middle, data).into_iter();
        let worths = worths.take(if kinds.len() > MOST_KINDS { 1 } else { usize::MAX });
        let worths = worths.map(|price| kinds.iter().map(|kind| priced(kind, (middle, data), price)).collect());
        let (worths, memory) = (worths.collect(), shape.memory - shape.least_working());
        let mut room = Self { kinds, counts, memory, data, worths, devices: BTreeMap::new(), pipelines };
        room.devices = room.pipelines.iter().flat_map(BTreeMap::keys).map(|&k| (k, room.device(k))).collect();
        Some(room)
    }

    fn device(&self, in_flight: usize) -> Vec<(Price, Vec<f64>)> {
        let of_price = |price: Price| {
            let taken = self.kinds.iter().map(|options| priced(options, (in_flight, self.data), price));
            (price, taken.collect())
        };
        prices(&self.kinds, in_flight, self.data).into_iter().map(of_price).collect()
    }

    /// The least time of all nodes.
    fn work(&self) -> f64 {
        self.total(|options| options.iter().map(|&(time, _)| time).fold(f64::INFINITY, f64::min))
    }

    /// A time that leaves each device more than it can take.
    fn longest(&self) -> f64 {
        2.0 * self.total(|options| options.iter().map(|&(time, _)| time).fold(0.0, f64::max))
    }

    fn total(&self, time: impl Fn(&Options) -> f64) -> f64 {
        self.kinds.iter().zip(&self.counts).map(|(options, count)| count * time(options)).sum()
    }

    /// Whether devices may hold all nodes within this time, whatever these are worth.
    ///
    /// # Errors
    /// A limit came first.
    fn holds_all(&self, time: f64, cx: &SearchContext) -> Result<bool, Stopped> {
        let mut may = vec![true; self.pipelines.len()];
        for worths in &self.worths {
            let all: f64 = worths.iter().zip(&self.counts).map(|(worth, count)| worth * count).sum();
            let mut held = BTreeMap::new();
            for (&in_flight, device) in &self.devices {
                if cx.should_stop() {
                    return Err(Stopped);
                }
                held.insert(in_flight, self.most_worth(device, worths, time));
            }
            for (may, pipeline) in may.iter_mut().zip(&self.pipelines) {
                let most: f64 = pipeline.iter().map(|(in_flight, &count)| held[in_flight] * count as f64).sum();
                *may &= most >= all * (1.0 - ROUNDING);
            }
        }
        Ok(may.contains(&true))
    }

    /// The most worth that a device can hold.
    fn most_worth(&self, device: &[(Price, Vec<f64>)], worths: &[f64], time: f64) -> f64 {
        let mut kinds: Vec<usize> = (0..worths.len()).filter(|&kind| worths[kind] > 0.0).collect();
        let mut at_price = |(price, taken): &(Price, Vec<f64>)| {
            // What is worth the most for what it takes goes first.
            kinds.sort_by(|&a, &b| (taken[a] * worths[b]).total_cmp(&(taken[b] * worths[a])));
            let mut left = price.time * time + price.bytes * self.memory;
            let mut worth = 0.0;
            for &kind in &kinds {
                let most = if taken[kind] > 0.0 { left / taken[kind] } else { f64::INFINITY };
                let count = most.clamp(0.0, self.counts[kind]);
                worth += count * worths[kind];
                left -= count * taken[kind];
            }
            worth
        };
        device.iter().map(&mut at_price).fold(f64::INFINITY, f64::min)
    }
}

/// How many of so many devices have so many microbatches in flight in each of their chunks at least, at some moment.
fn in_flight(chunks: Chunks, devices: usize, microbatches: usize) -> BTreeMap<usize, usize> {
    let mut counts = BTreeMap::new();
    for device in 0..devices {
        let moments = chunks.in_flight(device, devices, microbatches);
        let least = moments.iter().filter_map(|moment| moment.iter().copied().min()).max().unwrap_or(1);
        *counts.entry(least).or_insert(0) += 1;
    }
    counts
}
