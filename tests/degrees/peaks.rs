//! Peaks of memory: verifier and simulator count the same bytes of every split, and the solver fits a pipeline into the
//! least that any split takes, and into no byte less.

use dagsplit::instance::Instance;
use dagsplit::problem::{DeviceAssignment, DeviceKind, InFlight, Problem, ProblemSpec, Solution};
use dagsplit::simulate::schedule::{OneForwardOneBackward, Schedule};
use dagsplit::simulate::{Memory, Options, Pipeline, simulate};
use dagsplit::solve::Outcome;
use proptest::collection::vec;
use proptest::prelude::*;

use super::plain::{TrainedLayer, training_of, without_replicas};
use super::simulated::{self, SCHEDULES};
use super::{solved, verified};

/// Layers and devices for them, microbatches, and what is drawn for pipelines of options: time of the backward pass and
/// replicas.
type Drawn = (Vec<TrainedLayer>, usize, usize, u8, usize);

fn drawn() -> impl Strategy<Value = Drawn> {
    (vec((1..9u8, 0..200u8, 0..100u8, 0..100u8), 1..7), 1..5usize, 1..12usize, 1..4u8, 1..4usize)
}

/// The lengths of successive stages, at most so many, that hold `layers` together.
fn lengths(layers: usize, stages: usize) -> Vec<Vec<usize>> {
    let ends = |set: u32| (1..=layers).filter(move |&end| end == layers || set & 1 << (end - 1) != 0);
    let lengths = |set: u32| {
        let begins = std::iter::once(0).chain(ends(set));
        ends(set).zip(begins).map(|(end, begin)| end - begin).collect::<Vec<usize>>()
    };
    (0..1 << (layers - 1)).map(lengths).filter(|lengths| lengths.len() <= stages).collect()
}

/// The split of the layers, each with both its passes, into stages of these lengths.
fn split_into(lengths: &[usize]) -> Solution {
    let layers: u64 = lengths.iter().sum::<usize>() as u64;
    let mut next = 0..layers;
    let mut stage = |&length: &usize| {
        let held: Vec<u64> = next.by_ref().take(length).flat_map(|layer| [layer, layers + layer]).collect();
        DeviceAssignment::new(DeviceKind::Accelerator(0), held)
    };
    Solution { devices: lengths.iter().map(&mut stage).collect(), objective: None }
}

/// What a simulation of the split occupies.
fn occupied(instance: &Instance, split: &Solution, schedule: &dyn Schedule, microbatches: usize) -> Memory {
    let spec = ProblemSpec::of(instance);
    let checked = verified(instance, &spec, split);
    let problem = Problem::new(instance, spec).expect("valid");
    let pipeline = Pipeline::of_split(instance, &problem, &checked).expect("a pipeline");
    simulate(&pipeline, schedule, Options { microbatches, recompute: false }).expect("simulated").memory()
}

/// The largest peak of the split's devices, on which verifier and simulator agree.
fn peak(instance: &Instance, split: &Solution, (in_flight, schedule): (InFlight, &dyn Schedule), count: usize) -> f64 {
    let memory = occupied(instance, split, schedule, count);
    let mut stages = split.clone();
    stages.devices.iter_mut().for_each(|device| device.options = vec!["plain".into(); device.nodes.len()]);
    let checked = verified(instance, &without_replicas(instance, count, in_flight), &stages);
    for (device, (in_flight, peak)) in checked.devices().iter().zip(memory.in_flight.iter().zip(&memory.peak)) {
        assert_eq!((device.in_flight(), device.memory()), (Some(*in_flight), *peak), "{}", schedule.name());
    }
    memory.peak.iter().copied().fold(0.0, f64::max)
}

fn agree((rows, devices, count, backward, replicas): Drawn) {
    let mut instance = training_of(&rows, devices);
    for (in_flight, schedule) in SCHEDULES.into_iter().filter(|(_, schedule)| schedule.has_backward()) {
        let splits = lengths(rows.len(), devices.min(count));
        let peaks = splits.iter().map(|lengths| peak(&instance, &split_into(lengths), (in_flight, schedule), count));
        let least = peaks.fold(f64::INFINITY, f64::min);
        let mut within = |bytes: f64| {
            instance.platform.accelerators[0].memory = Some(bytes);
            let run = solved(&instance, &without_replicas(&instance, count, in_flight));
            instance.platform.accelerators[0].memory = None;
            run.outcome
        };
        let found = within(least);
        let mut split = found.solution().unwrap_or_else(|| panic!("{least} bytes, {}", schedule.name())).clone();
        assert!(least == 0.0 || within(least - 1.0) == Outcome::Infeasible, "{least} bytes, {}", schedule.name());
        split.objective = None;
        split.devices.iter_mut().for_each(|device| device.options.clear());
        assert_eq!(peak(&instance, &split, (in_flight, schedule), count), least, "{}", schedule.name());
    }
    let of_options: Vec<simulated::Row> = rows.iter().map(|&(time, lasts, kept, _)| (time, kept, lasts)).collect();
    simulated::peaks_agree(&of_options, backward, replicas, count);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 100, ..ProptestConfig::default() })]

    #[test]
    fn verifier_simulator_and_solver_agree_to_the_byte(drawn in drawn()) {
        agree(drawn);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, ..ProptestConfig::default() })]

    #[test]
    #[ignore = "takes minutes"]
    fn verifier_simulator_and_solver_agree_to_the_byte_on_many_cases(drawn in drawn()) {
        agree(drawn);
    }
}

/// Of two stages under 1F1B the first one keeps what two microbatches need; weights and gradients lie there once.
#[test]
fn gradients_do_not_count_for_each_microbatch() {
    let instance = training_of(&[(1, 10, 100, 50), (1, 20, 100, 60)], 2);
    let [first, last] = occupied(&instance, &split_into(&[1, 1]), &OneForwardOneBackward, 8).peak[..] else {
        panic!("two stages")
    };
    assert_eq!([first, last], [10.0 + 50.0 + 2.0 * 100.0, 20.0 + 60.0 + 100.0]);
}
