//! The pipeline simulator: against closed forms, against the loads of splits, and against an independent check of
//! every timeline. `zero_bubble.rs` has the schedules that split backward passes.

mod common;
mod mappings;
mod timelines;

use common::{InstanceOptions, config, instances};
use dagsplit::instance::Instance;
use dagsplit::mapping::{Counted, Mapping, MappingProblem, Message, StageCost};
use dagsplit::problem::{
    CostKind, DeviceAssignment, DeviceKind, Interconnect, Problem, ProblemSpec, Replication, Scope, Solution,
};
use dagsplit::simulate::Unsuitable;
use dagsplit::simulate::schedule;
use dagsplit::simulate::schedule::{
    Asynchronous, GPipe, Inference, Interleaved, OneForwardOneBackward, Schedule, VirtualDevices,
};
use dagsplit::simulate::{Links, Options, Pass, Pipeline, SimulateError, Way, simulate, steady_time};
use dagsplit::verify;
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;
use timelines::{chain, in_order, microbatches, round_robin, run};

/// A chain of `ranks` · `chunks` equal stages on `ranks` devices, whose messages are free.
fn balanced(ranks: usize, chunks: usize) -> Pipeline {
    let mut problem = chain(&vec![(1.0, 2.0); ranks * chunks], 1);
    problem.stages.messages.iter_mut().for_each(|message| message.bytes = 0.0);
    round_robin(&problem, ranks, Links::Blocking)
}

#[test]
fn bubbles_are_the_closed_forms() {
    for (p, m) in [(1, 1), (2, 3), (4, 4), (4, 8), (8, 32), (5, 2)] {
        let (pipeline, expected) = (balanced(p, 1), (p - 1) as f64 / (m + p - 1) as f64);
        for schedule in [&GPipe as &dyn Schedule, &OneForwardOneBackward, &Asynchronous, &VirtualDevices] {
            let simulation = run(&pipeline, schedule, microbatches(m));
            assert!((simulation.bubble() - expected).abs() < 1e-12, "{}: {p} stages, {m}", schedule.name());
            assert_eq!(simulation.makespan(), 3.0 * (m + p - 1) as f64);
            assert_eq!(simulation.lower_bound(), simulation.makespan(), "{} is as short as any", schedule.name());
        }
    }
    for (p, v, m) in [(2, 2, 2), (4, 2, 4), (4, 2, 8), (4, 3, 12), (8, 4, 16)] {
        let expected = (p - 1) as f64 / (v * m + p - 1) as f64;
        let simulation = run(&balanced(p, v), &Interleaved, microbatches(m));
        assert!((simulation.bubble() - expected).abs() < 1e-12, "{p} devices, {v} stages each, {m} microbatches");
        assert_eq!(simulation.lower_bound(), simulation.makespan(), "{p} devices, {v} stages each, {m} microbatches");
    }
}

#[test]
fn recomputing_a_forward_pass_makes_the_backward_pass_longer() {
    let (p, m) = (4, 8);
    let options = Options { microbatches: m, recompute: true };
    let simulation = run(&balanced(p, 1), &OneForwardOneBackward, options);
    let work = simulation.work();
    assert!(work.iter().all(|work| work.recompute == m as f64 && work.compute == 3.0 * m as f64));
    // It need not wait for the gradients.
    let most = 4.0 * (m + p - 1) as f64;
    assert!(4.0 * m as f64 <= simulation.makespan() && simulation.makespan() <= most);
}

#[test]
fn activations_in_flight_are_those_of_the_schedule() {
    let (p, m) = (4, 8);
    let in_flight = |schedule: &dyn Schedule| run(&balanced(p, 1), schedule, microbatches(m)).memory().in_flight;
    assert_eq!(in_flight(&GPipe), [m; 4]);
    assert_eq!(in_flight(&OneForwardOneBackward), [4, 3, 2, 1]);
    assert_eq!(in_flight(&Asynchronous), [4, 3, 2, 1]);
    assert_eq!(in_flight(&VirtualDevices), [7, 5, 3, 1]);
    assert_eq!(in_flight(&Inference), [1; 4]);
    assert_eq!(run(&balanced(p, 1), &Inference, microbatches(m)).makespan(), (m + p - 1) as f64);
    // A byte of weights and nine of activations for each of v stages on a device (Narayanan 2021).
    for (p, v, m) in [(2, 2, 2), (4, 2, 4), (4, 2, 8), (4, 3, 12), (8, 4, 16)] {
        let kept = |i: usize| (m * v).min(2 * (p - i - 1) + (v - 1) * p + 1);
        let expected: Vec<f64> = (0..p).map(|i| (v + 9 * kept(i)) as f64).collect();
        assert_eq!(run(&balanced(p, v), &Interleaved, microbatches(m)).memory().peak, expected);
    }
}

