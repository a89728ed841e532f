//! Exact search for the sharding cost.

use super::bound::{Completion, Filling};
use super::descent::{self, Descent};
use super::dominance::Dominance;
use super::flat::FlatSearch;
use super::{Model, Placement, Shards, order};
use crate::problem::{Problem, Scope, fits};
use crate::search::Race;
use crate::solve::{
    BoundSource, Guarantee, LowerBound, OPTIMALITY_TOLERANCE, Outcome, Run, SearchContext, SolveError, Solver, Stats,
    Unsupported, found, in_pool,
};

/// Branch and bound for [`Objective::Sharding`](crate::problem::Objective::Sharding) over arbitrary splits.
///
/// It begins with descents, from random placements and from slices of an order, then places colour classes one after
/// another, along an order in which few placed nodes have unplaced neighbours, and drops what cannot become better than
/// the best split:
/// - by a *bound*: the weight that is left spreads over the devices as evenly as the edges that this cuts are worth;
/// - by *dominance*: an earlier placement of the same nodes is at least as good however both go on;
/// - by *symmetry*: of unused devices that do not differ only the first is opened, and likewise of servers.
///
/// Anytime: on a limit it returns the best split with the least bound of what it has not looked at. Exponential in the
/// number of colour classes in the worst case; memory is limited. Above 2,000 classes, or where the limit comes before the
/// search, the descents' best split stands with a bound that takes no search.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ShardingBb {
    /// Descents before the search; at least 1.
    pub starts: usize,
}

impl Default for ShardingBb {
    fn default() -> Self {
        Self { starts: 64 }
    }
}

/// How the search begins.
const DESCENT: Descent = Descent { sweeps: 1000, passes: 100 };

/// The most colour classes that are searched: the bound's tables grow with their square.
const MAX_UNITS: usize = 2000;

/// What reports call the search.
const PHASE: &str = "branch and bound";

/// Placements looked at between two looks at the clock.
const PATIENCE: u64 = 256;

impl Solver for ShardingBb {
    fn name(&self) -> &str {
        "sharding-bb"
    }

    fn guarantee(&self) -> Guarantee {
        Guarantee::Exact
    }

    fn supports(&self, problem: &Problem) -> Result<(), Unsupported> {
        super::supports(self.name(), problem)
    }

    fn search(&self, problem: &Problem, cx: &mut SearchContext) -> Result<Run, SolveError> {
        let cx = &*cx;
        let shards = Shards::new(problem);
        let model = &shards.model;
        let is_searched = model.unit_count() <= MAX_UNITS;
        let order = if is_searched { order::narrow(model) } else { (0..model.unit_count()).collect() };
        let random = in_pool(cx, || FlatSearch::Priced(DESCENT).best_of_starts(model, self.starts.max(1), cx.seed, cx));
        let sliced = descent::slices(model, &order).map(|part_of| {
            let mut placement = Placement::new(model, part_of);
            DESCENT.run(&mut placement, cx);
            (model.cost(placement.part_of()), placement.into_parts())
        });
        let start = sliced.into_iter().chain(random).min_by(|(a, _), (b, _)| a.total_cmp(b));
        let start = start.map(|(_, part_of)| part_of);
        let mut stats = Stats::of([("units", model.unit_count() as f64)]);
        if !is_searched || cx.should_stop() {
            return Ok(Run { outcome: shards.outcome(start.as_deref()), stats });
        }
        let sites = shards.sites();
        let model = &model.with_exact_mean();
        let mut search = DepthFirst::new(model, &sites, order, start, cx);
        search.run();
        stats.set("placements", search.looked_at as f64);
        let is_over = search.open.is_none();
        let (best, value, ()) = search.finish();
        let bound = LowerBound { value, scope: Scope::Arbitrary, source: BoundSource::Refuted };
        let outcome = match best {
            Some((_, part_of)) => found(shards.solution(&part_of), bound),
            None if is_over => Outcome::Infeasible,
            None => Outcome::Unknown { bound: Some(bound) },
        };
        Ok(Run { outcome, stats })
    }
}

/// A unit on a part, what the placement costs at least then, and what its edges cost so far.
#[derive(Debug, Clone, Copy)]
struct Child {
    part: usize,
    least: f64,
    edges: f64,
}

/// What a part holds.
#[derive(Debug, Clone, Copy)]
struct Totals {
    weight: f64,
    memory: f64,
}

/// A depth-first walk over placements.
struct DepthFirst<'a> {
    model: &'a Model,
    sites: &'a [usize],
    order: Vec<usize>,
    completion: Completion<'a>,
    dominance: Dominance<'a>,
    race: Race<'a, Vec<u32>, ()>,
    /// The least cost that a placement left out could have.
    open: Option<f64>,
    looked_at: u64,
    part_of: Vec<u32>,
    weights: Vec<f64>,
    memory: Vec<f64>,
    is_placed: Vec<bool>,
    /// How many units each part holds, and each site.
    held: Vec<usize>,
    held_at: Vec<usize>,
    filling: Filling,
}

