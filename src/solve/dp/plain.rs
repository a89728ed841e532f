//! The dynamic program over pairs of ideals as a solver: the plainest exact method, and the oracle of the others.

use super::chain::{IdealChain, differences};
use super::grouping::Flat;
use super::lattice::Lattice;
use super::linearized;
use super::loads::Value;
use super::pairs::{Looks, Pairs, PricedPairs, ServerPairs};
use super::rests::Rests;
use super::{Incumbent, Setting};
use crate::bound;
use crate::preprocess::Reduced;
use crate::problem::{Objective, Problem, Scope};
use crate::search::{Race, SearchContext, Stats, Verdict};
use crate::solve::{BoundSource, Guarantee, LowerBound, Outcome, Run, SolveError, Solver, Unsupported, in_pool_of};

const NAME: &str = "dp:plain";

/// The plain DP over pairs of ideals (Tarnawski 2020, section 5.1.1), for [`Scope::Acyclic`] on graphs of few ideals.
///
/// It looks at all pairs of ideals whose stage may be within a target: first one near the bound, then ever larger ones, in
/// steps by how many pairs there were. The first target within which there is a chain has the optimum. Time grows with the
/// number of such pairs, memory with that of ideals. On graphs of more ideals it returns the split of linearized DP.
#[derive(Debug, Clone, PartialEq)]
pub struct PlainDp {
    /// The most ideals that it lists.
    pub max_ideals: usize,
    /// It looks for profits of units, which say more than their work of what devices can still take, once a target has had so
    /// many pairs.
    pub many_pairs: u64,
}

impl Default for PlainDp {
    fn default() -> Self {
        Self { max_ideals: 1_000_000, many_pairs: 6_000_000 }
    }
}

impl Solver for PlainDp {
    fn name(&self) -> &str {
        NAME
    }

    fn guarantee(&self) -> Guarantee {
        Guarantee::Exact
    }

    fn knows_steps(&self) -> bool {
        true
    }

    fn supports(&self, problem: &Problem) -> Result<(), Unsupported> {
        super::supports(self.name(), problem)?;
        takes(problem)
    }

    fn search(&self, problem: &Problem, cx: &mut SearchContext) -> Result<Run, SolveError> {
        let reduced = Reduced::new(problem);
        let setting = Setting::new(problem, &reduced);
        let bound = bound::least_objective(problem, &reduced, bound::work(&reduced));
        let mut race = Race::new(bound, BoundSource::Work, cx);
        let mut stats = Stats::default();
        stats.set("units", reduced.unit_count() as f64);
        // Who waits for a turn must not keep the threads of another search waiting.
        let is_infeasible = in_pool_of(race.cx.most_lanes(), || self.run(&setting, &mut race, &mut stats));
        let (best, value, source) = race.finish();
        let bound = LowerBound { value, scope: Scope::Acyclic, source };
        let outcome = match best {
            Some((objective, split)) => Outcome::found(setting.lift(&split, objective), objective, bound),
            None if is_infeasible => Outcome::Infeasible,
            None => Outcome::Unknown { bound: Some(bound) },
        };
        Ok(Run { outcome, stats })
    }
}

/// Whether it takes a problem that the ideal DP takes.
pub fn takes(problem: &Problem) -> Result<(), Unsupported> {
    if problem.spec.interconnect.is_some() && problem.spec.objective != Objective::Throughput {
        let reason = "with servers it minimises the largest load alone; use the ideal DP (dp)".into();
        return Err(Unsupported { solver: NAME.into(), reason });
    }
    Ok(())
}

