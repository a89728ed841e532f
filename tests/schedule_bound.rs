//! The bound on all schedules of a pipeline, against a search through all of them.

use dagsplit::mapping::{Counted, Device, Mapping, MappingProblem, Message, Stage, StageCost, StageGraph, Topology};
use dagsplit::simulate::schedule::{self, Order, Schedule, Setting, Synchronise};
use dagsplit::simulate::{
    self, AllReduce, Block, Flow, Links, Options, Pass, Pipeline, Simulation, Transfers, Unsuitable, Way, simulate,
};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;

/// A tiny pipeline in which everything counts.
#[derive(Debug, Clone)]
struct Tiny {
    /// The times of each stage's forward and backward pass.
    times: Vec<(f64, f64)>,
    /// The device of each stage.
    devices: Vec<usize>,
    /// The time of a message between neighbours on two devices.
    message: f64,
    /// Whether messages take the time of both devices, or pass beside them.
    links: Links,
    /// How many bytes each stage keeps for a microbatch and has weights of, and each device has room for.
    kept: Vec<usize>,
    parameters: Vec<usize>,
    room: Vec<usize>,
    /// Whether a stage keeps its weights once for each microbatch.
    stashes: bool,
    microbatches: usize,
    /// The share of the backward pass that the gradients of the weights take, where they are apart.
    weights: Option<f64>,
}

fn tiny() -> impl Strategy<Value = Tiny> {
    let shape = prop_oneof![
        (Just(vec![0, 1]), 2..5usize),
        (Just(vec![0, 1, 2]), 2..4usize),
        (Just(vec![0, 1, 0]), 2..4usize),
        (Just(vec![0, 1, 1, 0]), 2..3usize),
    ];
    let weights = prop_oneof![Just(None), (1..5u8).prop_map(|quarters| Some(f64::from(quarters) / 4.0))];
    let links = select(vec![Links::Blocking, Links::Overlapped]);
    let stage = (1..4u8, 1..5u8, 0..3usize, 0..3usize);
    (vec(stage, 4), shape, 0..3u8, links, vec(0..3usize, 3), weights, any::<bool>()).prop_map(
        |(times, (devices, microbatches), message, links, spare, weights, stashes)| {
            let times = &times[..devices.len()];
            let least = |device: usize| {
                let on_device = devices.iter().zip(times).filter(|&(&other, _)| other == device);
                on_device.map(|(_, &(_, _, kept, parameters))| kept + parameters).sum::<usize>()
            };
            let used = devices.iter().max().unwrap() + 1;
            Tiny {
                times: times.iter().map(|&(f, b, ..)| (f64::from(f), f64::from(b))).collect(),
                kept: times.iter().map(|&(_, _, kept, _)| kept).collect(),
                parameters: times.iter().map(|&(.., parameters)| parameters).collect(),
                message: f64::from(message),
                links,
                room: (0..used).map(|device| least(device) + spare[device]).collect(),
                devices,
                microbatches,
                weights,
                stashes,
            }
        },
    )
}

impl Tiny {
    fn pipeline(&self) -> Pipeline {
        let stage = |(i, &(forward, backward)): (usize, &(f64, f64))| Stage {
            name: "stage".into(),
            forward,
            backward,
            parameter_bytes: self.parameters[i] as f64,
            memory: (self.parameters[i] + self.kept[i]) as f64,
            lasting_bytes: None,
            working_bytes: 0.0,
        };
        let message = |source, target| Message { source, target, bytes: self.message };
        let device = |&room: &usize| Device { memory: Some(room as f64), ..Device::new("GPU") };
        let problem = MappingProblem {
            stages: StageGraph {
                name: "tiny".into(),
                stages: self.times.iter().enumerate().map(stage).collect(),
                messages: (1..self.times.len()).flat_map(|i| [message(i - 1, i), message(i, i - 1)]).collect(),
            },
            replicas: 1,
            topology: Topology::new("links", "made up", self.room.iter().map(device).collect(), |_, _| 1.0),
            cost: StageCost::additive(Counted::Both),
        };
        let mapping = Mapping { devices: self.devices.clone() };
        let mut pipeline = Pipeline::of_mapping(&problem, &mapping, self.links).unwrap();
        pipeline.weight_gradient = self.weights.unwrap_or_default();
        pipeline
    }

    fn simulate(&self, schedule: &dyn Schedule) -> Option<Simulation> {
        simulate(&self.pipeline(), schedule, Options { microbatches: self.microbatches, recompute: false }).ok()
    }

    /// The bound of all schedules within the memory, from one that keeps within it.
    fn bound(&self) -> f64 {
        let splits = self.weights.is_some();
        self.simulate(&Staggered { splits, stashes: self.stashes, pace: usize::MAX }).unwrap().lower_bound()
    }

