//! The ideal DP (Tarnawski 2020, section 5.1.1): exact over splits into successive ideals.
//!
//! The published DP tabulates all pairs of ideals. This one looks at few: linearized DP gives a split, the boundary
//! relaxation a bound that is mostly equal to it, and a layered search over the ideals that the relaxation admits
//! settles the rest.

use super::dominance::Dominance;
use super::enumerate::{Enumerator, Prefixes};
use super::frontier::Frontier;
use super::guide::Guide;
use super::linearized;
use super::loads::ones;
use super::pivots::PivotRelaxation;
use super::relaxation::{Relaxation, Windows};
use super::reorder::Reordering;
use super::search::{Beam, Effort, IdealChain, Search, Verdict};
use super::stage::{Bounds, Ideals, Variants, precedence};
use super::{Incumbent, Setting, servers};
use crate::bound;
use crate::graph::NodeId;
use crate::preprocess::Reduced;
use crate::problem::{Problem, Scope};
use crate::solve::OPTIMALITY_TOLERANCE;
use crate::solve::{
    BoundSource, Guarantee, LowerBound, Outcome, Progress, Run, SearchContext, SolveError, Solver, Stats, Unsupported,
};

/// Orders in a row without a better split that end the search for the first one.
const IDLE_ORDERS: usize = 4;

/// How much more each round may search than the one before.
const BUDGET_GROWTH: usize = 16;

/// Stages that a search for one target may evaluate in the first round.
const FIRST_BUDGET: usize = 60_000;

/// The exact DP over ideals, for [`Scope::Acyclic`].
///
/// Anytime: on a limit it returns its best split and the largest bound proven. Time and memory grow with the states
/// of the frontier automaton and with the gap that its relaxation leaves, not with the number of ideals.
#[derive(Debug, Clone, PartialEq)]
pub struct IdealDp {
    /// The most orders tried by linearized DP for the first split; fewer where they bring nothing better.
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
    fn name(&self) -> &str {
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
        Ok(super::in_pool(cx, || State::new(&setting, self, cx).solve()))
    }
}

/// A run under way.
struct State<'a> {
    /// The problem with lossless reductions only.
    setting: &'a Setting<'a>,
    options: &'a IdealDp,
    cx: &'a SearchContext,
    incumbent: Option<Incumbent>,
    bound: f64,
    source: BoundSource,
    effort: Effort,
    stats: Stats,
    /// Whether the relaxation by pivots has been tried.
    has_pivots: bool,
    /// Walks over orders so far.
    walks: u64,
}

/// What a round of the proof brought.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Proof {
    /// No split beats the incumbent, or there is none.
    Complete,
    /// Another round may bring more.
    Partial,
    /// Another round would bring nothing: the graph is too wide for the automaton, or the windows of the boundary
    /// relaxation are too wide for the search.
    Impossible,
}

impl<'a> State<'a> {
    fn new(setting: &'a Setting<'a>, options: &'a IdealDp, cx: &'a SearchContext) -> Self {
        let mut stats = Stats::default();
        stats.set("units", setting.reduced.unit_count() as f64);
        Self {
            setting,
            options,
            cx,
            incumbent: None,
            bound: bound::work(setting.reduced),
            source: BoundSource::Work,
            effort: Effort::default(),
            stats,
            has_pivots: false,
            walks: 0,
        }
    }

    fn solve(mut self) -> Run {
        self.incumbent =
            linearized::best_of_orders(self.setting, self.options.orders, IDLE_ORDERS, self.bound, self.cx);
        self.report("first split");
        let mut budget = FIRST_BUDGET;
        let mut proof = Proof::Partial;
        while proof == Proof::Partial && !self.is_done() {
            // Whatever beats the incumbent is a split of the graph reduced below it.
            let reduced = self.setting.reduced.clone().below(self.setting.problem, self.upper());
            let setting = Setting::new(self.setting.problem, &reduced);
            proof = self.prove(&setting, budget);
            budget *= BUDGET_GROWTH;
        }
        if proof == Proof::Impossible {
            self.walk();
        }
        self.stats.set("ideals_reached", self.effort.reached as f64);
        self.stats.set("stages_evaluated", self.effort.evaluated as f64);
        self.finish(proof)
    }

    /// Whether bound and incumbent meet, or a limit says to stop.
    fn is_done(&self) -> bool {
        self.is_settled() || self.cx.should_stop()
    }

