//! When everything ran.

use super::options::Options;
use super::pipeline::{Pass, Pipeline};
use super::schedule::Schedule;
use super::template::{Operation, Template, Track, Work};
use crate::graph::Graph;

/// A finished simulation: when every operation ran for every microbatch.
#[derive(Debug, Clone)]
pub struct Simulation {
    /// What was simulated; under a schedule that splits backward passes, with the gradients of the weights apart.
    pub pipeline: Pipeline,
    /// Under which schedule: its name.
    pub schedule: &'static str,
    /// What was asked for.
    pub options: Options,
    pub(super) stashes_weights: bool,
    template: Template,
    /// What waits for what among the operations that each microbatch repeats.
    pub(super) waits: Graph,
    /// How many these are; the others ran once, at the end.
    pub(super) repeated: usize,
    starts: Vec<f64>,
}

/// An operation that ran.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Span {
    /// The operation's index in [`Simulation::template`].
    pub operation: usize,
    /// The microbatch that it ran for; `None` where it ran for all.
    pub microbatch: Option<usize>,
    /// When it began.
    pub start: f64,
    /// When it ended.
    pub end: f64,
}

impl Simulation {
    pub(super) fn new(
        pipeline: Pipeline,
        schedule: &dyn Schedule,
        options: Options,
        (template, waits, repeated): (Template, Graph, usize),
        starts: Vec<f64>,
    ) -> Self {
        let stashes_weights = schedule.stashes_weights();
        Self { pipeline, schedule: schedule.name(), options, stashes_weights, template, waits, repeated, starts }
    }

    /// What each microbatch did, and behind it what was done once.
    pub fn template(&self) -> &Template {
        &self.template
    }

    /// The operation that ran in `span`.
    pub fn operation(&self, span: &Span) -> &Operation {
        &self.template.operations[span.operation]
    }

    /// The track that `span` is on.
    pub fn track(&self, span: &Span) -> Track {
        self.template.tracks[self.operation(span).track]
    }

    /// The pass that `span` belongs to.
    pub fn pass(&self, span: &Span) -> Pass {
        self.pipeline.blocks[self.operation(span).block].pass
    }

    /// What ran, microbatch by microbatch, then what ran once.
    pub fn spans(&self) -> impl Iterator<Item = Span> + '_ {
        let all = self.options.microbatches * self.repeated;
        self.starts.iter().enumerate().map(move |(task, &start)| {
            let (operation, microbatch) = match task < all {
                true => (task % self.repeated, Some(task / self.repeated)),
                false => (self.repeated + task - all, None),
            };
            Span { operation, microbatch, start, end: start + self.template.operations[operation].duration }
        })
    }

    /// When everything is done.
    pub fn makespan(&self) -> f64 {
        self.spans().map(|span| span.end).fold(0.0, f64::max)
    }

    /// Microbatches of all pipelines.
    pub fn samples(&self) -> usize {
        self.options.microbatches * self.pipeline.replicas
    }

    /// Microbatches of all pipelines per time unit; `None` where they take no time.
    pub fn throughput(&self) -> Option<f64> {
        let makespan = self.makespan();
        (makespan > 0.0).then(|| self.samples() as f64 / makespan)
    }

    /// The time that each device spends on each kind of work: its compute, and what it moves where devices pay for
    /// transfers and all-reduces themselves. Work beside the devices is not counted.
    pub fn work(&self) -> Vec<DeviceWork> {
        let mut work = vec![DeviceWork::default(); self.pipeline.devices.len()];
        for (i, operation) in self.template.operations.iter().enumerate() {
            let times = if i < self.repeated { self.options.microbatches as f64 } else { 1.0 };
            let time = times * operation.duration;
            let Some(device) = work.get_mut(operation.track) else { continue };
            match operation.work {
                Work::Compute => device.compute += time,
                Work::Recompute => device.recompute += time,
                Work::Input | Work::Output | Work::Message => device.transfers += time,
                Work::AllReduce => device.all_reduces += time,
            }
        }
        work
    }

    /// The share of the makespan in which the devices that have work are idle, on average; 0 where none has any.
    pub fn bubble(&self) -> f64 {
        let busy: Vec<f64> = self.work().iter().map(DeviceWork::busy).filter(|&busy| busy > 0.0).collect();
        let makespan = self.makespan();
        if makespan > 0.0 && !busy.is_empty() {
            1.0 - busy.iter().sum::<f64>() / (makespan * busy.len() as f64)
        } else {
            0.0
        }
    }
}

/// How long a device is busy, by kind of work.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct DeviceWork {
    /// Computing.
    pub compute: f64,
    /// Computing activations once more.
    pub recompute: f64,
    /// Moving data.
    pub transfers: f64,
    /// Bringing gradients together.
    pub all_reduces: f64,
}

impl DeviceWork {
    /// All of it.
    pub fn busy(&self) -> f64 {
        self.compute + self.recompute + self.transfers + self.all_reduces
    }
}
