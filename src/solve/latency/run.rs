//! The course of a run: flows that bound all splits and tell which moves are of use, and passes over what is left.

use super::configurations::{Configurations, Found, Items};
use super::flow::{Along, Paths};
use super::heads;
use super::lattice::Lattice;
use super::model::Model;
use super::moves::Moves;
use super::search::{Guide, Pass};
use super::trace::{self, Block, NodeBlock};
use super::watch::Watch;
use super::weighted::Weighted;
use crate::problem::{Problem, Solution, fits};
use crate::search::{Race, SEARCH_TOLERANCE, SearchContext, Stats};
use crate::solve::objective::{Held, all_fit, held};
use crate::solve::{BoundSource, LowerBound, Outcome, Run, in_pool};

/// Labels kept of each state by the first pass, and how many times more by each pass after.
const BEAM: usize = 4;

/// Flows tried before the pass that drops nothing.
const MOST_FLOWS: usize = 128;

/// The same within a window.
const WINDOW_FLOWS: usize = 8;

/// How sharply the first answers to a flow count: the weight of a path grows by e to the power of this when it takes as long
/// as the split. Tried on profiles of PipeDream: 10 to 50 are alike, 1 and 200 are slow.
const SHARPNESS: f64 = 30.0;

/// How many times the scale of splits a time may be for a flow to tell it from longer ones.
const MOST_SCALES: f64 = 1000.0;

/// Ideals of a lattice with a window, where the graph has too many.
const WINDOW_IDEALS: usize = 20_000;

/// A run under way.
struct State<'a> {
    model: &'a Model<'a>,
    race: Race<'a, Solution, BoundSource>,
    /// The blocks of the best split made of blocks.
    blocks: Vec<Block>,
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
            Outcome::Infeasible => return run,
            outcome if outcome.solution().is_some_and(|split| has_room(problem, split)) => return run,
            outcome => outcome.bound().map_or(0.0, |bound| bound.value),
        };
    }
    solve_model(&Model::new(problem), max_ideals, bound, cx)
}

/// Whether every device of the split has room for its nodes.
fn has_room(problem: &Problem, split: &Solution) -> bool {
    held(problem, split).is_some_and(|held| all_fit(problem, &held))
}

fn solve_model(model: &Model, max_ideals: usize, bound: f64, cx: &SearchContext) -> Run {
    solve_lattice(model, Lattice::new(model, None, max_ideals, cx).ok(), max_ideals, bound, cx)
}

/// The same where all ideals are known, or known to be too many.
fn solve_lattice(model: &Model, lattice: Option<Lattice>, max_ideals: usize, bound: f64, cx: &SearchContext) -> Run {
    let mut state = State::new(model, bound, cx);
    // Where hardly anything is parallel the whole search takes no longer.
    if lattice.as_ref().is_none_or(|lattice| lattice.len() > 2 * model.unit_count()) {
        state.search_window(1);
    }
    if !state.is_done() {
        state.search_without_heads(lattice.as_ref().map_or(usize::MAX, Lattice::len), max_ideals);
        let moves = lattice.as_ref().filter(|_| !state.is_done()).and_then(|lattice| Moves::all(model, lattice, cx));
        match lattice.zip(moves) {
            Some((lattice, moves)) => {
                state.stats.set("ideals", lattice.len() as f64);
                state.stats.set("cuts", lattice.cuts.len() as f64);
                state.search(&lattice, moves);
            }
            None => in_pool(cx, || state.search_windows()),
        }
    }
    state.finish()
}

impl<'a> State<'a> {
    /// A run that knows a bound, and the split that runs everything on a CPU.
    fn new(model: &'a Model<'a>, bound: f64, cx: &'a SearchContext) -> Self {
        let mut stats = Stats::default();
        stats.set("units", model.unit_count() as f64);
        let longest = model.tails.iter().copied().fold(0.0, f64::max);
        let race = Race::new(bound.max(less(longest)), BoundSource::LongestPath, cx);
        let mut state = Self { model, race, blocks: Vec::new(), complete: false, stats };
        if let Some(blocks) = trace::all_on_cpu(model) {
            state.keep(blocks);
        }
        state
    }

