//! The published local search for loads: the best reassignment of one colour class, until none helps.

use std::cmp::Ordering;

use rand::rngs::Xoshiro256PlusPlus;
use rand::{RngExt, SeedableRng};
use rayon::prelude::*;

use super::super::{is_good_enough, outcome, work_bound};
use super::{BATCH, LocalSearch};
use crate::cost::MAX_PIECES;
use crate::preprocess::Unordered;
use crate::problem::Problem;
use crate::solve::certify::multilevel::{Level, Rows, Shift, State, overload};
use crate::solve::certify::{Assignment, Setting};
use crate::solve::dp::loads::{Value, objective, worse};
use crate::solve::{OPTIMALITY_TOLERANCE, Progress, Run, SearchContext, Stats, in_pool};

/// The most rows that loads, passes and memory need.
const ROWS: usize = 8;

/// The same for loads of as many pieces as there may be.
const MOST_ROWS: usize = 2 * MAX_PIECES + 1;

/// Units whose moves are judged between two looks at the limits.
const PATIENCE: usize = 1 << 10;

/// Moves after which loads are counted anew, free of what rounding has left.
const RECOUNT: usize = 256;

/// The best local optimum from random splits.
pub(super) fn solve(LocalSearch { restarts, cpus, .. }: LocalSearch, problem: &Problem, cx: &SearchContext) -> Run {
    let unordered = Unordered::new(problem);
    let setting = Setting::new(problem, &unordered);
    let rows = Rows::new(problem, &unordered.units);
    match rows.count() {
        ..=ROWS => from_starts::<ROWS>((restarts, cpus), &setting, &rows, cx),
        _ => from_starts::<MOST_ROWS>((restarts, cpus), &setting, &rows, cx),
    }
}

fn from_starts<const R: usize>(
    (restarts, cpus): (usize, bool),
    setting: &Setting,
    rows: &Rows,
    cx: &SearchContext,
) -> Run {
    let unordered = setting.unordered;
    let level = Level::<R>::finest(setting, rows);
    let limits = rows.limits([f64::MAX; 2]);
    let descent = Descent { setting, level: &level, rows, limits, cpus, cx };
    let bound = work_bound(unordered);
    let mut best: Option<(f64, Assignment)> = None;
    let (mut tried, mut moves) = (0, 0);
    let is_enough = |best: &Option<(f64, Assignment)>| {
        best.as_ref().is_some_and(|&(value, _)| is_good_enough(value, &bound, cx.gap))
    };
    while tried < restarts && !is_enough(&best) && (tried == 0 || !cx.should_stop()) {
        let batch = tried..restarts.min(tried + BATCH);
        tried = batch.end;
        let found: Vec<(Assignment, usize)> =
            in_pool(cx, || batch.into_par_iter().filter_map(|restart| descent.run(restart)).collect());
        for (split, made) in found {
            moves += made;
            if let Some(value) = setting.objective(&split)
                && best.as_ref().is_none_or(|&(known, _)| value < known)
            {
                best = Some((value, split));
            }
        }
        let incumbent = best.as_ref().map(|&(value, _)| value);
        cx.report(&Progress { phase: "local search", incumbent, bound: Some(bound.value) });
    }
    let mut stats = Stats::default();
    stats.set("restarts", tried as f64);
    stats.set("moves", moves as f64);
    Run { outcome: outcome(best.map(|(_, split)| setting.to_solution(&split)), bound), stats }
}

/// What a split is worth: first that it fits, then its objective.
#[derive(Debug, Clone, Copy)]
struct Worth {
    overload: f64,
    objective: f64,
}

impl Worth {
    fn order(&self, other: &Self) -> Ordering {
        self.overload.total_cmp(&other.overload).then(self.objective.total_cmp(&other.objective))
    }

    /// Whether it is better than `other` by more than rounding.
    fn betters(&self, other: &Self) -> bool {
        let is_less = |new: f64, old: f64| new < old * (1.0 - OPTIMALITY_TOLERANCE);
        is_less(self.overload, other.overload)
            || self.overload <= other.overload && is_less(self.objective, other.objective)
    }
}

/// A reassignment of one unit, and what follows from it.
struct Move<const R: usize> {
    unit: usize,
    to: usize,
    shift: Shift<R>,
    worth: Worth,
}

struct Descent<'a, const R: usize> {
    setting: &'a Setting<'a>,
    level: &'a Level<R>,
    rows: &'a Rows,
    /// No limit on loads, the memory on its row.
    limits: [f64; R],
    /// Whether units may leave accelerators for CPUs though memory suffices.
    cpus: bool,
    cx: &'a SearchContext,
}

