//! Branch and bound for mapping: exact, anytime.
//!
//! "Is there a mapping whose copies all take at most t?" is a constraint satisfaction problem: a domain of devices for
//! each copy ([`state`]), made consistent with the copies' times ([`revise`]) and with each other ([`all_different`]), and
//! searched depth first ([`search`]), blocks of devices before devices ([`blocks`]), with the images of whatever failed
//! under interchangeable replicas and devices left out ([`symmetry`]). Every target refuted
//! is a bound; every mapping found is a new target. [`portfolio`] says what runs when, and [`techniques`] what that is.

mod all_different;
mod assignment;
mod blocks;
mod classes;
mod components;
#[cfg(test)]
mod laws;
mod levels;
mod matching;
mod model;
mod portfolio;
mod relation;
mod revise;
mod rings;
mod search;
mod state;
mod symmetry;
mod techniques;
mod touched;

use levels::Levels;
use matching::Matching;
use model::Model;
use portfolio::Round;
use search::{BranchingOrder, DepthFirstSearch, Knowledge};
use techniques::{Configurations, GroupActions};

use super::annealing::Annealer;
use super::covers::RingCover;
use super::heuristic::MappingAnnealing;
use super::sliding_windows::SlidingWindows;
use super::{Counted, Mapper, Mapping, MappingOutcome, MappingProblem, MappingRace, MappingRun, compute_bound};
use crate::search::{SEARCH_TOLERANCE, SearchContext, Stats, Technique, Verdict};

/// Branch and bound over targets.
///
/// Exact for any topology, stage time, speeds and memory. Within a limit it returns the best mapping and bound so far.
/// Exponential in the number of copies at worst.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BranchAndBound {
    /// Moves of the first round of annealing, per copy; each later round takes twice as many.
    pub moves: u64,
    /// Decisions of the first round of searches; each later round takes four times as many.
    pub decisions: u64,
    /// Which of its [techniques](Self::techniques) it does without.
    pub without: Vec<&'static str>,
}

impl Default for BranchAndBound {
    fn default() -> Self {
        Self { moves: 1000, decisions: 50, without: Vec::new() }
    }
}

impl Mapper for BranchAndBound {
    fn name(&self) -> &str {
        "branch-and-bound"
    }

    fn map(&self, problem: &MappingProblem, cx: &SearchContext) -> MappingRun {
        match problem.topology.len().div_ceil(64) {
            0..=1 => self.map_within::<1>(problem, cx),
            2 => self.map_within::<2>(problem, cx),
            3..=4 => self.map_within::<4>(problem, cx),
            5..=8 => self.map_within::<8>(problem, cx),
            9..=16 => self.map_within::<16>(problem, cx),
            17..=64 => self.map_within::<64>(problem, cx),
            // More devices than a topology may have by its readers and generators: no proof, but a mapping.
            _ => MappingAnnealing::default().map(problem, cx),
        }
    }
}

impl BranchAndBound {
    fn map_within<const W: usize>(&self, problem: &MappingProblem, cx: &SearchContext) -> MappingRun {
        // What searches need to know of thousands of devices may take longer than there is: half of the time is for it.
        let setup = cx.part(cx.remaining().map(|left| left / 2));
        let Some(model) = Model::<W>::new(problem, &setup) else {
            return MappingAnnealing::default().map(problem, cx);
        };
        let fits: Vec<_> = (0..problem.copies()).map(|copy| model.stages[copy / problem.replicas].fits).collect();
        let mut matching = Matching::new(problem.copies(), problem.topology.len());
        if !matching.repair(&fits) {
            return MappingRun { outcome: MappingOutcome::Infeasible, stats: Stats::default() };
        }
        let first = Mapping { devices: matching.devices().to_vec() };
        let mut proof = Proof::new(Knowledge::new(&model, &setup), &first, cx);
        proof.without.clone_from(&self.without);
        proof.run(Round { moves: self.moves.saturating_mul(problem.copies() as u64), decisions: self.decisions });
        proof.finish()
    }
}

/// In blocks a gap of more than this is.
const WIDE: f64 = 0.25;

/// The least part of the bound by which a target lies above it when the bound climbs: mappings that reach the bound are
/// within it.
const LEAST_STEP: f64 = 1e-10;

/// A run: the best mapping, the best bound, and the means to better either.
struct Proof<'p, const W: usize> {
    race: MappingRace<'p>,
    annealer: Annealer<'p>,
    knowledge: Knowledge<'p, W>,
    levels: Option<Levels>,
    /// The devices in a line of near blocks.
    line: Option<Vec<usize>>,
    configurations: Option<Configurations<'p>>,
    /// Once looked for.
    actions: Option<GroupActions<'p>>,
    rings: Option<RingCover<'p>>,
    windows: Option<SlidingWindows<'p>>,
    /// How many devices the blocks hold that pipelines are packed into next.
    room: usize,
    /// Techniques that are left out, and what the others did.
    without: Vec<&'static str>,
    techniques: Vec<Technique>,
}

