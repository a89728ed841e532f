//! Pipelines of chains, and an independent check of every timeline.

#![allow(dead_code, reason = "each test file uses some of these")]

use dagsplit::mapping::{Counted, Device, Mapping, MappingProblem, Message, Stage, StageCost, StageGraph, Topology};
use dagsplit::simulate::{Links, Options, Pipeline, Schedule, Simulation, Span, Transfers, Way, Work, simulate};

pub fn microbatches(count: usize) -> Options {
    Options { microbatches: count, recompute: false }
}

/// Stages of these forward and backward times in a chain, on a device each, in this many copies. Messages are of 3
/// bytes, links carry one byte per time unit, and the weights of a stage are `replicas` bytes of its 10.
pub fn chain(times: &[(f64, f64)], replicas: usize) -> MappingProblem {
    let stage = |(i, &(forward, backward)): (usize, &(f64, f64))| Stage {
        name: format!("stage {i}"),
        forward,
        backward,
        parameter_bytes: replicas as f64,
        memory: 10.0,
        lasting_bytes: None,
        working_bytes: 0.0,
    };
    let devices = (0..times.len() * replicas).map(|d| Device::new(format!("GPU {d}")));
    let message = |source, target| Message { source, target, bytes: 3.0 };
    MappingProblem {
        stages: StageGraph {
            name: "chain".into(),
            stages: times.iter().enumerate().map(stage).collect(),
            messages: (1..times.len()).flat_map(|i| [message(i - 1, i), message(i, i - 1)]).collect(),
        },
        replicas,
        topology: Topology::new("equal links", "made up", devices.collect(), |_, _| 1.0),
        cost: StageCost::additive(Counted::Both),
    }
}

/// The copies on the devices in their order, stage `ranks` on the device of stage 0 again.
pub fn round_robin(problem: &MappingProblem, ranks: usize, links: Links) -> Pipeline {
    let devices = (0..problem.copies()).map(|copy| copy % (ranks * problem.replicas)).collect();
    Pipeline::of_mapping(problem, &Mapping { devices }, links).unwrap()
}

/// A device for each copy.
pub fn in_order(problem: &MappingProblem, links: Links) -> Pipeline {
    round_robin(problem, problem.stages.stages.len(), links)
}

pub fn run(pipeline: &Pipeline, schedule: &dyn Schedule, options: Options) -> Simulation {
    let simulation = simulate(pipeline, schedule, options).unwrap();
    check(&simulation);
    simulation
}

