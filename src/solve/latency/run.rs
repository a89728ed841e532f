//! The passes of a run: beams for a good split, then the proof.

use super::backward::Backward;
use super::lattice::Lattice;
use super::model::Model;
use super::search::{Pass, Rules};
use super::tails::Tails;
use super::trace::{self, Block};
use crate::problem::{DeviceKind, Problem, Solution, fits};
use crate::search::{Race, SEARCH_TOLERANCE, SearchContext, Stats};
use crate::solve::{BoundSource, LowerBound, Outcome, Run};

/// Labels kept of each state by the passes from the start that look for a good split.
const BEAM: usize = 2;

/// The same of those over the ideals of a window, where the graph has too many.
const WINDOW_BEAM: usize = 16;

/// The same of those from the end, which know what comes before.
const BACKWARD_BEAM: usize = 4;

/// The most prices of an accelerator that are tried, 0 included.
const MAX_PRICES: usize = 8;

/// A gap in which the pass that counts accelerators soon comes to its end.
const SMALL_GAP: f64 = 0.025;

/// A gap in which it does so without a better split.
const TINY_GAP: f64 = 0.005;

/// The windows in which a price is looked for have at most this share of all ideals.
const WINDOW_SHARE: usize = 4;

/// Ideals of a lattice with a window, where the graph has too many.
const WINDOW_IDEALS: usize = 20_000;

/// A run under way.
struct State<'a> {
    model: &'a Model<'a>,
    race: Race<'a, Solution, BoundSource>,
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

/// Whether every accelerator of the split has room for its nodes.
fn has_room(problem: &Problem, split: &Solution) -> bool {
    let index = problem.index_of_ids();
    split.devices.iter().filter(|device| device.kind != DeviceKind::Cpu).all(|device| {
        let costs = device.nodes.iter().filter_map(|id| problem.costs.node(index[id], device.kind));
        fits(costs.map(|cost| cost.memory).sum(), problem.memory_limit(device.kind))
    })
}

/// How many devices of a kind a split uses.
fn used(split: &Solution, kind: DeviceKind) -> usize {
    split.devices.iter().filter(|device| device.kind == kind).count()
}

fn solve_model(model: &Model, max_ideals: usize, bound: f64, cx: &SearchContext) -> Run {
    let mut state = State::new(model, bound, cx);
    let tails = Tails::of_paths(model);
    state.raise_to_tails(&tails);
    if let Ok(order) = Lattice::new(model, Some(1), WINDOW_IDEALS, cx) {
        state.forward(&order, &tails, Rules::beam(BEAM));
    }
    match Lattice::new(model, None, max_ideals, cx) {
        Ok(lattice) => state.prove(&lattice, &tails),
        Err(_) => state.windows(),
    }
    state.finish()
}

/// A split as it counts for prices.
#[derive(Debug, Clone, Copy)]
struct Point {
    /// Accelerators used.
    used: usize,
    /// The latency.
    time: f64,
    /// Whether there are so many accelerators of each class.
    fits: bool,
}

impl<'a> State<'a> {
    /// A run that knows a bound, and the split that runs everything on a CPU.
    fn new(model: &'a Model<'a>, bound: f64, cx: &'a SearchContext) -> Self {
        let mut stats = Stats::default();
        stats.set("units", model.unit_count() as f64);
        let mut race = Race::new(bound, BoundSource::LongestPath, cx);
        if let Some((time, split)) = trace::all_on_cpu(model).and_then(|split| Some((split.objective?, split))) {
            race.offer(time, split);
        }
        Self { model, race, complete: false, stats }
    }

    /// Looks for a price of an accelerator within windows; then passes with ever better prices, each followed by a beam from
    /// the end; then, in what gap remains, the pass that counts accelerators and drops only what cannot beat the incumbent.
    fn prove(&mut self, lattice: &Lattice, tails: &Tails) {
        self.stats.set("ideals", lattice.len() as f64);
        self.stats.set("cuts", lattice.cuts.len() as f64);
        let none = trace::all_on_cpu(self.model).map(|split| self.point(&split));
        let mut hull = Hull { none, ..Hull::default() };
        let price = self.guess_price(lattice.len() / WINDOW_SHARE, tails, &mut hull);
        self.try_prices(lattice, tails, hull, price);
    }

