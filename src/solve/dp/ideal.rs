//! The ideal DP (Tarnawski 2020, section 5.1.1): exact over splits into successive ideals.
//!
//! The published DP tabulates all pairs of ideals. This one looks at few: linearized DP gives a split, the boundary
//! relaxation a bound that is mostly equal to it, and a layered search over the ideals that the relaxation admits
//! settles the rest.

use std::sync::Arc;

use super::dominance::Dominance;
use super::enumerate::Enumerator;
use super::frontier::Frontier;
use super::fronts::{FrontTable, TooMany};
use super::linearized;
use super::loads::ones;
use super::relaxation::{Front, Ratio, Relaxation};
use super::search::{Effort, IdealChain, Search, Verdict};
use super::stage::{Ideals, Variant, Variants, descendants};
use super::{Incumbent, Setting, servers};
use crate::graph::NodeId;
use crate::preprocess::Reduced;
use crate::problem::{Problem, Scope};
use crate::solve::{
    BoundSource, Guarantee, LowerBound, Outcome, Progress, Run, SearchContext, SolveError, Solver, Stats, Unsupported,
};

/// A proof refutes all objectives below the incumbent by more than this part of it: the rounding of a sum.
pub const OPTIMALITY_TOLERANCE: f64 = 1e-9;

/// Stages that a search for one target may evaluate at first; fourfold in each round.
const FIRST_BUDGET: usize = 1_000_000;

/// The exact DP over ideals, for [`Scope::Acyclic`].
///
/// Anytime: on a limit it returns its best split and the largest bound proven. Time and memory grow with the states
/// of the frontier automaton and with the gap that its relaxation leaves, not with the number of ideals.
#[derive(Debug, Clone, PartialEq)]
pub struct IdealDp {
    /// Orders tried by linearized DP for the first split.
    pub orders: usize,
    /// The most states of the frontier automaton.
    pub max_states: usize,
    /// The most labels of one table of the relaxation (16 bytes each).
    pub max_labels: usize,
}

impl Default for IdealDp {
    fn default() -> Self {
        Self { orders: 16, max_states: 4_000_000, max_labels: 40_000_000 }
    }
}

impl Solver for IdealDp {
    fn name(&self) -> &'static str {
        "dp"
    }

    fn guarantee(&self) -> Guarantee {
        Guarantee::Exact
    }

    fn supports(&self, problem: &Problem) -> Result<(), Unsupported> {
        super::supports(self.name(), problem)
    }

    fn solve(&self, problem: &Problem, cx: &mut SearchContext) -> Result<Run, SolveError> {
        self.supports(problem)?;
        let reduced = Reduced::new(problem);
        let setting = Setting::new(problem, &reduced);
        Ok(super::in_pool(cx, || State::new(&setting).solve(self, cx)))
    }
}

/// A run under way.
struct State<'a> {
    setting: &'a Setting<'a>,
    incumbent: Option<Incumbent>,
    bound: f64,
    source: BoundSource,
    stats: Stats,
}

/// Whether a proof ended with no split at all below the ceiling.
#[derive(PartialEq, Eq)]
enum Proof {
    Complete,
    Partial,
}

impl<'a> State<'a> {
    fn new(setting: &'a Setting<'a>) -> Self {
        let mut stats = Stats::default();
        stats.set("units", setting.reduced.unit_count() as f64);
        Self { setting, incumbent: None, bound: setting.work_bound(), source: BoundSource::Work, stats }
    }

    fn solve(mut self, options: &IdealDp, cx: &SearchContext) -> Run {
        self.first_split(options, cx);
        if self.is_settled(cx) {
            return self.finish(Proof::Partial);
        }
        // Whatever beats the incumbent is a split of the graph reduced below it.
        let reduced = if std::env::var("NB").is_ok() {
            self.setting.reduced.clone()
        } else {
            self.setting.reduced.clone().below(self.setting.problem, self.upper())
        };
        let setting = Setting::new(self.setting.problem, &reduced);
        let mut state = State {
            setting: &setting,
            incumbent: self.incumbent,
            bound: self.bound,
            source: self.source,
            stats: self.stats,
        };
        state.stats.set("units_below", reduced.unit_count() as f64);
        let proof = state.prove(options, cx);
        state.finish(proof)
    }

    /// The objective to beat.
    fn upper(&self) -> f64 {
        self.incumbent.as_ref().map_or(self.setting.ceiling, Incumbent::objective)
    }

