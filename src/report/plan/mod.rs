//! Records, tables and pictures of plans.

mod many;
mod plot;
mod serving;

pub use many::many;
pub use plot::{breakdown, plot};
pub use serving::ServiceRecord;

use serde::Serialize;

use super::mapping::{CopyRecord, Named};
use super::record::InstanceRecord;
use super::sheet::{Cell, Column, Sheet};
use crate::mapping::Topology;
use crate::plan::{BEST, Breakdown, Candidate, Fate, MappedPipeline, Plan, PlanOptions};
use crate::simulate::{Collective, Links};
use crate::units::{bytes, number, percent};
use crate::verify;

/// Version of [`PlanRecord`]: it changes when a field changes its meaning or goes.
pub const PLAN_SCHEMA: &str = "dagsplit-plan/2";

/// Parts of a difference below this are not worth a word.
const WORTH_TELLING: f64 = 0.005;

/// Where the devices' time goes, in milliseconds of a step, summed over devices.
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
    /// Stages that it has, or may have at most, those of a device counted as one: S.
    pub stages: usize,
    /// Copies of each, the data degree: R.
    pub replicas: usize,
    /// Devices that share the operators of each copy.
    pub tensor_degree: usize,
    /// Samples of a microbatch.
    pub microbatch_size: usize,
    /// Microbatches of each pipeline.
    pub microbatches: usize,
    /// Chunks of the pipeline on each device.
    pub chunks: usize,
    /// The schedule.
    pub schedule: &'static str,
    /// Whether whole stages compute their activations once more.
    pub recompute: bool,
    /// `best`, `planned`, `too-large`, `infeasible`, `failed`, `beaten` or `skipped`.
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
    /// The method of its split.
    pub method: Option<String>,
    /// Simulated time of a step.
    pub time: Option<f64>,
    /// A time that no step of such a plan is below.
    pub lower_bound: f64,
    /// What proves it: `work`, `stages in line`, `dp`, `degrees`, `chunks` or `joint search`.
    pub lower_bound_by: &'static str,
    /// Samples per second.
    pub throughput: Option<f64>,
    /// The part of the time in which devices wait.
    pub bubble: Option<f64>,
    /// The most bytes that a device holds at a time.
    pub peak_memory: Option<f64>,
    /// Where the devices' time goes.
    pub breakdown: Option<BreakdownRecord>,
    /// What it is worth in serving, if it serves and fits.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub serving: Option<ServiceRecord>,
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
    /// Samples of a step.
    pub batch: usize,
    /// The partitioner's spec string; none where the exact methods split.
    pub partitioner: Option<String>,
    /// How messages are paid for.
    pub links: &'static str,
    /// How all-reduces are done, where not in rings.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub all_reduce: Option<&'static str>,
    /// In how many parts all-reduces are done, where they are not done as a whole.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub buckets: Option<usize>,
    /// How many sets of nodes were to be kept on one device each, if any: the bound is for such splits.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub together: Option<usize>,
    /// The tokens that each pipeline had to have room for, if any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cache_tokens: Option<usize>,
    /// `optimal`, `feasible`, `infeasible`, or `unknown` where no candidate runs.
    pub status: &'static str,
    /// Simulated time of a step of the best candidate, in milliseconds.
    pub objective: Option<f64>,
    /// A time that no step of any candidate is below, whatever split and mapping.
    pub lower_bound: Option<f64>,
    /// What proves it, as in the candidate that has it.
    pub lower_bound_by: Option<&'static str>,
    /// How far the objective is above the bound, as a part of the objective.
    pub gap: Option<f64>,
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

