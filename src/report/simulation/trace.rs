//! A timeline as a trace in the Trace Event Format, which Perfetto and Chrome's `about:tracing` show.

use serde_json::{Value, json};

use super::{owner, span_name, track_name};
use crate::simulate::{Simulation, Span};

/// Microseconds of a trace per time unit, which is a millisecond in every file.
const MICROSECONDS: f64 = 1000.0;

/// The trace of `simulation`: a process for each device, with a thread for it and for each of its engines and links.
/// What runs beside others of its kind, such as messages on a link without contention, is an asynchronous event.
pub fn trace(simulation: &Simulation) -> String {
    let tracks = simulation.template().tracks.iter().enumerate();
    let names = tracks.flat_map(|(thread, track)| {
        let (device, name) = (owner(track.kind), track_name(&simulation.pipeline, track.kind));
        let named = |what: &str, name: &str| json!({"name": what, "ph": "M", "pid": device, "tid": thread, "args": {"name": name}});
        [named("process_name", &simulation.pipeline.devices[device]), named("thread_name", &name)]
    });
    let spans = simulation.spans().enumerate().flat_map(|(id, span)| events(simulation, id, &span));
    let lines: Vec<String> = names.chain(spans).map(|event| event.to_string()).collect();
    format!("{{\"displayTimeUnit\": \"ms\", \"traceEvents\": [\n{}\n]}}\n", lines.join(",\n"))
}

fn events(simulation: &Simulation, id: usize, span: &Span) -> Vec<Value> {
    let (operation, track) = (simulation.operation(span), simulation.track(span));
    let stage = &simulation.pipeline.stages[simulation.pipeline.blocks[operation.block].stage];
    let event = |phase: &str, time: f64| {
        json!({
            "name": span_name(simulation, span),
            "cat": operation.work.name(),
            "ph": phase,
            "pid": owner(track.kind),
            "tid": operation.track,
            "ts": time * MICROSECONDS,
        })
    };
    let arguments = json!({"stage": stage.name, "replica": stage.replica, "microbatch": span.microbatch});
    if track.exclusive {
        let mut complete = event("X", span.start);
        complete["dur"] = json!((span.end - span.start) * MICROSECONDS);
        complete["args"] = arguments;
        return vec![complete];
    }
    let (mut begin, mut end) = (event("b", span.start), event("e", span.end));
    begin["args"] = arguments;
    [&mut begin, &mut end].into_iter().for_each(|event| event["id"] = json!(id));
    vec![begin, end]
}