    fn is_settled(&self, cx: &SearchContext) -> bool {
        let upper = self.upper();
        self.incumbent.is_some() && upper - self.bound <= cx.gap.max(OPTIMALITY_TOLERANCE) * upper
    }

    fn raise_bound(&mut self, value: f64, source: BoundSource) {
        if value > self.bound {
            self.bound = value;
            self.source = source;
        }
    }

    fn improve(&mut self, incumbent: Incumbent) {
        if self.incumbent.as_ref().is_none_or(|old| incumbent.objective() < old.objective()) {
            self.incumbent = Some(incumbent);
        }
    }

    fn report(&self, phase: &'static str, cx: &SearchContext) {
        let incumbent = self.incumbent.as_ref().map(Incumbent::objective);
        cx.report(&Progress { phase, incumbent, bound: Some(self.bound) });
    }

    /// A first split by linearized DP over a few orders.
    fn first_split(&mut self, options: &IdealDp, cx: &SearchContext) {
        let found = linearized::best_of_orders(self.setting, options.orders, self.bound, cx);
        self.incumbent = found;
        self.report("first split", cx);
    }

    /// Builds automaton and relaxation, then searches between bound and incumbent.
    fn prove(&mut self, options: &IdealDp, cx: &SearchContext) -> Proof {
        let setting = self.setting;
        let Ok(frontier) = Frontier::smallest(setting.reduced, options.max_states) else { return Proof::Partial };
        self.stats.set("ideals", frontier.ideal_count());
        self.stats.set("states", frontier.state_count() as f64);
        let Some(below) = descendants(setting.reduced) else { return Proof::Partial };
        let builder = Variants::new(setting.problem, setting.reduced, Ideals::Graph(&below), setting.ceiling);
        let mut best: Option<Guide> = None;
        for bound in 0..Variants::bounds(setting.reduced) {
            let variants = builder.all(&setting.stages, self.upper(), bound);
            self.raise_bound(
                heaviest_unit(setting.reduced.unit_count(), &variants).min(self.upper()),
                BoundSource::HeaviestNode,
            );
            if self.is_settled(cx) {
                return Proof::Partial;
            }
            let Ok(guide) = Guide::new(setting, &frontier, variants, options.max_labels) else { continue };
            let low = guide.relaxation(setting).least_target(self.bound, self.upper());
            if best.is_none() || low > self.bound {
                best = Some(guide);
            }
            self.raise_bound(low, BoundSource::BoundaryRelaxation);
        }
        if std::env::var("V").is_ok() {
            for v in &best.as_ref().unwrap().variants {
                eprintln!(
                    "variant {} {:?} charged {} total {}",
                    v.stage,
                    v.cap,
                    v.upper.iter().filter(|&&x| x > 0.0).count(),
                    v.total()
                );
            }
        }
        let Some(guide) = best else { return Proof::Partial };
        self.stats.set("labels", guide.labels as f64);
        self.stats.set("root_bound", self.bound);
        self.report("relaxation", cx);
        if self.is_settled(cx) { Proof::Partial } else { self.search(&frontier, &guide, cx) }
    }

    /// Refutes targets or improves the incumbent until they meet.
    fn search(&mut self, frontier: &Frontier, guide: &Guide, cx: &SearchContext) -> Proof {
        let setting = self.setting;
        let relaxation = guide.relaxation(setting);
        let dominance = Dominance::new(setting.problem, setting.reduced);
        let mut effort = Effort::default();
        let mut budget = FIRST_BUDGET;
        // Where between bound and incumbent the next target lies; 1 asks for the proof itself.
        let mut part = 1.0;
        let mut proof = Proof::Partial;
        while !self.is_settled(cx) && !cx.should_stop() {
            let highest = self.upper() * (1.0 - OPTIMALITY_TOLERANCE);
            let target = if part < 1.0 { self.bound + part * (highest - self.bound) } else { highest };
            let search = Search {
                loads: &setting.loads,
                enumerator: Enumerator {
                    reduced: setting.reduced,
                    frontier,
                    relaxation: &relaxation,
                    tables: &guide.tables,
                },
                dominance: dominance.as_ref(),
                max_evaluated: effort.evaluated + budget,
            };
            let verdict = servers::run(&search, &relaxation.windows(target), cx, &mut effort);
            if std::env::var("V").is_ok() {
                eprintln!("target {target} part {part} {effort:?}");
            }
            match verdict {
                Verdict::Found(chain, value) => {
                    self.improve(Incumbent { value, stages: differences(setting.reduced, &chain) });
                }
                Verdict::Refuted if part == 1.0 => {
                    proof = Proof::Complete;
                    let upper = self.upper();
                    self.raise_bound(upper, BoundSource::Refuted);
                    break;
                }
                Verdict::Refuted => {
                    self.raise_bound(target, BoundSource::Refuted);
                    part = 1.0;
                    budget *= 4;
                }
                Verdict::Unknown => part *= 0.5,
            }
            if part < MIN_PART {
                part = 1.0;
                budget *= 4;
            }
            self.report("search", cx);
        }
        self.stats.set("ideals_reached", effort.reached as f64);
        self.stats.set("stages_evaluated", effort.evaluated as f64);
        proof
    }

