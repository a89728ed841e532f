//! A timeline as a trace in the Trace Event Format, which Perfetto and Chrome's `about:tracing` show.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::{owner, span_name, track_name};
use crate::simulate::{Simulation, Span, Way, Work};

/// Microseconds of a trace per time unit, which is a millisecond in every file.
const MICROSECONDS: f64 = 1000.0;

/// The trace of `simulation`: a process for each device, with a thread for it and for each of its engines and links.
/// What runs beside others of its kind, such as messages on a link without contention, is an asynchronous event. Arrows lead
/// from what sends to what receives, and a counter tells the memory of each device.
pub fn trace(simulation: &Simulation) -> String {
    let tracks = simulation.template().tracks.iter().enumerate();
    let names = tracks.flat_map(|(thread, track)| {
        let (device, name) = (owner(&simulation.pipeline, track.kind), track_name(&simulation.pipeline, track.kind));
        let named = |what: &str, name: &str| json!({"name": what, "ph": "M", "pid": device, "tid": thread, "args": {"name": name}});
        [named("process_name", &simulation.pipeline.devices[device]), named("thread_name", &name)]
    });
    let spans = simulation.spans().enumerate().flat_map(|(id, span)| events(simulation, id, &span));
    let events = names.chain(spans).chain(arrows(simulation)).chain(memory(simulation));
    let lines: Vec<String> = events.map(|event| event.to_string()).collect();
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
            "pid": owner(&simulation.pipeline, track.kind),
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

/// For each microbatch, what is sent from one device to another.
fn arrows(simulation: &Simulation) -> Vec<Value> {
    let spans: Vec<Span> = simulation.spans().filter(|span| span.microbatch.is_some()).collect();
    let each = spans.len() / simulation.options.microbatches;
    let ends = |block: usize, end: Work| {
        let of = |work: Work| {
            spans[..each].iter().map(|span| simulation.operation(span)).position(|o| o.block == block && o.work == work)
        };
        of(end).or_else(|| of(Work::Compute))
    };
    let is_sent = |way: &Way| matches!(way, Way::Sent(_));
    let flows = simulation.pipeline.flows.iter().filter(|flow| is_sent(&flow.way));
    let pairs = flows.filter_map(|flow| ends(flow.source, Work::Output).zip(ends(flow.target, Work::Input)));
    // What waits for a message need not wait for that one alone.
    let pairs: BTreeSet<(usize, usize)> = pairs.collect();
    let arrow = |(id, (from, to)): (usize, (&Span, &Span))| {
        // Arrows belong to what runs at their ends.
        let event = |phase: &str, span: &Span, time: f64| {
            let (track, thread) = (simulation.track(span), simulation.operation(span).track);
            let (name, process) =
                (format!("{} message", simulation.pass(from).name()), owner(&simulation.pipeline, track.kind));
            json!({"name": name, "cat": "flow", "ph": phase, "id": id, "pid": process, "tid": thread, "ts": time * MICROSECONDS})
        };
        let mut received = event("f", to, to.start);
        received["bp"] = json!("e");
        [event("s", from, f64::midpoint(from.start, from.end)), received]
    };
    let of_each = spans.chunks(each.max(1));
    let ends = of_each.flat_map(|spans| pairs.iter().map(|&(from, to)| (&spans[from], &spans[to])));
    ends.enumerate().flat_map(arrow).collect()
}

/// What each device holds from each moment on.
fn memory(simulation: &Simulation) -> impl Iterator<Item = Value> {
    let event = |device: usize, (time, bytes): (f64, f64)| json!({"name": "memory", "ph": "C", "pid": device, "ts": time * MICROSECONDS, "args": {"bytes": bytes}});
    let moments = simulation.memory_over_time().into_iter().enumerate();
    moments.flat_map(move |(device, moments)| moments.into_iter().map(move |moment| event(device, moment)))
}
