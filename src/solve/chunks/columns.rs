//! A search for a split within a target device by device: all chunks of one, then all of the next.

use rustc_hash::FxHashMap;

use super::family::Stage;
use super::loads::{ROUNDING, Sums};
use super::pipeline::{Pipeline, Visit};
use crate::problem::{Placement, fits};
use crate::search::{SearchContext, Stopped, Verdict};

/// The search. Where the chunks of the devices so far end is all that matters of them, beside the sum of their loads and the
/// largest one: what led nowhere is not tried again.
pub struct Columns<'a> {
    pipeline: &'a Pipeline<'a>,
    cx: &'a SearchContext,
    target: f64,
    memory: Option<f64>,
    /// The most load of each device.
    most: Vec<f64>,
    /// What the devices from each one on can have at most.
    room: Vec<f64>,
    /// The sets at which interleaved chunks may begin, and the last one end; those at either end of a V.
    starts: Vec<Vec<usize>>,
    /// The one of these that is tried.
    goals: Vec<usize>,
    /// What led nowhere: sum and largest of the loads of so many devices, whose chunks end there.
    dead: FxHashMap<(usize, Vec<usize>), (f64, f64)>,
    /// Where the chunks of each device end.
    path: Vec<Vec<usize>>,
    looks: u64,
    looked: u64,
}

/// More first sets of chunks than these are not gone through.
const MOST_STARTS: usize = 1 << 19;

/// What a device may hold next: where its chunks end, and their load.
type Choice = (f64, Vec<usize>);

impl<'a> Columns<'a> {
    /// A search for a split within `target` on devices with this much memory each; `None` for one device, and where there are
    /// too many sets.
    pub fn new(
        pipeline: &'a Pipeline<'a>,
        memory: Option<f64>,
        target: f64,
        sums: Option<&Sums>,
        cx: &'a SearchContext,
    ) -> Option<Self> {
        if pipeline.devices < 2 || pipeline.paths().is_empty() {
            return None;
        }
        let starts = starts(pipeline)?;
        let within = pipeline.step.most_load(target, pipeline.rest[0][0]);
        let most_load = |device| sums.map_or(within, |sums| sums.largest_within(device, within).unwrap_or(-1.0));
        let most: Vec<f64> = (0..pipeline.devices).map(most_load).collect();
        let room = (0..=most.len()).map(|device| most[device..].iter().sum()).collect();
        let (goals, dead, path) = (Vec::new(), FxHashMap::default(), Vec::new());
        Some(Self { pipeline, cx, target, memory, most, room, starts, goals, dead, path, looks: 0, looked: 0 })
    }

    /// The objective of a split within the target and the sets at which its visits end, after so many looks at most.
    pub fn run(&mut self, looks: u64) -> Verdict<(f64, Vec<usize>)> {
        self.looks = looks;
        for goals in std::mem::take(&mut self.starts) {
            self.dead.clear();
            let begins = goals[..goals.len() - usize::from(!self.is_v())].to_vec();
            self.goals = goals;
            match self.extend(&begins, 0.0, 0.0) {
                Ok(Some(objective)) => return Verdict::Found((objective, self.visits())),
                Ok(None) => {}
                Err(Stopped) => return Verdict::Unknown,
            }
        }
        Verdict::Refuted
    }

    fn is_v(&self) -> bool {
        self.pipeline.chunks.placement == Placement::VShape
    }

    /// The least sum of loads of the devices after `done` of them, whose chunks end there.
    fn rest(&self, done: usize, at: &[usize]) -> f64 {
        let (paths, left) = (self.pipeline.paths(), self.pipeline.devices - done);
        if self.is_v() {
            return if left == 0 { 0.0 } else { paths[2 * left - 1][at[0]][at[1]] };
        }
        at.iter().zip(&self.goals[1..]).map(|(&from, &to)| paths[left][from][to]).sum()
    }

