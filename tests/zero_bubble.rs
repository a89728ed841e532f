//! Schedules that split backward passes: their makespans, idle times and memory against closed forms, and an
//! independent check of their timelines on unequal stages.

mod common;
mod timelines;

use common::config;
use dagsplit::mapping::{Mapping, MappingProblem};
use dagsplit::simulate::schedule::{DualPipe, OneForwardOneBackward, Schedule, ZbH1, ZbH2, ZbV};
use dagsplit::simulate::{Links, Options, Pass, Pipeline, SimulateError, Simulation, Unsuitable, simulate};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;
use timelines::{chain, in_order, microbatches, run};

/// The times of forward passes, and of gradients of inputs and of weights.
#[derive(Debug, Clone, Copy)]
struct Times {
    f: f64,
    b: f64,
    w: f64,
}

/// Each stage beside its mirror image: of `stages` on half as many devices, or, both ways, of the other of two
/// replicas.
fn mirrored(problem: &MappingProblem, links: Links) -> Pipeline {
    let (stages, replicas) = (problem.stages.stages.len(), problem.replicas);
    let in_v = |rank: usize, replica: usize| rank.min(stages - 1 - rank) * replicas + replica;
    let devices = (0..problem.copies()).map(|copy| in_v(copy / replicas, copy % replicas)).collect();
    Pipeline::of_mapping(problem, &Mapping { devices }, links).unwrap()
}

fn both_ways(problem: &MappingProblem, links: Links) -> Pipeline {
    let stages = problem.stages.stages.len();
    let device = |copy: usize| [copy / 2, stages - 1 - copy / 2][copy % 2];
    let devices = (0..problem.copies()).map(device).collect();
    Pipeline::of_mapping(problem, &Mapping { devices }, links).unwrap()
}

/// Equal stages whose messages and all-reduces are free, each of which keeps a byte for each microbatch.
fn equal(Times { f, b, w }: Times, stages: usize, replicas: usize) -> MappingProblem {
    let mut problem = chain(&vec![(f, b + w); stages], replicas);
    problem.stages.messages.iter_mut().for_each(|message| message.bytes = 0.0);
    problem.stages.stages.iter_mut().for_each(|stage| (stage.parameter_bytes, stage.memory) = (0.0, 1.0));
    problem
}

/// Runs it, with the share of the backward pass that is said to be the weights'.
fn divided(mut pipeline: Pipeline, Times { b, w, .. }: Times, schedule: &dyn Schedule, count: usize) -> Simulation {
    pipeline.weight_gradient = w / (b + w);
    run(&pipeline, schedule, microbatches(count))
}

/// The longest idle time of a device between its first and its last work: what papers call the bubble.
fn idle(simulation: &Simulation) -> f64 {
    let on = |device: usize| simulation.spans().filter(move |span| simulation.operation(span).track == device);
    let idle = |device: usize| {
        let first = on(device).map(|span| span.start).fold(f64::INFINITY, f64::min);
        let last = on(device).map(|span| span.end).fold(0.0, f64::max);
        last - first - on(device).map(|span| span.end - span.start).sum::<f64>()
    };
    (0..simulation.pipeline.devices.len()).map(idle).fold(0.0, f64::max)
}

fn close(found: f64, expected: f64) -> bool {
    (found - expected).abs() <= 1e-9 * expected.max(1.0)
}

fn times() -> impl Strategy<Value = Times> {
    (1..9u8, 1..9u8, 1..9u8).prop_map(|(f, b, w)| Times { f: f.into(), b: b.into(), w: w.into() })
}

/// W ≤ B ≤ F ≤ B + W.
fn in_order_of_length() -> impl Strategy<Value = Times> {
    (1..9u8, 0..9u8, 0.0..=1.0f64).prop_map(|(w, more, part)| {
        let (w, b) = (f64::from(w), f64::from(w + more));
        Times { f: b + (w * part).floor(), b, w }
    })
}