/// What stands below plans on devices that share channels.
const CHANNELS_NOTE: &str =
    "The bounds and the mappers take the topology's channels for wide enough; the simulations do not.";

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
        let is_best = |candidate: &Candidate| best.is_some_and(|best| std::ptr::eq(best, candidate));
        let front = plan.front();
        let candidate = |c: &Candidate| {
            let on_front = front.iter().any(|&other| std::ptr::eq(other, c));
            let serving = c.service().map(|service| ServiceRecord::new(service, on_front));
            CandidateRecord { serving, ..CandidateRecord::new(c, plan.batch, is_best(c)) }
        };
        let pipeline = best.and_then(Candidate::pipeline);
        Self {
            schema: PLAN_SCHEMA,
            instance,
            topology: Named { name: topology.name.clone(), count: topology.len() },
            batch: plan.batch,
            partitioner: options.partitioner.clone(),
            links: links_name(options.links),
            all_reduce: Some(options.all_reduce).filter(|&way| way != Collective::Ring).map(Collective::name),
            buckets: Some(options.buckets).filter(|&buckets| buckets > 1),
            together: Some(options.together.len()).filter(|&sets| sets > 0),
            cache_tokens: Some(options.memory.cache_tokens).filter(|&tokens| tokens > 0),
            status: plan.status().name(),
            objective: pipeline.map(|pipeline| pipeline.time),
            lower_bound: plan.lower_bound(),
            lower_bound_by: plan.bound_by(),
            gap: plan.gap(),
            seconds,
            verified: best.is_some(),
            candidates: plan.candidates.iter().map(candidate).collect(),
            copies: pipeline.map(copies).unwrap_or_default(),
            reasons: reasons(plan)
                .into_iter()
                .chain((!topology.channels.is_empty()).then(|| CHANNELS_NOTE.to_owned()))
                .collect(),
        }
    }

    /// The best candidate, where any runs and fits.
    pub fn best(&self) -> Option<&CandidateRecord> {
        self.candidates.iter().find(|candidate| candidate.status == "best")
    }

    /// Whether it tells of plans that serve.
    pub fn serves(&self) -> bool {
        self.candidates.iter().any(|candidate| candidate.serving.is_some())
    }

    /// The best candidates as a table, or all on the front of those that serve, and all that do not run for a reason.
    pub fn sheet(&self) -> Sheet {
        let (simulated, others): (Vec<&CandidateRecord>, Vec<&CandidateRecord>) =
            self.candidates.iter().partition(|candidate| candidate.time.is_some());
        let best: Vec<&CandidateRecord> = match self.serves() {
            true => serving::shown(self),
            false => simulated.into_iter().take(BEST).collect(),
        };
        let shown = best.iter().chain(others.iter().filter(|other| other.status == "failed"));
        let Self { instance, topology, batch, links, .. } = self;
        let way = self.all_reduce.map_or_else(String::new, |way| format!(", all-reduces: {way}"));
        let parts = self.buckets.map_or_else(String::new, |buckets| format!(", all-reduces in {buckets} parts"));
        Sheet {
            caption: format!(
                "{} on {} ({} devices): steps of {batch} samples, {links} messages{way}{parts}. Times in ms.",
                instance.name, topology.name, topology.count
            ),
            columns: self.columns().chain([Column::words("")]).collect(),
            rows: shown.map(|candidate| self.row(candidate).chain([candidate.remark().into()]).collect()).collect(),
            notes: self.reasons.iter().cloned().chain(self.left_out(best.len())).collect(),
        }
    }

    /// All candidates as a table, in their order, each with its name and what became of it.
    pub fn all(&self) -> Sheet {
        let row = |candidate: &CandidateRecord| {
            let (name, status) = (candidate.name().into(), candidate.status.into());
            std::iter::once(name).chain(self.row(candidate)).chain([status]).collect()
        };
        let name = std::iter::once(Column::words("(S, R, T, MB)"));
        Sheet {
            columns: name.chain(self.columns()).chain([Column::words("status")]).collect(),
            rows: self.candidates.iter().map(row).collect(),
            ..Sheet::default()
        }
    }

    /// The columns of [`Self::row`].
    fn columns(&self) -> impl Iterator<Item = Column> {
        columns().chain(self.serves().then(serving::columns).into_iter().flatten())
    }

    fn row(&self, candidate: &CandidateRecord) -> impl Iterator<Item = Cell> {
        candidate.row().chain(self.serves().then(|| serving::cells(candidate)).into_iter().flatten())
    }

    /// How many candidates the table leaves out that shows so many simulated ones, by what became of them.
    fn left_out(&self, shown: usize) -> Option<String> {
        let count = |status: &str| self.candidates.iter().filter(|candidate| candidate.status == status).count();
        let simulated = self.candidates.iter().filter(|candidate| candidate.time.is_some()).count();
        let parts = [
            (
                simulated.saturating_sub(shown),
                if self.serves() { "are beaten or too large" } else { "are slower or too large" },
            ),
            (count("beaten"), "are slower by their bounds"),
            (count("infeasible"), "fit in no memory, which is proven"),
            (count("skipped"), "were not looked at within the limit"),
        ];
        let told: Vec<String> = parts.iter().filter(|(n, _)| *n > 0).map(|(n, what)| format!("{n} {what}")).collect();
        (!told.is_empty()).then(|| format!("Not shown: {}.", told.join(", ")))
    }
}

