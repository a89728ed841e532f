//! The passes of a run: beams for a good split, then the proof.

use super::lattice::Lattice;
use super::model::Model;
use super::search::{Pass, Rules};
use super::tails::Tails;
use super::trace;
use crate::problem::{DeviceKind, Problem, Solution, fits};
use crate::solve::{BoundSource, LowerBound, OPTIMALITY_TOLERANCE, Outcome, Progress, Run, SearchContext, Stats};

/// Labels kept of each state by the passes before the exact one.
const BEAMS: [usize; 2] = [2, 16];

/// Prices of an accelerator, as parts of the tail of the whole split at no price.
const PRICES: [f64; 3] = [1.0 / 64.0, 1.0 / 16.0, 0.25];

/// An incumbent below this many times the bound is worth a pass that does not count accelerators.
const MODEST_GAP: f64 = 1.5;

/// Ideals of a lattice with a window.
const WINDOW_IDEALS: usize = 20_000;

/// A run under way.
struct State<'a> {
    model: &'a Model<'a>,
    cx: &'a SearchContext,
    incumbent: Option<Solution>,
    bound: f64,
    source: BoundSource,
    /// Whether it is known that nothing beats the incumbent, or that there is no split.
    complete: bool,
    stats: Stats,
}

/// Solves a latency problem.
///
/// First without the memory of leaves that take no time, which then join their neighbours: the graph is narrower, and
/// where the split found has room for them it is optimal.
pub(super) fn solve(problem: &Problem, max_ideals: usize, cx: &SearchContext) -> Run {
    let mut bound = 0.0;
    if let Some(relaxed) = Model::without_leaf_memory(problem) {
        let run = solve_model(&relaxed, max_ideals, 0.0, cx);
        bound = match &run.outcome {
            Outcome::Infeasible(_) => return run,
            outcome if outcome.solution().is_some_and(|split| has_room(problem, split)) => return run,
            outcome => outcome.bound().map_or(0.0, |bound| bound.value),
        };
    }
    solve_model(&Model::new(problem), max_ideals, bound, cx)
}

/// Whether every accelerator of the split has room for its nodes.
fn has_room(problem: &Problem, split: &Solution) -> bool {
    let index = problem.index_of_ids();
    split.devices.iter().filter(|device| device.kind != DeviceKind::Cpu).all(|device| {
        let costs = device.nodes.iter().filter_map(|id| problem.cost.node(index[id], device.kind));
        fits(costs.map(|cost| cost.memory).sum(), problem.memory_limit(device.kind))
    })
}

/// How many devices of a kind a split uses.
fn used(split: &Solution, kind: DeviceKind) -> usize {
    split.devices.iter().filter(|device| device.kind == kind).count()
}

fn solve_model(model: &Model, max_ideals: usize, bound: f64, cx: &SearchContext) -> Run {
    let mut stats = Stats::default();
    stats.set("units", model.unit_count() as f64);
    let incumbent = trace::all_on_cpu(model);
    let source = BoundSource::LongestPath;
    let mut state = State { model, cx, incumbent, bound, source, complete: false, stats };
    let mut tails = vec![Tails::new(model, 0.0, cx)];
    state.raise(tails[0].of_split(model), 0.0);
    state.report("tails");
    match Lattice::new(model, None, max_ideals, cx) {
        Ok(lattice) => state.prove(&lattice, &mut tails),
        Err(_) => state.windows(&tails),
    }
    state.finish()
}