impl<'p, const W: usize> Proof<'p, W> {
    /// Nothing is known but a mapping.
    fn new(knowledge: Knowledge<'p, W>, first: &Mapping, cx: &'p SearchContext) -> Self {
        let model = knowledge.model;
        let (problem, seed) = (model.problem, cx.seed);
        let levels = Levels::new(model);
        let has_blocks = !knowledge.partitions.is_empty();
        let line = knowledge.partitions.first().map(|partition| partition.line(&problem.topology));
        let mut annealer = Annealer::new(problem, seed);
        if let Some(line) = line.clone() {
            annealer.prefer_near(line);
        }
        // Rings that lead over several blocks and pipelines across them leave swaps of two devices nowhere to go.
        if has_blocks && problem.cost.counted == Counted::Both {
            annealer.allow_compound();
        }
        Self {
            race: annealer.race(first, compute_bound(problem), cx),
            annealer,
            configurations: None,
            actions: None,
            rings: (levels.is_some() && !has_blocks).then(|| RingCover::new(problem, seed)).flatten(),
            windows: line.as_ref().and_then(|line| SlidingWindows::new(problem, line, seed)),
            line,
            room: model.stages.len().max(1),
            without: Vec::new(),
            techniques: Vec::new(),
            levels,
            knowledge,
        }
    }

    /// How many times as many moves the next round of annealing takes: more where searches are far from a proof, and
    /// compound moves may yet better much.
    fn growth(&self) -> u64 {
        if self.annealer.is_compound() && self.gap() > WIDE { 4 } else { 2 }
    }

    /// What is not proven, as a part of the objective.
    fn gap(&self) -> f64 {
        1.0 - self.bound() / self.objective()
    }

    fn counted(&self) -> Counted {
        self.knowledge.model.problem.cost.counted
    }

    fn has_blocks(&self) -> bool {
        !self.knowledge.partitions.is_empty()
    }

    /// Whether times are of few kinds, and there are no blocks, which have better means.
    fn has_levels_alone(&self) -> bool {
        self.levels.is_some() && !self.has_blocks()
    }

    /// Whether links differ so much that neither blocks nor times of few kinds help.
    fn is_unlike(&self) -> bool {
        self.levels.is_none() && !self.has_blocks()
    }

    /// Searches under a target and keeps what comes of it.
    fn search(&mut self, target: f64, decisions: u64, order: BranchingOrder) -> Verdict<Mapping> {
        let verdict = DepthFirstSearch::new(&mut self.knowledge, target, decisions, order, self.race.cx).run();
        match &verdict {
            Verdict::Refuted => self.raise(self.next_time(target)),
            Verdict::Found(mapping) => self.offer(mapping),
            Verdict::Unknown => (),
        }
        verdict
    }

    /// What no better mapping is below once `target` is refuted.
    fn next_time(&self, target: f64) -> f64 {
        self.levels.as_ref().map_or(target, |levels| levels.next(target, self.objective()))
    }

    /// The target that only better mappings are within.
    fn better(&self) -> f64 {
        self.objective() * (1.0 - SEARCH_TOLERANCE)
    }

    fn objective(&self) -> f64 {
        self.race.objective().unwrap_or(f64::INFINITY)
    }

    fn bound(&self) -> f64 {
        self.race.bound()
    }

    /// A copy of the best mapping.
    fn best(&self) -> Mapping {
        self.race.solution().cloned().unwrap_or_else(|| unreachable!("a run begins with a mapping"))
    }

    fn offer(&mut self, mapping: &Mapping) {
        self.race.offer(self.knowledge.model.problem.objective(mapping), mapping.clone());
    }

    fn raise(&mut self, bound: f64) {
        self.race.raise(bound, ());
    }

    fn is_done(&self) -> bool {
        self.race.is_done()
    }

    fn tell(&self, phase: &'static str) {
        self.race.report(phase);
    }

    fn finish(self) -> MappingRun {
        let figures = vec![("decisions", self.knowledge.nodes as f64), ("moves", self.annealer.moves() as f64)];
        let stats = Stats { figures, techniques: self.techniques, ..Stats::default() };
        let outcome = match self.race.finish() {
            (Some((objective, mapping)), bound, ()) => MappingOutcome::found(mapping, objective, bound),
            (None, bound, ()) => MappingOutcome::Unknown { bound: Some(bound) },
        };
        MappingRun { outcome, stats }
    }
}
