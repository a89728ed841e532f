//! A search that decides which rings lie in which blocks.
//!
//! Without that a copy has the cheapest of all rings that lead to where it is, as if some copies of its stage were all in its
//! block and others were not. So the ring of one stage after the other is said to lie in one block of some kind, or in none
//! alone, and the program refutes each case or lets it be divided further. Once all rings are decided, blocks are filled.

use super::co_location::CoLocation;
use super::groups::Tie;
use super::program::{Covered, Taken};
use super::{BlockConfiguration, ROUNDING, WHOLE};
use crate::mapping::Mapping;
use crate::search::{SEARCH_TOLERANCE, SearchContext};

/// The part of the programs left that one target may take.
const SHARE: u64 = 3;

/// Bisection ends with targets that differ by this part.
const PRECISION: f64 = 1e-3;

/// How many tries in a row may be for nothing when blocks are filled for decided rings.
const PATIENCE: u64 = 3;

/// What came of a target.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Decided {
    Refuted,
    Found,
    Unknown,
}

/// A search under one target.
struct Descent {
    target: f64,
    /// By stage.
    ties: Vec<Tie>,
    /// How many programs may have been solved at its end.
    end: u64,
    /// Whether it goes on only where the program holds all copies. That finds mappings sooner; but of what is left out
    /// otherwise, much can be refuted once more rings are decided.
    is_hopeful: bool,
    /// The best mapping so far and its objective.
    best: Option<(f64, Mapping)>,
}

impl BlockConfiguration<'_> {
    /// A time from `low` to `high` below which there is no mapping, if there is none below `low`, and the best mapping of
    /// those found. It takes about as many programs as have so many groups in all.
    pub fn decide_rings(&mut self, low: f64, high: f64, groups: u64, cx: &SearchContext) -> (f64, Option<Mapping>) {
        if !self.problem.cost.counted.all_reduce() || self.problem.replicas == 1 {
            return (low, None);
        }
        let ties = vec![Tie::Anywhere; self.problem.stages.stages.len()];
        // Most of all, nothing better than what is known may be left.
        let target = high * (1.0 - SEARCH_TOLERANCE);
        let mut descent = Descent { target, ties, end: 0, is_hopeful: true, best: None };
        let (mut refuted, mut open) = (low, high);
        let end = self.nodes + groups.div_ceil(self.groups.members.len() as u64);
        while self.nodes < end && !cx.should_stop() {
            match self.decide(&mut descent, end, cx) {
                Decided::Refuted => refuted = refuted.max(descent.target),
                Decided::Found => open = descent.best.as_ref().map_or(open, |best| best.0.min(open)),
                Decided::Unknown => open = descent.target,
            }
            if open - refuted <= PRECISION * high {
                break;
            }
            descent.target = f64::midpoint(refuted, open);
        }
        self.groups.tie(self.problem, &descent.ties);
        (refuted, descent.best.map(|(_, mapping)| mapping))
    }

    /// Looks for a mapping within the target, or a proof that there is none, with a part of the programs left until `end`.
    fn decide(&mut self, descent: &mut Descent, end: u64, cx: &SearchContext) -> Decided {
        let co_location = &CoLocation::new(self.problem, &self.groups, descent.target * (1.0 + ROUNDING));
        // In uneven blocks a configuration says too little about a mapping to look for one.
        let ways: &[bool] = if self.is_even { &[true, false] } else { &[false] };
        for &is_hopeful in ways {
            let programs = end.saturating_sub(self.nodes).div_ceil(SHARE * ways.len() as u64);
            (descent.end, descent.is_hopeful) = (self.nodes + programs, is_hopeful);
            let decided = self.descend(descent, co_location, cx);
            if decided != Decided::Unknown {
                return decided;
            }
        }
        Decided::Unknown
    }

    /// Looks for a mapping within the target whose rings lie as they are said to, as far as programs allow.
    fn descend(&mut self, descent: &mut Descent, co_location: &CoLocation, cx: &SearchContext) -> Decided {
        if self.nodes >= descent.end || cx.should_stop() {
            return Decided::Unknown;
        }
        if co_location.refute(&descent.ties) {
            return Decided::Refuted;
        }
        self.groups.tie(self.problem, &descent.ties);
        let demand = self.demand(descent.target);
        let configurations = match self.solve(&demand, cx) {
            Covered::Refuted => return Decided::Refuted,
            Covered::Unknown => return Decided::Unknown,
            Covered::Open(configurations) => configurations,
        };
        let holds_all = demand.left_out(&configurations) <= WHOLE;
        if !holds_all && descent.is_hopeful {
            return Decided::Unknown;
        }
        let stages = &self.problem.stages.stages;
        let open = (0..stages.len()).filter(|&stage| descent.ties[stage] == Tie::Anywhere);
        let heaviest = open.max_by(|&a, &b| stages[a].parameter_bytes.total_cmp(&stages[b].parameter_bytes));
        let Some(stage) = heaviest else {
            return if holds_all { self.fill_decided(descent, cx) } else { Decided::Unknown };
        };
        let mut is_refuted = true;
        for tie in self.cases(stage, &configurations) {
            descent.ties[stage] = tie;
            let decided = self.descend(descent, co_location, cx);
            descent.ties[stage] = Tie::Anywhere;
            if decided == Decided::Found {
                return decided;
            }
            is_refuted &= decided == Decided::Refuted;
        }
        if is_refuted { Decided::Refuted } else { Decided::Unknown }
    }

    /// Where the ring of a stage may lie, first where most of it is in these configurations.
    fn cases(&self, stage: usize, configurations: &[Taken]) -> Vec<Tie> {
        let replicas = self.problem.replicas;
        let held = |kind: usize| -> f64 {
            let of_kind = configurations.iter().filter(|taken| taken.configuration.kind == kind);
            of_kind.map(|taken| taken.weight * taken.configuration.copies[stage] as f64).sum()
        };
        let holds_ring = |&kind: &usize| self.groups.kinds[kind].size() >= replicas;
        let mut inside: Vec<(f64, usize)> =
            (0..self.groups.kinds.len()).filter(holds_ring).map(|kind| (held(kind), kind)).collect();
        inside.sort_by(|a, b| b.0.total_cmp(&a.0));
        let is_inside = inside.first().is_some_and(|&(most, _)| most > replicas as f64 - 0.5);
        let mut cases: Vec<Tie> = inside.into_iter().map(|(_, kind)| Tie::Inside(kind)).collect();
        cases.insert(usize::from(is_inside), Tie::Across);
        cases
    }

    /// Fills blocks for rings that are all decided.
    fn fill_decided(&mut self, descent: &mut Descent, cx: &SearchContext) -> Decided {
        let Some(mapping) = self.mapping(descent.target, PATIENCE, cx) else { return Decided::Unknown };
        let objective = self.problem.objective(&mapping);
        if descent.best.as_ref().is_none_or(|best| objective < best.0) {
            descent.best = Some((objective, mapping));
        }
        if objective <= descent.target { Decided::Found } else { Decided::Unknown }
    }
}