    /// Searches the graph without its side heads, where that has less than half of the ideals, for a bound and splits.
    fn search_without_heads(&mut self, ideals: usize, max_ideals: usize) {
        let Some(relaxed) = self.model.without_side_heads() else { return };
        let Ok(lattice) = Lattice::new(&relaxed, None, (ideals / 2).min(max_ideals), self.race.cx) else { return };
        let run = solve_lattice(&relaxed, Some(lattice), max_ideals, self.race.bound(), self.race.cx);
        for name in ["flows", "labels", "subgraphs"] {
            self.count(name, run.stats.get(name).unwrap_or(0.0));
        }
        self.complete |= matches!(run.outcome, Outcome::Infeasible);
        if let Some(bound) = run.outcome.bound() {
            self.race.raise(bound.value, bound.source);
        }
        for split in run.outcome.solution().into_iter().flat_map(|split| heads::add(self.model, &relaxed, split)) {
            self.offer(split);
        }
    }

    /// Searches within windows of ever more ideals, where there are too many of them or of moves, and beside that by
    /// configurations; what one has found the other knows once both are done.
    fn search_windows(&mut self) {
        let (model, cx) = (self.model, self.race.cx);
        let are_few = model.problem.node_count() <= Items::MOST;
        let items = are_few.then(|| Items::new(model));
        let mut configurations = items.as_ref().map(|items| Configurations::new(items, &self.node_blocks(), cx));
        let (mut window, mut is_wider) = (2, true);
        while !self.is_done() && (is_wider || configurations.is_some()) {
            let turns = configurations.map(|search| Turns::new(model, search, self.node_blocks(), self.upper()));
            // The wider a window, the longer it takes.
            let (turns, has_window) =
                rayon::join(|| turns.map(|turns| turns.run(window / 2, cx)), || is_wider && self.search_window(window));
            configurations = turns.and_then(|turns| self.take_up(turns));
            is_wider = has_window && window < model.unit_count();
            window *= if is_wider { 2 } else { 1 };
        }
    }

    /// Takes up what turns have found; the configurations again where more may come of them.
    fn take_up<'b>(&mut self, turns: Turns<'a, 'b>) -> Option<Configurations<'b>> {
        if let Some(split) = turns.split {
            self.offer(split);
        }
        self.race.raise(less(turns.bound), BoundSource::LongestPath);
        self.race.report("configurations");
        turns.goes_on.then_some(turns.search)
    }

    /// What the accelerators of the best split run.
    fn node_blocks(&self) -> Vec<NodeBlock> {
        let devices = self.race.solution().and_then(|split| held(self.model.problem, split));
        let block = |device: Held| {
            let class = self.model.classes.iter().position(|class| class.kind == device.kind)?;
            Some((class, device.subgraphs.concat()))
        };
        devices.into_iter().flatten().filter_map(block).collect()
    }

    /// Searches within a window of a topological order; whether it has few enough ideals and moves.
    fn search_window(&mut self, window: usize) -> bool {
        let Ok(lattice) = Lattice::new(self.model, Some(window), WINDOW_IDEALS, self.race.cx) else { return false };
        let stride = if window == 1 { Moves::stride_of_chain(&lattice) } else { 1 };
        let Some(moves) = Moves::on_grid(self.model, &lattice, stride, self.race.cx) else { return false };
        self.search(&lattice, moves);
        true
    }

    /// Searches a lattice: passes under ever better flows, over ever fewer moves, that keep ever more labels.
    fn search(&mut self, lattice: &Lattice, mut moves: Vec<Moves>) {
        let (model, cx) = (self.model, self.race.cx);
        let paths = Paths::new(model, lattice);
        let mut watch = Watch::new(cx);
        let known = paths.times(model, &self.blocks);
        let mut game = Game { seen: known.clone(), last: known, round: 0 };
        let mut best: Option<Guide> = None;
        let mut beam = BEAM;
        let rounds = if lattice.is_whole { MOST_FLOWS } else { WINDOW_FLOWS };
        while game.round < rounds {
            let scale = self.race.objective().unwrap_or(self.race.bound());
            let weighted = Weighted::new(model, lattice, &paths, game.flow(&paths, scale));
            let Some(completions) = weighted.completions(&moves, &mut watch) else { return };
            let guide = Guide { weighted, completions };
            self.count("flows", 1.0);
            if !self.learn(lattice, &paths, &guide, &moves, &mut game) {
                return;
            }
            if best.as_ref().is_none_or(|best| best.bound() < guide.bound()) {
                best = Some(guide);
            }
            let Some(guide) = best.as_ref().filter(|_| game.round.is_power_of_two()) else { continue };
            if self.upper() < f64::MAX {
                let Guide { weighted, completions } = guide;
                let Some(()) = weighted.narrow(&mut moves, completions, self.upper(), &mut watch) else { return };
            }
            let beam_of_round = if game.round == MOST_FLOWS { usize::MAX } else { beam };
            if self.pass(lattice, guide, &moves, beam_of_round) || self.is_done() {
                return;
            }
            beam *= BEAM;
        }
    }

