//! The solver: primal search, root bounds, and the tree between them.

use super::assignment::Setting;
use super::covering::{Center, Devices, Generation, Pricers, Query, Verdict};
use super::crowding;
use super::multilevel::Search;
use super::tree::{self, Ending};
use crate::bound;
use crate::preprocess::Unordered;
use crate::problem::{Objective, Problem, Scope};
use crate::solve::OPTIMALITY_TOLERANCE;
use crate::solve::{
    BoundSource, Guarantee, LowerBound, Outcome, Progress, Run, SearchContext, SolveError, Solver, Stats, Unsupported,
};
use crate::solve::{in_pool, refuse_recomputation, refuse_sharding};

/// Exact search for splits whose devices need no order: branch and price.
///
/// Simulated annealing finds a split; column generation refutes loads below it, and branch and price closes what is
/// left. `docs/certify.md` says why its bounds hold.
///
/// ```
/// use dagsplit::instance::{Edge, Instance, Node, Platform};
/// use dagsplit::problem::{Problem, ProblemSpec, Scope};
/// use dagsplit::solve::{Outcome, SearchContext, Solver, certify::Certify};
///
/// // Two heavy layers and a light one between them: contiguous splits cannot put the heavy ones together.
/// let node = |id, time| Node { accelerator_times: vec![Some(time)], ..Node::new(id) };
/// let instance = Instance {
///     platform: Platform::uniform(2, None, 0),
///     nodes: vec![node(0, 3.0), node(1, 6.0), node(2, 3.0)],
///     edges: vec![Edge { source: 0, target: 1 }, Edge { source: 1, target: 2 }],
///     ..Instance::default()
/// };
/// let spec = ProblemSpec { scope: Scope::Arbitrary, ..ProblemSpec::of(&instance) };
/// let run = Certify.solve(&Problem::new(&instance, spec)?, &mut SearchContext::new())?;
/// let Outcome::Optimal { solution, .. } = run.outcome else { panic!("so small a problem is solved") };
/// assert_eq!(solution.objective, Some(6.0));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Certify;

impl Solver for Certify {
    fn name(&self) -> &str {
        "certify"
    }

    fn guarantee(&self) -> Guarantee {
        Guarantee::Exact
    }

    fn supports(&self, problem: &Problem) -> Result<(), Unsupported> {
        refuse_sharding(self.name(), problem)?;
        refuse_recomputation(self.name(), problem)?;
        let refuse = |reason: &str| Err(Unsupported { solver: self.name().into(), reason: reason.into() });
        let spec = &problem.spec;
        match (&spec.scope, spec.objective) {
            (Scope::Acyclic | Scope::Linearized(_), _) => {
                return refuse("its splits have no order of devices; use the ideal DP (dp), or ask for scope convex");
            }
            (_, Objective::GPipe | Objective::Latency { .. } | Objective::Sharding(_)) => {
                return refuse(
                    "it minimises the largest load alone; use brute-force on tiny graphs, or objective throughput",
                );
            }
            (Scope::Arbitrary | Scope::Convex, Objective::Throughput) => {}
        }
        if spec.replication.is_some() {
            return refuse("it does not replicate stages; use the ideal DP (dp), or ask for no replication");
        }
        if spec.interconnect.is_some() {
            return refuse("it knows no servers; use the ideal DP (dp), or ask for no interconnect");
        }
        Ok(())
    }

    fn solve(&self, problem: &Problem, cx: &mut SearchContext) -> Result<Run, SolveError> {
        self.supports(problem)?;
        let unordered = Unordered::new(problem);
        let setting = Setting::new(problem, &unordered);
        let cx = &*cx;
        Ok(in_pool(cx, || {
            let mut proof = Proof::new(&setting, cx);
            let is_infeasible = proof.run();
            proof.finish(is_infeasible)
        }))
    }
}

