//! Every mapping there is: the oracle of tiny problems.

use super::{Mapper, Mapping, MappingProblem, MappingRun};
use crate::search::{Outcome, SearchContext, Stats};

/// Looks at every mapping. O(D! / (D − S · R)! · D): for at most 8 devices or so.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Exhaustive;

impl Mapper for Exhaustive {
    fn name(&self) -> &str {
        "exhaustive"
    }

    fn map(&self, problem: &MappingProblem, cx: &SearchContext) -> MappingRun {
        let mut enumeration = Enumeration { problem, cx, devices: Vec::new(), best: None, count: 0, placements: 0 };
        let is_complete = enumeration.place_next();
        let outcome = match (enumeration.best, is_complete) {
            (Some((mapping, objective)), true) => Outcome::found(mapping, objective, objective),
            (Some((solution, _)), false) => Outcome::Feasible { solution, bound: None },
            (None, true) => Outcome::Infeasible,
            (None, false) => Outcome::Unknown { bound: None },
        };
        MappingRun { outcome, stats: Stats::of([("mappings", enumeration.count as f64)]) }
    }
}

struct Enumeration<'a> {
    problem: &'a MappingProblem,
    cx: &'a SearchContext,
    devices: Vec<usize>,
    best: Option<(Mapping, f64)>,
    count: u64,
    placements: u64,
}

impl Enumeration<'_> {
    /// Places the remaining copies in every way; false where a limit came first.
    fn place_next(&mut self) -> bool {
        let copy = self.devices.len();
        if copy == self.problem.copies() {
            self.look();
            return !self.cx.should_stop();
        }
        // It may be that no mapping is ever complete.
        self.placements += 1;
        if self.placements.is_multiple_of(1024) && self.cx.should_stop() {
            return false;
        }
        for device in 0..self.problem.topology.len() {
            if !self.devices.contains(&device) && self.problem.fits(copy / self.problem.replicas, device) {
                self.devices.push(device);
                let is_complete = self.place_next();
                self.devices.pop();
                if !is_complete {
                    return false;
                }
            }
        }
        true
    }

    fn look(&mut self) {
        self.count += 1;
        let mapping = Mapping { devices: self.devices.clone() };
        let objective = self.problem.objective(&mapping);
        if self.best.as_ref().is_none_or(|(_, best)| objective < *best) {
            self.best = Some((mapping, objective));
        }
    }
}