#[test]
fn memory_is_weights_and_activations_in_flight() {
    // One byte of weights, nine of activations, of which three come from the stage before.
    let pipeline = in_order(&chain(&[(1.0, 2.0); 4], 1), Links::Blocking);
    let peak = |schedule: &dyn Schedule, recompute| {
        run(&pipeline, schedule, Options { microbatches: 8, recompute }).memory().peak
    };
    assert_eq!(peak(&GPipe, false), [1.0 + 8.0 * 9.0; 4]);
    assert_eq!(peak(&OneForwardOneBackward, false), [37.0, 28.0, 19.0, 10.0]);
    assert_eq!(peak(&Asynchronous, false), [40.0, 30.0, 20.0, 10.0]);
    assert_eq!(peak(&GPipe, true), [1.0 + 9.0, 1.0 + 7.0 * 3.0 + 9.0, 1.0 + 7.0 * 3.0 + 9.0, 1.0 + 7.0 * 3.0 + 9.0]);
}

#[test]
fn messages_and_all_reduces_take_their_time() {
    // Two stages, two copies: a message of 3 on each side, and an all-reduce of 2 · (2 / 2) at the end.
    let problem = chain(&[(1.0, 2.0), (1.0, 2.0)], 2);
    let blocking = run(&in_order(&problem, Links::Blocking), &GPipe, microbatches(1));
    assert_eq!(blocking.makespan(), (1.0 + 3.0 + 3.0 + 1.0) + (2.0 + 3.0 + 3.0 + 2.0) + 2.0);
    assert_eq!(blocking.samples(), 2);
    let overlapped = run(&in_order(&problem, Links::Overlapped), &GPipe, microbatches(1));
    assert_eq!(overlapped.makespan(), (1.0 + 3.0 + 1.0) + (2.0 + 3.0 + 2.0) + 2.0);
    // Alone, messages take no longer on a contended link; eight of them do.
    let contended = in_order(&problem, Links::Contended);
    assert_eq!(run(&contended, &GPipe, microbatches(1)).makespan(), overlapped.makespan());
    let overlapped = in_order(&problem, Links::Overlapped);
    let makespan = |pipeline: &Pipeline| run(pipeline, &GPipe, microbatches(8)).makespan();
    assert_eq!(makespan(&overlapped), (8.0 + 3.0 + 1.0) + (2.0 * 8.0 + 3.0 + 2.0) + 2.0);
    assert_eq!(makespan(&contended), (1.0 + 8.0 * 3.0 + 1.0) + (2.0 + 8.0 * 3.0 + 2.0) + 2.0);
}

/// One stage on a slow and a fast device: of k parts of a time p, all wait for the first one, or the last one for the pass.
#[test]
fn reduction_in_buckets_hides_behind_the_last_backward_pass() {
    for (forward, backward, latency) in [(1.0, 2.0, 0.0), (1.0, 8.0, 0.0), (3.0, 0.5, 0.0), (1.0, 4.0, 0.25)] {
        let mut problem = chain(&[(forward, backward)], 2);
        problem.topology.devices[1].speed = 2.0;
        problem.topology = problem.topology.with_latency(|_, _| latency);
        for (links, buckets) in
            [(Links::Blocking, 4), (Links::Overlapped, 1), (Links::Overlapped, 4), (Links::Contended, 5)]
        {
            let pipeline = Pipeline { buckets, ..in_order(&problem, links) };
            let k = if links == Links::Blocking { 1.0 } else { buckets as f64 };
            // Two messages for each copy, each of a byte.
            let part = 2.0 * latency + 2.0 / k;
            let exposed = f64::max(backward / k + k * part, backward + part) - backward;
            for schedule in [&GPipe as &dyn Schedule, &OneForwardOneBackward] {
                let makespan = run(&pipeline, schedule, microbatches(3)).makespan();
                let expected = 3.0 * (forward + backward) + exposed;
                assert!((makespan - expected).abs() < 1e-12, "{links:?}, {buckets}: {makespan} for {expected}");
            }
        }
    }
}