    /// The objective to beat.
    fn upper(&self) -> f64 {
        self.incumbent.as_ref().map_or(self.setting.ceiling, Incumbent::objective)
    }

    fn is_settled(&self) -> bool {
        let upper = self.upper();
        self.incumbent.is_some() && upper - self.bound <= self.cx.gap.max(OPTIMALITY_TOLERANCE) * upper
    }

    fn raise_bound(&mut self, value: f64, source: BoundSource) {
        let value = value.min(self.upper());
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

    fn report(&self, phase: &'static str) {
        let incumbent = self.incumbent.as_ref().map(Incumbent::objective);
        self.cx.report(&Progress { phase, incumbent, bound: Some(self.bound) });
    }

    /// One round: builds automaton and relaxation, then searches for a better split until there is none or the
    /// budget is spent; then looks for one by local search, or in the lower half of the gap.
    fn prove(&mut self, setting: &Setting, budget: usize) -> Proof {
        let Ok(frontier) = Frontier::smallest(setting.reduced, self.options.max_states) else {
            return Proof::Impossible;
        };
        self.stats.set("units_below", setting.reduced.unit_count() as f64);
        self.stats.set("ideals", frontier.ideal_count());
        self.stats.set("states", frontier.state_count() as f64);
        let Some(guide) = self.relax(setting, &frontier) else {
            self.tell_apart(setting, &frontier);
            return if self.is_done() { Proof::Partial } else { Proof::Impossible };
        };
        let relaxation = guide.relaxation(setting);
        let dominance = Dominance::new(setting.problem, setting.reduced);
        if self.is_done() {
            return Proof::Partial;
        }
        let tables = guide.tables(setting, &frontier);
        let prefixes = Prefixes::new(setting.reduced, &frontier, &relaxation.bounds.potentials);
        let enumerator = Enumerator {
            reduced: setting.reduced,
            frontier: &frontier,
            relaxation: &relaxation,
            tables: &tables,
            prefixes: &prefixes,
        };
        let dominance = dominance.as_ref();
        let search = Search { loads: &setting.loads, enumerator, dominance, max_evaluated: budget, beam: None };
        let first = (FIRST_WORK / setting.reduced.unit_count().max(1)).min(budget);
        if self.settle(&Search { max_evaluated: first, ..search }, &relaxation, setting) {
            return Proof::Complete;
        }
        self.dive(&search, &relaxation, setting);
        if self.settle(&search, &relaxation, setting) {
            return Proof::Complete;
        }
        if self.is_done() {
            return Proof::Partial;
        }
        let before = self.bound;
        self.tell_apart(setting, &frontier);
        // Without a time limit a proof is asked for at any cost.
        if self.bound - before > HOPELESS * self.upper() && self.cx.remaining().is_some() {
            return Proof::Impossible;
        }
        if !self.reorder(setting, budget / STAGES_PER_ROUND) {
            self.aim(0.5 * (self.bound + self.upper()), &search, &relaxation, setting);
        }
        Proof::Partial
    }

    /// Looks for ever better splits, as far as the search goes; whether it refutes that there is a better one.
    fn settle(&mut self, search: &Search, relaxation: &Relaxation, setting: &Setting) -> bool {
        self.aim(self.bound * AIM, search, relaxation, setting);
        while !self.is_done() {
            let target = self.upper() * (1.0 - OPTIMALITY_TOLERANCE);
            match self.search(search, &relaxation.windows(target), setting) {
                Verdict::Found(..) => {}
                Verdict::Refuted => {
                    self.raise_bound(self.upper(), BoundSource::Refuted);
                    return true;
                }
                Verdict::Unknown => return false,
            }
        }
        false
    }

    /// Looks for splits in a beam, by targets from just above the bound up to the incumbent, as long as there are some.
    fn dive(&mut self, search: &Search, relaxation: &Relaxation, setting: &Setting) {
        // In servers a beam finds no split, but only a lower bound of one.
        if self.setting.problem.spec.interconnect.is_some() {
            return;
        }
        let search = Search { beam: Some(BEAM), ..*search };
        let mut is_better = true;
        while is_better && !self.is_done() {
            let gap = self.upper() - self.bound;
            let targets = DIVES.map(|part| self.bound + part * gap);
            let is_met = |&target: &f64| {
                matches!(self.search(&search, &relaxation.windows(target), setting), Verdict::Found(..))
            };
            is_better = targets.iter().any(is_met);
        }
    }

    /// Looks for a split within `target`, if that is below the incumbent's; raises the bound where there is none.
    fn aim(&mut self, target: f64, search: &Search, relaxation: &Relaxation, setting: &Setting) {
        if target < self.upper()
            && let Verdict::Refuted = self.search(search, &relaxation.windows(target), setting)
        {
            self.raise_bound(target, BoundSource::Refuted);
        }
    }

    /// Searches for a split within the windows and keeps it.
    fn search(&mut self, search: &Search, windows: &Windows, setting: &Setting) -> Verdict {
        let verdict = servers::run(search, windows, self.cx, &mut self.effort);
        if let Verdict::Found(chain, value) = &verdict {
            self.improve(Incumbent { value: *value, stages: differences(setting.reduced, chain) });
        }
        self.report("search");
        verdict
    }

    /// The relaxation, under the linear bound of loads that gives most.
    fn relax(&mut self, setting: &Setting, frontier: &Frontier) -> Option<Guide> {
        let precedence = precedence(setting.reduced)?;
        let builder = Variants::new(setting.problem, setting.reduced, Ideals::Graph(&precedence), setting.ceiling);
        self.raise_bound(bound::heaviest(setting.problem, setting.reduced, self.cx), BoundSource::HeaviestNode);
        let mut best = None;
        for bound in 0..Variants::bounds(setting.reduced) {
            let bounds = builder.all(&setting.stages, self.upper(), bound);
            let before = self.bound;
            let guide = self.refine(setting, frontier, &bounds);
            if best.is_none() || self.bound > before {
                best = guide.or(best);
            }
        }
        best
    }

    /// Relaxations on finer and finer grids, each within the windows of the one before; the finest that fits.
    fn refine(&mut self, setting: &Setting, frontier: &Frontier, exact: &Bounds) -> Option<Guide> {
        let coarsest = (self.upper() * COARSEST_GRID).log2().floor().exp2();
        let mut finest: Option<Guide> = None;
        let mut is_fine = false;
        let mut growth = 1.0;
        let most = HOPEFUL * self.options.max_labels as f64;
        for grid in [Some(coarsest), Some(coarsest / 8.0), Some(coarsest / 64.0), Some(coarsest / 512.0), None] {
            if self.is_done() {
                break;
            }
            if is_fine && grid.is_some() {
                continue;
            }
            let expected = |guide: &Guide| growth * guide.largest() as f64;
            if grid.is_none() && finest.as_ref().is_some_and(|guide| expected(guide) > most) {
                break;
            }
            let windows = finest.as_ref().map(|guide| {
                let relaxation = guide.relaxation(setting);
                guide.true_windows(&relaxation, &relaxation.windows(self.upper()))
            });
            let Ok(guide) = Guide::new(setting, frontier, exact, grid, windows, self.options.max_labels) else {
                break;
            };
            let low = guide.relaxation(setting).least_target(self.bound, self.upper());
            self.raise_bound(low, BoundSource::BoundaryRelaxation);
            self.stats.set("labels", guide.label_count() as f64);
            self.stats.set("root_bound", self.bound);
            self.report("relaxation");
            growth = finest.as_ref().map_or(1.0, |coarser| guide.largest() as f64 / coarser.largest().max(1) as f64);
            is_fine = finest.is_some_and(|coarser| guide.label_count() < SLOW_GROWTH * coarser.label_count())
                && guide.label_count() < self.options.max_labels / ROOM_FOR_EXACT;
            finest = Some(guide);
        }
        finest
    }

    /// The bound of the relaxation by pivots, once in a run.
    fn tell_apart(&mut self, setting: &Setting, frontier: &Frontier) {
        let is_small = setting.consumption.count() * setting.stages.len().pow(2) <= MOST_PIVOT_USES;
        let tried = std::mem::replace(&mut self.has_pivots, true);
        let Some(precedence) = precedence(setting.reduced).filter(|_| is_small && !tried) else { return };
        let builder = Variants::new(setting.problem, setting.reduced, Ideals::Graph(&precedence), setting.ceiling);
        for bound in 0..Variants::bounds(setting.reduced) {
            let bounds = builder.charging_all(&setting.stages, bound);
            let grain = self.upper() * PIVOT_GRAIN;
            let Ok(relaxation) = PivotRelaxation::new(setting, frontier, &precedence, &bounds, grain, self.cx) else {
                return;
            };
            self.stats.set("pivot_labels", relaxation.label_count() as f64);
            self.raise_bound(relaxation.least_target(self.bound, self.upper()), BoundSource::BoundaryRelaxation);
            self.stats.set("pivot_bound", self.bound);
            self.report("pivots");
        }
    }

    /// Walks over orders, each from the best split, until several bring nothing.
    fn walk(&mut self) {
        let mut idle = 0;
        while idle < IDLE_WALKS && !self.is_done() {
            idle = if self.reorder(self.setting, LAST_ROUNDS) { 0 } else { idle + 1 };
        }
    }

    /// Looks for a better split by local search over orders, until `patience` rounds bring nothing.
    fn reorder(&mut self, setting: &Setting, patience: usize) -> bool {
        // In servers the value of an order's intervals is only a lower bound.
        if self.setting.problem.spec.interconnect.is_some() {
            return false;
        }
        let Some(incumbent) = &self.incumbent else { return false };
        let before = incumbent.objective();
        // A small graph has few orders.
        let patience = patience.min(MOST_ROUNDS_PER_UNIT * setting.reduced.unit_count());
        let mut walk = Reordering::new(setting, incumbent, self.cx.seed.wrapping_add(self.walks));
        self.walks += 1;
        let mut idle = 0;
        while idle < patience && !self.is_done() {
            idle += 1;
            if let Some(split) = walk.round(setting, self.upper(), self.cx) {
                self.improve(split);
                self.report("reordering");
                idle = 0;
            }
        }
        self.upper() < before
    }

    fn finish(self, proof: Proof) -> Run {
        let scope = Scope::Acyclic;
        let bound = LowerBound { value: self.bound, scope: scope.clone(), source: self.source };
        let outcome = match self.incumbent {
            Some(incumbent) => {
                let objective = incumbent.objective();
                Outcome::found(self.setting.lift(&incumbent, objective), bound)
            }
            None if proof == Proof::Complete => Outcome::Infeasible(scope),
            None => Outcome::Unknown { bound: Some(bound) },
        };
        Run { outcome, stats: self.stats }
    }
}

/// The first target by the bound: the optimum mostly lies just above it, and few ideals are admitted there.
const AIM: f64 = 1.0005;

/// How many units the stages of the first look at a target may have together: on small graphs that is mostly enough.
const FIRST_WORK: usize = 1 << 22;

/// What a dive looks at: where the relaxation is tight, almost every ideal that gives the next stages most leads to a split.
const BEAM: Beam = Beam { width: 8, stages: 64 };

/// The targets of dives, as parts of the gap above the bound.
const DIVES: [f64; 5] = [1.0 / 256.0, 1.0 / 64.0, 1.0 / 16.0, 0.25, 0.9];

/// Rounds of local search without a better split, for each unit, after which more would bring nothing.
const MOST_ROUNDS_PER_UNIT: usize = 4;

/// The coarsest grid of the relaxation, as a part of the incumbent.
const COARSEST_GRID: f64 = 1.0 / 32.0;

/// A grid with less than this times the labels of the one before tells most of them apart: finer ones save little.
const SLOW_GROWTH: usize = 3;

/// Exact tables are not tried where they would have so many times the labels allowed if they grew as the last grid did.
const HOPEFUL: f64 = 2.0;

/// Exact tables come next only after a grid with so many times fewer labels than allowed.
const ROOM_FOR_EXACT: usize = 16;

/// The search is hopeless where the boundary relaxation proves less than that by pivots by this part of the incumbent.
const HOPELESS: f64 = 0.02;

/// The grain of the relaxation by pivots, as a part of the incumbent.
const PIVOT_GRAIN: f64 = 1.0 / 1024.0;

/// Uses of devices times pairs of stage kinds beyond which pivots are not tried.
const MOST_PIVOT_USES: usize = 4_000;

/// Stages of a search that cost as much as a round of local search over orders: both get a like part of the time.
const STAGES_PER_ROUND: usize = 2_000;

/// Walks of local search without a better split that end a run without proof.
const IDLE_WALKS: usize = 8;

/// The most rounds without a better split that end such a walk.
const LAST_ROUNDS: usize = 400;

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
