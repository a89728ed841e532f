//! How short any schedule of a simulated pipeline can be.

use super::memory::Memory;
use super::pipeline::{AllReduce, Block, Pass};
use super::run::computes;
use super::timeline::Simulation;
use crate::graph::{paths, topological};
use crate::problem::most_bytes;

/// How many ends of the first window are tried on each track, of many. Each of them gives a bound.
const MOST_MOMENTS: usize = 256;

impl Simulation {
    /// No schedule of the same work is shorter: the same blocks on the same devices for as many microbatches, in any
    /// order and with any pauses, within the memory of those devices whose memory suffices here. The largest of these
    /// bounds:
    ///
    /// *Windows.* An operation begins no earlier than its head, the longest way from the start to it, and ends no less
    /// than its tail before the end. For any h and t, if of the runs of operations on a track that does one thing at a
    /// time at most n lie in part in the first h or the last t of the makespan, the others lie between, one after
    /// another: the makespan is at least h + t + their time. No run of an operation lies before its head or behind its
    /// tail; and of one that holds its stage's activations no more begin before the first microbatch can leave the
    /// stage, or end after the last one has to have entered it, than the stage has room for, since all of them are
    /// there at that moment. With h and t of the first and last work of a device this is head + work + tail, with those
    /// of any one operation the critical path.
    ///
    /// A microbatch is on a stage from the first start of its forward to the last end of its backward pass. An
    /// operation holds the stage's activations where it lies between them in every schedule: it is of the forward pass
    /// or waits for it, and is of the backward pass or the pass waits for it. Any other one, such as an input of the
    /// backward pass that can be fetched at any time, may run for microbatches that are not there.
    ///
    /// *Stays.* Where a stage has room for k of m microbatches, and each stays for L at least, a microbatch enters at
    /// least L after the one k places before it: all but k − 1 of those before it have left, so that one of these
    /// entered no earlier than that one. So the last one enters ⌊(m − 1) / k⌋ · L after the first, and as many passes
    /// later as (m − 1) mod k.
    ///
    /// O(c log c · min(c, 256)) for c operations on a track, and O(s (n + e)) for s stages, n operations and e
    /// dependencies.
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
    durations: Vec<f64>,
    /// The operations of a microbatch, each behind those that it waits for.
    order: Vec<usize>,
    /// The longest way from the start to the start of each operation.
    heads: Vec<f64>,
    /// The longest way from the end of each operation to the end.
    tails: Vec<f64>,
    stages: Vec<Stay>,
    /// The stage whose activations each operation holds.
    holders: Vec<Option<usize>>,
}

/// How microbatches stay on a stage, from the first start to the last end of what holds their activations.
struct Stay {
    /// What holds them.
    holding: Vec<usize>,
    /// How many may stay at once.
    room: usize,
    /// No microbatch leaves earlier.
    leaves: f64,
    /// No microbatch enters less than this before the end.
    enters: f64,
}

/// What a track does between two windows. Where that is anything, the windows do not overlap.
#[derive(Clone, Copy, Default)]
struct Between {
    runs: usize,
    work: f64,
}

impl<'a> Relaxation<'a> {
    fn new(simulation: &'a Simulation) -> Self {
        let durations: Vec<f64> = simulation.template().operations.iter().map(|operation| operation.duration).collect();
        let order = topological::smallest_first(&simulation.waits);
        let (heads, tails, stages, holders) = (Vec::new(), Vec::new(), Vec::new(), vec![None; durations.len()]);
        let mut relaxed = Self { simulation, durations, order, heads, tails, stages, holders };
        relaxed.find_ways();
        relaxed.find_stays();
        relaxed
    }

    /// Finds heads and tails. The all-reduces at the end wait for the gradients of all microbatches, of the last one in parts.
    fn find_ways(&mut self) {
        let (simulation, durations) = (self.simulation, &self.durations);
        let (waits, repeated, pipeline) = (&simulation.waits, simulation.repeated, &simulation.pipeline);
        let mut heads = paths::longest_to(waits, &self.order, &durations[..repeated]);
        heads.iter_mut().zip(durations).for_each(|(head, duration)| *head -= duration);
        let mut tails = vec![0.0; durations.len()];
        let computes = computes(simulation.template(), pipeline.blocks.len());
        let complete = |reduce: &AllReduce| {
            let gradients = reduce.after.iter().filter_map(|&block| computes[block]);
            // The first part may begin once its part of the last run is over.
            let runs = |i| simulation.runs(i) as f64 - 1.0 + 1.0 / pipeline.parts() as f64;
            gradients.map(|i| heads[i] + runs(i) * durations[i]).fold(0.0, f64::max)
        };
        let mut begins = Vec::new();
        for reduce in &simulation.template().operations[repeated..] {
            // After one block there may be several, of which this could be any.
            let any = pipeline.all_reduces.iter().filter(|other| other.after.contains(&reduce.block));
            begins.push(any.map(complete).fold(f64::INFINITY, f64::min));
            computes[reduce.block].into_iter().for_each(|i| tails[i] = reduce.duration.max(tails[i]));
        }
        heads.extend(begins);
        for &i in self.order.iter().rev() {
            let behind = waits.successors(i).iter().map(|&next| durations[next as usize] + tails[next as usize]);
            tails[i] = behind.fold(tails[i], f64::max);
        }
        (self.heads, self.tails) = (heads, tails);
    }

