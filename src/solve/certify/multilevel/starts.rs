//! Splits to start from: intervals of topological orders, which are convex, and one device for all.

use super::super::{Assignment, Setting};
use crate::preprocess::Reduced;
use crate::problem::Problem;
use crate::solve::SearchContext;
use crate::solve::dp::linearized::best_intervals;
use crate::solve::dp::{self, orders};

/// An endless series of starts.
pub(super) struct Starts {
    /// The units that intervals are made of.
    reduced: Reduced,
    seed: u64,
}

impl Starts {
    /// The starts of `problem`. O(n log n + m log m).
    pub fn new(problem: &Problem, seed: u64) -> Self {
        Self { reduced: Reduced::new(problem), seed }
    }

    /// The best split of order `i` into intervals; where it has none, everything on one device, valid or not.
    pub fn numbered(&self, setting: &Setting, i: usize, cx: &SearchContext) -> Assignment {
        self.intervals(setting, i, cx).unwrap_or_else(|| on_one_device(setting))
    }

    fn intervals(&self, setting: &Setting, i: usize, cx: &SearchContext) -> Option<Assignment> {
        let line = dp::Setting::new(setting.problem, &self.reduced);
        let order = orders::numbered(&self.reduced, i, self.seed, cx);
        let split = best_intervals(&line, &order, f64::INFINITY, cx)?;
        let stages = split.stages.iter();
        setting.assignment(
            stages.map(|(nodes, stage)| (self.reduced.kinds[line.stages[*stage].kind].kind, nodes.as_slice())),
        )
    }
}

/// All units on the device that supports most of them.
fn on_one_device(setting: &Setting) -> Assignment {
    let supported = |&d: &usize| setting.kind(d).times.iter().flatten().count();
    let device = (0..setting.device_count()).rev().max_by_key(supported).unwrap_or(0);
    Assignment { device_of: vec![device as u32; setting.unit_count()] }
}