    /// The objective of a split that goes on from the path, whose chunks end at `at`.
    fn extend(&mut self, at: &[usize], sum: f64, largest: f64) -> Result<Option<f64>, Stopped> {
        let (done, step) = (self.path.len(), self.pipeline.step);
        if done == self.pipeline.devices {
            return Ok(Some(step.time(sum, largest)));
        }
        let key = (done, at.to_vec());
        if self.dead.get(&key).is_some_and(|&(least, lowest)| least <= sum && lowest <= largest) {
            return Ok(None);
        }
        if self.cx.should_stop() {
            return Err(Stopped);
        }
        let mut choices = self.choices(at)?;
        let share = self.room[0] / self.pipeline.devices as f64;
        choices.sort_by(|a, b| (a.0 - share).abs().total_cmp(&(b.0 - share).abs()));
        for (load, ends) in choices {
            let (rest, largest) = (self.rest(done + 1, &ends), largest.max(load));
            let all = sum + load + rest;
            let is_within = step.time(all, largest) <= self.target * (1.0 + ROUNDING);
            if !rest.is_finite() || !is_within || rest > self.room[done + 1] + ROUNDING * all {
                continue;
            }
            self.path.push(ends.clone());
            if let Some(objective) = self.extend(&ends, sum + load, largest)? {
                return Ok(Some(objective));
            }
            self.path.pop();
        }
        self.dead.insert(key, (sum, largest));
        Ok(None)
    }

    /// What the next device may hold of chunks that begin at `at`.
    fn choices(&mut self, at: &[usize]) -> Result<Vec<Choice>, Stopped> {
        let device = self.path.len();
        let (family, most) = (self.pipeline.family, self.most[device] * (1.0 + ROUNDING));
        let is_bottom = self.is_v() && device + 1 == self.pipeline.devices;
        // The load, the bytes at each moment and the ends of the first chunks.
        let mut partial = vec![(0.0, vec![0.0; self.pipeline.moments[device].len()], Vec::new())];
        for (chunk, &set) in at.iter().enumerate().take(if is_bottom { 1 } else { at.len() }) {
            let stages: Vec<(usize, Stage)> = if is_bottom {
                family.stages[set]
                    .iter()
                    .filter(|stage| stage.end == at[1] && stage.units > 1)
                    .map(|&s| (s.end, s))
                    .collect()
            } else if self.is_v() && chunk == 1 {
                family.before[set].clone()
            } else {
                family.stages[set].iter().map(|&stage| (stage.end, stage)).collect()
            };
            let visit = Visit { device, chunk, stages: if is_bottom { 2 } else { 1 }, done: 0.0 };
            self.looked += (partial.len() * stages.len()) as u64;
            if self.looked > self.looks {
                return Err(Stopped);
            }
            let mut longer = Vec::new();
            for (load, bytes, ends) in &partial {
                for (end, stage) in &stages {
                    let (load, more) = (load + stage.load, self.pipeline.bytes(visit, stage));
                    let bytes = bytes.iter().zip(more).map(|(bytes, more)| bytes + more);
                    if load <= most && bytes.clone().all(|bytes| fits(bytes, self.memory)) {
                        longer.push((load, bytes.collect(), [&ends[..], &[*end]].concat()));
                    }
                }
            }
            partial = longer;
        }
        Ok(partial.into_iter().map(|(load, _, ends)| (load, ends)).collect())
    }

    /// The sets at which the visits of the path end.
    fn visits(&self) -> Vec<usize> {
        let path = &self.path;
        if self.is_v() {
            let others = &path[..path.len() - 1];
            let up = others.iter().rev().map(|ends| ends[1]);
            return others.iter().map(|ends| ends[0]).chain(up).chain([self.goals[1]]).collect();
        }
        (0..self.pipeline.chunks.count).flat_map(|chunk| path.iter().map(move |ends| ends[chunk])).collect()
    }
}

/// The sets at which chunks may begin, the most even ones first; `None` where they are too many.
fn starts(pipeline: &Pipeline) -> Option<Vec<Vec<usize>>> {
    let (family, paths, count) = (pipeline.family, pipeline.paths(), pipeline.chunks.count);
    let whole = family.count() - 1;
    if pipeline.chunks.placement == Placement::VShape {
        return Some(vec![vec![0, whole]]);
    }
    let mut starts = vec![vec![0]];
    for chunk in 1..=count {
        let ends = |begin: usize| {
            let sets = if chunk == count { whole..whole + 1 } else { begin + 1..whole };
            sets.filter(move |&end| paths[pipeline.devices][begin][end].is_finite())
        };
        let longer =
            starts.iter().flat_map(|start| ends(start[chunk - 1]).map(move |end| [&start[..], &[end]].concat()));
        starts = longer.take(MOST_STARTS + 1).collect();
        if starts.len() > MOST_STARTS {
            return None;
        }
    }
    let uneven = |start: &Vec<usize>| -> usize {
        let size = |set: usize| count * family.size(set);
        (1..count).map(|chunk| size(start[chunk]).abs_diff(chunk * family.size(whole))).sum()
    };
    starts.sort_by_cached_key(uneven);
    Some(starts)
}
