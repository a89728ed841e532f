//! Where chains within a target can be, in work, whatever the cells and the marks.

use std::collections::BTreeMap;

use super::marks::{Ends, Open, Trace};
use crate::solve::dp::Setting;

/// A least and a most amount of work.
pub type Range = [f64; 2];

/// A kind of stage between two uses of the devices.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Hop {
    /// The use before it.
    pub from: usize,
    /// The use after it.
    pub to: usize,
    /// The index of the kind of stage.
    pub stage: usize,
}

/// All of them, by the use before.
pub fn hops(setting: &Setting) -> Vec<Hop> {
    let uses = &setting.consumption;
    let of = |from: usize| {
        let stages = setting.stages.iter().enumerate();
        stages.filter_map(move |(stage, &kind)| Some(Hop { from, to: uses.add(from, kind)?, stage }))
    };
    uses.all().flat_map(of).collect()
}

/// The work of the ideals at each use, `None` where there are none: what follows from the most work that a stage of each kind can hold,
/// of so much in all.
pub fn by_work(hops: &[Hop], uses: usize, total: f64, most: &[f64]) -> Vec<Option<Range>> {
    let (mut done, mut left) = (vec![0.0f64; uses], vec![0.0f64; uses]);
    hops.iter().for_each(|hop| done[hop.to] = done[hop.to].max(done[hop.from] + most[hop.stage]));
    hops.iter().rev().for_each(|hop| left[hop.from] = left[hop.from].max(left[hop.to] + most[hop.stage]));
    let window = |(done, left): (&f64, &f64)| {
        let [least, most] = [(total - left).max(0.0), done.min(total)];
        (least <= most * (1.0 + 1e-9)).then_some([least.min(most), most])
    };
    done.iter().zip(&left).map(window).collect()
}

/// The work of the ideals at which the stages of chains begin and end, by hop and by what they have of the units that were marked when
/// chains were last looked at.
#[derive(Debug, Clone)]
pub struct Windows {
    marked: Trace,
    of_hops: Vec<BTreeMap<Ends, [Range; 2]>>,
}

impl Windows {
    /// None yet, for so many hops and with these units marked.
    pub fn none(hops: usize, marked: Trace) -> Self {
        Self { marked, of_hops: vec![BTreeMap::new(); hops] }
    }

    /// Any amount up to a total.
    pub fn any(hops: usize, total: f64) -> Self {
        Self { marked: 0, of_hops: vec![BTreeMap::from([(Ends::default(), [[0.0, total]; 2])]); hops] }
    }

    /// Those of a hop's stages with these ends; `None` where chains have no such stage.
    pub fn of(&self, hop: usize, ends: Ends) -> Option<[Range; 2]> {
        self.of_hops[hop].get(&ends.of(self.marked)).copied()
    }

    /// The ends of the stages of some hops.
    pub fn open(&self, is_one: impl Fn(usize) -> bool) -> Open {
        let of_hops = self.of_hops.iter().enumerate().filter(|(hop, _)| is_one(*hop));
        Open::new(self.marked, of_hops.flat_map(|(_, ends)| ends.keys().copied()))
    }

    /// What of these is within those of a hop's stages with these ends.
    pub fn meet(&self, hop: usize, ends: Ends, [begin, end]: [Range; 2]) -> Option<[Range; 2]> {
        let [begins, ends] = self.of(hop, ends)?;
        Some([meet(begin, begins)?, meet(end, ends)?])
    }

    /// Adds those of a hop's stages with these ends.
    pub fn add(&mut self, hop: usize, ends: Ends, ranges: [Range; 2]) {
        self.of_hops[hop].insert(ends, ranges);
    }

    /// How much work the windows of the hops span together.
    pub fn size(&self) -> f64 {
        let hull = |[a, b]: [Range; 2], [c, d]: [Range; 2]| [join(a, c), join(b, d)];
        let of_hop = |ranges: &BTreeMap<Ends, [Range; 2]>| ranges.values().copied().reduce(hull);
        self.of_hops.iter().filter_map(of_hop).flatten().map(|[least, most]| most - least).sum()
    }
}

fn join([a, b]: Range, [c, d]: Range) -> Range {
    [a.min(c), b.max(d)]
}

/// What two sources say of the same work.
pub fn meet([a, b]: Range, [c, d]: Range) -> Option<Range> {
    let [least, most] = [a.max(c), b.min(d)];
    (least <= most).then_some([least, most])
}
