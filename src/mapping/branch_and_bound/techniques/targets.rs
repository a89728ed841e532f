//! Searches under targets: the refutation of everything better, climbing from the bound, and bisection between the two.

use super::super::search::BranchingOrder;
use super::super::{LEAST_STEP, Proof, WIDE};
use crate::search::Verdict;

/// How many times the decisions of a round's other searches, which are several, the refutation of everything better than the
/// best mapping takes, and with blocks, whose filling takes time of its own, where the gap is not wide.
const SETTLING: u64 = 3;
const SETTLING_BLOCKS: u64 = 8;

impl<const W: usize> Proof<'_, W> {
    /// Tries to refute everything better than the best mapping by some times so many decisions. In blocks that is of no use
    /// where much is left to prove.
    pub(in super::super) fn settle_more(&mut self, decisions: u64) {
        let times = match self.has_blocks() {
            false => SETTLING,
            true if self.gap() > WIDE => 1,
            true => SETTLING_BLOCKS,
        };
        self.settle(decisions.saturating_mul(times));
    }

    /// Tries to refute everything better than the best mapping. Where one search after the other finds better ones, targets
    /// are ever farther below them.
    pub(in super::super) fn settle(&mut self, decisions: u64) {
        let mut step = 0.0;
        while !self.is_done() {
            let target = self.better().min(self.objective() - step * (self.objective() - self.bound()));
            step = match self.search(target, decisions, BranchingOrder::Learned) {
                Verdict::Found(_) => f64::clamp(2.0 * step, 0.02, 0.5),
                Verdict::Unknown if step == 0.0 => return,
                Verdict::Refuted | Verdict::Unknown => 0.0,
            };
            self.tell("searching");
        }
    }

    /// Raises the bound by ever longer steps as far as searches of so many decisions can tell. The least targets are the
    /// easiest to search, and where the bound is the optimum, they find the best mapping.
    pub(in super::super) fn climb(&mut self, decisions: u64) {
        let mut step = LEAST_STEP;
        while !self.is_done() {
            let target = (self.bound() * (1.0 + step)).min(self.better());
            // What lies between it and the best mapping is what was searched for just now.
            if self.next_time(target) >= self.better() {
                return;
            }
            if self.search(target, decisions, BranchingOrder::Learned) == Verdict::Unknown {
                return;
            }
            step = (2.0 * step).max(1e-4);
            self.tell("climbing");
        }
    }

    /// Searches for a mapping that reaches the bound, in the other order than climbing does.
    pub(in super::super) fn reach(&mut self, decisions: u64) {
        self.search(self.bound() * (1.0 + LEAST_STEP), decisions, BranchingOrder::Fresh);
        self.tell("reaching");
    }

    /// Bisects between bound and best mapping as far as searches of so many decisions can tell, down to a part
    /// `precision` of the objective.
    pub(in super::super) fn bisect(&mut self, decisions: u64, precision: f64) {
        let mut high = self.objective();
        while high - self.bound() > precision * high && !self.is_done() {
            let target = f64::midpoint(self.bound(), high);
            match self.search(target, decisions, BranchingOrder::Fresh) {
                Verdict::Refuted => (),
                Verdict::Found(_) => high = self.objective(),
                Verdict::Unknown => high = target,
            }
            self.tell("bisecting");
        }
    }
}