impl PlainDp {
    /// Runs to the end or to a limit; whether no split exists.
    fn run(&self, setting: &Setting, race: &mut Race<Incumbent, BoundSource>, stats: &mut Stats) -> bool {
        let most = self.max_ideals.min(MOST_BYTES / (setting.reduced.unit_count() / 8 + BYTES_PER_IDEAL));
        let lattice = Lattice::new(&setting.reduced.order, most.min(race.cx.memory_left() / BYTES_PER_IDEAL), race.cx);
        linearized::offer_first(setting, race);
        if setting.loads.is_step() {
            raise_by_load(setting, race);
        }
        let Ok(Some(mut lattice)) = lattice else { return false };
        lattice.heaviest_first(&setting.reduced.order, &Rests::new(setting.reduced).units);
        stats.set("ideals", lattice.count() as f64);
        let flat = Flat::new(setting);
        let near = flat.as_ref().map(Flat::near);
        let mut program = Program::new(setting, near.as_ref(), &lattice, self.many_pairs);
        let upper = |race: &Race<Incumbent, BoundSource>| race.objective().unwrap_or(setting.ceiling);
        let mut steps = Steps { size: FIRST_PART * (upper(race) - race.bound()), pairs: 0 };
        let (mut is_infeasible, looks) = (false, Looks::new(race.cx));
        while !race.is_done() && !is_infeasible {
            let last = race.last_target(upper(race));
            let target = program.next_target(race.bound(), steps.size, last);
            let before = looks.pairs();
            match program.within((race.bound(), target), &looks) {
                Verdict::Found((chain, value)) => {
                    let split = Incumbent { value, stages: differences(setting.reduced, &chain) };
                    if program.finds_the_best() {
                        race.raise(split.objective(), BoundSource::Refuted);
                    }
                    steps.found(split.objective() - race.bound());
                    race.offer(split.objective(), split);
                }
                Verdict::Refuted => {
                    race.raise(target, BoundSource::Refuted);
                    is_infeasible = target >= last && race.objective().is_none();
                    steps.took(looks.pairs() - before);
                }
                Verdict::Unknown => break,
            }
            race.report("pairs of ideals");
        }
        let priced = program.priced_pairs();
        stats.set("pairs", (looks.pairs() - priced) as f64);
        if priced > 0 {
            stats.set("priced_pairs", priced as f64);
        }
        is_infeasible
    }
}

/// The program on a problem without servers or with them.
enum Program<'a> {
    Flat(Box<PricedPairs<'a>>),
    Servers(Box<ServerPairs<'a>>),
}

impl<'a> Program<'a> {
    /// The program on `setting`, and with servers on the same problem with all devices `near` each other.
    fn new(setting: &'a Setting<'a>, near: Option<&'a Setting<'a>>, lattice: &'a Lattice, many: u64) -> Self {
        let Some(near) = near else { return Program::Flat(Box::new(PricedPairs::new(setting, lattice, many))) };
        Program::Servers(Box::new(ServerPairs::new(Pairs::new(setting, lattice), Pairs::new(near, lattice))))
    }

    /// Whether no chain is better than what [`Self::within`] finds.
    fn finds_the_best(&self) -> bool {
        matches!(self, Program::Flat(_))
    }

    /// The next target to look at, between `bound` and `last`.
    fn next_target(&self, bound: f64, size: f64, last: f64) -> f64 {
        match self {
            Program::Flat(program) => program.next_target(bound, size, last),
            Program::Servers(_) => last.min(bound + size),
        }
    }

    /// Pairs looked at for profits, not for chains.
    fn priced_pairs(&self) -> u64 {
        match self {
            Program::Flat(program) => program.priced_pairs,
            Program::Servers(_) => 0,
        }
    }

    /// A chain of an objective of at most `target`, with its value, where none is better than `bound`.
    fn within(&mut self, (bound, target): (f64, f64), looks: &Looks) -> Verdict<(IdealChain, Value)> {
        match self {
            Program::Flat(program) => program.best((bound, target), looks),
            Program::Servers(program) => program.within(target, looks),
        }
    }
}

/// Raises the bound of a step to what the bounds of the largest load that need no search make of it. For the throughput
/// others do so, whose bounds are shared.
fn raise_by_load(setting: &Setting, race: &mut Race<Incumbent, BoundSource>) {
    let Setting { problem, reduced, .. } = *setting;
    let most_load = setting.loads.most_load(race.objective().unwrap_or(setting.ceiling));
    let (load, source) = bound::best(problem, reduced, most_load, race.cx);
    race.raise(bound::least_objective(problem, reduced, load), source);
}

/// From target to target.
struct Steps {
    size: f64,
    /// Pairs within the last target.
    pairs: u64,
}

impl Steps {
    /// Halves what is left between the bound and a split.
    fn found(&mut self, gap: f64) {
        self.size = 0.5 * gap;
    }

    /// Chooses the next step by how many pairs there were within the last target: their number grows exponentially.
    fn took(&mut self, pairs: u64) {
        let count = |pairs: u64| pairs.max(FEW_PAIRS) as f64;
        let growth = (count(pairs) / count(self.pairs)).ln();
        self.size *= (GROWTH.ln() / growth.max(f64::MIN_POSITIVE)).clamp(1.0 / GROWTH, 2.0);
        self.pairs = pairs;
    }
}

/// What an ideal takes beside its units, with its edges and chains, in bytes; and what all of them may take.
const BYTES_PER_IDEAL: usize = 256;
const MOST_BYTES: usize = 1 << 29;

/// How far from the bound to the best split the first target lies.
const FIRST_PART: f64 = 1.0 / 16.0;

/// How many times as many pairs the next target should have, and how few of them take no time.
const GROWTH: f64 = 3.0;
const FEW_PAIRS: u64 = 1 << 14;
