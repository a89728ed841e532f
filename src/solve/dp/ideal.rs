//! The ideal DP (Tarnawski 2020, section 5.1.1): exact over splits into successive ideals.
//!
//! The published DP tabulates all pairs of ideals. This one looks at few: linearized DP gives a split, the boundary
//! relaxation a bound that is mostly equal to it, and a layered search over the ideals that the relaxation admits
//! settles the rest.

use super::chain::differences;
use super::chain_cuts::ChainCutRelaxation;
use super::coarse_to_fine::CoarseToFine;
use super::dominance::Dominance;
use super::enumerate::{Enumerator, Prefixes};
use super::frontier::Frontier;
use super::linearized;
use super::reorder::Reordering;
use super::search::{Beam, ChainVerdict, Effort, LayeredSearch};
use super::stage::{Bounds, Ideals, Variants};
use super::{Incumbent, Setting, servers};
use crate::bound;
use crate::preprocess::Reduced;
use crate::problem::{Problem, Scope};
use crate::search::{Race, SearchContext, Stats, Verdict};
use crate::solve::{BoundSource, Guarantee, LowerBound, Outcome, Run, SolveError, Solver, Unsupported};

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
    /// How many units the stages of the first look at a target may have together: on small graphs the default is mostly
    /// enough, so that neither beams nor longer searches begin.
    pub look: usize,
}