impl<'a> DepthFirst<'a> {
    fn new(
        model: &'a Model,
        sites: &'a [usize],
        order: Vec<usize>,
        start: Option<Vec<u32>>,
        cx: &'a SearchContext,
    ) -> Self {
        let k = model.part_count();
        let mut race = Race::new(0.0, (), cx);
        if let Some(part_of) = start {
            race.offer(model.cost(&part_of), part_of);
        }
        Self {
            model,
            sites,
            completion: Completion::new(model, &order, sites),
            dominance: Dominance::new(model, &order, sites),
            order,
            race,
            open: None,
            looked_at: 0,
            part_of: vec![0; model.unit_count()],
            weights: vec![0.0; k],
            memory: vec![0.0; k],
            is_placed: vec![false; model.unit_count()],
            held: vec![0; k],
            held_at: vec![0; sites.iter().max().map_or(0, |last| last + 1)],
            filling: Filling::default(),
        }
    }

    /// Looks at every placement until a limit comes.
    fn run(&mut self) {
        if self.order.is_empty() {
            return;
        }
        let mut path: Vec<(Vec<Child>, usize)> = vec![(self.children(0, 0.0), 0)];
        let mut totals: Vec<Totals> = Vec::with_capacity(self.order.len());
        let mut stopped = self.race.cx.should_stop();
        if let Some(child) = path[0].0.first() {
            self.raise(child.least);
        }
        self.race.report(PHASE);
        while let Some((children, next)) = path.last_mut() {
            let Some(&child) = children.get(*next).filter(|child| !stopped && !self.is_refuted(child.least)) else {
                // Children ascend by what they cost at least.
                let least = children.get(*next).map(|child| child.least);
                path.pop();
                self.leave_open(least);
                if let Some(before) = totals.pop() {
                    self.take_back(self.order[totals.len()], before);
                }
                continue;
            };
            *next += 1;
            let depth = path.len();
            let u = self.order[depth - 1];
            let before = self.place(u, child.part);
            self.looked_at += 1;
            stopped = self.looked_at.is_multiple_of(PATIENCE) && self.race.cx.should_stop();
            if depth == self.order.len() {
                self.race.offer(child.least, self.part_of.clone());
                self.race.report(PHASE);
                self.take_back(u, before);
            } else if self.is_dominated(depth, child.edges) {
                self.take_back(u, before);
            } else {
                totals.push(before);
                path.push((self.children(depth, child.edges), 0));
            }
        }
    }

    /// The parts for the unit at position `depth`, by what they lead to at least.
    fn children(&mut self, depth: usize, edges: f64) -> Vec<Child> {
        let u = self.order[depth];
        let mut children = Vec::new();
        for part in 0..self.weights.len() {
            let fits = self
                .model
                .need(u, part)
                .is_some_and(|need| fits(self.memory[part] + need, self.model.parts[part].limit));
            if !fits || self.is_like_an_earlier_one(part) {
                continue;
            }
            let to_placed = self.pull(u, part);
            let before = self.place(u, part);
            let edges = edges + to_placed;
            let least = edges + self.completion.least(depth + 1, &self.part_of, &self.weights, &mut self.filling);
            self.take_back(u, before);
            children.push(Child { part, least, edges });
        }
        children.sort_by(|a, b| a.least.total_cmp(&b.least));
        children
    }

    /// Whether `part` differs from an earlier one in nothing, both being unused.
    fn is_like_an_earlier_one(&self, part: usize) -> bool {
        let is_unused = |d: usize| self.held[d] == 0;
        let is_untouched = |d: usize| self.held_at[self.sites[d]] == 0;
        let is_like = |d: usize| {
            let same_site = self.sites[d] == self.sites[part] || is_untouched(d) && is_untouched(part);
            is_unused(d) && same_site && self.model.parts[d] == self.model.parts[part]
        };
        is_unused(part) && (0..part).any(is_like)
    }

    /// What the edges of `u` to placed units cost on `part`.
    fn pull(&self, u: usize, part: usize) -> f64 {
        let placed = self.model.links[u].iter().filter(|&&(v, _)| self.is_placed[v as usize]);
        placed.map(|&(v, edges)| edges * self.model.price(part, self.part_of[v as usize] as usize)).sum()
    }

    fn is_dominated(&mut self, depth: usize, edges: f64) -> bool {
        self.dominance.is_dominated(depth, &self.part_of, (&self.weights, &self.memory), edges)
    }

    /// Places `u` on `part`; returns what that part held before.
    fn place(&mut self, u: usize, part: usize) -> Totals {
        let before = Totals { weight: self.weights[part], memory: self.memory[part] };
        self.part_of[u] = part as u32;
        self.is_placed[u] = true;
        self.weights[part] += self.model.weights[u];
        self.memory[part] += self.model.need(u, part).unwrap_or(0.0);
        self.held[part] += 1;
        self.held_at[self.sites[part]] += 1;
        before
    }