    /// The time of the message between two neighbours.
    fn between(&self, stage: usize, other: usize) -> f64 {
        if self.devices[stage] == self.devices[other] { 0.0 } else { self.message }
    }

    /// The kinds of a stage's tasks and their times: forward, backward, gradients of the weights.
    fn durations(&self, stage: usize) -> Vec<f64> {
        let neighbours = [stage.checked_sub(1), Some(stage + 1).filter(|&next| next < self.times.len())];
        let messages: f64 = match self.links {
            Links::Blocking => neighbours.into_iter().flatten().map(|other| self.between(stage, other)).sum(),
            _ => 0.0,
        };
        let (forward, backward) = self.times[stage];
        match self.weights {
            Some(share) => vec![forward + messages, backward * (1.0 - share) + messages, backward * share],
            None => vec![forward + messages, backward + messages],
        }
    }
}

/// Each microbatch as many blocks behind the one before; one after another where these are all.
struct Staggered {
    splits: bool,
    stashes: bool,
    pace: usize,
}

impl Schedule for Staggered {
    fn name(&self) -> &'static str {
        "staggered"
    }

    fn synchronise(&self) -> Synchronise {
        Synchronise::AtTheEnd
    }

    fn splits_backward(&self) -> bool {
        self.splits
    }

    fn stashes_weights(&self) -> bool {
        self.stashes
    }

    fn order(&self, setting: &Setting) -> Result<Order, Unsuitable> {
        let blocks = setting.pipeline.blocks.len();
        let each = (0..setting.microbatches).flat_map(|microbatch| (0..blocks).map(move |block| (block, microbatch)));
        let mut all: Vec<(usize, usize)> = each.collect();
        all.sort_by_key(|&(block, microbatch)| block + microbatch * self.pace.min(blocks));
        let mut turns = vec![Vec::new(); setting.pipeline.devices.len()];
        for (block, microbatch) in all {
            turns[setting.pipeline.device_of(block)].push(schedule::Turn { block, microbatch });
        }
        Ok(Order::Turns(turns))
    }
}

/// All orders in which devices can work, each task as early as its order allows: the shortest makespan is among them.
struct Search<'a> {
    tiny: &'a Tiny,
    durations: Vec<Vec<f64>>,
    /// When each task ended, by microbatch, stage and kind.
    ends: Vec<Option<f64>>,
    free: Vec<f64>,
    /// How many microbatches are on each stage.
    staying: Vec<usize>,
    left: Vec<f64>,
    best: f64,
}

impl<'a> Search<'a> {
    fn best(tiny: &'a Tiny) -> f64 {
        let durations: Vec<Vec<f64>> = (0..tiny.times.len()).map(|stage| tiny.durations(stage)).collect();
        let used = tiny.room.len();
        let mut left = vec![0.0; used];
        for (stage, durations) in durations.iter().enumerate() {
            left[tiny.devices[stage]] += tiny.microbatches as f64 * durations.iter().sum::<f64>();
        }
        let ends = vec![None; tiny.microbatches * durations.len() * durations[0].len()];
        let (free, staying) = (vec![0.0; used], vec![0; durations.len()]);
        let mut search = Search { tiny, durations, ends, free, staying, left, best: f64::INFINITY };
        search.go(0.0);
        search.best
    }

    fn index(&self, microbatch: usize, stage: usize, kind: usize) -> usize {
        (microbatch * self.durations.len() + stage) * self.durations[0].len() + kind
    }

    /// When a task's data is there; `None` where it is not yet known.
    fn ready(&self, microbatch: usize, stage: usize, kind: usize) -> Option<f64> {
        let end = |stage, kind| self.ends[self.index(microbatch, stage, kind)];
        let between = |other: usize| match self.tiny.links {
            Links::Blocking => 0.0,
            _ => self.tiny.between(stage, other),
        };
        match kind {
            // Microbatches are alike: that of a smaller number begins earlier.
            0 if stage == 0 && microbatch == 0 => Some(0.0),
            0 if stage == 0 => self.ends[self.index(microbatch - 1, 0, 0)].map(|_| 0.0),
            0 => Some(end(stage - 1, 0)? + between(stage - 1)),
            1 if stage + 1 == self.durations.len() => end(stage, 0),
            1 => Some((end(stage + 1, 1)? + between(stage + 1)).max(end(stage, 0)?)),
            _ => end(stage, 1),
        }
    }

    /// The microbatch, stage and kind of a task.
    fn task(&self, index: usize) -> (usize, usize, usize) {
        let (stages, kinds) = (self.durations.len(), self.durations[0].len());
        (index / kinds / stages, index / kinds % stages, index % kinds)
    }

