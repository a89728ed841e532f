//! Records and tables of plans.

use serde::Serialize;

use super::mapping::{CopyRecord, Named};
use super::record::InstanceRecord;
use super::sheet::{Cell, Column, Sheet};
use crate::mapping::Topology;
use crate::plan::{Breakdown, Candidate, Fate, MappedPipeline, Plan, PlanOptions};
use crate::simulate::Links;
use crate::units::{bytes, number};
use crate::verify;

/// Version of [`PlanRecord`]: it changes when a field changes its meaning or goes.
pub const PLAN_SCHEMA: &str = "dagsplit-plan/1";

/// Parts of a difference below this are not worth a word.
const WORTH_TELLING: f64 = 0.005;

/// Where the devices' time goes, in milliseconds for each microbatch, summed over devices.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct BreakdownRecord {
    /// Computing.
    pub compute: f64,
    /// Computing activations once more.
    pub recompute: f64,
    /// Moving data between stages.
    pub messages: f64,
    /// Bringing gradients together.
    pub all_reduce: f64,
    /// Waiting.
    pub idle: f64,
}

/// One way to use the devices.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CandidateRecord {
    /// Stages asked for: S.
    pub stages: usize,
    /// Copies of each: R.
    pub replicas: usize,
    /// Microbatches of each pipeline: MB.
    pub microbatches: usize,
    /// `best`, `planned`, `too-large`, `failed` or `skipped`.
    pub status: &'static str,
    /// Why there is no pipeline, why it does not count, or what is odd about it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Time of the slowest copy for a microbatch, with a microbatch's share of the all-reduce.
    pub stage_time: Option<f64>,
    /// The mapper of the mapping.
    pub mapper: Option<String>,
    /// What the mapper counted.
    pub counted: Option<&'static str>,
    /// The mapper's gap under what it counted.
    pub mapping_gap: Option<f64>,
    /// Simulated time for each microbatch of all pipelines.
    pub time: Option<f64>,
    /// Simulated microbatches per second.
    pub throughput: Option<f64>,
    /// The part of the time in which devices wait.
    pub bubble: Option<f64>,
    /// The most bytes that a device holds at a time.
    pub peak_memory: Option<f64>,
    /// Where the devices' time goes.
    pub breakdown: Option<BreakdownRecord>,
}

/// A plan, ready to be printed as JSON.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PlanRecord {
    /// [`PLAN_SCHEMA`].
    pub schema: &'static str,
    /// The workload.
    pub instance: InstanceRecord,
    /// The topology.
    pub topology: Named,
    /// The partitioner's spec string.
    pub partitioner: String,
    /// The schedule simulated.
    pub schedule: &'static str,
    /// How messages are paid for.
    pub links: &'static str,
    /// Whether activations are computed once more.
    pub recompute: bool,
    /// `feasible`, or `unknown` where no candidate runs.
    pub status: &'static str,
    /// Simulated time of the best candidate for each microbatch of all pipelines, in milliseconds.
    pub objective: Option<f64>,
    /// There is none.
    pub lower_bound: Option<f64>,
    /// Wall-clock seconds.
    pub seconds: f64,
    /// Whether the independent verifier has passed the best split and mapping; false only where there is none.
    pub verified: bool,
    /// The candidates, the fastest first.
    pub candidates: Vec<CandidateRecord>,
    /// The copies of the best candidate.
    pub copies: Vec<CopyRecord>,
    /// Why the best candidate is the best, in words.
    pub reasons: Vec<String>,
}