/// A run: the best split and bound so far.
struct Proof<'a> {
    setting: &'a Setting<'a>,
    cx: &'a SearchContext,
    primal: Search<'a>,
    bound: f64,
    source: BoundSource,
    stats: Stats,
}

/// The root of the tree: no decisions.
struct Root<'a> {
    generation: Generation<'a>,
    pricers: Pricers,
    center: Center,
}

impl Root<'_> {
    /// Whether no split is below `target`, as far as so many rounds show; `beside` runs in each of them.
    fn refute(&mut self, target: f64, max_rounds: usize, beside: &mut (dyn FnMut() -> bool + Send)) -> Verdict {
        let query = Query { target, decisions: &[], max_rounds };
        self.generation.refute(query, &mut self.pricers, &mut self.center, beside)
    }

    /// Whether crowding refutes `target`, which costs less than a round of pricing.
    fn is_crowded(&self, target: f64) -> bool {
        let devices = self.generation.devices;
        crowding::refutes(devices.setting(), &devices.work(), target)
    }

    /// What crowding, and then as many rounds as it takes, say of `target`.
    fn settle(&mut self, target: f64) -> Verdict {
        if self.is_crowded(target) { Verdict::Refuted } else { self.refute(target, usize::MAX, &mut || true) }
    }

    /// A target between two that the best profits so far refute; `low` is refuted.
    fn refuted_by_profits(&mut self, low: f64, high: f64) -> f64 {
        self.generation.refuted_by(&self.center, (low, high), &mut self.pricers)
    }
}

impl<'a> Proof<'a> {
    fn new(setting: &'a Setting<'a>, cx: &'a SearchContext) -> Self {
        Self {
            setting,
            cx,
            primal: Search::new(setting, cx.seed),
            bound: 0.0,
            source: BoundSource::Refuted,
            stats: Stats::default(),
        }
    }

    fn upper(&self) -> Option<f64> {
        self.primal.best().map(|(value, _)| value)
    }

    /// The largest target whose refutation ends the run.
    fn last_target(&self, upper: f64) -> f64 {
        upper * (1.0 - self.cx.gap.max(0.5 * OPTIMALITY_TOLERANCE))
    }

    fn is_settled(&self) -> bool {
        self.upper().is_some_and(|upper| self.bound >= self.last_target(upper))
    }

    fn is_done(&self) -> bool {
        self.is_settled() || self.cx.should_stop()
    }

    fn report(&self, phase: &'static str) {
        let bound = (self.bound > 0.0).then_some(self.bound);
        self.cx.report(&Progress { phase, incumbent: self.upper(), bound });
    }

    /// Runs to the end or to a limit; whether no split exists.
    fn run(&mut self) -> bool {
        self.anneal(FIRST_ROUNDS);
        self.bound_cheaply();
        let devices = Devices::new(self.setting);
        let root = devices.as_ref().and_then(|devices| {
            let generation = Generation::new(devices, self.cx);
            Some(Root { generation, pricers: devices.pricers(&[])?, center: Center { profit: devices.work() } })
        });
        let Some(mut root) = root else {
            self.anneal(ROUNDS_WITHOUT_PROOF);
            return false;
        };
        let is_infeasible = self.find_any(&mut root);
        if self.upper().is_some() {
            self.close(&mut root);
        }
        self.stats.set("columns", root.generation.pool.len() as f64);
        self.stats.set("pricing_rounds", root.generation.effort.rounds as f64);
        self.stats.set("pricing_searches", root.generation.effort.searches as f64);
        is_infeasible
    }

    /// Takes the best bound that needs no search.
    fn bound_cheaply(&mut self) {
        let Some(upper) = self.upper() else { return };
        (self.bound, self.source) = bound::best(self.setting.problem, &self.setting.unordered.units, upper, self.cx);
        self.report("cuts");
    }