impl<'a, const R: usize> Descent<'a, R> {
    /// A local optimum from random split number `restart`, and the moves that led there. `None` where no device can run
    /// some unit.
    fn run(&self, restart: usize) -> Option<(Assignment, usize)> {
        if restart > 0 && self.cx.should_stop() {
            return None;
        }
        let mut state = State::new(self.level, &self.setting.kind_of, self.start(restart)?);
        let mut moves = 0usize;
        while !self.cx.should_stop()
            && let Some(Move { unit, to, shift, .. }) = self.best_move(&state)
        {
            state.apply(unit, to, &shift);
            moves += 1;
            if moves.is_multiple_of(RECOUNT) {
                state.recount();
            }
        }
        Some((Assignment { device_of: state.device_of }, moves))
    }

    /// Each unit on a random accelerator that can run it, or on a random CPU where none can.
    fn start(&self, restart: usize) -> Option<Vec<u32>> {
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(self.cx.seed.wrapping_add(restart as u64));
        let idle = State::new(self.level, &self.setting.kind_of, vec![0; self.level.vertex_count]);
        let devices = 0..self.setting.device_count();
        let (cpus, accelerators): (Vec<usize>, Vec<usize>) = devices.partition(|&d| self.setting.is_cpu(d));
        let mut pick = |unit: usize, devices: &[usize]| {
            let able: Vec<usize> = devices.iter().copied().filter(|&d| idle.supports(unit, d)).collect();
            let device = (!able.is_empty()).then(|| able[rng.random_range(0..able.len())])?;
            Some(device as u32)
        };
        (0..self.level.vertex_count).map(|unit| pick(unit, &accelerators).or_else(|| pick(unit, &cpus))).collect()
    }

    /// The reassignment that helps most, the first among equals; `None` at a local optimum, or where a limit comes first.
    fn best_move(&self, state: &State<'a, R>) -> Option<Move<R>> {
        let standing = Standing::new(self, state);
        let mut best: Option<Move<R>> = None;
        for unit in 0..self.level.vertex_count {
            if unit % PATIENCE == PATIENCE - 1 && self.cx.should_stop() {
                return None;
            }
            let from = state.device_of[unit] as usize;
            for to in (0..state.device_count()).filter(|&to| to != from && standing.can_help(from, to)) {
                if !state.supports(unit, to) || !self.is_open(from, to, &standing) {
                    continue;
                }
                let shift = state.shift(unit, to);
                let worth = standing.after(self, from, to, &shift);
                if best.as_ref().is_none_or(|best| worth.order(&best.worth).is_lt()) {
                    best = Some(Move { unit, to, shift, worth });
                }
            }
        }
        best.filter(|best| best.worth.betters(&standing.worth))
    }

    /// Whether units may go from one device to the other.
    fn is_open(&self, from: usize, to: usize, standing: &Standing) -> bool {
        self.cpus || standing.worth.overload > 0.0 || !self.setting.is_cpu(to) || self.setting.is_cpu(from)
    }

    fn value(&self, rows: &[f64; R]) -> Value {
        self.rows.value(rows)
    }
}

/// The devices' values and overloads before a move.
struct Standing {
    values: Vec<Value>,
    overloads: Vec<f64>,
    /// The largest value of each pass.
    largest: Value,
    worth: Worth,
    /// For each pass the devices of the largest values, three at most.
    leaders: [Vec<usize>; 2],
}

impl Standing {
    fn new<const R: usize>(descent: &Descent<R>, state: &State<R>) -> Self {
        let values: Vec<Value> = state.rows.iter().map(|rows| descent.value(rows)).collect();
        let overloads: Vec<f64> = state.rows.iter().map(|rows| overload(rows, &descent.limits)).collect();
        let largest = values.iter().copied().fold([0.0; 2], worse);
        let worth = Worth { overload: overloads.iter().sum(), objective: objective(largest) };
        let leaders = [0, 1].map(|pass| {
            let mut devices: Vec<usize> = (0..values.len()).collect();
            devices.sort_by(|&a, &b| values[b][pass].total_cmp(&values[a][pass]));
            devices.truncate(3);
            devices
        });
        Self { values, overloads, largest, worth, leaders }
    }

    /// Whether a move between these devices can help: it has to touch one with too much memory or the largest load.
    fn can_help(&self, from: usize, to: usize) -> bool {
        if self.worth.overload > 0.0 {
            return self.overloads[from] > 0.0;
        }
        let leads =
            |d: usize| (0..2).any(|pass| self.largest[pass] > 0.0 && self.values[d][pass] == self.largest[pass]);
        leads(from) || leads(to)
    }