    /// Takes from a flow what it tells: a bound, and the split that is its best answer. Whether something is left.
    fn learn(&mut self, lattice: &Lattice, paths: &Paths, guide: &Guide, moves: &[Moves], game: &mut Game) -> bool {
        let (bound, upper) = (guide.bound(), self.upper());
        // Moves may be gone that no split below the incumbent makes.
        if bound >= upper {
            self.complete |= lattice.is_whole;
            return false;
        }
        if lattice.is_whole {
            self.race.raise(less(bound), BoundSource::LongestPath);
        }
        let Some(path) = guide.weighted.cheapest(moves, &guide.completions) else { return false };
        let blocks = trace::blocks(self.model, lattice, &path);
        game.answer(paths.times(self.model, &blocks));
        self.keep(blocks);
        self.race.report("flows");
        !self.is_done()
    }

    /// One pass; keeps what it finds. Whether nothing better is left in the lattice.
    fn pass(&mut self, lattice: &Lattice, guide: &Guide, moves: &[Moves], beam: usize) -> bool {
        let mut pass = Pass::new(guide, moves, self.upper(), beam, self.race.cx);
        let ended = pass.run().is_continue();
        self.count("labels", pass.inserted as f64);
        self.count("subgraphs", pass.subgraphs as f64);
        if !ended {
            return false;
        }
        if let Some(label) = pass.best() {
            self.keep(trace::blocks(self.model, lattice, &pass.path(label)));
        }
        self.complete |= lattice.is_whole && !pass.incomplete;
        self.race.report("labels");
        !pass.incomplete
    }

    /// Makes a split of blocks the incumbent where it is one, and better.
    fn keep(&mut self, blocks: Vec<Block>) {
        let classes = &self.model.classes;
        let mut used = vec![0; classes.len()];
        let fits = blocks.iter().all(|block| {
            let Some(class) = block.class else { return true };
            used[class] += 1;
            let memory = block.units.iter().map(|&u| classes[class].memory[u]).sum();
            used[class] <= classes[class].count && fits(memory, classes[class].memory_limit)
        });
        if fits && self.offer(trace::solution(self.model, &blocks)) {
            self.blocks = blocks;
        }
    }

    fn offer(&mut self, split: Solution) -> bool {
        split.objective.is_some_and(|time| self.race.offer(time, split))
    }

    fn count(&mut self, name: &'static str, more: f64) {
        self.stats.set(name, self.stats.get(name).unwrap_or(0.0) + more);
    }

    /// Splits that cannot be below this are of no use: the incumbent, a little less.
    fn upper(&self) -> f64 {
        self.race.objective().map_or(f64::MAX, less)
    }

    fn is_done(&self) -> bool {
        self.complete || self.race.is_done()
    }

    fn finish(self) -> Run {
        let scope = self.model.problem.spec.scope.clone();
        let upper = self.upper();
        let (best, bound, source) = self.race.finish();
        let (value, source) = match self.complete {
            true => (bound.max(upper), BoundSource::Enumeration),
            false => (bound, source),
        };
        let bound = LowerBound { value, scope: scope.clone(), source };
        let outcome = match best {
            Some((time, solution)) => Outcome::found(solution, time, bound),
            None if self.complete => Outcome::Infeasible,
            None => Outcome::Unknown { bound: Some(bound) },
        };
        Run { outcome, stats: self.stats }
    }
}

/// A time less half of the tolerance, which leaves room for the rounding of bounds.
fn less(time: f64) -> f64 {
    time * (1.0 - 0.5 * SEARCH_TOLERANCE)
}

/// Turns of the configurations, and what they find.
struct Turns<'a, 'b> {
    model: &'a Model<'a>,
    search: Configurations<'b>,
    /// The blocks of the best split, and below what splits have to end to be of use.
    blocks: Vec<NodeBlock>,
    upper: f64,
    /// The best split found.
    split: Option<Solution>,
    /// No split ends earlier.
    bound: f64,
    /// Whether more may come of the next turn.
    goes_on: bool,
}

impl<'a, 'b> Turns<'a, 'b> {
    fn new(model: &'a Model<'a>, search: Configurations<'b>, blocks: Vec<NodeBlock>, upper: f64) -> Self {
        Self { model, search, blocks, upper, split: None, bound: 0.0, goes_on: true }
    }