    /// When a task can start; `None` where it did, or does not know when, or has no room.
    fn start(&self, index: usize) -> Option<f64> {
        let (microbatch, stage, kind) = self.task(index);
        let device = self.tiny.devices[stage];
        let waits = kind == 0 && self.held_with(stage) > self.tiny.room[device];
        Some(
            self.ready(microbatch, stage, kind)
                .filter(|_| !waits && self.ends[index].is_none())?
                .max(self.free[device]),
        )
    }

    /// What is held on the device of `stage` with one more microbatch there.
    fn held_with(&self, stage: usize) -> usize {
        let tiny = self.tiny;
        let on_device = (0..tiny.devices.len()).filter(|&other| tiny.devices[other] == tiny.devices[stage]);
        let held = |other: usize| {
            let staying = self.staying[other] + usize::from(other == stage);
            let versions = if tiny.stashes { staying.max(1) } else { 1 };
            staying * tiny.kept[other] + versions * tiny.parameters[other]
        };
        on_device.map(held).sum()
    }

    /// Goes on with the tasks that begin at `now` or later, in the order in which they begin.
    fn go(&mut self, now: f64) {
        let ends = |device: usize| now.max(self.free[device]) + self.left[device];
        if (0..self.free.len()).any(|device| self.left[device] > 0.0 && ends(device) >= self.best) {
            return;
        }
        if self.ends.iter().all(Option::is_some) {
            self.best = self.ends.iter().flatten().copied().fold(0.0, f64::max).min(self.best);
            return;
        }
        let starts = (0..self.ends.len()).filter_map(|task| Some((self.start(task)?, task)));
        let mut starts: Vec<(f64, usize)> = starts.filter(|&(start, _)| start >= now).collect();
        starts.sort_by(|a, b| a.0.total_cmp(&b.0));
        for (start, index) in starts {
            let (_, stage, kind) = self.task(index);
            let (device, duration) = (self.tiny.devices[stage], self.durations[stage][kind]);
            let (free, staying) = (self.free[device], self.staying[stage]);
            self.ends[index] = Some(start + duration);
            self.free[device] = start + duration;
            self.left[device] -= duration;
            self.staying[stage] = match kind {
                0 => staying + 1,
                _ if kind + 1 == self.durations[0].len() => staying - 1,
                _ => staying,
            };
            self.go(start);
            (self.free[device], self.staying[stage]) = (free, staying);
            self.left[device] += duration;
            self.ends[index] = None;
        }
    }
}

/// Draws as many; the same ones each time.
fn drawn<S: Strategy>(strategy: S, count: usize) -> impl Iterator<Item = S::Value> {
    let mut runner = TestRunner::deterministic();
    (0..count).map(move |_| strategy.new_tree(&mut runner).unwrap().current())
}

/// Pipelines whose blocks wait for any earlier ones, and for any of which all-reduces wait.
fn tangled() -> impl Strategy<Value = Pipeline> {
    let stage = (0..2usize, 0..3u8, 0..3u8, 0..3u8);
    let block = (0..2usize, select(vec![Pass::Forward, Pass::Backward]), 0..4u8, 0..4u8, 0..2u8);
    let flows = (vec((0..9usize, 0..9usize), 0..4), vec(any::<bool>(), 8));
    let reduces = vec((vec(0..9usize, 1..3), 1..9u8), 0..3);
    let transfers = select(vec![
        Transfers::OnDevice,
        Transfers::Engine,
        Transfers::TwoEngines,
        Transfers::Links { contended: true },
    ]);
    (vec(stage, 2), vec(block, 2..9), flows, (reduces, select(vec![1, 2, 4])), transfers).prop_map(
        |(stages, blocks, (flows, next), (reduces, buckets), transfers)| {
            let stage = |(rank, (device, weights, boundary, others)): (usize, (usize, u8, u8, u8))| simulate::Stage {
                name: "stage".into(),
                rank,
                replica: 0,
                device,
                fixed: weights.into(),
                working: 0.0,
                parameters: weights.into(),
                activations: (boundary + others).into(),
                boundary: boundary.into(),
            };
            let block = |(stage, pass, input, compute, output): (usize, Pass, u8, u8, u8)| Block {
                stage,
                pass,
                input: input.into(),
                compute: compute.into(),
                output: output.into(),
            };
            let mut pipeline = Pipeline {
                name: "tangled".into(),
                devices: vec!["GPU 0".into(), "GPU 1".into()],
                memory: vec![None; 2],
                stages: stages.into_iter().enumerate().map(stage).collect(),
                blocks: blocks.into_iter().map(block).collect(),
                channels: Vec::new(),
                flows: Vec::new(),
                all_reduces: Vec::new(),
                transfers,
                replicas: 1,
                weight_gradient: 0.5,
                buckets,
            };
            // Each stage begins with its forward pass.
            for (stage, block) in pipeline.blocks[..2].iter_mut().enumerate() {
                (block.stage, block.pass) = (stage, Pass::Forward);
            }
            let blocks = pipeline.blocks.len();
            let in_turn = next.into_iter().enumerate().filter_map(|(i, waits)| waits.then_some((i, i + 1)));
            let known = |&(source, target): &(usize, usize)| source < target && target < blocks;
            for (source, target) in flows.into_iter().chain(in_turn).filter(known) {
                let same = pipeline.device_of(source) == pipeline.device_of(target);
                pipeline.flows.push(Flow { source, target, way: if same { Way::Kept } else { Way::Sent(0.0) } });
            }
            let reduce = |(after, time): (Vec<usize>, u8)| {
                AllReduce::lasting(after.into_iter().map(|block| block % blocks).collect(), time.into())
            };
            pipeline.all_reduces = reduces.into_iter().map(reduce).collect();
            pipeline
        },
    )
}

