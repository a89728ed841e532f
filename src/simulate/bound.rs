//! How short any schedule of a simulated pipeline can be.

use super::memory::Memory;
use super::pipeline::{Block, Pass};
use super::run::computes;
use super::timeline::Simulation;
use crate::graph::{paths, topological};
use crate::problem::most_bytes;

/// How many moments after the start are looked at on each track, of many. Each of them gives a bound.
const MOST_MOMENTS: usize = 256;

impl Simulation {
    /// No schedule of the same work is shorter: the same blocks on the same devices for as many microbatches, in any order
    /// and with any pauses, that keeps within the memory of those devices whose memory suffices here. Never above
    /// [`Simulation::makespan`]. The larger of two bounds.
    ///
    /// *Windows.* An operation begins no earlier than its head, the longest way from the start to it, and ends at least
    /// its tail before the end. For any moments h and t, let a track that does one thing at a time work on an operation
    /// at most n times in the first h and the last t of the makespan together. Between them lie the other runs, one
    /// after another: the makespan is at least h + t + Σ duration · (runs − n). An operation runs not at all before its
    /// head and after its tail, and of those that hold a stage's activations no more runs begin before the first
    /// microbatch can leave the stage, or end after the last one has to have entered it, than the stage has room for
    /// microbatches. The critical path is one of these bounds, and head + work + tail of each device another.
    ///
    /// *Stays.* Where a stage has room for k of m microbatches, and each stays for L at least, the one that enters k
    /// places later waits for one of them to leave: the last one enters ⌊(m − 1) / k⌋ · L after the first, and the (m − 1) mod
    /// k others one after another.
    ///
    /// O(c² log c) for c operations of a track and O(s · (n + e)) for s stages without room for all microbatches, n
    /// operations and e dependencies.
    pub fn lower_bound(&self) -> f64 {
        let relaxed = Relaxation::new(self);
        let mut tracks = vec![Vec::new(); self.template().tracks.len()];
        self.template().operations.iter().enumerate().for_each(|(i, operation)| tracks[operation.track].push(i));
        let exclusive = self.template().tracks.iter().zip(&tracks).filter(|(track, _)| track.exclusive);
        let windows = exclusive.map(|(_, on_track)| relaxed.windows(on_track));
        let crowded = (0..relaxed.stages.len()).filter(|&stage| relaxed.stages[stage].room < self.options.microbatches);
        windows.chain(crowded.map(|stage| relaxed.stays(stage))).fold(0.0, f64::max)
    }
}

/// What every schedule has to keep to.
struct Relaxation<'a> {
    simulation: &'a Simulation,
    /// The operations of a microbatch, each behind those that it waits for.
    order: Vec<usize>,
    /// The longest way from the start to the start of each operation.
    heads: Vec<f64>,
    /// The longest way from the end of each operation to the end.
    tails: Vec<f64>,
    /// The operations that hold the activations of each stage.
    holding: Vec<Vec<usize>>,
    stages: Vec<Stay>,
}

/// How microbatches stay on a stage, from the first start to the last end of what holds their activations.
#[derive(Clone, Copy)]
struct Stay {
    /// How many may stay at once.
    room: usize,
    /// No microbatch leaves earlier.
    leaves: f64,
    /// No microbatch enters less than this before the end.
    enters: f64,
}

/// What a track does between two windows. Where that is anything, they do not overlap.
#[derive(Clone, Copy, Default)]
struct Between {
    runs: usize,
    work: f64,
}

impl Between {
    fn plus(self, other: Self) -> Self {
        Self { runs: self.runs + other.runs, work: self.work + other.work }
    }
}

impl<'a> Relaxation<'a> {
    fn new(simulation: &'a Simulation) -> Self {
        let (operations, waits) = (&simulation.template().operations, &simulation.waits);
        let order = topological::smallest_first(waits);
        let durations: Vec<f64> = operations.iter().map(|operation| operation.duration).collect();
        let mut heads = paths::longest_to(waits, &order, &durations[..simulation.repeated]);
        heads.iter_mut().zip(&durations).for_each(|(head, duration)| *head -= duration);
        let mut tails = vec![0.0; operations.len()];
        let computes = computes(simulation.template(), simulation.pipeline.blocks.len());
        for reduce in &operations[simulation.repeated..] {
            let after = simulation
                .pipeline
                .all_reduces
                .iter()
                .map(|all| &all.after)
                .find(|after| after.contains(&reduce.block));
            let gradients = after.into_iter().flatten().filter_map(|&block| computes[block]);
            let mut head = 0.0f64;
            for gradient in gradients {
                head = head.max(heads[gradient] + simulation.runs(gradient) as f64 * durations[gradient]);
                tails[gradient] = reduce.duration;
            }
            heads.push(head);
        }
        for &i in order.iter().rev() {
            let behind = waits.successors(i).iter().map(|&next| durations[next as usize] + tails[next as usize]);
            tails[i] = behind.fold(tails[i], f64::max);
        }
        let (memory, mut holding) = (simulation.memory(), vec![Vec::new(); simulation.pipeline.stages.len()]);
        for i in 0..simulation.repeated {
            if let Some(stage) = simulation.holder(i) {
                holding[stage].push(i);
            }
        }
        let stay = |(stage, held): (usize, &Vec<usize>)| {
            let most = |time: &dyn Fn(usize) -> f64| held.iter().map(|&i| durations[i] + time(i)).fold(0.0, f64::max);
            Stay { room: simulation.room(stage, &memory), leaves: most(&|i| heads[i]), enters: most(&|i| tails[i]) }
        };
        let stages = holding.iter().enumerate().map(stay).collect();
        Self { simulation, order, heads, tails, holding, stages }
    }

