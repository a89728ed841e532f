//! How many microbatches are in flight, and what they occupy.

use super::pipeline::Pass;
use super::template::Work;
use super::timeline::{Simulation, Span};

/// What the devices of a simulation had to hold at most.
#[derive(Debug, Clone, PartialEq)]
pub struct Memory {
    /// For each stage the most microbatches between the start of their forward and the end of their backward pass; in
    /// a pipeline without a backward pass, of their forward pass.
    pub in_flight: Vec<usize>,
    /// For each device the most bytes: weights, and the activations of the microbatches in flight.
    pub peak: Vec<f64>,
}

/// Something begins or ends to occupy memory.
struct Event {
    stage: usize,
    time: f64,
    bytes: f64,
    microbatches: i32,
}

impl Simulation {
    /// The memory that the devices needed. Where activations are recomputed a stage keeps the inputs of each microbatch in
    /// flight, and the whole of its activations while a pass runs. Where weights are stashed it keeps them once for each
    /// microbatch in flight. Data on its way is not counted. O(t log t) for t spans.
    pub fn memory(&self) -> Memory {
        occupied(self, events(self))
    }
}

fn occupied(simulation: &Simulation, mut events: Vec<Event>) -> Memory {
    // What ends makes room for what begins.
    events.sort_by(|a, b| {
        a.time.total_cmp(&b.time).then(a.bytes.total_cmp(&b.bytes)).then(a.microbatches.cmp(&b.microbatches))
    });
    let (stages, devices) = (&simulation.pipeline.stages, simulation.pipeline.devices.len());
    let (mut now, mut in_flight) = (vec![0i32; stages.len()], vec![0i32; stages.len()]);
    let (mut held, mut most) = (vec![0.0f64; devices], vec![0.0f64; devices]);
    for event in events {
        let (stage, device) = (event.stage, stages[event.stage].device);
        now[stage] += event.microbatches;
        in_flight[stage] = in_flight[stage].max(now[stage]);
        held[device] += event.bytes;
        most[device] = most[device].max(held[device]);
    }
    let in_flight: Vec<usize> = in_flight.into_iter().map(|count| count.max(0) as usize).collect();
    for (stage, &in_flight) in stages.iter().zip(&in_flight) {
        let versions = if simulation.stashes_weights { in_flight.max(1) } else { 1 };
        most[stage.device] += stage.weights * versions as f64;
    }
    Memory { in_flight, peak: most }
}

/// The first and the last operation of each pass of each stage.
struct Bounds {
    first: Vec<Option<usize>>,
    last: Vec<Option<usize>>,
}

impl Bounds {
    fn new(simulation: &Simulation, pass: Pass) -> Self {
        let stages = simulation.pipeline.stages.len();
        let (mut first, mut last) = (vec![None; stages], vec![None; stages]);
        for (i, operation) in simulation.template().operations.iter().enumerate() {
            let block = &simulation.pipeline.blocks[operation.block];
            let occupies = matches!(operation.work, Work::Recompute | Work::Input | Work::Compute);
            if block.pass == pass && occupies {
                first[block.stage].get_or_insert(i);
                last[block.stage] = Some(i);
            }
        }
        Self { first, last }
    }
}

fn events(simulation: &Simulation) -> Vec<Event> {
    let forward = Bounds::new(simulation, Pass::Forward);
    let backward = Bounds::new(simulation, Pass::Backward);
    let mut events = Vec::new();
    for Span { operation, microbatch, start, end } in simulation.spans() {
        if microbatch.is_none() {
            continue;
        }
        let stage = simulation.pipeline.blocks[simulation.template().operations[operation].block].stage;
        let kept = &simulation.pipeline.stages[stage];
        let at = |bounds: &[Option<usize>]| bounds[stage] == Some(operation);
        let mut add = |time, bytes, microbatches| events.push(Event { stage, time, bytes, microbatches });
        let (begins, ends) = (forward.first[stage].is_some(), backward.last[stage].is_some());
        let dropped =
            if simulation.options.recompute && begins && ends { kept.activations - kept.boundary } else { 0.0 };
        if at(&forward.first) || !begins && at(&backward.first) {
            add(start, kept.activations, 1);
        }
        if at(&forward.last) && ends && dropped > 0.0 {
            add(end, -dropped, 0);
        }
        if at(&backward.first) && begins && dropped > 0.0 {
            add(start, dropped, 0);
        }
        if at(&backward.last) || !ends && at(&forward.last) {
            add(end, -kept.activations, -1);
        }
    }
    events
}
