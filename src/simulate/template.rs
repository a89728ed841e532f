//! What one microbatch asks of the resources: the operations that every microbatch repeats.

use super::pipeline::{Pass, Pipeline, Transfers, Way};

/// A kind of work.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Work {
    /// Activations are computed once more for the backward pass.
    Recompute,
    /// A block fetches its inputs.
    Input,
    /// A block computes.
    Compute,
    /// A block hands on its outputs.
    Output,
    /// The copies of a stage bring their gradients together.
    AllReduce,
    /// A link carries what a block sends to another one.
    Message,
}

impl Work {
    /// Whether a stage keeps activations while it runs.
    pub(super) fn holds_activations(self) -> bool {
        matches!(self, Work::Recompute | Work::Input | Work::Compute)
    }

    /// The kind's name in JSON and in traces.
    pub fn name(self) -> &'static str {
        match self {
            Work::Recompute => "recompute",
            Work::Input => "input",
            Work::Compute => "compute",
            Work::Output => "output",
            Work::AllReduce => "all-reduce",
            Work::Message => "message",
        }
    }
}

/// What a track of the timeline belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum TrackKind {
    /// A device.
    Device(usize),
    /// The engine that moves a device's data, in both directions.
    Engine(usize),
    /// The engine that moves data onto a device.
    Inputs(usize),
    /// The engine that moves data off a device.
    Outputs(usize),
    /// The all-reduces of a device that run beside its compute.
    AllReduces(usize),
    /// The messages from one device to another.
    Link(usize, usize),
    /// The messages that devices send over a channel of theirs, and those that they receive where the sender has none.
    Channel {
        /// Its index among the pipeline's.
        index: usize,
        /// Whether the messages leave its devices.
        is_out: bool,
    },
}

/// Where operations run, and are shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Track {
    /// What it belongs to.
    pub kind: TrackKind,
    /// Whether it runs one operation at a time.
    pub exclusive: bool,
}

/// One piece of work for each microbatch.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Operation {
    /// What it is.
    pub work: Work,
    /// The block that it is done for; of a message, the block that sends.
    pub block: usize,
    /// Where it runs.
    pub track: usize,
    /// How long it takes.
    pub duration: f64,
}

/// The operations of a microbatch and what waits for what. Devices' tracks come first, in their order.
#[derive(Debug, Clone, PartialEq)]
pub struct Template {
    /// The operations; those of a block on its device follow one another in the order in which they run.
    pub operations: Vec<Operation>,
    /// Pairs of operations, of which the second waits for the first.
    pub dependencies: Vec<(usize, usize)>,
    /// Where they run.
    pub tracks: Vec<Track>,
}

/// What is done of a pipeline.
#[derive(Debug, Clone, Copy)]
pub(super) struct Scope {
    /// Whether there is a backward pass.
    pub backward: bool,
    /// Whether activations are computed once more for it.
    pub recompute: bool,
    /// Whether each microbatch ends with an all-reduce of its own.
    pub all_reduce: bool,
}

impl Template {
    pub(super) fn new(pipeline: &Pipeline, scope: Scope) -> Self {
        let mut builder = Builder::new(pipeline);
        for block in 0..pipeline.blocks.len() {
            if pipeline.blocks[block].pass == Pass::Forward || scope.backward {
                builder.add_block(block, scope.recompute);
            }
        }
        for flow in &pipeline.flows {
            builder.connect(flow.source, flow.target, flow.way);
        }
        if scope.all_reduce {
            pipeline.all_reduces.iter().for_each(|reduce| builder.add_all_reduce(&reduce.after, reduce.time(1)));
        }
        builder.template
    }

    /// How long each track is busy with one microbatch.
    pub fn busy(&self) -> Vec<f64> {
        let mut busy = vec![0.0; self.tracks.len()];
        self.operations.iter().for_each(|operation| busy[operation.track] += operation.duration);
        busy
    }

    /// The track of this kind, new where there is none.
    pub(super) fn track(&mut self, kind: TrackKind, exclusive: bool) -> usize {
        self.tracks.iter().position(|track| track.kind == kind).unwrap_or_else(|| {
            self.tracks.push(Track { kind, exclusive });
            self.tracks.len() - 1
        })
    }
}

/// Where a block's operations are.
#[derive(Clone, Copy)]
struct Place {
    input: Option<usize>,
    compute: usize,
    output: Option<usize>,
}

struct Builder<'a> {
    pipeline: &'a Pipeline,
    template: Template,
    places: Vec<Option<Place>>,
}

impl<'a> Builder<'a> {
    fn new(pipeline: &'a Pipeline) -> Self {
        let devices = (0..pipeline.devices.len()).map(|d| Track { kind: TrackKind::Device(d), exclusive: true });
        let template = Template { operations: Vec::new(), dependencies: Vec::new(), tracks: devices.collect() };
        Self { pipeline, template, places: vec![None; pipeline.blocks.len()] }
    }