    /// Raises the bound to a refuted target.
    fn refuted(&mut self, target: f64) {
        if target > self.bound {
            (self.bound, self.source) = (target, BoundSource::Refuted);
        }
    }

    /// Runs some rounds of annealing.
    fn anneal(&mut self, rounds: usize) {
        for _ in 0..rounds {
            if self.is_done() {
                return;
            }
            self.primal.advance(self.cx);
            self.report("annealing");
        }
    }

    /// Anneals until `patience` rounds in a row have not helped.
    fn anneal_patiently(&mut self, patience: usize) {
        let mut stale = 0;
        while stale < patience && !self.is_done() {
            let before = self.upper();
            self.anneal(1);
            stale = if self.upper() == before { stale + 1 } else { 0 };
        }
    }

    /// Finds some split where annealing found none; whether none exists.
    fn find_any(&mut self, root: &mut Root) -> bool {
        if self.upper().is_some() {
            return false;
        }
        let ceiling = root.generation.devices.ceiling();
        if root.settle(ceiling) == Verdict::Refuted {
            return true;
        }
        match tree::search(&mut root.generation, (ceiling, f64::MAX), &root.center, usize::MAX, self.cx) {
            Ending::Found(split) => {
                self.primal.offer(&split);
                false
            }
            ending => ending == Ending::Refuted,
        }
    }

    /// Closes the gap between bound and split.
    fn close(&mut self, root: &mut Root) {
        self.bound_root(root);
        let mut max_nodes = FIRST_NODES;
        while !self.is_done() {
            match self.branch(root, max_nodes, 0.0) {
                Ending::Undecided => return,
                Ending::Limit => {
                    self.anneal(ROUNDS_BETWEEN);
                    self.branch(root, max_nodes, 0.5);
                    max_nodes *= 2;
                }
                Ending::Found(_) | Ending::Refuted => {}
            }
        }
    }

    /// Raises the bound as far as the root alone can: in steps towards the best split, then by bisection. The split is
    /// improved with patience once it is clear that the bound does not meet it at little cost.
    fn bound_root(&mut self, root: &mut Root) {
        if self.approach(root, &FAR_STEPS) {
            self.anneal_patiently(PATIENCE);
            self.approach(root, &NEAR_STEPS);
        }
    }

    /// Raises the bound to targets these parts below the best split; whether the root refutes all of them.
    fn approach(&mut self, root: &mut Root, steps: &[f64]) -> bool {
        for step in steps {
            let Some(upper) = self.upper() else { return false };
            let target = (upper * (1.0 - step)).min(self.last_target(upper));
            if self.is_done() {
                return false;
            }
            if target > self.bound && !self.raise(root, target) {
                // So far from the best split the bound is hard to raise: a better split may be easier to find.
                if *step >= FAR_FROM_SOLVED && self.upper() == Some(upper) {
                    self.anneal_patiently(LAST_PATIENCE);
                }
                if self.upper() != Some(upper) {
                    return self.approach(root, steps);
                }
                self.bisect(root, target);
                return false;
            }
            self.anneal(1);
        }
        true
    }

    /// Bisects between the bound and a target that the root does not refute.
    fn bisect(&mut self, root: &mut Root, mut open: f64) {
        while !self.is_done() && open - self.bound > BISECTION_PRECISION * open {
            let target = 0.5 * (self.bound + open);
            if !self.raise(root, target) {
                open = target;
            }
            self.anneal(ROUNDS_BETWEEN);
        }
        self.stats.set("root_bound", self.bound);
    }