impl Default for IdealDp {
    fn default() -> Self {
        Self { orders: 16, max_states: 4_000_000, max_labels: 40_000_000, look: 1 << 22 }
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

    fn search(&self, problem: &Problem, cx: &mut SearchContext) -> Result<Run, SolveError> {
        let reduced = Reduced::new(problem);
        if cx.is_late() {
            return Ok(Run { outcome: Outcome::Unknown { bound: None }, stats: Stats::default() });
        }
        let setting = Setting::new(problem, &reduced);
        Ok(super::in_pool(cx, || State::new(&setting, self, cx).solve()))
    }
}

/// A run under way.
struct State<'a> {
    /// The problem with lossless reductions only.
    setting: &'a Setting<'a>,
    options: &'a IdealDp,
    race: Race<'a, Incumbent, BoundSource>,
    effort: Effort,
    stats: Stats,
    /// Whether the relaxation by cuts has been tried.
    has_chain_cuts: bool,
    /// Walks over orders so far.
    walks: u64,
    /// Searches with all that a round may spend so far.
    digs: u64,
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
            race: Race::new(bound::work(setting.reduced), BoundSource::Work, cx),
            effort: Effort::default(),
            stats,
            has_chain_cuts: false,
            walks: 0,
            digs: 0,
        }
    }

    fn solve(mut self) -> Run {
        let (setting, orders, cx) = (self.setting, self.options.orders, self.race.cx);
        let bound = self.race.bound();
        let first = || linearized::best_of_orders(setting, orders, IDLE_ORDERS, bound, cx);
        // The proof asks for the closure, and the first order leaves threads idle.
        let (incumbent, _) = rayon::join(first, || setting.reduced.precedence());
        incumbent.into_iter().for_each(|incumbent| self.improve(incumbent));
        self.race.report("first split");
        let mut budget = FIRST_BUDGET;
        let mut proof = Proof::Partial;
        while proof == Proof::Partial && !self.race.is_done() {
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
        self.stats.set("long_searches", self.digs as f64);
        self.finish(proof)
    }

    /// The objective to beat.
    fn upper(&self) -> f64 {
        self.race.objective().unwrap_or(self.setting.ceiling)
    }

    /// Raises the bound; where no split is known, to no more than what all splits cost at most.
    fn raise_bound(&mut self, value: f64, source: BoundSource) {
        self.race.raise(value.min(self.upper()), source);
    }

    fn improve(&mut self, incumbent: Incumbent) {
        self.race.offer(incumbent.objective(), incumbent);
    }

    /// One round: builds automaton and relaxation, then searches for a better split until there is none or the
    /// budget is spent; then looks for one by local search, or in the lower half of the gap.
    fn prove(&mut self, setting: &Setting, budget: usize) -> Proof {
        let (upper, cx) = (self.upper(), self.race.cx);
        let facts = || {
            let heaviest = bound::heaviest(setting.problem, setting.reduced, cx);
            let dominance = Dominance::new(setting.problem, setting.reduced);
            (heaviest, dominance, linear_bounds(setting, upper))
        };
        let automaton =
            || Frontier::smallest(setting.reduced, self.options.max_states.min(cx.memory_left() / STATE_BYTES), cx);
        let (frontier, (heaviest, dominance, bounds)) = rayon::join(automaton, facts);
        self.raise_bound(heaviest, BoundSource::HeaviestNode);
        let Ok(frontier) = frontier else {
            // That there is too little memory for more states is told.
            cx.admits(self.options.max_states.saturating_mul(STATE_BYTES));
            return Proof::Impossible;
        };
        self.stats.set("units_below", setting.reduced.unit_count() as f64);
        self.stats.set("ideals", frontier.ideal_count());
        self.stats.set("states", frontier.state_count() as f64);
        let approximation = |bounds| CoarseToFine::new(setting, &frontier, bounds, upper, self.options.max_labels);
        let mut approximations: Vec<CoarseToFine> = bounds.into_iter().map(approximation).collect();
        let mut spread = 0.0;
        loop {
            let Some(approximation) =
                self.relax(&mut approximations, (self.race.bound() * (1.0 + spread)).min(self.upper()))
            else {
                self.tell_apart(setting, &frontier);
                return if self.race.is_done() { Proof::Partial } else { Proof::Impossible };
            };
            let Some(guide) = approximation.top().filter(|_| !self.race.is_done()) else { return Proof::Partial };
            let reach = approximation.reach();
            let relaxation = guide.relaxation(setting);
            let prefixes = || Prefixes::new(setting.reduced, &frontier, &relaxation.bounds.potentials);
            let (tables, prefixes) = rayon::join(|| guide.tables(setting, &frontier, cx), prefixes);
            let Ok(tables) = tables else { return Proof::Impossible };
            let enumerator = Enumerator {
                reduced: setting.reduced,
                frontier: &frontier,
                relaxation: &relaxation,
                tables: &tables,
                prefixes: &prefixes,
            };
            let dominance = dominance.as_ref();
            let search =
                LayeredSearch { loads: &setting.loads, enumerator, dominance, max_evaluated: budget, beam: None };
            if let Some(proof) = self.look(&search, setting, reach) {
                return proof;
            }
            if self.upper() <= reach {
                return self.dig(&search, setting, &frontier);
            }
            // Where nothing can be said of near targets, far ones may lead to better splits.
            spread = if self.race.bound() < reach { f64::INFINITY } else { FIRST_SPREAD.max(WIDER * spread) };
        }
    }

    /// A first look for splits within `reach`: the proof, unless there is more to do.
    fn look(&mut self, search: &LayeredSearch, setting: &Setting, reach: f64) -> Option<Proof> {
        let first = (self.options.look / setting.reduced.unit_count().max(1)).min(search.max_evaluated);
        if self.settle(&LayeredSearch { max_evaluated: first, ..*search }, setting, reach) {
            return Some(Proof::Complete);
        }
        self.dive(search, setting, reach);
        self.race.is_done().then_some(Proof::Partial)
    }

    /// Searches for better splits with all that the round may spend.
    fn dig(&mut self, search: &LayeredSearch, setting: &Setting, frontier: &Frontier) -> Proof {
        let budget = search.max_evaluated;
        self.digs += 1;
        if self.settle(search, setting, self.upper()) {
            return Proof::Complete;
        }
        if self.race.is_done() {
            return Proof::Partial;
        }
        let before = self.race.bound();
        self.tell_apart(setting, frontier);
        // Without a time limit a proof is asked for at any cost.
        if self.race.bound() - before > HOPELESS * self.upper() && self.race.cx.remaining().is_some() {
            self.walk();
        } else if !self.reorder(setting, budget / STAGES_PER_ROUND) {
            self.aim(0.5 * (self.race.bound() + self.upper()), search, setting);
        }
        Proof::Partial
    }

    /// Looks for ever better splits, as far as the search goes; whether it refutes that there is a better one. Targets
    /// are up to `reach`.
    fn settle(&mut self, search: &LayeredSearch, setting: &Setting, reach: f64) -> bool {
        self.aim((self.race.bound() * AIM).min(reach), search, setting);
        while !self.race.is_done() && self.race.bound() < reach {
            let better = self.race.last_target(self.upper());
            match self.search(search, better.min(reach), setting) {
                Verdict::Found(..) => {}
                Verdict::Refuted if reach < better => self.raise_bound(reach, BoundSource::Refuted),
                Verdict::Refuted => {
                    self.raise_bound(better, BoundSource::Refuted);
                    return true;
                }
                Verdict::Unknown => return false,
            }
        }
        false
    }

    /// Looks for splits in a beam, by targets from just above the bound up to the incumbent or `reach`, as long as there
    /// are some.
    fn dive(&mut self, search: &LayeredSearch, setting: &Setting, reach: f64) {
        // In servers a beam finds no split, but only a lower bound of one.
        if self.setting.problem.spec.interconnect.is_some() {
            return;
        }
        let search = LayeredSearch { beam: Some(BEAM), ..*search };
        let mut is_better = true;
        while is_better && !self.race.is_done() {
            let gap = self.upper().min(reach) - self.race.bound();
            let targets = DIVES.map(|part| self.race.bound() + part * gap);
            let is_met = |&target: &f64| matches!(self.search(&search, target, setting), Verdict::Found(..));
            is_better = targets.iter().any(is_met);
        }
    }

    /// Looks for a split within `target`, if that is below the incumbent's; raises the bound where there is none.
    fn aim(&mut self, target: f64, search: &LayeredSearch, setting: &Setting) {
        if target < self.upper()
            && let Verdict::Refuted = self.search(search, target, setting)
        {
            self.raise_bound(target, BoundSource::Refuted);
        }
    }

    /// Searches for a split that meets `target` and keeps it.
    fn search(&mut self, search: &LayeredSearch, target: f64, setting: &Setting) -> ChainVerdict {
        let windows = search.enumerator.relaxation.windows(target);
        let verdict = servers::run(search, &windows, self.race.cx, &mut self.effort);
        if let Verdict::Found((chain, value)) = &verdict {
            self.improve(Incumbent { value: *value, stages: differences(setting.reduced, chain) });
        }
        self.race.report("search");
        verdict
    }

    /// Refines the approximation that gives most, as far as targets up to `reach` matter.
    fn relax<'b, 'c>(
        &mut self,
        approximations: &'b mut [CoarseToFine<'c>],
        reach: f64,
    ) -> Option<&'b CoarseToFine<'c>> {
        let mut best = None;
        for (i, approximation) in approximations.iter_mut().enumerate() {
            let before = self.race.bound();
            self.refine(approximation, reach.max(self.race.bound()));
            if approximation.top().is_some() && (best.is_none() || self.race.bound() > before) {
                best = Some(i);
            }
        }
        best.map(|i| &approximations[i])
    }

    /// Climbs to the finest relaxation that fits.
    fn refine(&mut self, approximation: &mut CoarseToFine, reach: f64) {
        approximation.coarsen(reach);
        while !self.race.is_done()
            && let Some(low) = approximation.refine(self.race.bound(), self.upper(), reach, self.race.cx)
        {
            self.raise_bound(low, BoundSource::BoundaryRelaxation);
            self.stats.set("labels", approximation.top().map_or(0.0, |guide| guide.label_count() as f64));
            self.stats.set("root_bound", self.race.bound());
            self.race.report("relaxation");
        }
    }

    /// The bound of the relaxation by cuts, once in a run.
    fn tell_apart(&mut self, setting: &Setting, frontier: &Frontier) {
        let is_small = setting.consumption.count() * setting.stages.len().pow(2) <= MOST_CUT_USES;
        let tried = std::mem::replace(&mut self.has_chain_cuts, true);
        let Some(precedence) = setting.reduced.precedence().filter(|_| is_small && !tried) else { return };
        let builder = Variants::new(setting.problem, setting.reduced, Ideals::Graph(&precedence), setting.ceiling);
        for bound in 0..Variants::bounds(setting.reduced) {
            let bounds = builder.charging_all(&setting.stages, bound);
            let grain = self.upper() * CUT_GRAIN;
            let Ok(relaxation) = ChainCutRelaxation::new(setting, frontier, &precedence, &bounds, grain, self.race.cx)
            else {
                return;
            };
            self.stats.set("chain_cut_labels", relaxation.label_count() as f64);
            self.raise_bound(relaxation.least_target(self.race.bound(), self.upper()), BoundSource::BoundaryRelaxation);
            self.stats.set("chain_cut_bound", self.race.bound());
            self.race.report("cuts");
        }
    }

    /// Walks over orders, each from the best split, until several bring nothing.
    fn walk(&mut self) {
        let mut idle = 0;
        while idle < IDLE_WALKS && !self.race.is_done() {
            idle = if self.reorder(self.setting, LAST_ROUNDS) { 0 } else { idle + 1 };
        }
    }

    /// Looks for a better split by local search over orders, until `patience` rounds bring nothing.
    fn reorder(&mut self, setting: &Setting, patience: usize) -> bool {
        // In servers the value of an order's intervals is only a lower bound.
        if self.setting.problem.spec.interconnect.is_some() {
            return false;
        }
        let Some(incumbent) = self.race.solution() else { return false };
        let before = incumbent.objective();
        // A small graph has few orders.
        let patience = patience.min(MOST_ROUNDS_PER_UNIT * setting.reduced.unit_count());
        let mut walk = Reordering::new(setting, incumbent, self.race.cx.seed.wrapping_add(self.walks));
        self.walks += 1;
        let mut idle = 0;
        while idle < patience && !self.race.is_done() {
            idle += 1;
            if let Some(split) = walk.round(setting, self.upper(), self.race.cx) {
                self.improve(split);
                self.race.report("reordering");
                idle = 0;
            }
        }
        self.upper() < before
    }

    fn finish(self, proof: Proof) -> Run {
        let scope = Scope::Acyclic;
        let (best, value, source) = self.race.finish();
        let bound = LowerBound { value, scope, source };
        let outcome = match best {
            Some((objective, incumbent)) => Outcome::found(self.setting.lift(&incumbent, objective), objective, bound),
            None if proof == Proof::Complete => Outcome::Infeasible,
            None => Outcome::Unknown { bound: Some(bound) },
        };
        Run { outcome, stats: self.stats }
    }
}