    fn finish(self, proof: Proof) -> Run {
        let scope = Scope::Acyclic;
        let bound = LowerBound { value: self.bound, scope: scope.clone(), source: self.source };
        let outcome = match self.incumbent {
            Some(incumbent) => {
                let objective = incumbent.objective();
                let solution = self.setting.lift(&incumbent, objective);
                if objective - bound.value <= OPTIMALITY_TOLERANCE * objective {
                    Outcome::Optimal { solution, bound: LowerBound { value: bound.value.min(objective), ..bound } }
                } else {
                    Outcome::Feasible { solution, bound: Some(bound) }
                }
            }
            None if proof == Proof::Complete => Outcome::Infeasible(scope),
            None => Outcome::Unknown { bound: Some(bound) },
        };
        Run { outcome, stats: self.stats }
    }
}

/// The least load of the device that holds the heaviest unit.
fn heaviest_unit(units: usize, variants: &[Variant]) -> f64 {
    let least = |u: usize| variants.iter().map(|v| v.weight[u]).fold(f64::MAX, f64::min);
    (0..units).map(least).fold(0.0, f64::max)
}

/// Targets closer to the bound than this part of the gap are not worth a search: the budget is raised instead.
const MIN_PART: f64 = 1.0 / 16.0;

/// The relaxation's variants with the tables behind its fronts.
struct Guide {
    variants: Vec<Variant>,
    tables: Vec<Option<Arc<FrontTable>>>,
    /// How many labels the tables hold.
    labels: usize,
}

impl Guide {
    fn new(setting: &Setting, frontier: &Frontier, variants: Vec<Variant>, max_labels: usize) -> Result<Self, TooMany> {
        use rayon::prelude::*;
        let v = variants.len();
        let same = servers::same_fronts(&setting.stages, &variants);
        let table = |i: usize| {
            let (below, above) = (&variants[i / v], &variants[i % v]);
            if same[i] == Some(i) && (below.is_charged() || above.is_charged()) {
                FrontTable::new(setting.reduced, frontier, below, above, max_labels).map(Some)
            } else {
                Ok(None)
            }
        };
        let distinct = (0..v * v).into_par_iter().map(table).collect::<Result<Vec<_>, TooMany>>()?;
        let labels = distinct.iter().flatten().map(FrontTable::label_count).sum();
        let distinct: Vec<Option<Arc<FrontTable>>> = distinct.into_iter().map(|table| table.map(Arc::new)).collect();
        let tables = same.into_iter().map(|first| distinct[first?].clone()).collect();
        Ok(Self { variants, tables, labels })
    }

    fn relaxation<'a>(&'a self, setting: &'a Setting) -> Relaxation<'a> {
        let v = self.variants.len();
        let front = |i: usize| match &self.tables[i] {
            Some(table) => Front::Labels(table.root()),
            None => Front::Ratio(Ratio::new(&self.variants[i / v], &self.variants[i % v])),
        };
        Relaxation::new(&setting.stages, &self.variants, &setting.consumption, (0..v * v).map(front).collect())
    }
}

/// The original nodes of each stage of a chain of ideals.
pub(super) fn differences(reduced: &Reduced, chain: &IdealChain) -> Vec<(Vec<NodeId>, usize)> {
    let mut before: Box<[u64]> = vec![0; chain[0].0.len()].into();
    let units = chain.iter().map(|(ideal, stage)| {
        let set: Vec<u64> = ideal.iter().zip(&before).map(|(j, a)| j & !a).collect();
        before.clone_from(ideal);
        (reduced.lift(ones(&set)), *stage)
    });
    units.collect()
}
