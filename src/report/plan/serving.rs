//! Plans that serve: samples a second, latency and tokens of keys and values.

use serde::Serialize;

use super::{CandidateRecord, PlanRecord, named};
use crate::plan::{Candidate, Plan, Service};
use crate::report::plot::chart::{Chart, Figure, Shape};
use crate::report::plot::{Axis, WIDTH};
use crate::report::sheet::{Cell, Column};
use crate::units::number;

/// How much longer the axes are than what they show.
const ROOM: f64 = 1.08;

const MILLION: f64 = 1e6;

/// What a plan is worth that serves.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct ServiceRecord {
    /// Samples per second of all pipelines, once these are full.
    pub throughput: f64,
    /// Milliseconds that a microbatch takes through an empty pipeline.
    pub latency: f64,
    /// The most tokens whose keys and values each pipeline has room for; none where nothing limits them.
    pub tokens: Option<usize>,
    /// The same of all pipelines together.
    pub tokens_in_all: Option<usize>,
    /// Whether no other candidate is better in samples per second, latency or tokens in all, and as good in the rest.
    pub on_front: bool,
}

impl ServiceRecord {
    pub(super) fn new(service: Service, on_front: bool) -> Self {
        let Service { throughput, latency, tokens, tokens_in_all } = service;
        Self { throughput, latency, tokens, tokens_in_all, on_front }
    }

    fn cells(&self) -> [Cell; 4] {
        let tokens = |tokens: Option<usize>| Cell::of(Cell::Number, tokens.map(|tokens| tokens as f64));
        let rate = Cell::Number((self.throughput * 100.0).round() / 100.0);
        [rate, Cell::Number(self.latency), tokens(self.tokens), tokens(self.tokens_in_all)]
    }
}

/// The columns of [`cells`].
pub(super) fn columns() -> [Column; 4] {
    ["when full", "latency", "tokens", "in all"].map(Column::figures)
}

/// What a candidate is worth in serving.
pub(super) fn cells(candidate: &CandidateRecord) -> [Cell; 4] {
    candidate.serving.map_or_else(|| [const { Cell::Empty }; 4], |serving| serving.cells())
}

/// The candidates on the front, those with the most samples a second first.
pub(super) fn front(record: &PlanRecord) -> Vec<&CandidateRecord> {
    let mut front: Vec<(f64, &CandidateRecord)> = Vec::new();
    for candidate in &record.candidates {
        front.extend(candidate.serving.filter(|own| own.on_front).map(|own| (own.throughput, candidate)));
    }
    front.sort_by(|a, b| b.0.total_cmp(&a.0));
    front.into_iter().map(|(_, candidate)| candidate).collect()
}

/// The candidates on the front, after the plan that is taken if it is none of these.
pub(super) fn shown(record: &PlanRecord) -> Vec<&CandidateRecord> {
    let is_beaten = |best: &&CandidateRecord| !best.serving.is_some_and(|own| own.on_front);
    record.best().filter(is_beaten).into_iter().chain(front(record)).collect()
}

/// How many plans are on the front, and which of them lead; `None` where none serves.
pub(super) fn reason(plan: &Plan) -> Option<String> {
    let front: Vec<(&Candidate, Service)> =
        plan.front().into_iter().filter_map(|candidate| Some((candidate, candidate.service()?))).collect();
    let first = |value: fn(&Service) -> f64| front.iter().min_by(|a, b| value(&a.1).total_cmp(&value(&b.1)));
    let (full, quick) = (first(|own| -own.throughput)?, first(|own| own.latency)?);
    let roomy = first(|own| -own.tokens_in_all.map_or(f64::INFINITY, |tokens| tokens as f64))?;
    let tokens = roomy
        .1
        .tokens_in_all
        .map_or_else(String::new, |tokens| format!(", the most tokens {}: {}", named(roomy.0), number(tokens as f64)));
    Some(format!(
        "No plan looked at is better than one of these {} in samples a second, latency or tokens, and as good in the rest. The most \
         samples a second has {}: {:.2}, the least latency {}: {} ms{tokens}.",
        front.len(),
        named(full.0),
        full.1.throughput,
        named(quick.0),
        number(quick.1.latency),
    ))
}

/// Latency and tokens against samples a second, as SVG: a mark for each plan that serves, of its number of stages, filled where it
/// is on the front.
pub(super) fn plot(plan: &Plan, name_of: impl Fn(&Candidate) -> String) -> String {
    let front = plan.front();
    let served: Vec<(&Candidate, Service)> =
        plan.candidates.iter().filter_map(|candidate| Some((candidate, candidate.service()?))).collect();
    let mut lengths: Vec<usize> = served.iter().map(|(candidate, _)| candidate.stages()).collect();
    lengths.sort_unstable();
    lengths.dedup();
    let largest =
        |value: &dyn Fn(&Service) -> f64| ROOM * served.iter().map(|(_, own)| value(own)).fold(1e-9, f64::max);
    let chart = |title: &str, unit: &str, value: &dyn Fn(&Service) -> f64| {
        let mark = |(candidate, own): &(&Candidate, Service)| {
            let series = lengths.partition_point(|&length| length < candidate.stages());
            let is_on_front = front.iter().any(|&other| std::ptr::eq(other, *candidate));
            let tokens =
                own.tokens_in_all.map_or_else(String::new, |tokens| format!(", {} tokens", number(tokens as f64)));
            let (rate, latency) = (own.throughput, number(own.latency));
            let name = format!("{}: {rate:.2} a second, {latency} ms{tokens}", name_of(candidate));
            (series, Shape::Named((own.throughput, value(own)), is_on_front, name))
        };
        Chart {
            title: title.into(),
            x: Axis::linear("samples a second", 0.0, largest(&|own| own.throughput)),
            y: Axis::linear(unit, 0.0, largest(value)),
            height: None,
            shapes: served.iter().map(mark).collect(),
        }
    };
    let tokens = |own: &Service| own.tokens_in_all.map_or(0.0, |tokens| tokens as f64 / MILLION);
    let mut charts = vec![chart("Latency against throughput", "ms", &|own| own.latency)];
    if served.iter().any(|(_, own)| own.tokens_in_all.is_some()) {
        charts.push(chart("Tokens of keys and values against throughput", "million tokens", &tokens));
    }
    let series = lengths.iter().map(|count| format!("{count} stages")).collect();
    Figure { charts, series, notes: vec!["Filled: no other is better in one and as good in the rest.".into()] }
        .svg(WIDTH)
}
