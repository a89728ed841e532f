//! Small random problems for tests.

use rand::rngs::Xoshiro256PlusPlus;
use rand::{RngExt, SeedableRng};

use super::{Counted, Device, Mapping, MappingProblem, Message, Stage, StageCost, StageGraph, Topology};

/// Up to seven devices in blocks, some of which are alike inside, and stages that send messages to any others, or to all:
/// then more of them wait than pricing keeps apart.
pub fn problem(seed: u64) -> MappingProblem {
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
    let (stages, replicas) = [(2, 2), (2, 3), (3, 2), (4, 1), (5, 1), (6, 1), (3, 1)][rng.random_range(0..7)];
    let devices = (stages * replicas + rng.random_range(0..2)).min(7);
    let size = rng.random_range(1..=4);
    let inside: Vec<f64> = (0..49).map(|_| f64::from(rng.random_range(1..=4_u8))).collect();
    let (is_even, is_plain) = (rng.random_bool(0.5), rng.random_bool(0.7));
    let density = if stages == 6 && rng.random_bool(0.5) { 1.0 } else { 0.4 };
    let bandwidth = |a: usize, b: usize| match (a / size == b / size, is_even) {
        (false, _) => 1.0,
        (true, true) => 2.0 * inside[a / size],
        (true, false) => inside[7 * a.min(b) + a.max(b)],
    };
    let kinds: Vec<Device> = (0..devices)
        .map(|index| Device {
            speed: if is_plain { 1.0 } else { f64::from(rng.random_range(1..=2_u8)) },
            memory: (!is_plain && rng.random_bool(0.3)).then_some(1.0),
            ..Device::new(index.to_string())
        })
        .collect();
    let stage = |rng: &mut Xoshiro256PlusPlus| Stage {
        forward: f64::from(rng.random_range(1..9_u8)),
        memory: f64::from(rng.random_range(0..3_u8)),
        ..Stage::default()
    };
    let mut messages = Vec::new();
    for (source, target) in (0..stages).flat_map(|a| (0..stages).map(move |b| (a, b))).filter(|(a, b)| a != b) {
        if rng.random_bool(density) {
            messages.push(Message { source, target, bytes: f64::from(rng.random_range(1..20_u8)) });
        }
    }
    let stages = (0..stages).map(|_| stage(&mut rng)).collect();
    // Between blocks, and longer one way than the other.
    let delay = if rng.random_bool(0.3) { f64::from(rng.random_range(1..=5_u8)) } else { 0.0 };
    let latency = |a: usize, b: usize| match (a / size).cmp(&(b / size)) {
        std::cmp::Ordering::Less => delay,
        std::cmp::Ordering::Equal => 0.0,
        std::cmp::Ordering::Greater => 2.0 * delay,
    };
    MappingProblem {
        stages: StageGraph { name: "random".into(), stages, messages },
        replicas,
        topology: Topology::new("random", "", kinds, bandwidth).with_latency(latency),
        cost: StageCost::additive(Counted::Messages),
    }
}

/// A grid whose links slow down with the distance.
pub fn grid(rows: usize, columns: usize) -> Topology {
    let hops = move |a: usize, b: usize| (a / columns).abs_diff(b / columns) + (a % columns).abs_diff(b % columns);
    let devices = (0..rows * columns).map(|index| Device::new(index.to_string())).collect();
    Topology::new("grid", "", devices, move |a, b| 1.0 / hops(a, b) as f64)
}

/// A grid whose rows and columns are closed.
pub fn torus(rows: usize, columns: usize) -> Topology {
    let along = |a: usize, b: usize, extent: usize| a.abs_diff(b).min(extent - a.abs_diff(b));
    let hops =
        move |a: usize, b: usize| along(a / columns, b / columns, rows) + along(a % columns, b % columns, columns);
    let devices = (0..rows * columns).map(|index| Device::new(index.to_string())).collect();
    Topology::new("torus", "", devices, move |a, b| 1.0 / hops(a, b) as f64)
}

/// Whether these are different devices, one for each copy, that all copies fit on.
pub fn is_mapping(problem: &MappingProblem, mapping: &Mapping) -> bool {
    let mut devices = mapping.devices.clone();
    devices.sort_unstable();
    devices.dedup();
    devices.len() == problem.copies() && problem.all_fit(&mapping.devices)
}

/// All orders of the numbers from `done` on.
pub fn orders(numbers: &mut Vec<usize>, done: usize, see: &mut impl FnMut(&[usize])) {
    if done == numbers.len() {
        return see(numbers);
    }
    for other in done..numbers.len() {
        numbers.swap(done, other);
        orders(numbers, done + 1, see);
        numbers.swap(done, other);
    }
}