    /// Takes `u`, the unit placed last, off a part that held `before` without it.
    fn take_back(&mut self, u: usize, before: Totals) {
        let part = self.part_of[u] as usize;
        self.is_placed[u] = false;
        self.weights[part] = before.weight;
        self.memory[part] = before.memory;
        self.held[part] -= 1;
        self.held_at[self.sites[part]] -= 1;
    }

    /// Whether a placement that costs at least this is not better than the best one by more than `gap`, or than the
    /// rounding of sums.
    fn is_within(&self, least: f64, gap: f64) -> bool {
        self.race.objective().is_some_and(|best| {
            let tolerance = gap.max(OPTIMALITY_TOLERANCE) * best;
            least >= best - tolerance.max(self.model.rounding(best))
        })
    }

    fn is_refuted(&self, least: f64) -> bool {
        self.is_within(least, self.race.cx.gap)
    }

    /// Notes that placements which cost at least this are left out.
    fn leave_open(&mut self, least: Option<f64>) {
        if let Some(least) = least.filter(|&least| !self.is_within(least, 0.0)) {
            self.open = Some(self.open.map_or(least, |open| open.min(least)));
        }
    }

    /// Says that no placement costs less than this, as the search counts costs.
    fn raise(&mut self, least: f64) {
        self.race.raise((least - self.model.rounding(least)).max(0.0), ());
    }

    /// The best placement with its cost, and what none costs less than: the least that was left out, or else what was
    /// dropped for the best.
    fn finish(mut self) -> (Option<(f64, Vec<u32>)>, f64, ()) {
        if let Some(least) = self.open.or(self.race.objective()) {
            self.raise(least);
        }
        self.race.finish()
    }
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;
    use crate::instance::{Edge, Instance, Node, Platform};
    use crate::problem::{Interconnect, NodeWeight, Objective, ProblemSpec, Sharding};

    /// Five or six nodes, heavy where they need little memory, on four accelerators in servers of two, in which memory may
    /// be tight.
    fn problems() -> impl Strategy<Value = (Instance, ProblemSpec)> {
        let memory = prop::option::of(0..=3u8);
        (vec(1..=9u8, 5..=6), vec(any::<bool>(), 15), memory, 0..=9u8).prop_map(|(weights, joined, spare, edge)| {
            let node = |(id, &weight): (u64, &u8)| Node {
                accelerator_times: vec![Some(1.0)],
                memory: f64::from(10 - weight),
                parameter_bytes: weight.into(),
                ..Node::new(id)
            };
            let nodes: Vec<Node> = (0..).zip(&weights).map(node).collect();
            let needed: f64 = nodes.iter().map(|node| node.memory).sum();
            let memory = spare.map(|spare| (needed / 4.0).ceil() + f64::from(spare));
            let pairs = (0..6u64).flat_map(|target| (0..target).map(move |source| Edge { source, target }));
            let edges = pairs.zip(joined).filter(|(pair, joined)| *joined && pair.target < nodes.len() as u64);
            let edges = edges.map(|(pair, _)| pair).collect();
            let instance = Instance { platform: Platform::uniform(4, memory, 0), edges, nodes, ..Instance::default() };
            let sharding = Sharding { weight: NodeWeight::Parameters, variance: 1.0, edge: edge.into() };
            let spec = ProblemSpec {
                objective: Objective::Sharding(sharding),
                scope: Scope::Arbitrary,
                interconnect: Some(Interconnect { server_size: 2, between_factor: 4.0 }),
                ..ProblemSpec::of(&instance)
            };
            (instance, spec)
        })
    }

    /// The least cost of all placements that fit.
    fn least(model: &Model) -> Option<f64> {
        let (units, parts) = (model.unit_count(), model.part_count());
        let placement =
            |code: usize| -> Vec<u32> { (0..units as u32).map(|u| (code / parts.pow(u) % parts) as u32).collect() };
        let fits_in = |part_of: &[u32], part: usize| {
            let held = (0..units).filter(|&u| part_of[u] as usize == part);
            let need: Option<f64> = held.map(|u| model.need(u, part)).sum();
            need.is_some_and(|need| fits(need, model.parts[part].limit))
        };
        let placements = (0..parts.pow(units as u32)).map(placement);
        let valid = placements.filter(|part_of| (0..parts).all(|part| fits_in(part_of, part)));
        valid.map(|part_of| model.cost(&part_of)).min_by(f64::total_cmp)
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(200))]

        /// Without a start that is likely the best, whatever is wrongly left out shows.
        #[test]
        fn the_search_needs_no_start((instance, spec) in problems()) {
            let problem = Problem::new(&instance, spec).unwrap();
            let (shards, cx) = (Shards::new(&problem), SearchContext::new());
            let (model, sites) = (&shards.model, shards.sites());
            let mut search = DepthFirst::new(model, &sites, order::narrow(model), None, &cx);
            search.run();
            let found = search.race.objective();
            let expected = least(model);
            let is_same = match (found, expected) {
                (Some(found), Some(expected)) => (found - expected).abs() <= 1e-9 * (1.0 + expected),
                (found, expected) => found == expected,
            };
            prop_assert!(is_same, "found {found:?}, expected {expected:?}");
        }
    }
}