proptest! {
    /// Every part begins when it may, on all copies at once, whatever the times; no more parts are slower without latencies.
    #[test]
    fn more_buckets_take_no_longer(
        times in vec((1..9u8, 1..9u8), 1..4), speeds in vec(1..4u8, 9), replicas in 1..4usize, contended in any::<bool>(), count in 1..5usize,
    ) {
        let times: Vec<(f64, f64)> = times.into_iter().map(|(forward, backward)| (forward.into(), backward.into())).collect();
        let mut problem = chain(&times, replicas);
        problem.topology.devices.iter_mut().zip(speeds).for_each(|(device, speed)| device.speed = speed.into());
        let links = if contended { Links::Contended } else { Links::Overlapped };
        for schedule in [&GPipe as &dyn Schedule, &OneForwardOneBackward, &schedule::ZbH1] {
            let time = |buckets| {
                let pipeline = Pipeline { buckets, ..in_order(&problem, links) };
                run(&pipeline, schedule, microbatches(count)).makespan()
            };
            prop_assert!(time(2) <= time(1) + 1e-9 && time(6) <= time(2) + 1e-9);
        }
    }
}

#[test]
fn schedules_say_what_they_cannot_run() {
    let refusal = |pipeline: &Pipeline, schedule: &dyn Schedule, count| {
        let error = simulate(pipeline, schedule, microbatches(count)).unwrap_err();
        assert!(!error.to_string().is_empty());
        error
    };
    let unsuitable = SimulateError::Unsuitable;
    let several = Unsuitable::SeveralStages { device: "GPU 0".into(), stages: 2 };
    assert_eq!(refusal(&balanced(2, 2), &OneForwardOneBackward, 4), unsuitable(several));
    let not_a_multiple = Unsuitable::NotAMultiple { microbatches: 3, devices: 2 };
    assert_eq!(refusal(&balanced(2, 2), &Interleaved, 3), unsuitable(not_a_multiple));
    let two_in_a_row = Mapping { devices: vec![0, 0, 1, 1] };
    let two_in_a_row = Pipeline::of_mapping(&chain(&[(1.0, 2.0); 4], 1), &two_in_a_row, Links::Blocking).unwrap();
    assert_eq!(refusal(&two_in_a_row, &Interleaved, 4), unsuitable(Unsuitable::NotInTurns));
    assert_eq!(refusal(&balanced(2, 1), &GPipe, 0), SimulateError::NoMicrobatch);
    // Tasks that could be numbered, but would not fit in memory, too.
    for count in [1 << 24, usize::MAX] {
        assert!(matches!(refusal(&balanced(2, 1), &GPipe, count), SimulateError::TooManyTasks { .. }));
        assert!(steady_time(&balanced(2, 1), &GPipe, microbatches(count)).is_err());
    }
}

#[test]
fn a_stage_that_takes_no_time_holds_what_it_keeps() {
    let pipeline = |times: &[(f64, f64)]| {
        let mut problem = chain(times, 1);
        problem.stages.messages.iter_mut().for_each(|message| message.bytes = 0.0);
        in_order(&problem, Links::Blocking)
    };
    // A pass of no time begins and ends at once, and holds the nine bytes all the same; so it does between two others.
    for times in [vec![(0.0, 0.0)], vec![(1.0, 2.0), (0.0, 0.0)], vec![(1.0, 2.0), (0.0, 2.0), (1.0, 0.0)]] {
        let memory = run(&pipeline(&times), &OneForwardOneBackward, microbatches(4)).memory();
        let expected: Vec<usize> = (0..times.len()).map(|stage| times.len() - stage).collect();
        assert_eq!(memory.in_flight, expected, "{times:?}");
        assert_eq!(memory.peak, expected.iter().map(|&k| 1.0 + 9.0 * k as f64).collect::<Vec<_>>(), "{times:?}");
    }
}

