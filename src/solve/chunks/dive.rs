//! A depth-first search for a split within a target.

use super::family::Stage;
use super::loads::{ROUNDING, Sums};
use super::pipeline::{Pipeline, Visit};
use crate::problem::most_bytes;
use crate::search::{SearchContext, Stopped, Verdict};

/// The search. The stages of a visit are tried by how near they bring their device to its share of the load.
pub struct Dive<'a> {
    pipeline: &'a Pipeline<'a>,
    cx: &'a SearchContext,
    target: f64,
    /// The load that each visit's device is to have when it ends.
    shares: Vec<f64>,
    /// The load that each device has at most, and the bytes.
    most: Vec<f64>,
    most_bytes: f64,
    /// The load of each device so far, and its bytes at each moment.
    held: Vec<(f64, Vec<f64>)>,
    /// The sets at which the visits end.
    path: Vec<usize>,
    /// Stages looked at.
    looked: u64,
    looks: u64,
}

/// What devices hold so far, all together; of the loads the largest, too.
#[derive(Clone, Copy)]
struct Totals {
    sum: f64,
    largest: f64,
    /// What the units that are left need, with a microbatch in flight.
    bytes_left: f64,
    /// What devices that are visited later can take: load, and bytes at the first moment, at which each chunk has a microbatch.
    room: [f64; 2],
}

/// Stages looked at between two looks at the limits.
const PATIENCE: u64 = 1 << 10;

impl<'a> Dive<'a> {
    /// A search for a split within `target` on devices with this much memory each, on which first stages take more than
    /// their share of the load by `tilt`.
    pub fn new(
        pipeline: &'a Pipeline<'a>,
        memory: Option<f64>,
        (target, tilt): (f64, f64),
        sums: Option<&Sums>,
        cx: &'a SearchContext,
    ) -> Self {
        let sum = pipeline.rest[0][0];
        // What nobody limits is not endless either, so that it can be added up.
        let endless = pipeline.family.largest_load() * pipeline.visits.len() as f64;
        let within = pipeline.step.most_load(target, sum).min(endless) * (1.0 + ROUNDING);
        let most_load = |device| sums.map_or(within, |sums| sums.largest_within(device, within).unwrap_or(-1.0));
        let most: Vec<f64> = (0..pipeline.devices).map(most_load).collect();
        let share = |&Visit { device, done, .. }: &Visit| {
            (sum / pipeline.devices as f64).min(most[device]) * done * (1.0 + tilt * (1.0 - done))
        };
        let most_in_flight = pipeline.moments.iter().flatten().flatten().copied().max().unwrap_or(1).max(1);
        Self {
            shares: pipeline.visits.iter().map(share).collect(),
            held: pipeline.moments.iter().map(|moments| (0.0, vec![0.0; moments.len()])).collect(),
            // Twice what all chunks can need, so that the rounding of no sum is a limit.
            most_bytes: most_bytes(memory.unwrap_or(2.0 * pipeline.family.bytes * most_in_flight as f64)),
            path: Vec::new(),
            looked: 0,
            looks: 0,
            pipeline,
            cx,
            target,
            most,
        }
    }

    /// The objective of a split within the target and the sets at which its visits end, after so many looks at most.
    pub fn run(&mut self, looks: u64) -> Verdict<(f64, Vec<usize>)> {
        self.looks = looks;
        match self.extend(0, 0.0, self.pipeline.family.bytes) {
            Ok(Some(objective)) => Verdict::Found((objective, std::mem::take(&mut self.path))),
            Ok(None) => Verdict::Refuted,
            Err(Stopped) => Verdict::Unknown,
        }
    }

    /// The objective of a split that goes on from the path, whose loads add up to `sum`, with units that need `bytes_left`.
    fn extend(&mut self, begin: usize, sum: f64, bytes_left: f64) -> Result<Option<f64>, Stopped> {
        let pipeline = self.pipeline;
        let Some(&visit) = pipeline.visits.get(self.path.len()) else {
            return Ok(Some(pipeline.step.time(sum, self.largest())));
        };
        self.looked += 1;
        if self.looked > self.looks || self.looked.is_multiple_of(PATIENCE) && self.cx.should_stop() {
            return Err(Stopped);
        }
        let (load, bytes) = self.held[visit.device].clone();
        let share = self.shares[self.path.len()];
        let so_far = Totals { sum, largest: self.largest(), bytes_left, room: self.room() };
        let mut stages: Vec<&Stage> =
            pipeline.stages(self.path.len(), begin).filter(|stage| self.admits(stage, so_far)).collect();
        stages.sort_by(|a, b| (load + a.load - share).abs().total_cmp(&(load + b.load - share).abs()));
        for stage in stages {
            let held = &mut self.held[visit.device];
            held.0 = load + stage.load;
            let more = bytes.iter().zip(pipeline.bytes(visit, stage)).map(|(bytes, more)| bytes + more);
            held.1.iter_mut().zip(more).for_each(|(held, bytes)| *held = bytes);
            self.path.push(stage.end);
            if let Some(objective) = self.extend(stage.end, sum + stage.load, bytes_left - stage.memory)? {
                return Ok(Some(objective));
            }
            self.path.pop();
        }
        self.held[visit.device] = (load, bytes);
        Ok(None)
    }

    fn largest(&self) -> f64 {
        self.held.iter().map(|held| held.0).fold(0.0, f64::max)
    }

    /// Whether the next visit may hold `stage`.
    fn admits(&self, stage: &Stage, so_far: Totals) -> bool {
        let (pipeline, at) = (self.pipeline, self.path.len());
        let visit = pipeline.visits[at];
        let (load, bytes) = &self.held[visit.device];
        let load = load + stage.load;
        let mut more = pipeline.bytes(visit, stage);
        let first = more.next().unwrap_or(0.0);
        let fits = bytes[0] + first <= self.most_bytes
            && bytes[1..].iter().zip(more).all(|(bytes, more)| bytes + more <= self.most_bytes);
        let rest = pipeline.rest[at + 1][stage.end];
        let all = so_far.sum + stage.load + rest;
        let largest = load.max(so_far.largest).max(all / pipeline.devices as f64);
        let taken = if visit.done == 1.0 { [0.0; 2] } else { [stage.load, first] };
        let [room, room_for_bytes] = [0, 1].map(|of| so_far.room[of] - taken[of]);
        load <= self.most[visit.device] * (1.0 + ROUNDING)
            && fits
            && pipeline.step.time(all, largest) <= self.target * (1.0 + ROUNDING)
            && room >= rest - ROUNDING * all
            && room_for_bytes >= so_far.bytes_left - stage.memory - ROUNDING * self.pipeline.family.bytes
    }

    /// What the devices that are visited after the next visit can take. Added up anew each time: what devices may hold can be
    /// so much more than what they do that the rounding of differences would drown it.
    fn room(&self) -> [f64; 2] {
        let later = &self.pipeline.visits[self.path.len() + 1..];
        let last = later.iter().filter(|visit| visit.done == 1.0);
        let of_device = |&Visit { device, .. }: &Visit| {
            let (load, bytes) = &self.held[device];
            [self.most[device] - load, self.most_bytes - bytes[0]]
        };
        last.map(of_device).fold([0.0; 2], |a, b| [a[0] + b[0], a[1] + b[1]])
    }
}
