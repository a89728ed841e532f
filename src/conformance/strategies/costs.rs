//! Costs of nodes, and the devices that they are for.

use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use proptest::strategy::Union;

use super::{InstanceOptions, Weights};
use crate::instance::{AcceleratorClass, Platform};

#[derive(Debug, Clone)]
pub(super) struct NodeCosts {
    pub accelerator_times: [Option<u64>; 2],
    pub cpu_time: Option<u64>,
    pub memory: u64,
    pub transfer_time: u64,
    pub parameter_bytes: u64,
    pub output_bytes: u64,
}

/// One cost, at most `most` where weights are small.
fn weights(weights: Weights, most: u64) -> BoxedStrategy<u64> {
    match weights {
        Weights::Small => (0..=most).boxed(),
        Weights::Equal => Just(1).boxed(),
        Weights::MostlyZero => prop_oneof![4 => Just(0), 1 => 0..=most].boxed(),
        Weights::Extreme => {
            let powers = Union::new((0..=30).map(|exponent| Just(1 << exponent)));
            prop_oneof![1 => Just(0), 2 => 0..=most, 2 => powers].boxed()
        }
        Weights::NearTies => near_ties().boxed(),
    }
}

/// Up to three times 2³⁴, and a little more: by some parts in ten thousand, or in ten billion. Sums are exact still.
pub(super) fn near_ties() -> impl Strategy<Value = u64> {
    let more = prop_oneof![0..4u64, (0..32u64).prop_map(|parts| parts << 20)];
    (1..=3u64, more).prop_map(|(times, more)| (times << 34) + more)
}

pub(super) fn node_costs(options: InstanceOptions) -> impl Strategy<Value = NodeCosts> {
    let cost = move |most| weights(options.weights, most);
    // Limits of memory are small numbers.
    let bytes = move |most| match options.weights {
        Weights::NearTies => weights(Weights::Small, most),
        weighted => weights(weighted, most),
    };
    let time = move |most| {
        let time = match options.weights {
            Weights::Equal => cost(most),
            _ => prop_oneof![1 => Just(0), 5 => cost(most)].boxed(),
        };
        if options.unsupported { option::weighted(0.9, time).boxed() } else { time.prop_map(Some).boxed() }
    };
    (time(9), time(9), time(15), bytes(4), cost(4), cost(6), bytes(3)).prop_map(
        |(first, second, cpu_time, memory, transfer_time, parameter_bytes, output_bytes)| NodeCosts {
            accelerator_times: [first, second],
            cpu_time,
            memory,
            transfer_time,
            parameter_bytes,
            output_bytes,
        },
    )
}

/// Platforms, and whether their memory is tight: then it is what an accelerator has beyond its share.
pub(super) fn platforms(options: InstanceOptions) -> impl Strategy<Value = (Platform, bool)> {
    let with = move |is_tight| (platforms_with(options, is_tight), Just(is_tight));
    match (options.tight_memory, options.memory_limits) {
        (false, true) => prop_oneof![3 => with(false), 1 => with(true)].boxed(),
        (is_tight, _) => with(is_tight).boxed(),
    }
}

fn platforms_with(options: InstanceOptions, is_tight: bool) -> impl Strategy<Value = Platform> {
    let memory = match (is_tight, options.memory_limits) {
        (true, _) => (0..=2u8).prop_map(Some).boxed(),
        (false, true) => option::of(0..=12u8).boxed(),
        (false, false) => Just(None).boxed(),
    };
    let class = (0..=options.max_accelerators, memory).prop_map(|(count, memory)| AcceleratorClass {
        count,
        memory: memory.map(f64::from),
        ..AcceleratorClass::default()
    });
    (vec(class, 1..=options.max_classes), 0..=options.max_cpus).prop_map(|(mut accelerators, cpus)| {
        if cpus == 0 && accelerators.iter().all(|class| class.count == 0) {
            accelerators[0].count = 1;
        }
        Platform { accelerators, cpus, bandwidth: None }
    })
}