impl State<'_> {
    /// A narrow beam, the bound of any number of accelerators, a wider beam, and the pass that drops nothing.
    fn prove(&mut self, lattice: &Lattice, tails: &mut Vec<Tails>) {
        self.stats.set("ideals", lattice.len() as f64);
        self.stats.set("cuts", lattice.cuts.len() as f64);
        let beam = |beam| Rules { counting: true, connected: true, upper: f64::MAX, beam };
        self.pass(lattice, tails, beam(BEAMS[0]));
        if !self.is_done() && self.accelerators_may_suffice() {
            self.pass(lattice, tails, Rules { counting: false, ..beam(usize::MAX) });
        }
        let root = tails[0].of_split(self.model);
        for price in PRICES.map(|part| part * root) {
            if self.is_done() {
                return;
            }
            let priced = Tails::new(self.model, price, self.cx);
            self.raise(priced.of_split(self.model), price * self.accelerators() as f64);
            tails.push(priced);
            self.report("tails");
        }
        for rules in [beam(BEAMS[1]), Rules { connected: false, ..beam(usize::MAX) }] {
            if !self.is_done() {
                self.pass(lattice, tails, rules);
            }
        }
    }

    /// Whether the best split for any number of accelerators is likely to use no more than there are.
    fn accelerators_may_suffice(&self) -> bool {
        let is_low = |value: f64| value <= MODEST_GAP * self.bound;
        let used = |split: &Solution| self.model.classes.iter().map(|class| used(split, class.kind)).sum::<usize>();
        let spares = |split: &Solution| used(split) < self.accelerators();
        self.value().is_some_and(is_low) || self.incumbent.as_ref().is_some_and(spares)
    }

    /// Beams over ever more of the ideals of a graph that has too many.
    fn windows(&mut self, tails: &[Tails]) {
        let mut window = 1;
        while let Ok(lattice) = Lattice::new(self.model, Some(window), WINDOW_IDEALS, self.cx) {
            self.pass(&lattice, tails, Rules { counting: true, connected: true, upper: f64::MAX, beam: BEAMS[1] });
            if self.is_done() || window >= self.model.unit_count() {
                return;
            }
            window *= 2;
        }
    }

    /// One pass; keeps what it finds.
    fn pass(&mut self, lattice: &Lattice, tails: &[Tails], rules: Rules) {
        let rules = Rules { upper: rules.upper.min(self.upper()), ..rules };
        let mut pass = Pass::new(self.model, lattice, tails, rules);
        let ended = pass.run(self.cx);
        let add = |stats: &mut Stats, name, more: usize| {
            let before = stats.get(name).unwrap_or(0.0);
            stats.set(name, before + more as f64);
        };
        add(&mut self.stats, "labels", pass.inserted);
        add(&mut self.stats, "subgraphs", pass.subgraphs);
        if !ended {
            return;
        }
        let exact = lattice.is_whole && !pass.incomplete && !(rules.counting && rules.connected);
        match pass.best() {
            Some((label, value)) => {
                let split = trace::solution(&pass, &trace::blocks(&pass, label), value);
                let is_allowed = rules.counting || self.is_allowed(&split);
                if is_allowed {
                    self.incumbent = Some(split);
                }
                if exact {
                    self.raise_to(value, BoundSource::Enumeration);
                    self.complete |= is_allowed;
                }
            }
            None if exact => self.complete = true,
            None => {}
        }
        self.report("labels");
    }

    /// Splits that cannot be below this are of no use: the incumbent, less half of the tolerance, which leaves room
    /// for the rounding of bounds.
    fn upper(&self) -> f64 {
        self.value().map_or(f64::MAX, |value| value * (1.0 - 0.5 * OPTIMALITY_TOLERANCE))
    }

    fn value(&self) -> Option<f64> {
        self.incumbent.as_ref().and_then(|split| split.objective)
    }

    fn report(&self, phase: &'static str) {
        self.cx.report(&Progress { phase, incumbent: self.value(), bound: Some(self.bound) });
    }

    fn raise(&mut self, tail: f64, price: f64) {
        self.raise_to((tail - price) - 0.5 * OPTIMALITY_TOLERANCE * tail, BoundSource::LongestPath);
    }

    fn raise_to(&mut self, value: f64, source: BoundSource) {
        if value > self.bound {
            (self.bound, self.source) = (value, source);
        }
    }

    fn is_done(&self) -> bool {
        let gap = self.cx.gap.max(OPTIMALITY_TOLERANCE);
        let is_close = self.value().is_some_and(|value| value - self.bound <= gap * value);
        self.complete || is_close || self.cx.should_stop()
    }

    fn accelerators(&self) -> usize {
        self.model.classes.iter().map(|class| class.count).sum()
    }

    /// Whether the split uses no more accelerators than there are.
    fn is_allowed(&self, split: &Solution) -> bool {
        self.model.classes.iter().all(|class| used(split, class.kind) <= class.count)
    }

    fn finish(self) -> Run {
        let scope = self.model.problem.spec.scope.clone();
        let value = self.value();
        let settled = |value: f64| self.complete || value - self.bound <= OPTIMALITY_TOLERANCE * value;
        let bound = |value: f64, source| LowerBound { value, scope: scope.clone(), source };
        let outcome = match (self.incumbent, value) {
            (Some(solution), Some(value)) if settled(value) => {
                let source = if self.complete { BoundSource::Enumeration } else { self.source };
                Outcome::Optimal { solution, bound: bound(value, source) }
            }
            (Some(solution), _) => Outcome::Feasible { solution, bound: Some(bound(self.bound, self.source)) },
            (None, _) if self.complete => Outcome::Infeasible(scope),
            (None, _) => Outcome::Unknown { bound: Some(bound(self.bound, self.source)) },
        };
        Run { outcome, stats: self.stats }
    }
}