#[test]
fn where_no_device_has_work_there_is_no_bubble() {
    let mut problem = chain(&[(0.0, 0.0); 2], 1);
    problem.stages.messages.retain(|message| message.source < message.target);
    let pipeline = in_order(&problem, Links::Overlapped);
    let simulation = run(&pipeline, &Inference, microbatches(2));
    assert_eq!((simulation.makespan(), simulation.bubble()), (3.0, 0.0));
}

#[test]
fn data_that_goes_back_without_a_backward_pass_is_refused() {
    let mut problem = chain(&[(1.0, 0.0); 3], 1);
    let mapping = Mapping { devices: vec![0, 1, 2] };
    let error = Pipeline::of_mapping(&problem, &mapping, Links::Blocking).unwrap_err();
    assert_eq!(error, SimulateError::SentBack { from: 1, to: 0 });
    assert!(error.to_string().starts_with("stage 1 sends to stage 0 before it"), "{error}");
    problem.stages.messages.retain(|message| message.source < message.target);
    run(&Pipeline::of_mapping(&problem, &mapping, Links::Blocking).unwrap(), &Inference, microbatches(2));
}

/// Block and microbatch of each turn, by device.
type Turns = Vec<Vec<(usize, usize)>>;

/// Turns as somebody may have written them.
struct Written(Turns);

impl Schedule for Written {
    fn name(&self) -> &'static str {
        "written"
    }

    fn synchronise(&self) -> schedule::Synchronise {
        schedule::Synchronise::AtTheEnd
    }

    fn order(&self, _: &schedule::Setting) -> Result<schedule::Order, Unsuitable> {
        let turn = |&(block, microbatch): &(usize, usize)| schedule::Turn { block, microbatch };
        Ok(schedule::Order::Turns(self.0.iter().map(|turns| turns.iter().map(turn).collect()).collect()))
    }
}

#[test]
fn orders_that_are_none_are_told() {
    // Blocks 0 and 1 forward, 2 and 3 backward, the latter on the first device.
    let pipeline = balanced(2, 1);
    let good = vec![vec![(0, 0), (0, 1), (3, 0), (3, 1)], vec![(1, 0), (2, 0), (1, 1), (2, 1)]];
    run(&pipeline, &Written(good.clone()), microbatches(2));
    let refusal = |change: &dyn Fn(&mut Turns)| {
        let mut turns = good.clone();
        change(&mut turns);
        simulate(&pipeline, &Written(turns), microbatches(2)).unwrap_err()
    };
    let wrong = |block, microbatch, is_missing| SimulateError::WrongOrder { block, microbatch, is_missing };
    assert_eq!(refusal(&|turns| turns[0].truncate(3)), wrong(3, 1, true));
    assert_eq!(refusal(&|turns| turns[0].push((0, 1))), wrong(0, 1, false));
    assert_eq!(refusal(&|turns| turns[0].push((4, 0))), wrong(4, 0, false));
    assert_eq!(refusal(&|turns| turns[1].push((1, 2))), wrong(1, 2, false));
    assert_eq!(refusal(&|turns| turns.swap(0, 1)), wrong(1, 0, false));
    assert_eq!(refusal(&|turns| turns.push(vec![(0, 0)])), wrong(0, 0, false));
    assert_eq!(refusal(&|turns| drop(turns.pop())), wrong(1, 0, true));
}

#[test]
fn the_all_reduce_of_a_step_begins_on_all_copies_at_once() {
    // The second copy of stage 0 is fast, and would begin long before the first.
    let mut problem = chain(&[(1.0, 2.0), (1.0, 2.0)], 2);
    problem.topology.devices[1].speed = 10.0;
    for links in [Links::Blocking, Links::Overlapped] {
        run(&in_order(&problem, links), &OneForwardOneBackward, microbatches(3));
        // On one device the all-reduces of two stages come one after another, those of the copies in step.
        run(&round_robin(&problem, 1, links), &Interleaved, microbatches(3));
    }
}

#[test]
fn stages_that_wait_for_each_other_are_refused() {
    let mut pipeline = balanced(2, 1);
    let (source, target, way) = (1, 0, Way::Sent(0.0));
    pipeline.flows.push(dagsplit::simulate::Flow { source, target, way });
    let error = simulate(&pipeline, &GPipe, microbatches(2)).unwrap_err();
    assert!(matches!(error, SimulateError::Cycle(_)), "{error}");
}

