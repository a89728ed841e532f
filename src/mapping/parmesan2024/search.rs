//! Algorithm 2: is there a mapping whose copies all take at most t?

use std::time::{Duration, Instant};

use super::scheme::Scheme;
use crate::mapping::Mapping;
use crate::mapping::local::{LocalCost, UNPLACED};
use crate::search::{SearchContext, Verdict};

/// How many placements are tried between two looks at the clock.
const CLOCK: u64 = 1024;

/// One depth-first search under a target.
pub(super) struct Inner<'a> {
    cost: &'a LocalCost<'a>,
    scheme: &'a Scheme,
    /// The target, and above it what rounding may add to a time.
    limit: f64,
    deadline: Option<Instant>,
    cx: &'a SearchContext,
    /// By copy.
    devices: Vec<usize>,
    /// By device.
    taken: Vec<bool>,
    placements: u64,
    timed_out: bool,
}

impl<'a> Inner<'a> {
    pub fn new(
        cost: &'a LocalCost<'a>,
        scheme: &'a Scheme,
        target: f64,
        timeout: Duration,
        cx: &'a SearchContext,
    ) -> Self {
        Self {
            cost,
            scheme,
            limit: target + target.abs().min(1e300) * 1e-12,
            deadline: Instant::now().checked_add(timeout),
            cx,
            devices: vec![UNPLACED; scheme.order.len()],
            taken: vec![false; cost.problem.topology.len()],
            placements: 0,
            timed_out: false,
        }
    }

    /// The verdict, and how many placements were tried.
    pub fn run(mut self) -> (Verdict<Mapping>, u64) {
        let verdict = match self.place_from(0) {
            true => Verdict::Found(Mapping { devices: self.devices }),
            false if self.timed_out => Verdict::Unknown,
            false => Verdict::Refuted,
        };
        (verdict, self.placements)
    }

    /// Places the copies from `place` in the order on; whether that meets the target.
    fn place_from(&mut self, place: usize) -> bool {
        let Some(&copy) = self.scheme.order.get(place) else { return true };
        let stage = copy / self.cost.problem.replicas;
        for device in 0..self.taken.len() {
            if self.taken[device] || !self.cost.problem.fits(stage, device) {
                continue;
            }
            if self.is_out_of_time() {
                return false;
            }
            self.placements += 1;
            self.devices[copy] = device;
            self.taken[device] = true;
            if self.meets_target(place) && self.place_from(place + 1) {
                return true;
            }
            self.devices[copy] = UNPLACED;
            self.taken[device] = false;
        }
        false
    }

    /// Whether every copy whose time is settled at `place` takes at most the target.
    fn meets_target(&self, place: usize) -> bool {
        self.cost.times(&self.scheme.settled[place], &self.devices).all(|time| time <= self.limit)
    }

    fn is_out_of_time(&mut self) -> bool {
        if self.placements.is_multiple_of(CLOCK) {
            let late = self.deadline.is_some_and(|deadline| Instant::now() >= deadline);
            self.timed_out |= late || self.cx.should_stop();
        }
        self.timed_out
    }
}