    /// So many of them.
    fn run(mut self, count: usize, cx: &SearchContext) -> Self {
        for _ in 0..count {
            let known = self.blocks.clone();
            let mut tell = |found: Found| {
                match found {
                    Found::Bound(bound) => self.bound = self.bound.max(bound),
                    Found::Split(blocks) => {
                        let split = trace::of_nodes(self.model, blocks);
                        if let Some(end) = split.as_ref().and_then(|split| split.objective)
                            && end < self.upper
                        {
                            self.upper = less(end);
                            (self.split, self.blocks) = (split, blocks.to_vec());
                        }
                    }
                }
                self.upper
            };
            self.goes_on = self.goes_on && self.search.turn(known, &mut tell, cx);
        }
        self
    }
}

/// What the flows of a lattice have learned.
struct Game {
    /// What all answers take along paths, together.
    seen: Along,
    /// What the last one takes, which counts twice: the next is likely to be near it.
    last: Along,
    /// How many answers there are.
    round: usize,
}

impl Game {
    /// The next flow, where splits take about `scale`, as far as that is known.
    fn flow(&self, paths: &Paths, scale: f64) -> Along {
        let mut expected = self.seen.clone();
        expected.add(&self.last);
        // Without a split, and where all takes transfers alone, no bound tells the scale.
        let scale = scale.max(expected.most() / MOST_SCALES);
        let sharpness = SHARPNESS / scale / (1.0 + self.round as f64).sqrt();
        paths.softmax(&expected, if sharpness.is_finite() { sharpness } else { 0.0 })
    }

    fn answer(&mut self, times: Along) {
        self.seen.add(&times);
        self.last = times;
        self.round += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::solve::latency::generated;

    #[test]
    fn without_side_heads_the_optimum_is_no_later_and_leads_to_splits() {
        let cx = SearchContext::new();
        let (mut relaxed, mut as_good) = (0, 0);
        for (seed, problem) in generated::problems(2000) {
            let model = Model::new(&problem);
            let Some(without) = model.without_side_heads() else { continue };
            assert!(without.without_side_heads().is_none(), "seed {seed}");
            let best = generated::least_latency(&problem);
            let run = solve_model(&without, 1000, 0.0, &cx);
            let bound = run.outcome.bound().map_or(0.0, |bound| bound.value);
            assert!(best.is_none_or(|best| bound <= best + 1e-9), "seed {seed}: the bound {bound} is above {best:?}");
            let splits = run.outcome.solution().into_iter().flat_map(|split| heads::add(&model, &without, split));
            let least = splits.filter_map(|split| split.objective).reduce(f64::min);
            assert!(least.is_none_or(|least| best.is_some_and(|best| best <= least + 1e-9)), "seed {seed}");
            relaxed += 1;
            as_good += usize::from(least.zip(best).is_some_and(|(least, best)| least <= best + 1e-9));
        }
        assert!(relaxed > 500 && as_good > relaxed / 4, "{as_good} of {relaxed}");
    }

    #[test]
    fn moves_on_a_grid_lead_to_splits() {
        let cx = SearchContext::new();
        let mut as_good = 0;
        for (seed, problem) in generated::problems(500) {
            let best = generated::least_latency(&problem);
            let model = Model::new(&problem);
            let lattice = Lattice::new(&model, Some(1), 1000, &cx).unwrap();
            let mut state = State::new(&model, 0.0, &cx);
            state.search(&lattice, Moves::on_grid(&model, &lattice, 2, &cx).unwrap());
            let found = state.finish().outcome.solution().and_then(|split| split.objective);
            assert!(found.is_none_or(|found| best.is_some_and(|best| best <= found + 1e-9)), "seed {seed}");
            as_good += usize::from(found.is_some() && found == best);
        }
        assert!(as_good > 100, "{as_good}");
    }

    #[test]
    fn windows_lead_to_splits_and_bounds() {
        let cx = SearchContext::new();
        for (seed, problem) in generated::problems(2000) {
            let best = generated::least_latency(&problem);
            let model = Model::new(&problem);
            let mut state = State::new(&model, 0.0, &cx);
            in_pool(&cx, || state.search_windows());
            let outcome = state.finish().outcome;
            let found = outcome.solution().and_then(|split| split.objective);
            assert!(found.is_none_or(|found| best.is_some_and(|best| best <= found + 1e-9)), "seed {seed}");
            let bound = outcome.bound().map_or(0.0, |bound| bound.value);
            assert!(best.is_none_or(|best| bound <= best + 1e-9), "seed {seed}: the bound {bound} is above {best:?}");
            assert!(!matches!(outcome, Outcome::Infeasible) || best.is_none(), "seed {seed}");
        }
    }
}
