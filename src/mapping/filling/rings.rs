//! A bound that decides which rings lie in which blocks.
//!
//! Without that a copy has the cheapest of all rings that lead to where it is, as if some copies of its stage were all in its
//! block and others were not. So the ring of one stage after the other is said to lie in one block of some kind, or in none
//! alone, and the program refutes each case or lets it be divided further.

use super::Filler;
use super::groups::Tie;
use super::program::Filled;
use crate::solve::{OPTIMALITY_TOLERANCE, SearchContext};

/// The most programs, times the number of devices: with more of these programs take longer.
const PROGRAMS: usize = 1 << 15;

/// The part of the programs left that one target may take.
const SHARE: usize = 3;

/// Bisection ends with targets that differ by this part.
const PRECISION: f64 = 1e-3;

impl Filler<'_> {
    /// A time from `low` to `high` below which there is no mapping, if there is none below `low`.
    pub fn bound_with_rings(&mut self, low: f64, high: f64, cx: &SearchContext) -> f64 {
        if !self.problem.cost.counted.all_reduce() || self.problem.replicas == 1 {
            return low;
        }
        // Most of all, nothing better than what is known may be left.
        let (mut refuted, mut open, mut target) = (low, high, high * (1.0 - OPTIMALITY_TOLERANCE));
        let mut ties = vec![Tie::Anywhere; self.problem.stages.stages.len()];
        let mut programs = PROGRAMS / self.problem.topology.len();
        while open - refuted > PRECISION * high && !cx.should_stop() {
            let (share, mut left) = (programs / SHARE, programs / SHARE);
            match self.refutes(target, &mut ties, &mut left, cx) {
                true => refuted = target,
                false => open = target,
            }
            programs -= share - left;
            target = f64::midpoint(refuted, open);
        }
        self.groups.tie(self.problem, &ties);
        refuted
    }

    /// Whether no mapping with rings that lie so takes at most `target`, as far as so many programs can tell.
    fn refutes(&mut self, target: f64, ties: &mut [Tie], programs: &mut usize, cx: &SearchContext) -> bool {
        let Some(left) = programs.checked_sub(1).filter(|_| !cx.should_stop()) else { return false };
        *programs = left;
        self.groups.tie(self.problem, ties);
        if self.solve(&self.order(target), cx) == Filled::Refuted {
            return true;
        }
        let stages = &self.problem.stages.stages;
        let open = (0..stages.len()).filter(|&stage| ties[stage] == Tie::Anywhere);
        let heaviest = open.max_by(|&a, &b| stages[a].parameter_bytes.total_cmp(&stages[b].parameter_bytes));
        let Some(stage) = heaviest else { return false };
        let holds_ring = |&kind: &usize| self.groups.kinds[kind].size() >= self.problem.replicas;
        let inside = (0..self.groups.kinds.len()).filter(holds_ring).map(Tie::Inside);
        let cases: Vec<Tie> = [Tie::Across].into_iter().chain(inside).collect();
        let is_refuted = cases.into_iter().all(|tie| {
            ties[stage] = tie;
            self.refutes(target, ties, programs, cx)
        });
        ties[stage] = Tie::Anywhere;
        is_refuted
    }
}
