//! A run: primal search, root bounds, and the tree between them.

use super::ascent::{Ascent, CLEARLY_OPEN, CLOSE};
use super::assignment::{Assignment, Setting};
use super::covering::{Devices, Verdict};
use super::leaves::Leaves;
use super::primal::{FIRST_ROUNDS, Primal};
use super::root::{Reach, Resolution, Root};
use super::tree::{self, Budget, Ending};
use crate::bound;
use crate::search::{Race, SEARCH_TOLERANCE, SearchContext, Stats};
use crate::solve::{BoundSource, LowerBound, Outcome, Run};

/// A run: the best split and bound so far.
pub struct Proof<'a> {
    setting: &'a Setting<'a>,
    primal: Primal<'a>,
    race: Race<'a, Assignment, BoundSource>,
    stats: Stats,
    /// Rounds in a row that have not improved the split.
    stale: usize,
}

impl<'a> Proof<'a> {
    /// Nothing known yet.
    pub fn new(setting: &'a Setting<'a>, cx: &'a SearchContext) -> Self {
        Self {
            setting,
            primal: Primal::new(setting, cx),
            race: Race::new(0.0, BoundSource::Refuted, cx),
            stats: Stats::default(),
            stale: 0,
        }
    }

    /// Enters what the search for good splits has found, and tells how far the run is.
    fn report(&mut self, phase: &'static str) {
        self.enter();
        self.race.report(phase);
    }

    fn enter(&mut self) {
        if let Some((value, split)) = self.primal.best()
            && self.race.objective().is_none_or(|best| value < best)
        {
            self.race.offer(value, split.clone());
            self.stale = 0;
        }
    }

    /// Runs to the end or to a limit; whether no split exists.
    pub fn run(&mut self) -> bool {
        self.anneal(if self.race.objective().is_some() { FIRST_ROUNDS_BESIDE } else { FIRST_ROUNDS });
        self.bound_cheaply();
        if self.race.cx.should_stop() {
            return false;
        }
        let devices = Devices::new(self.setting, self.race.cx);
        let root = devices.as_ref().and_then(|devices| Root::new(devices, self.race.cx));
        let Some(mut root) = root else {
            self.anneal(ROUNDS_WITHOUT_PROOF);
            return false;
        };
        let is_infeasible = self.find_any(&mut root);
        let without_limits = root.generation.devices.without_limits(self.race.cx);
        if let Some(upper) = self.race.objective() {
            self.refuted(root.least().min(upper));
            let of_loads = without_limits.as_ref().and_then(|devices| Root::new(devices, self.race.cx));
            if let Some(of_loads) = of_loads {
                self.bound_without_limits(&mut root, of_loads);
            }
            self.close(&mut root);
        }
        self.stats.set("columns", root.generation.pool.len() as f64);
        self.stats.set("pricing_rounds", root.generation.effort.rounds as f64);
        self.stats.set("pricing_searches", root.generation.effort.searches as f64);
        self.stats.set("tree_nodes", root.generation.effort.nodes as f64);
        is_infeasible
    }

    /// Takes the best bound that needs no search.
    fn bound_cheaply(&mut self) {
        let Some(upper) = self.race.objective() else { return };
        let (bound, source) = bound::best(self.setting.problem, &self.setting.unordered.units, upper, self.race.cx);
        self.race.raise(bound, source);
        self.report("cuts");
    }

    /// Raises the bound to a refuted target.
    fn refuted(&mut self, target: f64) {
        self.race.raise(target, BoundSource::Refuted);
    }

    /// Runs some rounds of annealing.
    fn anneal(&mut self, rounds: usize) {
        for _ in 0..rounds {
            if self.race.is_done() {
                return;
            }
            self.primal.anneal(self.race.cx);
            self.report("annealing");
        }
    }

    /// Improves the split until `patience` rounds in a row have not helped, those of earlier calls included.
    fn refine(&mut self, patience: usize) {
        while self.stale < patience && !self.race.is_done() {
            let before = self.race.objective();
            let rounds = if self.primal.resplits() { MOVES_AT_ONCE } else { 1 };
            self.primal.refine(self.race.bound(), rounds, self.race.cx);
            self.report("annealing");
            self.stale = if self.race.objective() == before { self.stale + rounds } else { 0 };
        }
    }

    /// For how many rounds the split is improved where the bound is hard to raise.
    fn last_patience(&self) -> usize {
        if self.primal.resplits() { LAST_RESPLIT_PATIENCE } else { LAST_PATIENCE }
    }

