//! What people and programs see of a simulated pipeline: a record, a Gantt chart, a trace.

mod gantt;
mod record;
mod trace;

pub use gantt::gantt;
pub use record::{SIMULATE_SCHEMA, SimulatedDevice, SimulatedStage, SimulationRecord};
pub use trace::trace;

use crate::simulate::{Pipeline, Simulation, Span, TrackKind, Work};

/// What to call a track.
fn track_name(pipeline: &Pipeline, kind: TrackKind) -> String {
    let name = |device: usize| &pipeline.devices[device];
    match kind {
        TrackKind::Device(device) => name(device).clone(),
        TrackKind::Engine(device) => format!("{} in and out", name(device)),
        TrackKind::Inputs(device) => format!("{} in", name(device)),
        TrackKind::Outputs(device) => format!("{} out", name(device)),
        TrackKind::AllReduces(device) => format!("{} all-reduce", name(device)),
        TrackKind::Link(source, target) => format!("{} → {}", name(source), name(target)),
        TrackKind::Channel { index, is_out: true } => format!("{} out", pipeline.channels[index].name),
        TrackKind::Channel { index, is_out: false } => format!("{} in", pipeline.channels[index].name),
    }
}

/// The device that a track belongs to; of a link, the one that sends, and of a channel, the first one.
fn owner(pipeline: &Pipeline, kind: TrackKind) -> usize {
    match kind {
        TrackKind::Device(device)
        | TrackKind::Engine(device)
        | TrackKind::Inputs(device)
        | TrackKind::Outputs(device)
        | TrackKind::AllReduces(device)
        | TrackKind::Link(device, _) => device,
        TrackKind::Channel { index, .. } => pipeline.channels[index].devices.first().copied().unwrap_or_default(),
    }
}

/// What ran in a span, in words.
fn span_name(simulation: &Simulation, span: &Span) -> String {
    let (work, pass) = (simulation.operation(span).work, simulation.pass(span).name());
    let what = match work {
        Work::Compute => pass.to_owned(),
        Work::AllReduce | Work::Recompute => work.name().to_owned(),
        Work::Input | Work::Output | Work::Message => format!("{pass} {}", work.name()),
    };
    match span.microbatch {
        Some(microbatch) => format!("{what} {microbatch}"),
        None => what,
    }
}
