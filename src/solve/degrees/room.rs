//! A bound without a search for devices that hold several chunks each: what they have memory for, in whatever order.
//!
//! At some moment a device has y microbatches in flight in each of its chunks at least. As for a single stage ([`super::reach`]) its
//! nodes then satisfy Σ min (time + λ · bytes for y) ≤ T + λ · M for its time T and its memory M, at each price λ ≥ 0. Let nodes be
//! worth something: a device holds no more of that than the fractional knapsack of these terms does, at any price, and all devices
//! together have to hold the worth of all nodes, whatever it is. What chunks cut is left out.

use super::kinds::Amounts;
use super::model::Model;
use super::reach::{Options, PRECISION, Price, ROUNDING, priced, prices};
use crate::problem::Chunks;

/// Times that are tried at most.
const MOST_TIMES: usize = 64;

/// Nodes of some kinds, on devices that have memory for them.
struct Room {
    /// How many nodes each kind has, and its options.
    kinds: Vec<Options>,
    counts: Vec<f64>,
    /// Bytes of a device, less what its nodes need while they run.
    memory: f64,
    data: usize,
    /// What nodes of each kind are worth, in several ways.
    worths: Vec<Vec<f64>>,
}

/// A device of so many microbatches in flight: what nodes of each kind take at each price.
type Device = Vec<(Price, Vec<f64>)>;

/// A time of a replica's device for a microbatch that the largest one of no split is below, whose devices have the shape of this
/// index and `data` replicas; infinite where no split has the memory. O(devices² · prices · kinds · log kinds).
pub fn least(model: &Model, chunks: Chunks, (shape, data): (usize, usize)) -> f64 {
    let microbatches = model.costs.microbatches / data;
    let most = (model.devices / (model.shapes[shape].tensor * data)).min(model.members.len() / chunks.count);
    let lengths = (1..=most).filter(|&devices| chunks.runs(devices, microbatches));
    let in_flight = |device: usize, devices: usize| {
        let moments = chunks.in_flight(device, devices, microbatches);
        moments.iter().filter_map(|moment| moment.iter().copied().min()).max().unwrap_or(1)
    };
    let pipelines: Vec<Vec<usize>> =
        lengths.map(|devices| (0..devices).map(|device| in_flight(device, devices)).collect()).collect();
    let Some(middle) = pipelines.last().map(|longest| longest[longest.len() / 2]) else { return f64::INFINITY };
    let room = Room::new(model, (shape, data), middle);
    if room.memory.is_infinite() {
        return 0.0;
    }
    let all: usize = pipelines.iter().flatten().copied().max().unwrap_or(1);
    let devices: Vec<Device> = (0..=all).map(|in_flight| room.device(in_flight)).collect();
    let holds_all = |time: f64| pipelines.iter().any(|pipeline| room.holds_all(pipeline, &devices, time));
    let (mut refuted, mut open) = (0.0, room.longest());
    if !holds_all(open) {
        return f64::INFINITY;
    }
    for _ in 0..MOST_TIMES {
        if open - refuted <= PRECISION * open {
            break;
        }
        let middle = f64::midpoint(refuted, open);
        if holds_all(middle) { open = middle } else { refuted = middle }
    }
    refuted
}

impl Room {
    fn new(model: &Model, (shape, data): (usize, usize), in_flight: usize) -> Self {
        let time = |o: &Amounts| data as f64 * model.time(o.compute, 0.0, o.parameters, data);
        let options = |of: &Vec<Amounts>| of.iter().map(|option| (time(option), option.bytes)).collect();
        let kinds: Vec<Options> = model.kinds.options.iter().map(|of_shapes| options(&of_shapes[shape])).collect();
        let mut counts = vec![0.0; kinds.len()];
        model.kinds.of_node.iter().for_each(|&kind| counts[kind] += 1.0);
        let shape = &model.shapes[shape];
        let working = shape.units.iter().flatten().map(|least| least.memory.working).fold(f64::INFINITY, f64::min);
        let worths = prices(&kinds, in_flight, data).into_iter();
        let worths = worths.map(|price| kinds.iter().map(|kind| priced(kind, (in_flight, data), price)).collect());
        Self { worths: worths.collect(), kinds, counts, memory: shape.memory - working, data }
    }

    fn device(&self, in_flight: usize) -> Device {
        let of_price = |price: Price| {
            let taken = self.kinds.iter().map(|options| priced(options, (in_flight, self.data), price));
            (price, taken.collect())
        };
        prices(&self.kinds, in_flight, self.data).into_iter().map(of_price).collect()
    }

    /// A time that leaves each device more than it can take.
    fn longest(&self) -> f64 {
        let slowest = |options: &Options| options.iter().map(|&(time, _)| time).fold(0.0, f64::max);
        self.kinds.iter().zip(&self.counts).map(|(options, count)| count * slowest(options)).sum::<f64>() * 2.0
    }

    /// Whether devices with so many microbatches in flight may hold all nodes within this time, whatever these are worth.
    fn holds_all(&self, pipeline: &[usize], devices: &[Device], time: f64) -> bool {
        self.worths.iter().all(|worths| {
            let all: f64 = worths.iter().zip(&self.counts).map(|(worth, count)| worth * count).sum();
            let held = |&in_flight: &usize| self.most_worth(&devices[in_flight], worths, time);
            pipeline.iter().map(held).sum::<f64>() >= all * (1.0 - ROUNDING)
        })
    }

    /// The most worth that a device can hold.
    fn most_worth(&self, device: &Device, worths: &[f64], time: f64) -> f64 {
        let at_price = |(price, taken): &(Price, Vec<f64>)| {
            let mut kinds: Vec<usize> = (0..worths.len()).filter(|&kind| worths[kind] > 0.0).collect();
            // What is worth the most for what it takes goes first.
            kinds.sort_by(|&a, &b| (taken[a] * worths[b]).total_cmp(&(taken[b] * worths[a])));
            let mut left = price.time * time + price.bytes * self.memory;
            let mut worth = 0.0;
            for kind in kinds {
                let count = if taken[kind] > 0.0 {
                    (left / taken[kind]).clamp(0.0, self.counts[kind])
                } else {
                    self.counts[kind]
                };
                worth += count * worths[kind];
                left -= count * taken[kind];
            }
            worth
        };
        device.iter().map(at_price).fold(f64::INFINITY, f64::min)
    }
}