    /// Passes with one price after another, from `price` on, until nothing is left that beats the incumbent.
    fn try_prices(&mut self, lattice: &Lattice, tails: &Tails, mut hull: Hull, mut price: f64) {
        for tried in 1..=MAX_PRICES {
            if self.is_done() {
                return;
            }
            let Some((pass, point)) = self.forward(lattice, tails, Rules::priced(price)) else { return };
            if !self.is_done() && !self.race.is_within(TINY_GAP) {
                self.backward(&pass, BACKWARD_BEAM);
            }
            if self.is_done() {
                return;
            }
            hull.add(point, self.model.accelerators());
            let next = hull.next_price(price, self.incumbent_point());
            match next.filter(|_| !self.race.is_within(SMALL_GAP) && tried < MAX_PRICES) {
                Some(next) => price = next,
                None => return self.backward(&pass, usize::MAX),
            }
        }
    }

    /// The best price of an accelerator for the splits within a window of a topological order, the widest with at most
    /// `max_ideals` ideals; keeps what it finds on the way.
    fn guess_price(&mut self, max_ideals: usize, tails: &Tails, hull: &mut Hull) -> f64 {
        let (mut price, mut window) = (0.0, 1);
        while let Ok(lattice) = Lattice::new(self.model, Some(window), max_ideals, self.race.cx) {
            self.forward(&lattice, tails, Rules::beam(BEAM));
            for _ in 0..MAX_PRICES {
                let Some((_, point)) = self.forward(&lattice, tails, Rules::priced(price)) else { return price };
                hull.add(point, self.model.accelerators());
                match hull.next_price(price, self.incumbent_point()) {
                    Some(next) => price = next,
                    None => break,
                }
            }
            if self.is_done() || window >= self.model.unit_count() {
                break;
            }
            window *= 2;
        }
        price
    }

    /// Beams over ever more of the ideals of a graph that has too many.
    fn windows(&mut self) {
        let tails = Tails::new(self.model, self.race.cx);
        self.raise_to_tails(&tails);
        let mut window = 1;
        while let Ok(lattice) = Lattice::new(self.model, Some(window), WINDOW_IDEALS, self.race.cx) {
            self.forward(&lattice, &tails, Rules::beam(WINDOW_BEAM));
            if self.is_done() || window >= self.model.unit_count() {
                return;
            }
            window *= 2;
        }
    }

    fn raise_to_tails(&mut self, tails: &Tails) {
        let tail = tails.of_split(self.model);
        self.raise(tail, tail, BoundSource::LongestPath);
        self.race.report("tails");
    }