/// A split of an instance, drawn at random.
#[derive(Debug, Clone)]
struct Case {
    instance: Instance,
    spec: ProblemSpec,
    split: Solution,
}

impl Case {
    fn pipeline(&self) -> (Pipeline, f64) {
        let verified = verify::check(&self.instance, &self.spec, &self.split).unwrap();
        let problem = Problem::new(&self.instance, self.spec.clone()).unwrap();
        (Pipeline::of_split(&self.instance, &problem, &verified).unwrap(), verified.objective())
    }
}

/// Any node on any device, but for colour classes, which stay together.
fn any_split(training: bool) -> impl Strategy<Value = Case> {
    let options = InstanceOptions { training, unsupported: false, memory_limits: false, ..InstanceOptions::ALL };
    let costs = select(vec![CostKind::Additive, CostKind::Overlap, CostKind::Duplex]);
    let places = vec((0..5usize, 1..3usize), 64);
    (instances(6, options), costs, places, 0..3u8).prop_map(|(mut instance, cost, places, form)| {
        let (replicated, in_servers) = (form == 1, form == 2);
        instance.platform.accelerators.iter_mut().for_each(|class| (class.count, class.memory) = (16, None));
        instance.platform.cpus = 4;
        let classes = instance.platform.accelerators.len();
        let device = |d: usize| {
            let kind = if d == 4 { DeviceKind::Cpu } else { DeviceKind::Accelerator(d % classes) };
            let replicas = if replicated && d != 4 { places[d].1 } else { 1 };
            // Two of a server, which are of one class.
            let server = if classes == 1 { d / 2 } else { 8 * (d % 2) };
            let server = (in_servers && d != 4).then_some(server);
            DeviceAssignment { replicas, server, ..DeviceAssignment::new(kind, Vec::new()) }
        };
        let mut devices: Vec<DeviceAssignment> = (0..5).map(device).collect();
        for (v, node) in instance.nodes.iter().enumerate() {
            let place = node.color_class.map_or(v, |class| 32 + class as usize % 32);
            devices[places[place % 64].0].nodes.push(node.id);
        }
        let replication = replicated.then_some(Replication { max_replicas: 2, bandwidth: 2.0 });
        let interconnect = in_servers.then_some(Interconnect { server_size: 2, between_factor: 3.0 });
        let scope = Scope::Arbitrary;
        let spec = ProblemSpec { scope, cost, replication, interconnect, ..ProblemSpec::of(&instance) };
        Case { split: Solution { devices, objective: None }, instance, spec }
    })
}

/// Intervals of a topological order, where no colour class spans several.
fn contiguous_split() -> impl Strategy<Value = Case> {
    let options = InstanceOptions {
        training: false,
        shared_colors: false,
        unsupported: false,
        memory_limits: false,
        ..InstanceOptions::ALL
    };
    (instances(8, options), vec(any::<bool>(), 64)).prop_map(|(mut instance, cuts)| {
        instance.platform.accelerators.iter_mut().for_each(|class| (class.count, class.memory) = (64, None));
        let spec = ProblemSpec::of(&instance);
        let problem = Problem::new(&instance, spec.clone()).unwrap();
        let mut devices = vec![DeviceAssignment::new(DeviceKind::Accelerator(0), Vec::new())];
        for (v, cut) in dagsplit::internals::graph::topological::smallest_first(&problem.graph).into_iter().zip(cuts) {
            if cut && !devices.last().unwrap().nodes.is_empty() {
                devices.push(DeviceAssignment::new(DeviceKind::Accelerator(0), Vec::new()));
            }
            devices.last_mut().unwrap().nodes.push(problem.ids[v]);
        }
        Case { split: Solution { devices, objective: None }, instance, spec }
    })
}

/// The steady time of a pipeline, with so many microbatches that nothing but the busiest device counts.
fn steady(pipeline: &Pipeline, schedule: &dyn Schedule) -> f64 {
    steady_time(pipeline, schedule, microbatches(1000)).unwrap()
}