impl PlanRecord {
    /// The record of `plan`.
    pub fn new(
        instance: InstanceRecord,
        topology: &Topology,
        options: &PlanOptions,
        plan: &Plan,
        seconds: f64,
    ) -> Self {
        let best = plan.best();
        let mut sorted: Vec<&Candidate> = plan.candidates.iter().collect();
        let key = |candidate: &Candidate| {
            let time = candidate.pipeline().map_or(f64::MAX, |pipeline| pipeline.time);
            (candidate.time().is_none(), time)
        };
        sorted.sort_by(|a, b| key(a).0.cmp(&key(b).0).then(key(a).1.total_cmp(&key(b).1)));
        let is_best = |candidate: &Candidate| best.is_some_and(|best| std::ptr::eq(best, candidate));
        let candidates = sorted.iter().map(|c| CandidateRecord::new(c, topology, is_best(c))).collect();
        let pipeline = best.and_then(Candidate::pipeline);
        Self {
            schema: PLAN_SCHEMA,
            instance,
            topology: Named { name: topology.name.clone(), count: topology.len() },
            partitioner: options.partitioner.clone(),
            schedule: options.schedule.name(),
            links: links_name(options.links),
            recompute: options.recompute,
            status: if best.is_some() { "feasible" } else { "unknown" },
            objective: pipeline.map(|pipeline| pipeline.time),
            lower_bound: None,
            seconds,
            verified: best.is_some(),
            candidates,
            copies: pipeline.map(copies).unwrap_or_default(),
            reasons: reasons(&sorted),
        }
    }

    /// The candidates as a table.
    pub fn sheet(&self) -> Sheet {
        let row = |candidate: &CandidateRecord| {
            let number = |value: Option<f64>| Cell::of(Cell::Number, value);
            let mapped = candidate.mapper.as_ref().zip(candidate.counted);
            vec![
                Cell::Number(candidate.stages as f64),
                Cell::Number(candidate.replicas as f64),
                Cell::Number(candidate.microbatches as f64),
                number(candidate.time),
                number(candidate.throughput.map(|rate| (rate * 100.0).round() / 100.0)),
                Cell::of(Cell::Ratio, candidate.bubble),
                number(candidate.stage_time),
                mapped.map_or(Cell::Empty, |(mapper, counted)| format!("{mapper} ({counted})").into()),
                Cell::of(Cell::Ratio, candidate.mapping_gap),
                Cell::of(Cell::Bytes, candidate.peak_memory),
                candidate.remark().into(),
            ]
        };
        let figures = ["S", "R", "MB", "time", "per second", "waiting", "slowest stage"].map(Column::figures);
        let mapping =
            [Column::words("mapped by"), Column::figures("gap"), Column::figures("memory"), Column::words("")];
        let Self { instance, topology, partitioner, schedule, links, recompute, .. } = self;
        let recomputed = if *recompute { "recomputation" } else { "no recomputation" };
        Sheet {
            caption: format!(
                "{} on {} ({} devices): {partitioner}; {schedule}, {links} messages, {recomputed}. Times in ms per \
                 microbatch.",
                instance.name, topology.name, topology.count
            ),
            columns: figures.into_iter().chain(mapping).collect(),
            rows: self.candidates.iter().map(row).collect(),
            notes: self.reasons.clone(),
        }
    }
}

impl CandidateRecord {
    /// What is to be said of it in a table.
    fn remark(&self) -> String {
        let best = Some("best".to_owned()).filter(|_| self.status == "best");
        best.into_iter().chain(self.reason.clone()).collect::<Vec<_>>().join(": ")
    }

    fn new(candidate: &Candidate, topology: &Topology, is_best: bool) -> Self {
        let pipeline = candidate.pipeline();
        let (status, reason) = match (&candidate.fate, pipeline.and_then(|pipeline| pipeline.overfull)) {
            (Fate::Planned(_), Some(device)) => {
                let Some(limit) = topology.devices[device].memory else { unreachable!("a limit is exceeded") };
                let name = &topology.devices[device].name;
                ("too-large", Some(format!("{name} holds {} only", bytes(limit))))
            }
            (Fate::Planned(pipeline), None) => (if is_best { "best" } else { "planned" }, fewer(candidate, pipeline)),
            (Fate::Failed(reason), _) => ("failed", Some(reason.clone())),
            (Fate::Skipped, _) => ("skipped", Some("not looked at within the limit".into())),
        };
        Self {
            stages: candidate.factoring.stages,
            replicas: candidate.factoring.replicas,
            microbatches: candidate.microbatches,
            status,
            reason,
            stage_time: pipeline.map(|pipeline| pipeline.stage_time),
            mapper: pipeline.map(|pipeline| pipeline.mapper.clone()),
            counted: pipeline.map(|pipeline| pipeline.counted.name()),
            mapping_gap: pipeline.and_then(|pipeline| pipeline.gap),
            time: pipeline.map(|pipeline| pipeline.time),
            throughput: pipeline.filter(|pipeline| pipeline.time > 0.0).map(|pipeline| 1e3 / pipeline.time),
            bubble: pipeline.map(|pipeline| pipeline.breakdown.idle / pipeline.breakdown.total()),
            peak_memory: pipeline.map(|pipeline| pipeline.peak_memory),
            breakdown: pipeline.map(|pipeline| {
                let Breakdown { compute, recompute, messages, all_reduce, idle } = pipeline.breakdown;
                BreakdownRecord { compute, recompute, messages, all_reduce, idle }
            }),
        }
    }
}