    fn add(&mut self, work: Work, block: usize, track: usize, duration: f64) -> usize {
        self.template.operations.push(Operation { work, block, track, duration });
        self.template.operations.len() - 1
    }

    fn add_block(&mut self, i: usize, recompute: bool) {
        let (block, device) = (&self.pipeline.blocks[i], self.pipeline.device_of(i));
        let again = if recompute { self.add_recomputation(i) } else { None };
        let input = (block.input > 0.0).then(|| {
            let track = self.payer(device, TrackKind::Inputs);
            self.add(Work::Input, i, track, block.input)
        });
        let compute = self.add(Work::Compute, i, device, block.compute);
        let output = (block.output > 0.0).then(|| {
            let track = self.payer(device, TrackKind::Outputs);
            self.add(Work::Output, i, track, block.output)
        });
        let before = again.into_iter().chain(input).map(|earlier| (earlier, compute));
        self.template.dependencies.extend(before.chain(output.map(|later| (compute, later))));
        self.places[i] = Some(Place { input, compute, output });
    }

    /// The first backward block of a stage computes again what the stage computed in its forward pass.
    fn add_recomputation(&mut self, i: usize) -> Option<usize> {
        let blocks = &self.pipeline.blocks;
        let of_stage =
            |pass: Pass| (0..i).filter(move |&j| blocks[j].stage == blocks[i].stage && blocks[j].pass == pass);
        if blocks[i].pass != Pass::Backward || of_stage(Pass::Backward).next().is_some() {
            return None;
        }
        let duration: f64 = of_stage(Pass::Forward).map(|j| blocks[j].compute).sum();
        let before: Vec<usize> = of_stage(Pass::Forward).filter_map(|j| Some(self.places[j]?.compute)).collect();
        let again = (duration > 0.0).then(|| self.add(Work::Recompute, i, self.pipeline.device_of(i), duration))?;
        self.template.dependencies.extend(before.into_iter().map(|forward| (forward, again)));
        Some(again)
    }

    /// The track that pays for the transfers of a device in the direction of `engine`.
    fn payer(&mut self, device: usize, engine: fn(usize) -> TrackKind) -> usize {
        match self.pipeline.transfers {
            Transfers::OnDevice | Transfers::Links { .. } => device,
            Transfers::Engine => self.template.track(TrackKind::Engine(device), true),
            Transfers::TwoEngines => self.template.track(engine(device), true),
        }
    }

    fn connect(&mut self, source: usize, target: usize, way: Way) {
        let (Some(from), Some(to)) = (self.places[source], self.places[target]) else { return };
        let (sent, fetched) = (from.output.unwrap_or(from.compute), to.input.unwrap_or(to.compute));
        match way {
            Way::Kept => self.template.dependencies.push((from.compute, to.compute)),
            Way::Shared => self.template.dependencies.extend(from.input.map(|input| (input, to.compute))),
            Way::Sent(time) if time > 0.0 => {
                let contended = self.pipeline.transfers == Transfers::Links { contended: true };
                let carrier = self.carrier(self.pipeline.device_of(source), self.pipeline.device_of(target), contended);
                let track = self.template.track(carrier, contended);
                let message = self.add(Work::Message, source, track, time);
                self.template.dependencies.extend([(sent, message), (message, fetched)]);
            }
            Way::Sent(_) => self.template.dependencies.push((sent, fetched)),
        }
    }

    /// What carries the messages from one device to another: where they have to queue the first channel that the one shares, else
    /// that of the other, else a link of their own.
    fn carrier(&self, from: usize, to: usize, contended: bool) -> TrackKind {
        let channels = &self.pipeline.channels;
        let channel = |near, far| channels.iter().position(|channel| channel.carries(near, far) > 0);
        let out = || channel(from, to).map(|index| TrackKind::Channel { index, is_out: true });
        let to_them = || channel(to, from).map(|index| TrackKind::Channel { index, is_out: false });
        contended.then(|| out().or_else(to_them)).flatten().unwrap_or(TrackKind::Link(from, to))
    }

    fn add_all_reduce(&mut self, after: &[usize], time: f64) {
        let ends: Vec<Place> = after.iter().filter_map(|&block| self.places[block]).collect();
        if ends.len() < after.len() {
            return;
        }
        for &block in after {
            let track = all_reduce_track(&mut self.template, self.pipeline, block);
            let reduce = self.add(Work::AllReduce, block, track, time);
            self.template.dependencies.extend(ends.iter().map(|end| (end.compute, reduce)));
        }
    }
}

/// The track of the all-reduce after `block`.
pub(super) fn all_reduce_track(template: &mut Template, pipeline: &Pipeline, block: usize) -> usize {
    let device = pipeline.device_of(block);
    match pipeline.transfers {
        Transfers::OnDevice => device,
        _ => template.track(TrackKind::AllReduces(device), true),
    }
}