/// The columns of [`CandidateRecord::row`].
fn columns() -> impl Iterator<Item = Column> {
    let shape = ["S", "R", "T", "MB"].map(Column::figures);
    let times = [Column::words("schedule"), Column::figures("step"), Column::figures("bound")];
    let rest = ["per second", "waiting", "memory"].map(Column::figures);
    shape.into_iter().chain(times).chain(rest).chain([Column::words("split and mapped by")])
}

impl CandidateRecord {
    fn row(&self) -> impl Iterator<Item = Cell> {
        let number = |value: Option<f64>| Cell::of(Cell::Number, value);
        let methods = [self.method.as_deref(), self.mapper.as_deref()].into_iter().flatten().collect::<Vec<_>>();
        let size = if self.microbatch_size > 1 { format!(" of {}", self.microbatch_size) } else { String::new() };
        let chunks = in_chunks(self.chunks, ", ");
        let again = if self.recompute { ", recomputed" } else { "" };
        let row = [
            Cell::Number(self.stages as f64),
            Cell::Number(self.replicas as f64),
            Cell::Number(self.tensor_degree as f64),
            format!("{}{size}", self.microbatches).into(),
            format!("{}{chunks}{again}", self.schedule).into(),
            number(self.time),
            Cell::Number(self.lower_bound),
            number(self.throughput.map(|rate| (rate * 100.0).round() / 100.0)),
            Cell::of(Cell::Ratio, self.bubble),
            Cell::of(Cell::Bytes, self.peak_memory),
            methods.join(", ").into(),
        ];
        row.into_iter()
    }

    /// That it is the best, and why it does not count or what is odd about it.
    fn remark(&self) -> String {
        let best = Some("best".to_owned()).filter(|_| self.status == "best");
        best.into_iter().chain(self.reason.clone()).collect::<Vec<String>>().join(": ")
    }

    /// What tells it from the others.
    fn name(&self) -> String {
        let Self { stages, replicas, tensor_degree, microbatches, chunks, .. } = *self;
        name([stages, replicas, tensor_degree, microbatches], (self.schedule, chunks), self.recompute)
    }