    /// Finds some split where annealing found none; whether none exists.
    fn find_any(&mut self, root: &mut Root) -> bool {
        if self.race.objective().is_some() {
            return false;
        }
        let ceiling = root.generation.devices.ceiling();
        if root.settle(ceiling, usize::MAX, &mut || true) == Verdict::Refuted {
            return true;
        }
        match tree::search(&mut root.generation, (ceiling, f64::MAX), &root.center, Budget::UNLIMITED, self.race.cx) {
            Ending::Found(split) => {
                self.primal.offer(&split);
                self.enter();
                false
            }
            ending => ending == Ending::Refuted,
        }
    }

    /// Raises the bound as far as loads alone can, where memory is limited, and starts from their profits; with the root of loads
    /// in place of that of both where memory is of no account.
    fn bound_without_limits<'d>(&mut self, root: &mut Root<'d>, mut relaxed: Root<'d>) {
        let Some(upper) = self.race.objective() else { return };
        let counts_memory = root.reach(upper) == Reach::Memory;
        if counts_memory {
            self.ascend_by(&[Ascent::FIRST], &mut relaxed);
            self.refine(PATIENCE);
        }
        if !counts_memory && relaxed.reach(upper) != Reach::None {
            self.ascend(&mut relaxed);
            let before = self.race.bound();
            // Where the method has a long way to go, the linear program is a better start.
            if self.approach(&mut relaxed, &FAR_STEPS, Thoroughness::ROUGH) && self.race.bound() > before {
                self.ascend(&mut relaxed);
            }
        } else if (!counts_memory || self.is_close()) && self.approach(&mut relaxed, &FAR_STEPS, Thoroughness::ROUGH) {
            self.approach(&mut relaxed, &NEAR_STEPS, Thoroughness::ROUGH);
        }
        self.stats.set("bound_without_limits", self.race.bound());
        let target = self.race.objective().map_or(upper, |upper| self.race.last_target(upper));
        if relaxed.is_roomy(root.generation.devices, target) {
            *root = relaxed;
        } else {
            root.center = relaxed.center;
        }
    }

    /// Whether the bound is about that of the linear program.
    fn is_close(&self) -> bool {
        self.race.is_within(CLOSE)
    }

    /// Whether the bound is so far below the best split that the linear program's is, too.
    fn is_far_below(&self) -> bool {
        !self.race.is_within(FAR_BELOW)
    }

    /// Closes the gap along lines: a tree is refuted half of the way to the best split, then half of the rest, and so on. Where
    /// memory counts beside loads, annealing alone finds better splits beside it than with those of pairs.
    fn climb(&mut self, root: &mut Root) {
        let devices = root.generation.devices;
        if devices.limit_memory() {
            self.primal.anneal_alone();
        }
        self.refine(PATIENCE_BEFORE_CLIMB);
        let mut leaves = Leaves::new(devices, std::mem::take(&mut root.center.profit), self.is_far_below());
        while let Some(upper) = self.race.objective().filter(|_| !self.race.is_done()) {
            let (bound, last) = (self.race.bound(), self.race.last_target(upper));
            let target = if last - bound > LAST_CLIMB * last { bound + CLIMB * (last - bound) } else { last };
            if self.refute(&mut leaves, (target, upper), usize::MAX) == Ending::Undecided {
                break;
            }
        }
        root.generation.effort.nodes += leaves.nodes;
        root.center.profit = devices.work();
    }

    /// Has so many leaves of a tree refute a target. The split is improved beside it.
    fn refute(&mut self, leaves: &mut Leaves, (target, upper): (f64, f64), most: usize) -> Ending {
        let (bound, cx) = (self.race.bound(), self.race.cx);
        let mut beside = refinements(&mut self.primal, bound, cx);
        let mut goes_on = |sums| beside(sums).is_none_or(|best| best > target);
        let ending = leaves.refute((target, upper), most, &mut goes_on, cx);
        drop(beside);
        self.enter();
        self.note(&ending, target);
        ending
    }

    /// Puts splits together from the sets that the root's profits leave, as long as that finds better ones; which part of these sets
    /// was enumerated.
    fn enumerate(&mut self, root: &mut Root) -> f64 {
        let mut leaves = Leaves::new(root.generation.devices, root.center.profit.clone(), false);
        while let Some(upper) = self.race.objective().filter(|_| !self.race.is_done()) {
            self.refute(&mut leaves, (self.race.last_target(upper), upper), 1);
            if self.race.objective() == Some(upper) {
                break;
            }
        }
        leaves.enumerated
    }

    /// Whether devices have so many units that fronts of several resources are long.
    fn has_long_fronts(&self) -> bool {
        self.setting.unit_count() > FEW_UNITS * self.setting.device_count()
    }

    /// Closes the gap between bound and split.
    fn close(&mut self, root: &mut Root) {
        let counts_memory = self.race.objective().is_some_and(|upper| root.reach(upper) == Reach::Memory);
        if counts_memory && !self.is_close() {
            if self.has_long_fronts() {
                self.climb(root);
            } else if self.setting.unordered.order.is_some() {
                // Fronts are short, but for sets that have to be convex the linear program has many rounds to go.
                self.ascend_by(&Ascent::in_cells(Resolution::WITH_MEMORY), root);
            }
        }
        self.bound_root(root);
        let mut budget = Budget { nodes: FIRST_NODES, ..Budget::UNLIMITED };
        while !self.race.is_done() {
            match self.branch(root, budget, 0.0) {
                Ending::Undecided => return,
                Ending::Limit => {
                    self.anneal(ROUNDS_BETWEEN);
                    self.branch(root, budget, 0.5);
                    budget.nodes = budget.nodes.saturating_mul(2);
                }
                Ending::Found(_) | Ending::Refuted => {}
            }
        }
    }

    /// Raises the bound as far as the root alone can: in steps towards the best split, then by bisection; by the bundle method
    /// where that is quick, at once where it is quick in rough cells alone. The split is improved with patience once it is
    /// clear that the bound does not meet it at little cost.
    fn bound_root(&mut self, root: &mut Root) {
        let thoroughness = Thoroughness { patience: self.last_patience(), precision: BISECTION_PRECISION };
        let Some(upper) = self.race.objective() else { return };
        let reach = root.reach(upper);
        if reach == Reach::Rough {
            self.ascend(root);
        } else if !self.approach(root, &FAR_STEPS, thoroughness) {
            return;
        }
        self.refine(if self.primal.resplits() { RESPLIT_PATIENCE } else { PATIENCE });
        if reach != Reach::Rough {
            self.ascend(root);
        }
        let Some(upper) = self.race.objective() else { return };
        let is_large = matches!(reach, Reach::Large(_) | Reach::Rough);
        if is_large && self.race.bound() < self.race.last_target(upper) * (1.0 - CLEARLY_OPEN) {
            self.insist(root, reach);
        } else {
            self.approach(root, &NEAR_STEPS, thoroughness);
        }
    }

    /// Goes on where pricing is quick along lines and the bound clearly below the best split: by a tree along lines where it is far
    /// below, or once splits can be enumerated; else by ever finer cells, with looks at the tree of the linear program between them,
    /// which needs none, and then by patient search for splits before the tree.
    fn insist(&mut self, root: &mut Root, reach: Reach) {
        let can_climb = matches!(reach, Reach::Large(_)) && self.has_long_fronts();
        if can_climb && self.is_far_below() {
            self.climb(root);
            return;
        }
        for (rounds, ascents) in Ascent::further(reach) {
            self.branch(root, Budget { nodes: FIRST_NODES, rounds }, 0.0);
            if self.enumerate(root) > PROMISING {
                self.climb(root);
                return;
            }
            self.ascend_by(&ascents, root);
        }
        self.refine(self.last_patience());
        if can_climb {
            self.climb(root);
        }
    }

    /// Raises the bound where pricing is quick.
    fn ascend(&mut self, root: &mut Root) {
        let Some(upper) = self.race.objective() else { return };
        self.ascend_by(&Ascent::initial(root.reach(upper)), root);
    }

    /// Ascends in several ways, one after another; whether it is worth it to go on. Steps get longer while they succeed: profits
    /// that hardly fail to refute a target far too high say little about others.
    fn ascend_by(&mut self, ascents: &[Ascent], root: &mut Root) -> bool {
        ascents.iter().all(|ascent| {
            let [mut step, least] = ascent.steps;
            while step >= least {
                let Some(upper) = self.race.objective() else { return false };
                let (bound, last) = (self.race.bound(), self.race.last_target(upper));
                if self.race.is_done() || self.race.is_within(ascent.close) {
                    return false;
                }
                let known = root.center.clone();
                match self.ascend_to(((bound * (1.0 + step)).min(last), last), ascent, root) {
                    None => return false,
                    Some(Verdict::Refuted) if self.race.bound() > bound => step *= 2.0,
                    Some(_) => {
                        root.center = known;
                        step /= 4.0;
                    }
                }
            }
            true
        })
    }

    /// Has the root refute a target, and raises the bound as far as the profits show, up to `last`. The split is improved
    /// beside it, in proportion to the effort of pricing.
    fn ascend_to(&mut self, (target, last): (f64, f64), ascent: &Ascent, root: &mut Root) -> Option<Verdict> {
        let (bound, cx) = (self.race.bound(), self.race.cx);
        let mut beside = refinements(&mut self.primal, bound, cx);
        let how = (ascent.cells, ascent.rounds);
        let (verdict, shown) = root.ascend((bound, target, last), how, &mut |sums| _ = beside(sums), cx)?;
        drop(beside);
        self.enter();
        self.refuted(shown);
        self.stats.set("root_bound", self.race.bound());
        self.report("column generation");
        Some(verdict)
    }

    /// Raises the bound to targets these parts below the best split; whether the root refutes all of them.
    fn approach(&mut self, root: &mut Root, steps: &[f64], thoroughness: Thoroughness) -> bool {
        for step in steps {
            let Some(upper) = self.race.objective() else { return false };
            let target = (upper * (1.0 - step)).min(self.race.last_target(upper));
            if self.race.is_done() {
                return false;
            }
            if target > self.race.bound() && !self.raise(root, target) {
                // So far from the best split the bound is hard to raise: a better split may be easier to find.
                if *step >= FAR_FROM_SOLVED && self.race.objective() == Some(upper) {
                    self.refine(thoroughness.patience);
                }
                if self.race.objective() != Some(upper) {
                    return self.approach(root, steps, thoroughness);
                }
                self.bisect(root, target, thoroughness.precision);
                return false;
            }
            self.anneal(1);
        }
        true
    }

    /// Bisects between the bound and a target that the root does not refute.
    fn bisect(&mut self, root: &mut Root, mut open: f64, precision: f64) {
        while !self.race.is_done() && open - self.race.bound() > precision * open {
            let target = 0.5 * (self.race.bound() + open);
            if !self.raise(root, target) {
                open = target;
            }
            self.anneal(ROUNDS_BETWEEN);
        }
        self.stats.set("root_bound", self.race.bound());
    }

    /// Whether the root refutes `target`, which then is a bound; else the bound rises as far as its profits show.
    /// The split is improved beside it, and ends it once there is a better one.
    fn raise(&mut self, root: &mut Root, target: f64) -> bool {
        if root.is_crowded(target) {
            self.refuted(target);
            return true;
        }
        let least = self.least_for(target);
        for _ in 0..MOST_PARTS {
            let verdict = self.beside(target, |beside| root.refute(target, ROUNDS_PER_PART, beside));
            if verdict == Verdict::Refuted {
                self.refuted(target);
                self.report("column generation");
                return true;
            }
            let is_over = self.race.is_done() || self.race.objective().is_some_and(|upper| upper < least);
            if !is_over {
                let shown = root.refuted_by_profits(self.race.bound(), target);
                self.refuted(shown);
            }
            self.report("column generation");
            if verdict == Verdict::Open || is_over {
                break;
            }
        }
        false
    }

    /// The least best split at which `target`, which is worth refuting now, still is. The best split is one of these, however
    /// the quotient rounds.
    fn least_for(&self, target: f64) -> f64 {
        let least = target / (1.0 - self.race.cx.gap.max(SEARCH_TOLERANCE));
        self.race.objective().map_or(least, |upper| least.min(upper))
    }

    /// Does `work` on a target while the split is improved beside it, until it is below what makes the target worth it.
    fn beside<T>(&mut self, target: f64, work: impl FnOnce(&mut (dyn FnMut() -> bool + Send)) -> T) -> T {
        let (least, bound, cx) = (self.least_for(target), self.race.bound(), self.race.cx);
        let primal = &mut self.primal;
        let mut beside = || {
            primal.refine(bound, 1, cx);
            primal.value().is_none_or(|upper| upper >= least)
        };
        let done = work(&mut beside);
        self.enter();
        done
    }

    /// Searches the tree below a target this part of the way from the best split down to the bound.
    fn branch(&mut self, root: &mut Root, budget: Budget, part: f64) -> Ending {
        let Some(upper) = self.race.objective() else { return Ending::Limit };
        let target = self.race.last_target(upper) * (1.0 - part) + self.race.bound() * part;
        if self.race.is_done() {
            return Ending::Limit;
        }
        let ending = match self.beside(target, |beside| root.settle(target, budget.rounds, beside)) {
            Verdict::Refuted => Ending::Refuted,
            Verdict::Limit => Ending::Limit,
            Verdict::Open => tree::search(&mut root.generation, (target, upper), &root.center, budget, self.race.cx),
        };
        self.note(&ending, target);
        ending
    }

    /// Takes up what a search of a tree below `target` says.
    fn note(&mut self, ending: &Ending, target: f64) {
        match ending {
            Ending::Refuted => self.refuted(target),
            Ending::Found(split) => {
                self.primal.offer(split);
                self.enter();
            }
            Ending::Limit | Ending::Undecided => {}
        }
        self.report("branch and price");
    }

    /// What is known at the end.
    pub fn finish(self, is_infeasible: bool) -> Run {
        let scope = self.setting.problem.spec.scope.clone();
        let (best, value, source) = self.race.finish();
        let bound = LowerBound { value, scope, source };
        let known = (value > 0.0).then(|| bound.clone());
        let outcome = match best {
            Some((objective, split)) => {
                let solution = self.setting.to_solution(&split);
                match known {
                    None if objective > 0.0 => Outcome::Feasible { solution, bound: None },
                    _ => Outcome::found(solution, objective, bound),
                }
            }
            None if is_infeasible => Outcome::Infeasible,
            None => Outcome::Unknown { bound: known },
        };
        Run { outcome, stats: self.stats }
    }
}