/// What stages cost at least, under each of the linear bounds of a load; none where the graph is too large.
fn linear_bounds(setting: &Setting, upper: f64) -> Vec<Bounds> {
    let Some(precedence) = setting.reduced.precedence() else { return Vec::new() };
    let builder = Variants::new(setting.problem, setting.reduced, Ideals::Graph(&precedence), setting.ceiling);
    (0..Variants::bounds(setting.reduced)).map(|bound| builder.all(&setting.stages, upper, bound)).collect()
}

/// What a state of the frontier automaton takes while it is made, and twice as much while tables are made of it, in bytes.
const STATE_BYTES: usize = 512;

/// The first target by the bound: the optimum mostly lies just above it, and few ideals are admitted there.
const AIM: f64 = 1.0005;

/// The first targets lie up to a reach that the relaxation chooses, the next ones up to this part above the bound.
const FIRST_SPREAD: f64 = 1.0 / 128.0;

/// How much farther above the bound each later reach is than the one before.
const WIDER: f64 = 8.0;

/// What a dive looks at: where the relaxation is tight, almost every ideal that gives the next stages most leads to a split.
const BEAM: Beam = Beam { width: 8, stages: 64 };

/// The targets of dives, as parts of the gap above the bound.
const DIVES: [f64; 5] = [1.0 / 256.0, 1.0 / 64.0, 1.0 / 16.0, 0.25, 0.9];

/// Rounds of local search without a better split, for each unit, after which more would bring nothing.
const MOST_ROUNDS_PER_UNIT: usize = 4;

/// The search is hopeless where the boundary relaxation proves less than that by cuts by this part of the incumbent.
const HOPELESS: f64 = 0.02;

/// The grain of the relaxation by cuts, as a part of the incumbent.
const CUT_GRAIN: f64 = 1.0 / 1024.0;

/// Uses of devices times pairs of stage kinds beyond which cuts are not tried.
const MOST_CUT_USES: usize = 4_000;

/// Stages of a search that cost as much as a round of local search over orders: both get a like part of the time.
const STAGES_PER_ROUND: usize = 2_000;

/// Walks of local search without a better split that end a run without proof.
const IDLE_WALKS: usize = 8;

/// The most rounds without a better split that end such a walk.
const LAST_ROUNDS: usize = 400;