/// That the split has fewer stages than asked for.
fn fewer(candidate: &Candidate, pipeline: &MappedPipeline) -> Option<String> {
    let (asked, stages) = (candidate.factoring.stages, pipeline.problem.stages.stages.len());
    (stages < asked).then(|| format!("the split has {stages} of {asked} stages"))
}

fn copies(pipeline: &MappedPipeline) -> Vec<CopyRecord> {
    let verified = verify::mapping::check(&pipeline.problem, &pipeline.mapping);
    verified.map(|verified| CopyRecord::all(&pipeline.problem, &verified)).unwrap_or_default()
}

/// The name of a way to pay for messages, on the command line and in records.
pub fn links_name(links: Links) -> &'static str {
    match links {
        Links::Blocking => "blocking",
        Links::Overlapped => "overlapped",
        Links::Contended => "contended",
    }
}

/// Why the first candidate is better than the others that run, the fastest first.
fn reasons(sorted: &[&Candidate]) -> Vec<String> {
    let timed = sorted.iter().filter_map(|candidate| Some((*candidate, candidate.pipeline()?)));
    let mut timed = timed.filter(|(candidate, _)| candidate.time().is_some());
    let Some((best, pipeline)) = timed.next() else { return Vec::new() };
    let shares: Vec<String> = pipeline
        .breakdown
        .parts()
        .into_iter()
        .map(|(name, time)| (name, time / pipeline.breakdown.total()))
        .filter(|(_, share)| *share >= WORTH_TELLING)
        .map(|(name, share)| format!("{:.1} % {name}", 100.0 * share))
        .collect();
    let mut lines = vec![format!(
        "{} is the best: {} ms per microbatch. Its devices' time is {}.",
        named(best),
        number(pipeline.time),
        shares.join(", ")
    )];
    lines.extend(timed.map(|(other, slower)| difference(other, slower, pipeline)));
    lines
}

/// By how much a candidate is slower than the best one, and through what.
fn difference(candidate: &Candidate, slower: &MappedPipeline, best: &MappedPipeline) -> String {
    let total = best.breakdown.total();
    let parts = slower.breakdown.parts().into_iter().zip(best.breakdown.parts());
    let mut changes: Vec<(&str, f64)> = parts.map(|((name, a), (_, b))| (name, (a - b) / total)).collect();
    changes.retain(|(_, change)| change.abs() >= WORTH_TELLING);
    changes.sort_by(|a, b| b.1.abs().total_cmp(&a.1.abs()));
    let changes: Vec<String> =
        changes.into_iter().map(|(name, change)| format!("{:+.1} % {name}", 100.0 * change)).collect();
    let through = if changes.is_empty() { String::new() } else { format!(": {}", changes.join(", ")) };
    format!("{} takes {:.1} % longer{through}.", named(candidate), 100.0 * (slower.time / best.time - 1.0))
}

fn named(candidate: &Candidate) -> String {
    let Candidate { factoring, microbatches, .. } = candidate;
    format!("(S, R, MB) = ({}, {}, {microbatches})", factoring.stages, factoring.replicas)
}