proptest! {
    #![proptest_config(config(64))]

    #[test]
    fn the_steady_time_of_any_split_is_its_largest_load(case in any_split(true)) {
        let (pipeline, load) = case.pipeline();
        let few = run(&pipeline, &VirtualDevices, microbatches(5));
        prop_assert!(few.makespan() >= 5.0 * load * (1.0 - 1e-12), "{} is below five times {load}", few.makespan());
        let found = steady(&pipeline, &VirtualDevices);
        prop_assert!((found - load).abs() <= 1e-9 * load, "{found} in place of {load}");
    }

    #[test]
    fn the_steady_time_of_a_contiguous_split_is_its_largest_load(case in contiguous_split()) {
        let (pipeline, load) = case.pipeline();
        prop_assert_eq!(pipeline.stages.len(), case.split.devices.len(), "no device is cut");
        prop_assert!(pipeline.stages.iter().enumerate().all(|(i, stage)| stage.rank == i && stage.device == i));
        for schedule in [&Inference as &dyn Schedule, &VirtualDevices, &GPipe, &OneForwardOneBackward] {
            run(&pipeline, schedule, microbatches(4));
            let found = steady(&pipeline, schedule);
            prop_assert!((found - load).abs() <= 1e-9 * load, "{}: {found} in place of {load}", schedule.name());
        }
    }

    #[test]
    fn virtual_devices_leave_nothing_out(case in any_split(false)) {
        let (pipeline, _) = case.pipeline();
        let compute: f64 = pipeline.blocks.iter().map(|block| block.compute).sum();
        let on = |device: &DeviceAssignment, id| {
            let node = case.instance.nodes.iter().find(|node| node.id == id).unwrap();
            let time = match device.kind {
                DeviceKind::Accelerator(class) => node.accelerator_times[class],
                DeviceKind::Cpu => node.cpu_time,
            };
            time.unwrap() / device.replicas as f64
        };
        let expected: f64 = case.split.devices.iter().flat_map(|d| d.nodes.iter().map(|&id| on(d, id))).sum();
        prop_assert!((compute - expected).abs() <= 1e-9 * expected);
        for schedule in [&VirtualDevices as &dyn Schedule, &Inference, &GPipe] {
            run(&pipeline, schedule, microbatches(3));
        }
    }
}

/// Stages of any topology: unlike devices and links, latencies, messages between any stages. Everything counts, and there
/// is a backward pass.
fn wild() -> impl Strategy<Value = MappingProblem> {
    mappings::problem(8).prop_map(|mut problem| {
        problem.cost = StageCost::additive(Counted::Both);
        problem.stages.stages[0].backward += 1.0;
        problem
    })
}

/// A pipeline of stages with messages between neighbours and beyond, in one to three copies, on like devices.
fn mapped() -> impl Strategy<Value = MappingProblem> {
    let stages = vec((1..9u8, 1..9u8), 1..6);
    (stages, 1..4usize, vec(0..9u8, 36)).prop_map(|(times, replicas, bytes)| {
        let times: Vec<(f64, f64)> = times.into_iter().map(|(f, b)| (f64::from(f), f64::from(b))).collect();
        let mut problem = chain(&times, replicas);
        let pairs = (0..times.len()).flat_map(|a| (0..times.len()).map(move |b| (a, b)));
        let messages = pairs.filter(|(a, b)| a != b).map(|(source, target)| {
            let bytes = f64::from(bytes[source * 6 + target]);
            // Stages that are not neighbours have a message half the time.
            let bytes = if source.abs_diff(target) > 1 { (bytes - 4.0).max(0.0) } else { bytes };
            Message { source, target, bytes }
        });
        problem.stages.messages = messages.filter(|m| m.bytes > 0.0 || m.source.abs_diff(m.target) == 1).collect();
        problem
    })
}