proptest! {
    #![proptest_config(config(64))]

    #[test]
    fn h1_is_the_shortest_with_the_memory_of_1f1b(times in times(), p in 1..7usize, more in 0..9usize) {
        let (m, Times { f, b, w }) = (p + more, times);
        let mut pipeline = in_order(&equal(times, p, 1), Links::Blocking);
        let simulation = divided(pipeline.clone(), times, &ZbH1, m);
        let expected = m as f64 * (f + b + w) + (p - 1) as f64 * f.max(b).max(f + b - w);
        prop_assert!(close(simulation.makespan(), expected), "{} for {expected}", simulation.makespan());
        prop_assert_eq!(&simulation.memory().peak, &vec![p as f64; p]);
        let most = run(&pipeline, &OneForwardOneBackward, microbatches(m)).memory().peak;
        prop_assert_eq!(most.into_iter().fold(0.0, f64::max), p as f64);
        pipeline.memory = vec![Some(p as f64); p];
        prop_assert!(more == 0 || close(divided(pipeline, times, &ZbH1, m).lower_bound(), expected));
    }

    #[test]
    fn h2_has_the_bubble_of_the_paper(times in times(), p in 1..7usize, more in 0..9usize) {
        let (m, Times { f, b, w }) = (2 * p - 1 + more, times);
        let simulation = divided(in_order(&equal(times, p, 1), Links::Blocking), times, &ZbH2, m);
        let (work, apart) = (m as f64 * (f + b + w), (p - 1) as f64);
        let wait = (f + b - 2.0 * w).max(b - f);
        prop_assert!(close(simulation.makespan(), work + apart * wait.max(f)), "{}", simulation.makespan());
        prop_assert!(close(idle(&simulation), apart * wait.max(0.0)), "{}", idle(&simulation));
        prop_assert_eq!(simulation.memory().peak, vec![(2 * p - 1) as f64; p]);
    }

    #[test]
    fn both_ways_have_half_the_bubble_and_one_microbatch_more(times in in_order_of_length(), half in 1..4usize, more in 0..9usize) {
        let Times { f, b, w } = times;
        let (p, m) = (2 * half, 2 * half + more);
        let simulation = divided(both_ways(&equal(times, p, 2), Links::Blocking), times, &DualPipe, m);
        let bubble = (half - 1) as f64 * (f + b - w);
        prop_assert!(close(simulation.makespan(), 2.0 * m as f64 * (f + b + w) + bubble), "{}", simulation.makespan());
        prop_assert!(close(idle(&simulation), bubble));
        prop_assert_eq!(simulation.memory().peak, vec![(p + 1) as f64; p]);
    }

    /// Whatever the times, messages and numbers, nothing waits for itself.
    #[test]
    fn unequal_stages_keep_order_and_resources(
        times in vec((0..9u8, 0..9u8), 1..9),
        replicas in 1..3usize,
        links in select(vec![Links::Blocking, Links::Overlapped, Links::Contended]),
        recompute in any::<bool>(),
        share in 0.0..=1.0f64,
        count in 1..14usize,
    ) {
        let times: Vec<(f64, f64)> = times.into_iter().map(|(f, b)| (f.into(), f64::from(b) + 1.0)).collect();
        let problem = chain(&times, replicas);
        let mut runs: Vec<(Pipeline, &dyn Schedule)> =
            vec![(in_order(&problem, links), &ZbH1), (in_order(&problem, links), &ZbH2)];
        if times.len().is_multiple_of(2) {
            runs.push((mirrored(&problem, links), &ZbV));
            runs.push((both_ways(&chain(&times, 2), links), &DualPipe));
        }
        for (mut pipeline, schedule) in runs {
            pipeline.weight_gradient = share;
            let simulation = run(&pipeline, schedule, Options { microbatches: count, recompute });
            let blocks = |pass| simulation.pipeline.blocks.iter().filter(move |block| block.pass == pass);
            for (i, &(_, backward)) in times.iter().enumerate() {
                let of_stage = |pass| blocks(pass).filter(|block| simulation.pipeline.stages[block.stage].rank == i);
                for (inputs, weights) in of_stage(Pass::Backward).zip(of_stage(Pass::WeightGradient)) {
                    prop_assert!(close(weights.compute, share * backward));
                    prop_assert!(close(inputs.compute + weights.compute, backward));
                }
            }
            let splits = (blocks(Pass::Backward).count(), blocks(Pass::WeightGradient).count());
            prop_assert_eq!(splits, (pipeline.stages.len(), pipeline.stages.len()));
            // What has been split once runs under any schedule that takes a stage for each device.
            if schedule.name() == "zb-h1" {
                run(&simulation.pipeline, &OneForwardOneBackward, Options { microbatches: count, recompute });
            }
        }
    }
}

#[test]
fn the_v_has_no_bubble_and_no_schedule_is_shorter() {
    let unit = Times { f: 1.0, b: 1.0, w: 1.0 };
    for (p, m) in [(1, 1), (1, 4), (2, 3), (3, 5), (3, 8), (4, 7), (5, 12)] {
        let simulation = divided(mirrored(&equal(unit, 2 * p, 1), Links::Blocking), unit, &ZbV, m);
        assert_eq!(simulation.makespan(), (6 * m + p - 1) as f64, "{p} devices, {m} microbatches");
        assert_eq!((idle(&simulation), simulation.lower_bound()), (0.0, simulation.makespan()));
        assert_eq!(simulation.memory().peak, vec![2.0 * p as f64; p], "{p} devices, {m} microbatches");
    }
}

#[test]
fn weight_gradients_keep_what_was_computed_again() {
    // One byte of weights; of nine of activations three stay.
    let pipeline = in_order(&chain(&[(1.0, 2.0); 2], 1), Links::Overlapped);
    let simulation = run(&pipeline, &ZbH1, Options { microbatches: 4, recompute: true });
    // The last stage computes a second microbatch's activations again before it has the first one's gradients.
    assert_eq!(simulation.memory().peak[1], 1.0 + 9.0 + 9.0);
}

#[test]
fn other_places_are_refused() {
    let refusal = |pipeline: &Pipeline, schedule: &dyn Schedule| {
        let error = simulate(pipeline, schedule, microbatches(8)).unwrap_err();
        assert!(!error.to_string().is_empty());
        error
    };
    let unsuitable = SimulateError::Unsuitable;
    let (one, two) = (chain(&[(1.0, 2.0); 4], 1), chain(&[(1.0, 2.0); 4], 2));
    assert_eq!(refusal(&in_order(&one, Links::Blocking), &ZbV), unsuitable(Unsuitable::NotInV));
    assert_eq!(refusal(&both_ways(&two, Links::Blocking), &ZbV), unsuitable(Unsuitable::NotInV));
    assert_eq!(refusal(&mirrored(&two, Links::Blocking), &DualPipe), unsuitable(Unsuitable::NotBothWays));
    assert_eq!(refusal(&in_order(&chain(&[(1.0, 2.0)], 1), Links::Blocking), &ZbV), unsuitable(Unsuitable::NotInV));
    let odd = chain(&[(1.0, 2.0); 3], 2);
    assert_eq!(refusal(&both_ways(&odd, Links::Blocking), &DualPipe), unsuitable(Unsuitable::NotBothWays));
    let several = Unsuitable::SeveralStages { device: "GPU 0".into(), stages: 2 };
    assert_eq!(refusal(&mirrored(&one, Links::Blocking), &ZbH1), unsuitable(several));
}