    /// One pass from the start; keeps what it finds. Nothing where it did not come to its end.
    fn forward<'b>(&mut self, lattice: &'b Lattice, tails: &'b Tails, rules: Rules) -> Option<(Pass<'b>, Option<Point>)>
    where
        Self: 'b,
    {
        let paid = rules.price * self.model.accelerators() as f64;
        let mut pass =
            Pass::new(self.model, lattice, tails, Rules { upper: self.upper() + paid, ..rules }, self.race.cx);
        let ended = pass.run().is_continue();
        self.count(pass.inserted, pass.subgraphs);
        if !ended {
            return None;
        }
        let exact = lattice.is_whole && !pass.incomplete && !(rules.counting && rules.connected);
        let best = pass.best();
        let point = best.map(|(label, _)| self.keep(&trace::blocks(self.model, lattice, &pass.path(label))));
        if let Some((_, value)) = best.filter(|_| exact) {
            self.raise(value - paid, paid, BoundSource::Enumeration);
        }
        // All that could beat the incumbent was looked at.
        self.complete |= exact && point.is_none_or(|point| point.fits && rules.price == 0.0);
        self.race.report("labels");
        Some((pass, point))
    }

    /// One pass from the end, past what a pass from the start has found; keeps what it finds.
    fn backward(&mut self, heads: &Pass, beam: usize) {
        let mut pass = Backward::new(heads, self.upper(), beam, self.race.cx);
        let ended = pass.run().is_continue();
        self.count(pass.inserted, pass.subgraphs);
        if !ended {
            return;
        }
        if let Some((label, _)) = pass.best() {
            self.keep(&trace::blocks(heads.model, heads.lattice, &pass.path(label)));
        }
        self.complete |= !heads.incomplete && !pass.incomplete;
        self.race.report("labels");
    }

    /// Makes a split of blocks the incumbent where it is better.
    fn keep(&mut self, blocks: &[Block]) -> Point {
        let split = trace::solution(self.model, blocks);
        let point = self.point(&split);
        if point.fits {
            self.race.offer(point.time, split);
        }
        point
    }

    fn incumbent_point(&self) -> Option<Point> {
        self.race.solution().map(|split| self.point(split))
    }

    fn point(&self, split: &Solution) -> Point {
        let counts = self.model.classes.iter().map(|class| (used(split, class.kind), class.count));
        let fits = counts.clone().all(|(used, count)| used <= count);
        Point { used: counts.map(|(used, _)| used).sum(), time: split.objective.unwrap_or(0.0), fits }
    }

    fn count(&mut self, labels: usize, subgraphs: usize) {
        for (name, more) in [("labels", labels), ("subgraphs", subgraphs)] {
            let before = self.stats.get(name).unwrap_or(0.0);
            self.stats.set(name, before + more as f64);
        }
    }

    /// Splits that cannot be below this are of no use: the incumbent, less half of the tolerance, which leaves room
    /// for the rounding of bounds.
    fn upper(&self) -> f64 {
        self.race.objective().map_or(f64::MAX, |value| value * (1.0 - 0.5 * SEARCH_TOLERANCE))
    }

    /// Raises the bound to a value, with room for the rounding of a term of some size in it.
    fn raise(&mut self, value: f64, size: f64, source: BoundSource) {
        self.race.raise(value - 0.5 * SEARCH_TOLERANCE * size, source);
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

/// The splits of least (time + price · accelerators), as far as they are known.
#[derive(Debug, Default)]
struct Hull {
    /// Without an accelerator.
    none: Option<Point>,
    /// With no more than there are.
    few: Option<Point>,
    /// With more.
    many: Option<Point>,
}

impl Hull {
    fn add(&mut self, point: Option<Point>, accelerators: usize) {
        match point {
            Some(point) if point.used <= accelerators => self.few = Some(point),
            Some(point) => self.many = Some(point),
            None => {}
        }
    }

    /// The price to try after `price`; nothing where no split needs many, or where the bound of `price` is the best.
    ///
    /// That is the price at which few and many accelerators come to the same; until few are known, the incumbent stands
    /// for them. The first price is what one more saves beside the incumbent if time falls as the inverse of accelerators.
    fn next_price(&self, price: f64, incumbent: Option<Point>) -> Option<f64> {
        let many = self.many?;
        let next = match (self.few, incumbent) {
            (Some(few), _) => slope(few, many),
            (None, Some(few)) if price == 0.0 && few.used > 0 => {
                let next = slope(few, many) * many.used as f64 / few.used as f64;
                self.none.map_or(next, |none| next.min(slope(none, few)))
            }
            (None, Some(few)) => slope(few, many),
            (None, None) => many.time / many.used as f64 + 4.0 * price,
        };
        let next = next.max(0.0);
        ((next - price).abs() > SEARCH_TOLERANCE * next).then_some(next)
    }
}

/// The time that each accelerator more saves between two points.
fn slope(few: Point, many: Point) -> f64 {
    (few.time - many.time) / (many.used - few.used) as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::solve::latency::generated;

    #[test]
    fn prices_guessed_within_windows_lead_to_the_optimum() {
        let cx = SearchContext::new();
        for (seed, problem) in generated::problems(2000) {
            let best = generated::least_latency(&problem);
            let model = Model::new(&problem);
            let lattice = Lattice::new(&model, None, 1000, &cx).unwrap();
            let tails = Tails::of_paths(&model);
            let mut state = State::new(&model, 0.0, &cx);
            let mut hull = Hull { none: state.incumbent_point(), ..Hull::default() };
            let price = state.guess_price(lattice.len(), &tails, &mut hull);
            state.try_prices(&lattice, &tails, hull, price);
            let outcome = state.finish().outcome;
            assert!(matches!(outcome, Outcome::Optimal { .. } | Outcome::Infeasible), "seed {seed}");
            assert_eq!(outcome.solution().and_then(|split| split.objective), best, "seed {seed}, price {price}");
        }
    }
}
