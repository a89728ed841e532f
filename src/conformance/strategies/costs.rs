//! Costs of nodes, and the devices that they are for.

use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use proptest::strategy::Union;

use super::{InstanceOptions, Weights};
use crate::instance::{AcceleratorClass, Platform};

#[derive(Debug, Clone)]
pub(super) struct NodeCosts {
    pub accelerator_times: [Option<u32>; 2],
    pub cpu_time: Option<u32>,
    pub memory: u32,
    pub transfer_time: u32,
    pub parameter_bytes: u32,
    pub output_bytes: u32,
}

/// One cost, at most `most` where weights are small.
fn weights(weights: Weights, most: u32) -> BoxedStrategy<u32> {
    match weights {
        Weights::Small => (0..=most).boxed(),
        Weights::Equal => Just(1).boxed(),
        Weights::MostlyZero => prop_oneof![4 => Just(0), 1 => 0..=most].boxed(),
        Weights::Extreme => {
            let powers = Union::new((0..=30).map(|exponent| Just(1 << exponent)));
            prop_oneof![1 => Just(0), 2 => 0..=most, 2 => powers].boxed()
        }
    }
}

pub(super) fn node_costs(options: InstanceOptions) -> impl Strategy<Value = NodeCosts> {
    let cost = move |most| weights(options.weights, most);
    let time = move |most| {
        let time = match options.weights {
            Weights::Equal => cost(most),
            _ => prop_oneof![1 => Just(0), 5 => cost(most)].boxed(),
        };
        if options.unsupported { option::weighted(0.9, time).boxed() } else { time.prop_map(Some).boxed() }
    };
    (time(9), time(9), time(15), cost(4), cost(4), cost(6), cost(3)).prop_map(
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

/// Platforms; where memory is tight, the memory is what an accelerator has beyond its share.
pub(super) fn platforms(options: InstanceOptions) -> impl Strategy<Value = Platform> {
    let memory = match (options.tight_memory, options.memory_limits) {
        (true, _) => (0..=2u8).prop_map(Some).boxed(),
        (false, true) => option::of(0..=12u8).boxed(),
        (false, false) => Just(None).boxed(),
    };
    let class = (0..=options.max_accelerators, memory).prop_map(|(count, memory)| AcceleratorClass {
        name: None,
        count,
        memory: memory.map(f64::from),
    });
    (vec(class, 1..=options.max_classes), 0..=options.max_cpus).prop_map(|(mut accelerators, cpus)| {
        if cpus == 0 && accelerators.iter().all(|class| class.count == 0) {
            accelerators[0].count = 1;
        }
        Platform { accelerators, cpus, bandwidth: None }
    })
}