    /// What the split is worth after a move.
    fn after<const R: usize>(&self, descent: &Descent<R>, from: usize, to: usize, shift: &Shift<R>) -> Worth {
        let others = [0, 1].map(|pass| {
            let leader = self.leaders[pass].iter().find(|&&d| d != from && d != to);
            leader.map_or(0.0, |&d| self.values[d][pass])
        });
        let moved = worse(descent.value(&shift.from), descent.value(&shift.to));
        let rest: f64 = (0..self.overloads.len()).filter(|&d| d != from && d != to).map(|d| self.overloads[d]).sum();
        let overload = rest + overload(&shift.from, &descent.limits) + overload(&shift.to, &descent.limits);
        Worth { overload, objective: objective(worse(others, moved)) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::generate::{Dnn, RandomDag, RandomFamily, Recipe, generate};
    use crate::problem::{CostKind, Objective, ProblemSpec, Scope};

    /// Follows descents, and compares every move with all moves, each counted anew.
    fn check(cost: CostKind, objective_kind: Objective, memory: f64) {
        let family = RandomFamily::Dnn(Dnn { nodes: 24, ..Dnn::default() });
        let instance = generate(&Recipe { training: true, ..Recipe::new(RandomDag::new(family, 1)) }).unwrap();
        let mut spec =
            ProblemSpec { scope: Scope::Arbitrary, cost, objective: objective_kind, ..ProblemSpec::of(&instance) };
        let total: f64 = instance.nodes.iter().map(|node| node.memory).sum();
        spec.platform.accelerators[0].count = 3;
        spec.platform.accelerators[0].memory = Some(memory * total);
        let problem = Problem::new(&instance, spec).unwrap();
        let unordered = Unordered::new(&problem);
        let setting = Setting::new(&problem, &unordered);
        let rows = Rows::new(&problem, &unordered.units);
        let level = Level::<ROWS>::finest(&setting, &rows);
        let (limits, cx) = (rows.limits([f64::MAX; 2]), SearchContext::new());
        let descent = Descent { setting: &setting, level: &level, rows: &rows, limits, cpus: true, cx: &cx };
        let anew = |device_of: &[u32]| {
            let split = Assignment { device_of: device_of.to_vec() };
            let values = setting.loads(&split).unwrap();
            let memory = setting.memory(&split);
            let excess = |d: usize| {
                let limit = setting.kind(d).memory_limit.filter(|&limit| memory[d] > limit * (1.0 + 1e-9))?;
                Some(rows.capacity.unwrap() * (memory[d] / limit - 1.0 - 1e-9))
            };
            let overload = (0..setting.device_count()).filter_map(excess).sum();
            Worth { overload, objective: objective(values.into_iter().fold([0.0; 2], worse)) }
        };
        let close = |a: f64, b: f64| (a - b).abs() <= 1e-9 * (1.0 + b.abs());
        let mut moves = 0;
        for restart in 0..3 {
            let mut state = State::new(&level, &setting.kind_of, descent.start(restart).unwrap());
            loop {
                let before = anew(&state.device_of);
                let moved = |unit: usize, to: usize| {
                    let mut device_of = state.device_of.clone();
                    device_of[unit] = to as u32;
                    device_of
                };
                let all =
                    (0..setting.unit_count()).flat_map(|unit| (0..setting.device_count()).map(move |to| (unit, to)));
                let possible = all.filter(|&(unit, to)| state.supports(unit, to));
                let best = possible.map(|(unit, to)| anew(&moved(unit, to))).min_by(Worth::order).unwrap();
                let Some(Move { unit, to, shift, worth }) = descent.best_move(&state) else {
                    assert!(!best.betters(&before), "{best:?} betters {before:?}");
                    break;
                };
                let found = anew(&moved(unit, to));
                assert!(close(worth.overload, found.overload) && close(worth.objective, found.objective));
                assert!(close(found.overload, best.overload) && close(found.objective, best.objective));
                state.apply(unit, to, &shift);
                moves += 1;
            }
        }
        assert!(moves > 9, "{moves} moves");
    }

    #[test]
    fn each_move_is_the_best_of_all() {
        for cost in [CostKind::Additive, CostKind::Overlap, CostKind::Duplex] {
            for memory in [1.0, 0.3] {
                check(cost, Objective::Throughput, memory);
                check(cost, Objective::GPipe, memory);
            }
        }
    }
}