/// Checks a timeline without any of the simulator's own means: everything ran as often and as long as it should, what
/// takes one thing at a time did, nothing began before what it waits for, and the figures follow from the spans.
fn check(simulation: &Simulation) {
    let spans: Vec<Span> = simulation.spans().collect();
    let count = simulation.options.microbatches;
    let find = |block: usize, work: Work, microbatch: usize| {
        let is_it = |span: &&Span| {
            let operation = simulation.operation(span);
            operation.block == block && operation.work == work && span.microbatch == Some(microbatch)
        };
        let found: Vec<&Span> = spans.iter().filter(is_it).collect();
        assert!(found.len() <= 1 || work == Work::Message, "{work:?} of block {block} ran {} times", found.len());
        found.first().copied().copied()
    };
    for (i, block) in simulation.pipeline.blocks.iter().enumerate() {
        let runs = find(i, Work::Compute, 0).is_some();
        for microbatch in 0..count {
            let computed = find(i, Work::Compute, microbatch);
            assert_eq!(computed.is_some(), runs, "all microbatches are treated alike");
            let Some(computed) = computed else { continue };
            assert!((computed.end - computed.start - block.compute).abs() < 1e-9);
            if let Some(input) = find(i, Work::Input, microbatch) {
                assert!(input.end <= computed.start);
            }
            if let Some(again) = find(i, Work::Recompute, microbatch) {
                let stage = |other: &usize| simulation.pipeline.blocks[*other].stage == block.stage;
                let forward = (0..i).filter(stage).filter_map(|other| find(other, Work::Compute, microbatch));
                assert!(again.end <= computed.start && forward.into_iter().all(|forward| forward.end <= again.start));
            }
            if let Some(output) = find(i, Work::Output, microbatch) {
                assert!(computed.end <= output.start);
            }
            let transfers = [(Work::Input, block.input), (Work::Output, block.output)];
            for (work, time) in transfers {
                let took = find(i, work, microbatch).map_or(0.0, |span| span.end - span.start);
                assert!((took - time).abs() < 1e-9, "{work:?} of block {i} took {took} in place of {time}");
            }
        }
    }
    for flow in &simulation.pipeline.flows {
        for microbatch in 0..count {
            let of = |block, work| find(block, work, microbatch);
            let (Some(before), Some(after)) = (of(flow.source, Work::Compute), of(flow.target, Work::Compute)) else {
                continue;
            };
            let handed_on = of(flow.source, Work::Output).unwrap_or(before).end;
            let fetched = of(flow.target, Work::Input).unwrap_or(after).start;
            match flow.way {
                Way::Kept => assert!(before.end <= after.start),
                Way::Sent(time) => assert!(handed_on + time <= fetched + 1e-9),
                Way::Shared => {
                    assert!(of(flow.source, Work::Input).is_none_or(|input| input.end <= after.start));
                }
            }
        }
    }
    for reduce in &simulation.pipeline.all_reduces {
        let begun = |microbatch| {
            let is_it = move |span: &&Span| {
                let operation = simulation.operation(span);
                operation.work == Work::AllReduce
                    && reduce.after.contains(&operation.block)
                    && span.microbatch == microbatch
            };
            spans.iter().filter(is_it).map(|span| span.start).collect::<Vec<f64>>()
        };
        let ends = |microbatch| {
            reduce.after.iter().filter_map(move |&block| Some(find(block, Work::Compute, microbatch)?.end))
        };
        let last_end = |microbatch| ends(microbatch).fold(0.0, f64::max);
        for microbatch in 0..count {
            let starts = begun(Some(microbatch));
            assert!(starts.iter().all(|&start| start >= last_end(microbatch)), "gradients are not complete");
            assert!(starts.is_empty() || starts.len() == reduce.after.len(), "all copies take part");
        }
        // After a step all copies begin together, with each part.
        let starts = begun(None);
        let is_whole = simulation.pipeline.transfers == Transfers::OnDevice;
        let parts = if is_whole { 1 } else { simulation.pipeline.buckets };
        assert!(starts.is_empty() || starts.len() == parts * reduce.after.len(), "{parts} parts begin at {starts:?}");
        let computes = |span: &&Span| {
            let operation = simulation.operation(span);
            let stage = |block: usize| simulation.pipeline.blocks[block].stage;
            operation.work == Work::Compute && reduce.after.iter().any(|&block| stage(block) == stage(operation.block))
        };
        for (part, starts) in (1..).zip(starts.chunks(reduce.after.len())) {
            assert!(starts.windows(2).all(|pair| pair[0] == pair[1]), "copies begin at {starts:?}");
            let share = part as f64 / parts as f64;
            let computed = |span: &Span| span.start + share * (span.end - span.start);
            let complete = spans.iter().filter(computes).map(computed).fold(0.0, f64::max);
            assert!(starts[0] >= complete * (1.0 - 1e-12), "gradients are not complete");
        }
        let synchronises = !matches!(simulation.schedule, "inference");
        assert!(!synchronises || !starts.is_empty() || begun(Some(0)).len() == reduce.after.len(), "none took part");
    }
    for (track, _) in simulation.template().tracks.iter().enumerate().filter(|(_, track)| track.exclusive) {
        let mut on_track: Vec<&Span> = spans.iter().filter(|span| simulation.operation(span).track == track).collect();
        on_track.sort_by(|a, b| a.start.total_cmp(&b.start).then(a.end.total_cmp(&b.end)));
        assert!(on_track.windows(2).all(|pair| pair[0].end <= pair[1].start), "track {track} does two things at once");
    }
    let on_devices: f64 = spans
        .iter()
        .filter(|span| simulation.operation(span).track < simulation.pipeline.devices.len())
        .map(|span| span.end - span.start)
        .sum();
    let busy: f64 = simulation.work().iter().map(|work| work.busy()).sum();
    assert!((busy - on_devices).abs() <= 1e-9 * busy, "{busy} in the figures, {on_devices} on the timeline");
    let last = spans.iter().map(|span| span.end).fold(0.0, f64::max);
    assert_eq!(simulation.makespan(), last);
    let bound = simulation.lower_bound();
    assert!(bound <= last * (1.0 + 1e-9), "{}: {last} is below the bound {bound}", simulation.schedule);
}