    /// Whether the root refutes `target`, which then is a bound; else the bound rises as far as its profits show.
    /// Annealing goes on beside it, and ends it once it finds a split that is better.
    fn raise(&mut self, root: &mut Root, target: f64) -> bool {
        for part in 0..MOST_PARTS {
            let (primal, cx) = (&mut self.primal, self.cx);
            let least = target / (1.0 - cx.gap.max(0.5 * OPTIMALITY_TOLERANCE));
            let mut beside = || {
                primal.advance(cx);
                primal.best().is_none_or(|(upper, _)| upper >= least)
            };
            let is_crowded = part == 0 && root.is_crowded(target);
            let verdict = if is_crowded { Verdict::Refuted } else { root.refute(target, ROUNDS_PER_PART, &mut beside) };
            if verdict == Verdict::Refuted {
                self.refuted(target);
                self.report("column generation");
                return true;
            }
            let is_over = self.is_done() || self.upper().is_some_and(|upper| upper < least);
            if !is_over {
                let shown = root.refuted_by_profits(self.bound, target);
                self.refuted(shown);
            }
            self.report("column generation");
            if verdict == Verdict::Open || is_over {
                break;
            }
        }
        false
    }

    /// Searches the tree below a target this part of the way from the best split down to the bound.
    fn branch(&mut self, root: &mut Root, max_nodes: usize, part: f64) -> Ending {
        let Some(upper) = self.upper() else { return Ending::Limit };
        let target = self.last_target(upper) * (1.0 - part) + self.bound * part;
        if self.is_done() {
            return Ending::Limit;
        }
        let ending = match root.settle(target) {
            Verdict::Refuted => Ending::Refuted,
            Verdict::Limit => Ending::Limit,
            Verdict::Open => tree::search(&mut root.generation, (target, upper), &root.center, max_nodes, self.cx),
        };
        match &ending {
            Ending::Refuted => self.refuted(target),
            Ending::Found(split) => {
                self.primal.offer(split);
            }
            Ending::Limit | Ending::Undecided => {}
        }
        self.report("branch and price");
        ending
    }

    fn finish(self, is_infeasible: bool) -> Run {
        let scope = self.setting.problem.spec.scope.clone();
        let bound = LowerBound { value: self.bound, scope: scope.clone(), source: self.source };
        let known = (self.bound > 0.0).then(|| bound.clone());
        let outcome = match self.primal.best() {
            Some((objective, split)) => {
                let solution = self.setting.to_solution(split);
                if objective - bound.value <= OPTIMALITY_TOLERANCE * objective {
                    Outcome::Optimal { solution, bound: LowerBound { value: bound.value.min(objective), ..bound } }
                } else {
                    Outcome::Feasible { solution, bound: known }
                }
            }
            None if is_infeasible => Outcome::Infeasible(scope),
            None => Outcome::Unknown { bound: known },
        };
        Run { outcome, stats: self.stats }
    }
}

/// Rounds of annealing before the first bound.
const FIRST_ROUNDS: usize = 32;

/// Rounds of pricing after which the bound rises as far as the profits show, and how often.
const ROUNDS_PER_PART: usize = 24;
const MOST_PARTS: usize = 16;

/// Rounds of annealing between two searches of the tree, or two targets of the root's bisection.
const ROUNDS_BETWEEN: usize = 16;

/// Rounds of annealing in a row that do not help, after which it pauses before the first target near the best split.
const PATIENCE: usize = 200;

/// A target this part below the best split that the root does not refute shows that the bound is not close.
const FAR_FROM_SOLVED: f64 = 0.002;

/// Rounds of annealing in a row that do not help, after such a target.
const LAST_PATIENCE: usize = 1_500;

/// Rounds of annealing where the graph is too wide for pricing.
const ROUNDS_WITHOUT_PROOF: usize = 1_000;

/// How far below the best split the root's first targets lie, one after another.
const FAR_STEPS: [f64; 2] = [0.3, 0.05];

/// How far below it the others lie.
const NEAR_STEPS: [f64; 5] = [0.02, 0.01, 0.002, 5e-4, 0.0];

/// How closely the root's bound is found, as a part of it.
const BISECTION_PRECISION: f64 = 1e-4;

/// Nodes of the first search of the tree; later ones get twice as many each.
const FIRST_NODES: usize = 32;