proptest! {
    #![proptest_config(config(48))]

    #[test]
    fn the_steady_time_of_a_mapped_pipeline_is_its_objective(problem in mapped()) {
        let mapping = Mapping { devices: (0..problem.copies()).collect() };
        let pipeline = in_order(&problem, Links::Blocking);
        let objective = problem.objective(&mapping);
        for schedule in [&Asynchronous as &dyn Schedule, &VirtualDevices] {
            let simulation = run(&pipeline, schedule, microbatches(4));
            prop_assert!(simulation.makespan() >= 4.0 * objective * (1.0 - 1e-12));
            let found = steady(&pipeline, schedule);
            prop_assert!((found - objective).abs() <= 1e-9 * objective, "{}: {found}, {objective}", schedule.name());
        }
        // The all-reduce of a flushed step counts once, however many microbatches there are.
        let messages = MappingProblem { cost: StageCost::additive(Counted::Messages), ..problem.clone() };
        let (found, expected) = (steady(&pipeline, &OneForwardOneBackward), messages.objective(&mapping));
        prop_assert!((found - expected).abs() <= 1e-9 * expected, "1f1b: {found}, {expected}");
        let largest = |pass: Pass| {
            let blocks = pipeline.blocks.iter().filter(|block| block.pass == pass);
            blocks.map(|block| block.input + block.compute + block.output).fold(0.0, f64::max)
        };
        let (found, expected) = (steady(&pipeline, &GPipe), largest(Pass::Forward) + largest(Pass::Backward));
        prop_assert!((found - expected).abs() <= 1e-9 * expected, "gpipe: {found}, {expected}");
    }

    #[test]
    fn the_steady_time_of_a_pipeline_on_any_topology_is_its_objective(problem in wild()) {
        let mapping = Mapping { devices: (0..problem.copies()).collect() };
        let pipeline = in_order(&problem, Links::Blocking);
        let objective = problem.objective(&mapping);
        for schedule in [&Asynchronous as &dyn Schedule, &VirtualDevices] {
            let simulation = run(&pipeline, schedule, microbatches(4));
            prop_assert!(simulation.makespan() >= 4.0 * objective * (1.0 - 1e-12));
            // A device of nearly the largest load that begins later ends last until there are very many microbatches.
            let is_short = |found: f64| found < objective * (1.0 - 1e-9);
            let found = match steady(&pipeline, schedule) {
                found if is_short(found) => steady_time(&pipeline, schedule, microbatches(32_000)).unwrap(),
                found => found,
            };
            prop_assert!(!is_short(found), "{}: {found}, {objective}", schedule.name());
            // Copies that are not alike wait for each other's gradients, which 1F1B does not always hide.
            if problem.replicas == 1 || schedule.name() == "virtual-devices" {
                prop_assert!(found <= objective * (1.0 + 1e-9), "{}: {found}, {objective}", schedule.name());
            }
        }
    }

    #[test]
    fn every_schedule_keeps_order_and_resources(
        problem in prop_oneof![mapped(), wild()],
        links in select(vec![Links::Blocking, Links::Overlapped, Links::Contended]),
        recompute in any::<bool>(),
        count in 1..7usize,
    ) {
        let pipeline = in_order(&problem, links);
        let options = Options { microbatches: count, recompute };
        let most = pipeline.depth();
        // Those with two stages on each device have tests of their own.
        for schedule in schedule::all().into_iter().filter(|schedule| !matches!(schedule.name(), "zb-v" | "dualpipe")) {
            let options = Options { microbatches: if schedule.name() == "interleaved" { most } else { count }, ..options };
            let simulation = run(&pipeline, schedule, options);
            let in_flight = simulation.memory().in_flight;
            for (stage, in_flight) in pipeline.stages.iter().zip(in_flight) {
                let expected = match schedule.name() {
                    "gpipe" => count,
                    "1f1b" | "async-1f1b" => count.min(most - stage.rank),
                    "interleaved" => most - stage.rank,
                    "zb-h1" => count.min(most),
                    "zb-h2" => count.min(2 * most - 1),
                    _ => continue,
                };
                prop_assert_eq!(in_flight, expected, "{} at {}", schedule.name(), stage.rank);
            }
        }
        // Two stages on each device, where their number is even.
        let (stages, ranks) = (problem.stages.stages.len(), problem.stages.stages.len() / 2);
        if stages % 2 == 0 {
            let pipeline = round_robin(&problem, ranks, links);
            for schedule in [&Interleaved as &dyn Schedule, &VirtualDevices, &GPipe, &Inference] {
                run(&pipeline, schedule, Options { microbatches: count * ranks, recompute });
            }
        }
    }
}