    fn find_stays(&mut self) {
        let (simulation, memory) = (self.simulation, self.simulation.memory());
        let mut of_stage = vec![Vec::new(); simulation.pipeline.stages.len()];
        let holds = |&i: &usize| simulation.template().operations[i].work.holds_activations();
        (0..simulation.repeated).filter(holds).for_each(|i| of_stage[simulation.block(i).stage].push(i));
        for (stage, operations) in of_stage.into_iter().enumerate() {
            let holding = self.holding(operations);
            let most = |times: &[f64]| holding.iter().map(|&i| self.durations[i] + times[i]).fold(0.0, f64::max);
            let (room, leaves, enters) = (simulation.room(stage, &memory), most(&self.heads), most(&self.tails));
            holding.iter().for_each(|&i| self.holders[i] = Some(stage));
            self.stages.push(Stay { holding, room, leaves, enters });
        }
    }

    /// The operations of a stage that run while the microbatch is there, whatever the schedule.
    fn holding(&self, operations: Vec<usize>) -> Vec<usize> {
        let waits = &self.simulation.waits;
        let (forward, backward): (Vec<usize>, Vec<usize>) =
            operations.iter().partition(|&&i| self.simulation.is_forward(i));
        let last = if backward.is_empty() { &forward } else { &backward };
        let entered = self.spread(&forward, self.order.iter(), |i| waits.predecessors(i));
        let stays = self.spread(last, self.order.iter().rev(), |i| waits.successors(i));
        operations.into_iter().filter(|&i| entered[i] && stays[i]).collect()
    }

    /// Which operations are among these or next to one that is; `next_to` leads to ones earlier in `order`.
    fn spread<'g>(
        &self,
        from: &[usize],
        order: impl Iterator<Item = &'g usize>,
        next_to: impl Fn(usize) -> &'g [u32],
    ) -> Vec<bool> {
        let mut reached = vec![false; self.order.len()];
        from.iter().for_each(|&i| reached[i] = true);
        for &i in order {
            reached[i] |= next_to(i).iter().any(|&other| reached[other as usize]);
        }
        reached
    }

    fn stay(&self, operation: usize) -> Option<&Stay> {
        self.holders[operation].map(|stage| &self.stages[stage])
    }

    fn windows(&self, on_track: &[usize]) -> f64 {
        let leaves = on_track.iter().filter_map(|&i| Some(self.stay(i)?.leaves));
        let mut moments: Vec<f64> = on_track.iter().map(|&i| self.heads[i]).chain(leaves).collect();
        moments.sort_unstable_by(f64::total_cmp);
        moments.dedup();
        let moments = moments.iter().step_by(moments.len().div_ceil(MOST_MOMENTS).max(1));
        moments.map(|&begin| self.windows_from(begin, on_track)).fold(0.0, f64::max)
    }

    /// The best bound by windows of which the first lasts until `begin`.
    fn windows_from(&self, begin: f64, on_track: &[usize]) -> f64 {
        let mut between = Between::default();
        // What no longer lies between the windows once the last one is longer than the given time.
        let mut lost: Vec<(f64, Between)> = Vec::new();
        for &i in on_track {
            let (runs, stay) = (self.simulation.runs(i), self.stay(i));
            let room = stay.map_or(runs, |stay| stay.room);
            let before = match stay {
                _ if self.heads[i] >= begin => 0,
                Some(stay) if begin <= stay.leaves => room,
                _ => runs,
            };
            let (left, least) = (runs - before, (runs - before).saturating_sub(room));
            let of = |runs: usize| Between { runs, work: runs as f64 * self.durations[i] };
            between = Between { runs: between.runs + left, work: between.work + of(left).work };
            lost.push((self.tails[i], of(left - least)));
            lost.extend(stay.map(|stay| (stay.enters.max(self.tails[i]), of(least))));
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
        let Stay { holding, room, .. } = &self.stages[stage];
        let Some(&first) = holding.iter().find(|&&i| self.simulation.is_forward(i)) else { return 0.0 };
        let since = self.since(first);
        let stay = holding.iter().filter_map(|&i| since[i]).fold(0.0, f64::max);
        let others = self.simulation.options.microbatches - 1;
        let apart = if self.simulation.runs_alone(first) { self.durations[first] } else { 0.0 };
        let enters = (others / room) as f64 * stay + (others % room) as f64 * apart;
        self.heads[first] + enters + self.durations[first] + self.tails[first]
    }

    /// The longest way from the start of `first` to the end of each operation behind it.
    fn since(&self, first: usize) -> Vec<Option<f64>> {
        let mut since: Vec<Option<f64>> = vec![None; self.simulation.repeated];
        since[first] = Some(self.durations[first]);
        for &i in &self.order {
            let Some(time) = since[i] else { continue };
            for &next in self.simulation.waits.successors(i) {
                let through = time + self.durations[next as usize];
                since[next as usize] = Some(since[next as usize].unwrap_or_default().max(through));
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
        let stashed = if self.stashes_weights { stages[stage].parameters } else { 0.0 };
        let each = self.kept(stage) + stashed;
        let all = self.options.microbatches;
        let limit = self.pipeline.memory[device].map(most_bytes).filter(|&limit| memory.peak[device] <= limit);
        let Some(limit) = limit.filter(|_| each > 0.0) else { return all };
        let fixed = self.fixed(device);
        // Never fewer than stay here, whatever sums round to.
        (((limit - fixed + stashed) / each) as usize).clamp(memory.in_flight[stage].max(1), all)
    }
}