/// Improves the split in proportion to the sums of pricing that it is told of; the value of the best one.
fn refinements<'p>(
    primal: &'p mut Primal,
    bound: f64,
    cx: &'p SearchContext,
) -> impl FnMut(usize) -> Option<f64> + Send + 'p {
    let per_refinement = if primal.resplits() { EFFORT_PER_RESPLIT } else { EFFORT_PER_ANNEALING };
    let mut due = 0;
    move |sums| {
        due += sums;
        primal.refine(bound, due / per_refinement, cx);
        due %= per_refinement;
        primal.value()
    }
}

/// Rounds of pricing after which the bound rises as far as the profits show, and how often.
const ROUNDS_PER_PART: usize = 24;
const MOST_PARTS: usize = 16;

/// Rounds of annealing at first where others know a split.
const FIRST_ROUNDS_BESIDE: usize = 4;

/// Rounds of annealing between two searches of the tree, or two targets of the root's bisection.
const ROUNDS_BETWEEN: usize = 16;

/// Rounds of annealing in a row that do not help, after which it pauses before the first target near the best split.
const PATIENCE: usize = 200;

/// The same before a tree along lines.
const PATIENCE_BEFORE_CLIMB: usize = 300;

/// A target this part below the best split that the root does not refute shows that the bound is not close.
const FAR_FROM_SOLVED: f64 = 0.002;