/// A schedule is no shorter than the bound within the memory that it needs, also where that is from another schedule.
#[test]
fn no_schedule_is_shorter_than_the_bound_from_another_one() {
    let (count, mut limited) = (2000, 0);
    for (mut pipeline, stashes, recompute) in drawn((tangled(), any::<bool>(), any::<bool>()), count) {
        let options = Options { microbatches: 4, recompute };
        let paced = |pipeline: &Pipeline, pace| {
            simulate(pipeline, &Staggered { splits: false, stashes, pace }, options).unwrap()
        };
        for pace in 0..pipeline.blocks.len() {
            pipeline.memory = vec![None; 2];
            let simulation = paced(&pipeline, pace);
            let unlimited = simulation.lower_bound();
            pipeline.memory = simulation.memory().peak.into_iter().map(Some).collect();
            let bound = paced(&pipeline, usize::MAX).lower_bound();
            assert!(bound <= simulation.makespan(), "{bound} above {} at {pace}: {pipeline:?}", simulation.makespan());
            limited += usize::from(bound > unlimited);
        }
    }
    assert!(limited >= count / 20, "limits count in {limited}");
}

#[test]
fn no_schedule_is_shorter_than_the_bound() {
    let (count, mut met, mut raised) = (200, 0, 0);
    for tiny in drawn(tiny(), count) {
        let (bound, best) = (tiny.bound(), Search::best(&tiny));
        assert!(bound <= best, "{bound} above {best}: {tiny:?}");
        met += usize::from(bound == best);
        let roomy = Tiny { room: vec![usize::MAX; tiny.room.len()], ..tiny.clone() };
        assert!(roomy.bound() <= bound, "{tiny:?}");
        raised += usize::from(roomy.bound() < bound);
        for schedule in schedule::all().into_iter().filter(|schedule| schedule.has_backward()) {
            let same_tasks = schedule.splits_backward() == tiny.weights.is_some();
            let Some(simulation) = tiny.simulate(schedule).filter(|_| same_tasks) else { continue };
            let fits = simulation.memory().peak.iter().zip(&tiny.room).all(|(&peak, &room)| peak <= room as f64);
            let same_limits = fits && schedule.stashes_weights() == tiny.stashes;
            let least = if same_limits { best } else { simulation.lower_bound() };
            assert!(simulation.makespan() >= least, "{}: {tiny:?}", schedule.name());
        }
    }
    // How good it is, and that limits count.
    assert!(3 * met >= 2 * count, "met by {met} of {count}");
    assert!(5 * raised >= count, "memory raises it for {raised} of {count}");
}

/// Where each stage has a device of its own, what it works with takes as much room as what lasts.
#[test]
fn what_stages_work_with_takes_room() {
    let mut limited = 0;
    for tiny in drawn(tiny(), 200).filter(|tiny| tiny.devices.len() == tiny.room.len()) {
        let schedule = Staggered { splits: tiny.weights.is_some(), stashes: tiny.stashes, pace: usize::MAX };
        let options = Options { microbatches: tiny.microbatches, recompute: false };
        let bound = |pipeline: &Pipeline| simulate(pipeline, &schedule, options).unwrap().lower_bound();
        let (lasting, mut working) = (tiny.pipeline(), tiny.pipeline());
        for stage in &mut working.stages {
            (stage.fixed, stage.working) = (0.0, stage.fixed);
        }
        let roomy = Pipeline { memory: vec![None; tiny.room.len()], ..tiny.pipeline() };
        assert_eq!(bound(&working), bound(&lasting), "{tiny:?}");
        limited += usize::from(bound(&roomy) < bound(&lasting));
    }
    assert!(limited >= 20, "limits count in {limited}");
}
