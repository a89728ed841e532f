//! A pipeline of so many devices: which of them each stage visits, and what no split over them is below.

use std::cell::OnceCell;

use super::family::{Family, Stage};
use crate::problem::{Chunks, Placement};

/// Stages that follow one another on one device.
#[derive(Debug, Clone, Copy)]
pub struct Visit {
    /// The device.
    pub device: usize,
    /// Which of its stages is the first of them, and how many there are.
    pub chunk: usize,
    pub stages: usize,
    /// The part of the device's stages that it has then.
    pub done: f64,
}

/// What a step takes.
#[derive(Debug, Clone, Copy)]
pub struct Step {
    /// Its w, and w · m − 1.
    parts: f64,
    weight: f64,
}

impl Step {
    /// A step of so many microbatches.
    pub fn new(chunks: Chunks, microbatches: usize) -> Self {
        let parts = chunks.parts() as f64;
        Self { parts, weight: parts * microbatches as f64 - 1.0 }
    }

    /// The time over devices whose loads add up to `sum`, the largest of which is `largest`.
    pub fn time(&self, sum: f64, largest: f64) -> f64 {
        // Where the largest load has no weight it may be infinite.
        let slowest = if self.weight > 0.0 { self.weight * largest } else { 0.0 };
        (sum + slowest) / self.parts
    }

    /// The largest load of a step within `target` whose loads add up to at least `sum`.
    pub fn most_load(&self, target: f64, sum: f64) -> f64 {
        let left = target * self.parts - sum;
        if self.weight > 0.0 { left / self.weight } else { left + sum }
    }
}

/// A pipeline over a number of devices.
pub struct Pipeline<'a> {
    /// Where stages may begin and end.
    pub family: &'a Family,
    /// The visits, in their order.
    pub visits: Vec<Visit>,
    /// How many devices there are.
    pub devices: usize,
    /// What they hold.
    pub chunks: Chunks,
    /// What a step takes.
    pub step: Step,
    /// By device the microbatches in flight of each of its chunks, at the moments of which one needs the most memory.
    pub moments: Vec<Vec<Vec<usize>>>,
    /// By visit and the set at which it begins: the least sum of loads from there on, infinite where there is none.
    pub rest: Vec<Vec<f64>>,
    /// What no split over all devices is below.
    pub bound: f64,
    paths: OnceCell<Vec<Vec<Vec<f64>>>>,
}

/// Between more sets than these the least sums are too many.
const MOST_SETS: usize = 256;

impl<'a> Pipeline<'a> {
    /// The pipeline of devices with these chunks each, for steps of so many microbatches. O(stages of the family · visits).
    pub fn new(family: &'a Family, chunks: Chunks, microbatches: usize, devices: usize) -> Self {
        let (visits, step) = (visits(chunks, devices), Step::new(chunks, microbatches));
        let moments = (0..devices).map(|device| chunks.in_flight(device, devices, microbatches)).collect();
        let paths = OnceCell::new();
        let mut pipeline = Self { family, visits, devices, chunks, step, moments, rest: Vec::new(), bound: 0.0, paths };
        pipeline.rest = pipeline.least(|load, rest| load + rest);
        let widest = pipeline.least(f64::max)[0][0];
        let sum = pipeline.rest[0][0];
        pipeline.bound = step.time(sum, widest.max(sum / devices as f64));
        pipeline
    }

    /// By visit and the set at which it begins, the least value of the visits from there on, which is made of loads.
    fn least(&self, value: impl Fn(f64, f64) -> f64) -> Vec<Vec<f64>> {
        let mut rows = vec![vec![f64::INFINITY; self.family.count()]];
        rows[0][self.family.count() - 1] = 0.0;
        for visit in (0..self.visits.len()).rev() {
            let after = &rows[rows.len() - 1];
            let least = |begin: usize| {
                let values = self.stages(visit, begin).map(|stage| value(stage.load, after[stage.end]));
                values.fold(f64::INFINITY, f64::min)
            };
            let row = (0..self.family.count()).map(least).collect();
            rows.push(row);
        }
        rows.reverse();
        rows
    }

    /// By a number of visits, the set at which the first begins and the one at which the last ends: the least sum of their loads.
    /// Empty where there are many sets. O(stages of the family · sets · visits) the first time.
    pub fn paths(&self) -> &[Vec<Vec<f64>>] {
        self.paths.get_or_init(|| {
            let count = self.family.count();
            if count > MOST_SETS {
                return Vec::new();
            }
            let none = || vec![vec![f64::INFINITY; count]; count];
            let mut paths = vec![none()];
            (0..count).for_each(|set| paths[0][set][set] = 0.0);
            let longest = self.devices * if self.chunks.placement == Placement::VShape { 2 } else { 1 };
            for visits in 1..=longest {
                let mut longer = none();
                for (begin, row) in longer.iter_mut().enumerate() {
                    for stage in &self.family.stages[begin] {
                        let after = &paths[visits - 1][stage.end];
                        row.iter_mut().zip(after).for_each(|(least, rest)| *least = least.min(stage.load + rest));
                    }
                }
                paths.push(longer);
            }
            paths
        })
    }

    /// The bytes that a device needs for the chunks from `chunk` on that make up `stage`, at each moment. Where these are two,
    /// which follow one another, the first one has as little as it can: it never has fewer microbatches in flight. Where they
    /// are more they are all alike.
    pub fn bytes(&self, visit: Visit, stage: &Stage) -> impl Iterator<Item = f64> + Clone {
        let Visit { device, chunk, stages, .. } = visit;
        let Stage { memory, kept, kept_first, .. } = *stage;
        self.moments[device].iter().map(move |in_flight| {
            let (first, last) = (in_flight[chunk], in_flight[chunk + stages - 1]);
            // What is in flight once is part of the memory, so that it is exact where nothing is more often.
            memory + (last as f64 - 1.0) * kept + (first as f64 - last as f64) * kept_first
        })
    }

    /// What a visit may hold that begins at this set.
    pub fn stages(&self, visit: usize, begin: usize) -> impl Iterator<Item = &'a Stage> {
        let least = self.visits[visit].stages;
        let family: &'a Family = self.family;
        family.stages[begin].iter().filter(move |stage| stage.units >= least)
    }
}

fn visits(chunks: Chunks, devices: usize) -> Vec<Visit> {
    let mut visits: Vec<Visit> = Vec::new();
    let mut held = vec![0; devices];
    for stage in 0..chunks.count * devices {
        let device = chunks.device_of(stage, devices);
        held[device] += 1;
        let (chunk, done) = (held[device] - 1, held[device] as f64 / chunks.count as f64);
        match visits.last_mut() {
            Some(last) if last.device == device => (last.stages, last.done) = (last.stages + 1, done),
            _ => visits.push(Visit { device, chunk, stages: 1, done }),
        }
    }
    visits
}