    fn duration(&self, operation: usize) -> f64 {
        self.simulation.template().operations[operation].duration
    }

    fn windows(&self, on_track: &[usize]) -> f64 {
        let leaves = on_track.iter().filter_map(|&i| Some(self.stages[self.simulation.holder(i)?].leaves));
        let mut moments: Vec<f64> = on_track.iter().map(|&i| self.heads[i]).chain(leaves).collect();
        moments.sort_unstable_by(f64::total_cmp);
        moments.dedup();
        let moments = moments.iter().step_by(moments.len().div_ceil(MOST_MOMENTS).max(1));
        moments.map(|&begin| self.from(begin, on_track)).fold(0.0, f64::max)
    }

    /// The best bound by windows of which the first lasts until `begin`.
    fn from(&self, begin: f64, on_track: &[usize]) -> f64 {
        let mut between = Between::default();
        // What no longer lies between the windows once the last one is longer than the given time.
        let mut lost: Vec<(f64, Between)> = Vec::new();
        for &i in on_track {
            let (runs, stay) = (self.simulation.runs(i), self.simulation.holder(i).map(|stage| self.stages[stage]));
            let room = stay.map_or(runs, |stay| stay.room);
            let before = match stay {
                _ if self.heads[i] >= begin => 0,
                Some(stay) if begin <= stay.leaves => room,
                _ => runs,
            };
            let (left, fewest) = (runs - before, (runs - before).saturating_sub(room));
            let of = |runs: usize| Between { runs, work: runs as f64 * self.duration(i) };
            between = between.plus(of(left));
            lost.push((self.tails[i], of(left - fewest)));
            lost.extend(stay.map(|stay| (stay.enters.max(self.tails[i]), of(fewest))));
        }
        lost.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
        let mut best = 0.0f64;
        for (end, gone) in lost {
            if between.runs > 0 {
                best = best.max(begin + end + between.work);
            }
            between = Between { runs: between.runs - gone.runs, work: between.work - gone.work };
        }
        best
    }

    fn stays(&self, stage: usize) -> f64 {
        let (held, simulation) = (&self.holding[stage], self.simulation);
        let Some(&first) = held.iter().find(|&&i| simulation.is_forward(i)) else { return 0.0 };
        let since = self.since(first);
        let stay = held.iter().filter_map(|&i| since[i]).fold(0.0, f64::max);
        let (room, others) = (self.stages[stage].room, simulation.options.microbatches - 1);
        let apart = if simulation.runs_alone(first) { self.duration(first) } else { 0.0 };
        let enters = (others / room) as f64 * stay + (others % room) as f64 * apart;
        self.heads[first] + enters + self.duration(first) + self.tails[first]
    }

    /// The longest way from the start of `first` to the end of each operation behind it.
    fn since(&self, first: usize) -> Vec<Option<f64>> {
        let mut since: Vec<Option<f64>> = vec![None; self.simulation.repeated];
        since[first] = Some(self.duration(first));
        for &i in &self.order {
            let Some(time) = since[i] else { continue };
            for &next in self.simulation.waits.successors(i) {
                let next = next as usize;
                let through = time + self.duration(next);
                since[next] = Some(since[next].map_or(through, |known| known.max(through)));
            }
        }
        since
    }
}

impl Simulation {
    fn block(&self, operation: usize) -> &Block {
        &self.pipeline.blocks[self.template().operations[operation].block]
    }

    fn is_forward(&self, operation: usize) -> bool {
        self.block(operation).pass == Pass::Forward
    }

    /// The stage whose activations an operation holds.
    fn holder(&self, operation: usize) -> Option<usize> {
        let holds = self.template().operations[operation].work.holds_activations();
        holds.then(|| self.block(operation).stage)
    }

    fn runs_alone(&self, operation: usize) -> bool {
        self.template().tracks[self.template().operations[operation].track].exclusive
    }

    /// How often an operation runs.
    fn runs(&self, operation: usize) -> usize {
        if operation < self.repeated { self.options.microbatches } else { 1 }
    }

    /// How many microbatches may stay on a stage at once, where the memory of its device suffices here.
    fn room(&self, stage: usize, memory: &Memory) -> usize {
        let (stages, device) = (&self.pipeline.stages, self.pipeline.stages[stage].device);
        let stashed = if self.stashes_weights { stages[stage].weights } else { 0.0 };
        let each = self.lasting(stage) + stashed;
        let all = self.options.microbatches;
        let limit = self.pipeline.memory[device].map(most_bytes).filter(|&limit| memory.peak[device] <= limit);
        let Some(limit) = limit.filter(|_| each > 0.0) else { return all };
        let weights: f64 = stages.iter().filter(|other| other.device == device).map(|other| other.weights).sum();
        // Never fewer than stay here, whatever sums round to.
        (((limit - weights + stashed) / each) as usize).clamp(memory.in_flight[stage].max(1), all)
    }
}