    fn new(candidate: &Candidate, batch: usize, is_best: bool) -> Self {
        let pipeline = candidate.pipeline();
        let (status, reason) = match &candidate.fate {
            Fate::Planned(pipeline) => match pipeline.overfull {
                Some(device) => ("too-large", Some(overfull(pipeline, device))),
                None => (if is_best { "best" } else { "planned" }, None),
            },
            Fate::Refuted(reason) => ("infeasible", Some(reason.clone())),
            Fate::Failed(reason) => ("failed", Some(reason.clone())),
            Fate::Beaten => ("beaten", Some("its bound is above the time of the best".into())),
            Fate::Skipped => ("skipped", Some("not looked at within the limit".into())),
        };
        Self {
            stages: candidate.stages(),
            replicas: candidate.shape.replicas,
            tensor_degree: candidate.shape.tensor,
            microbatch_size: candidate.microbatch_size,
            microbatches: candidate.microbatches,
            chunks: candidate.chunks,
            schedule: candidate.schedule.name(),
            recompute: candidate.recompute,
            status,
            reason,
            stage_time: pipeline.map(|pipeline| pipeline.stage_time),
            mapper: pipeline.map(|pipeline| pipeline.mapper.clone()),
            counted: pipeline.map(|pipeline| pipeline.counted.name()),
            mapping_gap: pipeline.and_then(|pipeline| pipeline.gap),
            method: pipeline.map(|pipeline| pipeline.method.clone()),
            time: pipeline.map(|pipeline| pipeline.time),
            lower_bound: candidate.bound,
            lower_bound_by: candidate.bound_by,
            throughput: pipeline.filter(|p| p.time > 0.0).map(|p| 1e3 * batch as f64 / p.time),
            bubble: pipeline.map(|pipeline| pipeline.breakdown.idle / pipeline.breakdown.total()),
            peak_memory: pipeline.map(|pipeline| pipeline.peak_memory),
            serving: None,
            breakdown: pipeline.map(|pipeline| {
                let Breakdown { compute, recompute, messages, all_reduce, idle } = pipeline.breakdown;
                BreakdownRecord { compute, recompute, messages, all_reduce, idle }
            }),
        }
    }
}

/// That a device holds too little.
fn overfull(pipeline: &MappedPipeline, device: usize) -> String {
    let device = &pipeline.problem.topology.devices[device];
    format!("{} holds {} only", device.name, device.memory.map(bytes).unwrap_or_default())
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

/// How good the best candidate is, and why it is better than the others that run.
fn reasons(plan: &Plan) -> Vec<String> {
    let mut timed = plan.candidates.iter().filter(|candidate| candidate.time().is_some());
    let Some((best, pipeline)) = timed.next().and_then(|best| Some((best, best.pipeline()?))) else {
        return Vec::new();
    };
    let shares: Vec<String> = pipeline
        .breakdown
        .parts()
        .into_iter()
        .map(|(name, time)| (name, time / pipeline.breakdown.total()))
        .filter(|(_, share)| *share >= WORTH_TELLING)
        .map(|(name, share)| format!("{:.1} % {name}", 100.0 * share))
        .collect();
    let within = plan.lower_bound().zip(plan.gap()).map_or_else(String::new, |(bound, gap)| {
        format!("No plan looked at takes less than {} ms, so it is within {} of any. ", number(bound), percent(gap))
    });
    let mut lines = vec![format!(
        "{} is the best: {} ms for a step. {within}Its devices' time is {}.",
        named(best),
        number(pipeline.time),
        shares.join(", ")
    )];
    if let Some(front) = serving::reason(plan) {
        lines.push(front);
        return lines;
    }
    let others = timed.take(BEST - 1).filter_map(|other| Some((other, other.pipeline()?)));
    lines.extend(others.map(|(other, slower)| difference(other, slower, pipeline)));
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
    format!("(S, R, T, MB) = {}", name_of(candidate))
}

/// What tells a candidate from the others.
fn name_of(candidate: &Candidate) -> String {
    let Candidate { shape, microbatches, chunks, schedule, recompute, .. } = candidate;
    let shape = [candidate.stages(), shape.replicas, shape.tensor, *microbatches];
    name(shape, (schedule.name(), *chunks), *recompute)
}

/// The name of a candidate by its stages, replicas, tensor degree and microbatches, and by its schedule with so many chunks.
fn name(
    [stages, replicas, tensor, microbatches]: [usize; 4],
    (schedule, chunks): (&str, usize),
    recomputes: bool,
) -> String {
    let chunks = in_chunks(chunks, " of ");
    let again = if recomputes { " with recomputation" } else { "" };
    format!("({stages}, {replicas}, {tensor}, {microbatches}) under {schedule}{chunks}{again}")
}

/// The number of chunks of each device after `before`, where there are several.
fn in_chunks(chunks: usize, before: &str) -> String {
    if chunks > 1 { format!("{before}{chunks} chunks") } else { String::new() }
}
