//! The greedy filling for loads: the longest runs of an order below a limit.

use super::super::{outcome, work_bound};
use crate::cost::compute_load;
use crate::preprocess::{Reduced, Unordered, joint};
use crate::problem::Problem;
use crate::solve::dp::loads::{Sums, Value, objective, worse};
use crate::solve::dp::orders::depth_first;
use crate::solve::dp::{Incumbent, Setting};
use crate::solve::{Progress, Run, SearchContext, Stats};

/// Steps of the bisection; each halves the bracket.
const STEPS: usize = 50;

/// The best filling over the limits of a bisection.
pub(super) fn solve(problem: &Problem, cx: &SearchContext) -> Run {
    let reduced = Reduced::new(problem);
    let setting = Setting::new(problem, &reduced);
    let filling = Filling { setting: &setting, order: depth_first(&reduced.order, |u| u) };
    let bound = work_bound(&Unordered::new(problem));
    let mut best = filling.below(setting.ceiling);
    let (mut low, mut high) = (bound.value, best.as_ref().map_or(setting.ceiling, Incumbent::objective));
    let mut steps = 0;
    while best.is_some() && steps < STEPS && low < high && !cx.should_stop() {
        steps += 1;
        let limit = 0.5 * (low + high);
        match filling.below(limit) {
            Some(found) => {
                high = limit;
                if best.as_ref().is_none_or(|best| found.objective() < best.objective()) {
                    best = Some(found);
                }
            }
            None => low = limit,
        }
        let incumbent = best.as_ref().map(Incumbent::objective);
        cx.report(&Progress { phase: "filling", incumbent, bound: Some(bound.value) });
    }
    let mut stats = Stats::default();
    stats.set("units", reduced.unit_count() as f64);
    let solution = best.map(|best| setting.lift(&best, best.objective()));
    Run { outcome: outcome(solution, bound), stats }
}

struct Filling<'a> {
    setting: &'a Setting<'a>,
    order: Vec<usize>,
}

/// The longest run that a kind of stage holds from some position.
struct Longest {
    stage: usize,
    end: usize,
    value: Value,
}

impl Filling<'_> {
    /// The filling whose stages do not exceed `limit`; `None` where the devices do not suffice.
    fn below(&self, limit: f64) -> Option<Incumbent> {
        let reduced = self.setting.reduced;
        let mut free: Vec<usize> = reduced.kinds.iter().map(|kind| kind.count).collect();
        let mut incumbent = Incumbent { value: [0.0; 2], stages: Vec::new() };
        let mut begin = 0;
        let mut before = vec![0u64; self.order.len().div_ceil(64)];
        while begin < self.order.len() {
            let stages = self.setting.stages.iter().enumerate();
            let fitting = stages.filter(|(_, stage)| stage.replicas == 1 && free[stage.kind] > 0);
            let runs = fitting.filter_map(|(stage, _)| self.longest(stage, begin, &before, limit));
            // The first among equals: accelerators come before CPUs.
            let Longest { stage, end, value } = runs.reduce(|a, b| if b.end > a.end { b } else { a })?;
            free[self.setting.stages[stage].kind] -= 1;
            let units = &self.order[begin..end];
            units.iter().for_each(|&u| before[u / 64] |= 1 << (u % 64));
            incumbent.stages.push((reduced.lift(units.iter().copied()), stage));
            incumbent.value = worse(incumbent.value, value);
            begin = end;
        }
        Some(incumbent)
    }

    /// The longest run of at least one unit from `begin` on, after the units `before`.
    fn longest(&self, index: usize, begin: usize, before: &[u64], limit: f64) -> Option<Longest> {
        let loads = &self.setting.loads;
        let stage = self.setting.stages[index];
        let costs = &self.setting.reduced.kinds[stage.kind];
        let mut held = before.to_vec();
        let mut sums = Sums::default();
        let mut compute = 0.0;
        let mut longest = None;
        for (i, &u) in self.order.iter().enumerate().skip(begin) {
            let Some(more) = loads.with_unit(stage, &sums, before, &held, u) else { break };
            let Some(value) = loads.finish(stage, &more) else { break };
            sums = more;
            compute += costs.terms(u).map_or(0.0, |terms| joint(&terms).compute);
            if compute_load(&costs.pieces, compute) > limit {
                break;
            }
            held[u / 64] |= 1 << (u % 64);
            if objective(value) <= limit {
                longest = Some(Longest { stage: index, end: i + 1, value });
            }
        }
        longest
    }
}