/// Sums of the bundle method in the time of which a pair of devices can be split anew, or the split annealed once.
const EFFORT_PER_RESPLIT: usize = 8_000_000;
const EFFORT_PER_ANNEALING: usize = 64_000_000;

/// Where the root's sets are enumerated up to this part of what they may fall short by, those of leaves are.
const PROMISING: f64 = 0.1;

/// A gap of this part says that the linear program's bound is not close either.
const FAR_BELOW: f64 = 0.01;

/// Where there are no more units to a device than so many, fronts of load and memory are short.
const FEW_UNITS: usize = 16;

/// Which part of the way to the best split each target of a tree along lines goes.
const CLIMB: f64 = 0.5;

/// The last target of a tree along lines is that below the best split once the rest is this part of it.
const LAST_CLIMB: f64 = 1e-4;

/// Rounds of annealing in a row that do not help, after such a target.
const LAST_PATIENCE: usize = 1_500;

/// The same where pairs of devices are split anew besides.
const RESPLIT_PATIENCE: usize = 300;
const LAST_RESPLIT_PATIENCE: usize = 10_000;

/// Moves of each walker that splits pairs of devices anew, after which walkers wait for one another.
const MOVES_AT_ONCE: usize = 16;

/// Rounds of annealing where the graph is too wide for pricing.
const ROUNDS_WITHOUT_PROOF: usize = 1_000;

/// How far below the best split the root's first targets lie, one after another.
const FAR_STEPS: [f64; 2] = [0.3, 0.05];

/// How far below it the others lie.
const NEAR_STEPS: [f64; 5] = [0.02, 0.01, 0.002, 5e-4, 0.0];

/// How closely the root's bound is found, as a part of it.
const BISECTION_PRECISION: f64 = 1e-4;

/// How much is done where the root does not refute a target.
#[derive(Debug, Clone, Copy)]
struct Thoroughness {
    /// Rounds of annealing in a row that do not help, before the bound is looked for below the target.
    patience: usize,
    /// How closely it is found, as a part of it.
    precision: f64,
}

impl Thoroughness {
    /// Where another root follows, which may refute the target.
    const ROUGH: Self = Self { patience: 0, precision: 1e-2 };
}

/// Nodes of the first search of the tree; later ones get twice as many each.
const FIRST_NODES: usize = 32;
